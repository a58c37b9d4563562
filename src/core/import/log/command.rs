//! The command that starts a server, which people paste with its log or alone.
//!
//! Flags as vLLM's `vllm serve --help`, SGLang's `server_args.py`, TensorRT-LLM's `trtllm-serve` and llama.cpp's
//! `common/arg.cpp` name them. Flags that do not touch memory are passed over.

use super::{Reader, cache_format};
use crate::core::import::sentences::{Key, Part, Sentence, say};
use crate::core::scenario::{EngineKind, cut};

/// How the value of a flag is read.
#[derive(Clone, Copy)]
enum Takes {
    /// A whole number above 0; vLLM also takes `32k` (32,000) and `32K` (32,768).
    Count,
    /// A number between 0 and 1.
    Share,
    /// A storage format.
    Format,
    /// A word that the scenario's field takes as it is.
    Word,
    /// The model's name or path.
    Model,
    /// Nothing: the flag sets this value.
    Nothing(&'static str),
    /// `on` or `off`, and nothing means `on`.
    Switch,
    /// Half of `kv_cache_dtype`: of K, or of V.
    OfK,
    /// The other half.
    OfV,
}

/// A flag: its spellings, the scenario's field, and what it takes.
type Flag = (&'static [&'static str], &'static str, Takes);

const VLLM: &[Flag] = &[
    (&["model"], "model", Takes::Model),
    (
        &["tp", "tensor-parallel-size"],
        "tensor_parallel_size",
        Takes::Count,
    ),
    (
        &["pp", "pipeline-parallel-size"],
        "pipeline_parallel_size",
        Takes::Count,
    ),
    (
        &["dp", "data-parallel-size"],
        "data_parallel_size",
        Takes::Count,
    ),
    (
        &["dcp", "decode-context-parallel-size"],
        "decode_context_parallel_size",
        Takes::Count,
    ),
    (&["max-model-len"], "max_model_len", Takes::Count),
    (
        &["max-num-batched-tokens"],
        "max_num_batched_tokens",
        Takes::Count,
    ),
    (&["block-size"], "block_size", Takes::Count),
    (
        &["gpu-memory-utilization"],
        "gpu_memory_utilization",
        Takes::Share,
    ),
    (&["kv-cache-dtype"], "kv_cache_dtype", Takes::Format),
    (&["mamba-ssm-cache-dtype"], "state_dtype", Takes::Format),
    (&["mamba-cache-mode"], "mamba_cache_mode", Takes::Word),
    (
        &["kv-cache-memory-bytes", "kv-cache-memory"],
        "available_kv_cache_bytes",
        Takes::Count,
    ),
    (&["num-gpu-blocks-override"], "num_blocks", Takes::Count),
    (
        &["disable-hybrid-kv-cache-manager"],
        "hybrid_kv_cache_manager",
        Takes::Nothing("false"),
    ),
    (
        &["async-scheduling"],
        "async_scheduling",
        Takes::Nothing("true"),
    ),
    (
        &["no-async-scheduling"],
        "async_scheduling",
        Takes::Nothing("false"),
    ),
];

const SGLANG: &[Flag] = &[
    (&["model", "model-path"], "model", Takes::Model),
    (
        &["tp", "tp-size", "tensor-parallel-size"],
        "tensor_parallel_size",
        Takes::Count,
    ),
    (
        &["pp", "pp-size", "pipeline-parallel-size"],
        "pipeline_parallel_size",
        Takes::Count,
    ),
    (
        &["dp", "dp-size", "data-parallel-size"],
        "data_parallel_size",
        Takes::Count,
    ),
    (&["context-length"], "max_model_len", Takes::Count),
    (&["page-size"], "page_size", Takes::Count),
    (&["max-total-tokens"], "num_tokens", Takes::Count),
    (
        &["max-mamba-cache-size"],
        "max_mamba_cache_size",
        Takes::Count,
    ),
    (
        &["speculative-num-steps"],
        "num_speculative_tokens",
        Takes::Count,
    ),
    (
        &["mem-fraction-static"],
        "mem_fraction_static",
        Takes::Share,
    ),
    (
        &["swa-full-tokens-ratio"],
        "swa_full_tokens_ratio",
        Takes::Share,
    ),
    (&["kv-cache-dtype"], "kv_cache_dtype", Takes::Format),
    (&["mamba-ssm-dtype"], "state_dtype", Takes::Format),
    (
        &["enable-dp-attention"],
        "dp_attention",
        Takes::Nothing("true"),
    ),
];

const TENSORRT_LLM: &[Flag] = &[
    (&["model"], "model", Takes::Model),
    (&["tp-size", "tp"], "tensor_parallel_size", Takes::Count),
    (&["pp-size", "pp"], "pipeline_parallel_size", Takes::Count),
    (&["max-seq-len"], "max_model_len", Takes::Count),
    (
        &[
            "kv-cache-free-gpu-memory-fraction",
            "free-gpu-memory-fraction",
        ],
        "free_gpu_memory_fraction",
        Takes::Share,
    ),
    (&["kv-cache-dtype"], "kv_cache_dtype", Takes::Format),
];

const LLAMA_CPP: &[Flag] = &[
    (
        &["m", "model", "hf", "hfr", "hf-repo"],
        "model",
        Takes::Model,
    ),
    (&["c", "ctx-size"], "n_ctx", Takes::Count),
    (&["np", "parallel"], "n_seq_max", Takes::Count),
    (&["ub", "ubatch-size"], "n_ubatch", Takes::Count),
    (&["fa", "flash-attn"], "flash_attn", Takes::Switch),
    (&["kvu", "kv-unified"], "kv_unified", Takes::Nothing("true")),
    (&["swa-full"], "swa_full", Takes::Nothing("true")),
    (&["mla", "mla-use"], "mla_attn", Takes::Word),
    (&["ctk", "cache-type-k"], "kv_cache_dtype", Takes::OfK),
    (&["ctv", "cache-type-v"], "kv_cache_dtype", Takes::OfV),
];

/// Programs, with whether the model's name follows them without a flag.
const PROGRAMS: &[(&str, EngineKind, bool)] = &[
    ("vllm serve", EngineKind::Vllm, true),
    ("vllm.entrypoints.", EngineKind::Vllm, false),
    ("vllm/vllm-openai:", EngineKind::Vllm, false),
    ("sglang.launch_server", EngineKind::Sglang, false),
    ("sglang serve", EngineKind::Sglang, false),
    ("trtllm-serve", EngineKind::TensorRtLlm, true),
    ("llama-server", EngineKind::LlamaCpp, false),
    ("llama-cli", EngineKind::LlamaCpp, false),
];

/// A command that may go on in the next line, and its halves of the cache's format.
#[derive(Default)]
pub(super) struct State {
    goes_on: Option<EngineKind>,
    k_format: Option<&'static str>,
    v_format: Option<&'static str>,
    /// Flags whose values were not read.
    unread: Vec<Sentence>,
}

/// Flags that are named when their values were not read.
const MAX_UNREAD: usize = 10;

pub(super) fn read_line(line: &str, reader: &mut Reader) {
    let words = words(line);
    // A program is a word, not a part of a sentence about it: what follows it are words and flags.
    let begun = PROGRAMS.iter().find_map(|(program, engine, has_name)| {
        let rest = line.split_once(program)?.1;
        Some((rest, *engine, *has_name))
    });
    let (engine, words, has_name) = match (begun, reader.command.goes_on) {
        (Some((rest, engine, has_name)), _) => (engine, self::words(rest), has_name),
        (None, Some(engine)) if line.trim_start().starts_with('-') => (engine, words, false),
        (None, _) => {
            reader.command.goes_on = None;
            return;
        }
    };
    let is_of_a_maker = has_name && words.first().is_some_and(|name| name.contains('/'));
    let is_command = is_of_a_maker
        || words.iter().any(|word| word.starts_with('-'))
        || line.trim_end().ends_with('\\');
    if !is_command || !reader.is_of(engine) {
        return;
    }
    reader.command.goes_on = Some(engine);
    if let Some(name) = words
        .first()
        .filter(|word| has_name && !word.starts_with('-') && **word != "\\")
    {
        reader.set_model(name);
    }
    let flags = match engine {
        EngineKind::Vllm => VLLM,
        EngineKind::Sglang => SGLANG,
        EngineKind::TensorRtLlm => TENSORRT_LLM,
        EngineKind::LlamaCpp => LLAMA_CPP,
        EngineKind::Exact => &[],
    };
    for (idx, word) in words.iter().enumerate() {
        let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            continue;
        };
        let (name, given) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (
                name,
                words
                    .get(idx + 1)
                    .copied()
                    .filter(|next| !next.starts_with('-') && *next != "\\"),
            ),
        };
        let name = name.replace('_', "-");
        if let Some((_, key, takes)) = flags
            .iter()
            .find(|(spellings, ..)| spellings.contains(&name.as_str()))
        {
            read_flag(word, key, *takes, given, reader);
        }
    }
}

