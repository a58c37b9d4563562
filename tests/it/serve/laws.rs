//! What must hold for every engine, and figures worked by hand.

use std::sync::Arc;

use kvscope::core::gpus;
use kvscope::core::presets;
use kvscope::core::scenario::Scenario;
use kvscope::core::serve::arrivals::{Arrivals, Lengths, Spread, Workload};
use kvscope::core::serve::metrics::{Percentiles, ServeReport};
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::schedulers::llama_cpp::LlamaCpp;
use kvscope::core::serve::schedulers::sglang::Sglang;
use kvscope::core::serve::schedulers::tensorrt_llm::{CapacityPolicy, TensorRtLlm};
use kvscope::core::serve::schedulers::vllm::Vllm;
use kvscope::core::serve::step_time::{Load, StepTime};
use kvscope::core::serve::trace::TraceRow;
use kvscope::core::serve::{BlockKind, Fate, PoolShape, Refusal, Server, Simulation};
use kvscope::core::setup::Setup;
use kvscope::core::speed::{self, Parallel, SpeedConstants, SpeedInputs};
use kvscope::view::fleet::runs;
use kvscope::view::text::ENGLISH;

use super::schedule::step_time;

fn trt(policy: CapacityPolicy) -> Scheduler {
    Scheduler::TensorRtLlm(TensorRtLlm {
        policy,
        ..TensorRtLlm::default()
    })
}

