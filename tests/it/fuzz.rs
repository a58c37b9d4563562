//! Broken input, very much of it: configurations, GGUF headers, logs, links, traces and files of any kind. Whatever they are, there
//! is no panic, no hang and no memory without bound.
//!
//! `KVSCOPE_FUZZ` says how many executions each target gets; the README has the command for a million. The inputs follow
//! from their number alone, so that a failure can be run again: `KVSCOPE_FUZZ_FROM` is the first.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use kvscope::core::import::files::{FileReader, join_files};
use kvscope::core::import::gguf::{GgufHeader, import};
use kvscope::core::import::{hf_config, lenient_json, log};
use kvscope::core::link::{from_fragment, to_fragment};
use kvscope::core::report::report;
use kvscope::core::scenario::{ModelChoice, ModelSource, Scenario};
use serde_json::Value;

use super::gguf::writer::{File, V};
use super::gguf::{SAME, read};
use super::serve::traces::is_a_trace_or_an_error;

/// Executions of each target unless the variable says otherwise: few, for every day.
const EVERY_DAY: u64 = 300;
/// An input that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(60);
/// Memory of the whole process that is without bound.
const MAX_MEMORY_KIB: u64 = 2 << 20;

/// Random numbers of SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).expect("it is below a usize")
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn is_one_of(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Numbers at which something ends.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    7,
    16,
    255,
    256,
    1000,
    65_535,
    1 << 20,
    u32::MAX as u64,
    1 << 32,
    (1 << 53) + 1,
    1 << 60,
    i64::MAX as u64,
    u64::MAX,
];

/// Words that mean something to one of the readers.
const WORDS: &[&str] = &[
    "null",
    "true",
    "-1",
    "1e308",
    "1e999",
    "0.5",
    "NaN",
    "[]",
    "{}",
    "\"\"",
    "[[[[",
    "{\"a\":",
    "\\u0000",
    "\u{feff}",
    "\u{1b}[0m",
    "é",
    "\n",
    "=",
    "&",
    "%",
    "%ff",
    "x",
    ",",
    ":",
    " GiB",
    " MiB",
    " tokens",
    "GPU KV cache size: ",
    "model=",
    "engine=",
    "vllm",
    "llama.cpp",
    "sglang",
    "{\"dims\":{}}",
    "\"layer_types\":",
    "\"num_hidden_layers\":",
];

/// Pieces of `bases` put together, cut, doubled and overwritten.
fn mutated(bases: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut res = random.pick(bases).clone();
    for _ in 0..=random.below(4) {
        let (a, b) = (random.below(res.len() + 1), random.below(res.len() + 1));
        // Mostly short ranges, so that the rest keeps its meaning.
        let to = if random.is_one_of(4) {
            a.max(b)
        } else {
            (a.min(b) + random.below(24)).min(res.len())
        };
        let range = a.min(b)..to.max(a.min(b));
        let piece: Vec<u8> = match random.below(8) {
            0 => Vec::new(),
            1 => res[range.clone()].repeat(2 + random.below(6)),
            2 => random.pick(WORDS).as_bytes().to_vec(),
            3 => random.pick(NUMBERS).to_string().into_bytes(),
            4 => random.pick(NUMBERS).to_le_bytes().to_vec(),
            5 => vec![u8::try_from(random.below(256)).expect("a byte")],
            6 => {
                let other = random.pick(bases);
                let (a, b) = (random.below(other.len() + 1), random.below(other.len() + 1));
                other[a.min(b)..a.max(b)].to_vec()
            }
            _ => res[range.clone()]
                .iter()
                .map(|byte| byte ^ 1 << random.below(8))
                .collect(),
        };
        res.splice(range, piece);
        res.truncate(1 << 16);
    }
    res
}

/// Another value somewhere in a JSON value.
fn change(value: &mut Value, random: &mut Random) {
    let inner: Vec<&mut Value> = match value {
        Value::Object(object) if !random.is_one_of(8) => object.values_mut().collect(),
        Value::Array(list) if !random.is_one_of(4) => list.iter_mut().collect(),
        _ => Vec::new(),
    };
    let n = inner.len();
    if let Some(inner) = inner.into_iter().nth(random.below(n)) {
        return change(inner, random);
    }
    *value = match random.below(9) {
        0 => Value::Null,
        1 => Value::Bool(random.is_one_of(2)),
        2 => Value::from(-1),
        3 => Value::from(0.5),
        4 => Value::from("full_attention"),
        5 => Value::Array(vec![value.clone(); random.below(5)]),
        6 => Value::Object([("a".to_owned(), value.clone())].into_iter().collect()),
        _ => Value::from(*random.pick(NUMBERS)),
    };
}

