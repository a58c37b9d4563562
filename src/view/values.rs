//! The numbers of a situation as the sentences of "predict first" and of the course name them.

use crate::core::layer::{CacheFormats, LayerKind, Rows};
use crate::core::predict::question::{Question, Situation, output_limit};
use crate::core::report::LayerReport;
use crate::core::setup::Setup;
use crate::core::units::{Bytes, ElementFormat, KvFormat, Scale, Tokens};
use crate::view::numbers::Numbers;

/// Names and values of placeholders.
#[derive(Clone)]
pub(in crate::view) struct Values {
    pairs: Vec<(&'static str, String)>,
}

impl Values {
    /// Everything that a sentence about this situation can name.
    pub(in crate::view) fn of(situation: &Situation, numbers: Numbers<'_>) -> Self {
        let mut res = Self { pairs: Vec::new() };
        res.add_tokens(situation, numbers);
        res.add_model(situation, numbers);
        res.add_cache(situation, numbers);
        res.add_hardware(situation, numbers);
        res
    }

    pub(in crate::view) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.pairs.retain(|(known, _)| *known != name);
        self.pairs.push((name, value.into()));
    }

    pub(in crate::view) fn fill(&self, template: &str) -> String {
        let pairs: Vec<(&str, &str)> = self
            .pairs
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        crate::view::text::fill(template, &pairs)
    }

    fn add_tokens(&mut self, situation: &Situation, numbers: Numbers<'_>) {
        let scenario = &situation.scenario;
        let (prompt, thinking, answer) = (
            scenario.prompt_tokens,
            scenario.thinking_tokens,
            scenario.answer_tokens,
        );
        let n = |tokens: Tokens| numbers.integer(tokens.0);
        let samples = scenario.num_samples;
        let sum = if samples == 1 {
            format!("{} + {} + {}", n(prompt), n(thinking), n(answer))
        } else {
            format!(
                "{} + {} × ({} + {})",
                n(prompt),
                numbers.integer(samples.into()),
                n(thinking),
                n(answer)
            )
        };
        let total = situation.report.tokens.total;
        self.set("sum", sum);
        self.set("prompt", n(prompt));
        self.set("thinking", n(thinking));
        self.set("answer", n(answer));
        self.set("generated", n(thinking.plus(answer)));
        self.set("visible", n(prompt.plus(answer)));
        self.set("total_count", n(total));
        self.set("engine_tokens", n(total.minus(Tokens(u64::from(samples)))));
        self.set("num_samples", numbers.integer(samples.into()));
        self.set("num_seqs", numbers.integer(scenario.num_seqs.into()));
        self.set(
            "shared_prefix",
            n(scenario.shared_prefix_tokens.min(prompt)),
        );
        self.set("block_size", n(situation.block_size()));
        self.set("limit", n(output_limit(scenario)));
        let context = situation.report.model.max_position_embeddings;
        self.set("context", context.map_or_else(|| "–".to_owned(), n));
        self.set(
            "room",
            situation.room().map_or_else(|| numbers.integer(0), n),
        );
    }

    fn add_model(&mut self, situation: &Situation, numbers: Numbers<'_>) {
        let model = &situation.scenario.model.config;
        let layers = &situation.report.kv_cache.layers;
        let heads = layers.iter().find_map(|layer| layer.num_key_value_heads);
        let head_dim = situation.right(Question::HeadDim);
        let count = |n: u32| numbers.integer(n.into());
        let kv_heads = heads.unwrap_or(0);
        self.set("model", model.name.clone());
        self.set(
            "layers",
            numbers.integer(situation.report.model.num_hidden_layers),
        );
        self.set("query_heads", count(model.num_attention_heads));
        self.set("kv_heads", count(kv_heads));
        self.set("group", count(model.num_attention_heads / kv_heads.max(1)));
        self.set("hidden_size", count(model.hidden_size));
        self.set(
            "head_dim",
            head_dim.map_or_else(|| first_head_dim(layers, numbers), |dim| format!("{dim}")),
        );
        let window = layers.iter().find_map(|layer| layer.window);
        self.set("window", numbers.integer(window.unwrap_or_default().0));
        self.set(
            "weights",
            numbers.bytes_short(situation.report.model.weight_bytes),
        );
    }

