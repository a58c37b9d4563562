//! What one request costs: billed by the token, and on rented GPUs.

use std::sync::Arc;

use crate::core::gpus::Gpu;
use crate::core::outlook::Outlook;
use crate::core::price::{self, PriceNote};
use crate::core::report::Report;
use crate::core::scenario::Scenario;
use crate::core::settings::PriceSettings;
use crate::view::axis::count_axis;
use crate::view::chart::ChartModel;
use crate::view::charts::bars::{Bar, Bars, Part};
use crate::view::fleet::{sources, usd};
use crate::view::sentence;
use crate::view::svg::{Axis, Ink, Mark, Pen};
use crate::view::table::{Cell, Table};
use crate::view::text::{Messages, fill};

/// Its id.
pub const ID: &str = "price";

/// The model of a request's price.
pub fn model(
    scenario: &Scenario,
    report: &Report,
    outlook: &Outlook,
    prices: &PriceSettings,
    messages: &Messages,
) -> ChartModel {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let money = |amount: f64| usd(amount, messages);
    let share = |share: f64| numbers.percent((share * 1e6).round() as u64, 1_000_000, 0);
    let api = &outlook.api;
    let gpus = sentence::gpus(scenario, report, messages);
    let api_price = prices.api_price();
    let api_name = format!("{} {}", api_price.vendor, api_price.name);
    let mut values = vec![
        ("api", api_name.clone()),
        ("api_total", money(api.total)),
        ("api_share", share(api.thinking_share)),
        ("gpus", gpus.clone()),
        ("n", numbers.integer(outlook.max_concurrency)),
    ];
    let template = match &outlook.rent {
        _ if outlook.max_concurrency == 0 => &text.price_summary_no_room,
        None => &text.price_summary_no_rent,
        Some(rent) => {
            let hour = prices.usd_per_gpu_hour(scenario.gpu.id).unwrap_or_default();
            values.extend([
                ("rent", money(hour)),
                ("rent_low", money(rent.per_request.low)),
                ("rent_high", money(rent.per_request.high)),
                ("rent_share", share(rent.thinking_share)),
            ]);
            &text.price_summary
        }
    };
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let mut bars = vec![Bar {
        name: api_name,
        note: money(api.total),
        parts: parts(api.prompt, api.thinking, api.answer),
        range: None,
    }];
    bars.extend(
        rent_parts(outlook).map(|(low, high, [prompt, thinking, answer])| Bar {
            name: fill(&text.price_rent_row, &[("gpus", &gpus)]),
            note: format!("{} – {}", money(low), money(high)),
            parts: parts(prompt, thinking, answer),
            range: Some((low, high)),
        }),
    );
    let longest = outlook
        .rent
        .map_or(api.total, |rent| rent.per_request.high.max(api.total));
    ChartModel {
        id: ID,
        title: text.price_title.to_string(),
        subtitle: text.price_subtitle.to_string(),
        summary: fill(template, &values),
        table: table(scenario, outlook, prices, messages),
        draw: Arc::new(Bars {
            bars,
            axis: usd_axis(longest, messages),
            keys: [
                (Ink::Prompt, &messages.charts.prompt),
                (Ink::Thinking, &messages.charts.thinking),
                (Ink::Answer, &messages.charts.answer),
            ]
            .map(|(ink, name)| (Pen(ink, Mark::Fill), name.to_string()))
            .to_vec(),
        }),
    }
}

fn parts(prompt: f64, thinking: f64, answer: f64) -> Vec<Part> {
    [
        (Ink::Prompt, prompt),
        (Ink::Thinking, thinking),
        (Ink::Answer, answer),
    ]
    .map(|(ink, length)| Part {
        pen: Pen(ink, Mark::Fill),
        length,
    })
    .to_vec()
}

