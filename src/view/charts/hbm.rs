//! Figure 2: the memory of the fullest GPU, what is held in it and what is only reserved.

use std::sync::Arc;

use crate::core::engines;
use crate::core::scenario::EngineKind;
use crate::core::units::Bytes;
use crate::view::axis::{Wish, byte_axis, sort_by, spread, within};
use crate::view::chart::{ChartModel, Draw, Input};
use crate::view::numbers::ByteUnit;
use crate::view::svg::{Anchor, Axis, Canvas, FONT_SIZE, Frame, Ink, Mark, Mesh, Pen, fitted};
#[cfg(feature = "doors")]
use crate::view::table::{Cell, Table};
use crate::view::text::{Text, fill};

/// Its id.
pub const ID: &str = "hbm";

const HEIGHT: u32 = 250;
const LINE_HEIGHT: f64 = 16.0;

/// A part of the stack.
#[derive(Clone, Debug)]
struct Part {
    pen: Pen,
    bytes: u64,
    /// What may be written inside, when there is room.
    inside: Option<(Ink, String)>,
}

/// A label beside the stack, at an amount: as long as fits.
#[derive(Clone, Debug)]
struct Side {
    at: f64,
    ink: Ink,
    long: String,
    short: String,
}

/// The stack.
#[derive(Clone, Debug)]
struct Stack {
    axis: Axis,
    parts: Vec<Part>,
    capacity: u64,
    usable: u64,
    /// From where on the stack does not fit, and its end.
    over: Option<(u64, u64)>,
    sides: Vec<Side>,
}

