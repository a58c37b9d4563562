//! The importer, over real files with their published figures, and over files that are something else.

use crate::languages::check_in_chinese;
use kvscope::core::import::hf_config::{import, import_value};
use kvscope::core::layer::{CacheFormats, IndexStorage, LayerKind};
use kvscope::core::link::{from_fragment, to_fragment};
use kvscope::core::model::ModelConfig;
use kvscope::core::scenario::{ModelChoice, Scenario};
use kvscope::core::units::{KvFormat, Tokens, formats};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

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

/// Cross attention for each encoder token, and index keys for each token.
fn beside(model: &ModelConfig) -> [String; 2] {
    let (mut cross, mut index) = (0, 0);
    for group in &model.groups {
        let count = u64::from(group.count);
        match group.kind {
            LayerKind::Cross {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            } => {
                cross +=
                    count * 2 * u64::from(num_key_value_heads) * u64::from(head_dim + v_head_dim);
            }
            LayerKind::Latent { index_head_dim, .. } => {
                index += count * 2 * u64::from(index_head_dim)
            }
            _ => {}
        }
    }
    [cross, index].map(|bytes| {
        if bytes == 0 {
            String::new()
        } else {
            bytes.to_string()
        }
    })
}

#[test]
fn every_published_config_has_its_published_cache() {
    let mut wrong = Vec::new();
    for line in FACTS.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [
            file,
            model,
            context,
            per_token,
            window,
            fp32,
            bf16,
            ref rest @ ..,
        ] = cells[..]
        else {
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
        let [cross, index] = [rest.first(), rest.get(1)].map(|cell| *cell.unwrap_or(&""));
        let found = found.into_iter().chain(beside(&read));
        for (found, expected) in found.zip([per_token, window, fp32, bf16, cross, index]) {
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

#[test]
fn every_architecture_has_its_rule() {
    let mut wrong = Vec::new();
    for line in include_str!("../data/rules.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap_or_else(|err| panic!("{err}: {line}"));
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        let read = match import_value(&row["config"], None) {
            Ok(read) => read,
            Err(err) => {
                wrong.push(format!("{name}: {err}"));
                continue;
            }
        };
        let context = read.max_position_embeddings.map(|n| n.0);
        let found = [
            (
                kv_bytes_per_token(&read).to_string(),
                row["kv_bytes_per_token"].to_string(),
            ),
            (windows(&read), text("windows")),
            (state_bytes(&read, formats::F32), text("state_bytes_fp32")),
            (
                read.num_nextn_predict_layers.to_string(),
                row["mtp"].to_string(),
            ),
            (
                format!("{context:?}"),
                format!("{:?}", row["context"].as_u64().or(context)),
            ),
        ];
        for (found, expected) in found {
            if found != expected {
                wrong.push(format!("{name}: {found}, and the table has {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    match import(text, None) {
        Ok(model) => panic!("imported as {:?}", model.groups),
        Err(err) => {
            assert_eq!(err.to_string(), expected);
            check_in_chinese(err.message());
        }
    }
}

#[test]
fn another_kind_of_file_says_what_it_is() {
    for (text, expected) in [
        (
            "",
            "the text is empty; paste the whole config.json of a model, from the first { to the last }",
        ),
        (
            "   ",
            "the text is empty; paste the whole config.json of a model, from the first { to the last }",
        ),
        (
            r#"<!DOCTYPE html><html><head><title>config.json</title>"#,
            "this is a web page, not the file it shows; use its download link, or copy from the first { to the last }",
        ),
        (
            r#"version https://git-lfs.github.com/spec/v1
oid sha256:0"#,
            "this is a Git LFS pointer, not the file it points to; run git lfs pull, or download the file itself",
        ),
        (
            "GGUF\u{3}\0",
            "this is a GGUF file, which is not text; open it as a file instead of pasting it",
        ),
        (
            r#"---
license: apache-2.0
---"#,
            "this is a text document such as a README, not JSON; pick the file named config.json beside it",
        ),
        (
            r#"not json at all"#,
            r#"the text begins with "not json at all", and a config.json begins with {; paste it from the first { to the last }"#,
        ),
        (
            r#"{"model_type": "llama","#,
            "the text is not JSON: EOF while parsing a value at line 1 column 23; paste the whole config.json of a model, from the first { to the last }",
        ),
        (
            r#"[]"#,
            "the text is a list, and a config.json is an object; paste it from the first { to the last }",
        ),
        (
            r#"[1, 2]"#,
            "the text is a list, and a config.json is an object; paste it from the first { to the last }",
        ),
        (
            r#""llama""#,
            "the text is a string, and a config.json is an object; paste it from the first { to the last }",
        ),
        (
            r#"null"#,
            "the text is a single word, and a config.json is an object; paste it from the first { to the last }",
        ),
        (
            r#"12"#,
            "the text is a number, and a config.json is an object; paste it from the first { to the last }",
        ),
        (
            r#"{}"#,
            "the object is empty; paste the whole config.json of a model, from the first { to the last }",
        ),
        (
            r#"{"tokenizer_class": "LlamaTokenizer", "model_max_length": 131072, "chat_template": "{{ x }}"}"#,
            "this is a tokenizer_config.json; pick the file named config.json beside it",
        ),
        (
            r#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {}, "model": {"type": "BPE"}}"#,
            "this is a tokenizer.json; pick the file named config.json beside it",
        ),
        (
            r#"{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B", "r": 16}"#,
            r#"this is a LoRA adapter's configuration; import the config.json of its base model, "meta-llama/Llama-3.1-8B""#,
        ),
        (
            r#"{"peft_type": "LORA", "r": 16}"#,
            "this is a LoRA adapter's configuration; import the config.json of its base model",
        ),
        (
            r#"{"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.21.4"}"#,
            "this is a diffusers configuration, of a model that makes images, video or sound and keeps no KV cache; pick the config.json of a language model",
        ),
        (
            r#"{"do_sample": true, "temperature": 0.6, "top_p": 0.95, "transformers_version": "4.51.0"}"#,
            "this is a generation_config.json; pick the file named config.json beside it",
        ),
        (
            r#"{"metadata": {"total_size": 16060522496}, "weight_map": {"lm_head.weight": "model-00004-of-00004.safetensors"}}"#,
            "this is the index of safetensors files; pick the file named config.json beside it",
        ),
        (
            r#"{"general.architecture": "llama", "llama.block_count": 32}"#,
            "this is a dump of a GGUF file's metadata; open the GGUF file itself",
        ),
        (
            r#"{"metadata": {"general.architecture": "llama", "llama.block_count": 32}, "tensors": {}}"#,
            "this is a dump of a GGUF file's metadata; open the GGUF file itself",
        ),
        (
            r#"{"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 14}"#,
            "this is a preprocessor_config.json; pick the file named config.json beside it",
        ),
        (
            r#"{"quant_method": "awq", "bits": 4}"#,
            "this is a quantization configuration; pick the file named config.json beside it",
        ),
        (
            r#"{"model_type": "bert", "num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 768}"#,
            r#"model_type "bert" is an encoder: it reads its whole input at once and keeps no cache; pick a model that generates text"#,
        ),
        (
            r#"{"model_type": "clip", "text_config": {"model_type": "clip_text_model"}, "vision_config": {}}"#,
            r#"model_type "clip_text_model" is an encoder: it reads its whole input at once and keeps no cache; pick a model that generates text"#,
        ),
    ] {
        check_error(text, expected);
    }
}

#[test]
fn a_broken_config_says_which_key() {
    for (text, expected) in [
        (
            r#"{"num_hidden_layers": 0, "num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is 0, and must be from 1 to 10000",
        ),
        (
            r#"{"num_hidden_layers": 10001, "num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is 10001, and must be from 1 to 10000",
        ),
        (
            r#"{"num_hidden_layers": 1e300, "num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is 1e+300, and must be a whole number from 0 to 2^53 − 1",
        ),
        (
            r#"{"num_hidden_layers": -3, "num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is -3, and must be a whole number from 0 to 2^53 − 1",
        ),
        (
            r#"{"num_hidden_layers": 1.5, "num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is 1.5, and must be a whole number from 0 to 2^53 − 1",
        ),
        (
            r#"{"num_hidden_layers": {"a": 1}, "num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is an object, and must be a whole number from 0 to 2^53 − 1",
        ),
        (
            r#"{"num_attention_heads": 8, "hidden_size": 512}"#,
            "num_hidden_layers is missing; add it",
        ),
        (
            r#"{"model_type": "brandnew", "num_attention_heads": 8, "hidden_size": 512}"#,
            r#"num_hidden_layers is missing, and no default is known for model_type "brandnew"; add it, or type the dimensions by hand"#,
        ),
        (
            r#"{"num_hidden_layers": 2, "hidden_size": 512}"#,
            "num_attention_heads is missing; add it",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8}"#,
            "hidden_size is missing; add it",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 0, "hidden_size": 512}"#,
            "num_attention_heads is 0, and must be at least 1",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 0, "hidden_size": 512}"#,
            "num_key_value_heads is 0, and must be at least 1",
        ),
        (
            r#"{"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": [8, 8, 0], "hidden_size": 512}"#,
            "num_key_value_heads has 3 entries for 4 layers; give one number for each layer, or one for all",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 0}"#,
            "hidden_size is 0, and must be at least 1",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 7, "hidden_size": 512}"#,
            "head_dim is missing, and hidden_size 512 is not a multiple of num_attention_heads 7; add head_dim, or type the dimensions by hand",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "head_dim": "wide"}"#,
            r#"head_dim is "wide", and must be a whole number from 0 to 2^53 − 1"#,
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "head_dim": 5000000000}"#,
            "head_dim is 5000000000, and must be at most 4294967295",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "use_sliding_window": "yes", "sliding_window": 4}"#,
            r#"use_sliding_window is "yes", and must be true or false"#,
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "kv_lora_rank": 512}"#,
            "qk_rope_head_dim is missing; add it",
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "layer_types": ["full_attention", "hyper_attention"]}"#,
            r#"layer 1 has layer type "hyper_attention", which this version does not know (known: full_attention, sliding_attention, chunked_attention, linear_attention, mamba, conv, hybrid, hybrid_sliding, attention, recurrent, moe, mlp, compressed_sparse_attention, heavily_compressed_attention, deepseek_sparse_attention, indexed_attention, minimax_m3_sparse); please report it with the config.json"#,
        ),
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "layer_types": ["full_attention"]}"#,
            "layer_types is 1 long for 2 layers; it must have an entry for each layer",
        ),
        (
            r#"{"num_hidden_layers": 1, "num_attention_heads": 8, "hidden_size": 512, "layer_types": ["sliding_attention"]}"#,
            "sliding_window is missing; add it",
        ),
        (
            r#"{"num_hidden_layers": 1, "num_attention_heads": 8, "hidden_size": 512, "layer_types": ["linear_attention"]}"#,
            "layer 0 keeps a recurrent state, and nothing in the file gives its dimensions in a way this version knows; please report it with the config.json",
        ),
        (
            r#"{"num_hidden_layers": 1, "num_attention_heads": 8, "hidden_size": 512, "layer_types": [7]}"#,
            "layer 0 has layer type 7, which this version does not know (known: full_attention, sliding_attention, chunked_attention, linear_attention, mamba, conv, hybrid, hybrid_sliding, attention, recurrent, moe, mlp, compressed_sparse_attention, heavily_compressed_attention, deepseek_sparse_attention, indexed_attention, minimax_m3_sparse); please report it with the config.json",
        ),
        (
            r#"{"num_hidden_layers": 4, "hybrid_override_pattern": "M*-X", "model_type": "nemotron_h"}"#,
            r#"hybrid_override_pattern has "X" for layer 3, which this version does not know (known: M, *, -, E); please report it with the config.json"#,
        ),
        (
            r#"{"num_hidden_layers": 4, "hybrid_override_pattern": "M*", "num_attention_heads": 8, "hidden_size": 512}"#,
            "hybrid_override_pattern is 2 long for 4 layers; it must have an entry for each layer",
        ),
        (
            r#"{"num_hidden_layers": 4, "num_attention_heads": 8, "hidden_size": 512, "sliding_window": 8, "sliding_window_pattern": "LLQ"}"#,
            r#"sliding_window_pattern has "Q", which this version does not know (known: L, G); please report it with the config.json"#,
        ),
        (
            r#"{"model_type": "zamba2", "num_hidden_layers": 4}"#,
            r#"layer_types is missing, and no default is known for model_type "zamba2"; add it, or type the dimensions by hand"#,
        ),
        (
            r#"{"num_hidden_layers": 1, "num_attention_heads": 8, "hidden_size": 512, "block_configs": [{"attention": {"window_length": 9}}]}"#,
            "layer 0 has window_length 9 in block_configs, which this version does not know; please report it with the config.json",
        ),
    ] {
        check_error(text, expected);
    }
}

