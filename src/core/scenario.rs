//! The whole input: everything the reader chose, and the table of its fields.

use std::sync::Arc;

use serde_json::{Map, Value};

#[cfg(feature = "doors")]
use super::import::{
    ImportError,
    gguf::{self, GgufHeader},
    hf_config,
    log::Setting,
    safetensors::{ExactWeights, with_exact_weights},
    sentences::say,
    trim,
};
#[cfg(feature = "doors")]
use super::model::ImportNote;
use super::model::{Message, ModelConfig};
use super::units::{Bounds, Bytes, ElementFormat, KvFormat, Share, Tokens, formats};
use super::weights::{WEIGHT_FORMATS, WeightFormat, weight_format};
use super::{gpus, presets};

/// Where the model comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSource {
    /// A preset, by id.
    Preset(&'static str),
    /// An imported `config.json`, with the name the reader gave it.
    Config {
        /// Name, empty when none was given.
        name: String,
        /// The scenario's field `model` as JSON: `{"config": …, "name": …}`, or `{"preset": …, "weight_bytes": …}`.
        json: Arc<str>,
    },
    /// Dimensions typed by hand, with the names of a `config.json`: `{"dims": …}` as JSON.
    Dims(Arc<str>),
    /// The header of a GGUF file, with the file's name.
    File {
        /// Name, empty when none was given.
        name: String,
        /// `{"gguf": …, "name": …}` as JSON.
        json: Arc<str>,
    },
}

/// A model and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelChoice {
    /// Where it comes from.
    pub source: ModelSource,
    /// What the importer made of it.
    pub config: Arc<ModelConfig>,
}

/// A tensor parallel size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParallelSize {
    /// The smallest power of two on which the scenario fits.
    Auto,
    /// This many.
    Fixed(u32),
}

/// The serving engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// The bytes that the tokens need, without pages or padding.
    Exact,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// TensorRT-LLM.
    TensorRtLlm,
    /// llama.cpp, ik_llama.cpp and Ollama.
    LlamaCpp,
}

impl EngineKind {
    /// Every engine, in the order of the page's menu.
    pub const ALL: &'static [Self] = &[
        Self::Exact,
        Self::Vllm,
        Self::Sglang,
        Self::TensorRtLlm,
        Self::LlamaCpp,
    ];

    /// The id in links and JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::TensorRtLlm => "tensorrt-llm",
            Self::LlamaCpp => "llama.cpp",
        }
    }

    /// The field that says which share of the GPU's memory the engine may use.
    pub const fn memory_share(self) -> &'static str {
        match self {
            Self::Exact | Self::Vllm | Self::LlamaCpp => "gpu_memory_utilization",
            Self::Sglang => "mem_fraction_static",
            Self::TensorRtLlm => "free_gpu_memory_fraction",
        }
    }
}

/// The engine and its settings. The settings of engines that are not chosen stay as they were.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// Which engine.
    pub kind: EngineKind,
    /// Bytes of the cache pool on one GPU, when the reader knows them; absent: what the memory budget leaves.
    pub available_kv_cache_bytes: Option<Bytes>,
    /// Blocks of the pool, when the reader knows them.
    pub num_blocks: Option<u64>,
    /// Tokens of the pool, when the reader knows them.
    pub num_tokens: Option<Tokens>,
    /// Longest sequence; absent: the model's trained context.
    pub max_model_len: Option<Tokens>,
    /// vLLM: tokens of a block; absent: 16, and 64 for latent attention.
    pub block_size: Option<Tokens>,
    /// vLLM: tokens scheduled in one step; absent: the engine's default.
    pub max_num_batched_tokens: Option<Tokens>,
    /// vLLM: whether the next step is scheduled while one runs.
    pub async_scheduling: bool,
    /// vLLM: GPUs that share one sequence's tokens.
    pub decode_context_parallel_size: u32,
    /// vLLM: how recurrent states are cached: `none`, `align` or `all`.
    pub mamba_cache_mode: &'static str,
    /// vLLM: whether sliding layers free what left the window.
    pub hybrid_kv_cache_manager: bool,
    /// SGLang: share of the memory for weights and pool; absent: the engine's default.
    pub mem_fraction_static: Option<Share>,
    /// SGLang: tokens of a page.
    pub page_size: Tokens,
    /// SGLang: tokens of the sliding pool for each token of the full one.
    pub swa_full_tokens_ratio: Share,
    /// SGLang: whether attention is data parallel.
    pub dp_attention: bool,
    /// SGLang: slots for recurrent states; absent: nine bytes of states for ten of rows.
    pub max_mamba_cache_size: Option<u64>,
    /// TensorRT-LLM: tokens of a block.
    pub tokens_per_block: Tokens,
    /// TensorRT-LLM: share of the memory free after the weights.
    pub free_gpu_memory_fraction: Share,
    /// llama.cpp: context of all slots together; absent: what the scenario needs.
    pub n_ctx: Option<Tokens>,
    /// llama.cpp: slots; absent: the requests at once.
    pub n_seq_max: Option<u32>,
    /// llama.cpp: whether all slots share one stream of cells.
    pub kv_unified: bool,
    /// llama.cpp: tokens of a physical batch.
    pub n_ubatch: Tokens,
    /// llama.cpp: flash attention.
    pub flash_attn: bool,
    /// llama.cpp: full-size cache for sliding layers.
    pub swa_full: bool,
    /// llama.cpp: whether the file has the keys of latent attention.
    pub mla: bool,
    /// ik_llama.cpp: `-mla`; absent: 3 with flash attention, 1 without, 0 when the file has no latent attention.
    pub mla_attn: Option<u32>,
    /// llama.cpp: `llama.cpp`, `ik_llama.cpp` or `ollama`.
    pub variant: &'static str,
    /// llama.cpp: the month of the build, `YYYY-MM`.
    pub version: String,
}

