//! Controls of settings: a number with its slider, a menu.

use std::sync::Arc;

use leptos::prelude::*;
use web_sys::KeyboardEvent;

use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, button, dynamic, el};
use crate::app::state::{State, state};
use crate::core::settings::{self, Kind, Setting, Settings};
use crate::core::units::Bounds;
use crate::view::fleet::setting as said;
use crate::view::slider;

/// A text that is being typed: the text, what is wrong with it, and the value at the time.
#[derive(Clone, PartialEq)]
struct Typed {
    text: String,
    error: String,
    value: String,
}

/// The settings as they are, for a group of controls.
#[derive(Clone, Copy)]
pub(super) struct Controls {
    state: State,
    settings: Derived<Arc<Settings>>,
}

impl Controls {
    pub(super) fn new() -> Self {
        let state = state();
        Self {
            state,
            settings: Derived::new(move || Arc::new(state.settings().0)),
        }
    }

    /// The settings, followed.
    pub(super) fn settings(self) -> Arc<Settings> {
        self.settings.get()
    }

    /// Changes the settings.
    pub(super) fn change(self, edit: impl FnOnce(&mut Settings)) {
        let mut changed = Settings::clone(&untrack(|| self.settings.get()));
        edit(&mut changed);
        self.state.set_settings(&changed);
    }

    fn text(self, setting: &Setting) -> String {
        setting.text(&self.settings.get())
    }

    /// Sets a setting from text; gives what is wrong with it.
    fn set(self, setting: &Setting, text: &str) -> String {
        let mut changed = Settings::clone(&untrack(|| self.settings.get()));
        match setting.set(&mut changed, text) {
            Ok(()) => {
                self.state.set_settings(&changed);
                String::new()
            }
            Err(error) => said::error(&error, self.state.text),
        }
    }

    /// A label, a slider where the number has one, a field, and a reset. `auto` says what an absent value stands for.
    pub(super) fn number(
        self,
        key: &'static str,
        auto: impl Fn() -> String + Copy + Send + 'static,
    ) -> El {
        let Some(setting) = settings::get(key) else {
            return el("div");
        };
        let text = &self.state.text.fleet;
        let label = text.setting(key);
        let id = self.state.id(&key.replace('.', "-"));
        let typed = Cell::new(None::<Typed>);
        let current = move || {
            typed
                .get()
                .filter(|typed| typed.value == self.text(setting))
        };
        let is_optional = matches!(setting.kind, Kind::Optional(_) | Kind::OptionalDecimal(..));
        let shown = move || match current() {
            Some(typed) => typed.text,
            None => {
                let text = self.text(setting);
                if is_optional && text == "auto" {
                    String::new()
                } else {
                    text
                }
            }
        };
        let input = move |text: String| {
            let error = self.set(setting, &text);
            let value = untrack(|| self.text(setting));
            typed.set(Some(Typed { text, error, value }));
        };
        let choose = move |text: String| {
            typed.set(None);
            // Controls offer what the bounds allow, so nothing can be refused.
            let _taken = self.set(setting, &text);
        };
        let done = move || {
            if typed.peek().is_some_and(|typed| typed.error.is_empty()) {
                typed.set(None);
            }
        };
        let bounds = said::bounds(setting);
        let message = move || current().map(|typed| typed.error).unwrap_or_default();
        let step = move |event: &KeyboardEvent| {
            let steps = match event.key().as_str() {
                "ArrowUp" => 1,
                "ArrowDown" => -1,
                "PageUp" => 10,
                "PageDown" => -10,
                _ => return,
            };
            if let Some(bounds) = bounds {
                event.prevent_default();
                let value = untrack(|| self.text(setting)).parse().unwrap_or(bounds.min);
                choose(slider::stepped(bounds, value, steps).to_string());
            }
        };
        let field = el("input")
            .attr("type", "text")
            .attr("inputmode", "decimal")
            .attr("autocomplete", "off")
            .attr("id", id.clone())
            .testid(format!("setting-{key}"))
            .attr("aria-describedby", format!("{id}-message"))
            .attr_with("placeholder", auto)
            .state_with("aria-invalid", move || !message().is_empty())
            .value_with(shown)
            .on("input", move |event| input(event_target_value(&event)))
            .on("change", move |_| done())
            .on_cast("keydown", move |event: KeyboardEvent| step(&event));
        let reset = button("↺", move || choose(setting.default_text()))
            .class("reset")
            .attr(
                "aria-label",
                format!("{} {label}", self.state.text.page.reset),
            )
            .flag_with("disabled", move || {
                self.text(setting) == setting.default_text()
            });
        let row = el("div")
            .class(if bounds.is_some() { "row" } else { "row plain" })
            .child(el("label").attr("for", id.clone()).text(label));
        let row = match bounds {
            Some(bounds) => row.child(self.slider(setting, bounds, auto, choose)),
            None => row,
        };
        el("div").child(row.child(field).child(reset)).child(
            el("p")
                .class("message")
                .attr("id", format!("{id}-message"))
                .attr("role", "status")
                .text_with(message),
        )
    }

    fn slider(
        self,
        setting: &'static Setting,
        bounds: Bounds,
        auto: impl Fn() -> String + Copy + Send + 'static,
        choose: impl Fn(String) + 'static,
    ) -> El {
        el("input")
            .attr("type", "range")
            .attr("min", "0")
            .attr("max", slider::POSITIONS.to_string())
            .attr("aria-label", self.state.text.fleet.setting(setting.key))
            .attr_with("aria-valuetext", move || self.text(setting))
            .value_with(move || said::position(bounds, &self.text(setting), &auto()).to_string())
            .on("input", move |event| {
                let position = event_target_value(&event).parse().unwrap_or(0);
                choose(slider::value_at(bounds, position).to_string());
            })
    }

    /// A label and a menu of values with their names, in groups; a group without a name stands by itself.
    pub(super) fn menu(
        self,
        key: &'static str,
        groups: Vec<(String, Vec<(String, String)>)>,
    ) -> El {
        let Some(setting) = settings::get(key) else {
            return el("div");
        };
        let id = self.state.id(&key.replace('.', "-"));
        let current = Derived::new(move || self.text(setting));
        let options = move || {
            let current = current.get();
            let line = |(value, name): &(String, String)| {
                let option = el("option").attr("value", value.clone()).text(name);
                if *value == current {
                    option.attr("selected", "")
                } else {
                    option
                }
            };
            let group = |(name, lines): &(String, Vec<(String, String)>)| {
                el("optgroup")
                    .attr("label", name.clone())
                    .children(lines.iter().map(line).collect::<Vec<_>>())
                    .view()
            };
            IntoAny::into_any(groups.iter().map(group).collect::<Vec<_>>())
        };
        el("div")
            .class("row wide")
            .child(
                el("label")
                    .attr("for", id.clone())
                    .text(self.state.text.fleet.setting(key)),
            )
            .child(
                el("select")
                    .attr("id", id)
                    .testid(format!("setting-{key}"))
                    .on("change", move |event| {
                        let _taken = self.set(setting, &event_target_value(&event));
                    })
                    .child(dynamic(options))
                    .value_with(move || current.get()),
            )
    }
}
