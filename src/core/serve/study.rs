//! What a reader asks of the simulator: a scenario's server under requests of its lengths, and the same with one thing
//! changed, side by side.

use std::sync::Arc;

use super::arrivals::{Arrivals, Lengths, Spread, Workload};
use super::schedulers::Scheduler;
use super::schedulers::tensorrt_llm::CapacityPolicy;
use super::trace::{self, TraceRow};
use super::{MAX_CLIENTS, MAX_REQUEST_TOKENS, MAX_REQUESTS, ServeError, Server, Simulation};
use crate::core::fit;
use crate::core::gpus::Gpu;
use crate::core::report::speed_inputs;
use crate::core::scenario::{EngineKind, ParallelSize, Scenario};
use crate::core::setup::{Request, Setup};
use crate::core::speed::{self, RequestTokens, SpeedConstants};
use crate::core::units::Tokens;

/// When requests arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Each client sends its next request when the one before is finished.
    #[default]
    Closed,
    /// At random, at a rate.
    Poisson,
    /// As in the trace.
    Trace,
}

impl ArrivalKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Poisson, Self::Trace];

    /// The id in links.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Poisson => "poisson",
            Self::Trace => "trace",
        }
    }
}

/// How long requests are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthKind {
    /// All as the scenario's.
    #[default]
    Fixed,
    /// Log-normal, with the scenario's as median.
    LogNormal,
    /// As in the trace.
    Trace,
}

impl LengthKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::LogNormal, Self::Trace];

    /// The id in links.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::LogNormal => "lognormal",
            Self::Trace => "trace",
        }
    }
}

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyChoice {
    /// The scenario's engine with its server's defaults.
    #[default]
    Engine,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM with this policy.
    TensorRtLlm(CapacityPolicy),
    /// llama.cpp.
    LlamaCpp,
}

impl PolicyChoice {
    /// Every choice.
    pub const ALL: [Self; 7] = [
        Self::Engine,
        Self::Vllm,
        Self::TensorRtLlm(CapacityPolicy::GuaranteedNoEvict),
        Self::TensorRtLlm(CapacityPolicy::MaxUtilization),
        Self::TensorRtLlm(CapacityPolicy::StaticBatch),
        Self::Sglang,
        Self::LlamaCpp,
    ];

    /// The id in links.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::TensorRtLlm(policy) => policy.id(),
            Self::LlamaCpp => "llama.cpp",
        }
    }

    /// The choice with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.id() == id)
    }

    fn engine(self) -> Option<EngineKind> {
        match self {
            Self::Engine => None,
            Self::Vllm => Some(EngineKind::Vllm),
            Self::Sglang => Some(EngineKind::Sglang),
            Self::TensorRtLlm(_) => Some(EngineKind::TensorRtLlm),
            Self::LlamaCpp => Some(EngineKind::LlamaCpp),
        }
    }
}

/// What the run beside the first one changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Versus {
    /// There is none.
    Nothing,
    /// Thinking so many times as long.
    Thinking(u64),
    /// Other rules.
    Policy(PolicyChoice),
    /// Another accelerator.
    Gpu(&'static Gpu),
}

impl Default for Versus {
    fn default() -> Self {
        Self::Thinking(2)
    }
}

/// The most by which thinking is multiplied.
pub const MAX_FACTOR: u64 = 64;

impl Versus {
    /// As in links: `none`, `thinking:2`, `policy:max_utilization`, `gpu:h200`.
    pub fn text(self) -> String {
        match self {
            Self::Nothing => "none".to_owned(),
            Self::Thinking(factor) => format!("thinking:{factor}"),
            Self::Policy(policy) => format!("policy:{}", policy.id()),
            Self::Gpu(gpu) => format!("gpu:{}", gpu.id),
        }
    }

    /// Reads what [`Self::text`] writes.
    pub fn from_text(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self::Nothing);
        }
        match text.split_once(':')? {
            ("thinking", factor) => {
                let factor = factor.parse().ok()?;
                (2..=MAX_FACTOR)
                    .contains(&factor)
                    .then_some(Self::Thinking(factor))
            }
            ("policy", id) => PolicyChoice::from_id(id).map(Self::Policy),
            ("gpu", id) => crate::core::gpus::get(id).map(Self::Gpu),
            _ => None,
        }
    }
}

/// Everything that can be set. What is absent follows from the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// When requests arrive.
    pub arrivals: ArrivalKind,
    /// Requests in all; absent: four for each client, 500 without clients, or the trace's.
    pub num_requests: Option<u64>,
    /// Clients of a closed loop; absent: three quarters of the requests that fit at once.
    pub clients: Option<u64>,
    /// Requests per second; absent: three quarters of what the server can finish at its best.
    pub requests_per_second: Option<f64>,
    /// How long requests are.
    pub lengths: LengthKind,
    /// 95th percentile of the prompt; absent: twice the median.
    pub prompt_p95: Option<u64>,
    /// 95th percentile of thinking; absent: twice the median.
    pub thinking_p95: Option<u64>,
    /// 95th percentile of the answer; absent: twice the median.
    pub answer_p95: Option<u64>,
    /// Output tokens that a client allows; absent: as many as it gets.
    pub max_output_tokens: Option<u64>,
    /// Whose rules.
    pub policy: PolicyChoice,
    /// Requests that run at once, at most; absent: the engine's default.
    pub max_num_seqs: Option<u64>,
    /// Tokens of a step, at most; absent: the engine's default.
    pub max_num_batched_tokens: Option<u64>,
    /// What the random numbers begin with.
    pub seed: u64,
    /// The run beside it.
    pub versus: Versus,
    /// The trace; empty: none.
    pub trace: Arc<Vec<TraceRow>>,
}

