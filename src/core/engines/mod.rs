//! What each engine allocates and prints. One file an engine; this file chooses.

pub mod exact;
mod lines;
mod vllm;

use super::layer::{CacheFormats, IndexStorage, LayerKind};
use super::model::{LayerGroup, ModelConfig};
use super::scenario::{EngineKind, Scenario};
use super::setup::{Request, Setup};
use super::units::{Bytes, KvFormat, Share, Tokens, formats};

/// What an engine takes beside weights and cache, per GPU, when the reader says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineDefaults {
    /// Activations.
    pub activations: Bytes,
    /// Runtime, graphs and communication buffers.
    pub overhead: Bytes,
    /// Where the figures come from.
    pub source: &'static str,
}

/// One cache as the engine lists it, per GPU.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct EngineCache {
    /// What it holds.
    pub label: String,
    /// Tokens or cells.
    pub tokens: u64,
    /// Layers it serves.
    pub layers: u32,
    /// Bytes of K.
    pub k_bytes: Bytes,
    /// Bytes of V.
    pub v_bytes: Bytes,
    /// Bytes of recurrent state.
    pub state_bytes: Bytes,
}

/// What the engine would allocate and print.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct EngineReport {
    /// The engine's id.
    pub kind: &'static str,
    /// Tokens of a block, where the engine has blocks.
    pub block_size: Option<u64>,
    /// Blocks of the pool.
    pub num_blocks: Option<u64>,
    /// Tokens the pool is said to hold, in the engine's newest meaning.
    pub kv_cache_size_tokens: Option<u64>,
    /// The same in the engine's older meaning.
    pub kv_cache_size_tokens_legacy: Option<u64>,
    /// Longest sequences that fit at once.
    pub max_concurrency: Option<f64>,
    /// Bytes that one sequence of the longest length needs.
    pub needed_bytes: Option<Bytes>,
    /// The longest model length that fits.
    pub max_model_len_that_fits: Option<Tokens>,
    /// Bytes reserved for the scenario's requests on the fullest GPU, padding included.
    pub reserved_bytes: Bytes,
    /// The caches it allocates.
    pub caches: Vec<EngineCache>,
    /// The lines it prints.
    pub log_lines: Vec<String>,
}

/// How the chosen engine lays its caches out, worked out once for a setup.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// By the bytes that tokens need: no engine, or layers whose layout in this engine is not established.
    Exact,
    /// vLLM's pages and groups.
    Vllm(Box<vllm::Layout>),
}

impl Plan {
    /// The plan for these stages, layers as one rank keeps them.
    pub(super) fn new(
        scenario: &Scenario,
        model: &ModelConfig,
        formats: CacheFormats,
        stages: &[Vec<LayerGroup>],
    ) -> Self {
        match scenario.engine.kind {
            EngineKind::Vllm => vllm::plan(scenario, model, formats, stages)
                .map_or(Self::Exact, |layout| Self::Vllm(Box::new(layout))),
            EngineKind::Exact
            | EngineKind::Sglang
            | EngineKind::TensorRtLlm
            | EngineKind::LlamaCpp => Self::Exact,
        }
    }
}

/// The stated defaults of an engine.
pub fn defaults(kind: EngineKind) -> EngineDefaults {
    match kind {
        EngineKind::Vllm => vllm::DEFAULTS,
        EngineKind::Exact | EngineKind::Sglang | EngineKind::TensorRtLlm | EngineKind::LlamaCpp => {
            exact::DEFAULTS
        }
    }
}

/// How the engine stores what the scenario asks for.
pub(super) fn storage(scenario: &Scenario, model: &ModelConfig) -> CacheFormats {
    let mut res = CacheFormats {
        kv: scenario.kv_cache_dtype,
        state: scenario.state_dtype,
        conv: model.dtype,
        index: IndexStorage::LikeK,
    };
    match scenario.engine.kind {
        EngineKind::Vllm | EngineKind::Sglang => {
            res.index = IndexStorage::Fp8;
            // Latent rows that a sparse indexer picks from have one fp8 layout, with scales and a bf16 rotary key.
            let is_sparse = |group: &LayerGroup| matches!(group.kind, LayerKind::Latent { index_head_dim, .. } if 0 < index_head_dim);
            if res.kv.k == formats::FP8 && model.groups.iter().any(is_sparse) {
                res.kv = KvFormat::both(formats::FP8_DS_MLA);
            }
        }
        EngineKind::Exact | EngineKind::TensorRtLlm | EngineKind::LlamaCpp => {}
    }
    res
}

/// What the engine may use of one GPU, and what of it is left for the cache beside `taken`; negative: what is missing.
pub(super) fn usable(scenario: &Scenario, taken: Bytes) -> (Bytes, i64) {
    let share: Share = scenario.gpu_memory_utilization;
    let usable = share.of(scenario.gpu.visible());
    (usable, usable.signed_difference(taken))
}

/// GPUs among which the engine deals out one sequence's tokens.
pub(super) fn gpus_per_sequence(scenario: &Scenario) -> u64 {
    match scenario.engine.kind {
        EngineKind::Vllm => u64::from(scenario.engine.decode_context_parallel_size),
        EngineKind::Exact | EngineKind::Sglang | EngineKind::TensorRtLlm | EngineKind::LlamaCpp => {
            1
        }
    }
}

/// The pool on one GPU, when the reader gave it.
pub fn given_pool(setup: &Setup<'_>) -> Option<Bytes> {
    match &setup.plan {
        Plan::Exact => setup.scenario.engine.available_kv_cache_bytes,
        Plan::Vllm(layout) => vllm::given_pool(setup, layout),
    }
}

/// Bytes that the engine reserves on the fullest GPU for `num_seqs` such requests: never less than they hold.
pub fn reserved_bytes(setup: &Setup<'_>, request: &Request, num_seqs: u64) -> Bytes {
    match &setup.plan {
        Plan::Exact => setup.held_bytes(request, num_seqs),
        Plan::Vllm(layout) => vllm::reserved_bytes(layout, request, num_seqs),
    }
}

/// What the engine would allocate and print for the setup.
pub fn report(setup: &Setup<'_>) -> EngineReport {
    match &setup.plan {
        Plan::Exact => exact::report(setup),
        Plan::Vllm(layout) => vllm::report(setup, layout),
    }
}
