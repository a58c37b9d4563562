//! What each layer is: every way in which configs say which layers attend to everything, to a window, or keep a state.

use serde_json::Value;

use super::config_view::{ConfigView, short};
use super::{ImportError, layer_rules};
use crate::core::import::sentences::say;

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
    ("hybrid_sliding", LayerType::SlidingAndState),
    ("attention", LayerType::Full),
    ("recurrent", LayerType::State),
    ("moe", LayerType::Nothing),
    ("mlp", LayerType::Nothing),
    ("compressed_sparse_attention", LayerType::CompressedSparse),
    ("heavily_compressed_attention", LayerType::HeavilyCompressed),
    ("deepseek_sparse_attention", LayerType::Full),
    ("indexed_attention", LayerType::Full),
    ("minimax_m3_sparse", LayerType::Full),
];

/// The letters of `hybrid_override_pattern`: Mamba-2, attention, MLP, experts.
const PATTERN_LETTERS: &[(char, LayerType)] = &[
    ('M', LayerType::State),
    ('*', LayerType::Full),
    ('-', LayerType::Nothing),
    ('E', LayerType::Nothing),
];

/// The number of decoder layers.
pub(super) fn num_hidden_layers(view: &ConfigView<'_>) -> Result<usize, ImportError> {
    let counted = || {
        let len = |name| view.list(name).map(|list| list.len() as u64);
        let pattern = view.text("hybrid_override_pattern");
        pattern
            .map(|text| text.chars().count() as u64)
            .or_else(|| len("layers_block_type"))
            .or_else(|| len("block_configs"))
            .or_else(|| len("layer_types"))
    };
    let first = |names: &[&str]| names.iter().find_map(|name| view.number(name));
    let given = if is_encoder_decoder(view) {
        // `num_hidden_layers` is the encoder's count in these files.
        first(&[
            "decoder_layers",
            "num_decoder_layers",
            "decoder_num_hidden_layers",
            "num_hidden_layers",
        ])
    } else if view.model_type().starts_with("longcat_flash") {
        // `num_hidden_layers` counts the attentions, of which each layer has two.
        first(&["num_layers"]).or_else(|| first(&["num_hidden_layers"]).map(|n| n / 2))
    } else if view.model_type() == "nemotron_h" {
        counted().or_else(|| first(&["num_hidden_layers"]))
    } else {
        view.given("num_hidden_layers")
            .or_else(counted)
            .or_else(|| first(&["num_hidden_layers"]))
    };
    let Some(n_layers) = given else {
        return Err(missing(view, "num_hidden_layers"));
    };
    if n_layers == 0 || MAX_LAYERS < n_layers {
        return Err(ImportError::new(
            "layer_count",
            say!(
                outside,
                name = "num_hidden_layers",
                given = n_layers,
                min = 1_u32,
                max = MAX_LAYERS
            ),
        ));
    }
    // At most 10,000 by the check above.
    Ok(n_layers as usize)
}

/// The error for a field without which nothing can be said.
pub(super) fn missing(view: &ConfigView<'_>, name: &str) -> ImportError {
    let model_type = view.model_type();
    let message = if model_type.is_empty() {
        say!(missing, name)
    } else {
        say!(missing_in, name, model_type = quoted(model_type))
    };
    ImportError::new("missing_key", message)
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
    let model_type = view.model_type();
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
        let mut res = named_types("layer_types", names, n_layers, model_type)?;
        if model_type.starts_with("gemma4")
            && let Some(last) = res.last_mut()
        {
            *last = LayerType::Full;
        }
        return Ok(res);
    }
    if let Some(names) = view.list("block_types").filter(|names| !names.is_empty()) {
        let repeated: Vec<Value> = names.iter().cycle().take(n_layers).cloned().collect();
        return named_types("block_types", &repeated, n_layers, model_type);
    }
    let local = if has_window {
        LayerType::Sliding
    } else {
        LayerType::Full
    };
    if let Some(pattern) = view
        .text("sliding_window_pattern")
        .filter(|text| !text.is_empty())
    {
        return window_letters(pattern, n_layers, local);
    }
    if let Some(rule) = layer_rules::rule(view, n_layers as u64, local) {
        return Ok((0..n_layers as u64).map(rule).collect());
    }
    if layer_rules::is_unknown(model_type) {
        return Err(missing(view, "layer_types"));
    }
    Ok(vec![local; n_layers])
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
    // Of a group in Hymba, the first layer has the cache; the others keep their state only.
    for group in view.list("kv_reuse_group").unwrap_or(&[]) {
        for idx in group.as_array().into_iter().flatten().skip(1) {
            let idx = idx.as_u64().and_then(|idx| usize::try_from(idx).ok());
            if let Some(layer) = idx.and_then(|idx| types.get_mut(idx)) {
                *layer = LayerType::State;
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
            let text = name.as_str().unwrap_or("");
            match NAMES.iter().find(|(known, _)| *known == text) {
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

fn unknown_type(idx: usize, name: &Value) -> ImportError {
    let known: Vec<&str> = NAMES.iter().map(|(known, _)| *known).collect();
    ImportError::new(
        "unknown_layer_type",
        say!(
            layer_type,
            layer = idx,
            given = short(name),
            known = known.join(", ")
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
                        say!(
                            layer_letter,
                            name = "hybrid_override_pattern",
                            given = quoted(&letter.to_string()),
                            layer = idx,
                            known = "M, *, -, E"
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
            say!(
                window_letter,
                name = "sliding_window_pattern",
                given = quoted(&letter.to_string()),
                known = "L, G"
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
    let of_block = |(idx, block): (usize, &Value)| {
        let field = |key: &str| {
            block
                .get("attention")
                .and_then(|attention| attention.get(key))
        };
        let is = |key: &str| field(key).and_then(Value::as_bool) == Some(true);
        if let Some(window) = field("window_length").and_then(Value::as_u64) {
            return Err(ImportError::new(
                "unknown_layer_type",
                say!(block_window, layer = idx, given = window),
            ));
        }
        Ok(if is("no_op") || is("replace_with_linear") {
            LayerType::Nothing
        } else {
            LayerType::Full
        })
    };
    blocks
        .iter()
        .take(n_layers)
        .enumerate()
        .map(of_block)
        .collect()
}

fn count_error(key: &str, n_entries: usize, n_layers: usize) -> ImportError {
    ImportError::new(
        "layer_count",
        say!(
            other_length,
            name = key,
            entries = n_entries,
            layers = n_layers
        ),
    )
}

/// A number that is there and not zero.
pub(super) fn positive(number: Option<u64>) -> Option<u64> {
    number.filter(|number| *number != 0)
}
