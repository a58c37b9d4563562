//! Weights: bytes of every format, shards, pipeline stages.

use kvscope::core::import::{hf_config::import, lenient_json};
use kvscope::core::model::ModelConfig;
use kvscope::core::report::report;
use kvscope::core::scenario::Scenario;
use kvscope::core::units::{Bytes, GIB, formats};
use kvscope::core::weights::{
    Place, Ranks, StoredWeights, WEIGHT_FORMATS, WeightFormat, WeightKind, WeightPart, WeightTable,
    pipeline_layers, weight_format,
};
use proptest::prelude::{any, prop_assert};
use proptest::proptest;
use proptest::sample::select;

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

fn import_file(file: &str) -> ModelConfig {
    let path = format!("tests/data/configs/{file}");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{path}: {err}"));
    import(&text, None).unwrap_or_else(|err| panic!("{file}: {err}"))
}

/// Parameters that transformers has and the count has not, and why. All are under one in ten million.
const NOT_PARAMETERS: &[(&str, u64)] = &[
    // Correction biases of the routers: 51 × 64.
    ("baidu__ERNIE-4.5-300B-A47B-PT.json", 3_264),
    // 55 × 64.
    ("arcee-ai__Trinity-Nano-Base.json", 3_520),
];

/// Source: each row of params.tsv.
#[test]
fn parameters_of_published_configs() {
    let mut n_rows = 0;
    for line in include_str!("../data/params.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
    {
        let [file, built, published, reason] = line
            .split('\t')
            .collect::<Vec<_>>()
            .try_into()
            .unwrap_or_else(|_| panic!("not four columns: {line}"));
        let weights = import_file(file).weights;
        let counted = weights.num_params();
        if !built.is_empty() {
            let beside = NOT_PARAMETERS
                .iter()
                .find(|(other, _)| *other == file)
                .map_or(0, |(_, beside)| *beside);
            assert_eq!((counted + beside).to_string(), built, "{file}");
        }
        let published: u64 = published.parse().expect("a number");
        let is_near = counted.abs_diff(published) * 200 <= published;
        assert_eq!(
            is_near,
            reason.is_empty(),
            "{file}: counted {counted}, published {published}, reason {reason:?}"
        );
        n_rows += 1;
    }
    assert_eq!(
        n_rows,
        std::fs::read_dir("tests/data/configs")
            .expect("configs")
            .count(),
        "a config has no row in params.tsv"
    );
}

/// Source: transformers 5.24.0, each architecture built from its class defaults on the meta device, tied tensors once.
#[test]
fn parameters_of_other_architectures() {
    for line in include_str!("../data/params_of_classes.jsonl").lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let config = &row["config"];
        let name = config["model_type"].as_str();
        let model =
            import(&config.to_string(), None).unwrap_or_else(|err| panic!("{name:?}: {err}"));
        assert_eq!(
            Some(model.weights.num_params()),
            row["num_params"].as_u64(),
            "{name:?}"
        );
    }
}

