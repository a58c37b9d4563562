//! The schedulers, one file an engine; this file chooses.

pub mod llama_cpp;
pub mod sglang;
pub mod tensorrt_llm;
pub mod vllm;

use llama_cpp::{LlamaCpp, LlamaCppState};
use sglang::{Sglang, SglangState};
use tensorrt_llm::{CapacityPolicy, TensorRtLlm};
use vllm::Vllm;

use super::pool::{Pool, PoolShape};
use super::world::{Id, Refusal, Request, World};

/// The largest number that makes sense in a setting: more tokens than any step has.
const MAX_SETTING: u64 = 1 << 32;

/// An engine's scheduler and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheduler {
    /// vLLM.
    Vllm(Vllm),
    /// SGLang.
    Sglang(Sglang),
    /// TensorRT-LLM.
    TensorRtLlm(TensorRtLlm),
    /// llama.cpp.
    LlamaCpp(LlamaCpp),
}

impl Scheduler {
    /// Every number that can be set: its name, its value and its bounds. A prompt is cut into whole blocks, so a step takes
    /// one at least.
    pub(super) fn settings(&self, block_size: u64) -> Vec<(&'static str, u64, u64, u64)> {
        let count = |key, value| (key, value, 1, MAX_SETTING);
        match self {
            Self::Vllm(settings) => vec![
                count("max_num_seqs", settings.max_num_seqs),
                count("max_num_batched_tokens", settings.max_num_batched_tokens),
                ("watermark", settings.watermark_thousandths, 0, 1000),
            ],
            Self::Sglang(settings) => vec![
                count("max_running_requests", settings.max_running_requests),
                count("max_prefill_tokens", settings.max_prefill_tokens),
                (
                    "chunked_prefill_size",
                    settings.chunked_prefill_size,
                    block_size,
                    MAX_SETTING,
                ),
                (
                    "schedule_conservativeness",
                    settings.schedule_conservativeness_thousandths,
                    0,
                    1_000_000,
                ),
            ],
            Self::TensorRtLlm(settings) => vec![
                count("max_batch_size", settings.max_batch_size),
                (
                    "max_num_tokens",
                    settings.max_num_tokens,
                    block_size,
                    MAX_SETTING,
                ),
            ],
            Self::LlamaCpp(settings) => vec![
                ("n_parallel", settings.n_parallel, 1, 1000),
                count("n_batch", settings.n_batch),
                count("n_ubatch", settings.n_ubatch),
            ],
        }
    }

    /// The pool as this engine keeps it; llama.cpp's is one of cells, whatever the shape.
    pub(super) fn pool(&self, shape: PoolShape, shared_prefix: u64) -> Pool {
        let (is_caching, unhashed_first, shares_prefix) = match self {
            Self::Vllm(settings) => (
                settings.enable_prefix_caching,
                settings.unhashed_first,
                settings.enable_prefix_caching,
            ),
            // What one request leaves in the tree no other request looks for, but for the prefix.
            Self::Sglang(_) => (false, true, true),
            Self::TensorRtLlm(settings) => (
                settings.enable_block_reuse,
                true,
                settings.enable_block_reuse,
            ),
            Self::LlamaCpp(_) => (false, true, false),
        };
        let shape = match self {
            Self::LlamaCpp(_) => PoolShape::uniform(1, shape.units),
            Self::Vllm(_) | Self::Sglang(_) | Self::TensorRtLlm(_) => shape,
        };
        let mut pool = Pool::new(shape, is_caching, unhashed_first);
        if shares_prefix {
            pool.share_prefix(shared_prefix);
        }
        pool
    }

    /// Tokens of the longest sequence that the engine serves in this pool, when its rules bound it. llama.cpp's pool is
    /// counted in cells.
    pub(super) fn longest_sequence(&self, shape: &PoolShape) -> Option<u64> {
        match self {
            Self::LlamaCpp(settings) => Some(LlamaCppState::slot_tokens(settings, shape.units)),
            Self::Vllm(_) | Self::Sglang(_) | Self::TensorRtLlm(_) => None,
        }
    }

