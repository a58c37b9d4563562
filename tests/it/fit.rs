//! Where a scenario fits, and what to change when it does not.

use std::collections::BTreeMap;

use kvscope::core::fit::fixes::{Change, fixes};
use kvscope::core::fit::hardware::{MAX_GPUS, fewest_gpus, fitting, on_gpu};
use kvscope::core::fit::verdict::Verdict;
use kvscope::core::gpus;
use kvscope::core::presets;
use kvscope::core::report::report;
use kvscope::core::scenario::{ParallelSize, Scenario};
use kvscope::core::setup::Setup;

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    res
}

/// Scenarios of every kind of model and engine, some of which fit nowhere.
fn samples() -> Vec<Scenario> {
    let mut res = Vec::new();
    for preset in presets::all() {
        for (engine, thinking, seqs) in [
            ("exact", "4000", "1"),
            ("vllm", "32000", "200"),
            ("sglang", "8000", "20"),
        ] {
            res.push(scenario(&[
                ("model", preset.id()),
                ("engine", engine),
                ("thinking_tokens", thinking),
                ("num_seqs", seqs),
            ]));
        }
    }
    res.push(scenario(&[
        ("num_seqs", "100000"),
        ("thinking_tokens", "1M"),
    ]));
    res.push(scenario(&[
        ("gpu", "rtx-4090"),
        ("tensor_parallel_size", "1"),
    ]));
    res.extend(REFUSED.iter().map(|(pairs, ..)| scenario(pairs)));
    res
}

type Pairs = &'static [(&'static str, &'static str)];

/// Scenarios whose bytes fit and that do not run: what becomes of them, and what is offered.
const REFUSED: &[(Pairs, Verdict, &[&str])] = &[
    // 8 KV heads and 64 query heads on three ranks.
    (
        &[("weight_format", "fp8"), ("tensor_parallel_size", "3")],
        Verdict::Refused,
        &["split", "gpu"],
    ),
    // vLLM does not start: on two H100 the pool holds the request and no sequence of 131,072.
    (
        &[
            ("engine", "vllm"),
            ("weight_format", "fp8"),
            ("gpu", "h100-sxm-80gb"),
            ("tensor_parallel_size", "1"),
            ("thinking_tokens", "100"),
            ("activation_bytes", "0"),
        ],
        Verdict::Refused,
        &["split", "max_model_len", "gpu"],
    ),
    // A request longer than the server takes.
    (
        &[
            ("engine", "vllm"),
            ("tensor_parallel_size", "4"),
            ("max_model_len", "4096"),
        ],
        Verdict::Refused,
        &["max_model_len", "thinking"],
    ),
    // vLLM takes the trained context when nothing is set: 131,072.
    (
        &[
            ("engine", "vllm"),
            ("tensor_parallel_size", "8"),
            ("thinking_tokens", "140000"),
        ],
        Verdict::Refused,
        &["thinking"],
    ),
    // llama.cpp with slots of 1,024 cells, and with a cache that holds one request of two.
    (
        &[
            ("engine", "llama.cpp"),
            ("tensor_parallel_size", "4"),
            ("n_ctx", "4096"),
            ("n_seq_max", "4"),
        ],
        Verdict::Refused,
        &["n_ctx", "thinking"],
    ),
    (
        &[
            ("engine", "llama.cpp"),
            ("tensor_parallel_size", "4"),
            ("num_seqs", "2"),
            ("n_seq_max", "2"),
            ("kv_unified", "true"),
            ("n_ctx", "8192"),
        ],
        Verdict::Waits,
        &["n_ctx", "thinking", "requests"],
    ),
    // Two slots for three.
    (
        &[
            ("engine", "llama.cpp"),
            ("tensor_parallel_size", "4"),
            ("num_seqs", "3"),
            ("n_seq_max", "2"),
        ],
        Verdict::Waits,
        &["requests"],
    ),
    // More stages than layers.
    (
        &[
            ("tensor_parallel_size", "1"),
            ("pipeline_parallel_size", "100"),
        ],
        Verdict::Refused,
        &["split"],
    ),
];

