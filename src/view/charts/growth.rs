//! Figure 3: the cache of one request over its life, with a scrubber.

use std::sync::Arc;

use crate::core::life::LifePoint;
use crate::core::scenario::EngineKind;
use crate::core::units::Bytes;
use crate::view::axis::{byte_axis, count_axis, within};
use crate::view::chart::{ChartModel, Draw, Input, Scale, Size};
use crate::view::numbers::ByteUnit;
use crate::view::svg::{Anchor, Axis, Canvas, FONT_SIZE, Frame, Ink, Mark, Mesh, Pen, text_width};
#[cfg(feature = "doors")]
use crate::view::table::{Cell, Table};
use crate::view::text::fill;

/// Its id.
pub const ID: &str = "growth";

const HEIGHT: u32 = 250;
/// Room before the first step for prefill and after the last for release, as shares of the decode steps.
const PREFILL: f64 = 0.07;
const RELEASE: f64 = 0.03;

/// A vertex: step, and bytes up to the state, the prompt's, the thinking's and the answer's rows.
#[derive(Clone, Copy, Debug)]
struct Vertex {
    step: f64,
    state: f64,
    prompt: f64,
    thinking: f64,
    answer: f64,
}

/// The curve.
#[derive(Clone, Debug)]
struct Curve {
    axis: Axis,
    vertices: Vec<Vertex>,
    thinking_ends: f64,
    last: u64,
    last_label: String,
    steps_axis: Axis,
    step: u64,
    bytes: f64,
    step_label: String,
    mean: f64,
    mean_label: String,
    peak_label: String,
    /// What the engine reserves at the end, when that is more than is held, and the peak's label that says so.
    reserved: Option<(f64, String)>,
    axis_name: String,
    /// What stands under the first and the last step, when time is estimated.
    times: Option<(String, String)>,
}

/// The model of a request's growth.
pub fn model(input: &Input<'_>) -> ChartModel {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let (life, cache) = (&input.report.life, &input.report.kv_cache);
    let last = input.scenario.decode_steps();
    let step = input.step.min(last);
    let now = input.now.kv_cache.per_seq_bytes;
    let vertices: Vec<Vertex> = life.iter().map(vertex).collect();
    let start = life.first().map_or(Bytes::ZERO, |point| point.bytes);
    let end_seconds = life.last().map_or(0.0, |point| point.seconds);
    let start_seconds = life.first().map_or(0.0, |point| point.seconds);
    let seconds = |seconds: f64| numbers.seconds(seconds);
    let steps_axis = count_axis(last, 4, numbers);
    // Labels of one picture compare, so they share the unit of the largest.
    let unit = ByteUnit::of(cache.per_seq_bytes);
    let sized =
        |template: &str, bytes: Bytes| fill(template, &[("size", &numbers.bytes_in(bytes, unit))]);
    let reserved = reserved(input);
    // What is reserved beyond the picture would flatten the curve; the label says it.
    let is_drawn = |reserved: &Bytes| reserved.0 / 3 <= cache.per_seq_bytes.0 / 2;
    let top = reserved.filter(is_drawn).unwrap_or(cache.per_seq_bytes);
    let curve = Curve {
        axis: byte_axis(top, 3, numbers),
        thinking_ends: input.scenario.thinking_tokens.0 as f64,
        last,
        last_label: numbers.integer(last),
        steps_axis,
        step,
        bytes: now.0 as f64,
        step_label: fill(
            &text.growth_step,
            &[
                ("step", &numbers.integer(step)),
                ("size", &numbers.bytes_in(now, unit)),
            ],
        ),
        mean: cache.mean_bytes.0 as f64,
        mean_label: sized(&text.growth_mean, cache.mean_bytes),
        peak_label: sized(&text.growth_peak, cache.per_seq_bytes),
        reserved: reserved.map(|bytes| {
            let sizes: [(&str, &str); 2] = [
                ("size", &numbers.bytes_in(cache.per_seq_bytes, unit)),
                ("reserved", &numbers.bytes_in(bytes, unit)),
            ];
            (bytes.0 as f64, fill(&text.growth_peak_reserved, &sizes))
        }),
        axis_name: text.growth_axis.clone().into_owned(),
        times: (0.0 < end_seconds).then(|| {
            (
                fill(
                    &text.growth_prefill_time,
                    &[("time", &seconds(start_seconds))],
                ),
                fill(&text.growth_about, &[("time", &seconds(end_seconds))]),
            )
        }),
        vertices,
    };
    let summary = fill(
        if last == 0 {
            &text.growth_summary_flat
        } else {
            &text.growth_summary
        },
        &[
            ("start", &numbers.bytes_short(start)),
            ("peak", &numbers.bytes_short(cache.per_seq_bytes)),
            ("steps", &numbers.integer(last)),
            ("mean", &numbers.bytes_short(cache.mean_bytes)),
            (
                "share",
                &numbers.percent(cache.mean_bytes.0, cache.per_seq_bytes.0, 1),
            ),
            ("step", &numbers.integer(step)),
            ("now", &numbers.bytes_short(now)),
        ],
    );
    let summary = match reserved {
        None => summary,
        Some(bytes) => fill(
            &text.growth_summary_reserved,
            &[
                ("summary", &summary),
                ("reserved", &numbers.bytes_short(bytes)),
                (
                    "padding",
                    &numbers.bytes_short(bytes.minus(cache.per_seq_bytes)),
                ),
            ],
        ),
    };
    ChartModel {
        id: ID,
        title: text.growth_title.clone().into_owned(),
        subtitle: text.growth_subtitle.clone().into_owned(),
        summary,
        #[cfg(feature = "doors")]
        table: table(input),
        draw: Arc::new(curve),
    }
}