/// The model of a scenario's memory.
pub fn model(input: &Input<'_>) -> ChartModel {
    let (text, numbers) = (&input.messages.charts, input.messages.numbers());
    let (hbm, hardware) = (input.now.hbm, input.now.hardware);
    let overhead = hbm.activation_bytes + hbm.overhead_bytes;
    let base = hbm.weight_bytes + overhead;
    let padding = hbm.kv_reserved_bytes.minus(hbm.kv_held_bytes);
    // What is there at the end is there from the start, as far as there is room.
    let allocated = input.report.hbm.kv_allocated_bytes.min(hbm.kv_pool_bytes);
    let empty = allocated.minus(hbm.kv_reserved_bytes);
    let missing = Bytes(u64::try_from(hbm.free_bytes.saturating_neg()).unwrap_or(0));
    let filled = base + hbm.kv_reserved_bytes;
    let top = filled + empty;
    let phase = |ink, on_ink, bytes: Bytes, name: &Text| Part {
        pen: Pen(ink, Mark::Fill),
        bytes: bytes.0,
        inside: Some((on_ink, name.clone().into_owned())),
    };
    let plain = |ink, mark, bytes: Bytes| Part {
        pen: Pen(ink, mark),
        bytes: bytes.0,
        inside: None,
    };
    let parts = vec![
        plain(Ink::Weights, Mark::Fill, hbm.weight_bytes),
        plain(Ink::Overhead, Mark::Fill, overhead),
        phase(Ink::State, Ink::OnLight, hbm.kv_state_bytes, &text.state),
        phase(Ink::Prompt, Ink::OnDark, hbm.kv_prompt_bytes, &text.prompt),
        phase(
            Ink::Thinking,
            Ink::OnLight,
            hbm.kv_thinking_bytes,
            &text.thinking,
        ),
        phase(Ink::Answer, Ink::OnLight, hbm.kv_answer_bytes, &text.answer),
        plain(Ink::Thinking, Mark::Faint, padding),
        plain(Ink::Grid, Mark::Hatch, empty),
    ];
    let unit = ByteUnit::of(hbm.capacity_bytes);
    let sized =
        |template: &Text, bytes: Bytes| fill(template, &[("size", &numbers.bytes_in(bytes, unit))]);
    let side = |from: Bytes, bytes: Bytes, ink, long: &Text, short: &Text| Side {
        at: from.0 as f64 + bytes.0 as f64 / 2.0,
        ink,
        long: sized(long, bytes),
        short: sized(short, bytes),
    };
    let requests = numbers.integer(
        u64::from(input.scenario.num_seqs).div_ceil(u64::from(hardware.data_parallel_size.max(1))),
    );
    let held_values = [
        ("n", requests.as_str()),
        ("size", &numbers.bytes_in(hbm.kv_held_bytes, unit)),
    ];
    let held_template = if requests == "1" {
        &text.hbm_held_one
    } else {
        &text.hbm_held
    };
    let held_label = fill(held_template, &held_values);
    let mut sides = vec![
        side(
            Bytes::ZERO,
            hbm.weight_bytes,
            Ink::Dim,
            &text.hbm_weights,
            &text.hbm_weights,
        ),
        side(
            hbm.weight_bytes,
            overhead,
            Ink::Dim,
            &text.hbm_overhead,
            &text.hbm_overhead_short,
        ),
        Side {
            at: base.0 as f64 + hbm.kv_held_bytes.0 as f64 / 2.0,
            ink: Ink::Ink,
            long: held_label.clone(),
            short: held_label,
        },
    ];
    if Bytes::ZERO < padding {
        sides.push(side(
            base + hbm.kv_held_bytes,
            padding,
            Ink::Dim,
            &text.hbm_padding,
            &text.hbm_padding_short,
        ));
    }
    if Bytes::ZERO < empty {
        sides.push(side(
            filled,
            empty,
            Ink::Dim,
            &text.hbm_empty,
            &text.hbm_empty_short,
        ));
    }
    let share = numbers.fraction(engines::memory_share(input.scenario).0);
    let usable_values = [
        ("share", share.as_str()),
        (
            "visible",
            &numbers.bytes_in(input.scenario.gpu.visible(), unit),
        ),
        ("size", &numbers.bytes_in(hbm.usable_bytes, unit)),
    ];
    // TensorRT-LLM's share is of what is free, and no factor.
    let is_factor = input.scenario.engine.kind != EngineKind::TensorRtLlm;
    let long = if is_factor {
        &text.hbm_usable
    } else {
        &text.hbm_usable_short
    };
    sides.push(Side {
        at: hbm.usable_bytes.0 as f64,
        ink: Ink::Dim,
        long: fill(long, &usable_values),
        short: fill(&text.hbm_usable_short, &usable_values),
    });
    sides.push(Side {
        at: hbm.capacity_bytes.0 as f64,
        ink: Ink::Dim,
        long: sized(&text.hbm_capacity, hbm.capacity_bytes),
        short: sized(&text.hbm_capacity, hbm.capacity_bytes),
    });
    let over = (Bytes::ZERO < missing).then(|| (filled.minus(missing), filled));
    if let Some((from, _)) = over {
        sides.push(side(
            from,
            missing,
            Ink::Over,
            &text.hbm_missing,
            &text.hbm_missing_short,
        ));
    }
    sort_by(&mut sides, |side| -side.at);
    let stack = Stack {
        axis: byte_axis(
            hbm.capacity_bytes.max(top).max(hbm.usable_bytes),
            4,
            numbers,
        ),
        parts,
        capacity: hbm.capacity_bytes.0,
        usable: hbm.usable_bytes.0,
        over: over.map(|(from, to)| (from.0, to.0)),
        sides,
    };
    let short = |bytes: Bytes| numbers.bytes_short(bytes);
    let summary = fill(
        if missing == Bytes::ZERO {
            if hbm.kv_allocated_bytes == hbm.kv_pool_bytes {
                &text.hbm_summary
            } else {
                &text.hbm_summary_free
            }
        } else {
            &text.hbm_summary_missing
        },
        &[
            ("capacity", &short(hbm.capacity_bytes)),
            ("usable", &short(hbm.usable_bytes)),
            ("weights", &short(hbm.weight_bytes)),
            ("overhead", &short(overhead)),
            ("requests", &requests),
            ("held", &short(hbm.kv_held_bytes)),
            ("reserved", &short(hbm.kv_reserved_bytes)),
            ("empty", &short(empty)),
            ("missing", &short(missing)),
            ("allocated", &short(allocated)),
            ("free", &short(hbm.kv_pool_bytes.minus(allocated))),
        ],
    );
    ChartModel {
        id: ID,
        title: text.hbm_title.clone().into_owned(),
        subtitle: subtitle(input),
        summary,
        #[cfg(feature = "doors")]
        table: table(input, padding, empty, missing),
        draw: Arc::new(stack),
    }
}