/// Everything the reader chose.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The model.
    pub model: ModelChoice,
    /// Storage of the weights.
    pub weight_format: WeightFormat,
    /// Storage of the cache.
    pub kv_cache_dtype: KvFormat,
    /// Storage of recurrent states.
    pub state_dtype: ElementFormat,
    /// Tokens that are prefilled.
    pub prompt_tokens: Tokens,
    /// Tokens of reasoning.
    pub thinking_tokens: Tokens,
    /// Tokens of the answer.
    pub answer_tokens: Tokens,
    /// Answers sampled from one prompt, which they share.
    pub num_samples: u32,
    /// Requests at once.
    pub num_seqs: u32,
    /// Prompt tokens common to all requests, stored once.
    pub shared_prefix_tokens: Tokens,
    /// The accelerator.
    pub gpu: &'static gpus::Gpu,
    /// Tensor parallel size.
    pub tensor_parallel_size: ParallelSize,
    /// Pipeline parallel size.
    pub pipeline_parallel_size: u32,
    /// Data parallel size.
    pub data_parallel_size: u32,
    /// Share of the GPU's memory that the engine may use.
    pub gpu_memory_utilization: Share,
    /// Activations per GPU; absent: the engine's stated default.
    pub activation_bytes: Option<Bytes>,
    /// Runtime and CUDA graphs per GPU; absent: the engine's stated default.
    pub overhead_bytes: Option<Bytes>,
    /// The engine.
    pub engine: Engine,
    /// Tokens a draft proposes at each step.
    pub num_speculative_tokens: u32,
    /// Attention layers of the draft.
    pub draft_layers: u32,
}

/// Why a value was not taken. The scenario keeps the value it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field, or the key that is no field.
    pub key: String,
    /// What was given, cut to a readable length.
    pub given: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// There is no such field.
    UnknownKey,
    /// A link has the key more than once.
    Repeated,
    /// A link of this many bytes at most.
    TooLong(usize),
    /// A link of another version than this.
    OtherVersion(&'static str),
    /// A scenario to compare with that is none, or one more than this.
    NotPinned(usize),
    /// A part of the program could not be loaded: what the browser says.
    NotLoaded(String),
    /// Not a whole number.
    NotANumber,
    /// Not true or false.
    NotAFlag,
    /// Outside its bounds.
    OutOfBounds(Bounds),
    /// Not a share between these, in millionths.
    NotAShare(Bounds),
    /// None of these.
    NotOneOf(Vec<&'static str>),
    /// Not a year and a month.
    NotAMonth,
    /// No preset and no config that can be read.
    NotAModel(ModelError),
}

/// Why a text is no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// No preset has this id.
    NoPreset,
    /// The module that reads configurations has not answered yet.
    StillRead,
    /// What the importer says.
    Message(Message),
}

impl From<Message> for ModelError {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

impl FieldError {
    fn new(key: &str, given: &str, problem: Problem) -> Self {
        Self {
            key: key.to_owned(),
            given: cut(given, 60),
            problem,
        }
    }
}

/// The first `max` characters, with an ellipsis when there are more.
pub fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// How a field's text is read, and what a control for it needs to know.
#[derive(Clone, Copy, Debug)]
pub enum FieldKind {
    /// A whole number within bounds.
    Number(Bounds),
    /// A whole number within bounds, or a word for its absence (`auto`).
    Optional(Bounds),
    /// A share, 0 to 1, with bounds in millionths.
    Share(Bounds),
    /// A share or `auto`.
    OptionalShare(Bounds),
    /// One of a list of ids.
    Choice(fn() -> Vec<&'static str>),
    /// True or false.
    Flag,
    /// One cache format, or two as `k/v`.
    CacheFormat,
    /// A preset id, or JSON.
    Model,
    /// A month.
    Month,
}

impl FieldKind {
    /// Bounds of a number or share.
    pub fn bounds(&self) -> Option<Bounds> {
        match *self {
            Self::Number(bounds)
            | Self::Optional(bounds)
            | Self::Share(bounds)
            | Self::OptionalShare(bounds) => Some(bounds),
            Self::Choice(_) | Self::Flag | Self::CacheFormat | Self::Model | Self::Month => None,
        }
    }
}

/// One row of the field table: links, JSON and controls are made of it.
pub struct Field {
    /// The name in links and JSON.
    pub key: &'static str,
    /// The engine whose setting it is, or `None` for a field of the scenario itself.
    pub engine: Option<EngineKind>,
    /// How it is read.
    pub kind: FieldKind,
    /// Its text.
    pub get: fn(&Scenario) -> String,
    set: fn(&mut Scenario, &Parsed),
}

/// A value that passed its field's check.
enum Parsed {
    Number(u64),
    Absent,
    Text(&'static str),
    Owned(String),
    Flag(bool),
    Format(KvFormat),
    Model(ModelChoice),
}

impl Parsed {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Absent
            | Self::Text(_)
            | Self::Owned(_)
            | Self::Flag(_)
            | Self::Format(_)
            | Self::Model(_) => 0,
        }
    }
    fn count(&self) -> u32 {
        u32::try_from(self.number()).unwrap_or(u32::MAX)
    }
    fn optional(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Absent
            | Self::Text(_)
            | Self::Owned(_)
            | Self::Flag(_)
            | Self::Format(_)
            | Self::Model(_) => None,
        }
    }
    fn text(&self) -> &'static str {
        match self {
            Self::Text(text) => text,
            Self::Absent
            | Self::Number(_)
            | Self::Owned(_)
            | Self::Flag(_)
            | Self::Format(_)
            | Self::Model(_) => "",
        }
    }
    fn flag(&self) -> bool {
        matches!(self, Self::Flag(true))
    }
}

const fn bounds(min: u64, max: u64, default: u64) -> Bounds {
    Bounds {
        min,
        max,
        default,
        is_log: false,
    }
}

