//! Parameters counted from the dimensions, and the bytes of storing them.

use super::units::{Bytes, ElementFormat, Scale, formats, scaled};

/// What a part of the weights is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightKind {
    /// Token and position embeddings; a tied one serves as the head too.
    Embedding,
    /// Tables of which each layer looks up one row for each token (Gemma 3n, Gemma 4).
    PerLayerEmbedding,
    /// The output projection, when it is not tied to the embedding.
    Head,
    /// Attention projections, latent ones and indexers included.
    Attention,
    /// Recurrent mixers: state space, delta net, short convolution.
    Recurrent,
    /// Dense MLPs.
    Mlp,
    /// Experts that every token uses.
    SharedExperts,
    /// Experts of which each token uses a few.
    RoutedExperts,
    /// Biases of routed experts.
    RoutedExpertBiases,
    /// Routers.
    Router,
    /// Norms, biases and other vectors.
    Norm,
}

impl WeightKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 11] = [
        Self::Embedding,
        Self::PerLayerEmbedding,
        Self::Head,
        Self::Attention,
        Self::Recurrent,
        Self::Mlp,
        Self::SharedExperts,
        Self::RoutedExperts,
        Self::RoutedExpertBiases,
        Self::Router,
        Self::Norm,
    ];

    /// Whether a token uses it only in the experts that it is sent to.
    pub fn is_routed(self) -> bool {
        matches!(self, Self::RoutedExperts | Self::RoutedExpertBiases)
    }
}

/// Where a part lies when layers are spread over pipeline stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Before the first layer: embeddings, an encoder.
    FirstStage,
    /// After the last layer: final norm, head.
    LastStage,
    /// A tied embedding: one table, a copy on the first and on the last stage.
    FirstAndLastStage,
    /// One set of weights that layers of every stage use.
    EveryStage,
    /// In each layer of this group, an index that [`WeightTable::layers`] uses.
    Layer(usize),
}

/// One part of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightPart {
    /// What it is.
    pub kind: WeightKind,
    /// Its parameters, in one layer if it lies in layers.
    pub num_params: u64,
    /// Equal pieces that tensor parallelism can hand out, such as heads, columns or words. One means that every rank
    /// holds all of it; more ranks than pieces means that pieces are copied.
    pub shard_units: u64,
    /// Where it lies.
    pub place: Place,
}

impl WeightPart {
    /// Parameters that the fullest of `tensor_parallel_size` ranks holds: pieces are divided rounding up.
    pub fn num_params_per_rank(&self, tensor_parallel_size: u32) -> u64 {
        let units = self.shard_units.max(1);
        let held = units.div_ceil(u64::from(tensor_parallel_size.max(1)));
        if held == units {
            return self.num_params;
        }
        scaled(self.num_params, held, units)
    }
}

/// Ranks among which the weights are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// All of a replica's tensor parallel ranks.
    pub all: u32,
    /// Those of them that divide one attention; fewer than all with data-parallel attention, which copies it.
    pub attention: u32,
}

impl From<u32> for Ranks {
    fn from(size: u32) -> Self {
        Self {
            all: size,
            attention: size,
        }
    }
}

impl Ranks {
    /// The ranks that divide a part.
    ///
    /// Source of data-parallel attention: SGLang `DeepseekV2Model`, whose embedding is whole on every rank then,
    /// <https://github.com/sgl-project/sglang/blob/00114aef19bbb7431b9cfc5a77dce64b9c53ed95/python/sglang/srt/models/deepseek_v2.py>.
    fn of(self, kind: WeightKind) -> u32 {
        match kind {
            WeightKind::Attention | WeightKind::Recurrent => self.attention,
            WeightKind::Embedding | WeightKind::PerLayerEmbedding if self.attention < self.all => 1,
            WeightKind::Embedding
            | WeightKind::PerLayerEmbedding
            | WeightKind::Head
            | WeightKind::Mlp
            | WeightKind::SharedExperts
            | WeightKind::RoutedExperts
            | WeightKind::RoutedExpertBiases
            | WeightKind::Router
            | WeightKind::Norm => self.all,
        }
    }
}

/// The parameters of a model by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightTable {
    /// Parts; empty when the file does not hold the dimensions.
    pub parts: Vec<WeightPart>,
    /// For each decoder layer in order, the group its parts name in [`Place::Layer`].
    pub layers: Vec<usize>,
    /// Routed experts in each expert layer, zero for a dense model.
    pub num_experts: u32,
    /// Routed experts each token uses.
    pub num_experts_per_tok: u32,
    /// The count its maker published, where it is known, with its source.
    pub published: Option<PublishedParams>,
}

