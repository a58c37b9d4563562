//! What a log printed against what the report says of the same setup, figure by figure, with the reason of a difference.

use serde::Serialize;

use super::{Fact, What};
use crate::core::engines::{EngineCache, EngineReport};
use crate::core::report::{Report, report};
use crate::core::scenario::{EngineKind, Scenario};
use crate::core::units::Bytes;

/// One printed figure beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the figure is of.
    pub what: What,
    /// The cache it is of, when it is of one of several.
    pub cache: Option<&'static str>,
    /// The figure as it was printed, in bytes, tokens or times.
    pub printed: f64,
    /// Ours; `None`: the report has no such figure.
    pub computed: Option<Computed>,
    /// Whether the two agree to the printed digits.
    pub agrees: bool,
    /// Why they differ, or under what reading they agree.
    pub reason: Option<Reason>,
    /// The line of the log.
    pub line: String,
}

/// Our figure. Where the log prints the pool rounded, all figures from `low` to `high` follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Computed {
    /// With the pool as printed.
    pub value: f64,
    /// With the smallest pool that prints the same.
    pub low: f64,
    /// With the largest.
    pub high: f64,
}

/// Why a printed figure differs, or how it is to be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reason {
    /// The printed digits leave room: ours is within it.
    Rounding,
    /// The figure has the meaning of older builds.
    OlderMeaning,
    /// It agrees when this field has this value, which the log does not say.
    Setting {
        /// The field.
        key: &'static str,
        /// The value.
        value: &'static str,
    },
    /// Fewer than this rank's memory would hold: the smallest of all ranks decides.
    SmallestRank,
    /// The same amount, when one is in powers of 1,024 and the other in powers of 1,000.
    Units,
    /// A little more, as when an engine rounds up to whole blocks.
    Padding,
    /// The log is of a model that is not the scenario's.
    OtherModel,
    /// The report has no such figure.
    NotModelled,
    /// Not known.
    Unknown,
}

/// Fields that logs often leave out, with values to try.
const VARIANTS: &[(EngineKind, &str, &str)] = &[
    (EngineKind::Vllm, "draft_layers", "1"),
    (EngineKind::Vllm, "draft_layers", "0"),
    (EngineKind::Vllm, "hybrid_kv_cache_manager", "false"),
    (EngineKind::Vllm, "async_scheduling", "false"),
    (EngineKind::Vllm, "max_num_batched_tokens", "2048"),
    (EngineKind::Vllm, "max_num_batched_tokens", "8192"),
    (EngineKind::Vllm, "max_num_batched_tokens", "16384"),
    (EngineKind::Vllm, "mamba_cache_mode", "align"),
    (EngineKind::Vllm, "mamba_cache_mode", "none"),
    (EngineKind::Vllm, "state_dtype", "bf16"),
    (EngineKind::Vllm, "state_dtype", "float32"),
    (EngineKind::Vllm, "kv_cache_dtype", "fp8"),
    (EngineKind::Vllm, "kv_cache_dtype", "bf16"),
    (EngineKind::Sglang, "kv_cache_dtype", "fp8"),
    (EngineKind::Sglang, "kv_cache_dtype", "bf16"),
    (EngineKind::Sglang, "state_dtype", "bf16"),
    (EngineKind::Sglang, "draft_layers", "1"),
    (EngineKind::TensorRtLlm, "kv_cache_dtype", "fp8"),
    (EngineKind::TensorRtLlm, "kv_cache_dtype", "bf16"),
    (EngineKind::LlamaCpp, "swa_full", "true"),
    (EngineKind::LlamaCpp, "mla", "false"),
    (EngineKind::LlamaCpp, "flash_attn", "false"),
    (EngineKind::LlamaCpp, "flash_attn", "true"),
    (EngineKind::LlamaCpp, "n_ubatch", "2048"),
    (EngineKind::LlamaCpp, "draft_layers", "1"),
];

