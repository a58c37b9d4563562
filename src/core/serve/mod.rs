//! Many requests on one engine: continuous batching over a pool of blocks, step by step, the same for the same seed.
//!
//! A step is what an engine plans and runs at once. Where nothing but decoding happens, steps are not planned again but
//! carried on, in constant time for each, until a request finishes or arrives, or memory runs out: the schedule is the one
//! that planning every step gives, to the bit.

pub mod arrivals;
pub mod metrics;
mod pool;
pub mod schedulers;
mod server;
pub mod step_time;
pub mod study;
pub mod trace;
mod world;

use std::collections::VecDeque;

use arrivals::{Arrivals, RequestLengths, Workload};
use metrics::{Metrics, Record, ServeReport};
use schedulers::{Scheduler, State};
use step_time::{Load, MAX_ROW_KINDS, StepTime};
use world::{Chunk, Id, Request, World};

pub use pool::{BlockKind, PoolShape};
pub use world::{Fate, Refusal};

use super::units::{Bounds, MAX_EXACT_INTEGER};

/// Bounds of the number of requests.
pub const MAX_REQUESTS: Bounds = Bounds::log(1, 100_000, 500);
/// Bounds of the number of clients.
pub const MAX_CLIENTS: Bounds = Bounds::log(1, 100_000, 64);
/// Tokens of a prompt, of thinking or of an answer, at most.
pub const MAX_REQUEST_TOKENS: u64 = 1 << 20;
/// Tokens of all requests together, at most.
pub const MAX_TOKENS: u64 = 2_000_000_000;
/// Steps after which a simulation ends unfinished.
pub const MAX_STEPS: u64 = 50_000_000;

/// Why there is nothing to simulate.
#[derive(Clone, Debug, PartialEq)]
pub enum ServeError {
    /// A number outside its bounds.
    OutOfBounds {
        /// Its name.
        key: &'static str,
        /// What was given.
        given: u64,
        /// The least that is allowed.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A rate of arrivals outside its bounds.
    RateOutOfBounds {
        /// What was given.
        given: f64,
    },
    /// A 95th percentile below the median.
    SpreadReversed {
        /// Its name.
        key: &'static str,
        /// The median.
        median: u64,
        /// The 95th percentile.
        p95: u64,
    },
    /// Neither thinking nor answer.
    NoOutput,
    /// More tokens than are simulated.
    TooManyTokens {
        /// Requests until then.
        requests: u64,
        /// The most tokens.
        max: u64,
    },
    /// A trace that is too long.
    TraceTooLong {
        /// Bytes or rows given.
        given: u64,
        /// The most.
        max: u64,
    },
    /// No trace, or one without rows.
    TraceEmpty,
    /// A line of a trace that cannot be read.
    TraceLine {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: trace::TraceProblem,
    },
    /// A request of a trace without lines that cannot be read.
    TraceRequest {
        /// The request, from 1.
        request: u64,
        /// What is wrong with it.
        problem: trace::TraceProblem,
    },
    /// Arrivals too far apart for the unit in which they were read.
    TraceSpan {
        /// Seconds from the first to the last.
        seconds: f64,
        /// The unit.
        unit: trace::Unit,
    },
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its scheduler.
    pub scheduler: Scheduler,
    /// Its pool.
    pub pool: PoolShape,
    /// Its speed.
    pub step_time: StepTime,
    /// Tokens of the longest sequence; absent: no bound but the pool.
    pub max_model_len: Option<u64>,
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests that are over.
    pub done: u64,
    /// All requests.
    pub total: u64,
    /// Steps so far.
    pub steps: u64,
    /// Whether there is nothing left to do.
    pub is_over: bool,
}

/// A simulation, which goes on as far as it is told to.
#[derive(Clone, Debug)]
pub struct Simulation {
    server: Server,
    is_closed_loop: bool,
    max_output_tokens: Option<u64>,
    lengths: Vec<RequestLengths>,
    arrivals: VecDeque<f64>,
    state: State,
    world: World,
    metrics: Metrics,
    now: f64,
    segment: Segment,
    steps: u64,
    /// Requests looked at so far, and steps carried on without looking.
    work: u64,
    done: u64,
    is_stuck: bool,
}

impl Server {
    /// Checks every number against its bounds.
    ///
    /// # Errors
    ///
    /// The first one outside them.
    pub fn check(&self) -> Result<(), ServeError> {
        let pool = &self.pool;
        let mut rows = vec![
            ("block_size", pool.block_size, 1, MAX_REQUEST_TOKENS),
            ("units", pool.units, 0, MAX_EXACT_INTEGER),
            ("units_per_seq", pool.units_per_seq, 0, MAX_EXACT_INTEGER),
        ];
        let units = pool.kinds.iter().map(|kind| kind.units);
        rows.extend(units.map(|units| ("units of a block", units, 0, MAX_EXACT_INTEGER)));
        let max_model_len = self.max_model_len;
        rows.extend(max_model_len.map(|tokens| ("max_model_len", tokens, 1, MAX_TOKENS)));
        rows.extend(self.scheduler.settings(pool.block_size));
        match rows
            .into_iter()
            .find(|(_, given, min, max)| !(*min..=*max).contains(given))
        {
            Some((key, given, min, max)) => Err(ServeError::OutOfBounds {
                key,
                given,
                min,
                max,
            }),
            None => Ok(()),
        }
    }
}

impl Simulation {
    /// A server and its requests.
    ///
    /// # Errors
    ///
    /// When a number is outside its bounds.
    pub fn new(server: Server, workload: &Workload) -> Result<Self, ServeError> {
        server.check()?;
        workload.check()?;
        let lengths = workload.draw_lengths()?;
        let shortest = lengths.iter().map(|lengths| lengths.prompt).min();
        let shared = workload
            .shared_prefix_tokens
            .min(shortest.unwrap_or_default());
        let pool = server.scheduler.pool(server.pool.clone(), shared);
        Ok(Self {
            is_closed_loop: matches!(workload.arrivals, Arrivals::ClosedLoop { .. }),
            max_output_tokens: workload.max_output_tokens,
            arrivals: workload.draw_arrivals().into(),
            state: State::new(server.scheduler, shared),
            world: World::new(pool),
            metrics: Metrics::default(),
            now: 0.0,
            segment: Segment::default(),
            steps: 0,
            work: 0,
            done: 0,
            is_stuck: false,
            lengths,
            server,
        })
    }

