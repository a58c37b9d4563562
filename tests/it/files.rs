//! One door for all files: what a thing is, exact weights from beside a config.json, and several things together.

use kvscope::core::import::files::{FileReader, FilesRead, join_files};
use kvscope::core::import::gguf::GgufReader;
use kvscope::core::import::recognise::{Kind, Part, ScenarioPatch, join, recognise, text_of};
use kvscope::core::import::safetensors::{SafetensorsHeader, SafetensorsReader, read_index};
use kvscope::core::import::{ImportError, lenient_json};
use kvscope::core::link::{from_fragment, to_fragment};
use kvscope::core::report::report;
use kvscope::core::scenario::{ParallelSize, Scenario};
use kvscope::core::units::Bytes;
use kvscope::view::files_read;
use kvscope::view::text::{ENGLISH, zh};

use super::gguf::writer::{File, V};
use super::languages::check_in_chinese;

/// The header of a safetensors file around this JSON.
pub(crate) fn safetensors(json: &str) -> Vec<u8> {
    [&(json.len() as u64).to_le_bytes(), json.as_bytes()].concat()
}

pub(crate) fn read_safetensors(
    bytes: &[u8],
    file_size: u64,
    slice: usize,
) -> Result<SafetensorsHeader, ImportError> {
    let mut reader = SafetensorsReader::new(file_size);
    while let Some(need) = reader.need() {
        assert!(need.length <= 1 << 20, "{need:?}");
        let from = need.offset as usize;
        let to = from
            .saturating_add((need.length as usize).min(slice))
            .min(bytes.len());
        reader.feed(bytes.get(from..to).unwrap_or_default())?;
    }
    reader.finish()
}

fn llama_config() -> String {
    let path = format!(
        "{}/tests/data/configs/meta-llama__Llama-3.1-8B.json",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).expect("it is there")
}

const INDEX: &str = r#"{"metadata": {"total_size": 16060522496}, "weight_map": {
    "lm_head.weight": "model-00004-of-00004.safetensors", "model.embed_tokens.weight": "model-00001-of-00004.safetensors"}}"#;

const VLLM_LOG: &str = "INFO 06-14 09:12:01 [core.py:69] Initializing a V1 LLM engine (v0.9.1) with config: model='/models/our-own', max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, kv_cache_dtype=fp8, quantization=None
INFO 06-14 09:12:51 [kv_cache_utils.py:715] GPU KV cache size: 136,080 tokens
";

const LLAMA_LOG: &str = "llama_context: n_ctx         = 4096
llama_kv_cache: size =  512.00 MiB (  4096 cells,  32 layers,  1/1 seqs), K (f16):  256.00 MiB, V (f16):  256.00 MiB
";

const SMI: &str =
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n";