fn subtitle(input: &Input<'_>) -> String {
    let (text, numbers, hardware) = (
        &input.messages.charts,
        input.messages.numbers(),
        input.now.hardware,
    );
    let sizes = [
        (
            &text.hbm_tensor_parallel,
            hardware.tensor_parallel_size,
            true,
        ),
        (
            &text.hbm_pipeline_parallel,
            hardware.pipeline_parallel_size,
            1 < hardware.pipeline_parallel_size,
        ),
        (
            &text.hbm_data_parallel,
            hardware.data_parallel_size,
            1 < hardware.data_parallel_size,
        ),
    ];
    let sizes = sizes.into_iter().filter(|(_, _, is_shown)| *is_shown);
    let parallel: Vec<String> = sizes
        .map(|(template, n, _)| fill(template, &[("n", &numbers.integer(n.into()))]))
        .collect();
    fill(
        &text.hbm_subtitle,
        &[
            (
                "gpus",
                &numbers.times(hardware.num_gpus, input.scenario.gpu.short),
            ),
            (
                "capacity",
                &numbers.bytes_short(input.now.hbm.capacity_bytes),
            ),
            (
                "parallel",
                &numbers.list(parallel.iter().map(String::as_str)),
            ),
        ],
    )
}

#[cfg(feature = "doors")]
fn table(input: &Input<'_>, padding: Bytes, empty: Bytes, missing: Bytes) -> Table {
    let (text, numbers, hbm) = (
        &input.messages.charts,
        input.messages.numbers(),
        input.now.hbm,
    );
    let reserved = hbm.weight_bytes
        + hbm.activation_bytes
        + hbm.overhead_bytes
        + hbm.kv_reserved_bytes
        + empty;
    let rows = [
        (&text.hbm_row_weights, hbm.weight_bytes),
        (&text.hbm_row_activations, hbm.activation_bytes),
        (&text.hbm_row_overhead, hbm.overhead_bytes),
        (&text.hbm_row_state, hbm.kv_state_bytes),
        (&text.hbm_row_prompt, hbm.kv_prompt_bytes),
        (&text.hbm_row_thinking, hbm.kv_thinking_bytes),
        (&text.hbm_row_answer, hbm.kv_answer_bytes),
        (&text.hbm_row_padding, padding),
        (&text.hbm_row_empty, empty),
        (&text.hbm_row_unreserved, hbm.usable_bytes.minus(reserved)),
        (
            &text.hbm_row_not_usable,
            hbm.capacity_bytes.minus(hbm.usable_bytes),
        ),
        (&text.hbm_row_missing, missing),
        (&text.hbm_row_capacity, hbm.capacity_bytes),
    ];
    let rows = rows
        .into_iter()
        .map(|(name, bytes)| {
            vec![
                Cell::Words(name.clone().into_owned()),
                Cell::Count(bytes.0, numbers.integer(bytes.0)),
                Cell::Words(numbers.bytes(bytes)),
                Cell::Words(numbers.percent(bytes.0, hbm.capacity_bytes.0, 1)),
            ]
        })
        .collect();
    let head = [&text.part, &text.bytes, &text.size, &text.of_capacity];
    Table::new(&head, rows)
}

impl Draw for Stack {
    fn height(&self, _: u32) -> u32 {
        HEIGHT
    }

