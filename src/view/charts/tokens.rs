//! Figure 1: the tokens in the cache, by the phase that wrote them.

use std::sync::Arc;

use crate::core::units::Tokens;
use crate::view::axis::{Wish, room, spread, within};
use crate::view::chart::{ChartModel, Draw, Input};
use crate::view::svg::{Anchor, Canvas, Ink, Mark, Pen, text_width};
#[cfg(feature = "doors")]
use crate::view::table::{Cell, Table};
use crate::view::text::fill;

/// Its id.
pub const ID: &str = "tokens";

const FONT_SIZE: f64 = 13.0;
/// Below this width the phases are listed under the bar instead of beside each other.
const WIDE: f64 = 480.0;
const BAR_TOP: f64 = 26.0;
const BAR_BOTTOM: f64 = 62.0;
const ROW_HEIGHT: f64 = 20.0;

/// One phase of the bar, in words.
#[derive(Clone, Debug)]
struct Segment {
    ink: Ink,
    on_ink: Ink,
    name: String,
    tokens: u64,
    count: String,
    share: String,
    count_and_name: String,
    share_label: String,
    full_label: String,
}

/// The bar.
#[derive(Clone, Debug)]
struct Bar {
    segments: [Segment; 3],
    /// Tokens at the end of the request, to which the bar is scaled.
    whole: u64,
    /// The ends of the phases, as they are written, from 0 to what is held.
    boundaries: Vec<(u64, String)>,
    /// The end of the request, when it is not reached yet.
    end: Option<String>,
}

/// The model of a scenario's tokens, at the step of the input.
pub fn model(input: &Input<'_>) -> ChartModel {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let (held, whole) = (input.now.tokens, input.report.tokens.total);
    let phases = [
        (Ink::Prompt, Ink::OnDark, &text.prompt, held.prompt),
        (Ink::Thinking, Ink::OnLight, &text.thinking, held.thinking),
        (Ink::Answer, Ink::OnLight, &text.answer, held.answer),
    ];
    let segments = phases.map(|(ink, on_ink, name, tokens)| {
        let count = numbers.integer(tokens.0);
        let share = numbers.percent(tokens.0, held.total.0, 1);
        let values: &[(&str, &str)] = &[("n", &count), ("phase", name), ("share", &share)];
        Segment {
            ink,
            on_ink,
            name: name.clone().into_owned(),
            tokens: tokens.0,
            count_and_name: fill(&text.tokens_segment, values),
            share_label: fill(&text.tokens_share, values),
            full_label: fill(&text.tokens_full_share, values),
            count,
            share,
        }
    });
    let mut ends = vec![Tokens(0)];
    for (_, _, _, tokens) in phases {
        ends.push(ends.last().copied().unwrap_or_default().plus(tokens));
    }
    ends.dedup();
    let values: [(&str, String); 9] = [
        ("total", numbers.integer(held.total.0)),
        ("whole", numbers.integer(whole.0)),
        ("prompt", numbers.integer(held.prompt.0)),
        ("thinking", numbers.integer(held.thinking.0)),
        ("answer", numbers.integer(held.answer.0)),
        (
            "prompt_share",
            numbers.percent(held.prompt.0, held.total.0, 2),
        ),
        (
            "thinking_share",
            numbers.percent(held.thinking.0, held.total.0, 2),
        ),
        (
            "answer_share",
            numbers.percent(held.answer.0, held.total.0, 2),
        ),
        ("step", numbers.integer(input.step)),
    ];
    let steps = numbers.integer(input.scenario.decode_steps());
    let mut values: Vec<(&str, &str)> = values
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    values.push(("steps", &steps));
    let summary = if whole.0 == 0 {
        text.tokens_summary_empty.clone().into_owned()
    } else if held.total == whole {
        fill(&text.tokens_summary, &values)
    } else {
        fill(&text.tokens_summary_step, &values)
    };
    let bar = Bar {
        segments,
        whole: whole.0,
        boundaries: ends
            .into_iter()
            .map(|end| (end.0, numbers.integer(end.0)))
            .collect(),
        end: (held.total < whole).then(|| numbers.integer(whole.0)),
    };
    ChartModel {
        id: ID,
        title: text.tokens_title.clone().into_owned(),
        subtitle: text.tokens_subtitle.clone().into_owned(),
        summary,
        #[cfg(feature = "doors")]
        table: table(input),
        draw: Arc::new(bar),
    }
}

