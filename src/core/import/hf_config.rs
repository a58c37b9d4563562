//! A Hugging Face config.json: what each layer keeps, by the rules of its architecture.

use std::cell::Cell;

use serde_json::Value;

use super::config_view::ConfigView;
use super::layer_types::{self, LayerType, missing, positive, quoted};
use super::states::recurrent_state;
use super::{ImportError, context, lenient_json, wrong_file};
use crate::core::layer::{LayerKind, RecurrentFamily, RecurrentState};
use crate::core::model::{ImportNote, ModelConfig};
use crate::core::units::{ElementFormat, Tokens, formats};

/// Reads the text of a config.json. `name` is shown; without it, the name the file gives itself or its `model_type`.
///
/// ```
/// # use kvscope::core::{import::hf_config::import, units::{Tokens, Bytes, KvFormat, formats::BF16}};
/// let text = r#"{"model_type": "qwen3", "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8,
///                "hidden_size": 5120, "head_dim": 128, "max_position_embeddings": 40960}"#;
/// let model = import(text, Some("Qwen3 32B"))?;
/// // 64 layers × 8 heads × (128 + 128) × 2 B
/// let per_token: Bytes = model.groups.iter().map(|group| {
///     group.kind.cache_bytes(Tokens(1), KvFormat::both(BF16)).times(u64::from(group.count))
/// }).sum();
/// assert_eq!(per_token, Bytes(262_144));
/// # Ok::<(), kvscope::core::import::ImportError>(())
/// ```
pub fn import(text: &str, name: Option<&str>) -> Result<ModelConfig, ImportError> {
    let file = match lenient_json::parse(text) {
        Ok(file) => file,
        Err(err) => return Err(wrong_file::of_text(text).unwrap_or(err)),
    };
    import_value(&file, name)
}

/// Reads a config.json that is parsed already.
pub fn import_value(file: &Value, name: Option<&str>) -> Result<ModelConfig, ImportError> {
    let view = ConfigView::new(file)?;
    if let Some(err) = wrong_file::of_fields(view.root()) {
        return Err(err);
    }
    let reader = Reader {
        view: &view,
        window: window(&view),
        notes: Cell::default(),
    };
    let layers = reader.layers();
    // A field of the wrong type explains what follows from it, so it comes first.
    if let Some(problem) = view.problem() {
        return Err(ImportError::new("wrong_type", problem));
    }
    let layers = layers?;
    let mut notes = reader.notes.take();
    notes.extend(default_notes(&view));

    let shown = name
        .or_else(|| view.text("_name_or_path").filter(|path| !path.is_empty()))
        .unwrap_or(view.model_type());
    let mut res = ModelConfig::from_layers(shown, view.model_type(), layers);
    res.num_nextn_predict_layers = num_nextn_predict_layers(&view);
    res.num_attention_heads = view.dim("num_attention_heads").unwrap_or(0);
    res.hidden_size = view.dim("hidden_size").unwrap_or(0);
    res.max_position_embeddings = context::max_position_embeddings(&view, &mut notes);
    res.dtype = dtype(&view);
    notes.extend(unknown_keys(&view));
    if let Some(problem) = view.problem() {
        return Err(ImportError::new("wrong_type", problem));
    }
    res.notes = notes;
    Ok(res)
}

struct Reader<'a> {
    view: &'a ConfigView<'a>,
    window: Option<Tokens>,
    notes: Cell<Vec<ImportNote>>,
}