    fn add_cache(&mut self, situation: &Situation, numbers: Numbers<'_>) {
        let KvFormat { k, v } = situation.scenario.kv_cache_dtype;
        let dtype = if k == v {
            k.id.to_owned()
        } else {
            format!("{}/{}", k.id, v.id)
        };
        self.set("dtype", dtype);
        self.set("element_bytes", element_bytes(k, 1, numbers));
        self.set("bits", element_bytes(k, 8, numbers));
        let cache = &situation.report.kv_cache;
        let per_token = cache.bytes_per_token + cache.index_bytes_per_token;
        self.set("per_token", numbers.bytes(per_token));
        self.set("per_token_exact", numbers.bytes_exact(per_token));
        self.set("size", numbers.bytes(cache.per_seq_bytes));
        self.set("size_decimal", numbers.bytes_decimal(cache.per_seq_bytes));
        self.set("size_exact", numbers.bytes_exact(cache.per_seq_bytes));
        self.set("terms", token_terms(situation, numbers, false));
        let first = Bytes(situation.bytes_of_a_token() as u64);
        let (terms, first_terms) = (
            token_terms(situation, numbers, false),
            token_terms(situation, numbers, true),
        );
        self.set("per_token_first", numbers.bytes(first));
        // What a token leaves while nothing has left a window yet.
        let token_line = if fills_windows(situation) {
            format!("{first_terms} = {}", numbers.bytes(first))
        } else if terms.is_empty() {
            numbers.bytes(per_token)
        } else {
            format!("{terms} = {}", numbers.bytes(per_token))
        };
        self.set("token_line", token_line);
        self.set("row_terms", row_terms(situation, numbers));
    }

    fn add_hardware(&mut self, situation: &Situation, numbers: Numbers<'_>) {
        let (hbm, hardware) = (&situation.report.hbm, &situation.report.hardware);
        let gpu = situation.scenario.gpu;
        let tp = hardware.tensor_parallel_size;
        let heads = situation
            .report
            .kv_cache
            .layers
            .iter()
            .find_map(|layer| layer.num_key_value_heads);
        self.set("gpus", numbers.times(hardware.num_gpus, gpu.name));
        self.set("gpu_count", numbers.integer(hardware.num_gpus));
        self.set("tensor_parallel", numbers.integer(tp.into()));
        self.set(
            "pipeline_parallel",
            numbers.integer(hardware.pipeline_parallel_size.into()),
        );
        self.set(
            "heads_per_gpu",
            numbers.integer(heads.unwrap_or(0).div_ceil(tp.max(1)).into()),
        );
        self.set("capacity", numbers.bytes(hbm.capacity_bytes));
        self.set("usable", numbers.bytes(hbm.usable_bytes));
        self.set("weights_per_gpu", numbers.bytes(hbm.weight_bytes));
        self.set(
            "beside",
            numbers.bytes(hbm.activation_bytes + hbm.overhead_bytes),
        );
        self.set("pool", numbers.bytes(hbm.kv_pool_bytes));
        self.set("pool_decimal", numbers.bytes_decimal(hbm.kv_pool_bytes));
        self.set("held", numbers.bytes(hbm.kv_reserved_bytes));
        let beside = hbm.activation_bytes + hbm.overhead_bytes;
        self.set("usable_exact", numbers.bytes_exact(hbm.usable_bytes));
        self.set(
            "weights_per_gpu_exact",
            numbers.bytes_exact(hbm.weight_bytes),
        );
        self.set("beside_exact", numbers.bytes_exact(beside));
        let (shared, own) = situation.shared_and_own_per_gpu();
        let pool = numbers.bytes_exact(hbm.kv_pool_bytes);
        let division = if shared == Bytes::ZERO {
            format!("{pool} ÷ {}", numbers.bytes_exact(own))
        } else {
            let shared = numbers.bytes_exact(shared);
            format!("({pool} − {shared}) ÷ {}", numbers.bytes_exact(own))
        };
        self.set("division", division);
        let left = hbm.kv_pool_bytes.minus(shared);
        self.set("concurrency_exact", numbers.ratio(left.0, own.0, 2));
        self.set(
            "replicas",
            numbers.integer(situation.scenario.data_parallel_size.into()),
        );
    }
}

fn first_head_dim(layers: &[LayerReport], numbers: Numbers<'_>) -> String {
    let of_heads = layers
        .iter()
        .find_map(|layer| Some((layer.k_elements, layer.num_key_value_heads?)));
    let (elements, heads) = of_heads.unwrap_or((0, 1));
    numbers.integer(elements / u64::from(heads.max(1)))
}

