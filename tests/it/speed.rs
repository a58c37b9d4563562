//! Speed: the formulas by hand, and the estimate against published measurements.

use std::fmt::Write;

use expect_test::expect_file;
use kvscope::core::gpus::{self, Gpu};
use kvscope::core::layer::{CacheFormats, IndexStorage, LayerKind};
use kvscope::core::model::ModelConfig;
use kvscope::core::presets;
use kvscope::core::speed::{
    Estimate, Growth, Parallel, Precision, RequestTokens, SpeedConstants, SpeedInputs,
    crossing_tokens, decode_seconds, decode_step_seconds, distinct_experts, prefill_seconds,
    request_speed,
};
use kvscope::core::units::{GIB, KvFormat, Tokens, formats};
use kvscope::core::weights::{
    Place, WeightFormat, WeightKind, WeightPart, WeightTable, weight_format,
};

/// The dimensions that speed depends on.
struct Dims {
    name: &'static str,
    layers: u32,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    vocab: u64,
    /// Parameters of the dense MLP of a layer.
    mlp: u64,
    /// Routed experts, those of one token, parameters of one, parameters of the shared ones.
    experts: (u32, u32, u64, u64),
}

const DENSE: (u32, u32, u64, u64) = (0, 0, 0, 0);

/// Source: each model's config.json.
#[rustfmt::skip]
const DIMS: &[Dims] = &[
    Dims { name: "llama-2-7b", layers: 32, hidden: 4096, heads: 32, kv_heads: 32, head_dim: 128, vocab: 32_000, mlp: 3 * 4096 * 11_008, experts: DENSE },
    Dims { name: "llama-2-70b", layers: 80, hidden: 8192, heads: 64, kv_heads: 8, head_dim: 128, vocab: 32_000, mlp: 3 * 8192 * 28_672, experts: DENSE },
    Dims { name: "gpt-j-6b", layers: 28, hidden: 4096, heads: 16, kv_heads: 16, head_dim: 256, vocab: 50_400, mlp: 2 * 4096 * 16_384, experts: DENSE },
    Dims { name: "falcon-180b", layers: 80, hidden: 14_848, heads: 232, kv_heads: 8, head_dim: 64, vocab: 65_024, mlp: 2 * 14_848 * 59_392, experts: DENSE },
    Dims { name: "llama-3.1-8b", layers: 32, hidden: 4096, heads: 32, kv_heads: 8, head_dim: 128, vocab: 128_256, mlp: 3 * 4096 * 14_336, experts: DENSE },
    Dims { name: "llama-3.1-70b", layers: 80, hidden: 8192, heads: 64, kv_heads: 8, head_dim: 128, vocab: 128_256, mlp: 3 * 8192 * 28_672, experts: DENSE },
    Dims { name: "llama-3.1-405b", layers: 126, hidden: 16_384, heads: 128, kv_heads: 8, head_dim: 128, vocab: 128_256, mlp: 3 * 16_384 * 53_248, experts: DENSE },
    Dims { name: "qwen3-32b", layers: 64, hidden: 5120, heads: 64, kv_heads: 8, head_dim: 128, vocab: 151_936, mlp: 3 * 5120 * 25_600, experts: DENSE },
    Dims { name: "mixtral-8x7b", layers: 32, hidden: 4096, heads: 32, kv_heads: 8, head_dim: 128, vocab: 32_000, mlp: 0, experts: (8, 2, 3 * 4096 * 14_336, 0) },
    Dims { name: "qwen3-30b-a3b", layers: 48, hidden: 2048, heads: 32, kv_heads: 4, head_dim: 128, vocab: 151_936, mlp: 0, experts: (128, 8, 3 * 2048 * 768, 0) },
    Dims { name: "qwen3-235b-a22b", layers: 94, hidden: 4096, heads: 64, kv_heads: 4, head_dim: 128, vocab: 151_936, mlp: 0, experts: (128, 8, 3 * 4096 * 1536, 0) },
    Dims { name: "gpt-oss-120b", layers: 36, hidden: 2880, heads: 64, kv_heads: 8, head_dim: 64, vocab: 201_088, mlp: 0, experts: (128, 4, 3 * 2880 * 2880, 0) },
    Dims { name: "deepseek-r1", layers: 61, hidden: 7168, heads: 128, kv_heads: 128, head_dim: 128, vocab: 129_280, mlp: 3 * 7168 * 18_432, experts: (256, 8, 3 * 7168 * 2048, 3 * 7168 * 2048) },
];

