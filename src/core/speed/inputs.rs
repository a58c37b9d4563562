//! What the estimate depends on: bytes and operations of a model, speeds of a GPU, and how many share the work.

use serde::Serialize;

use super::growth::Growth;
use crate::core::gpus::Gpu;
use crate::core::layer::{CacheFormats, LayerKind};
use crate::core::model::ModelConfig;
use crate::core::units::{ElementFormat, Tokens};
use crate::core::weights::{Place, WeightFormat, WeightKind, WeightPart};

/// The number format of the matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// bf16 or fp16; also where weights are only stored in fewer bits.
    Bf16,
    /// fp8.
    Fp8,
    /// fp4.
    Fp4,
}

/// How many GPUs share the work, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Ranks that share each layer.
    pub tensor_parallel_size: u32,
    /// Stages that hold the layers one after another.
    pub pipeline_parallel_size: u32,
    /// Groups among which the ranks divide the sequences for attention, which then keep attention weights and cache
    /// whole (SGLang and TensorRT-LLM `attention_dp`); one in plain tensor parallelism.
    pub attention_data_parallel_size: u32,
}

impl Parallel {
    /// Plain tensor parallelism.
    pub fn tensor(tensor_parallel_size: u32) -> Self {
        Self {
            tensor_parallel_size,
            pipeline_parallel_size: 1,
            attention_data_parallel_size: 1,
        }
    }

    /// Ranks that share one sequence's attention.
    fn attention_ranks(self) -> u32 {
        (self.tensor_parallel_size / self.attention_data_parallel_size.max(1)).max(1)
    }
}

/// Everything that the estimate depends on. Bytes are those of one tensor-parallel rank over all its pipeline stages.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedInputs {
    /// Bytes of the weights that every step reads: all but routed experts and tables of which single rows are looked up.
    pub weight_bytes: f64,
    /// Bytes of all routed experts.
    pub routed_expert_bytes: f64,
    /// Routed experts in each expert layer, zero for a dense model.
    pub num_experts: u32,
    /// Routed experts each token uses.
    pub num_experts_per_tok: u32,
    /// Parameters of the whole model that one token is multiplied with.
    pub num_multiplied_params: f64,
    /// Of them the output head's, which an engine need only multiply with where it samples.
    pub num_head_params: f64,
    /// Decoder layers.
    pub num_hidden_layers: f64,
    /// Width of the residual stream, which ranks exchange.
    pub hidden_size: f64,
    /// Bytes of one sequence's cache by its tokens.
    pub cache_bytes: Growth,
    /// Operations of the whole model's attention for one new token, by the tokens it sees, when decoding.
    pub decode_attention: Growth,
    /// The same for one token of a prompt.
    pub prefill_attention: Growth,
    /// How the GPUs share the work.
    pub parallel: Parallel,
    /// Bytes per second of one GPU's memory.
    pub bandwidth: f64,
    /// Operations per second of one GPU at `precision`.
    pub peak: f64,
    /// The number format of the matrix products.
    pub precision: Precision,
    /// Whether the GPU is NVIDIA's.
    pub is_nvidia: bool,
    /// Whether the GPUs are linked faster than by PCIe.
    pub has_fast_link: bool,
    /// Sequences that run at once.
    pub num_seqs: u64,
}

