//! The layer map: what each layer keeps at this length, and whether it grows with it.

use std::sync::Arc;

use crate::core::layer::LayerKind;
use crate::core::units::{Bytes, Tokens};
use crate::view::axis::byte_axis;
use crate::view::chart::{ChartModel, Draw, Input, Scale, Size};
use crate::view::formula::kind_name;
use crate::view::svg::{
    Anchor, Axis, Canvas, FONT_SIZE, Frame, Ink, Mark, Mesh, Pen, fitted, text_width,
};
use crate::view::table::{Cell, Table};
use crate::view::text::{LayersText, fill};

/// Its id.
pub const ID: &str = "layers";

/// The bars above the cells, and the cells.
const BARS: f64 = 120.0;
const CELLS: f64 = 12.0;
const TOP: f64 = 12.0;
const ROW_HEIGHT: f64 = 20.0;

/// What a layer's cache does while tokens come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It keeps something of every token.
    Grows,
    /// It grows until its window is full.
    Capped,
    /// It is as large for one token as for a million.
    Constant,
    /// It uses the cache of another layer.
    Shared,
    /// It keeps nothing: an MLP alone.
    Nothing,
}

impl Behaviour {
    /// Every behaviour, in the order of the legend.
    pub const ALL: [Self; 5] = [
        Self::Grows,
        Self::Capped,
        Self::Constant,
        Self::Shared,
        Self::Nothing,
    ];

    /// The behaviour of a kind of layer.
    pub fn of(kind: LayerKind) -> Self {
        match kind {
            LayerKind::Full {
                num_key_value_heads: 0,
                ..
            } => Self::Nothing,
            LayerKind::Full { .. } | LayerKind::Latent { .. } | LayerKind::Compressed { .. } => {
                Self::Grows
            }
            LayerKind::Sliding { .. } | LayerKind::Chunked { .. } => Self::Capped,
            LayerKind::Recurrent(_) | LayerKind::Cross { .. } => Self::Constant,
            LayerKind::Shared => Self::Shared,
        }
    }

    fn pen(self) -> Pen {
        match self {
            Self::Grows => Pen(Ink::Ink, Mark::Fill),
            Self::Capped => Pen(Ink::Overhead, Mark::Fill),
            Self::Constant => Pen(Ink::State, Mark::Fill),
            Self::Shared => Pen(Ink::Dim, Mark::Dashes),
            Self::Nothing => Pen(Ink::Grid, Mark::Line),
        }
    }

    fn name(self, text: &LayersText) -> &str {
        match self {
            Self::Grows => &text.grows,
            Self::Capped => &text.capped,
            Self::Constant => &text.constant,
            Self::Shared => &text.shared,
            Self::Nothing => &text.nothing,
        }
    }

    fn sentence(self, text: &LayersText) -> &str {
        match self {
            Self::Grows => &text.grows_sentence,
            Self::Capped => &text.capped_sentence,
            Self::Constant => &text.constant_sentence,
            Self::Shared => &text.shared_sentence,
            Self::Nothing => &text.nothing_sentence,
        }
    }
}

/// One cache of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cache {
    kind: Option<LayerKind>,
    behaviour: Behaviour,
    bytes: Bytes,
}

/// A line under the picture.
#[derive(Clone, Debug)]
struct Row {
    behaviour: Behaviour,
    name: String,
    count: String,
    size: String,
    share: String,
}

/// The picture.
#[derive(Clone, Debug)]
struct Map {
    axis: Axis,
    ticks: Vec<(f64, String)>,
    /// The caches of each layer.
    layers: Vec<Vec<Cache>>,
    rows: Vec<Row>,
}