/// A model of these dimensions, or else a preset. Norms and routers are left out of the former: they are under a thousandth
/// of the bytes.
fn model(name: &str) -> ModelConfig {
    let Some(dims) = DIMS.iter().find(|dims| dims.name == name) else {
        return ModelConfig::clone(&presets::get(name).expect(name).model());
    };
    let (kv_heads, head_dim) = (dims.kv_heads, dims.head_dim);
    let full = LayerKind::Full {
        num_key_value_heads: kv_heads,
        head_dim,
        v_head_dim: head_dim,
    };
    let (layer, every_other, attention) = match name {
        "deepseek-r1" => {
            let latent = LayerKind::Latent {
                kv_lora_rank: 512,
                qk_rope_head_dim: 64,
                index_head_dim: 0,
            };
            // Down and up projections of queries, of the latent, and the output.
            let attention =
                7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168;
            (latent, latent, attention)
        }
        "gpt-oss-120b" => {
            let sliding = LayerKind::Sliding {
                window: Tokens(128),
                num_key_value_heads: kv_heads,
                head_dim,
                v_head_dim: head_dim,
            };
            (full, sliding, attention_params(dims))
        }
        _ => (full, full, attention_params(dims)),
    };
    let kinds = (0..dims.layers).map(|idx| vec![if idx % 2 == 0 { layer } else { every_other }]);
    let mut model = ModelConfig::from_layers(name, "", kinds.collect());
    model.num_attention_heads = dims.heads;
    model.hidden_size = dims.hidden;
    let (num_experts, num_experts_per_tok, expert, shared) = dims.experts;
    let part = |kind, num_params, place| WeightPart {
        kind,
        num_params,
        shard_units: 128,
        place,
    };
    let table = dims.vocab * u64::from(dims.hidden);
    let mut parts = vec![
        part(WeightKind::Embedding, table, Place::FirstStage),
        part(WeightKind::Head, table, Place::LastStage),
    ];
    // Group 0 has a dense MLP, group 1 experts; DeepSeek's first three layers are dense.
    for group in 0..2 {
        parts.push(part(WeightKind::Attention, attention, Place::Layer(group)));
    }
    parts.push(part(WeightKind::Mlp, dims.mlp, Place::Layer(0)));
    let routed = u64::from(num_experts) * expert;
    parts.push(part(WeightKind::RoutedExperts, routed, Place::Layer(1)));
    parts.push(part(WeightKind::SharedExperts, shared, Place::Layer(1)));
    let num_dense = match (num_experts, dims.mlp) {
        (0, _) => dims.layers,
        (_, 0) => 0,
        _ => 3,
    };
    model.weights = WeightTable {
        parts,
        layers: (0..dims.layers)
            .map(|idx| usize::from(num_dense <= idx))
            .collect(),
        num_experts,
        num_experts_per_tok,
        published: None,
    };
    model
}

fn attention_params(dims: &Dims) -> u64 {
    let columns = 2 * dims.heads + 2 * dims.kv_heads;
    u64::from(dims.hidden) * u64::from(columns) * u64::from(dims.head_dim)
}

#[test]
fn dimensions_give_the_published_parameters() {
    for (name, params, active) in [
        ("llama-2-7b", 6.738e9, 6.738e9),
        ("llama-2-70b", 68.98e9, 68.98e9),
        ("llama-3.1-405b", 405.8e9, 405.8e9),
        ("falcon-180b", 179.5e9, 179.5e9),
        ("mixtral-8x7b", 46.70e9, 12.88e9),
        ("qwen3-235b-a22b", 235.09e9, 22.19e9),
        ("deepseek-r1", 671.0e9, 37.55e9),
        ("gpt-oss-120b", 116.8e9, 5.7e9), // with the embedding
    ] {
        let weights = model(name).weights;
        let off = weights.num_params() as f64 / params - 1.0;
        assert!(off.abs() < 0.005, "{name}: {}", weights.num_params());
        let off = weights.num_active_params() as f64 / active - 1.0;
        assert!(off.abs() < 0.01, "{name}: {}", weights.num_active_params());
    }
}

fn formats(cache: &str) -> CacheFormats {
    let format = match cache {
        "bf16" => formats::BF16,
        "float16" => formats::F16,
        "fp8" => formats::FP8,
        other => panic!("unknown cache format {other}"),
    };
    CacheFormats {
        kv: KvFormat::both(format),
        state: formats::F32,
        conv: formats::BF16,
        index: IndexStorage::LikeK,
    }
}

/// The weight format as this model's makers mean it: gpt-oss keeps all but its experts in bf16.
fn stored(name: &str, weights: &str) -> WeightFormat {
    let format = weight_format(weights).unwrap_or_else(|| panic!("no weight format {weights}"));
    match name {
        "gpt-oss-120b" => WeightFormat {
            routed_experts: format.routed_experts,
            ..WeightFormat::linear("gpt-oss", "", formats::BF16)
        },
        _ => format,
    }
}

fn gpu(id: &str) -> &'static Gpu {
    gpus::get(id).unwrap_or_else(|| panic!("no GPU {id}"))
}

fn inputs(name: &str, weights: &str, cache: &str, id: &str, tp: u32, seqs: u64) -> SpeedInputs {
    SpeedInputs::new(
        &model(name),
        &stored(name, weights),
        formats(cache),
        gpu(id),
        Parallel::tensor(tp),
        seqs,
    )
}

#[track_caller]
fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!(
        (actual - expected).abs() <= tolerance * expected.abs(),
        "{actual} is not {expected}"
    );
}

/// The constants that make the estimate the roofline.
fn ideal() -> SpeedConstants {
    let mut constants = SpeedConstants::default();
    for info in SpeedConstants::TABLE {
        let value = match info.unit {
            "µs" => 0.0,
            "GB/s" => 1e12,
            _ => 1.0,
        };
        assert!(
            constants.set(info.name, value),
            "{} has no field",
            info.name
        );
    }
    constants.set("overlap_power", 1e3);
    constants.set("prefill_chunk_tokens", 1e9);
    constants
}