const MAX_TOKENS: u64 = 1 << 20;
const MAX_BYTES: u64 = 1 << 50;
const MAX_COUNT: u64 = 1 << 36;
const AUTO: &str = "auto";

fn optional_text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| AUTO.to_owned(), |value| value.to_string())
}

fn share_text(share: Share) -> String {
    share.to_string()
}

fn gpu_ids() -> Vec<&'static str> {
    gpus::all().iter().map(|gpu| gpu.id).collect()
}

fn weight_format_ids() -> Vec<&'static str> {
    WEIGHT_FORMATS.iter().map(|format| format.id).collect()
}

fn state_dtype_ids() -> Vec<&'static str> {
    STATE_DTYPES.iter().map(|format| format.id).collect()
}

fn engine_ids() -> Vec<&'static str> {
    EngineKind::ALL.iter().map(|kind| kind.id()).collect()
}

/// The formats in which engines keep recurrent states.
pub const STATE_DTYPES: &[ElementFormat] = &[formats::F32, formats::BF16, formats::F16];

macro_rules! number {
    ($key:ident, $engine:expr, $bounds:expr, $get:expr, $set:expr) => {
        Field {
            key: stringify!($key),
            engine: $engine,
            kind: FieldKind::Number($bounds),
            get: $get,
            set: $set,
        }
    };
}

