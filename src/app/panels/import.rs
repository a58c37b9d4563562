//! The door for files: paste, drop or pick.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{DataTransfer, DragEvent, File, HtmlInputElement};

use crate::core::scenario::ModelChoice;
use crate::view::notes;

use super::widgets::modal;
use crate::app::browser;
use crate::app::cell::Cell;
use crate::app::el::{El, ElRef, button, el};
use crate::app::state::{State, state};

/// The largest file whose text is read whole.
const MAX_TEXT_FILE: f64 = 16.0 * 1_048_576.0;

/// What the door for files knows.
#[derive(Clone, Copy)]
struct Door {
    state: State,
    pasted: Cell<String>,
    /// The name that the reader gives the model; empty: the file's own.
    name: Cell<String>,
    message: Cell<String>,
}

impl Door {
    /// Takes a text; one that is no model leaves the scenario and says what it is.
    fn take(self, content: &str, file_name: &str) {
        if content.trim().is_empty() {
            return self.refuse(self.state.text.panels.import_empty.to_string());
        }
        let typed = self.name.peek();
        let of_file = Some(file_name.trim_end_matches(".json"))
            .filter(|name| !name.starts_with("config"))
            .unwrap_or_default();
        let name = Some(typed.trim())
            .filter(|name| !name.is_empty())
            .unwrap_or(of_file);
        match ModelChoice::from_text(content, name) {
            Ok(model) => {
                self.message.set(String::new());
                self.pasted.set(String::new());
                self.name.set(String::new());
                self.state.dialog.set("");
                self.state.take_file_model(model);
            }
            Err(error) => self.refuse(error),
        }
    }

    fn refuse(self, error: String) {
        self.message.set(error);
        self.state.dialog.set("import");
    }

    fn take_file(self, file: File) {
        if MAX_TEXT_FILE < file.size() {
            self.refuse(notes::file_too_large(
                &file.name(),
                file.size(),
                self.state.text,
            ));
            return;
        }
        spawn_local(async move {
            let name = file.name();
            match browser::read_text(file).await {
                Ok(content) => self.take(&content, &name),
                Err(_) => self.refuse(self.state.text.panels.import_unreadable.to_string()),
            }
        });
    }

    fn take_drop(self, transfer: &DataTransfer) {
        if let Some(file) = transfer.files().and_then(|files| files.get(0)) {
            self.take_file(file);
        } else if let Ok(content) = transfer.get_data("text/plain")
            && !content.is_empty()
        {
            self.take(&content, "");
        }
    }
}

/// The door for files: paste, drop or pick.
pub(crate) fn import() -> El {
    let state = state();
    let text = &state.text.panels;
    let door = Door {
        state,
        pasted: Cell::new(String::new()),
        name: Cell::new(String::new()),
        message: Cell::new(String::new()),
    };
    let is_over = Cell::new(false);
    // The whole page is the drop target, so that nobody has to aim.
    browser::on_window("dragover", move |event| {
        event.prevent_default();
        is_over.set(true);
    });
    browser::on_window("dragleave", move |_| is_over.set(false));
    browser::on_window("drop", move |event| {
        event.prevent_default();
        is_over.set(false);
        if let Some(transfer) = event
            .dyn_into::<DragEvent>()
            .ok()
            .and_then(|event| event.data_transfer())
        {
            door.take_drop(&transfer);
        }
    });
    let hint = el("div")
        .class("drop-hint")
        .attr("aria-hidden", "true")
        .flag_with("hidden", move || !is_over.get())
        .text(&text.import_drop);
    let content = move || {
        let picker = el("input")
            .attr("type", "file")
            .attr("accept", ".json,.txt,application/json,text/plain")
            .testid("import-file")
            .on("change", move |event| {
                let picked: HtmlInputElement = event_target(&event);
                if let Some(file) = picked.files().and_then(|files| files.get(0)) {
                    door.take_file(file);
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
        let use_it = button(&text.import_use, move || door.take(&door.pasted.peek(), ""));
        el("div")
            .child(el("p").text(&text.import_help))
            .child(
                el("textarea")
                    .reference(paste)
                    .attr("rows", "8")
                    .attr("spellcheck", "false")
                    .testid("import-text")
                    .attr("aria-label", &*text.import_paste)
                    .attr("placeholder", &*text.import_paste)
                    .value_with(move || door.pasted.get())
                    .on("input", move |event| {
                        door.pasted.set(event_target_value(&event))
                    }),
            )
            .child(
                el("input")
                    .class("name")
                    .attr("type", "text")
                    .attr("autocomplete", "off")
                    .testid("import-name")
                    .attr("aria-label", &*text.import_name)
                    .attr("placeholder", &*text.import_name)
                    .value_with(move || door.name.get())
                    .on("input", move |event| {
                        door.name.set(event_target_value(&event))
                    }),
            )
            .child(
                el("p")
                    .class("message")
                    .attr("role", "alert")
                    .testid("import-message")
                    .text_with(move || door.message.get()),
            )
            .child(
                el("footer")
                    .child(
                        el("label")
                            .class("button")
                            .text(&text.import_pick)
                            .child(picker),
                    )
                    .child(use_it.class("primary").testid("import-use")),
            )
    };
    el("div")
        .child(hint)
        .child(modal(&text.import_title, "import", content))
}
