//! Who comes when, with how many tokens.

use std::sync::Arc;

use super::trace::TraceRow;
use super::{MAX_CLIENTS, MAX_REQUEST_TOKENS, MAX_REQUESTS, MAX_TOKENS, ServeError};

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Clients that each send the next request when the one before is finished.
    ClosedLoop {
        /// How many.
        clients: u64,
    },
    /// At random, each independent of the others.
    Poisson {
        /// Mean requests per second.
        requests_per_second: f64,
    },
    /// As in the trace that gives the lengths.
    Trace,
}

/// A number of tokens, drawn for each request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// The same for all.
    Fixed(u64),
    /// Log-normal: half of them below the median, one in twenty above the 95th percentile.
    LogNormal {
        /// The median.
        median: u64,
        /// The 95th percentile.
        p95: u64,
    },
}

/// The lengths of requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Lengths {
    /// Drawn for each request.
    Drawn {
        /// Prompt tokens, at least one.
        prompt: Spread,
        /// Thinking tokens.
        thinking: Spread,
        /// Answer tokens.
        answer: Spread,
    },
    /// As in a trace; when there are more requests than rows, it begins again.
    Trace(Arc<Vec<TraceRow>>),
}

/// The requests that a server gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// When they arrive.
    pub arrivals: Arrivals,
    /// How long they are.
    pub lengths: Lengths,
    /// How many there are.
    pub num_requests: u64,
    /// Prompt tokens that all requests begin with.
    pub shared_prefix_tokens: u64,
    /// Output tokens that each client allows, but never fewer than it gets; absent: what the longest sequence leaves. Engines
    /// that reserve memory reserve these.
    pub max_output_tokens: Option<u64>,
    /// What the random numbers begin with.
    pub seed: u64,
}

/// The tokens of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestLengths {
    pub(super) prompt: u64,
    pub(super) thinking: u64,
    pub(super) answer: u64,
}

/// The 95th percentile of the standard normal distribution.
const Z95: f64 = 1.644_853_626_951_472_2;

/// Random numbers that are the same everywhere for the same seed.
///
/// Source: SplitMix64, Steele, Lea and Flood 2014, <https://doi.org/10.1145/2714064.2660195>.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform above 0, up to 1.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.unit(), self.unit());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

impl Spread {
    fn draw(self, random: &mut Random) -> u64 {
        match self {
            Self::Fixed(tokens) => tokens,
            Self::LogNormal { median, p95 } => {
                let median = median as f64;
                let sigma = (p95 as f64 / median).ln() / Z95;
                let res = median * (sigma * random.normal()).exp();
                // The check bounds median and p95; a draw far out is cut where every request is.
                res.round().min(MAX_REQUEST_TOKENS as f64) as u64
            }
        }
    }

    fn check(self, key: &'static str, min: u64) -> Result<(), ServeError> {
        let (low, high) = match self {
            Self::Fixed(tokens) => (tokens, tokens),
            Self::LogNormal { median, p95 } => {
                if p95 < median {
                    return Err(ServeError::SpreadReversed { key, median, p95 });
                }
                (median.min(p95), p95)
            }
        };
        let min = match self {
            Self::Fixed(_) => min,
            Self::LogNormal { .. } => 1,
        };
        match [low, high]
            .into_iter()
            .find(|tokens| !(min..=MAX_REQUEST_TOKENS).contains(tokens))
        {
            Some(given) => Err(ServeError::OutOfBounds {
                key,
                given,
                min,
                max: MAX_REQUEST_TOKENS,
            }),
            None => Ok(()),
        }
    }
}

