//! The page around the figures. A new sentence is one line here.

use super::texts;

texts! {
    /// Headings, controls, facts and buttons.
    pub struct PageText {
        tagline: "what one reasoning request does to GPU memory",

        lede: "A request prefills {prompt} prompt {prompt?token|tokens}, thinks for {thinking} and answers in {answer}. Its KV cache ends at {total}, which on {model} in {kv_cache_dtype} is {size} of the memory of {gpus}.",
        lede_share: "{share} of it was written while thinking.",
        lede_samples: "{num_samples} answers are sampled from the one prompt.",
        lede_requests: "{num_seqs} such requests hold {size}.",
        lede_short: "{prompt} + {thinking} + {answer} = {total}, {size}",

        fact_per_token: "per token",
        fact_blocks: "blocks of {n}",
        fact_fits: "fits on {gpus}?",
        fact_fits_yes: "yes, {size} to spare",
        fact_fits_no: "no, {size} missing",
        fact_concurrency: "requests at once",
        fact_last_token: "last token takes",
        fact_about: "about {time}",
        fact_longest: "longest thinking",
        fact_longest_none: "none fits",
        fact_at_long: "at {n} thinking",
        fact_at_long_value: "only {n} at once",

        group_request: "Request",
        group_model: "Model",
        group_cache: "Cache",
        group_hardware: "Hardware",
        group_engine: "Engine",
        field_model: "Model",
        field_prompt_tokens: "Prompt",
        field_thinking_tokens: "Thinking",
        field_answer_tokens: "Answer",
        field_num_samples: "Samples",
        field_num_seqs: "Requests at once",
        field_shared_prefix_tokens: "Shared prefix",
        field_weight_format: "Weights",
        field_kv_cache_dtype: "KV type",
        field_state_dtype: "State type",
        field_gpu: "GPU",
        field_tensor_parallel_size: "Tensor parallel",
        field_pipeline_parallel_size: "Pipeline parallel",
        field_data_parallel_size: "Data parallel",
        field_gpu_memory_utilization: "Use of memory",
        field_activation_bytes: "Activations",
        field_overhead_bytes: "Runtime",
        field_engine: "Engine",
        reset: "Reset",
        auto: "auto",

        import_button: "Import config.json",
        share_button: "Share",
        table_button: "Data table",
        download_svg: "SVG",
        download_png: "PNG",
        download_csv: "CSV",
        play: "Play",
        pause: "Pause",
        warnings_title: "What to know",
        assumptions_title: "What is assumed",
    }
}