fn kind(change: Change) -> &'static str {
    match change {
        Change::CacheFormat(format) => format.k.id,
        Change::Split { .. } => "split",
        Change::MaxModelLen(_) => "max_model_len",
        Change::Context(_) => "n_ctx",
        Change::Thinking(_) => "thinking",
        Change::Requests(_) => "requests",
        Change::Gpu(_) => "gpu",
    }
}

/// Bytes alone do not make it run, and nothing is offered that engines refuse.
#[test]
fn what_engines_refuse_does_not_fit() {
    for (pairs, verdict, offered) in REFUSED {
        let scenario = scenario(pairs);
        let res = report(&scenario);
        assert!(res.fit.fits, "{pairs:?}: by its bytes");
        assert_eq!(res.fit.verdict, *verdict, "{pairs:?}: {:?}", res.warnings);
        let kinds: Vec<_> = fixes(&scenario)
            .iter()
            .map(|fix| kind(fix.change))
            .collect();
        assert_eq!(kinds, *offered, "{pairs:?}");
    }
}

#[test]
fn the_default_by_accelerator() {
    let list = fitting(&Scenario::default());
    let row = |id: &str| {
        let hardware = list.iter().find(|hardware| hardware.gpu.id == id);
        hardware.map(|hardware| (hardware.num_gpus, hardware.max_concurrency))
    };
    // 141.1 GB of weights in bf16 want one B200, two H200, four H100, sixteen cards of 24 GB (heads divide no twelve).
    assert_eq!(row("h100-sxm-80gb"), Some((4, 89)));
    let by_id: BTreeMap<_, _> = list
        .iter()
        .map(|hardware| (hardware.gpu.id, hardware.num_gpus))
        .collect();
    for (id, num_gpus) in [("h200-sxm-141gb", 2), ("b200", 1), ("rtx-4090", 16)] {
        assert_eq!(by_id.get(id), Some(&num_gpus), "{by_id:?}");
    }
}

#[test]
fn the_list_is_what_each_accelerator_alone_says() {
    for sample in samples() {
        let list = fitting(&sample);
        assert!(list.is_sorted_by(|a, b| a.memory <= b.memory));
        let listed = |id: &str| list.iter().find(|hardware| hardware.gpu.id == id);
        for gpu in gpus::all() {
            let alone = |size| {
                let mut scenario = on_gpu(&sample, gpu);
                scenario.tensor_parallel_size = ParallelSize::Fixed(size);
                report(&scenario)
            };
            let smallest = [1, 2, 4, 8, 16, 32, 64]
                .into_iter()
                .find(|size| alone(*size).fit.verdict == Verdict::Fits);
            let listed = listed(gpu.id);
            assert_eq!(
                listed.map(|hardware| hardware.tensor_parallel_size),
                smallest,
                "{}",
                gpu.id
            );
            if let Some(hardware) = listed {
                let taken = report(&hardware.scenario(&sample));
                assert_eq!(taken.fit.verdict, Verdict::Fits, "{}", gpu.id);
                assert_eq!(hardware.num_gpus, taken.hardware.num_gpus, "{}", gpu.id);
                assert_eq!(hardware.max_concurrency, taken.fit.max_concurrency);
                assert!(0 <= hardware.spare_bytes);
            }
        }
    }
}

#[test]
fn the_fewest_gpus_are_the_fewest_of_all_splits() {
    for sample in samples() {
        let heads = sample.model.config.num_attention_heads;
        let layers = sample.model.config.layers.len() as u32;
        let fits = |ranks: u32, stages: u32| {
            let mut split = sample.clone();
            split.tensor_parallel_size = ParallelSize::Fixed(ranks);
            split.pipeline_parallel_size = stages;
            // The whole report is only asked where the memory is there.
            Setup::new(&split).shortfall() <= 0 && report(&split).fit.verdict == Verdict::Fits
        };
        let found = fewest_gpus(&sample);
        let fewer = found.map_or(MAX_GPUS + 1, |hardware| {
            let (ranks, stages) = (
                hardware.tensor_parallel_size,
                hardware.pipeline_parallel_size,
            );
            assert!(fits(ranks, stages), "{hardware:?}");
            ranks * stages
        });
        for ranks in (1..fewer).filter(|ranks| heads.is_multiple_of(*ranks)) {
            for stages in (1..=layers).take_while(|stages| ranks * stages < fewer) {
                assert!(
                    !fits(ranks, stages),
                    "TP {ranks}, PP {stages} before {found:?}"
                );
            }
        }
    }
}

