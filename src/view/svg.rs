//! Charts as compact SVG: the drawing backend of plotters, and the few marks that charts are made of. Nothing else names
//! plotters.
//!
//! plotters places points in coordinate systems, draws meshes, axes and series; this backend writes them down. It knows
//! whole pixels only, so its pixels here are tenths of CSS pixels. Shapes of one style become one path, styles become
//! classes (a change of theme redraws nothing), texts stay texts, and no width is measured through a page.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::ops::Range;
use std::rc::Rc;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{
    AreaSeries, Cartesian2d, ChartBuilder, ChartContext, Circle, DrawingArea, FontDesc, FontFamily,
    FontStyle, IntoFont, LabelAreaPosition, LineSeries, PathElement, Polygon, RGBAColor, Rectangle,
    ShapeStyle, TRANSPARENT, TextStyle,
};
use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::markup::push_escaped;

/// The size of texts in CSS pixels, unless a figure has its own.
pub const FONT_SIZE: f64 = 12.0;

/// Pixels around the picture of a file.
pub const FILE_MARGIN: f64 = 16.0;

/// Pixels above the picture of a file, for its title and the line under it.
pub const FILE_HEAD: f64 = 64.0;

/// Pixels of plotters in a CSS pixel.
const SCALE: f64 = 10.0;

/// What a mark stands for: a colour means one thing through the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Prompt.
    Prompt,
    /// Thinking.
    Thinking,
    /// Answer.
    Answer,
    /// States of constant size.
    State,
    /// Weights.
    Weights,
    /// Activations and runtime.
    Overhead,
    /// What does not fit.
    Over,
    /// Memory that the engine may not use.
    Off,
    /// Grid and outlines.
    Grid,
    /// Axes and limits, and the scenario's own line.
    Ink,
    /// Labels.
    Dim,
    /// Labels on a dark fill.
    OnDark,
    /// Labels on a light fill.
    OnLight,
    /// The page.
    Paper,
    /// The first pinned line.
    Pin1,
    /// The second pinned line.
    Pin2,
    /// The third pinned line.
    Pin3,
}

/// One ink: its class, and its colours on light and dark paper for files that stand alone.
struct InkRow {
    ink: Ink,
    class: &'static str,
    light: &'static str,
    dark: &'static str,
}

const fn ink(ink: Ink, class: &'static str, light: &'static str, dark: &'static str) -> InkRow {
    InkRow {
        ink,
        class,
        light,
        dark,
    }
}

/// Every ink, in the order of [`Ink`]. The colours are those of the style sheet, which a test compares.
const INKS: [InkRow; 17] = [
    ink(Ink::Prompt, "c-prompt", "#0072b2", "#0072b2"),
    ink(Ink::Thinking, "c-thinking", "#e69f00", "#e69f00"),
    ink(Ink::Answer, "c-answer", "#009e73", "#009e73"),
    ink(Ink::State, "c-state", "#56b4e9", "#56b4e9"),
    ink(Ink::Weights, "c-weights", "#b9b4a8", "#5d584f"),
    ink(Ink::Overhead, "c-overhead", "#8d887c", "#7a7468"),
    ink(Ink::Over, "c-over", "#d55e00", "#ff8a4c"),
    ink(Ink::Off, "c-off", "#efece4", "#24221f"),
    ink(Ink::Grid, "c-grid", "#dcd8cf", "#3a3732"),
    ink(Ink::Ink, "c-ink", "#1c1b19", "#eceae4"),
    ink(Ink::Dim, "c-dim", "#6b675f", "#a39e93"),
    ink(Ink::OnDark, "c-on-dark", "#ffffff", "#ffffff"),
    ink(Ink::OnLight, "c-on-light", "#1c1b19", "#171614"),
    ink(Ink::Paper, "c-paper", "#fbfaf7", "#171614"),
    ink(Ink::Pin1, "c-pin1", "#a8578a", "#cc79a7"),
    ink(Ink::Pin2, "c-pin2", "#2a85bd", "#56b4e9"),
    ink(Ink::Pin3, "c-pin3", "#7d7700", "#f0e442"),
];

/// The classes of the inks with their colours on light and on dark paper.
pub fn palette() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    INKS.iter().map(|row| (row.class, row.light, row.dark))
}

/// How a shape is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Filled.
    Fill,
    /// Filled lightly.
    Faint,
    /// Filled with diagonal lines.
    Hatch,
    /// A thin line.
    Line,
    /// A thin dashed line.
    Dashes,
    /// A thick line.
    Bold,
    /// A thick dashed line.
    BoldDashes,
}

