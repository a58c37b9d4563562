//! The model: its name, the list to choose from, and its dimensions where one number of each describes it.

use crate::app::cell::{Cell, Derived};
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::app::ask::{Question, Refusal};
use crate::app::el::{El, ElRef, button, dynamic, el, list};
use crate::app::state::state;
use crate::app::widgets::open_while;
use crate::view::{fields, model_edit, slider};

use super::number::{slider_el, steps_of};

/// The button that opens the list, and sliders for the dimensions of a uniform model.
pub(crate) fn model_controls() -> El {
    let state = state();
    let choose = el("button")
        .attr("type", "button")
        .class("choose")
        .testid("select-model")
        .attr("aria-haspopup", "dialog")
        .flag_with("disabled", move || state.options().is_locked("model"))
        .on("click", move |_| state.is_picking.set(true))
        .text_with(move || model_edit::summary(state.text, &state.scenario()));
    let dims = move || {
        model_edit::dims(&state.scenario())
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    };
    el("div")
        .child(choose)
        .child(list(dims, |key| dim_row(key).view()))
}

/// One dimension. Moving it makes the model one of the reader's own.
fn dim_row(key: &'static str) -> El {
    let state = state();
    let label = fields::label(state.text, key);
    let id = state.id(key);
    // What is typed and cannot be read, with its message.
    let typed = Cell::new(None::<(String, String)>);
    let value = move || model_edit::dim(&state.scenario(), key);
    let shown = move || match typed.get() {
        Some((text, _)) => text,
        None => state.text.numbers().integer(value()),
    };
    let bounds = model_edit::bounds(key);
    let is_locked = move || state.options().is_locked("model");
    let set = move |text: String| {
        let edit = untrack(|| model_edit::edit(state.text, &state.scenario(), key, &text));
        let edit = match edit {
            Ok(edit) => edit,
            Err(message) => return typed.set(Some((text, message))),
        };
        // Shown until the answer is there.
        typed.set(Some((text.clone(), String::new())));
        state.ask(Question::Edit(edit), move |answer| match answer {
            Ok(model) => {
                typed.set(None);
                state.take_model(model);
            }
            Err(Refusal::Overtaken) => typed.set(None),
            Err(refusal) => typed.set(Some((text, refusal.message()))),
        });
    };
    let step = move |event: &KeyboardEvent| {
        if let Some(steps) = steps_of(event) {
            event.prevent_default();
            set(slider::stepped(bounds, untrack(value), steps).to_string());
        }
    };
    let slider = slider_el(key, format!("{label}, {}", fields::unit(state.text, key)))
        .attr_with("aria-valuetext", shown)
        .value_with(move || slider::position(bounds, value()).to_string())
        .flag_with("disabled", is_locked)
        .on("input", move |event| {
            let position = event_target_value(&event).parse().unwrap_or(0);
            set(slider::value_at(bounds, position).to_string());
        })
        .on_cast("keydown", move |event: KeyboardEvent| step(&event));
    let field = el("input")
        .attr("type", "text")
        .attr("inputmode", "numeric")
        .attr("autocomplete", "off")
        .attr("id", id.clone())
        .testid(format!("field-{key}"))
        .attr("aria-describedby", format!("{id}-message"))
        .state_with("aria-invalid", move || {
            typed.get().is_some_and(|(_, message)| !message.is_empty())
        })
        .value_with(shown)
        .flag_with("disabled", is_locked)
        .on("change", move |event| set(event_target_value(&event)))
        .on_cast("keydown", move |event: KeyboardEvent| {
            if !matches!(event.key().as_str(), "ArrowLeft" | "ArrowRight") {
                step(&event);
            }
        });
    let row = el("div")
        .class("row p-none")
        .attr("title", model_edit::range_hint(state.text, key))
        .child(el("label").attr("for", id.clone()).text(label))
        .child(slider)
        .child(field)
        .child(el("span"));
    let message = el("p")
        .class("message")
        .attr("id", format!("{id}-message"))
        .attr("role", "status")
        .text_with(move || typed.get().map(|(_, message)| message).unwrap_or_default());
    el("div").child(row).child(message)
}

/// The list of models: a dialog with a search field and a list, which arrow keys walk through.
pub(crate) fn model_picker() -> El {
    let state = state();
    let text = &state.text.page;
    let dialog = ElRef::new();
    open_while(dialog, state.is_picking);
    let query = Cell::new(String::new());
    let active = Cell::new(0_usize);
    let found = Derived::new(move || {
        // Only an open list is filled: presets are read when they are first listed.
        if state.is_picking.get() {
            fields::find_models(&query.get())
        } else {
            Vec::new()
        }
    });
    let choose = move |id: &str| {
        state.choose_model(id);
        state.is_picking.set(false);
    };
    let list_id = state.id("models");
    let option_id = move |idx: usize| state.id(&format!("model-{idx}"));
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
        .attr_with("aria-activedescendant", move || option_id(active.get()))
        .attr("aria-label", &*text.pick_search)
        .attr("placeholder", &*text.pick_search)
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
            .attr("aria-label", &*text.pick_title)
            .children(lines)
            .view()
    };
    el("dialog")
        .reference(dialog)
        .class("picker")
        .attr("aria-label", &*text.pick_title)
        .on("close", move |_| state.is_picking.set(false))
        .child(search)
        .child(dynamic(lines))
        .child(
            el("p")
                .class("dim")
                .attr("role", "status")
                .text_with(move || {
                    if found.get().is_empty() {
                        text.pick_none.to_string()
                    } else {
                        String::new()
                    }
                }),
        )
        .child(
            el("footer")
                .child(button(&text.import_button, move || {
                    state.is_picking.set(false);
                    state.is_importing.set(true);
                }))
                .child(button(&text.close, move || state.is_picking.set(false))),
        )
}
