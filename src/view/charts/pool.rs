//! The pool of a simulated server over time, by what wrote it; under it the requests that run and wait. Two runs stand side
//! by side on the same scales.

use std::sync::Arc;

use crate::core::serve::metrics::{Point, ServeReport};
use crate::view::axis::{count_axis, thinned};
use crate::view::chart::{ChartModel, Draw};
use crate::view::fleet::runs::{self, NamedRun};
use crate::view::svg::{Anchor, Axis, Canvas, FONT_SIZE, Frame, Ink, Mark, Mesh, Pen, fitted};
use crate::view::text::Messages;

/// Its id.
pub const ID: &str = "pool";

/// Points of a curve: about one for each pixel.
const MAX_POINTS: usize = 400;
/// From this width two runs stand beside each other.
const WIDE: u32 = 640;
const POOL: f64 = 170.0;
const QUEUE: f64 = 90.0;
const HEAD: f64 = 22.0;
/// A row of the key, and the width from which one row holds it.
const KEY: f64 = 20.0;
const WIDE_KEY: u32 = 520;
const FOOT: f64 = 40.0;
const GAP: f64 = 26.0;

/// One run.
struct Panel {
    name: String,
    points: Vec<Point>,
    pool_units: f64,
}

/// The runs and their common scales.
struct Pools {
    panels: Vec<Panel>,
    time: Axis,
    share: Axis,
    requests: Axis,
    keys: Vec<(Pen, String)>,
    waiting: String,
    running: String,
    axis_name: String,
    requests_name: String,
}

