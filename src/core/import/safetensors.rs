//! Safetensors files without their weights: the index of a model's files, and the header of one file.
//!
//! Source: the format's description in `safetensors/README.md`, and `model.safetensors.index.json` as transformers writes
//! it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::layer_types::quoted;
use super::{ImportError, Need};
use crate::core::import::sentences::{Part, Sentence, say};
use crate::core::model::{ImportNote, ModelConfig};
use crate::core::units::{Bytes, MIB, formats};
use crate::core::weights::{StoredWeights, weight_format};

/// Bytes of an index or header that are read. The largest published index, of Kimi-K2, has some 15 MB; the format allows a
/// header of 100 MB.
pub const MAX_TEXT: u64 = 64 * MIB;
/// Files of one model that are told apart.
const MAX_FILES: usize = 10_000;
/// Bytes that are asked for at once.
const SLICE: u64 = MIB;

/// What `model.safetensors.index.json` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafetensorsIndex {
    /// Bytes of all tensors, when the file gives them.
    pub total_size: Option<Bytes>,
    /// Tensors in its map.
    pub n_tensors: u64,
    /// The files that hold them.
    pub n_files: u64,
}

/// What the header of one safetensors file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SafetensorsHeader {
    /// Bytes of its tensors.
    pub bytes: Bytes,
    /// Tensors.
    pub n_tensors: u64,
    /// Bytes by `dtype`; types that are not of the format are one.
    pub by_dtype: BTreeMap<&'static str, Bytes>,
    /// Bytes by which the file is shorter than its header says.
    pub missing: Bytes,
}

/// The types of tensors, with their bits.
const DTYPES: &[(&str, u64)] = &[
    ("BF16", 16),
    ("F16", 16),
    ("F32", 32),
    ("F64", 64),
    ("F8_E4M3", 8),
    ("F8_E5M2", 8),
    ("F8_E8M0", 8),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("F4", 4),
    ("BOOL", 8),
    ("U8", 8),
    ("I8", 8),
    ("U16", 16),
    ("I16", 16),
    ("U32", 32),
    ("I32", 32),
    ("U64", 64),
    ("I64", 64),
    ("C64", 64),
];

/// Reads the text of an index.
///
/// # Errors
///
/// When the text is no index.
///
/// ```
/// # use kvscope::core::{import::safetensors::read_index, units::Bytes};
/// let text = r#"{"metadata": {"total_size": 24}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
/// let index = read_index(text)?;
/// assert_eq!((index.total_size, index.n_tensors, index.n_files), (Some(Bytes(24)), 2, 2));
/// # Ok::<(), kvscope::core::import::ImportError>(())
/// ```
pub fn read_index(text: &str) -> Result<SafetensorsIndex, ImportError> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(default)]
        metadata: Option<BTreeMap<String, Value>>,
        weight_map: Option<WeightMap>,
    }
    let n_bytes = text.len() as u64;
    if MAX_TEXT < n_bytes {
        return Err(ImportError::new(
            "too_long",
            say!(index_too_long, given = n_bytes, max = MAX_TEXT),
        ));
    }
    let text = text.trim_start_matches('\u{feff}');
    let index: Index = serde_json::from_str(text)
        .map_err(|err| ImportError::new("not_json", say!(index_not_json, error = err)))?;
    let Some(map) = index.weight_map else {
        return Err(ImportError::new("missing_key", say!(no_weight_map)));
    };
    let metadata = index.metadata.unwrap_or_default();
    Ok(SafetensorsIndex {
        total_size: metadata.get("total_size").and_then(bytes_of),
        n_tensors: map.n_tensors,
        n_files: map.files.len() as u64,
    })
}

/// A whole number, which some programs write as a float or a text.
fn bytes_of(value: &Value) -> Option<Bytes> {
    let whole = |float: f64| {
        let is_whole = float.fract() == 0.0 && (0.0..9e15).contains(&float);
        // Whole and below 2^53 by the check.
        is_whole.then_some(float as u64)
    };
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|bytes| 0 < *bytes).map(Bytes)
}

/// The map of an index, counted and not kept.
#[derive(Default)]
struct WeightMap {
    n_tensors: u64,
    files: BTreeSet<String>,
}

