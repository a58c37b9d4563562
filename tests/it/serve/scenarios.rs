//! A scenario's server: the pool it has is the pool its report tells of.

use std::sync::Arc;

use kvscope::core::fit;
use kvscope::core::presets;
use kvscope::core::scenario::Scenario;
use kvscope::core::serve::arrivals::{Arrivals, Lengths, Workload};
use kvscope::core::serve::metrics::ServeReport;
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::trace::TraceRow;
use kvscope::core::serve::{BlockKind, Server, Simulation};
use kvscope::core::setup::{Request, Setup};
use kvscope::core::speed::SpeedConstants;

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    res
}

fn run(scenario: &Scenario, clients: u64, num_requests: u64) -> ServeReport {
    let setup = Setup::new(scenario);
    let server = Server::of(&setup, &SpeedConstants::default());
    let workload = Workload::of(scenario, Arrivals::ClosedLoop { clients }, num_requests, 1);
    let mut simulation =
        Simulation::new(server, &workload).unwrap_or_else(|error| panic!("{error:?}"));
    while !simulation.advance(10_000).is_over {
        assert_eq!(simulation.audit(), Ok(()));
    }
    assert!(!simulation.is_stopped(), "{:?}", simulation.progress());
    simulation.report()
}

#[test]
fn the_default_on_four_h100() {
    let scenario = scenario(&[]);
    let setup = Setup::new(&scenario);
    let server = Server::of(&setup, &SpeedConstants::default());
    // 33.0 GiB of each GPU in blocks of 16 tokens of 81,920 B.
    assert_eq!(server.pool.units, setup.budget().pool.0 / (16 * 81_920));
    assert_eq!(
        server.pool.kinds,
        [BlockKind {
            units: 1,
            max_blocks: None
        }]
    );
    let Scheduler::Vllm(vllm) = server.scheduler else {
        panic!(
            "without an engine, vLLM's scheduler: {:?}",
            server.scheduler
        );
    };
    assert_eq!(
        (vllm.max_num_batched_tokens, vllm.max_num_seqs),
        (8192, 1 << 10)
    );
    let report = run(&scenario, 50, 100);
    // Fifty fit: nobody waits once taken in, and nothing is done twice.
    assert_eq!((report.preemptions, report.recomputed_tokens), (0, 0));
    assert_eq!((report.static_concurrency, report.peak_running), (89, 50));
}

#[test]
fn a_batch_size_is_what_the_scenario_says() {
    let rows = [
        ("h100-sxm-80gb", "auto", 8192),
        ("a100-sxm-80gb", "auto", 2048),
        ("rtx-4090", "auto", 2048),
        ("h100-sxm-80gb", "512", 512),
    ];
    for (gpu, tokens, expected) in rows {
        let scenario = scenario(&[
            ("engine", "vllm"),
            ("gpu", gpu),
            ("max_num_batched_tokens", tokens),
        ]);
        match Scheduler::of(&Setup::new(&scenario)) {
            Scheduler::Vllm(vllm) => assert_eq!(vllm.max_num_batched_tokens, expected, "{gpu}"),
            other => panic!("{gpu}: {other:?}"),
        }
    }
}

#[test]
fn as_many_fit_as_the_report_says() {
    for preset in presets::all() {
        for engine in ["exact", "vllm", "tensorrt-llm"] {
            let scenario = scenario(&[("model", preset.id()), ("engine", engine)]);
            let setup = Setup::new(&scenario);
            let shape = Server::of(&setup, &SpeedConstants::default()).pool;
            let one = shape.units_of_request(shape.blocks(4812));
            let fits = shape.units / one.max(1);
            let expected =
                fit::max_concurrency(&setup, &Request::of(&scenario), setup.budget().room());
            // Whole blocks, where the report counts tokens; one block stands for none.
            let slack = 1 + expected / 50;
            let has_window = setup
                .stages
                .iter()
                .flatten()
                .any(|group| group.kind.cap().is_some());
            // A start-up test of vLLM sets aside what a step of prompt tokens would take in a window.
            let error = if has_window && engine == "vllm" {
                expected.saturating_sub(fits)
            } else {
                expected.abs_diff(fits)
            };
            assert!(
                error <= slack,
                "{} in {engine}: {fits} fit, {expected} reported, {shape:?}",
                preset.id()
            );
        }
    }
}

