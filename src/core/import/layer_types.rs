//! What each layer is: every way in which configs say which layers attend to everything, to a window, or keep a state.

use serde_json::Value;

use super::ImportError;
use super::config_view::ConfigView;

/// The most layers a model may have; the deepest published have some hundreds.
pub(super) const MAX_LAYERS: u64 = 10_000;

/// What a layer keeps, before its dimensions are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerType {
    /// All tokens.
    Full,
    /// The newest tokens.
    Sliding,
    /// The tokens of the current chunk.
    Chunked,
    /// A state of constant size.
    State,
    /// All tokens, and a state.
    FullAndState,
    /// The newest tokens, and a state.
    SlidingAndState,
    /// The encoder's tokens only.
    Cross,
    /// One row for some tokens, with an index key.
    CompressedSparse,
    /// One row for many tokens.
    HeavilyCompressed,
    /// Another layer's cache.
    Shared,
    /// Nothing: an MLP on its own, or an attention that was removed.
    Nothing,
}

/// The entries of `layer_types`, `layers_block_type` and `block_types`.
///
/// Source: `ALLOWED_LAYER_TYPES` of transformers 5.24.0 (`src/transformers/configuration_utils.py`) with its legacy
/// names, and the lists in published files.
const NAMES: &[(&str, LayerType)] = &[
    ("full_attention", LayerType::Full),
    ("sliding_attention", LayerType::Sliding),
    ("chunked_attention", LayerType::Chunked),
    ("linear_attention", LayerType::State),
    ("mamba", LayerType::State),
    ("conv", LayerType::State),
    ("hybrid", LayerType::FullAndState),
    ("attention", LayerType::Full),
    ("recurrent", LayerType::State),
    ("moe", LayerType::Nothing),
    ("mlp", LayerType::Nothing),
    ("compressed_sparse_attention", LayerType::CompressedSparse),
    ("heavily_compressed_attention", LayerType::HeavilyCompressed),
    ("deepseek_sparse_attention", LayerType::Full),
];

/// The letters of `hybrid_override_pattern`: Mamba-2, attention, MLP, experts.
const PATTERN_LETTERS: &[(char, LayerType)] = &[
    ('M', LayerType::State),
    ('*', LayerType::Full),
    ('-', LayerType::Nothing),
    ('E', LayerType::Nothing),
];

/// Architectures that alternate without saying so: of every so many layers the last attends to everything.
///
/// Source: the configuration classes of transformers 5.24.0.
const PERIODS: &[(&str, u64)] = &[
    ("gemma2", 2),
    ("vaultgemma", 2),
    ("t5_gemma_module", 2),
    ("gpt_oss", 2),
    ("gemma3n_text", 5),
    ("gemma3_text", 6),
    ("gemma4_text", 6),
    ("gemma4_unified_text", 6),
    ("cohere2", 4),
    ("olmo3", 4),
    ("exaone4", 4),
    ("exaone_moe", 4),
    ("afmoe", 4),
    ("llama4_text", 4),
    ("qwen3_next", 4),
    ("qwen3_5_text", 4),
    ("qwen3_5_moe_text", 4),
    ("olmo_hybrid", 4),
];

/// Architectures whose layers are all the same and not plain attention.
const UNIFORM: &[(&str, LayerType)] = &[
    ("falcon_h1", LayerType::FullAndState),
    ("mamba", LayerType::State),
    ("mamba2", LayerType::State),
    ("falcon_mamba", LayerType::State),
    ("rwkv", LayerType::State),
    ("rwkv5", LayerType::State),
    ("rwkv6", LayerType::State),
    ("rwkv7", LayerType::State),
];

/// The number of decoder layers.
pub(super) fn num_hidden_layers(view: &ConfigView<'_>) -> Result<usize, ImportError> {
    let counted = || {
        let len = |name| view.list(name).map(|list| list.len() as u64);
        len("layer_types")
            .or_else(|| len("block_configs"))
            .or_else(|| {
                view.text("hybrid_override_pattern")
                    .map(|text| text.chars().count() as u64)
            })
    };
    let given = if is_encoder_decoder(view) {
        // `num_hidden_layers` is the encoder's count in these files.
        ["decoder_layers", "num_decoder_layers", "num_hidden_layers"]
            .iter()
            .find_map(|name| view.number(name))
    } else {
        view.given("num_hidden_layers")
            .or_else(counted)
            .or_else(|| view.number("num_hidden_layers"))
    };
    let Some(n_layers) = given else {
        return Err(missing(view, "num_hidden_layers"));
    };
    if n_layers == 0 || MAX_LAYERS < n_layers {
        return Err(ImportError::new(
            "layer_count",
            format!("num_hidden_layers is {n_layers}, and must be from 1 to {MAX_LAYERS}"),
        ));
    }
    // At most 10,000 by the check above.
    Ok(n_layers as usize)
}

