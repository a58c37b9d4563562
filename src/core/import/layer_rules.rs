//! Which layer is what where the file gives no name for each: lists of indices, periods, and what an architecture does.

use serde_json::Value;

use super::config_view::ConfigView;
use super::layer_types::{LayerType, positive};

/// One rule for the layers of an architecture that does not list them: which of them keep everything, given the index and
/// the number of layers, and what the others are.
struct Pattern {
    model_types: &'static [&'static str],
    is_full: fn(u64, u64) -> bool,
    other: LayerType,
}

/// Source: `__post_init__` of the configuration classes of transformers 5.24.0.
const PATTERNS: &[Pattern] = &[
    Pattern {
        model_types: &[
            "gemma2",
            "vaultgemma",
            "t5_gemma_module",
            "gpt_oss",
            "openai_privacy_filter",
        ],
        is_full: |idx, _| (idx + 1).is_multiple_of(2),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["modernbert-decoder"],
        is_full: |idx, _| (idx + 1).is_multiple_of(3),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["cohere2", "olmo3", "exaone4", "exaone_moe", "afmoe"],
        is_full: |idx, _| (idx + 1).is_multiple_of(4),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["gemma3n_text"],
        is_full: |idx, _| (idx + 1).is_multiple_of(5),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &[
            "gemma3_text",
            "t5gemma2_text",
            "t5gemma2_decoder",
            "inkling_text",
        ],
        is_full: |idx, _| (idx + 1).is_multiple_of(6),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["gemma4_text", "gemma4_unified_text"],
        is_full: |idx, n| (idx + 1).is_multiple_of(6) || idx + 1 == n,
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["mimo_v2_flash"],
        is_full: |idx, _| idx == 0 || (idx + 1).is_multiple_of(6),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["cwm"],
        is_full: |idx, _| idx.is_multiple_of(4),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["muse_glimmer_text"],
        is_full: |idx, n| (n - 1 - idx).is_multiple_of(4),
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &["dots3_note_text"],
        is_full: |idx, _| idx < 2 || idx % 4 == 1,
        other: LayerType::Sliding,
    },
    Pattern {
        model_types: &[
            "qwen3_next",
            "qwen3_5_text",
            "qwen3_5_moe_text",
            "olmo_hybrid",
            "kimi_linear",
            "glm5_next_text",
        ],
        is_full: |idx, _| (idx + 1).is_multiple_of(4),
        other: LayerType::State,
    },
    Pattern {
        model_types: &["minimax"],
        is_full: |idx, _| idx.is_multiple_of(2),
        other: LayerType::State,
    },
    Pattern {
        model_types: &["recurrent_gemma"],
        is_full: |idx, _| idx % 3 == 2,
        other: LayerType::State,
    },
];

/// Architectures that have a pattern which the file must give, because its default is not known here.
const UNKNOWN_PATTERNS: &str = "beam diffusion_gemma_text dory flint granite_swa granitemoe_swa granitemoehybrid hrm_text hy_v4 hy_v4_vl_text \
    inkling2_loop_text inkling2_text kolibri1 lara_mini lfm3 mistral_large4_text muse_spark_text nemotron_h \
    qwen4_exp_text step3p5 unlimited_ocr_text zamba2";

/// Architectures whose layers are all the same and not plain attention.
const UNIFORM: &[(&str, LayerType)] = &[
    // Their classes have a window for the layers that `layer_types` names, and without it none.
    ("laguna", LayerType::Full),
    ("mellum", LayerType::Full),
    ("falcon_h1", LayerType::FullAndState),
    ("mamba", LayerType::State),
    ("mamba2", LayerType::State),
    ("falcon_mamba", LayerType::State),
    ("xlstm", LayerType::State),
    ("rwkv", LayerType::State),
    ("rwkv5", LayerType::State),
    ("rwkv6", LayerType::State),
    ("rwkv7", LayerType::State),
];

/// What each layer is, by its index.
pub(super) type Rule<'a> = Box<dyn Fn(u64) -> LayerType + 'a>;

/// The rule of this file for `n_layers` layers, of which the windowed ones are `local`.
pub(super) fn rule<'a>(view: &ConfigView<'a>, n_layers: u64, local: LayerType) -> Option<Rule<'a>> {
    listed_rule(view, local).or_else(|| periodic_rule(view, n_layers, local))
}

