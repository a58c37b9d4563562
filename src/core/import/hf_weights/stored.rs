//! How a config.json says its weights are stored: `quantization_config` in all its dialects.

use serde_json::{Map, Value};

use crate::core::import::config_view::ConfigView;
use crate::core::import::sentences::say;
use crate::core::model::ImportNote;
use crate::core::units::{ElementFormat, Scale, formats};
use crate::core::weights::{StoredWeights, WeightFormat, elements, weight_format};

/// How the file says its weights are stored; `None` when they are not quantized, or in a way that a note names.
///
/// Source: `QuantizationMethod` and the configuration classes of transformers 5.24.0
/// (`src/transformers/utils/quantization_config.py`), `hf_quant_config.json` of NVIDIA ModelOpt, AMD Quark, MLX.
/// Difference: lists of modules that stay unquantized are followed for attention, MLPs, shared and routed experts as a
/// whole; single projections and single layers on such a list are not.
pub(in crate::core::import) fn stored(
    view: &ConfigView<'_>,
    notes: &mut Vec<ImportNote>,
) -> Option<StoredWeights> {
    let config = ["quantization_config", "compression_config", "quantization"]
        .iter()
        .find_map(|name| {
            view.value(name)
                .or_else(|| view.root().get(*name))?
                .as_object()
        })?;
    let method = text(config, "quant_method")
        .unwrap_or_default()
        .to_lowercase();
    let Some(mut format) = format_of(config, &method, view) else {
        let method = super::super::layer_types::quoted(&method);
        notes.push(ImportNote {
            code: "weight_format_unknown",
            message: say!(quant_method, method).into(),
        });
        return None;
    };
    leave_out(&mut format, config, view);
    Some(StoredWeights {
        format,
        bytes: None,
    })
}

fn format_of(
    config: &Map<String, Value>,
    method: &str,
    view: &ConfigView<'_>,
) -> Option<WeightFormat> {
    match method {
        "fp8" | "fbgemm_fp8" => {
            let format = fp8(config.get("weight_block_size"))?;
            // DeepSeek-V4 stores its routed experts in four bits.
            if view.text("expert_dtype") == Some("fp4") {
                return Some(WeightFormat {
                    attention: format,
                    mlp: format,
                    ..weight_format("mxfp4")?
                });
            }
            linear(fp8_id(format), format)
        }
        "awq" => {
            let has_zeros = flag(config, "zero_point").unwrap_or(true);
            integers(
                config,
                &["bits", "w_bit"],
                &["group_size", "q_group_size"],
                !has_zeros,
            )
        }
        // GPTQ files hold zeros even when they are all the same.
        "gptq" | "gptq_marlin" | "auto-round" | "autoround" | "intel/auto-round" => {
            let mut res = integers(config, &["bits"], &["group_size"], false)?;
            if flag(config, "lm_head") == Some(true) {
                res.head = res.mlp;
            }
            Some(res)
        }
        "compressed-tensors" | "compressed_tensors" => {
            let group = config.get("config_groups")?.as_object()?.values().next()?;
            compressed_tensors(group.get("weights")?.as_object()?)
        }
        "bitsandbytes" | "bitsandbytes_4bit" | "bitsandbytes_8bit" => bitsandbytes(config),
        // As gpt-oss ships it: the routed experts alone.
        "mxfp4" | "gpt_oss_mxfp4" => {
            let format = weight_format("mxfp4")?;
            Some(only_routed_experts(format))
        }
        "quark" => quark(config),
        "hqq" => {
            let inner = config
                .get("quant_config")?
                .get("weight_quant_params")?
                .as_object()?;
            integers(inner, &["nbits"], &["group_size"], false)
        }
        "eetq" => weight_format("int8"),
        // Their settings are a name, or an object whose class says it.
        "quanto" | "torchao" => named(&Value::Object(config.clone()).to_string()),
        // MLX keeps no method: matrices, embedding and head in groups with a scale and a bias of 2 bytes each.
        "" if config.contains_key("bits") => mlx(config),
        _ if method.starts_with("modelopt") || config.contains_key("quant_algo") => {
            modelopt(config)
        }
        "" => modelopt(config),
        _ => None,
    }
}

fn text<'a>(config: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    config.get(name)?.as_str()
}

fn flag(config: &Map<String, Value>, name: &str) -> Option<bool> {
    config.get(name)?.as_bool()
}

fn number(config: &Map<String, Value>, names: &[&str]) -> Option<i64> {
    names.iter().find_map(|name| config.get(*name)?.as_i64())
}

/// The listed format of this id with another element format in its linear layers.
fn linear(id: &str, format: ElementFormat) -> Option<WeightFormat> {
    let listed = weight_format(id)?;
    Some(WeightFormat {
        attention: format,
        mlp: format,
        routed_experts: format,
        ..listed
    })
}

fn only_routed_experts(format: WeightFormat) -> WeightFormat {
    WeightFormat {
        attention: formats::BF16,
        mlp: formats::BF16,
        ..format
    }
}