#[test]
fn what_is_not_known_is_said() {
    for (text, expected) in [
        (
            r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512}"#,
            &["num_key_value_heads is missing; as many as num_attention_heads are assumed"][..],
        ),
        (
            r#"{"model_type": "brandnew", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "attn_folding": 2, "kv_pool": false}"#,
            &[
                r#"model_type "brandnew" is not known; its layers were read by the general rules, so check the working"#,
                r#"the key "attn_folding" was not understood; it may change what the cache keeps"#,
            ],
        ),
        (
            r#"{"model_type": "gemma3_text", "num_hidden_layers": 6}"#,
            &[
                "the file does not say the context the model was trained for; 131072 tokens are the default of its class",
                r#"the file leaves these out, and the defaults of model_type "gemma3_text" were taken: head_dim, num_attention_heads, num_key_value_heads, sliding_window"#,
            ],
        ),
        (
            r#"{"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 512, "max_position_embeddings": 8192, "sliding_window": 4096, "roles": ["a", "b", "a", "b"], "mlp_widths": [1, 2, 3, 4]}"#,
            &[
                r#"sliding_window 4096 was ignored: model_type "llama" has no window"#,
                r#"the key "roles" was not understood; it may change what the cache keeps"#,
            ],
        ),
        (
            r#"{"model_type": "cohere", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "max_position_embeddings": 8192, "model_max_length": 131072}"#,
            &[
                "max_position_embeddings is 8192, and model_max_length 131072 is taken, as vLLM does",
            ],
        ),
        (
            r#"{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 4.0}}"#,
            &["max_position_embeddings is 4096; linear rope scaling lets vLLM serve 16384"],
        ),
        (
            r#"{"model_type": "qwen2", "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 512, "max_position_embeddings": 32768, "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}"#,
            &["max_position_embeddings is 32768, and YaRN extends it to 131072"],
        ),
    ] {
        let model = import(text, None).unwrap_or_else(|err| panic!("{text}: {err}"));
        // What is said of weights is tested with the weights.
        let found: Vec<String> = model
            .notes
            .iter()
            .filter(|note| !note.code.starts_with("weights_"))
            .inspect(|note| check_in_chinese(&note.message))
            .map(|note| note.message.to_string())
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn text_that_is_almost_json_is_read() {
    let plain = r#"{"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512}"#;
    let expected = import(plain, None).map(|model| model.groups);
    for text in [
        format!("\u{feff}{plain}"),
        format!("LlamaConfig {plain}\n"),
        plain.replace(
            '}',
            r#", "time_step_limit": [0.0, Infinity], "a": NaN, "b": -Infinity, "c": "Infinity"}"#,
        ),
        plain.replace("512", "512.0"),
    ] {
        assert_eq!(
            import(&text, None).map(|model| model.groups),
            expected,
            "{text}"
        );
    }
}

#[test]
fn huge_texts_are_refused_before_they_are_parsed() {
    let text = "[".repeat(5 << 20);
    check_error(
        &text,
        "the text has 5242880 bytes, and a config.json has at most 4194304; pick the file named config.json",
    );
    let deep = "[".repeat(100_000);
    assert!(import(&deep, None).is_err());
}

const KEYS: &[&str] = &[
    "model_type",
    "text_config",
    "num_hidden_layers",
    "n_layer",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "index_head_dim",
    "layer_types",
    "sliding_window",
    "sliding_window_pattern",
    "use_sliding_window",
    "max_window_layers",
    "compress_ratios",
    "hybrid_override_pattern",
    "block_configs",
    "attn_layer_period",
    "attn_layer_offset",
    "full_attention_interval",
    "layer_group_size",
    "linear_attn_config",
    "attn_type_list",
    "no_rope_layers",
    "attention_chunk_size",
    "num_kv_shared_layers",
    "use_cla",
    "cla_share_factor",
    "kv_reuse_group",
    "mamba_d_state",
    "mamba_num_heads",
    "mamba_expand",
    "mamba_step",
    "rope_scaling",
    "max_position_embeddings",
    "is_encoder_decoder",
    "block_types",
    "first_k_dense_replace",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "conv_L_cache",
    "lru_width",
    "ssm_cfg",
    "per_layer_config",
];

const WORDS: &[&str] = &[
    "llama",
    "gemma2",
    "gemma3_text",
    "gemma4_text",
    "falcon",
    "mpt",
    "chatglm",
    "zamba",
    "plamo2",
    "phi4flash",
    "deepseek_v4",
    "cohere2_moe",
    "muse_glimmer_text",
    "mamba2",
    "rwkv7",
    "hymba",
    "bailing_hybrid",
    "olmo_hybrid",
    "minimax",
    "whisper",
    "t5",
    "jetmoe",
    "longcat_flash",
    "full_attention",
    "sliding_attention",
    "linear_attention",
    "conv",
    "hybrid",
    "compressed_sparse_attention",
    "M*-E",
    "LLLG",
    "yarn",
    "auto",
    "",
];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|flag| json!(flag)),
        (0_u64..70).prop_map(|number| json!(number)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        select(WORDS).prop_map(|word| json!(word)),
        ".{0,8}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(|list| json!(list)),
            vec((select(KEYS), inner), 0..6).prop_map(object),
        ]
    })
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Value::Object(fields.collect())
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let _ = import(&text, None);
    }

    #[test]
    fn no_config_panics(fields in vec((select(KEYS), any_value()), 0..20), model_type in select(WORDS)) {
        let mut config = object(fields);
        config["model_type"] = json!(model_type);
        if let Ok(model) = import_value(&config, None) {
            prop_assert!(!model.layers.is_empty() && model.layers.len() <= 10_000);
            let _ = model.cache_bytes(Tokens(u64::MAX), formats(formats::F32), 3);
        }
    }
}

