//! Pasted start-up text: what is read of it, and how it compares. The wordings and figures are those of posted logs.

use kvscope::core::import::log::{self, Comparison, LogReading, Reason, What};
use kvscope::core::import::names_of_models::preset_named;
use kvscope::core::import::recognise::{Kind, recognise};
use kvscope::core::report::report;
use kvscope::core::scenario::Scenario;
use kvscope::view::comparison::{self, Row};
use kvscope::view::text::ENGLISH;
use proptest::prelude::*;

use crate::languages::check_in_chinese;

/// Reads the text, applies it to the default scenario and then `more`, and compares.
#[track_caller]
fn compared(text: &str, more: &[(&str, &str)]) -> (LogReading, Vec<Comparison>) {
    let reading = log::read(text);
    let mut scenario = Scenario::default();
    let errors = reading.apply(&mut scenario);
    assert!(errors.is_empty(), "{errors:?}");
    for (key, value) in more {
        scenario
            .set(key, value)
            .unwrap_or_else(|error| panic!("{key}={value}: {error:?}"));
    }
    let rows = log::compare(&reading.facts, &scenario);
    for note in &reading.notes {
        check_in_chinese(&note.message);
    }
    (reading, rows)
}

#[track_caller]
fn check(
    text: &str,
    engine: &str,
    settings: &[(&str, &str)],
    more: &[(&str, &str)],
    n_facts: usize,
) -> Vec<Comparison> {
    let (reading, rows) = compared(text, more);
    assert_eq!(reading.engine, Some(engine));
    for (key, value) in settings {
        assert_eq!(reading.setting(key), Some(*value), "{key}");
    }
    assert_eq!(rows.len(), n_facts, "{rows:#?}");
    rows
}

#[track_caller]
fn all_agree(rows: &[Comparison]) {
    for row in rows {
        assert!(row.agrees, "{row:#?}");
    }
}

const VLLM_V1: &str = "\u{1b}[0;36m(EngineCore_0 pid=1187)\u{1b}[0;0m INFO 06-14 09:12:01 [core.py:69] Initializing a V1 LLM engine (v0.9.1) with config: model='Qwen/Qwen3-8B', speculative_config=None, tokenizer='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=40960, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda
WARNING 06-14 09:12:02 [utils.py:2737] Methods determine_num_available_blocks,device_config,get_cache_block_size_bytes not implemented
Loading safetensors checkpoint shards: 100% Completed | 5/5 [00:02<00:00,  1.71it/s]
\u{1b}[0;36m(EngineCore_0 pid=1187)\u{1b}[0;0m INFO 06-14 09:12:20 [gpu_model_runner.py:1624] Model loading took 15.2683 GiB and 4.021 seconds
INFO 06-14 09:12:51 [gpu_worker.py:227] Available KV cache memory: 18.69 GiB
INFO 06-14 09:12:51 [kv_cache_utils.py:715] GPU KV cache size: 136,080 tokens
INFO 06-14 09:12:51 [kv_cache_utils.py:719] Maximum concurrency for 40,960 tokens per request: 3.32x
INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)
";

#[test]
fn vllm_v1() {
    let settings = [
        ("model", "qwen3-8b"),
        ("kv_cache_dtype", "bf16"),
        ("tensor_parallel_size", "1"),
        ("max_model_len", "40960"),
        ("available_kv_cache_bytes", "20068234691"),
    ];
    let rows = check(VLLM_V1, "vllm", &settings, &[], 4);
    all_agree(&rows);
    assert_eq!(rows[2].what, What::KvCacheSizeTokens);
    // 18.69 GiB are anything from 18.685 to 18.695, 73 tokens more or less.
    assert_eq!(rows[2].reason, Some(Reason::Rounding));
}

#[test]
fn vllm_v0() {
    let text = "INFO 03-11 18:02:11 worker.py:267] the current vLLM instance can use total_gpu_memory (22.07GiB) x gpu_memory_utilization (0.90) = 19.86GiB
INFO 03-11 18:02:11 worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.06GiB; PyTorch activation peak memory takes 0.21GiB; the rest of the memory reserved for KV Cache is 4.60GiB.
INFO 03-11 18:02:11 executor_base.py:111] # cuda blocks: 2356, # CPU blocks: 2048
INFO 03-11 18:02:11 executor_base.py:116] Maximum concurrency for 131072 tokens per request: 0.29x
";
    let settings = [
        ("gpu_memory_utilization", "0.90"),
        ("max_model_len", "131072"),
        ("available_kv_cache_bytes", "4939212390"),
    ];
    let rows = check(
        text,
        "vllm",
        &settings,
        &[("model", "llama-3.1-8b"), ("tensor_parallel_size", "1")],
        5,
    );
    all_agree(&rows);
    let (reading, _) = compared(text, &[]);
    assert!(
        reading.notes.iter().any(|note| note.code == "model"),
        "the model is not named"
    );
}

