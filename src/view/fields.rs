//! How a field of the scenario is shown and typed, so that controls hold no arithmetic.

use crate::core::engines;
use crate::core::report::Report;
use crate::core::scenario::{EngineKind, FieldKind, ParallelSize, Scenario, field, ungrouped};
use crate::core::units::{Bounds, Bytes, ElementFormat, GB, GIB, KIB, MIB, Share, formats};
use crate::core::weights::WEIGHT_FORMATS;
use crate::core::{gpus, presets};

use super::slider;
use super::text::{Messages, Text, fill};

/// The control that a field gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widget {
    /// The model's own panel.
    Model,
    /// A menu.
    Select,
    /// A check box.
    Flag,
    /// A slider and a field.
    Number,
    /// A text field.
    Text,
}

/// The control of this field.
pub fn widget(key: &str) -> Widget {
    match field(key).map(|field| field.kind) {
        Some(FieldKind::Model) => Widget::Model,
        Some(FieldKind::Choice(_) | FieldKind::CacheFormat) => Widget::Select,
        Some(FieldKind::Flag) => Widget::Flag,
        Some(FieldKind::Month) | None => Widget::Text,
        // Amounts without a natural end have no useful slider.
        Some(FieldKind::Optional(_)) if NO_SLIDER.contains(&key) => Widget::Text,
        Some(
            FieldKind::Number(_)
            | FieldKind::Optional(_)
            | FieldKind::Share(_)
            | FieldKind::OptionalShare(_),
        ) => Widget::Number,
    }
}

const NO_SLIDER: &[&str] = &["available_kv_cache_bytes", "num_blocks", "num_tokens"];

/// The heading of a group of controls.
pub fn group_label<'a>(text: &'a Messages, group: &str) -> &'a str {
    match group {
        "request" => &text.fields.group_request,
        "model" => &text.fields.group_model,
        "hardware" => &text.fields.group_hardware,
        _ => &text.fields.group_engine,
    }
}

/// The name of a field; a key that is no field is its own name.
pub fn label<'a>(text: &'a Messages, key: &'a str) -> &'a str {
    text.fields.get(key).map_or(key, |label| label)
}

/// The unit of a field.
pub fn unit<'a>(text: &'a Messages, key: &str) -> &'a str {
    let fields = &text.fields;
    let unit: &Text = match key {
        "num_samples" => &fields.unit_samples,
        "num_seqs" => &fields.unit_requests,
        "tensor_parallel_size" | "decode_context_parallel_size" => &fields.unit_gpus,
        "pipeline_parallel_size" => &fields.unit_stages,
        "data_parallel_size" => &fields.unit_replicas,
        "gpu_memory_utilization"
        | "mem_fraction_static"
        | "free_gpu_memory_fraction"
        | "swa_full_tokens_ratio" => &fields.unit_share,
        "activation_bytes" | "overhead_bytes" | "available_kv_cache_bytes" => &fields.unit_bytes,
        "draft_layers" | "num_hidden_layers" => &fields.unit_layers,
        "num_key_value_heads" => &fields.unit_heads,
        "head_dim" => &fields.unit_elements,
        "num_blocks" => &fields.unit_blocks,
        "n_seq_max" | "max_mamba_cache_size" => &fields.unit_slots,
        "mla_attn" => &fields.unit_mla_kind,
        _ => &fields.unit_tokens,
    };
    unit
}

/// The class that gives a control its phase's colour, or an amount the room for its unit.
pub fn phase_class(key: &str) -> &'static str {
    match key {
        "prompt_tokens" => "p-prompt",
        "thinking_tokens" => "p-thinking",
        "answer_tokens" => "p-answer",
        _ if is_bytes(key) => "p-none amount",
        _ => "p-none",
    }
}

/// Whether the field is an amount of memory.
pub fn is_bytes(key: &str) -> bool {
    key.ends_with("_bytes")
}

/// What the field's control shows.
pub fn shown(text: &Messages, key: &str, scenario: &Scenario, report: &Report) -> String {
    let Some(field) = field(key) else {
        return String::new();
    };
    let raw = (field.get)(scenario);
    if raw == "auto" {
        return match resolved(key, scenario, report) {
            Some(value) => fill(
                &text.fields.auto_value,
                &[("value", &number_text(text, key, field.kind, value))],
            ),
            None => text.fields.auto.to_string(),
        };
    }
    match value(field.kind, &raw) {
        Some(value) => number_text(text, key, field.kind, value),
        None => raw,
    }
}

fn number_text(text: &Messages, key: &str, kind: FieldKind, value: u64) -> String {
    let numbers = text.numbers();
    match kind {
        FieldKind::Share(_) | FieldKind::OptionalShare(_) => {
            let is_whole = value.is_multiple_of(10_000);
            numbers.percent(value, 1_000_000, if is_whole { 0 } else { 1 })
        }
        _ if is_bytes(key) => numbers.bytes(Bytes(value)),
        _ => numbers.integer(value),
    }
}

