//! A choice from a list, and a switch.

use crate::app::cell::Cell;
use leptos::prelude::*;

use crate::app::el::{El, dynamic, el};
use crate::app::state::state;

use crate::view::fields;

/// A label and a menu.
pub(crate) fn select_row(key: &'static str) -> El {
    let state = state();
    let id = state.id(key);
    el("div")
        .class("row wide")
        .child(
            el("label")
                .attr("for", id.clone())
                .text(fields::label(state.text, key)),
        )
        .child(menu(key, id))
}

/// The menu of a choice, without its label.
pub(crate) fn menu(key: &'static str, id: String) -> El {
    let state = state();
    let current = Cell::following(move || state.value(key));
    // The lines change only when the value is none of them, which a link can bring about.
    let options = move || {
        let current = current.get();
        let choices = fields::choices(state.text, key, &current);
        let lines = choices.into_iter().map(|choice| {
            let is_chosen = choice.id == current;
            let line = el("option").attr("value", choice.id).text(&choice.label);
            if is_chosen {
                line.attr("selected", "")
            } else {
                line
            }
        });
        el("optgroup")
            .attr("label", fields::label(state.text, key))
            .children(lines)
            .view()
    };
    el("select")
        .attr("id", id)
        .testid(format!("select-{key}"))
        .flag_with("disabled", move || state.options().is_locked(key))
        .on("change", move |event| {
            // Menus hold values that the field knows, so nothing can be refused.
            let _taken = state.set(key, &event_target_value(&event));
        })
        .child(dynamic(options))
        .value_with(move || current.get())
}

/// A label and a check box.
pub(crate) fn flag_row(key: &'static str) -> El {
    let state = state();
    let is_on = move || state.value(key) == "true";
    let check = el("input")
        .attr("type", "checkbox")
        .testid(format!("flag-{key}"))
        .checked_with(is_on)
        .flag_with("disabled", move || state.options().is_locked(key))
        .on("change", move |event| {
            let _taken = state.set(
                key,
                if event_target_checked(&event) {
                    "true"
                } else {
                    "false"
                },
            );
        });
    el("div").class("row wide").child(
        el("label")
            .child(check)
            .text(fields::label(state.text, key)),
    )
}
