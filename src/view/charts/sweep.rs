//! Figure 4: what longer thinking does to a GPU: the cache of the scenario's requests, and how many fit at once.

use std::sync::Arc;

use crate::core::engines;
use crate::core::fit;
use crate::core::report::{LONG_THINKING, bounds_of};
use crate::core::scenario::Scenario;
use crate::core::setup::{Request, Setup};
use crate::core::units::{Bytes, KIB, Tokens, ascending};
use crate::view::axis::{Wish, byte_axis, count_axis, sort_by, spread};
use crate::view::chart::{ChartModel, Draw, Input, Scale, Size};
use crate::view::facts::or_more;
use crate::view::sentence;
use crate::view::svg::{
    Anchor, Axis, Canvas, FONT_SIZE, Frame, Ink, Mark, Mesh, Pen, Plot, fitted, text_width,
};
#[cfg(feature = "doors")]
use crate::view::table::{Cell, Table};
use crate::view::text::fill;

/// Its id.
pub const ID: &str = "sweep";

/// The longest thinking of the figure, unless the scenario thinks longer: 128k.
pub const LAST: u64 = 128 * KIB;

const HEIGHT: u32 = 330;
/// Numbers of requests at once whose last thinking token is found exactly, so that the low steps are steps.
const EXACT_COUNTS: u64 = 6;
/// Pinned lines that are drawn; their pens repeat after these.
const PENS: [Pen; 4] = [
    Pen(Ink::Ink, Mark::Bold),
    Pen(Ink::Pin1, Mark::Bold),
    Pen(Ink::Pin2, Mark::BoldDashes),
    Pen(Ink::Pin3, Mark::Bold),
];

/// One scenario's lines, over thinking tokens.
#[derive(Clone, Debug)]
struct Line {
    name: String,
    /// Bytes that the scenario's requests keep on the fullest GPU.
    held: Vec<(u64, u64)>,
    /// Requests that fit at once.
    concurrency: Vec<(u64, u64)>,
    pool: Bytes,
}

/// Both panels.
#[derive(Clone, Debug)]
struct Panels {
    lines: Vec<Line>,
    last: u64,
    x_ticks: Vec<(f64, String)>,
    held_axis: Axis,
    concurrency_axis: Axis,
    held_title: String,
    concurrency_title: String,
    axis_name: String,
    pool: Option<u64>,
    pool_label: String,
    now: u64,
    now_label: String,
    now_held: u64,
    now_concurrency: u64,
    now_concurrency_label: String,
    longest: Option<(u64, String)>,
}

