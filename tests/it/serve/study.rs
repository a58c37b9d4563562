//! What a reader asks of the simulator.

use kvscope::core::scenario::Scenario;
use kvscope::core::serve::ServeError;
use kvscope::core::serve::arrivals::{Arrivals, Lengths};
use kvscope::core::serve::metrics::ServeReport;
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::study::{PolicyChoice, Run, Versus};
use kvscope::core::settings::{self, Settings};
use kvscope::core::setup::Setup;
use kvscope::core::speed::SpeedConstants;

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let (res, errors) = settings::from_pairs(&pairs);
    assert_eq!(errors, []);
    res
}

fn runs(pairs: &[(&str, &str)]) -> Vec<Run> {
    let settings = settings(pairs);
    settings
        .study
        .runs(&Scenario::default(), &SpeedConstants::default())
}

fn report(run: &Run) -> ServeReport {
    let mut simulation = run.start().unwrap_or_else(|error| panic!("{error:?}"));
    assert!(simulation.advance(u64::MAX).is_over);
    assert_eq!(simulation.audit(), Ok(()));
    simulation.report()
}

#[test]
fn thinking_doubles_on_the_same_gpus_under_the_same_clients() {
    let both = runs(&[]);
    let [first, second] = both.as_slice() else {
        panic!("two runs: {}", both.len());
    };
    // Three quarters of the 89 that fit.
    assert_eq!(
        first.workload.arrivals,
        Arrivals::ClosedLoop { clients: 66 }
    );
    assert_eq!(second.workload.arrivals, first.workload.arrivals);
    assert_eq!(second.workload.num_requests, first.workload.num_requests);
    assert_eq!(second.scenario.thinking_tokens.0, 8000);
    assert_eq!(second.server.pool, first.server.pool);
    assert_eq!(Setup::new(&second.scenario).tensor_parallel_size, 4);
    let (first, second) = (report(first), report(second));
    assert_eq!((first.preemptions, first.static_concurrency), (0, 89));
    assert!(0 < second.preemptions && 0 < second.recomputed_tokens);
}

#[test]
fn every_policy_runs_every_request() {
    for policy in PolicyChoice::ALL {
        for arrivals in ["closed", "poisson"] {
            let text = Versus::Policy(policy).text();
            let both = runs(&[
                ("serve.versus", &text),
                ("serve.arrivals", arrivals),
                ("serve.lengths", "lognormal"),
                ("serve.requests", "16"),
            ]);
            assert_eq!(both.len(), 2);
            for run in &both {
                let report = report(run);
                assert_eq!(report.num_requests, 16, "{policy:?}");
                let over = report.num_finished + report.num_failed + report.num_refused;
                assert_eq!(over, 16, "{policy:?}");
            }
        }
    }
}

#[test]
fn what_is_set_is_what_runs() {
    let both = runs(&[
        ("serve.versus", "gpu:b200"),
        ("serve.policy", "max_utilization"),
        ("serve.max_num_seqs", "12"),
        ("serve.max_num_batched_tokens", "4096"),
        ("serve.clients", "30"),
        ("serve.requests", "40"),
        ("serve.seed", "7"),
        ("serve.max_output_tokens", "9000"),
    ]);
    for run in &both {
        let Scheduler::TensorRtLlm(scheduler) = run.server.scheduler else {
            panic!("{:?}", run.server.scheduler);
        };
        assert_eq!(
            (scheduler.max_batch_size, scheduler.max_num_tokens),
            (12, 4096)
        );
        assert_eq!(scheduler.policy.id(), "max_utilization");
        assert_eq!((run.workload.num_requests, run.workload.seed), (40, 7));
        assert_eq!(run.workload.max_output_tokens, Some(9000));
        assert!(report(run).peak_running <= 12);
    }
    assert_eq!(both[1].scenario.gpu.id, "b200");
    assert_eq!(both[0].scenario.gpu.id, "h100-sxm-80gb");
}

#[test]
fn a_trace_runs_as_it_says_and_longer() {
    let both = runs(&[
        ("serve.trace", "0:100:200:10;2:50:0:20;2:60:300:30"),
        ("serve.arrivals", "trace"),
        ("serve.lengths", "trace"),
        ("serve.versus", "thinking:4"),
    ]);
    let thinking = |run: &Run| match &run.workload.lengths {
        Lengths::Trace(rows) => rows
            .iter()
            .map(|row| row.thinking_tokens)
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(thinking(&both[0]), [200, 0, 300]);
    assert_eq!(thinking(&both[1]), [800, 0, 1200]);
    assert_eq!(report(&both[1]).num_finished, 3);
}

/// Rules are compared on the same GPUs, whichever comes first.
#[test]
fn other_rules_keep_the_gpus() {
    for policy in PolicyChoice::ALL {
        for versus in ["none", "policy:sglang"] {
            let pairs = [("serve.policy", policy.id()), ("serve.versus", versus)];
            for run in runs(&pairs) {
                let setup = Setup::new(&run.scenario);
                assert_eq!(setup.tensor_parallel_size, 4, "{pairs:?}");
            }
        }
    }
}

/// Thinking that a trace does not tell cannot be multiplied: the run beside would be the same again.
#[test]
fn a_trace_without_thinking_runs_alone() {
    let trace = [
        ("serve.trace", "0:100:0:210;2:50:0:20"),
        ("serve.arrivals", "trace"),
    ];
    let beside = |versus| runs(&[trace[0], trace[1], ("serve.versus", versus)]).len();
    assert_eq!(beside("thinking:2"), 1);
    assert_eq!(beside("policy:max_utilization"), 2);
    assert_eq!(runs(&[("serve.versus", "thinking:2")]).len(), 2);
}

#[test]
fn without_a_trace_there_is_a_reason() {
    let both = runs(&[("serve.lengths", "trace"), ("serve.versus", "none")]);
    assert_eq!(both.len(), 1);
    let error = both[0].start().expect_err("no trace");
    assert_eq!(error, ServeError::TraceEmpty);
}

#[test]
fn a_request_larger_than_the_pool_is_refused_with_a_reason() {
    let mut scenario = Scenario::default();
    scenario.set("thinking_tokens", "120000").expect("a value");
    scenario.set("tensor_parallel_size", "2").expect("a value");
    let study = Settings::default().study;
    for run in study.runs(&scenario, &SpeedConstants::default()) {
        let report = report(&run);
        assert!(0 < report.num_refused && report.first_refusal.is_some());
    }
}