/// The number behind the canonical text: millionths for a share.
fn value(kind: FieldKind, raw: &str) -> Option<u64> {
    match kind {
        FieldKind::Share(_) | FieldKind::OptionalShare(_) => {
            let share = Share::from_text(raw)?;
            Some(u64::from(share.0))
        }
        FieldKind::Number(_) | FieldKind::Optional(_) => raw.parse().ok(),
        FieldKind::Choice(_)
        | FieldKind::Flag
        | FieldKind::CacheFormat
        | FieldKind::Model
        | FieldKind::Month => None,
    }
}

/// The value that stands behind `auto`, where the report knows it.
fn resolved(key: &str, scenario: &Scenario, report: &Report) -> Option<u64> {
    match key {
        "tensor_parallel_size" if scenario.tensor_parallel_size == ParallelSize::Auto => {
            Some(u64::from(report.hardware.tensor_parallel_size))
        }
        "activation_bytes" => Some(report.hbm.activation_bytes.0),
        "overhead_bytes" => Some(report.hbm.overhead_bytes.0),
        "available_kv_cache_bytes" => Some(report.hbm.kv_pool_bytes.0),
        "block_size" => report.engine.block_size,
        "mem_fraction_static" => Some(u64::from(engines::memory_share(scenario).0)),
        _ => None,
    }
}

/// The canonical text of what a reader typed into the field: shares as fractions, amounts as bytes. What is not
/// understood is handed on as it is, so that the error can quote it.
pub fn typed(key: &str, input: &str) -> String {
    let input = input.trim();
    let kind = field(key).map(|field| field.kind);
    let res = match kind {
        Some(FieldKind::Share(_) | FieldKind::OptionalShare(_)) => typed_share(input),
        Some(FieldKind::Number(_) | FieldKind::Optional(_)) if is_bytes(key) => typed_bytes(input),
        _ => None,
    };
    res.unwrap_or_else(|| input.to_owned())
}

fn typed_share(input: &str) -> Option<String> {
    let (digits, is_percent) = match input.strip_suffix('%') {
        Some(digits) => (digits.trim(), true),
        None => (input, false),
    };
    let millionths = scaled(&digits.replace(',', "."), 1_000_000)?;
    let millionths = if is_percent || u64::from(Share::ONE.0) < millionths {
        millionths.saturating_add(50) / 100
    } else {
        millionths
    };
    // More than a whole is left to the field to refuse, with what was typed.
    Some(Share(u32::try_from(millionths).ok()?).to_string())
}

/// A decimal number times `factor`, to the nearest whole, half up.
fn scaled(text: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Fifteen decimals of a GiB are far below a byte.
    let fraction = fraction.get(..15.min(fraction.len()))?;
    let mantissa: u128 = format!("{whole}{fraction}").parse().ok()?;
    let one = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let res = (mantissa.checked_mul(u128::from(factor))? * 2).checked_add(one)? / (one * 2);
    u64::try_from(res).ok()
}

/// An amount with its unit as bytes: `4.8 GiB`, `512 MiB`, `1.5 GB`; a bare number is bytes.
fn typed_bytes(input: &str) -> Option<String> {
    const UNITS: &[(&str, u64)] = &[
        ("KIB", KIB),
        ("MIB", MIB),
        ("GIB", GIB),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", GB),
        ("B", 1),
    ];
    let upper = input.to_ascii_uppercase();
    let (digits, factor) = UNITS
        .iter()
        .find_map(|(unit, factor)| Some((upper.strip_suffix(unit)?.trim_end(), *factor)))?;
    Some(scaled(&ungrouped(digits)?, factor)?.to_string())
}

fn bounds(key: &str) -> Option<Bounds> {
    field(key).map(|field| field.kind)?.bounds()
}

/// The number a field stands for, `auto` resolved.
pub fn value_of(key: &str, scenario: &Scenario, report: &Report) -> u64 {
    let raw = field(key).map(|field| (value(field.kind, &(field.get)(scenario)), field.kind));
    match raw {
        Some((Some(value), _)) => value,
        Some((None, kind)) => resolved(key, scenario, report)
            .or(kind.bounds().map(|bounds| bounds.default))
            .unwrap_or(0),
        None => 0,
    }
}

fn canonical(key: &str, value: u64) -> String {
    match field(key).map(|field| field.kind) {
        Some(FieldKind::Share(_) | FieldKind::OptionalShare(_)) => {
            Share(u32::try_from(value).unwrap_or(u32::MAX)).to_string()
        }
        _ => value.to_string(),
    }
}

/// Where the field's slider stands.
pub fn position(key: &str, scenario: &Scenario, report: &Report) -> u32 {
    bounds(key).map_or(0, |bounds| {
        slider::position(bounds, value_of(key, scenario, report))
    })
}

/// The canonical text at a place of the field's slider.
pub fn at_position(key: &str, position: u32) -> String {
    bounds(key).map_or_else(String::new, |bounds| {
        canonical(key, slider::value_at(bounds, position))
    })
}

