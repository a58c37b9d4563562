//! The lines of llama.cpp, ik_llama.cpp and Ollama, of several years.

use serde_json::{Map, Value};

use super::scan::{Rounded, after, amount, between, count, count_after};
use super::{Reader, What, cache_format};
use crate::core::scenario::EngineKind;
use crate::core::weights::weight_format;

/// What has to wait for the end of the log.
#[derive(Default)]
pub(super) struct State {
    /// The month that the wording shows, and the one of the build's number.
    wording: Option<&'static str>,
    build: Option<u64>,
    is_ik: bool,
    is_ollama: bool,
    /// The cache that the next size is of.
    next_cache: Option<&'static str>,
    n_caches: u32,
    cells: Option<u64>,
    /// Sum over devices.
    ollama_bytes: Option<Rounded>,
    dims: Vec<(&'static str, u64)>,
    has_own_layers: bool,
    architecture: String,
}

/// Where each month's builds begin, by number.
///
/// Source: numbers and dates that posted logs show together.
const BUILDS: [(u64, &str); 16] = [
    (1000, "2023-08"),
    (3000, "2024-05"),
    (3475, "2024-07"),
    (4000, "2024-10"),
    (4400, "2024-12"),
    (4800, "2025-03"),
    (5190, "2025-04"),
    (5240, "2025-05"),
    (5560, "2025-06"),
    (5795, "2025-07"),
    (6060, "2025-08"),
    (6400, "2025-09"),
    (6700, "2025-10"),
    (6910, "2025-11"),
    (7700, "2026-01"),
    (8800, "2026-04"),
];

pub(super) fn read_line(line: &str, reader: &mut Reader) {
    if reader
        .engine
        .is_some_and(|engine| engine != EngineKind::LlamaCpp)
    {
        return;
    }
    read_cache(line, reader);
    read_context(line, reader);
    read_model(line, reader);
    read_ollama(line, reader);
    let number = match line.trim_start() {
        line if line.starts_with("build: ") => count_after(line, "build: "),
        line if line.contains("main: build = ") => count_after(line, "main: build = "),
        line => count_after(line, "build_info: b"),
    };
    if let Some(number) = number.filter(|number| 1000 <= *number) {
        reader.llama_cpp.build = Some(number);
    }
}

fn read_cache(line: &str, reader: &mut Reader) {
    if line.contains("creating") && line.contains("SWA KV cache") {
        reader.llama_cpp.next_cache = Some(if line.contains("non-SWA") {
            "full"
        } else {
            "sliding"
        });
    }
    let wording = [
        ("llama_memory_recurrent: size", None),
        ("llama_kv_cache_unified: size", Some("2025-06")),
        ("llama_kv_cache: size", Some("2025-12")),
        ("KV self size", Some("2025-03")),
        ("kv self size", Some("2023-05")),
    ];
    let Some((word, month)) = wording.into_iter().find(|(word, _)| line.contains(word)) else {
        return;
    };
    if !reader.is_of(EngineKind::LlamaCpp) {
        return;
    }
    let streams = between(line, "layers,", "seqs")
        .and_then(|seqs| seqs.trim().split_once('/').map(|(_, streams)| streams));
    let month = if month == Some("2025-06") && streams.is_some() {
        Some("2025-08")
    } else {
        month
    };
    reader.llama_cpp.wording = month.or(reader.llama_cpp.wording);
    let of = |name: &str| {
        after(line, name)
            .and_then(|rest| after(rest, "):"))
            .and_then(|rest| amount(rest, 2))
    };
    if word == "llama_memory_recurrent: size" {
        if let (Some(r), Some(s)) = (of("R ("), of("S (")) {
            let both = Rounded {
                value: r.value + s.value,
                half: r.half + s.half,
            };
            reader.fact(What::CacheBytes, Some("state"), both, line);
        }
        if let Some(states) = between(line, "seqs ", " rs_seq").and_then(count) {
            reader.set("num_speculative_tokens", states);
        }
        return;
    }
    let cells = between(line, "(", "cells").and_then(count);
    let streams = streams.and_then(count).unwrap_or(1);
    let label = cache_label(reader, cells);
    if let Some(cells) = cells {
        reader.count(
            What::CacheTokens,
            label,
            cells.saturating_mul(streams),
            line,
        );
        if label == Some("full") {
            reader.llama_cpp.cells = Some(cells.saturating_mul(streams));
        }
    }
    reader.llama_cpp.is_ik |= line.contains("c^KV");
    let k_name = if line.contains("c^KV (") {
        "c^KV ("
    } else {
        "K ("
    };
    // "c^KV (" ends like "V (", and "kv^T: not used" has no size.
    let is_latent = line.contains("c^KV (");
    let v_name = match (is_latent, line.contains("kv^T (")) {
        (_, true) => Some("kv^T ("),
        (true, false) => None,
        (false, false) => Some("V ("),
    };
    for (what, name) in [(What::KBytes, Some(k_name)), (What::VBytes, v_name)] {
        if let Some(bytes) = name.and_then(of) {
            reader.fact(what, label, bytes, line);
        }
    }
    let total = after(line, word)
        .and_then(|rest| after(rest, "="))
        .and_then(|rest| amount(rest, 2));
    // Of a cache without a name, K and V are enough: the sum could be anyone's.
    if let Some(bytes) = total.filter(|_| label.is_some()) {
        reader.fact(What::CacheBytes, label, bytes, line);
    }
    let v_format = v_name.and_then(|name| format_of(line, name));
    if let (Some(k), v) = (format_of(line, k_name), v_format) {
        let v = v.unwrap_or(k);
        reader.set(
            "kv_cache_dtype",
            if k == v {
                k.to_owned()
            } else {
                format!("{k}/{v}")
            },
        );
    }
    if let Some(slots) = between(line, "layers,", "seqs")
        .and_then(count)
        .filter(|slots| 0 < *slots)
    {
        reader.set("n_seq_max", slots);
        reader.set("kv_unified", 1 < slots && streams == 1);
    }
}

/// Of caches without a name, the first is the model's; a later one is a draft's or an indexer's, which no line says.
fn cache_label(reader: &mut Reader, cells: Option<u64>) -> Option<&'static str> {
    let state = &mut reader.llama_cpp;
    if let Some(label) = state.next_cache.take() {
        return Some(label);
    }
    if cells.is_some() {
        state.n_caches += 1;
    }
    (state.n_caches <= 1).then_some("full")
}