/// The caches of each layer at the step of the input. A layer without any keeps nothing.
fn layers(input: &Input<'_>) -> Vec<Vec<Cache>> {
    let model = &input.scenario.model.config;
    let of_group = |idx: &usize| {
        let kind = model.groups.get(*idx)?.kind;
        let group = input.now.kv_cache.layers.get(*idx)?;
        Some(Cache {
            kind: Some(kind),
            behaviour: Behaviour::of(kind),
            bytes: group.bytes.part_of(u64::from(group.count.max(1))),
        })
    };
    let nothing = Cache {
        kind: None,
        behaviour: Behaviour::Nothing,
        bytes: Bytes::ZERO,
    };
    let of_layer = |groups: &Vec<usize>| {
        let caches: Vec<Cache> = groups.iter().filter_map(of_group).collect();
        if caches.is_empty() {
            vec![nothing]
        } else {
            caches
        }
    };
    model.layers.iter().map(of_layer).collect()
}

/// Whether the layers differ in what they do while tokens come, so that a map says something.
pub fn is_mixed(input: &Input<'_>) -> bool {
    let mut behaviours = input
        .scenario
        .model
        .config
        .groups
        .iter()
        .map(|group| Behaviour::of(group.kind));
    let first = behaviours.next();
    behaviours.any(|behaviour| Some(behaviour) != first)
}

/// The model of a scenario's layers.
pub fn model(input: &Input<'_>) -> ChartModel {
    let (text, numbers) = (&input.messages.layers, input.messages.numbers());
    let layers = layers(input);
    let sum = |caches: &[Cache]| caches.iter().map(|cache| cache.bytes).sum::<Bytes>();
    let all: Bytes = layers.iter().map(|caches| sum(caches)).sum();
    let largest = layers.iter().map(|caches| sum(caches)).max();
    let mut rows = Vec::new();
    let mut pieces = Vec::new();
    for behaviour in Behaviour::ALL {
        let is_own = |cache: &&Cache| cache.behaviour == behaviour;
        let n_layers = layers
            .iter()
            .filter(|caches| caches.iter().any(|cache| is_own(&cache)))
            .count() as u64;
        if n_layers == 0 {
            continue;
        }
        let own = layers.iter().flatten().filter(is_own);
        let bytes: Bytes = own.map(|cache| cache.bytes).sum();
        let count = numbers.integer(n_layers);
        let (size, share) = (numbers.bytes(bytes), numbers.percent(bytes.0, all.0, 1));
        let values: &[(&str, &str)] = &[("n", &count), ("size", &size), ("share", &share)];
        pieces.push(fill(behaviour.sentence(text), values));
        let keeps = !matches!(behaviour, Behaviour::Shared | Behaviour::Nothing);
        rows.push(Row {
            behaviour,
            name: behaviour.name(text).to_owned(),
            count: fill(&text.count, values),
            size: if keeps { size } else { String::new() },
            share: if keeps { share } else { String::new() },
        });
    }
    let tokens = input.now.tokens.total;
    let summary = fill(
        &text.summary,
        &[
            ("layers", &numbers.integer(layers.len() as u64)),
            ("tokens", &numbers.tokens(tokens)),
            ("pieces", &numbers.list(pieces.iter().map(String::as_str))),
        ],
    );
    let map = Map {
        axis: byte_axis(largest.unwrap_or_default(), 2, numbers),
        ticks: (0..layers.len())
            .map(|idx| (idx as f64, numbers.integer(idx as u64)))
            .collect(),
        layers,
        rows,
    };
    ChartModel {
        id: ID,
        title: text.title.clone().into_owned(),
        subtitle: text.subtitle.clone().into_owned(),
        summary,
        table: table(input, &map.layers),
        draw: Arc::new(map),
    }
}

fn kept_tokens(input: &Input<'_>, cache: &Cache) -> Option<Tokens> {
    let tokens = input.scenario.at_step(input.step).context_tokens();
    match (cache.behaviour, cache.kind) {
        (Behaviour::Grows | Behaviour::Capped, Some(kind)) => Some(kind.kept_tokens(tokens)),
        _ => None,
    }
}

