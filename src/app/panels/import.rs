//! The door for files: paste, drop or pick, several at once, whatever they are.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsValue;
use web_sys::HtmlInputElement;

use crate::core::import::files::{FilesRead, join_files};
use crate::view::files_read;

use super::widgets::modal;
use crate::app::cell::Cell;
use crate::app::el::{El, ElRef, button, el};
use crate::app::state::State;
use crate::app::{browser, files};

/// What the door for files knows.
#[derive(Clone, Copy)]
pub(crate) struct Door {
    state: State,
    pasted: Cell<String>,
    /// The name that the reader gives the model; empty: the file's own.
    name: Cell<String>,
    message: Cell<String>,
}

impl Door {
    /// The door of a mount.
    pub(crate) fn new(state: State) -> Self {
        Self {
            state,
            pasted: Cell::new(String::new()),
            name: Cell::new(String::new()),
            message: Cell::new(String::new()),
        }
    }

    /// The same door with the words of another language.
    pub(crate) fn speaking(self, state: State) -> Self {
        Self { state, ..self }
    }

    /// Takes files or texts; when none can be read, it says what they are and leaves the scenario.
    pub(crate) fn take(self, sources: Vec<JsValue>) {
        if sources.is_empty() {
            return;
        }
        self.message.set(self.state.text.files.reading.to_string());
        spawn_local(async move {
            // A name is that of one model, and shards are told by their own.
            let typed = self.name.peek();
            let name = Some(typed.trim()).filter(|_| sources.len() == 1);
            let mut readers = Vec::new();
            for source in &sources {
                readers.push(files::read(source, name.unwrap_or_default()).await);
            }
            let base = untrack(|| self.state.scenario());
            self.show(join_files(readers, &base));
        });
    }

    fn show(self, read: FilesRead) {
        let Some(scenario) = read.scenario.clone() else {
            return self.refuse(files_read::refusal(&read, self.state.text));
        };
        self.message.set(String::new());
        self.pasted.set(String::new());
        self.name.set(String::new());
        self.state.dialog.set("");
        self.state.files.set(Some(Arc::new(read)));
        self.state.replace(scenario);
    }

    fn refuse(self, error: String) {
        self.message.set(error);
        self.state.dialog.set("import");
    }

    fn take_text(self, text: &str) {
        if text.trim().is_empty() {
            self.refuse(self.state.text.files.empty.to_string());
        } else {
            self.take(vec![JsValue::from_str(text)]);
        }
    }
}

/// The door for files.
pub(crate) fn import(door: Door) -> El {
    let text = &door.state.text.files;
    let is_over = Cell::new(false);
    // The whole page is the drop target, so that nobody has to aim.
    browser::on_window("dragover", move |_| is_over.set(true));
    browser::on_window("dragleave", move |_| is_over.set(false));
    browser::on_window("drop", move |_| is_over.set(false));
    let hint = el("div")
        .class("drop-hint")
        .attr("aria-hidden", "true")
        .flag_with("hidden", move || !is_over.get())
        .text(&text.drop);
    el("div")
        .child(hint)
        .child(modal(&text.title, "import", move || dialog(door)))
}

fn dialog(door: Door) -> El {
    let text = &door.state.text.files;
    let picker = el("input")
        .attr("type", "file")
        .attr("multiple", "")
        .testid("import-file")
        .on("change", move |event| {
            let picked: HtmlInputElement = event_target(&event);
            if let Some(list) = picked.files() {
                door.take(js_sys::Array::from(&list).to_vec());
            }
            // So that picking the same file again is a change again.
            picked.set_value("");
        });
    let paste = ElRef::new();
    // The dialog opens with its first button in focus.
    browser::each_frame(move |_| {
        browser::focus(paste.get_untracked());
        false
    });
    let name = el("input")
        .class("name")
        .attr("type", "text")
        .attr("autocomplete", "off")
        .testid("import-name")
        .attr("aria-label", &*text.name)
        .attr("placeholder", &*text.name)
        .value_with(move || door.name.get())
        .on("input", move |event| {
            door.name.set(event_target_value(&event))
        });
    let pasted = el("textarea")
        .reference(paste)
        .attr("rows", "8")
        .attr("spellcheck", "false")
        .testid("import-text")
        .attr("aria-label", &*text.paste)
        .attr("placeholder", &*text.paste)
        .value_with(move || door.pasted.get())
        .on("input", move |event| {
            door.pasted.set(event_target_value(&event))
        });
    let use_it = button(&text.use_it, move || door.take_text(&door.pasted.peek()));
    el("div")
        .child(el("p").text(&text.help))
        .child(el("p").class("dim").text(&text.help_kinds))
        .child(pasted)
        .child(name)
        .child(
            el("p")
                .class("message")
                .attr("role", "alert")
                .testid("import-message")
                .text_with(move || door.message.get()),
        )
        .child(
            el("footer")
                .child(el("label").class("button").text(&text.pick).child(picker))
                .child(use_it.class("primary").testid("import-use")),
        )
}
