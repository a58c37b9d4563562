//! A number: a slider and a field bound to the same value.

use std::sync::Arc;

use crate::app::browser;
use crate::app::cell::Cell;
use leptos::prelude::*;
use web_sys::{ClipboardEvent, KeyboardEvent};

use crate::app::el::{El, button, el};
use crate::app::state::{State, state};
use crate::core::scenario::{FieldError, cut};
use crate::view::{fields, notes, slider};

/// A text that is being typed, or that could not be read.
#[derive(Clone, PartialEq)]
struct Typed {
    text: String,
    error: Option<FieldError>,
    /// The field's value at the time: when it changes by another control, the typed text is obsolete.
    value: String,
}

/// What the controls of a field show.
#[derive(PartialEq)]
struct View {
    /// The value as the page writes it.
    shown: String,
    /// What is typed, or else that.
    text: String,
    /// What is wrong with what is typed.
    message: String,
    /// The value as a number.
    number: u64,
    /// Where its slider stands.
    position: u32,
    is_default: bool,
    is_locked: bool,
}

/// What a text field needs: what it shows, and what to do with what is typed. What cannot be read stays as typed, with
/// its error, until it is mended or the value changes elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Draft {
    key: &'static str,
    state: State,
    typed: Cell<Option<Typed>>,
    view: Cell<Arc<View>>,
    /// The value when the field got the focus.
    before: Cell<String>,
    /// The newest step: the value it led to, the one it came from, and its size.
    step: Cell<Option<(String, String, i32)>>,
}

impl Draft {
    pub(crate) fn new(key: &'static str) -> Self {
        let (state, typed) = (state(), Cell::new(None));
        Self {
            key,
            state,
            typed,
            view: Cell::following(move || Arc::new(view(key, state, typed.get()))),
            before: Cell::new(String::new()),
            step: Cell::new(None),
        }
    }

    fn value(self) -> String {
        self.state.value(self.key)
    }

    /// What the field shows.
    pub(crate) fn text(self) -> String {
        self.view.get().text.clone()
    }

    /// The value as a number.
    pub(crate) fn number(self) -> u64 {
        self.view.get().number
    }

    /// Begins the typing: what a field stands for that says `auto` makes room for what is typed.
    fn begin(self) {
        let value = untrack(|| self.value());
        if value == "auto" && self.typed.peek().is_none() {
            self.typed.set(Some(Typed {
                text: String::new(),
                error: None,
                value: value.clone(),
            }));
        }
        self.before.set(value);
    }

    /// Takes back what was typed and stepped since the field got the focus; `false` when that is nothing.
    fn restore(self) -> bool {
        let before = self.before.peek();
        let is_typed = self
            .typed
            .peek()
            .is_some_and(|typed| !typed.text.is_empty());
        let is_changed = is_typed || before != untrack(|| self.value());
        if is_changed {
            self.set(&before);
        }
        is_changed
    }

    /// Takes what is typed as it is typed.
    pub(crate) fn input(self, text: String) {
        let error = self
            .state
            .set(self.key, &fields::typed(self.key, &text))
            .err()
            .map(|error| FieldError {
                given: cut(text.trim(), 60),
                ..error
            });
        if error.is_some() {
            // What could be read of it on the way was not meant.
            let _taken = self.state.set(self.key, &self.before.peek());
        }
        self.typed.set(Some(Typed {
            text,
            error,
            value: untrack(|| self.value()),
        }));
    }

    /// Ends the typing: a text that was read is shown as the page writes it.
    pub(crate) fn done(self) {
        if self.typed.peek().is_some_and(|typed| typed.error.is_none()) {
            self.typed.set(None);
        }
    }

    /// Moves the value by steps.
    pub(crate) fn step(self, steps: i32) {
        let value = untrack(|| self.value());
        // Steps lead to round numbers; the step back leads to where the one before it began.
        let to = match self.step.peek() {
            Some((at, from, done)) if at == value && done == -steps => from,
            _ => untrack(|| {
                fields::stepped(
                    self.key,
                    &self.state.scenario(),
                    &self.state.report(),
                    steps,
                )
            }),
        };
        self.set(&to);
        self.step.set(Some((to, value, steps)));
    }

    /// Sets the value to one that a control offers.
    pub(crate) fn set(self, canonical: &str) {
        self.typed.set(None);
        // Controls offer what the field's bounds allow, so nothing can be refused.
        let _taken = self.state.set(self.key, canonical);
    }

    /// The message under the field.
    pub(crate) fn message(self) -> String {
        self.view.get().message.clone()
    }

    /// Whether the field cannot be changed.
    pub(crate) fn is_locked(self) -> bool {
        self.view.get().is_locked
    }