/// A run, ready to go.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its scenario: with the rules, the thinking and the accelerator of this run.
    pub scenario: Scenario,
    /// Whose rules it follows.
    pub policy: PolicyChoice,
    /// Its server.
    pub server: Server,
    /// Its requests.
    pub workload: Workload,
}

impl Run {
    /// The simulation of this run, at its start.
    ///
    /// # Errors
    ///
    /// When a number is outside its bounds.
    pub fn start(&self) -> Result<Simulation, ServeError> {
        Simulation::new(self.server.clone(), &self.workload)
    }
}

/// Requests of an open loop, unless it says how many.
const OPEN_REQUESTS: u64 = 500;
/// Clients that are chosen for the reader, at most.
const AUTO_CLIENTS: u64 = 1000;

impl Study {
    /// The scenario's run, and the one beside it. Both get the same requests as far as the change allows: the same number of
    /// clients or the same arrivals, and lengths from the same random numbers.
    pub fn runs(&self, scenario: &Scenario, constants: &SpeedConstants) -> Vec<Run> {
        let first = with_policy(scenario, self.policy);
        let load = self.load(&first, constants);
        let mut res = vec![self.run(first, self.policy, load, 1, constants)];
        let second = match self.versus {
            Versus::Nothing => None,
            // The same run again.
            Versus::Thinking(_) if self.has_lengths_of_a_trace() && !trace::thinks(&self.trace) => {
                None
            }
            Versus::Thinking(factor) => {
                let mut longer = with_policy(scenario, self.policy);
                longer.thinking_tokens = Tokens(longer.thinking_tokens.0.saturating_mul(factor));
                Some((longer, self.policy, factor))
            }
            Versus::Policy(policy) => Some((with_policy(scenario, policy), policy, 1)),
            Versus::Gpu(gpu) => {
                let moved = fit::hardware::on_gpu(scenario, gpu);
                Some((with_policy(&moved, self.policy), self.policy, 1))
            }
        };
        // The run beside has the first one's GPUs, else longer thinking would quietly get more of them.
        let tensor_parallel_size = Setup::new(&res[0].scenario).tensor_parallel_size;
        res.extend(second.map(|(mut scenario, policy, factor)| {
            if !matches!(self.versus, Versus::Gpu(_)) {
                scenario.tensor_parallel_size = ParallelSize::Fixed(tensor_parallel_size);
            }
            self.run(scenario, policy, load, factor, constants)
        }));
        res
    }

    fn run(
        &self,
        scenario: Scenario,
        policy: PolicyChoice,
        load: (Arrivals, u64),
        factor: u64,
        constants: &SpeedConstants,
    ) -> Run {
        let setup = Setup::new(&scenario);
        let scheduler = self.scheduler(&setup, policy);
        let server = Server::with_scheduler(&setup, constants, scheduler);
        let (arrivals, num_requests) = load;
        let lengths = self.lengths(&scenario, factor);
        let workload = Workload {
            lengths,
            max_output_tokens: self.max_output_tokens.or_else(|| {
                let output = scenario.thinking_tokens.plus(scenario.answer_tokens).0;
                // Lengths that are not known before cannot be asked for.
                (self.lengths == LengthKind::Fixed).then_some(output)
            }),
            ..Workload::of(&scenario, arrivals, num_requests, self.seed)
        };
        Run {
            scenario,
            policy,
            server,
            workload,
        }
    }

    /// Arrivals, and how many requests there are.
    fn load(&self, scenario: &Scenario, constants: &SpeedConstants) -> (Arrivals, u64) {
        let trace_len = self.trace.len() as u64;
        match self.arrivals {
            ArrivalKind::Closed => {
                let clients = self.clients.unwrap_or_else(|| auto_clients(scenario));
                let auto = clients.saturating_mul(4).min(MAX_REQUESTS.max);
                (
                    Arrivals::ClosedLoop { clients },
                    self.num_requests.unwrap_or(auto),
                )
            }
            ArrivalKind::Poisson => {
                let requests_per_second = self
                    .requests_per_second
                    .unwrap_or_else(|| auto_rate(scenario, constants));
                (
                    Arrivals::Poisson {
                        requests_per_second,
                    },
                    self.num_requests.unwrap_or(OPEN_REQUESTS),
                )
            }
            ArrivalKind::Trace => (
                Arrivals::Trace,
                self.num_requests
                    .unwrap_or(trace_len.clamp(1, MAX_REQUESTS.max)),
            ),
        }
    }

