//! llama.cpp's server: fixed slots, each with its own sequence, in cells of its own or in a pool of all.
//!
//! Source: llama.cpp `tools/server/server-context.cpp` (`update_slots`, `get_available_slot`, `try_clear_idle_slots`,
//! 2026): generating slots first, then prompts up to `n_batch`; when no cells are left, idle slots are cleared one by one,
//! then every slot that runs is ended with an error. Differences: the host cache of prompts is left out; a slot without
//! cells of its own is cleared in the order of its number.

use super::Step;
use crate::core::serve::world::{Id, World};

/// Share of a prompt that a slot must hold already to be chosen for that (`--slot-prompt-similarity`).
const SLOT_PROMPT_SIMILARITY: f64 = 0.1;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LlamaCpp {
    /// Slots (`-np`).
    pub n_parallel: u64,
    /// Whether all slots share one pool of cells.
    pub kv_unified: bool,
    /// Tokens of a step.
    pub n_batch: u64,
    /// Tokens that run at once.
    pub n_ubatch: u64,
}

impl Default for LlamaCpp {
    /// `-np` unset: four slots over one pool.
    fn default() -> Self {
        Self {
            n_parallel: 4,
            kv_unified: true,
            n_batch: 2048,
            n_ubatch: 512,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    request: Option<Id>,
    /// Tokens of its last request that are still there.
    cached: u64,
    /// When it was last released.
    released: u64,
}

/// The scheduler's own state.
#[derive(Clone, Debug)]
pub(in crate::core::serve) struct LlamaCppState {
    settings: LlamaCpp,
    slots: Vec<Slot>,
    released: u64,
    shared_prefix: u64,
}

impl LlamaCppState {
    pub(super) fn new(settings: LlamaCpp, shared_prefix: u64) -> Self {
        let count = usize::try_from(settings.n_parallel).unwrap_or(1);
        Self {
            settings,
            slots: vec![Slot::default(); count],
            released: 0,
            shared_prefix,
        }
    }

    /// Tokens of the longest sequence.
    pub(super) fn slot_tokens(settings: &LlamaCpp, cells: u64) -> u64 {
        if settings.kv_unified {
            cells
        } else {
            cells / settings.n_parallel.max(1)
        }
    }

    fn idle_cells(&self) -> u64 {
        let idle = self.slots.iter().filter(|slot| slot.request.is_none());
        idle.map(|slot| slot.cached).sum()
    }

    pub(super) fn schedule(&mut self, world: &mut World) -> Step {
        let mut is_steady = true;
        while let Some(id) = world.waiting.front().copied() {
            if !self.launch(world, id) {
                break;
            }
            world.waiting.pop_front();
            is_steady = false;
        }
        let slots = self.slots.iter().filter_map(|slot| slot.request);
        world.running = slots.collect();
        let mut batch: Vec<(Id, u64)> = Vec::new();
        let mut budget = self.settings.n_batch;
        for is_prompt in [false, true] {
            for id in world.running.iter().copied() {
                let request = &world.requests[id];
                let tokens = request.missing().min(budget);
                if request.is_decoding() != is_prompt && 0 < tokens {
                    batch.push((id, tokens));
                    budget -= tokens;
                    is_steady &= !is_prompt;
                }
            }
        }
        is_steady &= batch.len() == world.running.len();
        let tokens = batch.iter().map(|(_, tokens)| *tokens).sum();
        if !self.make_room(world, tokens) {
            self.abort(world);
            return Step {
                is_steady: false,
                passes: 0,
            };
        }
        for (id, tokens) in batch {
            if world.grow(id, world.requests[id].computed + tokens) {
                world.push(id, tokens);
            }
        }
        Step {
            is_steady,
            passes: tokens.div_ceil(self.settings.n_ubatch.max(1)),
        }
    }

    /// Gives the request a slot: the one that holds most of its prompt already, else the one that idled longest.
    fn launch(&mut self, world: &mut World, id: Id) -> bool {
        let prompt = world.requests[id].prompt;
        let prefix = self.shared_prefix.min(prompt.saturating_sub(1));
        let likeness = |slot: &Slot| slot.cached.min(prefix);
        let idle = || {
            let slots = self.slots.iter().enumerate();
            slots.filter(|(_, slot)| slot.request.is_none())
        };
        let best = idle()
            .filter(|(_, slot)| {
                SLOT_PROMPT_SIMILARITY < likeness(slot) as f64 / prompt.max(1) as f64
            })
            .max_by_key(|(idx, slot)| (likeness(slot), std::cmp::Reverse(*idx)));
        let longest_idle = idle().min_by_key(|(_, slot)| slot.released);
        let Some((idx, _)) = best.or(longest_idle) else {
            return false;
        };
        let Some(slot) = self.slots.get_mut(idx) else {
            return false;
        };
        let found = slot.cached.min(prefix);
        slot.request = Some(id);
        slot.cached = 0;
        // The found cells were free for all to take until now.
        if world.grow(id, found) {
            world.reuse(id, found);
        }
        true
    }

    /// Clears idle slots until `tokens` cells are left. False when they never are.
    fn make_room(&mut self, world: &World, tokens: u64) -> bool {
        if !self.settings.kv_unified {
            return tokens <= world.pool.free();
        }
        loop {
            let idle = self.idle_cells();
            if tokens + idle <= world.pool.free() {
                return true;
            }
            let slot = self
                .slots
                .iter_mut()
                .find(|slot| slot.request.is_none() && 0 < slot.cached);
            match slot {
                Some(slot) => slot.cached = 0,
                None => return false,
            }
        }
    }

    /// Ends every slot that runs.
    fn abort(&mut self, world: &mut World) {
        for id in std::mem::take(&mut world.running) {
            world.release(id, false);
            world.failed.push(id);
        }
        self.slots.fill(Slot::default());
    }

    /// Steps for which cells are left while nothing but decoding happens.
    pub(super) fn steady_steps(&self, world: &World) -> u64 {
        if !self.settings.kv_unified {
            return u64::MAX;
        }
        let free = world.pool.free().saturating_sub(self.idle_cells());
        free / (world.running.len() as u64).max(1)
    }

    /// A request has ended with `tokens` tokens in its slot.
    pub(super) fn on_finish(&mut self, id: Id, tokens: u64) {
        self.released += 1;
        let slot = self.slots.iter_mut().find(|slot| slot.request == Some(id));
        if let Some(slot) = slot {
            *slot = Slot {
                request: None,
                cached: tokens,
                released: self.released,
            };
        }
    }
}
