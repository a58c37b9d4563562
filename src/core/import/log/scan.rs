//! Finding words and numbers in one line of a log.

use crate::core::units::{GIB, KIB, MIB};

/// What follows `word` in `line`.
pub(super) fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    line.split_once(word).map(|(_, rest)| rest)
}

/// The text between `from` and the next `to`.
pub(super) fn between<'a>(line: &'a str, from: &str, to: &str) -> Option<&'a str> {
    after(line, from)?.split_once(to).map(|(text, _)| text)
}

/// The digits at the beginning of `text`, which spaces may precede, with commas between thousands and a fraction.
fn digits(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == '.'));
    let digits = text
        .get(..end.unwrap_or(text.len()))?
        .trim_end_matches(['.', ',']);
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(digits)
}

/// The whole number at the beginning of `text`.
pub(super) fn count(text: &str) -> Option<u64> {
    let digits = digits(text)?;
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    whole.replace(',', "").parse().ok()
}

/// The whole number after `word`.
pub(super) fn count_after(line: &str, word: &str) -> Option<u64> {
    count(after(line, word)?)
}

/// A number with what its last digit leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rounded {
    pub(super) value: f64,
    pub(super) half: f64,
}

/// The number at the beginning of `text`. A shorter fraction than `decimals` lost its zeros.
pub(super) fn rounded(text: &str, decimals: usize) -> Option<Rounded> {
    let digits = digits(text)?.replace(',', "");
    let value = digits
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite())?;
    let given = digits
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let exponent = i32::try_from(given.max(decimals)).unwrap_or(i32::MAX);
    Some(Rounded {
        value,
        half: 0.5 * 10_f64.powi(-exponent),
    })
}

/// Bytes of the amount at the beginning of `text`, such as `5.29 GiB`, with what its last digit leaves open. `GB` and `MB`
/// are what engines call GiB and MiB.
pub(super) fn amount(text: &str, decimals: usize) -> Option<Rounded> {
    let number = rounded(text, decimals)?;
    let unit = text
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == '.');
    let unit = match unit.trim_start() {
        unit if unit.starts_with("GiB") || unit.starts_with("GB") => GIB,
        unit if unit.starts_with("MiB") || unit.starts_with("MB") => MIB,
        unit if unit.starts_with("KiB") || unit.starts_with("KB") => KIB,
        _ => return None,
    } as f64;
    Some(Rounded {
        value: number.value * unit,
        half: number.half * unit,
    })
}

/// The value of `key` where it stands as `key=value`, `'key': value` or `key: value`, without quotes.
pub(super) fn setting<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(key) {
        let is_whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let value = after.trim_start_matches(['\'', '"']).trim_start();
        if let Some(value) = value.strip_prefix(['=', ':']).filter(|_| is_whole) {
            let value = value.trim_start();
            let end = match value.chars().next() {
                Some(quote @ ('\'' | '"')) => {
                    let inner = value.get(1..)?;
                    return inner.split_once(quote).map(|(value, _)| value);
                }
                Some(_) => value.find([',', ')', '}', ' ', ']']).unwrap_or(value.len()),
                None => return None,
            };
            return value.get(..end).filter(|value| !value.is_empty());
        }
        rest = after;
    }
    None
}

/// `setting` as a whole number.
pub(super) fn setting_count(line: &str, key: &str) -> Option<u64> {
    let value = setting(line, key)?;
    value
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| value.parse().ok())?
}

/// The line without colors and other control sequences, at most `max` bytes of it.
pub(super) fn plain(line: &str, max: usize) -> String {
    let mut res = String::with_capacity(line.len().min(max));
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A sequence ends with its first letter.
            if chars.next() == Some('[') {
                let _ = chars.by_ref().find(|c| c.is_ascii_alphabetic());
            }
        } else if !c.is_control() || c == '\t' {
            res.push(c);
        }
        if max <= res.len() {
            break;
        }
    }
    res
}