/// Bytes of a number, or bits with `per_byte` 8: whole, or with the decimals that its blocks need.
pub(in crate::view) fn element_bytes(
    format: ElementFormat,
    per_byte: u64,
    numbers: Numbers<'_>,
) -> String {
    let (bytes, elements) = (
        u64::from(format.block_bytes) * per_byte,
        u64::from(format.block_elements.max(1)),
    );
    // Blocks are powers of two up to 32 elements, so five decimals are exact.
    let decimals = (0..5).find(|decimals| (bytes * 10_u64.pow(*decimals)).is_multiple_of(elements));
    numbers.ratio(bytes, elements, decimals.unwrap_or(5))
}

/// Whether there are layers that keep everything until their window or chunk is full.
pub(in crate::view) fn fills_windows(situation: &Situation) -> bool {
    let groups = &situation.scenario.model.config.groups;
    groups.iter().any(|group| {
        matches!(
            group.kind,
            LayerKind::Sliding { .. } | LayerKind::Chunked { .. }
        )
    })
}

/// What one token adds once all windows are full, or while they fill, as a sum of products that is exact.
fn token_terms(situation: &Situation, numbers: Numbers<'_>, is_filling: bool) -> String {
    let setup = Setup::new(&situation.scenario);
    let (groups, formats) = (setup.whole_groups(), setup.formats);
    let format = formats.kv;
    let terms = groups.iter().filter_map(|group| {
        let count = numbers.integer(group.count.into());
        let kind = if is_filling {
            group.kind.without_window()
        } else {
            group.kind
        };
        match kind {
            LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } if head_dim == v_head_dim
                && format.k == format.v
                && format.k.scale == Scale::InBlock =>
            {
                Some(format!(
                    "2 × {count} × {} × {} × {} B",
                    numbers.integer(num_key_value_heads.into()),
                    numbers.integer(head_dim.into()),
                    element_bytes(format.k, 1, numbers)
                ))
            }
            LayerKind::Full { .. } | LayerKind::Latent { .. } => Some(format!(
                "{count} × {}",
                numbers.bytes_exact(row_bytes(kind, formats))
            )),
            LayerKind::Compressed { compress_ratio, .. } => Some(format!(
                "{count} × {} ÷ {}",
                numbers.bytes_exact(row_bytes(kind, formats)),
                numbers.integer(compress_ratio.into())
            )),
            LayerKind::Sliding { .. }
            | LayerKind::Chunked { .. }
            | LayerKind::Recurrent(_)
            | LayerKind::Cross { .. }
            | LayerKind::Shared => None,
        }
    });
    let terms: Vec<String> = terms.collect();
    terms.join(" + ")
}

/// Bytes of one row, its index key included.
fn row_bytes(kind: LayerKind, formats: CacheFormats) -> Bytes {
    let row = Rows { main: 1, window: 0 };
    let (k, v) = kind.rows_bytes(row, formats.kv);
    k + v + kind.index_bytes(row, formats)
}

/// What one request keeps at its end, as a sum of products that is exact.
fn row_terms(situation: &Situation, numbers: Numbers<'_>) -> String {
    let groups = &situation.scenario.model.config.groups;
    let layers = &situation.report.kv_cache.layers;
    let formats = Setup::new(&situation.scenario).formats;
    let terms = groups.iter().zip(layers).filter_map(|(group, layer)| {
        let row = row_bytes(group.kind, formats);
        let product = row.times(layer.rows).times(layer.count.into());
        if layer.bytes == Bytes::ZERO {
            None
        } else if product == layer.bytes {
            Some(format!(
                "{} × {} × {}",
                numbers.integer(layer.count.into()),
                numbers.integer(layer.rows),
                numbers.bytes_exact(row)
            ))
        } else {
            Some(numbers.bytes_exact(layer.bytes))
        }
    });
    let terms: Vec<String> = terms.collect();
    terms.join(" + ")
}

/// Whether the cache is tokens times bytes per token.
pub(in crate::view) fn is_straight_line(situation: &Situation) -> bool {
    let cache = &situation.report.kv_cache;
    let per_token = cache.bytes_per_token + cache.index_bytes_per_token;
    per_token.times(situation.report.tokens.total.0) == cache.per_seq_bytes
}