/// The error for a field without which nothing can be said.
pub(super) fn missing(view: &ConfigView<'_>, name: &str) -> ImportError {
    let model_type = view.model_type();
    let because = if model_type.is_empty() {
        "the file has no model_type, so it has no default".to_owned()
    } else {
        format!("no default is known for model_type {}", quoted(model_type))
    };
    ImportError::new(
        "missing_key",
        format!("{name} is missing, and {because}; add it, or type the dimensions by hand"),
    )
}

/// A text of the file in quotes, cut to a readable length.
pub(super) fn quoted(text: &str) -> String {
    let head: String = text.chars().take(60).collect();
    let tail = if head.len() < text.len() { "…" } else { "" };
    format!("\"{head}{tail}\"")
}

/// Whether there is an encoder whose tokens the decoder attends to in every layer.
pub(super) fn is_encoder_decoder(view: &ConfigView<'_>) -> bool {
    view.flag("is_encoder_decoder") == Some(true)
        || view.has("decoder_layers") && view.has("encoder_layers")
        || matches!(
            view.model_type(),
            "t5" | "mt5" | "umt5" | "longt5" | "switch_transformers"
        )
}

/// What each of `n_layers` layers is. `window` says whether a sliding window applies at all.
pub(super) fn layer_types(
    view: &ConfigView<'_>,
    n_layers: usize,
    has_window: bool,
) -> Result<Vec<LayerType>, ImportError> {
    let mut res = base_types(view, n_layers, has_window)?;
    share(view, &mut res);
    Ok(res)
}