impl Reader<'_> {
    fn layers(&self) -> Result<Vec<Vec<LayerKind>>, ImportError> {
        let view = self.view;
        let n_layers = layer_types::num_hidden_layers(view)?;
        let types = layer_types::layer_types(view, n_layers, self.window.is_some())?;
        let is_encoder_decoder = layer_types::is_encoder_decoder(view);
        types
            .into_iter()
            .enumerate()
            .map(|(idx, layer)| {
                let mut kinds = self.kinds(layer, idx)?;
                if is_encoder_decoder {
                    kinds.push(self.cross(idx)?);
                }
                Ok(kinds)
            })
            .collect()
    }

    /// The caches of one layer.
    fn kinds(&self, layer: LayerType, idx: usize) -> Result<Vec<LayerKind>, ImportError> {
        let res = match layer {
            LayerType::Full => self.attention(idx, false)?,
            LayerType::Sliding => self.attention(idx, true)?,
            LayerType::Chunked => vec![self.chunked(idx)?],
            LayerType::State => vec![self.state()?],
            LayerType::FullAndState => {
                let mut res = self.attention(idx, false)?;
                res.push(self.state()?);
                res
            }
            LayerType::SlidingAndState => {
                let mut res = self.attention(idx, true)?;
                res.push(self.state()?);
                res
            }
            LayerType::Cross => vec![self.cross(idx)?],
            LayerType::CompressedSparse | LayerType::HeavilyCompressed => {
                vec![self.compressed(layer, idx)?]
            }
            LayerType::Shared => vec![LayerKind::Shared],
            LayerType::Nothing => Vec::new(),
        };
        Ok(res)
    }

    fn attention(&self, idx: usize, is_local: bool) -> Result<Vec<LayerKind>, ImportError> {
        let view = self.view;
        let window = self.window.filter(|_| is_local);
        if let Some(kv_lora_rank) = kv_lora_rank(view) {
            let qk_rope_head_dim = view
                .dim("qk_rope_head_dim")
                .ok_or_else(|| missing(view, "qk_rope_head_dim"))?;
            let kind = match window {
                // One row for K and V together, on every rank.
                Some(window) => LayerKind::Sliding {
                    window,
                    num_key_value_heads: 1,
                    head_dim: kv_lora_rank.saturating_add(qk_rope_head_dim),
                    v_head_dim: 0,
                },
                None => LayerKind::Latent {
                    kv_lora_rank,
                    qk_rope_head_dim,
                    index_head_dim: index_head_dim(view, idx),
                },
            };
            // LongCat runs two attentions in each layer.
            let n_attentions = if view.model_type().starts_with("longcat_flash") {
                2
            } else {
                1
            };
            return Ok(vec![kind; n_attentions]);
        }
        let heads = heads(view, idx, window.is_some())?;
        let kind = match window {
            Some(window) => LayerKind::Sliding {
                window,
                num_key_value_heads: heads.num_key_value_heads,
                head_dim: heads.head_dim,
                v_head_dim: heads.v_head_dim,
            },
            None => LayerKind::Full {
                num_key_value_heads: heads.num_key_value_heads,
                head_dim: heads.head_dim,
                v_head_dim: heads.v_head_dim,
            },
        };
        let mut res = vec![kind];
        if let Some(conv_window) = positive(view.given("conv_window")) {
            // Baichuan-M1 mixes neighboring keys and values.
            let width = u64::from(heads.head_dim) + u64::from(heads.v_head_dim);
            res.push(LayerKind::Recurrent(RecurrentState {
                family: RecurrentFamily::ShortConv,
                conv_dim: u64::from(heads.num_key_value_heads).saturating_mul(width),
                conv_columns: conv_window - 1,
                state_heads: 0,
                state_rows: 0,
                state_columns: 0,
            }));
        }
        Ok(res)
    }

    fn chunked(&self, idx: usize) -> Result<LayerKind, ImportError> {
        let view = self.view;
        let heads = heads(view, idx, false)?;
        Ok(LayerKind::Chunked {
            attention_chunk_size: positive(view.number("attention_chunk_size"))
                .map(Tokens)
                .ok_or_else(|| missing(view, "attention_chunk_size"))?,
            num_key_value_heads: heads.num_key_value_heads,
            head_dim: heads.head_dim,
            v_head_dim: heads.v_head_dim,
        })
    }

    fn compressed(&self, layer: LayerType, idx: usize) -> Result<LayerKind, ImportError> {
        let view = self.view;
        let is_sparse = layer == LayerType::CompressedSparse;
        let compress_ratio = match view.number_at("compress_ratios", idx) {
            Some(ratio) => u32::try_from(ratio).unwrap_or(u32::MAX),
            None if is_sparse => 4,
            None => 128,
        };
        Ok(LayerKind::Compressed {
            compress_ratio,
            head_dim: view
                .dim("head_dim")
                .ok_or_else(|| missing(view, "head_dim"))?,
            index_head_dim: if is_sparse {
                view.dim("index_head_dim").unwrap_or(0)
            } else {
                0
            },
            window: self.window.unwrap_or(Tokens(0)),
        })
    }

    fn state(&self) -> Result<LayerKind, ImportError> {
        recurrent_state(self.view)
            .map(LayerKind::Recurrent)
            .map_err(|key| missing(self.view, key))
    }

    fn cross(&self, idx: usize) -> Result<LayerKind, ImportError> {
        let view = self.view;
        let heads = heads(view, idx, false)?;
        let (encoder_tokens, why) = encoder_tokens(view);
        self.note(
            "encoder_tokens",
            format!("cross attention is counted for {encoder_tokens} encoder tokens, {why}"),
        );
        Ok(LayerKind::Cross {
            encoder_tokens: Tokens(encoder_tokens),
            num_key_value_heads: heads.num_key_value_heads,
            head_dim: heads.head_dim,
            v_head_dim: heads.v_head_dim,
        })
    }

    fn note(&self, code: &'static str, message: String) {
        let mut notes = self.notes.take();
        if !notes
            .iter()
            .any(|note| note.code == code && note.message == message)
        {
            notes.push(ImportNote { code, message });
        }
        self.notes.set(notes);
    }
}

