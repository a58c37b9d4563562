//! The working: what it writes multiplies together to what the core found, read back from the text by an evaluator that
//! knows nothing of how it was written.

use std::collections::HashMap;

use kvscope::core::presets;
use kvscope::core::report::{Report, report};
use kvscope::core::scenario::{ModelSource, Scenario};
use kvscope::view::formula::{Step, Working, working};
use kvscope::view::text::ENGLISH;

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{error:?}"));
    }
    res
}

fn working_of(pairs: &[(&str, &str)]) -> (Working, Report) {
    let scenario = scenario(pairs);
    let report = report(&scenario);
    (working(&scenario, &report, &ENGLISH), report)
}

/// Reads formulas as they are written, and Python.
struct Reader<'a> {
    rest: &'a str,
    names: &'a HashMap<String, i128>,
}

/// A fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio(i128, i128);

impl Ratio {
    fn floor(self) -> i128 {
        self.0.div_euclid(self.1)
    }
}

impl Reader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start();
        let res = rest.strip_prefix(sign);
        self.rest = res.unwrap_or(rest);
        res.is_some()
    }

    fn expect(&mut self, sign: &str) {
        assert!(self.take(sign), "expected {sign} before {}", self.rest);
    }

    fn sum(&mut self) -> Ratio {
        let mut res = self.product();
        loop {
            let sign = if self.take("+") {
                1
            } else if self.take("−") || self.take("- ") {
                -1
            } else {
                return res;
            };
            let next = self.product();
            res = Ratio(res.0 * next.1 + sign * next.0 * res.1, res.1 * next.1);
        }
    }

    fn product(&mut self) -> Ratio {
        let mut res = self.factor();
        loop {
            if self.take("//") {
                let next = self.factor();
                res = Ratio(Ratio(res.0 * next.1, res.1 * next.0).floor(), 1);
            } else if self.take("/") {
                let next = self.factor();
                res = Ratio(res.0 * next.1, res.1 * next.0);
            } else if self.take("·") || self.take("*") {
                let next = self.factor();
                res = Ratio(res.0 * next.0, res.1 * next.1);
            } else {
                return res;
            }
        }
    }

    fn factor(&mut self) -> Ratio {
        if self.take("-") {
            let Ratio(n, d) = self.factor();
            return Ratio(-n, d);
        }
        for (open, close) in [("(", ")"), ("⌊", "⌋"), ("⌈", "⌉"), ("min(", ")")] {
            if self.take(open) {
                let mut res = self.sum();
                if open == "min(" {
                    self.expect(",");
                    let other = self.sum();
                    res = if res.0 * other.1 <= other.0 * res.1 {
                        res
                    } else {
                        other
                    };
                }
                self.expect(close);
                return match open {
                    "⌊" => Ratio(res.floor(), 1),
                    "⌈" => Ratio(-Ratio(-res.0, res.1).floor(), 1),
                    _ => res,
                };
            }
        }
        let end = self
            .rest
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, ',' | '_'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        // A comma followed by a space ends an argument and is no part of a number.
        let (word, rest) = match word.strip_suffix(',') {
            Some(word) => (word, self.rest.get(word.len()..).unwrap_or(rest)),
            None => (word, rest),
        };
        self.rest = rest;
        let digits = word.replace([',', '_'], "");
        let value = digits
            .parse()
            .ok()
            .or_else(|| self.names.get(word).copied());
        // Units are no factors.
        self.take("B");
        Ratio(
            value.unwrap_or_else(|| panic!("{word:?} before {:?}", self.rest)),
            1,
        )
    }
}

fn evaluate(text: &str, names: &HashMap<String, i128>) -> i128 {
    let mut reader = Reader { rest: text, names };
    let Ratio(n, d) = reader.sum();
    assert!(
        reader.rest.trim().is_empty(),
        "{text} goes on with {:?}",
        reader.rest
    );
    assert_eq!(n % d, 0, "{text} is whole");
    n / d
}

