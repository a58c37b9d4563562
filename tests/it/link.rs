//! Links: round trips, golden lines that open for ever, and broken ones.

use kvscope::core::link::{from_fragment, push_pair, to_fragment};
use kvscope::core::scenario::{FIELDS, FieldKind, Problem, Scenario, whole_number};
use kvscope::core::settings::{self, Kind, Settings};
use kvscope::view::notes;
use kvscope::view::text::ENGLISH;
use serde_json::json;

fn fragment(scenario: &Scenario, settings: &Settings) -> String {
    let mut res = to_fragment(scenario);
    for (key, value) in settings::to_pairs(settings) {
        push_pair(&mut res, &key, &value);
    }
    res
}

#[test]
fn the_default_link_writes_every_key() {
    let fragment = to_fragment(&Scenario::default());
    assert_eq!(
        fragment,
        include_str!("../data/links.txt")
            .lines()
            .next()
            .unwrap_or_default()
    );
}

/// Lines are only appended: a link made today opens for ever. Settings that are newer than a link are added to it.
#[test]
fn golden_links_open_without_a_note() {
    let lines = include_str!("../data/links.txt").lines();
    let newest = lines.clone().next_back();
    for line in lines {
        let link = from_fragment(line, &[]);
        assert_eq!(link.errors, [], "{line}");
        let (settings, errors) = settings::from_pairs(&link.other);
        assert_eq!(errors, [], "{line}");
        let written = fragment(&link.scenario, &settings);
        let pairs: Vec<&str> = written.split('&').collect();
        for pair in line.split('&') {
            assert!(pairs.contains(&pair), "{pair} is not in {written}");
        }
        if Some(line) == newest {
            assert_eq!(written, line);
        }
    }
}

#[test]
fn every_field_round_trips_at_its_bounds() {
    for field in FIELDS {
        let texts: Vec<String> = match field.kind {
            FieldKind::Number(bounds) => vec![bounds.min.to_string(), bounds.max.to_string()],
            FieldKind::Optional(bounds) => vec![
                "auto".into(),
                bounds.min.to_string(),
                bounds.max.to_string(),
            ],
            FieldKind::Share(bounds) => [bounds.min, bounds.max]
                .iter()
                .map(|share| (*share as f64 / 1e6).to_string())
                .collect(),
            FieldKind::OptionalShare(_) => vec!["auto".into(), "0.874".into()],
            FieldKind::Choice(ids) => ids().into_iter().map(str::to_owned).collect(),
            FieldKind::Flag => vec!["true".into(), "false".into()],
            FieldKind::CacheFormat => vec!["fp8".into(), "q8_0/q4_0".into()],
            FieldKind::Model => vec!["llama-3.1-70b".into()],
            FieldKind::Month => vec!["2025-04".into()],
        };
        for text in texts {
            let mut scenario = Scenario::default();
            field
                .set(&mut scenario, &text)
                .unwrap_or_else(|error| panic!("{}={text}: {error:?}", field.key));
            assert_eq!((field.get)(&scenario), text, "{}", field.key);
            if field.is_active(&scenario) {
                assert_eq!(
                    from_fragment(&to_fragment(&scenario), &[]).scenario,
                    scenario,
                    "{}={text}",
                    field.key
                );
            }
            let (back, errors) = Scenario::from_json(&scenario.to_json());
            assert_eq!(
                (field.get)(&back),
                if field.is_active(&scenario) {
                    text
                } else {
                    (field.get)(&Scenario::default())
                }
            );
            assert_eq!(errors, []);
        }
    }
}

/// It bounds the thinking with every engine, so it is in the link with every engine where it is set.
#[test]
fn a_longest_sequence_is_written_where_it_holds() {
    let mut scenario = Scenario::default();
    for (key, text) in [("engine", "sglang"), ("max_model_len", "8k")] {
        scenario.set(key, text).expect("a value");
    }
    assert!(to_fragment(&scenario).contains("&max_model_len=8192&"));
    scenario.set("max_model_len", "auto").expect("a value");
    assert!(!to_fragment(&scenario).contains("max_model_len"));
}

#[test]
fn of_a_repeated_key_the_last_holds_and_it_is_said() {
    let link = from_fragment(
        "v=1&thinking_tokens=8&theme=dark&thinking_tokens=16",
        &["theme"],
    );
    assert_eq!(link.scenario.thinking_tokens.0, 16);
    let lines: Vec<String> = link
        .errors
        .iter()
        .map(|error| notes::field_error(error, &ENGLISH))
        .collect();
    assert_eq!(
        lines,
        ["Thinking is \"16\": the link has it more than once; the last that can be read holds"]
    );
}

#[test]
fn unreadable_values_are_named_and_the_rest_is_kept() {
    let link = from_fragment(
        "#v=1&thinking_tokens=lots&prompt_tokens=64&wat=1&theme=dark&num_seqs=0",
        &["theme"],
    );
    let problems: Vec<_> = link
        .errors
        .iter()
        .map(|error| (error.key.as_str(), error.given.as_str()))
        .collect();
    assert_eq!(
        problems,
        [("thinking_tokens", "lots"), ("wat", "1"), ("num_seqs", "0")]
    );
    assert_eq!(link.scenario.prompt_tokens.0, 64);
    assert_eq!(link.scenario.thinking_tokens.0, 4000);
    assert_eq!(link.other, [("theme".to_owned(), "dark".to_owned())]);
    assert!(matches!(link.errors[2].problem, Problem::OutOfBounds(bounds) if bounds.min == 1));
}

