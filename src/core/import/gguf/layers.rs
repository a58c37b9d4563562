//! What each layer keeps, by the keys of the header and the rules of its architecture.

use super::keys::{ArchKeys, Value};
use crate::core::import::ImportError;
use crate::core::import::sentences::say;
use crate::core::layer::{LayerKind, RecurrentFamily, RecurrentState};
use crate::core::model::ImportNote;
use crate::core::units::Tokens;

/// The most layers a model may have; llama.cpp takes 512.
pub(super) const MAX_LAYERS: usize = 1 << 10;

/// How layers alternate where the file gives no list: every `period`th keeps everything, or the first of each period.
struct Pattern {
    archs: &'static [&'static str],
    period: u32,
    is_full_first: bool,
    /// Window when the file has none; zero: then there is none.
    default_window: u64,
}

const fn pattern(archs: &'static [&'static str], period: u32, default_window: u64) -> Pattern {
    Pattern {
        archs,
        period,
        is_full_first: false,
        default_window,
    }
}

/// Source: `set_swa_pattern` in `load_arch_hparams` of llama.cpp `src/models/*.cpp`.
/// Difference: llama.cpp has no window for phi3, where it is the model's own.
const PATTERNS: &[Pattern] = &[
    pattern(&["gpt-oss"], 2, 0),
    pattern(&["gemma2"], 2, 4096),
    pattern(&["cohere2", "olmo2", "afmoe"], 4, 0),
    pattern(&["exaone-moe"], 4, 128),
    pattern(&["gemma3n"], 5, 0),
    pattern(&["gemma3"], 6, 0),
    pattern(&["plamo3"], 8, 0),
    pattern(&["phi3", "deepseek4"], 0, 0),
    Pattern {
        archs: &["smallthinker"],
        period: 4,
        is_full_first: true,
        default_window: 0,
    },
];

/// Architectures whose every layer is a state, and those whose every layer has both.
const ALL_STATES: [&str; 6] = ["mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"];
const STATES_BESIDE: [&str; 1] = ["falcon-h1"];
/// Gated delta nets, every fourth of whose layers is attention.
const DELTA_NETS: [&str; 3] = ["qwen3next", "qwen35", "qwen35moe"];
/// Tokens that llama.cpp's llama4 attends to at once.
const LLAMA4_CHUNK: u64 = 8192;

pub(super) struct Layers<'a> {
    pub(super) keys: &'a ArchKeys<'a>,
    pub(super) n_layers: usize,
    pub(super) context: Option<Tokens>,
    pub(super) notes: Vec<ImportNote>,
}

/// The window of the model, and which layers have it.
struct Windows {
    window: Tokens,
    is_local: Vec<bool>,
    is_chunked: bool,
}