/// What the engine reserves for the request at its end, on all GPUs together: in proportion to the fullest, of which the
/// report speaks, and without the share of llama.cpp's free slots. `None` when it is what is held.
fn reserved(input: &Input<'_>) -> Option<Bytes> {
    let (hbm, engine) = (&input.report.hbm, &input.scenario.engine);
    let requests = input
        .scenario
        .num_seqs
        .div_ceil(input.scenario.data_parallel_size.max(1));
    let slots = engine
        .n_seq_max
        .filter(|_| engine.kind == EngineKind::LlamaCpp)
        .map_or(requests, |slots| slots.max(requests));
    let reserved =
        u128::from(hbm.kv_reserved_bytes.0) * u128::from(requests) / u128::from(slots.max(1));
    let held = u128::from(hbm.kv_held_bytes.0);
    let whole = u128::from(input.report.kv_cache.per_seq_bytes.0).checked_mul(reserved)?;
    let bytes = Bytes(u64::try_from(whole.checked_div(held)?).ok()?);
    (held < reserved).then_some(bytes)
}

fn vertex(point: &LifePoint) -> Vertex {
    let state = point.state_bytes.0 as f64;
    let prompt = state + point.prompt_bytes.0 as f64;
    let thinking = prompt + point.thinking_bytes.0 as f64;
    Vertex {
        step: point.step as f64,
        state,
        prompt,
        thinking,
        answer: thinking + point.answer_bytes.0 as f64,
    }
}

#[cfg(feature = "doors")]
fn table(input: &Input<'_>) -> Table {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let count = |n: u64| Cell::Count(n, numbers.integer(n));
    let rows = input.report.life.iter().map(|point| {
        vec![
            count(point.step),
            count(point.tokens.0),
            count(point.bytes.0),
            count(point.state_bytes.0),
            count(point.prompt_bytes.0),
            count(point.thinking_bytes.0),
            count(point.answer_bytes.0),
            if 0.0 < point.seconds {
                Cell::Number(point.seconds, numbers.seconds(point.seconds))
            } else {
                Cell::Empty
            },
        ]
    });
    let head = [
        &text.growth_row_step,
        &text.tokens,
        &text.bytes,
        &text.state,
        &text.prompt,
        &text.thinking,
        &text.answer,
        &text.growth_row_seconds,
    ];
    Table::new(&head, rows.collect())
}

