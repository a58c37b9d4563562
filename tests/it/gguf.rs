//! GGUF headers: the same caches as from the model's config.json, exact bytes, and messages for what is broken.

#[path = "gguf/writer.rs"]
pub(crate) mod writer;

use crate::languages::check_in_chinese;
use kvscope::core::import::ImportError;
use kvscope::core::import::gguf::{GgufHeader, GgufModel, GgufReader, import};
use kvscope::core::import::hf_config;
use kvscope::core::layer::LayerKind;
use kvscope::core::scenario::Scenario;
use kvscope::core::units::{Bytes, KvFormat, Tokens, formats::F16};
use kvscope::core::weights::WeightKind;
use writer::{File, V};

/// Reads a header of which `slice` bytes come at once; nothing beyond the header may be asked for that was not jumped to.
pub(crate) fn read(bytes: &[u8], file_size: u64, slice: usize) -> Result<GgufHeader, ImportError> {
    let mut reader = GgufReader::new(file_size);
    while let Some(need) = reader.need() {
        assert!(need.length <= 1 << 20, "{need:?}");
        assert!(need.offset + need.length <= file_size, "{need:?}");
        let from = usize::try_from(need.offset).unwrap_or(usize::MAX);
        let length = usize::try_from(need.length).unwrap_or(0).min(slice);
        let to = from.saturating_add(length).min(bytes.len());
        reader.feed(bytes.get(from..to).unwrap_or_default())?;
    }
    reader.finish()
}

#[track_caller]
fn model(file: &File) -> GgufModel {
    let (bytes, size) = file.header();
    let header = read(&bytes, size, usize::MAX).unwrap_or_else(|err| panic!("{err}"));
    let model = import(&header, "file.gguf").unwrap_or_else(|err| panic!("{err}"));
    // What a link keeps of the header makes the same model.
    let text = header.to_json().to_string();
    let kept = serde_json::from_str(&text).map(|json| GgufHeader::from_json(&json));
    let kept = kept.expect("it is JSON").expect("it is a header");
    assert_eq!(import(&kept, "file.gguf").as_ref(), Ok(&model), "{text}");
    model
}

fn config(file: &str) -> String {
    let path = format!(
        "{}/tests/data/configs/{file}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{path}: {err}"))
}

