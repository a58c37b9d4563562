//! The page that shows every posted log beside the report: `docs/how-we-know.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use kvscope::view::text::ENGLISH;
use serde_json::Value;

use super::{Fact, Row};

const INTRO: &str = "# How we know

KVscope is held to what engines printed on real machines. This page is written by the test that compares them
(`UPDATE_EXPECT=1 cargo test posted_logs`) from `tests/data/engine_logs.json`, so it cannot go stale.

**A row** is one posted log. Its model, version and settings go into KVscope; every value that the log shows must come out,
to the digits that were printed. One value outside its tolerance, and the row is not reproduced.

**Tolerance** is what the printed digits allow: nothing for a count, half of the last digit for an amount. Where a log gives
the pool only as rounded GiB, it is the range that the pools of these digits give (`a to b`), and one such pool must give all
values of the row. *Rounded down*: the log prints whole MiB. *Given*: the count is also a setting, so it is no evidence.

A setting has the name that it has in a share link; TP, PP and DP are the parallel sizes. Without a preset or a
configuration file, a model is typed: how many layers of a kind, then a window if it has one, KV heads and head dimensions.
vLLM's count of tokens has had two meanings; *older* marks the first.

**Independent**: the log or the model's public configuration states every input, so the row is evidence. **Fitted**: the
model, its dimensions or a setting was not stated and was chosen so that the values agree; the row shows only that the rule
can give them. A **documented difference** is a log that KVscope does not reproduce, with the reason; the test fails if it
starts to agree.
";

/// The engines in the order of the page, with the words of their headings.
const ENGINES: &[(&str, &str)] = &[
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("tensorrt-llm", "TensorRT-LLM"),
    ("llama.cpp", "llama.cpp"),
    ("ik_llama.cpp", "ik_llama.cpp"),
    ("ollama", "Ollama"),
    ("published", "Published figures"),
];

/// The words before a printed value.
const NAMES: &[(&str, &str)] = &[
    ("num_blocks", "blocks"),
    ("kv_cache_size_tokens", "tokens"),
    ("kv_cache_size_tokens_legacy", "tokens (older)"),
    ("max_model_len_that_fits", "longest length"),
    ("max_concurrency", "at once"),
    ("needed_gib", "needed"),
    ("line", "line"),
    ("total", "total"),
    ("total_bytes", "total bytes"),
    ("total_floor_mib", "total MiB"),
    ("per_token", "per token"),
    ("per_seq", "per request"),
    ("per_gpu", "per GPU"),
    ("row_elements", "elements per token and layer"),
    ("saved", "saved"),
    ("k", "K"),
    ("v", "V"),
    ("cells", "cells"),
    ("tokens", "tokens"),
    ("layers", "layers"),
];

/// The tolerance of a count.
pub(super) const EXACT: &str = "exact";

/// The tolerance of a count that is also a setting.
pub(super) const GIVEN: &str = "given";

/// The words before the value that is printed under `key`.
pub(super) fn name(key: &str) -> &'static str {
    let (_, name) = NAMES
        .iter()
        .find(|(id, _)| *id == key)
        .unwrap_or_else(|| panic!("{key} has no name on the page"));
    name
}

/// A count with separators.
pub(super) fn integer(n: u64) -> String {
    ENGLISH.numbers().integer(n)
}

/// In the place of a value that the report does not have.
pub(super) fn none() -> String {
    "none".to_owned()
}

/// What kind of place a row was found in.
fn source_kind(row: &Row) -> &'static str {
    let source = row.posted["source"].as_str().unwrap_or_default();
    let threads = ["issue", "PR ", "discussion", "#"];
    if row.engine == "published" {
        "article, paper or calculator"
    } else if threads.iter().any(|word| source.contains(word)) {
        "issue, pull request or discussion"
    } else {
        "log or document in a public repository"
    }
}

/// The source, an address after it as a link, and the commonest of all in fewer words.
fn source(row: &Row) -> String {
    let text = row.posted["source"].as_str().unwrap_or_default().trim();
    let text = text
        .replace("a log in a public repository", "public log")
        .replace("repository folder ", "");
    match text.rsplit_once(" http") {
        Some((name, address)) => format!("[{name}](http{address})"),
        None => text,
    }
}

fn short(key: &str) -> &str {
    match key {
        "tensor_parallel_size" => "TP",
        "pipeline_parallel_size" => "PP",
        "data_parallel_size" => "DP",
        _ => key,
    }
}

/// The layers that were typed for a row: how many there are of each kind.
fn typed(model: &Value) -> String {
    let dims = &model["dims"];
    if dims.is_object() {
        return format!(
            "{} layers × {} × {}",
            dims["num_hidden_layers"], dims["num_key_value_heads"], dims["head_dim"]
        );
    }
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for layer in model["layers"].as_array().into_iter().flatten() {
        let count = layer[0].as_u64().expect("a count");
        let sizes = layer[2].as_array().into_iter().flatten();
        let sizes: Vec<String> = sizes.map(Value::to_string).collect();
        let kind = match layer[2]["family"].as_str() {
            Some(family) => family.to_owned(),
            None => format!(
                "{} {}",
                layer[1].as_str().unwrap_or_default(),
                sizes.join("/")
            ),
        };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, sum)) => *sum += count,
            None => kinds.push((kind, count)),
        }
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    kinds.join(" + ")
}

