//! Parameters of a model, counted from the dimensions in its config.json.

mod encoder;
mod feed_forward;
mod layer_facts;
mod mixers;
mod parts;
mod stored;
mod traits;

use serde_json::Value;

use self::layer_facts::{LayerFacts, Reuse};
use self::parts::{Parts, product};
pub(super) use self::stored::stored;
use self::traits::Traits;
use super::config_view::ConfigView;
use crate::core::import::sentences::say;
use crate::core::layer::LayerKind;
use crate::core::model::ImportNote;
use crate::core::weights::{Place, WeightKind, WeightPart, WeightTable};

/// The parameters of a model whose layers are `layers`, by part. Without the dimensions the table is empty; whatever is
/// left out or assumed becomes a note.
///
/// Vision and audio towers and layers of multi-token prediction are left out: the notes say so.
///
/// Exactness: equal to the parameters that transformers 5.24.0 builds from the same file for the architectures in
/// `traits.rs`, except for scalars of a layer and correction biases of routers.
pub(super) fn count(
    view: &ConfigView<'_>,
    layers: &[Vec<LayerKind>],
    notes: &mut Vec<ImportNote>,
) -> WeightTable {
    let (traits, is_known) = traits::traits(view.model_type(), view.architecture());
    let mut counter = Counter {
        view,
        traits,
        hidden: 0,
        n_layers: layers.len() as u64,
    };
    counter.hidden = counter.dim("hidden_size").unwrap_or(0);
    let rules = counter.rules();
    let facts: Vec<LayerFacts> = (0..layers.len())
        .map(|layer_idx| counter.facts(&rules, layer_idx))
        .collect();
    let missing = counter.missing_dimension(&facts);
    if let Some(name) = missing {
        let message = say!(weights_not_counted, name).into();
        notes.push(ImportNote {
            code: "weights_not_counted",
            message,
        });
        return WeightTable::default();
    }
    if !is_known {
        let model_type = super::layer_types::quoted(view.model_type());
        let message = say!(weights_assumed, model_type).into();
        notes.push(ImportNote {
            code: "weights_assumed",
            message,
        });
    }
    counter.notes(notes);
    counter.table(layers, &facts)
}

/// What the parts are counted from.
struct Counter<'a> {
    view: &'a ConfigView<'a>,
    traits: Traits,
    hidden: u64,
    n_layers: u64,
}

