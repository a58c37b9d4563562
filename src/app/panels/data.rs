//! What a figure is made of, as a table and as files.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::view::chart::{self, ChartModel};
use crate::view::svg::Theme as Colors;

use crate::app::browser;
use crate::app::cell::Cell;
use crate::app::el::{El, ElRef, button, el};
use crate::app::options::Theme;
use crate::app::state::state;

/// The data of a figure and its downloads.
pub(crate) fn data(
    id: &'static str,
    model: impl Fn() -> ChartModel + Copy + Send + Sync + 'static,
) -> El {
    let state = state();
    let text = &state.text.panels;
    let holder = ElRef::new();
    let width = Cell::new(0_u32);
    Effect::new(move |_| {
        if let Some(holder) = holder.get() {
            browser::observe_width(&holder, move |new| width.set(new as u32));
        }
    });
    let file_name = move |extension: &str| format!("kvscope-{id}.{extension}");
    let drawing = move || {
        untrack(|| {
            let is_dark = match state.options().theme {
                Theme::Auto => browser::prefers_dark(),
                Theme::Light => false,
                Theme::Dark => true,
            };
            let colors = if is_dark { Colors::Dark } else { Colors::Light };
            chart::svg_file(&model(), width.get(), colors)
        })
    };
    let save_svg = move || browser::download(&file_name("svg"), "image/svg+xml", &drawing().0);
    let save_csv =
        move || browser::download(&file_name("csv"), "text/csv", &untrack(model).table.csv());
    let save_png = move || {
        let (content, size) = drawing();
        spawn_local(async move {
            // A browser that cannot draw the picture leaves the reader with the SVG.
            let _saved =
                browser::download_png(file_name("png"), content, size.width, size.height).await;
        });
    };
    let table = move || {
        let model = model();
        model.table.html(&model.title)
    };
    el("div")
        .reference(holder)
        .child(
            el("div")
                .class("scroll")
                .attr("tabindex", "0")
                .attr("role", "group")
                .attr("aria-label", &*state.text.page.table_button)
                .html_with(table),
        )
        .child(
            el("p")
                .class("downloads")
                .child(button(&text.download_svg, save_svg))
                .child(button(&text.download_png, save_png))
                .child(button(&text.download_csv, save_csv)),
        )
}
