//! SGLang's lines.

use super::scan::{after, amount, count_after, rounded, setting, setting_count};
use super::{Reader, What, cache_format};
use crate::core::scenario::EngineKind;

pub(super) fn read_line(line: &str, reader: &mut Reader) {
    if line.contains("ServerArgs(") && reader.is_of(EngineKind::Sglang) {
        read_arguments(line, reader);
    }
    if line.contains("KV Cache is allocated.") && reader.is_of(EngineKind::Sglang) {
        read_pool(line, reader);
    }
    if line.contains("Mamba Cache is allocated.") && reader.is_of(EngineKind::Sglang) {
        if let Some(slots) = count_after(line, "max_mamba_cache_size: ") {
            reader.set("max_mamba_cache_size", slots);
        }
        let parts = ["conv_state size: ", "ssm_state size: "]
            .map(|word| after(line, word).and_then(|rest| amount(rest, 2)));
        if let [Some(conv), Some(state)] = parts {
            let both = super::Rounded {
                value: conv.value + state.value,
                half: conv.half + state.half,
            };
            reader.fact(What::CacheBytes, Some("state"), both, line);
        }
    }
    if let Some(tokens) =
        count_after(line, "full_layer_tokens=").filter(|_| reader.is_of(EngineKind::Sglang))
    {
        reader.set("num_tokens", tokens);
    }
    if reader.engine == Some(EngineKind::Sglang) {
        if let Some(tokens) = setting_count(line, "max_total_num_tokens") {
            reader.set("num_tokens", tokens);
            reader.count(What::KvCacheSizeTokens, None, tokens, line);
        }
        if let Some(len) = setting_count(line, "context_len") {
            reader.set("max_model_len", len);
        }
        if let Some(bytes) = after(line, "mem usage=").filter(|_| line.contains("Load weight end"))
            && let Some(bytes) = amount(bytes, 0)
        {
            reader.fact(What::WeightBytes, None, bytes, line);
        }
    }
}

fn read_arguments(line: &str, reader: &mut Reader) {
    for (key, field) in [
        ("tp_size", "tensor_parallel_size"),
        ("pp_size", "pipeline_parallel_size"),
        ("dp_size", "data_parallel_size"),
        ("page_size", "page_size"),
        ("context_length", "max_model_len"),
        ("speculative_num_steps", "num_speculative_tokens"),
        ("max_mamba_cache_size", "max_mamba_cache_size"),
    ] {
        if let Some(value) = setting_count(line, key).filter(|value| 0 < *value) {
            reader.set(field, value);
        }
    }
    for key in ["mem_fraction_static", "swa_full_tokens_ratio"] {
        if let Some(share) = setting(line, key).filter(|share| rounded(share, 0).is_some()) {
            reader.set(
                if key == "mem_fraction_static" {
                    "mem_fraction_static"
                } else {
                    "swa_full_tokens_ratio"
                },
                share,
            );
        }
    }
    if setting(line, "enable_dp_attention") == Some("True") {
        reader.set("dp_attention", true);
    }
    if let Some(format) = setting(line, "kv_cache_dtype").and_then(cache_format) {
        reader.set("kv_cache_dtype", format);
    }
    if let Some(format) = setting(line, "mamba_ssm_dtype").and_then(cache_format) {
        reader.set("state_dtype", format);
    }
    if let Some(name) = setting(line, "model_path") {
        reader.set_model(name);
    }
}

/// A pool: with K and V, or with both as one. A model with windows has two with K and V, the sliding one first.
fn read_pool(line: &str, reader: &mut Reader) {
    if let Some(format) = setting(line, "dtype").and_then(cache_format) {
        reader.set("kv_cache_dtype", format);
    }
    let amount_of = |word: &str| after(line, word).and_then(|rest| amount(rest, 2));
    let tokens = count_after(line, "#tokens: ");
    if let Some(both) = amount_of("KV size: ") {
        reader.fact(What::KBytes, Some("latent"), both, line);
    } else if let (Some(k), Some(v)) = (amount_of("K size: "), amount_of("V size: ")) {
        // Which pool it is shows in the tokens, once both are known.
        reader.fact(What::KBytes, None, k, line);
        reader.fact(What::VBytes, None, v, line);
    }
    if let Some(tokens) = tokens {
        reader.count(What::CacheTokens, None, tokens, line);
        let is_larger = reader
            .res
            .setting("num_tokens")
            .and_then(|text| text.parse::<u64>().ok())
            .is_none_or(|known| known < tokens);
        if is_larger {
            reader.set("num_tokens", tokens);
        }
    }
}
