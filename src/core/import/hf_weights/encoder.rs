//! Parameters of an encoder that stands before the decoder.

use super::parts::Parts;
use super::{Counter, WeightKind};
use crate::core::import::layer_types::MAX_LAYERS;

impl Counter<'_> {
    /// Whether the encoder of this architecture is counted.
    pub(super) fn counts_encoder(&self) -> bool {
        matches!(self.view.model_type(), "t5" | "mt5" | "umt5" | "whisper")
    }

    /// The encoder of T5 and Whisper, and the position tables of T5's decoder.
    pub(super) fn encoder(&self, first: &mut Parts) {
        match self.view.model_type() {
            "t5" | "mt5" | "umt5" => self.t5_encoder(first),
            "whisper" => self.whisper_encoder(first),
            _ => {}
        }
    }

    fn t5_encoder(&self, first: &mut Parts) {
        let n_layers = self.view.given("num_layers").unwrap_or(self.n_layers);
        let n_layers = n_layers.min(MAX_LAYERS);
        let heads = self.dim("num_attention_heads").unwrap_or(0);
        let head_dim = self.dim("head_dim").unwrap_or(0);
        for _ in 0..n_layers {
            first.add(
                WeightKind::Attention,
                heads,
                &[4, self.hidden, heads, head_dim],
            );
            self.mlp(
                first,
                WeightKind::Mlp,
                self.intermediate_size().unwrap_or(0),
            );
            first.vectors(&[2, self.hidden]);
        }
        first.vectors(&[self.hidden]);
        // Relative positions: one table for each stack; umT5 has one for each layer.
        let buckets = self.dim("relative_attention_num_buckets").unwrap_or(32);
        let tables = if self.view.model_type() == "umt5" {
            n_layers.saturating_add(self.n_layers)
        } else {
            2
        };
        first.vectors(&[tables, buckets, heads]);
    }

    fn whisper_encoder(&self, first: &mut Parts) {
        let n_layers = self.dim("encoder_layers").unwrap_or(0);
        let size = self.dim("encoder_ffn_dim").unwrap_or(0);
        let heads = self.dim("encoder_attention_heads").unwrap_or(1);
        let hidden = self.hidden;
        for _ in 0..n_layers.min(MAX_LAYERS) {
            first.add(WeightKind::Attention, heads, &[4, hidden, hidden]);
            self.mlp(first, WeightKind::Mlp, size);
            // Biases of Q, V and O; two layer norms.
            first.vectors(&[3 + 4, hidden]);
        }
        let mels = self.dim("num_mel_bins").unwrap_or(80);
        // Two convolutions of three taps with their biases, positions, the final norm.
        first.add(WeightKind::Embedding, 1, &[3, mels, hidden]);
        first.add(WeightKind::Embedding, 1, &[3, hidden, hidden]);
        let positions = self.dim("max_source_positions").unwrap_or(1_500);
        first.add(WeightKind::Embedding, 1, &[positions, hidden]);
        first.vectors(&[4, hidden]);
    }
}