fn read_flag(
    word: &str,
    key: &'static str,
    takes: Takes,
    given: Option<&str>,
    reader: &mut Reader,
) {
    let format = given.and_then(cache_format);
    let value = match takes {
        Takes::Nothing(value) => Some(value.to_owned()),
        Takes::Switch => match given {
            Some("off" | "0" | "false") => Some("false".to_owned()),
            // `auto` is decided when the server starts, which a line of its log says.
            Some("auto") => return,
            Some(_) | None => Some("true".to_owned()),
        },
        Takes::Model => {
            reader.set_model(given.unwrap_or_default());
            return;
        }
        Takes::Count => given.and_then(human_count).map(|count| count.to_string()),
        Takes::Share => given
            .filter(|text| {
                text.parse::<f64>()
                    .is_ok_and(|share| (0.0..=1.0).contains(&share))
            })
            .map(str::to_owned),
        Takes::Word => given.map(str::to_owned),
        Takes::Format => format.map(str::to_owned),
        Takes::OfK => {
            reader.command.k_format = format;
            format.map(|k| pair(k, reader.command.v_format))
        }
        Takes::OfV => {
            reader.command.v_format = format;
            format.map(|v| pair(reader.command.k_format.unwrap_or("float16"), Some(v)))
        }
    };
    match (value, given) {
        (Some(value), _) => reader.set(key, value),
        // The engine's own choice.
        (None, Some("auto")) => {}
        (None, given) if reader.command.unread.len() < MAX_UNREAD => {
            let flag = word.split_once('=').map_or(word, |(flag, _)| flag);
            let value = given.map_or(Part::from(Key::no_value), |given| cut(given, 40).into());
            let flag = say!(flag_value, flag = cut(flag, 60), value);
            reader.command.unread.push(flag);
        }
        (None, _) => {}
    }
}

