//! The JavaScript API. Plain objects in, plain objects out; the hand-written types are in `api.d.ts`.
//!
//! Objects cross as JSON text: numbers stay JSON numbers, which are exact below 2^53, and no conversion can throw
//! halfway through.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::core::import::edited::edited;
use crate::core::import::files::{FileReader, join_files};
use crate::core::import::hf_config;
use crate::core::import::log::{self, Comparison, Setting};
use crate::core::import::recognise::{Part, join};
use crate::core::model::Message;
use crate::core::report::report as report_of;
use crate::core::scenario::{FieldError, ModelChoice, ModelError, Scenario, cut};
use crate::core::serve::{ServeError, trace};
use crate::core::settings::{self, SettingError, Settings};
use crate::core::{link, presets, resolved};
use crate::view::chart::{self, Input};
use crate::view::fleet::{runs, setting};
use crate::view::notes::{self, model_error};
use crate::view::svg::Theme as Colors;
use crate::view::text::{ENGLISH, Messages};
use crate::view::{charts, comparison};

use super::{files, language};

use super::options::PageOptions;

/// The report of a scenario. Fields that cannot be read keep their defaults and are listed in `errors`.
#[wasm_bindgen(js_name = report, skip_typescript)]
pub fn report(scenario: JsValue) -> Result<JsValue, JsError> {
    let (scenario, errors) = read_scenario(&scenario)?;
    let text = &ENGLISH;
    let report = report_of(&scenario);
    let mut res = to_value(&report)?;
    if let Some(object) = res.as_object_mut() {
        let sentences = |items: Vec<(Value, String)>| -> Vec<Value> {
            items
                .into_iter()
                .map(|(mut item, sentence)| {
                    if let Some(item) = item.as_object_mut() {
                        item.insert("message".to_owned(), Value::from(sentence));
                    }
                    item
                })
                .collect()
        };
        let warnings = report
            .warnings
            .iter()
            .map(|warning| (json!(warning), notes::warning(warning, text)));
        let assumptions = report
            .assumptions
            .iter()
            .map(|assumption| (json!(assumption), notes::assumption(assumption, text)));
        let (warnings, assumptions) = (
            sentences(warnings.collect()),
            sentences(assumptions.collect()),
        );
        object.insert("warnings".to_owned(), Value::from(warnings));
        object.insert("assumptions".to_owned(), Value::from(assumptions));
        object.insert("errors".to_owned(), errors_json(text, &errors));
    }
    from_value(&res)
}

/// Reads a `config.json`: the model's name, its layers in short, and the scenario field `model` that stands for it.
#[wasm_bindgen(js_name = importConfig, skip_typescript)]
pub fn import_config(text: &str, name: Option<String>) -> Result<JsValue, JsError> {
    let model = hf_config::import(text, name.as_deref())
        .map_err(|error| JsError::new(&error.to_string()))?;
    let config: Value = crate::core::import::lenient_json::parse(text)
        .map_err(|error| JsError::new(&error.to_string()))?;
    from_value(&json!({
        "name": model.name,
        "model_type": model.model_type,
        "num_hidden_layers": model.layers.len(),
        "notes": model.notes,
        "model": { "config": config, "name": name.unwrap_or_default() },
    }))
}

/// Reads the header of a GGUF file, or of the files of a split one: the scenario field `model` that stands for it, and what
/// the file decides beside.
#[wasm_bindgen(js_name = importGguf, skip_typescript)]
pub async fn import_gguf(file: JsValue) -> Result<JsValue, JsError> {
    let mut parts = Vec::new();
    for reader in read_all(file).await {
        let (name, kind) = (cut(reader.name(), 80), reader.kind());
        match reader.finish() {
            Ok(part @ Part::Gguf(..)) => parts.push(part),
            Ok(_) => {
                return Err(JsError::new(&format!(
                    "{name:?} is no GGUF file but a {}; give it to readFiles",
                    kind.id()
                )));
            }
            Err(error) => return Err(JsError::new(&error.to_string())),
        }
    }
    let patch = join(parts).map_err(|error| JsError::new(&error.to_string()))?;
    let Some(model) = patch.model else {
        return Err(JsError::new("no file was given; give a GGUF file"));
    };
    let weight_bytes = model.config.stored.and_then(|stored| stored.bytes);
    from_value(&json!({
        "name": model.config.name,
        "model_type": model.config.model_type,
        "num_hidden_layers": model.config.layers.len(),
        "weight_bytes": weight_bytes,
        "notes": model.config.notes,
        "model": model.to_json(),
        "fields": fields_json(&patch.file),
    }))
}

/// Reads start-up text of an engine: what it says of the setup, the scenario that follows from it and from `scenario`, and
/// its figures beside ours.
#[wasm_bindgen(js_name = readLog, skip_typescript)]
pub fn read_log(text: &str, scenario: JsValue) -> Result<JsValue, JsError> {
    let (mut scenario, _) = read_scenario(&scenario)?;
    let log = log::read(text);
    let errors = log.apply(&mut scenario);
    from_value(&json!({
        "engine": log.engine,
        "model_name": log.model_name,
        "scenario": scenario.to_json(),
        "fields": fields_json(&log.settings),
        "comparison": comparison_json(&log.compared(&scenario))?,
        "notes": log.notes,
        "errors": errors_json(&ENGLISH, &errors),
    }))
}

