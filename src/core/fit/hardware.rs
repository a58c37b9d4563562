//! On which hardware a scenario fits: the accelerators, and the fewest GPUs of one kind.

use crate::core::gpus::{self, Gpu};
use crate::core::scenario::{Engine, ParallelSize, Scenario};
use crate::core::setup::{Request, Setup, auto_sizes};
use crate::core::units::Bytes;

use super::max_concurrency;
use super::verdict::Verdict;

/// GPUs of one replica, at most, among which the fewest are searched.
pub const MAX_GPUS: u32 = 128;

/// Hardware on which a scenario fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hardware {
    /// The accelerator.
    pub gpu: &'static Gpu,
    /// Ranks that share each layer.
    pub tensor_parallel_size: u32,
    /// Stages that hold the layers one after another.
    pub pipeline_parallel_size: u32,
    /// GPUs in all, replicas included.
    pub num_gpus: u64,
    /// Memory of all of them, as their drivers report it.
    pub memory: Bytes,
    /// Requests that fit at once, by their peak.
    pub max_concurrency: u64,
    /// Bytes to spare on the fullest GPU.
    pub spare_bytes: i64,
}

impl Hardware {
    /// The hardware of a scenario that runs on it.
    fn of(setup: &Setup<'_>) -> Option<Self> {
        if Verdict::of(setup) != Verdict::Fits {
            return None;
        }
        let scenario = setup.scenario;
        let num_gpus = setup.num_gpus();
        let room = setup.budget().room();
        Some(Self {
            gpu: scenario.gpu,
            tensor_parallel_size: setup.tensor_parallel_size,
            pipeline_parallel_size: scenario.pipeline_parallel_size,
            num_gpus,
            memory: scenario.gpu.memory().times(num_gpus),
            max_concurrency: max_concurrency(setup, &Request::of(scenario), room),
            spare_bytes: setup.shortfall().saturating_neg(),
        })
    }

    /// The scenario on this hardware, with a size that is chosen for the reader where that is this one.
    pub fn scenario(&self, scenario: &Scenario) -> Scenario {
        let mut res = on_gpu(scenario, self.gpu);
        res.pipeline_parallel_size = self.pipeline_parallel_size;
        if Setup::new(&res).tensor_parallel_size != self.tensor_parallel_size {
            res.tensor_parallel_size = ParallelSize::Fixed(self.tensor_parallel_size);
        }
        res
    }
}

/// The scenario on another accelerator, which has no pool that the reader knows.
pub fn on_gpu(scenario: &Scenario, gpu: &'static Gpu) -> Scenario {
    Scenario {
        gpu,
        tensor_parallel_size: ParallelSize::Auto,
        engine: Engine {
            available_kv_cache_bytes: None,
            num_blocks: None,
            num_tokens: None,
            ..scenario.engine.clone()
        },
        ..scenario.clone()
    }
}

/// The smallest power of two of ranks, up to 64, on which the scenario runs.
fn smallest(scenario: &Scenario) -> Option<Hardware> {
    auto_sizes(scenario).find_map(|size| Hardware::of(&Setup::with_tensor_parallel(scenario, size)))
}

/// Every accelerator on which the scenario runs with a tensor parallel size that engines accept (a power of two up to 64),
/// each with the smallest such size; the least memory in all first, then the fewest GPUs.
pub fn fitting(scenario: &Scenario) -> Vec<Hardware> {
    let mut res: Vec<Hardware> = gpus::all()
        .iter()
        .filter_map(|gpu| smallest(&on_gpu(scenario, gpu)))
        .collect();
    res.sort_by_key(|hardware| (hardware.memory, hardware.num_gpus));
    res
}

/// The smallest tensor parallel size on the scenario's own GPU and stages, else the fewest GPUs in any split.
pub fn split(scenario: &Scenario) -> Option<Hardware> {
    smallest(scenario).or_else(|| fewest_gpus(scenario))
}

/// The fewest GPUs of the scenario's kind on which it runs, split by tensor, by pipeline, or by both; of splits into as
/// many, the one with fewer stages. Engines accept the tensor parallel size and no stage is empty. `None`: not on
/// [`MAX_GPUS`] either.
pub fn fewest_gpus(scenario: &Scenario) -> Option<Hardware> {
    let model = &scenario.model.config;
    let num_layers = u32::try_from(model.layers.len()).unwrap_or(u32::MAX);
    let mut candidate = scenario.clone();
    for num_gpus in 1..=MAX_GPUS {
        for stages in (1..=num_gpus.min(num_layers)).filter(|stages| num_gpus % stages == 0) {
            let ranks = num_gpus / stages;
            if !model.takes_ranks(ranks) {
                continue;
            }
            candidate.pipeline_parallel_size = stages;
            let setup = Setup::with_tensor_parallel(&candidate, ranks);
            // Weights alone rule most splits out.
            if setup.budget().left < 0 {
                continue;
            }
            let found = Hardware::of(&setup);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}
