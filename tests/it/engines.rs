//! The engines against start-up logs that people posted: what was printed, and what the report says of the same setup.

mod page;

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect_file;
use kvscope::core::engines::{EngineCache, EngineReport};
use kvscope::core::import::log;
use kvscope::core::layer::{LayerKind, RecurrentFamily, RecurrentState};
use kvscope::core::model::{ModelConfig, UnfoldedHeads};
use kvscope::core::presets;
use kvscope::core::report::{Report, Warning, report};
use kvscope::core::scenario::{
    EngineKind, FIELDS, Field, FieldKind, ModelChoice, ModelSource, Scenario,
};
use kvscope::core::units::{Bounds, Bytes, GIB, KIB, MIB, Tokens, formats};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// One posted log: the scenario it belongs to, and what it printed.
struct Row {
    id: String,
    engine: String,
    scenario: Option<Scenario>,
    /// GiB of the pool as printed, two decimals: the pool itself lies within half of the last one.
    pool_gib: Option<f64>,
    printed: Map<String, Value>,
    difference: Option<String>,
    is_fitted: bool,
    /// The row as it is in the file, for what only the page shows.
    posted: Value,
}

fn rows() -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/engine_logs.json");
    let text = std::fs::read_to_string(path).expect("the facts are there");
    let rows: Vec<Value> = serde_json::from_str(&text).expect("the facts are JSON");
    rows.iter().map(row).collect()
}

fn row(value: &Value) -> Row {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let id = text("id").expect("a row has an id");
    Row {
        scenario: value
            .get("scenario")
            .map(|scenario| scenario_of(&id, scenario)),
        engine: text("engine").expect("a row has an engine"),
        pool_gib: value["pool_gib"].as_f64(),
        printed: value["printed"]
            .as_object()
            .expect("a row has printed facts")
            .clone(),
        difference: text("difference"),
        is_fitted: text("evidence").as_deref() != Some("independent"),
        id,
        posted: value.clone(),
    }
}