/// Models by the keys that llama.cpp's converter writes for them, beside their config.json.
pub(crate) const SAME: &[(&str, &str, &str)] = &[
    (
        "meta-llama__Llama-3.1-8B",
        "llama",
        "block_count=32 context_length=131072 embedding_length=4096 attention.head_count=32 attention.head_count_kv=8 \
         rope.dimension_count=128",
    ),
    (
        "Qwen__Qwen3-32B",
        "qwen3",
        "block_count=64 context_length=40960 embedding_length=5120 attention.head_count=64 attention.head_count_kv=8 \
         attention.key_length=128 attention.value_length=128",
    ),
    (
        "google__gemma-2-9b",
        "gemma2",
        "block_count=42 context_length=8192 embedding_length=3584 attention.head_count=16 attention.head_count_kv=8 \
         attention.key_length=256 attention.value_length=256 attention.sliding_window=4096",
    ),
    (
        "google__gemma-3-27b-it",
        "gemma3",
        "block_count=62 context_length=131072 embedding_length=5376 attention.head_count=32 attention.head_count_kv=16 \
         attention.key_length=128 attention.value_length=128 attention.sliding_window=1024",
    ),
    (
        "google__gemma-3n-E2B-it",
        "gemma3n",
        "block_count=30 context_length=32768 embedding_length=2048 attention.head_count=8 attention.head_count_kv=2 \
         attention.key_length=256 attention.value_length=256 attention.sliding_window=512 attention.shared_kv_layers=10 \
         attention.sliding_window_pattern=[1,1,1,1,0]",
    ),
    (
        "google__gemma-4-E2B",
        "gemma4",
        "block_count=35 context_length=131072 embedding_length=1536 attention.head_count=8 attention.head_count_kv=1 \
         attention.key_length=512 attention.value_length=512 attention.key_length_swa=256 attention.value_length_swa=256 \
         attention.sliding_window=512 attention.shared_kv_layers=20 attention.sliding_window_pattern=[1,1,1,1,0]",
    ),
    (
        "google__gemma-4-26B-A4B",
        "gemma4",
        "block_count=30 context_length=262144 embedding_length=2816 attention.head_count=16 \
         attention.head_count_kv=[8,8,8,8,8,2] attention.key_length=512 attention.value_length=512 \
         attention.key_length_swa=256 attention.value_length_swa=256 attention.sliding_window=1024 \
         attention.sliding_window_pattern=[1,1,1,1,1,0] attention.shared_kv_layers=0",
    ),
    (
        "openai__gpt-oss-20b",
        "gpt-oss",
        "block_count=24 context_length=131072 embedding_length=2880 attention.head_count=64 attention.head_count_kv=8 \
         attention.key_length=64 attention.value_length=64 attention.sliding_window=128",
    ),
    (
        "meta-llama__Llama-4-Maverick-17B-128E-Instruct",
        "llama4",
        "block_count=48 context_length=1048576 embedding_length=5120 attention.head_count=40 attention.head_count_kv=8 \
         attention.key_length=128 attention.value_length=128",
    ),
    (
        "CohereForAI__c4ai-command-r7b-12-2024",
        "cohere2",
        "block_count=32 context_length=8192 embedding_length=4096 attention.head_count=32 attention.head_count_kv=8 \
         attention.key_length=128 attention.value_length=128 attention.sliding_window=4096",
    ),
    (
        "allenai__Olmo-3-7B",
        "olmo2",
        "block_count=32 context_length=8192 embedding_length=4096 attention.head_count=32 attention.head_count_kv=32 \
         attention.sliding_window=4096",
    ),
    (
        "microsoft__Phi-3-mini-4k-instruct",
        "phi3",
        "block_count=32 context_length=4096 embedding_length=3072 attention.head_count=32 attention.head_count_kv=32 \
         attention.sliding_window=2047",
    ),
    (
        "LGAI-EXAONE__EXAONE-4.0-32B",
        "exaone4",
        "block_count=64 context_length=131072 embedding_length=5120 attention.head_count=40 attention.head_count_kv=8 \
         attention.key_length=128 attention.value_length=128 attention.sliding_window=4096",
    ),
    (
        "deepseek-ai__DeepSeek-R1",
        "deepseek2",
        "block_count=61 context_length=163840 embedding_length=7168 attention.head_count=128 attention.head_count_kv=1 \
         attention.key_length=576 attention.value_length=512 attention.key_length_mla=192 attention.value_length_mla=128 \
         attention.kv_lora_rank=512 rope.dimension_count=64",
    ),
    // The same without the keys of latent attention, as files of before April 2025 are.
    (
        "deepseek-ai__DeepSeek-R1",
        "deepseek2",
        "block_count=61 context_length=163840 embedding_length=7168 attention.head_count=128 attention.head_count_kv=128 \
         attention.key_length=192 attention.value_length=128 attention.kv_lora_rank=512 rope.dimension_count=64",
    ),
    (
        "deepseek-ai__DeepSeek-V3.2",
        "deepseek32",
        "block_count=62 context_length=163840 embedding_length=7168 attention.head_count=128 attention.head_count_kv=1 \
         attention.key_length=576 attention.value_length=512 attention.key_length_mla=192 attention.value_length_mla=128 \
         attention.kv_lora_rank=512 rope.dimension_count=64 attention.indexer.key_length=128 nextn_predict_layers=1",
    ),
    (
        "zai-org__GLM-5.2",
        "glm-dsa",
        "block_count=79 context_length=1048576 embedding_length=6144 attention.head_count=64 attention.head_count_kv=1 \
         attention.key_length=576 attention.value_length=512 attention.key_length_mla=256 attention.value_length_mla=256 \
         attention.kv_lora_rank=512 rope.dimension_count=64 attention.indexer.key_length=128 nextn_predict_layers=1",
    ),
    (
        "zai-org__GLM-4.5",
        "glm4moe",
        "block_count=93 context_length=131072 embedding_length=5120 attention.head_count=96 attention.head_count_kv=8 \
         attention.key_length=128 attention.value_length=128 nextn_predict_layers=1",
    ),
    (
        "Qwen__Qwen3-Next-80B-A3B-Instruct",
        "qwen3next",
        "block_count=48 context_length=262144 embedding_length=2048 attention.head_count=16 attention.head_count_kv=2 \
         attention.key_length=256 attention.value_length=256 ssm.conv_kernel=4 ssm.state_size=128 ssm.group_count=16 \
         ssm.time_step_rank=32 ssm.inner_size=4096 full_attention_interval=4",
    ),
    (
        "Qwen__Qwen3.5-27B",
        "qwen35",
        "block_count=64 context_length=262144 embedding_length=5120 attention.head_count=24 attention.head_count_kv=4 \
         attention.key_length=256 attention.value_length=256 ssm.conv_kernel=4 ssm.state_size=128 ssm.group_count=16 \
         ssm.time_step_rank=48 ssm.inner_size=6144",
    ),
    (
        "state-spaces__mamba-2.8b-hf",
        "mamba",
        "block_count=64 context_length=1048576 embedding_length=2560 attention.head_count=0 ssm.conv_kernel=4 \
         ssm.inner_size=5120 ssm.state_size=16 ssm.time_step_rank=160",
    ),
    (
        "ai21labs__AI21-Jamba-Reasoning-3B",
        "jamba",
        "block_count=28 context_length=262144 embedding_length=2560 attention.head_count=20 \
         attention.head_count_kv=[0,0,0,0,0,0,0,1,0,0,0,0,0,0] ssm.conv_kernel=4 ssm.inner_size=5120 ssm.state_size=16 \
         ssm.time_step_rank=160",
    ),
    (
        "tiiuae__Falcon-H1-34B-Instruct",
        "falcon-h1",
        "block_count=72 context_length=262144 embedding_length=5120 attention.head_count=20 attention.head_count_kv=4 \
         attention.key_length=128 attention.value_length=128 ssm.conv_kernel=4 ssm.inner_size=4096 ssm.state_size=256 \
         ssm.time_step_rank=32 ssm.group_count=2",
    ),
    (
        "ibm-granite__granite-4.0-h-tiny",
        "granitehybrid",
        "block_count=40 context_length=131072 embedding_length=1536 attention.head_count=12 \
         attention.head_count_kv=[0,0,0,0,0,4,0,0,0,0] ssm.conv_kernel=4 ssm.inner_size=3072 ssm.state_size=128 \
         ssm.time_step_rank=48 ssm.group_count=1",
    ),
    (
        "LiquidAI__LFM2-1.2B",
        "lfm2",
        "block_count=16 context_length=128000 embedding_length=2048 attention.head_count=32 \
         attention.head_count_kv=[0,0,8,0,0,8,0,0,8,0,8,0,8,0,8,0] shortconv.l_cache=3",
    ),
    (
        "google-t5__t5-11b",
        "t5",
        "block_count=24 decoder_block_count=24 context_length=512 embedding_length=1024 attention.head_count=128 \
         attention.key_length=128 attention.value_length=128",
    ),
];