/// The model of a scenario's thinking, from none to 128k, beside what is pinned.
pub fn model(input: &Input<'_>) -> ChartModel {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let (scenario, fits) = (input.scenario, input.report.fit);
    let now = scenario.thinking_tokens;
    let last = LAST.max(now.0.next_power_of_two());
    let name = |scenario: &Scenario| {
        format!(
            "{} · {}",
            sentence::model_name(scenario),
            sentence::kv_cache_dtype(scenario)
        )
    };
    let own = Setup::with_tensor_parallel(scenario, input.report.hardware.tensor_parallel_size);
    let mut lines = vec![line(name(scenario), &own, now, last)];
    lines.extend(
        input
            .pinned
            .iter()
            .map(|(name, scenario)| line(name.clone(), &Setup::new(scenario), now, last)),
    );
    let at = |points: &[(u64, u64)], x: Tokens| {
        points
            .iter()
            .find(|(at, _)| *at == x.0)
            .map_or(0, |(_, y)| *y)
    };
    let first = lines.first();
    let pool = first.map_or(Bytes::ZERO, |line| line.pool);
    let now_held = first.map_or(0, |line| at(&line.held, now));
    let held_max = lines
        .iter()
        .filter_map(|line| line.held.last())
        .map(|(_, bytes)| *bytes)
        .max()
        .unwrap_or(0);
    let is_pool_near = Bytes::ZERO < pool && pool.0 <= held_max.saturating_mul(4);
    // The line that matters is where the cache crosses its room: neither may be lost at the edge of the picture.
    let held_top = if is_pool_near {
        held_max
            .max(pool.0 / 8 * 9)
            .min((pool.0 / 2).saturating_mul(5))
            .max(now_held)
    } else {
        held_max
    };
    let concurrency_top = lines
        .iter()
        .map(|line| at(&line.concurrency, now).max(at(&line.concurrency, Tokens(last / 8))))
        .max();
    let longest = fits.max_thinking_tokens.filter(|longest| longest.0 <= last);
    let requests = numbers.integer(
        u64::from(scenario.num_seqs).div_ceil(u64::from(scenario.data_parallel_size.max(1))),
    );
    let concurrency_label = or_more("num_seqs", fits.max_concurrency, input.messages);
    let panels = Panels {
        last,
        x_ticks: (0..=4)
            .map(|idx| idx * (last / 4))
            .map(|x| (x as f64, numbers.compact(x)))
            .collect(),
        held_axis: byte_axis(Bytes(held_top), 3, numbers),
        concurrency_axis: count_axis(
            concurrency_top.unwrap_or(0).saturating_mul(5) / 4,
            3,
            numbers,
        ),
        held_title: fill(&text.sweep_kv, &[("requests", &requests)]),
        concurrency_title: text.sweep_concurrency.clone().into_owned(),
        axis_name: text.sweep_axis.clone().into_owned(),
        pool: is_pool_near.then_some(pool.0),
        pool_label: {
            let label = fill(&text.sweep_pool, &[("size", &numbers.bytes_short(pool))]);
            // Far above the axis.
            let arrow = if is_pool_near || pool == Bytes::ZERO {
                ""
            } else {
                " ↑"
            };
            label + arrow
        },
        now: now.0,
        now_label: fill(&text.sweep_now, &[("n", &numbers.integer(now.0))]),
        now_held,
        now_concurrency: fits.max_concurrency,
        now_concurrency_label: concurrency_label.clone(),
        longest: longest.map(|n| {
            (
                n.0,
                fill(&text.sweep_longest, &[("n", &numbers.integer(n.0))]),
            )
        }),
        lines,
    };
    let longest_sentence = match fits.max_thinking_tokens {
        Some(n) => {
            let template = if fits.is_limited_by_context {
                &text.sweep_longest_context
            } else {
                &text.sweep_longest_memory
            };
            let n = or_more("thinking_tokens", n.0, input.messages);
            fill(template, &[("n", &n)])
        }
        None => {
            let n = numbers.integer(scenario.num_seqs.into());
            fill(&text.sweep_longest_none, &[("n", &n)])
        }
    };
    let summary = fill(
        &text.sweep_summary,
        &[
            ("thinking", &numbers.integer(now.0)),
            ("now", &concurrency_label),
            ("far", &numbers.integer(LONG_THINKING.0)),
            (
                "far_count",
                &or_more("num_seqs", fits.max_concurrency_at_32000, input.messages),
            ),
            ("longest", &longest_sentence),
        ],
    );
    ChartModel {
        id: ID,
        title: text.sweep_title.clone().into_owned(),
        subtitle: text.sweep_subtitle.clone().into_owned(),
        summary,
        #[cfg(feature = "doors")]
        table: table(input, &panels),
        draw: Arc::new(panels),
    }
}

/// The thinking lengths at which the lines are computed: where windows fill, and close together where curves bend.
fn lengths(scenario: &Scenario, setup: &Setup<'_>, now: Tokens, last: u64) -> Vec<u64> {
    let mut res: Vec<u64> = vec![0, LONG_THINKING.0, now.0, last];
    // Steps of a factor of about 2^(1/2), which the eye takes for a curve.
    res.extend((8..20).flat_map(|power| [1_u64 << power, (1_u64 << power) * 7 / 5]));
    let taken = scenario.prompt_tokens.plus(scenario.answer_tokens);
    let caps = setup
        .model
        .groups
        .iter()
        .filter_map(|group| group.kind.cap());
    res.extend(caps.map(|cap| cap.minus(taken).0));
    res.retain(|thinking| *thinking <= last);
    ascending(&res)
}