    /// Goes on for about `max_work` looks at a request: a planned step looks at all that run, and one that is like the step
    /// before counts as one look. A page that must stay responsive asks for some thousands and looks at its clock.
    pub fn advance(&mut self, max_work: u64) -> Progress {
        let end = self.work.saturating_add(max_work);
        while self.work < end && !self.is_over() {
            self.deliver();
            if self.is_over() {
                break;
            }
            if self.world.running.is_empty() && self.world.waiting.is_empty() {
                // Nothing to do until the next arrival.
                if let Some(next) = self.arrivals.front() {
                    self.now = self.now.max(*next);
                    self.state.on_idle();
                } else {
                    self.is_stuck = true;
                }
                continue;
            }
            let steps = self.steps;
            let step = self.state.schedule(&mut self.world);
            self.work += self.world.running.len() as u64;
            self.metrics
                .preempt(std::mem::take(&mut self.world.preemptions));
            let failed = std::mem::take(&mut self.world.failed);
            let has_failed = !failed.is_empty();
            for id in failed {
                self.end(id, Fate::Failed);
            }
            if self.world.batch.is_empty() {
                self.steps += 1;
                self.wait(has_failed);
            } else if step.is_steady {
                self.carry_on(end.saturating_sub(self.work).max(1), step.passes);
            } else {
                self.run(step.passes);
            }
            self.work += self.steps - steps;
            if self.metrics.is_due(self.now) {
                self.metrics.record(&self.world, self.now);
            }
        }
        self.progress()
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done,
            total: self.lengths.len() as u64,
            steps: self.steps,
            is_over: self.is_over(),
        }
    }

    fn is_over(&self) -> bool {
        self.done == self.lengths.len() as u64 || self.is_stopped()
    }

    /// Whether it ended before all requests were done: after [`MAX_STEPS`], or because nothing could go on any more.
    pub fn is_stopped(&self) -> bool {
        self.is_stuck || MAX_STEPS <= self.steps
    }

    /// Seconds since the first arrival.
    pub fn seconds(&self) -> f64 {
        self.now
    }

    /// What it tells so far.
    pub fn report(&self) -> ServeReport {
        self.metrics.report(&self.world, self.now, self.steps)
    }