/// Counts of files that transformers does not build as their makers do, or not at all.
#[test]
fn parameters_by_hand() {
    let rows: &[(&str, u64)] = &[
        // Source: safetensors header of openai/whisper-large-v3-turbo as its page shows it.
        ("openai__whisper-large-v3-turbo.json", 808_878_080),
        // 28 × (2 × (MLA 99,885,056 + MLP 226,492,416 + norms 12,288) + 512 experts + router), embedding and head.
        (
            "meituan-longcat__LongCat-Flash-Chat.json",
            28 * (2 * (LONGCAT_MLA + 3 * 6_144 * 12_288 + 2 * 6_144)
                + 512 * 3 * 6_144 * 2_048
                + 768 * 6_144)
                + 2 * 131_072 * 6_144
                + 6_144,
        ),
        // 64 layers: MLP and 8 experts beside each other, 4 norms.
        (
            "xai-org__grok-2.json",
            64 * (2 * 8_192 * 8_192
                + 2 * 8_192 * 1_024
                + 3 * 8_192 * 32_768
                + 8 * 3 * 8_192 * 16_384
                + 8 * 8_192
                + 4 * 8_192)
                + 2 * 131_072 * 8_192
                + 8_192,
        ),
        // 64 layers, each 16 routed experts and a shared one; 32 of them have keys and values, all the norms of Q.
        (
            "tencent__Hunyuan-Large.json",
            64 * (17 * 3 * 6_400 * 18_304 + 16 * 6_400 + 2 * 6_400 * 6_400 + 2 * 6_400 + 80)
                + 32 * (2 * 6_400 * 640 + 80)
                + 128_512 * 6_400
                + 6_400,
        ),
    ];
    for (file, num_params) in rows {
        assert_eq!(
            import_file(file).weights.num_params(),
            *num_params,
            "{file}"
        );
    }
}

/// Q 6144 → 1536 → 64 × 192, KV 6144 → 576, 512 → 64 × 256, O 64 × 128 → 6144, two norms.
const LONGCAT_MLA: u64 = 6_144 * 1_536
    + 1_536 * 64 * 192
    + 6_144 * 576
    + 512 * 64 * 256
    + 64 * 128 * 6_144
    + 1_536
    + 512;

#[test]
fn active_parameters() {
    let rows: &[(&str, u64)] = &[
        ("Qwen__Qwen3-30B-A3B.json", 3_353_032_704),
        ("Qwen__Qwen3-235B-A22B.json", 22_190_763_520),
        ("Qwen__Qwen1.5-MoE-A2.7B.json", 2_689_173_504),
        ("mistralai__Mixtral-8x7B-v0.1.json", 12_879_925_248),
        ("deepseek-ai__DeepSeek-R1.json", 37_552_282_624),
        ("deepseek-ai__DeepSeek-V2-Lite.json", 2_661_150_208),
        ("moonshotai__Moonlight-16B-A3B-Instruct.json", 2_914_774_528),
        ("zai-org__GLM-4.7-Flash.json", 3_896_763_136),
        ("microsoft__Phi-mini-MoE-instruct.json", 2_362_809_664),
        // A dense model uses all of its parameters.
        ("meta-llama__Llama-3.1-70B.json", 70_553_706_496),
    ];
    for (file, num_active_params) in rows {
        assert_eq!(
            import_file(file).weights.num_active_params(),
            *num_active_params,
            "{file}"
        );
    }
}

/// The tables that Gemma 4 looks up layer by layer are stored and not multiplied: 262,144 × 35 × 256.
#[test]
fn tables_of_a_row_for_each_token_are_not_active() {
    let weights = import_file("google__gemma-4-E2B.json").weights;
    assert_eq!(
        weights.num_params() - weights.num_active_params(),
        262_144 * 35 * 256
    );
}

#[test]
fn what_is_not_counted_is_said() {
    let rows: &[(&str, &str, &str)] = &[
        (
            "Qwen__Qwen2.5-VL-7B-Instruct.json",
            "tower_not_counted",
            "the weights of vision_config are not counted",
        ),
        (
            "deepseek-ai__DeepSeek-R1.json",
            "mtp_not_counted",
            "the weights of multi-token prediction, 1 layers, are not counted",
        ),
        (
            "nvidia__Llama-3_1-Nemotron-Ultra-253B-v1.json",
            "weights_not_counted",
            "the weights are not counted, because the file does not hold block_configs.ffn",
        ),
        (
            "arcee-ai__Trinity-Nano-Base.json",
            "weights_from_defaults",
            "the weights are counted for hidden_size 2048, the default of model_type \"afmoe\", because the file does not hold it",
        ),
        (
            "meituan-longcat__LongCat-Flash-Chat.json",
            "zero_experts",
            "active weights are counted as if no token went to an expert without weights",
        ),
    ];
    for (file, code, message) in rows {
        let notes = import_file(file).notes;
        let found: Vec<String> = notes
            .iter()
            .filter(|note| note.code == *code)
            .map(|note| note.message.to_string())
            .collect();
        assert_eq!(found, [*message], "{file}");
    }
    let text = r#"{"model_type": "newest", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64,
                   "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 4096}"#;
    let notes = import(text, None).expect("a model").notes;
    assert!(
        notes.iter().any(|note| note.code == "weights_assumed" && note.message.to_string() == "the weights are counted as those of Llama with these dimensions, because model_type \"newest\" is not known"),
        "{notes:?}"
    );
    let codes: Vec<&str> = import_file("Qwen__Qwen3-8B.json")
        .notes
        .iter()
        .map(|note| note.code)
        .collect();
    assert_eq!(codes, [""; 0], "nothing to say of a plain model");
}

