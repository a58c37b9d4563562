//! One way to ask a config.json for a field, whatever it calls it and wherever it keeps it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ImportError;
use super::names::{ALIASES, ROOT_FIELDS, class_defaults, language_section, model_type};
use crate::core::import::sentences::{Key, Part, Sentence, say};
use crate::core::scenario::cut;

/// A parsed config.json. An accessor takes the canonical name of a field, knows its other names, looks in the language
/// model's section, and falls back to what the architecture's class says when the field is missing.
///
/// A field that is there with the value null was switched off by the file: it is `None` and has no default. A field of
/// the wrong type is `None` and is remembered for [`Self::problem`].
///
/// ```
/// # use kvscope::core::import::{config_view::ConfigView, lenient_json::parse};
/// let file = parse(r#"{"model_type": "llava", "text_config": {"model_type": "llama", "n_layer": 24}, "vision_config": {}}"#)?;
/// let view = ConfigView::new(&file)?;
/// assert_eq!(view.number("num_hidden_layers"), Some(24));
/// assert_eq!((view.number("hidden_size"), view.given("hidden_size")), (Some(4096), None));
/// # Ok::<(), kvscope::core::import::ImportError>(())
/// ```
pub struct ConfigView<'a> {
    root: &'a Map<String, Value>,
    text: &'a Map<String, Value>,
    section: &'static str,
    model_type: String,
    defaults: Vec<(&'static str, &'static str)>,
    read: RefCell<BTreeSet<String>>,
    defaulted: RefCell<BTreeSet<&'static str>>,
    problem: RefCell<Option<Sentence>>,
}

/// The largest number a field may have; products of three such dimensions still saturate safely.
const MAX_NUMBER: u64 = (1 << 53) - 1;

impl<'a> ConfigView<'a> {
    /// A view of a parsed file; an error when it is not an object.
    pub fn new(file: &'a Value) -> Result<Self, ImportError> {
        let Value::Object(root) = file else {
            let kind = match file {
                Value::Array(_) => Key::a_list,
                Value::String(_) => Key::a_string,
                Value::Number(_) => Key::a_number,
                Value::Bool(_) | Value::Null => Key::a_word,
                Value::Object(_) => Key::an_object,
            };
            return Err(ImportError::new("not_an_object", say!(not_an_object, kind)));
        };
        let (section, text) = language_section(root);
        let model_type = model_type(root, text);
        let defaults = class_defaults(&model_type);
        Ok(Self {
            root,
            text,
            section,
            model_type,
            defaults,
            read: RefCell::default(),
            defaulted: RefCell::default(),
            problem: RefCell::default(),
        })
    }

    /// `model_type` of the language model; empty when the file has none.
    pub fn model_type(&self) -> &str {
        &self.model_type
    }