fn line(name: String, setup: &Setup<'_>, now: Tokens, last: u64) -> Line {
    let scenario = setup.scenario;
    let pool = setup.budget().pool;
    let request = Request::of(scenario);
    let with = |thinking: u64| Request {
        thinking: Tokens(thinking),
        ..request
    };
    let num_seqs = setup.seqs_per_replica();
    let lengths = lengths(scenario, setup, now, last);
    let held = lengths
        .iter()
        .map(|thinking| (*thinking, setup.held_bytes(&with(*thinking), num_seqs).0))
        .collect();
    let holds = |thinking: u64, n: u64| {
        let request = with(thinking);
        engines::reserved_bytes(setup, &request, n) <= pool && engines::takes(setup, &request, n)
    };
    let most_at = |thinking: u64, most: u64| {
        let request = with(thinking);
        let reserved = engines::reserved_by_count(setup, &request);
        let holds = |n| reserved(n) <= pool && engines::takes(setup, &request, n);
        fit::largest(most, holds).unwrap_or(0)
    };
    // More thinking never lets more in, so each search ends where the one before it did.
    let most = bounds_of("num_seqs").map_or(1, |bounds| bounds.max);
    let mut concurrency: Vec<(u64, u64)> = Vec::with_capacity(lengths.len() + 12);
    for thinking in lengths {
        let most = concurrency.last().map_or(most, |(_, n)| *n);
        concurrency.push((thinking, most_at(thinking, most)));
    }
    // Where few fit, each request less is a step that shows: its place is searched for.
    for n in 1..=EXACT_COUNTS {
        if let Some(end) =
            fit::largest(last, |thinking| holds(thinking, n)).filter(|end| *end < last)
        {
            for thinking in [end, end + 1] {
                let before = concurrency
                    .iter()
                    .filter(|(at, _)| *at <= thinking)
                    .map(|(_, n)| *n)
                    .min();
                concurrency.push((thinking, most_at(thinking, before.unwrap_or(most))));
            }
        }
    }
    sort_by(&mut concurrency, |(thinking, _)| *thinking as f64);
    concurrency.dedup();
    let num_replicas = u64::from(scenario.data_parallel_size.max(1));
    for (_, n) in &mut concurrency {
        *n = n.saturating_mul(num_replicas);
    }
    Line {
        name,
        held,
        concurrency,
        pool,
    }
}

#[cfg(feature = "doors")]
fn table(input: &Input<'_>, panels: &Panels) -> Table {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let mut head = vec![text.sweep_axis.clone().into_owned()];
    for line in &panels.lines {
        for template in [&text.sweep_column_kv, &text.sweep_column_concurrency] {
            head.push(fill(template, &[("name", &line.name)]));
        }
    }
    let count = |n: u64| Cell::Count(n, numbers.integer(n));
    let lengths = panels.lines.first().map_or(&[][..], |line| &line.held);
    // Every length that each line was computed at; windows differ, so a line may lack another's.
    let rows = lengths.iter().filter(|(thinking, _)| {
        panels
            .lines
            .iter()
            .all(|line| line.held.iter().any(|(at, _)| at == thinking))
    });
    let value = |points: &[(u64, u64)], thinking: u64| {
        points
            .iter()
            .find(|(at, _)| *at == thinking)
            .map_or(Cell::Empty, |(_, value)| count(*value))
    };
    let rows = rows.map(|(thinking, _)| {
        let mut row = vec![count(*thinking)];
        for line in &panels.lines {
            row.extend([
                value(&line.held, *thinking),
                value(&line.concurrency, *thinking),
            ]);
        }
        row
    });
    Table {
        rows: rows.collect(),
        head,
    }
}

/// The parts of a line that are not above `top`, cut where it crosses.
fn below(points: &[(u64, u64)], top: f64) -> Vec<Vec<(f64, f64)>> {
    let mut res = Vec::new();
    let mut part: Vec<(f64, f64)> = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for (x, y) in points.iter().map(|(x, y)| (*x as f64, *y as f64)) {
        let crossing = before
            .filter(|(_, y0)| (*y0 <= top) != (y <= top))
            .map(|(x0, y0)| (x0 + (x - x0) * (top - y0) / (y - y0), top));
        part.extend(crossing);
        if y <= top {
            part.push((x, y));
        } else if !part.is_empty() {
            res.push(std::mem::take(&mut part));
        }
        before = Some((x, y));
    }
    if !part.is_empty() {
        res.push(part);
    }
    res
}

/// The pens of the lines: the scenario's own first, then those of the pinned ones in turn.
fn pen(idx: usize) -> Pen {
    let [own, pinned @ ..] = &PENS;
    match idx.checked_sub(1) {
        None => *own,
        Some(idx) => pinned
            .iter()
            .cycle()
            .nth(idx % pinned.len())
            .copied()
            .unwrap_or(*own),
    }
}