impl SpeedInputs {
    /// The inputs of a model on a GPU.
    ///
    /// Inexact where the configuration does not say: latent attention is taken to have 128-wide keys and values before
    /// compression, a sparse indexer to read what dense attention reads, and layers that share another layer's cache to
    /// read nothing of their own.
    pub fn new(
        model: &ModelConfig,
        weight_format: &WeightFormat,
        cache_formats: CacheFormats,
        gpu: &Gpu,
        parallel: Parallel,
        num_seqs: u64,
    ) -> Self {
        let bends: Vec<u64> = model
            .groups
            .iter()
            .filter_map(|group| group.kind.cap())
            .map(|cap| cap.0)
            .collect();
        let ranks = parallel.attention_ranks();
        let attention = |is_prefill: bool| {
            Growth::sample(&bends, |n| {
                let heads = f64::from(model.num_attention_heads);
                model
                    .groups
                    .iter()
                    .map(|group| {
                        f64::from(group.count)
                            * attention_operations(&group.kind, heads, Tokens(n), is_prefill)
                    })
                    .sum()
            })
        };
        // A recurrent state is written as well as read.
        let written: f64 = model
            .groups
            .iter()
            .map(|group| {
                let state = group.kind.shard(ranks).state_bytes(cache_formats);
                state.0 as f64 * f64::from(group.count)
            })
            .sum();
        let weights = &model.weights;
        let has_experts = 0 < weights.num_experts;
        let (precision, peak) = precision(
            gpu,
            if has_experts {
                weight_format.routed_experts
            } else {
                weight_format.mlp
            },
        );
        Self {
            weight_bytes: read_bytes(model, weight_format, parallel, false),
            routed_expert_bytes: read_bytes(model, weight_format, parallel, true),
            num_experts: weights.num_experts,
            num_experts_per_tok: weights.num_experts_per_tok,
            num_multiplied_params: weights.num_active_params() as f64 - lookup_params(model) as f64,
            num_head_params: head_params(model) as f64,
            num_hidden_layers: model.num_hidden_layers() as f64,
            hidden_size: f64::from(model.hidden_size),
            cache_bytes: Growth::sample(&bends, |n| {
                model.cache_bytes(Tokens(n), cache_formats, ranks).0 as f64 + written
            }),
            decode_attention: attention(false),
            prefill_attention: attention(true),
            parallel,
            bandwidth: gpu.bandwidth_gbps * 1e9,
            peak: peak * 1e12,
            precision,
            is_nvidia: gpu.vendor == "NVIDIA",
            has_fast_link: gpu.has_fast_link,
            num_seqs,
        }
    }

    /// Bytes of weights that a step of `tokens` tokens makes one rank read.
    pub fn weight_bytes_read(&self, tokens: f64) -> f64 {
        let share = distinct_experts(self.num_experts, self.num_experts_per_tok, tokens)
            / f64::from(self.num_experts.max(1));
        self.weight_bytes + self.routed_expert_bytes * share
    }

    /// Sequences that a decode step works on: all, or one pipeline stage's share of them.
    pub(super) fn seqs_per_step(&self) -> u64 {
        self.num_seqs
            .div_ceil(u64::from(self.parallel.pipeline_parallel_size.max(1)))
            .max(1)
    }

    /// Sequences whose cache one rank reads in a step of `seqs` sequences.
    pub(super) fn seqs_per_rank(&self, seqs: f64) -> f64 {
        seqs / f64::from(self.parallel.attention_data_parallel_size.max(1))
    }
}

/// Distinct routed experts that `tokens` tokens use in a layer, if each chooses alike and alone: an upper estimate,
/// because real routing is skewed. `E × (1 − (1 − k/E)^tokens)`.
///
/// ```
/// # use kvscope::core::speed::distinct_experts;
/// // 8 of 128, 8 tokens.
/// assert!((distinct_experts(128, 8, 8.0) - 51.6).abs() < 0.05);
/// ```
pub fn distinct_experts(num_experts: u32, num_experts_per_tok: u32, tokens: f64) -> f64 {
    let all = f64::from(num_experts);
    let missed = 1.0 - f64::from(num_experts_per_tok.min(num_experts)) / all.max(1.0);
    all * (1.0 - super::raised(missed, tokens))
}