#[test]
fn kinds() {
    let link = to_fragment(&Scenario::default());
    let address = format!("https://example.org/kv/#{link}");
    let header = safetensors(r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#);
    let (gguf, _) = File::new("llama").header();
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(SMI.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let rocm = "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\nGPU[0]\t\t: VRAM Total Memory (B): 206141652992\n";
    for (bytes, kind) in [
        (llama_config().as_bytes(), Kind::Config),
        (b"\xef\xbb\xbf  {\"model_type\": 1}", Kind::Config),
        (
            b"LlamaConfig {\n  \"model_type\": \"llama\"\n}",
            Kind::Config,
        ),
        (INDEX.as_bytes(), Kind::SafetensorsIndex),
        (&header, Kind::Safetensors),
        (&gguf, Kind::Gguf),
        (VLLM_LOG.as_bytes(), Kind::Log("vllm")),
        (LLAMA_LOG.as_bytes(), Kind::Log("llama.cpp")),
        (SMI.as_bytes(), Kind::NvidiaSmi),
        (&wide, Kind::NvidiaSmi),
        (rocm.as_bytes(), Kind::RocmSmi),
        (link.as_bytes(), Kind::Link),
        (address.as_bytes(), Kind::Link),
        (b"#thinking_tokens=8000", Kind::Link),
        (b"https://example.org/#top", Kind::Unknown),
        (b"# A model\n\nwith v=1 in its text", Kind::Unknown),
        (b"<!DOCTYPE html><title>v=1</title>", Kind::Unknown),
        (b"", Kind::Unknown),
        (b"\x00\x01\x02\xff", Kind::Unknown),
    ] {
        assert_eq!(
            recognise(bytes),
            kind,
            "{:?}",
            text_of(bytes).chars().take(60).collect::<String>()
        );
    }
}

#[test]
fn indices() {
    let index = read_index(INDEX).expect("it is an index");
    assert_eq!(
        (index.total_size, index.n_tensors, index.n_files),
        (Some(Bytes(16_060_522_496)), 2, 2)
    );
    for (metadata, expected) in [
        (
            r#""metadata": {"total_size": 1.5e10, "total_parameters": 1}, "#,
            Some(Bytes(15_000_000_000)),
        ),
        (r#""metadata": {"total_size": "24"}, "#, Some(Bytes(24))),
        (r#""metadata": {"total_size": 0}, "#, None),
        (r#""metadata": {"total_size": -1}, "#, None),
        (r#""metadata": null, "#, None),
        ("", None),
    ] {
        let index = read_index(&format!(r#"{{{metadata}"weight_map": {{"a": "b"}}}}"#));
        assert_eq!(
            index.map(|index| index.total_size),
            Ok(expected),
            "{metadata}"
        );
    }
    for (text, expected) in [
        (
            "{}",
            "weight_map is missing, which names the file of each tensor; pick the file named model.safetensors.index.json",
        ),
        (
            r#"{"weight_map": {"a": 1}}"#,
            "the index is not JSON as it should be: invalid type: integer `1`, expected a string at line 1 column 22; download model.safetensors.index.json again",
        ),
        (
            r#"{"weight_map": {"a": "b""#,
            "the index is not JSON as it should be: EOF while parsing an object at line 1 column 24; download model.safetensors.index.json again",
        ),
    ] {
        assert_eq!(
            read_index(text).expect_err("it is no index").to_string(),
            expected
        );
    }
}

#[test]
fn safetensors_headers() {
    let json = r#"{"__metadata__": {"format": "pt"},
        "a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
        "b": {"dtype": "F8_E4M3", "shape": [4, 4], "data_offsets": [12, 28]},
        "c": {"dtype": "F4", "shape": [4, 4], "data_offsets": [28, 36]},
        "d": {"dtype": "F32", "shape": [], "data_offsets": [36, 40]},
        "e": {"dtype": "NEW", "shape": [7], "data_offsets": [40, 47]}}"#;
    let bytes = safetensors(json);
    let size = bytes.len() as u64 + 47;
    for slice in [1, 5, usize::MAX] {
        let header = read_safetensors(&bytes, size, slice).expect("it is whole");
        assert_eq!(
            (header.bytes, header.n_tensors, header.missing),
            (Bytes(47), 5, Bytes(0))
        );
        let by_dtype: Vec<_> = header.by_dtype.into_iter().collect();
        let expected = [
            ("BF16", 12),
            ("F32", 4),
            ("F4", 8),
            ("F8_E4M3", 16),
            ("other", 7),
        ];
        assert_eq!(
            by_dtype,
            expected.map(|(dtype, bytes)| (dtype, Bytes(bytes)))
        );
    }
    let cut = read_safetensors(&bytes, size - 10, usize::MAX).expect("its header is whole");
    assert_eq!(cut.missing, Bytes(10));

    let one = |entry: &str| safetensors(&format!(r#"{{"a": {entry}}}"#));
    let huge = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    for (bytes, expected) in [
        (
            one(r#"{"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 13]}"#),
            "tensor \"a\" of type \"BF16\" and its shape does not fill the bytes 0 to 13; the file is damaged, download it again",
        ),
        (
            one(r#"{"dtype": "F16", "shape": [18446744073709551615, 3], "data_offsets": [0, 12]}"#),
            "tensor \"a\" of type \"F16\" and its shape does not fill the bytes 0 to 12; the file is damaged, download it again",
        ),
        (
            one(r#"{"dtype": "NEW", "shape": [2], "data_offsets": [12, 0]}"#),
            "tensor \"a\" of type \"NEW\" and its shape does not fill the bytes 12 to 0; the file is damaged, download it again",
        ),
        (
            one(r#"{"dtype": "BF16"}"#),
            "the header is not JSON as it should be: missing field `shape` at line 1 column 23; download the file again",
        ),
        (
            huge,
            "the file says that its header has 18446744073709551615 bytes, and at most 67108864 are read; it is damaged or no safetensors file, download it again",
        ),
        (
            one("{}")[..12].to_vec(),
            "the file ends after 12 bytes, inside its header; download it again",
        ),
        (
            vec![2, 0, 0],
            "the file ends after 3 bytes, inside its header; download it again",
        ),
    ] {
        let err =
            read_safetensors(&bytes, bytes.len() as u64, usize::MAX).expect_err("it is broken");
        assert_eq!(err.to_string(), expected);
        check_in_chinese(err.message());
    }
}

#[track_caller]
fn joined(parts: Vec<Part>) -> (Scenario, Vec<String>, ScenarioPatch) {
    let patch = join(parts).unwrap_or_else(|err| panic!("{err}"));
    let mut scenario = Scenario::default();
    let (errors, notes) = patch.apply(&mut scenario);
    assert!(errors.is_empty(), "{errors:?}");
    let notes = notes
        .into_iter()
        .inspect(|note| check_in_chinese(&note.message))
        .map(|note| note.message.to_string())
        .collect();
    (scenario, notes, patch)
}

#[track_caller]
fn part(text: &str) -> Part {
    Part::read("", text).unwrap_or_else(|err| panic!("{err}"))
}

#[test]
fn config_index_log_and_machine() {
    let parts = vec![
        part(VLLM_LOG),
        part(INDEX),
        part(SMI),
        part(&llama_config()),
    ];
    let (scenario, notes, patch) = joined(parts);
    assert_eq!(scenario.model.config.layers.len(), 32);
    assert_eq!(scenario.weight_format.id, "bf16");
    // The log's two GPUs, its cache and its length; the machine's accelerator.
    assert_eq!(scenario.tensor_parallel_size, ParallelSize::Fixed(2));
    assert_eq!(
        (scenario.gpu.id, scenario.kv_cache_dtype.k.id),
        ("h100-sxm-80gb", "fp8")
    );
    assert_eq!(
        scenario.engine.max_model_len.map(|tokens| tokens.0),
        Some(8192)
    );
    assert_eq!(
        report(&scenario).hbm.weight_bytes,
        Bytes(16_060_522_496 / 2)
    );
    assert_eq!(patch.facts().len(), 1);
    // 8,030,261,248 parameters of 2 bytes: exactly what the index says.
    let exact = "model.safetensors.index.json gives 16060522496 bytes of weights, and the dimensions give 16060522496 in bf16; those of the file are taken";
    assert!(notes.iter().any(|note| note == exact), "{notes:#?}");
    assert!(
        notes
            .iter()
            .all(|note| !note.contains("drop its config.json")),
        "{notes:#?}"
    );
}

#[test]
fn weights_beside_the_counted() {
    let index = |bytes: u64| {
        format!(r#"{{"metadata": {{"total_size": {bytes}}}, "weight_map": {{"a": "b"}}}}"#)
    };
    for (bytes, stored, expected) in [
        (
            17_000_000_000,
            Some(17_000_000_000),
            "model.safetensors.index.json gives 17000000000 bytes of weights, and the dimensions give 16060522496 in bf16, 5.8 % more; an encoder of pictures, draft layers or parts left unquantized may be the reason; those of the file are taken",
        ),
        (
            15_000_000_000,
            Some(15_000_000_000),
            "model.safetensors.index.json gives 15000000000 bytes of weights, and the dimensions give 16060522496 in bf16, 6.6 % less; a part may be stored in fewer bits than config.json says; those of the file are taken",
        ),
        (
            140_000_000_000,
            None,
            "model.safetensors.index.json gives 140000000000 bytes of weights, and the dimensions give 32121044992 in float32; they are not of one model, and the counted ones stay",
        ),
        (
            32_121_044_992,
            Some(32_121_044_992),
            "model.safetensors.index.json gives 32121044992 bytes of weights, and the dimensions give 32121044992 in float32; those of the file are taken",
        ),
    ] {
        let (scenario, notes, _) = joined(vec![part(&llama_config()), part(&index(bytes))]);
        let own = scenario.model.config.stored.and_then(|stored| stored.bytes);
        assert_eq!(own, stored.map(Bytes), "{bytes}");
        assert!(notes.iter().any(|note| note == expected), "{notes:#?}");
    }
    // An index that comes later belongs to the model that is there.
    let mut scenario = Scenario::default();
    let (errors, notes) = join(vec![part(&index(141_107_412_992))])
        .expect("one index")
        .apply(&mut scenario);
    assert_eq!(errors, []);
    assert_eq!(
        notes[0].message.to_string(),
        "model.safetensors.index.json gives 141107412992 bytes of weights, and the dimensions give 141107412992 in bf16; those of the file are taken"
    );
}

#[test]
fn shards() {
    let shard = |number: u32| {
        let json = r#"{"a": {"dtype": "BF16", "shape": [2007565312, 1], "data_offsets": [0, 4015130624]}}"#;
        let bytes = safetensors(json);
        let header = read_safetensors(&bytes, bytes.len() as u64 + 4_015_130_624, usize::MAX);
        let name = format!("model-{number:05}-of-00004.safetensors");
        Part::Safetensors(name, header.expect("it is whole"))
    };
    let config = || part(&llama_config());
    let (scenario, ..) = joined(vec![config(), shard(1), shard(2), shard(3), shard(4)]);
    let stored = |scenario: &Scenario| scenario.model.config.stored.and_then(|stored| stored.bytes);
    assert_eq!(stored(&scenario), Some(Bytes(16_060_522_496)));
    let (scenario, notes, _) = joined(vec![config(), shard(1), shard(4)]);
    assert_eq!(stored(&scenario), None);
    let expected = "2 of 4 safetensors files of the model were read, so that the bytes of all weights are not known; give all of them, or model.safetensors.index.json";
    assert!(notes.iter().any(|note| note == expected), "{notes:#?}");
}

fn gguf_file() -> File {
    File::new("deepseek2")
        .keys(
            "deepseek2",
            "block_count=27 context_length=163840 embedding_length=2048 attention.head_count=16 attention.head_count_kv=16 \
             attention.key_length=192 attention.value_length=128 attention.kv_lora_rank=512 rope.dimension_count=64",
        )
        .key("general.file_type", V::U32(7))
        .tensor("token_embd.weight", &[2048, 102_400], 8, 2048 * 102_400 / 32 * 34)
}

fn gguf_part(name: &str) -> Part {
    let (bytes, size) = gguf_file().header();
    let mut reader = GgufReader::new(size);
    while let Some(need) = reader.need() {
        let from = need.offset as usize;
        reader
            .feed(&bytes[from..(from + need.length as usize).min(bytes.len())])
            .expect("it is whole");
    }
    Part::Gguf(
        name.to_owned(),
        Box::new(reader.finish().expect("it is whole")),
    )
}

#[test]
fn gguf_beside_others() {
    let (scenario, notes, _) = joined(vec![
        part(&llama_config()),
        gguf_part("DeepSeek-V2-Lite-Q8_0.gguf"),
        part(LLAMA_LOG),
    ]);
    assert_eq!(scenario.model.config.name, "DeepSeek-V2-Lite-Q8_0");
    assert_eq!(scenario.model.config.model_type, "deepseek2");
    assert_eq!(scenario.weight_format.id, "q8_0");
    assert!(
        !scenario.engine.mla,
        "the file has no keys of latent attention"
    );
    assert_eq!(
        notes,
        ["the GGUF file says all that config.json does; config.json was not used"]
    );
    // Source: a posted log of this model in Ollama 0.32.13: 8192 cells, K 1296 MiB, V 864 MiB.
    let mut scenario = scenario;
    for (key, value) in [("n_ctx", "8192"), ("n_seq_max", "1")] {
        scenario.set(key, value).expect("it is a value");
    }
    let cache = &report(&scenario).engine.caches[0];
    assert_eq!(
        (cache.k_bytes, cache.v_bytes),
        (Bytes::from_mib(1296), Bytes::from_mib(864))
    );
}

#[test]
fn links_are_where_the_others_start() {
    let mut from = Scenario::default();
    from.set("thinking_tokens", "9000").expect("it is a value");
    let link = format!("https://example.org/#{}&embed=hbm", to_fragment(&from));
    let (scenario, ..) = joined(vec![part(SMI), part(&link)]);
    assert_eq!(scenario.thinking_tokens.0, 9000);
    assert_eq!(scenario.tensor_parallel_size, ParallelSize::Fixed(2));
}

#[test]
fn what_does_not_go_together() {
    let message =
        |res: Result<ScenarioPatch, ImportError>| res.expect_err("it cannot be").to_string();
    for (parts, what) in [
        (
            vec![part(&llama_config()), part(&llama_config())],
            "config.json",
        ),
        (vec![part(VLLM_LOG), part(LLAMA_LOG)], "log"),
        (vec![part(INDEX), part(INDEX)], "index of weights"),
        (vec![part(SMI), part(SMI)], "list of GPUs"),
    ] {
        assert_eq!(
            message(join(parts)),
            format!("a {what} was given twice, and one of a kind is read at a time; give only one")
        );
    }
    assert_eq!(
        message(join(vec![gguf_part("a.gguf"), gguf_part("b.gguf")])),
        "the files are not parts of one model: part 1 of 1 stands beside part 1 of 1; pick the parts of one model"
    );
    for (name, text, expected) in [
        (
            "notes.txt",
            "buy milk",
            "the file \"notes.txt\" is not recognized; a config.json, model.safetensors.index.json, a GGUF or safetensors file, the command that starts a server, what it prints then, what nvidia-smi or rocm-smi prints, and a link to a scenario are",
        ),
        (
            "",
            "<html>",
            "this is a web page, not the file it shows; use its download link, or copy from the first { to the last }",
        ),
    ] {
        assert_eq!(
            Part::read(name, text)
                .expect_err("it is nothing")
                .to_string(),
            expected
        );
    }
    let text = llama_config();
    let value = lenient_json::parse(&text).expect("it is JSON");
    assert!(
        Part::read("config.json", &value.to_string()).is_ok(),
        "a file by its own name"
    );
}

/// A file that is given by slices, of which at most `slice` bytes come at once; what is behind `bytes` is zeros.
fn file(name: &str, bytes: &[u8], size: u64, slice: usize) -> FileReader {
    let mut reader = FileReader::new(name, size);
    while let Some(need) = reader.need() {
        assert!(0 < need.length && need.length <= 1 << 20, "{need:?}");
        let length = (need.length as usize).min(slice);
        let from = (need.offset as usize).min(bytes.len());
        let mut piece = bytes[from..(from + length).min(bytes.len())].to_vec();
        piece.resize(length, 0);
        reader.feed(&piece);
    }
    reader
}

fn text_file(name: &str, text: &str) -> FileReader {
    file(name, text.as_bytes(), text.len() as u64, usize::MAX)
}

#[test]
fn any_file_by_slices() {
    let safetensors =
        safetensors(r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#);
    let (gguf, gguf_size) = gguf_file().header();
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(VLLM_LOG.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let config = llama_config();
    for (name, bytes, size, kind) in [
        ("config.json", config.as_bytes(), 0, Kind::Config),
        ("index.json", INDEX.as_bytes(), 0, Kind::SafetensorsIndex),
        ("a.safetensors", &safetensors, 4, Kind::Safetensors),
        // A hundred gigabytes that nobody asks for.
        ("a.gguf", &gguf, 100 << 30, Kind::Gguf),
        ("log.txt", &wide, 0, Kind::Log("vllm")),
        ("", SMI.as_bytes(), 0, Kind::NvidiaSmi),
    ] {
        let size = if kind == Kind::Gguf {
            gguf_size + size
        } else {
            bytes.len() as u64 + size
        };
        let reader = file(name, bytes, size, usize::MAX);
        assert_eq!((reader.name(), reader.kind()), (name, kind));
        assert!(reader.finish().is_ok(), "{name}");
    }
    // Slices that are shorter than asked for, once the first has said what it is.
    let mut reader = FileReader::new("log.txt", VLLM_LOG.len() as u64);
    reader.feed(&VLLM_LOG.as_bytes()[..200]);
    while let Some(need) = reader.need() {
        let from = need.offset as usize;
        reader.feed(&VLLM_LOG.as_bytes()[from..(from + 7).min(VLLM_LOG.len())]);
    }
    assert_eq!(reader.finish().map(|read| read == part(VLLM_LOG)), Ok(true));
    for (name, bytes, size, expected) in [
        (
            "log.txt",
            VLLM_LOG.as_bytes(),
            VLLM_LOG.len() as u64 + 1,
            "the file has become shorter while it was read; give it again",
        ),
        (
            "empty",
            b"",
            0,
            "the file \"empty\" is not recognized; a config.json, model.safetensors.index.json, a GGUF or safetensors file, the command that starts a server, what it prints then, what nvidia-smi or rocm-smi prints, and a link to a scenario are",
        ),
        (
            "cut.gguf",
            b"GGUF\x03\0\0\0",
            8,
            "the file ends after 8 bytes, inside its header; download it again",
        ),
    ] {
        let mut reader = FileReader::new(name, size);
        while let Some(need) = reader.need() {
            let from = (need.offset as usize).min(bytes.len());
            reader.feed(&bytes[from..]);
        }
        assert_eq!(
            reader.finish().expect_err("it is broken").to_string(),
            expected
        );
    }
    // A film of 100 GB: its first slice says that it is nothing for us.
    let reader = file("film.mkv", &[0x1a; 100], 100 << 30, usize::MAX);
    assert_eq!(reader.kind(), Kind::Unknown);
    // A log without end is read up to a limit, and says so.
    let read = join_files(
        vec![file("log", VLLM_LOG.as_bytes(), 1 << 40, usize::MAX)],
        &Scenario::default(),
    );
    assert!(
        read.notes.iter().any(|note| note.code == "cut"),
        "it was cut"
    );
}

#[test]
fn files_together() {
    let (gguf, size) = gguf_file().header();
    let read = join_files(
        vec![
            text_file("notes.txt", "buy milk"),
            file("DeepSeek-V2-Lite-Q8_0.gguf", &gguf, size, usize::MAX),
            text_file("server.log", LLAMA_LOG),
            text_file("", SMI),
            FileReader::failed("gone.json", "the browser refused it".to_owned()),
        ],
        &Scenario::default(),
    );
    let files: Vec<_> = read
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.kind.id(), file.engine))
        .collect();
    assert_eq!(
        files,
        [
            ("notes.txt", "unknown", None),
            ("DeepSeek-V2-Lite-Q8_0.gguf", "gguf", None),
            ("server.log", "log", Some("llama.cpp")),
            ("", "nvidia_smi", None),
            ("gone.json", "unknown", None),
        ]
    );
    let errors: Vec<bool> = read.files.iter().map(|file| file.error.is_some()).collect();
    assert_eq!(errors, [true, false, false, false, true]);
    // In words.
    let lines = files_read::lines(&read, &ENGLISH);
    let shown: Vec<(&str, bool)> = lines
        .iter()
        .map(|line| (line.text.as_str(), line.is_bad))
        .collect();
    let wrong = "notes.txt: the file \"notes.txt\" is not recognized; a config.json, model.safetensors.index.json, a GGUF or safetensors file, the command that starts a server, what it prints then, what nvidia-smi or rocm-smi prints, and a link to a scenario are";
    assert_eq!(
        shown,
        [
            (wrong, true),
            (
                "DeepSeek-V2-Lite-Q8_0.gguf: the header of a GGUF file",
                false
            ),
            ("server.log: a log of llama.cpp", false),
            (
                "pasted text: the list of GPUs that nvidia-smi prints",
                false
            ),
            ("gone.json: the browser refused it", true),
            ("2 × NVIDIA H100 80GB HBM3", false),
            (
                "What they decide of the scenario: gpu = h100-sxm-80gb, tensor_parallel_size = 2, n_ctx = 4096, kv_cache_dtype = float16, n_seq_max = 1, kv_unified = false, version = 2025-12, mla = false, weight_format = q8_0.",
                false
            ),
        ]
    );
    let scenario = read.scenario.expect("three say something");
    assert_eq!(scenario.gpu.id, "h100-sxm-80gb");
    assert_eq!(scenario.weight_format.id, "q8_0");
    assert_eq!(read.comparison.len(), 4);
    assert_eq!(read.devices.len(), 2);
    // The whole scenario goes through a link and through JSON.
    let link = from_fragment(&to_fragment(&scenario), &[]);
    assert_eq!(
        (&link.scenario, link.errors.as_slice()),
        (&scenario, &[][..])
    );
    let (again, errors) = Scenario::from_json(&scenario.to_json());
    assert_eq!((&again, errors.as_slice()), (&scenario, &[][..]));

    let wrong = join_files(vec![text_file("a", "buy milk")], &Scenario::default());
    assert_eq!(
        files_read::refusal(&wrong, &ENGLISH),
        "the file \"a\" is not recognized; a config.json, model.safetensors.index.json, a GGUF or safetensors file, the command that starts a server, what it prints then, what nvidia-smi or rocm-smi prints, and a link to a scenario are. The scenario stays as it was."
    );
    assert!(
        wrong.scenario.is_none() && wrong.error.is_none(),
        "{wrong:?}"
    );
    let FilesRead {
        scenario, error, ..
    } = join_files(
        vec![text_file("a", SMI), text_file("b", SMI)],
        &Scenario::default(),
    );
    assert!(scenario.is_none(), "two machines are no scenario");
    let error = error.expect("it says why");
    assert_eq!(
        error.to_string(),
        "a list of GPUs was given twice, and one of a kind is read at a time; give only one"
    );
    check_in_chinese(&error);
    let gone = join_files(vec![FileReader::unreadable("a")], &Scenario::default());
    assert_eq!(
        files_read::refusal(&gone, &ENGLISH),
        "the file could not be read; the browser refused it, or it is gone. The scenario stays as it was."
    );
    for read in [&wrong, &gone] {
        let error = read.files[0].error.as_ref().expect("it says why");
        check_in_chinese(error);
        assert!(
            files_read::refusal(read, &zh::MESSAGES).starts_with(&zh::MESSAGES.message(error)),
            "{read:?}"
        );
    }
}

#[test]
fn exact_weights_go_through_links() {
    let index = r#"{"metadata": {"total_size": 141000000000}, "weight_map": {"a": "b"}}"#;
    let configs: [&[Part]; 2] = [&[], &[part(&llama_config())]];
    for parts in configs {
        let is_preset = parts.is_empty();
        let index = if is_preset { index } else { INDEX };
        let (scenario, ..) = joined([parts, &[part(index)]].concat());
        let stored = scenario.model.config.stored.and_then(|stored| stored.bytes);
        let expected = if is_preset {
            141_000_000_000
        } else {
            16_060_522_496
        };
        assert_eq!(stored, Some(Bytes(expected)));
        let link = from_fragment(&to_fragment(&scenario), &[]);
        assert_eq!(
            (&link.scenario, link.errors.as_slice()),
            (&scenario, &[][..])
        );
    }
    let model = r#"{"preset": "llama-3.1-70b", "weight_bytes": 17}"#;
    let mut scenario = Scenario::default();
    let error = scenario.set("model", model).expect_err("it is too little");
    assert_eq!(error.key, "model");
    assert_eq!(scenario, Scenario::default());
}