impl Layers<'_> {
    /// The caches of each layer.
    pub(super) fn kinds(&mut self) -> Result<Vec<Vec<LayerKind>>, ImportError> {
        let windows = self.windows()?;
        let shared_from = self.shared_from()?;
        let states = self.states()?;
        let indexed = self.indexed()?;
        let mut res = Vec::with_capacity(self.n_layers);
        for idx in 0..self.n_layers {
            let state = states.get(idx).copied().unwrap_or(false);
            let is_beside = STATES_BESIDE.contains(&self.keys.arch);
            let mut kinds = Vec::new();
            if !state || is_beside {
                let windows = windows
                    .as_ref()
                    .filter(|windows| windows.is_local.get(idx) == Some(&true));
                let has_index = indexed.get(idx).copied().unwrap_or(true);
                kinds.extend(self.attention(idx, windows, has_index)?);
            }
            if self.keys.arch == "t5" {
                let cross = kinds.first().and_then(|kind| self.cross(*kind));
                kinds.extend(cross);
            }
            if state {
                kinds.push(LayerKind::Recurrent(self.state(idx)?));
            }
            if shared_from <= idx && !kinds.is_empty() {
                kinds = vec![LayerKind::Shared];
            }
            res.push(kinds);
        }
        Ok(res)
    }

    fn attention(
        &self,
        idx: usize,
        windows: Option<&Windows>,
        has_index: bool,
    ) -> Result<Option<LayerKind>, ImportError> {
        let keys = self.keys;
        if keys.arch == "deepseek4" {
            return self.compressed(idx, windows).map(Some);
        }
        let num_attention_heads = keys.dim_at("attention.head_count", idx)?.unwrap_or(0);
        let num_key_value_heads = match keys.dim_at("attention.head_count_kv", idx)? {
            Some(heads) => heads,
            None => num_attention_heads,
        };
        if num_key_value_heads == 0 {
            return match keys.get("attention.head_count_kv") {
                Some(_) => Ok(None),
                None => Err(keys
                    .needed_dim("attention.head_count")
                    .err()
                    .unwrap_or_else(|| ImportError::new("missing_key", say!(gguf_no_heads)))),
            };
        }
        if let Some(kv_lora_rank) = keys.dim("attention.kv_lora_rank")?.filter(|rank| 0 < *rank) {
            let index_head_dim = keys.dim("attention.indexer.key_length")?.unwrap_or(0);
            return Ok(Some(LayerKind::Latent {
                kv_lora_rank,
                qk_rope_head_dim: keys.needed_dim("rope.dimension_count")?,
                index_head_dim: if has_index { index_head_dim } else { 0 },
            }));
        }
        let is_local = windows.is_some();
        let head_dim = self.width("key_length", is_local)?;
        let v_head_dim = self.width("value_length", is_local)?;
        Ok(Some(match windows {
            Some(windows) if windows.is_chunked => LayerKind::Chunked {
                attention_chunk_size: windows.window,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            },
            Some(windows) => LayerKind::Sliding {
                window: windows.window,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            },
            None => LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            },
        }))
    }

    /// The cache of the encoder's tokens beside an attention of the decoder.
    fn cross(&self, kind: LayerKind) -> Option<LayerKind> {
        let LayerKind::Full {
            num_key_value_heads,
            head_dim,
            v_head_dim,
        } = kind
        else {
            return None;
        };
        Some(LayerKind::Cross {
            encoder_tokens: self.context.unwrap_or(Tokens(512)),
            num_key_value_heads,
            head_dim,
            v_head_dim,
        })
    }

    /// The width of a K or V head: of its kind of layer, then of all, else what the query heads share.
    fn width(&self, name: &str, is_local: bool) -> Result<u32, ImportError> {
        let keys = self.keys;
        if is_local && let Some(width) = keys.dim(&format!("attention.{name}_swa"))? {
            return Ok(width);
        }
        if let Some(width) = keys.dim(&format!("attention.{name}"))? {
            return Ok(width);
        }
        let heads = keys.needed_dim("attention.head_count")?;
        Ok(keys.needed_dim("embedding_length")? / heads)
    }

    /// DeepSeek-V4: one row for K and V, compressed or in a window only.
    fn compressed(&self, idx: usize, windows: Option<&Windows>) -> Result<LayerKind, ImportError> {
        let keys = self.keys;
        let head_dim = keys.needed_dim("attention.key_length")?;
        let window = windows.map(|windows| windows.window);
        let ratio = keys.dim_at("attention.compress_ratios", idx)?.unwrap_or(0);
        Ok(match (ratio, window) {
            (0, Some(window)) => LayerKind::Sliding {
                window,
                num_key_value_heads: 1,
                head_dim,
                v_head_dim: 0,
            },
            (0, None) => LayerKind::Full {
                num_key_value_heads: 1,
                head_dim,
                v_head_dim: 0,
            },
            // Only the layers of the smaller ratio choose by an index.
            _ => LayerKind::Compressed {
                compress_ratio: ratio,
                head_dim,
                index_head_dim: if ratio == 4 {
                    keys.dim("attention.indexer.key_length")?.unwrap_or(0)
                } else {
                    0
                },
                window: window.unwrap_or(Tokens(0)),
            },
        })
    }

    fn windows(&mut self) -> Result<Option<Windows>, ImportError> {
        let (keys, n_layers) = (self.keys, self.n_layers);
        let given = keys.dim("attention.sliding_window")?.map(u64::from);
        if keys.arch == "llama4" {
            let is_local = (0..n_layers).map(|idx| idx % 4 < 3).collect();
            return Ok(Some(Windows {
                window: Tokens(LLAMA4_CHUNK),
                is_local,
                is_chunked: true,
            })
            .filter(|windows| given != Some(0) && self.is_shorter(windows.window)));
        }
        let mut pattern = PATTERNS
            .iter()
            .find(|pattern| pattern.archs.contains(&keys.arch));
        const EXAONE4: Pattern = self::pattern(&["exaone4"], 4, 4096);
        // The 32B alone has windows.
        if keys.arch == "exaone4" && n_layers == 64 {
            pattern = Some(&EXAONE4);
        }
        let default = pattern.map_or(0, |pattern| pattern.default_window);
        let window = given.unwrap_or(default);
        if window == 0 || !self.is_shorter(Tokens(window)) {
            return Ok(None);
        }
        let is_local = match keys.flags("attention.sliding_window_pattern", n_layers)? {
            Some(flags) => flags,
            None => {
                let period = keys.dim("attention.sliding_window_pattern")?;
                let Some(period) = period.or(pattern.map(|pattern| pattern.period)) else {
                    self.notes.push(ImportNote {
                        code: "window_ignored",
                        message: say!(
                            gguf_window,
                            name = keys.shown("attention.sliding_window"),
                            window
                        )
                        .into(),
                    });
                    return Ok(None);
                };
                let is_full_first = pattern.is_some_and(|pattern| pattern.is_full_first);
                let last = if is_full_first {
                    0
                } else {
                    period.saturating_sub(1)
                };
                (0..n_layers)
                    .map(|idx| period == 0 || idx as u64 % u64::from(period) != u64::from(last))
                    .collect()
            }
        };
        Ok(Some(Windows {
            window: Tokens(window),
            is_local,
            is_chunked: false,
        }))
    }

    fn is_shorter(&self, window: Tokens) -> bool {
        self.context.is_none_or(|context| window < context)
    }

    /// The first layer that uses another one's cache.
    fn shared_from(&self) -> Result<usize, ImportError> {
        let shared = match self.keys.dim("attention.shared_kv_layers")? {
            Some(shared) => shared as usize,
            // llama.cpp's gemma3n has caches in its first 20 layers.
            None if self.keys.arch == "gemma3n" => self.n_layers.saturating_sub(20),
            None => 0,
        };
        Ok(self.n_layers.saturating_sub(shared))
    }

    /// Which layers keep the keys of a sparse indexer.
    fn indexed(&self) -> Result<Vec<bool>, ImportError> {
        if let Some(flags) = self.keys.flags("attention.indexer.types", self.n_layers)? {
            return Ok(flags);
        }
        // The two generations of GLM's sparse attention differ in the context they were trained for.
        let is_sharing = self.keys.arch == "glm-dsa"
            && self.context.is_some_and(|context| (1 << 20) <= context.0);
        let is_full = |idx: usize| !is_sharing || idx < 2 || (idx - 2).is_multiple_of(4);
        Ok((0..self.n_layers).map(is_full).collect())
    }

    /// Which layers keep a state.
    fn states(&self) -> Result<Vec<bool>, ImportError> {
        let (keys, n_layers) = (self.keys, self.n_layers);
        if ALL_STATES.contains(&keys.arch) || STATES_BESIDE.contains(&keys.arch) {
            return Ok(vec![true; n_layers]);
        }
        if let Some(flags) = keys.flags("attention.recurrent_layers", n_layers)? {
            return Ok(flags);
        }
        let is_delta_net = DELTA_NETS.contains(&keys.arch);
        let interval = match keys.dim("full_attention_interval")? {
            Some(interval) => Some(interval),
            None => is_delta_net.then_some(4),
        };
        if let Some(interval) = interval.filter(|interval| 0 < *interval) {
            return Ok((1..=n_layers)
                .map(|number| !(number as u64).is_multiple_of(u64::from(interval)))
                .collect());
        }
        let names = [
            "ssm.inner_size",
            "ssm.conv_kernel",
            "shortconv.l_cache",
            "wkv.head_size",
        ];
        if !names.iter().any(|name| keys.get(name).is_some()) {
            return Ok(vec![false; n_layers]);
        }
        (0..n_layers)
            .map(|idx| {
                let has_heads = keys.dim_at("attention.head_count_kv", idx)? != Some(0);
                // Of Nemotron-H's layers without heads those with an MLP are nothing else.
                let is_mlp = keys.arch.starts_with("nemotron_h")
                    && keys.dim_at("feed_forward_length", idx)?.unwrap_or(0) != 0;
                Ok(!has_heads && !is_mlp)
            })
            .collect()
    }

    /// The state of a layer.
    ///
    /// Source: `n_embd_r` and `n_embd_s` in llama.cpp `src/llama-hparams.cpp`.
    fn state(&self, idx: usize) -> Result<RecurrentState, ImportError> {
        let keys = self.keys;
        let hidden = u64::from(keys.needed_dim("embedding_length")?);
        let number = |name: &str| Ok::<u64, ImportError>(keys.dim(name)?.unwrap_or(0).into());
        let mut res = RecurrentState {
            family: RecurrentFamily::Rwkv,
            conv_dim: hidden,
            conv_columns: 0,
            state_heads: 0,
            state_rows: 0,
            state_columns: 0,
        };
        let head_size = number("wkv.head_size")?;
        if let Some(heads) = hidden.checked_div(head_size) {
            res.conv_columns = keys.dim("token_shift_count")?.unwrap_or(2).into();
            (res.state_heads, res.state_rows, res.state_columns) = (heads, head_size, head_size);
            return Ok(res);
        }
        let l_cache = number("shortconv.l_cache")?;
        if l_cache != 0 {
            res.family = RecurrentFamily::ShortConv;
            res.conv_columns = l_cache - 1;
            return Ok(res);
        }
        res.conv_columns = u64::from(keys.needed_dim("ssm.conv_kernel")?).saturating_sub(1);
        let kda = number("kda.head_dim")?;
        if kda != 0 {
            let of_layer = keys
                .dim_at("attention.head_count", idx)?
                .filter(|heads| 0 < *heads);
            let heads = match of_layer {
                Some(heads) => heads,
                None => keys.needed_dim("attention.head_count")?,
            };
            res.family = RecurrentFamily::Kda;
            res.state_heads = u64::from(heads);
            (res.state_rows, res.state_columns) = (kda, kda);
            res.conv_dim = res.state_heads.saturating_mul(kda).saturating_mul(3);
            return Ok(res);
        }
        let inner = u64::from(keys.needed_dim("ssm.inner_size")?);
        let columns = u64::from(keys.needed_dim("ssm.state_size")?);
        let (groups, heads) = (number("ssm.group_count")?, number("ssm.time_step_rank")?);
        res.conv_dim = groups
            .saturating_mul(columns)
            .saturating_mul(2)
            .saturating_add(inner);
        res.state_columns = columns;
        // The first Mamba's rank is that of a projection; it has no heads.
        let has_heads = heads != 0 && (groups != 0 || keys.arch == "plamo2");
        if !has_heads {
            (res.family, res.state_heads, res.state_rows) = (RecurrentFamily::Mamba1, inner, 1);
        } else if DELTA_NETS.contains(&keys.arch) {
            res.family = RecurrentFamily::GatedDeltaNet;
            (res.state_heads, res.state_rows, res.state_columns) = (heads, columns, inner / heads);
        } else {
            (res.family, res.state_heads, res.state_rows) =
                (RecurrentFamily::Mamba2, heads, inner / heads);
        }
        Ok(res)
    }
}

/// Layers of the decoder and of multi-token prediction, which a file counts together.
pub(super) fn counts(keys: &ArchKeys<'_>, has_nextn: bool) -> Result<(usize, u32), ImportError> {
    let name = match keys.get("decoder_block_count") {
        Some(Value::Whole(_)) => "decoder_block_count",
        _ => "block_count",
    };
    let all = keys.needed_dim(name)?;
    let n_all = usize::try_from(all).unwrap_or(usize::MAX);
    if MAX_LAYERS < n_all {
        return Err(ImportError::new(
            "too_many_layers",
            say!(
                too_large,
                name = keys.shown(name),
                given = all,
                max = MAX_LAYERS
            ),
        ));
    }
    let mut nextn = keys.dim("nextn_predict_layers")?.unwrap_or(0);
    // DeepSeek-V4's key stays when its draft is left out.
    if keys.arch == "deepseek4" && !has_nextn {
        nextn = 0;
    }
    if all <= nextn {
        return Err(ImportError::new(
            "nextn",
            say!(
                gguf_draft,
                name = keys.shown("nextn_predict_layers"),
                given = nextn,
                layers = all
            ),
        ));
    }
    Ok((n_all - nextn as usize, nextn))
}
