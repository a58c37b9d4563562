//! What each architecture builds beside its matrices: gates, norms and biases that no key of a config.json says.

/// Norms on queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QkNorm {
    /// None, or one without parameters.
    Never,
    /// None, or only when `use_qk_norm` says so, and then one for each width of a head.
    IfAsked,
    /// One vector as wide as a head for Q and one for K.
    PerHead,
    /// One as wide as all heads of Q and one as wide as all heads of K, when `use_qk_norm` says so.
    WholeIfAsked,
    /// The same, always.
    Whole,
}

/// The habits of an architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    /// Whether an MLP has a gate beside its up-projection.
    pub(super) is_gated: bool,
    /// Norms in a layer with attention and an MLP.
    pub(super) norms: u64,
    /// Vectors of a norm: 1 for a scale, 2 with a bias, 0 for a norm without parameters.
    pub(super) norm_vectors: u64,
    /// Norms on queries and keys.
    pub(super) qk_norm: QkNorm,
    /// Whether Q, K and V have biases whatever the file says.
    pub(super) has_qkv_bias: bool,
    /// Whether the output projection has a bias whatever the file says.
    pub(super) has_o_bias: bool,
    /// Whether `attention_bias` speaks of the output projection too.
    pub(super) has_o_bias_if_asked: bool,
    /// Whether the MLP has biases whatever the file says.
    pub(super) has_mlp_bias: bool,
    /// Whether the head has a bias whatever the file says.
    pub(super) has_head_bias: bool,
    /// Whether the head is the embedding where neither the file nor the class says so.
    pub(super) is_tied: bool,
    /// Rows of learned positions beyond `max_position_embeddings`; `None` when positions are not learned.
    pub(super) learned_positions: Option<u64>,
}

/// RMS norms, a gated MLP, no biases unless asked: Llama and most that came after.
const LLAMA: Traits = Traits {
    is_gated: true,
    norms: 2,
    norm_vectors: 1,
    qk_norm: QkNorm::IfAsked,
    has_qkv_bias: false,
    has_o_bias: false,
    has_o_bias_if_asked: true,
    has_mlp_bias: false,
    has_head_bias: false,
    // The base class of all configurations says so.
    is_tied: true,
    learned_positions: None,
};

/// Like Llama, with a head of its own.
const UNTIED: Traits = Traits {
    is_tied: false,
    ..LLAMA
};

/// Layer norms, a plain MLP, biases everywhere: GPT-2 and its time.
const GPT: Traits = Traits {
    is_gated: false,
    norm_vectors: 2,
    has_qkv_bias: true,
    has_o_bias: true,
    has_mlp_bias: true,
    ..LLAMA
};

const QWEN3: Traits = Traits {
    qk_norm: QkNorm::PerHead,
    ..LLAMA
};

const GEMMA2: Traits = Traits { norms: 4, ..LLAMA };