fn format_of(line: &str, name: &str) -> Option<&'static str> {
    between(line, name, ")").and_then(cache_format)
}

/// Settings of the context, one in each line.
fn read_context(line: &str, reader: &mut Reader) {
    let starts = [
        "llama_context:",
        "llama_new_context_with_model:",
        "llama_init_from_model:",
    ];
    let Some(rest) = starts.iter().find_map(|start| after(line, start)) else {
        return;
    };
    if rest.contains("Flash Attention was auto, set to") {
        reader.set("flash_attn", rest.contains("enabled"));
    }
    let Some((key, value)) = rest.split_once('=') else {
        return;
    };
    if !reader.is_of(EngineKind::LlamaCpp) {
        return;
    }
    let is_on = ["1", "true", "enabled"].contains(&value.trim());
    let is_off = ["0", "false", "disabled"].contains(&value.trim());
    match (key.trim(), count(value)) {
        ("n_ctx", Some(tokens)) if 0 < tokens => reader.set("n_ctx", tokens),
        ("n_seq_max", Some(slots)) if 0 < slots => reader.set("n_seq_max", slots),
        ("n_ubatch", Some(tokens)) if 0 < tokens => reader.set("n_ubatch", tokens),
        ("flash_attn", _) if is_on || is_off => reader.set("flash_attn", is_on),
        ("kv_unified", _) if is_on || is_off => reader.set("kv_unified", is_on),
        ("mla_attn", Some(kind)) => {
            reader.llama_cpp.is_ik = true;
            reader.set("mla_attn", kind.min(3));
        }
        ("fused_moe" | "attn_max_b" | "ser", _) => reader.llama_cpp.is_ik = true,
        _ => {}
    }
}

/// Dimensions that the loader prints, with our names.
const DIMS: [(&str, &str); 10] = [
    ("n_layer", "num_hidden_layers"),
    ("n_head", "num_attention_heads"),
    ("n_head_kv", "num_key_value_heads"),
    ("n_embd", "hidden_size"),
    ("n_embd_head_k", "head_dim"),
    ("n_embd_head_v", "v_head_dim"),
    ("n_ctx_train", "max_position_embeddings"),
    ("n_lora_kv", "kv_lora_rank"),
    ("n_rot", "qk_rope_head_dim"),
    ("n_swa", "sliding_window"),
];

fn read_model(line: &str, reader: &mut Reader) {
    let Some(rest) = ["print_info:", "llm_load_print_meta:"]
        .iter()
        .find_map(|start| after(line, start))
    else {
        return;
    };
    let Some((key, value)) = rest
        .split_once('=')
        .filter(|_| reader.is_of(EngineKind::LlamaCpp))
    else {
        return;
    };
    let (key, value) = (key.trim(), value.trim());
    match key {
        "general.name" => reader.set_model(value),
        "file type" | "model ftype" => {
            if let Some(format) = file_type(value) {
                reader.set("weight_format", format);
            }
        }
        "arch" => value.clone_into(&mut reader.llama_cpp.architecture),
        "ssm_d_state" | "ssm_d_inner" if count(value) != Some(0) => {
            reader.llama_cpp.has_own_layers = true
        }
        _ => {}
    }
    let is_array = value.starts_with('[');
    if let Some((_, name)) = DIMS.iter().find(|(printed, _)| *printed == key) {
        reader.llama_cpp.has_own_layers |= is_array;
        if let Some(number) = count(value) {
            reader.llama_cpp.dims.push((*name, number));
        }
    }
}

