//! The figures of the first view, each with what belongs to it alone.

use leptos::prelude::*;
use leptos::tachys::view::any_view::IntoAny;
use web_sys::PointerEvent;

#[cfg(feature = "page")]
use crate::core::scenario::EngineKind;
use crate::view::chart;
use crate::view::chart::ChartModel;
use crate::view::charts::{self, Chart};
use crate::view::scrub;
use crate::view::text::fill;

use super::browser;
use super::cell::{Cell, Derived};
use super::el::{El, button, dynamic, el};
use super::figure::frame;
use super::film::Film;
use super::options::MAX_PINS;
use super::state::{Pin, state};

/// One figure; an id that is none gives an empty one, which no link can ask for.
pub(crate) fn figure(id: &'static str) -> El {
    let Some(chart) = charts::get(id) else {
        return el("figure");
    };
    let state = state();
    let model = move || state.chart(chart);
    let decorate = move |picture: El, width: Cell<u32>| {
        if id == charts::growth::ID {
            scrubber(picture, move |x| step_at(&model(), width.get(), x))
        } else {
            picture
        }
    };
    let more = match id {
        charts::hbm::ID => engine_lines(),
        charts::sweep::ID => pins(),
        _ => el("div"),
    };
    frame(id, "h2", model, decorate, more, move || data(chart))
}

/// The table of a figure and its downloads, which come behind the first view.
#[cfg(feature = "page")]
fn data(chart: &'static Chart) -> El {
    super::rooms::panel(format!("data-{}", chart.id))
}

/// The same where they are at hand.
#[cfg(not(feature = "page"))]
fn data(chart: &'static Chart) -> El {
    let state = state();
    super::panels::data::data(chart.id, move || state.chart(chart))
}

/// What the chosen engine will print, which comes behind the first view; an embed of exact bytes does not ask for it.
#[cfg(feature = "page")]
fn engine_lines() -> El {
    let state = state();
    let is_engine = Derived::new(move || state.scenario().engine.kind != EngineKind::Exact);
    el("div").child(dynamic(move || {
        if is_engine.get() {
            super::rooms::panel("engine").view()
        } else {
            ().into_any()
        }
    }))
}

/// The same where it is at hand.
#[cfg(not(feature = "page"))]
fn engine_lines() -> El {
    super::panels::engine::engine()
}

/// Scenarios pinned for comparison.
fn pins() -> El {
    let state = state();
    let chips = move || {
        let pins = state.pins();
        let chip = |(idx, (name, _)): (usize, &Pin)| {
            let label = fill(&state.text.page.unpin, &[("name", name)]);
            button(&format!("{name} ✕"), move || state.unpin(idx))
                .attr("aria-label", label)
                .view()
        };
        pins.iter()
            .enumerate()
            .map(chip)
            .collect::<Vec<_>>()
            .into_any()
    };
    el("p")
        .class("pins")
        .child(
            button(&state.text.page.pin, move || state.pin())
                .testid("pin")
                .flag_with("disabled", move || MAX_PINS <= state.options().pins.len()),
        )
        .child(dynamic(chips))
}

/// The decode step under a pointer.
fn step_at(model: &ChartModel, width: u32, x: f64) -> u64 {
    let scale = model.draw.scale(chart::size(model, width));
    scale.map_or(0, |scale| scale.value_at(x))
}

/// The growth picture with its line that drags, its slider for the keyboard, and play.
fn scrubber(picture: El, step_at: impl Fn(f64) -> u64 + Copy + 'static) -> El {
    let state = state();
    let text = state.text;
    let is_dragging = Cell::new(false);
    let is_playing = Cell::new(false);
    let last = Derived::new(move || state.scenario().decode_steps());
    let at = move || state.step.get().unwrap_or(last.get());
    let go = move |step: u64| state.step.set((step < last.peek()).then_some(step));
    let drag_to = move |event: &PointerEvent| {
        let x = browser::x_within(event);
        go(untrack(|| step_at(x)));
    };
    let drag = el("div")
        .class("scrub")
        .on_cast("pointerdown", move |event: PointerEvent| {
            if event.button() == 0 {
                browser::capture_pointer(&event);
                is_playing.set(false);
                is_dragging.set(true);
                drag_to(&event);
            }
        })
        .on_cast("pointermove", move |event: PointerEvent| {
            if is_dragging.peek() {
                drag_to(&event);
            }
        })
        .on("pointerup", move |_| is_dragging.set(false))
        .on("pointercancel", move |_| is_dragging.set(false))
        .child(picture);
    let film = Film {
        ids: ["play", "scrub"],
        is_playing,
        last,
        at,
        go,
        step_at: scrub::step_at,
        seconds_at: scrub::seconds_at,
    };
    let label = move || scrub::label(state.text, at(), last.get());
    el("div")
        .child(drag)
        .child(film.row(&text.page, text.page.scrub_label.to_string(), label))
}
