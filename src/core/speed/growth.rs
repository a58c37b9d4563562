//! Quantities that grow along straight lines, summed exactly.

use crate::core::units::ascending;

/// A quantity that grows with the tokens of a sequence along straight lines: the bytes of its cache, where a window fills
/// and the line bends; the operations of attending to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth {
    /// Tokens and value at each bend, ascending. Past the last one the line goes on.
    knots: Vec<(u64, f64)>,
}

impl Growth {
    /// The line through nothing at zero tokens and `per_token` at one.
    pub fn linear(per_token: f64) -> Self {
        Self::sample(&[], |tokens| tokens as f64 * per_token)
    }

    /// A function that is straight between the `bends`.
    pub fn sample(bends: &[u64], function: impl Fn(u64) -> f64) -> Self {
        let last = bends.iter().copied().max().unwrap_or(0);
        let mut at: Vec<u64> = bends.to_vec();
        at.extend([0, last.saturating_add(1 << 20)]);
        Self {
            knots: ascending(&at)
                .into_iter()
                .map(|n| (n, function(n)))
                .collect(),
        }
    }

    /// The value at `tokens`.
    pub fn at(&self, tokens: f64) -> f64 {
        self.line(tokens).at(tokens)
    }

    /// The line that `tokens` lie on: its own from the bend before, which is not on it, to the bend after.
    pub(super) fn line(&self, tokens: f64) -> Line {
        let idx = self
            .knots
            .partition_point(|(n, _)| (*n as f64) < tokens)
            .clamp(1, self.knots.len().saturating_sub(1).max(1));
        match (self.knots.get(idx - 1), self.knots.get(idx)) {
            (Some((n0, v0)), Some((n1, v1))) => Line {
                start: *n0 as f64,
                value: *v0,
                rise: v1 - v0,
                tokens: (n1.saturating_sub(*n0)).max(1) as f64,
            },
            (first, _) => Line {
                start: 0.0,
                value: first.map_or(0.0, |(_, v0)| *v0),
                rise: 0.0,
                tokens: 1.0,
            },
        }
    }

    /// The sum of the values at `from + 1` to `to` tokens. Exact but for rounding.
    ///
    /// ```
    /// # use kvscope::core::speed::Growth;
    /// // A window of 4: 1 + 2 + 3 + 4 + 4 + 4.
    /// assert_eq!(Growth::sample(&[4], |n| n.min(4) as f64).sum(0, 6), 18.0);
    /// ```
    pub fn sum(&self, from: u64, to: u64) -> f64 {
        pieces(from, to, self.bends())
            .map(|(a, b)| (b - a) as f64 * (self.at(a as f64 + 1.0) + self.at(b as f64)) / 2.0)
            .sum()
    }

    /// The fewest tokens at which the value reaches `value`; `None` when it never does.
    pub fn tokens_at(&self, value: f64) -> Option<u64> {
        let ((n0, v0), (n1, v1)) = match self.knots.iter().position(|(_, v)| value <= *v) {
            Some(0) => return Some(0),
            Some(idx) => (*self.knots.get(idx - 1)?, *self.knots.get(idx)?),
            None => match self.knots.as_slice() {
                [.., a, b] => (*a, *b),
                _ => return None,
            },
        };
        let slope = (v1 - v0) / n1.saturating_sub(n0).max(1) as f64;
        let tokens = (n0 as f64 + (value - v0) / slope).ceil();
        (0.0 < slope && tokens < 9e15).then_some(tokens as u64)
    }

    /// Tokens at which the lines bend, ascending, with 0 and an end far away.
    pub fn bends(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.knots.iter().map(|(n, _)| *n)
    }
}

/// A straight piece: from `value` at `start` it rises by `rise` over `tokens` tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    start: f64,
    value: f64,
    rise: f64,
    tokens: f64,
}

impl Line {
    pub(super) fn at(&self, tokens: f64) -> f64 {
        self.value + self.rise * (tokens - self.start) / self.tokens
    }
}

/// The intervals `(a, b]` into which `bends`, in any order, cut `(from, to]`.
pub(super) fn pieces(
    from: u64,
    to: u64,
    bends: impl Iterator<Item = u64>,
) -> impl Iterator<Item = (u64, u64)> {
    let mut cuts: Vec<u64> = bends.filter(|n| from < *n && *n < to).collect();
    cuts.extend([from.min(to), to]);
    let cuts = ascending(&cuts);
    let ends: Vec<u64> = cuts.iter().skip(1).copied().collect();
    cuts.into_iter().zip(ends)
}
