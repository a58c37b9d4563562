//! How long prompts, thinking and answers are: the six requests to start from, as `data/lengths.tsv` has them.

use std::sync::OnceLock;

use serde::Serialize;

use super::rows;
use super::scenario::Scenario;
use super::units::Tokens;

/// A request that is typical of something that was measured or published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lengths {
    /// The id in links and JSON, such as `logic-puzzle`.
    pub id: &'static str,
    /// Prefilled tokens.
    pub prompt_tokens: u64,
    /// Reasoning tokens.
    pub thinking_tokens: u64,
    /// Answer tokens.
    pub answer_tokens: u64,
    /// The model, or the trace, that it is typical of.
    pub typical_of: &'static str,
    /// The field that [`Self::range`] is about.
    pub ranged: &'static str,
    /// How far models or requests of this kind lie apart.
    pub range: [u64; 2],
    /// How the figures were had.
    pub confidence: &'static str,
    /// What they are figures of.
    pub note: &'static str,
    /// Where they are from.
    pub source: &'static str,
    /// A page to read on.
    pub url: &'static str,
}

impl Lengths {
    /// Sets the tokens of a scenario and leaves the rest.
    pub fn apply(&self, scenario: &mut Scenario) {
        scenario.prompt_tokens = Tokens(self.prompt_tokens);
        scenario.thinking_tokens = Tokens(self.thinking_tokens);
        scenario.answer_tokens = Tokens(self.answer_tokens);
    }

    /// Whether a scenario's request is this one.
    pub fn is_of(&self, scenario: &Scenario) -> bool {
        scenario.prompt_tokens.0 == self.prompt_tokens
            && scenario.thinking_tokens.0 == self.thinking_tokens
            && scenario.answer_tokens.0 == self.answer_tokens
    }
}

/// Every request, from the shortest to the longest.
pub fn all() -> &'static [Lengths] {
    static LENGTHS: OnceLock<Vec<Lengths>> = OnceLock::new();
    LENGTHS.get_or_init(|| {
        rows::of(include_str!("../../data/lengths.tsv"))
            .map(|row| {
                let tokens = |column: &str| row.integer(column).unwrap_or(0);
                Lengths {
                    id: row.text("id"),
                    prompt_tokens: tokens("prompt_tokens"),
                    thinking_tokens: tokens("thinking_tokens"),
                    answer_tokens: tokens("answer_tokens"),
                    typical_of: row.text("typical_of"),
                    ranged: row.text("ranged"),
                    range: [tokens("range_min"), tokens("range_max")],
                    confidence: row.text("confidence"),
                    note: row.text("note"),
                    source: row.text("source"),
                    url: row.text("url"),
                }
            })
            .collect()
    })
}

/// The request with this id.
///
/// ```
/// # use kvscope::core::{lengths, scenario::Scenario};
/// // The default scenario is a measured case, not an invention.
/// assert_eq!(lengths::get("logic-puzzle").map(|lengths| lengths.is_of(&Scenario::default())), Some(true));
/// ```
pub fn get(id: &str) -> Option<&'static Lengths> {
    all().iter().find(|lengths| lengths.id == id)
}
