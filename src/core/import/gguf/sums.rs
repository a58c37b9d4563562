//! The tensor table, summed as it is read: bytes by type, parameters by part and layer.

use std::collections::BTreeMap;

use super::keys::{Keys, Value};
use super::layers::MAX_LAYERS;
use super::scan::{damaged, shown};
use super::types::tensor_type;
use crate::core::import::ImportError;
use crate::core::import::sentences::say;
use crate::core::units::Bytes;
use crate::core::weights::WeightKind;

/// Parameters by kind.
pub(super) type ByKind = [u64; WeightKind::ALL.len()];

/// Elements that no file can hold.
const TOO_MANY: u64 = 1 << 60;

/// One row of the table.
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dims: Vec<u64>,
    pub(super) kind: u32,
    pub(super) offset: u64,
}

/// Elements with the bytes that hold them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) elements: u64,
    pub(super) bytes: u64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Self) {
        self.elements = self.elements.saturating_add(other.elements);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// What the rows say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) n_tensors: u64,
    /// By part, then by type; types that are not known together under one number.
    pub(super) by_kind: BTreeMap<usize, BTreeMap<u32, Amount>>,
    /// Parameters of each layer, a draft's layers included.
    pub(super) layers: Vec<ByKind>,
    /// Parameters before the first layer, and after the last.
    pub(super) before: ByKind,
    pub(super) after: ByKind,
    /// Tensors of a type that is not known.
    pub(super) n_unknown: u64,
    /// Whether the last layers predict further tokens.
    pub(super) has_nextn: bool,
    /// Where the table ends in the file.
    pub(super) table_end: u64,
    /// Where the furthest tensor ends, from the first one's beginning.
    pub(super) end: u64,
    /// A tensor whose size its successor's offset tells.
    pub(super) waiting: Option<Waiting>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waiting {
    part: usize,
    kind: u32,
    elements: u64,
    offset: u64,
}

impl Sums {
    pub(super) fn add(&mut self, tensor: &Tensor) -> Result<(), ImportError> {
        let product = |product: u64, dim: &u64| product.checked_mul(*dim);
        let elements = tensor.dims.iter().try_fold(1, product);
        let Some(elements) = elements.filter(|elements| *elements <= TOO_MANY) else {
            let name = shown(&tensor.name);
            return Err(damaged("too_many_elements", say!(too_many_elements, name)));
        };
        self.settle(tensor.offset);
        self.n_tensors += 1;
        let (kind, place) = part_of(&tensor.name, tensor.dims.len());
        let part = kind as usize;
        self.count(place, part, elements);
        self.has_nextn |= tensor.name.contains(".nextn.");
        let known = tensor_type(tensor.kind);
        self.n_unknown += u64::from(known.name == "unknown");
        // Numbers that are not known would fill the map.
        let id = if known.name == "unknown" {
            u32::MAX
        } else {
            tensor.kind
        };
        match known.bytes(&tensor.dims) {
            Some(bytes) => {
                self.put(part, id, Amount { elements, bytes }, tensor.offset);
            }
            None => {
                self.waiting = Some(Waiting {
                    part,
                    kind: id,
                    elements,
                    offset: tensor.offset,
                });
            }
        }
        Ok(())
    }

    fn count(&mut self, place: Where, part: usize, elements: u64) {
        let params = match place {
            Where::Before => Some(&mut self.before),
            Where::After => Some(&mut self.after),
            Where::Layer(idx) => {
                if self.layers.len() <= idx {
                    self.layers.resize(idx + 1, ByKind::default());
                }
                self.layers.get_mut(idx)
            }
        };
        if let Some(sum) = params.and_then(|params| params.get_mut(part)) {
            *sum = sum.saturating_add(elements);
        }
    }

    fn put(&mut self, part: usize, kind: u32, amount: Amount, offset: u64) {
        let sum = self.by_kind.entry(part).or_default().entry(kind);
        sum.or_default().add(amount);
        self.end = self.end.max(offset.saturating_add(amount.bytes));
    }

    /// The tensor that waits ends where the next begins.
    fn settle(&mut self, offset: u64) {
        if let Some(waiting) = self.waiting.take() {
            let amount = Amount {
                elements: waiting.elements,
                bytes: offset.saturating_sub(waiting.offset),
            };
            self.put(waiting.part, waiting.kind, amount, waiting.offset);
        }
    }

    pub(super) fn finish(mut self, keys: Keys, file_size: u64) -> GgufHeader {
        let alignment = match keys.get("general.alignment") {
            Some(Value::Whole(number)) if number.is_power_of_two() => *number,
            _ => 32,
        };
        let data_start = self
            .table_end
            .checked_next_multiple_of(alignment)
            .unwrap_or(u64::MAX);
        let data = file_size.saturating_sub(data_start);
        self.settle(data);
        GgufHeader {
            missing: self.end.saturating_sub(data),
            keys,
            sums: self,
            parts: 1,
        }
    }

    /// All bytes of tensors.
    pub(super) fn bytes(&self) -> u64 {
        let amounts = self.by_kind.values().flat_map(BTreeMap::values);
        amounts.fold(0, |sum, amount| sum.saturating_add(amount.bytes))
    }

    /// Bytes by type, of one part or of all.
    pub(super) fn by_type(&self, parts: &[WeightKind]) -> BTreeMap<u32, Amount> {
        let mut res: BTreeMap<u32, Amount> = BTreeMap::new();
        let is_asked =
            |part: &usize| parts.is_empty() || parts.iter().any(|kind| *kind as usize == *part);
        for (_, types) in self.by_kind.iter().filter(|(part, _)| is_asked(part)) {
            for (kind, amount) in types {
                res.entry(*kind).or_default().add(*amount);
            }
        }
        res
    }

    fn merge(&mut self, other: Self) {
        self.n_tensors += other.n_tensors;
        self.n_unknown += other.n_unknown;
        self.has_nextn |= other.has_nextn;
        for (part, types) in other.by_kind {
            for (kind, amount) in types {
                let sum = self.by_kind.entry(part).or_default().entry(kind);
                sum.or_default().add(amount);
            }
        }
        let zip = |own: &mut ByKind, others: &ByKind| {
            for (own, other) in own.iter_mut().zip(others) {
                *own = own.saturating_add(*other);
            }
        };
        zip(&mut self.before, &other.before);
        zip(&mut self.after, &other.after);
        if self.layers.len() < other.layers.len() {
            self.layers.resize(other.layers.len(), ByKind::default());
        }
        for (own, others) in self.layers.iter_mut().zip(&other.layers) {
            zip(own, others);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Before,
    Layer(usize),
    After,
}

/// What a tensor is, by its name.
///
/// Source: `LLM_TENSOR_NAMES` in llama.cpp `src/llama-arch.cpp`.
fn part_of(name: &str, n_dims: usize) -> (WeightKind, Where) {
    let inner = name.strip_prefix("dec.").unwrap_or(name);
    let in_layer = inner
        .strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'))
        .and_then(|(idx, rest)| Some((idx.parse::<usize>().ok()?, rest)))
        .filter(|(idx, _)| *idx < MAX_LAYERS);
    let place = match in_layer {
        Some((idx, _)) => Where::Layer(idx),
        None if name.starts_with("output") => Where::After,
        None => Where::Before,
    };
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let kind = if has(&["_exps"]) {
        if name.ends_with(".bias") {
            WeightKind::RoutedExpertBiases
        } else {
            WeightKind::RoutedExperts
        }
    } else if n_dims <= 1 || has(&["norm"]) || name.ends_with(".bias") {
        WeightKind::Norm
    } else if name == "output.weight" {
        WeightKind::Head
    } else if name.starts_with("per_layer_token_embd") {
        WeightKind::PerLayerEmbedding
    } else if in_layer.is_none() && has(&["token_embd", "position_embd", "token_types"]) {
        WeightKind::Embedding
    } else if has(&["ffn_gate_inp", "exp_probs"]) {
        WeightKind::Router
    } else if has(&["_shexp"]) {
        WeightKind::SharedExperts
    } else if has(&["ssm_", "shortconv", "time_mix"]) {
        WeightKind::Recurrent
    } else if has(&["attn", "indexer"]) {
        WeightKind::Attention
    } else {
        WeightKind::Mlp
    };
    (kind, place)
}

/// What the header of a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct GgufHeader {
    pub(super) keys: Keys,
    pub(super) sums: Sums,
    /// Bytes by which the file is shorter than its table says.
    pub(super) missing: u64,
    /// Files of the model that were read.
    pub(super) parts: u64,
}

impl GgufHeader {
    /// Tensors in its table.
    pub fn tensor_count(&self) -> u64 {
        self.sums.n_tensors
    }

    /// Bytes of its tensors, without the padding between them.
    pub fn weight_bytes(&self) -> Bytes {
        Bytes(self.sums.bytes())
    }

    /// The file's number among the files of its model, from 1, and how many there are: 1 of 1 when it is not split.
    pub fn split(&self) -> (u64, u64) {
        let number = |key: &str| match self.keys.get(key) {
            Some(Value::Whole(number)) => Some(*number),
            _ => None,
        };
        let count = number("split.count").unwrap_or(1).max(1);
        (number("split.no").unwrap_or(0).saturating_add(1), count)
    }

    /// Whether all files of the model were read.
    pub fn is_whole(&self) -> bool {
        self.split().1 <= self.parts
    }

    /// The header of a split model from those of its files, in any order.
    ///
    /// # Errors
    ///
    /// When they are not the files of one model, or the first is not among them.
    pub fn joined(headers: Vec<Self>) -> Result<Self, ImportError> {
        let mut headers = headers;
        headers.sort_by_key(|header| header.split().0);
        let n_parts = headers.len() as u64;
        let mut rest = headers.into_iter();
        let Some(mut res) = rest.next() else {
            return Err(ImportError::new("no_file", say!(gguf_none)));
        };
        let (first, count) = res.split();
        if first != 1 {
            return Err(ImportError::new(
                "split",
                say!(gguf_part, part = first, parts = count),
            ));
        }
        let mut before = first;
        for header in rest {
            let (number, of) = header.split();
            if of != count || number <= before {
                return Err(ImportError::new(
                    "split",
                    say!(
                        gguf_parts_differ,
                        part = number,
                        parts = of,
                        other = before,
                        others = count
                    ),
                ));
            }
            before = number;
            res.missing = res.missing.saturating_add(header.missing);
            res.sums.merge(header.sums);
        }
        res.parts = n_parts;
        Ok(res)
    }
}
