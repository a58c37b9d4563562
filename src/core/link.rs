//! The scenario as readable `key=value` pairs of a URL fragment.
//!
//! All keys are written, so that a link made today means the same for ever, whatever the defaults become.
//! The first pair is the version.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use super::scenario::{FIELDS, FieldError, Problem, Scenario};

/// The version written to links.
pub const VERSION: &str = "1";

/// The longest fragment that is read; a config.json of 200 KB fits.
pub const MAX_LENGTH: usize = 1 << 20;

/// Characters that a fragment cannot hold as they are, or that would end a pair.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b'=');

/// What stands in a fragment: the scenario, the pairs that are not of the scenario (the page's own), and what could not
/// be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The scenario.
    pub scenario: Scenario,
    /// Pairs with other keys, decoded, in order.
    pub other: Vec<(String, String)>,
    /// Notes for the reader.
    pub errors: Vec<FieldError>,
}

/// The fragment of a scenario, without `#`.
pub fn to_fragment(scenario: &Scenario) -> String {
    let mut res = format!("v={VERSION}");
    for field in FIELDS.iter().filter(|field| field.is_active(scenario)) {
        push_pair(&mut res, field.key, &(field.get)(scenario));
    }
    res
}

/// Whether a link has room for this text of one value beside the other values.
#[cfg(feature = "doors")]
pub fn holds(value: &str) -> bool {
    let encoded: usize = utf8_percent_encode(value, ENCODED).map(str::len).sum();
    encoded <= MAX_LENGTH - MAX_LENGTH / 16
}

/// Appends `&key=value`, encoded.
pub fn push_pair(fragment: &mut String, key: &str, value: &str) {
    if !fragment.is_empty() {
        fragment.push('&');
    }
    fragment.extend(utf8_percent_encode(key, ENCODED));
    fragment.push('=');
    fragment.extend(utf8_percent_encode(value, ENCODED));
}

/// A fragment with these pairs in place of its own of the same keys.
///
/// ```
/// # use kvscope::core::link::with_pairs;
/// assert_eq!(with_pairs("v=1&prompt_tokens=8&theme=dark", "prompt_tokens=9"), "v=1&theme=dark&prompt_tokens=9");
/// ```
pub fn with_pairs(fragment: &str, pairs: &str) -> String {
    fn key(pair: &str) -> Option<&str> {
        pair.split('=').next()
    }
    let is_replaced = |pair: &str| pairs.split('&').any(|new| key(new) == key(pair));
    let mut res = String::new();
    for pair in fragment.split('&').filter(|pair| !is_replaced(pair)) {
        res.extend([pair, "&"]);
    }
    res + pairs
}

/// A model of a fragment, or of one that is pinned in it, that this program cannot read by itself and was not told of, see
/// [`super::resolved`].
pub fn unknown_model(fragment: &str) -> Option<String> {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    let is_readable = fragment.len() <= MAX_LENGTH && !cfg!(feature = "doors");
    // A pin within a pin is none, so one look inside is enough.
    let pinned =
        values(fragment, "pin=").flat_map(|pin| values(&pin, "model=").collect::<Vec<_>>());
    pinned
        .chain(values(fragment, "model="))
        .filter(|model| is_readable && model.starts_with('{') && !super::resolved::is_known(model))
        .last()
}

/// The values of a key, decoded.
fn values<'a>(fragment: &'a str, key: &'a str) -> impl Iterator<Item = String> + 'a {
    let values = fragment
        .split('&')
        .filter_map(move |pair| pair.strip_prefix(key));
    values.map(|value| {
        let value = percent_decode_str(value).decode_utf8_lossy();
        value.trim().to_owned()
    })
}

/// Reads a fragment, with or without `#`. `page_keys` are the keys that belong to the page and not to the scenario; they
/// are handed back, and so are those with a dot, which are settings of a panel ([`super::settings`]).
/// What cannot be read is left at its default and named in the errors; of a field that is there more than once the last
/// holds, which is named as well.
pub fn from_fragment(fragment: &str, page_keys: &[&str]) -> Link {
    let mut res = Link {
        scenario: Scenario::default(),
        other: Vec::new(),
        errors: Vec::new(),
    };
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    if MAX_LENGTH < fragment.len() {
        res.errors.push(FieldError {
            key: "link".to_owned(),
            given: format!("{} bytes", fragment.len()),
            problem: Problem::TooLong(MAX_LENGTH),
        });
        return res;
    }
    let mut seen: Vec<String> = Vec::new();
    for pair in fragment.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (key, value) = (decode(key), decode(value));
        if key == "v" {
            if value != VERSION {
                res.errors.push(FieldError {
                    key,
                    given: super::scenario::cut(&value, 60),
                    problem: Problem::OtherVersion(VERSION),
                });
            }
        } else if page_keys.contains(&key.as_str()) || key.contains('.') {
            res.other.push((key, value));
        } else if let Err(error) = res.scenario.set(&key, &value) {
            res.errors.push(error);
        } else if seen.contains(&key) {
            res.errors.push(FieldError {
                key,
                given: super::scenario::cut(&value, 60),
                problem: Problem::Repeated,
            });
        } else {
            seen.push(key);
        }
    }
    res
}
