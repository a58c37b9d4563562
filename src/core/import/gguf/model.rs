//! The model that a header describes, and how its weights are stored.

use std::collections::BTreeMap;

use super::keys::{ArchKeys, Value};
use super::layers::{self, Layers};
use super::scan::shown;
use super::sums::{Amount, ByKind, GgufHeader};
use super::types::{listed_format, tensor_type};
use crate::core::import::ImportError;
use crate::core::import::log::Setting;
use crate::core::import::sentences::{Key, Part, Sentence, say};
use crate::core::layer::LayerKind;
use crate::core::model::{ImportNote, LayerGroup, ModelConfig, UnfoldedHeads};
use crate::core::units::{ElementFormat, Scale, Tokens, formats};
use crate::core::weights::{
    Place, StoredWeights, WeightFormat, WeightKind, WeightPart, WeightTable,
};

/// A model with what its file decides of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct GgufModel {
    /// The model. Its `model_type` is the architecture's name with `_` for `-`, as a config.json has it.
    pub model: ModelConfig,
    /// Fields of the scenario with their values: how the weights are stored, and whether the file has the keys of latent
    /// attention.
    pub settings: Vec<Setting>,
}

/// Architectures that keep no cache, and what they are.
const WITHOUT_CACHE: &[(&[&str], Key)] = &[
    (
        &[
            "bert",
            "nomic-bert",
            "nomic-bert-moe",
            "modern-bert",
            "neo-bert",
            "eurobert",
            "jina-bert-v2",
            "jina-bert-v3",
            "gemma-embedding",
            "t5encoder",
        ],
        Key::gguf_encoder,
    ),
    (
        &["dream", "llada", "llada-moe", "rnd1"],
        Key::gguf_diffusion,
    ),
    (&["clip", "mmproj"], Key::gguf_tower),
    (&["wavtokenizer-dec"], Key::gguf_voice),
];

/// The model of a header. `file_name` names it when the header does not.
///
/// # Errors
///
/// A sentence that says which key is missing or cannot be, or which kind of file this is.
pub fn import(header: &GgufHeader, file_name: &str) -> Result<GgufModel, ImportError> {
    let arch = arch_of(header)?;
    let keys = ArchKeys {
        keys: &header.keys,
        arch,
    };
    let (n_layers, num_nextn_predict_layers) = layers::counts(&keys, header.sums.has_nextn)?;
    let context = keys.dim("context_length")?.filter(|tokens| 0 < *tokens);
    let context = context.map(|tokens| Tokens(tokens.into()));
    let mut reader = Layers {
        keys: &keys,
        n_layers,
        context,
        notes: Vec::new(),
    };
    let kinds = reader.kinds()?;
    let notes = std::mem::take(&mut reader.notes);
    let mut model = ModelConfig::from_layers(
        &name(header, file_name, arch),
        &arch.replace('-', "_"),
        kinds,
    );
    model.notes = notes;
    model.num_nextn_predict_layers = num_nextn_predict_layers;
    model.num_attention_heads = keys.dim("attention.head_count")?.unwrap_or(0);
    model.hidden_size = keys.dim("embedding_length")?.unwrap_or(0);
    model.max_position_embeddings = context;
    model.idle_window = idle_window(&keys, &model)?;
    model.unfolded_heads = unfolded_heads(&keys)?;
    let mut settings = Vec::new();
    latent_keys(&keys, &model, &mut settings)?;
    if arch == "t5" {
        let tokens = context.unwrap_or(Tokens(512));
        model.notes.push(ImportNote {
            code: "encoder_tokens",
            message: say!(encoder_tokens, tokens, why = Key::encoder_context).into(),
        });
    }
    add_weights(header, &keys, &mut model, &mut settings)?;
    Ok(GgufModel { model, settings })
}

fn arch_of(header: &GgufHeader) -> Result<&str, ImportError> {
    let keys = &header.keys;
    let wrong = |what: Part| Err(ImportError::new("wrong_file", say!(gguf_other, what)));
    match keys.text("general.type") {
        Some("adapter") => return wrong(Key::gguf_adapter.into()),
        Some("imatrix") => return wrong(Key::gguf_imatrix.into()),
        Some("mmproj") => {
            return wrong(Key::gguf_mmproj.into());
        }
        Some(_) | None => {}
    }
    let Some(arch) = keys.text("general.architecture") else {
        let (number, count) = header.split();
        if 1 < number {
            return Err(ImportError::new(
                "split",
                say!(gguf_part, part = number, parts = count),
            ));
        }
        return wrong(Key::gguf_no_architecture.into());
    };
    let known = WITHOUT_CACHE
        .iter()
        .find(|(archs, _)| archs.contains(&arch));
    if let Some((_, what)) = known {
        let architecture = Part::from(arch);
        return wrong(Sentence::new(*what, vec![("architecture", architecture)]).into());
    }
    Ok(arch)
}