/// Every mark with its class, and the attributes of a file that stands alone, where `{c}` is the colour.
const MARKS: [(Mark, &str, &str); 7] = [
    (Mark::Fill, "f", "fill=\"{c}\""),
    (Mark::Faint, "a", "fill=\"{c}\" opacity=\".2\""),
    (Mark::Hatch, "h", ""),
    (Mark::Line, "l", "stroke=\"{c}\""),
    (Mark::Dashes, "d", "stroke=\"{c}\" stroke-dasharray=\"4 3\""),
    (
        Mark::Bold,
        "b",
        "stroke=\"{c}\" stroke-width=\"2.5\" stroke-linejoin=\"round\"",
    ),
    (
        Mark::BoldDashes,
        "e",
        "stroke=\"{c}\" stroke-width=\"2.5\" stroke-dasharray=\"6 4\"",
    ),
];

/// A style. plotters carries it as a colour: the ink in its red, the mark in its green.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pen(pub Ink, pub Mark);

impl Pen {
    fn color(self) -> RGBAColor {
        RGBAColor(self.0 as u8, self.1 as u8, 0, 1.0)
    }

    fn style(self) -> ShapeStyle {
        let filled = matches!(self.1, Mark::Fill | Mark::Faint | Mark::Hatch);
        ShapeStyle {
            color: self.color(),
            filled,
            stroke_width: 1,
        }
    }

    fn of(color: BackendColor) -> Self {
        let (ink, mark, _) = color.rgb;
        let ink = INKS.get(usize::from(ink)).map_or(Ink::Ink, |row| row.ink);
        let mark = MARKS
            .get(usize::from(mark))
            .map_or(Mark::Line, |(mark, ..)| *mark);
        Self(ink, mark)
    }

    fn row(self) -> Option<&'static InkRow> {
        INKS.get(self.0 as usize)
    }
}

/// Where a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// At its start.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// The paper of a file that stands alone. The page makes no files, so there it has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Light.
    #[cfg(feature = "doors")]
    Light,
    /// Dark.
    #[cfg(feature = "doors")]
    Dark,
}

impl Theme {
    fn color(self, row: &InkRow) -> &'static str {
        match (self, row) {
            #[cfg(feature = "doors")]
            (Self::Light, row) => row.light,
            #[cfg(feature = "doors")]
            (Self::Dark, row) => row.dark,
        }
    }
}

/// A text that was drawn.
#[derive(Clone, Debug)]
struct Label {
    x: i32,
    y: i32,
    ink: Ink,
    anchor: Anchor,
    is_strong: bool,
    text: String,
}

/// The backend: what plotters drew, in order. Texts lie above shapes.
#[derive(Debug)]
struct Backend {
    width: u32,
    height: u32,
    font_size: f64,
    /// The open path and its pen.
    pen: Option<Pen>,
    path: String,
    paths: Vec<(Pen, String)>,
    labels: Vec<Label>,
}

impl Backend {
    /// The path of this pen to append to: the open one, or a new one above it.
    fn path(&mut self, pen: Pen) -> &mut String {
        if self.pen != Some(pen) {
            self.close_path();
            self.pen = Some(pen);
        }
        &mut self.path
    }

    fn close_path(&mut self) {
        if let Some(pen) = self.pen.take() {
            self.paths.push((pen, std::mem::take(&mut self.path)));
        }
    }

    fn polyline(
        &mut self,
        pen: Pen,
        points: impl IntoIterator<Item = BackendCoord>,
        is_closed: bool,
    ) {
        let mut points = points.into_iter();
        let Some(mut at) = points.next() else { return };
        let path = self.path(pen);
        push_pair(path, 'M', at);
        let mut is_first = true;
        for point in points {
            let step = (point.0.saturating_sub(at.0), point.1.saturating_sub(at.1));
            if step != (0, 0) {
                match step {
                    (dx, 0) => push_one(path, 'h', dx),
                    (0, dy) => push_one(path, 'v', dy),
                    step => push_pair(path, 'l', step),
                }
                is_first = false;
                at = point;
            }
        }
        if is_closed && !is_first {
            path.push('z');
        }
    }
}

