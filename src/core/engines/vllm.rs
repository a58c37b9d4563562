//! vLLM: blocks of the pool, what they are said to hold, what one request needs.

mod layout;

#[cfg(feature = "doors")]
use super::EngineCache;
#[cfg(feature = "doors")]
use super::lines::{decimal, gib_short, grouped};
use super::{EngineDefaults, EngineReport, Parts, max_model_len};
use crate::core::fit::largest;
use crate::core::layer::LayerKind;
use crate::core::model::LayerGroup;
use crate::core::scenario::Scenario;
use crate::core::setup::{Request, Setup};
use crate::core::units::{Bytes, GIB, Tokens};
pub(in crate::core) use layout::Layout;
use layout::{Settings, StateMode};

/// What vLLM took beside weights and cache on one H100, `gpu_memory_utilization` 0.9.
pub(super) const DEFAULTS: EngineDefaults = EngineDefaults {
    activations: Bytes::from_gib_hundredths(480),
    overhead: Bytes::from_gib_hundredths(60),
    source: "vLLM on H100, profiled with 8,192 batched tokens: 4.8 GiB of activations for a 70B model on two GPUs \
             (4.76 for an 8B on one) and 0.13 to 0.55 GiB of runtime, rounded up to 0.6",
};

/// Memory from which the server schedules more tokens at once, but for the A100.
const LARGE_GPU: Bytes = Bytes(70 * GIB);

/// `max_num_batched_tokens` of the server when nothing is set.
///
/// Source: `EngineArgs.get_batch_defaults`, `vllm/engine/arg_utils.py`.
fn default_batched_tokens(scenario: &Scenario) -> Tokens {
    let gpu = scenario.gpu;
    let is_large = LARGE_GPU <= gpu.memory() && !gpu.id.starts_with("a100");
    Tokens(if is_large { 8192 } else { 2048 })
}

/// Tokens that are scheduled and whose blocks are not settled: one batch, two with asynchronous scheduling, and one for
/// each pipeline stage. Builds before spring 2026 count one batch whatever the scheduling.
///
/// Source: `VllmConfig.max_in_flight_tokens`, `vllm/config/vllm.py`, v0.27.
fn tokens_in_flight(scenario: &Scenario) -> u64 {
    let engine = &scenario.engine;
    let batch = engine
        .max_num_batched_tokens
        .unwrap_or_else(|| default_batched_tokens(scenario));
    let stages = u64::from(scenario.pipeline_parallel_size.max(1));
    let batches = if engine.async_scheduling && stages == 1 {
        2
    } else {
        stages
    };
    batch.0.saturating_mul(batches)
}

/// The layout of these stages.
pub(super) fn plan(setup: &Parts<'_>) -> Option<Layout> {
    let (scenario, engine) = (setup.scenario, &setup.scenario.engine);
    let settings = Settings {
        formats: setup.formats,
        block_size: engine.block_size.map(|tokens| tokens.0),
        tokens_in_flight: tokens_in_flight(scenario),
        max_model_len: max_model_len(scenario, setup.model).0,
        is_hybrid_manager_on: engine.hybrid_kv_cache_manager,
        state_mode: match engine.mamba_cache_mode {
            "all" => StateMode::All,
            "align" => StateMode::Align,
            _ => StateMode::None,
        },
        num_speculative_tokens: u64::from(scenario.num_speculative_tokens),
        context_parallel_size: u64::from(engine.decode_context_parallel_size.max(1)),
    };
    match setup.model.idle_window {
        // A window is a window, however long: it costs the block that its unaligned beginning needs.
        Some(window) => Layout::new(&with_window(setup.stages, window), settings),
        None => Layout::new(setup.stages, settings),
    }
}

fn with_window(stages: &[Vec<LayerGroup>], window: Tokens) -> Vec<Vec<LayerGroup>> {
    let with_window = |group: &LayerGroup| match group.kind {
        LayerKind::Full {
            num_key_value_heads,
            head_dim,
            v_head_dim,
        } => LayerGroup {
            kind: LayerKind::Sliding {
                window,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            },
            ..*group
        },
        LayerKind::Sliding { .. }
        | LayerKind::Chunked { .. }
        | LayerKind::Latent { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_)
        | LayerKind::Cross { .. }
        | LayerKind::Shared => *group,
    };
    stages
        .iter()
        .map(|groups| groups.iter().map(with_window).collect())
        .collect()
}