/// What a target makes of one input: whether it was understood.
type Target<'a> = &'a mut dyn FnMut(&mut Random) -> (Vec<u8>, bool);

/// Executes a target as often as the variables say, and prints what came of it.
fn fuzz(name: &str, run: Target<'_>) {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => default,
    };
    let (n, from) = (
        number("KVSCOPE_FUZZ", EVERY_DAY),
        number("KVSCOPE_FUZZ_FROM", 0),
    );
    let (current, is_done) = (AtomicU64::new(from), AtomicBool::new(false));
    let start = Instant::now();
    let (mut n_understood, mut slowest, mut longest) = (0_u64, Duration::ZERO, 0);
    thread::scope(|scope| {
        scope.spawn(|| watch(name, &current, &is_done));
        for idx in from..from + n {
            current.store(idx, Ordering::Relaxed);
            let mut random = Random(idx.wrapping_mul(0xd134_2543_de82_ef95));
            let begin = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut random)));
            slowest = slowest.max(begin.elapsed());
            match outcome {
                Ok((input, is_understood)) => {
                    n_understood += u64::from(is_understood);
                    longest = longest.max(input.len());
                }
                Err(panic) => {
                    is_done.store(true, Ordering::Relaxed);
                    eprintln!(
                        "{name}: input {idx} panics; KVSCOPE_FUZZ_FROM={idx} KVSCOPE_FUZZ=1 runs it again"
                    );
                    resume_unwind(panic);
                }
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let memory = peak_memory_kib();
    println!(
        "{name}: {n} executions in {:.1} s, {n_understood} understood, longest input {longest} bytes, slowest {slowest:.1?}, peak memory {} MiB",
        start.elapsed().as_secs_f64(),
        memory / 1024
    );
    assert!(slowest < HANG, "{name}: an input takes {slowest:?}");
    assert!(memory < MAX_MEMORY_KIB, "{name}: {memory} KiB of memory");
}

/// Ends the process when one input goes on for too long: nothing else can stop it.
fn watch(name: &str, current: &AtomicU64, is_done: &AtomicBool) {
    let (mut known, mut since) = (u64::MAX, Instant::now());
    while !is_done.load(Ordering::Relaxed) {
        let idx = current.load(Ordering::Relaxed);
        if idx != known {
            (known, since) = (idx, Instant::now());
        } else if HANG < since.elapsed() {
            eprintln!("{name}: input {idx} hangs");
            std::process::abort();
        }
        thread::park_timeout(Duration::from_millis(50));
    }
}

/// The most memory that the process had, where the system says so; else zero.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// A report of this model exists, with any engine.
fn with_model(choice: ModelChoice, random: &mut Random) {
    let mut scenario = Scenario {
        model: choice,
        ..Scenario::default()
    };
    let engine = *random.pick(&["exact", "vllm", "sglang", "tensorrt-llm", "llama.cpp"]);
    scenario.set("engine", engine).expect("it is an engine");
    report(&scenario);
}

fn configs() -> Vec<String> {
    let folder = format!("{}/tests/data/configs", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    let texts = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).expect("it is a text"));
    // Long ones are mostly lists of names.
    texts.filter(|text| text.len() < 8 << 10).collect()
}

#[test]
fn configurations() {
    let texts = configs();
    let values: Vec<Value> = texts
        .iter()
        .map(|text| lenient_json::parse(text).expect("it is JSON"))
        .collect();
    let bases: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    fuzz("configurations", &mut |random| {
        let input = if random.is_one_of(2) {
            mutated(&bases, random)
        } else {
            let mut value = random.pick(&values).clone();
            for _ in 0..=random.below(4) {
                change(&mut value, random);
            }
            value.to_string().into_bytes()
        };
        let model = hf_config::import(&String::from_utf8_lossy(&input), None);
        let is_understood = model.is_ok();
        if let Ok(config) = model {
            let source = ModelSource::Dims("{}".into());
            with_model(
                ModelChoice {
                    source,
                    config: config.into(),
                },
                random,
            );
        }
        (input, is_understood)
    });
}

