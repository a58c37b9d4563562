//! The row of facts under the sentence, each with its working.

#[cfg(feature = "doors")]
use crate::core::engines;
use crate::core::fit::longest_sequence;
use crate::core::fit::verdict::Verdict;
use crate::core::report::{LONG_THINKING, Report, bounds_of};
#[cfg(feature = "doors")]
use crate::core::scenario::EngineKind;
use crate::core::scenario::Scenario;
use crate::core::units::{Bytes, Tokens};

use super::sentence;
use super::text::{Messages, fill};

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// A stable name.
    pub id: &'static str,
    /// What it is.
    pub label: String,
    /// Its value.
    pub value: String,
    /// Whether it is bad news.
    pub is_bad: bool,
}

/// The step of the working that computes a fact, where there is one: its id in [`super::formula`].
#[cfg(feature = "doors")]
pub fn step_of(fact: &str) -> Option<&'static str> {
    match fact {
        "per_token" => Some("per_token"),
        "blocks" => Some("blocks"),
        "fits" => Some("free"),
        "max_concurrency" => Some("concurrency"),
        _ => None,
    }
}

/// The names of the facts in order.
pub const IDS: &[&str] = &[
    "per_token",
    "blocks",
    "fits",
    "max_concurrency",
    "last_token",
    "longest_thinking",
    "at_long_thinking",
];

/// The facts of a report.
pub fn facts(scenario: &Scenario, report: &Report, text: &Messages) -> Vec<Fact> {
    IDS.iter()
        .filter_map(|id| fact(id, scenario, report, text))
        .collect()
}

/// A number that a search up to a field's largest value gave: "so many or more" where it ended there.
pub fn or_more(field: &str, n: u64, text: &Messages) -> String {
    let shown = text.numbers().integer(n);
    if is_at_end(field, n) {
        fill(&text.units.or_more, &[("n", &shown)])
    } else {
        shown
    }
}

fn is_at_end(field: &str, n: u64) -> bool {
    bounds_of(field).is_some_and(|bounds| bounds.max <= n)
}

fn fact(id: &'static str, scenario: &Scenario, report: &Report, text: &Messages) -> Option<Fact> {
    let (page, numbers) = (&text.page, text.numbers());
    let (cache, hbm, fit) = (&report.kv_cache, &report.hbm, &report.fit);
    let gpus = sentence::gpus(scenario, report, text);
    let n_gpus = report.hardware.num_gpus;
    let (label, value, is_bad) = match id {
        "per_token" => (
            page.fact_per_token.to_string(),
            numbers.bytes(cache.bytes_per_token + cache.index_bytes_per_token),
            false,
        ),
        "blocks" => {
            let block_size = Tokens(report.engine.block_size?);
            let blocks = report.tokens.total.blocks(block_size);
            let n = numbers.integer(block_size.0);
            (
                fill(&page.fact_blocks, &[("n", &n)]),
                numbers.integer(blocks),
                false,
            )
        }
        "fits" => {
            let amount = Bytes(hbm.free_bytes.unsigned_abs());
            let all = numbers.bytes_short(amount.times(n_gpus));
            let template = if fit.fits {
                &page.fact_fits_yes
            } else {
                &page.fact_fits_no
            };
            (
                fill(&page.fact_fits, &[("gpus", &gpus)]),
                match fit.verdict {
                    Verdict::Unknown => page.fact_fits_unknown.to_string(),
                    Verdict::Refused => page.fact_fits_refused.to_string(),
                    Verdict::Missing | Verdict::Waits | Verdict::Fits => {
                        fill(template, &[("size", &all)])
                    }
                },
                !matches!(fit.verdict, Verdict::Waits | Verdict::Fits),
            )
        }
        "max_concurrency" => {
            let at_once = or_more("num_seqs", fit.max_concurrency, text);
            (
                page.fact_concurrency.to_string(),
                at_once,
                fit.max_concurrency < u64::from(scenario.num_seqs),
            )
        }
        "last_token" => {
            let step = &report.speed.last_step;
            (
                page.fact_last_token.to_string(),
                fill(&page.fact_about, &[("time", &numbers.seconds(step.likely))]),
                false,
            )
        }
        "longest_thinking" => {
            let value = match fit.max_thinking_tokens {
                Some(Tokens(n)) => fill(
                    &text.units.tokens,
                    &[("n", &or_more("thinking_tokens", n, text))],
                ),
                None => page.fact_longest_none.to_string(),
            };
            (
                page.fact_longest.to_string(),
                value,
                fit.max_thinking_tokens.is_none(),
            )
        }
        "at_long_thinking" => {
            let long = LONG_THINKING;
            let request = long
                .plus(scenario.prompt_tokens)
                .plus(scenario.answer_tokens);
            let context = longest_sequence(scenario).filter(|context| *context < request);
            let n = or_more("num_seqs", fit.max_concurrency_at_32000, text);
            let values = [("n", n.as_str())];
            (
                fill(&page.fact_at_long, &[("n", &numbers.integer(long.0))]),
                if let Some(Tokens(context)) = context {
                    let n = numbers.integer(context);
                    fill(&page.fact_at_long_context, &[("n", &n)])
                } else if fit.max_concurrency_at_32000 == fit.max_concurrency {
                    n
                } else if fit.max_concurrency_at_32000 == 0 {
                    page.fact_longest_none.to_string()
                } else {
                    fill(&page.fact_at_long_value, &values)
                },
                context.is_some() || fit.max_concurrency_at_32000 < fit.max_concurrency.max(1),
            )
        }
        _ => return None,
    };
    Some(Fact {
        id,
        label,
        value,
        is_bad,
    })
}

