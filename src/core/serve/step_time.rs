//! How long one step takes: the machine of [`speed`](crate::core::speed), and sums over the step's requests that can be
//! carried from one step to the next without looking at every request again.

use crate::core::speed::{Machine, SpeedConstants, SpeedInputs, distinct_experts};

/// Kinds of rows that are told apart: without a window, and with the narrowest windows of a model.
pub const MAX_ROW_KINDS: usize = 4;

/// What the rows of one kind cost. A token sees `min(context, max_rows)` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowKind {
    /// Rows that a token sees at most; absent: all.
    pub max_rows: Option<u64>,
    /// Bytes of a row on one rank.
    pub bytes: f64,
    /// Operations for each row that a decoded token sees.
    pub decode_operations: f64,
    /// Operations for each row that a token of a prompt sees.
    pub prefill_operations: f64,
}

impl RowKind {
    fn seen(&self, context: u64) -> u64 {
        self.max_rows
            .map_or(context, |max_rows| context.min(max_rows))
    }

    /// Rows that the tokens at `from + 1 ..= from + count` see, summed.
    fn seen_by(&self, from: u64, count: u64) -> u64 {
        // Far below overflow for all lengths that are simulated.
        let triangle = |n: u64| n.wrapping_mul(n.wrapping_add(1)) / 2;
        let to = from.saturating_add(count);
        let (low, high) = match self.max_rows {
            None => (from, to),
            Some(max_rows) => (from.min(max_rows), to.min(max_rows)),
        };
        let beyond = (to - high.max(from)).wrapping_mul(self.max_rows.unwrap_or(0));
        triangle(high)
            .wrapping_sub(triangle(low))
            .wrapping_add(beyond)
    }
}

/// What the requests of a step add up to. Whole numbers, so that adding step by step gives the same as adding anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Tokens in the step.
    pub tokens: u64,
    /// Sequences in the step.
    pub seqs: u64,
    /// Sequences that get a token.
    pub sampled: u64,
    /// Times that the weights are read.
    pub passes: u64,
    /// Rows that are read, by kind.
    pub rows: [u64; MAX_ROW_KINDS],
    /// Rows that decoded tokens see, by kind.
    pub decode_seen: [u64; MAX_ROW_KINDS],
    /// Rows that tokens of prompts see, by kind.
    pub prefill_seen: [u64; MAX_ROW_KINDS],
}

/// The duration of a step: bytes against bandwidth, operations against peak, and what each step, sequence and token adds.
///
/// Every constant is one of [`SpeedConstants`], or the bytes and operations of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTime {
    /// The machine.
    pub machine: Machine,
    /// Bytes of weights that every step reads on one rank.
    pub weight_bytes: f64,
    /// Bytes of all routed experts on one rank; each step reads those that its tokens choose.
    pub routed_expert_bytes: f64,
    /// Routed experts in a layer; zero for a dense model.
    pub num_experts: u32,
    /// Routed experts that each token uses.
    pub num_experts_per_tok: u32,
    /// Operations of each token but for attention and the output head.
    pub operations_per_token: f64,
    /// Operations of the output head, where a token is sampled.
    pub operations_per_sample: f64,
    /// Bytes of a sequence's cache at no tokens: recurrent states.
    pub bytes_per_seq: f64,
    /// Operations of each token with a recurrent state.
    pub state_operations: f64,
    /// Kinds of rows, at most [`MAX_ROW_KINDS`]; of more windows the narrowest are left out.
    pub rows: Vec<RowKind>,
    /// Parts into which a step is cut that run at once: pipeline stages.
    pub stages: u32,
    /// Share of the sequences whose rows one rank reads: one, but for data parallel attention.
    pub seqs_per_rank: f64,
}

