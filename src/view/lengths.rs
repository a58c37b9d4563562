//! The typical requests in words.

use crate::core::lengths::Lengths;

use super::text::{Messages, fill};

/// The name of a request to start from.
pub fn name<'a>(lengths: &Lengths, messages: &'a Messages) -> &'a str {
    let words = &messages.panels;
    match lengths.id {
        "chat-question" => &words.lengths_chat_question,
        "logic-puzzle" => &words.lengths_logic_puzzle,
        "aime-problem" => &words.lengths_aime_problem,
        "hard-science" => &words.lengths_hard_science,
        "long-document" => &words.lengths_long_document,
        "runs-to-the-cap" => &words.lengths_runs_to_the_cap,
        // The tests hold every id to have a name.
        _ => "",
    }
}

/// What it is typical of, and how far such requests lie apart.
pub fn note(lengths: &Lengths, messages: &Messages) -> String {
    let (words, numbers) = (&messages.panels, messages.numbers());
    let template = if lengths.ranged == "prompt_tokens" {
        &words.lengths_typical_prompt
    } else {
        &words.lengths_typical_thinking
    };
    let [low, high] = lengths.range.map(|tokens| numbers.integer(tokens));
    fill(
        template,
        &[
            ("typical_of", lengths.typical_of),
            ("low", &low),
            ("high", &high),
        ],
    )
}
