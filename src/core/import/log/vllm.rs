//! vLLM's lines, of V0 and V1, with those of vllm-ascend.

use super::scan::{after, amount, between, count, count_after, rounded, setting, setting_count};
use super::{Reader, What, cache_format};
use crate::core::import::sentences::say;
use crate::core::scenario::EngineKind;

/// What has to wait for the end of the log.
#[derive(Default)]
pub(super) struct State {
    has_draft: bool,
}

/// Words that only vLLM's lines have.
const OWN: [&str; 9] = [
    "GPU KV cache size:",
    "Available KV cache memory:",
    "GPU blocks:",
    "cuda blocks:",
    "Maximum concurrency for",
    "KV cache is needed, which is larger than",
    "LLM engine (v",
    "vLLM API server version",
    "Setting attention block size to",
];

pub(super) fn read_line(line: &str, reader: &mut Reader) {
    let is_own = OWN.iter().any(|word| line.contains(word));
    if !(is_own && reader.is_of(EngineKind::Vllm))
        && reader.engine != Some(EngineKind::Vllm)
        && reader.engine.is_some()
    {
        return;
    }
    if is_own || line.contains("non-default args") || line.contains("EngineArgs(") {
        read_settings(line, reader);
    }
    read_single_settings(line, reader);
    read_memory(line, reader);
    read_sizes(line, reader);
}

/// Settings of the line that shows the configuration, and of the arguments that are not defaults.
fn read_settings(line: &str, reader: &mut Reader) {
    for (key, field) in [
        ("tensor_parallel_size", "tensor_parallel_size"),
        ("pipeline_parallel_size", "pipeline_parallel_size"),
        ("data_parallel_size", "data_parallel_size"),
        (
            "decode_context_parallel_size",
            "decode_context_parallel_size",
        ),
        ("max_seq_len", "max_model_len"),
        ("max_model_len", "max_model_len"),
        ("max_num_batched_tokens", "max_num_batched_tokens"),
        ("block_size", "block_size"),
    ] {
        if let Some(value) = setting_count(line, key).filter(|value| 0 < *value) {
            reader.set(field, value);
        }
    }
    if let Some(value) =
        setting(line, "gpu_memory_utilization").filter(|value| rounded(value, 0).is_some())
    {
        reader.set("gpu_memory_utilization", value);
    }
    if let Some(format) = setting(line, "kv_cache_dtype").and_then(cache_format) {
        reader.set("kv_cache_dtype", format);
    }
    if let Some(mode) =
        setting(line, "mamba_cache_mode").filter(|mode| ["none", "align", "all"].contains(mode))
    {
        reader.set("mamba_cache_mode", mode);
    }
    if let Some(format) = setting(line, "mamba_ssm_cache_dtype")
        .filter(|name| *name != "auto")
        .and_then(cache_format)
    {
        reader.set("state_dtype", format);
    }
    for (key, field) in [("async_scheduling", "async_scheduling")] {
        if let Some(flag @ ("True" | "False")) = setting(line, key) {
            reader.set(field, flag == "True");
        }
    }
    if setting(line, "disable_hybrid_kv_cache_manager") == Some("True") {
        reader.set("hybrid_kv_cache_manager", false);
    }
    if let Some(tokens) = setting_count(line, "num_spec_tokens")
        .or_else(|| setting_count(line, "num_speculative_tokens"))
    {
        reader.set("num_speculative_tokens", tokens);
        let method = setting(line, "method").unwrap_or_default();
        reader.vllm.has_draft = ["mtp", "eagle", "eagle3", "deepseek_mtp"].contains(&method);
    }
    if let Some(name) = setting(line, "model").or_else(|| setting(line, "model_tag")) {
        reader.set_model(name);
    }
    if let Some(format) = setting(line, "quantization").and_then(weight_format_of) {
        reader.set("weight_format", format);
    }
}

/// The weight format of a quantization method, where the method alone says it.
///
/// Source: `QUANTIZATION_METHODS` in vLLM's `model_executor/layers/quantization/__init__.py`.
fn weight_format_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "fp8" | "fbgemm_fp8" | "deepspeedfp" | "ptpc_fp8" | "modelopt" | "modelopt_fp8" => "fp8",
        "awq" | "awq_marlin" => "int4",
        "mxfp4" | "gpt_oss_mxfp4" => "mxfp4",
        "modelopt_fp4" | "petit_nvfp4" => "nvfp4",
        "bitsandbytes" => "bnb_nf4",
        // GPTQ and compressed tensors have 4 or 8 bits, which the model's name may say.
        _ => return None,
    })
}

/// Settings that have a line of their own.
fn read_single_settings(line: &str, reader: &mut Reader) {
    if let Some(len) = count_after(line, "Using max model len ") {
        reader.set("max_model_len", len);
    }
    if let Some(tokens) = count_after(line, "max_num_batched_tokens=")
        && line.contains("Chunked prefill is enabled")
    {
        reader.set("max_num_batched_tokens", tokens);
    }
    if line.contains("Asynchronous scheduling is ") {
        reader.set("async_scheduling", line.contains("scheduling is enabled"));
    }
    if line.contains("Turning off hybrid kv cache manager")
        || line.contains("Hybrid KV cache manager is disabled")
    {
        reader.set("hybrid_kv_cache_manager", false);
    }
    if let Some(format) =
        between(line, "Using ", " data type to store kv cache").and_then(cache_format)
    {
        reader.set("kv_cache_dtype", format);
    }
    if let Some(size) = count_after(
        line,
        "Multiplying the GPU KV cache size by the dcp_world_size ",
    ) {
        reader.set("decode_context_parallel_size", size);
    }
}

