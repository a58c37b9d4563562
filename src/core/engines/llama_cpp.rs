//! llama.cpp, ik_llama.cpp and Ollama: cells of each cache, by the rules of the build's month.

mod build;
mod caches;
#[cfg(feature = "doors")]
mod lines;

#[cfg(feature = "doors")]
use super::EngineCache;
use super::{EngineDefaults, EngineReport, Parts};
use crate::core::fit::largest;
use crate::core::layer::{CacheFormats, LayerKind};
use crate::core::model::{LayerGroup, UnfoldedHeads};
use crate::core::scenario::Engine;
use crate::core::setup::{Request, Setup};
use crate::core::units::{Bytes, Tokens};
use build::{Build, Variant};
#[cfg(feature = "doors")]
use caches::{Cache, Name};

/// What llama.cpp takes beside weights and cache.
pub(super) const DEFAULTS: EngineDefaults = EngineDefaults {
    activations: Bytes::from_gib_hundredths(30),
    overhead: Bytes::from_gib_hundredths(50),
    source: "llama.cpp prints its compute buffer: 124 MiB for an 8B on Metal, 304 MiB for a 7B on CUDA with 512 tokens a \
             batch; about 0.5 GiB of CUDA context",
};

/// States that Ollama keeps of a sequence: the live one and its checkpoints.
const OLLAMA_STATES: u64 = 25;
/// Tokens that Ollama keeps of a sliding layer in these models, whatever their window.
const OLLAMA_MEMORY: [(&str, u64); 2] = [("gpt_oss", 4096), ("gemma4", 4096)];

/// What decides the caches, apart from the context.
#[derive(Clone, Debug)]
#[cfg_attr(
    not(feature = "doors"),
    allow(dead_code, reason = "for the lines that the engine prints")
)]
pub(in crate::core) struct Rules {
    build: Build,
    formats: CacheFormats,
    stages: Vec<Stage>,
    n_ubatch: u64,
    is_unified: bool,
    is_sliding_full: bool,
    /// `None`: the model has no latent attention.
    latent: Option<Latent>,
    has_index: Index,
    states_per_sequence: u64,
    /// Elements of the widest V row of any layer.
    widest_v: u64,
    sliding_memory: Option<u64>,
    num_hidden_layers: u64,
    /// Whether any layer keeps all tokens.
    has_full: bool,
}

/// The layers of one stage, the draft's apart.
#[derive(Clone, Debug)]
struct Stage {
    groups: Vec<LayerGroup>,
    draft: Option<LayerGroup>,
}

/// How latent attention is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Latent {
    /// One row of latent and rotary key as K.
    Row,
    /// The same, and the latent once more as V.
    RowAndV,
    /// The heads that it unfolds into.
    Heads,
}

/// Which latent layers have a cache for the indexer's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    /// None: the build knows no indexer.
    None,
    /// Those that have an indexer.
    Own,
    /// All, once one has.
    All,
}

/// Whether the build caches the keys of a sparse indexer: those of latent rows, which it must not unfold.
pub(super) fn has_indexer(engine: &Engine) -> bool {
    engine.mla && Build::of(engine).is_since(202_607)
}