fn name(header: &GgufHeader, file_name: &str, arch: &str) -> String {
    let names = ["general.name", "general.basename"];
    let own = names.iter().find_map(|name| header.keys.text(name));
    let file = file_name.strip_suffix(".gguf").unwrap_or(file_name);
    let name = [own.unwrap_or(""), file, arch]
        .into_iter()
        .find(|name| !name.is_empty());
    shown(name.unwrap_or(""))
}

fn idle_window(keys: &ArchKeys<'_>, model: &ModelConfig) -> Result<Option<Tokens>, ImportError> {
    let is_uniform = matches!(
        model.groups.as_slice(),
        [LayerGroup {
            kind: LayerKind::Full { .. },
            ..
        }]
    );
    let window = keys.dim("attention.sliding_window")?;
    let window = window.map(|window| Tokens(window.into()));
    let is_idle = |window: &Tokens| {
        window.0 != 0
            && model
                .max_position_embeddings
                .is_some_and(|context| context <= *window)
    };
    Ok(window.filter(|window| is_uniform && is_idle(window)))
}

fn unfolded_heads(keys: &ArchKeys<'_>) -> Result<Option<UnfoldedHeads>, ImportError> {
    if keys.dim("attention.kv_lora_rank")?.unwrap_or(0) == 0 {
        return Ok(None);
    }
    let width = |name: &str| match keys.dim(&format!("attention.{name}_mla"))? {
        Some(width) => Ok(Some(width)),
        None => keys.dim(&format!("attention.{name}")),
    };
    let (heads, head_dim, v_head_dim) = (
        keys.dim("attention.head_count")?,
        width("key_length")?,
        width("value_length")?,
    );
    Ok(heads
        .zip(head_dim)
        .zip(v_head_dim)
        .map(|((num_heads, head_dim), v_head_dim)| UnfoldedHeads {
            num_heads,
            head_dim,
            v_head_dim,
        }))
}

/// llama.cpp keeps latent rows only for files that have the widths of the unfolded heads beside those of the rows.
fn latent_keys(
    keys: &ArchKeys<'_>,
    model: &ModelConfig,
    settings: &mut Vec<Setting>,
) -> Result<(), ImportError> {
    let is_latent = |group: &LayerGroup| matches!(group.kind, LayerKind::Latent { .. });
    if model.groups.iter().any(is_latent) {
        let has_keys = keys.dim("attention.key_length_mla")?.unwrap_or(0) != 0;
        settings.push(Setting {
            key: "mla",
            value: has_keys.to_string(),
        });
    }
    Ok(())
}

fn add_weights(
    header: &GgufHeader,
    keys: &ArchKeys<'_>,
    model: &mut ModelConfig,
    settings: &mut Vec<Setting>,
) -> Result<(), ImportError> {
    let sums = &header.sums;
    let mut note = |code, message: Sentence| {
        model.notes.push(ImportNote {
            code,
            message: message.into(),
        });
    };
    let by_type = sums.by_type(&[]);
    let Some((kind, amount)) = by_type.iter().max_by_key(|(_, amount)| amount.bytes) else {
        return Ok(());
    };
    let dominant = tensor_type(*kind);
    let bits = amount.bytes as f64 * 8.0 / amount.elements.max(1) as f64;
    let file_type = match header.keys.get("general.file_type") {
        Some(Value::Whole(number)) => Some(*number),
        _ => None,
    };
    if 0 < sums.n_unknown {
        note("tensor_type", say!(tensor_types, tensors = sums.n_unknown));
    }
    if 0 < header.missing {
        note("truncated", say!(file_short, bytes = header.missing));
    }
    let Some((listed, is_own)) = listed_format(dominant, bits, file_type) else {
        return Ok(());
    };
    if !is_own {
        note(
            "weight_format",
            say!(other_format, given = dominant.name, shown = listed.id),
        );
    }
    settings.push(Setting {
        key: "weight_format",
        value: listed.id.to_owned(),
    });
    let (_, n_parts) = header.split();
    if !header.is_whole() {
        note(
            "split",
            say!(gguf_parts_missing, read = header.parts, parts = n_parts),
        );
        model.stored = Some(StoredWeights {
            format: own_format(header, listed),
            bytes: None,
        });
        return Ok(());
    }
    model.weights = weight_table(header, keys, model)?;
    model.stored = Some(StoredWeights {
        format: own_format(header, listed),
        bytes: Some(header.weight_bytes()),
    });
    Ok(())
}

