//! What each engine allocates and prints. One file an engine; this file chooses.

pub mod exact;
#[cfg(feature = "doors")]
mod lines;
mod llama_cpp;
mod sglang;
mod tensorrt_llm;
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
#[cfg(feature = "doors")]
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
    /// The caches it allocates, which the first view does without.
    #[cfg(feature = "doors")]
    pub caches: Vec<EngineCache>,
    /// The lines it prints.
    #[cfg(feature = "doors")]
    pub log_lines: Vec<String>,
}

/// What a plan is made of: a scenario with its parallel sizes decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    /// The scenario.
    pub(super) scenario: &'a Scenario,
    /// Its model.
    pub(super) model: &'a ModelConfig,
    /// Storage of what is cached.
    pub(super) formats: CacheFormats,
    /// Layers of each pipeline stage as one rank keeps them, draft layers on the last.
    pub(super) stages: &'a [Vec<LayerGroup>],
    /// Ranks that divide the heads.
    pub(super) attention_parallel_size: u32,
}

/// How the chosen engine lays its caches out, worked out once for a setup.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// By the bytes that tokens need: no engine, or layers whose layout in this engine is not established.
    Exact,
    /// vLLM's pages and groups.
    Vllm(Box<vllm::Layout>),
    /// SGLang's pools of each stage.
    Sglang(Vec<sglang::Pools>),
    /// TensorRT-LLM's pool of each stage.
    TensorRtLlm(Vec<tensorrt_llm::Pool>),
    /// llama.cpp's rules.
    LlamaCpp(Box<llama_cpp::Rules>),
}

impl Plan {
    /// The plan for a setup.
    pub(super) fn new(parts: &Parts<'_>) -> Self {
        let plan = match parts.scenario.engine.kind {
            EngineKind::Exact => None,
            EngineKind::Vllm => vllm::plan(parts).map(|plan| Self::Vllm(Box::new(plan))),
            EngineKind::Sglang => sglang::plan(parts).map(Self::Sglang),
            EngineKind::TensorRtLlm => tensorrt_llm::plan(parts).map(Self::TensorRtLlm),
            EngineKind::LlamaCpp => {
                llama_cpp::plan(parts).map(|plan| Self::LlamaCpp(Box::new(plan)))
            }
        };
        plan.unwrap_or(Self::Exact)
    }
}

/// The stated defaults of an engine.
pub fn defaults(kind: EngineKind) -> EngineDefaults {
    match kind {
        EngineKind::Exact => exact::DEFAULTS,
        EngineKind::Vllm => vllm::DEFAULTS,
        EngineKind::Sglang => sglang::DEFAULTS,
        EngineKind::TensorRtLlm => tensorrt_llm::DEFAULTS,
        EngineKind::LlamaCpp => llama_cpp::DEFAULTS,
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
        EngineKind::LlamaCpp => {
            res.state = formats::F32;
            res.conv = formats::F32;
            if !llama_cpp::has_indexer(&scenario.engine) {
                res.index = IndexStorage::Nothing;
            }
        }
        EngineKind::Exact | EngineKind::TensorRtLlm => {}
    }
    res
}

/// A layer as the engine keeps it: an engine that does not use latent attention caches the heads.
pub(super) fn stored_kind(scenario: &Scenario, model: &ModelConfig, kind: LayerKind) -> LayerKind {
    match scenario.engine.kind {
        EngineKind::LlamaCpp => {
            llama_cpp::stored_kind(&scenario.engine, model.unfolded_heads, kind)
        }
        EngineKind::Exact | EngineKind::Vllm | EngineKind::Sglang | EngineKind::TensorRtLlm => kind,
    }
}

