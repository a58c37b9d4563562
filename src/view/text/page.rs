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
        fact_fits_unknown: "unknown: no size of weights",
        fact_fits_refused: "engines refuse this",
        fact_longest_none: "none fits",
        fact_at_long: "at {n} thinking",
        fact_at_long_context: "context ends at {n}",
        fact_at_long_value: "only {n} at once",

        reset: "Reset",
        reading: "the model's configuration is being read; until then the scenario before it is shown",

        import_button: "Open files",
        share_button: "Share",
        table_button: "Data table",
        play: "Play",
        pause: "Pause",
        more: "More",
        close: "Close",
        controls_show: "Controls",
        controls_hide: "Done",
        doors: "Import, share, theme",
        theme_auto: "Theme: as the system",
        theme_light: "Theme: light",
        theme_dark: "Theme: dark",
        scrub_label: "Decode step shown by the page",
        at_step: "After {step} of {last} steps the cache holds {tokens} {tokens?token|tokens}, {size}.",
        more_notes: "and {count} more that could not be read",
        step_of: "step {step} of {last}",

        model_summary: "{name} · {kind} · {layers} layers",
        model_edited: "{name}, edited",
        kind_mha: "MHA",
        kind_gqa: "GQA",
        kind_mqa: "MQA",
        kind_mla: "MLA",
        kind_sliding: "sliding windows",
        kind_compressed: "compressed",
        kind_hybrid: "hybrid",
        kind_recurrent: "recurrent",

        copy: "Copy",
        pin: "Pin for comparison",
        unpin: "Remove {name}",
    }
}