/// Every field, in the order of links and JSON. A new field is a row here, a line in the types and a control.
pub static FIELDS: &[Field] = &[
    Field {
        key: "model",
        engine: None,
        kind: FieldKind::Model,
        get: |s| model_text(&s.model.source),
        set: |s, v| {
            if let Parsed::Model(model) = v {
                s.model = model.clone();
            }
        },
    },
    Field {
        key: "weight_format",
        engine: None,
        kind: FieldKind::Choice(weight_format_ids),
        get: |s| s.weight_format.id.to_owned(),
        set: |s, v| {
            if let Some(format) = weight_format(v.text()) {
                s.weight_format = format;
            }
        },
    },
    Field {
        key: "kv_cache_dtype",
        engine: None,
        kind: FieldKind::CacheFormat,
        get: |s| kv_format_text(s.kv_cache_dtype),
        set: |s, v| {
            if let Parsed::Format(format) = v {
                s.kv_cache_dtype = *format;
            }
        },
    },
    Field {
        key: "state_dtype",
        engine: None,
        kind: FieldKind::Choice(state_dtype_ids),
        get: |s| s.state_dtype.id.to_owned(),
        set: |s, v| {
            if let Some(format) = formats::cache_format(v.text()) {
                s.state_dtype = format;
            }
        },
    },
    number!(
        prompt_tokens,
        None,
        Bounds::log(0, MAX_TOKENS, 512),
        |s| s.prompt_tokens.to_string(),
        |s, v| {
            s.prompt_tokens = Tokens(v.number());
        }
    ),
    number!(
        thinking_tokens,
        None,
        Bounds::log(0, MAX_TOKENS, 4000),
        |s| s.thinking_tokens.to_string(),
        |s, v| {
            s.thinking_tokens = Tokens(v.number());
        }
    ),
    number!(
        answer_tokens,
        None,
        Bounds::log(0, MAX_TOKENS, 300),
        |s| s.answer_tokens.to_string(),
        |s, v| {
            s.answer_tokens = Tokens(v.number());
        }
    ),
    number!(
        num_samples,
        None,
        Bounds::log(1, 1000, 1),
        |s| s.num_samples.to_string(),
        |s, v| {
            s.num_samples = v.count();
        }
    ),
    number!(
        num_seqs,
        None,
        Bounds::log(1, 100_000, 1),
        |s| s.num_seqs.to_string(),
        |s, v| {
            s.num_seqs = v.count();
        }
    ),
    number!(
        shared_prefix_tokens,
        None,
        Bounds::log(0, MAX_TOKENS, 0),
        |s| s.shared_prefix_tokens.to_string(),
        |s, v| s.shared_prefix_tokens = Tokens(v.number())
    ),
    Field {
        key: "gpu",
        engine: None,
        kind: FieldKind::Choice(gpu_ids),
        get: |s| s.gpu.id.to_owned(),
        set: |s, v| {
            if let Some(gpu) = gpus::get(v.text()) {
                s.gpu = gpu;
            }
        },
    },
    Field {
        key: "tensor_parallel_size",
        engine: None,
        kind: FieldKind::Optional(Bounds::log(1, 1000, 4)),
        get: |s| match s.tensor_parallel_size {
            ParallelSize::Auto => AUTO.to_owned(),
            ParallelSize::Fixed(size) => size.to_string(),
        },
        set: |s, v| {
            s.tensor_parallel_size = match v {
                Parsed::Number(_) => ParallelSize::Fixed(v.count()),
                _ => ParallelSize::Auto,
            };
        },
    },
    number!(
        pipeline_parallel_size,
        None,
        Bounds::log(1, 100, 1),
        |s| s.pipeline_parallel_size.to_string(),
        |s, v| s.pipeline_parallel_size = v.count()
    ),
    number!(
        data_parallel_size,
        None,
        Bounds::log(1, 1000, 1),
        |s| s.data_parallel_size.to_string(),
        |s, v| {
            s.data_parallel_size = v.count();
        }
    ),
    Field {
        key: "gpu_memory_utilization",
        engine: None,
        kind: FieldKind::Share(bounds(10_000, 1_000_000, 900_000)),
        get: |s| share_text(s.gpu_memory_utilization),
        set: |s, v| s.gpu_memory_utilization = Share(v.count()),
    },
    Field {
        key: "activation_bytes",
        engine: None,
        kind: FieldKind::Optional(Bounds::log(0, MAX_BYTES, 0)),
        get: |s| optional_text(s.activation_bytes.map(|bytes| bytes.0)),
        set: |s, v| s.activation_bytes = v.optional().map(Bytes),
    },
    Field {
        key: "overhead_bytes",
        engine: None,
        kind: FieldKind::Optional(Bounds::log(0, MAX_BYTES, 0)),
        get: |s| optional_text(s.overhead_bytes.map(|bytes| bytes.0)),
        set: |s, v| s.overhead_bytes = v.optional().map(Bytes),
    },
    number!(
        num_speculative_tokens,
        None,
        bounds(0, 64, 0),
        |s| s.num_speculative_tokens.to_string(),
        |s, v| s.num_speculative_tokens = v.count()
    ),
    number!(
        draft_layers,
        None,
        bounds(0, 1000, 0),
        |s| s.draft_layers.to_string(),
        |s, v| {
            s.draft_layers = v.count();
        }
    ),
    Field {
        key: "engine",
        engine: None,
        kind: FieldKind::Choice(engine_ids),
        get: |s| s.engine.kind.id().to_owned(),
        set: |s, v| {
            if let Some(kind) = EngineKind::ALL.iter().find(|kind| kind.id() == v.text()) {
                s.engine.kind = *kind;
            }
        },
    },
    Field {
        key: "available_kv_cache_bytes",
        engine: None,
        kind: FieldKind::Optional(Bounds::log(0, MAX_BYTES, 0)),
        get: |s| optional_text(s.engine.available_kv_cache_bytes.map(|bytes| bytes.0)),
        set: |s, v| s.engine.available_kv_cache_bytes = v.optional().map(Bytes),
    },
    Field {
        key: "num_blocks",
        engine: None,
        kind: FieldKind::Optional(Bounds::log(0, MAX_COUNT, 0)),
        get: |s| optional_text(s.engine.num_blocks),
        set: |s, v| s.engine.num_blocks = v.optional(),
    },
    Field {
        key: "num_tokens",
        engine: None,
        kind: FieldKind::Optional(Bounds::log(0, MAX_COUNT, 0)),
        get: |s| optional_text(s.engine.num_tokens),
        set: |s, v| s.engine.num_tokens = v.optional().map(Tokens),
    },
    Field {
        key: "block_size",
        engine: Some(EngineKind::Vllm),
        kind: FieldKind::Optional(Bounds::log(1, 1 << 16, 16)),
        get: |s| optional_text(s.engine.block_size),
        set: |s, v| s.engine.block_size = v.optional().map(Tokens),
    },
    Field {
        key: "max_model_len",
        engine: Some(EngineKind::Vllm),
        kind: FieldKind::Optional(Bounds::log(1, 1 << 24, 0)),
        get: |s| optional_text(s.engine.max_model_len),
        set: |s, v| s.engine.max_model_len = v.optional().map(Tokens),
    },
    Field {
        key: "max_num_batched_tokens",
        engine: Some(EngineKind::Vllm),
        kind: FieldKind::Optional(Bounds::log(1, 1 << 24, 0)),
        get: |s| optional_text(s.engine.max_num_batched_tokens),
        set: |s, v| s.engine.max_num_batched_tokens = v.optional().map(Tokens),
    },
    flag(
        "async_scheduling",
        EngineKind::Vllm,
        |s| s.engine.async_scheduling.to_string(),
        |s, v| {
            s.engine.async_scheduling = v.flag();
        },
    ),
    number!(
        decode_context_parallel_size,
        Some(EngineKind::Vllm),
        Bounds::log(1, 1000, 1),
        |s| s.engine.decode_context_parallel_size.to_string(),
        |s, v| s.engine.decode_context_parallel_size = v.count()
    ),
    Field {
        key: "mamba_cache_mode",
        engine: Some(EngineKind::Vllm),
        kind: FieldKind::Choice(|| vec!["none", "align", "all"]),
        get: |s| s.engine.mamba_cache_mode.to_owned(),
        set: |s, v| s.engine.mamba_cache_mode = v.text(),
    },
    flag(
        "hybrid_kv_cache_manager",
        EngineKind::Vllm,
        |s| s.engine.hybrid_kv_cache_manager.to_string(),
        |s, v| {
            s.engine.hybrid_kv_cache_manager = v.flag();
        },
    ),
    Field {
        key: "mem_fraction_static",
        engine: Some(EngineKind::Sglang),
        kind: FieldKind::OptionalShare(bounds(10_000, 1_000_000, 880_000)),
        get: |s| optional_text(s.engine.mem_fraction_static),
        set: |s, v| s.engine.mem_fraction_static = v.optional().map(|_| Share(v.count())),
    },
    number!(
        page_size,
        Some(EngineKind::Sglang),
        Bounds::log(1, 1 << 16, 1),
        |s| s.engine.page_size.to_string(),
        |s, v| {
            s.engine.page_size = Tokens(v.number());
        }
    ),
    Field {
        key: "swa_full_tokens_ratio",
        engine: Some(EngineKind::Sglang),
        kind: FieldKind::Share(bounds(1, 1_000_000, 800_000)),
        get: |s| share_text(s.engine.swa_full_tokens_ratio),
        set: |s, v| s.engine.swa_full_tokens_ratio = Share(v.count()),
    },
    flag(
        "dp_attention",
        EngineKind::Sglang,
        |s| s.engine.dp_attention.to_string(),
        |s, v| {
            s.engine.dp_attention = v.flag();
        },
    ),
    Field {
        key: "max_mamba_cache_size",
        engine: Some(EngineKind::Sglang),
        kind: FieldKind::Optional(Bounds::log(1, 1 << 20, 0)),
        get: |s| optional_text(s.engine.max_mamba_cache_size),
        set: |s, v| s.engine.max_mamba_cache_size = v.optional(),
    },
    number!(
        tokens_per_block,
        Some(EngineKind::TensorRtLlm),
        Bounds::log(1, 1 << 16, 32),
        |s| s.engine.tokens_per_block.to_string(),
        |s, v| s.engine.tokens_per_block = Tokens(v.number())
    ),
    Field {
        key: "free_gpu_memory_fraction",
        engine: Some(EngineKind::TensorRtLlm),
        kind: FieldKind::Share(bounds(10_000, 1_000_000, 900_000)),
        get: |s| share_text(s.engine.free_gpu_memory_fraction),
        set: |s, v| s.engine.free_gpu_memory_fraction = Share(v.count()),
    },
    Field {
        key: "n_ctx",
        engine: Some(EngineKind::LlamaCpp),
        kind: FieldKind::Optional(Bounds::log(1, 1 << 28, 0)),
        get: |s| optional_text(s.engine.n_ctx),
        set: |s, v| s.engine.n_ctx = v.optional().map(Tokens),
    },
    Field {
        key: "n_seq_max",
        engine: Some(EngineKind::LlamaCpp),
        kind: FieldKind::Optional(Bounds::log(1, 1000, 1)),
        get: |s| optional_text(s.engine.n_seq_max),
        set: |s, v| s.engine.n_seq_max = v.optional().map(|_| v.count()),
    },
    flag(
        "kv_unified",
        EngineKind::LlamaCpp,
        |s| s.engine.kv_unified.to_string(),
        |s, v| {
            s.engine.kv_unified = v.flag();
        },
    ),
    number!(
        n_ubatch,
        Some(EngineKind::LlamaCpp),
        Bounds::log(1, 1 << 20, 512),
        |s| s.engine.n_ubatch.to_string(),
        |s, v| {
            s.engine.n_ubatch = Tokens(v.number());
        }
    ),
    flag(
        "flash_attn",
        EngineKind::LlamaCpp,
        |s| s.engine.flash_attn.to_string(),
        |s, v| {
            s.engine.flash_attn = v.flag();
        },
    ),
    flag(
        "swa_full",
        EngineKind::LlamaCpp,
        |s| s.engine.swa_full.to_string(),
        |s, v| {
            s.engine.swa_full = v.flag();
        },
    ),
    flag(
        "mla",
        EngineKind::LlamaCpp,
        |s| s.engine.mla.to_string(),
        |s, v| {
            s.engine.mla = v.flag();
        },
    ),
    Field {
        key: "mla_attn",
        engine: Some(EngineKind::LlamaCpp),
        kind: FieldKind::Optional(bounds(0, 3, 3)),
        get: |s| optional_text(s.engine.mla_attn),
        set: |s, v| s.engine.mla_attn = v.optional().map(|_| v.count()),
    },
    Field {
        key: "variant",
        engine: Some(EngineKind::LlamaCpp),
        kind: FieldKind::Choice(|| vec!["llama.cpp", "ik_llama.cpp", "ollama"]),
        get: |s| s.engine.variant.to_owned(),
        set: |s, v| s.engine.variant = v.text(),
    },
    Field {
        key: "version",
        engine: Some(EngineKind::LlamaCpp),
        kind: FieldKind::Month,
        get: |s| s.engine.version.clone(),
        set: |s, v| {
            if let Parsed::Owned(version) = v {
                s.engine.version.clone_from(version);
            }
        },
    },
];