fn base_types(
    view: &ConfigView<'_>,
    n_layers: usize,
    has_window: bool,
) -> Result<Vec<LayerType>, ImportError> {
    let by = |rule: &dyn Fn(u64) -> LayerType| Ok((0..n_layers as u64).map(rule).collect());
    let model_type = view.model_type();
    let local = if has_window {
        LayerType::Sliding
    } else {
        LayerType::Full
    };
    let either =
        |is_first: bool, first: LayerType, other: LayerType| if is_first { first } else { other };

    if let Some(blocks) = view.list("block_configs") {
        return block_config_types(blocks, n_layers);
    }
    if let Some(pattern) = view.text("hybrid_override_pattern") {
        return letter_types(pattern, n_layers);
    }
    if let Some(ratios) = view.numbers("compress_ratios") {
        return compressed_types(&ratios, n_layers);
    }
    if let Some(names) = view.list("layer_types") {
        return named_types("layer_types", names, n_layers, model_type);
    }
    if let Some(names) = view.list("block_types").filter(|names| !names.is_empty()) {
        let repeated: Vec<Value> = names.iter().cycle().take(n_layers).cloned().collect();
        return named_types("block_types", &repeated, n_layers, model_type);
    }
    if let Some((_, layer)) = UNIFORM.iter().find(|(name, _)| *name == model_type) {
        return by(&|_| *layer);
    }
    if model_type == "phi4flash" {
        return by(&|idx| sambay(idx, n_layers as u64, local));
    }
    // From here on lists of indices and periods.
    let listed = |name: &str| view.numbers(name);
    if let Some(indices) = listed("attn_layer_indices").or_else(|| listed("full_attn_idxs")) {
        return by(&|idx| either(indices.contains(&idx), LayerType::Full, LayerType::State));
    }
    if let Some(indices) = listed("linear_attn_config.full_attn_layers") {
        return by(&|idx| {
            either(
                indices.contains(&(idx + 1)),
                LayerType::Full,
                LayerType::State,
            )
        });
    }
    if let Some(types) = listed("attn_type_list") {
        return by(&|idx| {
            either(
                at(&types, idx) == Some(0),
                LayerType::State,
                LayerType::Full,
            )
        });
    }
    if let Some(types) = listed("hybrid_layer_pattern") {
        return by(&|idx| either(at(&types, idx) == Some(1), local, LayerType::Full));
    }
    if let Some(indices) = listed("cross_attention_layers") {
        return by(&|idx| either(indices.contains(&idx), LayerType::Cross, LayerType::Full));
    }
    if let Some(indices) = listed("global_attn_idx") {
        // Hymba: attention and Mamba side by side in every layer.
        let local = either(
            has_window,
            LayerType::SlidingAndState,
            LayerType::FullAndState,
        );
        return by(&|idx| either(indices.contains(&idx), LayerType::FullAndState, local));
    }
    if let Some(indices) = listed("sliding_window_layers") {
        return by(&|idx| either(indices.contains(&idx), local, LayerType::Full));
    }
    if let Some(indices) = listed("hybrid_layer_ids") {
        return by(&|idx| {
            either(
                indices.contains(&idx),
                LayerType::FullAndState,
                LayerType::State,
            )
        });
    }
    if let Some(period) = positive(view.number("attn_layer_period")) {
        let offset = view.number("attn_layer_offset").unwrap_or(0);
        return by(&|idx| either(idx % period == offset, LayerType::Full, LayerType::State));
    }
    if let Some(period) = positive(view.given("full_attention_interval")) {
        return by(&|idx| either((idx + 1) % period == 0, LayerType::Full, LayerType::State));
    }
    if view.number("attention_chunk_size").is_some() {
        let no_rope = listed("no_rope_layers").filter(|list| !list.is_empty());
        let period = positive(view.number("no_rope_layer_interval")).unwrap_or(4);
        return by(&|idx| {
            let is_global = match &no_rope {
                // An entry is 1 where the layer has rotary positions, which are the local ones.
                Some(list) => at(list, idx) == Some(0),
                None => (idx + 1) % period == 0,
            };
            either(is_global, LayerType::Full, LayerType::Chunked)
        });
    }
    if let Some(pattern) = view
        .text("sliding_window_pattern")
        .filter(|text| !text.is_empty())
    {
        return window_letters(pattern, n_layers, local);
    }
    let pattern = [
        "sliding_window_pattern",
        "_sliding_window_pattern",
        "global_attn_every_n_layers",
        "layer_switch",
    ]
    .iter()
    .find_map(|name| positive(view.number(name)))
    .or_else(|| {
        PERIODS
            .iter()
            .find(|(name, _)| *name == model_type)
            .map(|(_, period)| *period)
    });
    if let Some(period) = pattern {
        let other = if matches!(
            model_type,
            "qwen3_next" | "qwen3_5_text" | "qwen3_5_moe_text" | "olmo_hybrid"
        ) {
            LayerType::State
        } else {
            local
        };
        return by(&|idx| either((idx + 1) % period == 0, LayerType::Full, other));
    }
    if let Some(first) = view
        .number("max_window_layers")
        .filter(|_| view.has("use_sliding_window"))
    {
        return by(&|idx| either(first <= idx, local, LayerType::Full));
    }
    by(&|_| local)
}

/// Phi-4-mini-flash: Mamba and windows take turns in the first half; one layer keeps everything; the rest re-use it.
///
/// Source: `modeling_phi4flash.py` of microsoft/Phi-4-mini-flash-reasoning.
fn sambay(idx: u64, n_layers: u64, local: LayerType) -> LayerType {
    let half = n_layers / 2;
    if half + 1 < idx {
        LayerType::Shared
    } else if idx == half + 1 {
        LayerType::Full
    } else if idx.is_multiple_of(2) {
        LayerType::State
    } else {
        local
    }
}

/// Layers that re-use another layer's cache.
fn share(view: &ConfigView<'_>, types: &mut [LayerType]) {
    if let Some(n_shared) = view.number("num_kv_shared_layers") {
        let n_own = (types.len() as u64).saturating_sub(n_shared);
        for (idx, layer) in types.iter_mut().enumerate() {
            if n_own <= idx as u64 {
                *layer = LayerType::Shared;
            }
        }
    }
    if view.flag("use_cla") == Some(true)
        && let Some(factor) = positive(view.number("cla_share_factor"))
    {
        for (idx, layer) in types.iter_mut().enumerate() {
            if !(idx as u64).is_multiple_of(factor) {
                *layer = LayerType::Shared;
            }
        }
    }
}