#[test]
fn the_same_caches_as_from_the_config() {
    for (file, arch, keys) in SAME {
        let own = model(&File::new(arch).keys(arch, keys)).model;
        let expected = hf_config::import(&config(file), None).expect("it imports");
        assert_eq!(own.layers.len(), expected.layers.len(), "{file}");
        for (idx, (own_kinds, kinds)) in own.layers.iter().zip(&expected.layers).enumerate() {
            let of = |model: &kvscope::core::model::ModelConfig, kinds: &[usize]| {
                kinds
                    .iter()
                    .map(|idx| model.groups[*idx].kind)
                    .collect::<Vec<_>>()
            };
            let (own_kinds, kinds) = (of(&own, own_kinds), of(&expected, kinds));
            assert_eq!(own_kinds, kinds, "{file}, layer {idx}");
        }
        assert_eq!(own.unfolded_heads, expected.unfolded_heads, "{file}");
        assert_eq!(own.idle_window, expected.idle_window, "{file}");
    }
}

/// Lists by layer that no short list repeats.
#[test]
fn layers_by_lists() {
    let expected =
        hf_config::import(&config("nvidia__Nemotron-H-8B-Base-8K"), None).expect("it imports");
    let pattern = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-";
    let list = |of: fn(char) -> i32| V::List(5, pattern.chars().map(|c| V::I32(of(c))).collect());
    let file = File::new("nemotron_h")
        .keys(
            "nemotron_h",
            "block_count=52 context_length=8192 embedding_length=4096 attention.head_count=32 attention.key_length=128 \
             attention.value_length=128 ssm.conv_kernel=4 ssm.inner_size=8192 ssm.state_size=128 ssm.time_step_rank=128 \
             ssm.group_count=8",
        )
        .key("nemotron_h.attention.head_count_kv", list(|c| if c == '*' { 8 } else { 0 }))
        .key("nemotron_h.feed_forward_length", list(|c| if c == '-' { 21_504 } else { 0 }));
    let own = model(&file).model;
    assert_eq!((own.layers, own.groups), (expected.layers, expected.groups));

    let text = config("deepseek-ai__DeepSeek-V4-Pro");
    let expected = hf_config::import(&text, None).expect("it imports");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let ratios = json["compress_ratios"].as_array().expect("a list");
    let ratios = ratios
        .iter()
        .map(|ratio| V::U32(ratio.as_u64().expect("a number") as u32));
    let file = File::new("deepseek4")
        .keys(
            "deepseek4",
            "block_count=61 context_length=1048576 embedding_length=7168 attention.head_count=128 \
             attention.head_count_kv=1 attention.key_length=512 attention.value_length=512 attention.sliding_window=128 \
             attention.indexer.key_length=128 nextn_predict_layers=1",
        )
        .key("deepseek4.attention.compress_ratios", V::List(4, ratios.collect()));
    let own = model(&file).model;
    assert_eq!((own.layers, own.groups), (expected.layers, expected.groups));
    assert_eq!(
        own.num_nextn_predict_layers, 0,
        "its tensors are not in the file"
    );

    // RWKV-7 2.9B: llama.cpp keeps two shifted tokens and a square of 64 for each head.
    let file = File::new("rwkv7").keys(
        "rwkv7",
        "block_count=32 embedding_length=2560 wkv.head_size=64",
    );
    let own = model(&file).model;
    let LayerKind::Recurrent(state) = own.groups[0].kind else {
        panic!("{:?}", own.groups);
    };
    assert_eq!(
        (state.conv_elements(), state.state_elements()),
        (2 * 2560, 2560 * 64)
    );
}