/// A published parameter count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedParams {
    /// All parameters.
    pub num_params: u64,
    /// Parameters one token uses.
    pub num_active_params: Option<u64>,
    /// Where it was published.
    pub source: String,
}

impl WeightTable {
    /// Whether the parts were counted from dimensions; otherwise only the published count is known, if that.
    pub fn is_counted(&self) -> bool {
        !self.parts.is_empty()
    }

    /// All parameters. The published count where the dimensions are not known, zero where nothing is.
    ///
    /// ```
    /// # use kvscope::core::weights::WeightTable;
    /// assert_eq!(WeightTable::default().num_params(), 0);
    /// ```
    pub fn num_params(&self) -> u64 {
        match &self.published {
            Some(published) if !self.is_counted() => published.num_params,
            _ => self.num_params_where(|_| true),
        }
    }

    /// Parameters of one kind, all layers.
    pub fn num_params_of(&self, kind: WeightKind) -> u64 {
        self.num_params_where(|part| part.kind == kind)
    }

    fn num_params_where(&self, is_counted: impl Fn(&WeightPart) -> bool) -> u64 {
        self.counted()
            .into_iter()
            .filter(|(part, _)| is_counted(part))
            .fold(0, |sum, (part, count)| {
                part.num_params.saturating_mul(count).saturating_add(sum)
            })
    }

    /// Parameters that one token uses: all but the routed experts it is not sent to, and but the tables of which it reads
    /// one row per layer. The token embedding counts in full, as makers count it.
    pub fn num_active_params(&self) -> u64 {
        if !self.is_counted() {
            return self.published.as_ref().map_or(0, |published| {
                published.num_active_params.unwrap_or(published.num_params)
            });
        }
        let (mut all, mut looked_up, mut routed) = (0_u64, 0_u64, 0_u64);
        for (part, count) in self.counted() {
            let num_params = part.num_params.saturating_mul(count);
            all = all.saturating_add(num_params);
            if part.kind == WeightKind::PerLayerEmbedding {
                looked_up = looked_up.saturating_add(num_params);
            } else if part.kind.is_routed() {
                routed = routed.saturating_add(num_params);
            }
        }
        let used = u128::from(routed) * u128::from(self.num_experts_per_tok)
            / u128::from(self.num_experts.max(1));
        all.saturating_sub(looked_up)
            .saturating_sub(routed)
            .saturating_add(u64::try_from(used).unwrap_or(u64::MAX))
    }

    /// Bytes of all weights in `format`. Every expert is stored, used or not.
    ///
    /// Exactness: exact when each matrix is whole blocks of its format, else rounded up once for each part. Where only a
    /// published count is known, all of it counts as linear layers.
    pub fn bytes(&self, format: &WeightFormat) -> Bytes {
        if !self.is_counted() {
            return format.mlp.bytes(self.num_params());
        }
        self.counted()
            .into_iter()
            .map(|(part, count)| format.of(part).bytes(part.num_params).times(count))
            .sum()
    }

    /// Each part with how often the whole model has it.
    pub fn counted(&self) -> Vec<(&WeightPart, u64)> {
        let counts = self.layers_per_group(0, self.layers.len());
        let parts = self.parts.iter().map(|part| {
            let count = match part.place {
                Place::Layer(group) => counts.get(group).copied().unwrap_or(0),
                Place::FirstStage
                | Place::LastStage
                | Place::FirstAndLastStage
                | Place::EveryStage => 1,
            };
            (part, count)
        });
        parts.collect()
    }

    /// Bytes on the fullest GPU. Tensor parallelism divides heads, columns and words, rounding up, and leaves norms,
    /// routers and latent down-projections whole on every rank; the layers are spread over pipeline stages as
    /// [`pipeline_layers`] says, with the embedding on the first stage and the head on the last.
    ///
    /// Source: vLLM `ColumnParallelLinear`, `RowParallelLinear`, `ReplicatedLinear`, `VocabParallelEmbedding`.
    /// Difference: vocabularies are not padded to a multiple of 64.
    pub fn bytes_per_gpu(
        &self,
        format: &WeightFormat,
        ranks: impl Into<Ranks>,
        pipeline_parallel_size: u32,
    ) -> Bytes {
        let (ranks, stages) = (ranks.into(), pipeline_parallel_size.max(1));
        if !self.is_counted() {
            let gpus = u64::from(ranks.all.max(1)).saturating_mul(u64::from(stages));
            return format.mlp.bytes(self.num_params().div_ceil(gpus));
        }
        (0..stages)
            .map(|stage| self.stage_bytes(format, ranks, stage, stages))
            .max()
            .unwrap_or_default()
    }