fn read_memory(line: &str, reader: &mut Reader) {
    for word in [
        "Available KV cache memory:",
        "rest of the memory reserved for KV Cache is",
        "Reserved ",
    ] {
        let is_pool = word != "Reserved " || line.contains("memory for KV Cache as specified");
        if let Some(bytes) = after(line, word)
            .filter(|_| is_pool)
            .and_then(|rest| amount(rest, 2))
            && reader.is_of(EngineKind::Vllm)
        {
            reader.fact(What::AvailableBytes, None, bytes, line);
        }
    }
    // vllm-ascend prints bytes.
    if let Some(bytes) =
        count_after(line, "Available memory: ").filter(|_| line.contains("total memory: "))
        && reader.is_of(EngineKind::Vllm)
    {
        reader.count(What::AvailableBytes, None, bytes, line);
    }
    if reader.engine != Some(EngineKind::Vllm) && reader.engine.is_some() {
        return;
    }
    for word in [
        "Model loading took ",
        "Loading model weights took ",
        "model weights take ",
    ] {
        if let Some(bytes) = after(line, word).and_then(|rest| amount(rest, 0)) {
            reader.fact(What::WeightBytes, None, bytes, line);
        }
    }
    if let Some(bytes) =
        after(line, "PyTorch activation peak memory takes ").and_then(|rest| amount(rest, 0))
    {
        reader.fact(What::ActivationBytes, None, bytes, line);
        reader.set("activation_bytes", bytes.value.round());
    }
    if let Some(bytes) = after(line, "non_torch_memory takes ").and_then(|rest| amount(rest, 0)) {
        reader.set("overhead_bytes", bytes.value.round());
    }
    if let Some(share) =
        between(line, "gpu_memory_utilization (", ")").filter(|text| rounded(text, 0).is_some())
    {
        reader.set("gpu_memory_utilization", share);
    }
}

fn read_sizes(line: &str, reader: &mut Reader) {
    for word in ["# GPU blocks: ", "# cuda blocks: ", "# CUDA blocks: "] {
        if let Some(blocks) = count_after(line, word).filter(|_| reader.is_of(EngineKind::Vllm)) {
            reader.count(What::NumBlocks, None, blocks, line);
        }
    }
    if let Some(tokens) =
        count_after(line, "GPU KV cache size: ").filter(|_| reader.is_of(EngineKind::Vllm))
    {
        reader.count(What::KvCacheSizeTokens, None, tokens, line);
    }
    if let Some(rest) =
        after(line, "Maximum concurrency for ").filter(|_| reader.is_of(EngineKind::Vllm))
    {
        if let Some(len) = count(rest) {
            reader.set("max_model_len", len);
        }
        if let Some(times) = after(rest, "tokens per request: ").and_then(|rest| rounded(rest, 2)) {
            reader.fact(What::MaxConcurrency, None, times, line);
        }
    }
    if line.contains("KV cache is needed") && reader.is_of(EngineKind::Vllm) {
        if let Some(len) = count_after(line, "max seq len (") {
            reader.set("max_model_len", len);
        }
        let needed = after(line, "max seq len (").and_then(|rest| after(rest, "("));
        if let Some(bytes) = needed.and_then(|rest| amount(rest, 2)) {
            reader.fact(What::NeededBytes, None, bytes, line);
        }
        if let Some(bytes) =
            after(line, "available KV cache memory (").and_then(|rest| amount(rest, 2))
        {
            reader.fact(What::AvailableBytes, None, bytes, line);
        }
        if let Some(len) = count_after(line, "estimated maximum model length is ") {
            reader.count(What::MaxModelLenThatFits, None, len, line);
        }
    }
}

/// The pool: its bytes when they were printed, else the blocks or tokens that came of them.
pub(super) fn finish(reader: &mut Reader) {
    if reader.res.setting("num_blocks").is_some() {
        // The command fixed them, whatever memory there is.
    } else if let Some(bytes) = reader.least(What::AvailableBytes) {
        reader.set("available_kv_cache_bytes", bytes.round());
    } else if let Some(blocks) = reader.least(What::NumBlocks) {
        reader.set("num_blocks", blocks);
    } else if let Some(tokens) = reader.least(What::KvCacheSizeTokens) {
        reader.set("num_tokens", tokens);
    }
    if reader.vllm.has_draft {
        reader.set("draft_layers", 1);
    }
    // Figures of one scenario; a rank that has more memory does not decide.
    let least = reader.least(What::AvailableBytes);
    let available = reader
        .res
        .facts
        .iter()
        .filter(|fact| fact.what == What::AvailableBytes);
    let differ = available.clone().any(|fact| Some(fact.value) != least);
    if differ {
        reader.note("ranks", say!(ranks));
    }
}