const fn flag(
    key: &'static str,
    engine: EngineKind,
    get: fn(&Scenario) -> String,
    set: fn(&mut Scenario, &Parsed),
) -> Field {
    Field {
        key,
        engine: Some(engine),
        kind: FieldKind::Flag,
        get,
        set,
    }
}

/// The row of `key`.
pub fn field(key: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.key == key)
}

impl Field {
    /// Whether the field belongs to the scenario as it is: a setting of another engine does not. A longest sequence that was
    /// set holds with every engine.
    pub fn is_active(&self, scenario: &Scenario) -> bool {
        let holds = self.key == "max_model_len" && scenario.engine.max_model_len.is_some();
        holds
            || self
                .engine
                .is_none_or(|engine| engine == scenario.engine.kind)
    }

    /// Reads `text` into the scenario; on an error the scenario keeps what it had.
    ///
    /// # Errors
    ///
    /// When the text is not a value of this field.
    pub fn set(&self, scenario: &mut Scenario, text: &str) -> Result<(), FieldError> {
        let parsed = self
            .parse(text.trim())
            .map_err(|problem| FieldError::new(self.key, text.trim(), problem))?;
        (self.set)(scenario, &parsed);
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<Parsed, Problem> {
        match self.kind {
            FieldKind::Number(bounds) => parse_number(text, bounds),
            FieldKind::Optional(_) | FieldKind::OptionalShare(_) if is_absent(text) => {
                Ok(Parsed::Absent)
            }
            FieldKind::Optional(bounds) => parse_number(text, bounds),
            FieldKind::Share(bounds) | FieldKind::OptionalShare(bounds) => {
                match Share::from_text(text) {
                    Some(share) if bounds.contains(u64::from(share.0)) => {
                        Ok(Parsed::Number(u64::from(share.0)))
                    }
                    Some(_) | None => Err(Problem::NotAShare(bounds)),
                }
            }
            FieldKind::Choice(ids) => {
                let ids = ids();
                let found = ids.iter().find(|id| **id == text).copied();
                found.map(Parsed::Text).ok_or(Problem::NotOneOf(ids))
            }
            FieldKind::Flag => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Ok(Parsed::Flag(true)),
                "false" | "0" | "no" | "off" => Ok(Parsed::Flag(false)),
                _ => Err(Problem::NotAFlag),
            },
            FieldKind::CacheFormat => parse_kv_format(text).map(Parsed::Format).ok_or_else(|| {
                Problem::NotOneOf(formats::CACHE.iter().map(|format| format.id).collect())
            }),
            FieldKind::Model => parse_model(text)
                .map(Parsed::Model)
                .map_err(Problem::NotAModel),
            FieldKind::Month => {
                let is_month = text.split_once('-').is_some_and(|(year, month)| {
                    year.len() == 4
                        && year.bytes().all(|b| b.is_ascii_digit())
                        && month.len() == 2
                        && matches!(month.parse(), Ok(1..=12))
                });
                if is_month {
                    Ok(Parsed::Owned(text.to_owned()))
                } else {
                    Err(Problem::NotAMonth)
                }
            }
        }
    }
}

