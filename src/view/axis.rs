//! Where ticks and labels go.

use crate::core::units::{Bytes, KIB};

use super::numbers::{ByteUnit, Numbers};
use super::svg::Axis;

/// The smallest of 1, 2, 5, 10, 20, 50 … of which at most `n_steps` make `max`.
fn round_step(max: f64, n_steps: u32) -> f64 {
    let least = (max / f64::from(n_steps.max(1))).max(f64::MIN_POSITIVE);
    let mut power = 1.0;
    while power * 10.0 <= least && power < f64::MAX / 10.0 {
        power *= 10.0;
    }
    while least < power && f64::MIN_POSITIVE * 10.0 < power {
        power /= 10.0;
    }
    let is_enough = |factor: &f64| least <= power * factor * (1.0 + 1e-12);
    power * [1.0, 2.0, 5.0].into_iter().find(is_enough).unwrap_or(10.0)
}

/// An axis of bytes from zero to a round value not below `max`; the last tick has the unit.
pub fn byte_axis(max: Bytes, n_steps: u32, numbers: Numbers<'_>) -> Axis {
    // An axis of nothing still has a length.
    let max = max.max(Bytes(KIB));
    let unit = ByteUnit::of(max);
    let unit_bytes = unit.bytes();
    // Halves of a unit are whole bytes and short labels; fifths are neither.
    let least = 0.5;
    let step = round_step(max.0 as f64 / unit_bytes as f64, n_steps.clamp(1, 4)).max(least);
    let step_bytes = (step * unit_bytes as f64) as u64;
    let n_ticks = max.0.div_ceil(step_bytes.max(1));
    let tick = |idx: u64| {
        let bytes = Bytes(step_bytes.saturating_mul(idx));
        let label = if idx == n_ticks {
            numbers.bytes_tick_with_unit(bytes, unit)
        } else {
            numbers.bytes_tick(bytes, unit)
        };
        (bytes.0 as f64, label)
    };
    let ticks: Vec<(f64, String)> = (0..=n_ticks).map(tick).collect();
    Axis {
        min: 0.0,
        max: ticks.last().map_or(1.0, |(value, _)| *value),
        ticks,
    }
}

/// An axis of counts from zero to a round value not below `max`.
pub fn count_axis(max: u64, n_steps: u32, numbers: Numbers<'_>) -> Axis {
    let step = (round_step(max.max(1) as f64, n_steps) as u64).max(1);
    let n_ticks = max.max(1).div_ceil(step);
    let ticks: Vec<(f64, String)> = (0..=n_ticks)
        .map(|idx| step.saturating_mul(idx))
        .map(|count| (count as f64, numbers.integer(count)))
        .collect();
    Axis {
        min: 0.0,
        max: ticks.last().map_or(1.0, |(value, _)| *value),
        ticks,
    }
}

/// An axis of `length` pixels without the labels that would meet one before them.
pub fn thinned(axis: &Axis, length: f64, width: impl Fn(&str) -> f64) -> Axis {
    let per_unit = length / (axis.max - axis.min).max(f64::MIN_POSITIVE);
    let mut res = axis.clone();
    let mut is_free_from = f64::NEG_INFINITY;
    res.ticks.retain(|(value, label)| {
        let half = width(label) / 2.0;
        let at = (value - axis.min) * per_unit;
        let is_clear = is_free_from <= at - half;
        if is_clear {
            is_free_from = at + half + 8.0;
        }
        is_clear
    });
    res
}

/// `x`, or the end of the range that it is beyond. `f64::clamp` panics on an empty range, with a message that takes the
/// standard library's tables for printing any float there is.
pub fn within(x: f64, low: f64, high: f64) -> f64 {
    if high < x {
        high
    } else if x < low {
        low
    } else {
        x
    }
}

/// Sorts a few items by a number, equal ones as they were. The sort of the standard library is for many, and its code is
/// compiled once for each type.
pub fn sort_by<T>(items: &mut [T], number: impl Fn(&T) -> f64) {
    for sorted in 1..items.len() {
        let mut at = sorted;
        while let Some([before, item]) = items.get(at.wrapping_sub(1)..=at)
            && number(item) < number(before)
        {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Something that wants to be at a place of a line and takes room there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Where its middle wants to be.
    pub at: f64,
    /// The room it takes.
    pub length: f64,
}

/// Middles for wishes in their order, as near to them as can be without any two being closer than `gap`, within
/// `low..high`. When there is not enough room they run over `high`.
pub fn spread(wishes: &[Wish], gap: f64, low: f64, high: f64) -> Vec<f64> {
    // The least distance of each middle from the first.
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut offset = 0.0;
    let mut before: Option<f64> = None;
    for wish in wishes {
        offset += before.map_or(0.0, |length| f64::midpoint(length, wish.length) + gap);
        offsets.push(offset);
        before = Some(wish.length);
    }
    // Less that distance, places must not fall: neighbours that would are pooled at their mean.
    let mut pools: Vec<(f64, u32)> = Vec::new();
    for (wish, offset) in wishes.iter().zip(&offsets) {
        let mut pool = (wish.at - offset, 1);
        while let Some((mean, n)) = pools.pop_if(|(mean, _)| pool.0 < *mean) {
            let all = n + pool.1;
            pool = (
                (mean * f64::from(n) + pool.0 * f64::from(pool.1)) / f64::from(all),
                all,
            );
        }
        pools.push(pool);
    }
    let first = low + wishes.first().map_or(0.0, |wish| wish.length / 2.0);
    let last = high - wishes.last().map_or(0.0, |wish| wish.length / 2.0) - offset;
    let places = pools
        .into_iter()
        .flat_map(|(mean, n)| std::iter::repeat_n(mean, n as usize));
    places
        .zip(offsets)
        .map(|(place, offset)| place.min(last).max(first) + offset)
        .collect()
}

/// The room that wishes need side by side.
pub fn room(wishes: &[Wish], gap: f64) -> f64 {
    let lengths: f64 = wishes.iter().map(|wish| wish.length).sum();
    lengths + gap * wishes.len().saturating_sub(1) as f64
}
