//! What a scheduler sees: the requests, the two queues and the pool.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use serde::Serialize;

use super::pool::{Hit, Pool, RunId};

/// A request by the order of its arrival.
pub(super) type Id = usize;

/// Why a request is not served at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Refusal {
    /// Alone in the pool it would not fit.
    LargerThanPool {
        /// Units of the pool that it needs.
        needed_units: u64,
        /// Units of the pool.
        units: u64,
    },
    /// With all the output that its client allows it would not, and the engine reserves that.
    WindowLargerThanPool {
        /// Units of the pool that it needs.
        needed_units: u64,
        /// Units of the pool.
        units: u64,
    },
    /// Its prompt fills the longest sequence that the engine serves.
    PromptTooLong {
        /// Its prompt.
        prompt_tokens: u64,
        /// Tokens of the longest sequence.
        max_tokens: u64,
    },
    /// It does not fit in one step, and the engine does not cut prompts.
    PromptAboveStep {
        /// Tokens that one step would have to take.
        tokens: u64,
        /// Tokens of a step.
        max_tokens: u64,
    },
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It waits, or runs.
    Open,
    /// All its tokens were sampled.
    Finished,
    /// It reached the engine's longest sequence.
    Truncated,
    /// The engine ended it with an error.
    Failed,
    /// It was not taken.
    Refused(Refusal),
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    pub(super) prompt: u64,
    pub(super) thinking: u64,
    /// Tokens that it samples.
    pub(super) output: u64,
    /// Tokens that it may sample, as far as the engine knows.
    pub(super) max_new: u64,
    /// Whether the engine's longest sequence ends it.
    pub(super) is_truncated: bool,
    pub(super) fate: Fate,
    pub(super) arrival: f64,
    pub(super) first_token: f64,
    pub(super) first_answer: f64,
    pub(super) end: f64,
    /// Tokens sampled.
    pub(super) out: u64,
    /// Tokens that have rows.
    pub(super) computed: u64,
    /// The most tokens that ever had rows.
    pub(super) high_water: u64,
    /// Blocks held, and how many of them are the shared prefix's.
    pub(super) held: u64,
    pub(super) shared: u64,
    /// Where its blocks can be found since it was preempted.
    pub(super) run: Option<RunId>,
    pub(super) preemptions: u64,
}

impl Request {
    pub(super) fn new(prompt: u64, thinking: u64, output: u64, arrival: f64) -> Self {
        Self {
            prompt,
            thinking,
            output,
            max_new: output,
            is_truncated: false,
            fate: Fate::Open,
            arrival,
            first_token: f64::NAN,
            first_answer: f64::NAN,
            end: f64::NAN,
            out: 0,
            computed: 0,
            high_water: 0,
            held: 0,
            shared: 0,
            run: None,
            preemptions: 0,
        }
    }

    /// Tokens that are known: the prompt's and the sampled ones.
    pub(super) fn known(&self) -> u64 {
        self.prompt + self.out
    }

    /// Known tokens without rows; one when it decodes.
    pub(super) fn missing(&self) -> u64 {
        self.known() - self.computed
    }

    /// Whether its blocks have room for `tokens` more tokens.
    pub(super) fn has_room(&self, block_size: u64, tokens: u64) -> bool {
        self.computed + tokens <= self.held * block_size
    }

    /// Whether it has sampled a token since it was last taken in, so that each step gives it one more.
    pub(super) fn is_decoding(&self) -> bool {
        0 < self.out && self.missing() == 1
    }
}

/// All requests. Ids come from here, so one that is not here is a mistake; it reads as an empty request.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    list: Vec<Request>,
    none: Request,
}

impl Requests {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            none: Request::new(0, 0, 0, 0.0),
        }
    }

    pub(super) fn push(&mut self, request: Request) -> Id {
        self.list.push(request);
        self.list.len() - 1
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Request> {
        self.list.iter()
    }
}

impl Index<Id> for Requests {
    type Output = Request;
    fn index(&self, id: Id) -> &Request {
        self.list.get(id).unwrap_or(&self.none)
    }
}

impl IndexMut<Id> for Requests {
    fn index_mut(&mut self, id: Id) -> &mut Request {
        self.list.get_mut(id).unwrap_or(&mut self.none)
    }
}

/// A request's part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) id: Id,
    pub(super) tokens: u64,
}

/// What a scheduler works on.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) requests: Requests,
    /// First the one that is taken next.
    pub(super) waiting: VecDeque<Id>,
    /// Those that hold memory, in the scheduler's order.
    pub(super) running: Vec<Id>,
    pub(super) pool: Pool,
    /// The step that is about to run.
    pub(super) batch: Vec<Chunk>,
    /// Requests that lost their memory, since the last look.
    pub(super) preemptions: u64,
    /// Requests that the engine ended with an error in this step.
    pub(super) failed: Vec<Id>,
    /// Tokens that requests found in the cache.
    pub(super) reused_tokens: u64,
    /// Of them tokens for which the request had never had rows before.
    pub(super) first_reused_tokens: u64,
}

