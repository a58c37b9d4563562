//! The list of models.

use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::widgets::open_while;
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, ElRef, button, dynamic, el};
use crate::app::state::state;
use crate::view::fields;

/// The list of models: a dialog with a search field and a list, which arrow keys walk through.
pub(crate) fn models() -> El {
    let state = state();
    let text = &state.text.page;
    let dialog = ElRef::new();
    open_while(dialog, "models");
    let query = Cell::new(String::new());
    let active = Cell::new(0_usize);
    let found = Derived::whole(move || {
        // Only an open list is filled: presets are read when they are first listed.
        if state.dialog.get() == "models" {
            fields::find_models(&query.get())
        } else {
            Vec::new()
        }
    });
    // The list opens at the model that is shown.
    Effect::new(move |_| {
        if state.dialog.get() == "models" {
            query.set(String::new());
            let shown = untrack(|| state.value("model"));
            let found = fields::find_models("");
            let at = found.iter().position(|choice| choice.id == shown);
            active.set(at.unwrap_or(0));
        }
    });
    let choose = move |id: &str| {
        state.choose_model(id);
        state.dialog.set("");
    };
    let list_id = state.id("models");
    let option_id = move |idx: usize| state.id(&format!("model-{idx}"));
    Effect::new(move |_| {
        let (idx, is_open) = (active.get(), state.dialog.get() == "models");
        if is_open {
            browser::reveal_soon(option_id(idx));
        }
    });
    let on_key = move |event: KeyboardEvent| {
        let last = found.peek().len().saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" => active.set(last.min(active.peek() + 1)),
            "ArrowUp" => active.set(active.peek().saturating_sub(1)),
            "Enter" => {
                if let Some(id) = found.peek().get(active.peek()).map(|choice| choice.id) {
                    choose(id);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let search = el("input")
        .attr("type", "search")
        .attr("role", "combobox")
        .attr("autocomplete", "off")
        .attr("aria-expanded", "true")
        .attr("aria-controls", list_id.clone())
        .attr_with("aria-activedescendant", move || {
            if found.get().is_empty() {
                String::new()
            } else {
                option_id(active.get())
            }
        })
        .attr("aria-label", &*state.text.panels.pick_search)
        .attr("placeholder", &*state.text.panels.pick_search)
        .testid("model-search")
        .value_with(move || query.get())
        .on("input", move |event| {
            query.set(event_target_value(&event));
            active.set(0);
        })
        .on_cast("keydown", on_key);
    let lines = move || {
        let lines = found.get().into_iter().enumerate().map(|(idx, choice)| {
            let id = choice.id;
            el("li")
                .attr("role", "option")
                .attr("id", option_id(idx))
                .testid(format!("model-{id}"))
                .state_with("aria-selected", move || active.get() == idx)
                .on("click", move |_| choose(id))
                .child(el("b").text(&choice.name))
                .child(el("span").text(&choice.family))
        });
        el("ul")
            .attr("role", "listbox")
            .attr("id", list_id.clone())
            .attr("aria-label", &*state.text.panels.pick_title)
            .children(lines)
            .view()
    };
    el("dialog")
        .reference(dialog)
        .class("picker")
        .attr("aria-label", &*state.text.panels.pick_title)
        .on("close", move |_| {
            if state.dialog.peek() == "models" {
                state.dialog.set("");
            }
        })
        .child(search)
        .child(dynamic(lines))
        .child(
            el("p")
                .class("dim")
                .attr("role", "status")
                .text_with(move || {
                    if found.get().is_empty() {
                        state.text.panels.pick_none.to_string()
                    } else {
                        String::new()
                    }
                }),
        )
        .child(
            el("footer")
                .child(button(&text.import_button, move || {
                    state.dialog.set("import");
                }))
                .child(button(&text.close, move || state.dialog.set(""))),
        )
}