fn named_types(
    key: &str,
    names: &[Value],
    n_layers: usize,
    model_type: &str,
) -> Result<Vec<LayerType>, ImportError> {
    // Further entries are those of multi-token prediction.
    if names.len() < n_layers {
        return Err(count_error(key, names.len(), n_layers));
    }
    names
        .iter()
        .take(n_layers)
        .enumerate()
        .map(|(idx, name)| {
            let name = name.as_str().unwrap_or("");
            match NAMES.iter().find(|(known, _)| *known == name) {
                // Griffin's attention is local in every layer.
                Some((_, LayerType::Full)) if model_type == "recurrent_gemma" => {
                    Ok(LayerType::Sliding)
                }
                Some((_, layer)) => Ok(*layer),
                None => Err(unknown_type(idx, name)),
            }
        })
        .collect()
}

fn unknown_type(idx: usize, name: &str) -> ImportError {
    let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
    ImportError::new(
        "unknown_layer_type",
        format!(
            "layer {idx} has layer type {}, which this version does not know (known: {}); please report it with the config.json",
            quoted(name),
            known.join(", ")
        ),
    )
}

fn letter_types(pattern: &str, n_layers: usize) -> Result<Vec<LayerType>, ImportError> {
    let n_letters = pattern.chars().count();
    if n_letters != n_layers {
        return Err(count_error("hybrid_override_pattern", n_letters, n_layers));
    }
    pattern
        .chars()
        .enumerate()
        .map(|(idx, letter)| {
            PATTERN_LETTERS
                .iter()
                .find(|(known, _)| *known == letter)
                .map(|(_, layer)| *layer)
                .ok_or_else(|| {
                    ImportError::new(
                        "unknown_layer_type",
                        format!(
                            "hybrid_override_pattern has {} for layer {idx}, which this version does not know (known: M, *, -, E); please report it with the config.json",
                            quoted(&letter.to_string())
                        ),
                    )
                })
        })
        .collect()
}

/// `LLLG`: three local layers and a global one, over and over; the last layer of all is global.
fn window_letters(
    pattern: &str,
    n_layers: usize,
    local: LayerType,
) -> Result<Vec<LayerType>, ImportError> {
    let letters: Vec<char> = pattern.chars().take(n_layers).collect();
    if let Some(letter) = letters.iter().find(|letter| !matches!(letter, 'L' | 'G')) {
        return Err(ImportError::new(
            "unknown_layer_type",
            format!(
                "sliding_window_pattern has {}, which this version does not know (known: L, G); please report it with the config.json",
                quoted(&letter.to_string())
            ),
        ));
    }
    Ok(letters
        .iter()
        .cycle()
        .take(n_layers)
        .enumerate()
        .map(|(idx, letter)| {
            if *letter == 'L' && idx + 1 != n_layers {
                local
            } else {
                LayerType::Full
            }
        })
        .collect())
}

/// DeepSeek-V4: 4 tokens to a row with an index key, 128 without, none at 0 or 1. Further entries are of MTP layers.
fn compressed_types(ratios: &[u64], n_layers: usize) -> Result<Vec<LayerType>, ImportError> {
    if ratios.len() < n_layers {
        return Err(count_error("compress_ratios", ratios.len(), n_layers));
    }
    Ok(ratios
        .iter()
        .take(n_layers)
        .map(|ratio| match ratio {
            0 | 1 => LayerType::Sliding,
            4 => LayerType::CompressedSparse,
            _ => LayerType::HeavilyCompressed,
        })
        .collect())
}

/// Nemotron's searched models: an attention may have been removed, or replaced by a linear layer, which keeps nothing.
fn block_config_types(blocks: &[Value], n_layers: usize) -> Result<Vec<LayerType>, ImportError> {
    if blocks.len() < n_layers {
        return Err(count_error("block_configs", blocks.len(), n_layers));
    }
    Ok(blocks
        .iter()
        .take(n_layers)
        .map(|block| {
            let attention = block.get("attention");
            let is = |key: &str| {
                attention
                    .and_then(|attention| attention.get(key))
                    .and_then(Value::as_bool)
                    == Some(true)
            };
            if is("no_op") || is("replace_with_linear") {
                LayerType::Nothing
            } else {
                LayerType::Full
            }
        })
        .collect())
}

fn count_error(key: &str, n_entries: usize, n_layers: usize) -> ImportError {
    ImportError::new(
        "layer_count",
        format!(
            "{key} has {n_entries} entries for {n_layers} layers; it must have one for each layer"
        ),
    )
}

fn at(list: &[u64], idx: u64) -> Option<u64> {
    list.get(usize::try_from(idx).ok()?).copied()
}

/// A number that is there and not zero.
pub(super) fn positive(number: Option<u64>) -> Option<u64> {
    number.filter(|number| *number != 0)
}
