//! SGLang: tokens of its pools, which it fills the memory with, and what they take.

#[cfg(feature = "doors")]
use super::EngineCache;
#[cfg(feature = "doors")]
use super::lines::gib;
use super::{EngineDefaults, EngineReport, Parts, blocks_of_requests};
use crate::core::layer::{CacheFormats, LayerKind, Rows};
use crate::core::model::{LayerGroup, ModelConfig};
use crate::core::scenario::Scenario;
use crate::core::setup::{Request, Setup};
use crate::core::units::{Bytes, Share, Tokens};
use crate::core::weights::pipeline_layers;

/// What SGLang keeps free for activations and graphs is its own share, one less `mem_fraction_static`.
pub(super) const DEFAULTS: EngineDefaults = EngineDefaults {
    activations: Bytes::ZERO,
    overhead: Bytes::from_gib_hundredths(60),
    source: "SGLang leaves 1 − mem_fraction_static of the memory to activations and graphs, so none are counted beside \
             it; 0.6 GiB of runtime as vLLM on H100 has",
};

/// `mem_fraction_static` when nothing is set. The server lowers it for large batches.
pub(super) const MEM_FRACTION_STATIC: Share = Share(880_000);

/// `mamba_full_memory_ratio`: bytes of states for each byte of rows, in tenths.
const STATE_RATIO_TENTHS: u128 = 9;

/// What one token, or one request, takes on a rank of one stage.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Pools {
    full: Rowed,
    sliding: Rowed,
    draft: Rowed,
    window: Tokens,
    conv_bytes: Bytes,
    state_bytes: Bytes,
    state_layers: u64,
    page_size: u64,
    ratio: Share,
    max_slots: Option<u64>,
    num_speculative_tokens: u64,
}

/// Layers whose rows lie in one pool.
#[derive(Clone, Copy, Debug, Default)]
struct Rowed {
    layers: u64,
    k: u64,
    v: u64,
    is_latent: bool,
}

impl Rowed {
    fn row(&self) -> u64 {
        self.k.saturating_add(self.v)
    }

    fn add(&mut self, kind: LayerKind, formats: CacheFormats, layers: u64) {
        let rows = Rows { main: 1, window: 0 };
        let (k, v) = kind.rows_bytes(rows, formats.kv);
        let k = k + kind.index_bytes(rows, formats);
        self.layers = self.layers.saturating_add(layers);
        self.k = self.k.saturating_add(k.times(layers).0);
        self.v = self.v.saturating_add(v.times(layers).0);
        self.is_latent |= matches!(kind, LayerKind::Latent { .. });
    }
}

/// The pools of each stage. `None`: a kind of layer is in it whose layout is not established.
///
/// Layers that share another's cache have rows of their own here: the sizes go by the count of layers.
///
/// Source: `ModelRunnerKVCacheMixin`,
/// <https://github.com/sgl-project/sglang/blob/001ccef0072a4537d4ec6bdd50a73e6feb2c907d/python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py>;
/// shared layers: a start-up log of Gemma 4 E4B.
pub(super) fn plan(setup: &Parts<'_>) -> Option<Vec<Pools>> {
    let is_open = |group: &LayerGroup| {
        matches!(
            group.kind,
            LayerKind::Compressed { .. } | LayerKind::Cross { .. }
        )
    };
    if setup.stages.iter().flatten().any(is_open) {
        return None;
    }
    let owners = owners_of_shared(setup.model);
    let n_stages = u32::try_from(setup.stages.len()).unwrap_or(u32::MAX);
    let pools = setup.stages.iter().zip(0_u32..).map(|(groups, stage)| {
        let (from, to) = pipeline_layers(setup.model.layers.len(), stage, n_stages);
        let shared = owners.iter().filter(|(idx, _)| from <= *idx && *idx < to);
        let shared = shared.map(|(_, kind)| LayerGroup {
            kind: kind.shard(setup.attention_parallel_size),
            count: 1,
        });
        let groups: Vec<_> = groups.iter().copied().chain(shared).collect();
        let draft_layers = if stage + 1 == n_stages {
            setup.scenario.draft_layers
        } else {
            0
        };
        Pools::new(setup.scenario, setup.formats, &groups, draft_layers)
    });
    let res: Vec<_> = pools
        .filter(|pools| pools.weight() != Bytes::ZERO)
        .collect();
    (!res.is_empty()).then_some(res)
}