    fn stage_bytes(&self, format: &WeightFormat, ranks: Ranks, stage: u32, stages: u32) -> Bytes {
        let (from, to) = pipeline_layers(self.layers.len(), stage, stages);
        let counts = self.layers_per_group(from, to);
        let (is_first, is_last) = (stage == 0, stage + 1 == stages);
        self.parts
            .iter()
            .map(|part| {
                let count = match part.place {
                    Place::FirstStage => u64::from(is_first),
                    Place::LastStage => u64::from(is_last),
                    Place::FirstAndLastStage => u64::from(is_first || is_last),
                    Place::EveryStage => 1,
                    Place::Layer(group) => counts.get(group).copied().unwrap_or(0),
                };
                if count == 0 {
                    return Bytes::ZERO;
                }
                format
                    .of(part)
                    .bytes(part.num_params_per_rank(ranks.of(part.kind)))
                    .times(count)
            })
            .sum()
    }

    /// How many of the layers `from..to` are of each group.
    fn layers_per_group(&self, from: usize, to: usize) -> Vec<u64> {
        let layers = self.layers.get(from..to).unwrap_or_default();
        let n_groups = layers.iter().max().map_or(0, |last| last + 1);
        let mut res = vec![0; n_groups];
        for group in layers {
            if let Some(count) = res.get_mut(*group) {
                *count += 1;
            }
        }
        res
    }
}

/// The layers `from..to` of one pipeline stage. All stages get the same number; what is left over goes one each to the
/// stages before the last, counted backwards, so that the stages with the embedding and the head stay small.
///
/// Source: vLLM `get_pp_indices` (`vllm/distributed/utils.py`), whose partition `VLLM_PP_LAYER_PARTITION` can replace.
///
/// ```
/// # use kvscope::core::weights::pipeline_layers;
/// // 61 layers in 4 stages: 15, 15, 16, 15.
/// assert_eq!(pipeline_layers(61, 2, 4), (30, 46));
/// ```
pub fn pipeline_layers(num_hidden_layers: usize, stage: u32, stages: u32) -> (usize, usize) {
    let (stage, stages) = (stage as usize, stages.max(1) as usize);
    let (even, left) = (num_hidden_layers / stages, num_hidden_layers % stages);
    // The stages `first_longer..stages - 1` hold one layer more.
    let first_longer = stages - 1 - left;
    let start = |stage: usize| {
        let longer = stage.min(stages - 1).saturating_sub(first_longer);
        (even * stage.min(stages) + longer.min(left)).min(num_hidden_layers)
    };
    (start(stage), start(stage.saturating_add(1)))
}

/// How the weights are stored, part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightFormat {
    /// The name in links and JSON.
    pub id: &'static str,
    /// What a menu says.
    pub label: &'static str,
    /// Attention projections and recurrent mixers.
    pub attention: ElementFormat,
    /// Dense MLPs and shared experts.
    pub mlp: ElementFormat,
    /// Routed experts.
    pub routed_experts: ElementFormat,
    /// Token, position and per-layer embeddings.
    pub embedding: ElementFormat,
    /// The output projection, and an embedding that is tied to it.
    pub head: ElementFormat,
    /// Routers.
    pub router: ElementFormat,
    /// Norms, biases and other vectors.
    pub norm: ElementFormat,
}

impl WeightFormat {
    /// Everything in one format.
    pub const fn whole(id: &'static str, label: &'static str, format: ElementFormat) -> Self {
        Self {
            id,
            label,
            attention: format,
            mlp: format,
            routed_experts: format,
            embedding: format,
            head: format,
            router: format,
            norm: format,
        }
    }

    /// The linear layers in `format`; embedding, head, routers and norms in bf16.
    pub const fn linear(id: &'static str, label: &'static str, format: ElementFormat) -> Self {
        Self {
            attention: format,
            mlp: format,
            routed_experts: format,
            ..Self::whole(id, label, formats::BF16)
        }
    }

    /// A GGUF file: every matrix in `format`, the head in its own, routers and norms in f32.
    const fn gguf(
        id: &'static str,
        label: &'static str,
        format: ElementFormat,
        head: ElementFormat,
    ) -> Self {
        Self {
            head,
            router: formats::F32,
            norm: formats::F32,
            ..Self::whole(id, label, format)
        }
    }

    /// A GGUF mixture of types, by its documented average: `ten_thousandths` of a bit for each weight.
    const fn gguf_mix(id: &'static str, label: &'static str, ten_thousandths: u32) -> Self {
        let average = block(id, ten_thousandths, 80_000);
        Self::gguf(id, label, average, average)
    }