/// Reads files, bytes and texts, whatever they are, and joins them into one scenario.
#[wasm_bindgen(js_name = readFiles, skip_typescript)]
pub async fn read_files(files: JsValue, scenario: JsValue) -> Result<JsValue, JsError> {
    let (base, _) = read_scenario(&scenario)?;
    let read = join_files(read_all(files).await, &base);
    from_value(&json!({
        "files": read.files,
        "scenario": read.scenario.as_ref().map(Scenario::to_json),
        "error": read.error,
        "fields": fields_json(&read.settings),
        "comparison": comparison_json(&read.comparison)?,
        "devices": read.devices,
        "notes": read.notes,
        "errors": errors_json(&ENGLISH, &read.errors),
    }))
}

/// Reads one thing, or each of a list.
async fn read_all(files: JsValue) -> Vec<FileReader> {
    let mut res = Vec::new();
    if let Some(list) = files.dyn_ref::<js_sys::Array>() {
        for file in list.iter() {
            res.push(files::read(&file, "").await);
        }
    } else {
        res.push(files::read(&files, "").await);
    }
    res
}

fn fields_json(settings: &[Setting]) -> Value {
    let pair = |setting: &Setting| (setting.key.to_owned(), Value::from(setting.value.as_str()));
    Value::Object(settings.iter().map(pair).collect())
}

/// The rows, each with its reason as a sentence.
fn comparison_json(comparison: &[Comparison]) -> Result<Value, JsError> {
    comparison
        .iter()
        .map(|row| {
            let mut res = to_value(row)?;
            let message = comparison::reason(row.reason.as_ref(), &ENGLISH);
            if let Some(object) = res.as_object_mut() {
                object.insert("message".to_owned(), Value::from(message));
            }
            Ok(res)
        })
        .collect()
}

/// A model for the page, which has no importer, as a line of its own: `kind` says whether `text` is the scenario's field
/// `model` (`model`), or that field of which the dimensions `dims` change (`edit`). What is said of it is said in `lang`.
#[wasm_bindgen(js_name = resolveModel, skip_typescript)]
pub async fn resolve_model(
    kind: String,
    text: String,
    name: String,
    dims: String,
    lang: String,
) -> Result<String, JsError> {
    let messages = language::words(&lang).await;
    let choice = match kind.as_str() {
        "edit" => edited(&text, &dims, &name).map_err(ModelError::from),
        _ => ModelChoice::from_json_text(&text),
    };
    let mut choice = choice.map_err(|error| JsError::new(&model_error(&error, messages)))?;
    for note in &mut Arc::make_mut(&mut choice.config).notes {
        note.message = Message::Said(messages.message(&note.message));
    }
    Ok(resolved::choice_to_line(&choice))
}

/// The models and accelerators to choose from.
#[wasm_bindgen(js_name = presets, skip_typescript)]
pub fn presets() -> Result<JsValue, JsError> {
    let models: Vec<Value> =
        presets::all().iter().map(|preset| {
                let facts = preset.facts();
                json!({ "id": preset.id(), "name": facts.name, "family": facts.family, "source": facts.source, "confidence": facts.confidence })
            }).collect();
    let gpus: Vec<Value> = crate::core::gpus::all()
        .iter()
        .map(|gpu| json!({ "id": gpu.id, "name": gpu.name }))
        .collect();
    from_value(&json!({ "models": models, "gpus": gpus }))
}

/// Many requests on the scenario's server, and beside them the same with one thing changed. The settings are those of a link
/// whose keys begin with `serve.`, without that, over those that a link has; a trace may also be its text, a table or JSON, or a
/// list of objects.
#[wasm_bindgen(js_name = simulate, skip_typescript)]
pub fn simulate(scenario_or_link: JsValue, settings: JsValue) -> Result<JsValue, JsError> {
    let text = &ENGLISH;
    let (scenario, mut errors) = read_scenario(&scenario_or_link)?;
    let mut settings_of = read_settings(&scenario_or_link);
    let mut wrong = Vec::new();
    let mut trace_said = None;
    if let Value::Object(object) = to_json(&settings)? {
        for (key, value) in object {
            let value = match value {
                Value::Null => String::new(),
                Value::String(text) => text,
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    value.to_string()
                }
            };
            if key == "trace" && value.contains(['\n', ',']) {
                let trace = trace::read(&value).map_err(|error| serve_error(&error))?;
                trace_said = Some(runs::trace(&trace, text));
                settings_of.study.trace = Arc::new(trace.rows);
                continue;
            }
            let taken = match settings::get(&format!("serve.{key}")) {
                Some(known) => known.set(&mut settings_of, &value),
                None => Err(SettingError::unknown(&key, &value)),
            };
            wrong.extend(taken.err());
        }
    }
    let mut res = Vec::new();
    for run in settings_of.study.runs(&scenario, &settings_of.constants) {
        let mut simulation = run.start().map_err(|error| serve_error(&error))?;
        simulation.advance(u64::MAX);
        res.push(json!({
            "name": runs::name(&run, text),
            "scenario": run.scenario.to_json(),
            "report": simulation.report(),
        }));
    }
    let mut all = errors_json(text, &std::mem::take(&mut errors));
    if let Some(list) = all.as_array_mut() {
        list.extend(wrong.iter().map(|error| {
            json!({ "field": error.key, "given": error.given, "message": setting::error(error, text) })
        }));
    }
    from_value(&json!({ "runs": res, "trace": trace_said, "errors": all }))
}