    fn draw(&self, canvas: &Canvas) {
        let (width, height) = (canvas.width(), canvas.height());
        let ticks = self
            .axis
            .ticks
            .iter()
            .map(|(_, label)| canvas.text_width(label));
        let left = ticks.fold(0.0, f64::max) + 8.0;
        let bar_width = within(width * 0.22, 48.0, 104.0);
        let frame = Frame {
            left,
            top: 10.0,
            right: left + bar_width,
            bottom: height - 10.0,
        };
        let x_axis = Axis {
            min: 0.0,
            max: 1.0,
            ticks: Vec::new(),
        };
        let Some(mut plot) = canvas.plot(frame, &x_axis, &self.axis, Mesh::None) else {
            return;
        };
        let off = (self.usable as f64, self.capacity as f64);
        plot.bar(Pen(Ink::Off, Mark::Fill), (0.0, off.0), (1.0, off.1));
        let mut from = 0.0;
        for part in self.parts.iter().filter(|part| 0 < part.bytes) {
            let to = from + part.bytes as f64;
            let over_from = self
                .over
                .map_or(to, |(over_from, _)| within(over_from as f64, from, to));
            let Pen(ink, _) = part.pen;
            plot.bar(part.pen, (0.0, from), (1.0, over_from));
            // Past what fits, colours give way to the hatching that says so.
            if over_from < to {
                plot.bar(Pen(ink, Mark::Faint), (0.0, over_from), (1.0, to));
            }
            let (middle, top) = plot.at(0.5, to);
            let (_, bottom) = plot.at(0.5, from);
            if let Some((ink, name)) = &part.inside
                && LINE_HEIGHT <= bottom - top
                && self.is_clear(to, from, &|amount| plot.at(0.5, amount).1)
                && canvas.text_width(name) + 6.0 <= bar_width
            {
                canvas.text(
                    *ink,
                    Anchor::Middle,
                    (middle, f64::midpoint(bottom, top) + 4.0),
                    name,
                );
            }
            from = to;
        }
        if let Some((from, to)) = self.over {
            plot.bar(
                Pen(Ink::Over, Mark::Hatch),
                (0.0, from as f64),
                (1.0, to as f64),
            );
            plot.bar(
                Pen(Ink::Over, Mark::Line),
                (0.0, from as f64),
                (1.0, to as f64),
            );
        }
        plot.bar(
            Pen(Ink::Grid, Mark::Line),
            (0.0, 0.0),
            (1.0, self.capacity as f64),
        );
        let line = |amount: u64| plot.at(0.0, amount as f64).1;
        let (capacity, usable) = (line(self.capacity), line(self.usable));
        canvas.line(
            Pen(Ink::Ink, Mark::Line),
            &[(frame.left - 4.0, capacity), (frame.right + 6.0, capacity)],
        );
        canvas.line(
            Pen(Ink::Ink, Mark::Dashes),
            &[(frame.left - 4.0, usable), (frame.right + 6.0, usable)],
        );
        self.draw_sides(canvas, frame, &|amount| plot.at(0.0, amount).1);
    }
}

impl Stack {
    /// Whether no line and no hatching crosses the middle of a part, where its name would stand.
    fn is_clear(&self, top: f64, bottom: f64, at: &dyn Fn(f64) -> f64) -> bool {
        let middle = at(f64::midpoint(top, bottom));
        let is_hatched = self
            .over
            .is_some_and(|(from, _)| middle - 8.0 < at(from as f64));
        let mut lines = [self.capacity, self.usable]
            .into_iter()
            .map(|amount| at(amount as f64));
        !is_hatched && lines.all(|line| 8.0 <= (line - middle).abs())
    }

    /// The labels beside the stack, pushed apart where they would meet, each tied to its amount.
    fn draw_sides(&self, canvas: &Canvas, frame: Frame, at: &dyn Fn(f64) -> f64) {
        let text_left = frame.right + 20.0;
        let text_room = canvas.width() - text_left;
        let wishes: Vec<Wish> = self
            .sides
            .iter()
            .map(|side| Wish {
                at: at(side.at),
                length: LINE_HEIGHT,
            })
            .collect();
        let places = spread(&wishes, 0.0, 0.0, canvas.height());
        for ((side, wish), place) in self.sides.iter().zip(&wishes).zip(places) {
            let label = if canvas.text_width(&side.long) <= text_room {
                &side.long
            } else {
                &side.short
            };
            let tie = [
                (frame.right + 2.0, wish.at),
                (frame.right + 6.0, wish.at),
                (text_left - 4.0, place),
            ];
            canvas.line(Pen(Ink::Grid, Mark::Line), &tie);
            let label = fitted(label, text_room, FONT_SIZE);
            canvas.text(side.ink, Anchor::Start, (text_left, place + 4.0), &label);
        }
    }
}