    /// A text field with all of this.
    pub(crate) fn input_el(self) -> El {
        el("input")
            .attr("type", "text")
            .attr("autocomplete", "off")
            .attr("spellcheck", "false")
            .attr_with("placeholder", move || self.view.get().shown.clone())
            .state_with("aria-invalid", move || !self.view.get().message.is_empty())
            .value_with(move || self.text())
            .flag_with("disabled", move || self.is_locked())
            .on("input", move |event| self.input(event_target_value(&event)))
            .on("focus", move |_| self.begin())
            .on_cast("paste", move |event: ClipboardEvent| {
                // The browser would join the lines, and two numbers would be one.
                if let Some(text) =
                    browser::pasted(&event).filter(|text| text.trim().contains('\n'))
                {
                    event.prevent_default();
                    self.input(text.trim().replace('\n', "⏎"));
                }
            })
            .on_cast("keydown", move |event: KeyboardEvent| {
                if event.key() == "Escape" && self.restore() {
                    event.stop_propagation();
                }
            })
            .on("change", move |_| self.done())
            .on("blur", move |_| self.done())
    }

    /// The same, where arrow keys up and down move the value.
    pub(crate) fn number_el(self) -> El {
        self.input_el().attr("inputmode", "numeric").on_cast(
            "keydown",
            move |event: KeyboardEvent| {
                if !matches!(event.key().as_str(), "ArrowLeft" | "ArrowRight") {
                    self.move_by(&event);
                }
            },
        )
    }

    /// Moves the value when the key is one that does.
    pub(crate) fn move_by(self, event: &KeyboardEvent) {
        if let Some(steps) = steps_of(event) {
            event.prevent_default();
            self.step(steps);
        }
    }
}

fn view(key: &str, state: State, typed: Option<Typed>) -> View {
    let (scenario, report) = (state.scenario(), state.report());
    let shown = fields::shown(state.text, key, &scenario, &report);
    let typed = typed.filter(|typed| typed.value == state.value(key));
    let error = typed.as_ref().and_then(|typed| typed.error.as_ref());
    View {
        message: error
            .map(|error| notes::field_error(error, state.text))
            .unwrap_or_default(),
        text: typed.map_or_else(|| shown.clone(), |typed| typed.text),
        shown,
        number: fields::value_of(key, &scenario, &report),
        position: fields::position(key, &scenario, &report),
        is_default: fields::is_default(key, &scenario),
        is_locked: state.options().is_locked(key),
    }
}

/// The steps of a key, where it is one that moves a value.
pub(crate) fn steps_of(event: &KeyboardEvent) -> Option<i32> {
    match event.key().as_str() {
        "ArrowUp" | "ArrowRight" => Some(1),
        "ArrowDown" | "ArrowLeft" => Some(-1),
        "PageUp" => Some(10),
        "PageDown" => Some(-10),
        _ => None,
    }
}

/// A slider of [`slider::POSITIONS`] positions.
pub(crate) fn slider_el(key: &'static str, label: String) -> El {
    el("input")
        .attr("type", "range")
        .attr("min", "0")
        .attr("max", slider::POSITIONS.to_string())
        .testid(format!("slider-{key}"))
        .attr("aria-label", label)
}

/// A label, a slider, a field and a reset.
pub(crate) fn number_row(key: &'static str) -> El {
    let (state, draft) = (state(), Draft::new(key));
    let label = fields::label(state.text, key);
    let id = state.id(key);
    let slider = slider_el(key, format!("{label}, {}", fields::unit(state.text, key)))
        .attr_with("aria-valuetext", move || draft.text())
        .value_with(move || draft.view.get().position.to_string())
        .flag_with("disabled", move || draft.is_locked())
        .on("input", move |event| {
            draft.set(&fields::at_position(
                key,
                event_target_value(&event).parse().unwrap_or(0),
            ));
        })
        .on_cast("keydown", move |event: KeyboardEvent| draft.move_by(&event));
    let field = id.clone();
    let reset = move || {
        draft.set(&fields::default_text(key));
        // The button has nothing left to do, and would lose the focus to nowhere.
        browser::focus_soon(field.clone());
    };
    let reset = button("↺", reset)
        .class("reset")
        .attr("aria-label", format!("{} {label}", state.text.page.reset))
        .flag_with("disabled", move || {
            let view = draft.view.get();
            view.is_locked || view.is_default
        });
    let row = el("div")
        .class(format!("row {}", fields::phase_class(key)))
        .attr("title", fields::range_hint(state.text, key))
        .child(el("label").attr("for", id.clone()).text(label))
        .child(slider)
        .child(
            draft
                .number_el()
                .attr("id", id.clone())
                .testid(format!("field-{key}"))
                .attr("aria-describedby", format!("{id}-message")),
        )
        .child(reset);
    el("div").child(row).child(message(draft, &id))
}

/// A label and a text field without a slider.
pub(crate) fn text_row(key: &'static str) -> El {
    let (state, draft) = (state(), Draft::new(key));
    let id = state.id(key);
    let row = el("div")
        .class("row wide")
        .child(
            el("label")
                .attr("for", id.clone())
                .text(fields::label(state.text, key)),
        )
        .child(
            draft
                .input_el()
                .attr("id", id.clone())
                .testid(format!("field-{key}"))
                .attr("aria-describedby", format!("{id}-message")),
        );
    el("div").child(row).child(message(draft, &id))
}

/// What is wrong with a field's text.
fn message(draft: Draft, id: &str) -> El {
    el("p")
        .class("message")
        .attr("id", format!("{id}-message"))
        .attr("role", "status")
        .text_with(move || draft.message())
}
