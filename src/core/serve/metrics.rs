//! What a simulation tells: the pool over time, and how long requests waited and ran.

use serde::Serialize;

use super::world::{Fate, Refusal, Request, World};

/// Points of the curve over time, at most; when there are twice as many, every second one is left out.
const MAX_POINTS: usize = 1000;

/// The pool and the queues at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Seconds since the first arrival.
    pub seconds: f64,
    /// Units of the pool that hold prompts, the shared prefix once.
    pub prompt_units: u64,
    /// Units that hold thinking.
    pub thinking_units: u64,
    /// Units that hold answers.
    pub answer_units: u64,
    /// Units that are held and empty: the rest of last blocks.
    pub slack_units: u64,
    /// Units that nobody holds.
    pub free_units: u64,
    /// Of them, units that hold something that could be found again.
    pub cached_units: u64,
    /// Requests that hold memory.
    pub running: u64,
    /// Requests that wait.
    pub waiting: u64,
    /// Requests that lost their memory since the point before.
    pub preemptions: u64,
}

/// Mean and percentiles, by nearest rank: the smallest value that is not below so many of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Mean.
    pub mean: f64,
    /// Half are not above it.
    pub p50: f64,
    /// Nine in ten are not above it.
    pub p90: f64,
    /// Nineteen in twenty are not above it.
    pub p95: f64,
    /// Ninety-nine in a hundred are not above it.
    pub p99: f64,
}

impl Percentiles {
    /// Of these values; all zero when there are none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let rank = |percent: usize| {
            let rank = (count * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or_default()
        };
        Self {
            mean: values.iter().sum::<f64>() / count.max(1) as f64,
            p50: rank(50),
            p90: rank(90),
            p95: rank(95),
            p99: rank(99),
        }
    }
}

/// One request, when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Record {
    /// What became of it.
    pub fate: Fate,
    /// Seconds after the first arrival when it arrived.
    pub arrival: f64,
    /// When its first token was sampled; absent if none was.
    pub first_token: Option<f64>,
    /// When the first token of its answer was sampled.
    pub first_answer_token: Option<f64>,
    /// When its last token was sampled, or it failed.
    pub end: Option<f64>,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Tokens sampled.
    pub output_tokens: u64,
    /// Times that it lost its memory.
    pub preemptions: u64,
}

impl Record {
    pub(super) fn of(request: &Request) -> Self {
        let known = |seconds: f64| Some(seconds).filter(|seconds| seconds.is_finite());
        Self {
            fate: request.fate,
            arrival: request.arrival,
            first_token: known(request.first_token),
            first_answer_token: known(request.first_answer),
            end: known(request.end),
            prompt_tokens: request.prompt,
            output_tokens: request.out,
            preemptions: request.preemptions,
        }
    }

    /// Seconds to the first token.
    pub fn time_to_first_token(&self) -> Option<f64> {
        self.first_token.map(|seconds| seconds - self.arrival)
    }

    /// Seconds to the first token that the reader sees when thinking is hidden.
    pub fn time_to_first_answer_token(&self) -> Option<f64> {
        self.first_answer_token
            .map(|seconds| seconds - self.arrival)
    }

    /// Seconds for each token after the first; absent when there is only one.
    pub fn time_per_output_token(&self) -> Option<f64> {
        let (first, end) = self.first_token.zip(self.end)?;
        (1 < self.output_tokens).then(|| (end - first) / (self.output_tokens - 1) as f64)
    }

    /// Seconds from arrival to the end.
    pub fn latency(&self) -> Option<f64> {
        self.end.map(|seconds| seconds - self.arrival)
    }
}