/// fp8 with a scale for each tensor, row or tile. A tile that is null or missing means no tiles.
fn fp8(tile: Option<&Value>) -> Option<ElementFormat> {
    let Some(Value::Array(sides)) = tile else {
        return Some(formats::FP8);
    };
    let sides: Option<Vec<u32>> = sides
        .iter()
        .map(|side| u32::try_from(side.as_u64()?).ok())
        .collect();
    let elements = sides?
        .into_iter()
        .try_fold(1_u32, u32::checked_mul)
        .filter(|elements| *elements != 0)?;
    Some(ElementFormat {
        id: "fp8_block",
        block_bytes: elements.checked_add(4)?,
        block_elements: elements,
        scale: Scale::InBlock,
    })
}

fn fp8_id(format: ElementFormat) -> &'static str {
    if format == formats::FP8 {
        "fp8"
    } else {
        "fp8_block"
    }
}

/// Grouped integers of 4 or 8 bits.
fn integers(
    config: &Map<String, Value>,
    bits: &[&str],
    group_size: &[&str],
    is_symmetric: bool,
) -> Option<WeightFormat> {
    let bits = number(config, bits)?;
    // −1 and null mean one group for a whole row.
    let group_size = number(config, group_size).unwrap_or(-1).max(0);
    let format = elements::grouped(
        u32::try_from(bits).ok()?,
        u32::try_from(group_size).ok()?,
        is_symmetric,
    );
    match bits {
        4 => linear("int4", format),
        8 => linear("int8", format),
        _ => None,
    }
}

fn compressed_tensors(weights: &Map<String, Value>) -> Option<WeightFormat> {
    let bits = number(weights, &["num_bits"])?;
    let group_size = number(weights, &["group_size"]).unwrap_or(-1);
    match (text(weights, "type")?, bits) {
        ("float", 8) => {
            let format = fp8(weights.get("block_structure"))?;
            linear(fp8_id(format), format)
        }
        ("float", 4) if group_size == 16 => weight_format("nvfp4"),
        ("float", 4) => weight_format("mxfp4"),
        ("int", _) => {
            let is_symmetric = flag(weights, "symmetric").unwrap_or(true);
            integers(weights, &["num_bits"], &["group_size"], is_symmetric)
        }
        _ => None,
    }
}

fn bitsandbytes(config: &Map<String, Value>) -> Option<WeightFormat> {
    let is = |names: [&str; 2]| names.iter().any(|name| flag(config, name) == Some(true));
    if is(["load_in_8bit", "_load_in_8bit"]) {
        return weight_format("int8");
    }
    if !is(["load_in_4bit", "_load_in_4bit"]) {
        return None;
    }
    weight_format(if flag(config, "bnb_4bit_use_double_quant") == Some(true) {
        "bnb_nf4_double"
    } else {
        "bnb_nf4"
    })
}

fn quark(config: &Map<String, Value>) -> Option<WeightFormat> {
    let weight = config.get("global_quant_config")?.get("weight")?;
    // Of several steps the last is what is stored.
    let weight = match weight {
        Value::Array(steps) => steps.last()?,
        other => other,
    };
    let weight = weight.as_object()?;
    let group_size = number(weight, &["group_size"]).unwrap_or(-1).max(0);
    let group_size = u32::try_from(group_size).ok()?;
    let dtype = text(weight, "dtype")?;
    let is_symmetric = flag(weight, "symmetric").unwrap_or(true);
    if dtype.starts_with("fp8") {
        weight_format("fp8")
    } else if dtype.starts_with("fp4") || dtype.starts_with("mx") {
        weight_format("mxfp4")
    } else if dtype.ends_with("int4") {
        linear("int4", elements::grouped(4, group_size, is_symmetric))
    } else if dtype.ends_with("int8") {
        linear("int8", elements::grouped(8, group_size, is_symmetric))
    } else {
        None
    }
}

fn named(settings: &str) -> Option<WeightFormat> {
    let settings = settings.to_lowercase();
    let id = [
        ("int4", "int4"),
        ("uint4", "int4"),
        ("int8", "int8"),
        ("float8", "fp8"),
        ("fp8", "fp8"),
    ]
    .iter()
    .find(|(name, _)| settings.contains(name))
    .map(|(_, id)| *id)?;
    weight_format(id)
}

fn mlx(config: &Map<String, Value>) -> Option<WeightFormat> {
    let bits = u32::try_from(number(config, &["bits"])?).ok()?;
    let group_size = u32::try_from(number(config, &["group_size"]).unwrap_or(64)).ok()?;
    let (id, format) = match text(config, "mode") {
        Some("mxfp4") => ("mxfp4", formats::MXFP4),
        Some("nvfp4") => ("nvfp4", formats::NVFP4),
        _ => {
            let id = match bits {
                4 => "int4",
                8 => "int8",
                _ => return None,
            };
            let group = group_size.clamp(1, 65_536);
            let format = ElementFormat {
                id: "mlx",
                block_bytes: group * bits + 32,
                block_elements: group * 8,
                scale: Scale::InBlock,
            };
            (id, format)
        }
    };
    Some(WeightFormat {
        embedding: format,
        head: format,
        ..linear(id, format)?
    })
}

