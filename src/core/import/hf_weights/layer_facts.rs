//! What differs from layer to layer: each way in which configs say it is found once, and then asked for each layer.

use serde_json::Value;

use super::Counter;

/// What a layer does after its mixer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FeedForward {
    /// Nothing: the layer is a mixer alone.
    None,
    /// One MLP.
    Dense,
    /// Experts.
    Sparse,
    /// An MLP and experts.
    Both,
}

/// What a layer takes from earlier ones in place of a mixer of its own (Phi-4-mini-flash).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Nothing.
    None,
    /// The memory of a state space layer, through a gate.
    Memory,
    /// The keys and values of an attention.
    Cache,
}

/// What the parts of a layer are counted from beside its caches and the fields that hold for all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LayerFacts {
    /// What follows the mixer.
    pub(super) feed_forward: FeedForward,
    /// Width of a dense MLP, if it is known.
    pub(super) intermediate_size: Option<u64>,
    /// Query heads.
    pub(super) num_attention_heads: u64,
    /// Whether the file's list of layer types says that it has a window.
    pub(super) is_named_sliding: bool,
    /// Whether an indexer of blocks stands beside its attention.
    pub(super) has_block_indexer: bool,
    /// What it takes from earlier layers.
    pub(super) reuse: Reuse,
}

