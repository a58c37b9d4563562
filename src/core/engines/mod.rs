//! What each engine allocates and prints. One file an engine; this file chooses.

pub mod exact;

use super::scenario::EngineKind;
use super::setup::{Request, Setup};
use super::units::{Bytes, Tokens};

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

/// The stated defaults of an engine.
pub fn defaults(kind: EngineKind) -> EngineDefaults {
    match kind {
        EngineKind::Exact
        | EngineKind::Vllm
        | EngineKind::Sglang
        | EngineKind::TensorRtLlm
        | EngineKind::LlamaCpp => exact::DEFAULTS,
    }
}

/// The pool on one GPU, when the reader gave it.
pub fn given_pool(setup: &Setup<'_>) -> Option<Bytes> {
    setup.scenario.engine.available_kv_cache_bytes
}

/// Bytes that the engine reserves on the fullest GPU for `num_seqs` such requests: never less than they hold.
pub fn reserved_bytes(setup: &Setup<'_>, request: &Request, num_seqs: u64) -> Bytes {
    match setup.scenario.engine.kind {
        EngineKind::Exact
        | EngineKind::Vllm
        | EngineKind::Sglang
        | EngineKind::TensorRtLlm
        | EngineKind::LlamaCpp => setup.held_bytes(request, num_seqs),
    }
}

/// What the engine would allocate and print for the setup.
pub fn report(setup: &Setup<'_>) -> EngineReport {
    match setup.scenario.engine.kind {
        EngineKind::Exact
        | EngineKind::Vllm
        | EngineKind::Sglang
        | EngineKind::TensorRtLlm
        | EngineKind::LlamaCpp => exact::report(setup),
    }
}
