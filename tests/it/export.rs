//! The working as a file: of every preset, whole and readable.

use kvscope::core::presets;
use kvscope::core::report::report;
use kvscope::core::scenario::Scenario;
use kvscope::view::export::{latex, markdown};
use kvscope::view::formula::working;
use kvscope::view::text::{ENGLISH, Messages, zh};

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text).expect("it is a value of the field");
    }
    res
}

#[test]
fn the_default_scenario() {
    let scenario = Scenario::default();
    let report = report(&scenario);
    let file = markdown(&scenario, &report, &ENGLISH);
    for part in [
        "## How it is computed\n\nKV cache of one request: Llama 3.1 70B, bf16\n",
        "- **tokens in the cache** T = prompt + thinking + answer = 512 + 4,000 + 300 = 4,812\n",
        "1,576,796,160 B",
        "```python\n",
        "### What is assumed\n\n- ",
    ] {
        assert!(file.contains(part), "{part:?} is not in\n{file}");
    }
    let file = latex(&scenario, &report, &ENGLISH);
    for part in [
        "\\section*{How it is computed}\n",
        "\\item[tokens in the cache] $T = \\text{prompt} + \\text{thinking} + \\text{answer} = 512 + 4{,}000 + 300 = 4{,}812$\n",
        "1{,}576{,}796{,}160\\,\\text{B}",
    ] {
        assert!(file.contains(part), "{part:?} is not in\n{file}");
    }
}

/// Braces close, dollars come in pairs, and no sign stays that fonts of LaTeX lack.
fn check_latex(file: &str, what: &str) {
    let body = file.split_once('\n').map_or("", |(_, body)| body);
    let plain = body
        .replace("\\{", "")
        .replace("\\}", "")
        .replace("\\$", "");
    let mut depth = 0_i32;
    for c in plain.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        assert!(0 <= depth, "{what}: a brace closes too early in\n{file}");
    }
    assert_eq!(depth, 0, "{what}: a brace stays open in\n{file}");
    assert_eq!(
        plain.matches('$').count() % 2,
        0,
        "{what}: a dollar is alone in\n{file}"
    );
    for (idx, math) in plain.split('$').enumerate().filter(|(idx, _)| idx % 2 == 1) {
        let strange: Vec<char> = "·−≈⌊⌋⌈⌉"
            .chars()
            .filter(|sign| math.contains(*sign))
            .collect();
        assert!(
            strange.is_empty(),
            "{what}: {strange:?} in part {idx}: {math}"
        );
    }
}

#[test]
fn every_preset_in_every_language() {
    for preset in presets::all() {
        for engine in ["exact", "vllm"] {
            let scenario = scenario(&[("model", preset.id()), ("engine", engine)]);
            let report = report(&scenario);
            let languages: [&Messages; 2] = [&ENGLISH, &zh::MESSAGES];
            for text in languages {
                let what = format!("{} in {}", preset.id(), text.lang);
                check_latex(&latex(&scenario, &report, text), &what);
                let file = markdown(&scenario, &report, text);
                for step in working(&scenario, &report, text).steps {
                    assert!(
                        file.contains(&step.text),
                        "{what}: {} is missing",
                        step.text
                    );
                }
                assert_eq!(file.matches("```").count(), 6, "{what}: {file}");
            }
        }
    }
}

#[test]
fn a_name_with_markup_stays_text() {
    let model = r#"{"config":{"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":2,"vocab_size":100,"intermediate_size":64},"name":"<img src=x> $\\input{a}$ *b*\n```"}"#;
    let scenario = scenario(&[("model", model)]);
    let report = report(&scenario);
    let file = markdown(&scenario, &report, &ENGLISH);
    assert!(file.contains("\\<img src=x\\> \\$"), "{file}");
    let file = latex(&scenario, &report, &ENGLISH);
    check_latex(&file, "markup");
    assert!(!file.contains("\\input"), "{file}");
}
