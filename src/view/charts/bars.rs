//! Bars of parts, one above the other and on one scale: what several figures draw.

use crate::view::axis::thinned;
use crate::view::chart::Draw;
use crate::view::svg::{Anchor, Axis, Canvas, Ink, Mark, Pen, fitted};

/// A part of a bar.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// How it is filled.
    pub(super) pen: Pen,
    /// Its length.
    pub(super) length: f64,
}

/// A bar with its name above it.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// Its name.
    pub(super) name: String,
    /// What stands at its right, above it.
    pub(super) note: String,
    /// Its parts from the left.
    pub(super) parts: Vec<Part>,
    /// A range at the bar's end, from and to.
    pub(super) range: Option<(f64, f64)>,
}

/// The bars and what their fillings mean.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    /// From above.
    pub(super) bars: Vec<Bar>,
    /// The scale.
    pub(super) axis: Axis,
    /// Fillings with their names.
    pub(super) keys: Vec<(Pen, String)>,
}

const ROW: f64 = 44.0;
const KEY_ROW: f64 = 20.0;
const KEY_GAP: f64 = 14.0;

impl Bars {
    /// Where each key stands at this width, and how many rows they take.
    fn places(&self, width: f64, text_width: impl Fn(&str) -> f64) -> (Vec<(f64, f64)>, f64) {
        let (mut x, mut row) = (0.0, 0.0);
        let mut places = Vec::new();
        for (_, name) in &self.keys {
            let length = 20.0 + text_width(name) + KEY_GAP;
            if 0.0 < x && width < x + length - KEY_GAP {
                (x, row) = (0.0, row + 1.0);
            }
            places.push((x, row));
            x += length;
        }
        (places, row + 1.0)
    }
}

impl Draw for Bars {
    fn height(&self, width: u32) -> u32 {
        let text_width =
            |text: &str| crate::view::svg::text_width(text, crate::view::svg::FONT_SIZE, false);
        let (_, rows) = self.places(f64::from(width), text_width);
        (self.bars.len() as f64 * ROW + rows * KEY_ROW + 24.0) as u32
    }

    fn draw(&self, canvas: &Canvas) {
        let (places, rows) = self.places(canvas.width(), |text| canvas.text_width(text));
        for ((pen, name), (x, row)) in self.keys.iter().zip(places) {
            let y = row * KEY_ROW;
            canvas.rect(*pen, (x, y + 2.0), (x + 14.0, y + 13.0));
            let name = fitted(name, canvas.width() - x - 20.0, crate::view::svg::FONT_SIZE);
            canvas.text(Ink::Dim, Anchor::Start, (x + 20.0, y + 12.0), &name);
        }
        let top = rows * KEY_ROW;
        let last = self
            .axis
            .ticks
            .last()
            .map_or(0.0, |(_, label)| canvas.text_width(label));
        let right = canvas.width() - last / 2.0 - 1.0;
        let per_unit = right / self.axis.max.max(f64::MIN_POSITIVE);
        let bottom = top + self.bars.len() as f64 * ROW;
        let axis = thinned(&self.axis, right, |label| canvas.text_width(label));
        for (value, label) in &axis.ticks {
            let x = value * per_unit;
            canvas.line(Pen(Ink::Grid, Mark::Line), &[(x, top + 20.0), (x, bottom)]);
            let anchor = if *value == 0.0 {
                Anchor::Start
            } else {
                Anchor::Middle
            };
            canvas.text(Ink::Dim, anchor, (x, bottom + 15.0), label);
        }
        for (idx, bar) in self.bars.iter().enumerate() {
            let y = top + idx as f64 * ROW;
            let note_width = canvas.text_width(&bar.note);
            let room = (canvas.width() - note_width - 10.0).max(40.0);
            let name = fitted(&bar.name, room, crate::view::svg::FONT_SIZE);
            canvas.text(Ink::Ink, Anchor::Start, (0.0, y + 15.0), &name);
            canvas.text(Ink::Dim, Anchor::End, (canvas.width(), y + 15.0), &bar.note);
            let mut x = 0.0;
            for part in &bar.parts {
                let end = x + part.length * per_unit;
                canvas.rect(part.pen, (x, y + 21.0), (end, y + 38.0));
                x = end;
            }
            let ends = [(0.0, y + 18.0), (0.0, y + 41.0)];
            canvas.line(Pen(Ink::Ink, Mark::Line), &ends);
            if let Some((from, to)) = bar.range {
                let (from, to, y) = (from * per_unit, to * per_unit, y + 29.5);
                let pen = Pen(Ink::Ink, Mark::Line);
                canvas.line(pen, &[(from, y), (to, y)]);
                for x in [from, to] {
                    canvas.line(pen, &[(x, y - 4.0), (x, y + 4.0)]);
                }
            }
        }
    }
}