/// Llama-3.1-70B: 131.42 GiB, and 32.85 GiB and the norms on each of four GPUs.
#[test]
fn the_default_model_on_four_gpus() {
    let weights = import_file("meta-llama__Llama-3.1-70B.json").weights;
    let bf16 = format("bf16");
    assert_eq!(weights.num_params(), 70_553_706_496);
    assert_eq!(weights.bytes(&bf16), Bytes(141_107_412_992));
    let norms = 2 * (80 * 2 + 1) * 8_192;
    assert_eq!(
        weights.bytes_per_gpu(&bf16, 4, 1),
        Bytes((141_107_412_992 - norms) / 4 + norms)
    );
    // Two stages of 40 layers: the first has the embedding, the last the head and the final norm.
    let layer = 2 * (2 * 8_192 * 8_192 + 2 * 8_192 * 1_024 + 3 * 8_192 * 28_672 + 2 * 8_192);
    assert_eq!(
        weights.bytes_per_gpu(&bf16, 1, 2),
        Bytes(40 * layer + 2 * (128_256 * 8_192 + 8_192))
    );
}

/// Latent down-projections lie on every rank.
#[test]
fn shards_of_latent_attention() {
    let weights = import_file("deepseek-ai__DeepSeek-R1.json").weights;
    let bf16 = format("bf16");
    let whole =
        61 * (7_168 * 1_536 + 7_168 * 576 + 1_536 + 512 + 2 * 7_168) + 58 * 256 * 7_168 + 7_168;
    assert_eq!(
        weights.bytes_per_gpu(&bf16, 8, 1),
        Bytes(2 * ((weights.num_params() - whole) / 8 + whole))
    );
}

/// With data-parallel attention every rank has all heads and the whole embedding; experts and head stay divided.
#[test]
fn data_parallel_attention_is_copied() {
    let weights = import_file("deepseek-ai__DeepSeek-R1.json").weights;
    let bf16 = format("bf16");
    let ranks = Ranks {
        all: 8,
        attention: 1,
    };
    // What eight ranks divide of one attention: the up-projections of 128 heads and the output.
    let attention = 1_536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7_168;
    let copied = 2 * (61 * attention + 129_280 * 7_168) / 8 * 7;
    assert_eq!(
        weights.bytes_per_gpu(&bf16, ranks, 1),
        weights.bytes_per_gpu(&bf16, 8, 1) + Bytes(copied)
    );
    let scenario = |engine: &[(&str, &str)]| {
        let mut res = Scenario::default();
        for (key, text) in [
            ("model", "deepseek-r1"),
            ("tensor_parallel_size", "8"),
            ("weight_format", "bf16"),
            ("data_parallel_size", "8"),
        ]
        .iter()
        .chain(engine)
        {
            res.set(key, text).expect("a value");
        }
        report(&res).hbm.weight_bytes
    };
    let sglang = ("engine", "sglang");
    assert_eq!(
        scenario(&[sglang, ("dp_attention", "true")]),
        scenario(&[sglang]) + Bytes(copied)
    );
}

