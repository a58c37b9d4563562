//! The schedule is the plain simulator's, request by request and to the bit, for every engine's rules.

use std::sync::Arc;

use kvscope::core::serve::arrivals::{Arrivals, Lengths, Workload};
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::schedulers::llama_cpp::LlamaCpp;
use kvscope::core::serve::schedulers::sglang::Sglang;
use kvscope::core::serve::schedulers::tensorrt_llm::{CapacityPolicy, TensorRtLlm};
use kvscope::core::serve::schedulers::vllm::Vllm;
use kvscope::core::serve::step_time::{RowKind, StepTime};
use kvscope::core::serve::trace::TraceRow;
use kvscope::core::serve::{BlockKind, PoolShape, Server, Simulation};
use kvscope::core::speed::Machine;

use super::oracle::{Oracle, Outcome, Sent};

/// Small whole numbers from a seed (a multiplicative congruential generator, L'Ecuyer 1999).
struct Numbers(u64);

impl Numbers {
    fn up_to(&mut self, max: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(3_202_034_522_624_059_733)
            .wrapping_add(1);
        (self.0 >> 33) % (max + 1)
    }

    fn from(&mut self, min: u64, max: u64) -> u64 {
        min + self.up_to(max - min)
    }

    fn flag(&mut self) -> bool {
        self.up_to(1) == 1
    }
}

/// A machine of round numbers, with a window of ten tokens.
pub(super) fn step_time() -> StepTime {
    let kind = |max_rows, bytes, operations| RowKind {
        max_rows,
        bytes,
        decode_operations: operations,
        prefill_operations: operations,
    };
    StepTime {
        machine: Machine {
            seconds_per_byte: 1e-3,
            seconds_per_operation: 1e-3,
            overlap_power: 2.0,
            seconds_per_step: 0.01,
            seconds_per_prefill: 0.004,
            seconds_per_sequence: 1e-4,
            seconds_per_token: 1e-5,
        },
        weight_bytes: 20.0,
        routed_expert_bytes: 16.0,
        num_experts: 8,
        num_experts_per_tok: 2,
        operations_per_token: 3.0,
        operations_per_sample: 1.0,
        bytes_per_seq: 0.5,
        state_operations: 0.0,
        rows: vec![kind(None, 0.1, 0.05), kind(Some(10), 0.3, 0.1)],
        stages: 1,
        seqs_per_rank: 1.0,
    }
}

fn vllm(numbers: &mut Numbers) -> Scheduler {
    Scheduler::Vllm(Vllm {
        max_num_seqs: numbers.from(1, 8),
        max_num_batched_tokens: numbers.from(4, 60),
        enable_chunked_prefill: 0 < numbers.up_to(3),
        enable_prefix_caching: 0 < numbers.up_to(3),
        reserve_full_isl: numbers.flag(),
        watermark_thousandths: [0, 0, 50, 100][numbers.up_to(3) as usize],
        unhashed_first: numbers.flag(),
    })
}

fn tensorrt_llm(policy: CapacityPolicy) -> impl Fn(&mut Numbers) -> Scheduler {
    move |numbers| {
        Scheduler::TensorRtLlm(TensorRtLlm {
            policy,
            max_batch_size: numbers.from(1, 8),
            // A whole block of prompt beside a token for each request.
            max_num_tokens: numbers.from(16, 60),
            enable_chunked_context: 0 < numbers.up_to(2),
            enable_block_reuse: 0 < numbers.up_to(2),
        })
    }
}

fn sglang(numbers: &mut Numbers) -> Scheduler {
    Scheduler::Sglang(Sglang {
        max_running_requests: numbers.from(1, 8),
        max_prefill_tokens: numbers.from(10, 60),
        chunked_prefill_size: numbers.from(8, 60),
        schedule_conservativeness_thousandths: [0, 100, 1000][numbers.up_to(2) as usize],
    })
}

fn llama_cpp(numbers: &mut Numbers) -> Scheduler {
    Scheduler::LlamaCpp(LlamaCpp {
        n_parallel: numbers.from(1, 4),
        kv_unified: numbers.flag(),
        n_batch: numbers.from(8, 40),
        n_ubatch: numbers.from(4, 16),
    })
}

struct Case {
    server: Server,
    workload: Workload,
    sent: Vec<Sent>,
    clients: Option<usize>,
}