/// The listed format with the averages of this file's parts.
fn own_format(header: &GgufHeader, listed: WeightFormat) -> WeightFormat {
    let own = |parts: &[WeightKind], other: ElementFormat| {
        average(&header.sums.by_type(parts)).unwrap_or(other)
    };
    let all = own(&[], listed.mlp);
    let embedding = own(&[WeightKind::Embedding, WeightKind::PerLayerEmbedding], all);
    WeightFormat {
        attention: own(&[WeightKind::Attention, WeightKind::Recurrent], all),
        mlp: own(&[WeightKind::Mlp, WeightKind::SharedExperts], all),
        routed_experts: own(&[WeightKind::RoutedExperts], all),
        embedding,
        head: own(&[WeightKind::Head], embedding),
        router: own(&[WeightKind::Router], formats::F32),
        norm: own(
            &[WeightKind::Norm, WeightKind::RoutedExpertBiases],
            formats::F32,
        ),
        ..listed
    }
}

/// The average of these types, named after the one that holds most bytes.
fn average(types: &BTreeMap<u32, Amount>) -> Option<ElementFormat> {
    let (kind, _) = types.iter().max_by_key(|(_, amount)| amount.bytes)?;
    let mut sum = Amount::default();
    for amount in types.values() {
        sum.add(*amount);
    }
    let divisor = greatest_common_divisor(sum.bytes, sum.elements);
    if divisor == 0 || sum.elements == 0 {
        return None;
    }
    let (mut bytes, mut elements) = (sum.bytes / divisor, sum.elements / divisor);
    // What does not fit in 32 bits loses its last bits; the whole is exact elsewhere.
    while u64::from(u32::MAX) < bytes.max(elements) {
        (bytes, elements) = (bytes / 2, elements / 2);
    }
    Some(ElementFormat {
        id: tensor_type(*kind).name,
        block_bytes: u32::try_from(bytes).ok()?.max(1),
        block_elements: u32::try_from(elements).ok()?.max(1),
        scale: Scale::InBlock,
    })
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The parameters of the tensor table, by part and layer.
fn weight_table(
    header: &GgufHeader,
    keys: &ArchKeys<'_>,
    model: &ModelConfig,
) -> Result<WeightTable, ImportError> {
    let sums = &header.sums;
    let units = |kind| shard_units(kind, keys, model);
    let mut parts = Vec::new();
    let mut put = |params: &ByKind, place: Place| -> Result<(), ImportError> {
        for (kind, num_params) in WeightKind::ALL.into_iter().zip(*params) {
            if num_params == 0 {
                continue;
            }
            let has_head = sums.by_kind.contains_key(&(WeightKind::Head as usize));
            let is_tied = kind == WeightKind::Embedding && !has_head;
            parts.push(WeightPart {
                kind,
                num_params,
                shard_units: units(kind)?,
                place: if is_tied {
                    Place::FirstAndLastStage
                } else {
                    place
                },
            });
        }
        Ok(())
    };
    put(&sums.before, Place::FirstStage)?;
    let n_layers = model.layers.len();
    let mut groups: Vec<&ByKind> = Vec::new();
    let mut layers = Vec::with_capacity(n_layers);
    let empty = ByKind::default();
    for idx in 0..n_layers {
        let params = sums.layers.get(idx).unwrap_or(&empty);
        let group = groups.iter().position(|known| *known == params);
        layers.push(group.unwrap_or(groups.len()));
        if group.is_none() {
            put(params, Place::Layer(groups.len()))?;
            groups.push(params);
        }
    }
    put(&sums.after, Place::LastStage)?;
    for params in sums.layers.iter().skip(n_layers) {
        put(params, Place::LastStage)?;
    }
    Ok(WeightTable {
        parts,
        layers,
        num_experts: keys.dim("expert_count")?.unwrap_or(0),
        num_experts_per_tok: keys.dim("expert_used_count")?.unwrap_or(0),
        published: None,
    })
}

/// Equal pieces that tensor parallelism can hand out.
fn shard_units(
    kind: WeightKind,
    keys: &ArchKeys<'_>,
    model: &ModelConfig,
) -> Result<u64, ImportError> {
    let dim = |name: &str| Ok::<u64, ImportError>(keys.dim(name)?.unwrap_or(0).into());
    let columns = dim("feed_forward_length")?;
    let units = match kind {
        WeightKind::Embedding | WeightKind::PerLayerEmbedding | WeightKind::Head => {
            match keys.keys.get("tokenizer.ggml.tokens") {
                Some(Value::Long(words)) => *words,
                _ => dim("vocab_size")?,
            }
        }
        WeightKind::Attention => u64::from(model.num_attention_heads),
        WeightKind::Recurrent => {
            let states = model.groups.iter().filter_map(|group| group.kind.state());
            let heads = states.map(|state| state.state_heads);
            heads.max().unwrap_or(0)
        }
        WeightKind::Mlp => columns,
        WeightKind::SharedExperts | WeightKind::RoutedExperts => {
            match dim("expert_feed_forward_length")? {
                0 => columns,
                columns => columns,
            }
        }
        WeightKind::RoutedExpertBiases | WeightKind::Router | WeightKind::Norm => 1,
    };
    Ok(units.max(1))
}