impl Panels {
    /// The frames of both panels.
    fn frames(&self, width: f64, height: f64) -> (Frame, Frame) {
        let ticks = self
            .held_axis
            .ticks
            .iter()
            .chain(&self.concurrency_axis.ticks);
        let left = ticks
            .map(|(_, label)| text_width(label, FONT_SIZE, false))
            .fold(0.0, f64::max)
            + 8.0;
        let last_tick = self
            .x_ticks
            .last()
            .map_or(0.0, |(_, label)| text_width(label, FONT_SIZE, false))
            / 2.0;
        let names = self
            .lines
            .iter()
            .map(|line| text_width(&line.name, FONT_SIZE, false))
            .fold(0.0, f64::max);
        let after = if 1 < self.lines.len() {
            (names + 8.0).min(width * 0.36)
        } else {
            0.0
        };
        let right = width - last_tick.max(after);
        let panel = (height - 46.0 - 36.0 - 42.0) / 2.0;
        let upper = Frame {
            left,
            top: 46.0,
            right,
            bottom: 46.0 + panel,
        };
        let lower = Frame {
            left,
            top: upper.bottom + 36.0,
            right,
            bottom: upper.bottom + 36.0 + panel,
        };
        (upper, lower)
    }

    fn draw_lines(
        &self,
        canvas: &Canvas,
        plot: &mut Plot<'_>,
        frame: Frame,
        top: f64,
        of: fn(&Line) -> &[(u64, u64)],
    ) {
        let mut ends = Vec::new();
        // The scenario's own line lies over the others.
        for (idx, line) in self.lines.iter().enumerate().rev() {
            let pen = pen(idx);
            for part in below(of(line), top) {
                plot.line(pen, &part);
            }
            let end = of(line).last().map_or(0.0, |(_, y)| (*y as f64).min(top));
            let (_, y) = plot.at(0.0, end);
            ends.push((y, pen, &line.name));
        }
        if self.lines.len() < 2 {
            return;
        }
        sort_by(&mut ends, |(y, ..)| *y);
        let wishes: Vec<Wish> = ends
            .iter()
            .map(|(y, ..)| Wish {
                at: *y,
                length: 15.0,
            })
            .collect();
        let places = spread(&wishes, 0.0, frame.top - 8.0, frame.bottom);
        for ((_, Pen(ink, _), name), place) in ends.into_iter().zip(places) {
            let name = fitted(name, canvas.width() - frame.right - 6.0, FONT_SIZE);
            canvas.text(ink, Anchor::Start, (frame.right + 6.0, place + 4.0), &name);
        }
    }

    /// The lines across both panels: where thinking is now, and the longest.
    fn draw_marks(&self, canvas: &Canvas, (upper, lower): (Frame, Frame), at: &dyn Fn(f64) -> f64) {
        let from = upper.top - 8.0;
        let mut marks = vec![(at(self.now as f64), Mark::Line, &self.now_label)];
        marks.extend(
            self.longest
                .iter()
                .map(|(longest, label)| (at(*longest as f64), Mark::Dashes, label)),
        );
        sort_by(&mut marks, |(x, ..)| *x);
        let wish = |(at, _, label): &(f64, Mark, &String)| Wish {
            at: *at,
            length: canvas.text_width(label),
        };
        let wishes: Vec<Wish> = marks.iter().map(wish).collect();
        let places = spread(&wishes, 10.0, 0.0, canvas.width());
        for ((x, mark, label), place) in marks.into_iter().zip(places) {
            // Between the panels stands the title of the lower one.
            for (from, to) in [(from, upper.bottom), (lower.top, lower.bottom)] {
                canvas.line(Pen(Ink::Ink, mark), &[(x, from), (x, to)]);
            }
            canvas.text(Ink::Ink, Anchor::Middle, (place, from - 6.0), label);
        }
    }
}

impl Draw for Panels {
    fn height(&self, _: u32) -> u32 {
        HEIGHT
    }

    fn scale(&self, size: Size) -> Option<Scale> {
        let (_, frame) = self.frames(size.width.into(), size.height.into());
        Some(Scale {
            left: frame.left,
            right: frame.right,
            last: self.last,
        })
    }