#[cfg(feature = "doors")]
fn table(input: &Input<'_>) -> Table {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let held = input.now.tokens;
    let count = |tokens: Tokens| Cell::Count(tokens.0, numbers.integer(tokens.0));
    let mut start = Tokens(0);
    let mut rows: Vec<Vec<Cell>> = [
        (&text.prompt, held.prompt),
        (&text.thinking, held.thinking),
        (&text.answer, held.answer),
    ]
    .into_iter()
    .map(|(name, tokens)| {
        let end = start.plus(tokens);
        let share = Cell::Words(numbers.percent(tokens.0, held.total.0, 2));
        let row = vec![
            Cell::Words(name.clone().into_owned()),
            count(tokens),
            count(start),
            count(end),
            share,
        ];
        start = end;
        row
    })
    .collect();
    rows.push(vec![
        Cell::Words(text.total.clone().into_owned()),
        count(held.total),
        count(Tokens(0)),
        count(held.total),
        Cell::Words(numbers.percent(held.total.0, held.total.0, 2)),
    ]);
    let head = [
        &text.phase,
        &text.tokens,
        &text.starts_at,
        &text.ends_at,
        &text.share,
    ];
    Table::new(&head, rows)
}

impl Draw for Bar {
    fn height(&self, width: u32) -> u32 {
        if f64::from(width) < WIDE { 134 } else { 92 }
    }

    fn font_size(&self) -> f64 {
        FONT_SIZE
    }

    fn draw(&self, canvas: &Canvas) {
        let width = canvas.width();
        let at = |tokens: u64| tokens as f64 / self.whole.max(1) as f64 * width;
        if self.end.is_some() || self.whole == 0 {
            let (from, to) = ((0.5, BAR_TOP + 0.5), (width - 0.5, BAR_BOTTOM - 0.5));
            canvas.rect(Pen(Ink::Grid, Mark::Dashes), from, to);
        }
        let placed = self.draw_segments(canvas, &at);
        self.draw_boundaries(canvas, &at);
        if width < WIDE {
            self.draw_list(canvas);
        } else {
            draw_shares(canvas, &placed);
        }
    }
}

/// A phase where it was drawn.
struct Placed<'a> {
    segment: &'a Segment,
    from: f64,
    to: f64,
    /// Whether its tokens are written inside it.
    is_labelled: bool,
}