fn llama() -> File {
    File::new("llama")
        .key("general.name", V::Text("Llama 3.1 8B".to_owned()))
        .keys("llama", SAME[0].2)
        .key(
            "tokenizer.ggml.tokens",
            V::List(8, vec![V::Text("word".to_owned()); 3000]),
        )
        .key("tokenizer.ggml.scores", V::List(6, vec![V::F32(0.5); 3000]))
        .key("tokenizer.chat_template", V::Text("{%".repeat(2000)))
        .key("general.file_type", V::U32(15))
        .tensor(
            "token_embd.weight",
            &[4096, 3000],
            12,
            4096 * 3000 / 256 * 144,
        )
        .tensor(
            "blk.0.attn_q.weight",
            &[4096, 4096],
            12,
            4096 * 4096 / 256 * 144,
        )
        .tensor(
            "blk.0.ffn_down.weight",
            &[14_336, 4096],
            14,
            14_336 * 4096 / 256 * 210,
        )
        .tensor("blk.0.attn_norm.weight", &[4096], 0, 4 * 4096)
        .tensor("output.weight", &[4096, 3000], 14, 4096 * 3000 / 256 * 210)
}

#[test]
fn versions_orders_and_slices() {
    let expected = model(&llama());
    let weights = 6_912_000 + 9_437_184 + 48_168_960 + 16_384 + 10_080_000;
    assert_eq!(
        expected.model.stored.and_then(|stored| stored.bytes),
        Some(Bytes(weights))
    );
    assert_eq!(expected.model.name, "Llama 3.1 8B");
    assert_eq!(
        expected.model.max_position_embeddings,
        Some(Tokens(131_072))
    );
    for version in [2, 3] {
        for is_big in [false, true] {
            let file = File {
                version,
                is_big,
                ..llama()
            };
            let (bytes, size) = file.header();
            for slice in [1, 7, 1000, usize::MAX] {
                let header = read(&bytes, size, slice).unwrap_or_else(|err| panic!("{err}"));
                assert_eq!(
                    import(&header, "").as_ref(),
                    Ok(&expected),
                    "{version} {is_big} {slice}"
                );
            }
        }
    }
}

/// A reader asks for what it needs, and not for texts and lists that it does not keep.
#[test]
fn it_jumps_over_what_it_does_not_keep() {
    let list = vec![V::F32(0.0); 2_000_000];
    let file = llama().key("tokenizer.ggml.more_scores", V::List(6, list));
    let (bytes, size) = file.header();
    let mut reader = GgufReader::new(size);
    let mut asked = 0;
    while let Some(need) = reader.need() {
        asked += need.length;
        let (from, to) = (need.offset as usize, (need.offset + need.length) as usize);
        let mut slice = bytes
            .get(from..to.min(bytes.len()))
            .unwrap_or_default()
            .to_vec();
        // The weights follow the header.
        slice.resize(to - from, 0);
        reader.feed(&slice).expect("the header is whole");
    }
    assert!(
        asked <= 3 << 20,
        "{asked} of {} bytes were read",
        bytes.len()
    );
    assert_eq!(reader.finish().map(|header| header.tensor_count()), Ok(5));
}

