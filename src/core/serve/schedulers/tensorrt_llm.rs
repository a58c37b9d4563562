//! TensorRT-LLM: a capacity scheduler decides which requests may run, a micro-batch scheduler which of them run now.
//!
//! Source: TensorRT-LLM `batch_manager/capacityScheduler.cpp` at 02a10fed, `batch_manager/scheduledBlocksManager.h` at
//! 1ce9149b. Differences: prefix blocks that could be reused are not credited to a request that waits (recent versions do,
//! by an amount that was not found); no two-token look-ahead of pipeline parallelism; whole blocks are reused only.

use super::Step;
use crate::core::serve::world::{Id, World};

/// Which requests may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityPolicy {
    /// Only those whose whole window fits; nobody is ever paused.
    GuaranteedNoEvict,
    /// As many as fit for one more step; the last one started is paused when memory runs out.
    MaxUtilization,
    /// As the first, and nobody is added until all have finished.
    StaticBatch,
}

impl CapacityPolicy {
    /// Every policy, the default first.
    pub const ALL: [Self; 3] = [
        Self::GuaranteedNoEvict,
        Self::MaxUtilization,
        Self::StaticBatch,
    ];

    /// The id in links and JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::GuaranteedNoEvict => "guaranteed_no_evict",
            Self::MaxUtilization => "max_utilization",
            Self::StaticBatch => "static_batch",
        }
    }
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorRtLlm {
    /// Which requests may run.
    pub policy: CapacityPolicy,
    /// Requests that run at once.
    pub max_batch_size: u64,
    /// Tokens of a step.
    pub max_num_tokens: u64,
    /// Whether a prompt may be cut over several steps, in whole blocks.
    pub enable_chunked_context: bool,
    /// Whether blocks can be found again.
    pub enable_block_reuse: bool,
}

impl Default for TensorRtLlm {
    fn default() -> Self {
        Self {
            policy: CapacityPolicy::GuaranteedNoEvict,
            max_batch_size: 2048,
            max_num_tokens: 8192,
            enable_chunked_context: true,
            enable_block_reuse: true,
        }
    }
}

impl TensorRtLlm {
    pub(super) fn schedule(&self, world: &mut World) -> Step {
        let preemptions = world.preemptions;
        let candidates = match self.policy {
            CapacityPolicy::GuaranteedNoEvict | CapacityPolicy::StaticBatch => {
                self.whole_windows(world)
            }
            CapacityPolicy::MaxUtilization => self.one_more_step(world),
        };
        let is_steady = self.micro_batch(world, &candidates);
        Step {
            is_steady: is_steady && world.preemptions == preemptions,
            passes: 1,
        }
    }

    /// Whether a waiting request would compute prefix blocks that a running one computes already. It is better off waiting.
    fn would_duplicate(&self, world: &World, id: Id, is_producing: bool) -> bool {
        self.policy != CapacityPolicy::StaticBatch && is_producing && {
            let hit = world.find(id);
            let prompt = world.requests[id].known() / world.pool.shape.block_size.max(1);
            hit.shared < world.pool.prefix_blocks().min(prompt)
        }
    }

    /// Whether a running request is about to compute the next block of the shared prefix.
    fn is_producing(world: &World) -> bool {
        let prefix = world.pool.prefix_blocks();
        world.pool.resident_prefix() < prefix
            && world.running.iter().any(|id| {
                let request = &world.requests[*id];
                request.shared < prefix && request.computed < prefix * world.pool.shape.block_size
            })
    }

    /// Waiting requests whose whole window fits beside those of the running ones.
    fn whole_windows(&self, world: &World) -> Vec<Id> {
        if self.policy == CapacityPolicy::StaticBatch && !world.running.is_empty() {
            return Vec::new();
        }
        let window = |id: Id| {
            let request = &world.requests[id];
            request.prompt + request.max_new
        };
        let reserved = world
            .running
            .iter()
            .fold(0, |sum, id| sum + world.units_to_grow(*id, window(*id)));
        let mut free = world.pool.free().saturating_sub(reserved);
        let mut is_producing = self.enable_block_reuse && Self::is_producing(world);
        let mut res = Vec::new();
        for id in world.waiting.iter().copied() {
            if self.max_batch_size <= (world.running.len() + res.len()) as u64 {
                break;
            }
            if self.would_duplicate(world, id, is_producing) {
                continue;
            }
            let needed = world.pool.shape.units_of_request(world.blocks(window(id)));
            if free < needed {
                break;
            }
            free -= needed;
            is_producing |= 0 < world.pool.prefix_blocks()
                && world.pool.resident_prefix() < world.pool.prefix_blocks();
            res.push(id);
        }
        res
    }

