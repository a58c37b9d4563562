//! The hand-written types of the JavaScript API against what serde writes: the same keys, none more, none less.

use std::collections::BTreeSet;

use kvscope::core::import::files::{FileReader, join_files};
use kvscope::core::report::report;
use kvscope::core::scenario::{FIELDS, Scenario};
use kvscope::core::settings::{self, Settings};
use serde_json::{Value, json};

const TYPES: &str = include_str!("../../src/app/api.d.ts");

/// Scenarios that together have every key: all kinds of layers, and every engine.
const SCENARIOS: &[&[(&str, &str)]] = &[
    &[],
    &[("model", "gpt-oss-120b")],
    &[("model", "deepseek-v4-pro")],
    &[("model", "qwen3.5-27b"), ("engine", "vllm")],
    &[("engine", "sglang")],
    &[("engine", "tensorrt-llm")],
    &[("engine", "llama.cpp")],
];

fn scenarios() -> impl Iterator<Item = Scenario> {
    SCENARIOS.iter().map(|pairs| {
        let mut res = Scenario::default();
        for (key, text) in *pairs {
            res.set(key, text).expect("it is a value of the field");
        }
        res
    })
}

/// The keys of all objects in `value`, but for those of notes, whose keys are their own.
fn keys(value: &Value, res: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                res.insert(key.clone());
                if !["warnings", "assumptions"].contains(&key.as_str()) {
                    keys(value, res);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, res)),
        _ => {}
    }
}

/// The keys that the types between two lines declare.
fn declared(from: &str, to: &str) -> BTreeSet<String> {
    let start = TYPES.find(from).expect("it is declared");
    let end = TYPES[start..].find(to).expect("it is declared after it") + start;
    let code = TYPES[start..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with(['/', '*']));
    let words = code.flat_map(|line| line.split([' ', '{', ';']));
    let keys = words.filter_map(|word| word.strip_suffix(':'));
    keys.map(|key| key.trim_end_matches('?').to_owned())
        .collect()
}

#[track_caller]
fn check(
    what: &str,
    mut declared: BTreeSet<String>,
    written: &BTreeSet<String>,
    only_declared: &[&str],
) {
    let missing: Vec<&String> = written.difference(&declared).collect();
    assert!(
        missing.is_empty(),
        "api.d.ts does not declare {missing:?} of {what}"
    );
    declared.retain(|key| !only_declared.contains(&key.as_str()));
    let extra: Vec<&String> = declared.difference(written).collect();
    assert!(
        extra.is_empty(),
        "api.d.ts declares {extra:?} of {what}, which nothing writes"
    );
}

#[test]
fn reports() {
    let mut written = BTreeSet::new();
    for scenario in scenarios() {
        keys(
            &serde_json::to_value(report(&scenario)).expect("it is plain data"),
            &mut written,
        );
    }
    let declared = declared("export interface Report ", "/** A warning or an assumption");
    // The page's half of the API adds it.
    check("a report", declared, &written, &["errors"]);
}

#[test]
fn scenario_fields() {
    let written: BTreeSet<String> = FIELDS.iter().map(|field| field.key.to_owned()).collect();
    let declared = declared(
        "export interface Scenario ",
        "/** Everything about a scenario. */",
    );
    check(
        "a scenario",
        declared,
        &written,
        &[
            "kind",
            "config",
            "name",
            "dims",
            "preset",
            "gguf",
            "weight_bytes",
            "k",
            "v",
        ],
    );
}

#[test]
fn what_files_say() {
    let text = "INFO [kv_cache_utils.py:715] GPU KV cache size: 43,296 tokens\n";
    let mut log = FileReader::new("", text.len() as u64);
    log.feed(text.as_bytes());
    let text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)";
    let mut smi = FileReader::new("", text.len() as u64);
    smi.feed(text.as_bytes());
    let read = join_files(vec![log, smi], &Scenario::default());
    for (name, value, end, is_ours) in [
        ("FileReading", json!(read.files), "/** A printed", &[][..]),
        // The page's half of the API adds the sentence.
        (
            "Comparison",
            json!(read.comparison),
            "/** Why a printed",
            &["message"],
        ),
        ("Device", json!(read.devices), "/** Something", &[]),
        ("ImportNote", json!(read.notes), "/** What there", &[]),
    ] {
        let mut written = BTreeSet::new();
        keys(&value, &mut written);
        written.remove("code");
        let mut declared = declared(&format!("export interface {name} "), end);
        declared.remove("code");
        check(name, declared, &written, is_ours);
    }
}

/// `<kv-scope>` takes every field of a scenario as an attribute.
#[test]
fn attributes_of_the_element() {
    let element = include_str!("../../www/embed.js");
    let (_, rest) = element
        .split_once("const FIELDS =")
        .expect("it is declared");
    let listed = rest.split('\'').nth(1).expect("it is a text");
    let fields: Vec<&str> = FIELDS.iter().map(|field| field.key).collect();
    assert_eq!(listed, fields.join(" "));
}

/// It keeps room for every part of the page, and its documentation names them.
#[test]
fn parts_of_the_element() {
    let (_, rest) = include_str!("../../src/app/options.rs")
        .split_once("PARTS: &[&str] = &[")
        .expect("it is declared");
    let (list, _) = rest.split_once("];").expect("it ends");
    let parts: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    let (_, rest) = include_str!("../../www/embed.js")
        .split_once("const HEIGHTS = {")
        .expect("it is declared");
    let (heights, _) = rest.split_once('}').expect("it ends");
    let rooms: Vec<&str> = heights
        .split(',')
        .filter_map(|room| Some(room.split_once(':')?.0.trim()))
        .collect();
    assert_eq!(rooms, parts);
    let named = format!("`{}`", parts.join("`, `"));
    assert!(
        include_str!("../../docs/embedding.md").contains(&named),
        "{named}"
    );
}

#[test]
fn simulations() {
    let settings = Settings::default();
    let mut written = BTreeSet::new();
    for run in settings
        .study
        .runs(&Scenario::default(), &settings.constants)
    {
        let mut simulation = run.start().expect("within bounds");
        simulation.advance(2000);
        let report = serde_json::to_value(simulation.report()).expect("it is plain data");
        keys(&report, &mut written);
    }
    let declared = declared("export interface ServeReport ", "// End of the reports.");
    check("a simulation", declared, &written, &["reason"]);
}

#[test]
fn simulation_settings() {
    let keys = settings::all().filter_map(|setting| setting.key.strip_prefix("serve."));
    let written: BTreeSet<String> = keys.map(str::to_owned).collect();
    let declared = declared(
        "export interface SimulationSettings ",
        "/** What the simulator tells. */",
    );
    check("the settings of a simulation", declared, &written, &[]);
}