    /// How a part is stored.
    pub fn of(&self, part: &WeightPart) -> ElementFormat {
        match part.kind {
            WeightKind::Embedding if part.place == Place::FirstAndLastStage => self.head,
            WeightKind::Embedding | WeightKind::PerLayerEmbedding => self.embedding,
            WeightKind::Head => self.head,
            WeightKind::Attention | WeightKind::Recurrent => self.attention,
            WeightKind::Mlp | WeightKind::SharedExperts => self.mlp,
            WeightKind::RoutedExperts => self.routed_experts,
            WeightKind::Router => self.router,
            WeightKind::RoutedExpertBiases | WeightKind::Norm => self.norm,
        }
    }
}

const fn block(id: &'static str, block_bytes: u32, block_elements: u32) -> ElementFormat {
    ElementFormat {
        id,
        block_bytes,
        block_elements,
        scale: Scale::InBlock,
    }
}

/// The element formats of weights that no cache uses.
pub mod elements {
    use super::{ElementFormat, block};

    /// fp8 with one fp32 scale for each 128 × 128 tile. Exact for matrices whose sides are multiples of 128.
    ///
    /// Source: DeepSeek-V3 `weight_block_size` and `weight_scale_inv`.
    pub const FP8_BLOCK: ElementFormat = block("fp8_block", 16_388, 16_384);
    /// 4-bit integers in groups of 128 with one fp16 scale and one 4-bit zero: (128 × 4 + 16 + 4) bits.
    ///
    /// Source: AutoAWQ `WQLinear_GEMM` and GPTQ `QuantLinear` (`qweight`, `scales`, `qzeros`).
    /// Difference: GPTQ's `g_idx`, 4 bytes for each input column, is not counted (under 0.2 %).
    pub const INT4: ElementFormat = block("int4", 133, 256);
    /// bitsandbytes nf4 with one fp32 scale for each 64.
    pub const NF4: ElementFormat = block("bnb_nf4", 36, 64);
    /// bitsandbytes nf4 whose scales are themselves 8-bit, with one fp32 for each 256 of them.
    pub const NF4_DOUBLE: ElementFormat = block("bnb_nf4_double", 8_452, 16_384);
    /// GGML q6_K: 256 in 210 bytes. The types that a cache uses too lie in [`crate::core::units::formats`].
    pub const Q6_K: ElementFormat = block("q6_k", 210, 256);

    /// Integers or floats of `bits` in groups of `group_size` with one 2-byte scale and, unless symmetric, one zero of
    /// the same bits. A group size of zero means one scale for a whole row, which adds nothing.
    pub fn grouped(bits: u32, group_size: u32, is_symmetric: bool) -> ElementFormat {
        let bits = bits.clamp(1, 16);
        // 64k elements is far above any group in use, and keeps the products in range.
        let group = group_size.min(65_536);
        if group == 0 {
            return block("int", bits, 8);
        }
        let zero = if is_symmetric { 0 } else { bits };
        block("int", group * bits + 16 + zero, group * 8)
    }
}

