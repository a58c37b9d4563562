//! The line that puts the page at a decode step, and its playing.

use super::text::{Messages, fill};

/// Seconds in which the whole life of a request is played, however long it is.
const PLAY_SECONDS: f64 = 8.0;

/// The step after so many seconds of playing.
pub fn step_at(seconds: f64, last: u64) -> u64 {
    // The cast saturates.
    (last as f64 * seconds / PLAY_SECONDS).ceil() as u64
}

/// When a step is shown.
pub fn seconds_at(step: u64, last: u64) -> f64 {
    step as f64 * PLAY_SECONDS / (last.max(1) as f64)
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