impl World {
    pub(super) fn new(pool: Pool) -> Self {
        Self {
            requests: Requests::new(),
            waiting: VecDeque::new(),
            running: Vec::new(),
            pool,
            batch: Vec::new(),
            preemptions: 0,
            failed: Vec::new(),
            reused_tokens: 0,
            first_reused_tokens: 0,
        }
    }

    pub(super) fn blocks(&self, tokens: u64) -> u64 {
        self.pool.shape.blocks(tokens)
    }

    /// Puts `tokens` tokens of a request in the step.
    pub(super) fn push(&mut self, id: Id, tokens: u64) {
        self.batch.push(Chunk { id, tokens });
    }

    /// What a request that holds nothing would find in the cache.
    pub(super) fn find(&self, id: Id) -> Hit {
        let request = &self.requests[id];
        self.pool.find(request.known(), request.run)
    }

    /// Units that a request that holds nothing needs to hold `blocks` blocks after a hit.
    pub(super) fn units_to_start(&self, hit: Hit, blocks: u64) -> u64 {
        self.pool.shape.units_of(hit.blocks, blocks)
            + self.pool.shape.units_per_seq
            + hit.free_units
    }

    /// Gives a request that holds nothing its hit and blocks up to `blocks`. False, and nothing happens, when they are not
    /// there.
    pub(super) fn start(&mut self, id: Id, hit: Hit, blocks: u64) -> bool {
        if self.pool.free() < self.units_to_start(hit, blocks) {
            return false;
        }
        let new = self.pool.shape.units_of(hit.blocks, blocks) + self.pool.shape.units_per_seq;
        let request = &mut self.requests[id];
        self.pool.hold_found(hit, request.run);
        request.run = None;
        request.held = blocks.max(hit.blocks);
        request.shared = hit.shared;
        self.reuse(id, hit.blocks * self.pool.shape.block_size);
        self.pool.take(new)
    }

    /// Notes that the first `tokens` tokens of a request are there already.
    pub(super) fn reuse(&mut self, id: Id, tokens: u64) {
        let request = &mut self.requests[id];
        request.computed = tokens;
        self.reused_tokens += tokens;
        self.first_reused_tokens += tokens.saturating_sub(request.high_water);
        request.high_water = request.high_water.max(tokens);
    }

    /// Units that a running request lacks to hold `tokens` tokens.
    pub(super) fn units_to_grow(&self, id: Id, tokens: u64) -> u64 {
        let shape = &self.pool.shape;
        let held = self.requests[id].held;
        if tokens <= held * shape.block_size {
            return 0;
        }
        shape.units_of(held, shape.blocks(tokens))
    }

    /// Gives a running request blocks for `tokens` tokens. False, and nothing happens, when they are not there.
    pub(super) fn grow(&mut self, id: Id, tokens: u64) -> bool {
        let request = &mut self.requests[id];
        let shape = &self.pool.shape;
        if tokens <= request.held * shape.block_size {
            return true;
        }
        let blocks = shape.blocks(tokens);
        let units = shape.units_of(request.held, blocks);
        let is_taken = self.pool.take(units);
        if is_taken {
            request.held = blocks;
        }
        is_taken
    }

    /// Lets others find the prefix's blocks among the first `computed` tokens of a request.
    pub(super) fn publish(&mut self, id: Id, computed: u64) {
        let request = &mut self.requests[id];
        if request.shared < self.pool.prefix_blocks() {
            request.shared = self.pool.publish(request.shared, computed);
        }
    }

    /// Swaps a request's own copies of the prefix's blocks for those that others published.
    pub(super) fn adopt(&mut self, id: Id) {
        let request = &mut self.requests[id];
        if request.shared < self.pool.prefix_blocks() {
            request.shared = self.pool.adopt(request.shared, request.computed);
        }
    }

    /// Frees all that a request holds. `is_findable`: whether it can find its blocks again.
    pub(super) fn release(&mut self, id: Id, is_findable: bool) {
        let request = &mut self.requests[id];
        let full = if is_findable {
            request.computed / self.pool.shape.block_size.max(1)
        } else {
            0
        };
        request.run = self.pool.release(request.shared, full, request.held);
        request.computed = 0;
        request.held = 0;
        request.shared = 0;
    }

    /// Takes a running request's memory away; its outputs stay. The scheduler puts it back in line.
    pub(super) fn preempt(&mut self, id: Id, is_findable: bool) {
        self.release(id, is_findable);
        self.requests[id].preemptions += 1;
        self.preemptions += 1;
    }

    /// Units that running requests hold, the shared prefix once.
    pub(super) fn held_units(&self) -> u64 {
        let shape = &self.pool.shape;
        let own = self.running.iter().fold(0, |sum, id| {
            let request = &self.requests[*id];
            sum + shape.units_of(request.shared, request.held) + shape.units_per_seq
        });
        own + shape.units_of(0, self.pool.held_prefix())
    }
}
