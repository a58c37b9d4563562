//! What one layer keeps of a sequence: the enum that every formula of the project matches on.

use super::units::{Bytes, ElementFormat, KvFormat, Scale, Tokens};

/// The constant state of a recurrent layer: a convolution part of `conv_dim × conv_columns` elements in the model's
/// own type, and a state part of `state_heads × state_rows × state_columns` elements in `state_dtype`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecurrentState {
    /// Which family of layer it is, for its label and for rules that engines keep per family.
    pub family: RecurrentFamily,
    /// Channels of the convolution, or of the shifted token.
    pub conv_dim: u64,
    /// Columns kept: the kernel less one.
    pub conv_columns: u64,
    /// Heads of the state, the part that tensor parallelism divides.
    pub state_heads: u64,
    /// Rows of one head's state.
    pub state_rows: u64,
    /// Columns of one head's state.
    pub state_columns: u64,
}

/// The families of recurrent layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecurrentFamily {
    /// Mamba (selective state space).
    Mamba1,
    /// Mamba-2 (state space duality).
    Mamba2,
    /// Gated delta net.
    GatedDeltaNet,
    /// Kimi delta attention.
    Kda,
    /// Lightning attention (linear attention with decay).
    Lightning,
    /// RWKV.
    Rwkv,
    /// Real-gated linear recurrent unit (Griffin).
    RgLru,
    /// Gated short convolution (LFM2), and convolutions on K and V.
    ShortConv,
}

impl RecurrentState {
    /// What the fullest of `tp` ranks keeps. Mamba-2 convolves B and C of its groups beside the heads; a group that ranks
    /// would have to divide is on each of them.
    ///
    /// Source: vLLM `MambaStateShapeCalculator`, `extra_groups_for_head_shards`,
    /// `vllm/model_executor/layers/mamba/mamba_utils.py`.
    fn shard(self, tp: u64) -> Self {
        let heads = self.state_heads.saturating_mul(self.state_rows);
        let beside = self.conv_dim.saturating_sub(heads);
        let group = self.state_columns.saturating_mul(2);
        let is_split = self.family == RecurrentFamily::Mamba2
            && 0 < beside
            && beside < group.saturating_mul(tp);
        let conv_dim = if is_split {
            heads.div_ceil(tp).saturating_add(group)
        } else {
            self.conv_dim.div_ceil(tp)
        };
        Self {
            conv_dim,
            state_heads: self.state_heads.div_ceil(tp),
            ..self
        }
    }

    /// Elements of the convolution part.
    pub fn conv_elements(&self) -> u64 {
        self.conv_dim.saturating_mul(self.conv_columns)
    }

    /// Elements of the state part.
    pub fn state_elements(&self) -> u64 {
        self.state_heads
            .saturating_mul(self.state_rows)
            .saturating_mul(self.state_columns)
    }
}

/// What one layer's cache is made of. Widths are elements; head counts are before tensor parallelism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayerKind {
    /// Every token's K and V: MHA, GQA and MQA.
    Full {
        /// Heads that are cached; zero means the layer caches nothing.
        num_key_value_heads: u32,
        /// Width of a K head.
        head_dim: u32,
        /// Width of a V head.
        v_head_dim: u32,
    },
    /// The newest `window` tokens' K and V. This is the idealised cache of exactly `window` tokens; engines reserve more.
    Sliding {
        /// Tokens kept.
        window: Tokens,
        /// Heads that are cached.
        num_key_value_heads: u32,
        /// Width of a K head.
        head_dim: u32,
        /// Width of a V head.
        v_head_dim: u32,
    },
    /// The tokens since the current chunk began: at most `attention_chunk_size` of them. Counted at its fullest.
    Chunked {
        /// Tokens of a chunk.
        attention_chunk_size: Tokens,
        /// Heads that are cached.
        num_key_value_heads: u32,
        /// Width of a K head.
        head_dim: u32,
        /// Width of a V head.
        v_head_dim: u32,
    },
    /// Multi-head latent attention: one row of `kv_lora_rank + qk_rope_head_dim` for K and V together, and an index key
    /// of `index_head_dim` when a sparse indexer stands beside it (zero: none).
    Latent {
        /// Width of the latent.
        kv_lora_rank: u32,
        /// Width of the shared rotary key.
        qk_rope_head_dim: u32,
        /// Width of the indexer's key.
        index_head_dim: u32,
    },
    /// One shared K = V row and one index key for every `compress_ratio` tokens, and a window of uncompressed rows.
    Compressed {
        /// Tokens that share a row.
        compress_ratio: u32,
        /// Width of a row.
        head_dim: u32,
        /// Width of the index key of a row, zero when there is none.
        index_head_dim: u32,
        /// Newest tokens that are kept uncompressed.
        window: Tokens,
    },
    /// A state of constant size.
    Recurrent(RecurrentState),
    /// K and V of the encoder's tokens, not of the sequence's.
    Cross {
        /// Tokens of the encoder.
        encoder_tokens: Tokens,
        /// Heads that are cached.
        num_key_value_heads: u32,
        /// Width of a K head.
        head_dim: u32,
        /// Width of a V head.
        v_head_dim: u32,
    },
    /// Re-uses another layer's cache and keeps none itself.
    Shared,
}

