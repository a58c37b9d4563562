//! The dimensions of a uniform model as numbers that the reader can move: layers, KV heads, width of a head.

use std::sync::Arc;

use crate::core::layer::LayerKind;
use crate::core::model::ModelConfig;
use crate::core::scenario::{FieldError, ModelSource, Problem, Scenario, field, whole_number};
use crate::core::units::Bounds;

use super::text::{Messages, fill};
use super::{fields, notes, sentence};

/// The dimensions in order, with what each may be.
const DIMS: &[(&str, Bounds)] = &[
    (
        "num_hidden_layers",
        Bounds {
            min: 1,
            max: 1000,
            default: 80,
            is_log: true,
        },
    ),
    (
        "num_key_value_heads",
        Bounds {
            min: 1,
            max: 512,
            default: 8,
            is_log: true,
        },
    ),
    (
        "head_dim",
        Bounds {
            min: 1,
            max: 1024,
            default: 128,
            is_log: true,
        },
    ),
];

/// The bounds of a dimension.
pub fn bounds(key: &str) -> Bounds {
    let none = Bounds {
        min: 0,
        max: 0,
        default: 0,
        is_log: false,
    };
    DIMS.iter()
        .find(|(name, _)| *name == key)
        .map_or(none, |(_, bounds)| *bounds)
}

/// What a dimension may be.
pub fn range_hint(text: &Messages, key: &str) -> String {
    let (bounds, numbers) = (bounds(key), text.numbers());
    let (min, max) = (numbers.integer(bounds.min), numbers.integer(bounds.max));
    fill(
        &text.fields.range,
        &[
            ("min", &min),
            ("max", &max),
            ("unit", fields::unit(text, key)),
        ],
    )
}

/// The one kind of layer of a model that has only full attention, with as many KV heads in each layer and K as wide as V.
fn uniform(model: &ModelConfig) -> Option<(u32, u32, u32)> {
    match model.groups.as_slice() {
        [group] => match group.kind {
            LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } if head_dim == v_head_dim => Some((group.count, num_key_value_heads, head_dim)),
            _ => None,
        },
        _ => None,
    }
}

/// The dimensions of a uniform model whose configuration is at hand; none for any other.
pub fn dims(scenario: &Scenario) -> Vec<(&'static str, u64)> {
    match (&scenario.model.source, uniform(&scenario.model.config)) {
        (ModelSource::File { .. }, _) | (_, None) => Vec::new(),
        (_, Some((layers, heads, head_dim))) => {
            let values = [layers, heads, head_dim];
            DIMS.iter()
                .zip(values)
                .map(|((key, _), value)| (*key, u64::from(value)))
                .collect()
        }
    }
}

/// One dimension of a uniform model, else zero.
pub fn dim(scenario: &Scenario, key: &str) -> u64 {
    dims(scenario)
        .into_iter()
        .find(|(name, _)| *name == key)
        .map_or(0, |(_, value)| value)
}

/// A model to be made: what the importer is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The scenario's field `model` as it is.
    pub model: String,
    /// Its dimensions, as `num_hidden_layers=80 …`.
    pub dims: String,
    /// What the result is called.
    pub name: String,
}

/// Another dimension for the scenario's model. All three are written, so that a dimension which followed from another one
/// stays as it was.
///
/// # Errors
///
/// The sentence for the reader when the text is not a number within bounds.
pub fn edit(
    text: &Messages,
    scenario: &Scenario,
    key: &'static str,
    typed: &str,
) -> Result<Edit, String> {
    let bounds = bounds(key);
    let value = match whole_number(typed) {
        None => Err(Problem::NotANumber),
        Some(value) if !bounds.contains(value) => Err(Problem::OutOfBounds(bounds)),
        Some(value) => Ok(value),
    };
    let value = value.map_err(|problem| {
        let error = FieldError {
            key: key.to_owned(),
            given: crate::core::scenario::cut(typed.trim(), 60),
            problem,
        };
        notes::field_error(&error, text)
    })?;
    let dims: Vec<String> = dims(scenario)
        .into_iter()
        .map(|(name, now)| format!("{name}={}", if name == key { value } else { now }))
        .collect();
    let name = base_name(text, &scenario.model.config.name);
    Ok(Edit {
        model: field("model")
            .map(|field| (field.get)(scenario))
            .unwrap_or_default(),
        dims: dims.join(" "),
        name: fill(&text.page.model_edited, &[("name", name)]),
    })
}

/// The name without the mark of an earlier edit.
fn base_name<'a>(text: &Messages, name: &'a str) -> &'a str {
    let mark = fill(&text.page.model_edited, &[("name", "")]);
    name.strip_suffix(mark.as_str()).unwrap_or(name)
}

/// `Llama 3.1 70B · GQA · 80 layers`.
pub fn summary(text: &Messages, scenario: &Scenario) -> String {
    let model: &Arc<ModelConfig> = &scenario.model.config;
    let layers = text.numbers().integer(model.layers.len() as u64);
    fill(
        &text.page.model_summary,
        &[
            ("name", &sentence::model_name(scenario)),
            ("kind", attention_name(text, model)),
            ("layers", &layers),
        ],
    )
}

/// The family of the model's attention, in the usual short form.
fn attention_name<'a>(text: &'a Messages, model: &ModelConfig) -> &'a str {
    let names = &text.page;
    let has =
        |wanted: &dyn Fn(&LayerKind) -> bool| model.groups.iter().any(|group| wanted(&group.kind));
    if has(&|kind| matches!(kind, LayerKind::Recurrent(_))) {
        let has_rows = has(&|kind| !matches!(kind, LayerKind::Recurrent(_) | LayerKind::Shared));
        return if has_rows {
            &names.kind_hybrid
        } else {
            &names.kind_recurrent
        };
    }
    if has(&|kind| matches!(kind, LayerKind::Compressed { .. })) {
        return &names.kind_compressed;
    }
    if has(&|kind| matches!(kind, LayerKind::Latent { .. })) {
        return &names.kind_mla;
    }
    if has(&|kind| matches!(kind, LayerKind::Sliding { .. } | LayerKind::Chunked { .. })) {
        return &names.kind_sliding;
    }
    let heads = model
        .groups
        .iter()
        .filter_map(|group| group.kind.num_key_value_heads())
        .max()
        .unwrap_or(0);
    if heads == model.num_attention_heads {
        &names.kind_mha
    } else if heads == 1 {
        &names.kind_mqa
    } else {
        &names.kind_gqa
    }
}