/// What a simulation tells. Times are of requests that finished.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServeReport {
    /// Requests that have arrived.
    pub num_requests: u64,
    /// Of them finished, those that reached the engine's longest sequence included.
    pub num_finished: u64,
    /// Of the finished ones, those that reached the engine's longest sequence.
    pub num_truncated: u64,
    /// Requests that the engine ended with an error.
    pub num_failed: u64,
    /// Requests that were not taken.
    pub num_refused: u64,
    /// Why the first of them was not.
    pub first_refusal: Option<Refusal>,
    /// Steps of the engine.
    pub steps: u64,
    /// Seconds from the first arrival to the end.
    pub makespan_seconds: f64,
    /// Seconds to the first token.
    pub time_to_first_token: Percentiles,
    /// Seconds to the first token of the answer.
    pub time_to_first_answer_token: Percentiles,
    /// Seconds for each further token.
    pub time_per_output_token: Percentiles,
    /// Seconds from arrival to the end.
    pub latency: Percentiles,
    /// Thinking and answer tokens of all requests for each second.
    pub output_tokens_per_second: f64,
    /// Tokens whose rows were found in the cache.
    pub reused_tokens: u64,
    /// Tokens whose rows were computed.
    pub computed_tokens: u64,
    /// Of them tokens whose rows had been computed before and were lost.
    pub recomputed_tokens: u64,
    /// Their share.
    pub recomputed_share: f64,
    /// Times that a request lost its memory.
    pub preemptions: u64,
    /// The most requests that held memory at once.
    pub peak_running: u64,
    /// Requests that held memory, in the mean over time.
    pub mean_running: f64,
    /// Requests that waited, in the mean over time.
    pub mean_waiting: f64,
    /// Share of the pool that was held, in the mean over time.
    pub mean_occupancy: f64,
    /// Share of the pool that was held at most.
    pub peak_occupancy: f64,
    /// Requests of the mean length that fit at once by their peak, without any scheduler.
    pub static_concurrency: u64,
    /// Units of the pool.
    pub pool_units: u64,
    /// The pool over time.
    pub timeline: Vec<Point>,
}

/// Sums over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    running_seconds: f64,
    waiting_seconds: f64,
    unit_seconds: f64,
}

impl Sums {
    /// `seconds` passed in which so many ran and waited.
    #[inline(always)]
    pub(super) fn pass(&mut self, seconds: f64, running: f64, waiting: f64, held_units: u64) {
        self.running_seconds += running * seconds;
        self.waiting_seconds += waiting * seconds;
        self.unit_seconds += held_units as f64 * seconds;
    }
}

/// What is noted on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    pub(super) computed_tokens: u64,
    pub(super) recomputed_tokens: u64,
    pub(super) preemptions: u64,
    pub(super) peak_running: u64,
    peak_units: u64,
    pub(super) sums: Sums,
    points: Vec<Point>,
    /// Preemptions since the last point.
    new_preemptions: u64,
    interval: f64,
    /// When the next point is due.
    pub(super) next_point: f64,
}

impl Metrics {
    /// `seconds` passed in which so many ran and waited.
    pub(super) fn pass(&mut self, seconds: f64, running: u64, waiting: u64, held_units: u64) {
        self.sums
            .pass(seconds, running as f64, waiting as f64, held_units);
        self.peak(running, held_units);
    }

    /// So many held memory at once.
    pub(super) fn peak(&mut self, running: u64, held_units: u64) {
        self.peak_running = self.peak_running.max(running);
        self.peak_units = self.peak_units.max(held_units);
    }

    pub(super) fn preempt(&mut self, count: u64) {
        self.preemptions += count;
        self.new_preemptions += count;
    }

    /// Whether the next point is due.
    pub(super) fn is_due(&self, now: f64) -> bool {
        self.next_point <= now
    }

    /// Adds a point.
    pub(super) fn record(&mut self, world: &World, now: f64) {
        let mut point = snapshot(world, now);
        point.preemptions = std::mem::take(&mut self.new_preemptions);
        self.points.push(point);
        if 2 * MAX_POINTS <= self.points.len() {
            let mut carried = 0;
            let mut idx = 0_usize;
            // The first stays; of the others every second one, with the preemptions of the one before it.
            self.points.retain_mut(|point| {
                let keeps = idx.is_multiple_of(2);
                idx += 1;
                if keeps {
                    point.preemptions += std::mem::take(&mut carried);
                } else {
                    carried = point.preemptions;
                }
                keeps
            });
            self.new_preemptions += carried;
            let first = self.points.first().map_or(0.0, |point| point.seconds);
            self.interval = (now - first) / MAX_POINTS as f64;
        }
        self.next_point = now + self.interval;
    }