/// How a fact follows; nothing for one that is none.
#[cfg(feature = "doors")]
pub fn working(id: &str, scenario: &Scenario, report: &Report, text: &Messages) -> Option<String> {
    let (words, numbers) = (&text.panels, text.numbers());
    let (cache, hbm, fit) = (&report.kv_cache, &report.hbm, &report.fit);
    let (template, values) = match id {
        "per_token" => {
            let index = if cache.index_bytes_per_token == Bytes::ZERO {
                String::new()
            } else {
                let size = numbers.bytes(cache.index_bytes_per_token);
                fill(&words.working_per_token_index, &[("size", &size)])
            };
            let exact = numbers.bytes_exact(cache.bytes_per_token);
            (
                &words.working_per_token,
                vec![("exact", exact), ("index", index)],
            )
        }
        "blocks" => {
            let block_size = Tokens(report.engine.block_size?);
            let blocks = report.tokens.total.blocks(block_size);
            let slots = blocks.saturating_mul(block_size.0);
            let values = vec![
                ("total", numbers.integer(report.tokens.total.0)),
                ("n", numbers.integer(block_size.0)),
                ("blocks", numbers.integer(blocks)),
                ("slots", numbers.integer(slots)),
            ];
            (&words.working_blocks, values)
        }
        "fits" => {
            let amount = Bytes(hbm.free_bytes.unsigned_abs());
            let sign = if hbm.free_bytes < 0 { "−" } else { "" };
            let taken = hbm.weight_bytes + hbm.activation_bytes + hbm.overhead_bytes;
            let working = if hbm.usable_bytes.minus(taken) == hbm.kv_pool_bytes {
                &words.working_fits
            } else {
                &words.working_fits_pool
            };
            let values = vec![
                ("pool", numbers.bytes_short(hbm.kv_pool_bytes)),
                ("usable", numbers.bytes_short(hbm.usable_bytes)),
                ("weights", numbers.bytes_short(hbm.weight_bytes)),
                (
                    "overhead",
                    numbers.bytes_short(hbm.activation_bytes + hbm.overhead_bytes),
                ),
                ("held", numbers.bytes_short(hbm.kv_reserved_bytes)),
                ("free", numbers.bytes_short(amount)),
                ("sign", sign.to_owned()),
            ];
            let mut res = fill(working, &as_values(&values));
            res.extend([" ", &usable(scenario, report, text)]);
            if 1 < report.hardware.num_gpus {
                let all = amount.times(report.hardware.num_gpus);
                let values = [
                    ("n", numbers.integer(report.hardware.num_gpus)),
                    ("sign", sign.to_owned()),
                    ("all", numbers.bytes_short(all)),
                ];
                res.extend([" ", &fill(&words.working_fits_gpus, &as_values(&values))]);
            }
            return Some(res);
        }
        "max_concurrency" => {
            let values = vec![
                ("pool", numbers.bytes_short(hbm.kv_pool_bytes)),
                ("n", or_more("num_seqs", fit.max_concurrency, text)),
                ("mean", numbers.integer(fit.max_concurrency_mean)),
            ];
            (&words.working_concurrency, values)
        }
        "last_token" => {
            let step = &report.speed.last_step;
            let values = vec![
                ("low", numbers.seconds(step.low)),
                ("high", numbers.seconds(step.high)),
                ("likely", numbers.seconds(step.likely)),
                ("roofline", numbers.seconds(step.roofline)),
            ];
            (&words.working_last_token, values)
        }
        "longest_thinking" => {
            let template = if fit.is_limited_by_context {
                &words.working_longest_context
            } else if is_at_end(
                "thinking_tokens",
                fit.max_thinking_tokens.unwrap_or_default().0,
            ) {
                &words.working_longest_more
            } else {
                &words.working_longest
            };
            let context =
                longest_sequence(scenario).map_or_else(String::new, |n| numbers.integer(n.0));
            (template, vec![("context", context)])
        }
        "at_long_thinking" => (&words.working_at_long, Vec::new()),
        _ => return None,
    };
    Some(fill(template, &as_values(&values)))
}

#[cfg(feature = "doors")]
fn as_values<'a>(values: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    let value = |(name, value): &'a (&'a str, String)| (*name, value.as_str());
    values.iter().map(value).collect()
}

/// How the bytes that the engine may use follow from those of the accelerator.
#[cfg(feature = "doors")]
fn usable(scenario: &Scenario, report: &Report, text: &Messages) -> String {
    let (words, numbers) = (&text.panels, text.numbers());
    let share = numbers.fraction(engines::memory_share(scenario).0);
    let values = [
        ("share", share),
        ("visible", numbers.bytes_short(scenario.gpu.visible())),
        ("usable", numbers.bytes_short(report.hbm.usable_bytes)),
        ("capacity", numbers.bytes_short(report.hbm.capacity_bytes)),
    ];
    let template = match scenario.engine.kind {
        EngineKind::TensorRtLlm => &words.working_usable_free,
        EngineKind::Exact | EngineKind::Vllm | EngineKind::Sglang | EngineKind::LlamaCpp => {
            &words.working_usable
        }
    };
    fill(template, &as_values(&values))
}
