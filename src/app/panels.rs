//! Import, share, and how it is computed.

use super::cell::{Cell, Derived};
use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{DataTransfer, DragEvent, File, HtmlInputElement};

use crate::view::{formula, notes};

use super::browser;
use super::el::{El, button, dynamic, el};
use super::state::{State, state};
use super::widgets::modal;

/// The largest file whose text is read whole.
const MAX_TEXT_FILE: f64 = 16.0 * 1_048_576.0;

/// What the door for files knows.
#[derive(Clone, Copy)]
struct Door {
    state: State,
    pasted: Cell<String>,
    message: Cell<String>,
}

impl Door {
    /// Takes a text; one that is no model leaves the scenario and says what it is.
    fn take(self, content: &str, name: &str) {
        self.state
            .import_text(content, name, move |outcome| match outcome {
                Ok(()) => {
                    self.message.set(String::new());
                    self.pasted.set(String::new());
                    self.state.is_importing.set(false);
                }
                Err(error) => self.refuse(error),
            });
    }

    fn refuse(self, error: String) {
        self.message.set(error);
        self.state.is_importing.set(true);
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
                Err(_) => self.refuse(self.state.text.page.import_unreadable.to_string()),
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
    let text = &state.text.page;
    let door = Door {
        state,
        pasted: Cell::new(String::new()),
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
        let use_it = button(&text.import_use, move || door.take(&door.pasted.peek(), ""));
        el("div")
            .child(el("p").text(&text.import_help))
            .child(
                el("textarea")
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
    el("div").child(hint).child(modal(
        &text.import_title,
        state.is_importing,
        "import",
        content,
    ))
}

/// The link to the page as it is.
pub(crate) fn share() -> El {
    let state = state();
    let text = &state.text.page;
    let copied = Cell::new(None::<bool>);
    let address = move || {
        // Follows what the reader changes while the dialog is open.
        browser::address_with(&state.fragment())
    };
    let copy = move || {
        let address = untrack(address);
        spawn_local(async move { copied.set(Some(browser::copy(address).await)) });
    };
    let outcome = move || match copied.get() {
        Some(true) => text.copied.to_string(),
        Some(false) => text.copy_refused.to_string(),
        None => String::new(),
    };
    let content = move || {
        let link = el("textarea")
            .attr("rows", "6")
            .attr("readonly", "")
            .testid("share-link")
            .attr("aria-label", &*text.share_title)
            .value_with(address);
        el("div")
            .child(el("p").text(&text.share_help))
            .child(link)
            .child(
                el("p")
                    .class("message")
                    .attr("role", "status")
                    .text_with(outcome),
            )
            .child(
                el("footer").child(
                    button(&text.copy, copy)
                        .class("primary")
                        .testid("share-copy"),
                ),
            )
    };
    modal(&text.share_title, state.is_sharing, "share", content)
}

/// How it is computed: the formula with its numbers, the same as programs, and what was assumed.
pub(crate) fn working() -> El {
    let state = state();
    let text = &state.text.page;
    let working = Derived::new(move || {
        Arc::new(formula::working(
            &state.scenario(),
            &state.now(),
            state.text,
        ))
    });
    // The layers are the formula itself; the steps around them are there for who asks.
    let lines = move |is_main: bool| {
        let working = working.get();
        let steps = working
            .steps
            .iter()
            .filter(|step| (step.id == "layers" || step.id == "together") == is_main);
        steps.map(step_line).collect::<Vec<_>>().into_any()
    };
    let is_open = Cell::new(false);
    let all = move || {
        if is_open.get() {
            lines(false)
        } else {
            ().into_any()
        }
    };
    let language = Cell::new(0_usize);
    let snippet = move || {
        working
            .get()
            .snippets
            .get(language.get())
            .map(|snippet| snippet.code.clone())
            .unwrap_or_default()
    };
    let tabs = working
        .peek()
        .snippets
        .iter()
        .enumerate()
        .map(|(idx, snippet)| {
            button(snippet.language, move || language.set(idx))
                .state_with("aria-pressed", move || language.get() == idx)
        })
        .collect::<Vec<_>>();
    let assumptions = move || {
        let line = |assumption| {
            el("li")
                .text(&notes::assumption(assumption, state.text))
                .view()
        };
        state
            .report()
            .assumptions
            .iter()
            .map(line)
            .collect::<Vec<_>>()
            .into_any()
    };
    el("section")
        .class("working")
        .testid("working")
        .child(el("h2").text(&text.working_title))
        .child(
            el("div")
                .class("formula")
                .attr("tabindex", "0")
                .attr("role", "group")
                .attr("aria-label", &*text.working_title)
                .child(dynamic(move || lines(true))),
        )
        .child(
            el("details")
                .on("toggle", move |event| is_open.set(browser::is_open(&event)))
                .child(el("summary").text(&text.steps_title))
                .child(el("div").class("steps").child(dynamic(all))),
        )
        .child(
            el("details")
                .child(el("summary").text(&text.snippets_title))
                .child(
                    el("div")
                        .class("tabs")
                        .attr("role", "group")
                        .attr("aria-label", &*text.snippets_title)
                        .children(tabs),
                )
                .child(
                    el("pre")
                        .attr("tabindex", "0")
                        .child(el("code").text_with(snippet)),
                ),
        )
        .child(
            el("details")
                .child(el("summary").text(&text.assumptions_title))
                .child(el("ul").child(dynamic(assumptions))),
        )
}

/// One line of the working: what it works out, and the mathematics, which breaks between its parts.
fn step_line(step: &formula::Step) -> AnyView {
    let maths = step
        .math
        .iter()
        .cloned()
        .map(|math| el("span").html_with(move || math.clone()));
    el("p")
        .class("step")
        .child(el("b").text(&step.label))
        .children(maths)
        .view()
}
