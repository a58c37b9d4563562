//! The figures and sentences behind the first view: speed, price, turns, the pool, and what fits.

use expect_test::expect_file;
use kvscope::core::fit::fixes::fixes;
use kvscope::core::fit::hardware::{fewest_gpus, fitting};
use kvscope::core::outlook::outlook;
use kvscope::core::presets;
use kvscope::core::report::report;
use kvscope::core::scenario::{EngineKind, Scenario};
use kvscope::core::serve::metrics::ServeReport;
use kvscope::core::settings::{self, Settings};
use kvscope::view::chart::ChartModel;
use kvscope::view::charts;
use kvscope::view::fleet::runs::{self, NamedRun};
use kvscope::view::fleet::{figures, fit, setting, turns};
use kvscope::view::table::Cell;
use kvscope::view::text::pseudo::Pseudo;
use kvscope::view::text::{ENGLISH, Messages, zh};

use crate::charts::{check_model_layout, snapshot};

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    res
}

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let (res, errors) = settings::from_pairs(&pairs);
    assert_eq!(errors, []);
    res
}

/// The runs of a study to their end, with their names.
fn run(
    scenario: &Scenario,
    settings: &Settings,
    messages: &Messages,
) -> Vec<(String, ServeReport)> {
    let runs = settings.study.runs(scenario, &settings.constants);
    runs.iter()
        .map(|run| {
            let mut simulation = run.start().expect("within bounds");
            simulation.advance(u64::MAX);
            (runs::name(run, messages), simulation.report())
        })
        .collect()
}

fn named(runs: &[(String, ServeReport)]) -> Vec<NamedRun<'_>> {
    runs.iter()
        .map(|(name, report)| NamedRun {
            name: name.clone(),
            report,
        })
        .collect()
}

fn models(scenario: &Scenario, settings: &Settings, messages: &Messages) -> Vec<ChartModel> {
    let (report, outlook) = (report(scenario), outlook(scenario, settings));
    vec![
        charts::speed::model(scenario, &report, &outlook, messages),
        charts::price::model(scenario, &report, &outlook, &settings.prices, messages),
        charts::turns::model(&turns::input(scenario, &settings.plan), messages),
    ]
}

/// The default study on a small pool, which is quick to run and small to draw.
fn small_runs() -> Vec<(String, ServeReport)> {
    let scenario = scenario(&[("engine", "vllm"), ("num_blocks", "3000")]);
    run(&scenario, &settings(&[("serve.requests", "12")]), &ENGLISH)
}

#[test]
fn the_default() {
    let mut all = models(&Scenario::default(), &Settings::default(), &ENGLISH);
    all.push(charts::pool::model(&named(&small_runs()), &ENGLISH));
    for model in &all {
        for width in [340, 900] {
            let path = format!(
                "{}/tests/it/snapshots/fleet-{}-{width}.svg",
                env!("CARGO_MANIFEST_DIR"),
                model.id
            );
            expect_file![path].assert_eq(&snapshot(model, width));
        }
    }
}

#[test]
fn nothing_meets_and_nothing_leaves() {
    let free = [
        ("price.rent", "0"),
        ("price.input", "0"),
        ("price.output", "0"),
    ];
    let plans = [
        vec![],
        vec![("turns.num_turns", "1")],
        vec![("turns.num_turns", "50"), ("turns.tool_calls", "20")],
        free.to_vec(),
        vec![("price.rent", "1000000")],
    ];
    let lengths = [
        ["512", "4000", "300"],
        ["0", "0", "0"],
        ["1M", "1M", "1M"],
        ["1", "0", "1"],
    ];
    let languages = [
        ENGLISH.clone(),
        zh::MESSAGES.clone(),
        Pseudo::Long.messages(),
    ];
    for (idx, preset) in presets::all().iter().enumerate() {
        let [prompt, thinking, answer] = lengths[idx % lengths.len()];
        let engine = EngineKind::ALL[idx % EngineKind::ALL.len()];
        let scenario = scenario(&[
            ("model", preset.id()),
            ("engine", engine.id()),
            ("prompt_tokens", prompt),
            ("thinking_tokens", thinking),
            ("answer_tokens", answer),
            ("num_seqs", ["1", "7", "100000"][idx % 3]),
        ]);
        let settings = settings(&plans[idx % plans.len()]);
        for model in models(&scenario, &settings, &languages[idx % languages.len()]) {
            for width in [240, 333, 640, 1100] {
                check_model_layout(&model, width);
            }
        }
    }
    let runs = small_runs();
    for messages in &languages {
        let model = charts::pool::model(&named(&runs), messages);
        for width in (240..1400).step_by(83) {
            check_model_layout(&model, width);
        }
    }
}