/// Every part of a line that is only numbers gives its value.
fn check_step(step: &Step) {
    let exact = step.text.split(" ≈ ").next().unwrap_or_default();
    let mut n_numbers = 0;
    for part in exact.split(" = ") {
        let is_numbers = part
            .replace("min(", "(")
            .chars()
            .all(|c| !c.is_alphabetic() || c == 'B');
        if is_numbers && !part.contains('.') {
            n_numbers += 1;
            assert_eq!(
                evaluate(part, &HashMap::new()),
                i128::from(step.value),
                "{}: {}",
                step.label,
                step.text
            );
        }
    }
    assert!(
        0 < n_numbers,
        "{} has no numbers: {}",
        step.label,
        step.text
    );
    // The markup says what the text says.
    let mut said = String::new();
    for math in &step.math {
        let parts = math.split('<').filter_map(|part| part.split_once('>'));
        said.extend(parts.map(|(_, words)| words));
    }
    let plain = |text: &str| text.replace([' ', '\u{a0}', '/', '_'], "");
    assert_eq!(plain(&said), plain(&step.text), "{:?}", step.math);
}

/// Runs the Python program for its variables.
fn run_python(code: &str) -> HashMap<String, i128> {
    let mut names = HashMap::new();
    for line in code.lines() {
        if let Some((name, expr)) = line
            .split_once(" = ")
            .filter(|_| !line.starts_with(['#', 'p']))
        {
            let value = evaluate(expr, &names);
            names.insert(name.to_owned(), value);
        }
    }
    names
}

fn check(pairs: &[(&str, &str)]) {
    let (working, report) = working_of(pairs);
    for step in &working.steps {
        check_step(step);
    }
    let layers: Vec<&Step> = working
        .steps
        .iter()
        .filter(|step| step.id == "layers")
        .collect();
    assert_eq!(
        layers.len(),
        report.kv_cache.layers.len(),
        "a line for each kind of layer: {pairs:?}"
    );
    for (step, layer) in layers.iter().zip(&report.kv_cache.layers) {
        assert_eq!(step.value, layer.bytes.0, "{pairs:?}: {}", step.text);
        // The formula itself, and not what the core found for one layer in its place.
        let is_formula =
            step.text.contains(" b") || step.text.contains("(d_c · 1 B") || layer.kind == "shared";
        assert!(is_formula, "{pairs:?}: {}", step.text);
    }
    let by_id = |id: &str| {
        working
            .steps
            .iter()
            .find(|step| step.id == id)
            .map(|step| step.value)
    };
    assert_eq!(by_id("tokens"), Some(report.tokens.total.0));
    if 1 < layers.len() {
        assert_eq!(
            by_id("together"),
            Some(report.kv_cache.per_seq_bytes.0),
            "{pairs:?}"
        );
    }
    let python = working.snippets.first().expect("Python comes first");
    let total = run_python(&python.code).get("total").copied();
    assert_eq!(
        total,
        Some(i128::from(report.kv_cache.per_seq_bytes.0)),
        "{pairs:?}:\n{}",
        python.code
    );
}

#[test]
fn every_preset_in_every_format() {
    let formats = [
        "bf16",
        "fp8",
        "q8_0",
        "q4_0",
        "nvfp4",
        "q8_0/q4_0",
        "fp8_per_token_head",
        "int8_per_token_head",
        "fp8_ds_mla",
        "q8_KV",
    ];
    for preset in presets::all() {
        for format in formats {
            for samples in ["1", "3"] {
                let pairs = [
                    ("model", preset.id()),
                    ("kv_cache_dtype", format),
                    ("num_samples", samples),
                ];
                check(
                    &[
                        &pairs[..],
                        &[("prompt_tokens", "513"), ("thinking_tokens", "4001")],
                    ]
                    .concat(),
                );
            }
        }
    }
}

#[test]
fn any_length_and_any_engine() {
    for preset in presets::all() {
        for (prompt, thinking, answer) in [
            ("0", "0", "0"),
            ("1", "0", "0"),
            ("0", "1", "0"),
            ("1048576", "1048576", "1048576"),
        ] {
            for engine in ["exact", "vllm"] {
                check(&[
                    ("model", preset.id()),
                    ("engine", engine),
                    ("prompt_tokens", prompt),
                    ("thinking_tokens", thinking),
                    ("answer_tokens", answer),
                    ("data_parallel_size", "3"),
                    ("draft_layers", "1"),
                ]);
            }
        }
    }
}