fn table(input: &Input<'_>, layers: &[Vec<Cache>]) -> Table {
    let (text, numbers) = (&input.messages.layers, input.messages.numbers());
    let count = |n: u64| Cell::Count(n, numbers.integer(n));
    let mut rows = Vec::new();
    for (idx, caches) in layers.iter().enumerate() {
        for cache in caches {
            let kind = cache
                .kind
                .map_or("", |kind| kind_name(kind, &input.messages.working));
            rows.push(vec![
                count(idx as u64),
                Cell::Words(kind.to_owned()),
                Cell::Words(cache.behaviour.name(text).to_owned()),
                kept_tokens(input, cache).map_or(Cell::Empty, |tokens| count(tokens.0)),
                count(cache.bytes.0),
            ]);
        }
    }
    let head = [
        &text.head_layer,
        &text.head_kind,
        &text.head_behaviour,
        &text.head_tokens,
        &input.messages.charts.bytes,
    ];
    Table::new(&head, rows)
}

/// What one layer is and keeps, in words.
pub fn describe(input: &Input<'_>, idx: u64) -> String {
    let (text, numbers) = (&input.messages.layers, input.messages.numbers());
    let layers = layers(input);
    let caches = usize::try_from(idx).ok().and_then(|idx| layers.get(idx));
    let cache_line = |cache: &Cache| {
        let kind = cache
            .kind
            .map_or("", |kind| kind_name(kind, &input.messages.working));
        let values: [(&str, &str); 4] = [
            ("kind", kind),
            ("behaviour", cache.behaviour.name(text)),
            ("size", &numbers.bytes(cache.bytes)),
            (
                "tokens",
                &kept_tokens(input, cache)
                    .map_or_else(String::new, |tokens| numbers.tokens(tokens)),
            ),
        ];
        let template = match cache.behaviour {
            Behaviour::Grows | Behaviour::Capped => &text.cache_of_tokens,
            Behaviour::Constant => &text.cache_of_state,
            Behaviour::Shared => &text.cache_shared,
            Behaviour::Nothing => &text.cache_nothing,
        };
        fill(template, &values)
    };
    let lines: Vec<String> = caches.into_iter().flatten().map(cache_line).collect();
    let lines = numbers.list(lines.iter().map(String::as_str));
    fill(
        &text.layer,
        &[("layer", &numbers.integer(idx)), ("caches", &lines)],
    )
}

impl Map {
    fn frame(&self, width: f64) -> Frame {
        let labels = self.axis.ticks.iter();
        let widths = labels.map(|(_, label)| text_width(label, FONT_SIZE, false));
        Frame {
            left: widths.fold(0.0, f64::max) + 8.0,
            top: TOP,
            right: width - 2.0,
            bottom: TOP + BARS,
        }
    }

    /// Labelled layers, at the middle of their cells, with room between them.
    fn ticks(&self, pixels: f64) -> Vec<(f64, String)> {
        let n = self.layers.len().max(1) as f64;
        let widest = self
            .ticks
            .last()
            .map_or(0.0, |(_, label)| text_width(label, FONT_SIZE, false));
        let least = (widest + 28.0) * n / pixels.max(1.0);
        let every = [1_usize, 2, 5, 10, 20, 50, 100, 200, 500];
        let every = every.into_iter().find(|step| least <= *step as f64);
        self.ticks
            .iter()
            .step_by(every.unwrap_or(1000))
            .map(|(idx, label)| (idx + 0.5, label.clone()))
            .collect()
    }
}

impl Draw for Map {
    fn height(&self, _: u32) -> u32 {
        // The legend has a row for each behaviour of the model, which nothing that is dragged changes.
        let rows = self.rows.len() as f64 * ROW_HEIGHT;
        (TOP + BARS + CELLS + 34.0 + rows).round() as u32
    }