impl Curve {
    /// Decode steps across the picture; a request without decoding is drawn as if it had one.
    fn n_steps(&self) -> f64 {
        self.last.max(1) as f64
    }

    fn frame(&self, width: f64, height: f64) -> Frame {
        let ticks = self
            .axis
            .ticks
            .iter()
            .map(|(_, label)| text_width(label, FONT_SIZE, false));
        let left = ticks.fold(0.0, f64::max) + 8.0;
        // The last step's label is centered under it and must not leave the picture.
        let half = text_width(&self.last_label, FONT_SIZE, false) / 2.0;
        let after_last = RELEASE / (1.0 + PREFILL + RELEASE);
        let right = (width - half - left * after_last) / (1.0 - after_last);
        Frame {
            left,
            top: 36.0,
            right: right.min(width - 2.0),
            bottom: height - 40.0,
        }
    }

    /// The labelled steps: round ones that leave room for the last.
    fn ticks(&self, pixels_per_step: f64) -> Vec<(f64, String)> {
        let half = |label: &str| text_width(label, FONT_SIZE, false) / 2.0;
        let last = self.n_steps();
        let last_label = if self.last == 0 {
            String::new()
        } else {
            self.last_label.clone()
        };
        let mut res: Vec<(f64, String)> = Vec::new();
        let mut is_free_from = f64::NEG_INFINITY;
        for (step, label) in &self.steps_axis.ticks {
            let at = step * pixels_per_step;
            let is_clear = at + half(label) + 10.0 + half(&last_label) <= last * pixels_per_step;
            if is_clear && is_free_from <= at - half(label) {
                is_free_from = at + half(label) + 10.0;
                res.push((*step, label.clone()));
            }
        }
        res.push((last, last_label));
        res
    }

    /// The line through the tops of a phase's steps.
    fn tops(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        let vertices = self
            .vertices
            .iter()
            .filter(|vertex| from <= vertex.step && vertex.step <= to);
        vertices
            .map(|vertex| (vertex.step, vertex.answer))
            .collect()
    }
}

impl Draw for Curve {
    fn height(&self, _: u32) -> u32 {
        HEIGHT
    }

    fn scale(&self, size: Size) -> Option<Scale> {
        let frame = self.frame(size.width.into(), size.height.into());
        let length = (frame.right - frame.left) / (1.0 + PREFILL + RELEASE);
        let left = frame.left + PREFILL * length;
        (0 < self.last).then_some(Scale {
            left,
            right: left + length,
            last: self.last,
        })
    }

