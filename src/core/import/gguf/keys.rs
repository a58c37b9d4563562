//! The keys of a header that are kept, and asking them for numbers.

use std::collections::BTreeMap;

use super::scan::shown;
use crate::core::import::ImportError;
use crate::core::import::sentences::{Key, Part, say};

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    /// A negative number.
    Below(i64),
    Float(f64),
    Flag(bool),
    Text(String),
    List(Vec<Value>),
    /// A text or list of this length that is not kept.
    Long(u64),
}

/// All keys of a header.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Keys {
    values: BTreeMap<String, Value>,
}

impl Keys {
    /// Adds a key; gives it back when it is there already.
    pub(super) fn insert(&mut self, key: String, value: Value) -> Option<String> {
        if self.values.contains_key(&key) {
            return Some(key);
        }
        self.values.insert(key, value);
        None
    }

    /// Gives a key that is there its value.
    pub(super) fn replace(&mut self, key: &str, value: Value) {
        if let Some(old) = self.values.get_mut(key) {
            *old = value;
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// A text that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text.trim()).filter(|text| !text.is_empty()),
            _ => None,
        }
    }
}

/// The keys of one architecture, named without it.
pub(super) struct ArchKeys<'a> {
    pub(super) keys: &'a Keys,
    pub(super) arch: &'a str,
}

impl<'a> ArchKeys<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.keys.get(&self.full(name))
    }

    fn full(&self, name: &str) -> String {
        format!("{}.{name}", self.arch)
    }

    /// A dimension for the whole model. Of a list, the largest.
    pub(super) fn dim(&self, name: &str) -> Result<Option<u32>, ImportError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::List(list)) => {
                let mut res = None;
                for value in list {
                    res = res.max(Some(self.dim_of(name, value)?));
                }
                Ok(res)
            }
            Some(value) => self.dim_of(name, value).map(Some),
        }
    }

    /// A dimension that must be there and not be zero.
    pub(super) fn needed_dim(&self, name: &str) -> Result<u32, ImportError> {
        match self.dim(name)? {
            Some(0) => Err(ImportError::new(
                "zero",
                say!(zero, name = self.shown(name)),
            )),
            Some(dim) => Ok(dim),
            None => Err(ImportError::new(
                "missing_key",
                say!(gguf_missing, name = self.shown(name)),
            )),
        }
    }

    /// The dimension of one layer: of a list its entry, else the number for all.
    pub(super) fn dim_at(&self, name: &str, idx: usize) -> Result<Option<u32>, ImportError> {
        match self.get(name) {
            Some(Value::List(list)) => match list.get(idx) {
                Some(value) => self.dim_of(name, value).map(Some),
                None => Err(self.too_short(name, list.len())),
            },
            _ => self.dim(name),
        }
    }

    /// The flags of the layers, if the key is a list. A text is true unless it says `shared`.
    pub(super) fn flags(
        &self,
        name: &str,
        n_layers: usize,
    ) -> Result<Option<Vec<bool>>, ImportError> {
        let Some(Value::List(list)) = self.get(name) else {
            return Ok(None);
        };
        if list.len() < n_layers {
            return Err(self.too_short(name, list.len()));
        }
        let flags = list.iter().take(n_layers).map(|value| match value {
            Value::Flag(flag) => *flag,
            Value::Whole(number) => *number != 0,
            Value::Below(_) => true,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => text != "shared",
            Value::List(_) | Value::Long(_) => false,
        });
        Ok(Some(flags.collect()))
    }

    fn too_short(&self, name: &str, len: usize) -> ImportError {
        ImportError::new(
            "list_too_short",
            say!(gguf_short_list, name = self.shown(name), entries = len),
        )
    }

    fn dim_of(&self, name: &str, value: &Value) -> Result<u32, ImportError> {
        let given = match value {
            Value::Whole(number) => match u32::try_from(*number) {
                Ok(dim) => return Ok(dim),
                Err(_) => Part::from(*number),
            },
            Value::Flag(flag) => return Ok(u32::from(*flag)),
            Value::Below(number) => number.to_string().into(),
            // Some converters write whole numbers as floats; in range by the check.
            Value::Float(number) if number.fract() == 0.0 && (0.0..=4e9).contains(number) => {
                return Ok(*number as u32);
            }
            Value::Float(number) => Part::Text(number.to_string()),
            Value::Text(text) => format!("{:?}", shown(text)).into(),
            Value::List(_) => Key::a_list.into(),
            Value::Long(_) => Key::a_long_list.into(),
        };
        Err(ImportError::new(
            "wrong_type",
            say!(
                not_a_whole_number,
                name = self.shown(name),
                given,
                max = u32::MAX
            ),
        ))
    }

    pub(super) fn shown(&self, name: &str) -> String {
        shown(&self.full(name))
    }
}
