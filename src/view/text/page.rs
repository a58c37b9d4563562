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
        fact_at_long_value: "only {n} at once",

        fact_formula: "Show the formula",

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

        working_per_token: "Each new token adds {exact} over all layers, once every window is full{index}.",
        working_per_token_index: ", and {size} of index keys",
        working_blocks: "{total} tokens ÷ {n} per block, rounded up = {blocks} blocks with {slots} slots.",
        working_fits: "On each GPU: {usable} that the engine may use − {weights} weights − {overhead} activations and runtime − {held} cache = {sign}{free}.",
        working_fits_pool: "On each GPU: {pool} given as the pool − {held} cache = {sign}{free}.",
        working_concurrency: "The pool on each GPU is {pool}; {n} requests fit when each is as long as it gets. By the mean over a request's life it would be {mean}, which is what a scheduler that evicts can reach.",
        working_last_token: "The last decode step reads the weights and every running request's cache once: {low} to {high}, likely {likely}. By the data sheet's bandwidth alone it would be {roofline}, which nothing reaches.",
        working_longest: "Found by search over the exact bytes, windows and states included: one more token would not fit.",
        working_longest_more: "Memory would allow more: the search ends here.",
        working_longest_context: "Memory would allow more: the {context} tokens end it that the model was trained for, or that max_model_len allows.",
        working_at_long: "The same requests, each with this much thinking, found by the same search.",

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