#[test]
fn no_words_are_left_unfilled() {
    let crowded = scenario(&[("num_seqs", "200"), ("tensor_parallel_size", "4")]);
    for messages in [&ENGLISH, &zh::MESSAGES] {
        let mut said = Vec::new();
        for scenario in [&Scenario::default(), &crowded] {
            let report = report(scenario);
            for model in models(scenario, &Settings::default(), messages) {
                said.extend([
                    model.title,
                    model.subtitle,
                    model.summary,
                    model.table.csv(),
                ]);
            }
            said.push(fit::verdict(scenario, &report, messages));
            said.push(fit::fewest(fewest_gpus(scenario).as_ref(), messages));
            said.push(fit::table(&fitting(scenario), messages).csv());
            for fix in fixes(scenario) {
                said.extend([fit::change(&fix, messages), fit::outcome(&fix, messages)]);
            }
            let input = turns::input(scenario, &Settings::default().plan);
            said.push(turns::facts(scenario, &input, messages));
        }
        let small = small_runs();
        let small = named(&small);
        said.push(runs::summary(&small, messages));
        said.push(runs::metrics_table(&small, messages).csv());
        said.push(runs::timeline_table(&small, messages).csv());
        said.push(turns::templates_table(messages).csv());
        for (key, value) in [
            ("serve.clients", "0"),
            ("serve.rate", "x"),
            ("serve.policy", "x"),
            ("a.b", ""),
        ] {
            let (_, errors) = settings::from_pairs(&[(key.to_owned(), value.to_owned())]);
            said.extend(errors.iter().map(|error| setting::error(error, messages)));
        }
        for text in said {
            assert!(
                !text.contains(['{', '}']) && !text.contains("NaN"),
                "{text}"
            );
        }
    }
}

#[test]
fn what_does_not_finish_says_what_to_set() {
    let said = |engine, pairs: &[(&str, &str)]| {
        let scenario = scenario(&[("engine", engine), ("tensor_parallel_size", "2")]);
        let pairs = [pairs, &[("serve.requests", "12")]].concat();
        let runs = run(&scenario, &settings(&pairs), &ENGLISH);
        runs::summary(&named(&runs), &ENGLISH)
    };
    // Of 8,000 tokens of thinking three requests fit, and there are four slots.
    let four = said("llama.cpp", &[]);
    assert!(four.contains("0 of 12 requests finished"), "{four}");
    assert!(
        four.contains("Set \"Running at most\" to 3 or less"),
        "{four}"
    );
    let three = said("llama.cpp", &[("serve.max_num_seqs", "3")]);
    assert_eq!(three.matches("12 of 12").count(), 2, "{three}");
    // Lengths that nobody knows before are reserved up to the longest sequence.
    let drawn = ("serve.lengths", "lognormal");
    let unbounded = said("tensorrt-llm", &[drawn]);
    assert!(
        unbounded.contains("set \"Output that clients allow\" lower"),
        "{unbounded}"
    );
    let bounded = said(
        "tensorrt-llm",
        &[drawn, ("serve.max_output_tokens", "30000")],
    );
    assert_eq!(bounded.matches("12 of 12").count(), 2, "{bounded}");
}

#[test]
fn what_never_runs_has_no_median() {
    for engine in ["vllm", "llama.cpp"] {
        let on_4090 = [
            ("engine", engine),
            ("gpu", "rtx-4090"),
            ("tensor_parallel_size", "1"),
        ];
        let runs = run(
            &scenario(&on_4090),
            &settings(&[("serve.versus", "none")]),
            &ENGLISH,
        );
        let said = runs::summary(&named(&runs), &ENGLISH);
        assert!(
            said.ends_with("requests none ran. 4 requests were refused: weights and overheads leave no memory for a cache."),
            "{said}"
        );
    }
}

#[test]
fn what_the_page_says_of_the_default() {
    let scenario = Scenario::default();
    assert_eq!(
        fit::verdict(&scenario, &report(&scenario), &ENGLISH),
        "It fits on 4 × H100 80 GB: 32.6 GiB to spare on each GPU, and 89 such requests at once by their peak, 160 by the mean over their life."
    );
    let models = models(&scenario, &Settings::default(), &ENGLISH);
    // STRIPPING.md: 912 and 4,912 tokens, 400 and 112 prefilled, 512 and 4,800 found, 0.299 and 1.610 GB.
    assert_eq!(
        models[2].summary,
        "At its last prompt the conversation finds in the cache 512 tokens when thinking is stripped, 4,800 when it is preserved; 400 and 112 are prefilled, of which 300 and 12 were there before. Stripped, every answer leaves 1.409 GB behind that no prompt will reach (1.311 GB of it thinking), and holds 298.8 MB at that prompt; preserved, it holds 1.610 GB."
    );
}

/// What the issue says that 5,000 thinking tokens leave behind at each turn.
#[test]
fn what_thinking_leaves_behind() {
    for (model, dead) in [
        ("qwq-32b", 1_310_720_000),
        ("r1-distill-llama-70b", 1_638_400_000),
    ] {
        let preset = presets::all()
            .iter()
            .find(|preset| preset.id().contains(model));
        let preset = preset.unwrap_or_else(|| panic!("{model} is a preset"));
        let scenario = scenario(&[("model", preset.id()), ("thinking_tokens", "5000")]);
        let input = turns::input(&scenario, &Settings::default().plan);
        let (_, calls) = &input.policies[0];
        assert_eq!(calls[1].dead_thinking_bytes.0, dead, "{model}");
    }
}

#[test]
fn money_and_figures() {
    let numbers = ENGLISH.numbers();
    for (amount, text) in [
        (0.0, "0"),
        (0.04364, "0.0436"),
        (1.25, "1.25"),
        (12.34, "12.3"),
        (1234.5, "1,235"),
        (0.000_000_4, "0.000000"),
        (f64::NAN, "0"),
    ] {
        assert_eq!(figures(amount, numbers), text);
    }
    let model = &models(&Scenario::default(), &Settings::default(), &ENGLISH)[1];
    // 512 prompt tokens at $1.25 and 4,300 at $10 for a million.
    let total = match &model.table.rows[0][4] {
        Cell::Number(total, text) => (*total, text.as_str()),
        other => panic!("{other:?}"),
    };
    assert!(
        (total.0 - 0.043_64).abs() < 1e-9 && total.1 == "$0.0436",
        "{total:?}"
    );
}
