//! What simulating 10,000 requests costs, for each engine's scheduler: `cargo bench --bench serve`.

use divan::{Bencher, black_box};
use kvscope::core::gpus;
use kvscope::core::scenario::Scenario;
use kvscope::core::serve::arrivals::{Arrivals, Lengths, Spread, Workload};
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::schedulers::llama_cpp::LlamaCpp;
use kvscope::core::serve::schedulers::sglang::Sglang;
use kvscope::core::serve::schedulers::tensorrt_llm::{CapacityPolicy, TensorRtLlm};
use kvscope::core::serve::schedulers::vllm::Vllm;
use kvscope::core::serve::step_time::StepTime;
use kvscope::core::serve::{PoolShape, Server, Simulation};
use kvscope::core::setup::Setup;
use kvscope::core::speed::{Parallel, SpeedConstants, SpeedInputs};

fn main() {
    divan::main();
}

const TENSORRT_LLM: TensorRtLlm = TensorRtLlm {
    policy: CapacityPolicy::GuaranteedNoEvict,
    max_batch_size: 2048,
    max_num_tokens: 8192,
    enable_chunked_context: true,
    enable_block_reuse: true,
};

fn servers() -> Vec<(&'static str, Scheduler, u64)> {
    vec![
        ("vllm", Scheduler::Vllm(Vllm::default()), 16),
        (
            "tensorrt-llm no evict",
            Scheduler::TensorRtLlm(TENSORRT_LLM),
            32,
        ),
        (
            "tensorrt-llm max utilization",
            Scheduler::TensorRtLlm(TensorRtLlm {
                policy: CapacityPolicy::MaxUtilization,
                ..TENSORRT_LLM
            }),
            32,
        ),
        ("sglang", Scheduler::Sglang(Sglang::default()), 1),
        ("llama.cpp", Scheduler::LlamaCpp(LlamaCpp::default()), 1),
    ]
}

/// The default scenario's model on four H100, and requests of about 5,000 tokens that come faster than they can be served.
fn simulation(scheduler: Scheduler, block_size: u64) -> Simulation {
    let scenario = Scenario::default();
    let inputs = SpeedInputs::new(
        &scenario.model.config,
        &scenario.weight_format,
        Setup::new(&scenario).formats,
        gpus::default_gpu(),
        Parallel::tensor(4),
        1,
    );
    let server = Server {
        scheduler,
        // 32.6 GiB of each GPU, of which a token takes 81,920 B.
        pool: PoolShape::uniform(block_size, 427_000 / block_size),
        step_time: StepTime::new(&inputs, &SpeedConstants::default()),
        max_model_len: Some(131_072),
    };
    let workload = Workload {
        arrivals: Arrivals::Poisson {
            requests_per_second: 2.0,
        },
        lengths: Lengths::Drawn {
            prompt: Spread::Fixed(512),
            thinking: Spread::LogNormal {
                median: 4000,
                p95: 9000,
            },
            answer: Spread::Fixed(300),
        },
        num_requests: 10_000,
        shared_prefix_tokens: 0,
        max_output_tokens: Some(12_000),
        seed: 1,
    };
    Simulation::new(server, &workload).expect("within bounds")
}

#[divan::bench(args = servers().into_iter().map(|server| server.0), max_time = 10)]
fn ten_thousand_requests(bencher: Bencher<'_, '_>, name: &str) {
    let (_, scheduler, block_size) = servers()
        .into_iter()
        .find(|server| server.0 == name)
        .expect("it is in the list");
    let start = simulation(scheduler, block_size);
    bencher.bench(|| {
        let mut simulation = black_box(&start).clone();
        simulation.advance(u64::MAX);
        simulation.report()
    });
}