fn is_absent(text: &str) -> bool {
    text.eq_ignore_ascii_case(AUTO) || text.is_empty()
}

/// A whole number, with separators between thousands and the suffixes k (1,024) and M (1,048,576).
fn parse_number(text: &str, bounds: Bounds) -> Result<Parsed, Problem> {
    let number = whole_number(text).ok_or(Problem::NotANumber)?;
    if bounds.contains(number) {
        Ok(Parsed::Number(number))
    } else {
        Err(Problem::OutOfBounds(bounds))
    }
}

/// Reads `4812`, `4,812`, `4 812`, `4_812`, `32k` (32,768), `1M` (1,048,576) and `1.5k` when it is whole. A point without
/// a suffix is refused: `4.000` is four thousand in some countries.
pub fn whole_number(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (text.get(..text.len() - 1)?, super::units::KIB),
        'm' | 'M' => (text.get(..text.len() - 1)?, super::units::MIB),
        _ => (text, 1),
    };
    let digits = ungrouped(digits.trim())?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let is_digits = !whole.is_empty() && all_digits(whole) && all_digits(fraction);
    if !is_digits || 9 < fraction.len() || factor == 1 && digits.contains('.') {
        return None;
    }
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let mantissa: u64 = format!("{whole}{fraction}").parse().ok()?;
    let scaled = mantissa.checked_mul(factor)?;
    scaled.is_multiple_of(scale).then(|| scaled / scale)
}

/// A number without the separators between its thousands. `None` where one stands elsewhere, as the comma in `4,8`: what
/// it means there depends on the reader's country.
pub fn ungrouped(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_separator = |c| {
        matches!(
            c,
            ',' | '_' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\''
        )
    };
    let mut groups = whole.split(is_separator);
    let first = groups.next()?.len();
    let is_grouped = 0 < first && first <= 3 && groups.clone().all(|group| group.len() == 3);
    if groups.next().is_some() && !is_grouped || fraction.contains(is_separator) {
        return None;
    }
    Some(text.replace(is_separator, ""))
}

fn kv_format_text(format: KvFormat) -> String {
    if format.k == format.v {
        format.k.id.to_owned()
    } else {
        format!("{}/{}", format.k.id, format.v.id)
    }
}

fn parse_kv_format(text: &str) -> Option<KvFormat> {
    let (k, v) = text.split_once('/').unwrap_or((text, text));
    Some(KvFormat {
        k: formats::cache_format(k)?,
        v: formats::cache_format(v)?,
    })
}

fn model_text(source: &ModelSource) -> String {
    match source {
        ModelSource::Preset(id) => (*id).to_owned(),
        ModelSource::Config { json, .. }
        | ModelSource::Dims(json)
        | ModelSource::File { json, .. } => (**json).to_owned(),
    }
}

fn model_json(source: &ModelSource) -> Value {
    match source {
        ModelSource::Preset(id) => Value::from(*id),
        ModelSource::Config { json, .. }
        | ModelSource::Dims(json)
        | ModelSource::File { json, .. } => serde_json::from_str(json).unwrap_or_default(),
    }
}

fn parse_model(text: &str) -> Result<ModelChoice, ModelError> {
    if !text.starts_with('{') {
        return match presets::get(text) {
            Some(preset) => Ok(ModelChoice {
                source: ModelSource::Preset(preset.id()),
                config: preset.model(),
            }),
            None => Err(ModelError::NoPreset),
        };
    }
    ModelChoice::from_json_text(text)
}

impl ModelChoice {
    /// Reads `{"config": …, "name": …}` or `{"dims": …}`. A program without the importer knows only the models that were
    /// read for it elsewhere, see [`super::resolved`].
    #[cfg(not(feature = "doors"))]
    pub(crate) fn from_json_text(text: &str) -> Result<Self, ModelError> {
        super::resolved::known(text)
    }
}

#[cfg(feature = "doors")]
impl ModelSource {
    /// A configuration under the name its reader gave it (empty: its own).
    pub fn of_config(config: Value, name: &str) -> Self {
        let mut json = Map::from_iter([("config".to_owned(), config)]);
        if !name.is_empty() {
            json.insert("name".to_owned(), Value::from(name));
        }
        Self::Config {
            name: name.to_owned(),
            json: Value::Object(json).to_string().into(),
        }
    }
}

#[cfg(feature = "doors")]
impl ModelChoice {
    pub(crate) fn from_json_text(text: &str) -> Result<Self, ModelError> {
        // A model comes again with every step of a drag.
        if super::resolved::is_known(text) {
            return super::resolved::known(text);
        }
        let answer = serde_json::from_str(text)
            .map_err(|error| Message::from(say!(model_not_json, error)).into())
            .and_then(|value: Value| Self::from_json(&value));
        super::resolved::remember(text.to_owned(), answer.clone());
        answer
    }

    /// Reads the text of a `config.json`, under the name its reader gave it (empty: the file's own).
    ///
    /// # Errors
    ///
    /// A sentence that says what the text is and what to do.
    pub fn from_text(text: &str, name: &str) -> Result<Self, Message> {
        let config = hf_config::parse(text)?;
        Self::from_config(config, name)
    }