/// The share that the engine goes by: the value of [`EngineKind::memory_share`].
pub fn memory_share(scenario: &Scenario) -> Share {
    let engine = &scenario.engine;
    match engine.kind {
        EngineKind::Exact | EngineKind::Vllm | EngineKind::LlamaCpp => {
            scenario.gpu_memory_utilization
        }
        EngineKind::Sglang => engine
            .mem_fraction_static
            .unwrap_or(sglang::MEM_FRACTION_STATIC),
        EngineKind::TensorRtLlm => engine.free_gpu_memory_fraction,
    }
}

/// What the engine may use of one GPU, and what of it is left for the cache beside `taken`; negative: what is missing.
pub(super) fn usable(scenario: &Scenario, taken: Bytes) -> (Bytes, i64) {
    let (visible, share) = (scenario.gpu.visible(), memory_share(scenario));
    match scenario.engine.kind {
        EngineKind::Exact | EngineKind::Vllm | EngineKind::LlamaCpp | EngineKind::Sglang => {
            let usable = share.of(visible);
            (usable, usable.signed_difference(taken))
        }
        // The share is of what is free once everything else is there.
        EngineKind::TensorRtLlm if taken < visible => {
            let pool = share.of(visible.minus(taken));
            (taken + pool, pool.signed_difference(Bytes::ZERO))
        }
        EngineKind::TensorRtLlm => (visible, visible.signed_difference(taken)),
    }
}

/// Longest sequence: as set, else what the model was trained for, else what the scenario needs.
pub(super) fn max_model_len(scenario: &Scenario, model: &ModelConfig) -> Tokens {
    let needed = scenario.context_tokens().max(Tokens(1));
    scenario
        .engine
        .max_model_len
        .or(model.max_position_embeddings)
        .unwrap_or(needed)
}

