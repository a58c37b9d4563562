//! A preset by the name that a log or a file gives a model.

use crate::core::presets::{self, Preset};

/// Parts of a name that say how a model was tuned or stored, not which it is.
const BESIDE: &[&str] = &[
    "instruct",
    "it",
    "chat",
    "base",
    "hf",
    "meta",
    "fp8",
    "fp16",
    "bf16",
    "f16",
    "awq",
    "gptq",
    "int4",
    "int8",
    "nvfp4",
    "mxfp4",
    "w8a8",
    "w4a16",
    "bnb",
    "4bit",
    "8bit",
    "gguf",
    "dynamic",
    "thinking",
    "unsloth",
    "bit",
    "quantized",
    "mlx",
    "nf4",
    "k",
    "m",
    "s",
    "xl",
    "ud",
    "imatrix",
    "block",
    "l",
    "xs",
    "xxs",
];

/// The preset of a model named `name`, such as `meta-llama/Meta-Llama-3.1-70B-Instruct-AWQ-INT4`; `None` when none is
/// surely it.
pub fn preset_named(name: &str) -> Option<&'static Preset> {
    let name = name.trim_end_matches('/');
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    if 200 < name.len() {
        return None;
    }
    let parts = parts(name);
    let is_named = |preset: &&Preset| {
        let own = parts_of(preset.id());
        let rest = beside(&parts, &own);
        rest.is_some_and(|rest| rest.iter().all(|part| is_beside(part)))
    };
    presets::all()
        .iter()
        .filter(is_named)
        .max_by_key(|preset| preset.id().len())
}

fn parts(name: &str) -> Vec<String> {
    let name = name
        .strip_suffix(".gguf")
        .unwrap_or(name)
        .to_ascii_lowercase();
    parts_of(&name)
}

/// Words and numbers, apart also where no sign stands between: `llama3.1` is `llama`, `3.1`.
fn parts_of(name: &str) -> Vec<String> {
    let mut res: Vec<String> = Vec::new();
    for word in name
        .split(['-', '_', ' ', ':'])
        .filter(|word| !word.is_empty())
    {
        let begins_with_letter = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let digit = word
            .find(|c: char| c.is_ascii_digit())
            .filter(|_| begins_with_letter);
        match digit.map(|at| word.split_at(at)) {
            // a3b and r1 are one part; qwen3 and llama3.1 are two.
            Some((letters, number)) if 3 <= letters.len() && !is_beside(word) => {
                res.push(letters.to_owned());
                res.push(number.to_owned());
            }
            Some(_) | None => res.push(word.to_owned()),
        }
    }
    res
}

/// What `parts` has beside `own`, which stands in it as it is; `None` when it does not.
fn beside(parts: &[String], own: &[String]) -> Option<Vec<String>> {
    let at = (0..parts.len()).find(|at| {
        parts
            .get(*at..at + own.len())
            .is_some_and(|part| part == own)
    })?;
    let rest = parts
        .iter()
        .enumerate()
        .filter(|(idx, _)| *idx < at || at + own.len() <= *idx);
    Some(rest.map(|(_, part)| part.clone()).collect())
}

fn is_beside(part: &str) -> bool {
    let is_date = 4 <= part.len() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_quantization = part.starts_with('q')
        && part
            .get(1..)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let is_quantization = is_quantization || part.starts_with("iq");
    BESIDE.contains(&part) || is_date || is_quantization
}