/// The shares under the bar, with the tokens of phases that had no room for them.
fn draw_shares(canvas: &Canvas, placed: &[Placed<'_>]) {
    let width = canvas.width();
    let full = |placed: &Placed<'_>| !placed.is_labelled && 0 < placed.segment.tokens;
    let full_label = |placed| {
        if full(placed) {
            &placed.segment.full_label
        } else {
            &placed.segment.share_label
        }
    };
    let wishes_of = |labels: &[&String]| -> Vec<Wish> {
        let wish = |(placed, label): (&Placed<'_>, &&String)| Wish {
            at: f64::midpoint(placed.from, placed.to),
            length: canvas.text_width(label),
        };
        placed.iter().zip(labels).map(wish).collect()
    };
    let mut labels: Vec<&String> = placed.iter().map(full_label).collect();
    let mut wishes = wishes_of(&labels);
    if width < room(&wishes, 14.0) {
        labels = placed
            .iter()
            .map(|placed| &placed.segment.share_label)
            .collect();
        wishes = wishes_of(&labels);
    }
    let places = spread(&wishes, 14.0, 0.0, width);
    for (((placed, wish), label), place) in placed.iter().zip(&wishes).zip(labels).zip(places) {
        if (placed.to - placed.from) / 2.0 + 4.0 < (place - wish.at).abs() {
            let tie = [(wish.at, BAR_BOTTOM + 1.0), (place, BAR_BOTTOM + 10.0)];
            canvas.line(Pen(Ink::Grid, Mark::Line), &tie);
        }
        canvas.text(Ink::Dim, Anchor::Middle, (place, BAR_BOTTOM + 22.0), label);
    }
}

impl Bar {
    fn draw_segments(&self, canvas: &Canvas, at: &dyn Fn(u64) -> f64) -> Vec<Placed<'_>> {
        let mut end = 0_u64;
        let mut res = Vec::new();
        for segment in &self.segments {
            let (from, to) = (at(end), at(end.saturating_add(segment.tokens)));
            end = end.saturating_add(segment.tokens);
            let fits = |label: &&String| canvas.text_width(label) + 10.0 <= to - from;
            let labels = [&segment.count_and_name, &segment.count];
            let label = labels.into_iter().find(fits).filter(|_| 0 < segment.tokens);
            if 0 < segment.tokens {
                // A hairline of paper between phases, unless that would eat the phase.
                let gap = if 0.0 < from && 3.0 < to - from {
                    1.0
                } else {
                    0.0
                };
                canvas.rect(
                    Pen(segment.ink, Mark::Fill),
                    (from + gap, BAR_TOP),
                    (to, BAR_BOTTOM),
                );
            }
            if let Some(label) = label {
                let middle = (f64::midpoint(from, to), BAR_TOP + 23.0);
                canvas.text(segment.on_ink, Anchor::Middle, middle, label);
            }
            res.push(Placed {
                segment,
                from,
                to,
                is_labelled: label.is_some(),
            });
        }
        res
    }

    /// The ends of phases above the bar, pushed apart where they would meet, each tied to its end.
    fn draw_boundaries(&self, canvas: &Canvas, at: &dyn Fn(u64) -> f64) {
        let width = canvas.width();
        let n_held = self.boundaries.len();
        let mut labels: Vec<(f64, &str, Ink, bool)> = self
            .boundaries
            .iter()
            .enumerate()
            .map(|(idx, (tokens, label))| {
                let is_total = idx + 1 == n_held;
                (
                    at(*tokens),
                    label.as_str(),
                    if is_total { Ink::Ink } else { Ink::Dim },
                    is_total,
                )
            })
            .collect();
        labels.extend(
            self.end
                .as_deref()
                .map(|label| (width, label, Ink::Dim, false)),
        );
        let wish = |(at, label, _, is_strong): &(f64, &str, Ink, bool)| Wish {
            at: *at,
            length: text_width(label, FONT_SIZE, *is_strong),
        };
        let mut wishes: Vec<Wish> = labels.iter().map(wish).collect();
        // On a narrow screen long numbers give way from the left; the total stays.
        while 2 < labels.len() && width < room(&wishes, 8.0) {
            labels.remove(1);
            wishes.remove(1);
        }
        for (place, (at, label, ink, is_strong)) in
            spread(&wishes, 8.0, 0.0, width).into_iter().zip(labels)
        {
            let end = within(at, 0.5, width - 0.5);
            canvas.line(
                Pen(Ink::Grid, Mark::Line),
                &[(end, BAR_TOP - 1.0), (place, BAR_TOP - 7.0)],
            );
            let draw = if is_strong {
                Canvas::strong
            } else {
                Canvas::text
            };
            draw(canvas, ink, Anchor::Middle, (place, BAR_TOP - 10.0), label);
        }
    }

    /// The phases one under the other: name, tokens, share.
    fn draw_list(&self, canvas: &Canvas) {
        let width = canvas.width();
        let share_width = self
            .segments
            .iter()
            .map(|segment| canvas.text_width(&segment.share))
            .fold(0.0, f64::max);
        for (idx, segment) in self.segments.iter().enumerate() {
            let y = BAR_BOTTOM + 24.0 + ROW_HEIGHT * idx as f64;
            canvas.rect(Pen(segment.ink, Mark::Fill), (0.0, y - 10.0), (10.0, y));
            canvas.text(Ink::Dim, Anchor::Start, (16.0, y), &segment.name);
            canvas.text(
                Ink::Ink,
                Anchor::End,
                (width - share_width - 16.0, y),
                &segment.count,
            );
            canvas.text(Ink::Dim, Anchor::End, (width, y), &segment.share);
        }
    }
}