/// Ranks that divide the attention's heads: with data-parallel attention, each replica's part of the GPUs.
pub(super) fn attention_parallel_size(scenario: &Scenario, tensor_parallel_size: u32) -> u32 {
    let is_divided = scenario.engine.kind == EngineKind::Sglang && scenario.engine.dp_attention;
    let replicas = if is_divided {
        scenario.data_parallel_size.max(1)
    } else {
        1
    };
    (tensor_parallel_size / replicas).max(1)
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

/// Blocks of `num_seqs` requests of which one sequence takes `own`: full blocks of a prompt that samples or requests
/// share are there once.
fn blocks_of_requests(request: &Request, num_seqs: u64, own: u64, block_size: u64) -> u64 {
    if num_seqs == 0 {
        return 0;
    }
    let of_prompt = request.prompt.0 / block_size.max(1);
    let shared = request.shared_prefix.0 / block_size.max(1);
    let samples = own
        .saturating_sub(of_prompt)
        .saturating_mul(request.num_samples);
    let of_request = of_prompt.saturating_add(samples);
    shared.saturating_add(of_request.saturating_sub(shared).saturating_mul(num_seqs))
}

/// Whether the report is the engine's: not so for kinds of layer whose layout in it is not established.
pub(super) fn is_established(setup: &Setup<'_>) -> bool {
    let is_open = |group: &LayerGroup| {
        matches!(
            group.kind,
            LayerKind::Compressed { .. } | LayerKind::Cross { .. }
        )
    };
    setup.scenario.engine.kind == EngineKind::Exact
        || !matches!(setup.plan, Plan::Exact)
        || !setup.model.groups.iter().any(is_open)
}

/// The pool on one GPU, when the reader gave it.
pub fn given_pool(setup: &Setup<'_>) -> Option<Bytes> {
    match &setup.plan {
        Plan::Exact | Plan::LlamaCpp(_) => setup.scenario.engine.available_kv_cache_bytes,
        Plan::Vllm(layout) => vllm::given_pool(setup, layout),
        Plan::Sglang(pools) => sglang::given_pool(setup, pools),
        Plan::TensorRtLlm(pool) => tensorrt_llm::given_pool(setup, pool),
    }
}

/// Sizes of the pool that were given and that the plan has no use for: pages where there are none.
pub fn unused_pools(setup: &Setup<'_>) -> impl Iterator<Item = &'static str> {
    let engine = &setup.scenario.engine;
    let is_unused = match &setup.plan {
        Plan::Exact | Plan::LlamaCpp(_) => true,
        Plan::Vllm(_) | Plan::Sglang(_) | Plan::TensorRtLlm(_) => false,
    };
    let blocks = engine.num_blocks.map(|_| "num_blocks");
    let tokens = engine.num_tokens.map(|_| "num_tokens");
    let given = [blocks, tokens].into_iter().flatten();
    given.filter(move |_| is_unused)
}

/// Bytes that the engine reserves on the fullest GPU for `num_seqs` such requests: never less than they hold.
pub fn reserved_bytes(setup: &Setup<'_>, request: &Request, num_seqs: u64) -> Bytes {
    match &setup.plan {
        Plan::Exact => setup.held_bytes(request, num_seqs),
        Plan::Vllm(layout) => vllm::reserved_bytes(layout, request, num_seqs),
        Plan::Sglang(pools) => sglang::reserved_bytes(pools, request, num_seqs),
        Plan::TensorRtLlm(pool) => tensorrt_llm::reserved_bytes(pool, request, num_seqs),
        Plan::LlamaCpp(rules) => llama_cpp::reserved_bytes(setup, rules, request, num_seqs),
    }
}

/// Whether `num_seqs` such requests have the slots and cells that the reader set, whatever memory there is.
pub fn takes(setup: &Setup<'_>, request: &Request, num_seqs: u64) -> bool {
    match &setup.plan {
        Plan::LlamaCpp(rules) => llama_cpp::takes(setup, rules, request, num_seqs),
        Plan::Exact | Plan::Vllm(_) | Plan::Sglang(_) | Plan::TensorRtLlm(_) => true,
    }
}

/// Why the engine does not start with this pool: bytes that one longest sequence needs, and the longest length that fits.
/// vLLM alone does not; the others refuse what does not fit when it comes.
pub(super) fn start_refusal(setup: &Setup<'_>, pool: Bytes) -> Option<(Bytes, Tokens)> {
    match &setup.plan {
        Plan::Vllm(layout) => vllm::start_refusal(setup, layout, pool),
        Plan::Exact | Plan::Sglang(_) | Plan::TensorRtLlm(_) | Plan::LlamaCpp(_) => None,
    }
}

/// Tokens that one slot holds, where the reader set them.
pub(super) fn slot(setup: &Setup<'_>) -> Option<Tokens> {
    match &setup.plan {
        Plan::LlamaCpp(rules) => llama_cpp::slot(setup, rules),
        Plan::Exact | Plan::Vllm(_) | Plan::Sglang(_) | Plan::TensorRtLlm(_) => None,
    }
}

/// [`reserved_bytes`] of a request by how many of it there are: what does not depend on the number is worked out once.
pub fn reserved_by_count<'a>(
    setup: &'a Setup<'_>,
    request: &'a Request,
) -> Box<dyn Fn(u64) -> Bytes + 'a> {
    match &setup.plan {
        Plan::Exact => {
            let one = setup.per_gpu(request);
            Box::new(move |num_seqs| one.of_requests(num_seqs))
        }
        Plan::Vllm(_) | Plan::Sglang(_) | Plan::TensorRtLlm(_) | Plan::LlamaCpp(_) => {
            Box::new(move |num_seqs| reserved_bytes(setup, request, num_seqs))
        }
    }
}

/// What the engine would allocate and print for the setup.
pub fn report(setup: &Setup<'_>) -> EngineReport {
    match &setup.plan {
        Plan::Exact => exact::report(setup),
        Plan::Vllm(layout) => vllm::report(setup, layout),
        Plan::Sglang(pools) => sglang::report(setup, pools),
        Plan::TensorRtLlm(pool) => tensorrt_llm::report(setup, pool),
        Plan::LlamaCpp(rules) => llama_cpp::report(setup, rules),
    }
}