/// Rows a layer keeps: one for each token, or one for each group of compressed tokens, and the uncompressed window of a
/// compressed layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Rows that grow with the sequence.
    pub main: u64,
    /// Uncompressed rows beside compressed ones.
    pub window: u64,
}

/// Storage of everything a layer keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheFormats {
    /// K and V.
    pub kv: KvFormat,
    /// Recurrent state.
    pub state: ElementFormat,
    /// Convolution state: the model's own type.
    pub conv: ElementFormat,
    /// Keys of a sparse indexer.
    pub index: IndexStorage,
}

/// How the keys of a sparse indexer are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStorage {
    /// As K is; in an 8-bit cache as fp8 with one fp32 scale.
    LikeK,
    /// As fp8 with one fp32 scale for each key, whatever K is.
    Fp8,
    /// Not at all: the engine has no indexer.
    Nothing,
}

impl LayerKind {
    /// The same layer if it had no window or chunk, and so kept every token.
    #[must_use]
    pub fn without_window(self) -> Self {
        match self {
            Self::Sliding {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            }
            | Self::Chunked {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            } => Self::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            },
            Self::Full { .. }
            | Self::Latent { .. }
            | Self::Compressed { .. }
            | Self::Recurrent(_)
            | Self::Cross { .. }
            | Self::Shared => self,
        }
    }

    /// The state that the layer keeps instead of rows; `None` when it keeps rows, or nothing.
    pub fn state(self) -> Option<RecurrentState> {
        match self {
            Self::Recurrent(state) => Some(state),
            Self::Full { .. }
            | Self::Sliding { .. }
            | Self::Chunked { .. }
            | Self::Latent { .. }
            | Self::Compressed { .. }
            | Self::Cross { .. }
            | Self::Shared => None,
        }
    }

    /// What the fullest of `tensor_parallel_size` ranks keeps: heads are divided, rounded up, and never fewer than one
    /// (above the head count they are replicated); latent rows and index keys are on every rank.
    ///
    /// Source: vLLM `get_num_kv_heads`, `max(1, total_num_kv_heads // tensor_parallel_size)`.
    /// Difference: a size that does not divide the heads is rounded up here, where vLLM refuses it.
    #[must_use]
    pub fn shard(self, tensor_parallel_size: u32) -> Self {
        let tp = tensor_parallel_size.max(1);
        match self {
            Self::Full {
                num_key_value_heads: h,
                head_dim,
                v_head_dim,
            } => Self::Full {
                num_key_value_heads: h.div_ceil(tp),
                head_dim,
                v_head_dim,
            },
            Self::Sliding {
                window,
                num_key_value_heads: h,
                head_dim,
                v_head_dim,
            } => Self::Sliding {
                window,
                num_key_value_heads: h.div_ceil(tp),
                head_dim,
                v_head_dim,
            },
            Self::Chunked {
                attention_chunk_size,
                num_key_value_heads: h,
                head_dim,
                v_head_dim,
            } => Self::Chunked {
                attention_chunk_size,
                num_key_value_heads: h.div_ceil(tp),
                head_dim,
                v_head_dim,
            },
            Self::Cross {
                encoder_tokens,
                num_key_value_heads: h,
                head_dim,
                v_head_dim,
            } => Self::Cross {
                encoder_tokens,
                num_key_value_heads: h.div_ceil(tp),
                head_dim,
                v_head_dim,
            },
            Self::Recurrent(state) => Self::Recurrent(state.shard(u64::from(tp))),
            Self::Latent { .. } | Self::Compressed { .. } | Self::Shared => self,
        }
    }

    /// A stable identifier of the kind, for JSON and for labels.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::Sliding { .. } => "sliding",
            Self::Chunked { .. } => "chunked",
            Self::Latent { .. } => "latent",
            Self::Compressed { .. } => "compressed",
            Self::Recurrent(state) => match state.family {
                RecurrentFamily::Mamba1 => "mamba1",
                RecurrentFamily::Mamba2 => "mamba2",
                RecurrentFamily::GatedDeltaNet => "gated_delta_net",
                RecurrentFamily::Kda => "kda",
                RecurrentFamily::Lightning => "lightning",
                RecurrentFamily::Rwkv => "rwkv",
                RecurrentFamily::RgLru => "rg_lru",
                RecurrentFamily::ShortConv => "short_conv",
            },
            Self::Cross { .. } => "cross",
            Self::Shared => "shared",
        }
    }

    /// KV heads that tensor parallelism would divide; `None` where nothing is divided by heads.
    pub fn num_key_value_heads(&self) -> Option<u32> {
        match *self {
            Self::Full {
                num_key_value_heads,
                ..
            }
            | Self::Sliding {
                num_key_value_heads,
                ..
            }
            | Self::Chunked {
                num_key_value_heads,
                ..
            }
            | Self::Cross {
                num_key_value_heads,
                ..
            } => Some(num_key_value_heads),
            Self::Latent { .. } | Self::Compressed { .. } | Self::Recurrent(_) | Self::Shared => {
                None
            }
        }
    }

    /// Tokens whose rows the layer still keeps when the sequence is `n` tokens long: the newest ones.
    pub fn kept_tokens(&self, n: Tokens) -> Tokens {
        match *self {
            Self::Full { .. } | Self::Latent { .. } | Self::Compressed { .. } => n,
            Self::Sliding { window, .. } => n.min(window),
            Self::Chunked {
                attention_chunk_size,
                ..
            } => n.min(attention_chunk_size),
            Self::Recurrent(_) | Self::Cross { .. } | Self::Shared => Tokens(0),
        }
    }

    /// Tokens at which the growth bends or stops; `None` when it is a straight line.
    pub fn cap(&self) -> Option<Tokens> {
        match *self {
            Self::Sliding { window, .. } => Some(window),
            Self::Chunked {
                attention_chunk_size,
                ..
            } => Some(attention_chunk_size),
            Self::Compressed { window, .. } => Some(window),
            Self::Full { .. }
            | Self::Latent { .. }
            | Self::Recurrent(_)
            | Self::Cross { .. }
            | Self::Shared => None,
        }
    }

    /// Rows of the positions `from..to` that a sequence of `n` tokens still keeps.
    pub fn kept_rows(&self, from: Tokens, to: Tokens, n: Tokens) -> Rows {
        let newest = |kept: Tokens| to.minus(from.max(n.minus(kept))).0;
        match *self {
            Self::Full { .. }
            | Self::Latent { .. }
            | Self::Sliding { .. }
            | Self::Chunked { .. } => Rows {
                main: newest(self.kept_tokens(n)),
                window: 0,
            },
            Self::Compressed {
                compress_ratio,
                window,
                ..
            } => {
                let ratio = u64::from(compress_ratio.max(1));
                Rows {
                    main: (to.0 / ratio).saturating_sub(from.0 / ratio),
                    window: newest(n.min(window)),
                }
            }
            Self::Recurrent(_) | Self::Cross { .. } | Self::Shared => Rows::default(),
        }
    }

    /// Bytes that a sequence of `n` tokens keeps in this layer, without index keys and recurrent state. Exact.
    ///
    /// Full: `n × num_key_value_heads × (head_dim + v_head_dim)` elements; latent: `n × (kv_lora_rank +
    /// qk_rope_head_dim)`, once for K and V. Index keys are counted in [`Self::index_bytes`].
    ///
    /// Source: vLLM `FullAttentionSpec`, `MLAAttentionSpec`, `SlidingWindowSpec`,
    /// <https://github.com/vllm-project/vllm/blob/001cabc1be16a59a70d720ed61a13b678c060a18/vllm/v1/kv_cache_interface.py>.
    /// Difference: blocks are the engines' business and are not rounded here.
    ///
    /// ```
    /// # use kvscope::core::{layer::LayerKind, units::{Tokens, Bytes, KvFormat, formats::BF16}};
    /// // Llama 3.1 8B: 8 KV heads of 128. One layer, one token: 2 × 8 × 128 × 2 B.
    /// let layer = LayerKind::Full { num_key_value_heads: 8, head_dim: 128, v_head_dim: 128 };
    /// assert_eq!(layer.cache_bytes(Tokens(1), KvFormat::both(BF16)), Bytes(4096));
    /// ```
    pub fn cache_bytes(&self, n: Tokens, format: KvFormat) -> Bytes {
        let (k, v) = self.k_v_bytes(n, format);
        k + v
    }

    /// [`Self::cache_bytes`] as its K part and its V part; a latent or compressed row is all K.
    pub fn k_v_bytes(&self, n: Tokens, format: KvFormat) -> (Bytes, Bytes) {
        let (k, v) = self.rows_bytes(self.kept_rows(Tokens(0), n, n), format);
        let (cross_k, cross_v) = self.cross_bytes(format);
        (k + cross_k, v + cross_v)
    }

    /// Bytes of K and of V of these rows.
    pub fn rows_bytes(&self, rows: Rows, format: KvFormat) -> (Bytes, Bytes) {
        match *self {
            Self::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            }
            | Self::Sliding {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            }
            | Self::Chunked {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            } => heads_bytes(rows.main, num_key_value_heads, head_dim, v_head_dim, format),
            Self::Latent {
                kv_lora_rank,
                qk_rope_head_dim,
                ..
            } => (
                latent_bytes(rows.main, kv_lora_rank, qk_rope_head_dim, format.k),
                Bytes::ZERO,
            ),
            Self::Compressed {
                head_dim,
                index_head_dim,
                ..
            } => {
                let width = u64::from(head_dim) + u64::from(index_head_dim);
                let bytes = format.k.row_bytes(rows.main, 1, width)
                    + format.k.row_bytes(rows.window, 1, u64::from(head_dim));
                (bytes, Bytes::ZERO)
            }
            Self::Cross { .. } | Self::Recurrent(_) | Self::Shared => (Bytes::ZERO, Bytes::ZERO),
        }
    }

    /// Bytes of K and of V of the encoder's tokens: constant over the sequence's life.
    pub fn cross_bytes(&self, format: KvFormat) -> (Bytes, Bytes) {
        match *self {
            Self::Cross {
                encoder_tokens,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => heads_bytes(
                encoder_tokens.0,
                num_key_value_heads,
                head_dim,
                v_head_dim,
                format,
            ),
            Self::Full { .. }
            | Self::Sliding { .. }
            | Self::Chunked { .. }
            | Self::Latent { .. }
            | Self::Compressed { .. }
            | Self::Recurrent(_)
            | Self::Shared => (Bytes::ZERO, Bytes::ZERO),
        }
    }

    /// Bytes of the sparse indexer's keys for these rows. An 8-bit cache stores each key as fp8 with one fp32 scale
    /// (132 bytes for 128); any other format stores the key as it stores K. The index key of a compressed row is part of
    /// that row.
    ///
    /// Source: vLLM and SGLang start-up logs of DeepSeek-V3.2 (132 bytes per token and layer).
    pub fn index_bytes(&self, rows: Rows, formats: CacheFormats) -> Bytes {
        let width = match *self {
            Self::Latent { index_head_dim, .. } => u64::from(index_head_dim),
            Self::Full { .. }
            | Self::Sliding { .. }
            | Self::Chunked { .. }
            | Self::Compressed { .. }
            | Self::Cross { .. }
            | Self::Recurrent(_)
            | Self::Shared => 0,
        };
        let k = formats.kv.k;
        let is_fp8 = formats.index == IndexStorage::Fp8 || k.block_bytes == k.block_elements;
        if width == 0 || formats.index == IndexStorage::Nothing {
            Bytes::ZERO
        } else if is_fp8 {
            Bytes(rows.main.saturating_mul(width.saturating_add(4)))
        } else {
            k.row_bytes(rows.main, 1, width)
        }
    }

    /// Bytes of the constant state, whatever the length.
    pub fn state_bytes(&self, formats: CacheFormats) -> Bytes {
        match self {
            Self::Recurrent(state) => {
                formats.conv.bytes(state.conv_elements())
                    + formats.state.bytes(state.state_elements())
            }
            Self::Full { .. }
            | Self::Sliding { .. }
            | Self::Chunked { .. }
            | Self::Latent { .. }
            | Self::Compressed { .. }
            | Self::Cross { .. }
            | Self::Shared => Bytes::ZERO,
        }
    }

    /// Everything the layer keeps for one sequence of `n` tokens.
    pub fn total_bytes(&self, n: Tokens, formats: CacheFormats) -> Bytes {
        self.cache_bytes(n, formats.kv)
            + self.index_bytes(self.kept_rows(Tokens(0), n, n), formats)
            + self.state_bytes(formats)
    }
}

fn heads_bytes(
    rows: u64,
    heads: u32,
    head_dim: u32,
    v_head_dim: u32,
    format: KvFormat,
) -> (Bytes, Bytes) {
    (
        format
            .k
            .row_bytes(rows, u64::from(heads), u64::from(head_dim)),
        format
            .v
            .row_bytes(rows, u64::from(heads), u64::from(v_head_dim)),
    )
}

fn latent_bytes(
    rows: u64,
    kv_lora_rank: u32,
    qk_rope_head_dim: u32,
    format: ElementFormat,
) -> Bytes {
    let (lora, rope) = (u64::from(kv_lora_rank), u64::from(qk_rope_head_dim));
    match format.scale {
        Scale::LatentTile => Bytes(rows.saturating_mul(lora + lora.div_ceil(128) * 4 + rope * 2)),
        Scale::InBlock | Scale::PerTokenHead | Scale::PerRow => {
            format.row_bytes(rows, 1, lora + rope)
        }
    }
}
