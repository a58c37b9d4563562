//! The geometry of one layer's attention: heads and their widths, the latent, the indexer, the window.

use serde_json::Value;

use super::ImportError;
use super::config_view::ConfigView;
use super::layer_types::{missing, positive};
use crate::core::import::sentences::say;
use crate::core::model::UnfoldedHeads;
use crate::core::units::Tokens;

/// The cached heads of one layer.
pub(super) struct Heads {
    pub(super) num_key_value_heads: u32,
    pub(super) head_dim: u32,
    pub(super) v_head_dim: u32,
}

/// The geometry of one layer: its own, then that of its kind, then that of the model.
pub(super) fn heads(
    view: &ConfigView<'_>,
    idx: usize,
    is_local: bool,
) -> Result<Heads, ImportError> {
    let num_attention_heads = match dim_at(view, "num_attention_heads", idx) {
        Some(heads) if heads != 0 => heads,
        // JetMoE gives its query heads as KV heads × experts of a token.
        _ if view.model_type() == "jetmoe" => view
            .dim("num_key_value_heads")
            .zip(view.dim("num_experts_per_tok"))
            .map_or(1, |(heads, experts)| heads.saturating_mul(experts)),
        // Typed by hand, the cache is known without the query heads; only the weights need them.
        None if view.model_type().is_empty() && view.has("head_dim") => {
            dim_at(view, "num_key_value_heads", idx)
                .filter(|heads| *heads != 0)
                .ok_or_else(|| missing_or_zero(view, "num_attention_heads"))?
        }
        _ => return Err(missing_or_zero(view, "num_attention_heads")),
    };
    let first = |names: &[&str]| names.iter().find_map(|name| view.dim(name));
    let own = |name: &str| view.dim(&format!("per_layer_config.{idx}.{name}"));
    let of_kind = |local: &[&str], global: &[&str]| first(if is_local { local } else { global });

    let query_heads = of_kind(&["num_swa_attention_heads", "swa_num_attention_heads"], &[])
        .unwrap_or(num_attention_heads);
    let head_dim = own("head_dim")
        .or_else(|| {
            of_kind(
                &["swa_head_dim", "attention_other_setting.head_dim"],
                &["global_head_dim"],
            )
        })
        .or_else(|| view.dim("head_dim"))
        .filter(|dim| *dim != 0);
    let head_dim = match head_dim {
        Some(head_dim) => head_dim,
        None => derived_head_dim(view, query_heads)?,
    };
    // Gemma 4 has other KV heads in its global layers only where K and V are one projection.
    let global: &[&str] =
        if view.model_type() == "gemma4_text" && view.flag("attention_k_eq_v") != Some(true) {
            &[]
        } else {
            &["num_global_key_value_heads"]
        };
    let local = [
        "num_swa_key_value_heads",
        "swa_num_key_value_heads",
        "attention_other_setting.num_attention_groups",
    ];
    let num_key_value_heads = match own("num_key_value_heads").or_else(|| of_kind(&local, global)) {
        Some(heads) => heads,
        None => num_key_value_heads_at(view, idx, num_attention_heads)?,
    };
    if view.model_type() == "deepseek_v4" {
        // One row is both K and V.
        return Ok(Heads {
            num_key_value_heads: 1,
            head_dim,
            v_head_dim: 0,
        });
    }
    let v_head_dim = own("v_head_dim")
        .or_else(|| of_kind(&["swa_v_head_dim"], &[]))
        .or_else(|| view.dim("v_head_dim"))
        .filter(|dim| *dim != 0)
        .unwrap_or(head_dim);
    Ok(Heads {
        num_key_value_heads,
        head_dim,
        v_head_dim,
    })
}

fn derived_head_dim(view: &ConfigView<'_>, query_heads: u32) -> Result<u32, ImportError> {
    let hidden_size = view
        .dim("hidden_size")
        .filter(|size| *size != 0)
        .ok_or_else(|| missing_or_zero(view, "hidden_size"))?;
    // Zamba's attention reads the layer's input beside the embedding.
    let width = if view.model_type().starts_with("zamba") {
        hidden_size.saturating_mul(2)
    } else {
        hidden_size
    };
    if width % query_heads.max(1) != 0 {
        return Err(ImportError::new(
            "head_dim",
            say!(head_dim, hidden_size, num_attention_heads = query_heads),
        ));
    }
    Ok(width / query_heads.max(1))
}

