//! vLLM's block manager: pages, groups of layers, and the blocks that one request needs.

use crate::core::engines::blocks_of_requests;
use crate::core::layer::{CacheFormats, LayerKind, RecurrentFamily, RecurrentState, Rows};
use crate::core::model::LayerGroup;
use crate::core::setup::Request;
use crate::core::units::{Bytes, Tokens};

/// Tokens that every attention kernel can have in a block.
const KERNEL_BLOCK: u64 = 16;
/// Tokens of a block that the latent kernels ask for.
const LATENT_BLOCK: u64 = 64;
/// Tokens that Mamba-2's scan takes at a time; the block is a multiple of them where states are cached at every block.
const SCAN_CHUNK: u64 = 256;
/// The same for states without such a scan.
const STATE_CHUNK: u64 = 2048;

/// What of the engine's settings decides its layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Storage of what is cached.
    pub(super) formats: CacheFormats,
    /// Tokens of a block, when they were chosen.
    pub(super) block_size: Option<u64>,
    /// Tokens that are scheduled and not yet settled.
    pub(super) tokens_in_flight: u64,
    /// Longest sequence.
    pub(super) max_model_len: u64,
    /// Whether sliding layers free what left the window.
    pub(super) is_hybrid_manager_on: bool,
    /// When states are cached.
    pub(super) state_mode: StateMode,
    /// Tokens that a draft proposes.
    pub(super) num_speculative_tokens: u64,
    /// GPUs that share one sequence.
    pub(super) context_parallel_size: u64,
}

/// `mamba_cache_mode`: when a recurrent state is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateMode {
    /// The live state only.
    None,
    /// Also the one at the last block.
    Align,
    /// At every block.
    All,
}

/// How many blocks a request needs of a group, by what its layers keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Full,
    Sliding(u64),
    Chunked(u64),
    State,
    Cross(u64),
}

/// The layers of one kind.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// What one of them keeps on this rank, as the manager sees it.
    pub(super) kind: LayerKind,
    need: Need,
    /// Layers of the whole model.
    pub(super) layers: u64,
    /// Tokens of a block.
    pub(super) block_size: u64,
    /// Bytes of a block of one layer.
    page: u64,
    /// Groups that the layers are split into.
    pub(super) groups: u64,
}

/// Pools, pages and groups of a model on its ranks.
#[derive(Clone, Debug)]
pub(in crate::core) struct Layout {
    /// The kinds of layers, in the model's order.
    pub(super) kinds: Vec<Kind>,
    /// Layers of a group, zero when all layers are one group.
    pub(super) group_size: u64,
    /// Bytes that one block takes on the fullest stage.
    pub(super) bytes_per_block: Bytes,
    /// What it took to make attention pages as large as states.
    pub(super) state_padding: Option<StatePadding>,
    settings: Settings,
}

/// How a model with states got pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatePadding {
    /// Tokens of an attention block.
    pub(super) block_size: u64,
    /// Bytes of a state.
    pub(super) state: u64,
    /// Bytes of the page that holds it.
    pub(super) page: u64,
}

impl Layout {
    /// The layout of these stages, layers as one rank keeps them. `None`: nothing is cached, or a kind of layer is in
    /// it whose layout is not established.
    ///
    /// Source: `get_kv_cache_groups` and what it calls, `vllm/v1/core/kv_cache_utils.py`,
    /// <https://github.com/vllm-project/vllm/blob/001cabc1be16a59a70d720ed61a13b678c060a18/vllm/v1/core/kv_cache_utils.py>.
    /// Difference: pages that do not divide the largest are padded to it, as newer builds do where the kernel allows it;
    /// older ones refuse such a model.
    pub(super) fn new(stages: &[Vec<LayerGroup>], settings: Settings) -> Option<Self> {
        let mut counts: Vec<(LayerKind, u64)> = Vec::new();
        for group in stages.iter().flatten() {
            if matches!(group.kind, LayerKind::Compressed { .. }) {
                return None;
            }
            if row_bytes(group.kind, settings.formats) != Bytes::ZERO
                || group.kind.state().is_some()
            {
                add(&mut counts, group.kind, u64::from(group.count));
            }
        }
        if !settings.is_hybrid_manager_on
            && counts.iter().any(|(kind, _)| need(*kind) == Need::Full)
        {
            let all = std::mem::take(&mut counts);
            for (kind, count) in all {
                add(&mut counts, kind.without_window(), count);
            }
        }
        let mut res = Self {
            kinds: counts
                .into_iter()
                .map(|(kind, layers)| Kind {
                    kind,
                    need: need(kind),
                    layers,
                    block_size: 0,
                    page: 0,
                    groups: 1,
                })
                .collect(),
            group_size: 0,
            bytes_per_block: Bytes::ZERO,
            state_padding: None,
            settings,
        };
        res.set_pages();
        if !res.is_one_group() {
            res.unify_pages();
            res.split_into_groups();
        }
        res.bytes_per_block = stages.iter().map(|groups| res.bytes_on(groups)).max()?;
        (res.bytes_per_block != Bytes::ZERO).then_some(res)
    }