/// The cached heads of one layer.
struct Heads {
    num_key_value_heads: u32,
    head_dim: u32,
    v_head_dim: u32,
}

fn heads(view: &ConfigView<'_>, idx: usize, is_local: bool) -> Result<Heads, ImportError> {
    let own = |global: &str, local: &str| {
        if is_local {
            view.dim(local)
        } else {
            view.dim(global)
        }
    };
    let num_attention_heads = dim_at(view, "num_attention_heads", idx)
        .filter(|heads| *heads != 0)
        .ok_or_else(|| missing_or_zero(view, "num_attention_heads"))?;
    let query_heads = if is_local {
        view.dim("num_swa_attention_heads")
            .or_else(|| view.dim("swa_num_attention_heads"))
            .unwrap_or(num_attention_heads)
    } else {
        num_attention_heads
    };
    let head_dim = own("global_head_dim", "swa_head_dim")
        .or_else(|| view.dim("head_dim"))
        .filter(|dim| *dim != 0);
    let head_dim = match head_dim {
        Some(head_dim) => head_dim,
        None => derived_head_dim(view, query_heads)?,
    };
    let num_key_value_heads =
        own("num_global_key_value_heads", "num_swa_key_value_heads").or_else(|| {
            if is_local {
                view.dim("swa_num_key_value_heads")
            } else {
                None
            }
        });
    let num_key_value_heads = match num_key_value_heads {
        Some(heads) => heads,
        None => num_key_value_heads_at(view, idx, num_attention_heads)?,
    };
    let v_head_dim = if is_local {
        view.dim("swa_v_head_dim")
    } else {
        None
    }
    .or_else(|| view.dim("v_head_dim"))
    .filter(|dim| *dim != 0)
    .unwrap_or(head_dim);
    Ok(Heads {
        num_key_value_heads,
        head_dim,
        v_head_dim,
    })
}

fn derived_head_dim(view: &ConfigView<'_>, query_heads: u32) -> Result<u32, ImportError> {
    let hidden_size = view
        .dim("hidden_size")
        .filter(|size| *size != 0)
        .ok_or_else(|| missing_or_zero(view, "hidden_size"))?;
    // Zamba's attention reads the layer's input beside the embedding.
    let width = if view.model_type().starts_with("zamba") {
        hidden_size.saturating_mul(2)
    } else {
        hidden_size
    };
    if width % query_heads.max(1) != 0 {
        return Err(ImportError::new(
            "head_dim",
            format!(
                "head_dim is missing, and hidden_size {hidden_size} is not a multiple of num_attention_heads {query_heads}; add head_dim, or type the dimensions by hand"
            ),
        ));
    }
    Ok(width / query_heads.max(1))
}

/// KV heads where no name says it for this kind of layer alone.
fn num_key_value_heads_at(
    view: &ConfigView<'_>,
    idx: usize,
    num_attention_heads: u32,
) -> Result<u32, ImportError> {
    if let Some(blocks) = view.list("block_configs") {
        let group = blocks
            .get(idx)
            .and_then(|block| block.get("attention")?.get("n_heads_in_group")?.as_u64())
            .and_then(|group| u32::try_from(group).ok());
        if let Some(group) = group.filter(|group| *group != 0) {
            return Ok(num_attention_heads / group);
        }
    }
    let is = |name: &str| view.flag(name) == Some(true);
    match view.model_type() {
        // Falcon's second architecture has groups and ignores the switch of the first.
        "falcon" | "RefinedWeb" | "RefinedWebModel"
            if !is("new_decoder_architecture") && view.model_type() != "RefinedWeb" =>
        {
            return Ok(if view.flag("multi_query") == Some(false) {
                num_attention_heads
            } else {
                1
            });
        }
        "gpt_bigcode" => {
            return Ok(if view.flag("multi_query") == Some(false) {
                num_attention_heads
            } else {
                1
            });
        }
        "chatglm" => {
            let groups = view
                .dim("multi_query_group_num")
                .filter(|_| is("multi_query_attention"));
            return Ok(groups.unwrap_or(num_attention_heads));
        }
        "mpt" if view.text("attn_config.attn_type") == Some("multiquery_attention") => {
            return Ok(1);
        }
        _ => {}
    }
    let heads = dim_at(view, "num_key_value_heads", idx)
        .or_else(|| dim_at(view, "num_attention_groups", idx));
    match heads {
        // A list may switch one layer's attention off; a single zero cannot be meant.
        Some(0) if view.list("num_key_value_heads").is_none() => {
            Err(missing_or_zero(view, "num_key_value_heads"))
        }
        Some(heads) => Ok(heads),
        None => Ok(num_attention_heads),
    }
}