#[test]
fn the_default_working() {
    let (working, _) = working_of(&[]);
    let lines: Vec<String> = working
        .steps
        .iter()
        .take(5)
        .map(|step| format!("{}: {}", step.label, step.text))
        .collect();
    let others: Vec<&str> = working.steps.iter().skip(5).map(|step| step.id).collect();
    assert_eq!(others, ["usable", "room", "free", "concurrency"]);
    assert_eq!(
        working.steps[5].text,
        "⌊9 · seen by the runtime / 10⌋ = ⌊9 · 85,018,542,080 B / 10⌋ = 76,516,687,872 B ≈ 76.52 GB ≈ 71.26 GiB"
    );
    assert_eq!(
        lines,
        [
            "tokens in the cache: T = prompt + thinking + answer = 512 + 4,000 + 300 = 4,812",
            "full attention, 80 layers: 2 · L · H_kv · d_h · b · T = 2 · 80 · 8 · 128 · 2 B · 4,812 = 1,576,796,160 B ≈ 1.577 GB ≈ 1.469 GiB",
            "one more token: 2 · L · H_kv · d_h · b = 2 · 80 · 8 · 128 · 2 B = 327,680 B ≈ 327.7 kB = 320 KiB",
            "blocks of 16: ⌈T / 16⌉ = ⌈4,812 / 16⌉ = 301",
            "of one request on one of 4 GPUs: 2 · L · H_kv · d_h · b · T = 2 · 80 · 2 · 128 · 2 B · 4,812 = 394,199,040 B ≈ 394.2 MB ≈ 375.9 MiB",
        ]
    );
    assert_eq!(
        working.steps[1].math,
        [
            "<math><mrow><mn>2</mn><mo>·</mo><mi>L</mi><mo>·</mo><msub><mi>H</mi><mi>kv</mi></msub><mo>·</mo><msub><mi>d</mi><mi>h</mi></msub><mo>·</mo><mi>b</mi><mo>·</mo><mi>T</mi></mrow></math>",
            "<math><mrow><mo form=\"infix\">=</mo><mn>2</mn><mo>·</mo><mn>80</mn><mo>·</mo><mn>8</mn><mo>·</mo><mn>128</mn><mo>·</mo><mn>2</mn><mtext>\u{a0}B</mtext><mo>·</mo><mn>4,812</mn></mrow></math>",
            "<math><mrow><mo form=\"infix\">=</mo><mn>1,576,796,160 B</mn></mrow></math>",
            "<math><mrow><mo form=\"infix\">≈</mo><mn>1.577 GB</mn></mrow></math>",
            "<math><mrow><mo form=\"infix\">≈</mo><mn>1.469 GiB</mn></mrow></math>",
        ]
    );
    let code: Vec<&str> = working
        .snippets
        .iter()
        .map(|snippet| snippet.code.as_str())
        .collect();
    assert_eq!(
        code,
        [
            "# KV cache of one request: Llama 3.1 70B, bf16\n\
             tokens = 512 + 4000 + 300\n\
             full = 2 * 80 * 8 * 128 * 2 * tokens\n\
             total = full\n\
             print(f\"{total:,} B = {total / 1000000000:.3f} GB = {total / 1073741824:.3f} GiB\")\n",
            "fn main() {\n    \
                 // KV cache of one request: Llama 3.1 70B, bf16\n    \
                 let tokens: u128 = 512 + 4000 + 300;\n    \
                 let full: u128 = 2 * 80 * 8 * 128 * 2 * tokens;\n    \
                 let total: u128 = full;\n    \
                 println!(\"{total} B = {:.3} GB = {:.3} GiB\", total as f64 / 1000000000.0, total as f64 / 1073741824.0);\n\
             }\n",
            "// KV cache of one request: Llama 3.1 70B, bf16\n\
             const tokens = 512 + 4000 + 300;\n\
             const full = 2 * 80 * 8 * 128 * 2 * tokens;\n\
             const total = full;\n\
             console.log(`${total} B = ${(Number(total) / 1000000000).toFixed(3)} GB = ${(Number(total) / 1073741824).toFixed(3)} GiB`);\n",
        ]
    );
}