impl Workload {
    /// Checks every number against its bounds.
    ///
    /// # Errors
    ///
    /// The first one outside them.
    pub fn check(&self) -> Result<(), ServeError> {
        let bounded = |key, given: u64, bounds: crate::core::units::Bounds| {
            if bounds.contains(given) {
                return Ok(());
            }
            Err(ServeError::OutOfBounds {
                key,
                given,
                min: bounds.min,
                max: bounds.max,
            })
        };
        bounded("num_requests", self.num_requests, MAX_REQUESTS)?;
        if let Some(given) = self
            .max_output_tokens
            .filter(|tokens| MAX_REQUEST_TOKENS < *tokens)
        {
            return Err(ServeError::OutOfBounds {
                key: "max_output_tokens",
                given,
                min: 0,
                max: MAX_REQUEST_TOKENS,
            });
        }
        match self.arrivals {
            Arrivals::ClosedLoop { clients } => bounded("clients", clients, MAX_CLIENTS)?,
            Arrivals::Poisson {
                requests_per_second,
            } => {
                if !(1e-6..=1e6).contains(&requests_per_second) {
                    return Err(ServeError::RateOutOfBounds {
                        given: requests_per_second,
                    });
                }
            }
            Arrivals::Trace => {
                if !matches!(self.lengths, Lengths::Trace(_)) {
                    return Err(ServeError::TraceEmpty);
                }
            }
        }
        match &self.lengths {
            Lengths::Drawn {
                prompt,
                thinking,
                answer,
            } => {
                prompt.check("prompt_tokens", 1)?;
                thinking.check("thinking_tokens", 0)?;
                answer.check("answer_tokens", 0)?;
                if [*thinking, *answer] == [Spread::Fixed(0); 2] {
                    return Err(ServeError::NoOutput);
                }
            }
            Lengths::Trace(rows) if rows.is_empty() => return Err(ServeError::TraceEmpty),
            Lengths::Trace(_) => {}
        }
        Ok(())
    }

    /// The lengths of all requests in the order in which they are sent.
    ///
    /// # Errors
    ///
    /// When they add up to more tokens than are simulated.
    pub(super) fn draw_lengths(&self) -> Result<Vec<RequestLengths>, ServeError> {
        let mut random = Random::new(self.seed);
        let mut res = Vec::new();
        let mut total = 0_u64;
        for idx in 0..self.num_requests {
            let lengths = match &self.lengths {
                Lengths::Drawn {
                    prompt,
                    thinking,
                    answer,
                } => {
                    let (prompt, thinking) = (prompt.draw(&mut random), thinking.draw(&mut random));
                    let answer = answer.draw(&mut random);
                    RequestLengths {
                        prompt: prompt.max(1),
                        thinking,
                        // Every request samples a token.
                        answer: if thinking == 0 { answer.max(1) } else { answer },
                    }
                }
                Lengths::Trace(rows) => {
                    let row = usize::try_from(idx)
                        .ok()
                        .and_then(|idx| rows.get(idx % rows.len().max(1)));
                    let Some(row) = row else {
                        return Err(ServeError::TraceEmpty);
                    };
                    row.check().map_err(|problem| ServeError::TraceLine {
                        line: idx + 1,
                        problem,
                    })?;
                    RequestLengths {
                        prompt: row.prompt_tokens,
                        thinking: row.thinking_tokens,
                        answer: row.answer_tokens,
                    }
                }
            };
            total = total
                .saturating_add(lengths.prompt)
                .saturating_add(lengths.thinking)
                .saturating_add(lengths.answer);
            if MAX_TOKENS < total {
                return Err(ServeError::TooManyTokens {
                    requests: idx,
                    max: MAX_TOKENS,
                });
            }
            res.push(lengths);
        }
        Ok(res)
    }

    /// When each request arrives, for those that do not wait for another to finish.
    pub(super) fn draw_arrivals(&self) -> Vec<f64> {
        match self.arrivals {
            Arrivals::ClosedLoop { clients } => {
                let first = clients.min(self.num_requests);
                (0..first).map(|_| 0.0).collect()
            }
            Arrivals::Poisson {
                requests_per_second,
            } => {
                // Another sequence than the one of the lengths, so that one rate or another leaves them as they are.
                let mut random = Random::new(self.seed ^ 0xA5A5_5A5A_0F0F_F0F0);
                let mut now = 0.0;
                (0..self.num_requests)
                    .map(|idx| {
                        if 0 < idx {
                            now -= random.unit().ln() / requests_per_second;
                        }
                        now
                    })
                    .collect()
            }
            Arrivals::Trace => {
                let Lengths::Trace(rows) = &self.lengths else {
                    return Vec::new();
                };
                let last = rows.last().map_or(0.0, |row| row.arrival_seconds);
                // A trace that begins again goes on a mean gap after its end.
                let span = last + last / rows.len().max(1) as f64;
                (0..self.num_requests)
                    .filter_map(|idx| {
                        let idx = usize::try_from(idx).ok()?;
                        let row = rows.get(idx % rows.len().max(1))?;
                        Some(row.arrival_seconds + span * (idx / rows.len().max(1)) as f64)
                    })
                    .collect()
            }
        }
    }
}