    /// The report so far.
    pub(super) fn report(&self, world: &World, now: f64, steps: u64) -> ServeReport {
        let records: Vec<Record> = world.requests.iter().map(Record::of).collect();
        let finished: Vec<&Record> = records
            .iter()
            .filter(|record| matches!(record.fate, Fate::Finished | Fate::Truncated))
            .collect();
        let times = |of: fn(&Record) -> Option<f64>| {
            Percentiles::of(finished.iter().filter_map(|record| of(record)).collect())
        };
        let count = |is_counted: fn(&Fate) -> bool| {
            let counted = records.iter().filter(|record| is_counted(&record.fate));
            counted.count() as u64
        };
        let first_refusal = records.iter().find_map(|record| match record.fate {
            Fate::Refused(refusal) => Some(refusal),
            Fate::Open | Fate::Finished | Fate::Truncated | Fate::Failed => None,
        });
        let output: u64 = records.iter().map(|record| record.output_tokens).sum();
        let per_second = |amount: f64| if 0.0 < now { amount / now } else { 0.0 };
        let units = world.pool.shape.units;
        let mut timeline = self.points.clone();
        let mut last = snapshot(world, now);
        last.preemptions = self.new_preemptions;
        if timeline.last().is_none_or(|point| point.seconds < now) {
            timeline.push(last);
        }
        ServeReport {
            num_requests: records.len() as u64,
            num_finished: finished.len() as u64,
            num_truncated: count(|fate| *fate == Fate::Truncated),
            num_failed: count(|fate| *fate == Fate::Failed),
            num_refused: count(|fate| matches!(fate, Fate::Refused(_))),
            first_refusal,
            steps,
            makespan_seconds: now,
            time_to_first_token: times(Record::time_to_first_token),
            time_to_first_answer_token: times(Record::time_to_first_answer_token),
            time_per_output_token: times(Record::time_per_output_token),
            latency: times(Record::latency),
            output_tokens_per_second: per_second(output as f64),
            reused_tokens: world.reused_tokens,
            computed_tokens: self.computed_tokens,
            recomputed_tokens: self.recomputed_tokens,
            recomputed_share: self.recomputed_tokens as f64 / self.computed_tokens.max(1) as f64,
            preemptions: self.preemptions,
            peak_running: self.peak_running,
            mean_running: per_second(self.sums.running_seconds),
            mean_waiting: per_second(self.sums.waiting_seconds),
            mean_occupancy: per_second(self.sums.unit_seconds) / units.max(1) as f64,
            peak_occupancy: self.peak_units as f64 / units.max(1) as f64,
            static_concurrency: static_concurrency(world),
            pool_units: units,
            timeline,
        }
    }
}

/// Requests of the mean length that fit at once by their peak.
fn static_concurrency(world: &World) -> u64 {
    let count = world.requests.len() as u64;
    let tokens = world
        .requests
        .iter()
        .map(|request| request.prompt + request.output)
        .sum::<u64>();
    let shape = &world.pool.shape;
    let units = shape.units_of_request(shape.blocks(tokens / count.max(1)));
    shape.units / units.max(1)
}

/// Each running request's units by what wrote them: exact where all blocks are alike, else by their tokens' share.
fn snapshot(world: &World, now: f64) -> Point {
    let pool = &world.pool;
    let prefix = pool.shape.units_of(0, pool.held_prefix());
    let mut point = Point {
        seconds: now,
        prompt_units: prefix,
        free_units: pool.free(),
        cached_units: pool.cached(),
        running: world.running.len() as u64,
        waiting: world.waiting.len() as u64,
        ..Point::default()
    };
    for id in &world.running {
        let request = &world.requests[*id];
        let units = pool.shape.units_of(request.shared, request.held) + pool.shape.units_per_seq;
        let first = request.shared * pool.shape.block_size;
        let slots = (request.held * pool.shape.block_size).saturating_sub(first);
        let tokens = |from: u64, to: u64| {
            let to = to.min(request.computed).max(first);
            to - from.clamp(first, to)
        };
        let part = |tokens: u64| {
            let slots = slots.max(1);
            units.checked_mul(tokens).map_or_else(
                || {
                    let res = u128::from(units) * u128::from(tokens) / u128::from(slots);
                    u64::try_from(res).unwrap_or(units)
                },
                // Nearly always, and far quicker where numbers are 32 bits wide.
                |product| product / slots,
            )
        };
        let thought = request.prompt + request.thinking;
        let prompt = part(tokens(0, request.prompt));
        let thinking = part(tokens(request.prompt, thought));
        let answer = part(tokens(thought, u64::MAX));
        point.prompt_units += prompt;
        point.thinking_units += thinking;
        point.answer_units += answer;
        point.slack_units += units - prompt - thinking - answer;
    }
    point
}