/// Architectures by `model_type`. Those under the last line are like Llama and were compared as well.
///
/// Source: the modules of transformers 5.24.0 (`src/transformers/models/*/modeling_*.py`), built from class defaults and
/// from tests/data/configs and counted tensor by tensor; the published code of those that transformers does not have.
const TRAITS: &[(&[&str], Traits)] = &[
    (
        &[
            "qwen2",
            "qwen2_moe",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
            "qwen2_5_omni_text",
            "mimo",
        ],
        Traits {
            has_qkv_bias: true,
            has_o_bias_if_asked: false,
            ..LLAMA
        },
    ),
    (
        &["qwen"],
        Traits {
            has_qkv_bias: true,
            has_o_bias_if_asked: false,
            ..UNTIED
        },
    ),
    (
        &[
            "qwen3",
            "qwen3_moe",
            "qwen3_vl_text",
            "qwen3_vl_moe_text",
            "qwen3_next",
            "qwen3_5_text",
            "qwen3_5_moe_text",
            "exaone4",
            "exaone_moe",
            "hy_v3",
            "lfm2",
            "lfm2_moe",
            "minimax_m3",
            "minimax_m3_vl_text",
            "dots1",
            "qwen3_omni_moe_text",
            "step3p5",
            "laguna",
            "lfm3",
            "mellum",
        ],
        QWEN3,
    ),
    (&["afmoe"], Traits { norms: 4, ..QWEN3 }),
    (
        &["apertus", "apertus1p5_text"],
        Traits {
            is_gated: false,
            ..QWEN3
        },
    ),
    (
        &[
            "olmo2",
            "olmo3",
            "olmoe",
            "flex_olmo",
            "olmo_hybrid",
            "minimax_m2",
        ],
        Traits {
            qk_norm: QkNorm::Whole,
            ..LLAMA
        },
    ),
    (
        &["llama4_text"],
        Traits {
            qk_norm: QkNorm::Never,
            ..LLAMA
        },
    ),
    (
        &["olmo"],
        Traits {
            norm_vectors: 0,
            ..LLAMA
        },
    ),
    (
        &["cohere", "cohere2", "cohere2_moe"],
        Traits {
            norms: 1,
            qk_norm: QkNorm::WholeIfAsked,
            ..LLAMA
        },
    ),
    (&["gemma2", "vaultgemma"], GEMMA2),
    (
        &[
            "gemma3_text",
            "gemma3n_text",
            "gemma4_text",
            "gemma4_unified_text",
        ],
        Traits {
            qk_norm: QkNorm::PerHead,
            ..GEMMA2
        },
    ),
    (
        &[
            "glm",
            "glm4_moe",
            "glm4v_moe_text",
            "seed_oss",
            "solar_open",
        ],
        Traits {
            has_o_bias_if_asked: false,
            ..LLAMA
        },
    ),
    (
        &["glm4", "glm4v_text"],
        Traits {
            norms: 4,
            has_o_bias_if_asked: false,
            ..LLAMA
        },
    ),
    (
        &["chatglm"],
        Traits {
            has_o_bias_if_asked: false,
            ..UNTIED
        },
    ),
    (
        &["gpt_oss"],
        Traits {
            has_qkv_bias: true,
            has_o_bias: true,
            ..LLAMA
        },
    ),
    (&["hyperclovax"], GEMMA2),
    (
        &["phimoe"],
        Traits {
            norm_vectors: 2,
            ..LLAMA
        },
    ),
    (
        &["phi4flash"],
        Traits {
            norm_vectors: 2,
            has_qkv_bias: true,
            has_o_bias: true,
            ..LLAMA
        },
    ),
    (
        &["stablelm"],
        Traits {
            norm_vectors: 2,
            ..LLAMA
        },
    ),
    (&["grok"], GEMMA2),
    (
        &["gpt2", "gpt_bigcode", "gpt-sw3"],
        Traits {
            learned_positions: Some(0),
            ..GPT
        },
    ),
    (
        &["gpt_neo"],
        Traits {
            has_qkv_bias: false,
            learned_positions: Some(0),
            ..GPT
        },
    ),
    (
        &["opt"],
        Traits {
            learned_positions: Some(2),
            ..GPT
        },
    ),
    (
        &[
            "gpt_neox",
            "bloom",
            "starcoder2",
            "persimmon",
            "xglm",
            "jais2",
            "whisper",
        ],
        GPT,
    ),
    (
        &["nanochat"],
        Traits {
            is_gated: false,
            norm_vectors: 0,
            ..LLAMA
        },
    ),
    (
        &["gptj", "codegen"],
        Traits {
            norms: 1,
            has_qkv_bias: false,
            has_o_bias: false,
            has_head_bias: true,
            ..GPT
        },
    ),
    (
        &["phi"],
        Traits {
            norms: 1,
            has_head_bias: true,
            ..GPT
        },
    ),
    (
        &["nemotron", "falcon", "RefinedWeb", "RefinedWebModel"],
        Traits {
            has_qkv_bias: false,
            has_o_bias: false,
            has_mlp_bias: false,
            ..GPT
        },
    ),
    (
        &["mpt", "arcee", "t5", "mt5", "umt5"],
        Traits {
            is_gated: false,
            ..LLAMA
        },
    ),
    (
        &["nemotron_h"],
        Traits {
            is_gated: false,
            norms: 1,
            ..LLAMA
        },
    ),
    (
        &["mamba", "mamba2", "falcon_mamba"],
        Traits { norms: 1, ..LLAMA },
    ),
    (
        &["rwkv"],
        Traits {
            norm_vectors: 2,
            ..LLAMA
        },
    ),
    (
        &["recurrent_gemma"],
        Traits {
            has_o_bias: true,
            has_mlp_bias: true,
            ..LLAMA
        },
    ),
    (
        &[
            "aquila",
            "baichuan",
            "baichuan_m1",
            "bailing_moe",
            "bailing_moe_v2",
            "hunyuan",
            "internlm",
            "internlm2",
            "minimax_m1",
            "minimax_text_01",
            "nemotron-nas",
            "skywork",
            "step3_text",
            "xverse",
            "Yi",
        ],
        UNTIED,
    ),
    (
        &[
            "axk1",
            "bailing_hybrid",
            "bamba",
            "bitnet",
            "cwm",
            "dbrx",
            "deepseek_v2",
            "deepseek_v3",
            "deepseek_v32",
            "deepseek_v4",
            "diffllama",
            "ernie4_5",
            "ernie4_5_moe",
            "exaone",
            "falcon_h1",
            "flint",
            "gemma",
            "glm4_moe_lite",
            "glm_moe_dsa",
            "granite",
            "granitemoe",
            "granitemoehybrid",
            "granitemoe_swa",
            "granitemoeshared",
            "granite_swa",
            "helium",
            "hunyuan_v1_dense",
            "hunyuan_v1_moe",
            "internlm3",
            "iquestcoder",
            "jamba",
            "kimi_k2",
            "kimi_linear",
            "kolibri1",
            "lara_mini",
            "llama",
            "longcat_flash",
            "mimo_v2_flash",
            "minicpm",
            "minicpm3",
            "minimax",
            "ministral",
            "ministral3",
            "mistral",
            "mixtral",
            "mllama_text_model",
            "phi3",
            "phi3_v",
            "phi4mm",
            "phi4_multimodal",
            "sarvam_mla",
            "smollm3",
            "youtu",
            "zamba",
            "zamba2",
        ],
        LLAMA,
    ),
];

/// The habits of an architecture, and whether they are known; Llama's when they are not.
pub(super) fn traits(model_type: &str, architecture: &str) -> (Traits, bool) {
    // Grok-2's file says model_type "git", which is another model.
    let model_type = match architecture {
        "Grok1ForCausalLM" | "Grok1ModelForCausalLM" => "grok",
        _ => model_type,
    };
    TRAITS
        .iter()
        .find(|(names, _)| names.contains(&model_type))
        .map_or((LLAMA, false), |(_, traits)| (*traits, true))
}