/// Blocks that the reader gave, or the tokens that the engine printed for them.
fn given_blocks(setup: &Setup<'_>, layout: &Layout) -> Option<u64> {
    let engine = &setup.scenario.engine;
    engine.num_blocks.or_else(|| {
        let tokens = engine.num_tokens?.0;
        let len = setup.max_model_len();
        let needed = layout.blocks(len).max(1);
        let blocks = u128::from(tokens) * u128::from(needed);
        let blocks = u64::try_from(blocks.div_ceil(u128::from(len.0.max(1)))).unwrap_or(u64::MAX);
        if tokens_by_concurrency(blocks, needed, len) == tokens {
            return Some(blocks);
        }
        // Not a figure of the newer kind, so it is one of the older.
        let unit = layout
            .smallest_block()
            .saturating_mul(context_parallel_size(setup))
            .max(1);
        Some((tokens / unit).saturating_mul(layout.num_groups()))
    })
}

fn context_parallel_size(setup: &Setup<'_>) -> u64 {
    u64::from(setup.scenario.engine.decode_context_parallel_size.max(1))
}

/// The pool, when the reader gave it as bytes, blocks or tokens.
pub(super) fn given_pool(setup: &Setup<'_>, layout: &Layout) -> Option<Bytes> {
    let of_blocks =
        || given_blocks(setup, layout).map(|blocks| layout.bytes_per_block.times(blocks));
    setup
        .scenario
        .engine
        .available_kv_cache_bytes
        .or_else(of_blocks)
}

/// Bytes of the blocks that these requests take.
pub(super) fn reserved_bytes(layout: &Layout, request: &Request, num_seqs: u64) -> Bytes {
    layout
        .bytes_per_block
        .times(layout.blocks_of_requests(request, num_seqs))
}

/// "GPU KV cache size" since mid-2026: the engine's own arithmetic in floating point, rounded down.
///
/// Source: `get_kv_cache_capacity`, `vllm/v1/core/kv_cache_utils.py`, v0.27.
fn tokens_by_concurrency(blocks: u64, needed: u64, len: Tokens) -> u64 {
    // Below 2^53 by far, so that the products are the engine's to the last bit.
    (concurrency(blocks, needed) * len.0 as f64) as u64
}

fn concurrency(blocks: u64, needed: u64) -> f64 {
    blocks as f64 / needed.max(1) as f64
}

/// The longest sequence, up to `len`, for which this pool has blocks.
fn longest(layout: &Layout, len: Tokens, pool: Bytes) -> Option<Tokens> {
    let fits = |len| len == 0 || layout.bytes_per_block.times(layout.blocks(Tokens(len))) <= pool;
    largest(len.0, fits).map(Tokens)
}

/// Why the engine does not start: bytes that one longest sequence needs, which the pool has not, and the longest that fits.
pub(super) fn start_refusal(
    setup: &Setup<'_>,
    layout: &Layout,
    pool: Bytes,
) -> Option<(Bytes, Tokens)> {
    let len = setup.max_model_len();
    let needed = layout.bytes_per_block.times(layout.blocks(len));
    if needed <= pool {
        return None;
    }
    Some((needed, longest(layout, len, pool)?))
}

/// What vLLM allocates and prints.
pub(super) fn report(setup: &Setup<'_>, layout: &Layout) -> EngineReport {
    let pool = setup.budget().pool;
    let blocks_that_fit = pool.0 / layout.bytes_per_block.0.max(1);
    let num_blocks = given_blocks(setup, layout).unwrap_or(blocks_that_fit);
    let len = setup.max_model_len();
    let needed = layout.blocks(len);
    let needed_bytes = layout.bytes_per_block.times(needed);
    let max_len = longest(layout, len, pool);
    let tokens = tokens_by_concurrency(num_blocks, needed, len);
    let legacy = (num_blocks / layout.num_groups().max(1))
        .saturating_mul(layout.smallest_block())
        .saturating_mul(context_parallel_size(setup));
    EngineReport {
        kind: setup.scenario.engine.kind.id(),
        block_size: layout.attention().map(|kind| kind.block_size),
        num_blocks: Some(num_blocks),
        kv_cache_size_tokens: Some(tokens),
        kv_cache_size_tokens_legacy: Some(legacy),
        max_concurrency: Some(concurrency(num_blocks, needed)),
        needed_bytes: Some(needed_bytes),
        max_model_len_that_fits: max_len,
        reserved_bytes: setup.reserved_bytes(),
        #[cfg(feature = "doors")]
        caches: caches(layout, num_blocks),
        #[cfg(feature = "doors")]
        log_lines: log_lines(setup, layout, tokens, max_len),
    }
}

