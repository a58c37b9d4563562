//! A scenario's server: its engine's scheduler, the pool that its memory leaves, and its speed.

use super::arrivals::{Arrivals, Lengths, Spread, Workload};
use super::pool::{BlockKind, PoolShape};
use super::schedulers::Scheduler;
use super::schedulers::llama_cpp::LlamaCpp;
use super::schedulers::sglang::Sglang;
use super::schedulers::tensorrt_llm::TensorRtLlm;
use super::schedulers::vllm::Vllm;
use super::step_time::StepTime;
use super::{MAX_REQUEST_TOKENS, Server};
use crate::core::engines::{self, EngineCache};
use crate::core::fit::largest;
use crate::core::layer::LayerKind;
use crate::core::report::speed_inputs;
use crate::core::scenario::{EngineKind, Scenario};
use crate::core::setup::{Request, Setup};
use crate::core::speed::SpeedConstants;
use crate::core::units::{Bytes, GB, GIB, Tokens};

/// Kinds of blocks that are told apart.
const MAX_KINDS: usize = 8;

impl Scheduler {
    /// The scheduler of the scenario's engine with its server's defaults on this accelerator, and with what the scenario
    /// sets. Without an engine: vLLM's.
    ///
    /// Source: vLLM `EngineArgs.get_batch_defaults`; SGLang `ServerArgs` (chunk by memory); llama.cpp server (`-np` unset:
    /// four slots over one pool).
    pub fn of(setup: &Setup<'_>) -> Self {
        let (scenario, engine) = (setup.scenario, &setup.scenario.engine);
        let memory = scenario.gpu.memory();
        match engine.kind {
            EngineKind::Exact | EngineKind::Vllm => {
                let is_large = Bytes(70 * GIB) <= memory && !scenario.gpu.id.starts_with("a100");
                let (tokens, seqs) = if is_large {
                    (8192, 1 << 10)
                } else {
                    (2048, 256)
                };
                Self::Vllm(Vllm {
                    max_num_batched_tokens: engine
                        .max_num_batched_tokens
                        .map_or(tokens, |tokens| tokens.0),
                    max_num_seqs: seqs,
                    // Recurrent states are not cached by default.
                    enable_prefix_caching: !has_state(setup),
                    ..Vllm::default()
                })
            }
            EngineKind::Sglang => {
                let chunks = [(35, 2048), (60, 4096), (160, 8192)];
                let chunked_prefill_size = chunks
                    .iter()
                    .find(|(gb, _)| memory < Bytes(gb * GB))
                    .map_or(16_384, |(_, tokens)| *tokens);
                let settings = Sglang {
                    chunked_prefill_size,
                    ..Sglang::default()
                };
                let caches = engines::report(setup).caches;
                let slots = caches
                    .iter()
                    .filter(|cache| cache.state_bytes != Bytes::ZERO)
                    .map(|cache| cache.tokens)
                    .min();
                Self::Sglang(Sglang {
                    max_running_requests: slots
                        .unwrap_or(u64::MAX)
                        .clamp(1, settings.max_running_requests),
                    ..settings
                })
            }
            EngineKind::TensorRtLlm => Self::TensorRtLlm(TensorRtLlm::default()),
            EngineKind::LlamaCpp => {
                let auto = LlamaCpp::default();
                Self::LlamaCpp(LlamaCpp {
                    n_parallel: engine.n_seq_max.map_or(auto.n_parallel, u64::from).max(1),
                    kv_unified: engine.kv_unified || engine.n_seq_max.is_none(),
                    n_ubatch: engine.n_ubatch.0.max(1),
                    ..auto
                })
            }
        }
    }
}

impl Server {
    /// The server of one replica of the scenario, with its engine's default scheduler.
    pub fn of(setup: &Setup<'_>, constants: &SpeedConstants) -> Self {
        Self::with_scheduler(setup, constants, Scheduler::of(setup))
    }

    /// The same with another scheduler of the scenario's engine.
    pub fn with_scheduler(
        setup: &Setup<'_>,
        constants: &SpeedConstants,
        scheduler: Scheduler,
    ) -> Self {
        Self {
            pool: PoolShape::of(setup, &scheduler),
            scheduler,
            step_time: StepTime::new(
                &speed_inputs(setup, u64::from(setup.scenario.num_seqs)),
                constants,
            ),
            max_model_len: Some(setup.max_model_len().0),
        }
    }
}

impl Workload {
    /// Requests of the scenario's tokens. Each of several samples counts as a request of its own, and a client allows as
    /// many output tokens as it gets.
    pub fn of(scenario: &Scenario, arrivals: Arrivals, num_requests: u64, seed: u64) -> Self {
        let output = scenario.thinking_tokens.plus(scenario.answer_tokens);
        Self {
            arrivals,
            lengths: Lengths::Drawn {
                prompt: Spread::Fixed(scenario.prompt_tokens.0),
                thinking: Spread::Fixed(scenario.thinking_tokens.0),
                answer: Spread::Fixed(scenario.answer_tokens.0),
            },
            num_requests,
            shared_prefix_tokens: scenario.shared_prefix_tokens.0,
            max_output_tokens: Some(output.0),
            seed,
        }
    }
}