#[test]
fn every_value_type_is_read() {
    for value in [
        V::U8(32),
        V::I8(32),
        V::U16(32),
        V::I16(32),
        V::U32(32),
        V::I32(32),
        V::U64(32),
        V::I64(32),
        V::F32(32.0),
        V::F64(32.0),
    ] {
        for is_big in [false, true] {
            let file = File::new("llama")
                .key("llama.block_count", value.clone())
                .keys(
                    "llama",
                    "embedding_length=4096 attention.head_count=32 attention.head_count_kv=8",
                )
                .key("some.flag", V::Flag(true));
            let model = model(&File { is_big, ..file }).model;
            assert_eq!(model.layers.len(), 32, "{value:?}");
        }
    }
    // Nested lists are passed over.
    let inner = V::List(5, vec![V::I32(1); 3]);
    let nested = V::List(
        9,
        vec![
            inner.clone(),
            V::List(8, vec![V::Text("a".to_owned())]),
            inner,
        ],
    );
    let file = File::new("llama")
        .key("some.lists", nested.clone())
        .key("more.lists", V::List(9, vec![nested]))
        .keys("llama", SAME[0].2);
    assert_eq!(model(&file).model.layers.len(), 32);
}

#[test]
fn weights_by_part() {
    let file = File::new("qwen3moe")
        .keys(
            "qwen3moe",
            "block_count=2 embedding_length=256 attention.head_count=4 attention.head_count_kv=2 expert_count=8 \
             expert_used_count=2 expert_feed_forward_length=128 feed_forward_length=512",
        )
        .tensor("token_embd.weight", &[256, 100], 8, 256 * 100 / 32 * 34)
        .tensor("blk.0.attn_q.weight", &[256, 256], 12, 256 * 144)
        .tensor("blk.0.ffn_gate_inp.weight", &[256, 8], 0, 256 * 8 * 4)
        .tensor("blk.0.ffn_up_exps.weight", &[256, 128, 8], 12, 256 * 128 * 8 / 256 * 144)
        .tensor("blk.1.attn_q.weight", &[256, 256], 12, 256 * 144)
        .tensor("blk.1.ffn_up.weight", &[256, 512], 12, 512 * 144)
        .tensor("blk.1.attn_norm.weight", &[256], 0, 256 * 4);
    let model = model(&file).model;
    let weights = &model.weights;
    for (kind, num_params) in [
        (WeightKind::Embedding, 25_600),
        (WeightKind::Attention, 2 * 65_536),
        (WeightKind::Router, 2048),
        (WeightKind::RoutedExperts, 262_144),
        (WeightKind::Mlp, 131_072),
        (WeightKind::Norm, 256),
        (WeightKind::Head, 0),
    ] {
        assert_eq!(weights.num_params_of(kind), num_params, "{kind:?}");
    }
    assert_eq!(
        weights.num_active_params(),
        weights.num_params() - 262_144 * 6 / 8
    );
    // The parts' averages give the exact bytes back.
    let stored = model.stored.expect("it is stored");
    assert_eq!(stored.bytes, Some(weights.bytes(&stored.format)));
    assert_eq!(
        (stored.format.id, stored.format.embedding.id),
        ("q4_k_m", "q8_0")
    );
}

/// The type that holds most bytes, with what the file calls the mixture, gives the format that is shown.
#[test]
fn formats() {
    for (kind, block, bytes, file_type, expected) in [
        (0, 1, 4, None, "float32"),
        (1, 1, 2, Some(1), "float16"),
        (30, 1, 2, Some(32), "bf16"),
        (8, 32, 34, Some(7), "q8_0"),
        (2, 32, 18, Some(2), "q4_0"),
        (12, 256, 144, Some(15), "q4_k_m"),
        (12, 256, 144, Some(14), "q4_k_s"),
        (12, 256, 144, None, "q4_k_m"),
        (13, 256, 176, Some(16), "q5_k_s"),
        (11, 256, 110, Some(13), "q3_k_l"),
        (10, 256, 84, Some(21), "q2_k_s"),
        // A file of one mixture whose weights are mostly of another type.
        (12, 256, 144, Some(7), "q4_k_m"),
        (21, 256, 110, Some(27), "iq3_m"),
        (22, 256, 82, Some(29), "iq2_m"),
        (29, 256, 56, Some(31), "iq1_m"),
        (23, 256, 136, Some(30), "iq4_xs"),
        (39, 32, 17, Some(38), "mxfp4"),
        (40, 64, 36, Some(39), "nvfp4"),
        // Types of ik_llama.cpp have no format of their own: 5.5 bits, and 4.25 by their offsets.
        (140, 256, 176, None, "q5_0"),
        (144, 256, 136, None, "q3_k_l"),
    ] {
        let mut file = File::new("llama").keys("llama", SAME[0].2);
        if let Some(file_type) = file_type {
            file = file.key("general.file_type", V::U32(file_type));
        }
        let size = 1024 * 1024 / block * bytes;
        let file = file.tensor("blk.0.attn_q.weight", &[1024, 1024], kind, size);
        let model = model(&file);
        let stored = model.model.stored.expect("it is stored");
        assert_eq!(stored.format.id, expected, "type {kind}");
        assert_eq!(stored.bytes, Some(Bytes(size)), "type {kind}");
        let mut scenario = Scenario::default();
        for setting in &model.settings {
            scenario
                .set(setting.key, &setting.value)
                .expect("it is a value");
        }
        assert_eq!(scenario.weight_format.id, expected);
    }
}