/// The format of a file type as llama.cpp prints it: `Q4_K - Medium`, `Q8_0`, `MXFP4 MoE`, `all F32`.
///
/// Source: `llama_model_ftype_name` in llama.cpp's `llama-model-loader.cpp`.
fn file_type(text: &str) -> Option<&'static str> {
    let text = text
        .trim_start_matches("(guessed)")
        .trim_start_matches("all ")
        .trim_start_matches("mostly ")
        .trim();
    let (name, size) = text.split_once(" - ").unwrap_or((text, ""));
    let name = name.split(' ').next().unwrap_or(name);
    let suffix = match size.split(' ').next() {
        Some("Small") => "_s",
        Some("Medium") => "_m",
        Some("Large") => "_l",
        Some(_) | None => "",
    };
    let format = weight_format(&format!("{name}{suffix}")).or_else(|| weight_format(name))?;
    Some(format.id)
}

fn read_ollama(line: &str, reader: &mut Reader) {
    let size = match line {
        _ if line.contains("msg=\"kv cache\"") => between(line, "size=\"", "\""),
        _ if line.contains("memory.required.kv=") => between(line, "memory.required.kv=\"", "\""),
        _ => None,
    };
    if let Some(bytes) = size
        .and_then(|text| amount(text, 1))
        .filter(|_| reader.is_of(EngineKind::LlamaCpp))
    {
        let state = &mut reader.llama_cpp;
        state.is_ollama = true;
        // An estimate of the whole stands alone; the sizes of devices add up.
        let known = state
            .ollama_bytes
            .filter(|_| line.contains("msg=\"kv cache\""));
        let known = known.unwrap_or(Rounded {
            value: 0.0,
            half: 0.0,
        });
        state.ollama_bytes = Some(Rounded {
            value: known.value + bytes.value,
            half: known.half + bytes.half,
        });
    }
    let is_runner = line.contains("--ctx-size") || line.contains("KvSize:");
    if !is_runner || !reader.is_of(EngineKind::LlamaCpp) {
        return;
    }
    for (word, field) in [
        ("--ctx-size ", "n_ctx"),
        ("KvSize:", "n_ctx"),
        ("--batch-size ", "n_ubatch"),
        ("BatchSize:", "n_ubatch"),
        ("--parallel ", "n_seq_max"),
        ("Parallel:", "n_seq_max"),
    ] {
        if let Some(value) = count_after(line, word).filter(|value| 0 < *value) {
            reader.set(field, value);
        }
    }
    let format = ["--kv-cache-type ", "KvCacheType:"]
        .iter()
        .find_map(|word| after(line, word));
    let format = format
        .and_then(|rest| rest.split([' ', '}', ',']).next())
        .and_then(cache_format);
    if let Some(format) = format {
        reader.set("kv_cache_dtype", format);
    }
}

/// The build, the context that no line printed, and the model that only its dimensions describe.
pub(super) fn finish(reader: &mut Reader) {
    let state = std::mem::take(&mut reader.llama_cpp);
    if let Some(bytes) = state.ollama_bytes {
        let is_own = reader.least(What::CacheTokens).is_none();
        if is_own {
            reader.set("variant", "ollama");
            reader.fact(What::CacheBytes, None, bytes, "kv cache of all devices");
        }
    } else if state.is_ik {
        reader.set("variant", "ik_llama.cpp");
    }
    let of_build = state.build.filter(|_| !state.is_ik).and_then(|build| {
        BUILDS
            .iter()
            .rev()
            .find(|(first, _)| *first <= build)
            .map(|(_, month)| *month)
    });
    if let Some(month) = of_build.or(state.wording) {
        reader.set("version", month);
    }
    if let Some(cells) = state
        .cells
        .filter(|_| reader.res.setting("n_ctx").is_none())
    {
        reader.set("n_ctx", cells);
    }
    if reader.res.setting("model").is_none()
        && let Some(model) = dims_of(&state)
    {
        reader.set("model", model);
    }
}

/// A model of like layers as its dimensions; `None` where layers differ, which the log does not show.
fn dims_of(state: &State) -> Option<String> {
    let dim = |name: &str| {
        state
            .dims
            .iter()
            .rev()
            .find(|(known, _)| *known == name)
            .map(|(_, number)| *number)
    };
    if state.has_own_layers || dim("sliding_window").is_some_and(|window| 0 < window) {
        return None;
    }
    let mut dims = Map::new();
    for name in [
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "v_head_dim",
    ] {
        dims.insert(
            name.to_owned(),
            Value::from(dim(name).filter(|number| 0 < *number)?),
        );
    }
    for name in ["hidden_size", "max_position_embeddings"] {
        if let Some(number) = dim(name) {
            dims.insert(name.to_owned(), Value::from(number));
        }
    }
    if let Some(rank) = dim("kv_lora_rank").filter(|rank| 0 < *rank) {
        let rope = dim("qk_rope_head_dim")?;
        dims.insert("kv_lora_rank".to_owned(), Value::from(rank));
        dims.insert("qk_rope_head_dim".to_owned(), Value::from(rope));
        dims.insert(
            "qk_nope_head_dim".to_owned(),
            Value::from(dim("head_dim")?.saturating_sub(rope)),
        );
    }
    let model = Map::from_iter([("dims".to_owned(), Value::Object(dims))]);
    Some(Value::Object(model).to_string())
}