    /// Gives every kind its block and its page. Where states stand beside attention, the attention's block grows until
    /// its page holds a state, and the state's page is padded to it.
    ///
    /// Source: `HybridAttentionMambaModelConfig`, `vllm/model_executor/models/config.py`.
    fn set_pages(&mut self) {
        let settings = self.settings;
        let state = self
            .kinds
            .iter()
            .filter_map(|kind| self.state_bytes(kind.kind))
            .max();
        let attention = self
            .kinds
            .iter()
            .find(|kind| kind.need != Need::State)
            .map(|kind| kind.kind);
        let is_latent = matches!(attention, Some(LayerKind::Latent { .. }));
        let chosen = settings
            .block_size
            .unwrap_or(if is_latent {
                LATENT_BLOCK
            } else {
                KERNEL_BLOCK
            })
            .max(1);
        let mut block_size = chosen;
        let mut state_page = state.unwrap_or(0);
        if let (Some(state), Some(attention)) = (state, attention) {
            let row = row_bytes(attention, settings.formats).0.max(1);
            let kernel = chosen.max(KERNEL_BLOCK);
            let step = match settings.state_mode {
                StateMode::None | StateMode::Align => kernel,
                StateMode::All => lcm(self.scan_chunk(), kernel),
            };
            block_size = state
                .div_ceil(row)
                .div_ceil(step)
                .saturating_mul(step)
                .max(chosen);
            state_page = block_size.saturating_mul(row);
            self.state_padding = Some(StatePadding {
                block_size,
                state,
                page: state_page,
            });
        }
        let state_block = match (settings.state_mode, attention) {
            (StateMode::None, _) | (_, None) => settings.max_model_len.max(1),
            (StateMode::Align | StateMode::All, Some(_)) => block_size,
        };
        for kind in &mut self.kinds {
            if kind.need == Need::State {
                kind.block_size = state_block;
                kind.page = state_page;
            } else {
                kind.block_size = block_size;
                kind.page = block_size.saturating_mul(row_bytes(kind.kind, settings.formats).0);
            }
        }
        // Without attention beside them, states keep pages of their own size.
        if attention.is_none() {
            let pages: Vec<_> = self
                .kinds
                .iter()
                .map(|kind| self.state_bytes(kind.kind).unwrap_or(0))
                .collect();
            for (kind, page) in self.kinds.iter_mut().zip(pages) {
                kind.page = page;
            }
        }
    }

    fn scan_chunk(&self) -> u64 {
        let is_mamba2 = |kind: &Kind| {
            kind.kind
                .state()
                .is_some_and(|state| state.family == RecurrentFamily::Mamba2)
        };
        if self.kinds.iter().any(is_mamba2) {
            SCAN_CHUNK
        } else {
            STATE_CHUNK
        }
    }