/// A configuration of megabytes, most of them labels, makes a link that the page can read.
#[test]
fn what_says_nothing_about_the_layers_does_not_fill_the_link() {
    let labels: serde_json::Map<String, Value> = (0..60_000)
        .map(|idx| (idx.to_string(), Value::from(format!("LABEL_{idx}"))))
        .collect();
    let config = |types: usize| {
        json!({
            "model_type": "llama",
            "num_hidden_layers": types,
            "num_attention_heads": 8,
            "hidden_size": 512,
            "intermediate_size": 1024,
            "vocab_size": 1000,
            "layer_types": vec!["full_attention"; types],
            "id2label": labels,
            "text": { "label2id": labels },
        })
    };
    let text = config(400).to_string();
    assert!(2_000_000 < text.len(), "{}", text.len());
    let choice = ModelChoice::from_text(&text, "").expect("a model");
    assert_eq!(choice.config.layers.len(), 400);
    let scenario = Scenario {
        model: choice.clone(),
        ..Scenario::default()
    };
    let link = to_fragment(&scenario);
    assert!(link.len() < 100_000, "{}", link.len());
    let opened = from_fragment(&link, &[]);
    assert_eq!(opened.errors, []);
    assert_eq!(opened.scenario.model.config.groups, choice.config.groups);
}

