//! Seconds: an estimate from bytes and operations, always with its range.
//!
//! A step reads its weights and the cache of every sequence in it, and computes; a GPU does both at a part of its data
//! sheet's speed, and adds a time per layer and per sequence. The parts are [`SpeedConstants`]: visible, editable, each
//! with its source. The pure roofline (data sheet speeds, nothing added) is a bound, never an estimate.

mod constants;
mod growth;
mod inputs;

use serde::Serialize;

use growth::{Line, pieces};

pub use constants::{ConstantInfo, SpeedConstants};
pub use growth::Growth;
pub use inputs::{Parallel, Precision, SpeedInputs, distinct_experts};

/// Seconds, with the range and the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The fast end of the range that holds nine runs in ten; never under the roofline.
    pub low: f64,
    /// The estimate.
    pub likely: f64,
    /// The slow end of that range.
    pub high: f64,
    /// The bound: the data sheet's bandwidth or peak, whichever takes longer, and nothing else.
    pub roofline: f64,
}

impl Estimate {
    fn new(times: Times, constants: &SpeedConstants) -> Self {
        let factor = constants.range_factor.max(1.0);
        Self {
            low: (times.likely / factor)
                .max(times.roofline)
                .min(times.likely),
            likely: times.likely,
            high: times.likely * factor,
            roofline: times.roofline,
        }
    }

    /// This estimate for `count` equal parts, or a part of it.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self {
            low: self.low * count,
            likely: self.likely * count,
            high: self.high * count,
            roofline: self.roofline * count,
        }
    }

    /// `amount` per second at this duration: the rates of `high`, `likely`, `low` and `roofline`.
    #[must_use]
    pub fn rate(self, amount: f64) -> Rate {
        let per = |seconds: f64| {
            if 0.0 < seconds { amount / seconds } else { 0.0 }
        };
        Rate {
            low: per(self.high),
            likely: per(self.likely),
            high: per(self.low),
            roofline: per(self.roofline),
        }
    }
}

impl std::ops::Add for Estimate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            low: self.low + other.low,
            likely: self.likely + other.likely,
            high: self.high + other.high,
            roofline: self.roofline + other.roofline,
        }
    }
}

/// Amounts per second; here the roofline is the upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    /// The slow end of the range.
    pub low: f64,
    /// The estimate.
    pub likely: f64,
    /// The fast end of the range.
    pub high: f64,
    /// The bound.
    pub roofline: f64,
}

#[derive(Clone, Copy, Default)]
struct Times {
    likely: f64,
    roofline: f64,
}

impl Times {
    fn scale(self, factor: f64) -> Self {
        Self {
            likely: self.likely * factor,
            roofline: self.roofline * factor,
        }
    }
}

/// A step but for its attention: what does not change from one decode step to the next.
struct Step<'a> {
    inputs: &'a SpeedInputs,
    power: f64,
    /// Bytes of weights, and operations with them.
    weight_bytes: f64,
    linear_operations: f64,
    /// Seconds for each byte of one rank and for each operation of the whole model, at data sheet speeds.
    per_byte: f64,
    per_operation: f64,
    /// Shares of the data sheet's speeds.
    memory_efficiency: f64,
    compute_efficiency: f64,
    /// Seconds that are added.
    added: f64,
}

impl<'a> Step<'a> {
    /// A step of `tokens` tokens in which `sampled` sequences get their next token.
    fn new(inputs: &'a SpeedInputs, constants: &SpeedConstants, tokens: f64, sampled: f64) -> Self {
        let has_experts = 0 < inputs.num_experts;
        let ranks = f64::from(inputs.parallel.tensor_parallel_size.max(1));
        let vendor = if inputs.is_nvidia {
            1.0
        } else {
            constants.other_vendor_factor
        };
        let compute_efficiency = match inputs.precision {
            Precision::Bf16 => constants.bf16_efficiency,
            Precision::Fp8 => constants.fp8_efficiency,
            Precision::Fp4 => constants.fp4_efficiency,
        };
        let (expert_factor, expert_us) = if has_experts {
            (constants.moe_compute_factor, constants.moe_layer_us)
        } else {
            (1.0, 0.0)
        };
        let layer_us =
            constants.layer_us + expert_us + constants.tensor_parallel_layer_us * log2(ranks);
        let link_gbps = if inputs.has_fast_link {
            constants.fast_link_gbps
        } else {
            constants.slow_link_gbps
        };
        // Two sums over the ranks in each layer, of two bytes an element.
        let exchanged = 4.0
            * inputs.num_hidden_layers
            * inputs.seqs_per_rank(tokens)
            * inputs.hidden_size
            * (ranks - 1.0)
            / ranks;
        Self {
            inputs,
            power: constants.overlap_power,
            weight_bytes: inputs.weight_bytes_read(tokens),
            linear_operations: 2.0 * inputs.num_multiplied_params * tokens,
            per_byte: 1.0 / inputs.bandwidth,
            per_operation: 1.0 / (ranks * inputs.peak),
            memory_efficiency: constants.memory_efficiency * vendor,
            compute_efficiency: compute_efficiency * expert_factor * vendor,
            added: (inputs.num_hidden_layers * layer_us + sampled * constants.sequence_us) * 1e-6
                + exchanged / (link_gbps * 1e9),
        }
    }

