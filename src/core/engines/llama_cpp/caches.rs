//! The caches of a stage: their cells and their bytes.

use super::build::{Cells, Variant};
use super::{Index, Rules, Stage};
use crate::core::layer::{LayerKind, RecurrentState, Rows};
use crate::core::model::LayerGroup;
use crate::core::setup::Request;
use crate::core::units::{Bytes, ElementFormat, Tokens};

impl Rules {
    /// The context of all slots that these requests need. Streams are equal parts of it; a unified cache shares the
    /// prompt of a request's samples.
    pub(super) fn needed_context(&self, request: &Request, num_seqs: u64, n_seq_max: u64) -> u64 {
        if self.build.has_streams(self.is_unified) {
            return request.context().0.saturating_mul(n_seq_max);
        }
        let prompts = if self.is_unified {
            1
        } else {
            request.num_samples
        };
        let prompt = request.prompt.0.saturating_mul(prompts);
        let after = request
            .thinking
            .plus(request.answer)
            .0
            .saturating_mul(request.num_samples);
        prompt.saturating_add(after).saturating_mul(num_seqs)
    }

    pub(super) fn cells(&self, n_ctx: u64, n_seq_max: u64) -> Cells {
        self.build.cells(n_ctx, n_seq_max, self.is_unified)
    }

    /// The caches of one stage for a context of `n_ctx` tokens over `n_seq_max` sequences.
    #[cfg(feature = "doors")]
    pub(super) fn caches(&self, stage: &Stage, n_ctx: u64, n_seq_max: u64) -> Vec<Cache> {
        let mut res = Vec::new();
        self.for_each(stage, n_ctx, n_seq_max, &mut |cache| add(&mut res, cache));
        res
    }

    /// Hands over the caches of each kind of layer in turn; those of one name and size are one.
    fn for_each(&self, stage: &Stage, n_ctx: u64, n_seq_max: u64, push: &mut impl FnMut(Cache)) {
        let full = self.cells(n_ctx, n_seq_max);
        // A file says which layers slide only where not all do; without that, none does.
        let slides = self.build.has_sliding_cache() && self.has_full;
        for group in &stage.groups {
            let (name, cells) = match group.kind {
                LayerKind::Sliding { window, .. } if slides => {
                    (Name::Sliding, self.sliding(full, n_ctx, window, n_seq_max))
                }
                LayerKind::Chunked {
                    attention_chunk_size,
                    ..
                } if slides && self.build.variant != Variant::Ollama => (
                    Name::Sliding,
                    self.sliding(full, n_ctx, attention_chunk_size, n_seq_max),
                ),
                LayerKind::Full { .. }
                | LayerKind::Sliding { .. }
                | LayerKind::Chunked { .. }
                | LayerKind::Latent { .. }
                | LayerKind::Cross { .. } => (Name::Full, full),
                LayerKind::Recurrent(state) => {
                    self.add_state(push, state, group.count, n_seq_max);
                    continue;
                }
                LayerKind::Compressed { .. } | LayerKind::Shared => continue,
            };
            self.add_rows(push, name, cells, *group);
        }
        if let Some(draft) = stage.draft {
            self.add_rows(push, Name::Draft, full, draft);
        }
        self.add_index(push, stage, full);
    }

    fn sliding(&self, full: Cells, n_ctx: u64, window: Tokens, n_seq_max: u64) -> Cells {
        if self.is_sliding_full {
            return full;
        }
        let window = self.sliding_memory.unwrap_or(0).max(window.0);
        self.build
            .sliding_cells(full, n_ctx, window, n_seq_max, self.n_ubatch)
    }

    fn add_rows(&self, push: &mut impl FnMut(Cache), name: Name, cells: Cells, group: LayerGroup) {
        let (k_format, v_format) = (self.formats.kv.k, self.formats.kv.v);
        let rows = cells.total();
        let bytes = |format: ElementFormat, heads: u32, width: u32| {
            format.row_bytes(rows, u64::from(heads), u64::from(width))
        };
        let (k, v) = match group.kind {
            LayerKind::Full {
                num_key_value_heads: heads,
                head_dim,
                v_head_dim,
            }
            | LayerKind::Sliding {
                num_key_value_heads: heads,
                head_dim,
                v_head_dim,
                ..
            }
            | LayerKind::Chunked {
                num_key_value_heads: heads,
                head_dim,
                v_head_dim,
                ..
            } => {
                let own = bytes(v_format, heads, v_head_dim);
                let is_padded = self.build.pads_v() && 0 < heads && 0 < v_head_dim;
                let v = if is_padded {
                    own.max(v_format.row_bytes(rows, 1, self.widest_v))
                } else {
                    own
                };
                (bytes(k_format, heads, head_dim), v)
            }
            LayerKind::Latent { .. } => {
                let rows = Rows {
                    main: rows,
                    window: 0,
                };
                group.kind.rows_bytes(rows, self.formats.kv)
            }
            LayerKind::Cross { .. } => group.kind.cross_bytes(self.formats.kv),
            LayerKind::Compressed { .. } | LayerKind::Recurrent(_) | LayerKind::Shared => return,
        };
        let is_empty = k + v == Bytes::ZERO && 0 < rows;
        if !is_empty && 0 < group.count {
            let count = u64::from(group.count);
            push(Cache {
                name,
                cells,
                layers: group.count,
                k: k.times(count),
                v: v.times(count),
            });
        }
    }

