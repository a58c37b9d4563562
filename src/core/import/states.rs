//! The constant state of recurrent layers, from whatever the architecture calls its dimensions.

use super::config_view::ConfigView;
use super::layer_types::positive;
use crate::core::layer::{RecurrentFamily, RecurrentState};

/// Why a state has no dimensions.
pub(super) enum NoState {
    /// This key is missing.
    Missing(&'static str),
    /// Nothing in the file tells which kind of state it is.
    Unknown,
}

impl From<&'static str> for NoState {
    fn from(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

/// The state that a recurrent layer of this model keeps.
///
/// Sources: `MambaStateShapeCalculator` of vLLM
/// (<https://github.com/vllm-project/vllm/blob/001cabc1be16a59a70d720ed61a13b678c060a18/vllm/model_executor/layers/mamba/mamba_utils.py>)
/// and the cache classes of transformers 5.24.0. A convolution of `k` taps keeps `k − 1` columns.
pub(super) fn recurrent_state(view: &ConfigView<'_>) -> Result<RecurrentState, NoState> {
    let model_type = view.model_type();
    let has = |names: &[&str]| first(view, names).is_some();
    let res = if has(&["conv_L_cache"]) {
        short_conv(view)
    } else if has(&["linear_num_value_heads"]) || model_type == "olmo_hybrid" {
        gated_delta_net(view)
    } else if view.has("linear_attn_config")
        || has(&["linear_num_heads"])
        || view.given("short_conv_kernel_size").is_some()
    {
        kda(view)
    } else if view.has("lru_width") || model_type == "recurrent_gemma" {
        rg_lru(view)
    } else if model_type.starts_with("rwkv") {
        rwkv(view)
    } else if has(&["mamba_num_heads", "mamba_n_heads"])
        || matches!(model_type, "mamba2" | "zamba2")
        || view.text("ssm_cfg.layer") == Some("Mamba2")
    {
        mamba2(view)
    } else if has(&["mamba_d_state", "state_size", "mamba_expand"])
        || view.has("ssm_cfg")
        || model_type == "phi4flash"
    {
        mamba1(view)
    } else if model_type.starts_with("minimax")
        || model_type.starts_with("bailing")
        || view.has("attn_type_list")
    {
        lightning(view)
    } else {
        return Err(NoState::Unknown);
    };
    res.map_err(NoState::Missing)
}

fn first(view: &ConfigView<'_>, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| view.number(name))
}

fn short_conv(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    Ok(RecurrentState {
        family: RecurrentFamily::ShortConv,
        conv_dim: view.number("hidden_size").ok_or("hidden_size")?,
        conv_columns: view.number("conv_L_cache").unwrap_or(1).saturating_sub(1),
        state_heads: 0,
        state_rows: 0,
        state_columns: 0,
    })
}

fn gated_delta_net(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let heads = view.number("num_attention_heads");
    let k_heads = view
        .number("linear_num_key_heads")
        .or(heads)
        .ok_or("linear_num_key_heads")?;
    let v_heads = view
        .number("linear_num_value_heads")
        .or(heads)
        .ok_or("linear_num_value_heads")?;
    // The class default of OLMo-Hybrid: three quarters of the width for keys, twice that for values.
    let k_dim = match view.number("linear_key_head_dim") {
        Some(k_dim) => k_dim,
        None => {
            view.number("hidden_size")
                .ok_or("linear_key_head_dim")?
                .saturating_mul(3)
                / 4
                / k_heads.max(1)
        }
    };
    let v_dim = view
        .number("linear_value_head_dim")
        .unwrap_or(k_dim.saturating_mul(2));
    let keys = k_heads.saturating_mul(k_dim).saturating_mul(2);
    Ok(RecurrentState {
        family: RecurrentFamily::GatedDeltaNet,
        conv_dim: keys.saturating_add(v_heads.saturating_mul(v_dim)),
        conv_columns: view
            .number("linear_conv_kernel_dim")
            .unwrap_or(4)
            .saturating_sub(1),
        state_heads: v_heads,
        state_rows: k_dim,
        state_columns: v_dim,
    })
}

fn kda(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let heads = first(
        view,
        &[
            "linear_attn_config.num_heads",
            "linear_num_heads",
            "num_attention_heads",
        ],
    )
    .ok_or("linear_attn_config.num_heads")?;
    let dim = first(
        view,
        &["linear_attn_config.head_dim", "linear_head_dim", "head_dim"],
    )
    .ok_or("linear_attn_config.head_dim")?;
    let taps = first(
        view,
        &[
            "linear_attn_config.short_conv_kernel_size",
            "linear_conv_kernel_dim",
            "short_conv_kernel_size",
        ],
    );
    Ok(RecurrentState {
        family: RecurrentFamily::Kda,
        // One convolution each for q, k and v.
        conv_dim: heads.saturating_mul(dim).saturating_mul(3),
        conv_columns: taps.unwrap_or(4).saturating_sub(1),
        state_heads: heads,
        state_rows: dim,
        state_columns: dim,
    })
}

fn rg_lru(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let width = first(view, &["lru_width", "hidden_size"]).ok_or("lru_width")?;
    Ok(RecurrentState {
        family: RecurrentFamily::RgLru,
        conv_dim: width,
        conv_columns: view.number("conv1d_width").unwrap_or(4).saturating_sub(1),
        state_heads: width,
        state_rows: 1,
        state_columns: 1,
    })
}

/// RWKV-4 keeps a numerator, a denominator and a maximum for each channel; later versions a square for each head. All
/// keep the last token of both mixers.
fn rwkv(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let hidden = view.number("hidden_size").ok_or("hidden_size")?;
    let width = first(view, &["attention_hidden_size", "dim_att"]).unwrap_or(hidden);
    let (state_heads, state_rows, state_columns) = if view.model_type() == "rwkv" {
        (width, 1, 3)
    } else {
        let dim = positive(first(view, &["head_size", "head_dim"])).unwrap_or(64);
        (width / dim, dim, dim)
    };
    Ok(RecurrentState {
        family: RecurrentFamily::Rwkv,
        conv_dim: hidden,
        conv_columns: 2,
        state_heads,
        state_rows,
        state_columns,
    })
}

/// Inner width: `mamba_d_ssm`, or `expand × hidden_size`; Falcon-Mamba gives it as `intermediate_size` against its `expand`.
fn inner(view: &ConfigView<'_>) -> Option<u64> {
    let is_bare = matches!(view.model_type(), "mamba" | "falcon_mamba");
    let given = if is_bare {
        view.given("intermediate_size")
    } else {
        view.number("mamba_d_ssm")
    };
    given.or_else(|| {
        let expand = first(view, &["mamba_expand", "expand", "ssm_cfg.expand"]).unwrap_or(2);
        Some(view.number("hidden_size")?.saturating_mul(expand))
    })
}

fn mamba2(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let is_bare = view.model_type() == "mamba2";
    // The package `mamba_ssm` names only what differs from its own defaults.
    let is_original = view.has("ssm_cfg");
    let original = |default: u64| is_original.then_some(default);
    let dim = first(
        view,
        &[
            "mamba_head_dim",
            "mamba_d_head",
            "mamba_headdim",
            "hidden_size_per_head",
            "ssm_cfg.headdim",
        ],
    )
    .or_else(|| view.number("head_dim").filter(|_| is_bare))
    .or(original(64));
    let heads = first(view, &["mamba_num_heads", "mamba_n_heads", "n_mamba_heads"])
        .or_else(|| view.number("num_attention_heads").filter(|_| is_bare))
        .or_else(|| original(inner(view)? / dim?.max(1)))
        .ok_or("mamba_num_heads")?;
    let dim = dim
        .or_else(|| inner(view).map(|inner| inner / heads.max(1)))
        .ok_or("mamba_head_dim")?;
    let state = first(
        view,
        &[
            "ssm_state_size",
            "mamba_d_state",
            "state_size",
            "ssm_cfg.d_state",
        ],
    )
    .or(original(128))
    .ok_or("mamba_d_state")?;
    let groups = first(
        view,
        &[
            "mamba_n_groups",
            "mamba_ngroups",
            "n_groups",
            "ssm_cfg.ngroups",
        ],
    )
    .unwrap_or(1);
    let taps = first(view, &["mamba_d_conv", "conv_kernel", "ssm_cfg.d_conv"]).unwrap_or(4);
    // PLaMo-2 convolves x alone.
    let beside = if view.model_type() == "plamo2" {
        0
    } else {
        groups.saturating_mul(state).saturating_mul(2)
    };
    Ok(RecurrentState {
        family: RecurrentFamily::Mamba2,
        conv_dim: heads.saturating_mul(dim).saturating_add(beside),
        conv_columns: taps.saturating_sub(1),
        state_heads: heads,
        state_rows: dim,
        state_columns: state,
    })
}

fn mamba1(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let inner = inner(view).ok_or("hidden_size")?;
    Ok(RecurrentState {
        family: RecurrentFamily::Mamba1,
        conv_dim: inner,
        conv_columns: first(view, &["mamba_d_conv", "conv_kernel", "ssm_cfg.d_conv"])
            .unwrap_or(4)
            .saturating_sub(1),
        state_heads: inner,
        state_rows: 1,
        state_columns: first(view, &["mamba_d_state", "state_size", "ssm_cfg.d_state"])
            .unwrap_or(16),
    })
}

fn lightning(view: &ConfigView<'_>) -> Result<RecurrentState, &'static str> {
    let heads = positive(view.number("num_attention_heads")).ok_or("num_attention_heads")?;
    let dim = match view.number("head_dim") {
        Some(dim) => dim,
        None => view.number("hidden_size").ok_or("head_dim")? / heads,
    };
    Ok(RecurrentState {
        family: RecurrentFamily::Lightning,
        conv_dim: 0,
        conv_columns: 0,
        state_heads: heads,
        state_rows: dim,
        state_columns: dim,
    })
}