    /// Every request that has arrived, in the order of arrival.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.world.requests.iter().map(Record::of)
    }

    /// Checks that every unit of the pool, every token and every request is accounted for.
    ///
    /// # Errors
    ///
    /// What is not.
    pub fn audit(&self) -> Result<(), String> {
        let world = &self.world;
        world.pool.audit(world.held_units())?;
        for id in &world.running {
            let request = &world.requests[*id];
            if request.held < world.blocks(request.computed) || request.known() < request.computed {
                return Err(format!("request {id} has rows without blocks: {request:?}"));
            }
        }
        let open = world
            .requests
            .iter()
            .filter(|request| request.fate == Fate::Open)
            .count();
        if open != world.running.len() + world.waiting.len() {
            return Err(format!(
                "{open} requests are open but {} run and {} wait",
                world.running.len(),
                world.waiting.len()
            ));
        }
        if self.done + open as u64 != world.requests.len() as u64 {
            return Err(format!(
                "{} requests came, {open} are open and {} done",
                world.requests.len(),
                self.done
            ));
        }
        let with_rows: u64 = world
            .requests
            .iter()
            .map(|request| request.high_water)
            .sum();
        let (computed, again) = (self.metrics.computed_tokens, self.metrics.recomputed_tokens);
        if with_rows + again != computed + world.first_reused_tokens {
            return Err(format!(
                "{computed} tokens were computed, {again} of them again, and {} found, but {with_rows} have had rows",
                world.first_reused_tokens
            ));
        }
        Ok(())
    }

    /// Requests that have arrived by now join the queue.
    fn deliver(&mut self) {
        while self.arrivals.front().is_some_and(|next| *next <= self.now) {
            let arrival = self.arrivals.pop_front().unwrap_or(self.now);
            let Some(lengths) = self.lengths.get(self.world.requests.len()).copied() else {
                continue;
            };
            let mut request = Request::new(
                lengths.prompt,
                lengths.thinking,
                lengths.thinking + lengths.answer,
                arrival,
            );
            let refusal = self.bound(&mut request);
            let id = self.world.requests.push(request);
            match refusal {
                None => self.world.waiting.push_back(id),
                Some(refusal) => self.end(id, Fate::Refused(refusal)),
            }
        }
    }

    /// Bounds a request by the longest sequence, and says why it cannot be served, if so.
    fn bound(&self, request: &mut Request) -> Option<Refusal> {
        let longest = [
            self.server.max_model_len,
            self.server.scheduler.longest_sequence(&self.server.pool),
        ];
        if let Some(max_tokens) = longest.into_iter().flatten().min() {
            if max_tokens <= request.prompt {
                return Some(Refusal::PromptTooLong {
                    prompt_tokens: request.prompt,
                    max_tokens,
                });
            }
            let room = max_tokens - request.prompt;
            request.is_truncated = room < request.output;
            request.output = request.output.min(room);
            request.max_new = self.max_output_tokens.unwrap_or(u64::MAX).min(room);
        } else if let Some(max_new) = self.max_output_tokens {
            request.max_new = max_new;
        } else {
            request.max_new = request.output;
        }
        request.max_new = request.max_new.max(request.output);
        self.server.scheduler.refuse(request, &self.server.pool)
    }

    /// A step that has nothing in it: time goes on to the next arrival. When there is none, nothing ever happens again.
    fn wait(&mut self, has_failed: bool) {
        if has_failed {
            return;
        }
        match self.arrivals.front() {
            Some(next) if self.now < *next => {
                let seconds = *next - self.now;
                self.pass(seconds);
            }
            Some(_) => {}
            None => self.is_stuck = true,
        }
    }

    fn pass(&mut self, seconds: f64) {
        self.now += seconds;
        self.metrics.pass(
            seconds,
            self.world.running.len() as u64,
            self.world.waiting.len() as u64,
            self.world.pool.shape.units - self.world.pool.free(),
        );
    }

    /// Runs the planned step.
    fn run(&mut self, passes: u64) {
        self.steps += 1;
        let batch = std::mem::take(&mut self.world.batch);
        let mut load = Load::default();
        let step_time = &self.server.step_time;
        let has_windows = step_time.has_windows();
        let (mut num_decoded, mut context) = (0, 0);
        for Chunk { id, tokens } in batch.iter().copied() {
            let request = &self.world.requests[id];
            let is_sampled = tokens == request.missing();
            if tokens == 1 && is_sampled && !has_windows {
                num_decoded += 1;
                context += request.computed + 1;
            } else {
                step_time.add(&mut load, request.computed, tokens, is_sampled);
            }
        }
        step_time.add_decodes(&mut load, num_decoded, context);
        load.passes = passes;
        self.pass(self.server.step_time.seconds(&load));
        let mut has_finished = false;
        for Chunk { id, tokens } in batch.iter().copied() {
            has_finished |= self.progress_of(id, tokens);
        }
        self.world.batch = batch;
        self.world.batch.clear();
        self.state.after_step(&mut self.world);
        if has_finished {
            self.finish();
        }
    }

    /// A request has rows for `tokens` more tokens; when it has them for all it samples one. Whether that is its last.
    fn progress_of(&mut self, id: Id, tokens: u64) -> bool {
        let now = self.now;
        let request = &mut self.world.requests[id];
        let to = request.computed + tokens;
        self.metrics.computed_tokens += tokens;
        self.metrics.recomputed_tokens +=
            to.min(request.high_water) - request.computed.min(request.high_water);
        request.computed = to;
        request.high_water = request.high_water.max(to);
        if to == request.known() {
            request.out += 1;
            mark(request, now);
        }
        request.out == request.output
    }

    /// Ends the requests that have all their tokens.
    fn finish(&mut self) {
        for id in std::mem::take(&mut self.world.running) {
            let request = &self.world.requests[id];
            if request.out < request.output {
                self.world.running.push(id);
                continue;
            }
            let (computed, is_truncated) = (request.computed, request.is_truncated);
            self.world.release(id, true);
            self.state.on_finish(id, computed);
            let fate = if is_truncated {
                Fate::Truncated
            } else {
                Fate::Finished
            };
            self.end(id, fate);
        }
    }

    /// A request is over; in a closed loop its client sends the next one.
    fn end(&mut self, id: Id, fate: Fate) {
        let request = &mut self.world.requests[id];
        request.fate = fate;
        if !matches!(fate, Fate::Refused(_)) {
            request.end = self.now;
        }
        self.done += 1;
        let sent = self.world.requests.len() + self.arrivals.len();
        if self.is_closed_loop && sent < self.lengths.len() {
            self.arrivals.push_back(self.now);
        }
    }

    /// Runs the planned step, in which every running request decodes, and those that are like it, until something happens.
    fn carry_on(&mut self, max_steps: u64, passes: u64) {
        self.world.batch.clear();
        let step_time = &self.server.step_time;
        self.segment.begin(&self.world, step_time, passes);
        let most = self
            .segment
            .steps
            .min(max_steps)
            .min(MAX_STEPS - self.steps)
            .min(self.state.steady_steps(&self.world).saturating_add(1));
        let running = self.world.running.len() as u64;
        let waiting = self.world.waiting.len() as u64;
        let pool = &mut self.world.pool;
        let (first_free, shape) = (pool.free(), &pool.shape);
        let mut free = first_free;
        // Millions of steps come by here, so that what they change is kept at hand.
        let mut decodes = step_time.decodes(&self.segment.load, &self.segment.growth);
        let (mut now, mut sums) = (self.now, self.metrics.sums);
        let next_arrival = self.arrivals.front().copied().unwrap_or(f64::INFINITY);
        let next_event = next_arrival.min(self.metrics.next_point);
        let (running_seqs, waiting_seqs) = (running as f64, waiting as f64);
        let mut steps = 0;
        loop {
            let seconds = decodes.next_seconds();
            now += seconds;
            sums.pass(seconds, running_seqs, waiting_seqs, shape.units - free);
            steps += 1;
            if next_event <= now || most <= steps {
                break;
            }
            let units = self.segment.next_units();
            if units != 0 {
                if free < units {
                    break;
                }
                free -= units;
                self.segment.take_blocks(shape);
            }
        }
        self.now = now;
        self.metrics.sums = sums;
        self.metrics.peak(running, shape.units - free);
        // Never more than there are.
        let _is_taken = pool.take(first_free - free);
        self.state.after_steady_steps(steps - 1);
        self.steps += steps;
        self.metrics.computed_tokens += steps * running;
        for id in &self.world.running {
            let request = &mut self.world.requests[*id];
            // Each step's token is new, so nothing is computed again.
            request.computed += steps;
            request.high_water = request.high_water.max(request.computed);
            let shape = &self.world.pool.shape;
            if request.held * shape.block_size < request.computed {
                request.held = shape.blocks(request.computed);
            }
            request.out += steps;
            mark(request, self.now);
        }
        if steps == self.segment.until_finish {
            self.finish();
        }
    }
}