/// A tenth of a pixel, with the point where it needs one and a separator only where it needs that.
fn push_tenths(path: &mut String, tenths: i32, is_after_number: bool) {
    if is_after_number && 0 <= tenths {
        path.push(' ');
    }
    let (sign, tenths) = (if tenths < 0 { "-" } else { "" }, tenths.unsigned_abs());
    let res = match (tenths / 10, tenths % 10) {
        (whole, 0) => write!(path, "{sign}{whole}"),
        (0, tenth) => write!(path, "{sign}.{tenth}"),
        (whole, tenth) => write!(path, "{sign}{whole}.{tenth}"),
    };
    // Writing to a string cannot fail.
    debug_assert!(res.is_ok(), "a string took no more text");
}

fn push_one(path: &mut String, command: char, tenths: i32) {
    path.push(command);
    push_tenths(path, tenths, false);
}

fn push_pair(path: &mut String, command: char, (x, y): BackendCoord) {
    path.push(command);
    push_tenths(path, x, false);
    push_tenths(path, y, true);
}

/// The error of a backend that has none.
#[derive(Debug)]
struct Never;

impl fmt::Display for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("drawing into a string failed")
    }
}

impl std::error::Error for Never {}

type Drawn = Result<(), DrawingErrorKind<Never>>;

impl DrawingBackend for Backend {
    type ErrorType = Never;