/// What posted logs and makers print for real files, and what the count gives in the same format. Engines add tables of
/// positions and padding to the weights, and mixtures of GGML types differ by model.
#[test]
fn sizes_as_printed() {
    const GB: u64 = 1_000_000_000;
    // File, format, tensor parallelism, printed bytes, parts per thousand that may lie between.
    let rows: &[(&str, &str, u32, u64, u64)] = &[
        // Source: vLLM logs, "Model loading took": Llama-3.1-70B-Instruct-AWQ-INT4, Llama-3.3-70B in fp8, Llama-3.1-8B
        // in nvfp4, EXAONE-4.0-32B-FP8, Qwen3-8B, Qwen3-30B-A3B on four GPUs.
        (
            "meta-llama__Llama-3.1-70B.json",
            "int4",
            1,
            3_709 * GIB / 100,
            3,
        ),
        (
            "meta-llama__Llama-3.1-70B.json",
            "fp8",
            1,
            677 * GIB / 10,
            1,
        ),
        (
            "meta-llama__Llama-3.1-8B.json",
            "nvfp4",
            1,
            56_473 * GIB / 10_000,
            7,
        ),
        (
            "LGAI-EXAONE__EXAONE-4.0-32B.json",
            "fp8",
            1,
            309_891 * GIB / 10_000,
            7,
        ),
        ("Qwen__Qwen3-8B.json", "bf16", 1, 152_683 * GIB / 10_000, 1),
        (
            "Qwen__Qwen3-30B-A3B.json",
            "bf16",
            4,
            142_474 * GIB / 10_000,
            3,
        ),
        // Source: table 1 of the gpt-oss model card (arXiv 2508.10925), "checkpoint size".
        ("openai__gpt-oss-20b.json", "mxfp4", 1, 128 * GIB / 10, 3),
        ("openai__gpt-oss-120b.json", "mxfp4", 1, 608 * GIB / 10, 1),
        // Source: llama.cpp `tools/quantize/README.md`, and its log of GLM-4-9B (4.64 BPW) and of Qwen3-30B-A3B (issue 13217).
        (
            "meta-llama__Llama-3.1-8B.json",
            "q4_k_m",
            1,
            458 * GIB / 100,
            2,
        ),
        (
            "meta-llama__Llama-3.1-8B.json",
            "q8_0",
            1,
            795 * GIB / 100,
            2,
        ),
        (
            "meta-llama__Llama-3.1-8B.json",
            "q6_k",
            1,
            614 * GIB / 100,
            2,
        ),
        (
            "meta-llama__Llama-3.1-70B.json",
            "q4_k_m",
            1,
            431 * GB / 10,
            3,
        ),
        (
            "meta-llama__Llama-3.1-405B.json",
            "q4_k_m",
            1,
            2_491 * GB / 10,
            5,
        ),
        ("THUDM__glm-4-9b-chat.json", "q4_0", 1, 508 * GIB / 100, 2),
        (
            "Qwen__Qwen3-30B-A3B.json",
            "q4_k_m",
            1,
            1_735 * GIB / 100,
            6,
        ),
    ];
    for (file, id, tp, printed, per_thousand) in rows {
        let model = import_file(file);
        let format = StoredWeights::resolve(model.stored.as_ref(), id).expect("a format");
        let counted = model.weights.bytes_per_gpu(&format, *tp, 1).0;
        assert!(
            counted.abs_diff(*printed) * 1_000 <= printed * per_thousand,
            "{file} in {id}: counted {counted}, printed {printed}"
        );
    }
}