/// The presets, read from config.json, give what the dimensions above give: the same weights to read and to multiply
/// with, the same caches, the same attention. Norms and routers are the difference.
#[test]
fn presets_agree_with_the_dimensions() {
    for (preset, name, format) in [
        ("llama-2-7b", "llama-2-7b", "bf16"),
        ("llama-3.1-8b", "llama-3.1-8b", "fp8"),
        ("llama-3.1-70b", "llama-3.1-70b", "fp8"),
        ("llama-3.1-405b", "llama-3.1-405b", "int8"),
        ("qwen3-32b", "qwen3-32b", "bf16"),
        ("mixtral-8x7b", "mixtral-8x7b", "bf16"),
        ("qwen3-30b-a3b", "qwen3-30b-a3b", "bf16"),
        ("qwen3-235b-a22b-thinking-2507", "qwen3-235b-a22b", "bf16"),
        ("gpt-oss-120b", "gpt-oss-120b", "bf16"),
        ("deepseek-r1", "deepseek-r1", "fp8"),
    ] {
        let preset = presets::get(preset).expect(preset).model();
        // On 8 GPUs, KV heads under 8 are copied, and routers and latent projections are whole on each.
        for (tp, tolerance) in [(1, 0.01), (8, 0.06)] {
            let inputs = |model: &ModelConfig| {
                let gpu = gpu("h200-sxm-141gb");
                let parallel = Parallel::tensor(tp);
                SpeedInputs::new(
                    model,
                    &stored("", format),
                    formats("bf16"),
                    gpu,
                    parallel,
                    8,
                )
            };
            let (read, by_hand) = (inputs(&preset), inputs(&model(name)));
            let close = |what: &str, a: f64, b: f64| {
                let off = (a - b).abs() / b;
                assert!(off < tolerance, "{name} on {tp}: {what} {a} is not {b}");
            };
            close(
                "bytes",
                read.weight_bytes_read(8.0),
                by_hand.weight_bytes_read(8.0),
            );
            close(
                "parameters",
                read.num_multiplied_params,
                by_hand.num_multiplied_params,
            );
            for n in [100.0, 5000.0] {
                close("cache", read.cache_bytes.at(n), by_hand.cache_bytes.at(n));
                close(
                    "decode",
                    read.decode_attention.at(n),
                    by_hand.decode_attention.at(n),
                );
                close(
                    "prefill",
                    read.prefill_attention.at(n),
                    by_hand.prefill_attention.at(n),
                );
            }
        }
    }
}

#[test]
fn rooflines_by_hand() {
    let constants = SpeedConstants::default();
    // Llama 2 7B, bf16, A100: 2 × (6.738e9 − 32,000 × 4,096) B = 13.214 GB at 2,039 GB/s.
    let a100 = inputs("llama-2-7b", "bf16", "bf16", "a100-sxm-80gb", 1, 1);
    near(
        decode_step_seconds(&a100, &constants, 0).roofline,
        6.48e-3,
        1e-3,
    );
    // 60 sequences of 1,152 tokens read 524,288 B a token more: 36.24 GB.
    let a100 = inputs("llama-2-7b", "bf16", "bf16", "a100-sxm-80gb", 1, 60);
    near(
        decode_step_seconds(&a100, &constants, 1152).roofline,
        24.25e-3,
        1e-3,
    );
    // 2,048 prompt tokens: 2 × 6.607e9 × 2,048 + 2 × 32 × 32 × 128 × 2,048 × 2,049 operations at 312e12 a second.
    near(
        prefill_seconds(&a100, &constants, 0, 2048, 1).roofline,
        90.27e-3,
        1e-3,
    );
    // Qwen3 32B on 2 H100: 31.98e9 parameters without the embedding, 2 B, half a rank each, 3,350 GB/s.
    let h100 = inputs("qwen3-32b", "bf16", "bf16", "h100-sxm-80gb", 2, 1);
    near(
        decode_step_seconds(&h100, &constants, 0).roofline,
        9.547e-3,
        1e-3,
    );
    // Mixtral at batch 1 reads 2 of 8 experts: 12.749e9 B in int8 (and the head in bf16).
    let mixtral = inputs("mixtral-8x7b", "int8", "bf16", "a100-sxm-80gb", 1, 1);
    near(
        decode_step_seconds(&mixtral, &constants, 0).roofline,
        6.317e-3,
        1e-3,
    );
    // A fp8 model on a GPU without fp8 computes in bf16; nvfp4 on B200 computes in fp4.
    let precision = |weights, id| inputs("llama-3.1-8b", weights, "fp8", id, 1, 1).precision;
    assert_eq!(precision("fp8", "a100-sxm-80gb"), Precision::Bf16);
    assert_eq!(precision("fp8", "h100-sxm-80gb"), Precision::Fp8);
    assert_eq!(precision("nvfp4", "b200"), Precision::Fp4);
    assert_eq!(precision("nvfp4", "h100-sxm-80gb"), Precision::Bf16);
    assert_eq!(precision("mxfp4", "b200"), Precision::Fp8);
    assert_eq!(precision("int4", "h100-sxm-80gb"), Precision::Bf16);
}

