//! Files and logs, as a reader gives them.

#[allow(
    dead_code,
    reason = "the writer of the native tests, of which few keys are needed here"
)]
#[path = "../it/gguf/writer.rs"]
mod gguf;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::page::Page;

const VLLM: &str = "INFO 06-14 09:12:01 [core.py:69] Initializing a V1 LLM engine (v0.9.1) with config: model='Qwen/Qwen3-8B', dtype=torch.bfloat16, max_seq_len=40960, tensor_parallel_size=1, pipeline_parallel_size=1, kv_cache_dtype=auto
INFO 06-14 09:12:51 [gpu_worker.py:227] Available KV cache memory: 18.69 GiB
INFO 06-14 09:12:51 [kv_cache_utils.py:715] GPU KV cache size: 136,080 tokens
INFO 06-14 09:12:51 [kv_cache_utils.py:719] Maximum concurrency for 40,960 tokens per request: 9.99x
";

const LLAMA_CPP: &str = "print_info: general.name     = Gpt Oss 20b
print_info: n_layer          = 24
print_info: n_head           = 64
print_info: n_head_kv        = 8
print_info: n_swa            = 128
llama_context: n_seq_max     = 1
llama_context: n_ctx         = 131072
llama_context: n_ubatch      = 2048
llama_context: flash_attn    = enabled
llama_context: kv_unified    = false
llama_kv_cache_iswa: creating non-SWA KV cache, size = 131072 cells
llama_kv_cache: size = 3072.00 MiB (131072 cells,  12 layers,  1/1 seqs), K (f16): 1536.00 MiB, V (f16): 1536.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 2304 cells
llama_kv_cache: size =   54.00 MiB (  2304 cells,  12 layers,  1/1 seqs), K (f16):   27.00 MiB, V (f16):   27.00 MiB
";