impl StepTime {
    /// From the inputs and constants of the speed estimate: a step in which all sequences have the same context takes what
    /// [`decode_step_seconds`](crate::core::speed::decode_step_seconds) says is likely.
    pub fn new(inputs: &SpeedInputs, constants: &SpeedConstants) -> Self {
        let mut bends: Vec<u64> = inputs
            .cache_bytes
            .bends()
            .chain(inputs.decode_attention.bends())
            .filter(|bend| 0 < *bend)
            .collect();
        bends.sort_unstable();
        bends.dedup();
        // The last one is not a bend but the far end of the last line.
        let far = bends.pop().unwrap_or(1);
        let growths = [
            &inputs.cache_bytes,
            &inputs.decode_attention,
            &inputs.prefill_attention,
        ];
        let slopes = |from: u64, to: u64| {
            growths.map(|growth| {
                (growth.at(to as f64) - growth.at(from as f64)) / (to - from).max(1) as f64
            })
        };
        let mut rows = Vec::new();
        let mut from = 0;
        let nexts = bends.iter().skip(1).copied().chain([far]);
        for (bend, next) in bends.iter().copied().zip(nexts) {
            // What grows before the bend and no more after it.
            let (before, after) = (slopes(from, bend), slopes(bend, next));
            rows.push(RowKind {
                max_rows: Some(bend),
                bytes: before[0] - after[0],
                decode_operations: before[1] - after[1],
                prefill_operations: before[2] - after[2],
            });
            from = bend;
        }
        let last = slopes(from, far);
        rows.push(RowKind {
            max_rows: None,
            bytes: last[0],
            decode_operations: last[1],
            prefill_operations: last[2],
        });
        rows.reverse();
        rows.truncate(MAX_ROW_KINDS);
        Self {
            machine: Machine::new(inputs, constants),
            weight_bytes: inputs.weight_bytes,
            routed_expert_bytes: inputs.routed_expert_bytes,
            num_experts: inputs.num_experts,
            num_experts_per_tok: inputs.num_experts_per_tok,
            operations_per_token: 2.0 * (inputs.num_multiplied_params - inputs.num_head_params),
            operations_per_sample: 2.0 * inputs.num_head_params,
            bytes_per_seq: inputs.cache_bytes.at(0.0),
            state_operations: inputs.decode_attention.at(0.0),
            rows,
            stages: inputs.parallel.pipeline_parallel_size.max(1),
            seqs_per_rank: 1.0 / f64::from(inputs.parallel.attention_data_parallel_size.max(1)),
        }
    }

    /// A request's part of a step: `tokens` tokens after `context` that have rows already. The last one is followed by a new
    /// token when `is_sampled`.
    pub fn add(&self, load: &mut Load, context: u64, tokens: u64, is_sampled: bool) {
        load.tokens = load.tokens.saturating_add(tokens);
        load.seqs += 1;
        load.sampled += u64::from(is_sampled);
        load.passes = load.passes.max(1);
        let end = context.saturating_add(tokens);
        let sums = load
            .rows
            .iter_mut()
            .zip(load.decode_seen.iter_mut().zip(&mut load.prefill_seen));
        for (kind, (rows, (decode, prefill))) in self.rows.iter().zip(sums) {
            let seen = kind.seen(end);
            *rows += seen;
            if tokens == 1 {
                *decode += seen;
            } else {
                *prefill += kind.seen_by(context, tokens);
            }
        }
    }

    /// The part of `count` decoding requests whose tokens together see `context` rows of each kind without a window.
    pub(super) fn add_decodes(&self, load: &mut Load, count: u64, context: u64) {
        load.tokens += count;
        load.seqs += count;
        load.sampled += count;
        let sums = load.rows.iter_mut().zip(&mut load.decode_seen);
        for (kind, (rows, seen)) in self.rows.iter().zip(sums) {
            if kind.max_rows.is_none() {
                *rows += context;
                *seen += context;
            }
        }
    }

    /// Adds the rows with windows of a decoding request whose token sees `context` tokens, and by how much they grow from
    /// one step to the next. Gives the steps until that changes, because a window is full.
    pub(super) fn add_windows(
        &self,
        load: &mut Load,
        growth: &mut [u64; MAX_ROW_KINDS],
        context: u64,
    ) -> u64 {
        let mut until = u64::MAX;
        let sums = load
            .rows
            .iter_mut()
            .zip(load.decode_seen.iter_mut().zip(growth));
        for (kind, (rows, (seen, grows))) in self.rows.iter().zip(sums) {
            let Some(max_rows) = kind.max_rows else {
                continue;
            };
            if context < max_rows {
                *grows += 1;
                until = until.min(max_rows - context);
            }
            *rows += context.min(max_rows);
            *seen += context.min(max_rows);
        }
        until
    }

    /// Adds by how much the rows without windows of `count` decoding requests grow from one step to the next.
    pub(super) fn add_growth(&self, growth: &mut [u64; MAX_ROW_KINDS], count: u64) {
        for (grows, kind) in growth.iter_mut().zip(&self.rows) {
            if kind.max_rows.is_none() {
                *grows += count;
            }
        }
    }

    /// Whether some rows have windows.
    pub(super) fn has_windows(&self) -> bool {
        self.rows.iter().any(|kind| kind.max_rows.is_some())
    }

    /// Bytes of weights that a step of `tokens` tokens reads on one rank.
    pub(super) fn weight_bytes_read(&self, tokens: u64) -> f64 {
        if self.num_experts == 0 {
            return self.weight_bytes;
        }
        let share = distinct_experts(
            self.num_experts,
            self.num_experts_per_tok,
            tokens as f64 / f64::from(self.stages),
        ) / f64::from(self.num_experts);
        self.weight_bytes + self.routed_expert_bytes * share
    }