impl<'de> Deserialize<'de> for WeightMap {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = WeightMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from tensors to files")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut res = WeightMap::default();
                while map.next_key::<IgnoredAny>()?.is_some() {
                    let file: String = map.next_value()?;
                    res.n_tensors += 1;
                    if res.files.len() < MAX_FILES {
                        res.files.insert(file);
                    }
                }
                Ok(res)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// Reads the header of a safetensors file of any size without the weights.
///
/// ```
/// # use kvscope::core::{import::safetensors::SafetensorsReader, units::Bytes};
/// let header = r#"{"a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}}"#;
/// let mut file = (header.len() as u64).to_le_bytes().to_vec();
/// file.extend(header.as_bytes());
/// file.extend([0; 12]);
/// let mut reader = SafetensorsReader::new(file.len() as u64);
/// while let Some(need) = reader.need() {
///     let from = need.offset as usize;
///     reader.feed(&file[from..from + need.length as usize])?;
/// }
/// assert_eq!(reader.finish()?.bytes, Bytes(12));
/// # Ok::<(), kvscope::core::import::ImportError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SafetensorsReader {
    file_size: u64,
    /// Bytes of the header, once they are known.
    length: Option<u64>,
    bytes: Vec<u8>,
    has_failed: bool,
}

impl SafetensorsReader {
    /// A reader for a file of this many bytes.
    pub fn new(file_size: u64) -> Self {
        Self {
            file_size,
            length: None,
            bytes: Vec::new(),
            has_failed: false,
        }
    }

    /// What to feed next; `None` when the header is read or the reader has failed.
    pub fn need(&self) -> Option<Need> {
        let end = self.length.map_or(8, |length| length.saturating_add(8));
        let offset = self.bytes.len() as u64;
        if self.has_failed || end <= offset {
            return None;
        }
        let length = (end - offset)
            .min(SLICE)
            .min(self.file_size.saturating_sub(offset));
        Some(Need { offset, length })
    }

    /// Takes bytes from where [`Self::need`] said, all of them or the first of them.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the file; the reader needs nothing more then.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let res = self.take(bytes);
        if res.is_err() {
            self.has_failed = true;
            self.bytes = Vec::new();
        }
        res
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        let Some(need) = self.need() else {
            return Ok(());
        };
        let n_bytes = bytes.len().min(usize::try_from(need.length).unwrap_or(0));
        let bytes = bytes.get(..n_bytes).unwrap_or_default();
        if bytes.is_empty() {
            return Err(self.cut());
        }
        self.bytes.extend_from_slice(bytes);
        if self.length.is_none()
            && let Some(start) = self.bytes.first_chunk()
        {
            let length = u64::from_le_bytes(*start);
            if MAX_TEXT < length {
                return Err(ImportError::new(
                    "too_long",
                    say!(header_too_long, given = length, max = MAX_TEXT),
                ));
            }
            if self.file_size.saturating_sub(8) < length {
                return Err(self.cut());
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn cut(&self) -> ImportError {
        ImportError::new("cut", say!(header_cut, bytes = self.file_size))
    }

    /// The header, once [`Self::need`] is `None`.
    ///
    /// # Errors
    ///
    /// When the header was not read to its end, or is not what the format has.
    pub fn finish(self) -> Result<SafetensorsHeader, ImportError> {
        let Some(length) = self
            .length
            .filter(|_| !self.has_failed && self.need().is_none())
        else {
            return Err(self.cut());
        };
        let text = self.bytes.get(8..).unwrap_or_default();
        let mut res = read_header(text)?;
        let data = self.file_size.saturating_sub(8).saturating_sub(length);
        res.missing = res.missing.minus(Bytes(data));
        Ok(res)
    }
}

/// Reads the JSON of a header. `missing` is where its furthest tensor ends.
fn read_header(text: &[u8]) -> Result<SafetensorsHeader, ImportError> {
    let entries: Entries = serde_json::from_slice(text)
        .map_err(|err| ImportError::new("not_json", say!(header_not_json, error = err)))?;
    match entries.problem {
        Some(problem) => Err(problem),
        None => Ok(entries.header),
    }
}

/// The tensors of a header, summed and not kept.
#[derive(Default)]
struct Entries {
    header: SafetensorsHeader,
    problem: Option<ImportError>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    dtype: Cow<'a, str>,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

impl Entries {
    fn add(&mut self, name: &str, entry: &Entry<'_>) {
        let (from, to) = entry.data_offsets;
        let known = DTYPES.iter().find(|(dtype, _)| *dtype == entry.dtype);
        let bits = known.map(|(_, bits)| *bits);
        let product = |product: u64, dim: &u64| product.checked_mul(*dim);
        let elements = entry.shape.iter().try_fold(1, product);
        let expected = bits.and_then(|bits| Some(elements?.checked_mul(bits)?.div_ceil(8)));
        let given = to.checked_sub(from);
        if given.is_none() || bits.is_some() && expected != given {
            self.problem.get_or_insert_with(|| {
                ImportError::new(
                    "offsets",
                    say!(
                        tensor_bytes,
                        name = quoted(name),
                        dtype = quoted(&entry.dtype),
                        from,
                        to
                    ),
                )
            });
            return;
        }
        let bytes = Bytes(given.unwrap_or(0));
        let header = &mut self.header;
        header.n_tensors += 1;
        header.bytes = header.bytes + bytes;
        header.missing = header.missing.max(Bytes(to));
        let sum = header
            .by_dtype
            .entry(known.map_or("other", |(dtype, _)| dtype))
            .or_default();
        *sum = *sum + bytes;
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tensors;
        impl<'de> Visitor<'de> for Tensors {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut res = Entries::default();
                while let Some(name) = map.next_key::<Cow<'de, str>>()? {
                    if name == "__metadata__" {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        res.add(&name, &map.next_value()?);
                    }
                }
                Ok(res)
            }
        }
        deserializer.deserialize_map(Tensors)
    }
}

/// Exact bytes of a model's weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactWeights {
    /// The bytes.
    pub bytes: Bytes,
    /// What gave them, such as `model.safetensors.index.json`.
    pub source: Part,
}

