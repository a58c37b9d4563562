//! Parameters of MLPs and of experts.

use serde_json::Value;

use super::parts::Parts;
use super::{Counter, WeightKind};

/// What a layer does after its mixer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedForward {
    /// Nothing: the layer is a mixer alone.
    None,
    /// One MLP.
    Dense,
    /// Experts.
    Sparse,
    /// An MLP and experts.
    Both,
}

impl Counter<'_> {
    /// Routed experts of an expert layer; zero for a dense model.
    pub(super) fn num_experts(&self) -> u64 {
        // One expert is an MLP (Jamba).
        let num_experts = self.dim("num_experts").filter(|number| 1 < *number);
        match num_experts {
            Some(_) if self.view.flag("enable_moe_block") == Some(false) => 0,
            Some(_) if self.view.flag("is_moe") == Some(false) => 0,
            Some(number) => number,
            None => 0,
        }
    }

    /// Width of a dense MLP.
    pub(super) fn intermediate_size(&self) -> Option<u64> {
        let size = self.first(&[
            "dense_intermediate_size",
            "intermediate_size_mlp",
            "intermediate_size",
        ]);
        // Older models leave it out and mean four times the width.
        size.filter(|size| *size != 0)
            .or_else(|| (!self.traits.is_gated).then(|| self.four_times()))
    }

    fn four_times(&self) -> u64 {
        let ratio = self.dim("expansion_ratio").unwrap_or(4);
        self.hidden.saturating_mul(ratio)
    }

    fn intermediate_size_at(&self, layer_idx: usize) -> Option<u64> {
        let model_type = self.view.model_type();
        if let Some(blocks) = self.view.list("block_configs") {
            return nas_intermediate_size(blocks.get(layer_idx)?, self.hidden);
        }
        if self.view.list("intermediate_size").is_some() {
            return self.view.number_at("intermediate_size", layer_idx);
        }
        let size = self.intermediate_size()?;
        match model_type {
            // Two halves of one projection.
            "recurrent_gemma" | "qwen" => Some(size / 2),
            "lfm2"
                if !self.view.has("intermediate_size") || self.is("block_auto_adjust_ff_dim") =>
            {
                Some(self.lfm2_intermediate_size(size))
            }
            "gemma4_text" if self.is("use_double_wide_mlp") => {
                let n_shared = self.dim("num_kv_shared_layers").unwrap_or(0);
                let is_shared = self.n_layers.saturating_sub(n_shared) <= layer_idx as u64;
                Some(if is_shared {
                    size.saturating_mul(2)
                } else {
                    size
                })
            }
            _ => Some(size),
        }
    }

    /// Two thirds of the width in the file, rounded up to a multiple.
    ///
    /// Source: `Lfm2MLP` of transformers 5.24.0. The files that leave the width out are 1.5 times what it gives.
    fn lfm2_intermediate_size(&self, size: u64) -> u64 {
        if self.view.flag("block_auto_adjust_ff_dim") == Some(false) {
            return size;
        }
        let multiple = self.dim("block_multiple_of").unwrap_or(256).max(1);
        (size.saturating_mul(2) / 3)
            .div_ceil(multiple)
            .saturating_mul(multiple)
    }

    /// Width of a routed expert.
    fn moe_intermediate_size(&self) -> Option<u64> {
        self.first(&["moe_intermediate_size", "intermediate_size"])
            .filter(|size| *size != 0)
    }

    /// The dimension that a layer's MLP or experts lack.
    pub(super) fn missing_of_feed_forward(&self, layer_idx: usize) -> Option<&'static str> {
        let (is_dense, is_sparse) = match self.feed_forward_of(layer_idx) {
            FeedForward::None => (false, false),
            FeedForward::Dense => (true, false),
            FeedForward::Sparse => (false, true),
            FeedForward::Both => (true, true),
        };
        if is_dense && self.intermediate_size_at(layer_idx).is_none() {
            return Some(if self.view.has("block_configs") {
                "block_configs.ffn"
            } else {
                "intermediate_size"
            });
        }
        if is_sparse && self.moe_intermediate_size().is_none() {
            return Some("moe_intermediate_size");
        }
        None
    }

    fn feed_forward_of(&self, layer_idx: usize) -> FeedForward {
        let view = self.view;
        match view.model_type() {
            "mamba" | "mamba2" | "falcon_mamba" | "rwkv" => return FeedForward::None,
            "nemotron_h" => return self.letter_of(layer_idx),
            "longcat_flash" => return FeedForward::Both,
            _ => {}
        }
        if let Some(blocks) = view.list("block_configs") {
            let is_removed = blocks
                .get(layer_idx)
                .and_then(|block| block.get("ffn")?.get("no_op")?.as_bool());
            return if is_removed == Some(true) {
                FeedForward::None
            } else {
                FeedForward::Dense
            };
        }
        if self.num_experts() == 0 || !self.is_sparse(layer_idx) {
            return FeedForward::Dense;
        }
        if self.is("residual_moe") || self.is("enable_moe_block") {
            return FeedForward::Both;
        }
        FeedForward::Sparse
    }

    /// Nemotron-H spells each layer: `-` or `mlp`, `E` or `moe`; the others are mixers alone.
    fn letter_of(&self, layer_idx: usize) -> FeedForward {
        let letter = self
            .view
            .text("hybrid_override_pattern")
            .and_then(|pattern| pattern.chars().nth(layer_idx));
        let name = self
            .view
            .list("layer_types")
            .and_then(|types| types.get(layer_idx)?.as_str());
        match (letter, name) {
            (Some('-'), _) | (None, Some("mlp")) => FeedForward::Dense,
            (Some('E'), _) | (None, Some("moe")) => FeedForward::Sparse,
            _ => FeedForward::None,
        }
    }

    /// Whether a layer of a model with experts has them: every way in which configs say it.
    fn is_sparse(&self, layer_idx: usize) -> bool {
        let view = self.view;
        let idx = layer_idx as u64;
        let named = view
            .list("mlp_layer_types")
            .and_then(|types| types.get(layer_idx)?.as_str());
        if let Some(name) = named {
            return name != "dense";
        }
        for name in ["moe_layers_enum", "moe_layers"] {
            if let Some(list) = view.numbers(name).filter(|list| !list.is_empty()) {
                return list.contains(&idx);
            }
        }
        for name in ["moe_layer_freq", "is_moe_layer"] {
            if let Some(list) = view.list(name) {
                return list
                    .get(layer_idx)
                    .is_some_and(|value| value.as_u64() == Some(1) || value == &Value::Bool(true));
            }
        }
        if let Some(period) = self
            .dim("expert_layer_period")
            .filter(|period| *period != 0)
        {
            let offset = self.dim("expert_layer_offset").unwrap_or(0);
            return idx % period == offset % period;
        }
        let is_dense = view
            .numbers("mlp_only_layers")
            .is_some_and(|list| list.contains(&idx));
        if is_dense {
            return false;
        }
        let step = self
            .first(&["interleave_moe_layer_step", "decoder_sparse_step"])
            .filter(|step| *step != 0);
        if let Some(step) = step {
            return (idx + 1).is_multiple_of(step);
        }
        let start = self
            .first(&[
                "first_k_dense_replace",
                "num_dense_layers",
                "moe_layer_start_index",
                "moe_layer_num_skipped",
            ])
            .unwrap_or(0);
        let end = self.dim("moe_layer_end_index").unwrap_or(u64::MAX);
        let interval = self
            .first(&["moe_layer_interval", "moe_layer_freq"])
            .filter(|interval| *interval != 0)
            .unwrap_or(1);
        start <= idx && idx <= end && (idx - start).is_multiple_of(interval)
    }

    pub(super) fn feed_forward(&self, parts: &mut Parts, layer_idx: usize) {
        match self.feed_forward_of(layer_idx) {
            FeedForward::None => {}
            FeedForward::Dense => self.dense(parts, layer_idx),
            FeedForward::Sparse => self.sparse(parts),
            FeedForward::Both => {
                self.dense(parts, layer_idx);
                self.sparse(parts);
            }
        }
    }

    fn dense(&self, parts: &mut Parts, layer_idx: usize) {
        // Granite's MLP is what its expert models call the shared expert.
        let size = if self.view.model_type() == "granitemoehybrid" {
            self.dim("shared_intermediate_size")
        } else {
            None
        };
        let size = size.or_else(|| self.intermediate_size_at(layer_idx));
        let n_mlps = if self.view.model_type() == "longcat_flash" {
            2
        } else {
            1
        };
        for _ in 0..n_mlps {
            self.mlp(parts, WeightKind::Mlp, size.unwrap_or(0));
        }
    }

    fn matrices(&self) -> u64 {
        let is_gated = match self.view.model_type() {
            "t5" | "mt5" | "umt5" => self
                .view
                .text("feed_forward_proj")
                .is_some_and(|name| name.starts_with("gated")),
            _ => self.traits.is_gated,
        };
        if is_gated { 3 } else { 2 }
    }

    pub(super) fn mlp(&self, parts: &mut Parts, kind: WeightKind, size: u64) {
        let matrices = self.matrices();
        parts.add(kind, size, &[matrices, self.hidden, size]);
        let has_bias = ["mlp_bias", "use_bias", "bias"]
            .iter()
            .find_map(|name| self.view.flag(name))
            .filter(|_| self.view.model_type() != "nemotron_h" || self.view.has("mlp_bias"))
            .unwrap_or(self.traits.has_mlp_bias);
        if has_bias {
            parts.vectors(&[matrices - 1, size]);
            parts.vectors(&[self.hidden]);
        }
        if self.view.model_type() == "apertus" {
            // Its activation has two learned numbers.
            parts.vectors(&[2]);
        }
    }

    fn sparse(&self, parts: &mut Parts) {
        let num_experts = self.num_experts();
        let size = self.moe_intermediate_size().unwrap_or(0);
        let matrices = self.matrices();
        // Latent experts work on a narrower stream, with one projection down and one up for all of them.
        let latent = self.first(&["moe_latent_size", "routed_expert_hidden_size"]);
        let width = latent.filter(|width| *width != 0).unwrap_or(self.hidden);
        if width != self.hidden {
            parts.add(WeightKind::SharedExperts, 1, &[2, self.hidden, width]);
            if self.is("latent_moe_use_norm") {
                parts.vectors(&[width]);
            }
        }
        parts.add(
            WeightKind::RoutedExperts,
            size,
            &[num_experts, matrices, width, size],
        );
        let empty = self.dim("zero_expert_num").unwrap_or(0);
        parts.add(
            WeightKind::Router,
            1,
            &[self.hidden, num_experts.saturating_add(empty)],
        );
        if self.view.model_type() == "gpt_oss" {
            parts.vectors(&[num_experts]);
            let biases = size.saturating_mul(2).saturating_add(width);
            parts.add(WeightKind::RoutedExpertBiases, 1, &[num_experts, biases]);
        }
        if self.is("enable_moe_block") {
            // Gemma 4: scales of the router and three more norms.
            parts.vectors(&[num_experts]);
            parts.vectors(&[4, self.hidden]);
        }
        self.shared_experts(parts, size);
    }

    fn shared_experts(&self, parts: &mut Parts, size: u64) {
        let n_shared = self.dim("n_shared_experts");
        let own = self.first(&[
            "shared_expert_intermediate_size",
            "moe_shared_expert_intermediate_size",
            "share_expert_dim",
            "shared_experts_intermediate_size",
            "shared_intermediate_size",
        ]);
        let shared = match (own, n_shared) {
            // Nemotron's and MiniMax's width is that of one.
            (Some(own), Some(n_shared)) if self.view.model_type() != "qwen2_moe" => {
                own.saturating_mul(n_shared.max(1))
            }
            (Some(own), _) => own,
            (None, Some(n_shared)) => n_shared.saturating_mul(size),
            (None, None) if self.view.model_type() == "llama4_text" => size,
            (None, None) => 0,
        };
        if shared == 0 {
            return;
        }
        self.mlp(parts, WeightKind::SharedExperts, shared);
        if self.view.model_type().starts_with("qwen") {
            // A gate that says how much of the shared expert to take.
            parts.vectors(&[self.hidden]);
        }
    }
}

/// Width of the MLP of a block that architecture search chose: given, or `2/3 × ffn_mult × hidden_size` rounded up to a
/// multiple of 256.
///
/// Source: `_ffn_mult_to_intermediate_size` in `block_config.py` of nvidia/Llama-3_3-Nemotron-Super-49B-v1.
fn nas_intermediate_size(block: &Value, hidden: u64) -> Option<u64> {
    let ffn = block.get("ffn")?;
    if let Some(size) = ffn.get("intermediate_size").and_then(Value::as_u64) {
        return Some(size);
    }
    let mult = ffn.get("ffn_mult")?.as_f64()?;
    if !(0.0..=1_000.0).contains(&mult) || u64::from(u32::MAX) < hidden {
        return None;
    }
    // Multipliers have few binary digits, so millionths hold them closely enough for a multiple of 256.
    let millionths = (mult * 1e6).round() as u64;
    let size = u128::from(hidden) * u128::from(millionths) * 2 / 3_000_000;
    u64::try_from(size.div_ceil(256) * 256).ok()
}