    fn get_size(&self) -> (u32, u32) {
        let scaled = |pixels: u32| pixels.saturating_mul(SCALE as u32);
        (scaled(self.width), scaled(self.height))
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect(point, (point.0 + 1, point.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        _: bool,
    ) -> Drawn {
        self.fill_polygon([from, (to.0, from.1), to, (from.0, to.1)], style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        if style.color().alpha != 0.0 {
            self.polyline(Pen::of(style.color()), path, false);
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        _: bool,
    ) -> Drawn {
        let radius = i32::try_from(radius).unwrap_or(0);
        let path = self.path(Pen::of(style.color()));
        push_pair(path, 'M', (center.0 - radius, center.1));
        for way in [2, -2] {
            push_pair(path, 'a', (radius, radius));
            path.push_str(" 0 0 1");
            push_tenths(path, way * radius, true);
            path.push_str(" 0");
        }
        path.push('z');
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Drawn {
        if style.color().alpha != 0.0 {
            self.polyline(Pen::of(style.color()), vert, true);
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Drawn {
        let Pos { h_pos, v_pos } = style.anchor();
        let drop = match v_pos {
            VPos::Top => 0.8,
            VPos::Center => 0.35,
            VPos::Bottom => -0.2,
        };
        let anchor = match h_pos {
            HPos::Left => Anchor::Start,
            HPos::Center => Anchor::Middle,
            HPos::Right => Anchor::End,
        };
        let y = y.saturating_add((drop * self.font_size * SCALE).round() as i32);
        let Pen(ink, _) = Pen::of(style.color());
        let is_strong = matches!(style.style(), FontStyle::Bold);
        self.labels.push(Label {
            x,
            y,
            ink,
            anchor,
            is_strong,
            text: text.to_owned(),
        });
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Never>> {
        let scaled = |pixels: f64| (pixels * SCALE).ceil() as u32;
        let is_strong = matches!(style.style(), FontStyle::Bold);
        Ok((
            scaled(text_width(text, self.font_size, is_strong)),
            scaled(self.font_size * 1.2),
        ))
    }
}

/// The width of a text in CSS pixels, estimated for a wide sans-serif, so that what fits here fits in any usual font.
pub fn text_width(text: &str, font_size: f64, is_strong: bool) -> f64 {
    let em_hundredths: u32 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '\'' | '|' => 29,
            ' ' | '.' | ',' | ':' | ';' | 'I' | '·' => 32,
            'f' | 't' | 'r' | '/' | '(' | ')' | '-' | '[' | ']' => 41,
            '0'..='9' | 'a'..='h' | 'k' | 'n'..='q' | 's' | 'u' | 'v' | 'x'..='z' | '_' | '$' => 63,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 98,
            'A'..='Z' | '+' | '=' | '<' | '>' | '×' | '&' => 76,
            // Combining marks and joiners take no room; scripts of East Asia take a full square.
            '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
            '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}' => 100,
            '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f000}'..='\u{3ffff}' => 100,
            _ => 70,
        })
        .sum();
    f64::from(em_hundredths) / 100.0 * font_size * if is_strong { 1.1 } else { 1.0 }
}

/// `text`, at most `width` wide: what is in its middle gives way to an ellipsis, because names differ at their ends.
pub fn fitted(text: &str, width: f64, font_size: f64) -> String {
    if text_width(text, font_size, false) <= width {
        return text.to_owned();
    }
    let n_chars = text.chars().count();
    let cut = |n_kept: usize| {
        let n_tail = n_kept / 2;
        let head = text.chars().take(n_kept - n_tail);
        let tail = text.chars().skip(n_chars - n_tail);
        head.chain(['…']).chain(tail).collect::<String>()
    };
    let fits = |n_kept: &usize| text_width(&cut(*n_kept), font_size, false) <= width;
    cut((1..n_chars).rev().find(fits).unwrap_or(0))
}

/// The plotting area of a coordinate system, in CSS pixels of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Bottom edge.
    pub bottom: f64,
}

/// One axis: its range and the labelled values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Value at the left or bottom.
    pub min: f64,
    /// Value at the right or top.
    pub max: f64,
    /// Labelled values.
    pub ticks: Vec<(f64, String)>,
}

/// What lies behind the series of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mesh {
    /// Nothing.
    None,
    /// A light line at each labelled value of the vertical axis.
    Lines,
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let length = self.max - self.min;
        if length <= 0.0 {
            return from;
        }
        // Far outside the range a float becomes the nearest integer, and NaN zero.
        from.saturating_add(
            ((value - self.min) / length * f64::from(to.saturating_sub(from))).round() as i32,
        )
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.min..self.max
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(tick, _)| tick == value);
        tick.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// A coordinate system to draw in.
pub struct Plot<'a> {
    context: ChartContext<'a, Backend, Cartesian2d<Axis, Axis>>,
}

/// The picture that a chart draws on, in CSS pixels.
pub struct Canvas {
    backend: Rc<RefCell<Backend>>,
    area: DrawingArea<Backend, Shift>,
    width: f64,
    height: f64,
    font_size: f64,
}

fn tenths(pixels: f64) -> i32 {
    (pixels * SCALE).round() as i32
}

fn point((x, y): (f64, f64)) -> BackendCoord {
    (tenths(x), tenths(y))
}

impl Canvas {
    /// An empty picture.
    pub fn new(width: u32, height: u32, font_size: f64) -> Self {
        let backend = Backend {
            width,
            height,
            font_size,
            pen: None,
            path: String::new(),
            paths: Vec::new(),
            labels: Vec::new(),
        };
        let backend = Rc::new(RefCell::new(backend));
        let area = DrawingArea::from(&backend);
        Self {
            backend,
            area,
            width: width.into(),
            height: height.into(),
            font_size,
        }
    }

    /// Its width.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Its height.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The width of a text in it.
    pub fn text_width(&self, text: &str) -> f64 {
        text_width(text, self.font_size, false)
    }

    /// A rectangle between two corners.
    pub fn rect(&self, pen: Pen, from: (f64, f64), to: (f64, f64)) {
        // The backend's error has no value, so nothing can fail here or below.
        let _ = self
            .area
            .draw(&Rectangle::new([point(from), point(to)], pen.style()));
    }

    /// A line through points.
    pub fn line(&self, pen: Pen, points: &[(f64, f64)]) {
        let points: Vec<BackendCoord> = points.iter().copied().map(point).collect();
        let _ = self.area.draw(&PathElement::new(points, pen.style()));
    }

    /// A text with its base line at `y`.
    pub fn text(&self, ink: Ink, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        self.label(ink, anchor, (x, y), text, FontStyle::Normal);
    }

    /// A text that stands out.
    pub fn strong(&self, ink: Ink, anchor: Anchor, (x, y): (f64, f64), text: &str) {
        self.label(ink, anchor, (x, y), text, FontStyle::Bold);
    }

    fn label(&self, ink: Ink, anchor: Anchor, (x, y): (f64, f64), text: &str, style: FontStyle) {
        let h_pos = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let style = text_style(ink, self.font_size, style).pos(Pos::new(h_pos, VPos::Bottom));
        // plotters knows tops, centers and bottoms of texts; the bottom lies a fifth of the size under the base line.
        let _ = self
            .area
            .draw_text(text, &style, point((x, y + 0.2 * self.font_size)));
    }

    /// A coordinate system with its axes' labels: those of the vertical axis left of the frame, those of the horizontal
    /// axis under it.
    pub fn plot(&self, frame: Frame, x: &Axis, y: &Axis, mesh: Mesh) -> Option<Plot<'_>> {
        let area = self.area.clone().shrink(
            (0, tenths(frame.top)),
            (tenths(frame.right), tenths(self.height - frame.top)),
        );
        let mut context = ChartBuilder::on(&area)
            .set_label_area_size(LabelAreaPosition::Left, tenths(frame.left))
            .set_label_area_size(
                LabelAreaPosition::Bottom,
                tenths(self.height - frame.bottom),
            )
            .build_cartesian_2d(x.clone(), y.clone())
            .ok()?;
        let mut style = context.configure_mesh();
        style
            .disable_x_mesh()
            .set_all_tick_mark_size(tenths(3.0))
            .max_light_lines(1)
            .label_style(text_style(Ink::Dim, self.font_size, FontStyle::Normal))
            .bold_line_style(Pen(Ink::Grid, Mark::Line).style())
            .light_line_style(Pen(Ink::Grid, Mark::Line).style())
            // Baselines are drawn above the fills, see below; a vertical axis line says nothing that its labels do not.
            .axis_style(TRANSPARENT);
        if mesh == Mesh::None {
            style.disable_y_mesh();
        }
        let _ = style.draw();
        Some(Plot { context })
    }

    /// Words above the picture of a file: its title, and under it a line that is cut where the picture ends.
    pub fn head(&self, title: &str, line: &str) {
        let head = |ink, y, text: &str, is_strong| {
            self.backend.borrow_mut().labels.push(Label {
                x: 0,
                y: tenths(y),
                ink,
                anchor: Anchor::Start,
                is_strong,
                text: fitted(text, self.width, self.font_size),
            });
        };
        head(Ink::Ink, 30.0 - FILE_HEAD, title, true);
        head(Ink::Dim, 48.0 - FILE_HEAD, line, false);
    }

    /// The picture as markup. `attributes` go into the root element, `inside` before what was drawn. A file, which has a
    /// theme, has room for a head and around the picture.
    pub fn finish(
        self,
        attributes: &str,
        inside: &str,
        id_prefix: &str,
        theme: Option<Theme>,
    ) -> String {
        let mut backend = self.backend.borrow_mut();
        backend.close_path();
        let Backend { paths, labels, .. } = &*backend;
        let mut res = String::with_capacity(4096);
        let text = |pixels: f64| {
            let mut res = String::new();
            push_tenths(&mut res, tenths(pixels), false);
            res
        };
        let (side, top) = match theme {
            Some(_) => (FILE_MARGIN, FILE_HEAD),
            None => (0.0, 0.0),
        };
        let width = text(self.width + 2.0 * side);
        let height = text(self.height + top + side);
        let (left, top) = (text(-side), text(-top));
        let font_size = text(self.font_size);
        let _ = write!(
            res,
            "<svg viewBox=\"{left} {top} {width} {height}\" width=\"{width}\" height=\"{height}\" font-size=\"{font_size}\" \
             fill=\"none\" {attributes}>{inside}"
        );
        if let Some((theme, paper)) = theme.zip(Pen(Ink::Paper, Mark::Fill).row()) {
            let _ = write!(
                res,
                "<path fill=\"{}\" d=\"M{left} {top}h{width}v{height}H{left}z\"/>",
                theme.color(paper)
            );
        }
        push_patterns(&mut res, paths, id_prefix, theme);
        for (pen, path) in paths {
            res.push_str("<path ");
            push_style(&mut res, *pen, id_prefix, theme);
            let _ = write!(res, " d=\"{path}\"/>");
        }
        for label in labels {
            push_label(&mut res, label, theme);
        }
        res.push_str("</svg>");
        res
    }
}

fn text_style(ink: Ink, font_size: f64, style: FontStyle) -> TextStyle<'static> {
    let font: FontDesc<'static> = (FontFamily::SansSerif, font_size * SCALE, style).into_font();
    font.color(&Pen(ink, Mark::Fill).color())
}

