//! What `report()` costs for each preset: `cargo xtask bench`, or `cargo bench`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use kvscope::core::fit::fixes::fixes;
use kvscope::core::fit::hardware::{fewest_gpus, fitting};
use kvscope::core::presets;
use kvscope::core::report::report;
use kvscope::core::scenario::Scenario;

fn main() {
    divan::main();
}

fn ids() -> impl Iterator<Item = &'static str> {
    presets::all().iter().map(|preset| preset.id())
}

/// The default scenario with another model. A model is read from its config once, before.
#[divan::bench(args = ids())]
fn preset(bencher: Bencher<'_, '_>, id: &str) {
    let mut scenario = Scenario::default();
    scenario.set("model", id).expect("it is a preset");
    bencher.bench(|| report(black_box(&scenario)));
}

/// Every preset once on each engine: divided by their number, the mean of one report.
///
/// What limits it: about half is the exact searches (longest thinking, requests at once), each step of which adds up the
/// layers; a fifth is seconds summed over the decode steps; the rest is counting weights and allocating what is handed out.
#[divan::bench(args = ["exact", "vllm", "sglang", "tensorrt-llm", "llama.cpp"])]
fn every_preset(bencher: Bencher<'_, '_>, engine: &str) {
    let scenarios: Vec<Scenario> = ids()
        .map(|id| {
            let mut scenario = Scenario::default();
            for (key, value) in [("engine", engine), ("model", id)] {
                scenario.set(key, value).expect("a value of the field");
            }
            scenario
        })
        .collect();
    bencher
        .counter(ItemsCount::new(scenarios.len()))
        .bench(|| black_box(&scenarios).iter().map(report).for_each(drop));
}

/// What would help a scenario that does not fit, and on what it would fit: what a panel works out.
#[divan::bench(args = ["exact", "vllm", "sglang", "tensorrt-llm", "llama.cpp"])]
fn fit_panel(bencher: Bencher<'_, '_>, engine: &str) {
    let mut scenario = Scenario::default();
    for (key, value) in [("engine", engine), ("num_seqs", "100000")] {
        scenario.set(key, value).expect("a value of the field");
    }
    bencher.bench(|| {
        let scenario = black_box(&scenario);
        (fixes(scenario), fitting(scenario), fewest_gpus(scenario))
    });
}
