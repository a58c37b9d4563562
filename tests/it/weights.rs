//! Weights: bytes of every format, shards, pipeline stages.

use kvscope::core::units::{Bytes, GIB, formats};
use kvscope::core::weights::{
    Place, StoredWeights, WEIGHT_FORMATS, WeightFormat, WeightKind, WeightPart, WeightTable,
    pipeline_layers, weight_format,
};

#[track_caller]
fn format(id: &str) -> WeightFormat {
    weight_format(id).unwrap_or_else(|| panic!("no weight format {id}"))
}

/// Bytes of 2^14 elements of a linear layer, by hand.
#[test]
fn bytes_of_linear_layers() {
    const N: u64 = 16_384;
    let rows: &[(&str, u64)] = &[
        ("float32", N * 4),
        ("float16", N * 2),
        ("bf16", N * 2),
        ("fp8", N),
        ("fp8_block", N + 4),            // one fp32 for 128 × 128
        ("int8", N),                     //
        ("int4", N / 2 + 128 * 2 + 64),  // 128 groups: fp16 scale, 4-bit zero
        ("mxfp4", N / 2 + N / 32),       // 8-bit exponent for 32
        ("nvfp4", N / 2 + N / 16),       // fp8 scale for 16
        ("bnb_nf4", N / 2 + N / 64 * 4), // fp32 for 64
        ("bnb_nf4_double", N / 2 + N / 64 + 4),
        ("q8_0", N / 32 * 34),
        ("q6_k", N / 256 * 210),
        ("q5_1", N / 32 * 24),
        ("q5_0", N / 32 * 22),
        ("q4_1", N / 32 * 20),
        ("q4_0", N / 32 * 18),
        ("q5_k_m", 11_681), // 5.7036 × 16,384 / 8 = 11,680.97
        ("q4_k_m", 10_024), // 4.8944 × 16,384 / 8 = 10,023.7
        ("q2_k", 6_471),    // 3.1593 × 16,384 / 8 = 6,470.2
    ];
    for (id, bytes) in rows {
        assert_eq!(format(id).mlp.bytes(N), Bytes(*bytes), "{id}");
    }
}

#[test]
fn format_ids_are_unique_and_found() {
    for (idx, a) in WEIGHT_FORMATS.iter().enumerate() {
        assert_eq!(weight_format(a.id), Some(*a), "{} is not found", a.id);
        assert_eq!(
            weight_format(&a.id.to_uppercase()),
            Some(*a),
            "{} in capitals is not found",
            a.id
        );
        for b in &WEIGHT_FORMATS[idx + 1..] {
            assert_ne!(a.id, b.id, "two formats have one id");
            assert_ne!(a.label, b.label, "two formats have one label");
        }
    }
    for (name, id) in [
        ("bfloat16", "bf16"),
        ("fp16", "float16"),
        ("awq", "int4"),
        ("Q4_K_M", "q4_k_m"),
    ] {
        assert_eq!(format(name).id, id, "{name}");
    }
    assert_eq!(weight_format("fp5"), None);
}

fn part(kind: WeightKind, num_params: u64, shard_units: u64, place: Place) -> WeightPart {
    WeightPart {
        kind,
        num_params,
        shard_units,
        place,
    }
}

/// Two layers of one kind and one of another, 2 KV heads, an untied head.
fn small() -> WeightTable {
    WeightTable {
        parts: vec![
            part(WeightKind::Embedding, 1_000, 100, Place::FirstStage),
            part(WeightKind::Head, 1_000, 100, Place::LastStage),
            part(WeightKind::Norm, 10, 1, Place::LastStage),
            part(WeightKind::Attention, 400, 4, Place::Layer(0)),
            part(WeightKind::Attention, 200, 2, Place::Layer(0)),
            part(WeightKind::Norm, 20, 1, Place::Layer(0)),
            part(WeightKind::RoutedExperts, 8_000, 50, Place::Layer(1)),
            part(WeightKind::RoutedExpertBiases, 80, 1, Place::Layer(1)),
            part(WeightKind::Router, 80, 1, Place::Layer(1)),
        ],
        layers: vec![0, 0, 1],
        num_experts: 8,
        num_experts_per_tok: 2,
        published: None,
    }
}

#[test]
fn counts() {
    let table = small();
    assert_eq!(table.num_params(), 2_010 + 2 * 620 + 8_160);
    assert_eq!(table.num_active_params(), 2_010 + 2 * 620 + 2_000 + 20 + 80);
    assert_eq!(table.num_params_of(WeightKind::Attention), 1_200);
    assert_eq!(table.bytes(&format("bf16")), Bytes(2 * 11_410));
    // q8_0: the matrices of a layer round up by themselves; routers, norms and biases stay f32.
    assert_eq!(
        table.bytes(&format("q8_0")),
        Bytes(1_063 + 1_063 + 40 + 2 * (425 + 213 + 80) + 8_500 + 320 + 320)
    );
}

