//! JSON as config files have it: a byte order mark, bare `Infinity` and `NaN`, a class name in front.

use std::borrow::Cow;

use serde_json::Value;

use super::ImportError;
use crate::core::import::sentences::say;
use crate::core::units::MIB;

/// The longest text that is parsed. The longest published config.json files have some tens of kilobytes.
pub const MAX_TEXT_BYTES: u64 = 4 * MIB;

/// Parses a text. Numbers that JSON does not have become null. Nesting is bounded by `serde_json` at 128.
///
/// ```
/// # use kvscope::core::import::lenient_json::parse;
/// assert_eq!(parse("\u{feff}{\"a\": [0.0, Infinity]}").map(|value| value.to_string()).as_deref(), Ok("{\"a\":[0.0,null]}"));
/// ```
pub fn parse(text: &str) -> Result<Value, ImportError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(ImportError::new("empty", say!(empty_text)));
    }
    let n_bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if MAX_TEXT_BYTES < n_bytes {
        return Err(ImportError::new(
            "too_long",
            say!(config_too_long, given = n_bytes, max = MAX_TEXT_BYTES),
        ));
    }
    let text = without_class_name(text);
    serde_json::from_str(&without_bare_words(text)).map_err(|err| {
        let message = if text.starts_with('{') {
            say!(not_json, error = err)
        } else {
            // What is not a letter or sign, as in a picture, would only be read as its codes.
            let is_shown = |c: &char| !c.is_control() && *c != char::REPLACEMENT_CHARACTER;
            let head: String = text.chars().take(30).filter(is_shown).collect();
            say!(not_a_config, head)
        };
        ImportError::new("not_json", message)
    })
}

/// `print(config)` in Python writes `LlamaConfig {…}`.
fn without_class_name(text: &str) -> &str {
    match text.split_once('{') {
        Some((name, _)) if name.trim_end().ends_with("Config") && name.len() < 80 => {
            text.get(name.len()..).unwrap_or(text)
        }
        _ => text,
    }
}

/// Python's `json.dumps` writes these three words, which are not JSON.
fn without_bare_words(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
    if !text.contains("Infinity") && !text.contains("NaN") {
        return Cow::Borrowed(text);
    }
    let mut res = String::with_capacity(text.len());
    let mut is_in_string = false;
    let mut is_escaped = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !is_in_string && let Some(word) = WORDS.iter().find(|word| rest.starts_with(**word)) {
            res.push_str("null");
            rest = rest.get(word.len()..).unwrap_or("");
            continue;
        }
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_string => is_escaped = true,
            '"' => is_in_string = !is_in_string,
            _ => {}
        }
        res.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or("");
    }
    Cow::Owned(res)
}
