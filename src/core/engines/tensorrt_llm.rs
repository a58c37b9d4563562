//! TensorRT-LLM: blocks of a pool that is a share of what is free after the weights.

#[cfg(feature = "doors")]
use super::EngineCache;
#[cfg(feature = "doors")]
use super::lines::gib;
use super::{EngineDefaults, EngineReport, Parts, blocks_of_requests};
use crate::core::layer::{CacheFormats, LayerKind, Rows};
use crate::core::model::LayerGroup;
use crate::core::setup::{Request, Setup};
use crate::core::units::{Bytes, Tokens};

/// What TensorRT-LLM takes before it measures what is free.
pub(super) const DEFAULTS: EngineDefaults = EngineDefaults {
    activations: Bytes::from_gib_hundredths(480),
    overhead: Bytes::from_gib_hundredths(60),
    source: "not measured for TensorRT-LLM: 4.8 GiB of activations and 0.6 GiB of runtime as vLLM on H100 has",
};

/// What one token, and one sequence, takes on a rank of one stage.
#[derive(Clone, Debug, Default)]
pub(in crate::core) struct Pool {
    k: u64,
    v: u64,
    layers: u64,
    cross_bytes: Bytes,
    state_bytes: Bytes,
    state_layers: u64,
    tokens_per_block: u64,
}

/// The pool of each stage. Every layer with attention keeps all tokens, windows too; a V narrower than K is stored
/// as wide as K. `None`: a kind of layer is in it whose layout is not established.
///
/// Source: `KVCacheManager.get_cache_bytes_per_token`, `tensorrt_llm/_torch/pyexecutor/resource_manager.py`; start-up
/// logs of MiMo-V2-Flash for windows and V.
pub(super) fn plan(setup: &Parts<'_>) -> Option<Vec<Pool>> {
    let is_open = |group: &LayerGroup| matches!(group.kind, LayerKind::Compressed { .. });
    if setup.stages.iter().flatten().any(is_open) {
        return None;
    }
    let pools = setup.stages.iter().map(|groups| {
        let mut res = Pool {
            tokens_per_block: setup.scenario.engine.tokens_per_block.0.max(1),
            ..Pool::default()
        };
        for group in groups {
            res.add(*group, setup.formats);
        }
        res
    });
    let res: Vec<_> = pools.filter(|pool| pool.weight() != Bytes::ZERO).collect();
    (!res.is_empty()).then_some(res)
}

impl Pool {
    fn add(&mut self, group: LayerGroup, formats: CacheFormats) {
        let layers = u64::from(group.count);
        let kind = match group.kind.without_window() {
            LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => LayerKind::Full {
                num_key_value_heads,
                head_dim,
                // A row that is K and V at once has no V.
                v_head_dim: if v_head_dim == 0 {
                    0
                } else {
                    v_head_dim.max(head_dim)
                },
            },
            kind => kind,
        };
        let rows = Rows { main: 1, window: 0 };
        let (k, v) = kind.rows_bytes(rows, formats.kv);
        let k = k + kind.index_bytes(rows, formats);
        if k != Bytes::ZERO {
            self.layers = self.layers.saturating_add(layers);
        }
        self.k = self.k.saturating_add(k.times(layers).0);
        self.v = self.v.saturating_add(v.times(layers).0);
        let (cross_k, cross_v) = kind.cross_bytes(formats.kv);
        self.cross_bytes = self.cross_bytes + (cross_k + cross_v).times(layers);
        if let LayerKind::Recurrent(_) = kind {
            self.state_bytes = self.state_bytes + kind.state_bytes(formats).times(layers);
            self.state_layers = self.state_layers.saturating_add(layers);
        }
    }

    fn row(&self) -> Bytes {
        Bytes(self.k.saturating_add(self.v))
    }

    fn weight(&self) -> Bytes {
        self.row() + self.state_bytes + self.cross_bytes
    }

    fn block(&self) -> Bytes {
        self.row().times(self.tokens_per_block)
    }

    fn per_sequence(&self) -> Bytes {
        self.state_bytes + self.cross_bytes
    }
}

/// Blocks that the reader gave, or the tokens that the engine printed for them.
fn given_blocks(setup: &Setup<'_>) -> Option<u64> {
    let engine = &setup.scenario.engine;
    let of_tokens = |tokens: Tokens| tokens.0 / engine.tokens_per_block.0.max(1);
    engine
        .num_blocks
        .or_else(|| engine.num_tokens.map(of_tokens))
}