/// A header with other numbers, lists and tensors than its model has.
fn gguf_file(random: &mut Random) -> File {
    let (_, arch, keys) = *random.pick(SAME);
    let mut file = File::new(arch).keys(arch, keys);
    file.is_big = random.is_one_of(8);
    file.version = if random.is_one_of(4) { 2 } else { 3 };
    for _ in 0..random.below(4) {
        let at = random.below(file.keys.len());
        let number = *random.pick(NUMBERS);
        file.keys[at].1 = match random.below(8) {
            0 => V::U64(number),
            1 => V::I64(number.cast_signed()),
            2 => V::F64(number as f64 + 0.5),
            3 => V::Flag(random.is_one_of(2)),
            4 => V::Text("shared".to_owned()),
            5 => V::List(
                4,
                vec![V::U32(u32::try_from(number % 9).expect("it is small")); random.below(70)],
            ),
            6 => V::List(
                9,
                vec![V::List(8, vec![V::Text("a".to_owned())]); random.below(3)],
            ),
            _ => V::U32(u32::try_from(number).unwrap_or(u32::MAX)),
        };
    }
    let names = [
        "token_embd.weight",
        "output.weight",
        "blk.0.attn_q.weight",
        "blk.7.ffn_up_exps.weight",
        "blk.999999.nextn.x",
    ];
    let is_large = random.is_one_of(4);
    for _ in 0..random.below(6) {
        let dims: Vec<u64> = (0..random.below(5))
            .map(|_| *random.pick(if is_large { NUMBERS } else { &NUMBERS[..8] }))
            .collect();
        let kind = u32::try_from(random.below(160)).expect("it is small");
        let name = *random.pick(&names);
        file = file.tensor(name, &dims, kind, random.pick(NUMBERS) % (1 << 40));
    }
    if random.is_one_of(8) {
        file.counts = Some((*random.pick(NUMBERS), *random.pick(NUMBERS)));
    }
    file
}

#[test]
fn gguf_headers() {
    fuzz("gguf headers", &mut |random| {
        let (header, size) = gguf_file(random).header();
        let input = if random.is_one_of(3) {
            mutated(&[header], random)
        } else {
            header
        };
        let size = if random.is_one_of(4) {
            input.len() as u64
        } else {
            size.max(input.len() as u64)
        };
        let slice = if random.is_one_of(4) {
            1 + random.below(200)
        } else {
            usize::MAX
        };
        let Ok(header) = read(&input, size, slice) else {
            return (input, false);
        };
        let model = import(&header, "a.gguf");
        let kept = GgufHeader::from_json(&header.to_json());
        if let (Ok(kept), Ok(model)) = (&kept, &model) {
            assert_eq!(
                import(kept, "a.gguf").as_ref(),
                Ok(model),
                "what a link keeps is the same"
            );
        }
        let is_understood = model.is_ok();
        if let Ok((choice, settings)) = ModelChoice::from_gguf(&header, "a.gguf") {
            let mut scenario = Scenario::default();
            for setting in settings {
                scenario
                    .set(setting.key, &setting.value)
                    .expect("it is a value of the field");
            }
            with_model(choice, random);
        }
        (input, is_understood)
    });
}

/// The texts of the tests of logs, which are pieces of posted ones.
fn log_lines() -> Vec<Vec<u8>> {
    let source = include_str!("log.rs")
        .replace("\\u{1b}", "\u{1b}")
        .replace("\\\"", "\"");
    let lines: Vec<&str> = source
        .lines()
        .filter(|line| line.bytes().any(|byte| byte.is_ascii_digit()) && 20 < line.len())
        .collect();
    // Pieces of one log together, as they are printed.
    lines
        .chunks(6)
        .map(|lines| lines.join("\n").into_bytes())
        .collect()
}