/// Notes when a request's first tokens were sampled.
fn mark(request: &mut Request, now: f64) {
    if request.out == 1 {
        request.first_token = now;
    }
    if request.out == request.thinking + 1 {
        request.first_answer = now;
    }
}

/// Decode steps that follow from each other.
#[derive(Clone, Debug, Default)]
struct Segment {
    /// Steps until a request finishes, begins its answer or fills a window.
    steps: u64,
    /// Steps until a request finishes.
    until_finish: u64,
    load: Load,
    /// By how much the rows grow from one step to the next, by kind.
    growth: [u64; MAX_ROW_KINDS],
    /// For each step of a block's worth of steps: the units of the blocks that requests take in it.
    takes: Vec<u64>,
    /// Where blocks are not all alike: the index of each such block.
    blocks: Vec<Vec<u64>>,
    /// The step, of a block's worth.
    at: usize,
}

impl Segment {
    /// Begins with a step of the running requests that has its blocks.
    fn begin(&mut self, world: &World, step_time: &StepTime, passes: u64) {
        let shape = &world.pool.shape;
        let block_size = shape.block_size.max(1);
        let span = usize::try_from(block_size).unwrap_or(usize::MAX);
        self.takes.clear();
        self.takes.resize(span, 0);
        let units_of_each = shape.units_of_each();
        self.blocks.iter_mut().for_each(Vec::clear);
        if units_of_each.is_none() {
            self.blocks.resize_with(span, Vec::new);
        }
        (self.steps, self.until_finish, self.at) = (u64::MAX, u64::MAX, 0);
        self.load = Load::default();
        self.growth = [0; MAX_ROW_KINDS];
        let has_windows = step_time.has_windows();
        let mut context = 0;
        for id in &world.running {
            let request = &world.requests[*id];
            self.until_finish = self.until_finish.min(request.output - request.out);
            if request.out <= request.thinking {
                self.steps = self.steps.min(request.thinking + 1 - request.out);
            }
            context += request.computed + 1;
            if has_windows {
                let until =
                    step_time.add_windows(&mut self.load, &mut self.growth, request.computed + 1);
                self.steps = self.steps.min(until);
            }
            // A request with a block for every token of its last one takes the next a block's worth of steps later.
            let room = (request.held * block_size).saturating_sub(request.computed);
            let first = if room < block_size { room } else { 0 };
            let Ok(first) = usize::try_from(first) else {
                continue;
            };
            let units =
                units_of_each.unwrap_or_else(|| shape.units_of(request.held, request.held + 1));
            if let Some(takes) = self.takes.get_mut(first) {
                *takes = takes.saturating_add(units);
            }
            if units_of_each.is_none()
                && let Some(blocks) = self.blocks.get_mut(first)
            {
                blocks.push(request.held);
            }
        }
        let running = world.running.len() as u64;
        step_time.add_decodes(&mut self.load, running, context);
        step_time.add_growth(&mut self.growth, running);
        self.steps = self.steps.min(self.until_finish);
        self.load.passes = passes;
    }

    /// Goes on to the next step, and says how many units it takes.
    #[inline(always)]
    fn next_units(&mut self) -> u64 {
        self.at += 1;
        if self.at == self.takes.len() {
            self.at = 0;
        }
        self.takes.get(self.at).copied().unwrap_or_default()
    }

    /// Notes that the step has its blocks; a block's worth of steps later it takes those behind them.
    fn take_blocks(&mut self, shape: &PoolShape) {
        let blocks = self
            .blocks
            .get_mut(self.at)
            .filter(|blocks| !blocks.is_empty());
        let Some((blocks, takes)) = blocks.zip(self.takes.get_mut(self.at)) else {
            return;
        };
        *takes = 0;
        for block in blocks {
            *block += 1;
            *takes = takes.saturating_add(shape.units_of(*block, *block + 1));
        }
    }
}