#[test]
fn estimate_by_hand() {
    // Llama 2 7B on A100: reading 6.48 ms / 0.8, computing 2 × 6.607e9 / 312e12 / 0.66 = 0.0642 ms, 32 × 30 µs, 5 µs.
    let a100 = inputs("llama-2-7b", "bf16", "bf16", "a100-sxm-80gb", 1, 1);
    let constants = SpeedConstants::default();
    let estimate = decode_step_seconds(&a100, &constants, 0);
    let likely = (8.1007e-3f64.powi(2) + 0.0642e-3f64.powi(2)).sqrt() + 0.965e-3;
    near(estimate.likely, likely, 1e-3);
    near(estimate.high, 1.5 * likely, 1e-3);
    // Divided by 1.5 it would be under the bound.
    assert_eq!(estimate.low, estimate.roofline);
    // On 8 GPUs: 2 × 32 sums of 4,096 × 2 B × 7/8 at 250 GB/s and 32 × 3 × 20 µs more.
    let eight = inputs("llama-2-7b", "bf16", "bf16", "a100-sxm-80gb", 8, 1);
    let likely = (8.1007e-3 / 8.0) + 0.965e-3 + 1.92e-3 + 64.0 * 8192.0 * 0.875 / 250e9;
    near(
        decode_step_seconds(&eight, &constants, 0).likely,
        likely,
        1e-3,
    );
    // 128 prompt tokens: 13.214 GB and 128 × 524,288 B are read, 1.697e12 operations, and 32 × 70 µs are added.
    let reading = (13.214e9 + 128.0 * 524_288.0) / 2039e9 / 0.8;
    let computing = 1.697e12 / 312e12 / 0.66;
    near(
        prefill_seconds(&a100, &constants, 0, 128, 1).likely,
        f64::hypot(reading, computing) + 0.965e-3 + 2.24e-3,
        1e-3,
    );
    // Perfect constants leave the roofline.
    let ideal = ideal();
    for tp in [1, 8] {
        let inputs = inputs("llama-3.1-70b", "fp8", "fp8", "h100-sxm-80gb", tp, 64);
        let step = decode_step_seconds(&inputs, &ideal, 5000);
        near(step.likely, step.roofline, 1e-6);
        let prefill = prefill_seconds(&inputs, &ideal, 100, 5000, 2);
        near(prefill.likely, prefill.roofline, 1e-6);
    }
}

#[test]
fn experts() {
    // E = 128, k = 8 and E = 256, k = 8: 1 token, 8, 32, 64.
    near(distinct_experts(128, 8, 1.0), 8.0, 1e-9);
    near(distinct_experts(128, 8, 8.0), 51.6, 1e-3);
    near(distinct_experts(128, 8, 32.0), 111.8, 1e-3);
    near(distinct_experts(256, 8, 64.0), 222.4, 1e-3);
    assert_eq!(distinct_experts(0, 0, 8.0), 0.0);
    assert_eq!(distinct_experts(8, 9, 1.0), 8.0);
}

#[test]
fn growth_is_straight_between_bends() {
    let window = |n: u64| (n + 2 * n.min(128) + 3 * n.min(1000)) as f64;
    let growth = Growth::sample(&[1000, 128], window);
    for n in [0, 1, 127, 128, 129, 1000, 1001, 5000, 3_000_000] {
        near(growth.at(n as f64), window(n), 1e-12);
    }
    for (from, to) in [
        (0, 1),
        (0, 128),
        (100, 130),
        (127, 1500),
        (999, 1000),
        (5, 5),
        (9, 3),
    ] {
        let slow: f64 = (from + 1..=to).map(window).sum();
        near(growth.sum(from, to), slow, 1e-12);
    }
    // 3 × 1,000 + 2 × 128 + 5,000 at 5,000 tokens.
    assert_eq!(growth.tokens_at(8256.0), Some(5000));
    assert_eq!(growth.tokens_at(0.0), Some(0));
    assert_eq!(growth.tokens_at(6.0), Some(1));
    assert_eq!(
        Growth::sample(&[10], |n| n.min(10) as f64).tokens_at(11.0),
        None
    );
    assert_eq!(Growth::default().at(7.0), 0.0);
}

/// Every way to reach the sum of many steps agrees with adding them one by one.
#[test]
fn many_steps_are_the_sum_of_single_steps() {
    let constants = SpeedConstants::default();
    for (name, weights, id, tp, seqs) in [
        ("llama-3.1-70b", "fp8", "h100-sxm-80gb", 4, 89),
        ("gpt-oss-120b", "mxfp4", "h200-sxm-141gb", 1, 64),
        ("deepseek-r1", "fp8", "h200-sxm-141gb", 8, 256),
        ("llama-3.1-8b", "bf16", "h100-sxm-80gb", 1, 600),
    ] {
        let inputs = inputs(name, weights, "bf16", id, tp, seqs);
        for (from, to) in [(0, 1), (0, 20), (100, 140), (512, 5000), (0, 40_000)] {
            let fast = decode_seconds(&inputs, &constants, from, to);
            let slow = (from + 1..=to)
                .map(|n| decode_step_seconds(&inputs, &constants, n))
                .fold(Estimate::default(), |sum, step| sum + step);
            near(fast.likely, slow.likely, 1e-6);
            near(fast.roofline, slow.roofline, 1e-6);
        }
    }
}