#[test]
fn logs() {
    let bases = log_lines();
    fuzz("logs", &mut |random| {
        let input = mutated(&bases, random);
        let reading = log::read(&String::from_utf8_lossy(&input));
        let mut scenario = Scenario::default();
        reading.apply(&mut scenario);
        let rows = log::compare(&reading.facts, &scenario);
        assert_eq!(rows.len(), reading.facts.len(), "a row for each figure");
        (input, reading.engine.is_some())
    });
}

#[test]
fn links() {
    let mut bases: Vec<Vec<u8>> = include_str!("../data/links.txt")
        .lines()
        .map(|line| line.as_bytes().to_vec())
        .collect();
    bases.push(br#"v=1&model={"config":{"model_type":"llama","num_hidden_layers":2,"num_attention_heads":8,"hidden_size":64}}"#.to_vec());
    bases.push(
        br#"model={"preset":"llama-3.1-70b","weight_bytes":141107412992}&engine=vllm"#.to_vec(),
    );
    fuzz("links", &mut |random| {
        let input = mutated(&bases, random);
        let link = from_fragment(&String::from_utf8_lossy(&input), &["embed"]);
        report(&link.scenario);
        let again = from_fragment(&to_fragment(&link.scenario), &[]);
        assert_eq!(
            again.scenario, link.scenario,
            "what was read can be written"
        );
        (input, link.errors.is_empty())
    });
}

#[test]
fn files_of_any_kind() {
    let index = br#"{"metadata": {"total_size": 24}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    let smi = b"| NVIDIA-SMI 570 |\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n|   0  NVIDIA L4   On | 00000000:18:00.0 Off | 0 |\n| N/A | 1024MiB / 81559MiB | 0% |\nGPU[0]\t: VRAM Total Memory (B): 206141652992\n";
    let mut bases = vec![
        index.to_vec(),
        smi.to_vec(),
        super::files::safetensors(
            r#"{"a": {"dtype": "F32", "shape": [1, 3], "data_offsets": [0, 12]}}"#,
        ),
        File::new("llama").keys("llama", SAME[0].2).header().0,
        b"https://example.org/#v=1&thinking_tokens=8000".to_vec(),
    ];
    bases.extend(configs().into_iter().take(4).map(String::into_bytes));
    bases.extend(log_lines().into_iter().take(4));
    fuzz("files of any kind", &mut |random| {
        let input = mutated(&bases, random);
        let size = if random.is_one_of(4) {
            *random.pick(NUMBERS)
        } else {
            input.len() as u64
        };
        let mut reader = FileReader::new("a", size);
        while let Some(need) = reader.need() {
            let from = usize::try_from(need.offset)
                .unwrap_or(usize::MAX)
                .min(input.len());
            let to = from
                .saturating_add(1 + random.below(1 << 16))
                .min(input.len());
            reader.feed(&input[from..to]);
        }
        let read = join_files(vec![reader], &Scenario::default());
        let is_understood = read.scenario.is_some();
        if let Some(scenario) = read.scenario {
            report(&scenario);
        }
        (input, is_understood)
    });
}

#[test]
fn traces() {
    let bases: Vec<Vec<u8>> = [
        "arrival,prompt,thinking,answer\n0.5,10,20,30\n0.25,1,0,1\n",
        "TIMESTAMP;ContextTokens;GeneratedTokens\n2024-05-10 00:00:00.009930+00:00;374;44\n2024-05-10T00:00:01,5Z;396;0\n",
        "# a\nid\tnote\tarrival_ms\tprompt len\toutput_tokens\tanswer tokens\n1\t\"a\"\"\n\t\"\t17\t4.0\t9\t3\n",
        "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47]}\n{\"timestamp\": 30535, \"input_length\": \"6472\", \"output_length\": 26, \"hash_ids\": []}\n",
        "[{\"created\": 1700000000, \"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 9, \"completion_tokens_details\": {\"reasoning_tokens\": 4}}}]",
        "{\"requests\": [\n# b\n{\"arrival_time_ns\": 1e9, \"prompt\": 1, \"output\": {}, \"osl\": 2}\n], \"data\": {\"rows\": [[]]}}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    fuzz("traces", &mut |random| {
        let input = mutated(&bases, random);
        let is_understood = is_a_trace_or_an_error(&String::from_utf8_lossy(&input));
        (input, is_understood)
    });
}