/// The canonical text some steps away.
pub fn stepped(key: &str, scenario: &Scenario, report: &Report, steps: i32) -> String {
    let current = value_of(key, scenario, report);
    bounds(key).map_or_else(String::new, |bounds| {
        canonical(key, slider::stepped(bounds, current, steps))
    })
}

/// The canonical text of the field in the default scenario.
pub fn default_text(key: &str) -> String {
    field(key)
        .map(|field| (field.get)(&Scenario::default()))
        .unwrap_or_default()
}

/// Whether the field is as in the default scenario.
pub fn is_default(key: &str, scenario: &Scenario) -> bool {
    field(key).is_some_and(|field| (field.get)(scenario) == default_text(key))
}

/// What the field allows: `0 to 1,048,576 tokens`.
pub fn range_hint(text: &Messages, key: &str) -> String {
    let Some(field) = field(key) else {
        return String::new();
    };
    let Some(bounds) = field.kind.bounds() else {
        return String::new();
    };
    let number = |value| number_text(text, key, field.kind, value);
    fill(
        &text.fields.range,
        &[
            ("min", &number(bounds.min)),
            ("max", &number(bounds.max)),
            ("unit", unit(text, key)),
        ],
    )
}

/// One line of a menu.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The canonical value.
    pub id: String,
    /// What the reader sees.
    pub label: String,
}

/// The lines of a field's menu; `current` is added when it is none of them, as a link can hold it.
pub fn choices(text: &Messages, key: &str, current: &str) -> Vec<Choice> {
    let choice = |id: &str, label: String| Choice {
        id: id.to_owned(),
        label,
    };
    let mut res: Vec<Choice> = match key {
        "gpu" => gpus::all()
            .iter()
            .map(|gpu| choice(gpu.id, gpu.name.to_owned()))
            .collect(),
        "weight_format" => WEIGHT_FORMATS
            .iter()
            .map(|format| choice(format.id, format.label.to_owned()))
            .collect(),
        "kv_cache_dtype" => formats::CACHE
            .iter()
            .map(|format| choice(format.id, format_label(text, format)))
            .collect(),
        "state_dtype" => crate::core::scenario::STATE_DTYPES
            .iter()
            .map(|format| choice(format.id, format_label(text, format)))
            .collect(),
        "engine" => EngineKind::ALL
            .iter()
            .map(|kind| choice(kind.id(), engine_label(text, *kind).to_owned()))
            .collect(),
        _ => match field(key).map(|field| field.kind) {
            Some(FieldKind::Choice(ids)) => ids()
                .into_iter()
                .map(|id| choice(id, id.to_owned()))
                .collect(),
            _ => Vec::new(),
        },
    };
    if !current.is_empty() && !res.iter().any(|choice| choice.id == current) {
        let label = match current.split_once('/') {
            Some((k, v)) => fill(&text.fields.k_and_v, &[("k", k), ("v", v)]),
            None => current.to_owned(),
        };
        res.push(Choice {
            id: current.to_owned(),
            label,
        });
    }
    res
}

/// The name of an engine.
pub fn engine_label(text: &Messages, kind: EngineKind) -> &str {
    match kind {
        EngineKind::Exact => &text.fields.engine_exact,
        EngineKind::Vllm => &text.fields.engine_vllm,
        EngineKind::Sglang => &text.fields.engine_sglang,
        EngineKind::TensorRtLlm => &text.fields.engine_tensorrt_llm,
        EngineKind::LlamaCpp => &text.fields.engine_llama_cpp,
    }
}

/// `bf16 · 2 B`, `q8_0 · 8.5 bit`.
fn format_label(text: &Messages, format: &ElementFormat) -> String {
    let (bytes, elements) = (
        u64::from(format.block_bytes),
        u64::from(format.block_elements),
    );
    let numbers = text.numbers();
    let size = if bytes.is_multiple_of(elements.max(1)) {
        fill(
            &text.fields.element_bytes,
            &[("n", &numbers.integer(bytes / elements.max(1)))],
        )
    } else {
        fill(
            &text.fields.element_bits,
            &[("n", &numbers.ratio(bytes * 8, elements, 2))],
        )
    };
    format!("{} · {size}", format.id)
}

/// A preset as the picker lists it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelChoice {
    /// Id.
    pub id: &'static str,
    /// Name.
    pub name: String,
    /// Family.
    pub family: String,
}

/// The presets whose name, family or id holds every word of `query`.
pub fn find_models(query: &str) -> Vec<ModelChoice> {
    let words: Vec<String> = query
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    presets::all()
        .iter()
        .filter(|preset| {
            let (name, family) = (&preset.model().name, preset.family());
            let text = format!("{name} {family} {}", preset.id()).to_ascii_lowercase();
            words.iter().all(|word| text.contains(word))
        })
        .map(|preset| ModelChoice {
            id: preset.id(),
            name: preset.model().name.clone(),
            family: preset.family().to_owned(),
        })
        .collect()
}