#[test]
fn json_takes_plain_objects() {
    let (scenario, errors) = Scenario::from_json(&json!({
        "model": "llama-3.1-70b",
        "thinking_tokens": 32000,
        "kv_cache_dtype": {"k": "q8_0", "v": "q4_0"},
        "tensor_parallel_size": "auto",
        "gpu_memory_utilization": 0.95,
        "activation_bytes": null,
        "engine": {"kind": "exact", "available_kv_cache_bytes": 1073741824_u64}
    }));
    assert_eq!(errors, []);
    assert_eq!(scenario.thinking_tokens.0, 32_000);
    assert_eq!(scenario.kv_cache_dtype.v.id, "q4_0");
    assert_eq!(
        scenario
            .engine
            .available_kv_cache_bytes
            .map(|bytes| bytes.0),
        Some(1 << 30)
    );
    let (_, errors) = Scenario::from_json(
        &json!({"model": {"dims": {}}, "thinking_tokens": -1, "gpu": "abacus"}),
    );
    let keys: Vec<_> = errors.iter().map(|error| error.key.as_str()).collect();
    assert_eq!(keys, ["model", "thinking_tokens", "gpu"]);
}

#[test]
fn numbers_as_people_type_them() {
    let rows = [
        ("4812", Some(4812)),
        ("4,812", Some(4812)),
        ("4 812", Some(4812)),
        ("32k", Some(32_768)),
        ("1.5k", Some(1536)),
        ("1M", Some(1_048_576)),
        ("128,000", Some(128_000)),
        ("", None),
        ("k", None),
        ("-1", None),
        ("1e3", None),
        ("4812.5", None),
        ("0.0001k", None),
        ("99999999999999999999999", None),
        ("１２", None),
        ("32 k", Some(32_768)),
        ("1'048'576", Some(1_048_576)),
        ("1,234.5k", Some(1_264_128)),
        // A separator anywhere but between thousands may be a decimal comma, or two numbers.
        ("4,8", None),
        ("4,8k", None),
        ("48,12", None),
        ("1,234,56", None),
        ("4812,", None),
        (",812", None),
        ("4812,345", None),
        ("1.234,567", None),
        ("12\n34", None),
        ("12 34", None),
        // Four thousand in some countries, and four in others.
        ("4.000", None),
        ("4.0", None),
        ("1.048.576", None),
    ];
    for (text, number) in rows {
        assert_eq!(whole_number(text), number, "{text}");
    }
}

/// Texts that a setting takes, its bounds among them.
fn texts_of(setting: &settings::Setting) -> Vec<String> {
    let bounds = setting.decimal_bounds();
    let decimals = || {
        bounds.map_or(Vec::new(), |(min, max)| {
            vec![min.to_string(), max.to_string()]
        })
    };
    let auto = || "auto".to_owned();
    match setting.kind {
        Kind::Number(bounds) => vec![bounds.min.to_string(), bounds.max.to_string()],
        Kind::Optional(bounds) => vec![auto(), bounds.min.to_string(), bounds.max.to_string()],
        Kind::Decimal(..) => decimals(),
        Kind::OptionalDecimal(..) => [vec![auto()], decimals()].concat(),
        Kind::Choice(ids) => ids().into_iter().map(str::to_owned).collect(),
        Kind::Text(example) => vec![example.to_owned()],
    }
}

#[test]
fn every_setting_round_trips() {
    for setting in settings::all() {
        for text in texts_of(setting) {
            let mut changed = Settings::default();
            let taken = setting.set(&mut changed, &text);
            assert_eq!(taken, Ok(()), "{}={text}", setting.key);
            assert_eq!(setting.text(&changed), text, "{}", setting.key);
            let link = from_fragment(&fragment(&Scenario::default(), &changed), &[]);
            assert_eq!(
                settings::from_pairs(&link.other),
                (changed, Vec::new()),
                "{}={text}",
                setting.key
            );
        }
    }
}

#[test]
fn a_group_of_settings_is_written_whole_or_not_at_all() {
    assert_eq!(settings::to_pairs(&Settings::default()), []);
    let (changed, errors) = settings::from_pairs(&[pair("turns.num_turns", "3")]);
    assert_eq!(errors, []);
    let keys: Vec<String> = settings::to_pairs(&changed)
        .into_iter()
        .map(|pair| pair.0)
        .collect();
    assert_eq!(
        keys,
        [
            "turns.num_turns",
            "turns.follow_up_tokens",
            "turns.tool_calls",
            "turns.call_tokens",
            "turns.result_tokens"
        ]
    );
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn settings_that_cannot_be_read_are_named() {
    let broken = [
        ("serve.clients", "0"),
        ("serve.clients", "many"),
        ("serve.rate", "-1"),
        ("serve.rate", "NaN"),
        ("serve.rate", "1e3"),
        ("serve.policy", "kind"),
        ("serve.versus", "thinking:1"),
        ("serve.versus", "gpu:abacus"),
        ("serve.trace", "0:1:2"),
        ("serve.trace", "0:1:2:3:4"),
        ("serve.trace", "1:1:2:3;0:1:2:3"),
        ("serve.trace", "inf:1:2:3"),
        ("serve.trace", "0:0:0:0"),
        ("speed.memory_efficiency", "1.01"),
        ("wat.else", "1"),
        (".", ""),
    ];
    for (key, value) in broken {
        let (settings, errors) = settings::from_pairs(&[pair(key, value)]);
        assert_eq!(settings, Settings::default(), "{key}={value}");
        let named: Vec<_> = errors
            .iter()
            .map(|error| (error.key.as_str(), error.given.as_str()))
            .collect();
        assert_eq!(named, [(key, value)]);
    }
}
