//! The context a model was trained for, as an engine derives it.

use super::config_view::ConfigView;
use crate::core::import::sentences::{Sentence, say};
use crate::core::model::ImportNote;
use crate::core::units::Tokens;

/// The file's number, or what `model_max_length` or YaRN make of it; where vLLM serves more, a note says so.
///
/// Source: `_get_and_verify_max_len` in vLLM,
/// <https://github.com/vllm-project/vllm/blob/001cabc1be16a59a70d720ed61a13b678c060a18/vllm/config/model.py>.
pub(super) fn max_position_embeddings(
    view: &ConfigView<'_>,
    notes: &mut Vec<ImportNote>,
) -> Option<Tokens> {
    let in_file = shortest(view);
    let given = in_file.or_else(|| view.number("max_position_embeddings"))?;
    let mut note = |code, message: Sentence| {
        notes.push(ImportNote {
            code,
            message: message.into(),
        });
    };
    if in_file.is_none() {
        note("context", say!(context_of_class, tokens = given));
    }
    let is_cohere = view.model_type().starts_with("cohere");
    if is_cohere
        && let Some(longer) = view
            .number("model_max_length")
            .filter(|longer| given < *longer)
    {
        note("context", say!(context_of_vllm, given, longer));
        return Some(Tokens(longer));
    }
    if is_cohere && given == 8192 {
        note("context", say!(context_understated));
    }
    let Some((kind, scaled)) = scaled(view, given).filter(|(_, scaled)| *scaled != given) else {
        return Some(Tokens(given));
    };
    // YaRN's extension is part of the model; the others stretch it when it is served.
    if kind.contains("yarn") {
        note("context", say!(context_yarn, given, scaled));
        Some(Tokens(scaled))
    } else {
        note("context", say!(context_scaled, given, kind, scaled));
        Some(Tokens(given))
    }
}

/// The shortest of the numbers a file gives: Qwen's first generation has rotary positions for 32k and was trained on 8k.
fn shortest(view: &ConfigView<'_>) -> Option<u64> {
    let names = [
        "max_seq_len",
        "seq_length",
        "max_sequence_length",
        "max_seq_length",
        "max_position_embeddings",
    ];
    names
        .iter()
        .filter_map(|name| view.given(name))
        .filter(|number| *number != 0)
        .min()
}

/// Types whose `max_position_embeddings` is the extended context already.
const ALREADY_EXTENDED: &[&str] = &[
    "su",
    "longrope",
    "llama3",
    "default",
    "mrope",
    "proportional",
];

fn scaled<'a>(view: &ConfigView<'a>, given: u64) -> Option<(&'a str, u64)> {
    // Gemma 3 states the extended context beside a linear factor.
    if view.model_type().starts_with("gemma3") {
        return None;
    }
    let field = |key: &str| {
        ["rope_parameters", "rope_scaling"]
            .iter()
            .find_map(|section| view.value(&format!("{section}.{key}")))
    };
    let kind = field("rope_type").or_else(|| field("type"))?.as_str()?;
    if ALREADY_EXTENDED.contains(&kind) {
        return None;
    }
    let factor = field("factor")?
        .as_f64()
        .filter(|factor| 1.0 <= *factor && *factor <= 1e6)?;
    let base = match kind {
        "yarn" | "deepseek_yarn" => field("original_max_position_embeddings")
            .and_then(serde_json::Value::as_u64)
            .unwrap_or(given),
        _ => given,
    };
    let base = u32::try_from(base).ok()?;
    // At most 2^32 × 10^6, which fits.
    Some((kind, (f64::from(base) * factor) as u64))
}