#[test]
fn a_request() {
    let constants = SpeedConstants::default();
    let inputs = inputs("llama-3.1-70b", "bf16", "bf16", "h100-sxm-80gb", 4, 8);
    let tokens = RequestTokens {
        cached: 0,
        prompt: 512,
        thinking: 4000,
        answer: 300,
    };
    let speed = request_speed(&inputs, &constants, tokens);
    let first = prefill_seconds(&inputs, &constants, 0, 512, 1);
    assert_eq!(speed.time_to_first_token, first);
    assert_eq!(
        speed.thinking_start_step,
        decode_step_seconds(&inputs, &constants, 513)
    );
    assert_eq!(
        speed.thinking_end_step,
        decode_step_seconds(&inputs, &constants, 4512)
    );
    let steps = decode_seconds(&inputs, &constants, 512, 4811);
    let total = prefill_seconds(&inputs, &constants, 0, 512, 8).likely + steps.likely;
    near(speed.total.likely, total, 1e-12);
    near(speed.per_output_token.likely, total / 4300.0, 1e-12);
    let thinking = decode_seconds(&inputs, &constants, 512, 4511);
    assert_eq!(speed.thinking, thinking);
    near(speed.tokens_per_second.likely, 8.0 * 4300.0 / total, 1e-12);
    assert!(speed.tokens_per_second.high <= speed.tokens_per_second.roofline);
    // 8 × n × 327,680 B = 139.0 GB of weights that are read: n = 53,024.
    let n = crossing_tokens(&inputs).expect("caches grow for ever");
    near(
        n as f64,
        2.0 * (70.553e9 - 1.0507e9) / (8.0 * 327_680.0),
        1e-3,
    );
    // An empty request takes no time and divides by nothing.
    let none = request_speed(&inputs, &constants, RequestTokens::default());
    assert_eq!(none.total.likely, 0.0);
    assert_eq!(none.tokens_per_second.likely, 0.0);
}

#[test]
fn laws() {
    let constants = SpeedConstants::default();
    for dims in DIMS {
        let at = |tp, seqs| inputs(dims.name, "fp8", "bf16", "h200-sxm-141gb", tp, seqs);
        let mut last = 0.0;
        for seqs in [1, 2, 8, 32, 128, 512] {
            let step = decode_step_seconds(&at(1, seqs), &constants, 4000);
            assert!(
                last < step.likely,
                "{}: more sequences, longer step",
                dims.name
            );
            assert!(step.roofline <= step.low, "{}: the bound binds", dims.name);
            assert!(step.low <= step.likely && step.likely <= step.high);
            last = step.likely;
            let eight = decode_step_seconds(&at(8, seqs), &constants, 4000);
            assert!(eight.roofline < step.roofline, "{}: more GPUs", dims.name);
        }
        let early = decode_step_seconds(&at(1, 8), &constants, 100).likely;
        let late = decode_step_seconds(&at(1, 8), &constants, 100_000).likely;
        assert!(early < late, "{}: longer context, longer step", dims.name);
    }
}

/// Whatever a reader types or a file holds, there is a number and no panic.
#[test]
fn absurd_inputs() {
    let constants = SpeedConstants::default();
    let huge = u32::MAX;
    let kinds = [
        LayerKind::Full {
            num_key_value_heads: huge,
            head_dim: huge,
            v_head_dim: huge,
        },
        LayerKind::Sliding {
            window: Tokens(u64::MAX),
            num_key_value_heads: 0,
            head_dim: 0,
            v_head_dim: 0,
        },
        LayerKind::Latent {
            kv_lora_rank: huge,
            qk_rope_head_dim: huge,
            index_head_dim: huge,
        },
        LayerKind::Shared,
    ];
    for kind in kinds {
        let mut model = ModelConfig::from_layers("", "", vec![vec![kind]]);
        model.num_attention_heads = huge;
        for seqs in [0, 1, u64::MAX] {
            for (tp, stages) in [(0, 0), (1, 1), (huge, huge)] {
                let parallel = Parallel {
                    tensor_parallel_size: tp,
                    pipeline_parallel_size: stages,
                    attention_data_parallel_size: stages,
                };
                let inputs = SpeedInputs::new(
                    &model,
                    &stored("", "bf16"),
                    formats("bf16"),
                    gpu("h100-sxm-80gb"),
                    parallel,
                    seqs,
                );
                for n in [0, 1, u64::MAX] {
                    let tokens = RequestTokens {
                        cached: n,
                        prompt: n,
                        thinking: n,
                        answer: n,
                    };
                    let total = request_speed(&inputs, &constants, tokens).total;
                    assert!(0.0 <= total.likely && 0.0 <= total.low, "{total:?}");
                }
            }
        }
    }
}