fn scenario_of(id: &str, value: &Value) -> Scenario {
    let mut value = value.clone();
    let layers = value["model"]["layers"].as_array().cloned();
    let heads = value["model"]["unfolded_heads"].as_array().cloned();
    if let Some(file) = value["model"]["config_file"].as_str() {
        let path = format!("{}/tests/data/configs/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let config: Value = serde_json::from_str(&text).expect("a config is JSON");
        value["model"] = json!({ "config": config });
    }
    if layers.is_some() {
        value["model"] = json!("llama-3.1-8b");
    }
    let (mut res, errors) = Scenario::from_json(&value);
    assert!(errors.is_empty(), "{id}: {errors:?}");
    if let Some(layers) = layers {
        let layers = layers
            .iter()
            .flat_map(layer)
            .map(|kind| vec![kind])
            .collect();
        let mut model = ModelConfig::from_layers(id, "", layers);
        model.max_position_embeddings = Some(Tokens(1 << 20));
        model.unfolded_heads = heads.map(|heads| {
            let dim =
                |idx: usize| u32::try_from(heads[idx].as_u64().unwrap_or(0)).expect("it fits");
            UnfoldedHeads {
                num_heads: dim(0),
                head_dim: dim(1),
                v_head_dim: dim(2),
            }
        });
        res.model = ModelChoice {
            source: ModelSource::File {
                name: id.to_owned(),
                json: "{}".into(),
            },
            config: Arc::new(model),
        };
    }
    res
}

/// A count, the name of a kind, and its dimensions.
fn layer(value: &Value) -> Vec<LayerKind> {
    let dim =
        |idx: usize| u32::try_from(value[2][idx].as_u64().unwrap_or(0)).expect("a dimension fits");
    let kind = match value[1].as_str() {
        Some("full") => LayerKind::Full {
            num_key_value_heads: dim(0),
            head_dim: dim(1),
            v_head_dim: dim(2),
        },
        Some("sliding") => LayerKind::Sliding {
            window: Tokens(u64::from(dim(0))),
            num_key_value_heads: dim(1),
            head_dim: dim(2),
            v_head_dim: dim(3),
        },
        Some("latent") => LayerKind::Latent {
            kv_lora_rank: dim(0),
            qk_rope_head_dim: dim(1),
            index_head_dim: dim(2),
        },
        Some("recurrent") => {
            let dim = |key: &str| value[2][key].as_u64().expect("a state has this dimension");
            LayerKind::Recurrent(RecurrentState {
                family: match value[2]["family"].as_str() {
                    Some("gated_delta_net") => RecurrentFamily::GatedDeltaNet,
                    Some("mamba2") => RecurrentFamily::Mamba2,
                    Some("short_conv") => RecurrentFamily::ShortConv,
                    other => panic!("unknown family {other:?}"),
                },
                conv_dim: dim("conv_dim"),
                conv_columns: dim("conv_columns"),
                state_heads: dim("state_heads"),
                state_rows: dim("state_rows"),
                state_columns: dim("state_columns"),
            })
        }
        other => panic!("unknown kind {other:?}"),
    };
    vec![kind; usize::try_from(value[0].as_u64().expect("a count")).expect("a count fits")]
}

/// A number of the report that grows with the pool.
fn counted(report: &EngineReport, key: &str) -> Option<u64> {
    match key {
        "num_blocks" => report.num_blocks,
        "kv_cache_size_tokens" => report.kv_cache_size_tokens,
        "kv_cache_size_tokens_legacy" => report.kv_cache_size_tokens_legacy,
        "max_model_len_that_fits" => report.max_model_len_that_fits.map(|tokens| tokens.0),
        "max_concurrency" => report.max_concurrency.map(|times| (times * 1e6) as u64),
        _ => None,
    }
}

/// The smallest and the largest pool that are printed as so many GiB.
fn pools(gib: f64) -> [u64; 2] {
    [gib - 0.005, gib + 0.005].map(|gib| (gib * GIB as f64) as u64)
}

fn with_pool(scenario: &Scenario, bytes: u64) -> Report {
    let mut scenario = scenario.clone();
    scenario.engine.available_kv_cache_bytes = Some(Bytes(bytes));
    report(&scenario)
}

/// The report of the row's scenario. Where only rounded GiB of the pool are known, it is the smallest pool within half of
/// the last digit with which every count is at least what was printed.
fn report_of(row: &Row, scenario: &Scenario) -> Report {
    let with_pool = |bytes: u64| with_pool(scenario, bytes);
    let Some(gib) = row.pool_gib else {
        return report(scenario);
    };
    let [mut pool, largest] = pools(gib);
    for (key, value) in &row.printed {
        let target = match key.as_str() {
            "max_concurrency" => value
                .as_f64()
                .map(|times| ((times - 0.005) * 1e6).ceil() as u64),
            _ => value.as_u64(),
        };
        let mut high = largest;
        while pool < high {
            let middle = pool + (high - pool) / 2;
            if counted(&with_pool(middle).engine, key) < target {
                pool = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    with_pool(pool)
}

/// One printed value beside ours.
struct Fact {
    printed: String,
    ours: String,
    /// How far the two may be apart.
    tolerance: String,
    agrees: bool,
}

impl Fact {
    fn exact(printed: u64, ours: Option<u64>) -> Fact {
        Fact {
            printed: page::integer(printed),
            ours: ours.map_or_else(page::none, page::integer),
            tolerance: page::EXACT.to_owned(),
            agrees: Some(printed) == ours,
        }
    }

    /// An amount such as `1.9 GiB`, which is right to half of its last digit.
    fn amount(printed: &str, ours: Option<Bytes>) -> Fact {
        let (number, unit) = printed
            .split_once(' ')
            .unwrap_or_else(|| panic!("{printed} has no unit"));
        let unit_bytes = match unit {
            "B" => 1.0,
            "KiB" => KIB as f64,
            "MiB" => MIB as f64,
            "GiB" => GIB as f64,
            "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            other => panic!("unknown unit {other}"),
        };
        let decimals = number
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let half = 0.5 / 10_f64.powi(i32::try_from(decimals).expect("few decimals"));
        let bytes = number.parse::<f64>().expect("a number") * unit_bytes;
        let is_within =
            |ours: Bytes| (bytes - ours.0 as f64).abs() <= half * unit_bytes * (1.0 + 1e-9);
        Fact {
            printed: printed.to_owned(),
            ours: ours.map_or_else(page::none, |ours| {
                let number = format!("{:.4}", ours.0 as f64 / unit_bytes);
                let number = number.trim_end_matches('0').trim_end_matches('.');
                format!("{number} {unit}")
            }),
            tolerance: match unit {
                "B" => page::EXACT.to_owned(),
                _ => format!("± {half} {unit}"),
            },
            agrees: ours.is_some_and(is_within),
        }
    }

    /// Requests at once, printed with two decimals.
    fn times(printed: f64, ours: Option<f64>) -> Fact {
        let decimals = |number: f64| format!("{number:.2}");
        let ours = ours.map(decimals);
        Fact {
            agrees: ours.as_ref() == Some(&decimals(printed)),
            printed: decimals(printed),
            ours: ours.unwrap_or_else(page::none),
            tolerance: "± 0.005".to_owned(),
        }
    }

    fn named(mut self, name: &str) -> Fact {
        self.printed = format!("{name} {}", self.printed);
        self
    }
}

/// Every printed value of the row beside the report's, with what allows them to differ.
fn facts(row: &Row) -> Vec<Fact> {
    assert!(!row.printed.is_empty(), "{}: nothing printed", row.id);
    let report = row
        .scenario
        .as_ref()
        .map(|scenario| report_of(row, scenario));
    let mut res = Vec::new();
    for (key, value) in &row.printed {
        if let (Some(caches), "caches") = (value.as_object(), key.as_str()) {
            for (label, facts) in caches {
                res.extend(cache_facts(report.as_ref(), label, facts));
            }
        } else {
            res.push(fact(report.as_ref(), key, value));
            let range = range_of_pools(row, key);
            if let (Some(fact), Some(range)) = (res.last_mut(), range) {
                fact.tolerance = range;
            }
        }
    }
    let given = row
        .scenario
        .as_ref()
        .and_then(|scenario| scenario.engine.num_tokens);
    if let Some(given) = given.map(|tokens| page::integer(tokens.0)) {
        let is_given = |fact: &&mut Fact| fact.printed.ends_with(&format!("tokens {given}"));
        for fact in res.iter_mut().filter(is_given) {
            fact.tolerance = page::GIVEN.to_owned();
        }
    }
    res
}

/// What the pools that are printed as the row's GiB give for a number that grows with the pool.
fn range_of_pools(row: &Row, key: &str) -> Option<String> {
    let scenario = row.scenario.as_ref()?;
    let [low, high] = pools(row.pool_gib?).map(|bytes| {
        let count = counted(&with_pool(scenario, bytes).engine, key)?;
        Some(match key {
            "max_concurrency" => format!("{:.2}", count as f64 / 1e6),
            _ => page::integer(count),
        })
    });
    Some(format!("{} to {}", low?, high?))
}

/// What of the printed facts the report does not say, to the digits that were printed.
fn differences(facts: &[Fact]) -> Vec<String> {
    facts
        .iter()
        .filter(|fact| !fact.agrees)
        .map(|fact| format!("printed {}, computed {}", fact.printed, fact.ours))
        .collect()
}

fn fact(report: Option<&Report>, key: &str, value: &Value) -> Fact {
    let engine = report.map(|report| &report.engine);
    let kv_cache = report.map(|report| &report.kv_cache);
    let all_bytes = |cache: &EngineCache| cache.k_bytes + cache.v_bytes + cache.state_bytes;
    let total = engine.map(|engine| engine.caches.iter().map(all_bytes).sum::<Bytes>());
    let text = value.as_str().unwrap_or_default();
    let number = || value.as_u64().unwrap_or_else(|| panic!("{key} is a count"));
    match key {
        "max_concurrency" => Fact::times(
            value.as_f64().expect("a number"),
            engine.and_then(|engine| engine.max_concurrency),
        ),
        "needed_gib" => {
            let printed = format!("{:.2} GiB", value.as_f64().expect("a number"));
            Fact::amount(&printed, engine.and_then(|engine| engine.needed_bytes))
        }
        "line" => {
            let lines = engine.map_or(&[][..], |engine| &engine.log_lines);
            let agrees = lines.iter().any(|line| line.contains(text));
            Fact {
                printed: format!("“{text}”"),
                ours: match agrees {
                    true => "the same line".to_owned(),
                    false => format!("{lines:?}"),
                },
                tolerance: page::EXACT.to_owned(),
                agrees,
            }
        }
        "total" => Fact::amount(text, total),
        "total_bytes" => Fact::exact(number(), total.map(|total| total.0)),
        // A column of whole MiB that is rounded down.
        "total_floor_mib" => {
            let mut fact = Fact::exact(number(), total.map(|total| total.0 / MIB));
            fact.tolerance = "rounded down".to_owned();
            fact
        }
        "per_token" => Fact::amount(text, kv_cache.map(|cache| cache.bytes_per_token)),
        "per_seq" => Fact::amount(text, kv_cache.map(|cache| cache.per_seq_bytes)),
        "per_gpu" => Fact::amount(text, kv_cache.map(|cache| cache.per_gpu_bytes)),
        "row_elements" => Fact::exact(
            number(),
            kv_cache
                .and_then(|cache| cache.layers.first())
                .map(|layer| layer.k_elements),
        ),
        // Not a size of a cache: no field of the report is compared to it.
        "saved" => Fact::amount(text, None),
        _ => Fact::exact(number(), engine.and_then(|engine| counted(engine, key))),
    }
    .named(page::name(key))
}

fn cache_facts(report: Option<&Report>, label: &str, facts: &Value) -> Vec<Fact> {
    let facts = facts.as_object().expect("facts of a cache");
    assert!(!facts.is_empty(), "nothing printed of {label}");
    let cache = report.and_then(|report| {
        let caches = &report.engine.caches;
        caches.iter().find(|cache| cache.label == label)
    });
    let fact = |(key, value): (&String, &Value)| {
        let text = value.as_str().unwrap_or_default();
        let number = || value.as_u64().unwrap_or_else(|| panic!("{key} is a count"));
        match key.as_str() {
            "k" => Fact::amount(text, cache.map(|cache| cache.k_bytes)),
            "v" => Fact::amount(text, cache.map(|cache| cache.v_bytes)),
            "total" => Fact::amount(
                text,
                cache.map(|cache| cache.k_bytes + cache.v_bytes + cache.state_bytes),
            ),
            "cells" | "tokens" => Fact::exact(number(), cache.map(|cache| cache.tokens)),
            "layers" => Fact::exact(number(), cache.map(|cache| u64::from(cache.layers))),
            other => panic!("unknown fact {other}"),
        }
        .named(page::name(key))
    };
    let mut res: Vec<Fact> = facts.iter().map(fact).collect();
    if let Some(first) = res.first_mut() {
        first.printed = format!("{label}: {}", first.printed);
    }
    res
}

#[test]
fn posted_logs() {
    let mut counts: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    let mut failures = Vec::new();
    let rows = rows();
    let facts: Vec<Vec<Fact>> = rows.iter().map(facts).collect();
    for (row, facts) in rows.iter().zip(&facts) {
        let found = differences(facts);
        let [reproduced, of_them_fitted, documented] =
            counts.entry(row.engine.clone()).or_default();
        match (&row.difference, found.is_empty()) {
            (None, true) => {
                *reproduced += 1;
                *of_them_fitted += u32::from(row.is_fitted);
            }
            (Some(_), false) => *documented += 1,
            (None, false) => failures.push(format!("{}: {}", row.id, found.join("; "))),
            (Some(reason), true) => {
                failures.push(format!("{} agrees now, although “{reason}”", row.id));
            }
        }
    }
    println!("engine: reproduced (of them with fitted inputs) / documented differences");
    for (engine, [reproduced, fitted, documented]) in &counts {
        println!("{engine}: {reproduced} ({fitted}) / {documented}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    expect_file!["../../docs/how-we-know.md"].assert_eq(&page::text(&rows, &facts, &counts));
}

/// Dimensions typed by hand, as few as the cache needs, on the way that the page and the JavaScript API take.
#[test]
fn typed_dimensions() {
    let of = |dims: Value| {
        let scenario = json!({
            "model": { "dims": dims },
            "tensor_parallel_size": 1,
            "engine": { "kind": "vllm", "available_kv_cache_bytes": 16 * GIB, "max_model_len": 4096 },
        });
        let (scenario, errors) = Scenario::from_json(&scenario);
        assert!(errors.is_empty(), "{errors:?}");
        report(&scenario).engine.num_blocks
    };
    let dims = json!({ "num_hidden_layers": 32, "num_key_value_heads": 8, "head_dim": 128 });
    // 32 layers × 16 tokens × 2 × 8 × 128 × 2 B are 2 MiB a block.
    assert_eq!(of(dims), Some(8192));
    let dims = json!({ "num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64 });
    // Blocks of 64 tokens of 61 × 576 × 2 B.
    assert_eq!(of(dims), Some(16 * GIB / (64 * 70_272)));
}

#[test]
fn a_layout_that_is_not_established_is_said() {
    let mut scenario = Scenario::default();
    scenario.set("model", "deepseek-v4-pro").expect("a preset");
    for kind in EngineKind::ALL {
        scenario.engine.kind = *kind;
        let res = report(&scenario);
        let is_said = res
            .warnings
            .contains(&Warning::LayoutNotEstablished { engine: kind.id() });
        assert_eq!(is_said, *kind != EngineKind::Exact, "{kind:?}");
        assert!(
            !is_said || res.engine.log_lines.is_empty(),
            "{kind:?} prints nothing that is not known"
        );
        assert!(
            !is_said || res.engine.num_blocks.is_none(),
            "{kind:?} has no blocks that are not known"
        );
    }
}

/// The lines of a report, read as a log, compare to the report without a difference.
#[test]
fn what_the_report_prints_is_read_back() {
    let mut n_facts = 0;
    for row in rows()
        .into_iter()
        .filter(|row| row.engine != "published" && row.difference.is_none())
    {
        let Some(mut scenario) = row.scenario else {
            continue;
        };
        let gib = row.pool_gib.unwrap_or(1.0);
        if scenario.engine.kind == EngineKind::Vllm && scenario.engine.num_tokens.is_none() {
            scenario.engine.available_kv_cache_bytes = Some(Bytes((gib * GIB as f64) as u64));
        }
        let text = report(&scenario).engine.log_lines.join("\n");
        let reading = log::read(&text);
        assert_eq!(
            reading.engine,
            Some(scenario.engine.kind.id()),
            "{}: {text}",
            row.id
        );
        assert!(!reading.facts.is_empty(), "{}: {text}", row.id);
        n_facts += reading.facts.len();
        for found in log::compare(&reading.facts, &scenario) {
            assert!(found.agrees, "{}: {found:#?}", row.id);
        }
    }
    assert!(500 < n_facts, "{n_facts} facts");
}

/// Settings that change how an engine lays out its caches.
fn settings() -> Vec<Vec<(&'static str, &'static str)>> {
    let mut res = Vec::new();
    for kind in EngineKind::ALL {
        for more in [
            vec![],
            vec![
                ("tensor_parallel_size", "4"),
                ("pipeline_parallel_size", "3"),
            ],
            vec![
                ("draft_layers", "1"),
                ("num_speculative_tokens", "3"),
                ("mamba_cache_mode", "align"),
            ],
            vec![
                ("decode_context_parallel_size", "4"),
                ("mamba_cache_mode", "all"),
                ("num_samples", "3"),
            ],
            vec![
                ("hybrid_kv_cache_manager", "false"),
                ("kv_cache_dtype", "fp8"),
                ("shared_prefix_tokens", "300"),
            ],
        ] {
            let mut pairs = vec![("engine", kind.id()), ("tensor_parallel_size", "2")];
            pairs.extend(more);
            res.push(pairs);
        }
    }
    for version in [
        "2023-05", "2025-04", "2025-06", "2025-08", "2025-12", "2026-07", "2026-11",
    ] {
        for more in [
            vec![],
            vec![
                ("flash_attn", "false"),
                ("mla", "false"),
                ("n_ctx", "100000"),
            ],
            vec![
                ("kv_unified", "true"),
                ("n_seq_max", "4"),
                ("num_samples", "2"),
            ],
            vec![
                ("variant", "ik_llama.cpp"),
                ("flash_attn", "false"),
                ("kv_cache_dtype", "q8_0"),
            ],
            vec![
                ("variant", "ollama"),
                ("n_seq_max", "3"),
                ("kv_cache_dtype", "q8_0/q4_0"),
            ],
        ] {
            let mut pairs = vec![
                ("engine", "llama.cpp"),
                ("tensor_parallel_size", "1"),
                ("version", version),
            ];
            pairs.extend(more);
            res.push(pairs);
        }
    }
    res
}

#[test]
fn reserved_is_never_less_than_held_and_never_shrinks() {
    for preset in presets::all() {
        for pairs in settings() {
            let mut scenario = Scenario::default();
            scenario
                .set("model", preset.id())
                .expect("a preset's id is a model");
            for (key, value) in &pairs {
                scenario
                    .set(key, value)
                    .unwrap_or_else(|error| panic!("{key}={value}: {error:?}"));
            }
            let mut last = Bytes::ZERO;
            for (num_seqs, thinking) in [
                (1, 0),
                (1, 1),
                (1, 15),
                (1, 4000),
                (1, 70_000),
                (2, 70_000),
                (30, 70_001),
            ] {
                scenario.num_seqs = num_seqs;
                scenario.thinking_tokens = Tokens(thinking);
                let report = report(&scenario);
                let (id, reserved) = (preset.id(), report.hbm.kv_reserved_bytes);
                assert!(
                    report.hbm.kv_held_bytes <= reserved,
                    "{id} {pairs:?} {num_seqs} × {thinking}: held more"
                );
                assert!(
                    last <= reserved,
                    "{id} {pairs:?} {num_seqs} × {thinking}: shrinks"
                );
                last = reserved;
            }
        }
    }
}

/// A value of the field, chosen by `pick`: often one of its bounds.
fn some_value(field: &Field, pick: u64) -> String {
    let between = |bounds: Bounds| match pick % 4 {
        0 => bounds.min,
        1 => bounds.max,
        _ => bounds.min + pick % (bounds.max - bounds.min + 1),
    };
    let one_of = |ids: Vec<&'static str>| {
        let idx = usize::try_from(pick).unwrap_or(0) % ids.len();
        ids[idx].to_owned()
    };
    match field.kind {
        FieldKind::Number(bounds) | FieldKind::Optional(bounds) => between(bounds).to_string(),
        FieldKind::Share(bounds) | FieldKind::OptionalShare(bounds) => {
            (between(bounds) as f64 / 1e6).to_string()
        }
        FieldKind::Choice(ids) => one_of(ids()),
        FieldKind::Flag => pick.is_multiple_of(2).to_string(),
        FieldKind::CacheFormat => one_of(formats::CACHE.iter().map(|format| format.id).collect()),
        FieldKind::Model => one_of(presets::all().iter().map(presets::Preset::id).collect()),
        FieldKind::Month => format!("{}-{:02}", 2023 + pick % 4, 1 + pick % 12),
    }
}

proptest! {
    /// Every scenario has a report: nothing overflows, divides by nothing or runs past an end.
    #[test]
    fn any_scenario_has_a_report(
        engine in 0_usize..5,
        picks in prop::collection::vec((0_usize..100, any::<u64>()), 0..12),
    ) {
        let mut scenario = Scenario::default();
        scenario.engine.kind = EngineKind::ALL[engine];
        for (idx, pick) in picks {
            let field = &FIELDS[idx % FIELDS.len()];
            let value = some_value(field, pick);
            // What lies between bounds may still be no value, such as a share of nothing.
            let _ = scenario.set(field.key, &value);
        }
        let report = report(&scenario);
        let (held, reserved) = (report.hbm.kv_held_bytes, report.hbm.kv_reserved_bytes);
        prop_assert!(held <= reserved, "{held:?} held, {reserved:?} reserved: {:?}", scenario.to_json());
        for line in &report.engine.log_lines {
            prop_assert!(!line.contains("NaN") && !line.contains("inf"), "{line}");
        }
    }
}