/// The rules for these stages. `None`: a kind of layer is in it whose layout is not established.
///
/// Source: `llama-kv-cache.cpp`, `llama-kv-cache-iswa.cpp`, `llama-memory-recurrent.cpp`, `llama-context.cpp`; pull
/// requests 12801 (latent rows, April 2025), 19067 (no V beside them, January 2026), 25407 and 26474 (the indexer's keys,
/// July and August 2026).
pub(super) fn plan(setup: &Parts<'_>) -> Option<Rules> {
    let is_open = |group: &LayerGroup| matches!(group.kind, LayerKind::Compressed { .. });
    if setup.stages.iter().flatten().any(is_open) {
        return None;
    }
    let (engine, model) = (&setup.scenario.engine, setup.model);
    let build = Build::of(engine);
    let n_spec = u64::from(setup.scenario.num_speculative_tokens);
    let v_row = |group: &LayerGroup| match group.kind {
        LayerKind::Full {
            num_key_value_heads,
            v_head_dim,
            ..
        }
        | LayerKind::Sliding {
            num_key_value_heads,
            v_head_dim,
            ..
        }
        | LayerKind::Chunked {
            num_key_value_heads,
            v_head_dim,
            ..
        } => u64::from(num_key_value_heads).saturating_mul(u64::from(v_head_dim)),
        LayerKind::Latent { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_)
        | LayerKind::Cross { .. }
        | LayerKind::Shared => 0,
    };
    let is_indexed = |group: &LayerGroup| matches!(group.kind, LayerKind::Latent { index_head_dim, .. } if 0 < index_head_dim);
    let is_latent = |group: &LayerGroup| matches!(group.kind, LayerKind::Latent { .. });
    let is_full = |group: &LayerGroup| {
        matches!(
            group.kind,
            LayerKind::Full { .. } | LayerKind::Latent { .. }
        )
    };
    let has_latent = model.groups.iter().any(is_latent);
    let has_index = if !model.groups.iter().any(is_indexed) || !has_indexer(engine) {
        Index::None
    } else if build.is_since(202_608) {
        Index::Own
    } else {
        Index::All
    };
    let memory = OLLAMA_MEMORY
        .iter()
        .find(|(name, _)| model.model_type.starts_with(name));
    let n_stages = setup.stages.len();
    let stages = setup.stages.iter().enumerate().map(|(idx, groups)| {
        let draft_layers = if idx + 1 == n_stages {
            setup.scenario.draft_layers
        } else {
            0
        };
        Stage::new(groups, draft_layers)
    });
    Some(Rules {
        build,
        formats: setup.formats,
        stages: stages.collect(),
        n_ubatch: engine.n_ubatch.0,
        is_unified: engine.kv_unified,
        is_sliding_full: engine.swa_full,
        latent: has_latent.then(|| latent(engine, build)),
        has_index,
        states_per_sequence: if build.variant == Variant::Ollama {
            OLLAMA_STATES
        } else {
            1 + n_spec
        },
        widest_v: setup.stages.iter().flatten().map(v_row).max().unwrap_or(0),
        sliding_memory: memory
            .map(|(_, tokens)| *tokens)
            .filter(|_| build.variant == Variant::Ollama),
        num_hidden_layers: model.layers.len() as u64,
        has_full: setup.stages.iter().flatten().any(is_full),
    })
}

fn latent(engine: &Engine, build: Build) -> Latent {
    match build.variant {
        Variant::LlamaCpp if !engine.mla || !build.is_since(202_504) => Latent::Heads,
        Variant::LlamaCpp if build.is_since(202_601) => Latent::Row,
        Variant::LlamaCpp => Latent::RowAndV,
        Variant::Ik => match engine
            .mla_attn
            .unwrap_or(if engine.flash_attn { 3 } else { 1 })
        {
            _ if !engine.mla => Latent::Heads,
            0 => Latent::Heads,
            1 if !engine.flash_attn => Latent::RowAndV,
            _ => Latent::Row,
        },
        Variant::Ollama if engine.mla => Latent::Row,
        Variant::Ollama => Latent::Heads,
    }
}

/// A latent layer as the build caches it: as it is, or as K and V of full attention.
pub(super) fn stored_kind(
    engine: &Engine,
    unfolded: Option<UnfoldedHeads>,
    kind: LayerKind,
) -> LayerKind {
    let LayerKind::Latent {
        kv_lora_rank,
        qk_rope_head_dim,
        ..
    } = kind
    else {
        return kind;
    };
    match latent(engine, Build::of(engine)) {
        Latent::Row => kind,
        Latent::RowAndV => LayerKind::Full {
            num_key_value_heads: 1,
            head_dim: kv_lora_rank.saturating_add(qk_rope_head_dim),
            v_head_dim: kv_lora_rank,
        },
        Latent::Heads => unfolded.map_or(kind, |heads| LayerKind::Full {
            num_key_value_heads: heads.num_heads,
            head_dim: heads.head_dim,
            v_head_dim: heads.v_head_dim,
        }),
    }
}

impl Stage {
    fn new(groups: &[LayerGroup], draft_layers: u32) -> Self {
        let mut res = Self {
            groups: groups.to_vec(),
            draft: None,
        };
        let is_full = |group: &&mut LayerGroup| {
            matches!(
                group.kind,
                LayerKind::Full { .. } | LayerKind::Latent { .. }
            )
        };
        if let Some(group) = res
            .groups
            .iter_mut()
            .rev()
            .find(is_full)
            .filter(|_| 0 < draft_layers)
        {
            let of_draft = draft_layers.min(group.count);
            group.count -= of_draft;
            res.draft = Some(LayerGroup {
                kind: group.kind,
                count: of_draft,
            });
        }
        res
    }
}

