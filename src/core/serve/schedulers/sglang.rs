//! SGLang: prompts first, then decoding; admission by a ratio of the tokens that running requests may still produce.
//!
//! Source: SGLang `managers/schedule_policy.py` at 00550cd1 (`PrefillAdder`), `managers/schedule_batch.py`
//! (`retract_decode`) and `managers/scheduler.py` (`batch_is_full`: after a request was not admitted, none is tried until
//! one has finished or was retracted). First come, first served; no mixed chunks.

use super::Step;
use crate::core::serve::world::{Id, World};

/// Output tokens of one request that admission looks ahead to (`SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION`).
const CLIP_MAX_NEW_TOKENS: u64 = 4096;
/// Tokens that each request may decode before the next retraction, in the ratio after one (`SGLANG_RETRACT_DECODE_STEPS`).
const RETRACT_DECODE_STEPS: u64 = 20;
/// The ratio at the start, at the end, and the steps between (`SGLANG_INIT_NEW_TOKEN_RATIO` and following).
const INIT_NEW_TOKEN_RATIO: f64 = 0.7;
const MIN_NEW_TOKEN_RATIO_FACTOR: f64 = 0.14;
const NEW_TOKEN_RATIO_DECAY_STEPS: f64 = 600.0;

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sglang {
    /// Requests that run at once.
    pub max_running_requests: u64,
    /// Prompt tokens of a step beyond which no further request is added.
    pub max_prefill_tokens: u64,
    /// Prompt tokens of a step; a longer prompt is cut.
    pub chunked_prefill_size: u64,
    /// How much of what running requests may still produce is kept free, in thousandths: `schedule_conservativeness`.
    pub schedule_conservativeness_thousandths: u64,
}

impl Default for Sglang {
    /// On an accelerator with 60 to 160 GB.
    fn default() -> Self {
        Self {
            max_running_requests: 2048,
            max_prefill_tokens: 16_384,
            chunked_prefill_size: 8192,
            schedule_conservativeness_thousandths: 1000,
        }
    }
}

/// The scheduler's own state.
#[derive(Clone, Debug)]
pub(in crate::core::serve) struct SglangState {
    settings: Sglang,
    new_token_ratio: f64,
    /// The request whose prompt was cut.
    chunked: Option<Id>,
    is_full: bool,
    /// Whether the step that was planned last decodes.
    is_decode: bool,
}

/// What a pass over the queue may still take.
struct Budget {
    total: f64,
    now: f64,
    input: u64,
    chunk: u64,
}

impl SglangState {
    pub(super) fn new(settings: Sglang) -> Self {
        let mut res = Self {
            settings,
            new_token_ratio: 0.0,
            chunked: None,
            is_full: false,
            is_decode: false,
        };
        res.on_idle();
        res
    }

    fn init_ratio(&self) -> f64 {
        let conservativeness = self.settings.schedule_conservativeness_thousandths as f64 / 1000.0;
        (INIT_NEW_TOKEN_RATIO * conservativeness).min(1.0)
    }

    fn min_ratio(&self) -> f64 {
        (self.init_ratio() * MIN_NEW_TOKEN_RATIO_FACTOR).min(1.0)
    }

    pub(super) fn on_idle(&mut self) {
        self.new_token_ratio = self.init_ratio();
        self.is_full = false;
    }

    pub(super) fn on_finish(&mut self) {
        self.is_full = false;
    }

    /// What decode steps without a retraction do.
    pub(super) fn decay(&mut self, steps: u64) {
        let min = self.min_ratio();
        let decay = (self.init_ratio() - min) / NEW_TOKEN_RATIO_DECAY_STEPS;
        for _ in 0..steps {
            let ratio = (self.new_token_ratio - decay).max(min);
            if ratio == self.new_token_ratio {
                break;
            }
            self.new_token_ratio = ratio;
        }
    }

    pub(super) fn schedule(&mut self, world: &mut World) -> Step {
        self.is_decode = false;
        self.prefill(world);
        let mut is_steady = false;
        if world.batch.is_empty() {
            is_steady = self.decode(world);
            self.is_decode = true;
        }
        Step {
            is_steady: is_steady && (world.waiting.is_empty() || self.is_full),
            passes: 1,
        }
    }

    /// After the step: what was prefilled can be found by others.
    pub(super) fn after_step(&self, world: &mut World) {
        if self.is_decode || world.pool.prefix_blocks() == 0 {
            return;
        }
        for idx in 0..world.running.len() {
            let Some(id) = world.running.get(idx).copied() else {
                break;
            };
            world.adopt(id);
            world.publish(id, world.requests[id].computed);
        }
    }

    /// The running requests but for the one whose prompt was cut.
    fn decoding<'a>(&'a self, world: &'a World) -> impl Iterator<Item = Id> + 'a {
        let running = world.running.iter().copied();
        running.filter(|id| Some(*id) != self.chunked)
    }

