//! Whether a scenario can be served: what its bytes say, and what engines refuse whatever memory there is.

use serde::Serialize;

use super::max_concurrency;
use crate::core::engines;
use crate::core::model::divides;
use crate::core::report::Warning;
use crate::core::scenario::{EngineKind, Scenario};
use crate::core::setup::{Budget, Request, Setup};
use crate::core::units::{Bytes, Scale};

/// What becomes of a scenario's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The weights cannot be counted, so the bytes are not known.
    Unknown,
    /// An engine does not start, or does not take such a request.
    Refused,
    /// Bytes are missing.
    Missing,
    /// They fit in the memory, but the engine runs fewer of them at once.
    Waits,
    /// They run at once.
    Fits,
}

impl Verdict {
    /// The verdict of a setup, given what engines refuse of it and how many requests fit at once.
    pub fn new(setup: &Setup<'_>, refusals: &[Warning], max_concurrency: u64) -> Self {
        let is_missing = 0 < setup.shortfall();
        // Where the requests do not fit either, how much is missing says more than the longest length does.
        let refuses = |warning: &Warning| {
            !is_missing || !matches!(warning, Warning::MaxModelLenDoesNotFit { .. })
        };
        let is_unknown =
            setup.whole_weight_bytes() == Bytes::ZERO && !setup.model.layers.is_empty();
        if refusals.iter().any(refuses) {
            Self::Refused
        } else if is_unknown {
            Self::Unknown
        } else if is_missing {
            Self::Missing
        } else if max_concurrency < u64::from(setup.scenario.num_seqs) {
            Self::Waits
        } else {
            Self::Fits
        }
    }

    /// The verdict of a setup.
    pub fn of(setup: &Setup<'_>) -> Self {
        // Most candidates of a search lack memory, which is soon seen.
        if 0 < setup.shortfall() {
            return Self::new(setup, &refusals(setup, &setup.budget()), 0);
        }
        let budget = setup.budget();
        let at_once = max_concurrency(setup, &Request::of(setup.scenario), budget.room());
        Self::new(setup, &refusals(setup, &budget), at_once)
    }
}

/// What engines refuse of a scenario.
pub fn refusals_of(scenario: &Scenario) -> Vec<Warning> {
    let setup = Setup::new(scenario);
    refusals(&setup, &setup.budget())
}

/// What engines refuse of a setup, whatever its requests hold.
pub(in crate::core) fn refusals(setup: &Setup<'_>, budget: &Budget) -> Vec<Warning> {
    let mut res = of_lengths(setup, budget);
    let (scenario, model, tp) = (setup.scenario, setup.model, setup.tensor_parallel_size);
    let shared_by = scenario.engine.decode_context_parallel_size;
    if scenario.engine.kind == EngineKind::Vllm && !tp.is_multiple_of(shared_by.max(1)) {
        res.push(Warning::ContextParallelNotDivisible {
            decode_context_parallel_size: shared_by,
            tensor_parallel_size: tp,
        });
    }
    let v = scenario.kv_cache_dtype.v;
    if scenario.engine.kind == EngineKind::LlamaCpp
        && !scenario.engine.flash_attn
        && 1 < v.block_elements
    {
        res.push(Warning::FormatNeedsFlashAttn { format: v.id });
    }
    let query_heads = model.num_attention_heads;
    if 1 < tp && 0 < query_heads && !query_heads.is_multiple_of(tp) {
        res.push(Warning::HeadsNotDivisible {
            heads: "num_attention_heads",
            num_heads: query_heads,
            tensor_parallel_size: tp,
        });
    }
    let kv_heads = || model.num_key_value_heads();
    if let Some(heads) = kv_heads()
        .max()
        .filter(|heads| 0 < query_heads && query_heads < *heads)
    {
        res.push(Warning::KvHeadsAboveQueryHeads {
            num_key_value_heads: heads,
            num_attention_heads: query_heads,
        });
    }
    if let Some(heads) = kv_heads().find(|heads| !divides(*heads, tp)) {
        res.push(Warning::HeadsNotDivisible {
            heads: "num_key_value_heads",
            num_heads: heads,
            tensor_parallel_size: tp,
        });
    }
    let (n_layers, pp) = (model.layers.len() as u64, scenario.pipeline_parallel_size);
    if n_layers < u64::from(pp) {
        res.push(Warning::StagesEmpty {
            num_hidden_layers: n_layers,
            pipeline_parallel_size: pp,
        });
    }
    let formats = [scenario.kv_cache_dtype.k, scenario.kv_cache_dtype.v];
    if let Some(format) = formats
        .iter()
        .find(|format| format.scale == Scale::LatentTile)
        && !model.has_latent_rows()
    {
        res.push(Warning::FormatNeedsLatentRows { format: format.id });
    }
    res
}

/// Sequences that are longer than an engine takes, and a pool that does not hold the longest.
fn of_lengths(setup: &Setup<'_>, budget: &Budget) -> Vec<Warning> {
    let mut res = Vec::new();
    let (scenario, engine) = (setup.scenario, &setup.scenario.engine);
    let context_tokens = scenario.context_tokens();
    // Where no longest length is set it is the trained one. llama.cpp goes on past it, with a warning.
    let is_bound_by_model = match engine.kind {
        EngineKind::Vllm | EngineKind::Sglang | EngineKind::TensorRtLlm => {
            engine.max_model_len.is_none()
        }
        EngineKind::Exact | EngineKind::LlamaCpp => false,
    };
    let trained = setup.model.max_position_embeddings;
    if let Some(max_position_embeddings) =
        trained.filter(|max| is_bound_by_model && *max < context_tokens)
    {
        res.push(Warning::ContextAboveTrained {
            context_tokens,
            max_position_embeddings,
        });
    }
    if let Some(max_model_len) = engine.max_model_len.filter(|max| *max < context_tokens) {
        res.push(Warning::ContextAboveMaxModelLen {
            context_tokens,
            max_model_len,
        });
    }
    if let Some(slot_tokens) = engines::slot(setup).filter(|slot| *slot < context_tokens) {
        res.push(Warning::ContextAboveSlot {
            context_tokens,
            slot_tokens,
        });
    }
    res.extend(budget.room().and_then(|pool_bytes| {
        let (needed_bytes, max_model_len_that_fits) = engines::start_refusal(setup, pool_bytes)?;
        Some(Warning::MaxModelLenDoesNotFit {
            max_model_len: setup.max_model_len(),
            needed_bytes,
            pool_bytes,
            max_model_len_that_fits,
        })
    }));
    res
}