    /// The times of a trace belong to its lengths.
    fn has_lengths_of_a_trace(&self) -> bool {
        self.lengths == LengthKind::Trace || self.arrivals == ArrivalKind::Trace
    }

    fn lengths(&self, scenario: &Scenario, factor: u64) -> Lengths {
        if self.has_lengths_of_a_trace() {
            let longer = |row: &TraceRow| TraceRow {
                thinking_tokens: row.thinking_tokens.saturating_mul(factor),
                ..*row
            };
            return Lengths::Trace(if factor == 1 {
                self.trace.clone()
            } else {
                Arc::new(self.trace.iter().map(longer).collect())
            });
        }
        let spread = |median: Tokens, p95: Option<u64>| match self.lengths {
            LengthKind::LogNormal if Tokens(0) < median => Spread::LogNormal {
                median: median.0,
                p95: p95
                    .unwrap_or(median.0.saturating_mul(2))
                    .min(MAX_REQUEST_TOKENS),
            },
            LengthKind::Fixed | LengthKind::LogNormal | LengthKind::Trace => {
                Spread::Fixed(median.0)
            }
        };
        Lengths::Drawn {
            prompt: spread(scenario.prompt_tokens, self.prompt_p95),
            thinking: spread(
                scenario.thinking_tokens,
                self.thinking_p95.map(|p95| p95.saturating_mul(factor)),
            ),
            answer: spread(scenario.answer_tokens, self.answer_p95),
        }
    }

    fn scheduler(&self, setup: &Setup<'_>, policy: PolicyChoice) -> Scheduler {
        let mut res = Scheduler::of(setup);
        let set = |field: &mut u64, value: Option<u64>| {
            if let Some(value) = value {
                *field = value;
            }
        };
        match &mut res {
            Scheduler::Vllm(settings) => {
                set(&mut settings.max_num_seqs, self.max_num_seqs);
                set(
                    &mut settings.max_num_batched_tokens,
                    self.max_num_batched_tokens,
                );
            }
            Scheduler::Sglang(settings) => {
                set(&mut settings.max_running_requests, self.max_num_seqs);
                set(
                    &mut settings.chunked_prefill_size,
                    self.max_num_batched_tokens,
                );
            }
            Scheduler::TensorRtLlm(settings) => {
                set(&mut settings.max_batch_size, self.max_num_seqs);
                set(&mut settings.max_num_tokens, self.max_num_batched_tokens);
                if let PolicyChoice::TensorRtLlm(policy) = policy {
                    settings.policy = policy;
                }
            }
            Scheduler::LlamaCpp(settings) => {
                set(&mut settings.n_parallel, self.max_num_seqs);
                set(&mut settings.n_batch, self.max_num_batched_tokens);
            }
        }
        res
    }
}

fn with_policy(scenario: &Scenario, policy: PolicyChoice) -> Scenario {
    let mut res = scenario.clone();
    if let Some(kind) = policy.engine()
        && kind != scenario.engine.kind
    {
        // Left to itself another engine may take another number of GPUs, and rules could not be compared.
        res.tensor_parallel_size = ParallelSize::Fixed(Setup::new(scenario).tensor_parallel_size);
        res.engine.kind = kind;
    }
    res
}

/// Requests of the scenario that fit at once on one replica.
fn fitting_requests(scenario: &Scenario) -> u64 {
    let setup = Setup::new(scenario);
    let room = setup.budget().room();
    fit::max_concurrency(&setup, &Request::of(scenario), room)
        / u64::from(scenario.data_parallel_size.max(1))
}

/// Clients that leave a quarter of the pool free, so that what fills it is seen.
pub fn auto_clients(scenario: &Scenario) -> u64 {
    let clients = fitting_requests(scenario) * 3 / 4;
    clients.clamp(MAX_CLIENTS.min, AUTO_CLIENTS)
}

/// Requests per second that keep the pool three quarters full, in three figures.
pub fn auto_rate(scenario: &Scenario, constants: &SpeedConstants) -> f64 {
    let at_once = fitting_requests(scenario).clamp(1, AUTO_CLIENTS);
    let setup = Setup::new(scenario);
    let tokens = RequestTokens {
        cached: 0,
        prompt: scenario.prompt_tokens.0,
        thinking: scenario.thinking_tokens.0,
        answer: scenario.answer_tokens.0,
    };
    let replicas = u64::from(scenario.data_parallel_size.max(1));
    let inputs = speed_inputs(&setup, at_once.saturating_mul(replicas));
    let seconds = speed::request_speed(&inputs, constants, tokens)
        .total
        .likely;
    if seconds <= 0.0 {
        return 1.0;
    }
    let rate = (0.75 * at_once as f64 / seconds).clamp(1e-6, 1e6);
    let scale = 10_f64.powi(2 - rate.log10().floor() as i32);
    (rate * scale).round() / scale
}