#[test]
fn pipeline_stages() {
    let constants = SpeedConstants::default();
    let staged = |stages, seqs| {
        let parallel = Parallel {
            tensor_parallel_size: 1,
            pipeline_parallel_size: stages,
            attention_data_parallel_size: 1,
        };
        SpeedInputs::new(
            &model("llama-3.1-70b"),
            &weight_format("fp8").expect("fp8"),
            formats("fp8"),
            gpu("h100-sxm-80gb"),
            parallel,
            seqs,
        )
    };
    // One sequence passes through all stages one after another: as long as on one GPU.
    let one = decode_step_seconds(&staged(1, 1), &constants, 1000);
    assert_eq!(decode_step_seconds(&staged(4, 1), &constants, 1000), one);
    // 64 sequences on 4 stages go through in 4 groups of 16, each as long as 16 on one GPU.
    let four = decode_step_seconds(&staged(4, 64), &constants, 1000);
    assert_eq!(four, decode_step_seconds(&staged(1, 16), &constants, 1000));
    // 4 chunks through 4 stages take 7 quarters of a chunk each instead of 4 whole ones.
    let prefill = |stages| prefill_seconds(&staged(stages, 1), &constants, 0, 32_768, 1);
    near(prefill(4).likely, prefill(1).likely * 7.0 / 16.0, 1e-9);
}

/// A measured row of `tests/data/measured.tsv`.
struct Row<'a> {
    fields: Vec<&'a str>,
}

impl Row<'_> {
    fn number(&self, idx: usize) -> f64 {
        self.fields[idx].parse().expect("a number")
    }

    /// All of the row that does not depend on constants.
    fn prepared(&self) -> Prepared {
        let [_, _, name, weights, cache, id, tp, dp, pp, kind, seqs, ..] = self.fields[..] else {
            panic!("a short row");
        };
        let size = |text: &str| text.parse().expect("a size");
        let (input, output) = (self.number(11) as u64, self.number(12) as u64);
        let parallel = Parallel {
            tensor_parallel_size: size(tp),
            pipeline_parallel_size: size(pp),
            attention_data_parallel_size: size(dp),
        };
        let model = model(name);
        let weights = stored(name, weights);
        let at = |seqs| SpeedInputs::new(&model, &weights, formats(cache), gpu(id), parallel, seqs);
        let num_seqs = || seqs.parse().expect("seqs");
        let parts = match kind {
            "step" => vec![(at(num_seqs()), What::Step)],
            "first" => vec![(at(1), What::First)],
            "served" => vec![(at(num_seqs()), What::PerToken)],
            // Tokens per second turn into ms per token, so that all rows compare times.
            "batch" => {
                let tokens = self.number(10) * output as f64;
                let gpus = f64::from(parallel.tensor_parallel_size);
                vec![(at(num_seqs()), What::Total(gpus / tokens))]
            }
            // A run of so many requests: full machines one after another, then what is left.
            "load" => {
                let requests = self.number(13) as u64;
                let at_once = load(&model, &at(1), gpu(id), input + output).min(requests);
                let tokens = requests as f64 * output as f64;
                let full = (requests / at_once) as f64;
                let mut parts = vec![(at(at_once), What::Total(full / tokens))];
                if !requests.is_multiple_of(at_once) {
                    parts.push((at(requests % at_once), What::Total(1.0 / tokens)));
                }
                parts
            }
            other => panic!("unknown kind {other}"),
        };
        Prepared {
            parts,
            input,
            output,
            measured: self.measured(),
        }
    }

    /// The measurement as ms.
    fn measured(&self) -> f64 {
        match self.fields[9] {
            "batch" | "load" => 1e3 / self.number(14),
            _ => self.number(14),
        }
    }
}

/// What a row is a time of.
enum What {
    Step,
    First,
    PerToken,
    /// The whole request, by this factor.
    Total(f64),
}

/// A row with all that does not depend on constants.
struct Prepared {
    parts: Vec<(SpeedInputs, What)>,
    input: u64,
    output: u64,
    measured: f64,
}

impl Prepared {
    /// The estimate in ms.
    fn estimate(&self, constants: &SpeedConstants) -> Estimate {
        let tokens = RequestTokens {
            prompt: self.input,
            thinking: self.output,
            ..RequestTokens::default()
        };
        let part = |(inputs, what): &(SpeedInputs, What)| {
            let request = || request_speed(inputs, constants, tokens);
            match what {
                What::Step => decode_step_seconds(inputs, constants, self.input).times(1e3),
                What::First => prefill_seconds(inputs, constants, 0, self.input, 1).times(1e3),
                What::PerToken => request().per_output_token.times(1e3),
                What::Total(factor) => request().total.times(1e3 * factor),
            }
        };
        self.parts
            .iter()
            .map(part)
            .fold(Estimate::default(), |sum, part| sum + part)
    }

    /// How far the measurement is from the estimate.
    fn log(&self, constants: &SpeedConstants) -> f64 {
        (self.measured / self.estimate(constants).likely).ln()
    }
}

