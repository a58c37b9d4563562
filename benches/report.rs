//! What `report()` costs for each preset: `cargo xtask bench`, or `cargo bench`.

use divan::{Bencher, black_box};
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