    /// A decode step of all sequences that run at once in a stage.
    fn decode(inputs: &'a SpeedInputs, constants: &SpeedConstants) -> Self {
        let seqs = inputs.seqs_per_step() as f64;
        Self::new(inputs, constants, seqs, seqs)
    }

    /// Seconds of reading and of computing at data sheet speeds, with `cache_bytes` of one rank and `attention`
    /// operations of the whole model.
    fn reading_and_computing(&self, cache_bytes: f64, attention: f64) -> (f64, f64) {
        (
            (self.weight_bytes + cache_bytes) * self.per_byte,
            (self.linear_operations + attention) * self.per_operation,
        )
    }

    fn times(&self, cache_bytes: f64, attention: f64) -> Times {
        let (reading, computing) = self.reading_and_computing(cache_bytes, attention);
        let overlapped = overlap(
            reading / self.memory_efficiency,
            computing / self.compute_efficiency,
            self.power,
        );
        Times {
            likely: overlapped + self.added,
            roofline: reading.max(computing),
        }
    }

    /// What attention adds to decode steps on the line that `context` lies on.
    fn attention_at(&self, context: f64) -> Attention {
        let seqs = self.inputs.seqs_per_step() as f64;
        Attention {
            cache_bytes: self.inputs.cache_bytes.line(context),
            operations: self.inputs.decode_attention.line(context),
            seqs,
            seqs_per_rank: self.inputs.seqs_per_rank(seqs),
        }
    }

    fn decode_times(&self, attention: &Attention, context: f64) -> Times {
        let (cache_bytes, operations) = attention.at(context);
        self.times(cache_bytes, operations)
    }

    /// The context between `a` and `b`, where no line bends, past which the other of reading and computing takes longer.
    fn crossing(&self, a: u64, b: u64) -> Option<u64> {
        let difference = |context: u64| {
            let (cache_bytes, attention) = self.attention_at(context as f64).at(context as f64);
            let (reading, computing) = self.reading_and_computing(cache_bytes, attention);
            reading - computing
        };
        let (at_a, at_b) = (difference(a), difference(b));
        let share = at_a / (at_a - at_b);
        (0.0 < share && share < 1.0).then(|| a.saturating_add((share * (b - a) as f64) as u64))
    }
}

/// What attention adds to decode steps: bytes of one rank, operations of the whole model.
struct Attention {
    cache_bytes: Line,
    operations: Line,
    seqs: f64,
    seqs_per_rank: f64,
}

impl Attention {
    fn at(&self, context: f64) -> (f64, f64) {
        (
            self.seqs_per_rank * self.cache_bytes.at(context),
            self.seqs * self.operations.at(context),
        )
    }
}

/// `(a^power + b^power)^(1/power)`, without overflow.
fn overlap(a: f64, b: f64, power: f64) -> f64 {
    if power == 2.0 {
        return overlap_of_squares(a, b);
    }
    let (long, short) = (a.max(b), a.min(b));
    if long <= 0.0 {
        return 0.0;
    }
    let ratio = short / long;
    long * raised(1.0 + raised(ratio, power), 1.0 / power)
}

/// [`overlap`] with a power of 2. The simulator does this millions of times, so that it must stand in its loop.
#[inline(always)]
fn overlap_of_squares(a: f64, b: f64) -> f64 {
    let (long, short) = if a < b { (b, a) } else { (a, b) };
    if long <= 0.0 {
        return 0.0;
    }
    let ratio = short / long;
    long * (1.0 + ratio * ratio).sqrt()
}

/// `base^exponent` for a base that is not negative, by the two functions that the page has for its sliders: `powf` and its
/// tables are larger than a figure.
pub(crate) fn raised(base: f64, exponent: f64) -> f64 {
    if exponent == 0.0 {
        return 1.0;
    }
    1.0 + (exponent * (base - 1.0).ln_1p()).exp_m1()
}

/// The logarithm to base 2, likewise.
fn log2(number: f64) -> f64 {
    (number - 1.0).ln_1p() / std::f64::consts::LN_2
}