/// Constants that were chosen on the rows of the page.
const CHOSEN: [&str; 8] = [
    "bf16_efficiency",
    "fp8_efficiency",
    "fp4_efficiency",
    "moe_compute_factor",
    "other_vendor_factor",
    "prefill_layer_us",
    "sequence_us",
    "fast_link_gbps",
];

/// Chooses these constants anew, with the others as they are: one after the other to the least mean error of `rows`.
fn fitted(rows: &[&Prepared]) -> SpeedConstants {
    // Far from the defaults, which know all rows.
    let mut best = SpeedConstants::default();
    for (name, value) in CHOSEN
        .into_iter()
        .zip([0.5, 0.5, 0.5, 0.5, 0.7, 30.0, 20.0, 100.0])
    {
        assert!(best.set(name, value), "{name}");
    }
    let error = |constants: &SpeedConstants| -> f64 {
        rows.iter().map(|row| row.log(constants).abs()).sum()
    };
    let mut least = error(&best);
    for factor in [1.5, 1.1] {
        for name in CHOSEN {
            for factor in [factor, 1.0 / factor] {
                loop {
                    let mut next = best;
                    let value = best.get(name).expect("it is there") * factor;
                    let now = if next.set(name, value) {
                        error(&next)
                    } else {
                        least
                    };
                    // A constant that hardly any row depends on would wander on for ever.
                    if 0.9998 * least <= now || (name.ends_with("efficiency") && 1.0 < value) {
                        break;
                    }
                    (best, least) = (next, now);
                }
            }
        }
    }
    best
}

/// Sequences that run at maximum load: what 95 % of the memory beside weights and 4 GiB holds, 2,048 a rank and stage at
/// most.
fn load(model: &ModelConfig, inputs: &SpeedInputs, gpu: &Gpu, tokens: u64) -> u64 {
    let Parallel {
        pipeline_parallel_size: stages,
        attention_data_parallel_size: groups,
        ..
    } = inputs.parallel;
    // Bytes of the inputs are those of all stages together.
    let held = inputs.weight_bytes + inputs.routed_expert_bytes;
    let memory = (gpu.visible().0 as f64 - 4.0 * GIB as f64) * f64::from(stages);
    let pool = (memory - held) * 0.95;
    assert!(0.0 < pool, "{} does not fit", model.name);
    let per_seq = inputs.cache_bytes.at(tokens as f64) / f64::from(groups);
    ((pool / per_seq) as u64).clamp(1, 2048 * u64::from(groups))
}

/// Median and 90th percentile of `|ln(measured / estimated)|` as percentages, and the share within a factor 1.5.
fn errors(mut logs: Vec<f64>) -> (f64, f64, f64) {
    logs.iter_mut().for_each(|log| *log = log.abs());
    logs.sort_by(f64::total_cmp);
    let at = |share: f64| logs[((logs.len() - 1) as f64 * share).round() as usize];
    let within = logs.iter().filter(|log| **log <= 1.5f64.ln()).count();
    let percent = |log: f64| 100.0 * log.exp_m1();
    (
        percent(at(0.5)),
        percent(at(0.9)),
        100.0 * within as f64 / logs.len() as f64,
    )
}

const INTRO: &str = "# Measured against estimated

How far the speed estimate is from published measurements, row by row. This page is written by a test
(`UPDATE_EXPECT=1 cargo test speed`), so it cannot go stale.

A ratio is measured time over estimated time: above 1 the machine was slower than estimated. *Roof* is the pure roofline,
a bound. All rows are times in milliseconds: of a decode step (`step`), to the first token (`first`), per output token of a
full server (`served`), or one output token of the whole machine, the inverse of its throughput, for a static batch
(`batch`, of one GPU's share) and at maximum load (`load`, with as many sequences as fit).

The memory efficiency and the times per layer and per doubling of GPUs are those of a fit on 1,829 serving runs that are not
on this page (H100, H200 and B200; vLLM, TensorRT-LLM and SGLang; 2 to 512 users). The other constants were chosen on the
rows of this page, so that for such serving runs the estimates also stay near that fit's. So this table says how well the
rows are fitted, and the next one how well rows are foretold.
";

const EXPLAINED: &str = "
*Not foretold* are rows of which the estimate knows that it is too fast, and which are no part of *all*: mixtures of experts on
MI300X, and DeepSeek R1 in the first months after its release (2025-03), when engines ran without the kernels for its
attention and experts that they have today.

Ratios above 1.7 among static batches are models with few KV heads and long outputs: Llama 2 70B and Falcon 180B on
TensorRT-LLM 0.6.1, before its kernel for grouped heads (XQA, 2024-01), Falcon 180B and Mistral 7B on 0.9, which that kernel
probably did not serve. int4 weights of gpt-fast take 1.6 times the estimate (its authors report 42 % of the bandwidth), and
Mixtral in bf16 on A100 half of it.
";

const LEFT_OUT: &str = "
## Left out, then estimated

Each model in turn, then each GPU and each set, is left out: the constants that were chosen on this page are chosen anew
without its rows (on every third of the others, beginning far from their defaults), and its rows are estimated with them.

| left out | groups | rows | median error | 90th percentile | within a factor 1.5 |
| --- | --- | --- | --- | --- | --- |
";

/// What the rows of one kind are estimated at when they had no part in the choice of constants.
fn left_out(rows: &[Row], column: usize, name: &str) -> String {
    let prepared: Vec<Prepared> = rows.iter().map(Row::prepared).collect();
    let mut groups: Vec<&str> = rows.iter().map(|row| row.fields[column]).collect();
    groups.sort_unstable();
    groups.dedup();
    let logs_without = |group: &str| -> Vec<f64> {
        let (out, kept): (Vec<_>, Vec<_>) = rows
            .iter()
            .zip(&prepared)
            .partition(|(row, _)| row.fields[column] == group);
        let kept: Vec<&Prepared> = kept.into_iter().map(|(_, row)| row).step_by(3).collect();
        let constants = fitted(&kept);
        out.into_iter()
            .map(|(_, row)| row.log(&constants))
            .collect()
    };
    let logs: Vec<f64> = std::thread::scope(|scope| {
        let runs: Vec<_> = groups
            .iter()
            .map(|group| scope.spawn(|| logs_without(group)))
            .collect();
        runs.into_iter()
            .flat_map(|run| run.join().expect("it ends"))
            .collect()
    });
    let (median, ninety, within) = errors(logs.clone());
    format!(
        "| {name} | {} | {} | {median:.0} % | {ninety:.0} % | {within:.0} % |",
        groups.len(),
        logs.len()
    )
}

/// The rows of the table.
fn rows() -> Vec<Row<'static>> {
    include_str!("../data/measured.tsv")
        .lines()
        .skip(1)
        .map(|line| Row {
            fields: line.split('\t').collect(),
        })
        .collect()
}