    fn draw(&self, canvas: &Canvas) {
        let frame = self.frame(canvas.width(), canvas.height());
        let n_steps = self.n_steps();
        let (min, max) = (-PREFILL * n_steps, n_steps * (1.0 + RELEASE));
        let x_axis = Axis {
            min,
            max,
            ticks: self.ticks((frame.right - frame.left) / (max - min)),
        };
        let Some(mut plot) = canvas.plot(frame, &x_axis, &self.axis, Mesh::None) else {
            return;
        };
        let (Some(first), Some(end)) = (self.vertices.first(), self.vertices.last()) else {
            return;
        };

        let along = |value: fn(&Vertex) -> f64| -> Vec<(f64, f64)> {
            self.vertices
                .iter()
                .map(|vertex| (vertex.step, value(vertex)))
                .collect()
        };
        let mut prompt = vec![(min, first.prompt)];
        prompt.extend(along(|vertex| vertex.prompt));
        let (thinking, answer) = (
            along(|vertex| vertex.thinking),
            along(|vertex| vertex.answer),
        );
        // A state has its size from the first token on.
        let state = [(min, first.state), (n_steps, first.state)];
        if 0.0 < first.state {
            plot.area(Pen(Ink::State, Mark::Faint), &state);
            plot.band(Pen(Ink::Prompt, Mark::Faint), &prompt, &state);
        } else {
            plot.area(Pen(Ink::Prompt, Mark::Faint), &prompt);
        }
        plot.band(
            Pen(Ink::Thinking, Mark::Faint),
            &thinking,
            &along(|vertex| vertex.prompt),
        );
        plot.band(Pen(Ink::Answer, Mark::Faint), &answer, &thinking);

        plot.line(
            Pen(Ink::Dim, Mark::Dashes),
            &[(0.0, self.mean), (n_steps, self.mean)],
        );
        plot.line(
            Pen(Ink::Dim, Mark::Dashes),
            &[(end.step, end.answer), (end.step, 0.0)],
        );
        if let Some((reserved, _)) = &self.reserved
            && *reserved <= self.axis.max
        {
            plot.line(
                Pen(Ink::Grid, Mark::BoldDashes),
                &[(0.0, *reserved), (n_steps, *reserved)],
            );
        }
        plot.line(
            Pen(Ink::Prompt, Mark::Bold),
            &[(min, 0.0), (min, first.prompt), (0.0, first.prompt)],
        );
        plot.line(
            Pen(Ink::Thinking, Mark::Bold),
            &self.tops(0.0, self.thinking_ends),
        );
        plot.line(
            Pen(Ink::Answer, Mark::Bold),
            &self.tops(self.thinking_ends, n_steps),
        );
        plot.baseline();
        self.draw_labels(canvas, frame, &|x, y| plot.at(x, y));

        let step = self.step as f64;
        let ink = if self.step == 0 {
            Ink::Prompt
        } else if step <= self.thinking_ends {
            Ink::Thinking
        } else {
            Ink::Answer
        };
        let (x, _) = plot.at(step, 0.0);
        canvas.line(Pen(Ink::Ink, Mark::Line), &[(x, 18.0), (x, frame.bottom)]);
        plot.dot(Pen(ink, Mark::Fill), (step, self.bytes), 5.0);
        plot.dot(Pen(Ink::Ink, Mark::Line), (step, self.bytes), 5.0);
    }
}

impl Curve {
    fn draw_labels(&self, canvas: &Canvas, frame: Frame, at: &dyn Fn(f64, f64) -> (f64, f64)) {
        let (x, _) = at(self.step as f64, 0.0);
        let half = canvas.text_width(&self.step_label) / 2.0;
        // The scrubber's label has the first row to itself.
        let label_x = within(x, half, (canvas.width() - half).max(half));
        canvas.text(Ink::Ink, Anchor::Middle, (label_x, 12.0), &self.step_label);
        if 0 < self.last {
            let (peak_x, peak_y) = at(
                self.n_steps(),
                self.vertices.last().map_or(0.0, |vertex| vertex.answer),
            );
            let (mean_x, mean_y) = at(0.0, self.mean);
            // The two labels may lie at one height.
            let mean_ends = mean_x + 4.0 + canvas.text_width(&self.mean_label);
            let room = peak_x - 8.0 - mean_ends - 12.0;
            let peak_label = match &self.reserved {
                Some((_, label)) if canvas.text_width(label) <= room => label,
                Some(_) | None => &self.peak_label,
            };
            canvas.text(
                Ink::Dim,
                Anchor::End,
                (peak_x - 8.0, peak_y - 6.0),
                peak_label,
            );
            canvas.text(
                Ink::Dim,
                Anchor::Start,
                (mean_x + 4.0, mean_y - 4.0),
                &self.mean_label,
            );
        }
        let y = frame.bottom + 33.0;
        let (start, _) = at(0.0, 0.0);
        let (end, _) = at(self.n_steps(), 0.0);
        match &self.times {
            Some((prefill, whole)) => {
                canvas.text(Ink::Dim, Anchor::Start, (frame.left, y), prefill);
                canvas.text(Ink::Dim, Anchor::End, (canvas.width(), y), whole);
            }
            None => canvas.text(
                Ink::Dim,
                Anchor::Middle,
                (f64::midpoint(start, end), y),
                &self.axis_name,
            ),
        }
    }
}