/// A machine as one step sees it, for steps that are not all alike: the constants worked out for its inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Seconds for each byte that one rank reads.
    pub seconds_per_byte: f64,
    /// Seconds for each operation of the whole model.
    pub seconds_per_operation: f64,
    /// How reading and computing overlap: see [`SpeedConstants::overlap_power`].
    pub overlap_power: f64,
    /// Seconds that each step adds.
    pub seconds_per_step: f64,
    /// Seconds that each step with tokens of a prompt adds further.
    pub seconds_per_prefill: f64,
    /// Seconds that each sequence adds that gets a token.
    pub seconds_per_sequence: f64,
    /// Seconds that each token adds: what ranks exchange.
    pub seconds_per_token: f64,
}

impl Machine {
    /// The machine of these inputs.
    pub fn new(inputs: &SpeedInputs, constants: &SpeedConstants) -> Self {
        let step = |tokens, sampled| Step::new(inputs, constants, tokens, sampled);
        let idle = step(0.0, 0.0);
        Self {
            seconds_per_byte: idle.per_byte / idle.memory_efficiency,
            seconds_per_operation: idle.per_operation / idle.compute_efficiency,
            overlap_power: idle.power,
            seconds_per_step: idle.added,
            seconds_per_prefill: prefill_layers_seconds(inputs, constants),
            seconds_per_sequence: step(0.0, 1.0).added - idle.added,
            seconds_per_token: step(1.0, 0.0).added - idle.added,
        }
    }

    /// Seconds of a step that reads `bytes` on one rank and does `operations`, but for those that are added.
    #[inline(always)]
    pub fn overlapped(&self, bytes: f64, operations: f64) -> f64 {
        let reading = bytes * self.seconds_per_byte;
        let computing = operations * self.seconds_per_operation;
        if self.overlap_power == 2.0 {
            overlap_of_squares(reading, computing)
        } else {
            overlap(reading, computing, self.overlap_power)
        }
    }

    /// Seconds that nothing hides of a step with `tokens` tokens of which `sampled` are followed by a new one.
    pub fn added(&self, tokens: f64, sampled: f64) -> f64 {
        self.seconds_per_step
            + sampled * self.seconds_per_sequence
            + tokens * self.seconds_per_token
    }
}

/// Seconds that the layers add further to a step with tokens of a prompt.
fn prefill_layers_seconds(inputs: &SpeedInputs, constants: &SpeedConstants) -> f64 {
    inputs.num_hidden_layers * constants.prefill_layer_us * 1e-6
}

/// One decode step in which every sequence has `context_tokens` tokens, the new one included.
pub fn decode_step_seconds(
    inputs: &SpeedInputs,
    constants: &SpeedConstants,
    context_tokens: u64,
) -> Estimate {
    let (step, context) = (Step::decode(inputs, constants), context_tokens as f64);
    let times = step.decode_times(&step.attention_at(context), context);
    Estimate::new(times, constants)
}

/// Nodes and weights of the 8-point Gauss-Legendre rule on 0 to 1, half of them: the other half mirrors.
const GAUSS: [(f64, f64); 4] = [
    (0.019_855_071_751_231_856, 0.050_614_268_145_188_13),
    (0.101_666_761_293_186_64, 0.111_190_517_226_687_24),
    (0.237_233_795_041_835_5, 0.156_853_322_938_943_64),
    (0.408_282_678_752_175_1, 0.181_341_891_689_181),
];

/// All decode steps that take a sequence from `from` tokens to `to`: the contexts `from + 1` to `to`.
///
/// Exactness: the bytes and operations of a step are straight between bends, so the roofline is summed exactly, cut also
/// where reading and computing cross; the estimate is a smooth curve between cuts and its sum is within 1e-6.
pub fn decode_seconds(
    inputs: &SpeedInputs,
    constants: &SpeedConstants,
    from: u64,
    to: u64,
) -> Estimate {
    let step = Step::decode(inputs, constants);
    let mut res = Times::default();
    let mut add = |attention: &Attention, context: f64, weight: f64| {
        let times = step.decode_times(attention, context).scale(weight);
        res.likely += times.likely;
        res.roofline += times.roofline;
    };
    // The curve turns fastest at short contexts, so cuts grow with the context.
    let bends = [512, 4096, 32_768, 262_144]
        .into_iter()
        .chain(inputs.cache_bytes.bends())
        .chain(inputs.decode_attention.bends());
    for (a, b) in pieces(from, to, bends) {
        for (a, b) in pieces(a, b, step.crossing(a, b).into_iter()) {
            let attention = step.attention_at((a + 1) as f64);
            if b - a < 32 {
                (a..b).for_each(|context| add(&attention, (context + 1) as f64, 1.0));
                continue;
            }
            let length = (b - a) as f64;
            for (node, weight) in GAUSS {
                for node in [node, 1.0 - node] {
                    add(&attention, a as f64 + 0.5 + node * length, weight * length);
                }
            }
        }
    }
    Estimate::new(res, constants)
}