    fn scale(&self, size: Size) -> Option<Scale> {
        let frame = self.frame(size.width.into());
        let n = self.layers.len() as u64;
        let half = (frame.right - frame.left) / n.max(1) as f64 / 2.0;
        (1 < n).then_some(Scale {
            left: frame.left + half,
            right: frame.right - half,
            last: n - 1,
        })
    }

    fn draw(&self, canvas: &Canvas) {
        let frame = self.frame(canvas.width());
        let n = self.layers.len().max(1) as f64;
        let x_axis = Axis {
            min: 0.0,
            max: n,
            ticks: Vec::new(),
        };
        let Some(mut plot) = canvas.plot(frame, &x_axis, &self.axis, Mesh::Lines) else {
            return;
        };
        let cell = (frame.right - frame.left) / n;
        // A hairline of paper between cells, unless that would eat them.
        let gap = if 4.0 < cell { 0.5 / cell } else { 0.0 };
        for (idx, caches) in self.layers.iter().enumerate() {
            let (from, to) = (idx as f64 + gap, (idx + 1) as f64 - gap);
            let mut below = 0.0;
            for cache in caches {
                let top = below + cache.bytes.0 as f64;
                if below < top {
                    plot.bar(cache.behaviour.pen(), (from, below), (to, top));
                }
                below = top;
            }
        }
        plot.baseline();
        let x = |at: f64| plot.at(at, 0.0).0;
        let (top, bottom) = (frame.bottom + 4.0, frame.bottom + 4.0 + CELLS);
        for (idx, caches) in self.layers.iter().enumerate() {
            let (from, to) = (x(idx as f64 + gap), x((idx + 1) as f64 - gap));
            let height = CELLS / caches.len().max(1) as f64;
            for (row, cache) in caches.iter().enumerate() {
                let y = top + height * row as f64;
                swatch(canvas, cache.behaviour, (from, y), (to, y + height));
            }
        }
        for (at, label) in self.ticks(frame.right - frame.left) {
            let at = x(at);
            // The last label gives way when it would leave the picture.
            if at + canvas.text_width(&label) / 2.0 <= canvas.width() {
                canvas.text(Ink::Dim, Anchor::Middle, (at, bottom + 15.0), &label);
            }
        }
        self.draw_rows(canvas, bottom + 38.0);
    }
}

/// The cell of a behaviour: filled when it keeps something of its own.
fn swatch(canvas: &Canvas, behaviour: Behaviour, from: (f64, f64), to: (f64, f64)) {
    let inset = match behaviour {
        Behaviour::Grows | Behaviour::Capped | Behaviour::Constant => 0.0,
        Behaviour::Shared | Behaviour::Nothing => 0.5,
    };
    let (from, to) = (
        (from.0 + inset, from.1 + inset),
        (to.0 - inset, to.1 - inset),
    );
    canvas.rect(behaviour.pen(), from, to);
}

impl Map {
    /// The behaviours one under the other: name, layers, bytes, share.
    fn draw_rows(&self, canvas: &Canvas, top: f64) {
        let width = canvas.width();
        let widest = |of: fn(&Row) -> &str| {
            let widths = self.rows.iter().map(|row| canvas.text_width(of(row)));
            widths.fold(0.0, f64::max)
        };
        let share = width;
        let size = share - widest(|row| &row.share) - 14.0;
        let count = size - widest(|row| &row.size) - 14.0;
        let name = count - widest(|row| &row.count) - 14.0 - 16.0;
        for (idx, row) in self.rows.iter().enumerate() {
            let y = top + ROW_HEIGHT * idx as f64;
            swatch(canvas, row.behaviour, (0.0, y - 10.0), (10.0, y));
            let name = fitted(&row.name, name, FONT_SIZE);
            canvas.text(Ink::Dim, Anchor::Start, (16.0, y), &name);
            canvas.text(Ink::Dim, Anchor::End, (count, y), &row.count);
            canvas.text(Ink::Ink, Anchor::End, (size, y), &row.size);
            canvas.text(Ink::Dim, Anchor::End, (share, y), &row.share);
        }
    }
}
