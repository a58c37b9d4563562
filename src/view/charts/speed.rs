//! The time of each token as the cache grows: the estimate's range, and the bound that the data sheet gives.

use std::sync::Arc;

use crate::core::outlook::Outlook;
use crate::core::report::Report;
use crate::core::scenario::Scenario;
use crate::core::speed::Estimate;
use crate::view::axis::{count_axis, thinned, within};
use crate::view::chart::{ChartModel, Draw};
use crate::view::fleet::figures;
use crate::view::sentence;
use crate::view::svg::{Anchor, Axis, Canvas, FONT_SIZE, Frame, Ink, Mark, Mesh, Pen, fitted};
use crate::view::table::{Cell, Table};
use crate::view::text::{Messages, fill};

/// Its id.
pub const ID: &str = "speed";

const HEIGHT: u32 = 240;

/// The curve. Times in seconds.
struct Curve {
    x: Axis,
    y: Axis,
    points: Vec<(u64, Estimate)>,
    crossing: Option<(u64, String)>,
    axis_name: String,
    range: String,
    likely: String,
    roofline: String,
}

/// The model of a scenario's speed.
pub fn model(
    scenario: &Scenario,
    report: &Report,
    outlook: &Outlook,
    messages: &Messages,
) -> ChartModel {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let last = outlook.steps.last().map_or(1, |(tokens, _)| *tokens);
    let most = outlook.steps.iter().map(|(_, step)| step.high);
    let speed = &outlook.speed;
    let crossing = speed.crossing_tokens;
    let seconds = |seconds: f64| numbers.seconds(seconds);
    let values = [
        ("n", numbers.integer(outlook.num_seqs)),
        ("gpus", sentence::gpus(scenario, report, messages)),
        ("ttft_low", seconds(speed.time_to_first_token.low)),
        ("ttft_high", seconds(speed.time_to_first_token.high)),
        ("start_low", seconds(speed.thinking_start_step.low)),
        ("start_high", seconds(speed.thinking_start_step.high)),
        ("end_low", seconds(speed.thinking_end_step.low)),
        ("end_high", seconds(speed.thinking_end_step.high)),
        ("total_low", seconds(speed.total.low)),
        ("total_high", seconds(speed.total.high)),
    ];
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let crossing_sentence = match crossing {
        Some(tokens) => fill(&text.speed_crossing, &[("n", &numbers.integer(tokens))]),
        None => text.speed_no_crossing.to_string(),
    };
    let curve = Curve {
        x: count_axis(last, 4, numbers),
        y: time_axis(most.fold(0.0, f64::max), messages),
        points: outlook.steps.clone(),
        crossing: crossing.filter(|tokens| *tokens <= last).map(|tokens| {
            let label = fill(
                &text.speed_crossing_label,
                &[("n", &numbers.integer(tokens))],
            );
            (tokens, label)
        }),
        axis_name: text.speed_axis.to_string(),
        range: text.speed_range.to_string(),
        likely: text.speed_likely.to_string(),
        roofline: text.speed_roofline.to_string(),
    };
    ChartModel {
        id: ID,
        title: text.speed_chart_title.to_string(),
        subtitle: fill(&text.speed_subtitle, &values),
        summary: format!("{} {crossing_sentence}", fill(&text.speed_summary, &values)),
        table: table(outlook, messages),
        draw: Arc::new(curve),
    }
}

/// An axis of seconds from zero to a round value not below `max`.
fn time_axis(max: f64, messages: &Messages) -> Axis {
    let micros = (max * 1e6).ceil() as u64;
    let counts = count_axis(micros.max(1), 3, messages.numbers());
    let ticks = counts.ticks.into_iter().map(|(micros, _)| {
        let label = if micros == 0.0 {
            messages.numbers().integer(0)
        } else {
            messages.numbers().seconds(micros / 1e6)
        };
        (micros / 1e6, label)
    });
    Axis {
        min: 0.0,
        max: counts.max / 1e6,
        ticks: ticks.collect(),
    }
}