/// Whether the file must list its layers, because what the architecture does without a list is not known here.
pub(super) fn is_unknown(model_type: &str) -> bool {
    UNKNOWN_PATTERNS
        .split_whitespace()
        .any(|name| name == model_type)
}

/// One kind of layer where the condition holds and another where it does not.
fn where_it_holds<'a>(
    condition: impl Fn(u64) -> bool + 'a,
    there: LayerType,
    elsewhere: LayerType,
) -> Option<Rule<'a>> {
    Some(Box::new(
        move |idx| if condition(idx) { there } else { elsewhere },
    ))
}

/// Configs that list the layers of a kind by index, or give a code for each layer.
fn listed_rule<'a>(view: &ConfigView<'a>, local: LayerType) -> Option<Rule<'a>> {
    use LayerType::{Chunked, Cross, Full, FullAndState, SlidingAndState, State};
    let listed = |name: &str| view.numbers(name);
    let none_local = local == Full;
    if let Some(list) = ["attn_layer_indices", "full_attn_idxs", "attn_layer_idx"]
        .iter()
        .find_map(|name| listed(name))
        // Its class takes no list for a list of nothing.
        .or_else(|| (view.model_type() == "bamba").then(Vec::new))
    {
        return where_it_holds(move |idx| list.contains(&idx), Full, State);
    }
    // Counted from 1.
    if let Some(list) = listed("linear_attn_config.full_attn_layers") {
        return where_it_holds(move |idx| list.contains(&(idx + 1)), Full, State);
    }
    if let Some(list) = listed("linear_attn_config.kda_layers") {
        return where_it_holds(move |idx| list.contains(&(idx + 1)), State, Full);
    }
    if let Some(codes) = listed("attn_type_list") {
        return where_it_holds(move |idx| at(&codes, idx) == Some(0), State, Full);
    }
    if let Some(codes) = listed("hybrid_layer_pattern") {
        return where_it_holds(move |idx| at(&codes, idx) == Some(1), local, Full);
    }
    if let Some(list) = listed("cross_attention_layers") {
        return where_it_holds(move |idx| list.contains(&idx), Cross, Full);
    }
    if let Some(list) = listed("global_attn_idx") {
        // Hymba: attention and Mamba side by side in every layer.
        let elsewhere = if none_local {
            FullAndState
        } else {
            SlidingAndState
        };
        return where_it_holds(move |idx| list.contains(&idx), FullAndState, elsewhere);
    }
    if let Some(list) = listed("sliding_window_layers").or_else(|| listed("local_layer_ids")) {
        return where_it_holds(move |idx| list.contains(&idx), local, Full);
    }
    if let Some(list) = listed("hybrid_layer_ids") {
        return where_it_holds(move |idx| list.contains(&idx), FullAndState, State);
    }
    if let Some(names) = view
        .list("attention_layers")
        .filter(|_| view.model_type() == "gpt_neo")
    {
        return where_it_holds(move |idx| name_at(names, idx) == Some("local"), local, Full);
    }
    if is_chunked(view)
        && let Some(list) = listed("no_rope_layers").filter(|list| !list.is_empty())
    {
        // An entry is 1 where the layer has rotary positions, which are the local ones.
        return where_it_holds(move |idx| at(&list, idx) == Some(0), Full, Chunked);
    }
    None
}

