//! What the last prompt of a conversation finds in the cache, under three policies for earlier thinking.

use std::sync::Arc;

use crate::core::turns::{Policy, TurnReport};
use crate::core::units::{Bytes, Tokens};
use crate::view::axis::count_axis;
use crate::view::chart::ChartModel;
use crate::view::charts::bars::{Bar, Bars, Part};
use crate::view::svg::{Ink, Mark, Pen};
use crate::view::table::{Cell, Table};
use crate::view::text::{Messages, Text, fill};

/// Its id.
pub const ID: &str = "turns";

/// The calls of a conversation under each policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Each policy with its calls.
    pub policies: Vec<(Policy, Vec<TurnReport>)>,
    /// Tokens of a block.
    pub block_size: Tokens,
}

/// A policy's name.
pub fn policy_name(policy: Policy, messages: &Messages) -> &Text {
    match policy {
        Policy::Strip => &messages.fleet.policy_strip,
        Policy::Interleaved => &messages.fleet.policy_interleaved,
        Policy::Preserved => &messages.fleet.policy_preserved,
    }
}

/// The model of what happens after the answer.
pub fn model(input: &Input, messages: &Messages) -> ChartModel {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let last = |policy: Policy| {
        let found = input.policies.iter().find(|(known, _)| *known == policy);
        found.and_then(|(_, calls)| calls.last()).copied()
    };
    let n_calls = input.policies.first().map_or(0, |(_, calls)| calls.len()) as u64;
    let (count, n_of_block) = (
        numbers.integer(n_calls),
        numbers.integer(input.block_size.0),
    );
    let subtitle = fill(
        &text.turns_subtitle,
        &[("n", &count), ("of", &count), ("block", &n_of_block)],
    );
    let summary = match last(Policy::Strip).zip(last(Policy::Preserved)) {
        Some((strip, preserved)) if 1 < n_calls => {
            let tokens = |tokens: Tokens| numbers.integer(tokens.0);
            let values = [
                ("strip_reused", tokens(strip.tokens.reused_tokens)),
                ("preserved_reused", tokens(preserved.tokens.reused_tokens)),
                ("strip_prefilled", tokens(strip.tokens.prefilled_tokens)),
                (
                    "preserved_prefilled",
                    tokens(preserved.tokens.prefilled_tokens),
                ),
                ("strip_recomputed", tokens(strip.tokens.recomputed_tokens)),
                (
                    "preserved_recomputed",
                    tokens(preserved.tokens.recomputed_tokens),
                ),
                ("dead", numbers.bytes_decimal(strip.dead_bytes)),
                (
                    "dead_thinking",
                    numbers.bytes_decimal(strip.dead_thinking_bytes),
                ),
                ("strip_bytes", numbers.bytes_decimal(strip.prompt_bytes)),
                (
                    "preserved_bytes",
                    numbers.bytes_decimal(preserved.prompt_bytes),
                ),
            ];
            let values: Vec<(&str, &str)> = values
                .iter()
                .map(|(name, value)| (*name, &**value))
                .collect();
            fill(&text.turns_summary, &values)
        }
        Some(_) | None => text.turns_summary_one.to_string(),
    };
    let rows = input
        .policies
        .iter()
        .filter_map(|(policy, calls)| calls.last().map(|call| (*policy, call)));
    let bars: Vec<Bar> = rows
        .map(|(policy, call)| bar(policy, call, messages))
        .collect();
    let length = |bar: &Bar| bar.parts.iter().map(|part| part.length).sum::<f64>();
    let longest = bars.iter().map(length).fold(0.0, f64::max);
    ChartModel {
        id: ID,
        title: text.turns_chart_title.to_string(),
        subtitle,
        summary,
        table: table(input, messages),
        draw: Arc::new(Bars {
            bars,
            axis: count_axis(longest as u64, 4, numbers),
            keys: keys(messages),
        }),
    }
}

const REUSED: Pen = Pen(Ink::Prompt, Mark::Faint);
const RECOMPUTED: Pen = Pen(Ink::Prompt, Mark::Hatch);
const NEW: Pen = Pen(Ink::Prompt, Mark::Fill);
const DEAD_THINKING: Pen = Pen(Ink::Thinking, Mark::Hatch);
const DEAD_OTHER: Pen = Pen(Ink::Answer, Mark::Hatch);

fn keys(messages: &Messages) -> Vec<(Pen, String)> {
    let text = &messages.fleet;
    [
        (REUSED, &text.turns_reused),
        (RECOMPUTED, &text.turns_recomputed),
        (NEW, &text.turns_new),
        (DEAD_THINKING, &text.turns_dead_thinking),
        (DEAD_OTHER, &text.turns_dead_other),
    ]
    .map(|(pen, name)| (pen, name.to_string()))
    .to_vec()
}

fn bar(policy: Policy, call: &TurnReport, messages: &Messages) -> Bar {
    let tokens = &call.tokens;
    let new = tokens.prefilled_tokens.minus(tokens.recomputed_tokens);
    let dead_other = tokens.dead_tokens.minus(tokens.dead_thinking_tokens);
    let parts = [
        (REUSED, tokens.reused_tokens),
        (RECOMPUTED, tokens.recomputed_tokens),
        (NEW, new),
        (DEAD_THINKING, tokens.dead_thinking_tokens),
        (DEAD_OTHER, dead_other),
    ];
    let numbers = messages.numbers();
    Bar {
        name: policy_name(policy, messages).to_string(),
        note: numbers.tokens(tokens.prompt_tokens),
        parts: parts
            .map(|(pen, tokens)| Part {
                pen,
                length: tokens.0 as f64,
            })
            .to_vec(),
        range: None,
    }
}

fn table(input: &Input, messages: &Messages) -> Table {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let count = |n: u64| Cell::Count(n, numbers.integer(n));
    let bytes = |bytes: Bytes| Cell::Count(bytes.0, numbers.bytes_decimal(bytes));
    let mut rows = Vec::new();
    for (policy, calls) in &input.policies {
        for call in calls {
            let tokens = &call.tokens;
            rows.push(vec![
                Cell::Words(policy_name(*policy, messages).to_string()),
                count(u64::from(tokens.turn) + 1),
                count(tokens.prompt_tokens.0),
                count(tokens.reused_tokens.0),
                count(tokens.prefilled_tokens.0),
                count(tokens.recomputed_tokens.0),
                bytes(call.prompt_bytes),
                count(tokens.dead_tokens.0),
                bytes(call.dead_bytes),
                bytes(call.total_dead_bytes),
            ]);
        }
    }
    let head = [
        &text.turns_row,
        &text.turns_turn,
        &text.turns_prompt,
        &text.turns_reused,
        &text.turns_prefilled,
        &text.turns_recomputed,
        &text.turns_held,
        &text.turns_dead,
        &text.turns_dead_bytes,
        &text.turns_total_dead,
    ];
    Table::new(&head, rows)
}