    fn prefill(&mut self, world: &mut World) {
        if self.chunked.is_none() && (self.is_full || world.waiting.is_empty()) {
            return;
        }
        let num_running = world.running.len() as u64;
        if self.chunked.is_none() && self.settings.max_running_requests <= num_running {
            self.is_full = true;
            return;
        }
        let free = world.pool.tokens_in(world.pool.free());
        let expected: f64 = self
            .decoding(world)
            .map(|id| {
                let request = &world.requests[id];
                let left = request.max_new.saturating_sub(request.out);
                left.min(CLIP_MAX_NEW_TOKENS) as f64 * self.new_token_ratio
            })
            .sum();
        let mut budget = Budget {
            total: free - expected,
            now: free,
            input: self.settings.max_prefill_tokens,
            chunk: self.settings.chunked_prefill_size,
        };
        if let Some(id) = self.chunked {
            self.continue_chunked(world, id, &mut budget);
        }
        while self.chunked.is_none() {
            let Some(id) = world.waiting.front().copied() else {
                break;
            };
            if self.settings.max_running_requests <= world.running.len() as u64 {
                self.is_full = true;
                break;
            }
            if !self.admit(world, id, &mut budget) {
                break;
            }
        }
    }

    /// Charges a part of a prompt to the pass. `output`: what is kept free for its outputs.
    fn charge(budget: &mut Budget, page: u64, tokens: u64, output: u64) {
        let paged = tokens.div_ceil(page) * page;
        budget.total -= (paged + output + page) as f64;
        budget.now -= paged as f64;
        budget.input = budget.input.saturating_sub(paged);
        budget.chunk = budget.chunk.saturating_sub(paged);
    }

    fn continue_chunked(&mut self, world: &mut World, id: Id, budget: &mut Budget) {
        let request = world.requests[id];
        let page = world.pool.shape.block_size;
        let missing = request.missing();
        let tokens = missing.min(budget.chunk);
        if tokens == 0 || !world.grow(id, request.computed + tokens) {
            return;
        }
        let output = if tokens < missing {
            0
        } else {
            request.max_new.min(CLIP_MAX_NEW_TOKENS)
        };
        Self::charge(budget, page, tokens, output);
        world.push(id, tokens);
        self.chunked = (tokens < missing).then_some(id);
    }

    /// Takes the head of the queue into the step. Whether the next may be tried.
    fn admit(&mut self, world: &mut World, id: Id, budget: &mut Budget) -> bool {
        let page = world.pool.shape.block_size;
        let request = world.requests[id];
        let hit = world.find(id);
        let found = hit.blocks * page;
        let missing = request.known() - found;
        let left = request.max_new.saturating_sub(request.out);
        let needed = missing + left.min(CLIP_MAX_NEW_TOKENS) + page;
        // A prefix that nobody holds yet is not free once it is.
        let found_free = world.pool.tokens_in(hit.free_units);
        if budget.total - found_free <= needed as f64 {
            self.is_full = true;
            return false;
        }
        let paged = missing.div_ceil(page) * page;
        let (tokens, output) = if paged <= budget.chunk {
            (missing, request.max_new.min(CLIP_MAX_NEW_TOKENS))
        } else {
            (
                (found + budget.chunk / page * page) / page * page - found,
                0,
            )
        };
        if tokens == 0 || !world.start(id, hit, world.blocks(found + tokens)) {
            return false;
        }
        world.waiting.pop_front();
        world.running.push(id);
        world.push(id, tokens);
        budget.total -= found_free;
        budget.now -= found_free;
        Self::charge(budget, page, tokens, output);
        if tokens < missing {
            self.chunked = Some(id);
        }
        if budget.total <= 0.0 || budget.now <= 0.0 {
            self.is_full = true;
            return false;
        }
        0 < budget.input && 0 < budget.chunk
    }

    /// Gives every decoding request its token. Whether nobody was retracted.
    fn decode(&mut self, world: &mut World) -> bool {
        let running = world.running.len();
        self.retract(world);
        let is_steady = world.running.len() == running;
        if is_steady {
            self.decay(1);
        } else {
            self.is_full = false;
        }
        let decoding: Vec<Id> = self.decoding(world).collect();
        for id in decoding {
            if world.grow(id, world.requests[id].computed + 1) {
                world.push(id, 1);
            }
        }
        is_steady && self.chunked.is_none()
    }

    /// Takes memory from requests until the others can decode: first from the one with the fewest outputs, among those from
    /// the one with the longest prompt. One always stays; if even that cannot go on, it fails.
    fn retract(&mut self, world: &mut World) {
        let need = |world: &World, id| world.units_to_grow(id, world.requests[id].computed + 1);
        let mut needed = self
            .decoding(world)
            .fold(0, |sum, id| sum + need(world, id));
        if needed <= world.pool.free() {
            return;
        }
        let mut order: Vec<Id> = self.decoding(world).collect();
        order.sort_by_key(|id| {
            let request = &world.requests[*id];
            (std::cmp::Reverse(request.out), request.prompt)
        });
        while world.pool.free() < needed
            && let Some(id) = order.pop()
        {
            needed -= need(world, id);
            world.running.retain(|other| *other != id);
            if order.is_empty() {
                world.release(id, false);
                world.failed.push(id);
            } else {
                world.preempt(id, false);
                world.waiting.push_back(id);
            }
        }
        let (mut decoded, mut allowed) = (0, 0);
        for id in &order {
            decoded += world.requests[*id].out;
            allowed += world.requests[*id].max_new;
        }
        let expected = decoded + RETRACT_DECODE_STEPS * order.len() as u64;
        self.new_token_ratio = (expected as f64 / (allowed + 1) as f64).min(1.0);
    }
}
