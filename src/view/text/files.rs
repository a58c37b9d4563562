//! The door for files: what was read, and printed against computed. A new sentence is one line here.

use super::texts;

texts! {
    /// What is said of files and logs.
    pub struct FilesText {
        title: "Your own files and logs",
        help: "Drop files anywhere on the page, pick them, or paste text. Several together make one scenario. They are read here, in your browser, and go nowhere.",
        help_kinds: "A model's config.json; model.safetensors.index.json; a safetensors or GGUF file of any size, of which only the header is read; what vLLM, SGLang, TensorRT-LLM or llama.cpp prints when it starts; what nvidia-smi or rocm-smi prints; a link to a scenario.",
        paste: "Paste text here",
        pick: "Pick files…",
        use_it: "Read it",
        empty: "nothing was pasted; paste a whole config.json, a log, or what nvidia-smi prints",
        unreadable: "the file could not be read; the browser refused it, or it is gone",
        reading: "Reading…",
        unchanged: "The scenario stays as it was.",

        read_title: "What was read",
        dismiss: "Dismiss",
        pasted: "pasted text",
        file: "{name}: {kind}",
        kind_config: "a model's config.json",
        kind_index: "the index of a model's weights",
        kind_safetensors: "the header of a safetensors file",
        kind_gguf: "the header of a GGUF file",
        kind_log: "a log of {engine}",
        kind_nvidia_smi: "the list of GPUs that nvidia-smi prints",
        kind_rocm_smi: "the list of GPUs that rocm-smi prints",
        kind_link: "a link to a scenario",
        device: "{count} × {name}, {memory}, {free} free",
        device_short: "{count} × {name}",
        took: "From the log and the machine: {fields}.",

        comparison_title: "Printed against computed",
        comparison_none: "The log has no figures to compare; paste it from the start of the server to its first request.",
        comparison_summary: "{agree} of {count} printed {count?figure agrees|figures agree} with what KVscope computes.",
        comparison_held: "The engine reserves {pool} on each GPU when it starts, whatever is served. This scenario uses {held} of it ({requests}).",
        head_figure: "figure, and where it was printed",
        head_printed: "printed",
        head_computed: "computed",
        head_reason: "difference",
        range: "{low} to {high}",
        no_figure: "none",

        what_available_bytes: "memory for the cache",
        what_num_blocks: "blocks",
        what_kv_cache_size_tokens: "tokens that fit",
        what_max_concurrency: "longest requests at once",
        what_needed_bytes: "needed by the longest request",
        what_max_model_len_that_fits: "longest length that fits",
        what_k_bytes: "K",
        what_v_bytes: "V",
        what_cache_bytes: "cache",
        what_cache_tokens: "tokens or cells",
        what_weight_bytes: "weights",
        what_activation_bytes: "activations",
        what_of_cache: "{what}, cache {cache}",

        reason_same: "none",
        reason_rounding: "none: within what the printed figures leave open",
        reason_older_meaning: "none: builds of that time count so, without the groups that newer ones count",
        reason_setting: "none with {key} = {value}, which the log does not say",
        reason_smallest_rank: "another rank has less memory, and the smallest of all decides",
        reason_units: "the same amount in the other unit: one is in powers of 1,024, the other of 1,000",
        reason_padding: "probably padding: it is less than one percent more, as when an engine rounds up to whole blocks",
        reason_other_model: "the log is of a model that is not chosen here; give its config.json together with the log",
        reason_not_modelled: "KVscope has no such figure",
        reason_unknown: "not known; the scenario may differ from the server in something that the log does not say",
    }
}

/// English.
pub static ENGLISH: FilesText = FilesText::ENGLISH;