fn modelopt(config: &Map<String, Value>) -> Option<WeightFormat> {
    let inner = config
        .get("quantization")
        .and_then(Value::as_object)
        .unwrap_or(config);
    let algorithm = text(inner, "quant_algo")?;
    if algorithm != "MIXED_PRECISION" {
        return modelopt_algorithm(algorithm);
    }
    // One algorithm for each layer; the first of the attentions and of the experts speak for all.
    let layers = inner.get("quantized_layers")?.as_object()?;
    let of = |has: &dyn Fn(&str) -> bool| {
        let (_, layer) = layers.iter().find(|(name, _)| has(name))?;
        modelopt_algorithm(layer.get("quant_algo")?.as_str()?)
    };
    let attention = of(&|name| name.contains("attn"));
    let experts = of(&|name| name.contains("experts") && !name.contains("shared"));
    let mlp = of(&|name| name.contains("mlp") && !name.contains(".experts"));
    let res = experts.or(mlp).or(attention)?;
    Some(WeightFormat {
        attention: attention.map_or(formats::BF16, |format| format.attention),
        mlp: mlp.map_or(formats::BF16, |format| format.mlp),
        routed_experts: experts.map_or(formats::BF16, |format| format.routed_experts),
        ..res
    })
}

fn modelopt_algorithm(name: &str) -> Option<WeightFormat> {
    match name {
        "FP8_PB_WO" | "FP8_PB_REAL" => weight_format("fp8_block"),
        "INT8_SQ" | "W8A8_SQ_PER_CHANNEL" | "W8A16" => weight_format("int8"),
        "W4A16_AWQ" | "W4A8_AWQ" => linear("int4", elements::grouped(4, 128, true)),
        "W4A16_MXFP4" | "MXFP4" | "W4A8_MXFP4_FP8" => weight_format("mxfp4"),
        _ if name.contains("NVFP4") => weight_format("nvfp4"),
        _ if name.starts_with("FP8") => weight_format("fp8"),
        _ => None,
    }
}

/// What a list of modules that stay unquantized names, when it names it in all layers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Attention,
    Mlp,
    RoutedExperts,
}

fn leave_out(format: &mut WeightFormat, config: &Map<String, Value>, view: &ConfigView<'_>) {
    const LISTS: [&str; 7] = [
        "modules_to_not_convert",
        "ignore",
        "ignored_layers",
        "exclude",
        "exclude_modules",
        "exclude_layers",
        "llm_int8_skip_modules",
    ];
    let inner = config.get("quantization").and_then(Value::as_object);
    let lists: Vec<&Vec<Value>> = LISTS
        .iter()
        .filter_map(|name| config.get(*name).or_else(|| inner?.get(*name))?.as_array())
        .collect();
    // Moonshot quantizes the routed experts alone; trimmed copies of its files lack the list that says so.
    let is_kimi = matches!(view.model_type(), "kimi_k2" | "kimi_linear");
    if is_kimi && lists.is_empty() && matches!(format.id, "int4" | "mxfp4") {
        *format = only_routed_experts(*format);
        return;
    }
    let patterns: Vec<&str> = lists
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let n_layers = view.number("num_hidden_layers").unwrap_or(0);
    let is_left = |part: Left| {
        let mut n_numbered = 0;
        for pattern in patterns
            .iter()
            .filter(|pattern| left(pattern) == Some(part))
        {
            let is_numbered = pattern.split('.').any(|word| word.parse::<u64>().is_ok());
            if !is_numbered {
                return true;
            }
            n_numbered += 1;
        }
        // A list that names layer after layer.
        n_layers < n_numbered * 2
    };
    if is_left(Left::Attention) {
        format.attention = formats::BF16;
    }
    if is_left(Left::Mlp) {
        format.mlp = formats::BF16;
    }
    if is_left(Left::RoutedExperts) {
        format.routed_experts = formats::BF16;
    }
}

/// Which part a pattern such as `re:.*self_attn.*` or `model.layers.*.self_attn` names as a whole.
fn left(pattern: &str) -> Option<Left> {
    let plain: String = pattern
        .trim_start_matches("re:")
        .chars()
        .filter(|c| !matches!(c, '\\' | '$' | '^'))
        .collect();
    let plain = plain.trim_matches(['.', '*']);
    let last = plain.rsplit('.').next().unwrap_or("");
    match last {
        "self_attn" | "attn" | "attention" | "self_attention" => Some(Left::Attention),
        "shared_experts" | "shared_expert" => Some(Left::Mlp),
        "experts" => Some(Left::RoutedExperts),
        _ if plain.contains("mlp.(gate|up") => Some(Left::Mlp),
        _ => None,
    }
}
