//! Where a value stands on a slider, and the value that a place on it means.

use crate::core::units::Bounds;

/// Positions of a slider: fine enough that each of its pixels is one.
pub const POSITIONS: u32 = 1000;

/// The position of `value`, 0 to [`POSITIONS`]. Logarithmic bounds that begin at zero keep their first position for it.
pub fn position(bounds: Bounds, value: u64) -> u32 {
    let value = value.clamp(bounds.min, bounds.max);
    let share = if bounds.is_log {
        let log = |value: u64| ((value - bounds.min) as f64).ln_1p();
        log(value) / log(bounds.max).max(f64::MIN_POSITIVE)
    } else {
        (value - bounds.min) as f64 / ((bounds.max - bounds.min) as f64).max(1.0)
    };
    (share * f64::from(POSITIONS)).round() as u32
}

/// The value at a position: a round number on a logarithmic slider, two leading digits of it.
pub fn value_at(bounds: Bounds, position: u32) -> u64 {
    let share = f64::from(position.min(POSITIONS)) / f64::from(POSITIONS);
    if POSITIONS <= position {
        return bounds.max;
    }
    let span = (bounds.max - bounds.min) as f64;
    if bounds.is_log {
        let raw = (share * span.ln_1p()).exp_m1();
        round_to_digits(bounds.min + raw.round() as u64).clamp(bounds.min, bounds.max)
    } else {
        bounds.min + (share * span).round() as u64
    }
}

/// The value after one arrow key or one small drag step: the next round number in that direction, at least one away.
pub fn stepped(bounds: Bounds, value: u64, steps: i32) -> u64 {
    let mut res = value.clamp(bounds.min, bounds.max);
    for _ in 0..steps.unsigned_abs().min(10_000) {
        let step = if bounds.is_log {
            step_of(if steps < 0 {
                res.saturating_sub(1)
            } else {
                res
            })
        } else {
            linear_step(bounds)
        };
        res = if steps < 0 {
            // Down from a round number goes to the round number below it.
            (res.saturating_sub(1) / step).saturating_mul(step)
        } else {
            (res / step + 1).saturating_mul(step)
        };
        res = res.clamp(bounds.min, bounds.max);
    }
    res
}

/// About a hundredth of a linear range: a power of ten, so that the values stay round.
fn linear_step(bounds: Bounds) -> u64 {
    let least = (bounds.max - bounds.min) / 200;
    let mut step = 1;
    while step < least {
        step *= 10;
    }
    step
}

/// One unit of the second leading digit.
fn step_of(value: u64) -> u64 {
    value
        .checked_ilog10()
        .map_or(1, |digits| 10_u64.pow(digits.saturating_sub(1)))
}

fn round_to_digits(value: u64) -> u64 {
    let step = step_of(value);
    (value + step / 2) / step * step
}

/// Whole steps of a drag over so many pixels.
pub fn steps_of_drag(pixels: f64, pixels_per_step: f64) -> i32 {
    (pixels / pixels_per_step).trunc() as i32
}