/// What was chosen, in the words of a scenario; the model first.
fn settings(row: &Row) -> String {
    let scenario = &row.posted["scenario"];
    let Some(fields) = scenario.as_object() else {
        return "not known".to_owned();
    };
    let model = &scenario["model"];
    let mut res = vec![match (model.as_str(), model["config_file"].as_str()) {
        (Some(preset), _) => preset.to_owned(),
        (None, Some(file)) => file.replace("__", "/"),
        (None, None) => typed(model),
    }];
    let mut add = |key: &str, value: &Value| match (key, value.as_str()) {
        ("model" | "kind" | "engine", _) => {}
        ("tensor_parallel_size", _) if value == 1 => {}
        ("prompt_tokens" | "thinking_tokens" | "answer_tokens" | "draft_layers", _)
            if value == 0 => {}
        ("kv_cache_dtype", None) => {
            let part = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
            res.push(format!("{key} {}/{}", part("k"), part("v")));
        }
        (_, Some(text)) => res.push(format!("{} {text}", short(key))),
        (_, None) => res.push(format!("{} {value}", short(key))),
    };
    for (key, value) in fields {
        add(key, value);
    }
    for (key, value) in scenario["engine"].as_object().into_iter().flatten() {
        add(key, value);
    }
    if let Some(gib) = row.pool_gib {
        res.push(format!("pool {gib:.2} GiB"));
    }
    res.join(", ")
}

/// Different texts, in their order.
fn joined(texts: impl Iterator<Item = String>) -> String {
    let mut res: Vec<String> = Vec::new();
    for text in texts {
        if !res.contains(&text) {
            res.push(text);
        }
    }
    res.join("; ")
}

fn table(text: &mut String, columns: &[&str]) {
    let rule = vec!["---"; columns.len()];
    let _ = writeln!(
        text,
        "\n| {} |\n| {} |",
        columns.join(" | "),
        rule.join(" | ")
    );
}

fn line(text: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// The whole page.
pub(super) fn text(
    rows: &[Row],
    facts: &[Vec<Fact>],
    counts: &BTreeMap<String, [u32; 3]>,
) -> String {
    let mut res = INTRO.to_owned();
    table(
        &mut res,
        &[
            "engine",
            "reproduced",
            "of them fitted",
            "documented differences",
        ],
    );
    let mut all = [0; 3];
    for (id, title) in ENGINES {
        let of_engine = counts.get(*id).copied().unwrap_or_default();
        let cells = of_engine.iter().map(u32::to_string);
        line(
            &mut res,
            &[(*title).to_owned()]
                .into_iter()
                .chain(cells)
                .collect::<Vec<_>>(),
        );
        all = [0, 1, 2].map(|idx| all[idx] + of_engine[idx]);
    }
    let cells = all.iter().map(u32::to_string);
    line(
        &mut res,
        &["all".to_owned()]
            .into_iter()
            .chain(cells)
            .collect::<Vec<_>>(),
    );
    assert_eq!(
        all[0] + all[2],
        u32::try_from(rows.len()).expect("few rows"),
        "an engine is missing on the page"
    );

    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for row in rows {
        *kinds.entry(source_kind(row)).or_default() += 1;
    }
    table(&mut res, &["kind of source", "rows"]);
    for (kind, count) in kinds {
        line(&mut res, &[kind.to_owned(), count.to_string()]);
    }

    for (id, title) in ENGINES {
        let of_engine = || rows.iter().zip(facts).filter(|(row, _)| row.engine == *id);
        let posted = |row: &Row, key: &str| row.posted[key].as_str().unwrap_or_default().to_owned();
        let cells = |row: &Row, facts: &[Fact]| {
            vec![
                posted(row, "about"),
                match posted(row, "build") {
                    build if build.is_empty() => "not stated".to_owned(),
                    build => build,
                },
                settings(row),
                facts
                    .iter()
                    .map(|fact| fact.printed.as_str())
                    .collect::<Vec<_>>()
                    .join("; "),
                match facts.iter().all(|fact| fact.ours == none()) {
                    true => none(),
                    false => facts
                        .iter()
                        .map(|fact| fact.ours.as_str())
                        .collect::<Vec<_>>()
                        .join("; "),
                },
            ]
        };
        let _ = writeln!(res, "\n## {title}");
        table(
            &mut res,
            &[
                "model",
                "version",
                "setting",
                "printed",
                "ours",
                "tolerance",
                "inputs",
                "source",
            ],
        );
        for (row, facts) in of_engine().filter(|(row, _)| row.difference.is_none()) {
            let mut cells = cells(row, facts);
            cells.push(joined(facts.iter().map(|fact| fact.tolerance.clone())));
            cells.push(
                if row.is_fitted {
                    "fitted"
                } else {
                    "independent"
                }
                .to_owned(),
            );
            cells.push(source(row));
            line(&mut res, &cells);
        }
        if of_engine().all(|(row, _)| row.difference.is_none()) {
            continue;
        }
        let _ = writeln!(res, "\n### {title}: documented differences");
        table(
            &mut res,
            &[
                "model", "version", "setting", "printed", "ours", "reason", "source",
            ],
        );
        for (row, facts) in of_engine() {
            if let Some(reason) = &row.difference {
                let mut cells = cells(row, facts);
                cells.push(reason.clone());
                cells.push(source(row));
                line(&mut res, &cells);
            }
        }
    }
    res
}
