//! Numbers as engines print them.

use crate::core::units::{Bytes, GIB, KIB, MIB};

/// With commas between thousands, Python's `{:,}`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut res = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if 0 < idx && (digits.len() - idx).is_multiple_of(3) {
            res.push(',');
        }
        res.push(digit);
    }
    res
}

/// GiB rounded to two decimals without trailing zeros, but at least one decimal: vLLM's `format_gib`.
pub(super) fn gib_short(bytes: Bytes) -> String {
    let res = gib(bytes);
    match res.strip_suffix('0') {
        Some(short) => short.to_owned(),
        None => res,
    }
}

/// GiB with two decimals.
pub(super) fn gib(bytes: Bytes) -> String {
    format!("{:.2}", bytes.0 as f64 / GIB as f64)
}

/// MiB with two decimals.
pub(super) fn mib(bytes: Bytes) -> String {
    format!("{:.2}", bytes.0 as f64 / MIB as f64)
}

/// The largest unit that fits, with one decimal: Ollama's `HumanBytes2`.
pub(super) fn binary(bytes: Bytes) -> String {
    let (unit, name) = match bytes.0 {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        KIB.. => (KIB, "KiB"),
        _ => return format!("{} B", bytes.0),
    };
    format!("{:.1} {name}", bytes.0 as f64 / unit as f64)
}