    /// Walks all requests by arrival; where one does not fit for a step, the last one started at or after it is paused.
    /// Paused requests keep their place among the waiting ones.
    fn one_more_step(&self, world: &mut World) -> Vec<Id> {
        let mut res = Vec::new();
        let (mut running_idx, mut waiting_idx, mut count) = (0, 0, 0);
        let mut reserved = 0;
        let mut end = Id::MAX;
        let mut is_producing = self.enable_block_reuse && Self::is_producing(world);
        let mut paused = Vec::new();
        loop {
            let running = world.running.get(running_idx).copied();
            let waiting = world.waiting.get(waiting_idx).copied();
            let is_running = running.is_some_and(|id| waiting.is_none_or(|other| id < other));
            let Some(id) = (if is_running { running } else { waiting }).filter(|id| *id < end)
            else {
                break;
            };
            if !is_running && self.would_duplicate(world, id, is_producing) {
                waiting_idx += 1;
                continue;
            }
            let needed = if is_running {
                world.units_to_grow(id, world.requests[id].computed + 1)
            } else {
                world.units_to_start(world.find(id), world.blocks(world.requests[id].known()))
            };
            if count < self.max_batch_size && reserved + needed <= world.pool.free() {
                reserved += needed;
                count += 1;
                if is_running {
                    running_idx += 1;
                } else {
                    waiting_idx += 1;
                    is_producing |= 0 < world.pool.prefix_blocks()
                        && world.pool.resident_prefix() < world.pool.prefix_blocks();
                    res.push(id);
                }
                continue;
            }
            match world.running.last().copied().filter(|last| id <= *last) {
                Some(last) => {
                    world.running.pop();
                    world.preempt(last, self.enable_block_reuse);
                    paused.push(last);
                    end = last;
                }
                None => break,
            }
        }
        for id in paused {
            let at = world.waiting.partition_point(|other| *other < id);
            world.waiting.insert(at, id);
        }
        res
    }

    /// Puts generating requests in the step, then prompts. Whether all that run decode in it, and nobody was started.
    fn micro_batch(&self, world: &mut World, candidates: &[Id]) -> bool {
        let mut budget = self.max_num_tokens;
        let mut prompts = Vec::new();
        for idx in 0..world.running.len() {
            let Some(id) = world.running.get(idx).copied() else {
                break;
            };
            let request = &world.requests[id];
            if !request.is_decoding() {
                prompts.push(id);
            } else if 0 < budget && world.grow(id, request.computed + 1) {
                world.push(id, 1);
                budget -= 1;
            }
        }
        let mut is_steady = world.batch.len() == world.running.len();
        for id in prompts {
            let missing = world.requests[id].missing();
            let tokens = self.chunk(world, missing, budget);
            if 0 < tokens {
                world.push(id, tokens);
                budget -= tokens;
            }
        }
        for id in candidates.iter().copied() {
            let hit = world.find(id);
            let known = world.requests[id].known();
            let missing = known - hit.blocks * world.pool.shape.block_size;
            let tokens = self.chunk(world, missing, budget);
            // A started request gets the blocks of its whole prompt at once.
            if tokens == 0 || !world.start(id, hit, world.blocks(known)) {
                continue;
            }
            world.push(id, tokens);
            budget -= tokens;
            let at = world.waiting.partition_point(|other| *other < id);
            world.waiting.remove(at);
            let at = world.running.partition_point(|other| *other < id);
            world.running.insert(at, id);
            is_steady = false;
        }
        is_steady
    }

    /// How much of a prompt goes in the step: all of it, or whole blocks where it may be cut.
    fn chunk(&self, world: &World, missing: u64, budget: u64) -> u64 {
        if missing <= budget {
            return missing;
        }
        if !self.enable_chunked_context {
            return 0;
        }
        let unit = world.pool.shape.block_size.max(1);
        budget / unit * unit
    }

    /// After the step: what was computed can be found by others.
    pub(super) fn after_step(&self, world: &mut World) {
        if world.pool.prefix_blocks() == 0 {
            return;
        }
        for idx in 0..world.running.len() {
            if let Some(id) = world.running.get(idx).copied() {
                world.publish(id, world.requests[id].computed);
            }
        }
    }
}