#[test]
fn other_kinds_of_layers() {
    let check = |pairs: &[(&str, &str)], expected: &[&str]| {
        let (working, _) = working_of(pairs);
        let lines: Vec<String> = working
            .steps
            .iter()
            .filter(|step| step.id == "layers")
            .map(|step| format!("{}: {}", step.label, step.text))
            .collect();
        assert_eq!(lines, expected, "{pairs:?}");
    };
    check(
        &[("model", "gemma-3-27b")],
        &[
            "sliding window, 52 layers: 2 · L · H_kv · d_h · b · min(T, W) = 2 · 52 · 16 · 128 · 2 B · min(4,812, 1,024) = 436,207,616 B",
            "full attention, 10 layers: 2 · L · H_kv · d_h · b · T = 2 · 10 · 16 · 128 · 2 B · 4,812 = 394,199,040 B",
        ],
    );
    check(
        &[("model", "deepseek-r1"), ("kv_cache_dtype", "fp8_ds_mla")],
        &[
            "latent attention, 61 layers: L · (d_c · 1 B + 4 · 4 B + d_r · 2 B) · T = 61 · (512 · 1 B + 4 · 4 B + 64 · 2 B) · 4,812 = 192,556,992 B ≈ 192.6 MB ≈ 183.6 MiB",
        ],
    );
    check(
        &[("model", "deepseek-v3.2")],
        &[
            "latent attention, 61 layers: L · (d_c + d_r) · b · T + L · d_i · b · T = 61 · (512 + 64) · 2 B · 4,812 + 61 · 128 · 2 B · 4,812 = 413,293,056 B ≈ 413.3 MB ≈ 394.1 MiB",
        ],
    );
    check(
        &[("model", "deepseek-v4-pro")],
        &[
            "compressed attention, 31 layers: L · (d_h · b · ⌊T / m⌋ + d_h · b · min(T, W)) = 31 · (512 · 2 B · ⌊4,812 / 128⌋ + 512 · 2 B · min(4,812, 128)) = 5,237,760 B",
            "compressed attention, 30 layers: L · ((d_h + d_i) · b · ⌊T / m⌋ + d_h · b · min(T, W)) = 30 · ((512 + 128) · 2 B · ⌊4,812 / 4⌋ + 512 · 2 B · min(4,812, 128)) = 50,127,360 B",
        ],
    );
    check(
        &[
            ("model", "qwen3-next-80b-a3b"),
            ("kv_cache_dtype", "q8_0/q4_0"),
        ],
        &[
            "gated delta net state, 36 layers: L · (32 · 128 · 128 · b_s + 8,192 · 3 · b_c) = 36 · (32 · 128 · 128 · 4 B + 8,192 · 3 · 2 B) = 77,266,944 B",
            "full attention, 12 layers: L · (H_kv · d_k · b_k · T + H_kv · d_v · b_v · T) = 12 · (2 · 256 · 34/32 B · 4,812 + 2 · 256 · 18/32 B · 4,812) = 48,043,008 B",
        ],
    );
    check(
        &[
            ("num_samples", "4"),
            ("kv_cache_dtype", "fp8_per_token_head"),
        ],
        &[
            "full attention, 80 layers: 2 · L · (H_kv · d_h · b · T + H_kv · 4 B · T) = 2 · 80 · (8 · 128 · 1 B · 17,712 + 8 · 4 B · 17,712) = 2,992,619,520 B ≈ 2.993 GB ≈ 2.787 GiB",
        ],
    );
}

#[test]
fn code_does_not_run_a_models_name() {
    let mut scenario = Scenario::default();
    let mut config = (*scenario.model.config).clone();
    config.name = "a\nimport os\r\u{2028}alert(1)\u{85}\u{202e}".to_owned();
    scenario.model.config = config.into();
    scenario.model.source = ModelSource::File {
        name: "a".to_owned(),
        json: "{}".into(),
    };
    let working = working(&scenario, &report(&scenario), &ENGLISH);
    for snippet in &working.snippets {
        assert!(
            snippet.code.contains("aimport osalert(1), bf16\n"),
            "{}",
            snippet.code
        );
        assert!(
            !snippet
                .code
                .contains(['\u{2028}', '\u{85}', '\u{202e}', '\r']),
            "{}",
            snippet.code
        );
    }
}
