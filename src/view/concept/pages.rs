//! The notebook as a picture: pages side by side, their lines in the colours of the phases.

use std::fmt::Write;

use super::{Frame, Notebook, Page};
use crate::view::markup::push_escaped;

/// Tenths of a pixel: the picture's unit.
const UNIT: u64 = 10;
const PAGE_WIDTH: u64 = 34 * UNIT;
const PAGE_HEIGHT: u64 = 52 * UNIT;
const GAP: u64 = 8 * UNIT;
const MARGIN: u64 = 3 * UNIT;
const ROWS: u64 = 3;
/// From this height on a line stands apart from the next.
const LINE_APART: u64 = 2 * UNIT;

/// Tokens per second at the beginning of the film: slow enough to see one line after another.
const TOKENS_PER_SECOND: f64 = 12.0;
/// How much faster it gets each second: hundreds of pages do not take minutes.
const ACCELERATION: f64 = 0.8;

/// The step that the film shows after some seconds, wherever it ends.
pub fn step_at(seconds: f64, _last: u64) -> u64 {
    let steps = TOKENS_PER_SECOND / ACCELERATION * (ACCELERATION * seconds).exp_m1();
    // The cast saturates.
    steps as u64
}

/// When the film shows a step.
pub fn seconds_at(step: u64, _last: u64) -> f64 {
    (step as f64 * ACCELERATION / TOKENS_PER_SECOND).ln_1p() / ACCELERATION
}

/// Pages that a picture of this width has room for.
pub fn max_pages(width: u32) -> u64 {
    columns(width) * ROWS
}

fn columns(width: u32) -> u64 {
    ((u64::from(width) * UNIT + GAP) / (PAGE_WIDTH + GAP)).max(1)
}

/// The picture of a moment, of constant height; empty without a width.
pub fn svg(frame: &Frame, notebook: &Notebook, width: u32) -> String {
    if width == 0 {
        return String::new();
    }
    let height = ROWS * (PAGE_HEIGHT + GAP);
    let mut paths = [String::new(), String::new(), String::new(), String::new()];
    for (idx, page) in (0_u64..).zip(&frame.pages) {
        let x = idx % columns(width) * (PAGE_WIDTH + GAP);
        let y = idx / columns(width) * (PAGE_HEIGHT + GAP) + UNIT;
        push_rect(
            &mut paths[3],
            [x + UNIT, y],
            [PAGE_WIDTH - UNIT, PAGE_HEIGHT],
        );
        push_lines(&mut paths, page, notebook.block_size, [x, y]);
    }
    let mut res = format!(
        "<svg class=\"chart\" role=\"img\" width=\"{width}\" height=\"{}\" viewBox=\"0 0 {} {height}\" aria-label=\"",
        height / UNIT,
        u64::from(width) * UNIT
    );
    push_escaped(&mut res, &notebook.summary);
    res.push_str("\">");
    let classes = ["c-prompt f", "c-thinking f", "c-answer f", "c-dim page"];
    for (class, path) in classes.into_iter().zip(&paths) {
        // Writing to a string does not fail.
        let _ = write!(res, "<path class=\"{class}\" d=\"{path}\"/>");
    }
    res.push_str("</svg>");
    res
}

/// The lines of a page, each phase into its own path.
fn push_lines(paths: &mut [String; 4], page: &Page, block_size: u64, [x, y]: [u64; 2]) {
    let room = PAGE_HEIGHT - 2 * MARGIN;
    let line = |idx: u64| y + MARGIN + idx * room / block_size.max(1);
    let is_apart = LINE_APART <= room / block_size.max(1);
    let mut first = 0;
    for (path, lines) in paths
        .iter_mut()
        .zip([page.prompt, page.thinking, page.answer])
    {
        let mut push = |from: u64, to: u64, gap: u64| {
            let height = (line(to) - line(from)).saturating_sub(gap);
            push_rect(
                path,
                [x + UNIT + MARGIN, line(from)],
                [PAGE_WIDTH - UNIT - 2 * MARGIN, height],
            );
        };
        if is_apart {
            for idx in first..first + lines {
                push(idx, idx + 1, UNIT);
            }
        } else if 0 < lines {
            push(first, first + lines, 0);
        }
        first += lines;
    }
}

fn push_rect(path: &mut String, [x, y]: [u64; 2], [width, height]: [u64; 2]) {
    // Writing to a string does not fail.
    let _ = write!(path, "M{x} {y}h{width}v{height}h-{width}z");
}