/// The reader's context, or what the requests need; never less than that.
fn n_ctx(setup: &Setup<'_>, rules: &Rules, request: &Request, num_seqs: u64) -> u64 {
    let slots = n_seq_max(setup, request, num_seqs);
    let needed = rules.needed_context(request, num_seqs, slots);
    let given = setup.scenario.engine.n_ctx;
    given.map_or(needed, |tokens| tokens.0.max(needed))
}

fn n_seq_max(setup: &Setup<'_>, request: &Request, num_seqs: u64) -> u64 {
    let needed = num_seqs.saturating_mul(request.num_samples);
    slots(setup, request, num_seqs).max(needed)
}

/// The slots that were set, or one for each sequence.
fn slots(setup: &Setup<'_>, request: &Request, num_seqs: u64) -> u64 {
    let needed = num_seqs.saturating_mul(request.num_samples);
    setup.scenario.engine.n_seq_max.map_or(needed, u64::from)
}

/// Cells of a slot, where the context was set.
pub(super) fn slot(setup: &Setup<'_>, rules: &Rules) -> Option<Tokens> {
    let context = setup.scenario.engine.n_ctx?;
    let request = Request::of(setup.scenario);
    let slots = slots(setup, &request, setup.seqs_per_replica());
    Some(Tokens(rules.cells(context.0, slots).per_stream))
}

/// Whether these requests have the slots and the cells that were set.
pub(super) fn takes(setup: &Setup<'_>, rules: &Rules, request: &Request, num_seqs: u64) -> bool {
    let slots = slots(setup, request, num_seqs);
    let has_cells = |context: Tokens| {
        rules.needed_context(request, num_seqs, slots) <= rules.cells(context.0, slots).total()
    };
    num_seqs.saturating_mul(request.num_samples) <= slots
        && setup.scenario.engine.n_ctx.is_none_or(has_cells)
}

/// Bytes of the caches that are allocated for these requests.
pub(super) fn reserved_bytes(
    setup: &Setup<'_>,
    rules: &Rules,
    request: &Request,
    num_seqs: u64,
) -> Bytes {
    rules.total(
        n_ctx(setup, rules, request, num_seqs),
        n_seq_max(setup, request, num_seqs),
    )
}

/// What llama.cpp allocates and prints for the context and the slots that were set, whatever the requests need.
pub(super) fn report(setup: &Setup<'_>, rules: &Rules) -> EngineReport {
    let (scenario, request) = (setup.scenario, Request::of(setup.scenario));
    let num_seqs = setup.seqs_per_replica();
    let slots = slots(setup, &request, num_seqs);
    let context = scenario.engine.n_ctx.map_or_else(
        || rules.needed_context(&request, num_seqs, slots),
        |tokens| tokens.0,
    );
    #[cfg(feature = "doors")]
    let of_stage = |stage: &Stage| rules.caches(stage, context, slots);
    #[cfg(feature = "doors")]
    let caches = rules
        .stages
        .iter()
        .map(of_stage)
        .max_by_key(|caches| caches.iter().map(|cache| cache.k + cache.v).sum::<Bytes>())
        .unwrap_or_default();
    let pool = setup.budget().pool;
    let len = setup.max_model_len();
    let fits = |len: u64| rules.total(len.saturating_mul(slots.max(1)), slots) <= pool;
    let cells = rules.cells(context, slots);
    EngineReport {
        kind: scenario.engine.kind.id(),
        block_size: None,
        num_blocks: None,
        kv_cache_size_tokens: Some(cells.total()),
        kv_cache_size_tokens_legacy: Some(cells.total()),
        max_concurrency: Some(slots.max(1) as f64),
        needed_bytes: Some(rules.total(len.0, 1)),
        max_model_len_that_fits: largest(len.0, fits).map(Tokens),
        reserved_bytes: setup.reserved_bytes(),
        #[cfg(feature = "doors")]
        log_lines: lines::of(rules, &caches, slots),
        #[cfg(feature = "doors")]
        caches: caches.iter().map(|cache| public(rules, cache)).collect(),
    }
}

#[cfg(feature = "doors")]
fn public(rules: &Rules, cache: &Cache) -> EngineCache {
    let is_state = cache.name == Name::State;
    let part = |bytes: Bytes| if is_state { Bytes::ZERO } else { bytes };
    let states = cache
        .cells
        .total()
        .saturating_mul(rules.states_per_sequence);
    EngineCache {
        label: cache.name.label().to_owned(),
        tokens: if is_state {
            states
        } else {
            cache.cells.total()
        },
        layers: cache.layers,
        k_bytes: part(cache.k),
        v_bytes: part(cache.v),
        state_bytes: if is_state {
            cache.k + cache.v
        } else {
            Bytes::ZERO
        },
    }
}
