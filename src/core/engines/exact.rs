//! No engine: the bytes that the tokens need, without pages or padding.

#[cfg(feature = "doors")]
use super::EngineCache;
use super::{EngineDefaults, EngineReport};
use crate::core::scenario::EngineKind;
#[cfg(feature = "doors")]
use crate::core::setup::Request;
use crate::core::setup::Setup;
use crate::core::units::{Bytes, Tokens};

/// Tokens of a block in the fact "blocks of 16": the page most engines start from.
pub const BLOCK_SIZE: Tokens = Tokens(16);

/// What a serving engine took beside weights and cache on one H100.
pub const DEFAULTS: EngineDefaults = EngineDefaults {
    activations: Bytes::from_gib_hundredths(480),
    overhead: Bytes::from_gib_hundredths(60),
    source: "vLLM on H100, profiled with 8,192 batched tokens: 4.8 GiB of activations for a 70B model on two GPUs \
             (4.76 for an 8B on one) and 0.13 to 0.55 GiB of runtime, rounded up to 0.6",
};

/// The exact cache as a report: one cache for each kind of layer, nothing printed.
pub fn report(setup: &Setup<'_>) -> EngineReport {
    EngineReport {
        kind: setup.scenario.engine.kind.id(),
        // An engine whose layout is not established is not said to have such blocks.
        block_size: (setup.scenario.engine.kind == EngineKind::Exact).then_some(BLOCK_SIZE.0),
        reserved_bytes: setup.reserved_bytes(),
        #[cfg(feature = "doors")]
        caches: caches(setup, &Request::of(setup.scenario)),
        ..EngineReport::default()
    }
}

#[cfg(feature = "doors")]
fn caches(setup: &Setup<'_>, request: &Request) -> Vec<EngineCache> {
    let n = request.context();
    let fullest = setup
        .stages
        .iter()
        .max_by_key(|groups| request.phase_bytes(groups, setup.formats).total());
    fullest
        .into_iter()
        .flatten()
        .map(|group| {
            let rows = group.kind.kept_rows(Tokens(0), n, n);
            let (k, v) = group.kind.rows_bytes(rows, setup.formats.kv);
            let (cross_k, cross_v) = group.kind.cross_bytes(setup.formats.kv);
            let count = u64::from(group.count);
            EngineCache {
                label: group.kind.id().to_owned(),
                tokens: group.kind.kept_tokens(n).0,
                layers: group.count,
                k_bytes: (k + cross_k + group.kind.index_bytes(rows, setup.formats)).times(count),
                v_bytes: (v + cross_v).times(count),
                state_bytes: group.kind.state_bytes(setup.formats).times(count),
            }
        })
        .collect()
}
