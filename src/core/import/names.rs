//! What configs call a field, where they keep it, and what a missing one means: the tables behind [`super::config_view`].

use serde_json::{Map, Value};

/// Sections that hold a language model, in the order they are tried; a section inside a section is found too.
const TEXT_SECTIONS: &[&str] = &[
    "text_config",
    "llm_config",
    "language_config",
    "lm_config",
    "thinker_config",
    "decoder",
];

/// Fields that a wrapper may keep beside the language model's section.
pub(super) const ROOT_FIELDS: &[&str] = &[
    "architectures",
    "is_encoder_decoder",
    "dtype",
    "torch_dtype",
    "quantization_config",
    "compression_config",
    "tie_word_embeddings",
    "vocab_size",
    "model_max_length",
];

/// The canonical name and the names it has in files, in the order they are tried.
///
/// Source: `attribute_map` of the configuration classes of transformers 5.24.0, and the configs in tests/data/configs.
pub(super) const ALIASES: &[(&str, &[&str])] = &[
    (
        "num_hidden_layers",
        &[
            "n_layer",
            "n_layers",
            "num_layers",
            "decoder_layers",
            "decoder_num_hidden_layers",
            "num_transformer_layers",
            "layers",
        ],
    ),
    (
        "num_attention_heads",
        &[
            "n_head",
            "n_heads",
            "num_heads",
            "decoder_attention_heads",
            "decoder_num_attention_heads",
            "attention_heads",
            "num_query_heads",
            "attn_cfg.num_heads",
        ],
    ),
    (
        "num_key_value_heads",
        &[
            "num_kv_heads",
            "n_kv_heads",
            "n_head_kv",
            "num_query_groups",
            "num_key_value_heads_per_layer",
            "decoder_num_key_value_heads",
            "num_attention_groups",
            "attn_config.kv_n_heads",
            "attn_cfg.num_heads_kv",
        ],
    ),
    (
        "head_dim",
        &[
            "attention_head_dim",
            "kv_channels",
            "d_kv",
            "head_size",
            "hidden_size_per_head",
            "kq_head_dim",
            "attn_config.head_dim",
            "attn_cfg.head_dim",
        ],
    ),
    (
        "hidden_size",
        &[
            "d_model",
            "n_embd",
            "n_embed",
            "dim",
            "model_dim",
            "hidden_dim",
        ],
    ),
    (
        "intermediate_size",
        &[
            "decoder_ffn_dim",
            "ffn_dim",
            "d_ff",
            "block_ff_dim",
            "ff_intermediate_size",
            "hidden_dim",
            "n_inner",
            "ffn_hidden_size",
            "ffn_config.ffn_hidden_size",
        ],
    ),
    ("vocab_size", &["padded_vocab_size", "embedding_size"]),
    (
        "max_position_embeddings",
        &[
            "n_positions",
            "max_position_embedding",
            "max_seq_len",
            "seq_length",
            "max_sequence_length",
            "max_seq_length",
            "max_target_positions",
            "context_length",
            "n_ctx",
            "model_max_length",
        ],
    ),
    (
        "sliding_window",
        &[
            "sliding_window_size",
            "attention_window_size",
            "sliding_window_length",
        ],
    ),
    ("layer_types", &["layers_block_type"]),
    (
        "num_experts",
        &[
            "num_local_experts",
            "n_routed_experts",
            "moe_num_experts",
            "ffn_config.moe_num_experts",
        ],
    ),
    (
        "num_experts_per_tok",
        &[
            "num_experts_per_token",
            "moe_topk",
            "moe_k",
            "moe_top_k",
            "top_k_experts",
            "experts_per_token",
            "ffn_config.moe_top_k",
        ],
    ),
    (
        "n_shared_experts",
        &[
            "num_shared_experts",
            "num_shared_expert",
            "moe_num_shared_experts",
        ],
    ),
    (
        "moe_intermediate_size",
        &[
            "expert_ffn_hidden_size",
            "expert_intermediate_size",
            "moe_ffn_hidden_size",
        ],
    ),
    ("dtype", &["torch_dtype"]),
];

/// The section that describes the language model.
pub(super) fn language_section(root: &Map<String, Value>) -> (&'static str, &Map<String, Value>) {
    let mut res = ("", root);
    // A thinker holds a text_config; nothing real is nested deeper.
    for _ in 0..2 {
        for section in TEXT_SECTIONS {
            if let Some(Value::Object(fields)) = res.1.get(*section)
                && !fields.is_empty()
            {
                res = (section, fields);
                break;
            }
        }
    }
    res
}

/// What a wrapper's language model is when its section does not say.
const WRAPPED: &[(&str, &str)] = &[
    ("gemma3", "gemma3_text"),
    ("gemma3n", "gemma3n_text"),
    ("gemma4", "gemma4_text"),
    ("llama4", "llama4_text"),
    ("mllama", "mllama_text_model"),
    ("mistral3", "mistral"),
    ("paligemma", "gemma"),
    ("llava", "llama"),
    ("llava_next", "llama"),
    ("vipllava", "llama"),
    ("qwen3_5", "qwen3_5_text"),
    ("qwen3_5_moe", "qwen3_5_moe_text"),
    ("qwen3_vl", "qwen3_vl_text"),
    ("qwen3_vl_moe", "qwen3_vl_moe_text"),
    ("qwen2_5_vl", "qwen2_5_vl_text"),
    ("qwen2_vl", "qwen2_vl_text"),
];

pub(super) fn model_type(root: &Map<String, Value>, text: &Map<String, Value>) -> String {
    let of = |fields: &Map<String, Value>| {
        fields
            .get("model_type")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    if let Some(name) = of(text) {
        return name;
    }
    let name = of(root).unwrap_or_default();
    WRAPPED
        .iter()
        .find(|(wrapper, _)| *wrapper == name)
        .map_or(name, |(_, inner)| (*inner).to_owned())
}

/// The defaults of an architecture's class as pairs of canonical name and value; empty when it is not known.
pub(super) fn class_defaults(model_type: &str) -> Vec<(&'static str, &'static str)> {
    const TABLE: &str = include_str!("../../../data/class_defaults.tsv");
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let header = lines.next().unwrap_or("");
    let Some(line) = lines.find(|line| line.split('\t').next() == Some(model_type)) else {
        return Vec::new();
    };
    let mut res = Vec::new();
    for (name, cell) in header.split('\t').zip(line.split('\t')).skip(1) {
        if name == "others" {
            res.extend(cell.split(' ').filter_map(|pair| pair.split_once('=')));
        } else if !cell.is_empty() {
            res.push((name, cell));
        }
    }
    res
}