fn has_state(setup: &Setup<'_>) -> bool {
    let groups = setup.stages.iter().flatten();
    groups
        .into_iter()
        .any(|group| group.kind.state_bytes(setup.formats) != Bytes::ZERO)
}

impl PoolShape {
    /// The pool of the fullest GPU. Exact where all layers keep every token; windows as the type says.
    pub fn of(setup: &Setup<'_>, scheduler: &Scheduler) -> Self {
        if let Scheduler::LlamaCpp(settings) = scheduler {
            return Self::uniform(1, cells(setup, settings));
        }
        let report = engines::report(setup);
        let block_size = report.block_size.unwrap_or(1).max(1);
        match (setup.scenario.engine.kind, report.num_blocks) {
            (EngineKind::Vllm, Some(num_blocks)) => {
                // One block stands for none. Groups of layers share the pool's blocks.
                let all: Bytes = report.caches.iter().map(bytes_of).sum();
                let block = Bytes(all.0 / num_blocks.max(1));
                Self::measured(setup, block_size, block.times(num_blocks.saturating_sub(1)))
            }
            // SGLang's sliding pool and states are beside this one; the tokens of whole layers bind at reasoning lengths.
            (EngineKind::Sglang, Some(num_blocks)) => Self::uniform(block_size, num_blocks),
            (_, Some(num_blocks)) if !has_state(setup) => Self::uniform(block_size, num_blocks),
            (_, _) => Self::measured(setup, block_size, setup.budget().pool),
        }
    }

    /// The shape by which a request's bytes grow, block by block.
    fn measured(setup: &Setup<'_>, block_size: u64, pool: Bytes) -> Self {
        // What a start-up test sets aside for the tokens of a step is not held by every request.
        let mut scenario = setup.scenario.clone();
        scenario.engine.max_num_batched_tokens = Some(Tokens(1));
        scenario.engine.async_scheduling = false;
        let setup = Setup::with_tensor_parallel(&scenario, setup.tensor_parallel_size);
        // Rows that several tokens share come in blocks of them.
        let ratios = setup.stages.iter().flatten();
        let block_size = ratios.fold(block_size, |size, group| match group.kind {
            LayerKind::Compressed { compress_ratio, .. } => size.max(u64::from(compress_ratio)),
            _ => size,
        });
        let held = |blocks: u64| {
            let tokens = Tokens(blocks.saturating_mul(block_size));
            engines::reserved_bytes(&setup, &Request::of_tokens(tokens), 1).0
        };
        let last = (MAX_REQUEST_TOKENS / block_size).max(2);
        let step = |idx: u64| held(idx + 1).saturating_sub(held(idx));
        let mut kinds = Vec::new();
        let mut from = 1;
        while kinds.len() < MAX_KINDS {
            let units = step(from);
            // Steps never grow: a window that is full takes no more.
            let same = largest(last - from, |further| step(from + further) == units);
            let end = from + same.unwrap_or(0) + 1;
            let rest = if end < last { step(end) } else { 0 };
            if last <= end || units <= rest {
                kinds.push(BlockKind {
                    units,
                    max_blocks: None,
                });
                break;
            }
            kinds.push(BlockKind {
                units: units - rest,
                max_blocks: Some(end),
            });
            from = end;
        }
        kinds.retain(|kind| 0 < kind.units);
        let first = kinds.iter().map(|kind| kind.units).sum();
        let mut res = Self {
            block_size,
            units: pool.0,
            kinds,
            units_per_seq: held(1).saturating_sub(first),
        };
        res.count_in_blocks();
        res
    }

    /// Counts in blocks where all are alike.
    fn count_in_blocks(&mut self) {
        if let Some(units) = self.units_of_each().filter(|_| self.units_per_seq == 0) {
            *self = Self::uniform(self.block_size, self.units / units.max(1));
        }
    }
}

fn bytes_of(cache: &EngineCache) -> Bytes {
    cache.k_bytes + cache.v_bytes + cache.state_bytes
}

/// Cells of llama.cpp's caches: as set, else as many as fit, up to the longest sequence for each slot.
fn cells(setup: &Setup<'_>, settings: &LlamaCpp) -> u64 {
    if let Some(n_ctx) = setup.scenario.engine.n_ctx {
        return n_ctx.0;
    }
    let pool = setup.budget().pool;
    let (streams, longest) = if settings.kv_unified {
        (
            1,
            setup.max_model_len().0.saturating_mul(settings.n_parallel),
        )
    } else {
        (settings.n_parallel, setup.max_model_len().0)
    };
    let fits = |tokens: u64| {
        engines::reserved_bytes(setup, &Request::of_tokens(Tokens(tokens)), streams) <= pool
    };
    largest(longest, fits).unwrap_or(0).saturating_mul(streams)
}