/// Rows that have a scale of their own, and types that nobody knows, are as long as up to the next tensor.
#[test]
fn sizes_by_offsets() {
    let iq4_ks = 64 * (4 + 136 * 4);
    let file = File::new("llama")
        .keys("llama", SAME[0].2)
        .tensor("blk.0.attn_q.weight", &[1024, 64], 144, iq4_ks)
        .tensor("blk.0.attn_k.weight", &[1024, 64], 999, 12_800)
        .tensor("blk.0.attn_v.weight", &[1024, 64], 144, iq4_ks);
    let model = model(&file).model;
    assert_eq!(
        model.stored.and_then(|stored| stored.bytes),
        Some(Bytes(2 * iq4_ks + 12_800))
    );
    let note = model
        .notes
        .iter()
        .find(|note| note.code == "tensor_type")
        .expect("a note");
    assert_eq!(
        note.message.to_string(),
        "1 tensors have a type that is not known; their bytes are those up to the next tensor"
    );
}

#[test]
fn latent_attention_of_old_files() {
    for (row, has_keys) in [(13, true), (14, false)] {
        let (_, arch, keys) = SAME[row];
        let file = File::new(arch).keys(arch, keys);
        let model = model(&file);
        let setting = model.settings.iter().find(|setting| setting.key == "mla");
        assert_eq!(
            setting.map(|setting| setting.value.as_str()),
            Some(if has_keys { "true" } else { "false" })
        );
        // 61 × 576 × 2 B.
        let latent = |model: &kvscope::core::model::ModelConfig| {
            let group = model.groups[0];
            group
                .kind
                .cache_bytes(Tokens(1), KvFormat::both(F16))
                .times(u64::from(group.count))
        };
        assert_eq!(latent(&model.model), Bytes(70_272));
    }
}

#[test]
fn split_files() {
    let part = |number: u16, count: u16| {
        let file = if number == 0 { llama() } else { File::new("") };
        let file = file
            .key("split.no", V::U16(number))
            .key("split.count", V::U16(count))
            .key("split.tensors.count", V::I32(6));
        if number == 0 {
            return file;
        }
        let name = format!("blk.{number}.attn_q.weight");
        file.tensor(&name, &[4096, 4096], 12, 4096 * 4096 / 256 * 144)
    };
    let header = |number, count| {
        let (bytes, size) = part(number, count).header();
        read(&bytes, size, usize::MAX).expect("it is whole")
    };
    let first = import(&header(0, 3), "model-00001-of-00003.gguf").expect("the first says all");
    assert_eq!(first.model.layers.len(), 32);
    assert_eq!(first.model.stored.and_then(|stored| stored.bytes), None);
    assert_eq!(
        first
            .model
            .notes
            .iter()
            .inspect(|note| check_in_chinese(&note.message))
            .map(|note| note.message.to_string())
            .collect::<Vec<_>>(),
        [
            "1 of 3 parts of the model were read, so that the bytes of all weights are not known; pick all parts together"
        ]
    );
    let all = GgufHeader::joined(vec![header(2, 3), header(0, 3), header(1, 3)]).expect("they fit");
    let all = import(&all, "").expect("it is whole").model;
    let one = model(&llama()).model;
    let bytes =
        |model: &kvscope::core::model::ModelConfig| model.stored.and_then(|stored| stored.bytes);
    assert_eq!(
        bytes(&all),
        bytes(&one).map(|bytes| bytes + Bytes(2 * 9_437_184))
    );

    let message = |res: Result<GgufHeader, ImportError>| res.expect_err("it cannot be").to_string();
    assert_eq!(
        message(GgufHeader::joined(vec![header(1, 3)])),
        "this is part 2 of 3 of a split model, and what the model is stands in part 1; pick that, or all parts together"
    );
    assert_eq!(
        message(GgufHeader::joined(vec![header(0, 3), header(1, 2)])),
        "the files are not parts of one model: part 2 of 2 stands beside part 1 of 3; pick the parts of one model"
    );
    assert_eq!(
        import(&header(1, 3), "")
            .expect_err("it cannot be")
            .to_string(),
        "this is part 2 of 3 of a split model, and what the model is stands in part 1; pick that, or all parts together"
    );
}