/// The pool, when the reader gave it as bytes, blocks or tokens.
pub(super) fn given_pool(setup: &Setup<'_>, pools: &[Pool]) -> Option<Bytes> {
    setup.scenario.engine.available_kv_cache_bytes.or_else(|| {
        let (blocks, num_seqs) = (given_blocks(setup)?, setup.seqs_per_replica());
        pools
            .iter()
            .map(|pool| pool.block().times(blocks) + pool.per_sequence().times(num_seqs))
            .max()
    })
}

/// Bytes of the blocks and states of these requests on the fullest stage.
pub(super) fn reserved_bytes(pools: &[Pool], request: &Request, num_seqs: u64) -> Bytes {
    let bytes = |pool: &Pool| {
        let own = request.context().blocks(Tokens(pool.tokens_per_block));
        let blocks = blocks_of_requests(request, num_seqs, own, pool.tokens_per_block);
        let sequences = num_seqs.saturating_mul(request.num_samples);
        pool.block().times(blocks) + pool.per_sequence().times(sequences)
    };
    pools.iter().map(bytes).max().unwrap_or(Bytes::ZERO)
}

/// What TensorRT-LLM allocates and prints.
pub(super) fn report(setup: &Setup<'_>, pools: &[Pool]) -> EngineReport {
    let (scenario, num_seqs) = (setup.scenario, setup.seqs_per_replica());
    let left = setup.budget().pool;
    let blocks_of = |pool: &Pool| {
        let of_states = pool.per_sequence().times(num_seqs);
        left.minus(of_states).0 / pool.block().0.max(1)
    };
    // All stages have as many blocks as the one with the least room.
    let fullest = pools
        .iter()
        .map(|pool| (blocks_of(pool), pool))
        .min_by_key(|(blocks, _)| *blocks);
    let Some((blocks, pool)) = fullest else {
        return EngineReport::default();
    };
    let blocks = given_blocks(setup).unwrap_or(blocks);
    let tokens = blocks.saturating_mul(pool.tokens_per_block);
    let len = setup.max_model_len();
    let of_one = Request::of_tokens(len);
    #[cfg(feature = "doors")]
    let gib = gib(pool.row().times(tokens));
    EngineReport {
        kind: scenario.engine.kind.id(),
        block_size: Some(pool.tokens_per_block),
        num_blocks: Some(blocks),
        kv_cache_size_tokens: Some(tokens),
        kv_cache_size_tokens_legacy: Some(tokens),
        max_concurrency: Some(tokens as f64 / len.0.max(1) as f64),
        needed_bytes: Some(reserved_bytes(pools, &of_one, 1)),
        max_model_len_that_fits: Some(len.min(Tokens(tokens))),
        reserved_bytes: setup.reserved_bytes(),
        #[cfg(feature = "doors")]
        caches: caches(pool, tokens, num_seqs),
        #[cfg(feature = "doors")]
        log_lines: vec![
            format!(
                "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: {blocks}, number of blocks in KV cache secondary pool: 0"
            ),
            format!(
                "[TensorRT-LLM][INFO] Allocated {gib} GiB for max tokens in paged KV cache ({tokens})."
            ),
        ],
    }
}

#[cfg(feature = "doors")]
fn caches(pool: &Pool, tokens: u64, num_seqs: u64) -> Vec<EngineCache> {
    let of_states = pool.per_sequence().times(num_seqs);
    let mut res = vec![EngineCache {
        label: "blocks".to_owned(),
        tokens,
        layers: u32::try_from(pool.layers).unwrap_or(u32::MAX),
        k_bytes: Bytes(pool.k).times(tokens),
        v_bytes: Bytes(pool.v).times(tokens),
        state_bytes: Bytes::ZERO,
    }];
    if of_states != Bytes::ZERO {
        res.push(EngineCache {
            label: "state".to_owned(),
            tokens: num_seqs,
            layers: u32::try_from(pool.state_layers).unwrap_or(u32::MAX),
            k_bytes: Bytes::ZERO,
            v_bytes: Bytes::ZERO,
            state_bytes: of_states,
        });
    }
    res
}
