//! A model with other dimensions: its configuration with those keys written over.

use serde_json::{Map, Value};

use crate::core::import::sentences::say;
use crate::core::model::Message;
use crate::core::presets;
use crate::core::scenario::ModelChoice;

/// The model of the scenario's field `model` with dimensions as `num_hidden_layers=80 …`, under another name.
///
/// # Errors
///
/// The sentence for the reader when the result is no model.
pub fn edited(model: &str, dims: &str, name: &str) -> Result<ModelChoice, Message> {
    let mut config = match presets::get(model) {
        Some(preset) => preset.config(),
        None => {
            let mut model: Value =
                serde_json::from_str(model).map_err(|error| say!(model_not_json, error))?;
            let preset = model.get("preset").and_then(Value::as_str);
            match preset.and_then(presets::get) {
                Some(preset) => preset.config(),
                None => ["config", "dims"]
                    .into_iter()
                    .find_map(|key| model.get_mut(key).map(Value::take))
                    .unwrap_or_default(),
            }
        }
    };
    if let Some(object) = config.as_object_mut() {
        for (key, value) in dims.split(' ').filter_map(|dim| dim.split_once('=')) {
            if let Ok(value) = value.parse::<u64>() {
                write_dim(object, key, value);
            }
        }
    }
    ModelChoice::from_config(config, name)
}

/// Writes a dimension where the configuration has it, nested or not.
fn write_dim(object: &mut Map<String, Value>, name: &str, value: u64) {
    let nested = ["text_config", "llm_config", "language_config"]
        .into_iter()
        .find(|key| object.contains_key(*key));
    match nested
        .and_then(|key| object.get_mut(key))
        .and_then(Value::as_object_mut)
    {
        Some(inner) => inner.insert(name.to_owned(), Value::from(value)),
        None => object.insert(name.to_owned(), Value::from(value)),
    };
}