/// The patterns of the hatched inks that the picture uses. Their ids have the prefix, so that pictures on one page do not
/// meet.
fn push_patterns(res: &mut String, paths: &[(Pen, String)], id_prefix: &str, theme: Option<Theme>) {
    let mut inks: Vec<Ink> = Vec::new();
    for (Pen(ink, mark), _) in paths {
        if *mark == Mark::Hatch && !inks.contains(ink) {
            inks.push(*ink);
        }
    }
    for ink in inks {
        let class = Pen(ink, Mark::Hatch).row().map_or("", |row| row.class);
        res.push_str("<pattern id=\"");
        push_escaped(res, id_prefix);
        let _ = write!(
            res,
            "-{class}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        );
        res.push_str("patternTransform=\"rotate(45)\"><path ");
        push_style(res, Pen(ink, Mark::Line), id_prefix, theme);
        res.push_str(" stroke-width=\"2\" d=\"M1 0v6\"/></pattern>");
    }
}

fn push_style(res: &mut String, pen: Pen, id_prefix: &str, theme: Option<Theme>) {
    let Pen(_, mark) = pen;
    let Some(row) = pen.row() else { return };
    let (_, mark_class, attributes) = MARKS.get(mark as usize).copied().unwrap_or((mark, "", ""));
    if mark == Mark::Hatch {
        res.push_str("fill=\"url(#");
        push_escaped(res, id_prefix);
        res.extend(["-", row.class, ")\""]);
        return;
    }
    match theme {
        None => res.extend(["class=\"", mark_class, " ", row.class, "\""]),
        Some(theme) => res.push_str(&attributes.replace("{c}", theme.color(row))),
    }
}

fn push_label(res: &mut String, label: &Label, theme: Option<Theme>) {
    res.push_str("<text x=\"");
    push_tenths(res, label.x, false);
    res.push_str("\" y=\"");
    push_tenths(res, label.y, false);
    res.push('"');
    let Some(row) = Pen(label.ink, Mark::Fill).row() else {
        return;
    };
    let is_on_fill = matches!(label.ink, Ink::OnDark | Ink::OnLight);
    match theme {
        None => res.extend([" class=\"", row.class, "\""]),
        Some(theme) => {
            res.extend([" fill=\"", theme.color(row), "\""]);
            // A rim of paper keeps a text readable over lines, as the style sheet does it.
            if let Some(paper) = Pen(Ink::Paper, Mark::Fill).row().filter(|_| !is_on_fill) {
                res.extend([
                    " stroke=\"",
                    theme.color(paper),
                    "\" stroke-width=\"3\" paint-order=\"stroke\"",
                ]);
            }
        }
    }
    match label.anchor {
        Anchor::Start => {}
        Anchor::Middle => res.push_str(" text-anchor=\"middle\""),
        Anchor::End => res.push_str(" text-anchor=\"end\""),
    }
    if label.is_strong {
        res.push_str(" font-weight=\"600\"");
    }
    res.push('>');
    push_escaped(res, &label.text);
    res.push_str("</text>");
}

impl Plot<'_> {
    /// Where a value lies in the picture.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let (x, y) = self.context.plotting_area().map_coordinate(&(x, y));
        (f64::from(x) / SCALE, f64::from(y) / SCALE)
    }

    /// A line through values.
    pub fn line(&mut self, pen: Pen, points: &[(f64, f64)]) {
        let _ = self
            .context
            .draw_series(LineSeries::new(points.iter().copied(), pen.style()));
    }

    /// The line along zero, with a small mark at each labelled value.
    pub fn baseline(&mut self) {
        let axis = self
            .context
            .plotting_area()
            .as_coord_spec()
            .x_spec()
            .clone();
        let pen = Pen(Ink::Ink, Mark::Line);
        self.line(pen, &[(axis.min, 0.0), (axis.max, 0.0)]);
        for (value, _) in &axis.ticks {
            let (x, y) = self.at(*value, 0.0);
            let mark = [point((x, y)), point((x, y + 4.0))];
            let _ = self
                .context
                .plotting_area()
                .strip_coord_spec()
                .use_screen_coord()
                .draw(&PathElement::new(mark, pen.style()));
        }
    }

    /// The area between values and zero.
    pub fn area(&mut self, pen: Pen, points: &[(f64, f64)]) {
        let _ = self
            .context
            .draw_series(AreaSeries::new(points.iter().copied(), 0.0, pen.style()));
    }

    /// The area between two lines.
    pub fn band(&mut self, pen: Pen, upper: &[(f64, f64)], lower: &[(f64, f64)]) {
        let points: Vec<(f64, f64)> = upper.iter().chain(lower.iter().rev()).copied().collect();
        let _ = self
            .context
            .draw_series([Polygon::new(points, pen.style())]);
    }

    /// A bar between two corners.
    pub fn bar(&mut self, pen: Pen, from: (f64, f64), to: (f64, f64)) {
        let _ = self
            .context
            .draw_series([Rectangle::new([from, to], pen.style())]);
    }

    /// A dot of so many pixels around a value.
    pub fn dot(&mut self, pen: Pen, at: (f64, f64), radius: f64) {
        let _ = self
            .context
            .draw_series([Circle::new(at, tenths(radius), pen.style())]);
    }
}