    /// Bytes of a recurrent state, with the columns that rejected draft tokens need.
    fn state_bytes(&self, kind: LayerKind) -> Option<u64> {
        let state = kind.state()?;
        let columns = match state.family {
            RecurrentFamily::Mamba2 | RecurrentFamily::GatedDeltaNet | RecurrentFamily::Kda => {
                state
                    .conv_columns
                    .saturating_add(self.settings.num_speculative_tokens)
            }
            RecurrentFamily::Mamba1
            | RecurrentFamily::Lightning
            | RecurrentFamily::Rwkv
            | RecurrentFamily::RgLru
            | RecurrentFamily::ShortConv => state.conv_columns,
        };
        let state = RecurrentState {
            conv_columns: columns,
            ..state
        };
        Some(
            LayerKind::Recurrent(state)
                .state_bytes(self.settings.formats)
                .0,
        )
    }

    /// Whether all layers need the same blocks, and so share one table whatever their pages.
    fn is_one_group(&self) -> bool {
        self.kinds.windows(2).all(|pair| match pair {
            [a, b] => a.need == b.need && a.block_size == b.block_size,
            _ => true,
        })
    }

    fn unify_pages(&mut self) {
        let page = self.kinds.iter().map(|kind| kind.page).max().unwrap_or(0);
        for kind in &mut self.kinds {
            if kind.need != Need::State && 0 < kind.page && page.is_multiple_of(kind.page) {
                kind.block_size = kind.block_size.saturating_mul(page / kind.page);
            }
            kind.page = page;
        }
    }

    /// Groups of as many layers as the rarest kind has, or as the most frequent when that is not 1.5 times as many.
    fn split_into_groups(&mut self) {
        let layers = || self.kinds.iter().map(|kind| kind.layers);
        let (fewest, most) = (
            layers().min().unwrap_or(1).max(1),
            layers().max().unwrap_or(1),
        );
        let group_size = if 2 * most < 3 * fewest { most } else { fewest };
        for kind in &mut self.kinds {
            kind.groups = kind.layers.div_ceil(group_size);
        }
        self.group_size = group_size;
    }

    /// Bytes of one block on the stage with these layers. Each group's layers are dealt out in turn, so that a stage
    /// holds about as many of every group.
    fn bytes_on(&self, stage: &[LayerGroup]) -> Bytes {
        let count = |kind: &Kind| -> u64 {
            let is_kind = |group: &&LayerGroup| {
                group.kind == kind.kind
                    || (!self.settings.is_hybrid_manager_on
                        && group.kind.without_window() == kind.kind)
            };
            stage
                .iter()
                .filter(is_kind)
                .map(|group| u64::from(group.count))
                .sum()
        };
        if self.group_size == 0 {
            return self
                .kinds
                .iter()
                .map(|kind| Bytes(kind.page).times(count(kind)))
                .sum();
        }
        let most = self
            .kinds
            .iter()
            .map(|kind| count(kind).div_ceil(kind.groups))
            .max();
        Bytes(self.page()).times(most.unwrap_or(0))
    }

    /// The first kind with attention, whose block the engine prints; of a model without, the first.
    pub(super) fn attention(&self) -> Option<&Kind> {
        let attention = self.kinds.iter().find(|kind| kind.need != Need::State);
        attention.or(self.kinds.first())
    }