/// Operations of one layer's attention for one token that sees `n` tokens.
fn attention_operations(kind: &LayerKind, heads: f64, n: Tokens, is_prefill: bool) -> f64 {
    let kept = kind.kept_tokens(n).0 as f64;
    match *kind {
        LayerKind::Full {
            head_dim,
            v_head_dim,
            ..
        }
        | LayerKind::Sliding {
            head_dim,
            v_head_dim,
            ..
        }
        | LayerKind::Chunked {
            head_dim,
            v_head_dim,
            ..
        } => 2.0 * heads * (f64::from(head_dim) + f64::from(v_head_dim)) * kept,
        LayerKind::Cross {
            encoder_tokens,
            head_dim,
            v_head_dim,
            ..
        } => 2.0 * heads * (f64::from(head_dim) + f64::from(v_head_dim)) * encoder_tokens.0 as f64,
        LayerKind::Latent {
            kv_lora_rank,
            qk_rope_head_dim,
            ..
        } => {
            // A prompt is expanded to 128-wide keys and values; decoding works on the latent itself.
            let width = if is_prefill {
                256.0
            } else {
                2.0 * f64::from(kv_lora_rank)
            };
            2.0 * heads * (width + f64::from(qk_rope_head_dim)) * kept
        }
        LayerKind::Compressed {
            compress_ratio,
            head_dim,
            window,
            ..
        } => {
            let rows = kept / f64::from(compress_ratio.max(1)) + n.min(window).0 as f64;
            4.0 * heads * f64::from(head_dim) * rows
        }
        // Decay, add, read out: about six operations for each element of the state.
        LayerKind::Recurrent(state) => 6.0 * state.state_elements() as f64,
        LayerKind::Shared => 0.0,
    }
}

/// Parameters of which a token only looks up a row. A tied embedding is multiplied with, as the head.
fn lookup_params(model: &ModelConfig) -> u64 {
    model
        .weights
        .parts
        .iter()
        .filter(|part| part.kind == WeightKind::Embedding && part.place == Place::FirstStage)
        .fold(0, |sum, part| part.num_params.saturating_add(sum))
}

/// Parameters of the output head, which may be the embedding.
fn head_params(model: &ModelConfig) -> u64 {
    let parts = model.weights.parts.iter().filter(|part| match part.kind {
        WeightKind::Head => true,
        WeightKind::Embedding => part.place != Place::FirstStage,
        _ => false,
    });
    parts.fold(0, |sum, part| part.num_params.saturating_add(sum))
}

/// Bytes that one rank reads, over all stages: of the routed experts, or of everything else but looked-up tables.
fn read_bytes(
    model: &ModelConfig,
    format: &WeightFormat,
    parallel: Parallel,
    is_routed: bool,
) -> f64 {
    let weights = &model.weights;
    let ranks = parallel.tensor_parallel_size;
    if !weights.is_counted() {
        let params = if is_routed { 0 } else { weights.num_params() };
        return format.mlp.bytes(params).0 as f64 / f64::from(ranks.max(1));
    }
    let bytes = |(part, count): (&WeightPart, u64)| {
        let (is_read, is_attention) = match part.kind {
            WeightKind::Embedding => (part.place != Place::FirstStage, false),
            WeightKind::PerLayerEmbedding => (false, false),
            WeightKind::Attention | WeightKind::Recurrent => (true, true),
            WeightKind::Head
            | WeightKind::Mlp
            | WeightKind::SharedExperts
            | WeightKind::RoutedExperts
            | WeightKind::RoutedExpertBiases
            | WeightKind::Router
            | WeightKind::Norm => (true, false),
        };
        if !is_read || part.kind.is_routed() != is_routed {
            return 0.0;
        }
        let ranks = if is_attention {
            parallel.attention_ranks()
        } else {
            ranks
        };
        let held = format.of(part).bytes(part.num_params_per_rank(ranks));
        held.0 as f64 * count as f64
    };
    weights.counted().into_iter().map(bytes).sum()
}

/// The precision in which a GPU multiplies weights stored so, and its peak in 10^12 operations per second. Where the
/// GPU has no units for the format, and for integers, weights are expanded to bf16 first.
fn precision(gpu: &Gpu, stored: ElementFormat) -> (Precision, f64) {
    let (fp8, fp4) = match stored.id {
        "fp8" | "fp8_block" => (gpu.fp8_tflops, None),
        // Engines multiply mxfp4 weights with fp8 activations, where the GPU has both.
        "mxfp4" => (gpu.fp8_tflops.filter(|_| gpu.fp4_tflops.is_some()), None),
        "nvfp4" => (None, gpu.fp4_tflops),
        _ => (None, None),
    };
    match (fp8, fp4) {
        (_, Some(peak)) => (Precision::Fp4, peak),
        (Some(peak), _) => (Precision::Fp8, peak),
        _ => (Precision::Bf16, gpu.bf16_tflops),
    }
}
