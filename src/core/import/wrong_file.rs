//! Files that are dropped by mistake: what they are, and which file is meant.

use serde_json::Value;

use super::ImportError;
use super::config_view::ConfigView;
use super::layer_types::quoted;

/// What to do instead, for most files.
const WANTED: &str = "pick the file named config.json beside it";

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
        "this is a web page, not the file it shows; use its download link, or copy from the first { to the last }".to_owned()
    } else if text.starts_with("GGUF") {
        "this is a GGUF file, which is not text; open it as a file instead of pasting it".to_owned()
    } else if lower.starts_with("version https://git-lfs") {
        "this is a Git LFS pointer, not the file it points to; run git lfs pull, or download the file itself".to_owned()
    } else if text.contains('\0') {
        format!("this is not text but a picture, an archive or another binary file; {WANTED}")
    } else if lower.starts_with("---") || lower.starts_with("# ") {
        format!("this is a text document such as a README, not JSON; {WANTED}")
    } else if lower.starts_with("pk\u{3}\u{4}") {
        format!("this is a zip archive, not JSON; {WANTED}")
    } else if lower.starts_with('{')
        && text.contains("\"__metadata__\"")
        && text.contains("\"data_offsets\"")
    {
        format!("this is a safetensors file, which holds weights; {WANTED}")
    } else {
        return None;
    };
    Some(ImportError::new("wrong_file", what))
}

/// A key that only this kind of file has, and what the file is.
const BY_KEY: &[(&str, &str)] = &[
    ("weight_map", "this is the index of safetensors files"),
    ("__metadata__", "this is the header of a safetensors file"),
    ("added_tokens_decoder", "this is a tokenizer_config.json"),
    ("tokenizer_class", "this is a tokenizer_config.json"),
    ("chat_template", "this is a tokenizer's file"),
    ("pre_tokenizer", "this is a tokenizer.json"),
    ("added_tokens", "this is a tokenizer.json"),
    (
        "additional_special_tokens",
        "this is a special_tokens_map.json",
    ),
    ("image_processor_type", "this is a preprocessor_config.json"),
    (
        "feature_extractor_type",
        "this is a preprocessor_config.json",
    ),
    ("processor_class", "this is a processor_config.json"),
    ("do_sample", "this is a generation_config.json"),
    ("max_new_tokens", "this is a generation_config.json"),
    ("_from_model_config", "this is a generation_config.json"),
    ("temperature", "this is a generation_config.json"),
    ("quant_method", "this is a quantization configuration"),
    ("w_bit", "this is a quantization configuration"),
    ("train_batch_size", "this is a training configuration"),
    (
        "per_device_train_batch_size",
        "this is a training configuration",
    ),
    ("zero_optimization", "this is a training configuration"),
    ("siblings", "this is a hub's answer about a repository"),
    ("devDependencies", "this is a package.json"),
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
    let error = |what: String| Some(ImportError::new("wrong_file", what));
    if root.is_empty() {
        return error("the object is empty; paste the whole config.json of a model, from the first { to the last }".to_owned());
    }
    if root.contains_key("peft_type") || root.contains_key("base_model_name_or_path") {
        let base = root.get("base_model_name_or_path").and_then(Value::as_str);
        return error(match base.filter(|base| !base.is_empty()) {
            Some(base) => format!(
                "this is a LoRA adapter's configuration; import the config.json of its base model, {}",
                quoted(base)
            ),
            None => {
                "this is a LoRA adapter's configuration; import the config.json of its base model"
                    .to_owned()
            }
        });
    }
    if root.contains_key("_class_name") || root.contains_key("_diffusers_version") {
        return error("this is a diffusers configuration, of a model that makes images, video or sound and keeps no KV cache; pick the config.json of a language model".to_owned());
    }
    let is_gguf = |key: &str| key.starts_with("general.") || key.ends_with(".block_count");
    let in_metadata = root.get("metadata").and_then(Value::as_object);
    if root
        .keys()
        .chain(in_metadata.into_iter().flat_map(|fields| fields.keys()))
        .any(|key| is_gguf(key))
    {
        return error(
            "this is a dump of a GGUF file's metadata; open the GGUF file itself".to_owned(),
        );
    }
    let has_dims = ["num_hidden_layers", "num_attention_heads", "hidden_size"]
        .iter()
        .any(|name| view.has(name));
    if !has_dims && let Some((_, what)) = BY_KEY.iter().find(|(key, _)| root.contains_key(*key)) {
        return error(format!("{what}; {WANTED}"));
    }
    let model_type = view.model_type();
    let is_decoder = view.flag("is_decoder") == Some(true) || model_type == "modernbert-decoder";
    if !is_decoder
        && ENCODERS
            .split_whitespace()
            .any(|name| model_type.starts_with(name))
    {
        return error(format!(
            "model_type {} is an encoder: it reads its whole input at once and keeps no cache; pick a model that generates text",
            quoted(model_type)
        ));
    }
    None
}