#[cfg(feature = "doors")]
fn log_lines(
    setup: &Setup<'_>,
    layout: &Layout,
    tokens: u64,
    max_len: Option<Tokens>,
) -> Vec<String> {
    let (pool, len) = (setup.budget().pool, setup.max_model_len());
    let num_blocks =
        given_blocks(setup, layout).unwrap_or(pool.0 / layout.bytes_per_block.0.max(1));
    let needed = layout.blocks(len);
    let needed_bytes = layout.bytes_per_block.times(needed);
    let mut res = layout_lines(layout, setup.scenario.engine.block_size);
    let available = gib_short(pool);
    res.push(format!("Available KV cache memory: {available} GiB"));
    if pool < needed_bytes {
        res.push(not_enough_line(len, needed_bytes, &available, max_len));
    } else {
        res.push(format!("GPU KV cache size: {} tokens", grouped(tokens)));
        res.push(format!(
            "Maximum concurrency for {} tokens per request: {}x",
            grouped(len.0),
            decimal(num_blocks, needed, 2)
        ));
    }
    res
}

/// Blocks grown for states, and layers that groups were padded with.
#[cfg(feature = "doors")]
fn layout_lines(layout: &Layout, chosen: Option<Tokens>) -> Vec<String> {
    let mut res = Vec::new();
    if let Some(padding) = layout.state_padding {
        if chosen.is_none_or(|chosen| chosen.0 < padding.block_size) {
            res.push(format!(
                "Setting attention block size to {} tokens to ensure that attention page size is >= mamba page size.",
                padding.block_size
            ));
        }
        if padding.state < padding.page {
            let percent = decimal(
                (padding.page - padding.state).saturating_mul(100),
                padding.state,
                2,
            );
            res.push(format!(
                "Padding mamba page size by {percent}% to ensure that mamba page size and attention page size are \
                 exactly equal."
            ));
        }
    }
    for kind in layout.kinds.iter().filter(|_| 0 < layout.group_size) {
        let padding = layout.group_size - kind.layers % layout.group_size.max(1);
        if padding != layout.group_size {
            let percent = decimal(padding * 100, kind.layers, 2);
            res.push(format!(
                "Add {padding} padding layers, may waste at most {percent}% KV cache memory"
            ));
        }
    }
    res
}

#[cfg(feature = "doors")]
fn not_enough_line(len: Tokens, needed: Bytes, available: &str, max_len: Option<Tokens>) -> String {
    let estimate = match max_len {
        Some(Tokens(max_len)) if 0 < max_len => {
            format!(
                "Based on the available memory, the estimated maximum model length is {max_len}. "
            )
        }
        Some(_) | None => String::new(),
    };
    format!(
        "To serve at least one request with the models's max seq len ({len}), ({} GiB KV cache is needed, which is \
         larger than the available KV cache memory ({available} GiB). {estimate}Try increasing \
         `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        gib_short(needed)
    )
}

/// One cache for each kind of layer where all share one table; where groups share pools, the pools as one.
#[cfg(feature = "doors")]
fn caches(layout: &Layout, num_blocks: u64) -> Vec<EngineCache> {
    let cache =
        |label: String, tokens: u64, layers: u64, pages: u64, (k, v, state): (u64, u64, u64)| {
            EngineCache {
                label,
                tokens,
                layers: u32::try_from(layers).unwrap_or(u32::MAX),
                k_bytes: Bytes(k).times(pages).times(num_blocks),
                v_bytes: Bytes(v).times(pages).times(num_blocks),
                state_bytes: Bytes(state).times(pages).times(num_blocks),
            }
        };
    if layout.group_size == 0 {
        let each = layout.kinds.iter().map(|kind| {
            let tokens = num_blocks.saturating_mul(kind.block_size);
            cache(
                kind.kind.id().to_owned(),
                tokens,
                kind.layers,
                kind.layers,
                layout.parts(kind),
            )
        });
        return each.collect();
    }
    let groups: Vec<_> = layout
        .kinds
        .iter()
        .map(|kind| format!("{} {}", kind.groups, kind.kind.id()))
        .collect();
    let layers = layout.kinds.iter().map(|kind| kind.layers).sum();
    let tokens = num_blocks.saturating_mul(layout.smallest_block());
    let parts = layout
        .attention()
        .map_or((0, 0, 0), |kind| layout.parts(kind));
    let pages = layout.bytes_per_block.0 / layout.page().max(1);
    vec![cache(groups.join(" + "), tokens, layers, pages, parts)]
}