fn schedulers() -> [(&'static str, Scheduler, u64); 6] {
    [
        ("vllm", Scheduler::Vllm(Vllm::default()), 16),
        ("sglang", Scheduler::Sglang(Sglang::default()), 1),
        ("no evict", trt(CapacityPolicy::GuaranteedNoEvict), 32),
        ("max utilization", trt(CapacityPolicy::MaxUtilization), 32),
        ("static batch", trt(CapacityPolicy::StaticBatch), 32),
        (
            "llama.cpp",
            Scheduler::LlamaCpp(LlamaCpp {
                n_parallel: 16,
                kv_unified: false,
                ..LlamaCpp::default()
            }),
            1,
        ),
    ]
}

fn server(scheduler: Scheduler, pool: PoolShape) -> Server {
    Server {
        scheduler,
        pool,
        step_time: step_time(),
        max_model_len: None,
    }
}

fn fixed(prompt: u64, thinking: u64, answer: u64) -> Lengths {
    Lengths::Drawn {
        prompt: Spread::Fixed(prompt),
        thinking: Spread::Fixed(thinking),
        answer: Spread::Fixed(answer),
    }
}

fn closed_loop(clients: u64, num_requests: u64, lengths: Lengths) -> Workload {
    Workload {
        arrivals: Arrivals::ClosedLoop { clients },
        lengths,
        num_requests,
        shared_prefix_tokens: 0,
        max_output_tokens: None,
        seed: 1,
    }
}

/// Runs to the end with the books checked, and gives the report.
#[track_caller]
fn run(server: Server, workload: &Workload) -> ServeReport {
    let mut simulation =
        Simulation::new(server, workload).unwrap_or_else(|error| panic!("{error:?}"));
    while !simulation.advance(97).is_over {
        assert_eq!(simulation.audit(), Ok(()));
    }
    assert_eq!(simulation.audit(), Ok(()));
    assert!(!simulation.is_stopped(), "{:?}", simulation.progress());
    simulation.report()
}

fn spread(seed: u64) -> Workload {
    Workload {
        arrivals: Arrivals::Poisson {
            requests_per_second: 2.0,
        },
        lengths: Lengths::Drawn {
            prompt: Spread::LogNormal {
                median: 50,
                p95: 200,
            },
            thinking: Spread::LogNormal {
                median: 100,
                p95: 400,
            },
            answer: Spread::Fixed(20),
        },
        num_requests: 200,
        shared_prefix_tokens: 0,
        max_output_tokens: None,
        seed,
    }
}

#[test]
fn everyone_is_served_under_pressure() {
    for (name, scheduler, block_size) in schedulers() {
        // Room for eight requests of the mean length; the longest one is about four times that.
        let shape = match scheduler {
            Scheduler::LlamaCpp(_) => PoolShape::uniform(1, 16 * 1400),
            _ => PoolShape::uniform(block_size, 2000 / block_size),
        };
        let report = run(server(scheduler, shape), &spread(7));
        assert_eq!(
            report.num_finished + report.num_refused + report.num_failed,
            200,
            "{name}: {report:?}"
        );
        assert!(190 <= report.num_finished, "{name}: {report:?}");
        for point in &report.timeline {
            let units = point.prompt_units
                + point.thinking_units
                + point.answer_units
                + point.slack_units
                + point.free_units;
            assert_eq!(units, report.pool_units, "{name} at {}", point.seconds);
            assert!(point.cached_units <= point.free_units, "{name}: {point:?}");
        }
        let marks: u64 = report.timeline.iter().map(|point| point.preemptions).sum();
        assert_eq!(
            marks, report.preemptions,
            "{name}: every preemption is marked"
        );
        assert!(report.timeline.len() <= 2000, "{name}: a bounded curve");
        let rising = report.timeline.windows(2);
        assert!(
            rising
                .into_iter()
                .all(|pair| pair[0].seconds <= pair[1].seconds),
            "{name}: time goes on"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for (name, scheduler, block_size) in schedulers() {
        let shape = PoolShape::uniform(block_size, 6000 / block_size);
        let at = |seed| run(server(scheduler, shape.clone()), &spread(seed));
        assert_eq!(at(3), at(3), "{name}");
        assert_ne!(
            at(3).makespan_seconds,
            at(4).makespan_seconds,
            "{name}: another seed is another run"
        );
        // Slices do not matter.
        let mut whole = Simulation::new(server(scheduler, shape.clone()), &spread(3))
            .unwrap_or_else(|error| panic!("{error:?}"));
        whole.advance(u64::MAX);
        let by_slices = at(3);
        let whole = whole.report();
        assert_eq!(
            (whole.makespan_seconds, whole.steps, whole.latency),
            (
                by_slices.makespan_seconds,
                by_slices.steps,
                by_slices.latency
            ),
            "{name}"
        );
    }
}

#[test]
fn one_request_alone_takes_its_steps() {
    // 40 prompt tokens in one step, then one step for each of the 9 further tokens.
    let time = step_time();
    let mut expected = 0.0;
    let mut first = 0.0;
    for step in 0..10_u64 {
        let mut load = Load::default();
        if step == 0 {
            time.add(&mut load, 0, 40, true);
        } else {
            time.add(&mut load, 39 + step, 1, true);
        }
        expected += time.seconds(&load);
        if step == 0 {
            first = expected;
        }
    }
    for (name, scheduler, block_size) in schedulers() {
        let shape = PoolShape::uniform(block_size, 16 * 64 / block_size);
        let report = run(
            server(scheduler, shape),
            &closed_loop(1, 1, fixed(40, 6, 4)),
        );
        assert_eq!(report.steps, 10, "{name}");
        assert_eq!(report.latency.mean, expected, "{name}");
        assert_eq!(report.time_to_first_token.p99, first, "{name}");
        assert_eq!(
            report.computed_tokens, 49,
            "{name}: the last token is not fed back"
        );
        assert_eq!(report.recomputed_tokens, 0, "{name}");
        assert_eq!(report.peak_running, 1, "{name}");
    }
}

#[test]
fn a_preempted_request_needs_all_its_blocks_again() {
    // Source: a study of vLLM 0.26: at blocks of 16, a victim with 3,780 computed tokens holds 237 blocks, and returns only
    // when as many are free, although its next chunk needs fewer.
    let shape = PoolShape::uniform(16, 1000);
    assert_eq!(shape.blocks(3780), 237);
    assert_eq!(shape.units_of_request(shape.blocks(3781)), 237);
    // Two such requests need 474 blocks at their ends; in 300 blocks the later one is preempted and comes back when the
    // first has finished. With the gate it starts over once; without, it comes back too early and is preempted again.
    let rows = [0.0, 0.001].map(|arrival_seconds| TraceRow {
        arrival_seconds,
        prompt_tokens: 1000,
        thinking_tokens: 2700,
        answer_tokens: 81,
    });
    let run_with = |reserve_full_isl| {
        let vllm = Vllm {
            reserve_full_isl,
            max_num_batched_tokens: 993,
            enable_prefix_caching: false,
            ..Vllm::default()
        };
        let workload = Workload {
            arrivals: Arrivals::Trace,
            lengths: Lengths::Trace(Arc::new(rows.to_vec())),
            num_requests: 2,
            shared_prefix_tokens: 0,
            max_output_tokens: None,
            seed: 0,
        };
        run(
            server(Scheduler::Vllm(vllm), PoolShape::uniform(16, 300)),
            &workload,
        )
    };
    let (gated, eager) = (run_with(true), run_with(false));
    assert_eq!(gated.preemptions, 1, "{gated:?}");
    assert!(1 < eager.preemptions, "{eager:?}");
    assert_eq!((gated.num_finished, eager.num_finished), (2, 2));
    assert!(
        gated.recomputed_tokens < eager.recomputed_tokens,
        "{gated:?} {eager:?}"
    );
}

#[test]
fn longer_thinking_fewer_at_once() {
    for (name, scheduler, block_size) in schedulers() {
        if matches!(scheduler, Scheduler::LlamaCpp(_)) {
            continue;
        }
        let shape = PoolShape::uniform(block_size, 32_000 / block_size);
        let at = |thinking| {
            run(
                server(scheduler, shape.clone()),
                &closed_loop(100, 300, fixed(100, thinking, 50)),
            )
        };
        let (short, long) = (at(400), at(3200));
        assert!(
            long.mean_running < short.mean_running / 2.0,
            "{name}: {} {}",
            long.mean_running,
            short.mean_running
        );
        assert!(
            short.time_to_first_token.p50 < long.time_to_first_token.p50,
            "{name}: the queue grows"
        );
        // 32,000 / 3,350.
        assert_eq!(long.static_concurrency, 9, "{name}");
        assert!(9 <= long.peak_running, "{name}: {}", long.peak_running);
        if matches!(scheduler, Scheduler::TensorRtLlm(trt) if trt.policy != CapacityPolicy::MaxUtilization)
        {
            // What is reserved by the peak is exactly the static estimate.
            assert_eq!(long.peak_running, 9, "{name}");
        }
    }
}

#[test]
fn optimism_runs_more_at_once_and_does_work_twice() {
    let lengths = Lengths::Drawn {
        prompt: Spread::Fixed(200),
        thinking: Spread::LogNormal {
            median: 2000,
            p95: 4000,
        },
        answer: Spread::Fixed(100),
    };
    let at = |scheduler, block_size| {
        run(
            server(
                scheduler,
                PoolShape::uniform(block_size, 32_000 / block_size),
            ),
            &closed_loop(60, 200, lengths.clone()),
        )
    };
    let reserved = at(trt(CapacityPolicy::GuaranteedNoEvict), 32);
    let by_ratio = at(Scheduler::Sglang(Sglang::default()), 1);
    let optimistic = at(Scheduler::Vllm(Vllm::default()), 16);
    let utilized = at(trt(CapacityPolicy::MaxUtilization), 32);
    assert_eq!((reserved.preemptions, reserved.recomputed_tokens), (0, 0));
    for other in [&by_ratio, &optimistic, &utilized] {
        assert!(reserved.mean_running < other.mean_running, "{other:?}");
        // Waiting for a reservation delays the first token; being preempted delays the others.
        assert!(
            other.time_to_first_token.p50 < reserved.time_to_first_token.p50,
            "{other:?}"
        );
        assert!(
            reserved.time_per_output_token.p50 < other.time_per_output_token.p50,
            "{other:?}"
        );
    }
    for other in [&optimistic, &utilized] {
        assert!(0.02 < other.recomputed_share, "{other:?}");
    }
    assert!(
        by_ratio.preemptions < optimistic.preemptions,
        "{by_ratio:?}"
    );
}

#[test]
fn sglang_takes_from_the_one_that_has_produced_least() {
    // Three run; memory for two more rounds only. The one with the fewest outputs goes, of two such the one with the longest
    // prompt: (outputs, prompt) = (10, 10), (1, 10), (1, 50) are taken from in the order third, second; the first stays.
    let row = |arrival_seconds, prompt_tokens| TraceRow {
        arrival_seconds,
        prompt_tokens,
        thinking_tokens: 40,
        answer_tokens: 1,
    };
    // Alone the first decodes nine tokens before the others come: one step of 10 tokens takes about 0.02 s.
    let workload = Workload {
        arrivals: Arrivals::Trace,
        lengths: Lengths::Trace(Arc::new(vec![row(0.0, 10), row(0.3, 10), row(0.3, 50)])),
        num_requests: 3,
        shared_prefix_tokens: 0,
        max_output_tokens: None,
        seed: 0,
    };
    let sglang = Sglang {
        schedule_conservativeness_thousandths: 0,
        ..Sglang::default()
    };
    let mut simulation = Simulation::new(
        server(Scheduler::Sglang(sglang), PoolShape::uniform(1, 165)),
        &workload,
    )
    .unwrap_or_else(|error| panic!("{error:?}"));
    while !simulation.advance(1).is_over {
        assert_eq!(simulation.audit(), Ok(()));
    }
    let records: Vec<_> = simulation.records().collect();
    let preemptions: Vec<u64> = records.iter().map(|record| record.preemptions).collect();
    assert_eq!(preemptions, [0, 0, 1], "{records:?}");
    assert!(
        records.iter().all(|record| record.fate == Fate::Finished),
        "{records:?}"
    );
}

#[test]
fn what_can_never_run_is_refused() {
    let refusal = |scheduler, pool: PoolShape, lengths, max_model_len| {
        let server = Server {
            max_model_len,
            ..server(scheduler, pool)
        };
        let report = run(server, &closed_loop(1, 3, lengths));
        assert_eq!(report.num_refused, 3, "{report:?}");
        report.first_refusal
    };
    let vllm = Scheduler::Vllm(Vllm::default());
    // 161 tokens keep 160 rows: ten blocks, one more than there are. With one token less it runs.
    assert_eq!(
        refusal(vllm, PoolShape::uniform(16, 9), fixed(100, 0, 61), None),
        Some(Refusal::LargerThanPool {
            needed_units: 10,
            units: 9
        })
    );
    let fits = run(
        server(vllm, PoolShape::uniform(16, 9)),
        &closed_loop(1, 3, fixed(100, 0, 45)),
    );
    assert_eq!((fits.num_finished, fits.peak_occupancy), (3, 1.0));
    assert_eq!(
        refusal(
            vllm,
            PoolShape::uniform(16, 99),
            fixed(100, 0, 61),
            Some(100)
        ),
        Some(Refusal::PromptTooLong {
            prompt_tokens: 100,
            max_tokens: 100
        })
    );
    let llama = Scheduler::LlamaCpp(LlamaCpp {
        n_parallel: 2,
        kv_unified: false,
        ..LlamaCpp::default()
    });
    assert_eq!(
        refusal(llama, PoolShape::uniform(1, 200), fixed(100, 0, 1), None),
        Some(Refusal::PromptTooLong {
            prompt_tokens: 100,
            max_tokens: 100
        })
    );
    // What is asked for would fit, what is allowed would not.
    let report = run(
        server(
            Scheduler::TensorRtLlm(TensorRtLlm::default()),
            PoolShape::uniform(32, 9),
        ),
        &Workload {
            max_output_tokens: Some(200),
            ..closed_loop(1, 3, fixed(100, 0, 61))
        },
    );
    assert_eq!(
        (report.num_refused, report.first_refusal),
        (
            3,
            Some(Refusal::WindowLargerThanPool {
                needed_units: 10,
                units: 9
            })
        )
    );
    let whole_prompts = Scheduler::TensorRtLlm(TensorRtLlm {
        enable_chunked_context: false,
        max_num_tokens: 64,
        ..TensorRtLlm::default()
    });
    assert_eq!(
        refusal(
            whole_prompts,
            PoolShape::uniform(32, 99),
            fixed(100, 0, 1),
            None
        ),
        Some(Refusal::PromptAboveStep {
            tokens: 100,
            max_tokens: 64
        })
    );
}

#[test]
fn llama_cpp_cuts_at_the_slot_and_ends_all_when_cells_run_out() {
    let llama = |kv_unified| {
        Scheduler::LlamaCpp(LlamaCpp {
            n_parallel: 2,
            kv_unified,
            ..LlamaCpp::default()
        })
    };
    // 150 cells for each slot: 50 of the 100 output tokens are sampled.
    let split = run(
        server(llama(false), PoolShape::uniform(1, 300)),
        &closed_loop(2, 4, fixed(100, 60, 40)),
    );
    assert_eq!((split.num_finished, split.num_truncated), (4, 4));
    assert_eq!(
        split.time_to_first_answer_token,
        Percentiles::default(),
        "{split:?}"
    );
    // Together the two need 398 cells of 300: both are ended, and the next two as well.
    let unified = run(
        server(llama(true), PoolShape::uniform(1, 300)),
        &closed_loop(2, 4, fixed(100, 60, 40)),
    );
    assert_eq!((unified.num_finished, unified.num_failed), (0, 4));
    let wide = run(
        server(llama(true), PoolShape::uniform(1, 398)),
        &closed_loop(2, 4, fixed(100, 60, 40)),
    );
    assert_eq!((wide.num_finished, wide.num_truncated), (4, 0));
}

#[test]
fn a_shared_prefix_is_stored_and_computed_once() {
    for (name, scheduler, block_size) in schedulers() {
        if matches!(scheduler, Scheduler::LlamaCpp(_)) {
            continue;
        }
        let shape = PoolShape::uniform(block_size, 32_000 / block_size);
        let at = |shared_prefix_tokens| {
            let workload = Workload {
                shared_prefix_tokens,
                ..closed_loop(8, 40, fixed(1000, 50, 14))
            };
            run(server(scheduler, shape.clone()), &workload)
        };
        let (apart, shared) = (at(0), at(960));
        assert_eq!(apart.reused_tokens, 0, "{name}");
        assert_eq!(apart.computed_tokens, 40 * 1063, "{name}");
        // Whoever is admitted beside the first to compute the prefix computes it too. But TensorRT-LLM makes others wait,
        // unless its batch is static, and vLLM's others find it in the same step.
        let most = if ["sglang", "static batch"].contains(&name) {
            8
        } else {
            1
        };
        let (least_found, most_found) = ((40 - most) * 960, 39 * 960);
        assert!(
            least_found <= shared.reused_tokens && shared.reused_tokens <= most_found,
            "{name}: {} found",
            shared.reused_tokens
        );
        assert_eq!(
            shared.computed_tokens + shared.reused_tokens,
            40 * 1063,
            "{name}"
        );
        assert!(shared.mean_occupancy < apart.mean_occupancy, "{name}");
    }
}

#[test]
fn windows_and_states_take_what_their_shape_says() {
    let shape = PoolShape {
        block_size: 16,
        units: 1 << 20,
        kinds: vec![
            BlockKind {
                units: 100,
                max_blocks: None,
            },
            BlockKind {
                units: 50,
                max_blocks: Some(3),
            },
        ],
        units_per_seq: 7,
    };
    let rows = [(0, 7), (1, 157), (48, 457), (49, 557), (160, 1157)];
    for (tokens, units) in rows {
        assert_eq!(
            shape.units_of_request(shape.blocks(tokens)),
            units,
            "{tokens} tokens"
        );
    }
    for (name, scheduler, _) in schedulers() {
        if matches!(scheduler, Scheduler::LlamaCpp(_)) {
            continue;
        }
        // Five requests of 160 tokens, at 1,157 units each, and not a sixth.
        let shape = PoolShape {
            units: 6 * 1157 - 1,
            ..shape.clone()
        };
        let report = run(
            server(scheduler, shape),
            &closed_loop(20, 60, fixed(100, 50, 11)),
        );
        assert_eq!(report.num_finished, 60, "{name}");
        assert_eq!(report.static_concurrency, 5, "{name}");
    }
}

#[test]
fn a_step_is_the_speed_estimates() {
    for preset in presets::all() {
        let mut scenario = Scenario::default();
        scenario.set("model", preset.id()).expect("a preset");
        let setup = Setup::new(&scenario);
        for (seqs, context) in [(1, 1), (1, 5000), (16, 100), (64, 3000), (200, 40_000)] {
            let inputs = SpeedInputs::new(
                setup.model,
                &setup.weight_format(),
                setup.formats,
                gpus::default_gpu(),
                Parallel::tensor(4),
                seqs,
            );
            let constants = SpeedConstants::default();
            let time = StepTime::new(&inputs, &constants);
            let mut load = Load::default();
            for _ in 0..seqs {
                time.add(&mut load, context - 1, 1, true);
            }
            let expected = speed::decode_step_seconds(&inputs, &constants, context).likely;
            let seconds = time.seconds(&load);
            assert!(
                (seconds / expected - 1.0).abs() < 1e-3,
                "{}: {seqs} at {context}: {seconds} {expected}",
                preset.id()
            );
        }
    }
}

#[test]
fn arrivals_and_lengths_are_as_asked() {
    let workload = Workload {
        num_requests: 5000,
        ..spread(11)
    };
    let mut simulation = Simulation::new(
        server(
            Scheduler::Vllm(Vllm::default()),
            PoolShape::uniform(16, 1_000_000),
        ),
        &workload,
    )
    .unwrap_or_else(|error| panic!("{error:?}"));
    simulation.advance(u64::MAX);
    let records: Vec<_> = simulation.records().collect();
    assert_eq!(records.len(), 5000);
    // Two a second: within 3 standard errors of 1.4 %.
    let span = records.last().map_or(0.0, |record| record.arrival);
    assert!((span / 2500.0 - 1.0).abs() < 0.042, "{span}");
    let prompts = Percentiles::of(
        records
            .iter()
            .map(|record| record.prompt_tokens as f64)
            .collect(),
    );
    assert!((prompts.p50 / 50.0 - 1.0).abs() < 0.05, "{prompts:?}");
    assert!((prompts.p95 / 200.0 - 1.0).abs() < 0.08, "{prompts:?}");
}

#[test]
fn percentiles_by_nearest_rank() {
    let of = |count: u32| Percentiles::of((1..=count).rev().map(f64::from).collect());
    let rows = [
        (1, [1.0, 1.0, 1.0, 1.0, 1.0]),
        (2, [1.5, 1.0, 2.0, 2.0, 2.0]),
        (100, [50.5, 50.0, 90.0, 95.0, 99.0]),
        (101, [51.0, 51.0, 91.0, 96.0, 100.0]),
    ];
    for (count, expected) in rows {
        let res = of(count);
        assert_eq!(
            [res.mean, res.p50, res.p90, res.p95, res.p99],
            expected,
            "{count}"
        );
    }
    assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
}

#[test]
fn limits_have_a_message() {
    let vllm = || {
        server(
            Scheduler::Vllm(Vllm::default()),
            PoolShape::uniform(16, 100),
        )
    };
    let base = closed_loop(1, 10, fixed(10, 10, 10));
    let rows = [
        (
            Workload {
                num_requests: 100_001,
                ..base.clone()
            },
            "num_requests is 100,001, but must be from 1 to 100,000",
        ),
        (
            Workload {
                arrivals: Arrivals::ClosedLoop { clients: 0 },
                ..base.clone()
            },
            "clients is 0, but must be from 1 to 100,000",
        ),
        (
            Workload {
                arrivals: Arrivals::Poisson {
                    requests_per_second: f64::NAN,
                },
                ..base.clone()
            },
            "requests_per_second is NaN, but must be from 0.000001 to 1000000",
        ),
        (
            closed_loop(1, 10, fixed(0, 1, 1)),
            "prompt_tokens is 0, but must be from 1 to 1,048,576",
        ),
        (
            closed_loop(1, 10, fixed(1, 0, 0)),
            "requests have neither thinking nor answer tokens; give at least one output token",
        ),
        (
            closed_loop(1, 100_000, fixed(1 << 20, 1, 1)),
            "after 1,907 requests there are more than 2,000,000,000 tokens, the most that are simulated; \
             take fewer or shorter requests",
        ),
        (
            Workload {
                lengths: Lengths::Drawn {
                    prompt: Spread::LogNormal { median: 9, p95: 8 },
                    thinking: Spread::Fixed(1),
                    answer: Spread::Fixed(1),
                },
                ..base.clone()
            },
            "the 95th percentile of prompt_tokens is 8, below the median of 9; exchange them",
        ),
        (
            Workload {
                arrivals: Arrivals::Trace,
                ..base.clone()
            },
            "there is no trace, or it has no rows; a trace has a line for each request",
        ),
    ];
    for (workload, message) in rows {
        let error = Simulation::new(vllm(), &workload).expect_err(message);
        assert_eq!(runs::error(&error, &ENGLISH), message);
    }
}