#[test]
fn vllm_that_has_not_enough_memory() {
    let text = "ValueError: To serve at least one request with the models's max seq len (32768), (1.75 GiB KV cache is needed, which is larger than the available KV cache memory (1.1 GiB). Based on the available memory, the estimated maximum model length is 20512. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.";
    let settings = [("max_model_len", "32768")];
    let rows = check(
        text,
        "vllm",
        &settings,
        &[("model", "qwen2.5-7b"), ("tensor_parallel_size", "1")],
        3,
    );
    all_agree(&rows);
}

#[test]
fn vllm_hybrids() {
    // Windows: the batch that is in flight decides.
    let text = "INFO 08-20 10:00:00 [utils.py:233] non-default args: {'model': 'google/gemma-4-26B-A4B', 'max_model_len': 32768, 'max_num_batched_tokens': 2496}
INFO 08-20 10:00:00 [vllm.py:622] Asynchronous scheduling is enabled.
INFO 08-20 10:00:00 [gpu_worker.py:301] Initial free memory 22.5 GiB; Reserved 4.25 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling.
(EngineCore pid=1) INFO 08-20 10:00:01 [kv_cache_utils.py:2286] GPU KV cache size: 78,433 tokens, Maximum concurrency for 32,768 tokens per request: 2.39x
";
    let settings = [
        ("model", "gemma-4-26b-a4b"),
        ("max_num_batched_tokens", "2496"),
        ("async_scheduling", "true"),
    ];
    all_agree(&check(
        text,
        "vllm",
        &settings,
        &[("tensor_parallel_size", "1")],
        3,
    ));

    // States: the log does not say that they are cached at the last block too, and the comparison finds it.
    let text = "INFO 05-02 11:11:11 [core.py:93] Initializing a V1 LLM engine (v0.21.0) with config: model='/models/Qwen3.6-27B-NVFP4', speculative_config=SpeculativeConfig(method='mtp', model='/models/Qwen3.6-27B-NVFP4', num_spec_tokens=3), tensor_parallel_size=4, pipeline_parallel_size=1, data_parallel_size=1, max_seq_len=196608, kv_cache_dtype=fp8
INFO 05-02 11:11:12 [interface.py:580] Setting attention block size to 1600 tokens to ensure that attention page size is >= mamba page size.
(Worker_TP0 pid=4) INFO 05-02 11:12:00 [gpu_worker.py:404] Available KV cache memory: 5.61 GiB
(Worker_TP1 pid=5) INFO 05-02 11:12:00 [gpu_worker.py:404] Available KV cache memory: 5.63 GiB
INFO 05-02 11:12:00 [kv_cache_utils.py:1319] GPU KV cache size: 615,468 tokens
INFO 05-02 11:12:00 [kv_cache_utils.py:1324] Maximum concurrency for 196,608 tokens per request: 3.13x
";
    let settings = [
        ("draft_layers", "1"),
        ("num_speculative_tokens", "3"),
        ("kv_cache_dtype", "fp8"),
        ("tensor_parallel_size", "4"),
    ];
    let rows = check(text, "vllm", &settings, &[("model", "qwen3.5-27b")], 4);
    let tokens = rows
        .iter()
        .find(|row| row.what == What::KvCacheSizeTokens)
        .expect("tokens are compared");
    assert_eq!(
        tokens.reason,
        Some(Reason::Setting {
            key: "mamba_cache_mode",
            value: "align"
        })
    );
    let rows = check(
        text,
        "vllm",
        &settings,
        &[("model", "qwen3.5-27b"), ("mamba_cache_mode", "align")],
        4,
    );
    all_agree(
        &rows
            .into_iter()
            .filter(|row| row.what != What::AvailableBytes)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn differences_by_their_size() {
    let computed = compared(VLLM_V1, &[]).1[2]
        .computed
        .expect("it has a figure");
    let exact = format!("{:.2} GiB", 18.69);
    for (tokens, expected) in [
        (computed.value, None),
        (computed.high * 1.005, Some(Reason::Padding)),
        (computed.value * 1.073_741_824, Some(Reason::Units)),
        (computed.value / 1.048_576, Some(Reason::Units)),
        (computed.value * 3.0, Some(Reason::Unknown)),
        (computed.value / 3.0, Some(Reason::Unknown)),
    ] {
        let text = VLLM_V1.replace("136,080", &format!("{tokens:.0}"));
        assert!(text.contains(&exact), "the pool is as it was");
        let row = &compared(&text, &[]).1[2];
        assert_eq!(row.reason, expected, "{tokens}");
        assert_eq!(row.agrees, expected.is_none(), "{tokens}");
    }
}

#[test]
fn rows_in_words() {
    let rows = compared(VLLM_V1, &[]).1;
    let words = comparison::rows(&rows, &ENGLISH);
    let shown: Vec<_> = words
        .iter()
        .map(|row| {
            let Row {
                figure,
                printed,
                computed,
                reason,
                ..
            } = row;
            [figure, printed, computed, reason].map(String::as_str)
        })
        .collect();
    let rounding = "none: within what the printed figures leave open";
    assert_eq!(
        shown,
        [
            ["weights", "15.27 GiB", "15.26 GiB", rounding],
            ["memory for the cache", "18.69 GiB", "18.69 GiB", rounding],
            ["tokens that fit", "136,080", "136,048 to 136,128", rounding],
            ["longest requests at once", "3.32", "3.32", rounding],
        ]
    );
    assert!(words[2].line.contains("GPU KV cache size"), "{words:?}");
    assert_eq!(
        comparison::summary(&rows, &ENGLISH),
        "4 of 4 printed figures agree with what KVscope computes."
    );
    assert_eq!(
        comparison::summary(&[], &ENGLISH),
        "The log has no figures to compare; paste it from the start of the server to its first request."
    );
    assert_eq!(
        comparison::held(&report(&Scenario::default()), 1, &ENGLISH),
        "The engine reserves 33.01 GiB on each GPU when it starts, whatever is served. This scenario uses 375.9 MiB of it (1 request)."
    );
}

#[test]
fn vllm_of_which_one_rank_is_quoted() {
    let text = "(Worker_TP0 pid=9) INFO 07-07 07:07:07 [gpu_worker.py:404] Available KV cache memory: 28.74 GiB
INFO 07-07 07:07:07 [kv_cache_utils.py:1319] GPU KV cache size: 240,816 tokens
";
    let more = [
        ("model", "minimax-m2.5"),
        ("tensor_parallel_size", "2"),
        ("max_model_len", "196608"),
    ];
    let rows = check(text, "vllm", &[], &more, 2);
    assert!(!rows[1].agrees, "240,816 tokens are 28.48 GiB");
    assert_eq!(rows[1].reason, Some(Reason::SmallestRank));
}

#[test]
fn sglang() {
    let text = "[2026-04-18 10:21:33] server_args=ServerArgs(model_path='google/gemma-4-E4B-it', tokenizer_path='google/gemma-4-E4B-it', kv_cache_dtype='auto', mem_fraction_static=0.85, tp_size=1, dp_size=1, page_size=1, swa_full_tokens_ratio=0.8, context_length=None, enable_dp_attention=False)
[2026-04-18 10:21:44] Load weight end. type=Gemma4ForConditionalGeneration, dtype=torch.bfloat16, avail mem=60.21 GB, mem usage=15.21 GB.
[2026-04-18 10:21:45] Use sliding window memory pool. full_layer_tokens=805556, swa_layer_tokens=644444
[2026-04-18 10:21:45] KV Cache is allocated. #tokens: 644444, K size: 21.51 GB, V size: 21.51 GB
[2026-04-18 10:21:45] KV Cache is allocated. #tokens: 805556, K size: 10.76 GB, V size: 10.76 GB
";
    let settings = [
        ("model", "gemma-4-e4b"),
        ("mem_fraction_static", "0.85"),
        ("num_tokens", "805556"),
    ];
    let rows = check(text, "sglang", &settings, &[], 7);
    all_agree(
        &rows
            .into_iter()
            .filter(|row| row.what != What::WeightBytes)
            .collect::<Vec<_>>(),
    );

    let text = "[2025-10-01 00:00:00 DP3 TP3] KV Cache is allocated. #tokens: 1462784, KV size: 65.49 GB
[2025-10-01 00:00:00 DP3 TP3] max_total_num_tokens=1462784, chunked_prefill_size=1024, context_len=163840, available_gpu_mem=13.17 GB
";
    let more = [
        ("model", "deepseek-v3.2"),
        ("tensor_parallel_size", "8"),
        ("page_size", "64"),
        ("kv_cache_dtype", "fp8"),
    ];
    all_agree(&check(
        text,
        "sglang",
        &[("num_tokens", "1462784")],
        &more,
        3,
    ));

    let text = "[2026-03-03 03:03:03 TP0] Mamba Cache is allocated. max_mamba_cache_size: 43, conv_state size: 0.12GB, ssm_state size: 3.09GB intermediate_ssm_state_cache size: 2.11GB";
    let more = [
        ("model", "qwen3.5-27b"),
        ("tensor_parallel_size", "1"),
        ("state_dtype", "bf16"),
    ];
    all_agree(&check(
        text,
        "sglang",
        &[("max_mamba_cache_size", "43")],
        &more,
        1,
    ));
}

#[test]
fn tensorrt_llm() {
    let text = "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 20098, number of blocks in KV cache secondary pool: 0, onboard blocks to primary memory before reuse: true
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 68.69 GiB for max tokens in paged KV cache (643136).
";
    let dims = r#"{"dims":{"num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":8,"head_dim":128}}"#;
    let settings = [("tokens_per_block", "32"), ("num_tokens", "643136")];
    all_agree(&check(
        text,
        "tensorrt-llm",
        &settings,
        &[("model", dims), ("tensor_parallel_size", "1")],
        3,
    ));
}

#[test]
fn llama_cpp() {
    let text = "build: 7311 (2fa51c19b) with Apple clang version 17.0.0 for arm64-apple-darwin25.1.0
llama_model_loader: - kv   0:                       general.architecture str              = gpt-oss
print_info: arch             = gpt-oss
print_info: general.name     = Gpt Oss 20b
print_info: n_layer          = 24
print_info: n_head           = 64
print_info: n_head_kv        = 8
print_info: n_swa            = 128
llama_context: n_seq_max     = 1
llama_context: n_ctx         = 131072
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 2048
llama_context: flash_attn    = enabled
llama_context: kv_unified    = false
llama_kv_cache_iswa: creating non-SWA KV cache, size = 131072 cells
llama_kv_cache:      MTL0 KV buffer size =  3072.00 MiB
llama_kv_cache: size = 3072.00 MiB (131072 cells,  12 layers,  1/1 seqs), K (f16): 1536.00 MiB, V (f16): 1536.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 2304 cells
llama_kv_cache: size =   54.00 MiB (  2304 cells,  12 layers,  1/1 seqs), K (f16):   27.00 MiB, V (f16):   27.00 MiB
";
    let settings = [
        ("model", "gpt-oss-20b"),
        ("n_ctx", "131072"),
        ("n_ubatch", "2048"),
        ("version", "2025-11"),
        ("kv_cache_dtype", "float16"),
        ("flash_attn", "true"),
    ];
    all_agree(&check(
        text,
        "llama.cpp",
        &settings,
        &[("tensor_parallel_size", "1")],
        8,
    ));

    // Dimensions stand in for a name that is not known; a quantized cache, four slots in one stream.
    let text = "srv    load_model: loading model
print_info: general.name     = Granite Something
print_info: n_layer          = 40
print_info: n_head           = 32
print_info: n_head_kv        = 8
print_info: n_swa            = 0
print_info: n_embd_head_k    = 128
print_info: n_embd_head_v    = 128
print_info: n_ctx_train      = 131072
llama_kv_cache: size = 2613.75 MiB ( 31488 cells,  40 layers,  4/1 seqs), K (q8_0): 1306.88 MiB, V (q8_0): 1306.88 MiB
llama_memory_recurrent: size =    0.00 MiB (     4 cells,  40 layers,  4 seqs), R (f32):    0.00 MiB, S (f32):    0.00 MiB
";
    let settings = [
        ("n_ctx", "31488"),
        ("n_seq_max", "4"),
        ("kv_unified", "true"),
        ("kv_cache_dtype", "q8_0"),
    ];
    let (reading, rows) = compared(text, &[("tensor_parallel_size", "1")]);
    for (key, value) in settings {
        assert_eq!(reading.setting(key), Some(value), "{key}");
    }
    all_agree(
        &rows
            .into_iter()
            .filter(|row| row.cache == Some("full"))
            .collect::<Vec<_>>(),
    );

    // 2024, one line for all.
    let text = "llama_new_context_with_model: n_ctx      = 2048
llama_new_context_with_model: flash_attn = 0
llama_kv_cache_init:      CUDA0 KV buffer size =   896.00 MiB
llama_new_context_with_model: KV self size  =  896.00 MiB, K (f16):  448.00 MiB, V (f16):  448.00 MiB
";
    let dims = r#"{"dims":{"num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":16,"head_dim":256}}"#;
    let settings = [
        ("n_ctx", "2048"),
        ("version", "2025-03"),
        ("flash_attn", "false"),
    ];
    all_agree(&check(
        text,
        "llama.cpp",
        &settings,
        &[("model", dims), ("tensor_parallel_size", "1")],
        3,
    ));
}

#[test]
fn ik_llama_cpp_and_ollama() {
    let text = "llm_load_print_meta: general.name     = DeepSeek R1
llama_new_context_with_model: n_ctx      = 163840
llama_new_context_with_model: n_ubatch   = 2048
llama_new_context_with_model: flash_attn = 1
llama_new_context_with_model: mla_attn   = 3
llama_kv_cache_init:      CUDA0 KV buffer size =  3060.02 MiB
llama_kv_cache_init:      CUDA1 KV buffer size =  2773.14 MiB
llama_new_context_with_model: KV self size  = 5833.12 MiB, c^KV (q8_0): 5833.12 MiB, kv^T: not used
";
    let settings = [
        ("model", "deepseek-r1"),
        ("variant", "ik_llama.cpp"),
        ("mla_attn", "3"),
        ("kv_cache_dtype", "q8_0"),
    ];
    all_agree(&check(
        text,
        "llama.cpp",
        &settings,
        &[("tensor_parallel_size", "1")],
        2,
    ));

    let text = "time=2026-01-05T10:00:00.000Z level=INFO source=runner.go:1 msg=load request=\"{Operation:commit LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:true KvSize:32768 KvCacheType:q4_0 NumThreads:8}\"
time=2026-01-05T10:00:01.000Z level=INFO source=device.go:245 msg=\"kv cache\" device=CUDA0 size=\"720.0 MiB\"
time=2026-01-05T10:00:01.000Z level=INFO source=device.go:245 msg=\"kv cache\" device=CPU size=\"432.0 MiB\"
";
    let settings = [
        ("variant", "ollama"),
        ("n_ctx", "32768"),
        ("n_seq_max", "1"),
        ("kv_cache_dtype", "q4_0"),
    ];
    let dims = r#"{"dims":{"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128}}"#;
    all_agree(&check(
        text,
        "llama.cpp",
        &settings,
        &[("model", dims), ("tensor_parallel_size", "1")],
        1,
    ));
}

#[test]
fn names_of_presets() {
    for (name, expected) in [
        (
            "meta-llama/Meta-Llama-3.1-70B-Instruct",
            Some("llama-3.1-70b"),
        ),
        (
            "hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4",
            Some("llama-3.1-70b"),
        ),
        (
            "/models/Qwen3-30B-A3B-Instruct-2507-FP8/",
            Some("qwen3-30b-a3b"),
        ),
        ("deepseek-ai/DeepSeek-R1-0528", Some("deepseek-r1")),
        ("Qwen3-32B-Q4_K_M.gguf", Some("qwen3-32b")),
        ("openai/gpt-oss-120b", Some("gpt-oss-120b")),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", None),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", None),
        ("meta-llama/Meta-Llama-3-8B", None),
        ("", None),
        ("<b>llama-3.1-8b</b>", None),
    ] {
        assert_eq!(
            preset_named(name).map(|preset| preset.id()),
            expected,
            "{name}"
        );
    }
}

#[test]
fn commands() {
    for (text, engine, model, settings) in [
        (
            "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B-FP8 --tensor-parallel-size 2 --max_model_len=32K --kv-cache-dtype fp8_e4m3 --gpu-memory-utilization 0.95 --no-async-scheduling",
            "vllm",
            Some("Qwen/Qwen3-32B-FP8"),
            &[
                ("model", "qwen3-32b"),
                ("weight_format", "fp8"),
                ("tensor_parallel_size", "2"),
                ("max_model_len", "32768"),
                ("kv_cache_dtype", "fp8"),
                ("gpu_memory_utilization", "0.95"),
                ("async_scheduling", "false"),
            ][..],
        ),
        (
            "docker run --gpus all --ipc=host vllm/vllm-openai:latest \\
  --model \"openai/gpt-oss-120b\" \\
  -tp 4 \\
  --max-model-len 131k --kv-cache-dtype auto",
            "vllm",
            Some("openai/gpt-oss-120b"),
            &[
                ("model", "gpt-oss-120b"),
                ("weight_format", "mxfp4"),
                ("tensor_parallel_size", "4"),
                ("max_model_len", "131000"),
            ],
        ),
        (
            "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 8 --dp 8 --enable-dp-attention --mem-fraction-static 0.88 --context-length 65536 --page-size 64",
            "sglang",
            Some("deepseek-ai/DeepSeek-R1"),
            &[
                ("model", "deepseek-r1"),
                ("weight_format", "fp8_block"),
                ("tensor_parallel_size", "8"),
                ("data_parallel_size", "8"),
                ("dp_attention", "true"),
                ("mem_fraction_static", "0.88"),
                ("max_model_len", "65536"),
                ("page_size", "64"),
            ],
        ),
        (
            "./build/bin/llama-server -m ~/models/Qwen3-8B-Q4_K_M.gguf -c 32768 -np 4 -fa on -ctk q8_0 -ctv q4_0 -ub 1024 --swa-full",
            "llama.cpp",
            Some("~/models/Qwen3-8B-Q4_K_M.gguf"),
            &[
                ("model", "qwen3-8b"),
                ("weight_format", "q4_k_m"),
                ("n_ctx", "32768"),
                ("n_seq_max", "4"),
                ("flash_attn", "true"),
                ("kv_cache_dtype", "q8_0/q4_0"),
                ("n_ubatch", "1024"),
                ("swa_full", "true"),
            ],
        ),
        (
            "trtllm-serve meta-llama/Llama-3.1-8B-Instruct --tp_size 2 --kv_cache_free_gpu_memory_fraction 0.85 --max_seq_len 8192",
            "tensorrt-llm",
            Some("meta-llama/Llama-3.1-8B-Instruct"),
            &[
                ("model", "llama-3.1-8b"),
                ("weight_format", "bf16"),
                ("tensor_parallel_size", "2"),
                ("free_gpu_memory_fraction", "0.85"),
                ("max_model_len", "8192"),
            ],
        ),
    ] {
        let reading = log::read(text);
        assert_eq!(reading.engine, Some(engine), "{text}");
        assert_eq!(reading.model_name.as_deref(), model);
        for (key, value) in settings {
            assert_eq!(reading.setting(key), Some(*value), "{key} of {text}");
        }
        assert_eq!(reading.notes, [], "{text}");
        assert_eq!(reading.apply(&mut Scenario::default()), [], "{text}");
        assert_eq!(recognise(text.as_bytes()), Kind::Log(engine));
    }
}

#[test]
fn commands_that_are_not_understood() {
    let reading = log::read(
        "vllm serve Qwen/Qwen3-8B --max-model-len <your length> --served-model-name x -tp=two",
    );
    let notes: Vec<_> = reading
        .notes
        .iter()
        .inspect(|note| check_in_chinese(&note.message))
        .map(|note| note.message.to_string())
        .collect();
    assert_eq!(
        notes,
        [
            "the values of --max-model-len (<your) and -tp (two) were not read, so these fields stayed as they were"
        ]
    );
    for prose in [
        "vllm serve crashes on my machine",
        "we moved from llama-server to something else",
        "- a list\n- of things about sglang",
    ] {
        assert_eq!(log::read(prose).engine, None, "{prose}");
    }
}

/// The command says what was asked, and the lines after it what came of it.
#[test]
fn a_command_before_its_log() {
    let text = format!("$ vllm serve Qwen/Qwen3-8B --max-model-len 8192 -tp 1\n{VLLM_V1}");
    let (reading, rows) = compared(&text, &[]);
    assert_eq!(reading.setting("max_model_len"), Some("40960"));
    all_agree(&rows);
}

#[test]
fn weights_as_the_log_has_them() {
    for (text, expected) in [
        (
            "LLM engine (v0.9.1) with config: model='x/Llama-3.1-8B-Instruct-quantized.w4a16', quantization=compressed-tensors, kv_cache_dtype=auto",
            "int4",
        ),
        (
            "LLM engine (v0.9.1) with config: model='meta-llama/Llama-3.1-8B', quantization=fp8",
            "fp8",
        ),
        (
            "LLM engine (v0.9.1) with config: model='meta-llama/Llama-3.1-8B', quantization=None",
            "bf16",
        ),
        (
            "LLM engine (v0.9.1) with config: model='openai/gpt-oss-20b'",
            "mxfp4",
        ),
        ("print_info: file type   = Q4_K - Medium", "q4_k_m"),
        ("print_info: file type   = IQ4_XS - 4.25 bpw", "iq4_xs"),
        ("llm_load_print_meta: model ftype      = all F32", "float32"),
        (
            "llm_load_print_meta: model ftype      = mostly Q8_0",
            "q8_0",
        ),
        ("print_info: file type   = Q6_K", "q6_k"),
        ("print_info: file type   = MXFP4 MoE", "mxfp4"),
    ] {
        assert_eq!(
            log::read(text).setting("weight_format"),
            Some(expected),
            "{text}"
        );
    }
}

/// Until a model is chosen, the default one's figures say nothing of the server's.
#[test]
fn a_log_of_a_model_that_is_not_known() {
    let text = VLLM_V1.replace("Qwen/Qwen3-8B", "someone/Other-8B");
    let reading = log::read(&text);
    let mut scenario = Scenario::default();
    reading.apply(&mut scenario);
    for row in reading.compared(&scenario) {
        let expected = (!row.agrees).then_some(Reason::OtherModel);
        assert_eq!(row.reason.filter(|_| !row.agrees), expected);
    }
}

#[test]
fn text_of_no_engine() {
    for text in [
        "",
        "\n\n",
        "hello",
        "{\"model_type\": \"llama\"}",
        "\u{1b}[",
        "KV cache",
        "size = 12 MiB",
    ] {
        let reading = log::read(text);
        assert_eq!(reading.engine, None, "{text:?}");
        assert!(reading.facts.is_empty(), "{text:?}: {:?}", reading.facts);
        assert!(
            reading.notes.iter().any(|note| note.code == "no_engine"),
            "{text:?}"
        );
    }
    // Numbers beyond all bounds are no figures; what is too large for a field is said by it.
    let text = format!(
        "GPU KV cache size: {} tokens\nMaximum concurrency for {} tokens per request: 1e999x",
        "9".repeat(5000),
        "8".repeat(400)
    );
    assert!(
        log::read(&text).facts.len() <= 1,
        "no count of 5,000 digits"
    );
    let reading = log::read("GPU KV cache size: 99999999999999999 tokens");
    let mut scenario = Scenario::default();
    let errors = reading.apply(&mut scenario);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].key, "num_tokens");
}