/// The layers that share a cache, with the kind they would have without: the layers before the first of them show a
/// pattern, which is continued.
fn owners_of_shared(model: &ModelConfig) -> Vec<(usize, LayerKind)> {
    if !model
        .groups
        .iter()
        .any(|group| group.kind == LayerKind::Shared)
    {
        return Vec::new();
    }
    let kind = |group_idx: &usize| model.groups.get(*group_idx).map(|group| group.kind);
    let is_shared =
        |layer: &Vec<usize>| layer.iter().any(|idx| kind(idx) == Some(LayerKind::Shared));
    let n_owning = model
        .layers
        .iter()
        .position(is_shared)
        .unwrap_or(model.layers.len());
    let owning = model.layers.get(..n_owning).unwrap_or_default();
    let has_period = |period: &usize| {
        owning
            .iter()
            .zip(owning.iter().skip(*period))
            .all(|(a, b)| a == b)
    };
    let Some(period) = (1..=n_owning).find(has_period) else {
        return Vec::new();
    };
    let shared = model
        .layers
        .iter()
        .enumerate()
        .skip(n_owning)
        .filter(|(_, layer)| is_shared(layer));
    shared
        .filter_map(|(idx, _)| owning.get(idx % period).map(|layer| (idx, layer)))
        .flat_map(|(idx, layer)| layer.iter().filter_map(kind).map(move |kind| (idx, kind)))
        .filter(|(_, kind)| !matches!(kind, LayerKind::Recurrent(_)))
        .collect()
}

impl Pools {
    fn new(
        scenario: &Scenario,
        formats: CacheFormats,
        groups: &[LayerGroup],
        draft_layers: u32,
    ) -> Self {
        let engine = &scenario.engine;
        let mut res = Self {
            page_size: engine.page_size.0.max(1),
            ratio: engine.swa_full_tokens_ratio,
            max_slots: engine.max_mamba_cache_size,
            num_speculative_tokens: u64::from(scenario.num_speculative_tokens),
            ..Self::default()
        };
        // The draft's layers stand with the model's; its pool is its own.
        let is_full = |group: &&LayerGroup| {
            matches!(
                group.kind,
                LayerKind::Full { .. } | LayerKind::Latent { .. }
            )
        };
        let drafted = groups.iter().rev().find(is_full).map(|group| group.kind);
        for group in groups {
            let of_draft = if drafted == Some(group.kind) {
                draft_layers.min(group.count)
            } else {
                0
            };
            let layers = u64::from(group.count - of_draft);
            match group.kind {
                LayerKind::Full { .. } | LayerKind::Latent { .. } => {
                    res.full.add(group.kind, formats, layers);
                    res.draft.add(group.kind, formats, u64::from(of_draft));
                }
                LayerKind::Sliding { window, .. } => {
                    res.sliding.add(group.kind, formats, layers);
                    res.window = res.window.max(window);
                }
                LayerKind::Chunked {
                    attention_chunk_size,
                    ..
                } => {
                    res.sliding.add(group.kind, formats, layers);
                    res.window = res.window.max(attention_chunk_size);
                }
                LayerKind::Recurrent(state) => {
                    res.conv_bytes =
                        res.conv_bytes + formats.conv.bytes(state.conv_elements()).times(layers);
                    res.state_bytes =
                        res.state_bytes + formats.state.bytes(state.state_elements()).times(layers);
                    res.state_layers = res.state_layers.saturating_add(layers);
                }
                LayerKind::Compressed { .. } | LayerKind::Cross { .. } | LayerKind::Shared => {}
            }
        }
        if res.full.row() == 0 {
            // All layers slide: one pool, and no token leaves it.
            res.full = std::mem::take(&mut res.sliding);
        }
        res
    }

    fn weight(&self) -> Bytes {
        Bytes(self.row()) + self.slot()
    }

    /// Bytes of one token of the full pool with its share of the sliding one, and the draft's.
    fn row(&self) -> u64 {
        let sliding =
            u128::from(self.sliding.row()) * u128::from(self.ratio.0) / u128::from(Share::ONE.0);
        self.full
            .row()
            .saturating_add(self.draft.row())
            .saturating_add(u64::try_from(sliding).unwrap_or(u64::MAX))
    }

    /// Bytes of one request's recurrent states.
    fn slot(&self) -> Bytes {
        self.conv_bytes + self.state_bytes
    }

    /// States that a draft's tokens leave until they are accepted.
    fn draft_slots(&self, num_seqs: u64) -> u64 {
        match self.num_speculative_tokens {
            0 => 0,
            tokens => num_seqs.saturating_mul(tokens + 1),
        }
    }

    /// Tokens of the sliding pool beside `tokens` of the full one.
    fn sliding_tokens(&self, tokens: u64) -> u64 {
        if self.sliding.layers == 0 {
            return 0;
        }
        let res = u128::from(tokens) * u128::from(self.ratio.0) / u128::from(Share::ONE.0);
        self.aligned(u64::try_from(res).unwrap_or(u64::MAX))
    }

    fn aligned(&self, tokens: u64) -> u64 {
        tokens - tokens % self.page_size
    }