/// A file of this name and content, for the reader to give.
fn file(name: &str, content: &[u8]) -> Result<PathBuf> {
    let folder = xtask::target_dir().join("browser-tests/files");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Llama 3.1 8B in Q8_0: its header, and as much behind it as the header says, of which nothing lies on the disk.
fn llama_gguf() -> Result<PathBuf> {
    let tensor = |rows: u64, columns: u64| ([rows, columns], rows * columns / 32 * 34);
    let keys = "block_count=32 context_length=131072 embedding_length=4096 attention.head_count=32 \
                attention.head_count_kv=8 rope.dimension_count=128";
    let mut model = gguf::File::new("llama")
        .key("general.name", gguf::V::Text("Our own Llama".to_owned()))
        .key("general.file_type", gguf::V::U32(7))
        .keys("llama", keys);
    let (dims, bytes) = tensor(4096, 128_256);
    model = model.tensor("token_embd.weight", &dims, 8, bytes);
    for layer in 0..32 {
        let (dims, bytes) = tensor(4096, 4 * 14_336);
        model = model.tensor(&format!("blk.{layer}.ffn_up.weight"), &dims, 8, bytes);
    }
    let (header, size) = model.header();
    let path = file("our-own.gguf", &[])?;
    let mut out = File::create(&path)?;
    out.write_all(&header)?;
    out.set_len(size)?;
    ensure!(8_000_000_000 < size, "the file is large: {size}");
    Ok(path)
}

pub(crate) async fn gguf_dropped(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    page.drop_file("sentence", &llama_gguf()?).await?;
    // 32 × 2 × 8 × 128 × 2 B.
    page.shows("fact-per_token", "128 KiB").await?;
    page.shows("sentence", "Our own Llama").await?;
    page.shows("total-tokens", "4,812").await?;
    page.shows("read", "our-own.gguf: the header of a GGUF file")
        .await?;
    page.until("location.hash.includes('weight_format=q8_0')")
        .await?;
    // The link holds the header, so it opens the same without the file.
    page.until("location.hash.includes('gguf')").await?;
    page.client().refresh().await?;
    page.shows("sentence", "Our own Llama").await?;
    page.shows("fact-per_token", "128 KiB").await
}

async fn paste(page: &Page<'_>, text: &str) -> Result<()> {
    page.find("import-open").await?.click().await?;
    page.find("import-text").await?.send_keys(text).await?;
    page.find("import-use").await?.click().await?;
    Ok(())
}

pub(crate) async fn logs_pasted(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    paste(page, VLLM).await?;
    page.shows("read", "pasted text: a log of vLLM").await?;
    page.shows("sentence", "Qwen3 8B").await?;
    page.shows("fact-per_token", "144 KiB").await?;
    page.shows("comparison", "2 of 3 printed figures agree")
        .await?;
    page.shows("comparison", "136,080").await?;
    page.shows("comparison", "reserves 18.69 GiB").await?;
    page.shows(
        "engine-lines",
        "Maximum concurrency for 40,960 tokens per request: 3.32x",
    )
    .await?;
    // It stays while the reader goes on, and follows.
    page.retype("field-thinking_tokens", "16000").await?;
    page.shows("total-tokens", "16,812").await?;
    page.shows("comparison", "2 of 3 printed figures agree")
        .await?;
    page.accessible().await?;

    paste(page, LLAMA_CPP).await?;
    page.shows("read", "a log of llama.cpp").await?;
    page.shows("comparison", "8 of 8 printed figures agree")
        .await?;
    page.shows("sentence", "gpt-oss").await?;
    page.resize(390, 800).await?;
    page.until("document.documentElement.scrollWidth <= innerWidth")
        .await?;
    page.find("read-dismiss").await?.click().await?;
    page.until("!document.querySelector(\"[data-testid='read']\")")
        .await?;
    page.shows("sentence", "gpt-oss").await
}

pub(crate) async fn several_files_at_once(page: &Page<'_>) -> Result<()> {
    page.open("").await?;
    let config = xtask::root().join("tests/data/configs/meta-llama__Llama-3.1-8B.json");
    let index =
        r#"{"metadata": {"total_size": 16060522496}, "weight_map": {"a": "model.safetensors"}}"#;
    let index = file("model.safetensors.index.json", index.as_bytes())?;
    let log = VLLM
        .replace("Qwen/Qwen3-8B", "/models/our-own")
        .replace("max_seq_len=40960", "max_seq_len=8192")
        .replace("40,960 tokens", "8,192 tokens")
        .replace("136,080", "153,088")
        .replace("9.99x", "18.69x");
    let log = file("server.log", log.as_bytes())?;
    let smi = "GPU 0: NVIDIA L4 (UUID: GPU-1)\n";
    let smi = file("smi.txt", smi.as_bytes())?;
    let wrong = file("notes.txt", b"buy milk")?;
    page.drop_files("sentence", &[&log, &wrong, &smi, &index, &config])
        .await?;
    for line in [
        "meta-llama__Llama-3.1-8B.json: a model's config.json",
        "model.safetensors.index.json: the index of a model's weights",
        "server.log: a log of vLLM",
        "smi.txt: the list of GPUs that nvidia-smi prints",
        "notes.txt: the file \"notes.txt\" is not recognized",
        "the dimensions give 16060522496 in bf16",
    ] {
        page.shows("read", line).await?;
    }
    page.shows("comparison", "3 of 3 printed figures agree")
        .await?;
    page.shows("fact-per_token", "128 KiB").await?;
    page.shows("sentence", "L4").await?;
    page.until(
        "location.hash.includes('engine=vllm') && location.hash.includes('max_model_len=8192')",
    )
    .await?;
    // Two machines are no scenario: it says so, and what is shown stays.
    page.drop_files("sentence", &[&smi, &smi]).await?;
    page.shows("import-message", "was given twice").await?;
    page.shows("fact-per_token", "128 KiB").await
}