#[test]
fn shards() {
    let table = small();
    let bf16 = format("bf16");
    let rows: &[(u32, u32, u64)] = &[
        (1, 1, 11_410),
        // Half of everything but norms, the router and the biases.
        (
            2,
            1,
            500 + 500 + 10 + 2 * (200 + 100 + 20) + 4_000 + 80 + 80,
        ),
        // 4 ranks of 2 KV heads: each still holds one whole head.
        (
            4,
            1,
            250 + 250 + 10 + 2 * (100 + 100 + 20) + 8_000 * 13 / 50 + 80 + 80,
        ),
        // Three columns of a hundred: 34 on the fullest rank.
        (
            3,
            1,
            340 + 340 + 10 + 2 * (200 + 100 + 20) + 8_000 * 17 / 50 + 80 + 80,
        ),
        // Two stages of 2 and 1 layers; the second has the experts and the head.
        (1, 2, 1_000 + 10 + 8_160),
        (1, 3, 1_000 + 10 + 8_160),
        (2, 2, 500 + 10 + 4_000 + 80 + 80),
    ];
    for (tp, pp, params) in rows {
        assert_eq!(
            table.bytes_per_gpu(&bf16, *tp, *pp),
            Bytes(2 * params),
            "tp {tp}, pp {pp}"
        );
    }
}

#[test]
fn shards_hold_at_least_the_whole() {
    let table = small();
    for format in WEIGHT_FORMATS {
        for tp in 1..=8 {
            for pp in 1..=4 {
                let held = table
                    .bytes_per_gpu(format, tp, pp)
                    .times(u64::from(tp * pp));
                assert!(
                    table.bytes(format) <= held,
                    "{}: {tp} × {pp} GPUs hold {held:?}, less than the whole",
                    format.id
                );
            }
        }
    }
}

/// A tied embedding is one table, and both ends of a pipeline hold it. A GGUF file stores it as the head.
#[test]
fn tied_embeddings() {
    let table = WeightTable {
        parts: vec![
            part(WeightKind::Embedding, 256, 1, Place::FirstAndLastStage),
            part(WeightKind::Mlp, 256, 1, Place::Layer(0)),
        ],
        layers: vec![0, 0],
        ..WeightTable::default()
    };
    assert_eq!(table.num_params(), 768);
    assert_eq!(table.bytes_per_gpu(&format("bf16"), 1, 2), Bytes(2 * 512));
    assert_eq!(table.bytes(&format("q4_0")), Bytes(210 + 2 * 144));
}

/// Source: vLLM `get_pp_indices`, its tests and its comments.
#[test]
fn pipeline_stages() {
    let rows: &[(usize, u32, &[usize])] = &[
        (80, 1, &[80]),
        (80, 4, &[20, 20, 20, 20]),
        (5, 3, &[2, 2, 1]),
        (61, 4, &[15, 15, 16, 15]),
        (62, 4, &[15, 16, 16, 15]),
        (63, 4, &[16, 16, 16, 15]),
        (2, 4, &[0, 1, 1, 0]),
        (0, 2, &[0, 0]),
    ];
    for (layers, stages, expected) in rows {
        let found: Vec<(usize, usize)> = (0..*stages)
            .map(|stage| pipeline_layers(*layers, stage, *stages))
            .collect();
        let counts: Vec<usize> = found.iter().map(|(from, to)| to - from).collect();
        assert_eq!(&counts, expected, "{layers} layers in {stages} stages");
        assert!(
            found.windows(2).all(|pair| pair[0].1 == pair[1].0),
            "{layers} layers in {stages} stages: stages do not join"
        );
    }
}

#[test]
fn a_published_count_serves_when_nothing_is_counted() {
    let table = WeightTable {
        published: Some(kvscope::core::weights::PublishedParams {
            num_params: 1_000,
            num_active_params: Some(100),
            source: "a model card".to_owned(),
        }),
        ..WeightTable::default()
    };
    assert!(!table.is_counted());
    assert_eq!(
        (table.num_params(), table.num_active_params()),
        (1_000, 100)
    );
    assert_eq!(table.bytes(&format("bf16")), Bytes(2_000));
    assert_eq!(table.bytes_per_gpu(&format("bf16"), 4, 2), Bytes(250));
}

#[test]
fn a_files_own_format_wins_over_the_listed_one() {
    let own = WeightFormat {
        attention: formats::BF16,
        mlp: formats::BF16,
        ..format("mxfp4")
    };
    let stored = StoredWeights {
        format: own,
        bytes: None,
    };
    assert_eq!(StoredWeights::resolve(Some(&stored), "mxfp4"), Some(own));
    assert_eq!(
        StoredWeights::resolve(Some(&stored), "fp8"),
        Some(format("fp8"))
    );
    assert_eq!(StoredWeights::resolve(None, "mxfp4"), Some(format("mxfp4")));
    assert_eq!(StoredWeights::resolve(Some(&stored), "fp5"), None);
}

/// Nothing overflows or panics on the largest numbers.
#[test]
fn absurd_sizes_saturate() {
    let table = WeightTable {
        parts: vec![part(WeightKind::Mlp, u64::MAX, u64::MAX, Place::Layer(0))],
        layers: vec![0; 1_000],
        num_experts: u32::MAX,
        num_experts_per_tok: u32::MAX,
        published: None,
    };
    assert_eq!(table.num_params(), u64::MAX);
    for format in WEIGHT_FORMATS {
        assert!(
            Bytes(GIB) < table.bytes_per_gpu(format, u32::MAX, 64),
            "{}",
            format.id
        );
    }
}
