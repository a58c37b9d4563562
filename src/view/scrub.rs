//! The line that puts the page at a decode step, and its playing.

use super::text::{Messages, fill};

/// Seconds in which the whole life of a request is played, however long it is.
const PLAY_SECONDS: f64 = 8.0;

/// The step after playing for some more seconds: at least one on, at most the last.
pub fn played(step: u64, last: u64, elapsed_seconds: f64) -> u64 {
    let steps = (last as f64 * elapsed_seconds / PLAY_SECONDS).ceil();
    // A frame that took no time, or a clock that went back, still moves on.
    step.saturating_add((steps as u64).max(1)).min(last)
}

/// `step 2,117 of 4,300`.
pub fn label(messages: &Messages, step: u64, last: u64) -> String {
    let numbers = messages.numbers();
    let values = [
        ("step", numbers.integer(step)),
        ("last", numbers.integer(last)),
    ];
    fill(
        &messages.page.step_of,
        &values
            .each_ref()
            .map(|(name, value)| (*name, value.as_str())),
    )
}