/// Which layers have experts.
enum Experts<'a> {
    /// None.
    Nowhere,
    /// A name for each layer.
    Named(&'a [Value]),
    /// Indices of layers.
    Listed(Vec<u64>),
    /// A number or a switch for each layer.
    Flagged(&'a [Value]),
    /// One layer of each `period`, from `offset`.
    Periodic { period: u64, offset: u64 },
    /// All but `dense`, and of these each `step`-th: Qwen and Llama 4 count from 1.
    Stepped { step: u64, dense: Vec<u64> },
    /// Each `interval`-th from `start` to `end`.
    Range { start: u64, end: u64, interval: u64 },
}

/// The width of each layer's MLP.
enum Widths<'a> {
    /// Blocks that architecture search chose.
    Blocks(&'a [Value]),
    /// A number for each layer.
    Listed(&'a [Value]),
    /// One number, and its double from a layer on.
    Doubled { size: u64, from: u64 },
    /// One number, if it is known.
    Same(Option<u64>),
}

/// The rules of a file.
pub(super) struct Rules<'a> {
    experts: Experts<'a>,
    widths: Widths<'a>,
    has_both: bool,
    layer_types: Option<&'a [Value]>,
    pattern: Option<Vec<char>>,
    num_attention_heads: Option<&'a [Value]>,
    same_num_attention_heads: u64,
    block_indexers: Option<Vec<u64>>,
    mamba_period: Option<u64>,
}

impl<'a> Counter<'a> {
    /// Finds the rules of the file.
    pub(super) fn rules(&self) -> Rules<'a> {
        let view = self.view;
        let is_nemotron_h = view.model_type() == "nemotron_h";
        Rules {
            experts: self.expert_rule(),
            widths: self.width_rule(),
            has_both: self.is("residual_moe")
                || self.is("enable_moe_block")
                || view.model_type() == "longcat_flash",
            layer_types: view.list("layer_types"),
            pattern: view
                .text("hybrid_override_pattern")
                .filter(|_| is_nemotron_h)
                .map(|pattern| pattern.chars().collect()),
            num_attention_heads: view.list("num_attention_heads"),
            same_num_attention_heads: self.dim("num_attention_heads").unwrap_or(0),
            block_indexers: view.numbers("sparse_attention_config.sparse_attention_freq"),
            mamba_period: (view.model_type() == "phi4flash")
                .then(|| self.dim("mb_per_layer").unwrap_or(2).max(1)),
        }
    }

    fn expert_rule(&self) -> Experts<'a> {
        let view = self.view;
        if self.num_experts() == 0 {
            return Experts::Nowhere;
        }
        if let Some(names) = view.list("mlp_layer_types") {
            return Experts::Named(names);
        }
        for name in ["moe_layers_enum", "moe_layers"] {
            if let Some(list) = view.numbers(name).filter(|list| !list.is_empty()) {
                return Experts::Listed(list);
            }
        }
        for name in ["moe_layer_freq", "is_moe_layer"] {
            if let Some(list) = view.list(name) {
                return Experts::Flagged(list);
            }
        }
        if let Some(period) = self
            .dim("expert_layer_period")
            .filter(|period| *period != 0)
        {
            return Experts::Periodic {
                period,
                offset: self.dim("expert_layer_offset").unwrap_or(0) % period,
            };
        }
        let step = self
            .first(&["interleave_moe_layer_step", "decoder_sparse_step"])
            .filter(|step| *step != 0);
        let dense = view
            .numbers("mlp_only_layers")
            .filter(|list| !list.is_empty());
        if step.is_some() || dense.is_some() {
            return Experts::Stepped {
                step: step.unwrap_or(1),
                dense: dense.unwrap_or_default(),
            };
        }
        Experts::Range {
            start: self
                .first(&[
                    "first_k_dense_replace",
                    "num_dense_layers",
                    "moe_layer_start_index",
                    "moe_layer_num_skipped",
                ])
                .unwrap_or(0),
            end: self.dim("moe_layer_end_index").unwrap_or(u64::MAX),
            interval: self
                .first(&["moe_layer_interval", "moe_layer_freq"])
                .filter(|interval| *interval != 0)
                .unwrap_or(1),
        }
    }

    fn width_rule(&self) -> Widths<'a> {
        let view = self.view;
        if let Some(blocks) = view.list("block_configs") {
            return Widths::Blocks(blocks);
        }
        if let Some(list) = view.list("intermediate_size") {
            return Widths::Listed(list);
        }
        let Some(size) = self.intermediate_size() else {
            return Widths::Same(None);
        };
        if self.is("use_double_wide_mlp") {
            let n_shared = self.dim("num_kv_shared_layers").unwrap_or(0);
            return Widths::Doubled {
                size,
                from: self.n_layers.saturating_sub(n_shared),
            };
        }
        Widths::Same(Some(match view.model_type() {
            // Two halves of one projection.
            "recurrent_gemma" | "qwen" => size / 2,
            "granitemoehybrid" => self.dim("shared_intermediate_size").unwrap_or(size),
            "lfm2" if !view.has("intermediate_size") || self.is("block_auto_adjust_ff_dim") => {
                self.lfm2_intermediate_size(size)
            }
            _ => size,
        }))
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

    /// The facts of one layer.
    pub(super) fn facts(&self, rules: &Rules<'_>, layer_idx: usize) -> LayerFacts {
        let idx = layer_idx as u64;
        let name = rules
            .layer_types
            .and_then(|types| types.get(layer_idx)?.as_str());
        LayerFacts {
            feed_forward: self.feed_forward_of(rules, layer_idx, name),
            intermediate_size: match &rules.widths {
                Widths::Blocks(blocks) => blocks
                    .get(layer_idx)
                    .and_then(|block| nas_intermediate_size(block, self.hidden)),
                Widths::Listed(list) => list.get(layer_idx).and_then(Value::as_u64),
                Widths::Doubled { size, from } if *from <= idx => Some(size.saturating_mul(2)),
                Widths::Doubled { size, .. } => Some(*size),
                Widths::Same(size) => *size,
            },
            num_attention_heads: match rules.num_attention_heads {
                Some(list) => list.get(layer_idx).and_then(Value::as_u64).unwrap_or(0),
                None => rules.same_num_attention_heads,
            },
            is_named_sliding: name == Some("sliding_attention"),
            has_block_indexer: rules
                .block_indexers
                .as_ref()
                .and_then(|list| list.get(layer_idx))
                .is_some_and(|frequency| *frequency != 0),
            reuse: match rules.mamba_period {
                Some(period) if self.n_layers / 2 + 2 <= idx => {
                    if idx.is_multiple_of(period) {
                        Reuse::Memory
                    } else {
                        Reuse::Cache
                    }
                }
                Some(_) | None => Reuse::None,
            },
        }
    }

    fn feed_forward_of(
        &self,
        rules: &Rules<'_>,
        layer_idx: usize,
        name: Option<&str>,
    ) -> FeedForward {
        match self.view.model_type() {
            "mamba" | "mamba2" | "falcon_mamba" | "rwkv" => return FeedForward::None,
            // Nemotron-H spells each layer; those it does not spell here are mixers alone.
            "nemotron_h" => {
                let letter = rules
                    .pattern
                    .as_ref()
                    .and_then(|pattern| pattern.get(layer_idx));
                return match (letter, name) {
                    (Some('-'), _) | (None, Some("mlp")) => FeedForward::Dense,
                    (Some('E'), _) | (None, Some("moe")) => FeedForward::Sparse,
                    _ => FeedForward::None,
                };
            }
            _ => {}
        }
        if let Widths::Blocks(blocks) = rules.widths {
            let is_removed = blocks
                .get(layer_idx)
                .and_then(|block| block.get("ffn")?.get("no_op")?.as_bool());
            return match is_removed {
                Some(true) => FeedForward::None,
                Some(false) | None => FeedForward::Dense,
            };
        }
        match (rules.experts.are_in(layer_idx), rules.has_both) {
            (false, _) => FeedForward::Dense,
            (true, false) => FeedForward::Sparse,
            (true, true) => FeedForward::Both,
        }
    }
}

impl Experts<'_> {
    fn are_in(&self, layer_idx: usize) -> bool {
        let idx = layer_idx as u64;
        match self {
            Self::Nowhere => false,
            // `sparse`, or what kind of experts.
            Self::Named(names) => names
                .get(layer_idx)
                .and_then(Value::as_str)
                .is_some_and(|name| name != "dense"),
            Self::Listed(list) => list.contains(&idx),
            Self::Flagged(list) => list
                .get(layer_idx)
                .is_some_and(|value| value.as_u64() == Some(1) || value == &Value::Bool(true)),
            Self::Periodic { period, offset } => idx % period == *offset,
            Self::Stepped { step, dense } => {
                (idx + 1).is_multiple_of(*step) && !dense.contains(&idx)
            }
            Self::Range {
                start,
                end,
                interval,
            } => *start <= idx && idx <= *end && (idx - start).is_multiple_of(*interval),
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