fn serve_error(error: &ServeError) -> JsError {
    JsError::new(&runs::error(error, &ENGLISH))
}

/// The fragment of a scenario, without `#`.
#[wasm_bindgen(js_name = toLink, skip_typescript)]
pub fn to_link(scenario: JsValue) -> Result<String, JsError> {
    Ok(link::to_fragment(&read_scenario(&scenario)?.0))
}

/// The scenario of a fragment, and what could not be read.
#[wasm_bindgen(js_name = fromLink, skip_typescript)]
pub fn from_link(fragment: &str) -> Result<JsValue, JsError> {
    let link = link::from_fragment(fragment, PageOptions::KEYS);
    let errors = errors_json(&ENGLISH, &link.errors);
    from_value(&json!({ "scenario": link.scenario.to_json(), "errors": errors }))
}

/// One chart as SVG text, a picture of its own with its colours.
#[wasm_bindgen(js_name = chartSvg, skip_typescript)]
pub fn chart_svg(
    figure: &str,
    scenario_or_link: JsValue,
    width: Option<u32>,
    is_dark: Option<bool>,
) -> Result<String, JsError> {
    let (scenario, _) = read_scenario(&scenario_or_link)?;
    let model = match charts::get(figure) {
        Some(chart) => {
            let report = report_of(&scenario);
            (chart.model)(&Input {
                scenario: &scenario,
                report: &report,
                now: &report,
                step: scenario.decode_steps(),
                pinned: &[],
                messages: &ENGLISH,
            })
        }
        None => {
            let settings = read_settings(&scenario_or_link);
            let model = charts::fleet(figure, &scenario, &settings, &ENGLISH);
            model
                .ok_or_else(|| no_figure(figure))?
                .map_err(|error| serve_error(&error))?
        }
    };
    let colors = if is_dark == Some(true) {
        Colors::Dark
    } else {
        Colors::Light
    };
    Ok(chart::svg_file(&model, width.unwrap_or(720), colors).0)
}

fn no_figure(figure: &str) -> JsError {
    let known = charts::ALL.iter().map(|chart| chart.id);
    let known: Vec<&str> = known.chain(charts::FLEET).collect();
    JsError::new(&format!(
        "there is no figure \"{}\"; there are {}",
        cut(figure, 60),
        known.join(", ")
    ))
}

/// The settings in a fragment's text; the defaults with a plain object, which has none.
fn read_settings(value: &JsValue) -> Settings {
    let link = value
        .as_string()
        .map(|fragment| link::from_fragment(&fragment, PageOptions::KEYS));
    let mut pairs = link.map(|link| link.other).unwrap_or_default();
    pairs.retain(|(key, _)| key.contains('.'));
    settings::from_pairs(&pairs).0
}

fn errors_json(text: &Messages, errors: &[FieldError]) -> Value {
    errors
        .iter()
        .map(|error| json!({ "field": error.key, "given": error.given, "message": notes::field_error(error, text) }))
        .collect()
}

/// Reads a scenario from a plain object, `undefined` or a fragment's text.
fn read_scenario(value: &JsValue) -> Result<(Scenario, Vec<FieldError>), JsError> {
    if let Some(fragment) = value.as_string() {
        let link = link::from_fragment(&fragment, PageOptions::KEYS);
        return Ok((link.scenario, link.errors));
    }
    Ok(Scenario::from_json(&to_json(value)?))
}

/// A JavaScript value as JSON; what JSON cannot hold is null.
fn to_json(value: &JsValue) -> Result<Value, JsError> {
    let text = js_sys::JSON::stringify(value)
        .map_err(|_| JsError::new("expected a plain object that JSON can hold"))?
        .as_string()
        .unwrap_or_else(|| "null".to_owned());
    if link::MAX_LENGTH * 16 < text.len() {
        return Err(JsError::new("the object is larger than 16 MiB as JSON"));
    }
    serde_json::from_str(&text).map_err(|error| JsError::new(&error.to_string()))
}

fn to_value(value: &impl Serialize) -> Result<Value, JsError> {
    serde_json::to_value(value).map_err(|error| JsError::new(&error.to_string()))
}

/// JSON as a JavaScript value.
fn from_value(value: &Value) -> Result<JsValue, JsError> {
    js_sys::JSON::parse(&value.to_string()).map_err(|_| JsError::new("the result is not JSON"))
}