#[test]
fn huge_text_is_read_in_bounds() {
    let line = "INFO [kv_cache_utils.py:1087] GPU KV cache size: 43,296 tokens\n";
    let text = line.repeat(log::MAX_TEXT / line.len() + 1000);
    let reading = log::read(&text);
    assert!(reading.facts.len() <= 400, "{} facts", reading.facts.len());
    assert!(
        reading.notes.iter().any(|note| note.code == "cut"),
        "it says that it was cut"
    );
    let one_line = "x=".repeat(log::MAX_TEXT);
    assert!(log::read(&one_line).facts.is_empty(), "one line of nothing");
}

fn lines() -> Vec<&'static str> {
    let texts = [
        VLLM_V1,
        "llama_kv_cache: size = 3072.00 MiB (131072 cells,  12 layers,  1/1 seqs), K (f16): 1536.00 MiB, V (f16): 1536.00 MiB\nllama_context: n_ctx = 4096\nmsg=\"kv cache\" size=\"1.1 GiB\"\nKV Cache is allocated. #tokens: 15387, K size: 0.82 GB, V size: 0.82 GB\n[TensorRT-LLM][INFO] Allocated 68.69 GiB for max tokens in paged KV cache (643136).\nMaximum concurrency for \nserver_args=ServerArgs(model_path='",
    ];
    texts.iter().flat_map(|text| text.lines()).collect()
}

proptest! {
    /// Any text, and any pieces of real lines, end in a reading that applies or says why not.
    #[test]
    fn any_text_is_read(
        noise in "\\PC{0,60}",
        picks in prop::collection::vec((0_usize..20, 0_usize..400, 0_usize..400), 0..12),
    ) {
        let lines = lines();
        let mut text = noise.clone();
        for (idx, from, to) in picks {
            let line = lines[idx % lines.len()];
            let chars: Vec<char> = line.chars().collect();
            let (from, to) = (from % (chars.len() + 1), to % (chars.len() + 1));
            text.extend(chars[from.min(to)..from.max(to)].iter());
            text.push_str(if from % 3 == 0 { "\n" } else { &noise });
        }
        let reading = log::read(&text);
        let mut scenario = Scenario::default();
        reading.apply(&mut scenario);
        let rows = log::compare(&reading.facts, &scenario);
        prop_assert_eq!(rows.len(), reading.facts.len());
    }
}
