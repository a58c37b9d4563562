//! A figure is data before it is a picture: a model, from which come the picture, the table, the file and the sentence.

use std::sync::Arc;

use crate::core::report::Report;
use crate::core::scenario::Scenario;

use super::axis::within;
use super::markup::push_escaped;
use super::svg::{Canvas, FONT_SIZE};
#[cfg(feature = "doors")]
use super::svg::{FILE_HEAD, FILE_MARGIN, Theme};
#[cfg(feature = "doors")]
use super::table::Table;
use super::text::Messages;

/// What figures are made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its report: the request at its end.
    pub report: &'a Report,
    /// The report at the scrubber's step, with the same number of GPUs; the same as [`Self::report`] at the end.
    pub now: &'a Report,
    /// Decode steps done.
    pub step: u64,
    /// Scenarios to compare with, and their names.
    pub pinned: &'a [(String, Scenario)],
    /// The words.
    pub messages: &'a Messages,
}

/// A size in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

impl Size {
    /// The narrowest picture that is laid out; narrower ones get this width.
    pub const MIN_WIDTH: u32 = 240;
    /// The widest.
    pub const MAX_WIDTH: u32 = 4_000;
}

/// The marks of a figure.
pub trait Draw: Send + Sync {
    /// The height at which the figure reads well at this width. It depends on nothing that the reader drags, so that the
    /// page stays still.
    fn height(&self, width: u32) -> u32;

    /// Draws it, laid out for the canvas.
    fn draw(&self, canvas: &Canvas);

    /// The size of its texts.
    fn font_size(&self) -> f64 {
        FONT_SIZE
    }

    /// Where its horizontal axis lies, when a pointer may be dragged along it.
    fn scale(&self, _: Size) -> Option<Scale> {
        None
    }
}

/// An axis that a pointer can be dragged along: whole values from 0 to `last` between two places of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Where 0 lies, in CSS pixels from the left of the picture.
    pub left: f64,
    /// Where `last` lies.
    pub right: f64,
    /// The last value.
    pub last: u64,
}

impl Scale {
    /// The value under a pointer.
    pub fn value_at(&self, pixels: f64) -> u64 {
        let share = (pixels - self.left) / (self.right - self.left).max(1.0);
        // A NaN becomes 0; the share is at most 1, so the product does not exceed the last value.
        (within(share, 0.0, 1.0) * self.last as f64).round() as u64
    }

    /// Where a value lies.
    pub fn pixels_at(&self, value: u64) -> f64 {
        let share = value.min(self.last) as f64 / self.last.max(1) as f64;
        self.left + share * (self.right - self.left)
    }
}

/// A figure of a scenario.
#[derive(Clone)]
pub struct ChartModel {
    /// Its id in links.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// What stands beside the title.
    pub subtitle: String,
    /// One line that says what the picture shows.
    pub summary: String,
    /// Its data.
    #[cfg(feature = "doors")]
    pub table: Table,
    /// Its marks.
    pub draw: Arc<dyn Draw>,
}

/// The id that the title of a figure must have in the page.
pub fn title_id(id_prefix: &str, id: &str) -> String {
    format!("{id_prefix}-{id}-title")
}

/// The id that the summary of a figure must have in the page.
pub fn summary_id(id_prefix: &str, id: &str) -> String {
    format!("{id_prefix}-{id}-summary")
}

/// The size at which a figure reads well at this width.
pub fn size(model: &ChartModel, width: u32) -> Size {
    let width = width.clamp(Size::MIN_WIDTH, Size::MAX_WIDTH);
    Size {
        width,
        height: model.draw.height(width),
    }
}

fn drawn(model: &ChartModel, size: Size) -> Canvas {
    let width = size.width.clamp(Size::MIN_WIDTH, Size::MAX_WIDTH);
    let height = size.height.clamp(60, Size::MAX_WIDTH);
    let canvas = Canvas::new(width, height, model.draw.font_size());
    model.draw.draw(&canvas);
    canvas
}

/// The picture for a page whose style sheet knows the classes. Its title and summary stand in the page, under the ids of
/// [`title_id`] and [`summary_id`]; the prefix keeps several pages' worth of figures in one document apart.
pub fn svg(model: &ChartModel, size: Size, id_prefix: &str) -> String {
    let mut attributes = String::from("class=\"chart\" role=\"img\" aria-labelledby=\"");
    push_escaped(&mut attributes, &title_id(id_prefix, model.id));
    attributes.push(' ');
    push_escaped(&mut attributes, &summary_id(id_prefix, model.id));
    attributes.push('"');
    drawn(model, size).finish(&attributes, "", &format!("{id_prefix}-{}", model.id), None)
}

/// The picture as a file of its own, so many pixels wide, with its title, its summary and its colours; and its size.
#[cfg(feature = "doors")]
pub fn svg_file(model: &ChartModel, width: u32, theme: Theme) -> (String, Size) {
    let margin = FILE_MARGIN as u32;
    let picture = size(model, width.saturating_sub(2 * margin));
    let whole = Size {
        width: picture.width + 2 * margin,
        height: picture.height + margin + FILE_HEAD as u32,
    };
    let attributes = "xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" \
                      font-family=\"system-ui,-apple-system,Segoe UI,Roboto,DejaVu Sans,sans-serif\"";
    let mut inside = String::from("<title>");
    push_escaped(&mut inside, &model.title);
    inside.push_str("</title><desc>");
    push_escaped(&mut inside, &model.summary);
    inside.push_str("</desc>");
    let canvas = drawn(model, picture);
    canvas.head(&model.title, &model.subtitle);
    (
        canvas.finish(attributes, &inside, model.id, Some(theme)),
        whole,
    )
}