fn dim_at(view: &ConfigView<'_>, name: &str, idx: usize) -> Option<u32> {
    let number = view.number_at(name, idx)?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

fn missing_or_zero(view: &ConfigView<'_>, name: &str) -> ImportError {
    if view.number(name) == Some(0) {
        ImportError::new("zero", format!("{name} is 0, and must be at least 1"))
    } else {
        missing(view, name)
    }
}

/// The width of the latent, where the architecture has one and uses it.
pub(super) fn kv_lora_rank(view: &ConfigView<'_>) -> Option<u32> {
    view.dim("kv_lora_rank")
        .filter(|rank| *rank != 0 && view.flag("use_mla") != Some(false))
}

/// The width of the sparse indexer's keys in this layer. A layer may use another one's choice and keep none.
fn index_head_dim(view: &ConfigView<'_>, idx: usize) -> u32 {
    let Some(width) = view.dim("index_head_dim") else {
        return 0;
    };
    let is_shared = match view.list("indexer_types") {
        Some(types) => types.get(idx).and_then(Value::as_str) == Some("shared"),
        None => match positive(view.given("index_topk_freq")) {
            Some(freq) => {
                let offset = view.number("index_skip_topk_offset").unwrap_or(0);
                let idx = idx as u64 + 1;
                offset < idx && !(idx - offset).is_multiple_of(freq)
            }
            None => false,
        },
    };
    if is_shared { 0 } else { width }
}

/// The window that applies, in tokens. One as long as the context changes nothing.
fn window(view: &ConfigView<'_>) -> Option<Tokens> {
    let window = positive(view.window("sliding_window"))?;
    if view.flag("use_sliding_window") == Some(false) {
        return None;
    }
    let context = view.number("max_position_embeddings");
    Some(Tokens(window)).filter(|window| context.is_none_or(|context| window.0 < context))
}

fn encoder_tokens(view: &ConfigView<'_>) -> (u64, &'static str) {
    if let Some(tokens) = view.number("max_source_positions") {
        return (tokens, "the most its encoder takes (max_source_positions)");
    }
    if view.model_type() == "mllama_text_model" {
        // One image of at most four tiles of 40 × 40 patches and a class token each.
        return (
            4 * 1601,
            "one image of four tiles; without an image it keeps none",
        );
    }
    match view.number("max_position_embeddings") {
        Some(tokens) => (tokens, "as many as its context"),
        None => (512, "an assumption: the file does not say how many"),
    }
}

/// Layers of multi-token prediction, whatever the file calls them.
fn num_nextn_predict_layers(view: &ConfigView<'_>) -> u32 {
    [
        "num_nextn_predict_layers",
        "num_mtp_layers",
        "mtp_num_hidden_layers",
        "mtp_transformer_layers",
        "mtp_num_layers",
    ]
    .iter()
    .find_map(|name| view.dim(name))
    .unwrap_or(0)
}

/// The model's own type. A model published in fp32 is served in bf16.
fn dtype(view: &ConfigView<'_>) -> ElementFormat {
    match view.text("dtype") {
        Some("float16" | "fp16" | "half") => formats::F16,
        _ => formats::BF16,
    }
}

/// One note for each field that the file leaves to the architecture's class.
fn default_notes(view: &ConfigView<'_>) -> Option<ImportNote> {
    let names = view.defaulted();
    if names.is_empty() {
        return None;
    }
    Some(ImportNote {
        code: "class_default",
        message: format!(
            "{} not in the file; taken from the defaults of model_type {}",
            names.join(", "),
            quoted(view.model_type())
        ),
    })
}

/// Keys that sound as if they changed the cache and that nothing has read.
fn unknown_keys(_view: &ConfigView<'_>) -> Vec<ImportNote> {
    Vec::new()
}