    /// Convolution states as R and recurrent states as S, both in f32, for every sequence.
    fn add_state(
        &self,
        push: &mut impl FnMut(Cache),
        state: RecurrentState,
        layers: u32,
        n_seq_max: u64,
    ) {
        let states = n_seq_max.max(1).saturating_mul(self.states_per_sequence);
        let count = u64::from(layers).saturating_mul(states);
        let cells = Cells {
            per_stream: n_seq_max.max(1),
            streams: 1,
        };
        let k = self.formats.conv.bytes(state.conv_elements()).times(count);
        let v = self
            .formats
            .state
            .bytes(state.state_elements())
            .times(count);
        push(Cache {
            name: Name::State,
            cells,
            layers,
            k,
            v,
        });
    }

    fn add_index(&self, push: &mut impl FnMut(Cache), stage: &Stage, cells: Cells) {
        let groups = stage.groups.iter().chain(&stage.draft);
        let latents = groups.filter_map(|group| match group.kind {
            LayerKind::Latent { index_head_dim, .. } => Some((index_head_dim, group.count)),
            LayerKind::Full { .. }
            | LayerKind::Sliding { .. }
            | LayerKind::Chunked { .. }
            | LayerKind::Compressed { .. }
            | LayerKind::Recurrent(_)
            | LayerKind::Cross { .. }
            | LayerKind::Shared => None,
        });
        let widest = latents.clone().map(|(width, _)| width).max().unwrap_or(0);
        for (width, count) in latents {
            let width = if self.has_index == Index::All {
                widest
            } else {
                width
            };
            if self.has_index != Index::None && 0 < width && 0 < count {
                let kind = LayerKind::Latent {
                    kv_lora_rank: 0,
                    qk_rope_head_dim: 0,
                    index_head_dim: width,
                };
                let rows = Rows {
                    main: cells.total(),
                    window: 0,
                };
                let k = kind.index_bytes(rows, self.formats).times(u64::from(count));
                push(Cache {
                    name: Name::Index,
                    cells,
                    layers: count,
                    k,
                    v: Bytes::ZERO,
                });
            }
        }
    }

    /// Bytes of all caches on the fullest stage.
    pub(super) fn total(&self, n_ctx: u64, n_seq_max: u64) -> Bytes {
        let of_stage = |stage| {
            let mut sum = Bytes::ZERO;
            self.for_each(stage, n_ctx, n_seq_max, &mut |cache| {
                sum = sum + cache.k + cache.v
            });
            sum
        };
        self.stages
            .iter()
            .map(of_stage)
            .max()
            .unwrap_or(Bytes::ZERO)
    }
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Full,
    Sliding,
    State,
    Draft,
    Index,
}

impl Name {
    #[cfg(feature = "doors")]
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Sliding => "sliding",
            Self::State => "state",
            Self::Draft => "draft",
            Self::Index => "indexer",
        }
    }
}

/// One cache of a stage; of states, R is in `k` and S in `v`.
#[cfg_attr(
    not(feature = "doors"),
    expect(dead_code, reason = "the first view sums the bytes alone")
)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Cache {
    pub(super) name: Name,
    pub(super) cells: Cells,
    pub(super) layers: u32,
    pub(super) k: Bytes,
    pub(super) v: Bytes,
}

#[cfg(feature = "doors")]
fn add(caches: &mut Vec<Cache>, cache: Cache) {
    let is_same = |known: &&mut Cache| known.name == cache.name && known.cells == cache.cells;
    match caches.iter_mut().find(is_same) {
        Some(known) => {
            known.layers = known.layers.saturating_add(cache.layers);
            known.k = known.k + cache.k;
            known.v = known.v + cache.v;
        }
        None => caches.push(cache),
    }
}
