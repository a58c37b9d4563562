//! A model: its identity, its layers, its weights.

use std::fmt;

#[cfg(feature = "doors")]
use super::import::sentences::Sentence;
use super::layer::{CacheFormats, LayerKind};
use super::units::{Bytes, ElementFormat, Tokens, formats};
use super::weights::{StoredWeights, WeightTable};

/// Layers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerGroup {
    /// What each of them keeps.
    pub kind: LayerKind,
    /// How many there are.
    pub count: u32,
}

/// Something the importer wants the reader to know: a key it did not understand, a value it assumed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ImportNote {
    /// A stable identifier such as `unknown_key`.
    pub code: &'static str,
    /// The sentence, lower case, without a full stop.
    pub message: Message,
}

/// A sentence of the importer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// As another module said it, in the reader's language.
    Said(String),
    /// As any language says it.
    #[cfg(feature = "doors")]
    Words(Sentence),
}

#[cfg(feature = "doors")]
impl From<Sentence> for Message {
    fn from(words: Sentence) -> Self {
        Self::Words(words)
    }
}

impl fmt::Display for Message {
    /// What was said, or English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(text) => f.write_str(text),
            #[cfg(feature = "doors")]
            Self::Words(words) => words.fmt(f),
        }
    }
}

impl serde::Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ImportNote {
    /// Whether it puts the numbers in doubt.
    pub fn is_warning(&self) -> bool {
        matches!(self.code, "unknown_architecture" | "layer_count")
    }
}

/// The heads that a latent row unfolds into, which an engine without latent attention caches instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfoldedHeads {
    /// Heads: all query heads.
    pub num_heads: u32,
    /// Width of a K head, its rotary part included.
    pub head_dim: u32,
    /// Width of a V head.
    pub v_head_dim: u32,
}

/// What the importer learned of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    /// The name shown.
    pub name: String,
    /// `model_type` or `general.architecture`; empty when dimensions were typed by hand.
    pub model_type: String,
    /// For each decoder layer in order, the caches it owns as indices into [`Self::groups`]: usually one, two for a layer
    /// with attention and a state side by side or with two attentions.
    pub layers: Vec<Vec<usize>>,
    /// The distinct kinds with their counts, in order of first appearance.
    pub groups: Vec<LayerGroup>,
    /// Layers of multi-token prediction in the file; they cache only when they are served.
    pub num_nextn_predict_layers: u32,
    /// Query heads, zero when there are none.
    pub num_attention_heads: u32,
    /// A window of every layer that is not shorter than the context, and so caps nothing; an engine that goes by the file
    /// reserves for it all the same.
    pub idle_window: Option<Tokens>,
    /// What the latent rows unfold into; `None` without latent attention or when the file does not say.
    pub unfolded_heads: Option<UnfoldedHeads>,
    /// Width of the residual stream.
    pub hidden_size: u32,
    /// Trained context; `None` when the file does not say.
    pub max_position_embeddings: Option<Tokens>,
    /// The model's own type, in which convolution states are kept.
    pub dtype: ElementFormat,
    /// Parameters by part.
    pub weights: WeightTable,
    /// How the file says its weights are stored, when they are quantized; exact bytes when a file gave them.
    pub stored: Option<StoredWeights>,
    /// What the importer could not know or had to assume.
    pub notes: Vec<ImportNote>,
}

/// Whether each rank has as many of the heads, or each head is on as many ranks: engines take no other split.
pub(in crate::core) fn divides(heads: u32, ranks: u32) -> bool {
    heads.is_multiple_of(ranks.max(1)) || (0 < heads && ranks.is_multiple_of(heads))
}

impl ModelConfig {
    /// KV heads of each kind of layer that has any.
    pub fn num_key_value_heads(&self) -> impl Iterator<Item = u32> + '_ {
        let heads = self.groups.iter();
        heads
            .filter_map(|group| group.kind.num_key_value_heads())
            .filter(|heads| 0 < *heads)
    }

    /// Whether any layer keeps latent rows, which every rank then has whole.
    pub fn has_latent_rows(&self) -> bool {
        self.groups.iter().any(|group| {
            matches!(
                group.kind,
                LayerKind::Latent { .. } | LayerKind::Compressed { .. }
            )
        })
    }

    /// Whether engines take this many ranks: they divide the query heads, and share or copy the KV heads evenly.
    pub fn takes_ranks(&self, ranks: u32) -> bool {
        self.num_attention_heads.is_multiple_of(ranks.max(1))
            && self
                .num_key_value_heads()
                .all(|heads| divides(heads, ranks))
    }

    /// A model with these layers and nothing else known; the importer fills in the rest.
    pub fn from_layers(name: &str, model_type: &str, layers: Vec<Vec<LayerKind>>) -> Self {
        let mut groups: Vec<LayerGroup> = Vec::new();
        let layers = layers
            .into_iter()
            .map(|kinds| {
                kinds
                    .into_iter()
                    .map(
                        |kind| match groups.iter().position(|group| group.kind == kind) {
                            Some(idx) => {
                                if let Some(group) = groups.get_mut(idx) {
                                    group.count = group.count.saturating_add(1);
                                }
                                idx
                            }
                            None => {
                                groups.push(LayerGroup { kind, count: 1 });
                                groups.len() - 1
                            }
                        },
                    )
                    .collect()
            })
            .collect();
        Self {
            name: name.to_owned(),
            model_type: model_type.to_owned(),
            layers,
            groups,
            num_nextn_predict_layers: 0,
            num_attention_heads: 0,
            idle_window: None,
            unfolded_heads: None,
            hidden_size: 0,
            max_position_embeddings: None,
            dtype: formats::BF16,
            weights: WeightTable::default(),
            stored: None,
            notes: Vec::new(),
        }
    }

    /// Decoder layers.
    pub fn num_hidden_layers(&self) -> usize {
        self.layers.len()
    }

    /// Everything that one sequence of `n` tokens keeps, on one rank of `tensor_parallel_size`, all layers.
    pub fn cache_bytes(
        &self,
        n: Tokens,
        formats: CacheFormats,
        tensor_parallel_size: u32,
    ) -> Bytes {
        self.groups
            .iter()
            .map(|group| {
                group
                    .kind
                    .shard(tensor_parallel_size)
                    .total_bytes(n, formats)
                    .times(u64::from(group.count))
            })
            .sum()
    }
}
