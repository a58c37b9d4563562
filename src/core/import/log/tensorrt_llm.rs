//! TensorRT-LLM's lines.

use super::scan::{after, amount, count, count_after, rounded, setting, setting_count};
use super::{Reader, What, cache_format};
use crate::core::scenario::EngineKind;

pub(super) fn read_line(line: &str, reader: &mut Reader) {
    if let Some(rest) = after(line, "for max tokens in paged KV cache (")
        .filter(|_| reader.is_of(EngineKind::TensorRtLlm))
    {
        if let Some(tokens) = count(rest) {
            reader.set("num_tokens", tokens);
            reader.count(What::KvCacheSizeTokens, None, tokens, line);
        }
        if let Some(bytes) = after(line, "Allocated ").and_then(|rest| amount(rest, 2)) {
            reader.fact(What::CacheBytes, Some("blocks"), bytes, line);
        }
    }
    if let Some(blocks) = count_after(line, "blocks in KV cache primary pool: ")
        && reader.is_of(EngineKind::TensorRtLlm)
    {
        reader.count(What::NumBlocks, None, blocks, line);
    }
    let is_own = line.contains("TensorRT-LLM") || line.contains("[TRT-LLM]");
    if !is_own || !reader.is_of(EngineKind::TensorRtLlm) {
        return;
    }
    if let Some(tokens) = count_after(line, "Number of tokens per block: ")
        .or_else(|| setting_count(line, "tokens_per_block"))
    {
        reader.set("tokens_per_block", tokens);
    }
    for (key, field) in [
        ("tensor_parallel_size", "tensor_parallel_size"),
        ("pipeline_parallel_size", "pipeline_parallel_size"),
        ("tp_size", "tensor_parallel_size"),
        ("pp_size", "pipeline_parallel_size"),
        ("max_seq_len", "max_model_len"),
    ] {
        if let Some(value) = setting_count(line, key).filter(|value| 0 < *value) {
            reader.set(field, value);
        }
    }
    if let Some(share) =
        setting(line, "free_gpu_memory_fraction").filter(|share| rounded(share, 0).is_some())
    {
        reader.set("free_gpu_memory_fraction", share);
    }
    if let Some(format) = setting(line, "kv_cache_dtype").and_then(cache_format) {
        reader.set("kv_cache_dtype", format);
    }
    if let Some(name) = setting(line, "model") {
        reader.set_model(name);
    }
}
