//! The lines that each program prints about its caches.

use super::build::Variant;
use super::caches::{Cache, Name};
use super::{Latent, Rules};
use crate::core::engines::lines::{binary, mib};
use crate::core::units::{Bytes, ElementFormat};

/// The lines, in the wording of the build.
pub(super) fn of(rules: &Rules, caches: &[Cache], slots: u64) -> Vec<String> {
    match rules.build.variant {
        Variant::Ollama => vec![of_ollama(caches)],
        Variant::Ik => of_self_size(rules, caches),
        Variant::LlamaCpp if rules.build.is_since(202_505) => of_caches(rules, caches, slots),
        Variant::LlamaCpp => of_self_size(rules, caches),
    }
}

fn ggml_name(format: ElementFormat) -> &'static str {
    match format.id {
        "float16" => "f16",
        "float32" => "f32",
        other => other,
    }
}

/// One line for each cache, since May 2025.
fn of_caches(rules: &Rules, caches: &[Cache], slots: u64) -> Vec<String> {
    let name = if rules.build.is_since(202_510) {
        "llama_kv_cache"
    } else {
        "llama_kv_cache_unified"
    };
    let (k_name, v_name) = (ggml_name(rules.formats.kv.k), ggml_name(rules.formats.kv.v));
    let line = |cache: &Cache| {
        let (k, v, size) = (mib(cache.k), mib(cache.v), mib(cache.k + cache.v));
        if cache.name == Name::State {
            let rollback = match rules.states_per_sequence {
                0 | 1 => String::new(),
                states => format!(" {} rs_seq", states - 1),
            };
            return format!(
                "llama_memory_recurrent: size = {size:>7} MiB ({:>6} cells, {:>3} layers, {slots:>2} seqs{rollback}), \
                 R (f32): {k:>7} MiB, S (f32): {v:>7} MiB",
                cache.cells.per_stream, rules.num_hidden_layers
            );
        }
        let seqs = if rules.build.is_since(202_507) {
            format!("{slots:>2}/{}", cache.cells.streams)
        } else {
            format!("{slots:>2}")
        };
        format!(
            "{name}: size = {size:>7} MiB ({:>6} cells, {:>3} layers, {seqs} seqs), K ({k_name}): {k:>7} MiB, \
             V ({v_name}): {v:>7} MiB",
            cache.cells.per_stream, cache.layers
        )
    };
    let has_windows = caches.iter().any(|cache| cache.name == Name::Sliding);
    let named = |cache: &Cache| {
        let kind = match cache.name {
            Name::Full => "non-SWA",
            Name::Sliding => "    SWA",
            Name::State | Name::Draft | Name::Index => return None,
        };
        let cells = cache.cells.per_stream;
        Some(format!(
            "{name}_iswa: creating {kind} KV cache, size = {cells} cells"
        ))
    };
    let mut res = Vec::new();
    for cache in caches {
        res.extend(named(cache).filter(|_| has_windows));
        res.push(line(cache));
    }
    res
}

/// One line for everything: before May 2025, and in ik_llama.cpp.
fn of_self_size(rules: &Rules, caches: &[Cache]) -> Vec<String> {
    let k: Bytes = caches.iter().map(|cache| cache.k).sum();
    let v: Bytes = caches.iter().map(|cache| cache.v).sum();
    let (k_name, v_name) = (ggml_name(rules.formats.kv.k), ggml_name(rules.formats.kv.v));
    let (size, k_size, v_size) = (mib(k + v), mib(k), mib(v));
    if !rules.build.is_from(202_401) {
        return vec![format!(
            "llama_init_from_file: kv self size  = {size:>7} MB"
        )];
    }
    let start = "llama_new_context_with_model: KV self size  =";
    let is_ik = rules.build.variant == Variant::Ik;
    vec![match rules.latent.filter(|_| is_ik) {
        Some(Latent::RowAndV) => format!(
            "{start} {size:>7} MiB, c^KV ({k_name}): {k_size:>7} MiB, kv^T ({v_name}): {v_size:>7} MiB"
        ),
        Some(Latent::Row) => {
            format!("{start} {size:>7} MiB, c^KV ({k_name}): {k_size:>7} MiB, kv^T: not used")
        }
        Some(Latent::Heads) | None => {
            format!(
                "{start} {size:>7} MiB, K ({k_name}): {k_size:>7} MiB, V ({v_name}): {v_size:>7} MiB"
            )
        }
    }]
}

/// Ollama prints one size for each device.
fn of_ollama(caches: &[Cache]) -> String {
    let size: Bytes = caches.iter().map(|cache| cache.k + cache.v).sum();
    format!("msg=\"kv cache\" size=\"{}\"", binary(size))
}
