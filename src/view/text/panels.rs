//! What stands behind the first view: the panels and the dialogs. The page's own module does without these words.

use super::texts;

texts! {
    /// Panels and dialogs.
    pub struct PanelText {
        group_lengths: "Typical requests",
        lengths_chat_question: "A chat question",
        lengths_logic_puzzle: "A logic puzzle",
        lengths_aime_problem: "A competition problem",
        lengths_hard_science: "A hard science question",
        lengths_long_document: "A long document",
        lengths_runs_to_the_cap: "A run to the cap",
        lengths_typical_prompt: "typical of {typical_of}; prompts from {low} to {high} tokens",
        lengths_typical_thinking: "typical of {typical_of}; thinking from {low} to {high} tokens",
        download_svg: "SVG",
        download_png: "PNG",
        download_csv: "CSV",
        assumptions_title: "What is assumed",
        working_title: "How it is computed",
        steps_title: "Every step",
        snippets_title: "The same as a program",
        pick_title: "Choose a model",
        pick_search: "Search models",
        pick_none: "No preset has this name. Import its config.json instead.",
        share_title: "Share this scenario",
        share_help: "The link holds the whole scenario, but not the decode step you are at nor what is pinned for comparison. Nothing is stored anywhere else.",
        copied: "Copied.",
        copy_refused: "The browser does not allow copying here; select the link and copy it.",

        last_token_counted: "the last sampled token is counted; an engine never feeds it back and holds {engine_tokens} {engine_tokens?token|tokens}",
        windows_idealised: "a sliding window keeps exactly its newest tokens; engines reserve up to a batch more",
        overheads_assumed: "activations {activations} and runtime {runtime} per GPU, from: {source}",
        state_dtype: "recurrent states are kept as {state_dtype}",
    }
}
