//! Files that are dropped by mistake: what they are, and which file is meant.

use serde_json::Value;

use super::ImportError;
use super::config_view::ConfigView;
use super::layer_types::quoted;
use crate::core::import::sentences::{Key, Part, Sentence, say};

/// An error for a text that is not JSON but is recognized by how it begins.
pub(super) fn of_text(text: &str) -> Option<ImportError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let lower: String = text
        .chars()
        .take(200)
        .collect::<String>()
        .to_ascii_lowercase();
    let what = if lower.starts_with("<!doctype")
        || lower.starts_with("<html")
        || lower.starts_with("<?xml")
    {
        say!(web_page)
    } else if text.starts_with("GGUF") {
        say!(gguf_pasted)
    } else if lower.starts_with("version https://git-lfs") {
        say!(lfs_pointer, command = "git lfs pull")
    } else if text.contains('\0') {
        say!(binary)
    } else if lower.starts_with("---") || lower.starts_with("# ") {
        say!(document)
    } else if lower.starts_with("pk\u{3}\u{4}") {
        say!(zip)
    } else if lower.starts_with('{')
        && text.contains("\"__metadata__\"")
        && text.contains("\"data_offsets\"")
    {
        say!(weights_pasted)
    } else {
        return None;
    };
    Some(ImportError::new("wrong_file", what))
}

/// What a file is.
#[derive(Clone, Copy)]
enum File {
    Named(&'static str),
    Kind(Key),
}

/// A key that only this kind of file has, and what the file is.
const BY_KEY: &[(&str, File)] = &[
    ("weight_map", File::Kind(Key::an_index)),
    ("__metadata__", File::Kind(Key::a_header)),
    ("added_tokens_decoder", File::Named("tokenizer_config.json")),
    ("tokenizer_class", File::Named("tokenizer_config.json")),
    ("chat_template", File::Kind(Key::a_tokenizer)),
    ("pre_tokenizer", File::Named("tokenizer.json")),
    ("added_tokens", File::Named("tokenizer.json")),
    (
        "additional_special_tokens",
        File::Named("special_tokens_map.json"),
    ),
    (
        "image_processor_type",
        File::Named("preprocessor_config.json"),
    ),
    (
        "feature_extractor_type",
        File::Named("preprocessor_config.json"),
    ),
    ("processor_class", File::Named("processor_config.json")),
    ("do_sample", File::Named("generation_config.json")),
    ("max_new_tokens", File::Named("generation_config.json")),
    ("_from_model_config", File::Named("generation_config.json")),
    ("temperature", File::Named("generation_config.json")),
    ("quant_method", File::Kind(Key::a_quantization)),
    ("w_bit", File::Kind(Key::a_quantization)),
    ("train_batch_size", File::Kind(Key::a_training)),
    ("per_device_train_batch_size", File::Kind(Key::a_training)),
    ("zero_optimization", File::Kind(Key::a_training)),
    ("siblings", File::Kind(Key::a_hub_answer)),
    ("devDependencies", File::Named("package.json")),
];

/// Models that read a whole text, picture or sound at once and keep nothing between tokens, by the beginning of their
/// type.
const ENCODERS: &str = "albert bert big_bird camembert clip convnext data2vec deberta deit detr dinov distilbert electra ernie_m esm \
    eurobert flaubert fnet funnel gte hubert layoutlm longformer luke mobilebert modernbert mpnet nomic_bert \
    nystromformer rembert roberta roformer sam segformer sew siglip squeezebert swin unispeech vit wav2vec2 wavlm \
    xlm-roberta xmod yolos";

/// An error for an object that is another kind of file.
pub(super) fn of_fields(view: &ConfigView<'_>) -> Option<ImportError> {
    let root = view.root();
    let error = |what: Sentence| Some(ImportError::new("wrong_file", what));
    if root.is_empty() {
        return error(say!(empty_object));
    }
    if root.contains_key("peft_type") || root.contains_key("base_model_name_or_path") {
        let base = root.get("base_model_name_or_path").and_then(Value::as_str);
        return error(match base.filter(|base| !base.is_empty()) {
            Some(base) => say!(lora_of, base = quoted(base)),
            None => say!(lora),
        });
    }
    if root.contains_key("_class_name") || root.contains_key("_diffusers_version") {
        return error(say!(diffusers));
    }
    let is_gguf = |key: &str| key.starts_with("general.") || key.ends_with(".block_count");
    let in_metadata = root.get("metadata").and_then(Value::as_object);
    if root
        .keys()
        .chain(in_metadata.into_iter().flat_map(|fields| fields.keys()))
        .any(|key| is_gguf(key))
    {
        return error(say!(gguf_dump));
    }
    let has_dims = ["num_hidden_layers", "num_attention_heads", "hidden_size"]
        .iter()
        .any(|name| view.has(name));
    if !has_dims && let Some((_, what)) = BY_KEY.iter().find(|(key, _)| root.contains_key(*key)) {
        let what = match *what {
            File::Named(name) => Part::from(say!(a_file, name)),
            File::Kind(key) => Part::from(key),
        };
        return error(say!(other_file, what));
    }
    let model_type = view.model_type();
    let is_decoder = view.flag("is_decoder") == Some(true) || model_type == "modernbert-decoder";
    if !is_decoder
        && ENCODERS
            .split_whitespace()
            .any(|name| model_type.starts_with(name))
    {
        return error(say!(encoder, model_type = quoted(model_type)));
    }
    None
}