    /// Slots and full tokens that fill `pool`.
    fn fill(&self, pool: Bytes, num_seqs: u64) -> (u64, u64) {
        let slot = self.slot();
        let rest = pool.minus(slot.times(self.draft_slots(num_seqs)));
        let slots = if slot == Bytes::ZERO {
            0
        } else {
            let by_ratio = u128::from(rest.0) * STATE_RATIO_TENTHS
                / (10 + STATE_RATIO_TENTHS)
                / u128::from(slot.0);
            self.max_slots
                .unwrap_or(u64::try_from(by_ratio).unwrap_or(u64::MAX))
        };
        let rest = u128::from(rest.minus(slot.times(slots)).0) * u128::from(Share::ONE.0);
        let own = u128::from(self.full.row()) + u128::from(self.draft.row());
        let sliding = u128::from(self.sliding.row()) * u128::from(self.ratio.0);
        let tokens = rest / (own * u128::from(Share::ONE.0) + sliding).max(1);
        (
            slots,
            self.aligned(u64::try_from(tokens).unwrap_or(u64::MAX)),
        )
    }

    /// Slots beside a pool of `tokens`.
    fn slots_beside(&self, tokens: u64) -> u64 {
        if self.slot() == Bytes::ZERO {
            return 0;
        }
        let rows = u128::from(self.bytes_of_tokens(tokens).0) * STATE_RATIO_TENTHS / 10;
        let by_ratio = rows / u128::from(self.slot().0.max(1));
        self.max_slots
            .unwrap_or(u64::try_from(by_ratio).unwrap_or(u64::MAX))
    }

    fn bytes_of_tokens(&self, tokens: u64) -> Bytes {
        let own = Bytes(self.full.row().saturating_add(self.draft.row())).times(tokens);
        own + Bytes(self.sliding.row()).times(self.sliding_tokens(tokens))
    }
}

/// Tokens that the reader gave, or pages of them.
fn given_tokens(setup: &Setup<'_>) -> Option<u64> {
    let engine = &setup.scenario.engine;
    let of_pages = |pages: u64| pages.saturating_mul(engine.page_size.0.max(1));
    engine
        .num_tokens
        .map(|tokens| tokens.0)
        .or_else(|| engine.num_blocks.map(of_pages))
}

/// The pool, when the reader gave it as bytes, pages or tokens.
pub(super) fn given_pool(setup: &Setup<'_>, stages: &[Pools]) -> Option<Bytes> {
    setup.scenario.engine.available_kv_cache_bytes.or_else(|| {
        let (tokens, num_seqs) = (given_tokens(setup)?, setup.seqs_per_replica());
        let bytes = |pools: &Pools| {
            let slots = pools
                .slots_beside(tokens)
                .saturating_add(pools.draft_slots(num_seqs));
            pools.bytes_of_tokens(tokens) + pools.slot().times(slots)
        };
        stages.iter().map(bytes).max()
    })
}

/// Bytes that hold these requests on the fullest stage.
pub(super) fn reserved_bytes(stages: &[Pools], request: &Request, num_seqs: u64) -> Bytes {
    stages
        .iter()
        .map(|pools| reserved_on(pools, request, num_seqs))
        .max()
        .unwrap_or(Bytes::ZERO)
}

/// The smallest pool whose parts, divided as the engine divides them, hold these requests.
fn reserved_on(pools: &Pools, request: &Request, num_seqs: u64) -> Bytes {
    let sequences = num_seqs.saturating_mul(request.num_samples);
    let own = request.context().blocks(Tokens(pools.page_size));
    let mut tokens =
        blocks_of_requests(request, num_seqs, own, pools.page_size).saturating_mul(pools.page_size);
    if 0 < pools.sliding.layers {
        let kept = request
            .context()
            .min(pools.window)
            .blocks(Tokens(pools.page_size));
        // The pool is rounded down to whole pages, so one more covers it.
        let sliding = (kept.saturating_mul(sequences) + u64::from(0 < sequences))
            .saturating_mul(pools.page_size);
        let full = u128::from(sliding) * u128::from(Share::ONE.0);
        let full = full.div_ceil(u128::from(pools.ratio.0.max(1)));
        tokens = tokens.max(u64::try_from(full).unwrap_or(u64::MAX));
    }
    let rows = pools.bytes_of_tokens(tokens);
    let drafts = pools.slot().times(pools.draft_slots(num_seqs));
    let states = pools
        .slot()
        .times(pools.max_slots.unwrap_or(0).max(sequences));
    if pools.max_slots.is_some() || pools.slot() == Bytes::ZERO {
        return rows + states + drafts;
    }
    let by_rows = u128::from(rows.0) * (10 + STATE_RATIO_TENTHS) / 10;
    let by_states = u128::from(states.0) * (10 + STATE_RATIO_TENTHS) / STATE_RATIO_TENTHS;
    let whole = Bytes(u64::try_from(by_rows.max(by_states)).unwrap_or(u64::MAX));
    whole.max(rows + states) + drafts
}