#[track_caller]
fn check_error(file: &File, size: Option<u64>, expected: &str) {
    let (bytes, own_size) = file.header();
    let res =
        read(&bytes, size.unwrap_or(own_size), usize::MAX).and_then(|header| import(&header, ""));
    let error = res.expect_err("it cannot be read");
    assert_eq!(error.to_string(), expected);
    check_in_chinese(error.message());
}

#[test]
fn broken_headers() {
    let huge = 1 << 60;
    let text_of = |length: u64| V::Raw(8, length.to_le_bytes().to_vec());
    let list_of = |kind: u32, length: u64| {
        V::Raw(
            9,
            [kind.to_le_bytes().to_vec(), length.to_le_bytes().to_vec()].concat(),
        )
    };
    let mut deep = V::List(5, Vec::new());
    for _ in 0..9 {
        deep = V::List(9, vec![deep]);
    }
    let many = |n_tensors, n_keys| File {
        counts: Some((n_tensors, n_keys)),
        ..llama()
    };
    let size = Some(5_000_000_000);
    // 24 bytes, 45 of the architecture, and 18 or 30 until the text or the entries begin.
    let small = || File::new("llama");
    for (file, expected) in [
        (
            many(5, huge),
            "the header says that it has 1152921504606846976 keys, and it can have at most 10000; the file is damaged, download it again",
        ),
        (
            many(huge, 1),
            "the header says that it has 1152921504606846976 tensors, and it can have at most 1000000; the file is damaged, download it again",
        ),
        (
            small().key("a.text", text_of(u64::MAX)),
            "the text of a.text says that it is 18446744073709551615 bytes long, and the file has room for 4999999905; the file is damaged, download it again",
        ),
        (
            small().key("a.list", list_of(5, huge)),
            "the list a.list says that it has 1152921504606846976 entries, and the file has room for 1249999975; the file is damaged, download it again",
        ),
        (
            small().key("a.list", list_of(8, huge)),
            "the list a.list says that it has 1152921504606846976 entries, and the file has room for 624999987; the file is damaged, download it again",
        ),
        (
            llama().key("a.list", list_of(13, 1)),
            "a.list has value type 13, and types 0 to 12 are known; the file is damaged, download it again",
        ),
        (
            llama().key("a.value", V::Raw(77, vec![0; 8])),
            "a.value has value type 77, and types 0 to 12 are known; the file is damaged, download it again",
        ),
        (
            llama().key("a.list", deep),
            "the list a.list holds lists within lists, and at most 8 are read; the file is damaged, download it again",
        ),
        (
            llama().key(&"k".repeat(70_000), V::U8(0)),
            "a key in the header is 70000 bytes long, and at most 65535 are allowed; the file is damaged, download it again",
        ),
        (
            llama().key("general.name", V::U8(0)),
            "the key general.name is there twice; the file is damaged, download it again",
        ),
        (
            llama().key("tokenizer.ggml.scores", V::U8(0)),
            "the key tokenizer.ggml.scores is there twice; the file is damaged, download it again",
        ),
        (
            llama().tensor("a.weight", &[1; 5], 0, 4),
            "tensor a.weight has 5 dimensions, and at most 4 are allowed; the file is damaged, download it again",
        ),
        (
            llama().tensor("a.weight", &[1 << 40, 1 << 40], 0, 4),
            "tensor a.weight says that it has more than 2^60 elements; the file is damaged, download it again",
        ),
        (
            llama().tensor(&"n".repeat(2000), &[1], 0, 4),
            "a tensor's name is 2000 bytes long, and at most 1024 are allowed; the file is damaged, download it again",
        ),
        (
            File {
                version: 1,
                ..llama()
            },
            "this is version 1 of GGUF, of August 2023, which current engines do not read; download the model again in version 2 or 3",
        ),
        (
            File {
                version: 9,
                ..llama()
            },
            "this is version 9 of GGUF, and versions 2 and 3 are known; if an engine reads the file, please report it",
        ),
    ] {
        check_error(&file, size, expected);
    }
    let err =
        read(b"PK\x03\x04 and so on, for some bytes", 34, usize::MAX).expect_err("it is no GGUF");
    assert_eq!(
        err.to_string(),
        "the file begins with \"PK\\u{3}\\u{4}\", and a GGUF file begins with \"GGUF\"; pick a file whose name ends in .gguf"
    );
}