/// The formats that weights are stored in, in the order of the page's menu.
///
/// Sources: AutoAWQ and GPTQ layouts; OCP MX specification 1.0; NVIDIA nvfp4; bitsandbytes; GGML block layouts
/// (`ggml-common.h`); for mixtures of GGML types (`_S`, `_M`, `_L`, `iq…`, `q2_k`) the average over Llama-3.1-8B in
/// llama.cpp `tools/quantize/README.md` at 311c2c9f0ebd6e08f5b20e8827c654cebb7a41d6. Other models differ from that average
/// by a few percent. `q4_0` to `q5_1` keep the head in q6_K, as `llama-quantize` does.
pub const WEIGHT_FORMATS: &[WeightFormat] = &[
    WeightFormat::whole("bf16", "bf16", formats::BF16),
    WeightFormat::whole("float16", "fp16", formats::F16),
    WeightFormat::whole("float32", "fp32", formats::F32),
    WeightFormat::linear("fp8", "fp8", formats::FP8),
    WeightFormat::linear("fp8_block", "fp8, 128 × 128 blocks", elements::FP8_BLOCK),
    WeightFormat::linear("int8", "int8", formats::INT8),
    WeightFormat::linear("int4", "int4 (AWQ, GPTQ)", elements::INT4),
    WeightFormat::linear("mxfp4", "mxfp4", formats::MXFP4),
    WeightFormat::linear("nvfp4", "nvfp4", formats::NVFP4),
    WeightFormat::linear("bnb_nf4", "nf4 (bitsandbytes)", elements::NF4),
    WeightFormat::linear(
        "bnb_nf4_double",
        "nf4, double quantization",
        elements::NF4_DOUBLE,
    ),
    WeightFormat::gguf("q8_0", "GGUF Q8_0", formats::Q8_0, formats::Q8_0),
    WeightFormat::gguf("q6_k", "GGUF Q6_K", elements::Q6_K, elements::Q6_K),
    WeightFormat::gguf_mix("q5_k_m", "GGUF Q5_K_M", 57_036),
    WeightFormat::gguf_mix("q5_k_s", "GGUF Q5_K_S", 55_704),
    WeightFormat::gguf("q5_1", "GGUF Q5_1", formats::Q5_1, elements::Q6_K),
    WeightFormat::gguf("q5_0", "GGUF Q5_0", formats::Q5_0, elements::Q6_K),
    WeightFormat::gguf_mix("q4_k_m", "GGUF Q4_K_M", 48_944),
    WeightFormat::gguf_mix("q4_k_s", "GGUF Q4_K_S", 46_672),
    WeightFormat::gguf("q4_1", "GGUF Q4_1", formats::Q4_1, elements::Q6_K),
    WeightFormat::gguf("q4_0", "GGUF Q4_0", formats::Q4_0, elements::Q6_K),
    WeightFormat::gguf_mix("iq4_nl", "GGUF IQ4_NL", 46_818),
    WeightFormat::gguf_mix("iq4_xs", "GGUF IQ4_XS", 44_597),
    WeightFormat::gguf_mix("q3_k_l", "GGUF Q3_K_L", 42_979),
    WeightFormat::gguf_mix("q3_k_m", "GGUF Q3_K_M", 39_960),
    WeightFormat::gguf_mix("q3_k_s", "GGUF Q3_K_S", 36_429),
    WeightFormat::gguf_mix("iq3_m", "GGUF IQ3_M", 37_628),
    WeightFormat::gguf_mix("iq3_s", "GGUF IQ3_S", 36_606),
    WeightFormat::gguf_mix("iq3_xs", "GGUF IQ3_XS", 34_977),
    WeightFormat::gguf_mix("iq3_xxs", "GGUF IQ3_XXS", 32_548),
    WeightFormat::gguf_mix("q2_k", "GGUF Q2_K", 31_593),
    WeightFormat::gguf_mix("q2_k_s", "GGUF Q2_K_S", 29_697),
    WeightFormat::gguf_mix("iq2_m", "GGUF IQ2_M", 29_294),
    WeightFormat::gguf_mix("iq2_s", "GGUF IQ2_S", 27_403),
    WeightFormat::gguf_mix("iq2_xs", "GGUF IQ2_XS", 25_882),
    WeightFormat::gguf_mix("iq2_xxs", "GGUF IQ2_XXS", 23_824),
    WeightFormat::gguf_mix("iq1_m", "GGUF IQ1_M", 21_460),
    WeightFormat::gguf_mix("iq1_s", "GGUF IQ1_S", 20_042),
];

/// The weight format with this id, in any case, or with a name that files and engines use for it.
pub fn weight_format(id: &str) -> Option<WeightFormat> {
    let id = id.to_ascii_lowercase();
    let id = match id.as_str() {
        "bfloat16" => "bf16",
        "fp16" | "f16" | "half" => "float16",
        "fp32" | "f32" | "float" => "float32",
        "fp8_e4m3" | "fp8_e5m2" => "fp8",
        "w8a8" => "int8",
        "awq" | "gptq" | "w4a16" => "int4",
        "nf4" => "bnb_nf4",
        other => other,
    };
    WEIGHT_FORMATS
        .iter()
        .find(|format| format.id == id)
        .copied()
}

/// What a file says of how its weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredWeights {
    /// The format, with the parts the file leaves unquantized.
    pub format: WeightFormat,
    /// Exact bytes, when a tensor table gave them.
    pub bytes: Option<Bytes>,
}

impl StoredWeights {
    /// The format with this id: as the file stores it when that is the file's own format, else from
    /// [`WEIGHT_FORMATS`]. So `mxfp4` on gpt-oss means its experts only, as its makers ship it.
    pub fn resolve(stored: Option<&Self>, id: &str) -> Option<WeightFormat> {
        let listed = weight_format(id);
        match stored {
            Some(stored) if listed.is_some_and(|format| format.id == stored.format.id) => {
                Some(stored.format)
            }
            _ => listed,
        }
    }
}