    fn draw(&self, canvas: &Canvas) {
        let (upper, lower) = self.frames(canvas.width(), canvas.height());
        let x_axis = |step: usize| Axis {
            min: 0.0,
            max: self.last as f64,
            ticks: self.x_ticks.iter().step_by(step).cloned().collect(),
        };
        // The upper panel has the lower one's labels; a narrow panel has room for every other one.
        let lower_axis = x_axis(if lower.right - lower.left < 200.0 {
            2
        } else {
            1
        });
        let upper_axis = Axis {
            ticks: Vec::new(),
            ..lower_axis.clone()
        };
        let Some(mut held) = canvas.plot(upper, &upper_axis, &self.held_axis, Mesh::Lines) else {
            return;
        };
        let Some(mut concurrency) =
            canvas.plot(lower, &lower_axis, &self.concurrency_axis, Mesh::Lines)
        else {
            return;
        };
        canvas.text(Ink::Dim, Anchor::Start, (0.0, 12.0), &self.held_title);
        canvas.text(
            Ink::Dim,
            Anchor::Start,
            (0.0, lower.top - 10.0),
            &self.concurrency_title,
        );
        canvas.text(
            Ink::Dim,
            Anchor::End,
            (lower.right, canvas.height() - 6.0),
            &self.axis_name,
        );
        self.draw_marks(canvas, (upper, lower), &|thinking| held.at(thinking, 0.0).0);
        let (_, pool_y) = held.at(0.0, self.pool.unwrap_or(0) as f64);
        if self.pool.is_some() {
            canvas.line(
                Pen(Ink::Over, Mark::Dashes),
                &[(upper.left, pool_y), (upper.right, pool_y)],
            );
        }
        let is_under = self.pool.is_none() || pool_y - 16.0 < upper.top;
        let label_y = if self.pool.is_none() {
            upper.top + 10.0
        } else {
            pool_y + if is_under { 14.0 } else { -5.0 }
        };
        // The label ends before a line that would cross it.
        let width = canvas.text_width(&self.pool_label);
        let longest = self.longest.as_ref().map(|(longest, _)| *longest);
        let mut label_end = upper.right - 4.0;
        for thinking in longest.into_iter().chain([self.now]) {
            let (x, _) = held.at(thinking as f64, 0.0);
            if label_end - width - 4.0 < x && x < label_end + 4.0 && upper.left + width < x {
                label_end = x - 6.0;
            }
        }
        canvas.text(
            Ink::Over,
            Anchor::End,
            (label_end, label_y),
            &self.pool_label,
        );
        self.draw_lines(canvas, &mut held, upper, self.held_axis.max, |line| {
            &line.held
        });
        self.draw_lines(
            canvas,
            &mut concurrency,
            lower,
            self.concurrency_axis.max,
            |line| &line.concurrency,
        );
        held.baseline();
        concurrency.baseline();
        let now = self.now as f64;
        let dots = [
            (&mut held, self.now_held as f64, self.held_axis.max),
            (
                &mut concurrency,
                self.now_concurrency as f64,
                self.concurrency_axis.max,
            ),
        ];
        for (plot, value, top) in dots {
            if value <= top {
                plot.dot(Pen(Ink::Thinking, Mark::Fill), (now, value), 4.0);
                plot.dot(Pen(Ink::Ink, Mark::Line), (now, value), 4.0);
            }
        }
        let (x, y) = concurrency.at(
            now,
            (self.now_concurrency as f64).min(self.concurrency_axis.max),
        );
        let label = &self.now_concurrency_label;
        let width = text_width(label, FONT_SIZE, true);
        let room = lower.right - lower.left - 4.0;
        let (anchor, label_x) = if x + 10.0 + width <= lower.right {
            (Anchor::Start, x + 8.0)
        } else if lower.left <= x - 10.0 - width {
            (Anchor::End, x - 8.0)
        } else {
            // On neither side of the dot: above it, and left of no tick.
            (Anchor::End, (lower.left + width.min(room) + 4.0).max(x))
        };
        let label_y = (y - 6.0).max(lower.top + 10.0);
        let label = fitted(label, room.max(0.0), FONT_SIZE);
        canvas.strong(Ink::Ink, anchor, (label_x, label_y), &label);
    }
}
