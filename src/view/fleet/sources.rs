//! Where templates and prices are from. Core says it in English, and the tables of words hold the same sentences.

use crate::view::text::{ENGLISH, Messages};

/// The sentences in [`crate::view::text::FleetText`].
const NAMES: &[&str] = &[
    "source_templates",
    "source_minimax",
    "source_claude",
    "source_openai",
    "source_deepseek",
    "opt_in_claude",
    "opt_in_openai",
    "price_source_page",
    "price_source_deepseek",
    "price_source_list",
    "price_source_list_opus",
    "price_source_list_copy",
    "price_source_list_google",
    "price_source_list_openrouter",
    "price_source_list_crate",
    "price_source_list_harvest",
    "price_source_list_page",
    "price_source_list_vercel",
    "price_source_akash",
    "price_source_lambda",
    "price_source_runpod",
];

/// A sentence of core in the language of the page. The tests hold each to be among the words.
pub fn said<'a>(english: &'a str, messages: &'a Messages) -> &'a str {
    let is_it = |name: &&&str| ENGLISH.fleet.get(name) == Some(english);
    NAMES
        .iter()
        .find(is_it)
        .and_then(|name| messages.fleet.get(name))
        .unwrap_or(english)
}