#[test]
fn headers_that_are_no_model() {
    let llama = |keys: &str| File::new("llama").keys("llama", keys);
    let of_type = |kind: &str| llama(SAME[0].2).key("general.type", V::Text(kind.to_owned()));
    for (file, expected) in [
        (
            File::new(""),
            "general.architecture is missing, so that nothing says which model this is; pick the GGUF file of a language model",
        ),
        (
            File::new("nomic-bert"),
            "architecture \"nomic-bert\" is an encoder: it reads its whole input at once and keeps no cache; pick the GGUF file of a language model",
        ),
        (
            File::new("clip"),
            "architecture \"clip\" is the encoder of pictures or sound beside a language model, and keeps no cache; pick the GGUF file of a language model",
        ),
        (
            of_type("adapter"),
            "this is a LoRA adapter; pick the GGUF file of a language model",
        ),
        (
            llama("embedding_length=4096"),
            "llama.block_count is missing, and the cache cannot be computed without it; convert the model again with a current llama.cpp",
        ),
        (
            llama("block_count=0"),
            "llama.block_count is 0, and must be at least 1",
        ),
        (
            llama("block_count=4000000"),
            "llama.block_count is 4000000, and must be at most 1024",
        ),
        (
            llama("block_count=2 nextn_predict_layers=2"),
            "llama.nextn_predict_layers is 2, and must be less than the 2 layers of the file",
        ),
        (
            llama("block_count=2 embedding_length=4096"),
            "llama.attention.head_count is missing, and the cache cannot be computed without it; convert the model again with a current llama.cpp",
        ),
        (
            llama("block_count=2 attention.head_count=many"),
            "llama.attention.head_count is \"many\", and must be a whole number from 0 to 4294967295",
        ),
        (
            llama("attention.head_count=8 embedding_length=64 block_count=4").key(
                "llama.attention.head_count_kv",
                V::List(5, vec![V::I32(8); 3]),
            ),
            "the list llama.attention.head_count_kv has 3 entries, and the model has more layers; convert the model again with a current llama.cpp",
        ),
        (
            llama("attention.head_count=8 embedding_length=64 block_count=1").key(
                "llama.attention.head_count_kv",
                V::List(5, vec![V::I32(-8)]),
            ),
            "llama.attention.head_count_kv is -8, and must be a whole number from 0 to 4294967295",
        ),
    ] {
        check_error(&file, None, expected);
    }
    // A window that no rule places is said, not guessed.
    let model = model(&llama(SAME[0].2).key("llama.attention.sliding_window", V::U32(4096))).model;
    assert_eq!(
        model
            .notes
            .iter()
            .inspect(|note| check_in_chinese(&note.message))
            .map(|note| note.message.to_string())
            .collect::<Vec<_>>(),
        [
            "llama.attention.sliding_window is 4096, and nothing says which layers have it; all are counted as keeping everything, as llama.cpp does"
        ]
    );
}

/// Wherever a file is cut, the message says where it ends.
#[test]
fn cut_files() {
    let (bytes, _) = File::new("llama")
        .keys("llama", SAME[0].2)
        .tensor("a", &[2, 2], 0, 16)
        .header();
    for end in 0..bytes.len() {
        let err = read(&bytes[..end], end as u64, usize::MAX).expect_err("it is cut");
        let damaged = err
            .to_string()
            .ends_with("the file is damaged, download it again");
        let cut = format!("the file ends after {end} bytes, inside its header; download it again");
        assert!(damaged || err.to_string() == cut, "{end}: {err}");
    }
    // Tensors that are not there are noted: their table is whole.
    let (bytes, size) = llama().header();
    let header = read(&bytes, size - 1000, usize::MAX).expect("the header is whole");
    let model = import(&header, "").expect("it is a model").model;
    assert_eq!(
        model.notes[0].message.to_string(),
        "the file is 1000 bytes shorter than its table of tensors says; it was not downloaded whole"
    );
}

/// A header that never ends is left after 64 MiB, whatever the file's size is said to be.
#[test]
fn endless_headers() {
    let list = [
        8_u32.to_le_bytes().to_vec(),
        (1_u64 << 40).to_le_bytes().to_vec(),
    ]
    .concat();
    let (mut bytes, _) = File::new("llama")
        .key("an.endless.list", V::Raw(9, list))
        .header();
    let mut reader = GgufReader::new(u64::MAX);
    let mut n_asked = 0;
    let err = loop {
        let need = reader.need().expect("it goes on");
        n_asked += need.length;
        // Texts of no length, without end.
        bytes.resize(need.length as usize, 0);
        if let Err(err) = reader.feed(&bytes) {
            break err;
        }
        bytes.clear();
    };
    assert_eq!(
        err.to_string(),
        "the header goes on after 67108864 bytes; the file is damaged, download it again"
    );
    assert!(n_asked <= 65 << 20, "{n_asked} bytes were asked for");
    assert_eq!(reader.need(), None, "it asks for nothing more");
}
