//! A header as JSON: what a scenario and a link keep of a GGUF file, some kilobytes in place of some megabytes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::keys::{Keys, Value};
use super::layers::MAX_LAYERS;
use super::sums::{Amount, ByKind, GgufHeader, Sums};
use crate::core::import::ImportError;
use crate::core::import::sentences::{Sentence, say};
use crate::core::weights::WeightKind;

/// The names of [`WeightKind::ALL`].
const NAMES: [&str; WeightKind::ALL.len()] = [
    "embedding",
    "per_layer_embedding",
    "head",
    "attention",
    "recurrent",
    "mlp",
    "shared_experts",
    "routed_experts",
    "routed_expert_biases",
    "router",
    "norm",
];

/// Keys that say something of the model and are not of its architecture.
const GENERAL: [&str; 7] = [
    "general.architecture",
    "general.type",
    "general.name",
    "general.basename",
    "general.file_type",
    "split.no",
    "split.count",
];

/// The list of words, of which the length counts.
const WORDS: &str = "tokenizer.ggml.tokens";

/// The form in JSON. Parameters are by part, layers that are alike once with their number; `types` are by part and by the
/// number of the type, as elements and bytes.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Form {
    keys: Map<String, Json>,
    tensor_count: u64,
    before: BTreeMap<String, u64>,
    layers: Vec<(u64, BTreeMap<String, u64>)>,
    after: BTreeMap<String, u64>,
    types: BTreeMap<String, BTreeMap<u32, (u64, u64)>>,
    #[serde(skip_serializing_if = "is_zero")]
    unknown_types: u64,
    #[serde(skip_serializing_if = "is_zero")]
    missing: u64,
    has_nextn: bool,
    parts: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl GgufHeader {
    /// The header as JSON, for the scenario's field `model`: `{"gguf": …}`.
    pub fn to_json(&self) -> Json {
        let arch = self.keys.text("general.architecture").unwrap_or_default();
        let is_own = |key: &str| {
            GENERAL.contains(&key)
                || key == WORDS
                || key
                    .strip_prefix(arch)
                    .is_some_and(|name| name.starts_with('.'))
        };
        let keys = self
            .keys
            .iter()
            .filter(|(key, _)| is_own(key))
            .filter_map(|(key, value)| {
                let value = match value {
                    Value::Long(length) if key == WORDS => Json::from(*length),
                    value => value_json(value)?,
                };
                Some((key.to_owned(), value))
            });
        let sums = &self.sums;
        let form = Form {
            keys: keys.collect(),
            tensor_count: sums.n_tensors,
            before: named(&sums.before),
            layers: sums
                .layers
                .chunk_by(|a, b| a == b)
                .filter_map(|run| Some((run.len() as u64, named(run.first()?))))
                .collect(),
            after: named(&sums.after),
            types: sums
                .by_kind
                .iter()
                .filter_map(|(part, types)| {
                    let types = types
                        .iter()
                        .map(|(kind, amount)| (*kind, (amount.elements, amount.bytes)));
                    Some(((*NAMES.get(*part)?).to_owned(), types.collect()))
                })
                .collect(),
            unknown_types: sums.n_unknown,
            missing: self.missing,
            has_nextn: sums.has_nextn,
            parts: self.parts,
        };
        serde_json::to_value(form).unwrap_or_default()
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    ///
    /// A sentence that says what it is not.
    pub fn from_json(value: &Json) -> Result<Self, ImportError> {
        let wrong = |what: Sentence| ImportError::new("not_a_header", what);
        let no_part = |name: &str| wrong(say!(gguf_header_part, name = format!("{name:?}")));
        let form =
            Form::deserialize(value).map_err(|err| wrong(say!(gguf_header_cannot, error = err)))?;
        let mut keys = Keys::default();
        for (key, value) in &form.keys {
            let value = match value_of(value) {
                Value::Whole(length) if key == WORDS => Value::Long(length),
                value => value,
            };
            keys.insert(key.clone(), value);
        }
        let numbers = |params: &BTreeMap<String, u64>| {
            let mut res = ByKind::default();
            for (name, number) in params {
                let part = part_of(name).ok_or_else(|| no_part(name))?;
                if let Some(sum) = res.get_mut(part) {
                    *sum = *number;
                }
            }
            Ok(res)
        };
        let mut sums = Sums {
            n_tensors: form.tensor_count,
            before: numbers(&form.before)?,
            after: numbers(&form.after)?,
            n_unknown: form.unknown_types,
            has_nextn: form.has_nextn,
            ..Sums::default()
        };
        for (count, params) in &form.layers {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            let len = sums.layers.len().saturating_add(count);
            if MAX_LAYERS < len {
                return Err(wrong(say!(gguf_header_layers, max = MAX_LAYERS)));
            }
            sums.layers.resize(len, numbers(params)?);
        }
        for (name, types) in form.types {
            let part = part_of(&name).ok_or_else(|| no_part(&name))?;
            let types = types
                .into_iter()
                .map(|(kind, (elements, bytes))| (kind, Amount { elements, bytes }));
            sums.by_kind.insert(part, types.collect());
        }
        Ok(Self {
            keys,
            sums,
            missing: form.missing,
            parts: form.parts,
        })
    }
}

fn part_of(name: &str) -> Option<usize> {
    NAMES.iter().position(|known| *known == name)
}

fn named(params: &ByKind) -> BTreeMap<String, u64> {
    let names = NAMES.iter().map(|name| (*name).to_owned());
    let parts = names.zip(params.iter().copied());
    parts.filter(|(_, number)| *number != 0).collect()
}

/// The JSON of a value; `None` of a float, which is no dimension, unless it is whole.
fn value_json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Whole(number) => Json::from(*number),
        Value::Long(_) => Json::Null,
        Value::Below(number) => Json::from(*number),
        // Whole and in range by the check.
        Value::Float(number) if number.fract() == 0.0 && (0.0..=4e9).contains(number) => {
            Json::from(*number as u64)
        }
        Value::Float(_) => return None,
        Value::Flag(flag) => Json::from(*flag),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(list) => list
            .iter()
            .map(|value| value_json(value).unwrap_or_default())
            .collect(),
    })
}

fn value_of(value: &Json) -> Value {
    match value {
        Json::Null | Json::Object(_) => Value::Long(0),
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Value::Whole(number),
            (None, Some(number)) => Value::Below(number),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(list) => Value::List(list.iter().map(value_of).collect()),
    }
}