#[test]
fn two_h100_hold_the_default_and_three_stages_are_not_fewer() {
    let hardware = fewest_gpus(&Scenario::default()).expect("it fits");
    // Two hold the weights and leave 0.2 GiB each, less than the request's 0.73 GiB; three do by stages.
    assert_eq!(
        (
            hardware.tensor_parallel_size,
            hardware.pipeline_parallel_size
        ),
        (1, 3)
    );
}

#[test]
fn nothing_to_mend_where_it_fits() {
    assert_eq!(fixes(&Scenario::default()), []);
}

#[test]
fn what_helps_the_default_with_more_at_once() {
    let crowded = scenario(&[("num_seqs", "120"), ("tensor_parallel_size", "4")]);
    let found: Vec<_> = fixes(&crowded)
        .iter()
        .map(|fix| (fix.change, fix.verdict == Verdict::Fits))
        .collect();
    let kinds: Vec<&str> = found.iter().map(|(change, _)| kind(*change)).collect();
    assert_eq!(kinds, ["fp8", "split", "thinking", "requests", "gpu"]);
    assert!(found.iter().all(|(_, fits)| *fits), "{found:?}");
    assert!(found.contains(&(Change::Requests(89), true)), "{found:?}");
    assert!(
        found.contains(&(
            Change::Split {
                tensor_parallel_size: 8,
                pipeline_parallel_size: 1
            },
            true
        )),
        "{found:?}"
    );
}

/// The verdict beside a change is the one that the page gives once the change is made.
#[test]
fn every_fix_keeps_its_word() {
    for sample in samples() {
        let before = report(&sample);
        let found = fixes(&sample);
        assert!(found.is_empty() || before.fit.verdict != Verdict::Fits);
        for fix in found {
            let after = report(&fix.scenario);
            assert_eq!(after.fit.verdict, fix.verdict, "{:?}", fix.change);
            let has_memory = 0 <= fix.spare_bytes;
            assert_eq!(after.fit.fits, has_memory, "{:?}", fix.change);
            assert!(matches!(fix.verdict, Verdict::Fits | Verdict::Missing));
            assert_eq!(after.fit.max_concurrency, fix.max_concurrency);
            assert_eq!(after.hardware.num_gpus, fix.num_gpus);
            match fix.change {
                Change::CacheFormat(_) => {}
                Change::Split { .. } | Change::Gpu(_) => assert_eq!(fix.verdict, Verdict::Fits),
                Change::MaxModelLen(tokens) => {
                    assert!(sample.context_tokens() <= tokens, "{tokens:?}");
                }
                Change::Context(cells) => {
                    let mut fewer = fix.scenario.clone();
                    fewer.engine.n_ctx = Some(cells.minus(kvscope::core::units::Tokens(1)));
                    let verdict = report(&fewer).fit.verdict;
                    assert_ne!(verdict, Verdict::Fits, "one cell less is enough too");
                }
                Change::Thinking(tokens) => {
                    assert!(tokens < sample.thinking_tokens);
                    let mut longer = fix.scenario.clone();
                    longer.thinking_tokens = tokens.plus(kvscope::core::units::Tokens(1));
                    let is_limited = after.fit.is_limited_by_context;
                    assert!(
                        is_limited || report(&longer).fit.verdict != Verdict::Fits,
                        "one more token fits too"
                    );
                }
                Change::Requests(count) => {
                    assert!(count < sample.num_seqs);
                    let mut more = fix.scenario.clone();
                    more.num_seqs = count + 1;
                    assert_ne!(
                        report(&more).fit.verdict,
                        Verdict::Fits,
                        "one more fits too"
                    );
                }
            }
        }
    }
}
