//! What the course text stands on. Titles are as published, in every language.

/// A source with its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// A short name for references.
    pub id: &'static str,
    /// Authors, title, year.
    pub title: &'static str,
    /// Where to read it.
    pub url: &'static str,
}

const fn source(id: &'static str, title: &'static str, url: &'static str) -> Source {
    Source { id, title, url }
}

/// Causal attention.
pub const ATTENTION: Source = source(
    "attention",
    "Vaswani et al., Attention Is All You Need, 2017",
    "https://arxiv.org/abs/1706.03762",
);
/// One head for keys and values.
pub const MQA: Source = source(
    "mqa",
    "Shazeer, Fast Transformer Decoding: One Write-Head is All You Need, 2019",
    "https://arxiv.org/abs/1911.02150",
);
/// Grouped heads.
pub const GQA: Source = source(
    "gqa",
    "Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints, 2023",
    "https://arxiv.org/abs/2305.13245",
);
/// Elements per token for MHA, GQA, MQA and MLA: table 1.
pub const MLA: Source = source(
    "mla",
    "DeepSeek-AI, DeepSeek-V2, 2024, table 1 and section 3.2.3",
    "https://arxiv.org/abs/2405.04434",
);
/// Bandwidth and batches.
pub const SCALING_BOOK: Source = source(
    "scaling-book",
    "Google DeepMind authors, How to Scale Your Model, chapter on inference, 2025",
    "https://jax-ml.github.io/scaling-book/inference/",
);
/// Partitioning for inference.
pub const POPE: Source = source(
    "pope",
    "Pope et al., Efficiently Scaling Transformer Inference, 2022",
    "https://arxiv.org/abs/2211.05102",
);
/// Pages; waste measured; preemption; a token at another place has other rows.
pub const PAGED_ATTENTION: Source = source(
    "paged-attention",
    "Kwon et al., Efficient Memory Management for Large Language Model Serving with PagedAttention, SOSP 2023, sections 1, 2.2, 3.1 and 4.5",
    "https://arxiv.org/abs/2309.06180",
);
/// Recomputation in V1 and what to do about it.
pub const VLLM_TUNING: Source = source(
    "vllm-tuning",
    "vLLM documentation, Optimization and Tuning",
    "https://docs.vllm.ai/en/stable/configuration/optimization/",
);
/// Prefixes in a radix tree.
pub const SGLANG: Source = source(
    "sglang",
    "Zheng et al., SGLang: Efficient Execution of Structured Language Model Programs, 2023",
    "https://arxiv.org/abs/2312.07104",
);
/// Pools, blocks, eviction.
pub const TENSORRT_LLM: Source = source(
    "tensorrt-llm",
    "NVIDIA, TensorRT-LLM documentation, KV Cache System",
    "https://nvidia.github.io/TensorRT-LLM/features/kvcache.html",
);
/// 320 KB per token for the 70B shape.
pub const MOONCAKE: Source = source(
    "mooncake",
    "Qin et al., Mooncake: Trading More Storage for Less Computation, FAST 2025, sections 5.3.1 and 5.4",
    "https://github.com/kvcache-ai/Mooncake",
);
/// Reasoning tokens are billed as output.
pub const OPENAI: Source = source(
    "openai",
    "OpenAI, Reasoning models (guide), read in 2026",
    "https://developers.openai.com/api/docs/guides/reasoning",
);
/// Thinking in the window, billed as output, kept by model class.
pub const ANTHROPIC: Source = source(
    "anthropic",
    "Anthropic, Context windows (documentation), August 2026",
    "https://platform.claude.com/docs/en/build-with-claude/context-windows",
);
/// Output price includes thinking.
pub const GOOGLE: Source = source(
    "google",
    "Google, Gemini thinking (documentation)",
    "https://ai.google.dev/gemini-api/docs/thinking",
);
/// Chat templates that were rendered.
pub const TEMPLATES: Source = source(
    "templates",
    "Chat templates of ik_llama.cpp at 8337e4c, rendered with Jinja2",
    "https://github.com/ikawrakow/ik_llama.cpp",
);
/// Alternating windows.
pub const GPT_OSS: Source = source(
    "gpt-oss",
    "OpenAI, gpt-oss-120b & gpt-oss-20b model card, 2025, section 2.2",
    "https://arxiv.org/abs/2508.10925",
);
/// Attention sinks, and what they do not do.
pub const STREAMING: Source = source(
    "streaming-llm",
    "Xiao et al., Efficient Streaming Language Models with Attention Sinks, 2023, and its README",
    "https://arxiv.org/abs/2309.17453",
);
/// Heavy hitters.
pub const H2O: Source = source(
    "h2o",
    "Zhang et al., H2O: Heavy-Hitter Oracle for Efficient Generative Inference, 2023",
    "https://arxiv.org/abs/2306.14048",
);
/// Scores are not stored.
pub const FLASH_ATTENTION: Source = source(
    "flash-attention",
    "Dao et al., FlashAttention, 2022",
    "https://arxiv.org/abs/2205.14135",
);
/// Draft and target.
pub const SPECULATIVE: Source = source(
    "speculative",
    "Leviathan, Kalman, Matias, Fast Inference from Transformers via Speculative Decoding, 2022",
    "https://arxiv.org/abs/2211.17192",
);
/// The claim of 60 to 80 %, and what it was about.
pub const VLLM_BLOG: Source = source(
    "vllm-blog",
    "vLLM, Easy, Fast, and Cheap LLM Serving with PagedAttention, June 2023",
    "https://blog.vllm.ai/2023/06/20/vllm.html",
);
/// Lengths of thinking and of answers.
pub const DEEPSEEK_R1: Source = source(
    "deepseek-r1",
    "DeepSeek-AI, DeepSeek-R1, 2025; Nature 645, 633-638",
    "https://arxiv.org/abs/2501.12948",
);
/// Measured lengths.
pub const LENGTHS: Source = source(
    "lengths",
    "LRMTokenEconomy: raw reasoning and answer lengths of many models, August 2025",
    "https://github.com/cpldcpu/LRMTokenEconomy",
);

/// Every source, in the order of the text.
pub const ALL: &[Source] = &[
    ATTENTION,
    MLA,
    SCALING_BOOK,
    POPE,
    MQA,
    GQA,
    PAGED_ATTENTION,
    VLLM_BLOG,
    VLLM_TUNING,
    TENSORRT_LLM,
    SGLANG,
    MOONCAKE,
    OPENAI,
    ANTHROPIC,
    GOOGLE,
    TEMPLATES,
    GPT_OSS,
    STREAMING,
    H2O,
    SPECULATIVE,
    FLASH_ATTENTION,
    DEEPSEEK_R1,
    LENGTHS,
];
