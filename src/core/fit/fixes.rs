//! What to change when a scenario does not fit: each change as a scenario of its own, with the verdict that the scenario's
//! own function gives of it.

use crate::core::gpus::Gpu;
use crate::core::scenario::{EngineKind, ParallelSize, Scenario};
use crate::core::setup::{Request, Setup};
use crate::core::units::{KvFormat, Tokens, formats};

use super::hardware::{fewest_gpus, fitting, on_gpu};
use super::{max_concurrency, max_thinking_tokens};

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
        let room = setup.budget().room();
        let max_concurrency = max_concurrency(&setup, &Request::of(&scenario), room);
        Self {
            change,
            scenario,
            spare_bytes,
            max_concurrency,
            num_gpus,
        }
    }

    /// Whether the scenario fits with this change.
    pub fn fits(&self) -> bool {
        0 <= self.spare_bytes
    }
}

/// What to change about a scenario that does not fit; nothing when it fits. A smaller cache format is offered also where it
/// is not enough alone; every other change is enough.
pub fn fixes(scenario: &Scenario) -> Vec<Fix> {
    if Setup::new(scenario).shortfall() <= 0 {
        return Vec::new();
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
    res.extend(split(scenario).map(|(tensor, pipeline)| {
        let change = Change::Split {
            tensor_parallel_size: tensor,
            pipeline_parallel_size: pipeline,
        };
        with(change, &|changed| {
            changed.tensor_parallel_size = ParallelSize::Fixed(tensor);
            changed.pipeline_parallel_size = pipeline;
        })
    }));
    // Sizes that are chosen for the reader may be chosen anew, and the largest holds the most.
    let setup = Setup::new(scenario);
    let room = setup.budget().room();
    res.extend(max_thinking_tokens(&setup, room).map(|thinking| {
        with(Change::Thinking(thinking), &|changed| {
            changed.thinking_tokens = thinking;
        })
    }));
    let at_once = max_concurrency(&setup, &Request::of(scenario), room);
    let at_once = u32::try_from(at_once).ok().filter(|count| 0 < *count);
    res.extend(at_once.map(|count| {
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
    res.extend(card.map(|card| Fix::new(Change::Gpu(card.gpu), on_gpu(scenario, card.gpu))));
    res.retain(|fix| fix.fits() || matches!(fix.change, Change::CacheFormat(_)));
    res
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

/// The smallest split on which it fits, if there is one: by tensor alone, else over the fewest GPUs.
fn split(scenario: &Scenario) -> Option<(u32, u32)> {
    Setup::smallest_fitting(scenario)
        .map(|setup| (setup.tensor_parallel_size, scenario.pipeline_parallel_size))
        .or_else(|| {
            fewest_gpus(scenario).map(|hardware| {
                (
                    hardware.tensor_parallel_size,
                    hardware.pipeline_parallel_size,
                )
            })
        })
}