/// KV heads where no name says it for this kind of layer alone.
fn num_key_value_heads_at(
    view: &ConfigView<'_>,
    idx: usize,
    num_attention_heads: u32,
) -> Result<u32, ImportError> {
    if let Some(blocks) = view.list("block_configs") {
        let group = blocks
            .get(idx)
            .and_then(|block| block.get("attention")?.get("n_heads_in_group")?.as_u64())
            .and_then(|group| u32::try_from(group).ok());
        if let Some(group) = group.filter(|group| *group != 0) {
            return Ok(num_attention_heads / group);
        }
    }
    let is = |name: &str| view.flag(name) == Some(true);
    // Multi-query attention as a switch, which is on unless it is off.
    let multi_query = || {
        if view.flag("multi_query") == Some(false) {
            num_attention_heads
        } else {
            1
        }
    };
    match view.model_type() {
        // Falcon's second architecture has groups and ignores the switch of the first.
        "falcon" | "RefinedWebModel" if !is("new_decoder_architecture") => return Ok(multi_query()),
        "gpt_bigcode" => return Ok(multi_query()),
        "chatglm" => {
            let groups = view.dim("multi_query_group_num");
            return Ok(groups
                .filter(|_| is("multi_query_attention"))
                .unwrap_or(num_attention_heads));
        }
        "mpt" if view.text("attn_config.attn_type") == Some("multiquery_attention") => {
            return Ok(1);
        }
        _ => {}
    }
    match dim_at(view, "num_key_value_heads", idx) {
        // A list may switch one layer's attention off; a single zero cannot be meant.
        Some(0) if view.list("num_key_value_heads").is_none() => {
            Err(missing_or_zero(view, "num_key_value_heads"))
        }
        Some(heads) => Ok(heads),
        None => Ok(num_attention_heads),
    }
}

pub(super) fn dim_at(view: &ConfigView<'_>, name: &str, idx: usize) -> Option<u32> {
    let number = view.number_at(name, idx)?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

/// The error for a list of heads that ends before the layers do: what the others have is not said.
pub(super) fn short_list(view: &ConfigView<'_>, n_layers: usize) -> Option<ImportError> {
    ["num_attention_heads", "num_key_value_heads"]
        .into_iter()
        .filter_map(|name| Some((name, view.list(name)?.len())))
        .find(|(_, len)| *len < n_layers)
        .map(|(name, len)| {
            ImportError::new(
                "short_list",
                say!(short_list, name, entries = len, layers = n_layers),
            )
        })
}

fn missing_or_zero(view: &ConfigView<'_>, name: &str) -> ImportError {
    if view.number(name) == Some(0) {
        ImportError::new("zero", say!(zero, name))
    } else {
        missing(view, name)
    }
}

/// What the latent rows unfold into, for engines that cache the heads.
pub(super) fn unfolded_heads(view: &ConfigView<'_>) -> Option<UnfoldedHeads> {
    kv_lora_rank(view)?;
    let head_dim = view
        .dim("qk_nope_head_dim")?
        .checked_add(view.dim("qk_rope_head_dim")?)?;
    Some(UnfoldedHeads {
        num_heads: view.dim("num_attention_heads")?,
        head_dim,
        v_head_dim: view.dim("v_head_dim")?,
    })
}

/// The width of the latent, where the architecture has one and uses it.
pub(super) fn kv_lora_rank(view: &ConfigView<'_>) -> Option<u32> {
    view.dim("kv_lora_rank")
        .filter(|rank| *rank != 0 && view.flag("use_mla") != Some(false))
}

/// The width of the sparse indexer's keys in this layer. A layer may use another one's choice and keep none.
///
/// Source: `GlmMoeDsaConfig` of transformers 5.24.0.
pub(super) fn index_head_dim(view: &ConfigView<'_>, idx: usize) -> u32 {
    let Some(width) = view.dim("index_head_dim") else {
        return 0;
    };
    let is_shared = if let Some(types) = view.list("indexer_types") {
        types.get(idx).and_then(Value::as_str) == Some("shared")
    } else if let Some(letters) = view.text("index_topk_pattern") {
        letters.chars().nth(idx) == Some('S')
    } else if let Some(freq) = positive(view.given("index_topk_freq")) {
        let offset = view.number("index_skip_topk_offset").unwrap_or(2);
        !(idx as u64 + 1).saturating_sub(offset).is_multiple_of(freq)
    } else {
        false
    };
    if is_shared { 0 } else { width }
}

/// The window that applies, in tokens. One as long as the context changes nothing.
pub(super) fn window(view: &ConfigView<'_>, context: Option<Tokens>) -> Option<Tokens> {
    if view.flag("use_sliding_window") == Some(false) {
        return None;
    }
    given_window(view).filter(|window| context.is_none_or(|context| *window < context))
}

/// The window in the file, unless the architecture has none.
pub(super) fn given_window(view: &ConfigView<'_>) -> Option<Tokens> {
    let window = match view.model_type() {
        "gpt_neo" => view.window("window_size"),
        // The width of the whole window, of which a decoder has the half.
        "modernbert-decoder" => Some(view.window("local_attention").unwrap_or(128) / 2),
        _ if has_no_window(view) => None,
        _ => view.window("sliding_window"),
    };
    positive(window).map(Tokens)
}

/// Whether the architecture's class knows no window, so that one in the file is a leftover.
pub(super) fn has_no_window(view: &ConfigView<'_>) -> bool {
    view.has_class_defaults()
        && view.default_of("sliding_window").is_none()
        && !view.has("layer_types")
        && !view.has("sliding_window_pattern")
}
