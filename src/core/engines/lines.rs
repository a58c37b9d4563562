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
    decimal(bytes.0, GIB, 2)
}

/// MiB with two decimals.
pub(super) fn mib(bytes: Bytes) -> String {
    decimal(bytes.0, MIB, 2)
}

/// The largest unit that fits, with one decimal: Ollama's `HumanBytes2`.
pub(super) fn binary(bytes: Bytes) -> String {
    let (unit, name) = match bytes.0 {
        GIB.. => (GIB, "GiB"),
        MIB.. => (MIB, "MiB"),
        KIB.. => (KIB, "KiB"),
        _ => return format!("{} B", bytes.0),
    };
    format!("{} {name}", decimal(bytes.0, unit, 1))
}

/// `n / of` with so many decimals, a half rounded to even, as C and Python print it. From whole numbers: the tables that
/// print any float there is are larger than this file's whole module.
pub(super) fn decimal(n: u64, of: u64, decimals: u32) -> String {
    let (n, of) = (u128::from(n), u128::from(of.max(1)));
    let one = 10_u128.pow(decimals.min(9));
    let (mut res, rest) = (n * one / of, n * one % of);
    if of < rest * 2 || (of == rest * 2 && res % 2 == 1) {
        res += 1;
    }
    format!(
        "{}.{:0width$}",
        res / one,
        res % one,
        width = decimals as usize
    )
}
