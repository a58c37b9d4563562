//! Doors in the page's header to what stands behind the first view.

use leptos::prelude::event_target_value;

use super::near;
use crate::app::el::{El, button, el};
use crate::app::state::state;
use crate::view::text::LANGUAGES;

/// The languages by what their speakers call them.
fn language() -> El {
    let state = state();
    let options = LANGUAGES
        .iter()
        .map(|(id, name)| el("option").attr("value", *id).attr("lang", *id).text(name));
    el("select")
        .testid("language")
        .attr("aria-label", &*state.text.panels.language)
        .on("change", move |event| {
            let value = event_target_value(&event);
            if let Some((id, _)) = LANGUAGES.iter().find(|(id, _)| *id == value) {
                state.set_lang(id);
            }
        })
        .children(options)
        // After its choices, without which it has no value.
        .value_with(move || state.options().lang.to_owned())
}

/// The buttons.
pub(crate) fn nav() -> El {
    let state = state();
    let text = &state.text.panels;
    near::name_documents(&text.how_we_know);
    el("div")
        .class("nav")
        .child(
            button(&text.predict, move || state.dialog.set("predict"))
                .attr("aria-haspopup", "dialog")
                .testid("predict-open"),
        )
        .child(
            button(&text.concept, move || {
                near::go_and_stay(&state.id("concept"))
            })
            .testid("concept-open"),
        )
        .child(language())
}
