//! Keys that nothing has read and that sound as if they changed the cache.

use serde_json::Value;

use super::config_view::ConfigView;
use super::layer_types::quoted;
use crate::core::import::sentences::say;
use crate::core::model::ImportNote;

/// Parts of names that have to do with what a layer keeps.
const SUSPICIOUS: &str = "attn attention kv_ _kv window cache ssm mamba conv_ _conv linear_attn layer_type pattern latent lora chunk \
    sparse indexer index_ state_ _state memory compress recurrent reuse hybrid mixer";

/// Names with such a part that change nothing that is kept. A star stands for any text.
const HARMLESS: &str = "*bias *dropout* *pdrop *_dtype *_act *_activation *scale* *scaling* *multiplier* *implementation *impl *_gate \
    *norm* *softcap* *softmax* *expert* moe_* *token_id* *token_index *rope* *alpha* *beta* *kernels *temperature* \
    *sink* *probs* *decay* use_cache cache_implementation attention_method attn_res_block_size attention_hidden_size \
    query_pre_attn_scalar use_bidirectional_attention is_causal_attention max_window_layers sliding_window \
    global_attn_every_n_layers full_attention_interval sliding_window_pattern _sliding_window_pattern \
    hybrid_layer_ids layer_switch mamba_dt_* mamba_chunk_size chunk_size mamba_expand mamba_use_mlp \
    mamba_inner_layernorms q_lora_rank o_lora_rank index_n_heads index_topk* index_share_* index_skip_* latent_moe_* \
    encoder_attention_heads decoder_sparse_step mlp_layer_types mtp_* kv_channels attn_output_gate hidden_mamba_act \
    attention_types num_attention_heads* conv_dim attn_layer_* initial_context_length kv_lora_rank \
    attention_head_dim mamba_d_ssm parallel_attn sparse_attention_config \
    *mlp* *rotary* *_theta swiglu* intermediate_size chunk_size_feed_forward gating* activation_sparsity* *lora_rank* \
    pre_allocate_kv_cache *flash* fuse_* compression_ratio attn_mode value_dim conv_dim_out conv_use_* full_attn_idxs \
    relative_attention* attention_chunk_size output_attentions output_hidden_states \
    *_lora full_attn_mod use_logn_attn";

/// Architectures that are read by their own or the general rules and have no class defaults here.
const KNOWN: &str = "RefinedWeb RefinedWebModel aquila arctic baichuan baichuan_m1 bailing_moe bailing_moe_linear bailing_moe_v2 \
    bailing_moe_v3 chatglm deci decilm deepseek deepseek_vl_v2 exaone4_5_text git hunyuan hymba internlm internlm2 jais kimi_k2 \
    longcat_flash_ngram mimo mimo_v2 minicpm minicpmo minicpmv minimax_m1 minimax_m3 minimax_text_01 molmo \
    nemotron-nas openelm orion ovis phi-msft phi3_v phi3small phi4flash phi4mm plamo plamo2 qwen qwen2_5_vl qwen2_vl \
    qwen3_vl qwen3_vl_moe rwkv5 rwkv6 rwkv7 skywork solar stablelm_epoch step3_text step3p7 telechat telechat2 telechat3 \
    xverse";

/// One note for an architecture that is not known, and one for each key that may matter.
pub(super) fn notes(view: &ConfigView<'_>, n_layers: usize) -> Vec<ImportNote> {
    let mut res = Vec::new();
    let model_type = view.model_type();
    if !model_type.is_empty()
        && !view.has_class_defaults()
        && !KNOWN.split_whitespace().any(|known| known == model_type)
    {
        res.push(ImportNote {
            code: "unknown_architecture",
            message: say!(unknown_architecture, model_type = quoted(model_type)).into(),
        });
    }
    let n_mtp = [
        "num_nextn_predict_layers",
        "mtp_num_hidden_layers",
        "mtp_num_layers",
    ]
    .into_iter()
    .find_map(|key| view.number(key))
    .unwrap_or(0);
    let n_types = view.list("layer_types").map_or(0, <[Value]>::len);
    if 0 < n_types && n_types != n_layers && n_types as u64 != n_layers as u64 + n_mtp {
        res.push(ImportNote {
            code: "layer_count",
            message: say!(layer_count, types = n_types, layers = n_layers).into(),
        });
    }
    let unread = view.unread_keys().into_iter().filter(|key| {
        let value = view.fields().get(*key);
        let is_set = match value {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_f64().is_some_and(|number| 0.0 < number),
            Some(Value::String(_) | Value::Array(_) | Value::Object(_)) => true,
        };
        // A list with an entry for each layer is about layers, whatever its name.
        let is_by_layer =
            matches!(value, Some(Value::Array(list)) if 3 < n_layers && list.len() == n_layers);
        let is_suspicious = || SUSPICIOUS.split_whitespace().any(|part| key.contains(part));
        is_set && (is_by_layer || is_suspicious()) && !is_harmless(key)
    });
    // A file of nonsense may have thousands.
    res.extend(unread.take(20).map(|key| ImportNote {
        code: "unknown_key",
        message: say!(unknown_key, name = quoted(key)).into(),
    }));
    res
}

fn is_harmless(key: &str) -> bool {
    HARMLESS.split_whitespace().any(
        |name| match (name.strip_prefix('*'), name.strip_suffix('*')) {
            (Some(_), Some(_)) => key.contains(name.trim_matches('*')),
            (Some(end), None) => key.ends_with(end),
            (None, Some(start)) => key.starts_with(start),
            (None, None) => key == name,
        },
    )
}
