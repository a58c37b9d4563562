//! What the chosen engine will print.

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::app::browser;
use crate::app::el::{El, button, el};
use crate::app::state::state;

/// Its lines, where it prints any.
pub(crate) fn engine() -> El {
    let state = state();
    let lines = move || state.report().engine.log_lines.join("\n");
    let copy = move || {
        let lines = untrack(lines);
        spawn_local(async move {
            // The lines can be selected where the browser refuses.
            let _copied = browser::copy(lines).await;
        });
    };
    el("div")
        .class("engine")
        .testid("engine-lines")
        .flag_with("hidden", move || lines().is_empty())
        .child(
            el("p")
                .child(el("b").text(&state.text.panels.engine_says))
                .child(button(&state.text.page.copy, copy)),
        )
        .child(el("pre").attr("tabindex", "0").text_with(lines))
}