    /// Seconds of a step.
    pub fn seconds(&self, load: &Load) -> f64 {
        self.steps_like(load).seconds(load)
    }

    /// Steps that begin with this one, of decoding requests alone, and whose rows grow by so many from one to the next.
    pub(super) fn decodes(&self, load: &Load, growth: &[u64; MAX_ROW_KINDS]) -> Decodes<'_> {
        let mut kinds = [GrowingRows::default(); MAX_ROW_KINDS];
        let amounts = self.rows.iter().zip(load.rows.iter().zip(growth));
        for (res, (kind, (rows, growth))) in kinds.iter_mut().zip(amounts) {
            *res = GrowingRows {
                rows: *rows as f64,
                growth: *growth as f64,
                bytes: kind.bytes,
                operations: kind.decode_operations,
            };
        }
        Decodes {
            alike: self.steps_like(load),
            kinds,
            num_kinds: self.rows.len(),
        }
    }

    /// Steps that are like this one but for their rows.
    fn steps_like(&self, load: &Load) -> Steps<'_> {
        let (tokens, seqs) = (load.tokens as f64, load.seqs as f64);
        let (machine, sampled) = (&self.machine, load.sampled as f64);
        let part = 1.0 / f64::from(self.stages);
        let passes = load.passes.max(1) as f64;
        // More tokens than sequences: some are a prompt's.
        let prefill = if load.seqs < load.tokens {
            machine.seconds_per_prefill
        } else {
            0.0
        };
        Steps {
            kinds: &self.rows,
            machine,
            is_empty: load.tokens == 0,
            weight_bytes: self.weight_bytes_read(load.tokens) * passes,
            cache_bytes: self.bytes_per_seq * seqs,
            seqs_per_rank: self.seqs_per_rank,
            operations: (self.operations_per_token + self.state_operations) * tokens
                + self.operations_per_sample * sampled,
            part,
            added: machine.added(tokens * part, sampled * part)
                + machine.seconds_per_step * (passes - 1.0)
                + prefill * passes,
        }
    }
}

/// What steps have in common that differ in their rows alone.
#[derive(Clone, Debug)]
struct Steps<'a> {
    kinds: &'a [RowKind],
    machine: &'a Machine,
    is_empty: bool,
    weight_bytes: f64,
    /// Bytes of recurrent states.
    cache_bytes: f64,
    seqs_per_rank: f64,
    /// All but attention's over rows.
    operations: f64,
    /// Share of a step that runs on one pipeline stage at once.
    part: f64,
    /// Seconds that no overlap hides.
    added: f64,
}

impl Steps<'_> {
    /// Seconds of the step with these rows.
    fn seconds(&self, load: &Load) -> f64 {
        if self.is_empty {
            return 0.0;
        }
        let (mut cache_bytes, mut operations) = (self.cache_bytes, self.operations);
        let sums = load
            .rows
            .iter()
            .zip(load.decode_seen.iter().zip(&load.prefill_seen));
        for (kind, (rows, (decode, prefill))) in self.kinds.iter().zip(sums) {
            cache_bytes += kind.bytes * *rows as f64;
            operations +=
                kind.decode_operations * *decode as f64 + kind.prefill_operations * *prefill as f64;
        }
        self.seconds_of(cache_bytes, operations)
    }

    // What is done in each of millions of steps stands in their loop, also where code is compiled for size.
    #[inline(always)]
    fn seconds_of(&self, cache_bytes: f64, operations: f64) -> f64 {
        let bytes = self.weight_bytes + cache_bytes * self.seqs_per_rank * self.part;
        self.machine.overlapped(bytes, operations * self.part) + self.added
    }
}

/// Steps in which nothing but decoding happens, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Decodes<'a> {
    alike: Steps<'a>,
    kinds: [GrowingRows; MAX_ROW_KINDS],
    num_kinds: usize,
}

/// Rows of one kind, as the next step has them. They are whole numbers far below 2^53, so that no digit is lost.
#[derive(Clone, Copy, Debug, Default)]
struct GrowingRows {
    rows: f64,
    growth: f64,
    bytes: f64,
    operations: f64,
}

impl Decodes<'_> {
    /// Seconds of the next step: what [`Steps::seconds`] gives for its load, to the bit.
    #[inline(always)]
    pub(super) fn next_seconds(&mut self) -> f64 {
        let (mut cache_bytes, mut operations) = (self.alike.cache_bytes, self.alike.operations);
        for kind in self.kinds.iter_mut().take(self.num_kinds) {
            cache_bytes += kind.bytes * kind.rows;
            operations += kind.operations * kind.rows;
            kind.rows += kind.growth;
        }
        self.alike.seconds_of(cache_bytes, operations)
    }
}