/// Prefill of `new_tokens` prompt tokens after `cached_tokens` that the cache already holds, for each of `num_seqs`
/// sequences, in chunks.
pub fn prefill_seconds(
    inputs: &SpeedInputs,
    constants: &SpeedConstants,
    cached_tokens: u64,
    new_tokens: u64,
    num_seqs: u64,
) -> Estimate {
    if new_tokens == 0 || num_seqs == 0 {
        return Estimate::default();
    }
    let end = cached_tokens.saturating_add(new_tokens);
    let seqs = num_seqs as f64;
    let tokens = seqs * new_tokens as f64;
    let chunks = (tokens / constants.prefill_chunk_tokens.max(1.0))
        .ceil()
        .max(1.0);
    // Each chunk reads what its sequence has cached so far.
    let chunks_per_seq = (chunks / seqs).max(1.0);
    let first = cached_tokens as f64 + new_tokens as f64 / chunks_per_seq;
    let read =
        chunks_per_seq * (inputs.cache_bytes.at(first) + inputs.cache_bytes.at(end as f64)) / 2.0;
    let mut step = Step::new(inputs, constants, tokens / chunks, seqs / chunks);
    step.added += prefill_layers_seconds(inputs, constants);
    let times = step.times(
        inputs.seqs_per_rank(seqs) * read / chunks,
        seqs * inputs.prefill_attention.sum(cached_tokens, end) / chunks,
    );
    // Stages work on different chunks at once, once the first has gone through.
    let stages = f64::from(inputs.parallel.pipeline_parallel_size.max(1));
    let passes = (chunks + stages - 1.0) / stages;
    Estimate::new(times.scale(passes), constants)
}

/// Context at which the caches of all running sequences are as many bytes as the weights that a step reads: before it a
/// step is bound by weights, after it by caches. `None` when windows keep the caches smaller for ever.
pub fn crossing_tokens(inputs: &SpeedInputs) -> Option<u64> {
    let seqs = inputs.seqs_per_step() as f64;
    inputs
        .cache_bytes
        .tokens_at(inputs.weight_bytes_read(seqs) / inputs.seqs_per_rank(seqs))
}

/// The tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTokens {
    /// Prompt tokens that the cache already holds.
    pub cached: u64,
    /// Prompt tokens that are prefilled.
    pub prompt: u64,
    /// Thinking tokens.
    pub thinking: u64,
    /// Answer tokens.
    pub answer: u64,
}

/// The times of requests that run [`SpeedInputs::num_seqs`] at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RequestSpeed {
    /// From the start of one request's own prefill to its first token, if nothing goes before it.
    pub time_to_first_token: Estimate,
    /// A decode step at the start of thinking.
    pub thinking_start_step: Estimate,
    /// A decode step at the end of thinking.
    pub thinking_end_step: Estimate,
    /// The last decode step, at the end of the answer.
    pub last_step: Estimate,
    /// From the first prefill to the last token. Every request waits for the prefills of all, whether they come first
    /// or, as in a server that is always full, one by one in between.
    pub total: Estimate,
    /// The decode steps of thinking, a part of `total`.
    pub thinking: Estimate,
    /// `total` for each thinking and answer token: the time per output token that a full server shows.
    pub per_output_token: Estimate,
    /// Thinking and answer tokens of all requests per second.
    pub tokens_per_second: Rate,
    /// See [`crossing_tokens`].
    pub crossing_tokens: Option<u64>,
}

/// The times of requests of these tokens. The first output token is the prefill's, each further one a decode step's.
pub fn request_speed(
    inputs: &SpeedInputs,
    constants: &SpeedConstants,
    tokens: RequestTokens,
) -> RequestSpeed {
    let start = tokens.cached.saturating_add(tokens.prompt);
    let outputs = tokens.thinking.saturating_add(tokens.answer);
    let prefill = |seqs| prefill_seconds(inputs, constants, tokens.cached, tokens.prompt, seqs);
    // The first output token is the prefill's.
    let last = start.saturating_add(outputs.saturating_sub(1));
    let thinking_end = start.saturating_add(tokens.thinking.saturating_sub(1));
    let thinking = decode_seconds(inputs, constants, start, thinking_end);
    let answer = decode_seconds(inputs, constants, thinking_end, last);
    let total = prefill(inputs.num_seqs.max(1)) + thinking + answer;
    let step_at = |context| decode_step_seconds(inputs, constants, context);
    RequestSpeed {
        time_to_first_token: prefill(1),
        thinking_start_step: step_at(start.saturating_add(1)),
        thinking_end_step: step_at(start.saturating_add(tokens.thinking)),
        last_step: step_at(start.saturating_add(outputs)),
        total,
        thinking,
        per_output_token: total.times(1.0 / outputs.max(1) as f64),
        tokens_per_second: total.rate(inputs.num_seqs as f64 * outputs as f64),
        crossing_tokens: crossing_tokens(inputs),
    }
}
