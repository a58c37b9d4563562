//! Parameters of what mixes tokens: attention of every kind, and recurrent layers.

use super::layer_facts::LayerFacts;
use super::parts::{Parts, product};
use super::traits::QkNorm;
use super::{Counter, WeightKind};
use crate::core::layer::{LayerKind, RecurrentFamily, RecurrentState};

/// Heads of one attention.
#[derive(Clone, Copy)]
struct Heads {
    /// Query heads.
    q: u64,
    /// Heads of K and V that the layer has projections for; zero when it re-uses another layer's.
    kv: u64,
    /// Width of a head of Q and K.
    k_dim: u64,
    /// Width of a head of V.
    v_dim: u64,
}

impl Counter<'_> {
    /// All mixers of one layer.
    pub(super) fn mixers(&self, parts: &mut Parts, facts: &LayerFacts, kinds: &[LayerKind]) {
        let has_attention = kinds
            .iter()
            .any(|kind| !matches!(kind, LayerKind::Recurrent(_)));
        for kind in kinds {
            match *kind {
                LayerKind::Full {
                    num_key_value_heads,
                    head_dim,
                    v_head_dim,
                } => self.attention(
                    parts,
                    facts,
                    false,
                    heads(num_key_value_heads, head_dim, v_head_dim),
                ),
                // A windowed layer of one row for K and V: latent, or without compression among compressed ones.
                LayerKind::Sliding {
                    v_head_dim: 0,
                    head_dim,
                    ..
                } => {
                    if self.view.has("compress_ratios") {
                        self.compressed_attention(parts, 0, u64::from(head_dim), 0);
                    } else {
                        self.latent_attention(parts, facts, 0);
                    }
                }
                LayerKind::Sliding {
                    num_key_value_heads,
                    head_dim,
                    v_head_dim,
                    ..
                } => self.attention(
                    parts,
                    facts,
                    true,
                    heads(num_key_value_heads, head_dim, v_head_dim),
                ),
                LayerKind::Chunked {
                    num_key_value_heads,
                    head_dim,
                    v_head_dim,
                    ..
                } => self.attention(
                    parts,
                    facts,
                    false,
                    heads(num_key_value_heads, head_dim, v_head_dim),
                ),
                LayerKind::Cross {
                    num_key_value_heads,
                    head_dim,
                    v_head_dim,
                    ..
                } => self.cross_attention(
                    parts,
                    facts,
                    heads(num_key_value_heads, head_dim, v_head_dim),
                ),
                LayerKind::Latent { index_head_dim, .. } => {
                    self.latent_attention(parts, facts, u64::from(index_head_dim));
                }
                LayerKind::Compressed {
                    compress_ratio,
                    head_dim,
                    index_head_dim,
                    ..
                } => self.compressed_attention(
                    parts,
                    u64::from(compress_ratio),
                    u64::from(head_dim),
                    u64::from(index_head_dim),
                ),
                LayerKind::Shared => self.shared_attention(parts, facts),
                LayerKind::Recurrent(state) => self.recurrent(parts, &state, has_attention),
            }
        }
    }

    fn query_heads(&self, facts: &LayerFacts, is_local: bool) -> u64 {
        let local = if is_local {
            self.first(&["num_swa_attention_heads", "swa_num_attention_heads"])
        } else {
            None
        };
        local.unwrap_or(facts.num_attention_heads)
    }

    fn attention(&self, parts: &mut Parts, facts: &LayerFacts, is_local: bool, heads: Heads) {
        let heads = Heads {
            q: self.query_heads(facts, is_local),
            ..heads
        };
        if self.view.has("compress_ratios") {
            return self.compressed_attention(parts, 0, heads.k_dim, 0);
        }
        if self.view.has("share_q_dim") {
            return self.factorized_attention(parts, heads);
        }
        // Gemma 4 reads V off K in the layers without a window.
        let has_v = is_local || self.view.flag("attention_k_eq_v") != Some(true);
        self.projections(parts, self.attention_width(), heads, has_v);
        self.gates_of_attention(parts, heads);
        if facts.has_block_indexer {
            self.block_indexer(parts);
        }
    }

    /// Width of what Q, K and V are projected from: Zamba puts the embedding beside the residual stream.
    fn attention_width(&self) -> u64 {
        if self.view.model_type().starts_with("zamba") {
            self.first(&["attention_hidden_size"])
                .unwrap_or_else(|| self.hidden.saturating_mul(2))
        } else {
            self.hidden
        }
    }

    /// Q, K, V and O with their norms and biases.
    fn projections(&self, parts: &mut Parts, width: u64, heads: Heads, has_v: bool) {
        let Heads {
            q,
            kv,
            k_dim,
            v_dim,
        } = heads;
        let kind = WeightKind::Attention;
        parts.add(kind, q, &[width, q, k_dim]);
        parts.add(kind, q, &[q, v_dim, self.hidden]);
        parts.add(kind, kv, &[width, kv, k_dim]);
        if has_v {
            parts.add(kind, kv, &[width, kv, v_dim]);
        }
        let (has_qkv_bias, has_o_bias) = self.attention_biases();
        if has_qkv_bias {
            parts.vectors(&[q, k_dim]);
            parts.vectors(&[kv, v_dim]);
            // Whisper's keys have none.
            if self.view.model_type() != "whisper" {
                parts.vectors(&[kv, k_dim]);
            }
        }
        if has_o_bias {
            parts.vectors(&[self.hidden]);
        }
        let is_asked = ["use_qk_norm", "qk_layernorm", "use_qk_layernorm"]
            .iter()
            .any(|name| self.view.flag(name) == Some(true));
        let n_k_norms = kv.min(1);
        match self.traits.qk_norm {
            QkNorm::IfAsked if is_asked => parts.vectors(&[k_dim, 1 + n_k_norms]),
            QkNorm::PerHead => parts.vectors(&[k_dim, 1 + n_k_norms]),
            QkNorm::WholeIfAsked if is_asked => {
                parts.vectors(&[k_dim, q.saturating_add(kv)]);
            }
            QkNorm::Whole => parts.vectors(&[k_dim, q.saturating_add(kv)]),
            QkNorm::Never | QkNorm::IfAsked | QkNorm::WholeIfAsked => {}
        }
    }

    /// Whether Q, K and V have biases, and whether O has.
    fn attention_biases(&self) -> (bool, bool) {
        let is = |name: &str| self.view.flag(name);
        let asked = ["attention_bias", "add_qkv_bias", "qkv_bias", "use_qkv_bias"]
            .iter()
            .find_map(|name| is(name));
        // One switch for every linear layer; Nemotron-H means its Mamba layers by it.
        let everywhere = ["use_bias", "bias"]
            .iter()
            .find_map(|name| is(name))
            .filter(|_| self.view.model_type() != "nemotron_h");
        let qkv = asked.or(everywhere).unwrap_or(self.traits.has_qkv_bias);
        let o = is("attention_out_bias")
            .or(asked.filter(|_| self.traits.has_o_bias_if_asked && is("qkv_bias").is_none()))
            .or(everywhere)
            .unwrap_or(self.traits.has_o_bias);
        let o = o || self.view.model_type() == "recurrent_gemma";
        (qkv, o)
    }

    fn gates_of_attention(&self, parts: &mut Parts, heads: Heads) {
        let is = |name: &str| self.view.flag(name) == Some(true);
        let is_gated = match self.view.model_type() {
            "qwen3_next" | "qwen3_5_text" | "qwen3_5_moe_text" => {
                self.view.flag("attn_output_gate") != Some(false)
            }
            "afmoe" => true,
            _ => is("attn_output_gate") || is("attention_output_gate"),
        };
        if is_gated {
            let shape = [self.hidden, heads.q, heads.v_dim];
            parts.add(WeightKind::Attention, heads.q, &shape);
        }
        match self.view.model_type() {
            // One learned sink for each head.
            "gpt_oss" => parts.vectors(&[heads.q]),
            // One gate for each head.
            "step3p5" | "laguna" | "lfm3" => parts.vectors(&[heads.q, self.hidden]),
            _ => {}
        }
    }

    /// The indexer of block-sparse attention (MiniMax-M3).
    fn block_indexer(&self, parts: &mut Parts) {
        let key = |name: &str| format!("sparse_attention_config.{name}");
        let dim = self.dim(&key("sparse_index_dim")).unwrap_or(0);
        let n_heads = self.dim(&key("sparse_num_index_heads")).unwrap_or(0);
        let kind = WeightKind::Attention;
        parts.add(kind, 1, &[self.hidden, n_heads.saturating_add(1), dim]);
        parts.vectors(&[2, dim]);
    }

    fn cross_attention(&self, parts: &mut Parts, facts: &LayerFacts, heads: Heads) {
        let heads = Heads {
            q: self.query_heads(facts, false),
            ..heads
        };
        self.projections(parts, self.hidden, heads, true);
        if self.view.model_type() == "mllama_text_model" {
            // Norms of Q and K, and two gates.
            parts.vectors(&[2, heads.k_dim]);
            parts.vectors(&[2]);
        }
    }

    /// Multi-factor attention: Q through a shared low-rank projection (Step 3).
    fn factorized_attention(&self, parts: &mut Parts, heads: Heads) {
        let rank = self.dim("share_q_dim").unwrap_or(0);
        let Heads {
            q,
            kv,
            k_dim,
            v_dim,
        } = heads;
        let kind = WeightKind::Attention;
        parts.add(kind, 1, &[self.hidden, rank]);
        parts.add(kind, q, &[rank, q, k_dim]);
        parts.add(kind, kv, &[self.hidden, kv, k_dim.saturating_add(v_dim)]);
        parts.add(kind, q, &[q, v_dim, self.hidden]);
        parts.vectors(&[rank]);
    }

    /// A layer that projects its own Q and O, and reads another layer's K and V.
    fn shared_attention(&self, parts: &mut Parts, facts: &LayerFacts) {
        let is_local = facts.is_named_sliding;
        let global = self.dim("global_head_dim").filter(|_| !is_local);
        let q = self.query_heads(facts, is_local);
        let k_dim = global
            .or_else(|| self.dim("head_dim"))
            .unwrap_or_else(|| self.hidden / q.max(1));
        let own = Heads {
            q,
            kv: 0,
            k_dim,
            v_dim: k_dim,
        };
        self.projections(parts, self.hidden, own, false);
    }

    /// Multi-head latent attention. Down-projections lie on every rank.
    fn latent_attention(&self, parts: &mut Parts, facts: &LayerFacts, index_head_dim: u64) {
        let dim = |name: &str| self.dim(name).unwrap_or(0);
        let q = self.query_heads(facts, false);
        let (lora, rope) = (dim("kv_lora_rank"), dim("qk_rope_head_dim"));
        let nope = dim("qk_nope_head_dim");
        let v_dim = self.dim("v_head_dim").unwrap_or(nope);
        let kind = WeightKind::Attention;
        let q_rank = self.dim("q_lora_rank").filter(|rank| *rank != 0);
        match q_rank {
            Some(rank) => {
                parts.add(kind, 1, &[self.hidden, rank]);
                parts.vectors(&[rank]);
                parts.add(kind, q, &[rank, q, nope.saturating_add(rope)]);
            }
            None => parts.add(kind, q, &[self.hidden, q, nope.saturating_add(rope)]),
        }
        parts.add(kind, 1, &[self.hidden, lora.saturating_add(rope)]);
        parts.vectors(&[lora]);
        parts.add(kind, q, &[lora, q, nope.saturating_add(v_dim)]);
        parts.add(kind, q, &[q, v_dim, self.hidden]);
        if self.view.flag("mla_use_output_gate") == Some(true) {
            parts.add(kind, q, &[self.hidden, q, v_dim]);
        }
        if 0 < index_head_dim {
            // The lightning indexer: queries from Q's low rank, one key with its layer norm, a weight for each head.
            let n_heads = dim("index_n_heads");
            let from = q_rank.unwrap_or(self.hidden);
            parts.add(kind, 1, &[from, n_heads, index_head_dim]);
            parts.add(kind, 1, &[self.hidden, index_head_dim]);
            parts.add(kind, 1, &[self.hidden, n_heads]);
            parts.vectors(&[2, index_head_dim]);
        }
    }

    /// Attention of DeepSeek-V4: one K = V row for each token, O through groups, and a compressor when `ratio` is not 0.
    fn compressed_attention(&self, parts: &mut Parts, ratio: u64, head_dim: u64, index_dim: u64) {
        let dim = |name: &str| self.dim(name).unwrap_or(0);
        let kind = WeightKind::Attention;
        let (q, rank) = (dim("num_attention_heads"), dim("q_lora_rank"));
        let (o_groups, o_rank) = (dim("o_groups").max(1), dim("o_lora_rank"));
        parts.add(kind, 1, &[self.hidden, rank]);
        parts.add(kind, q, &[rank, q, head_dim]);
        parts.add(kind, 1, &[self.hidden, head_dim]);
        parts.add(kind, q, &[q, head_dim, o_rank]);
        parts.add(kind, o_groups, &[o_groups, o_rank, self.hidden]);
        parts.vectors(&[rank]);
        parts.vectors(&[head_dim]);
        parts.vectors(&[q]);
        if ratio == 0 {
            return;
        }
        // Overlapping windows take two rows at once; only they have an index.
        let width = |dim: u64| {
            if index_dim == 0 {
                dim
            } else {
                dim.saturating_mul(2)
            }
        };
        parts.add(kind, 1, &[2, self.hidden, width(head_dim)]);
        parts.vectors(&[ratio, width(head_dim)]);
        parts.vectors(&[head_dim]);
        if 0 < index_dim {
            let n_heads = dim("index_n_heads");
            parts.add(kind, 1, &[2, self.hidden, width(index_dim)]);
            parts.add(kind, 1, &[rank, n_heads, index_dim]);
            parts.add(kind, 1, &[self.hidden, n_heads]);
            parts.vectors(&[ratio, width(index_dim)]);
            parts.vectors(&[index_dim]);
        }
    }

    fn recurrent(&self, parts: &mut Parts, state: &RecurrentState, has_attention: bool) {
        let taps = state.conv_columns.saturating_add(1);
        match state.family {
            RecurrentFamily::Mamba1 => self.mamba1(parts, state, taps),
            RecurrentFamily::Mamba2 => self.mamba2(parts, state, taps),
            RecurrentFamily::GatedDeltaNet => self.gated_delta_net(parts, state, taps),
            RecurrentFamily::Kda => self.kda(parts, state, taps),
            RecurrentFamily::Lightning => self.lightning(parts, state),
            RecurrentFamily::Rwkv => self.rwkv(parts),
            RecurrentFamily::RgLru => self.rg_lru(parts, state, taps),
            // Beside an attention the taps mix neighboring keys and values, and there is nothing else.
            RecurrentFamily::ShortConv if has_attention => parts.vectors(&[taps, 2]),
            RecurrentFamily::ShortConv => {
                let kind = WeightKind::Recurrent;
                parts.add(kind, state.conv_dim, &[self.hidden, 3, state.conv_dim]);
                parts.add(kind, state.conv_dim, &[state.conv_dim, self.hidden]);
                parts.vectors(&[state.conv_dim, taps]);
            }
        }
    }

    fn mamba1(&self, parts: &mut Parts, state: &RecurrentState, taps: u64) {
        let (inner, columns) = (state.conv_dim, state.state_columns);
        let rank = self
            .first(&["mamba_dt_rank", "time_step_rank"])
            .unwrap_or_else(|| self.hidden.div_ceil(16));
        let kind = WeightKind::Recurrent;
        parts.add(kind, inner, &[self.hidden, 2, inner]);
        let low = rank.saturating_add(columns.saturating_mul(2));
        // Zamba splits the channels into heads, each with its own time steps.
        let n_heads = self.first(&["n_mamba_heads"]).unwrap_or(1).max(1);
        parts.add(kind, inner, &[inner, low]);
        parts.add(kind, inner, &[rank, inner / n_heads, n_heads]);
        parts.add(kind, inner, &[inner, self.hidden]);
        // Taps and their bias, the bias of the time step, D, and A.
        parts.vectors(&[inner, taps.saturating_add(3)]);
        parts.vectors(&[inner, columns]);
        if self.view.model_type() == "jamba" {
            parts.vectors(&[low]);
        }
    }

    fn mamba2(&self, parts: &mut Parts, state: &RecurrentState, taps: u64) {
        let n_heads = state.state_heads;
        let inner = product(&[n_heads, state.state_rows]);
        let kind = WeightKind::Recurrent;
        let columns = inner.saturating_add(state.conv_dim).saturating_add(n_heads);
        parts.add(kind, n_heads, &[self.hidden, columns]);
        parts.add(kind, n_heads, &[inner, self.hidden]);
        parts.vectors(&[state.conv_dim, taps.saturating_add(1)]);
        parts.vectors(&[3, n_heads]);
        // Falcon-H1 has the norm only when asked.
        let has_norm = self
            .view
            .flag("mamba_rms_norm")
            .unwrap_or(self.view.model_type() != "falcon_h1");
        if has_norm {
            parts.vectors(&[inner]);
        }
    }

    fn gated_delta_net(&self, parts: &mut Parts, state: &RecurrentState, taps: u64) {
        let n_heads = state.state_heads;
        let values = product(&[n_heads, state.state_columns]);
        let kind = WeightKind::Recurrent;
        // Q, K and V; the output gate; a decay and a step for each head.
        let columns = state
            .conv_dim
            .saturating_add(values)
            .saturating_add(n_heads.saturating_mul(2));
        parts.add(kind, n_heads, &[self.hidden, columns]);
        parts.add(kind, n_heads, &[values, self.hidden]);
        parts.vectors(&[state.conv_dim, taps]);
        parts.vectors(&[2, n_heads]);
        parts.vectors(&[state.state_columns]);
    }

    fn kda(&self, parts: &mut Parts, state: &RecurrentState, taps: u64) {
        let (n_heads, dim) = (state.state_heads, state.state_rows);
        let width = product(&[n_heads, dim]);
        let kind = WeightKind::Recurrent;
        parts.add(kind, n_heads, &[self.hidden, width, 3]);
        parts.add(kind, n_heads, &[self.hidden, n_heads]);
        parts.add(kind, n_heads, &[width, self.hidden]);
        let is_full_rank = |name: &str| {
            self.view.model_type() == "bailing_hybrid" || self.view.flag(name) == Some(true)
        };
        let mut gate = |is_full: bool| {
            if is_full {
                parts.add(kind, n_heads, &[self.hidden, width]);
            } else {
                parts.add(kind, 1, &[self.hidden, dim]);
                parts.add(kind, n_heads, &[dim, width]);
            }
        };
        // The forget gate, then the output gate.
        gate(self.view.model_type() == "bailing_hybrid");
        gate(is_full_rank("linear_attn_config.use_full_rank_gate"));
        parts.vectors(&[3, width, taps]);
        parts.vectors(&[width]);
        parts.vectors(&[n_heads]);
        parts.vectors(&[dim]);
    }

    fn lightning(&self, parts: &mut Parts, state: &RecurrentState) {
        let n_heads = state.state_heads;
        let width = product(&[n_heads, state.state_rows]);
        let kind = WeightKind::Recurrent;
        // Q, K, V, the output gate, and O.
        parts.add(kind, n_heads, &[self.hidden, width, 5]);
        parts.vectors(&[width]);
    }

    /// RWKV-4: time mixing, and channel mixing in place of an MLP.
    fn rwkv(&self, parts: &mut Parts) {
        let width = self
            .first(&["attention_hidden_size", "dim_att"])
            .unwrap_or(self.hidden);
        let inner = self
            .dim("intermediate_size")
            .unwrap_or_else(|| self.hidden.saturating_mul(4));
        let kind = WeightKind::Recurrent;
        parts.add(kind, width, &[self.hidden, width, 4]);
        parts.add(kind, inner, &[self.hidden, inner, 2]);
        parts.add(kind, 1, &[self.hidden, self.hidden]);
        parts.vectors(&[2, width]);
        parts.vectors(&[5, self.hidden]);
    }

    fn rg_lru(&self, parts: &mut Parts, state: &RecurrentState, taps: u64) {
        let width = state.conv_dim;
        let n_heads = self.dim("num_attention_heads").unwrap_or(1).max(1);
        let kind = WeightKind::Recurrent;
        parts.add(kind, width, &[self.hidden, width, 3]);
        // Two block-diagonal gates with their biases.
        parts.add(kind, n_heads, &[2, width, width / n_heads]);
        parts.vectors(&[width, taps.saturating_add(4)]);
        parts.vectors(&[2, width]);
        parts.vectors(&[self.hidden]);
    }
}

fn heads(num_key_value_heads: u32, head_dim: u32, v_head_dim: u32) -> Heads {
    Heads {
        q: 0,
        kv: u64::from(num_key_value_heads),
        k_dim: u64::from(head_dim),
        v_dim: u64::from(v_head_dim),
    }
}