/// The published files of DeepSeek-R1 and V3 hold 688,586,727,753 bytes: the weights as they are stored, and the layer of
/// multi-token prediction, which is an expert layer and, in bf16, a projection of twice the width, its router, and copies
/// of embedding and head. What is left, 2 in 100,000, is the headers of 163 files.
#[test]
fn deepseek_as_stored() {
    let model = import_file("deepseek-ai__DeepSeek-R1.json");
    let stored = model.stored.expect("a quantized model").format;
    let layer = 7_168 * 1_536
        + 1_536 * 128 * 192
        + 7_168 * 576
        + 512 * 128 * 256
        + 128 * 128 * 7_168
        + 257 * 3 * 7_168 * 2_048;
    let unquantized = 2 * 7_168 * 7_168 + 256 * 7_168 + 2 * 129_280 * 7_168;
    let predict = stored.mlp.bytes(layer).0 + 2 * unquantized;
    let counted = model.weights.bytes(&stored).0 + predict;
    assert!(
        counted.abs_diff(688_586_727_753) < 688_586_727_753 / 10_000,
        "{counted}"
    );
}

/// OpenAI counts the head and not the embedding among the active parameters: 5.13 B and 3.61 B.
#[test]
fn active_parameters_of_gpt_oss() {
    for (file, expected) in [
        ("openai__gpt-oss-120b.json", 5_130),
        ("openai__gpt-oss-20b.json", 3_610),
    ] {
        let weights = import_file(file).weights;
        let active = weights.num_active_params() - 201_088 * 2_880;
        assert_eq!((active + 5_000_000) / 10_000_000 * 10, expected, "{file}");
    }
}

/// A small model with this in its file.
fn stored(fields: &str) -> (Option<WeightFormat>, Vec<String>) {
    let text = format!(
        r#"{{"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512,
             "intermediate_size": 1024, "vocab_size": 1000, "max_position_embeddings": 4096, {fields}}}"#
    );
    let model = import(&text, None).unwrap_or_else(|err| panic!("{fields}: {err}"));
    let notes = model
        .notes
        .iter()
        .filter(|note| note.code == "weight_format_unknown")
        .map(|note| note.message.to_string())
        .collect();
    (model.stored.map(|stored| stored.format), notes)
}

