//! The model: its name, and its dimensions where one number of each describes it.

use crate::app::browser;
use crate::app::cell::Cell;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::app::ask::{Question, Refusal};
use crate::app::el::{El, el, list};
use crate::app::rooms;
use crate::app::state::state;
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
        .attr_with("title", move || state.scenario().model.config.name.clone())
        .on("click", move |_| rooms::open(state, "models", ""))
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

/// Milliseconds without a key after which a dimension that is typed is taken, as a model has to be read for it.
const TYPED_MILLIS: i32 = 300;

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
    let timer = StoredValue::new(None::<i32>);
    // What is typed stays as it is typed until the field is left.
    let set = move |text: String, is_typing: bool| {
        let edit = untrack(|| model_edit::edit(state.text, &state.scenario(), key, &text));
        let edit = match edit {
            Ok(edit) => edit,
            Err(message) => return typed.set(Some((text, message))),
        };
        // Shown until the answer is there.
        typed.set(Some((text.clone(), String::new())));
        state.ask(Question::Edit(edit), move |answer| match answer {
            Ok(model) => {
                typed.set(is_typing.then(|| (text, String::new())));
                state.take_model(model);
            }
            Err(Refusal::Overtaken) => typed.set(None),
            Err(refusal) => typed.set(Some((text, refusal.message()))),
        });
    };
    let step = move |event: &KeyboardEvent| {
        if let Some(steps) = steps_of(event) {
            event.prevent_default();
            set(
                slider::stepped(bounds, untrack(value), steps).to_string(),
                false,
            );
        }
    };
    let slider = slider_el(key, format!("{label}, {}", fields::unit(state.text, key)))
        .attr_with("aria-valuetext", shown)
        .value_with(move || slider::position(bounds, value()).to_string())
        .flag_with("disabled", is_locked)
        .on("input", move |event| {
            let position = event_target_value(&event).parse().unwrap_or(0);
            set(slider::value_at(bounds, position).to_string(), false);
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
        .on("input", move |event| {
            let text = event_target_value(&event);
            typed.set(Some((text.clone(), String::new())));
            browser::debounce(timer, TYPED_MILLIS, move || set(text, true));
        })
        .on("change", move |event| {
            let text = event_target_value(&event);
            browser::debounce(timer, 0, move || set(text, false));
        })
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