#[test]
fn names_that_a_file_gives() {
    let name = |more: Value| {
        let mut config = json!({
            "model_type": "llama",
            "num_hidden_layers": 2,
            "num_attention_heads": 8,
            "hidden_size": 512,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            config[key] = value.clone();
        }
        import_value(&config, None).expect("a model").name
    };
    assert_eq!(name(json!({})), "llama");
    assert_eq!(
        name(json!({ "architectures": ["Qwen3MoeForCausalLM"] })),
        "Qwen3Moe"
    );
    assert_eq!(
        name(json!({ "architectures": ["GPT2LMHeadModel"] })),
        "GPT2"
    );
    assert_eq!(
        name(json!({ "architectures": ["XForCausalLM"], "_name_or_path": "maker/model-7b" })),
        "maker/model-7b"
    );
}

#[test]
fn binary_files_are_named_without_codes() {
    let check = |text: &str, expected: &str| {
        let error = ModelChoice::from_text(text, "").expect_err("no model");
        assert_eq!(error.to_string(), expected);
    };
    check(
        "\u{fffd}PNG\r\n\u{1a}\n\0\0\0\rIHDR",
        "this is not text but a picture, an archive or another binary file; pick the file named config.json beside it",
    );
    check(
        "GGUF\u{3}\0\0\0",
        "this is a GGUF file, which is not text; open it as a file instead of pasting it",
    );
    check(
        "\u{fffd}\u{7}Model \"x\"",
        "the text begins with \"Model \"x\"\", and a config.json begins with {; paste it from the first { to the last }",
    );
}

/// Source: `Gemma4TextConfig` since transformers 5.15 writes its global layers' dimensions by index;
/// `BambaConfig.layers_block_type` makes every layer Mamba when there is no list.
#[test]
fn dimensions_by_index_and_lists_of_nothing() {
    let gemma = json!({
        "model_type": "gemma4_text",
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "hidden_size": 2048,
        "sliding_window": 512,
        "per_layer_config": { "5": { "head_dim": 512, "num_key_value_heads": 2 } },
    });
    let model = import_value(&gemma, None).expect("a model");
    let widths: Vec<_> = model
        .groups
        .iter()
        .map(|group| {
            (
                group.kind.num_key_value_heads(),
                group.kind.id(),
                group.count,
            )
        })
        .collect();
    assert_eq!(widths, [(Some(4), "sliding", 5), (Some(2), "full", 1)]);
    let bamba = json!({
        "model_type": "bamba",
        "num_hidden_layers": 3,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "hidden_size": 1024,
        "attn_layer_indices": null,
    });
    let model = import_value(&bamba, None).expect("a model");
    assert_eq!(model.groups.len(), 1);
    assert!(matches!(model.groups[0].kind, LayerKind::Recurrent(_)));
}