/// Configs that give a period, and architectures that have one.
fn periodic_rule<'a>(view: &ConfigView<'a>, n_layers: u64, local: LayerType) -> Option<Rule<'a>> {
    use LayerType::{Chunked, CompressedSparse, Full, FullAndState, HeavilyCompressed, State};
    let model_type = view.model_type().to_owned();
    let number = |name: &str| positive(view.number(name));
    if let Some((_, layer)) = UNIFORM.iter().find(|(name, _)| *name == model_type) {
        return where_it_holds(|_| true, *layer, *layer);
    }
    if view.has("ssm_cfg") {
        return where_it_holds(|_| true, State, State);
    }
    match model_type.as_str() {
        "phi4flash" => return Some(Box::new(move |idx| sambay(idx, n_layers, local))),
        "plamo2" => return plamo2(view, local),
        "zamba" => {
            let (period, offset) = (
                number("attn_layer_period")?,
                view.number("attn_layer_offset")?,
            );
            let is_hybrid = move |idx| idx == 2 || (3 <= idx && (idx - 3) % period == offset);
            return where_it_holds(is_hybrid, FullAndState, State);
        }
        "deepseek_v4" => {
            return where_it_holds(
                |idx| idx < 2 || idx.is_multiple_of(2),
                HeavilyCompressed,
                CompressedSparse,
            );
        }
        "cohere2_moe" => {
            let n_prefix = view.given("first_k_dense_replace").unwrap_or(0);
            let prefix = number("prefix_dense_sliding_window_pattern").unwrap_or(1);
            let period = number("sliding_window_pattern").unwrap_or(4);
            let is_full = move |idx: u64| {
                if idx < n_prefix {
                    (idx + 1).is_multiple_of(prefix)
                } else {
                    (idx - n_prefix + 1).is_multiple_of(period)
                }
            };
            return where_it_holds(is_full, Full, local);
        }
        _ => {}
    }
    if let Some(group) = number("layer_group_size") {
        // A tail that does not fill a group is full attention too.
        let tail = n_layers / group * group;
        return where_it_holds(
            move |idx| (idx + 1).is_multiple_of(group) || tail <= idx,
            Full,
            State,
        );
    }
    if let Some(period) = number("attn_layer_period") {
        let offset = view.number("attn_layer_offset").unwrap_or(0);
        return where_it_holds(move |idx| idx % period == offset, Full, State);
    }
    if let Some(period) = number("full_attention_interval") {
        return where_it_holds(move |idx| (idx + 1).is_multiple_of(period), Full, State);
    }
    if is_chunked(view) {
        let period = number("no_rope_layer_interval").unwrap_or(4);
        return where_it_holds(move |idx| (idx + 1).is_multiple_of(period), Full, Chunked);
    }
    let keys = [
        "sliding_window_pattern",
        "_sliding_window_pattern",
        "global_attn_every_n_layers",
        "layer_switch",
    ];
    if let Some(period) = keys.iter().find_map(|name| number(name)) {
        return where_it_holds(move |idx| (idx + 1).is_multiple_of(period), Full, local);
    }
    if let Some(pattern) = PATTERNS
        .iter()
        .find(|pattern| pattern.model_types.contains(&model_type.as_str()))
    {
        let other = if pattern.other == LayerType::Sliding {
            local
        } else {
            pattern.other
        };
        let there = if model_type == "recurrent_gemma" {
            local
        } else {
            Full
        };
        return where_it_holds(move |idx| (pattern.is_full)(idx, n_layers), there, other);
    }
    if view.has("use_sliding_window")
        && let Some(first) = view.number("max_window_layers")
    {
        return where_it_holds(move |idx| first <= idx, local, Full);
    }
    None
}

/// PLaMo-2: of every `mamba_step` layers the middle one attends, through a window unless it is listed.
///
/// Source: `modeling_plamo.py` of pfnet/plamo-2-8b; vLLM keeps the whole context in these layers instead.
fn plamo2<'a>(view: &ConfigView<'a>, local: LayerType) -> Option<Rule<'a>> {
    if view.flag("mamba_enabled") == Some(false) {
        return None;
    }
    let step = positive(view.number("mamba_step")).unwrap_or(2);
    let full = view.numbers("full_attention_idx").unwrap_or_default();
    Some(Box::new(move |idx| {
        if idx % step != step / 2 {
            LayerType::State
        } else if full.contains(&idx) {
            LayerType::Full
        } else {
            local
        }
    }))
}

/// Llama 4's local layers end at chunks; elsewhere the key is a leftover.
fn is_chunked(view: &ConfigView<'_>) -> bool {
    let model_type = view.model_type();
    (model_type.is_empty() || model_type.starts_with("llama4"))
        && view.number("attention_chunk_size").is_some()
}

fn name_at(names: &[Value], idx: u64) -> Option<&str> {
    names.get(usize::try_from(idx).ok()?)?.as_str()
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

fn at(list: &[u64], idx: u64) -> Option<u64> {
    list.get(usize::try_from(idx).ok()?).copied()
}