    /// Reads a configuration, under the name its reader gave it (empty: its own).
    ///
    /// # Errors
    ///
    /// A sentence that says what was not understood.
    pub fn from_config(config: Value, name: &str) -> Result<Self, Message> {
        let model = hf_config::import_value(&config, Some(name).filter(|name| !name.is_empty()))?;
        let config = trim::trimmed(config, &model)?;
        Ok(Self {
            source: ModelSource::of_config(config, name),
            config: Arc::new(model),
        })
    }

    /// The model of a GGUF file's header, with what the file decides of the scenario.
    ///
    /// # Errors
    ///
    /// A sentence that says what the file is or lacks.
    pub fn from_gguf(header: &GgufHeader, name: &str) -> Result<(Self, Vec<Setting>), ImportError> {
        let read = gguf::import(header, name)?;
        let json = Map::from_iter([
            ("gguf".to_owned(), header.to_json()),
            ("name".to_owned(), Value::from(name)),
        ]);
        let choice = Self {
            source: ModelSource::File {
                name: name.to_owned(),
                json: Value::Object(json).to_string().into(),
            },
            config: Arc::new(read.model),
        };
        Ok((choice, read.settings))
    }

    /// The scenario's field `model` that stands for it.
    pub fn to_json(&self) -> Value {
        model_json(&self.source)
    }

    /// Takes exact bytes of the weights, with a note that sets them beside the counted ones; `None` when they are not of
    /// this model.
    pub fn with_exact_weights(&self, exact: &ExactWeights) -> (Option<Self>, ImportNote) {
        let (config, note) = with_exact_weights(&self.config, exact);
        let mut json = match model_json(&self.source) {
            Value::Object(json) => json,
            id => Map::from_iter([("preset".to_owned(), id)]),
        };
        json.insert(WEIGHT_BYTES.to_owned(), Value::from(exact.bytes.0));
        let json: Arc<str> = Value::Object(json).to_string().into();
        let source = match &self.source {
            ModelSource::Preset(_) => ModelSource::Config {
                name: self.config.name.clone(),
                json,
            },
            ModelSource::Config { name, .. } => ModelSource::Config {
                name: name.clone(),
                json,
            },
            ModelSource::Dims(_) => ModelSource::Dims(json),
            ModelSource::File { name, .. } => ModelSource::File {
                name: name.clone(),
                json,
            },
        };
        let choice = config.map(|config| Self {
            source,
            config: Arc::new(config),
        });
        (choice, note)
    }

    /// Reads the scenario's `model` field: a preset id, `{"config": …, "name": …}`, `{"dims": …}`, `{"preset": …}` or
    /// `{"gguf": …, "name": …}`, all but the first with `weight_bytes` when a file gave them.
    ///
    /// # Errors
    ///
    /// A sentence that says what was not understood.
    pub fn from_json(value: &Value) -> Result<Self, ModelError> {
        if let Some(id) = value.as_str() {
            return parse_model(id);
        }
        let model = Self::without_exact_weights(value)?;
        let Some(bytes) = value.get(WEIGHT_BYTES).and_then(Value::as_u64) else {
            return Ok(model);
        };
        let exact = ExactWeights {
            bytes: Bytes(bytes),
            source: WEIGHT_BYTES.into(),
        };
        let (exact, note) = model.with_exact_weights(&exact);
        exact.ok_or(note.message.into())
    }

    fn without_exact_weights(value: &Value) -> Result<Self, ModelError> {
        let name = value
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if let Some(config) = value.get("config") {
            return Ok(Self::from_config(config.clone(), name)?);
        }
        if let Some(id) = value.get("preset").and_then(Value::as_str) {
            return parse_model(id);
        }
        if let Some(header) = value.get("gguf") {
            let choice =
                GgufHeader::from_json(header).and_then(|header| Self::from_gguf(&header, name));
            let (choice, _) = choice.map_err(Message::from)?;
            return Ok(choice);
        }
        if let Some(dims) = value.get("dims") {
            let model = hf_config::import_value(dims, None).map_err(Message::from)?;
            let dims = trim::trimmed(dims.clone(), &model)?;
            let json = Value::Object(Map::from_iter([("dims".to_owned(), dims)]));
            return Ok(Self {
                source: ModelSource::Dims(json.to_string().into()),
                config: Arc::new(model),
            });
        }
        Err(Message::from(say!(no_model)).into())
    }
}

/// The key of exact bytes of the weights.
#[cfg(feature = "doors")]
const WEIGHT_BYTES: &str = "weight_bytes";

/// Storage of the weights unless the reader says otherwise.
const DEFAULT_WEIGHT_FORMAT: WeightFormat = WeightFormat::whole("bf16", "bf16", formats::BF16);

impl Default for Scenario {
    fn default() -> Self {
        let preset = presets::default();
        Self {
            model: ModelChoice {
                source: ModelSource::Preset(preset.id()),
                config: preset.model(),
            },
            weight_format: DEFAULT_WEIGHT_FORMAT,
            kv_cache_dtype: KvFormat::both(formats::BF16),
            state_dtype: formats::F32,
            prompt_tokens: Tokens(512),
            thinking_tokens: Tokens(4000),
            answer_tokens: Tokens(300),
            num_samples: 1,
            num_seqs: 1,
            shared_prefix_tokens: Tokens(0),
            gpu: gpus::default_gpu(),
            tensor_parallel_size: ParallelSize::Auto,
            pipeline_parallel_size: 1,
            data_parallel_size: 1,
            gpu_memory_utilization: Share(900_000),
            activation_bytes: None,
            overhead_bytes: None,
            engine: Engine::default(),
            num_speculative_tokens: 0,
            draft_layers: 0,
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            kind: EngineKind::Exact,
            available_kv_cache_bytes: None,
            num_blocks: None,
            num_tokens: None,
            block_size: None,
            max_model_len: None,
            max_num_batched_tokens: None,
            async_scheduling: true,
            decode_context_parallel_size: 1,
            mamba_cache_mode: "none",
            hybrid_kv_cache_manager: true,
            mem_fraction_static: None,
            page_size: Tokens(1),
            swa_full_tokens_ratio: Share(800_000),
            dp_attention: false,
            max_mamba_cache_size: None,
            tokens_per_block: Tokens(32),
            free_gpu_memory_fraction: Share(900_000),
            n_ctx: None,
            n_seq_max: None,
            kv_unified: false,
            n_ubatch: Tokens(512),
            flash_attn: true,
            swa_full: false,
            mla: true,
            mla_attn: None,
            variant: "llama.cpp",
            version: "2026-11".to_owned(),
        }
    }
}