/// Compares the figures of a log with the report of `scenario`, which is the one that the log was applied to.
pub fn compare(facts: &[Fact], scenario: &Scenario) -> Vec<Comparison> {
    let base = Reports::new(facts, scenario);
    let mut res: Vec<_> = facts.iter().map(|fact| base.compare(fact)).collect();
    if res.iter().all(|row| row.agrees || row.computed.is_none()) {
        return res;
    }
    let (mut best, mut best_agree) = (None, res.iter().filter(|row| row.agrees).count());
    for (engine, key, value) in VARIANTS
        .iter()
        .filter(|(engine, ..)| *engine == scenario.engine.kind)
    {
        let mut changed = scenario.clone();
        if changed.set(key, value).is_err() || changed == *scenario {
            continue;
        }
        debug_assert_eq!(
            *engine, changed.engine.kind,
            "a variant stays with its engine"
        );
        let reports = Reports::new(facts, &changed);
        let rows: Vec<_> = facts.iter().map(|fact| reports.compare(fact)).collect();
        let n_agree = rows.iter().filter(|row| row.agrees).count();
        if best_agree < n_agree {
            best_agree = n_agree;
            best = Some((rows, Reason::Setting { key, value }));
        }
    }
    if let Some((rows, reason)) = best {
        for (row, changed) in res.iter_mut().zip(rows) {
            if !row.agrees && changed.agrees {
                row.reason = Some(reason.clone());
            }
        }
    }
    res
}

/// The report with the pool as given, and with the smallest and the largest that print the same.
struct Reports {
    given: Report,
    low: Report,
    high: Report,
    has_ranks: bool,
}

impl Reports {
    fn new(facts: &[Fact], scenario: &Scenario) -> Self {
        let given = report(scenario);
        let pool = scenario.engine.available_kv_cache_bytes;
        let half = facts
            .iter()
            .find(|fact| fact.what == What::AvailableBytes)
            .map_or(0.0, |fact| fact.half);
        let with_pool = |bytes: f64| {
            let mut scenario = scenario.clone();
            scenario.engine.available_kv_cache_bytes = Some(Bytes(bytes.max(0.0) as u64));
            report(&scenario)
        };
        let (low, high) = match pool {
            Some(pool) if 0.0 < half => (
                with_pool(pool.0 as f64 - half),
                with_pool(pool.0 as f64 + half),
            ),
            Some(_) | None => (given.clone(), given.clone()),
        };
        Self {
            has_ranks: 1 < given.hardware.num_gpus,
            given,
            low,
            high,
        }
    }

    fn compare(&self, fact: &Fact) -> Comparison {
        let of = |report: &Report, is_legacy: bool| figure(report, fact, is_legacy);
        let all = |is_legacy: bool| {
            let value = of(&self.given, is_legacy)?;
            let (low, high) = (of(&self.low, is_legacy)?, of(&self.high, is_legacy)?);
            Some(Computed {
                value,
                low: low.min(high),
                high: low.max(high),
            })
        };
        let agrees = |computed: &Computed| {
            // Half of the last digit, and what floating point loses of large amounts.
            let room = fact.half * (1.0 + 1e-9) + tolerance(fact);
            computed.low - room <= fact.value && fact.value <= computed.high + room
        };
        let (newest, legacy) = (all(false), all(true));
        let is_exact = |computed: &Computed| computed.value == fact.value;
        let (computed, reason) = match (newest, legacy) {
            (Some(newest), _) if is_exact(&newest) => (Some(newest), None),
            (_, Some(legacy)) if is_exact(&legacy) => (Some(legacy), Some(Reason::OlderMeaning)),
            (Some(newest), _) if agrees(&newest) => (Some(newest), Some(Reason::Rounding)),
            (_, Some(legacy)) if agrees(&legacy) => (Some(legacy), Some(Reason::OlderMeaning)),
            (None, _) => (None, Some(Reason::NotModelled)),
            (Some(newest), _) if self.has_ranks && is_a_rank_less(fact, &newest) => {
                (Some(newest), Some(Reason::SmallestRank))
            }
            (Some(newest), _) => (Some(newest), Some(difference(fact, &newest))),
        };
        let is_agreed = matches!(
            reason,
            None | Some(Reason::Rounding | Reason::OlderMeaning | Reason::Setting { .. })
        );
        Comparison {
            what: fact.what,
            cache: fact.cache,
            printed: fact.value,
            computed,
            agrees: is_agreed,
            reason,
            line: fact.line.clone(),
        }
    }
}