/// Says which values were not read.
pub(super) fn finish(reader: &mut Reader) {
    let Some((last, rest)) = reader.command.unread.split_last() else {
        return;
    };
    let flag = last.clone();
    let listed = rest
        .iter()
        .cloned()
        .reduce(|flags, flag| say!(flags_between, flags, flag));
    let message = match listed {
        None => say!(flag, flag),
        Some(flags) => say!(flags, flags, flag),
    };
    reader.note("flag", message);
}

/// K and V as the scenario writes them; llama.cpp stores either as f16 unless told.
fn pair(k: &str, v: Option<&str>) -> String {
    let v = v.unwrap_or("float16");
    if k == v {
        k.to_owned()
    } else {
        format!("{k}/{v}")
    }
}

/// `4096`, `32k` as 32,000 and `32K` as 32,768.
///
/// Source: `human_readable_int` in vLLM's `engine/arg_utils.py`.
fn human_count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 'k') => (text.get(..at)?, 1_000),
        (at, 'm') => (text.get(..at)?, 1_000_000),
        (at, 'g') => (text.get(..at)?, 1_000_000_000),
        (at, 'K') => (text.get(..at)?, crate::core::units::KIB),
        (at, 'M') => (text.get(..at)?, crate::core::units::MIB),
        (at, 'G') => (text.get(..at)?, crate::core::units::GIB),
        _ => (text, 1),
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .filter(|count| 0 < *count)
}

/// Words of a command, without the quotes around them.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace()
        .map(|word| word.trim_matches(|c| matches!(c, '"' | '\'' | '`' | ',')))
        .filter(|word| !word.is_empty())
        .collect()
}
