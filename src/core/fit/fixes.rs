//! What to change when a scenario does not fit: each change as a scenario of its own, with the verdict that the scenario's
//! own function gives of it.

use crate::core::engines;
use crate::core::gpus::Gpu;
use crate::core::report::Warning;
use crate::core::scenario::{EngineKind, ParallelSize, Scenario, field};
use crate::core::setup::{Request, Setup};
use crate::core::units::{KvFormat, Tokens, formats};

use super::hardware::{fitting, split};
use super::verdict::{Verdict, refusals};
use super::{largest, max_concurrency, max_thinking_tokens};

/// One change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The cache in another format.
    CacheFormat(KvFormat),
    /// Another split over more GPUs.
    Split {
        /// Ranks that share each layer.
        tensor_parallel_size: u32,
        /// Stages.
        pipeline_parallel_size: u32,
    },
    /// The longest sequence that the engine is told to take.
    MaxModelLen(Tokens),
    /// The cells of llama.cpp's cache.
    Context(Tokens),
    /// The longest thinking that fits.
    Thinking(Tokens),
    /// As many requests at once as fit.
    Requests(u32),
    /// Another accelerator.
    Gpu(&'static Gpu),
}

/// A change and what comes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// The change.
    pub change: Change,
    /// The scenario with it.
    pub scenario: Scenario,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Bytes by which it fits on the fullest GPU; negative: by which it still does not.
    pub spare_bytes: i64,
    /// Requests that then fit at once, by their peak.
    pub max_concurrency: u64,
    /// GPUs that it then takes.
    pub num_gpus: u64,
}

impl Fix {
    fn new(change: Change, scenario: Scenario) -> Self {
        let setup = Setup::new(&scenario);
        let (spare_bytes, num_gpus) = (setup.shortfall().saturating_neg(), setup.num_gpus());
        let budget = setup.budget();
        let max_concurrency = max_concurrency(&setup, &Request::of(&scenario), budget.room());
        Self {
            change,
            verdict: Verdict::new(&setup, &refusals(&setup, &budget), max_concurrency),
            scenario,
            spare_bytes,
            max_concurrency,
            num_gpus,
        }
    }
}

/// What to change about a scenario that does not run; nothing when it does or when its weights are not known. A smaller
/// cache format is offered also where bytes are still missing with it; every other change is enough.
pub fn fixes(scenario: &Scenario) -> Vec<Fix> {
    let setup = Setup::new(scenario);
    let budget = setup.budget();
    let room = budget.room();
    let at_once = max_concurrency(&setup, &Request::of(scenario), room);
    let refusals = refusals(&setup, &budget);
    match Verdict::new(&setup, &refusals, at_once) {
        Verdict::Fits | Verdict::Unknown => return Vec::new(),
        Verdict::Refused | Verdict::Missing | Verdict::Waits => {}
    }
    let with = |change, edit: &dyn Fn(&mut Scenario)| {
        let mut changed = scenario.clone();
        edit(&mut changed);
        Fix::new(change, changed)
    };
    let mut res = Vec::new();
    res.extend(smaller_format(scenario).map(|format| {
        with(Change::CacheFormat(format), &|changed| {
            changed.kv_cache_dtype = format;
        })
    }));
    res.extend(split(scenario).map(|hardware| {
        let change = Change::Split {
            tensor_parallel_size: hardware.tensor_parallel_size,
            pipeline_parallel_size: hardware.pipeline_parallel_size,
        };
        with(change, &|changed| {
            changed.tensor_parallel_size = ParallelSize::Fixed(hardware.tensor_parallel_size);
            changed.pipeline_parallel_size = hardware.pipeline_parallel_size;
        })
    }));
    res.extend(refusals.iter().find_map(longest_length).map(|length| {
        with(Change::MaxModelLen(length), &|changed| {
            changed.engine.max_model_len = Some(length);
        })
    }));
    res.extend(context(scenario).map(|cells| {
        with(Change::Context(cells), &|changed| {
            changed.engine.n_ctx = Some(cells);
        })
    }));
    // Sizes that are chosen for the reader may be chosen anew, and the largest holds the most.
    let thinking = max_thinking_tokens(&setup, room);
    let shorter = thinking.filter(|thinking| *thinking < scenario.thinking_tokens);
    res.extend(shorter.map(|thinking| {
        with(Change::Thinking(thinking), &|changed| {
            changed.thinking_tokens = thinking;
        })
    }));
    let fewer = u32::try_from(at_once)
        .ok()
        .filter(|count| 0 < *count && *count < scenario.num_seqs);
    res.extend(fewer.map(|count| {
        with(Change::Requests(count), &|changed| {
            changed.num_seqs = count;
        })
    }));
    // No more cards than there are, where one of another kind has the memory; else the least memory in all.
    let cards = fitting(scenario);
    let cards = || cards.iter().filter(|card| card.gpu.id != scenario.gpu.id);
    let num_gpus = setup.num_gpus();
    let card = cards()
        .find(|card| card.num_gpus <= num_gpus)
        .or_else(|| cards().next());
    res.extend(card.map(|card| Fix::new(Change::Gpu(card.gpu), card.scenario(scenario))));
    res.retain(|fix| match fix.verdict {
        Verdict::Fits => true,
        Verdict::Missing => matches!(fix.change, Change::CacheFormat(_)),
        Verdict::Refused | Verdict::Waits | Verdict::Unknown => false,
    });
    res
}

/// The longest length to set, where the one that is set is refused: what the requests need, or what the pool holds.
fn longest_length(refusal: &Warning) -> Option<Tokens> {
    match refusal {
        Warning::ContextAboveMaxModelLen { context_tokens, .. } => Some(*context_tokens),
        Warning::MaxModelLenDoesNotFit {
            max_model_len_that_fits,
            ..
        } => Some(*max_model_len_that_fits),
        _ => None,
    }
}

/// The fewest cells with which llama.cpp's slots take the requests, where fewer were set.
fn context(scenario: &Scenario) -> Option<Tokens> {
    let set = scenario.engine.n_ctx?;
    let most = field("n_ctx").and_then(|field| field.kind.bounds())?.max;
    let takes = |cells: u64| {
        let mut changed = scenario.clone();
        changed.engine.n_ctx = Some(Tokens(cells));
        let setup = Setup::new(&changed);
        let slot = engines::slot(&setup);
        engines::takes(&setup, &Request::of(&changed), setup.seqs_per_replica())
            && slot.is_none_or(|slot| changed.context_tokens() <= slot)
    };
    let too_few = largest(most, |cells| !takes(cells))?;
    let cells = Tokens(too_few.saturating_add(1));
    (set < cells && cells.0 <= most).then_some(cells)
}

/// Eight bits for a cache that has more.
fn smaller_format(scenario: &Scenario) -> Option<KvFormat> {
    let smaller = match scenario.engine.kind {
        EngineKind::LlamaCpp => formats::Q8_0,
        EngineKind::Exact | EngineKind::Vllm | EngineKind::Sglang | EngineKind::TensorRtLlm => {
            formats::FP8
        }
    };
    let is_smaller = |format: crate::core::units::ElementFormat| {
        let bits = |format: crate::core::units::ElementFormat| {
            u64::from(format.block_bytes) * 8 / u64::from(format.block_elements.max(1))
        };
        bits(smaller) < bits(format)
    };
    let now = scenario.kv_cache_dtype;
    (is_smaller(now.k) && is_smaller(now.v)).then_some(KvFormat::both(smaller))
}
