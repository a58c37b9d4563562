//! A log's figures beside ours, in words.

use crate::core::import::log::{Comparison, Reason, What};
use crate::core::report::Report;
use crate::core::units::Bytes;

use super::text::{FilesText, Messages, fill};

/// One printed figure beside ours, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the figure is of.
    pub figure: String,
    /// The line it was printed in.
    pub line: String,
    /// As it was printed, in the units of the page.
    pub printed: String,
    /// Ours; a range where the log rounds what it follows from.
    pub computed: String,
    /// Why they differ.
    pub reason: String,
    /// Whether they agree.
    pub agrees: bool,
}

/// The rows of the table.
pub fn rows(comparison: &[Comparison], messages: &Messages) -> Vec<Row> {
    let text = &messages.files;
    let row = |comparison: &Comparison| {
        let amount = |value: f64| amount(comparison.what, value, messages);
        let what = what(comparison.what, text);
        let computed = comparison.computed.map(|computed| {
            let value = amount(computed.value);
            let (low, high) = (amount(computed.low), amount(computed.high));
            let is_range = low != high && value != amount(comparison.printed);
            if is_range {
                fill(&text.range, &[("low", &low), ("high", &high)])
            } else {
                value
            }
        });
        Row {
            figure: match comparison.cache {
                Some(cache) => fill(&text.what_of_cache, &[("what", what), ("cache", cache)]),
                None => what.to_owned(),
            },
            line: comparison.line.clone(),
            printed: amount(comparison.printed),
            computed: computed.unwrap_or_else(|| text.no_figure.to_string()),
            reason: reason(comparison.reason.as_ref(), messages),
            agrees: comparison.agrees,
        }
    };
    comparison.iter().map(row).collect()
}

/// How many of the printed figures agree.
pub fn summary(comparison: &[Comparison], messages: &Messages) -> String {
    let text = &messages.files;
    if comparison.is_empty() {
        return text.comparison_none.to_string();
    }
    let count = |n: usize| messages.numbers().integer(n as u64);
    let n_agree = comparison.iter().filter(|row| row.agrees).count();
    fill(
        &text.comparison_summary,
        &[
            ("agree", &count(n_agree)),
            ("count", &count(comparison.len())),
        ],
    )
}

/// What the engine reserves against what the scenario's requests hold of it: the difference that is asked about most.
pub fn held(report: &Report, num_seqs: u32, messages: &Messages) -> String {
    let numbers = messages.numbers();
    fill(
        &messages.files.comparison_held,
        &[
            ("pool", &numbers.bytes(report.hbm.kv_pool_bytes)),
            ("held", &numbers.bytes(report.hbm.kv_held_bytes)),
            ("requests", &numbers.requests(num_seqs.into())),
        ],
    )
}

fn what(what: What, text: &FilesText) -> &str {
    match what {
        What::AvailableBytes => &text.what_available_bytes,
        What::NumBlocks => &text.what_num_blocks,
        What::KvCacheSizeTokens => &text.what_kv_cache_size_tokens,
        What::MaxConcurrency => &text.what_max_concurrency,
        What::NeededBytes => &text.what_needed_bytes,
        What::MaxModelLenThatFits => &text.what_max_model_len_that_fits,
        What::KBytes => &text.what_k_bytes,
        What::VBytes => &text.what_v_bytes,
        What::CacheBytes => &text.what_cache_bytes,
        What::CacheTokens => &text.what_cache_tokens,
        What::WeightBytes => &text.what_weight_bytes,
        What::ActivationBytes => &text.what_activation_bytes,
    }
}

/// A figure with its unit.
fn amount(what: What, value: f64, messages: &Messages) -> String {
    let numbers = messages.numbers();
    // A figure is not negative; one beyond 2^64 would be shown as that.
    let whole = |value: f64| value.round() as u64;
    match what {
        What::NumBlocks
        | What::KvCacheSizeTokens
        | What::MaxModelLenThatFits
        | What::CacheTokens => numbers.integer(whole(value)),
        What::MaxConcurrency => numbers.ratio(whole(value * 100.0), 100, 2),
        What::AvailableBytes
        | What::NeededBytes
        | What::KBytes
        | What::VBytes
        | What::CacheBytes
        | What::WeightBytes
        | What::ActivationBytes => numbers.bytes(Bytes(whole(value))),
    }
}

/// Why a printed figure and ours differ.
pub fn reason(reason: Option<&Reason>, messages: &Messages) -> String {
    let text = &messages.files;
    let words = match reason {
        None => &text.reason_same,
        Some(Reason::Rounding) => &text.reason_rounding,
        Some(Reason::OlderMeaning) => &text.reason_older_meaning,
        Some(Reason::Setting { key, value }) => {
            return fill(&text.reason_setting, &[("key", key), ("value", value)]);
        }
        Some(Reason::SmallestRank) => &text.reason_smallest_rank,
        Some(Reason::Units) => &text.reason_units,
        Some(Reason::Padding) => &text.reason_padding,
        Some(Reason::OtherModel) => &text.reason_other_model,
        Some(Reason::NotModelled) => &text.reason_not_modelled,
        Some(Reason::Unknown) => &text.reason_unknown,
    };
    words.to_string()
}