/// What SGLang allocates and prints.
pub(super) fn report(setup: &Setup<'_>, stages: &[Pools]) -> EngineReport {
    let (scenario, num_seqs) = (setup.scenario, setup.seqs_per_replica());
    let left = setup.budget().pool;
    // All stages have as many tokens as the one with the least room.
    let fullest = stages
        .iter()
        .map(|pools| (pools.fill(left, num_seqs), pools))
        .min_by_key(|((_, tokens), _)| *tokens);
    let Some((filled, pools)) = fullest else {
        return EngineReport::default();
    };
    let given = given_tokens(setup);
    let tokens = given.unwrap_or(filled.1);
    let len = setup.max_model_len();
    let of_one = Request::of_tokens(len);
    #[cfg(feature = "doors")]
    let slots = given.map_or(filled.0, |tokens| pools.slots_beside(tokens));
    #[cfg(feature = "doors")]
    let caches = caches(pools, tokens, slots, pools.draft_slots(num_seqs));
    EngineReport {
        kind: scenario.engine.kind.id(),
        block_size: Some(pools.page_size),
        num_blocks: Some(tokens / pools.page_size),
        kv_cache_size_tokens: Some(tokens),
        kv_cache_size_tokens_legacy: Some(tokens),
        max_concurrency: Some(tokens as f64 / len.0.max(1) as f64),
        needed_bytes: Some(reserved_bytes(stages, &of_one, 1)),
        max_model_len_that_fits: Some(len.min(Tokens(tokens))),
        reserved_bytes: setup.reserved_bytes(),
        #[cfg(feature = "doors")]
        log_lines: log_lines(pools, &caches, slots),
        #[cfg(feature = "doors")]
        caches,
    }
}

/// The pools. Each has one page more than its tokens, for what is written and never read.
#[cfg(feature = "doors")]
fn caches(pools: &Pools, tokens: u64, slots: u64, draft_slots: u64) -> Vec<EngineCache> {
    let mut res = Vec::new();
    let sliding_tokens = pools.sliding_tokens(tokens);
    for (label, rowed, tokens) in [
        ("sliding", pools.sliding, sliding_tokens),
        (
            if pools.full.is_latent {
                "latent"
            } else {
                "full"
            },
            pools.full,
            tokens,
        ),
        ("draft", pools.draft, tokens),
    ] {
        if 0 < rowed.layers {
            let rows = tokens.saturating_add(pools.page_size);
            res.push(EngineCache {
                label: label.to_owned(),
                tokens,
                layers: u32::try_from(rowed.layers).unwrap_or(u32::MAX),
                k_bytes: Bytes(rowed.k).times(rows),
                v_bytes: Bytes(rowed.v).times(rows),
                state_bytes: Bytes::ZERO,
            });
        }
    }
    for (label, slots) in [
        ("state", slots.saturating_add(1)),
        ("draft state", draft_slots),
    ] {
        if pools.slot() != Bytes::ZERO && (label == "state" || 0 < slots) {
            res.push(EngineCache {
                label: label.to_owned(),
                tokens: slots,
                layers: u32::try_from(pools.state_layers).unwrap_or(u32::MAX),
                k_bytes: Bytes::ZERO,
                v_bytes: Bytes::ZERO,
                state_bytes: pools.slot().times(slots),
            });
        }
    }
    res
}

#[cfg(feature = "doors")]
fn log_lines(pools: &Pools, caches: &[EngineCache], slots: u64) -> Vec<String> {
    let mut res = Vec::new();
    let tokens = |label: &str| {
        caches
            .iter()
            .find(|cache| cache.label == label)
            .map(|cache| cache.tokens)
    };
    if let (Some(full), Some(sliding)) = (tokens("full"), tokens("sliding")) {
        res.push(format!(
            "Use sliding window memory pool. full_layer_tokens={full}, swa_layer_tokens={sliding}"
        ));
    }
    for cache in caches {
        let (k, v) = (gib(cache.k_bytes), gib(cache.v_bytes));
        res.extend(match cache.label.as_str() {
            "state" => Some(format!(
                "Mamba Cache is allocated. max_mamba_cache_size: {slots}, conv_state size: {}GB, ssm_state size: {}GB",
                gib(pools.conv_bytes.times(cache.tokens)),
                gib(pools.state_bytes.times(cache.tokens))
            )),
            "draft state" => None,
            _ if cache.v_bytes == Bytes::ZERO => {
                Some(format!("KV Cache is allocated. #tokens: {}, KV size: {k} GB", cache.tokens))
            }
            _ => Some(format!(
                "KV Cache is allocated. #tokens: {}, K size: {k} GB, V size: {v} GB",
                cache.tokens
            )),
        });
    }
    res
}