impl Scenario {
    /// Sets the field `key` from its text.
    ///
    /// # Errors
    ///
    /// When there is no such field or the text is not a value of it; the scenario stays as it was.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), FieldError> {
        match field(key) {
            Some(field) => field.set(self, text),
            None => Err(FieldError::new(key, text, Problem::UnknownKey)),
        }
    }

    /// Reads the plain object of the JavaScript API. Fields that are absent have their defaults; what cannot be read is
    /// left at its default and named in the errors.
    #[cfg(feature = "doors")]
    pub fn from_json(value: &Value) -> (Self, Vec<FieldError>) {
        let mut res = Self::default();
        let mut errors = Vec::new();
        let Some(object) = value.as_object() else {
            if !value.is_null() {
                errors.push(FieldError::new(
                    "scenario",
                    &value.to_string(),
                    Problem::UnknownKey,
                ));
            }
            return (res, errors);
        };
        for (key, value) in object {
            match (key.as_str(), value) {
                ("engine", Value::Object(options)) => {
                    for (key, value) in options {
                        let key = if key == "kind" { "engine" } else { key };
                        res.set_json(key, value, &mut errors);
                    }
                }
                ("model", Value::Object(_)) => match ModelChoice::from_json(value) {
                    Ok(model) => res.model = model,
                    Err(message) => {
                        errors.push(FieldError::new(
                            key,
                            &value.to_string(),
                            Problem::NotAModel(message),
                        ));
                    }
                },
                ("kv_cache_dtype", Value::Object(both)) => {
                    let part =
                        |key: &str| both.get(key).and_then(Value::as_str).unwrap_or_default();
                    let text = Value::from(format!("{}/{}", part("k"), part("v")));
                    res.set_json(key, &text, &mut errors);
                }
                _ => res.set_json(key, value, &mut errors),
            }
        }
        (res, errors)
    }

    #[cfg(feature = "doors")]
    fn set_json(&mut self, key: &str, value: &Value, errors: &mut Vec<FieldError>) {
        let text = match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            // JavaScript has one kind of number: 4000.0 is the integer 4000.
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                    format!("{float:.0}")
                }
                Some(_) | None => number.to_string(),
            },
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
        };
        if let Err(error) = self.set(key, &text) {
            errors.push(error);
        }
    }

    /// The plain object of the JavaScript API, with every field written.
    pub fn to_json(&self) -> Value {
        let mut res = Map::new();
        let mut engine = Map::new();
        for field in FIELDS.iter().filter(|field| field.is_active(self)) {
            let text = (field.get)(self);
            let value = match field.kind {
                FieldKind::Model => model_json(&self.model.source),
                FieldKind::CacheFormat if self.kv_cache_dtype.k != self.kv_cache_dtype.v => {
                    Value::Object(Map::from_iter([
                        ("k".to_owned(), Value::from(self.kv_cache_dtype.k.id)),
                        ("v".to_owned(), Value::from(self.kv_cache_dtype.v.id)),
                    ]))
                }
                FieldKind::Flag => Value::from(text == "true"),
                FieldKind::Number(_) | FieldKind::Optional(_) => text
                    .parse::<u64>()
                    .map_or_else(|_| absent_json(field.key, &text), Value::from),
                FieldKind::Share(_) | FieldKind::OptionalShare(_) => text
                    .parse::<f64>()
                    .map_or_else(|_| absent_json(field.key, &text), Value::from),
                FieldKind::Choice(_) | FieldKind::CacheFormat | FieldKind::Month => {
                    Value::from(text)
                }
            };
            let is_engine_field = field.engine.is_some() || ENGINE_KEYS.contains(&field.key);
            match (is_engine_field, field.key) {
                (_, "engine") => engine.insert("kind".to_owned(), value),
                (true, key) => engine.insert(key.to_owned(), value),
                (false, key) => res.insert(key.to_owned(), value),
            };
        }
        res.insert("engine".to_owned(), Value::Object(engine));
        Value::Object(res)
    }

    /// Tokens of one sequence at its end.
    pub fn context_tokens(&self) -> Tokens {
        self.prompt_tokens
            .plus(self.thinking_tokens)
            .plus(self.answer_tokens)
    }

    /// Decode steps of one sequence: one for each thinking and answer token.
    pub fn decode_steps(&self) -> u64 {
        self.thinking_tokens.plus(self.answer_tokens).0
    }

    /// The scenario as it is after `step` decode steps.
    #[must_use]
    pub fn at_step(&self, step: u64) -> Self {
        let thinking = Tokens(step).min(self.thinking_tokens);
        let answer = Tokens(step).minus(thinking).min(self.answer_tokens);
        Self {
            thinking_tokens: thinking,
            answer_tokens: answer,
            ..self.clone()
        }
    }
}

const ENGINE_KEYS: &[&str] = &["available_kv_cache_bytes", "num_blocks", "num_tokens"];

/// The JSON of an absent value: `"auto"` for the parallel size, `null` elsewhere.
fn absent_json(key: &str, text: &str) -> Value {
    if key == "tensor_parallel_size" {
        Value::from(text)
    } else {
        Value::Null
    }
}