#[test]
fn every_engine_serves_the_default() {
    let engines = [
        ("vllm", "4"),
        ("sglang", "4"),
        ("tensorrt-llm", "4"),
        ("llama.cpp", "4"),
        ("exact", "4"),
        ("exact", "1"),
    ];
    for (engine, tensor_parallel_size) in engines {
        let scenario = scenario(&[
            ("engine", engine),
            ("tensor_parallel_size", tensor_parallel_size),
        ]);
        let report = run(&scenario, 200, 300);
        if tensor_parallel_size == "1" {
            // The weights alone do not fit: there is no pool.
            assert_eq!(report.num_refused, 300, "{report:?}");
            continue;
        }
        assert_eq!(report.num_finished, 300, "{engine}: {report:?}");
        assert!(0.0 < report.output_tokens_per_second, "{engine}");
        println!(
            "{engine}: {:.0} tokens/s, {:.1} running of {} that fit, {:.1} % done twice, first token {:.1} s, answer {:.1} s",
            report.output_tokens_per_second,
            report.mean_running,
            report.static_concurrency,
            100.0 * report.recomputed_share,
            report.time_to_first_token.p50,
            report.time_to_first_answer_token.p50,
        );
    }
}

/// Uniform from 80 to 100 % of a length.
fn around(length: u64, state: &mut u64) -> u64 {
    // Xorshift, Marsaglia 2003.
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    length * 8 / 10 + *state % (length * 2 / 10 + 1)
}

#[test]
fn what_a_reservation_costs_and_what_optimism_costs() {
    // Source: rows of 2025-10-29 of `silicon_sample.csv`, ai-dynamo/aiconfigurator@095f58a5: Llama-3.1-70B in fp8 on one H200,
    // 1,024 tokens in and 8,192 out, so many clients; mean seconds to the first token and milliseconds per token. The lengths
    // are 80 to 100 % of the nominal ones. Nothing here was fitted to these rows.
    let rows = [
        ("tensorrt-llm", 64, 79.5, 30.5, 0.1, 0.1),
        ("tensorrt-llm", 128, 369.0, 30.4, 0.1, 0.1),
        // Its preempted requests cost the real server more than they cost here.
        ("vllm", 64, 5.3, 46.3, 0.4, 0.25),
    ];
    for (engine, clients, first, per_token, first_error, per_token_error) in rows {
        let scenario = scenario(&[
            ("model", "llama-3.1-70b"),
            ("weight_format", "fp8"),
            ("kv_cache_dtype", "fp8"),
            ("gpu", "h200-sxm-141gb"),
            ("tensor_parallel_size", "1"),
            ("engine", engine),
        ]);
        let mut state = 88_172_645_463_325_252;
        let rows: Vec<TraceRow> = (0..5 * clients)
            .map(|_| TraceRow {
                arrival_seconds: 0.0,
                prompt_tokens: around(1024, &mut state),
                thinking_tokens: 0,
                answer_tokens: around(8192, &mut state),
            })
            .collect();
        let workload = Workload {
            num_requests: rows.len() as u64,
            lengths: Lengths::Trace(Arc::new(rows)),
            // Each client allows what it gets.
            max_output_tokens: Some(0),
            ..Workload::of(&scenario, Arrivals::ClosedLoop { clients }, 1, 0)
        };
        let server = Server::of(&Setup::new(&scenario), &SpeedConstants::default());
        let mut simulation =
            Simulation::new(server, &workload).unwrap_or_else(|error| panic!("{error:?}"));
        simulation.advance(u64::MAX);
        let report = simulation.report();
        let simulated = (
            report.time_to_first_token.mean,
            1000.0 * report.time_per_output_token.mean,
        );
        println!(
            "{engine}, {clients} clients: first token {first} s real, {:.1} s simulated; per token {per_token} ms real, \
             {:.1} ms simulated; {} preemptions",
            simulated.0, simulated.1, report.preemptions
        );
        assert!(
            (simulated.0 / first - 1.0).abs() <= first_error,
            "{engine}, {clients} clients: {first} s real, {} s simulated",
            simulated.0
        );
        assert!(
            (simulated.1 / per_token - 1.0).abs() <= per_token_error,
            "{engine}, {clients} clients: {per_token} ms real, {} ms simulated",
            simulated.1
        );
    }
}
