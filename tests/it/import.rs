//! The importer, over real files with their published figures, and over files that are something else.

use kvscope::core::import::hf_config::import;
use kvscope::core::layer::{CacheFormats, IndexStorage, LayerKind};
use kvscope::core::model::ModelConfig;
use kvscope::core::units::{KvFormat, Tokens, formats};

const FACTS: &str = include_str!("../data/configs.tsv");

fn config(file: &str) -> String {
    let path = format!("{}/tests/data/configs/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{path}: {err}"))
}

fn formats(state: kvscope::core::units::ElementFormat) -> CacheFormats {
    CacheFormats {
        kv: KvFormat::both(formats::BF16),
        state,
        conv: formats::BF16,
        index: IndexStorage::LikeK,
    }
}

/// Growing bytes per token as the mean over a long run beyond every window, index keys apart.
fn kv_bytes_per_token(model: &ModelConfig) -> u64 {
    const FAR: u64 = 1 << 21;
    let step = 128;
    let at = |n| {
        model
            .groups
            .iter()
            .filter(|group| !matches!(group.kind, LayerKind::Cross { .. }))
            .map(|group| {
                let bytes = group
                    .kind
                    .cache_bytes(Tokens(n), KvFormat::both(formats::BF16));
                bytes.0 * u64::from(group.count)
            })
            .sum::<u64>()
    };
    (at(FAR + step) - at(FAR)) / step
}

/// Window terms as `layers x window x bytes`, in the order of the layers.
fn windows(model: &ModelConfig) -> String {
    let mut res: Vec<(u64, u64, u64)> = Vec::new();
    for group in &model.groups {
        let (window, bytes) = match group.kind {
            LayerKind::Sliding {
                window,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => (
                window.0,
                2 * u64::from(num_key_value_heads) * u64::from(head_dim + v_head_dim),
            ),
            LayerKind::Chunked {
                attention_chunk_size,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => (
                attention_chunk_size.0,
                2 * u64::from(num_key_value_heads) * u64::from(head_dim + v_head_dim),
            ),
            LayerKind::Compressed {
                window, head_dim, ..
            } => (window.0, 2 * u64::from(head_dim)),
            _ => continue,
        };
        match res.iter_mut().find(|(_, w, b)| (*w, *b) == (window, bytes)) {
            Some((layers, ..)) => *layers += u64::from(group.count),
            None => res.push((u64::from(group.count), window, bytes)),
        }
    }
    let terms: Vec<String> = res
        .iter()
        .map(|(layers, window, bytes)| format!("{layers}x{window}x{bytes}"))
        .collect();
    terms.join(" ")
}

fn state_bytes(model: &ModelConfig, state: kvscope::core::units::ElementFormat) -> String {
    let bytes: u64 = model
        .groups
        .iter()
        .map(|group| group.kind.state_bytes(formats(state)).0 * u64::from(group.count))
        .sum();
    if bytes == 0 {
        String::new()
    } else {
        bytes.to_string()
    }
}

#[test]
fn every_published_config_has_its_published_cache() {
    let mut wrong = Vec::new();
    for line in FACTS.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, model, context, per_token, window, fp32, bf16, ..] = cells[..] else {
            panic!("{line}");
        };
        let read = match import(&config(file), None) {
            Ok(read) => read,
            Err(err) => {
                wrong.push(format!("{model}: {err}"));
                continue;
            }
        };
        let found = [
            kv_bytes_per_token(&read).to_string(),
            windows(&read),
            state_bytes(&read, formats::F32),
            state_bytes(&read, formats::BF16),
        ];
        for (found, expected) in found.iter().zip([per_token, window, fp32, bf16]) {
            if found != expected {
                wrong.push(format!("{model}: {found}, and the table has {expected}"));
            }
        }
        let found = read
            .max_position_embeddings
            .map_or(String::new(), |n| n.0.to_string());
        if found != context {
            wrong.push(format!(
                "{model}: context {found}, and the table has {context}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
