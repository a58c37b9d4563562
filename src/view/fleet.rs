//! How answers about a fleet are said: what fits, what would help, money, and the runs of the simulator.

pub mod fit;
pub mod runs;
pub mod setting;
pub mod sources;
pub mod turns;

use crate::view::numbers::Numbers;
use crate::view::text::{Messages, fill};

/// Decimals with which a number shows three figures, at most six.
fn decimals(amount: f64) -> u32 {
    match amount.abs() {
        n if 100.0 <= n => 0,
        n if 10.0 <= n => 1,
        n if 1.0 <= n => 2,
        n if 0.1 <= n => 3,
        n if 0.01 <= n => 4,
        n if 0.001 <= n => 5,
        _ => 6,
    }
}

/// Three figures: `1,234`, `12.3`, `0.123`; above 2^53 inexact, and nothing below a millionth.
pub fn figures(amount: f64, numbers: Numbers<'_>) -> String {
    if amount.is_nan() || amount <= 0.0 {
        return numbers.integer(0);
    }
    // The cast saturates above 2^64 millionths.
    let millionths = (amount * 1e6).round() as u64;
    numbers.ratio(millionths, 1_000_000, decimals(amount))
}

/// US dollars with three figures: `$0.0436`, `$12.3`.
pub fn usd(amount: f64, messages: &Messages) -> String {
    let n = figures(amount, messages.numbers());
    fill(&messages.fleet.price_usd, &[("n", &n)])
}