    /// Why a request cannot be served, if so. Bounds its outputs as the engine does.
    pub(super) fn refuse(&self, request: &mut Request, shape: &PoolShape) -> Option<Refusal> {
        let larger = |tokens: u64| {
            let needed_units = shape.units_of_request(shape.blocks(tokens));
            (shape.units < needed_units).then_some(Refusal::LargerThanPool {
                needed_units,
                units: shape.units,
            })
        };
        let above = |tokens: u64, max_tokens: u64| {
            (max_tokens < tokens).then_some(Refusal::PromptAboveStep { tokens, max_tokens })
        };
        // The last token is never fed back.
        let peak = request.prompt + request.output - 1;
        match self {
            Self::Vllm(settings) => larger(peak).or_else(|| {
                // Without chunks a preempted request comes back with its outputs in one step.
                let max_tokens = settings.max_num_batched_tokens;
                if settings.enable_chunked_prefill {
                    None
                } else {
                    above(peak, max_tokens)
                }
            }),
            Self::Sglang(_) => {
                // As admission counts: in tokens, at what the first page takes. The server cuts what a client allows to that.
                let (page, page_units) = (shape.block_size, shape.units_of(0, 1).max(1));
                let room = (shape.units / page_units).saturating_mul(page);
                let taken = request.prompt + 2 * page;
                let longest = room.saturating_sub(taken);
                request.max_new = request.max_new.min(longest).max(request.output);
                let tokens = taken + request.output;
                larger(tokens).or_else(|| {
                    (room < tokens).then(|| Refusal::LargerThanPool {
                        needed_units: shape.blocks(tokens).saturating_mul(page_units),
                        units: shape.units,
                    })
                })
            }
            Self::TensorRtLlm(settings) => {
                let window = request.prompt + request.max_new;
                let max_tokens = settings.max_num_tokens;
                match settings.policy {
                    CapacityPolicy::GuaranteedNoEvict | CapacityPolicy::StaticBatch => {
                        let needed_units = shape.units_of_request(shape.blocks(window));
                        let reserved =
                            (shape.units < needed_units).then_some(Refusal::WindowLargerThanPool {
                                needed_units,
                                units: shape.units,
                            });
                        larger(peak + 1).or(reserved).or_else(|| {
                            (!settings.enable_chunked_context)
                                .then(|| above(request.prompt, max_tokens))
                                .flatten()
                        })
                    }
                    CapacityPolicy::MaxUtilization => larger(peak + 1).or_else(|| {
                        (!settings.enable_chunked_context)
                            .then(|| above(peak, max_tokens))
                            .flatten()
                    }),
                }
            }
            Self::LlamaCpp(_) => None,
        }
    }
}

/// What a scheduler planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Whether every running request decodes one token, nobody came or went, and the next step is the same unless a request
    /// finishes, another arrives or memory runs out.
    pub(super) is_steady: bool,
    /// Times that the weights are read.
    pub(super) passes: u64,
}

/// A scheduler at work.
#[derive(Clone, Debug)]
pub(super) enum State {
    Vllm(Vllm),
    Sglang(SglangState),
    TensorRtLlm(TensorRtLlm),
    LlamaCpp(LlamaCppState),
}

impl State {
    pub(super) fn new(scheduler: Scheduler, shared_prefix: u64) -> Self {
        match scheduler {
            Scheduler::Vllm(settings) => Self::Vllm(settings),
            Scheduler::Sglang(settings) => Self::Sglang(SglangState::new(settings)),
            Scheduler::TensorRtLlm(settings) => Self::TensorRtLlm(settings),
            Scheduler::LlamaCpp(settings) => {
                Self::LlamaCpp(LlamaCppState::new(settings, shared_prefix))
            }
        }
    }

    /// Plans a step: fills the world's batch, takes requests in and memory away.
    pub(super) fn schedule(&mut self, world: &mut World) -> Step {
        match self {
            Self::Vllm(state) => state.schedule(world),
            Self::Sglang(state) => state.schedule(world),
            Self::TensorRtLlm(state) => state.schedule(world),
            Self::LlamaCpp(state) => state.schedule(world),
        }
    }

    /// The planned step has run.
    pub(super) fn after_step(&self, world: &mut World) {
        match self {
            Self::Sglang(state) => state.after_step(world),
            Self::TensorRtLlm(state) => state.after_step(world),
            Self::Vllm(_) | Self::LlamaCpp(_) => {}
        }
    }

    /// So many more steady steps have run without being planned.
    pub(super) fn after_steady_steps(&mut self, steps: u64) {
        if let Self::Sglang(state) = self {
            state.decay(steps);
        }
    }

    /// Steady steps that may follow before the scheduler must look again.
    pub(super) fn steady_steps(&self, world: &World) -> u64 {
        match self {
            Self::LlamaCpp(state) => state.steady_steps(world),
            Self::Vllm(_) | Self::Sglang(_) | Self::TensorRtLlm(_) => u64::MAX,
        }
    }

    /// A request has ended with `tokens` tokens in memory.
    pub(super) fn on_finish(&mut self, id: Id, tokens: u64) {
        match self {
            Self::Sglang(state) => state.on_finish(),
            Self::LlamaCpp(state) => state.on_finish(id, tokens),
            Self::Vllm(_) | Self::TensorRtLlm(_) => {}
        }
    }

    /// Nothing runs and nothing waits.
    pub(super) fn on_idle(&mut self) {
        if let Self::Sglang(state) = self {
            state.on_idle();
        }
    }
}
