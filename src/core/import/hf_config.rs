//! A Hugging Face config.json: what each layer keeps, by the rules of its architecture.

use std::cell::Cell;

use serde_json::Value;

use super::config_view::ConfigView;
use super::heads::{
    dim_at, given_window, has_no_window, heads, index_head_dim, kv_lora_rank, short_list,
    unfolded_heads, window,
};
use super::layer_types::{self, LayerType, missing, positive, quoted};
use super::states::{NoState, recurrent_state};
use super::{ImportError, context, hf_weights, lenient_json, unread, wrong_file};
use crate::core::import::sentences::{Key, Sentence, say};
use crate::core::layer::{LayerKind, RecurrentFamily, RecurrentState};
use crate::core::model::{ImportNote, LayerGroup, Message, ModelConfig};
use crate::core::units::{ElementFormat, Tokens, formats};

/// Reads the text of a config.json. `name` is shown; without it, the name the file gives itself, or its class or
/// `model_type`.
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
    import_value(&parse(text)?, name)
}

/// The text as JSON, or an error that says which other file it is.
pub fn parse(text: &str) -> Result<Value, ImportError> {
    lenient_json::parse(text).map_err(|err| wrong_file::of_text(text).unwrap_or(err))
}

/// Reads a config.json that is parsed already.
pub fn import_value(file: &Value, name: Option<&str>) -> Result<ModelConfig, ImportError> {
    let view = ConfigView::new(file)?;
    if let Some(err) = wrong_file::of_fields(&view) {
        return Err(err);
    }
    let mut notes = Vec::new();
    let context = context::max_position_embeddings(&view, &mut notes);
    let reader = Reader {
        view: &view,
        window: window(&view, context),
        notes: Cell::new(notes),
    };
    let layers = reader.layers();
    // A field of the wrong type explains what follows from it, so it comes first.
    if let Some(problem) = view.problem() {
        return Err(ImportError::new("wrong_type", problem));
    }
    let layers = layers?;
    if let Some(err) = short_list(&view, layers.len()) {
        return Err(err);
    }
    let mut notes = reader.notes.take();
    notes.extend(default_notes(&view));
    notes.extend(assumed_heads(&view));
    notes.extend(ignored_window(&view));

    let weights = hf_weights::count(&view, &layers, &mut notes);
    let mut res = ModelConfig::from_layers(&shown_name(&view, name), view.model_type(), layers);
    res.weights = weights;
    res.stored = hf_weights::stored(&view, &mut notes);
    res.num_nextn_predict_layers = num_nextn_predict_layers(&view);
    res.num_attention_heads = view.dim("num_attention_heads").unwrap_or(0);
    res.unfolded_heads = unfolded_heads(&view);
    res.idle_window = idle_window(&view, &res);
    res.hidden_size = view.dim("hidden_size").unwrap_or(0);
    res.max_position_embeddings = context;
    res.dtype = dtype(&view);
    let has_state = res
        .groups
        .iter()
        .any(|group| matches!(group.kind, LayerKind::Recurrent(_)));
    if has_state && view.text("dtype") == Some("float32") {
        notes.push(ImportNote {
            code: "dtype",
            message: say!(state_dtype).into(),
        });
    }
    notes.extend(unread::notes(&view, res.layers.len()));
    if let Some(problem) = view.problem() {
        return Err(ImportError::new("wrong_type", problem));
    }
    res.notes = notes;
    Ok(res)
}