/// Every figure of the estimate, with its range and its bound.
pub fn table(outlook: &Outlook, messages: &Messages) -> Table {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let speed = &outlook.speed;
    let time = |seconds: f64| Cell::Number(seconds, numbers.seconds(seconds));
    let times = [
        (&text.speed_row_ttft, speed.time_to_first_token),
        (&text.speed_row_start, speed.thinking_start_step),
        (&text.speed_row_end, speed.thinking_end_step),
        (&text.speed_row_last, speed.last_step),
        (&text.speed_row_total, speed.total),
    ];
    let mut rows: Vec<Vec<Cell>> = times
        .into_iter()
        .map(|(name, estimate)| {
            let name = Cell::Words(name.to_string());
            let parts = [
                estimate.low,
                estimate.likely,
                estimate.high,
                estimate.roofline,
            ];
            [name].into_iter().chain(parts.map(time)).collect()
        })
        .collect();
    let rate = speed.tokens_per_second;
    let head = [Cell::Words(text.speed_row_rate.to_string())];
    let parts = [rate.high, rate.likely, rate.low, rate.roofline]
        .map(|rate| Cell::Number(rate, figures(rate, numbers)));
    rows.push(head.into_iter().chain(parts).collect());
    let head = [
        &text.speed_what,
        &text.speed_fast,
        &text.speed_likely,
        &text.speed_slow,
        &text.speed_roofline,
    ];
    Table::new(&head, rows)
}

impl Draw for Curve {
    fn height(&self, _: u32) -> u32 {
        HEIGHT
    }

    fn draw(&self, canvas: &Canvas) {
        let labels = self
            .y
            .ticks
            .iter()
            .map(|(_, label)| canvas.text_width(label));
        let last = self
            .x
            .ticks
            .last()
            .map_or(0.0, |(_, label)| canvas.text_width(label));
        let frame = Frame {
            left: labels.fold(0.0, f64::max) + 8.0,
            top: 40.0,
            right: canvas.width() - last / 2.0 - 2.0,
            bottom: canvas.height() - 36.0,
        };
        let length = frame.right - frame.left;
        let x = thinned(&self.x, length, |label| canvas.text_width(label));
        let Some(mut plot) = canvas.plot(frame, &x, &self.y, Mesh::Lines) else {
            return;
        };
        let along = |part: fn(&Estimate) -> f64| -> Vec<(f64, f64)> {
            let points = self.points.iter();
            points
                .map(|(tokens, step)| (*tokens as f64, part(step)))
                .collect()
        };
        plot.band(
            Pen(Ink::Thinking, Mark::Faint),
            &along(|step| step.high),
            &along(|step| step.low),
        );
        plot.line(Pen(Ink::Thinking, Mark::Bold), &along(|step| step.likely));
        plot.line(Pen(Ink::Ink, Mark::Dashes), &along(|step| step.roofline));
        plot.baseline();
        if let Some((tokens, label)) = &self.crossing {
            let (x, _) = plot.at(*tokens as f64, 0.0);
            canvas.line(
                Pen(Ink::Dim, Mark::Dashes),
                &[(x, frame.top), (x, frame.bottom)],
            );
            let label = fitted(label, canvas.width(), FONT_SIZE);
            let half = canvas.text_width(&label) / 2.0;
            let x = within(x, half, canvas.width() - half);
            canvas.text(Ink::Dim, Anchor::Middle, (x, frame.top - 6.0), &label);
        }
        // The key stands above the picture: the lines lie too near each other for labels of their own.
        let mut x = 0.0;
        let keys = [
            (Pen(Ink::Thinking, Mark::Bold), &self.likely),
            (Pen(Ink::Thinking, Mark::Faint), &self.range),
            (Pen(Ink::Ink, Mark::Dashes), &self.roofline),
        ];
        for (pen, label) in keys {
            let width = canvas.text_width(label);
            if canvas.width() < x + 22.0 + width {
                break;
            }
            if pen.1 == Mark::Faint {
                canvas.rect(pen, (x, 2.0), (x + 16.0, 14.0));
            } else {
                canvas.line(pen, &[(x, 8.0), (x + 16.0, 8.0)]);
            }
            canvas.text(Ink::Dim, Anchor::Start, (x + 20.0, 12.0), label);
            x += 20.0 + width + 14.0;
        }
        let name = fitted(&self.axis_name, canvas.width(), FONT_SIZE);
        let place = (canvas.width(), canvas.height() - 4.0);
        canvas.text(Ink::Dim, Anchor::End, place, &name);
    }
}
