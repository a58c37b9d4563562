//! Parameters of MLPs and of experts.

use super::layer_facts::{FeedForward, LayerFacts};
use super::parts::Parts;
use super::{Counter, WeightKind};

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

    /// Width of a routed expert.
    fn moe_intermediate_size(&self) -> Option<u64> {
        self.first(&["moe_intermediate_size", "intermediate_size"])
            .filter(|size| *size != 0)
    }

    /// The dimension that a layer's MLP or experts lack.
    pub(super) fn missing_of_feed_forward(&self, facts: &LayerFacts) -> Option<&'static str> {
        let (is_dense, is_sparse) = match facts.feed_forward {
            FeedForward::None => (false, false),
            FeedForward::Dense => (true, false),
            FeedForward::Sparse => (false, true),
            FeedForward::Both => (true, true),
        };
        if is_dense && facts.intermediate_size.is_none() {
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

    pub(super) fn feed_forward(&self, parts: &mut Parts, facts: &LayerFacts) {
        match facts.feed_forward {
            FeedForward::None => {}
            FeedForward::Dense => self.dense(parts, facts),
            FeedForward::Sparse => self.sparse(parts),
            FeedForward::Both => {
                self.dense(parts, facts);
                self.sparse(parts);
            }
        }
    }

    fn dense(&self, parts: &mut Parts, facts: &LayerFacts) {
        let n_mlps = if self.view.model_type() == "longcat_flash" {
            2
        } else {
            1
        };
        for _ in 0..n_mlps {
            self.mlp(parts, WeightKind::Mlp, facts.intermediate_size.unwrap_or(0));
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