fn case(seed: u64, scheduler: &dyn Fn(&mut Numbers) -> Scheduler) -> Case {
    let mut numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 12345);
    for _ in 0..4 {
        numbers.up_to(1);
    }
    let scheduler = scheduler(&mut numbers);
    let block_size = match scheduler {
        Scheduler::LlamaCpp(_) => 1,
        Scheduler::Vllm(_) | Scheduler::Sglang(_) | Scheduler::TensorRtLlm(_) => numbers.from(1, 6),
    };
    let num_blocks = numbers.from(30, 160) / block_size;
    // SGLang admits by what it expects of outputs, so it runs out of memory only when these are long.
    let longest = if matches!(scheduler, Scheduler::Sglang(_)) {
        80
    } else {
        25
    };
    let is_bursty = numbers.flag();
    let mut now = 0;
    let rows: Vec<TraceRow> = (0..numbers.from(2, 14))
        .map(|idx| {
            if 0 < idx {
                now += numbers.up_to(if is_bursty { 1 } else { 30 });
            }
            let thinking = numbers.up_to(longest);
            TraceRow {
                arrival_seconds: now as f64 / 8.0,
                prompt_tokens: numbers.from(1, 40),
                thinking_tokens: thinking,
                answer_tokens: numbers.from(u64::from(thinking == 0), 15),
            }
        })
        .collect();
    let clients = (numbers.up_to(2) == 0).then(|| numbers.from(1, 5));
    let max_output_tokens = numbers.flag().then(|| numbers.from(1, 50));
    let shared_prefix_tokens = match scheduler {
        Scheduler::Sglang(_) => 0,
        Scheduler::Vllm(_) | Scheduler::TensorRtLlm(_) | Scheduler::LlamaCpp(_) => {
            [0, 0, numbers.from(1, 20)][numbers.up_to(2) as usize]
        }
    };
    let sent = rows
        .iter()
        .map(|row| {
            let output = row.thinking_tokens + row.answer_tokens;
            Sent {
                arrival: row.arrival_seconds,
                prompt: row.prompt_tokens,
                thinking: row.thinking_tokens,
                output,
                max_new: max_output_tokens.unwrap_or(output).max(output),
            }
        })
        .collect();
    Case {
        server: Server {
            scheduler,
            pool: PoolShape::uniform(block_size, num_blocks),
            step_time: step_time(),
            max_model_len: None,
        },
        workload: Workload {
            arrivals: match clients {
                Some(clients) => Arrivals::ClosedLoop { clients },
                None => Arrivals::Trace,
            },
            num_requests: rows.len() as u64,
            lengths: Lengths::Trace(Arc::new(rows)),
            shared_prefix_tokens,
            max_output_tokens,
            seed: 0,
        },
        sent,
        clients: clients.map(|clients| clients as usize),
    }
}

/// Runs a case in slices of a few steps, its books checked after each; gives every request's times.
fn simulate(case: &Case, pool: PoolShape, seed: u64) -> (Vec<Outcome>, u64) {
    let server = Server {
        pool,
        ..case.server.clone()
    };
    let mut simulation =
        Simulation::new(server, &case.workload).unwrap_or_else(|error| panic!("{error:?}"));
    let slice = [1, 3, 20, 100_000][(seed % 4) as usize];
    while !simulation.advance(slice).is_over {
        assert_eq!(simulation.audit(), Ok(()), "seed {seed}");
    }
    assert_eq!(simulation.audit(), Ok(()), "seed {seed}");
    assert!(
        !simulation.is_stopped(),
        "seed {seed}: {:?}",
        simulation.progress()
    );
    let outcomes = simulation.records().map(|record| Outcome {
        first: record.first_token,
        first_answer: record.first_answer_token,
        end: record.end,
        out: record.output_tokens,
        preemptions: record.preemptions,
    });
    (outcomes.collect(), simulation.progress().steps)
}

fn counted_apart(pool: &PoolShape) -> PoolShape {
    let kind = |units, max_blocks| BlockKind { units, max_blocks };
    PoolShape {
        block_size: pool.block_size,
        units: 7 * pool.units,
        kinds: vec![kind(3, None), kind(4, Some(1 << 20))],
        units_per_seq: 0,
    }
}

#[track_caller]
fn check(name: &str, scheduler: &dyn Fn(&mut Numbers) -> Scheduler) -> u64 {
    let (mut preemptions, mut ended) = (0, 0);
    for seed in 0..300 {
        let case = case(seed, scheduler);
        let shortest = case.sent.iter().map(|sent| sent.prompt).min().unwrap_or(0);
        let mut oracle = Oracle::new(
            case.server.scheduler,
            &case.server.pool,
            case.server.step_time.clone(),
            case.workload.shared_prefix_tokens.min(shortest),
        );
        let expected = oracle.run(&case.sent, case.clients);
        let (outcomes, steps) = simulate(&case, case.server.pool.clone(), seed);
        assert_eq!(
            outcomes, expected,
            "{name}, seed {seed}: {:?} {:?}",
            case.server, case.workload
        );
        assert_eq!(steps, oracle.steps, "{name}, seed {seed}");
        // Counted in other units, of two kinds of layers, it is the same pool.
        if !matches!(case.server.scheduler, Scheduler::LlamaCpp(_)) {
            let (same, _) = simulate(&case, counted_apart(&case.server.pool), seed);
            assert_eq!(same, expected, "{name}, seed {seed}, in other units");
        }
        preemptions += outcomes
            .iter()
            .map(|outcome| outcome.preemptions)
            .sum::<u64>();
        ended += outcomes
            .iter()
            .filter(|outcome| outcome.end.is_some())
            .count();
    }
    assert!(
        1000 < ended,
        "{name}: the cases are worth something, {ended} ended"
    );
    println!("{name}: {ended} requests, {preemptions} preemptions");
    preemptions
}

#[test]
fn as_planning_every_step_anew() {
    assert!(200 < check("vLLM", &vllm), "the pool runs out often");
    assert_eq!(
        check("no evict", &tensorrt_llm(CapacityPolicy::GuaranteedNoEvict)),
        0,
        "what is guaranteed is never taken away"
    );
    assert_eq!(
        check("static batch", &tensorrt_llm(CapacityPolicy::StaticBatch)),
        0,
        "what is guaranteed is never taken away"
    );
    assert!(
        200 < check(
            "max utilization",
            &tensorrt_llm(CapacityPolicy::MaxUtilization)
        ),
        "the pool runs out often"
    );
    assert!(25 < check("SGLang", &sglang), "the pool runs out at times");
    assert_eq!(
        check("llama.cpp", &llama_cpp),
        0,
        "it ends requests instead"
    );
}