/// Takes the exact bytes into the model, with a note that sets them beside the counted ones. `None` when they differ so
/// much that they are of another model; the note says so.
pub fn with_exact_weights(
    model: &ModelConfig,
    exact: &ExactWeights,
) -> (Option<ModelConfig>, ImportNote) {
    let (source, bytes) = (&exact.source, exact.bytes);
    let format = match model.stored {
        Some(stored) => Some(stored.format),
        None => weight_format(unquantized_id(model, bytes)),
    };
    let counted = format.map(|format| model.weights.bytes(&format));
    let note = |message: Sentence| ImportNote {
        code: "exact_weights",
        message: message.into(),
    };
    let source = source.clone();
    let Some((format, counted)) = format.zip(counted).filter(|(_, counted)| counted.0 != 0) else {
        let message = say!(weights_alone, source, bytes = bytes.0);
        let stored = format.map(|format| StoredWeights {
            format,
            bytes: Some(bytes),
        });
        let mut res = model.clone();
        res.stored = stored;
        return (Some(res), note(message));
    };
    let (given, counted, id) = (bytes.0, counted.0, format.id);
    let percent = (given as f64 / counted as f64 - 1.0) * 100.0;
    if !(-50.0..=100.0).contains(&percent) {
        let message = say!(
            weights_of_another,
            source,
            bytes = given,
            counted,
            format = id
        );
        return (None, note(message));
    }
    let message = if percent.abs() < 0.5 {
        say!(weights_same, source, bytes = given, counted, format = id)
    } else {
        let (key, percent) = (percent < 0.0, format!("{:.1}", percent.abs()));
        if key {
            say!(
                weights_less,
                source,
                bytes = given,
                counted,
                format = id,
                percent
            )
        } else {
            say!(
                weights_more,
                source,
                bytes = given,
                counted,
                format = id,
                percent
            )
        }
    };
    let mut res = model.clone();
    res.stored = Some(StoredWeights {
        format,
        bytes: Some(bytes),
    });
    (Some(res), note(message))
}

/// The format of weights that config.json says nothing of, by their size.
fn unquantized_id(model: &ModelConfig, bytes: Bytes) -> &'static str {
    let per_param = bytes.0 as f64 / model.weights.num_params().max(1) as f64;
    if model.weights.num_params() == 0 {
        "bf16"
    } else if 3.0 <= per_param {
        "float32"
    } else if 1.5 <= per_param {
        if model.dtype == formats::F16 {
            "float16"
        } else {
            "bf16"
        }
    } else if 0.8 <= per_param {
        "fp8"
    } else {
        "int4"
    }
}