    /// The first of `architectures`, of the language model or of the whole; empty when there is none.
    pub fn architecture(&self) -> &'a str {
        self.list("architectures")
            .and_then(|list| list.first())
            .and_then(Value::as_str)
            .unwrap_or("")
    }

    /// The name of the section that holds the language model; empty when the fields are flat.
    pub fn section(&self) -> &'static str {
        self.section
    }

    /// The whole file.
    pub fn root(&self) -> &'a Map<String, Value> {
        self.root
    }

    /// The language model's section, which is the whole file when fields are flat.
    pub fn fields(&self) -> &'a Map<String, Value> {
        self.text
    }

    /// Whether the file holds the field, under any of its names, with a value.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The field as the file has it, under any of its names; `a.b` is `b` in the section `a`. Null is `None`.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.find(name).filter(|value| !value.is_null())
    }

    /// A whole number, or the architecture's default. Of a list, the largest.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.find(name) {
            Some(value) => self.whole_number(name, value),
            None => self.default_number(name),
        }
    }

    /// A number where −1 and 0 mean that there is none, as for windows.
    pub fn window(&self, name: &str) -> Option<u64> {
        match self.find(name) {
            Some(Value::Number(number)) if number.as_f64().is_some_and(|number| number <= 0.0) => {
                None
            }
            _ => self.number(name),
        }
    }

    /// Fields that [`Self::number`] took from the architecture's class, in alphabetical order.
    pub fn defaulted(&self) -> Vec<&'static str> {
        self.defaulted.borrow().iter().copied().collect()
    }

    /// A whole number that the file itself holds.
    pub fn given(&self, name: &str) -> Option<u64> {
        self.find(name)
            .and_then(|value| self.whole_number(name, value))
    }

    /// The number of one layer: of a list its entry, else the number for all.
    pub fn number_at(&self, name: &str, layer_idx: usize) -> Option<u64> {
        match self.find(name) {
            Some(Value::Array(list)) => self.whole_number(name, list.get(layer_idx)?),
            _ => self.number(name),
        }
    }

    /// A list of whole numbers; a text of numbers with commas is one too.
    pub fn numbers(&self, name: &str) -> Option<Vec<u64>> {
        match self.value(name)? {
            Value::Array(list) => list
                .iter()
                .map(|value| self.whole_number(name, value))
                .collect(),
            Value::String(text) => text
                .split(',')
                .map(|word| word.trim().parse().ok())
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        }
    }

    /// A dimension: a number that fits in 32 bits. A larger one is a problem.
    pub fn dim(&self, name: &str) -> Option<u32> {
        let number = self.number(name)?;
        let res = u32::try_from(number).ok();
        if res.is_none() {
            self.complain(say!(too_large, name, given = number, max = u32::MAX));
        }
        res
    }

    /// A switch, or the architecture's default.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.find(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            Some(Value::Number(number)) => Some(number.as_f64() != Some(0.0)),
            Some(Value::Null) => None,
            Some(other) => {
                self.complain(say!(not_a_flag, name, given = short(other)));
                None
            }
            None => self.default_of(name).map(|text| text != "0"),
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.value(name).and_then(Value::as_str)
    }

    /// A list.
    pub fn list(&self, name: &str) -> Option<&'a [Value]> {
        self.value(name)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
    }

    /// What the architecture's class says of a missing field.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        self.defaults
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// Whether the class defaults of the architecture are known.
    pub fn has_class_defaults(&self) -> bool {
        !self.defaults.is_empty()
    }

    /// Top-level keys of the language model's section that nothing has read, in the file's order.
    pub fn unread_keys(&self) -> Vec<&'a str> {
        let read = self.read.borrow();
        self.text
            .keys()
            .map(String::as_str)
            .filter(|key| !read.contains(*key))
            .collect()
    }

    /// The first field that had a type or a size it may not have, as a sentence.
    pub fn problem(&self) -> Option<Sentence> {
        self.problem.borrow().clone()
    }

    /// Remembers a problem for [`Self::problem`]; the first one stays.
    pub fn complain(&self, message: Sentence) {
        self.problem.borrow_mut().get_or_insert(message);
    }

    fn default_number(&self, name: &str) -> Option<u64> {
        let (key, text) = self.defaults.iter().find(|(key, _)| *key == name)?;
        let res = text.parse().ok()?;
        self.defaulted.borrow_mut().insert(key);
        Some(res)
    }

    fn find(&self, name: &str) -> Option<&'a Value> {
        let others = ALIASES
            .iter()
            .find(|(canonical, _)| *canonical == name)
            .map_or(&[][..], |(_, others)| others);
        // Beside `dim`, `hidden_dim` is the width of the MLP; alone it is the model's.
        let is_of_field = |other: &&&str| {
            **other != "hidden_dim"
                || self.text.contains_key("dim") == (name == "intermediate_size")
        };
        let names = || std::iter::once(&name).chain(others).filter(is_of_field);
        // A value under another name is better than a null under this one.
        let mut res = None;
        for name in names() {
            match self.get(self.text, name) {
                Some(Value::Null) => res = Some(&Value::Null),
                Some(value) => return Some(value),
                None => {}
            }
        }
        for name in names().filter(|name| ROOT_FIELDS.contains(name)) {
            if let Some(value) = self.get(self.root, name).filter(|value| !value.is_null()) {
                return Some(value);
            }
        }
        res
    }

    fn get(&self, fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
        let (key, inner) = match name.split_once('.') {
            Some((key, inner)) => (key, Some(inner)),
            None => (name, None),
        };
        let value = fields.get(key)?;
        self.read.borrow_mut().insert(key.to_owned());
        match inner {
            Some(inner) => self.get(value.as_object()?, inner),
            None => Some(value),
        }
    }

    fn whole_number(&self, name: &str, value: &Value) -> Option<u64> {
        let number = match value {
            Value::Null => return None,
            Value::Array(list) if !list.is_empty() => {
                let numbers: Option<Vec<u64>> = list
                    .iter()
                    .filter(|item| !item.is_null())
                    .map(|item| item.as_u64().filter(|number| *number <= MAX_NUMBER))
                    .collect();
                numbers.and_then(|numbers| numbers.into_iter().max())
            }
            // −1 is how configs say that there is none.
            Value::Number(number) if number.as_i64() == Some(-1) => return None,
            Value::Number(number) => number.as_u64().or_else(|| {
                number
                    .as_f64()
                    .filter(|float| float.fract() == 0.0 && 0.0 <= *float && *float < 9e15)
                    // Whole and below 2^53 by the check above.
                    .map(|float| float as u64)
            }),
            // `mamba_d_head` may be "auto".
            Value::String(text) if text == "auto" => return None,
            Value::String(text) => text.trim().parse().ok(),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let res = number.filter(|number| *number <= MAX_NUMBER);
        if res.is_none() {
            self.complain(say!(
                not_a_whole_number,
                name,
                given = short(value),
                max = "2^53 − 1"
            ));
        }
        res
    }
}

/// A value for an error message, cut to a readable length.
pub(super) fn short(value: &Value) -> Part {
    match value {
        Value::Array(_) => Key::a_list.into(),
        Value::Object(_) => Key::an_object.into(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let text = value.to_string();
            cut(&text, 40).into()
        }
    }
}
