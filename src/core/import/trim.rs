//! A configuration as small as a link needs it: without the large parts that say nothing about the model's size.

use serde_json::{Map, Value};

use super::hf_config;
use crate::core::import::sentences::say;
use crate::core::link;
use crate::core::model::{Message, ModelConfig};

/// Parts that are shorter are left: lists of layers are, lists of labels and of quantized modules are not.
const MIN_BYTES: usize = 2048;

/// The configuration if a link holds it, else without its large parts, as long as it is the same model without them.
///
/// # Errors
///
/// The sentence for the reader when the model cannot be told in a link.
pub(in crate::core) fn trimmed(config: Value, model: &ModelConfig) -> Result<Value, Message> {
    let mut res = config;
    if link::holds(&res.to_string()) {
        return Ok(res);
    }
    let same = |config: &Value| {
        hf_config::import_value(config, Some(&model.name)).is_ok_and(|read| {
            ModelConfig {
                notes: model.notes.clone(),
                ..read
            } == *model
        })
    };
    for path in large_parts(&res) {
        let mut without = res.clone();
        let is_taken = take(&mut without, &path).is_some();
        if is_taken && same(&without) {
            res = without;
        }
    }
    if link::holds(&res.to_string()) {
        return Ok(res);
    }
    Err(say!(untrimmed, bytes = res.to_string().len()).into())
}

fn take(config: &mut Value, path: &[String]) -> Option<Value> {
    let (last, sections) = path.split_last()?;
    let mut object = config.as_object_mut()?;
    for section in sections {
        object = object.get_mut(section)?.as_object_mut()?;
    }
    object.remove(last)
}

/// Where the large parts are, the whole ones before what lies in them.
fn large_parts(config: &Value) -> Vec<Vec<String>> {
    let large = |object: &Map<String, Value>, before: &[String]| {
        let keys = object
            .iter()
            .filter(|(_, value)| MIN_BYTES <= value.to_string().len());
        keys.map(|(key, _)| [before, std::slice::from_ref(key)].concat())
            .collect::<Vec<_>>()
    };
    let Some(root) = config.as_object() else {
        return Vec::new();
    };
    let mut res = large(root, &[]);
    for path in res.clone() {
        let section = path.first().and_then(|key| root.get(key));
        if let Some(section) = section.and_then(Value::as_object) {
            res.extend(large(section, &path));
        }
    }
    res
}
