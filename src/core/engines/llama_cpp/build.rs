//! What changed between builds of llama.cpp, its fork and Ollama: the rules that a month and a name decide.

use crate::core::scenario::Engine;

/// Cells of a cache are a multiple of this with flash attention, and since November 2025 always.
pub(super) const PAD: u64 = 256;
/// The same without flash attention before.
const SMALL_PAD: u64 = 32;

/// Which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// The main line.
    LlamaCpp,
    /// ik_llama.cpp.
    Ik,
    /// Ollama's own engine.
    Ollama,
}

/// A build: the program and the month it is from, as a number such as 202511.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Build {
    pub(super) variant: Variant,
    month: u32,
    flash_attn: bool,
}

impl Build {
    pub(super) fn of(engine: &Engine) -> Self {
        let variant = match engine.variant {
            "ik_llama.cpp" => Variant::Ik,
            "ollama" => Variant::Ollama,
            _ => Variant::LlamaCpp,
        };
        // The field's check leaves YYYY-MM only.
        let digits = engine.version.bytes().filter(|byte| *byte != b'-');
        let month = digits
            .map(|byte| char::from(byte).to_digit(10))
            .try_fold(0_u32, |month, digit| {
                month.checked_mul(10)?.checked_add(digit?)
            })
            .unwrap_or(u32::MAX);
        Self {
            variant,
            month,
            flash_attn: engine.flash_attn,
        }
    }

    /// Whether it is the main line since `month`.
    pub(super) fn is_since(self, month: u32) -> bool {
        self.variant == Variant::LlamaCpp && month <= self.month
    }

    /// Whether it is of `month` or later, whatever the program.
    #[cfg_attr(
        not(feature = "doors"),
        allow(dead_code, reason = "for the lines that the engine prints")
    )]
    pub(super) fn is_from(self, month: u32) -> bool {
        month <= self.month
    }

    /// What cells are a multiple of.
    fn pad(self) -> u64 {
        if self.flash_attn || self.is_since(202_511) || self.variant == Variant::Ollama {
            PAD
        } else {
            SMALL_PAD
        }
    }

    /// Whether every sequence has its own stream of cells.
    pub(super) fn has_streams(self, is_unified: bool) -> bool {
        self.is_since(202_507) && !is_unified
    }

    /// Cells of one stream, and streams, for a context of `n_ctx` tokens over all sequences.
    ///
    /// Source: `llama_context`, `llama_kv_cache`; pull requests 14363 (streams, July 2025) and 16812 (padding, October
    /// 2025).
    pub(super) fn cells(self, n_ctx: u64, n_seq_max: u64, is_unified: bool) -> Cells {
        let n_seq = n_seq_max.max(1);
        if !self.has_streams(is_unified) {
            return Cells {
                per_stream: round_up(n_ctx, self.pad()),
                streams: 1,
            };
        }
        let n_ctx = if self.is_since(202_511) {
            round_up(n_ctx, PAD)
        } else {
            n_ctx
        };
        Cells {
            per_stream: round_up(n_ctx / n_seq, self.pad()).max(self.pad()),
            streams: n_seq,
        }
    }

    /// Whether sliding layers have a cache of their own.
    pub(super) fn has_sliding_cache(self) -> bool {
        self.variant == Variant::Ollama || self.is_since(202_505)
    }

    /// Cells of the sliding cache beside `full` ones: the window of every sequence of a stream, and one batch.
    ///
    /// Source: `llama_kv_cache_iswa`; Ollama: `Causal.Init`, `kvcache/causal.go`.
    pub(super) fn sliding_cells(
        self,
        full: Cells,
        n_ctx: u64,
        window: u64,
        n_seq_max: u64,
        n_ubatch: u64,
    ) -> Cells {
        let n_seq = n_seq_max.max(1);
        let of_stream = if full.streams == 1 { n_seq } else { 1 };
        let needed = window.saturating_mul(of_stream).saturating_add(n_ubatch);
        let per_stream = match self.variant {
            // A window longer than a sequence's context keeps everything.
            Variant::Ollama if n_ctx / n_seq < window => full.per_stream,
            Variant::Ollama => round_up(needed, PAD),
            Variant::LlamaCpp if self.is_since(202_511) => {
                round_up(needed.min(full.per_stream), PAD)
            }
            Variant::LlamaCpp | Variant::Ik => round_up(needed, self.pad()).min(full.per_stream),
        };
        Cells {
            per_stream,
            streams: full.streams,
        }
    }

    /// Whether V is stored transposed, every row as wide as the widest of any layer.
    pub(super) fn pads_v(self) -> bool {
        !self.flash_attn && self.is_since(202_507)
    }
}

/// Cells of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) per_stream: u64,
    pub(super) streams: u64,
}

impl Cells {
    /// Cells of all streams.
    pub(super) fn total(self) -> u64 {
        self.per_stream.saturating_mul(self.streams)
    }
}

pub(super) fn round_up(number: u64, unit: u64) -> u64 {
    number.div_ceil(unit.max(1)).saturating_mul(unit)
}