/// The rent's range, and its likely value by the phase in which the time goes by.
fn rent_parts(outlook: &Outlook) -> Option<(f64, f64, [f64; 3])> {
    let rent = outlook.rent?;
    let (total, cost) = (outlook.full.total.likely, rent.per_request);
    let thinking = cost.likely * rent.thinking_share;
    let first = outlook.full.time_to_first_token.likely * outlook.max_concurrency as f64;
    let share = if 0.0 < total {
        (first / total).min(1.0)
    } else {
        0.0
    };
    let prompt = (cost.likely * share).min(cost.likely - thinking);
    let answer = cost.likely - thinking - prompt;
    Some((cost.low, cost.high, [prompt, thinking, answer]))
}

/// An axis of US dollars from zero to a round value not below `max`.
fn usd_axis(max: f64, messages: &Messages) -> Axis {
    let micros = count_axis(((max * 1e6).ceil() as u64).max(1), 4, messages.numbers());
    Axis {
        min: 0.0,
        max: micros.max / 1e6,
        ticks: micros
            .ticks
            .into_iter()
            .map(|(micros, _)| (micros / 1e6, usd(micros / 1e6, messages)))
            .collect(),
    }
}

fn table(
    scenario: &Scenario,
    outlook: &Outlook,
    prices: &PriceSettings,
    messages: &Messages,
) -> Table {
    let text = &messages.fleet;
    let cell = |amount: f64| Cell::Number(amount, usd(amount, messages));
    let api = &outlook.api;
    let outputs = scenario
        .thinking_tokens
        .plus(scenario.answer_tokens)
        .0
        .max(1);
    let api_price = prices.api_price();
    let words = |text: String| Cell::Words(text);
    let mut rows = vec![vec![
        words(format!("{} {}", api_price.vendor, api_price.name)),
        cell(api.prompt),
        cell(api.thinking),
        cell(api.answer),
        cell(api.total),
        Cell::Empty,
        cell(api.total * 1e6 / outputs as f64),
        words(api_source(prices, messages)),
    ]];
    if let Some((rent, (low, high, [prompt, thinking, answer]))) =
        outlook.rent.zip(rent_parts(outlook))
    {
        rows.push(vec![
            words(fill(
                &text.price_rent_row,
                &[(
                    "gpus",
                    &messages
                        .numbers()
                        .times(outlook.num_gpus, scenario.gpu.short),
                )],
            )),
            cell(prompt),
            cell(thinking),
            cell(answer),
            cell(rent.per_request.likely),
            words(format!("{} – {}", usd(low, messages), usd(high, messages))),
            cell(rent.per_million_output_tokens.likely),
            words(rent_source(scenario.gpu, prices, messages)),
        ]);
    }
    let head = [
        &text.price_column,
        &text.price_prompt,
        &text.price_thinking,
        &text.price_answer,
        &text.price_total,
        &text.price_range,
        &text.price_per_million,
        &text.templates_source,
    ];
    Table::new(&head, rows)
}

/// Where an API's price is from.
pub fn api_source(prices: &PriceSettings, messages: &Messages) -> String {
    let api = prices.api;
    let dated = fill(
        &messages.fleet.price_dated,
        &[
            ("vendor", api.vendor),
            ("source", sources::said(api.source, messages)),
            ("date", api.as_of),
        ],
    );
    let text = &messages.fleet;
    let (template, date) = match api.note {
        Some(PriceNote::Retired(date)) => (&text.price_retired, date),
        Some(PriceNote::Through(date)) => (&text.price_through, date),
        Some(PriceNote::History) => (&text.price_history, ""),
        None => return dated,
    };
    fill(template, &[("dated", &dated), ("date", date)])
}

/// Where a rent is from; empty when the reader gave it or no list has it.
pub fn rent_source(gpu: &Gpu, prices: &PriceSettings, messages: &Messages) -> String {
    match price::rent(gpu.id).filter(|_| prices.rent.is_none()) {
        Some(rent) => fill(
            &messages.fleet.price_rent_dated,
            &[
                ("source", sources::said(rent.source, messages)),
                ("date", rent.as_of),
            ],
        ),
        None => String::new(),
    }
}
