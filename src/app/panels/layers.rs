//! The layer map, with one layer at a time in words: under a pointer, or chosen by keys.

use leptos::prelude::*;
use leptos::tachys::view::any_view::IntoAny;
use web_sys::PointerEvent;

use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, dynamic, el};
use crate::app::figures::figure;
use crate::app::state::{State, state};
use crate::view::chart::{self, Input};
use crate::view::charts::layers;

/// The panel: on the page only where the layers differ, in an embed always.
pub(crate) fn map() -> El {
    let state = state();
    let is_shown = Derived::new(move || {
        state.options().embed.is_some() || with_input(state, layers::is_mixed)
    });
    el("div").child(dynamic(move || {
        if is_shown.get() {
            inspected(state).view()
        } else {
            ().into_any()
        }
    }))
}

fn with_input<T>(state: State, read: impl FnOnce(&Input<'_>) -> T) -> T {
    let (scenario, report, now) = (state.scenario(), state.report(), state.now());
    read(&Input {
        scenario: &scenario,
        report: &report,
        now: &now,
        step: state.step.get().unwrap_or(scenario.decode_steps()),
        pinned: &[],
        messages: state.text,
    })
}

fn inspected(state: State) -> El {
    let layer = Cell::new(0_u64);
    let last = Derived::new(move || {
        let layers = state.scenario().model.config.layers.len();
        layers.saturating_sub(1) as u64
    });
    let words = move || with_input(state, |input| layers::describe(input, layer.get()));
    let slider = el("input")
        .attr("type", "range")
        .attr("min", "0")
        .attr_with("max", move || last.get().to_string())
        .attr("aria-label", &*state.text.layers.choose)
        .attr_with("aria-valuetext", words)
        .testid("layer")
        .value_with(move || layer.get().to_string())
        .on("input", move |event| {
            layer.set(event_target_value(&event).parse().unwrap_or(0));
        });
    el("div")
        .class("layer-map")
        .on_cast("pointermove", move |event: PointerEvent| {
            // The picture is as wide as what stands around it.
            if let Some((x, width)) = browser::x_of_width(&event) {
                let scale = untrack(|| {
                    with_input(state, |input| {
                        let model = layers::model(input);
                        model.draw.scale(chart::size(&model, width))
                    })
                });
                if let Some(scale) = scale {
                    layer.set(scale.value_at(x));
                }
            }
        })
        .child(figure(layers::ID))
        .child(
            el("div")
                .class("scrub-row")
                .child(slider)
                .child(el("output").testid("layer-words").text_with(words)),
        )
}