    /// Bytes of a block of one layer; for one group of different pages, the largest.
    pub(super) fn page(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.page).max().unwrap_or(0)
    }

    /// Groups of all kinds.
    pub(super) fn num_groups(&self) -> u64 {
        if self.group_size == 0 {
            1
        } else {
            self.kinds.iter().map(|kind| kind.groups).sum()
        }
    }

    /// Tokens of the smallest block of any group.
    pub(super) fn smallest_block(&self) -> u64 {
        self.kinds
            .iter()
            .map(|kind| kind.block_size)
            .min()
            .unwrap_or(1)
            .max(1)
    }

    /// Blocks of all groups that one sequence of `len` tokens must be able to hold.
    ///
    /// Source: `max_memory_usage_bytes` of each spec, `vllm/v1/kv_cache_interface.py`,
    /// <https://github.com/vllm-project/vllm/blob/001cabc1be16a59a70d720ed61a13b678c060a18/vllm/v1/kv_cache_interface.py>.
    pub(super) fn blocks(&self, len: Tokens) -> u64 {
        self.sum(|kind| self.blocks_of(kind, len.0))
    }

    /// Blocks that `num_seqs` requests take: full blocks of a prompt that samples or requests share are there once.
    pub(super) fn blocks_of_requests(&self, request: &Request, num_seqs: u64) -> u64 {
        if num_seqs == 0 {
            return 0;
        }
        self.sum(|kind| {
            let own = self.blocks_of(kind, request.context().0);
            if kind.need != Need::Full {
                return own
                    .saturating_mul(request.num_samples)
                    .saturating_mul(num_seqs);
            }
            let context_parallel_size = self.settings.context_parallel_size;
            let block_size = kind.block_size.saturating_mul(context_parallel_size);
            blocks_of_requests(request, num_seqs, own, block_size)
        })
    }

    fn sum(&self, blocks: impl Fn(&Kind) -> u64) -> u64 {
        if self.group_size == 0 {
            return self.kinds.iter().map(blocks).max().unwrap_or(0);
        }
        self.kinds
            .iter()
            .map(|kind| blocks(kind).saturating_mul(kind.groups))
            .fold(0, u64::saturating_add)
    }

    fn blocks_of(&self, kind: &Kind, len: u64) -> u64 {
        let settings = &self.settings;
        let block_size = kind.block_size.max(1);
        let in_flight = settings.tokens_in_flight;
        match kind.need {
            Need::Full => len
                .div_ceil(settings.context_parallel_size.max(1))
                .div_ceil(block_size),
            // One more, because a window may begin anywhere in a block.
            Need::Sliding(window) => {
                window
                    .saturating_sub(1)
                    .saturating_add(in_flight)
                    .min(len)
                    .div_ceil(block_size)
                    + 1
            }
            Need::Chunked(chunk) => chunk
                .saturating_add(in_flight)
                .min(len)
                .div_ceil(block_size),
            Need::State => match settings.state_mode {
                StateMode::None => 1 + settings.num_speculative_tokens,
                StateMode::Align => 2 + settings.num_speculative_tokens,
                StateMode::All => len.div_ceil(block_size),
            },
            Need::Cross(tokens) => tokens.div_ceil(block_size),
        }
    }

    /// K, V and state of one layer's block, for a report.
    #[cfg(feature = "doors")]
    pub(super) fn parts(&self, kind: &Kind) -> (u64, u64, u64) {
        if kind.need == Need::State {
            return (0, 0, kind.page);
        }
        let rows = Rows {
            main: kind.block_size,
            window: 0,
        };
        let v = match kind.kind {
            LayerKind::Cross {
                num_key_value_heads,
                v_head_dim,
                ..
            } => {
                let width = u64::from(v_head_dim);
                self.settings.formats.kv.v.row_bytes(
                    rows.main,
                    u64::from(num_key_value_heads),
                    width,
                )
            }
            other => other.rows_bytes(rows, self.settings.formats.kv).1,
        };
        (kind.page.saturating_sub(v.0), v.0.min(kind.page), 0)
    }
}

fn add(counts: &mut Vec<(LayerKind, u64)>, kind: LayerKind, count: u64) {
    match counts.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, sum)) => *sum = sum.saturating_add(count),
        None => counts.push((kind, count)),
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}

fn need(kind: LayerKind) -> Need {
    match kind {
        LayerKind::Full { .. }
        | LayerKind::Latent { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Shared => Need::Full,
        LayerKind::Sliding { window, .. } => Need::Sliding(window.0),
        LayerKind::Chunked {
            attention_chunk_size,
            ..
        } => Need::Chunked(attention_chunk_size.0),
        LayerKind::Recurrent(_) => Need::State,
        LayerKind::Cross { encoder_tokens, .. } => Need::Cross(encoder_tokens.0),
    }
}

/// Bytes of one token in one layer's block.
fn row_bytes(kind: LayerKind, formats: CacheFormats) -> Bytes {
    let row = Rows { main: 1, window: 0 };
    let kind = match kind {
        LayerKind::Cross {
            num_key_value_heads,
            head_dim,
            v_head_dim,
            ..
        } => LayerKind::Full {
            num_key_value_heads,
            head_dim,
            v_head_dim,
        },
        other => other,
    };
    let (k, v) = kind.rows_bytes(row, formats.kv);
    k + v + kind.index_bytes(row, formats)
}
