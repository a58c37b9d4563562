//! vLLM V1: no phases, every step moves each request towards its known tokens.
//!
//! Source: vLLM `v1/core/sched/scheduler.py` and `v1/core/kv_cache_manager.py`, 2026, for the order of the queues, what a
//! step allocates, the victim, the gate and the watermark. Synchronous: with asynchronous scheduling a step is planned
//! before the last one's tokens are known, which at a length stop changes nothing.

use super::Step;
use crate::core::serve::world::{Id, World};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vllm {
    /// Requests that run at once.
    pub max_num_seqs: u64,
    /// Tokens of a step.
    pub max_num_batched_tokens: u64,
    /// Whether a prompt may be cut over several steps.
    pub enable_chunked_prefill: bool,
    /// Whether blocks can be found again.
    pub enable_prefix_caching: bool,
    /// Whether a request is taken in only when its whole known sequence fits (`scheduler_reserve_full_isl`, since 0.19), not
    /// only its first chunk.
    pub reserve_full_isl: bool,
    /// Share of the pool that stays free when a request is taken in, in thousandths.
    pub watermark_thousandths: u64,
    /// Whether freed blocks that cannot be found again are taken next (since 0.24).
    pub unhashed_first: bool,
}

impl Default for Vllm {
    /// The server's defaults on an accelerator with 70 GiB or more that is no A100: 8,192 tokens, 1,024 sequences.
    fn default() -> Self {
        Self {
            max_num_seqs: 1 << 10,
            max_num_batched_tokens: 8192,
            enable_chunked_prefill: true,
            enable_prefix_caching: true,
            reserve_full_isl: true,
            watermark_thousandths: 0,
            unhashed_first: true,
        }
    }
}

impl Vllm {
    pub(super) fn schedule(&self, world: &mut World) -> Step {
        let mut budget = self.max_num_batched_tokens;
        let running_before = world.running.len();
        let mut is_steady = self.schedule_running(world, &mut budget);
        let has_preempted = world.running.len() < running_before;
        if !has_preempted {
            while 0 < budget && (world.running.len() as u64) < self.max_num_seqs {
                let Some(id) = world.waiting.front().copied() else {
                    break;
                };
                if !self.admit(world, id, &mut budget) {
                    break;
                }
                world.waiting.pop_front();
                world.running.push(id);
                is_steady = false;
            }
        }
        Step {
            is_steady: is_steady && !has_preempted,
            passes: 1,
        }
    }

    /// Gives the running requests their tokens, in the order in which they were taken in. Whether each decoded.
    fn schedule_running(&self, world: &mut World, budget: &mut u64) -> bool {
        let mut is_steady = true;
        let mut idx = 0;
        let prefix = world.pool.prefix_blocks();
        while let Some(id) = world.running.get(idx).copied() {
            let request = &world.requests[id];
            let missing = request.missing();
            let tokens = missing.min(*budget);
            let computed = request.computed + tokens;
            is_steady &= missing == 1 && tokens == 1;
            if tokens == 0 {
                break;
            }
            idx += 1;
            *budget -= tokens;
            if request.has_room(world.pool.shape.block_size, tokens) && request.shared == prefix {
                world.push(id, tokens);
                continue;
            }
            // The last one taken in gives way; it may be the one that needs the blocks.
            while !world.grow(id, computed) {
                let Some(victim) = world.running.pop() else {
                    break;
                };
                world.preempt(victim, true);
                world.waiting.push_front(victim);
                if victim == id {
                    return false;
                }
            }
            world.publish(id, computed);
            world.push(id, tokens);
        }
        is_steady
    }

    /// Takes the head of the queue in, if it fits.
    fn admit(&self, world: &mut World, id: Id, budget: &mut u64) -> bool {
        let hit = world.find(id);
        let known = world.requests[id].known();
        let found = hit.blocks * world.pool.shape.block_size;
        let missing = known - found;
        if !self.enable_chunked_prefill && *budget < missing {
            return false;
        }
        let tokens = missing.min(*budget);
        let watermark = if world.running.is_empty() {
            0
        } else {
            let shape = &world.pool.shape;
            let block = shape.units_of(0, 1).max(1);
            shape.units / block * self.watermark_thousandths / 1000 * block
        };
        let blocks = world.blocks(found + tokens);
        let gate = if self.reserve_full_isl {
            world.blocks(known)
        } else {
            blocks
        };
        if world.pool.free() < world.units_to_start(hit, gate) + watermark
            || !world.start(id, hit, blocks)
        {
            return false;
        }
        world.publish(id, found + tokens);
        world.push(id, tokens);
        *budget -= tokens;
        true
    }
}