/// Bytes of 2^14 elements of an MLP, by the file's own words.
#[test]
fn formats_of_files() {
    const N: u64 = 16_384;
    let rows: &[(&str, &str, u64)] = &[
        (
            r#"{"quant_method": "fp8", "weight_block_size": [128, 128]}"#,
            "fp8_block",
            N + 4,
        ),
        (
            r#"{"quant_method": "fp8", "weight_block_size": [64, 64]}"#,
            "fp8_block",
            N + 16,
        ),
        (
            r#"{"quant_method": "fp8", "weight_block_size": null, "dequantize": false}"#,
            "fp8",
            N,
        ),
        (r#"{"quant_method": "fbgemm_fp8"}"#, "fp8", N),
        (
            r#"{"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true, "version": "gemm", "modules_to_not_convert": null}"#,
            "int4",
            N / 2 + 128 * 2 + 64,
        ),
        (
            r#"{"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "zero_point": false}"#,
            "int4",
            N / 2 + 256 * 2,
        ),
        (
            r#"{"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true, "desc_act": false}"#,
            "int4",
            N / 2 + 512 * 2 + 256,
        ),
        (
            r#"{"quant_method": "gptq", "bits": 8, "group_size": -1}"#,
            "int8",
            N,
        ),
        (
            r#"{"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": true}"#,
            "int4",
            N / 2 + 128 * 2 + 64,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": true}}}, "ignore": ["lm_head"]}"#,
            "int4",
            N / 2 + 128 * 2,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel", "group_size": null}}}}"#,
            "fp8",
            N,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}}}}"#,
            "fp8_block",
            N + 4,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int", "strategy": "channel"}}}}"#,
            "int8",
            N,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}}}"#,
            "nvfp4",
            N / 16 * 9,
        ),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 32}}}}"#,
            "mxfp4",
            N / 32 * 17,
        ),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true}"#,
            "bnb_nf4_double",
            N / 2 + 256 + 4,
        ),
        (
            r#"{"quant_method": "bitsandbytes", "_load_in_4bit": true, "bnb_4bit_use_double_quant": false}"#,
            "bnb_nf4",
            N / 2 + 256 * 4,
        ),
        (
            r#"{"quant_method": "bitsandbytes", "load_in_8bit": true}"#,
            "int8",
            N,
        ),
        (
            r#"{"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}"#,
            "nvfp4",
            N / 16 * 9,
        ),
        (
            r#"{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}"#,
            "fp8",
            N,
        ),
        (
            r#"{"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}}, "exclude": ["lm_head"]}"#,
            "mxfp4",
            N / 32 * 17,
        ),
        (
            r#"{"quant_method": "quark", "global_quant_config": {"weight": [{"dtype": "fp8_e4m3"}, {"dtype": "int4", "qscheme": "per_channel"}]}}"#,
            "int4",
            N / 2,
        ),
        (
            r#"{"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}}}"#,
            "fp8",
            N,
        ),
        (
            r#"{"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}"#,
            "int4",
            N / 2 + 256 * 2 + 128,
        ),
        (
            r#"{"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnlyConfig"}}}"#,
            "int8",
            N,
        ),
    ];
    for (config, id, bytes) in rows {
        let (format, notes) = stored(&format!(r#""quantization_config": {config}"#));
        let format = format.unwrap_or_else(|| panic!("{config}: {notes:?}"));
        assert_eq!(
            (format.id, format.mlp.bytes(N)),
            (*id, Bytes(*bytes)),
            "{config}"
        );
        assert_eq!(format.head, formats::BF16, "{config}");
    }
    // MLX quantizes embedding and head too, and keeps a bias of 2 bytes beside each scale.
    let (format, _) = stored(r#""quantization": {"group_size": 64, "bits": 4}"#);
    let format = format.expect("a format");
    assert_eq!(
        (format.id, format.head.bytes(N)),
        ("int4", Bytes(N / 2 + 256 * 4))
    );
    assert_eq!(format.embedding, format.mlp);
}

#[test]
fn what_a_file_leaves_unquantized() {
    // Attention, MLP, routed experts: whether each is left in bf16.
    let rows: &[(&str, [bool; 3])] = &[
        (r#""ignore": ["lm_head"]"#, [false, false, false]),
        (
            r#""ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]"#,
            [true, true, false],
        ),
        (
            r#""modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]"#,
            [true, false, false],
        ),
        // Layer after layer, of two layers.
        (
            r#""exclude_modules": ["model.layers.0.self_attn*", "model.layers.1.self_attn*"]"#,
            [true, false, false],
        ),
        // One of the two is not the whole.
        (
            r#""exclude_modules": ["model.layers.0.self_attn*"]"#,
            [false, false, false],
        ),
        // Single projections are not followed.
        (
            r#""ignore": ["re:.*self_attn.kv_b_proj"]"#,
            [false, false, false],
        ),
        (r#""ignore": ["re:.*mlp.experts.*"]"#, [false, false, true]),
    ];
    for (list, left) in rows {
        let (format, _) = stored(&format!(
            r#""quantization_config": {{"quant_method": "modelopt", "quant_algo": "NVFP4", {list}}}"#
        ));
        let format = format.unwrap_or_else(|| panic!("{list}"));
        let found = [format.attention, format.mlp, format.routed_experts]
            .map(|element| element == formats::BF16);
        assert_eq!(found, *left, "{list}");
    }
}

#[test]
fn formats_of_published_configs() {
    // File, id, attention, MLP, routed experts.
    let rows: &[(&str, &str, [&str; 3])] = &[
        (
            "openai__gpt-oss-20b.json",
            "mxfp4",
            ["bf16", "bf16", "mxfp4"],
        ),
        (
            "deepseek-ai__DeepSeek-V4-Pro.json",
            "mxfp4",
            ["fp8_block", "fp8_block", "mxfp4"],
        ),
        (
            "deepseek-ai__DeepSeek-V3.2.json",
            "fp8_block",
            ["fp8_block", "fp8_block", "fp8_block"],
        ),
        (
            "moonshotai__Kimi-K2-Thinking.json",
            "int4",
            ["bf16", "bf16", "int"],
        ),
        (
            "moonshotai__Kimi-K2.5.json",
            "int4",
            ["bf16", "bf16", "int"],
        ),
        (
            "moonshotai__Kimi-K3.json",
            "mxfp4",
            ["bf16", "bf16", "mxfp4"],
        ),
        (
            "mistralai__Devstral-2-123B-Instruct-2512.json",
            "fp8",
            ["fp8", "fp8", "fp8"],
        ),
        (
            "mistralai__Devstral-Small-2-24B-Instruct-2512.json",
            "fp8",
            ["fp8", "fp8", "fp8"],
        ),
    ];
    for (file, id, elements) in rows {
        let format = import_file(file)
            .stored
            .unwrap_or_else(|| panic!("{file}"))
            .format;
        assert_eq!(format.id, *id, "{file}");
        let found = [format.attention, format.mlp, format.routed_experts].map(|element| element.id);
        assert_eq!(found, *elements, "{file}");
    }
    assert_eq!(import_file("Qwen__Qwen3-32B.json").stored, None);
}

#[test]
fn an_unknown_quantization_is_said() {
    for (config, method) in [
        (r#"{"quant_method": "aqlm"}"#, "aqlm"),
        (
            r#"{"quant_method": "gptq", "bits": 3, "group_size": 128}"#,
            "gptq",
        ),
        (
            r#"{"quant_method": "compressed-tensors", "config_groups": 7}"#,
            "compressed-tensors",
        ),
        (
            r#"{"quant_method": "fp8", "weight_block_size": [0, "wide"]}"#,
            "fp8",
        ),
        (r#"{}"#, ""),
    ] {
        let (format, notes) = stored(&format!(r#""quantization_config": {config}"#));
        assert_eq!(format, None, "{config}");
        assert_eq!(
            notes,
            [format!(
                "the file's quantization, quant_method \"{method}\", is not known"
            )],
            "{config}"
        );
    }
    assert_eq!(stored(r#""quantization_config": null"#), (None, Vec::new()));
}

/// Values that no dimension has, and some that one has.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "4294967295",
    "9007199254740991",
    "1e300",
    "null",
    "true",
    "\"auto\"",
    "[]",
    "{}",
    "[0,4294967295]",
    "[[1]]",
    "\"1,2\"",
];

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// Any field of a real file with any value: an error or a count, never a panic or an overflow.
    #[test]
    fn no_field_panics(file in 0_usize..142, field in any::<usize>(), value in select(VALUES)) {
        let mut files: Vec<_> = std::fs::read_dir("tests/data/configs").expect("configs").flatten().collect();
        files.sort_by_key(std::fs::DirEntry::path);
        let text = std::fs::read_to_string(files[file % files.len()].path()).expect("a file");
        let mut config = lenient_json::parse(&text).expect("a config");
        let value: serde_json::Value = serde_json::from_str(value).expect("a value");
        let fields = match config.get_mut("text_config") {
            Some(fields) => fields,
            None => &mut config,
        };
        let keys: Vec<String> = fields.as_object().expect("an object").keys().cloned().collect();
        fields[&keys[field % keys.len()]] = value;
        if let Ok(model) = import(&config.to_string(), None) {
            let format = model.stored.map_or(format("q4_0"), |stored| stored.format);
            let whole = model.weights.bytes(&format);
            prop_assert!(model.weights.bytes_per_gpu(&format, 3, 5) <= whole);
            prop_assert!(model.weights.num_active_params() <= model.weights.num_params());
        }
    }
}