/// The model of one run or two.
pub fn model(named: &[NamedRun<'_>], messages: &Messages) -> ChartModel {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let reports = || named.iter().map(|run| run.report);
    let longest = reports().map(|report| report.makespan_seconds);
    let points = || reports().flat_map(|report| &report.timeline);
    let most = points().map(|point| point.running.max(point.waiting)).max();
    let share = |percent: u64| {
        let label = numbers.percent(percent, 100, 0);
        (percent as f64 / 100.0, label)
    };
    let pools = Pools {
        panels: named.iter().map(panel).collect(),
        time: time_axis(longest.fold(0.0, f64::max), messages),
        share: Axis {
            min: 0.0,
            max: 1.0,
            ticks: [0, 50, 100].map(share).to_vec(),
        },
        requests: count_axis(most.unwrap_or(0), 2, numbers),
        keys: vec![
            (
                Pen(Ink::Prompt, Mark::Fill),
                messages.charts.prompt.to_string(),
            ),
            (
                Pen(Ink::Thinking, Mark::Fill),
                messages.charts.thinking.to_string(),
            ),
            (
                Pen(Ink::Answer, Mark::Fill),
                messages.charts.answer.to_string(),
            ),
            (Pen(Ink::Over, Mark::Bold), text.serve_preempted.to_string()),
        ],
        waiting: text.serve_waiting.to_string(),
        running: text.serve_running.to_string(),
        axis_name: text.serve_time.to_string(),
        requests_name: text.serve_requests_axis.to_string(),
    };
    ChartModel {
        id: ID,
        title: text.serve_chart_title.to_string(),
        subtitle: text.serve_subtitle.to_string(),
        summary: runs::summary(named, messages),
        table: runs::timeline_table(named, messages),
        draw: Arc::new(pools),
    }
}

fn panel(run: &NamedRun<'_>) -> Panel {
    let report: &ServeReport = run.report;
    Panel {
        name: run.name.clone(),
        points: runs::thinned(&report.timeline, MAX_POINTS),
        pool_units: report.pool_units.max(1) as f64,
    }
}

/// An axis of time from zero to a round value not below `max` seconds.
fn time_axis(max: f64, messages: &Messages) -> Axis {
    let numbers = messages.numbers();
    // Hours and minutes are round in sixties.
    let (unit, most) = if 7200.0 <= max {
        (3600.0, max / 3600.0)
    } else if 240.0 <= max {
        (60.0, max / 60.0)
    } else if 4.0 <= max {
        (1.0, max)
    } else {
        (1e-3, max * 1e3)
    };
    let counts = count_axis((most.ceil() as u64).max(1), 4, numbers);
    Axis {
        min: 0.0,
        max: counts.max * unit,
        ticks: counts
            .ticks
            .into_iter()
            .map(|(count, label)| {
                let label = if count == 0.0 {
                    label
                } else {
                    numbers.seconds(count * unit)
                };
                (count * unit, label)
            })
            .collect(),
    }
}

impl Pools {
    fn is_wide(&self, width: u32) -> bool {
        WIDE <= width && self.panels.len() == 2
    }

    /// The room of the key: the phases, the preemptions and the two lines in up to two rows.
    fn key_height(&self, width: u32) -> f64 {
        let rows = if width < WIDE_KEY { 2.0 } else { 1.0 };
        rows * KEY + 4.0
    }

    fn draw_key(&self, canvas: &Canvas) {
        let (mut x, mut y) = (0.0, 0.0);
        let lines = [
            (Pen(Ink::Ink, Mark::Line), &self.running),
            (Pen(Ink::Dim, Mark::Dashes), &self.waiting),
        ];
        let keys = self.keys.iter().map(|(pen, name)| (*pen, name));
        for (pen, name) in keys.chain(lines) {
            let width = canvas.text_width(name);
            if 0.0 < x && canvas.width() < x + 18.0 + width {
                (x, y) = (0.0, y + KEY);
            }
            if canvas.width() < 18.0 + width || self.key_height(canvas.width() as u32) <= y + 8.0 {
                return;
            }
            match pen.1 {
                Mark::Line | Mark::Dashes | Mark::Bold => {
                    canvas.line(pen, &[(x, y + 8.0), (x + 14.0, y + 8.0)]);
                }
                Mark::Fill | Mark::Faint | Mark::Hatch | Mark::BoldDashes => {
                    canvas.rect(pen, (x, y + 2.0), (x + 14.0, y + 13.0));
                }
            }
            canvas.text(Ink::Dim, Anchor::Start, (x + 18.0, y + 12.0), name);
            x += 18.0 + width + 12.0;
        }
    }

    fn draw_pool(&self, canvas: &Canvas, panel: &Panel, frame: Frame) {
        let no_labels = Axis {
            ticks: Vec::new(),
            ..self.time.clone()
        };
        let Some(mut plot) = canvas.plot(frame, &no_labels, &self.share, Mesh::Lines) else {
            return;
        };
        let along = |units: fn(&Point) -> u64| -> Vec<(f64, f64)> {
            let points = panel.points.iter();
            points
                .map(|point| (point.seconds, units(point) as f64 / panel.pool_units))
                .collect()
        };
        let prompt = along(|point| point.prompt_units);
        let thinking = along(|point| point.prompt_units + point.thinking_units);
        let answer = along(|point| point.prompt_units + point.thinking_units + point.answer_units);
        plot.area(Pen(Ink::Prompt, Mark::Fill), &prompt);
        plot.band(Pen(Ink::Thinking, Mark::Fill), &thinking, &prompt);
        plot.band(Pen(Ink::Answer, Mark::Fill), &answer, &thinking);
        let full = [(0.0, 1.0), (self.time.max, 1.0)];
        plot.line(Pen(Ink::Ink, Mark::Dashes), &full);
        for point in panel.points.iter().filter(|point| 0 < point.preemptions) {
            let (x, y) = plot.at(point.seconds, 1.0);
            canvas.line(Pen(Ink::Over, Mark::Line), &[(x, y - 7.0), (x, y)]);
        }
        plot.baseline();
    }

    fn draw_queue(&self, canvas: &Canvas, panel: &Panel, frame: Frame) {
        let length = frame.right - frame.left;
        let time = thinned(&self.time, length, |label| canvas.text_width(label));
        let Some(mut plot) = canvas.plot(frame, &time, &self.requests, Mesh::Lines) else {
            return;
        };
        let along = |count: fn(&Point) -> u64| -> Vec<(f64, f64)> {
            let points = panel.points.iter();
            points
                .map(|point| (point.seconds, count(point) as f64))
                .collect()
        };
        plot.line(Pen(Ink::Dim, Mark::Dashes), &along(|point| point.waiting));
        plot.line(Pen(Ink::Ink, Mark::Line), &along(|point| point.running));
        plot.baseline();
    }

    fn draw_panel(&self, canvas: &Canvas, panel: &Panel, (x, y): (f64, f64), right: f64) {
        let labels = self.requests.ticks.iter().chain(&self.share.ticks);
        let left = labels
            .map(|(_, label)| canvas.text_width(label))
            .fold(0.0, f64::max)
            + 8.0;
        let last = self
            .time
            .ticks
            .last()
            .map_or(0.0, |(_, label)| canvas.text_width(label));
        let name = fitted(&panel.name, right - x, FONT_SIZE);
        canvas.text(Ink::Ink, Anchor::Start, (x, y + 13.0), &name);
        let pool = Frame {
            left: x + left,
            top: y + HEAD + 8.0,
            right: right - last / 2.0,
            bottom: y + HEAD + POOL,
        };
        self.draw_pool(canvas, panel, pool);
        let top = pool.bottom + 30.0;
        canvas.text(
            Ink::Dim,
            Anchor::Start,
            (x, top - 13.0),
            &self.requests_name,
        );
        let queue = Frame {
            top,
            bottom: top + QUEUE - 30.0,
            ..pool
        };
        self.draw_queue(canvas, panel, queue);
        canvas.text(
            Ink::Dim,
            Anchor::End,
            (right, queue.bottom + 34.0),
            &self.axis_name,
        );
    }
}

const PANEL: f64 = HEAD + POOL + QUEUE + FOOT;

impl Draw for Pools {
    fn height(&self, width: u32) -> u32 {
        let rows = if self.is_wide(width) {
            1
        } else {
            self.panels.len().max(1)
        };
        (self.key_height(width) + PANEL * rows as f64) as u32
    }

    fn draw(&self, canvas: &Canvas) {
        self.draw_key(canvas);
        let is_wide = self.is_wide(canvas.width() as u32);
        let half = (canvas.width() - GAP) / 2.0;
        let top = self.key_height(canvas.width() as u32);
        for (idx, panel) in self.panels.iter().enumerate() {
            let nth = idx as f64;
            let (x, y, right) = if is_wide {
                let x = nth * (half + GAP);
                (x, top, x + half)
            } else {
                (0.0, top + nth * PANEL, canvas.width())
            };
            self.draw_panel(canvas, panel, (x, y), right);
        }
    }
}