/// The given name, or the one the file gives itself, without the folders of the machine that wrote it, or that of its class
/// without what the class is for: `Qwen3Moe` of `Qwen3MoeForCausalLM`.
fn shown_name(view: &ConfigView<'_>, name: Option<&str>) -> String {
    let path = view.text("_name_or_path").unwrap_or("");
    let is_local = path.starts_with(['/', '.', '~']) || 1 < path.matches('/').count();
    let path = if is_local {
        path.rsplit('/').next().unwrap_or("")
    } else {
        path
    };
    let class = view.architecture();
    let class = ["For", "LMHeadModel", "Model"]
        .into_iter()
        .find_map(|what| Some(class.split_once(what)?.0))
        .unwrap_or(class);
    let candidates = [
        name.unwrap_or(""),
        path,
        class,
        view.model_type(),
        "a model typed by hand",
    ];
    candidates
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or("")
        .to_owned()
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
            LayerType::State => vec![self.state(idx)?],
            LayerType::FullAndState | LayerType::SlidingAndState => {
                let mut res = self.attention(idx, layer == LayerType::SlidingAndState)?;
                if self.has_known_state() {
                    res.push(self.state(idx)?);
                }
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
        if is_local
            && given_window(view).is_none()
            && view.flag("use_sliding_window") != Some(false)
        {
            return Err(missing(view, "sliding_window"));
        }
        let window = self.window.filter(|_| is_local);
        if let Some(kv_lora_rank) = kv_lora_rank(view) {
            let kind = self.latent(kv_lora_rank, window, idx)?;
            // LongCat runs two attentions in each layer.
            let n_attentions = if view.model_type().starts_with("longcat_flash") {
                2
            } else {
                1
            };
            return Ok(vec![kind; n_attentions]);
        }
        if view.has("sparse_attention_config") {
            self.note("index_keys", say!(index_keys));
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

    fn latent(
        &self,
        kv_lora_rank: u32,
        window: Option<Tokens>,
        idx: usize,
    ) -> Result<LayerKind, ImportError> {
        let view = self.view;
        let qk_rope_head_dim = view
            .dim("qk_rope_head_dim")
            .ok_or_else(|| missing(view, "qk_rope_head_dim"))?;
        let Some(window) = window else {
            if view.number("index_kpool").is_some_and(|pool| 1 < pool) {
                self.note("index_pool", say!(index_pool));
            }
            return Ok(LayerKind::Latent {
                kv_lora_rank,
                qk_rope_head_dim,
                index_head_dim: index_head_dim(view, idx),
            });
        };
        let lora = view.dim("swa_kv_lora_rank").unwrap_or(kv_lora_rank);
        let rope = view.dim("swa_qk_rope_head_dim").unwrap_or(qk_rope_head_dim);
        // One row for K and V together, on every rank.
        Ok(LayerKind::Sliding {
            window,
            num_key_value_heads: 1,
            head_dim: lora.saturating_add(rope),
            v_head_dim: 0,
        })
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
        let (names, default) = if is_sparse {
            (
                [
                    "compress_rates.compressed_sparse_attention",
                    "compress_rate_csa",
                ],
                4,
            )
        } else {
            (
                [
                    "compress_rates.heavily_compressed_attention",
                    "compress_rate_hca",
                ],
                128,
            )
        };
        let given = || names.iter().find_map(|name| view.dim(name));
        let compress_ratio = dim_at(view, "compress_ratios", idx)
            .or_else(given)
            .unwrap_or(default);
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

    fn state(&self, idx: usize) -> Result<LayerKind, ImportError> {
        recurrent_state(self.view)
            .map(LayerKind::Recurrent)
            .map_err(|why| match why {
                NoState::Missing(key) => missing(self.view, key),
                NoState::Unknown => {
                    ImportError::new("unknown_state", say!(unknown_state, layer = idx))
                }
            })
    }

    /// Whether the state beside an attention has known dimensions. That of two architectures is a short convolution of
    /// some kilobytes for which no formula is established: it is left out, and said so.
    fn has_known_state(&self) -> bool {
        let model_type = self.view.model_type();
        let is_known = model_type != "zaya" && !model_type.starts_with("inkling");
        if !is_known {
            self.note(
                "state_not_counted",
                say!(state_not_counted, model_type = quoted(model_type)),
            );
        }
        is_known
    }

    fn cross(&self, idx: usize) -> Result<LayerKind, ImportError> {
        let view = self.view;
        let heads = heads(view, idx, false)?;
        let (encoder_tokens, why) = encoder_tokens(view);
        self.note(
            "encoder_tokens",
            say!(encoder_tokens, tokens = encoder_tokens, why),
        );
        Ok(LayerKind::Cross {
            encoder_tokens: Tokens(encoder_tokens),
            num_key_value_heads: heads.num_key_value_heads,
            head_dim: heads.head_dim,
            v_head_dim: heads.v_head_dim,
        })
    }

    fn note(&self, code: &'static str, message: Sentence) {
        let message = Message::from(message);
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

fn encoder_tokens(view: &ConfigView<'_>) -> (u64, Key) {
    if let Some(tokens) = view.number("max_source_positions") {
        return (tokens, Key::encoder_most);
    }
    if view.model_type() == "mllama_text_model" {
        // One image of at most four tiles of 40 × 40 patches and a class token each.
        return (4 * 1601, Key::encoder_image);
    }
    match view.number("max_position_embeddings") {
        Some(tokens) => (tokens, Key::encoder_context),
        None => (512, Key::encoder_assumed),
    }
}

/// Layers of multi-token prediction, whatever the file calls them.
fn num_nextn_predict_layers(view: &ConfigView<'_>) -> u32 {
    let names = [
        "num_nextn_predict_layers",
        "num_mtp_layers",
        "mtp_num_hidden_layers",
        "mtp_num_layers",
    ];
    if let Some(layers) = names.iter().find_map(|name| view.dim(name)) {
        return layers;
    }
    if view.flag("use_mtp") == Some(false) {
        return 0;
    }
    let layers = view.dim("mtp_transformer_layers").unwrap_or(1);
    view.dim("num_mtp_modules")
        .unwrap_or(0)
        .saturating_mul(layers)
}

/// The model's own type. A model published in fp32 is served in bf16.
fn dtype(view: &ConfigView<'_>) -> ElementFormat {
    match view.text("dtype") {
        Some("float16" | "fp16" | "half") => formats::F16,
        _ => formats::BF16,
    }
}

/// The window of a file whose layers all keep everything because the context is not longer.
fn idle_window(view: &ConfigView<'_>, model: &ModelConfig) -> Option<Tokens> {
    let is_uniform = matches!(
        model.groups.as_slice(),
        [LayerGroup {
            kind: LayerKind::Full { .. },
            ..
        }]
    );
    given_window(view).filter(|_| is_uniform && view.flag("use_sliding_window") != Some(false))
}

/// A window in the file of an architecture that has none.
fn ignored_window(view: &ConfigView<'_>) -> Option<ImportNote> {
    let window = view
        .window("sliding_window")
        .filter(|_| has_no_window(view))?;
    Some(ImportNote {
        code: "window_ignored",
        message: say!(
            window_of_none,
            window,
            model_type = quoted(view.model_type())
        )
        .into(),
    })
}

/// Without a model type nothing says that the KV heads of a file that does not name them are its query heads.
fn assumed_heads(view: &ConfigView<'_>) -> Option<ImportNote> {
    let is_assumed = view.model_type().is_empty()
        && view.has("num_attention_heads")
        && !view.has("num_key_value_heads")
        && !view.has("kv_lora_rank")
        && !view.has("block_configs");
    is_assumed.then(|| ImportNote {
        code: "assumed",
        message: say!(heads_assumed).into(),
    })
}

/// One note for each field that the file leaves to the architecture's class.
fn default_notes(view: &ConfigView<'_>) -> Option<ImportNote> {
    let mut names = view.defaulted();
    // The context has a note of its own.
    names.retain(|name| *name != "max_position_embeddings");
    if names.is_empty() {
        return None;
    }
    Some(ImportNote {
        code: "class_default",
        message: say!(
            class_defaults,
            model_type = quoted(view.model_type()),
            names = names.join(", ")
        )
        .into(),
    })
}