#[test]
fn measured_against_estimated() {
    let constants = SpeedConstants::default();
    let rows = rows();
    let mut page = INTRO.to_owned();
    let mut table = String::new();
    let mut all = Vec::new();
    let mut unclaimed = String::new();
    let mut summary = String::from(
        "\n| set | rows | median error | 90th percentile | within a factor 1.5 |\n| --- | --- | --- | --- | --- |\n",
    );
    // Every set, and whether the estimate claims to hold for it.
    let sets = [
        ("varied", true),
        ("gpt-fast", true),
        ("first", true),
        ("first 0.9", true),
        ("batch", true),
        ("batch 0.9", true),
        ("load", true),
        ("pipeline", true),
        ("served", true),
        ("not foretold", false),
    ];
    for (set, is_claimed) in sets {
        let _ = writeln!(
            table,
            "\n## {set}\n\n| # | model | weights, cache | GPU | kind | seqs | in/out | measured | estimated | ratio | roof ratio | source |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        );
        let mut logs = Vec::new();
        for row in rows.iter().filter(|row| row.fields[0] == set) {
            let (measured, estimate) = (row.measured(), row.prepared().estimate(&constants));
            let f = &row.fields;
            let gpus = row.number(6) * row.number(8);
            let _ = writeln!(
                table,
                "| {} | {} | {}, {} | {} × {} | {} | {} | {}/{} | {:.4} | {:.4} | {:.2} | {:.2} | {} |",
                f[1],
                f[2],
                f[3],
                f[4],
                gpus,
                f[5],
                f[9],
                f[10],
                f[11],
                f[12],
                measured,
                estimate.likely,
                measured / estimate.likely,
                measured / estimate.roofline,
                f[15],
            );
            logs.push((measured / estimate.likely).ln());
        }
        if is_claimed {
            all.extend(logs.clone());
        }
        let (median, ninety, within) = errors(logs.clone());
        let line = format!(
            "| {set} | {} | {median:.0} % | {ninety:.0} % | {within:.0} % |",
            logs.len()
        );
        println!("{line}");
        let lines = if is_claimed {
            &mut summary
        } else {
            &mut unclaimed
        };
        let _ = writeln!(lines, "{line}");
        if set == "varied" {
            assert!(median <= 15.0, "median error of {set}: {median:.1} %");
            assert!(
                90.0 <= within,
                "within a factor 1.5 in {set}: {within:.1} %"
            );
        }
    }
    let (median, ninety, within) = errors(all.clone());
    let line = format!(
        "| all | {} | {median:.0} % | {ninety:.0} % | {within:.0} % |",
        all.len()
    );
    println!("{line}");
    let _ = writeln!(summary, "{line}");
    let is_known = |row: &Row| sets.iter().any(|(set, _)| *set == row.fields[0]);
    assert!(rows.iter().all(is_known), "a row belongs to no set");
    assert!(median <= 15.0, "median error: {median:.1} %");
    assert!(90.0 <= within, "within a factor 1.5: {within:.1} %");
    page += &summary;
    page += &unclaimed;
    page += EXPLAINED;
    page += LEFT_OUT;
    let claimed: Vec<Row> = rows
        .into_iter()
        .filter(|row| sets.contains(&(row.fields[0], true)))
        .collect();
    for (column, name) in [(2, "a model"), (5, "a GPU"), (0, "a set")] {
        let line = left_out(&claimed, column, name);
        println!("{line}");
        let _ = writeln!(page, "{line}");
    }
    page += &table;
    expect_file!["../../docs/measured.md"].assert_eq(&page);
}