/// What the size of a difference says of its reason.
fn difference(fact: &Fact, computed: &Computed) -> Reason {
    let ratio = fact.value / computed.value;
    let is_near = |factor: f64| (ratio / factor - 1.0).abs() < 1e-3;
    // KiB to kB, MiB to MB, GiB to GB, and the other way.
    let units = [1.024, 1.048_576, 1.073_741_824];
    if units
        .iter()
        .any(|unit| is_near(*unit) || is_near(1.0 / unit))
    {
        Reason::Units
    } else if 1.0 < ratio && ratio < 1.01 {
        Reason::Padding
    } else {
        Reason::Unknown
    }
}

/// A little less than computed, as when another rank has less memory.
fn is_a_rank_less(fact: &Fact, computed: &Computed) -> bool {
    let is_of_pool = matches!(
        fact.what,
        What::NumBlocks | What::KvCacheSizeTokens | What::MaxConcurrency
    );
    is_of_pool && fact.value < computed.low && 0.8 * computed.low < fact.value
}

/// Weights are loaded with buffers beside them, which dimensions do not show.
fn tolerance(fact: &Fact) -> f64 {
    match fact.what {
        What::WeightBytes => 0.01 * fact.value,
        What::AvailableBytes
        | What::NumBlocks
        | What::KvCacheSizeTokens
        | What::MaxConcurrency
        | What::NeededBytes
        | What::MaxModelLenThatFits
        | What::KBytes
        | What::VBytes
        | What::CacheBytes
        | What::CacheTokens
        | What::ActivationBytes => 0.0,
    }
}

/// The report's figure of the same kind. A cache that the log does not name is the one that comes closest.
fn figure(report: &Report, fact: &Fact, is_legacy: bool) -> Option<f64> {
    let engine = &report.engine;
    let count = |number: Option<u64>| number.map(|number| number as f64);
    match fact.what {
        What::AvailableBytes => Some(report.hbm.kv_pool_bytes.0 as f64),
        What::NumBlocks => count(engine.num_blocks),
        What::KvCacheSizeTokens if is_legacy => count(engine.kv_cache_size_tokens_legacy),
        What::KvCacheSizeTokens => count(engine.kv_cache_size_tokens),
        What::MaxConcurrency => engine.max_concurrency,
        What::NeededBytes => count(engine.needed_bytes.map(|bytes| bytes.0)),
        What::MaxModelLenThatFits => count(engine.max_model_len_that_fits.map(|tokens| tokens.0)),
        What::KBytes => closest(engine, fact, |cache| cache.k_bytes.0),
        What::VBytes => closest(engine, fact, |cache| cache.v_bytes.0),
        What::CacheTokens => closest(engine, fact, |cache| cache.tokens),
        What::CacheBytes if fact.cache.is_none() => Some(
            engine
                .caches
                .iter()
                .map(|cache| all_bytes(cache).0)
                .fold(0, u64::saturating_add) as f64,
        ),
        What::CacheBytes => closest(engine, fact, |cache| all_bytes(cache).0),
        What::WeightBytes => Some(report.hbm.weight_bytes.0 as f64),
        What::ActivationBytes => Some(report.hbm.activation_bytes.0 as f64),
    }
}

fn all_bytes(cache: &EngineCache) -> Bytes {
    cache.k_bytes + cache.v_bytes + cache.state_bytes
}

fn closest(engine: &EngineReport, fact: &Fact, of: impl Fn(&EngineCache) -> u64) -> Option<f64> {
    let is_named = |cache: &&EngineCache| fact.cache.is_none_or(|label| label == cache.label);
    let figures = engine
        .caches
        .iter()
        .filter(is_named)
        .map(|cache| of(cache) as f64);
    figures.min_by(|a, b| (a - fact.value).abs().total_cmp(&(b - fact.value).abs()))
}
