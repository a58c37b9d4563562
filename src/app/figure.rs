//! The frame of a figure: title, one sentence that is true of the picture, the picture, its data.

use leptos::prelude::*;
use leptos::tachys::view::any_view::IntoAny;

use crate::view::chart::{self, ChartModel};

use super::browser;
use super::cell::{Cell, run};
use super::el::{El, ElRef, dynamic, el};
use super::state::state;

/// A figure with a title of this rank. `decorate` gets the picture and the width that it has, `more` stands under the
/// sentence, and `data` is what opens under it.
pub(crate) fn frame(
    id: &'static str,
    rank: &'static str,
    model: impl Fn() -> ChartModel + Copy + Send + Sync + 'static,
    decorate: impl FnOnce(El, Cell<u32>) -> El,
    more: El,
    data: impl Fn() -> El + Send + 'static,
) -> El {
    let state = state();
    let holder = ElRef::new();
    let width = Cell::new(0_u32);
    Effect::new(move |_| {
        if let Some(holder) = holder.get() {
            browser::observe_width(&holder, move |new| width.set(new as u32));
        }
    });
    // The words and the picture follow from one model, and each is set when it is another.
    let parts = [(); 4].map(|()| Cell::new(String::new()));
    run(Box::new(move || {
        let model = model();
        let width = width.get();
        let svg = if width == 0 {
            String::new()
        } else {
            chart::svg(&model, chart::size(&model, width), state.id_prefix)
        };
        let summary = model.summary.replace(" %", "\u{a0}%");
        for (part, text) in parts
            .iter()
            .zip([model.title, model.subtitle, summary, svg])
        {
            part.set(text);
        }
    }));
    let [title, subtitle, summary, svg] = parts;
    let is_open = Cell::new(false);
    let picture = el("div").class("markup").html_with(move || svg.get());
    let picture = decorate(picture, width);
    el("figure")
        .testid(format!("figure-{id}"))
        .class(format!("figure figure-{id}"))
        .child(
            el("figcaption")
                .child(
                    el(rank)
                        .attr("id", chart::title_id(state.id_prefix, id))
                        .text_with(move || title.get()),
                )
                .child(el("small").text_with(move || subtitle.get())),
        )
        .child(el("div").class("picture").reference(holder).child(picture))
        .child(
            el("p")
                .class("summary")
                .attr("id", chart::summary_id(state.id_prefix, id))
                .text_with(move || summary.get()),
        )
        .child(more)
        .child(
            el("details")
                .class("data")
                .on("toggle", move |event| is_open.set(browser::is_open(&event)))
                .child(el("summary").text(&state.text.page.table_button))
                .child(dynamic(move || {
                    if is_open.get() {
                        data().view()
                    } else {
                        ().into_any()
                    }
                })),
        )
}