impl Counter<'_> {
    /// A dimension, if it is a number there; a text such as "auto" is none. Bounded so that products keep their meaning.
    fn dim(&self, name: &str) -> Option<u64> {
        let is_number = match self.view.value(name) {
            None => true,
            Some(Value::Number(number)) => number.as_u64().is_some(),
            Some(Value::Array(list)) => list.iter().all(|item| item.as_u64().is_some()),
            Some(Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_)) => false,
        };
        if !is_number {
            return None;
        }
        Some(self.view.number(name)?.min(u64::from(u32::MAX)))
    }

    fn first(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.dim(name))
    }

    fn is(&self, name: &str) -> bool {
        self.view.flag(name) == Some(true)
    }

    /// The first dimension without which nothing can be counted.
    fn missing_dimension(&self, facts: &[LayerFacts]) -> Option<&'static str> {
        if self.hidden == 0 {
            return Some("hidden_size");
        }
        if self.vocab_size() == 0 {
            return Some("vocab_size");
        }
        let mut seen = None;
        facts.iter().find_map(|facts| {
            if seen == Some(facts) {
                return None;
            }
            seen = Some(facts);
            self.missing_of_feed_forward(facts)
        })
    }

    fn vocab_size(&self) -> u64 {
        // GLM-4 pads its vocabulary and says both sizes.
        self.first(&["padded_vocab_size", "vocab_size"])
            .unwrap_or(0)
    }

    fn notes(&self, notes: &mut Vec<ImportNote>) {
        for name in self.towers() {
            notes.push(ImportNote {
                code: "tower_not_counted",
                message: say!(tower_not_counted, name).into(),
            });
        }
        let has_encoder =
            super::layer_types::is_encoder_decoder(self.view) || self.view.section() == "decoder";
        if has_encoder && !self.counts_encoder() {
            notes.push(ImportNote {
                code: "encoder_not_counted",
                message: say!(encoder_not_counted).into(),
            });
        }
        let n_predict = self
            .first(&[
                "num_nextn_predict_layers",
                "mtp_num_hidden_layers",
                "num_mtp_modules",
                "num_mtp_layers",
            ])
            .filter(|n_predict| *n_predict != 0);
        if let Some(n_predict) = n_predict {
            notes.push(ImportNote {
                code: "mtp_not_counted",
                message: say!(mtp_not_counted, layers = n_predict).into(),
            });
        }
        if self.view.given("hidden_size").is_none() {
            notes.push(ImportNote {
                code: "weights_from_defaults",
                message: say!(
                    weights_from_defaults,
                    hidden_size = self.hidden,
                    model_type = super::layer_types::quoted(self.view.model_type())
                )
                .into(),
            });
        }
        if self
            .dim("zero_expert_num")
            .is_some_and(|number| number != 0)
        {
            notes.push(ImportNote {
                code: "zero_experts",
                message: say!(zero_experts).into(),
            });
        }
    }

    /// Sections of the file that describe other models beside the language model: vision, audio, their adapters.
    fn towers(&self) -> Vec<&str> {
        let is_tower = |name: &str| {
            let is_known = ["vision_config", "audio_config", "vision_tower"].contains(&name);
            // Beside flat fields only these are towers; beside a section, every other section is.
            let is_section = self.view.section() != ""
                && name.ends_with("_config")
                && name != self.view.section()
                && ![
                    "quantization_config",
                    "compression_config",
                    "generation_config",
                ]
                .contains(&name);
            is_known || is_section
        };
        self.view
            .root()
            .iter()
            .filter(|(name, section)| {
                is_tower(name)
                    && section
                        .as_object()
                        .is_some_and(|section| !section.is_empty())
            })
            .map(|(name, _)| name.as_str())
            .collect()
    }

    fn table(&self, layers: &[Vec<LayerKind>], facts: &[LayerFacts]) -> WeightTable {
        let mut res = WeightTable {
            parts: self.outside(),
            ..WeightTable::default()
        };
        // Layers that are counted from the same are one group.
        let mut groups: Vec<(&LayerFacts, &[LayerKind])> = Vec::new();
        for (kinds, facts) in layers.iter().zip(facts) {
            let group = (facts, kinds.as_slice());
            let idx = groups.iter().position(|other| *other == group);
            let idx = idx.unwrap_or_else(|| {
                let mut parts = Parts::default();
                self.layer(&mut parts, facts, kinds);
                res.parts.extend(parts.at(Place::Layer(groups.len())));
                groups.push(group);
                groups.len() - 1
            });
            res.layers.push(idx);
        }
        let num_experts = self.num_experts();
        if num_experts != 0 {
            let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            res.num_experts = bounded(num_experts);
            res.num_experts_per_tok = bounded(
                self.dim("num_experts_per_tok")
                    .unwrap_or(1)
                    .min(num_experts),
            );
        }
        res
    }

    fn layer(&self, parts: &mut Parts, facts: &LayerFacts, kinds: &[LayerKind]) {
        if self.view.model_type().starts_with("zamba") {
            self.zamba_layer(parts, facts, kinds);
            return;
        }
        match facts.reuse {
            Reuse::None => self.mixers(parts, facts, kinds),
            // Half of the layers of Phi-4-mini-flash: a gate around the memory, or Q and O with their biases.
            // Source: `modeling_phi4flash.py` of microsoft/Phi-4-mini-flash-reasoning.
            Reuse::Memory => {
                let inner = self.hidden.saturating_mul(2);
                parts.add(WeightKind::Recurrent, inner, &[2, self.hidden, inner]);
            }
            Reuse::Cache => {
                let heads = facts.num_attention_heads;
                parts.add(WeightKind::Attention, heads, &[2, self.hidden, self.hidden]);
                parts.vectors(&[2, self.hidden]);
            }
        }
        self.norms(parts, kinds);
        if self.view.model_type() != "rwkv" {
            self.feed_forward(parts, facts);
        }
        self.beside(parts);
    }

    fn norms(&self, parts: &mut Parts, kinds: &[LayerKind]) {
        let norms = match self.view.model_type() {
            // One norm for both branches, or one each in the second architecture.
            "falcon" | "RefinedWeb" | "RefinedWebModel" => {
                let is_new = self.is("new_decoder_architecture");
                let n_norms = self.dim("num_ln_in_parallel_attn");
                match n_norms {
                    Some(n_norms) if is_new => n_norms,
                    None if is_new => 2,
                    _ if self.view.flag("parallel_attn") != Some(false) => 1,
                    _ => 2,
                }
            }
            "longcat_flash" => 4,
            _ => self.traits.norms,
        };
        // A removed attention or MLP takes its norm along; a cross attention beside another brings one.
        let norms = match self.nas_block_halves(kinds) {
            Some(halves) => halves,
            None => norms.saturating_add(u64::from(
                1 < kinds.len()
                    && kinds
                        .iter()
                        .any(|kind| matches!(kind, LayerKind::Cross { .. })),
            )),
        };
        parts.vectors(&[norms, self.traits.norm_vectors, self.hidden]);
    }

    fn nas_block_halves(&self, kinds: &[LayerKind]) -> Option<u64> {
        self.view.list("block_configs")?;
        Some(1 + u64::from(!kinds.is_empty()))
    }

    fn is_tied(&self) -> bool {
        self.view
            .flag("tie_word_embeddings")
            .unwrap_or(self.traits.is_tied)
    }

    /// Embeddings, final norm and head, and what else lies outside the layers.
    fn outside(&self) -> Vec<WeightPart> {
        let vocab = self.vocab_size();
        let mut first = Parts::default();
        let mut last = Parts::default();
        let mut res = Vec::new();
        // OPT-350m embeds in fewer dimensions and projects up and down.
        let embedded = self
            .dim("word_embed_proj_dim")
            .filter(|size| *size != self.hidden);
        let width = embedded.unwrap_or(self.hidden);
        if self.is_tied() {
            let mut tied = Parts::default();
            tied.add(WeightKind::Embedding, vocab, &[vocab, width]);
            res.extend(tied.at(Place::FirstAndLastStage));
        } else {
            first.add(WeightKind::Embedding, vocab, &[vocab, width]);
            last.add(WeightKind::Head, vocab, &[vocab, width]);
        }
        if embedded.is_some() {
            first.add(WeightKind::Embedding, 1, &[width, self.hidden]);
            last.add(WeightKind::Head, 1, &[width, self.hidden]);
        }
        let has_head_bias = self
            .view
            .flag("lm_head_bias")
            .unwrap_or(self.traits.has_head_bias);
        if has_head_bias {
            last.vectors(&[vocab]);
        }
        last.vectors(&[self.traits.norm_vectors, self.hidden]);
        self.positions(&mut first);
        self.outside_of_family(&mut first, &mut last, &mut res);
        self.encoder(&mut first);
        res.extend(first.at(Place::FirstStage));
        res.extend(last.at(Place::LastStage));
        res
    }

    fn positions(&self, first: &mut Parts) {
        let beyond = match self.view.model_type() {
            "mpt" => {
                let is_learned = self.view.flag("learned_pos_emb") != Some(false)
                    && !self.is("attn_config.alibi");
                is_learned.then_some(0)
            }
            "whisper" => Some(0),
            _ => self.traits.learned_positions,
        };
        if let (Some(beyond), Some(rows)) = (beyond, self.dim("max_position_embeddings")) {
            let rows = rows.saturating_add(beyond);
            first.add(WeightKind::Embedding, 1, &[rows, self.hidden]);
        }
    }

    fn outside_of_family(&self, first: &mut Parts, last: &mut Parts, res: &mut Vec<WeightPart>) {
        match self.view.model_type() {
            // A norm right after the embedding.
            "bloom" | "rwkv" => first.vectors(&[2, self.hidden]),
            "mllama_text_model" => {
                // The input knows eight special words that the head cannot say.
                first.add(WeightKind::Embedding, 1, &[8, self.hidden]);
            }
            "gemma3n_text" => {
                let streams = self.dim("altup_num_inputs").unwrap_or(4).saturating_sub(1);
                first.add(WeightKind::Mlp, 1, &[streams, self.hidden, self.hidden]);
                last.add(WeightKind::Mlp, 1, &[streams, self.hidden, self.hidden]);
            }
            "deepseek_v4" => {
                let streams = self.dim("hc_mult").unwrap_or(4);
                last.vectors(&[streams, streams, self.hidden]);
                last.vectors(&[streams.saturating_add(1)]);
            }
            _ => {}
        }
        let per_layer = self.dim("hidden_size_per_layer_input").unwrap_or(0);
        if 0 < per_layer {
            let vocab = self
                .dim("vocab_size_per_layer_input")
                .unwrap_or_else(|| self.vocab_size());
            let all = product(&[self.n_layers, per_layer]);
            first.add(WeightKind::PerLayerEmbedding, vocab, &[vocab, all]);
            first.add(WeightKind::Mlp, all, &[self.hidden, all]);
            first.vectors(&[per_layer]);
        }
        if self.view.model_type().starts_with("zamba") {
            self.zamba_shared_blocks(res);
        }
    }

    /// What some families keep in each layer beside mixer, MLP and norms.
    fn beside(&self, parts: &mut Parts) {
        let per_layer = self.dim("hidden_size_per_layer_input").unwrap_or(0);
        if 0 < per_layer {
            parts.add(WeightKind::Mlp, 1, &[2, self.hidden, per_layer]);
            parts.vectors(&[self.hidden]);
        }
        match self.view.model_type() {
            "gemma3n_text" => {
                let streams = self.dim("altup_num_inputs").unwrap_or(4);
                let rank = self.dim("laurel_rank").unwrap_or(64);
                parts.add(WeightKind::Mlp, 1, &[2, self.hidden, rank]);
                // Mixing of the streams: corrections, predictions, router; norms of router and low rank, output scale.
                parts.vectors(&[streams, streams, streams.saturating_add(1)]);
                parts.vectors(&[streams.saturating_add(3), self.hidden]);
            }
            "deepseek_v4" => {
                // Hyper-connections before attention and before the experts.
                let streams = self.dim("hc_mult").unwrap_or(4);
                let mixes = product(&[streams, streams.saturating_add(2)]);
                parts.vectors(&[2, mixes, streams, self.hidden]);
                parts.vectors(&[2, mixes.saturating_add(3)]);
            }
            _ => {}
        }
    }

    /// Zamba: Mamba in every layer; some layers add a linear layer from the blocks that they share.
    fn zamba_layer(&self, parts: &mut Parts, facts: &LayerFacts, kinds: &[LayerKind]) {
        let (states, attentions): (Vec<LayerKind>, Vec<LayerKind>) = kinds
            .iter()
            .partition(|kind| matches!(kind, LayerKind::Recurrent(_)));
        self.mixers(parts, facts, &states);
        parts.vectors(&[self.hidden]);
        if attentions.is_empty() {
            return;
        }
        parts.add(WeightKind::Mlp, 1, &[self.hidden, self.hidden]);
        let rank = self.dim("adapter_rank").unwrap_or(0);
        if self.view.model_type() == "zamba2" {
            let inner = self.intermediate_size().unwrap_or(0);
            // The adapter of this layer in the shared MLP.
            parts.add(WeightKind::Mlp, 1, &[self.hidden, rank]);
            parts.add(WeightKind::Mlp, 1, &[rank, 2, inner]);
            if self.is("use_shared_attention_adapter") {
                let width = self
                    .dim("attention_hidden_size")
                    .unwrap_or_else(|| self.hidden.saturating_mul(2));
                parts.add(WeightKind::Attention, 1, &[6, width, rank]);
            }
        }
    }

    /// The attention and MLP that layers of a Zamba share, of which there may be several.
    fn zamba_shared_blocks(&self, res: &mut Vec<WeightPart>) {
        let n_blocks = self.dim("num_mem_blocks").unwrap_or(1);
        let width = self
            .dim("attention_hidden_size")
            .unwrap_or_else(|| self.hidden.saturating_mul(2));
        let heads = self.dim("num_attention_heads").unwrap_or(1);
        let inner = self.intermediate_size().unwrap_or(0);
        let mut parts = Parts::default();
        parts.add(WeightKind::Attention, heads, &[n_blocks, 3, width, width]);
        parts.add(
            WeightKind::Attention,
            heads,
            &[n_blocks, width, self.hidden],
        );
        parts.add(WeightKind::Mlp, inner, &[n_blocks, 3, self.hidden, inner]);
        parts.vectors(&[n_blocks, width]);
        parts.vectors(&[n_blocks, self.hidden]);
        res.extend(parts.at(Place::EveryStage));
    }
}
