//! The scenario for others: as a link, as a part of a course page, as a file.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::embed::embed;
use super::widgets::modal;
use crate::app::browser;
use crate::app::cell::Cell;
use crate::app::el::{El, button, dynamic, el};
use crate::app::state::state;
use crate::core::report::Report;
use crate::core::scenario::Scenario;
use crate::view::export;
use crate::view::text::Messages;

/// The dialog.
pub(crate) fn share() -> El {
    let text = &state().text.panels;
    let content = || {
        let open = Cell::new(0_usize);
        let tab = |idx: usize, label: &str, id: &'static str| {
            button(label, move || open.set(idx))
                .state_with("aria-pressed", move || open.get() == idx)
                .testid(id)
        };
        let text = &state().text.panels;
        el("div")
            .child(
                el("div")
                    .class("tabs")
                    .attr("role", "group")
                    .attr("aria-label", &*text.share_title)
                    .child(tab(0, &text.share_link, "share-tab-link"))
                    .child(tab(1, &text.share_embed, "share-tab-embed"))
                    .child(tab(2, &text.share_files, "share-tab-files")),
            )
            .child(dynamic(move || match open.get() {
                0 => link().view(),
                1 => embed().view(),
                _ => files().view(),
            }))
    };
    modal(&text.share_title, "share", content)
}

/// A text to copy, with what became of copying it.
pub(crate) fn copyable(
    label: &str,
    id: &'static str,
    rows: &'static str,
    content: impl Fn() -> String + Clone + Send + 'static,
) -> El {
    let text = &state().text.panels;
    let copied = Cell::new(None::<bool>);
    let outcome = move || match copied.get() {
        Some(true) => text.copied.to_string(),
        Some(false) => text.copy_refused.to_string(),
        None => String::new(),
    };
    let source = content.clone();
    let copy = move || {
        let content = untrack(&source);
        spawn_local(async move { copied.set(Some(browser::copy(content).await)) });
    };
    el("div")
        .child(
            el("textarea")
                .attr("rows", rows)
                .attr("readonly", "")
                .testid(id)
                .attr("aria-label", label.to_owned())
                .value_with(content),
        )
        .child(
            el("p")
                .class("message")
                .attr("role", "status")
                .text_with(outcome),
        )
        .child(
            el("footer").child(
                button(&state().text.page.copy, copy)
                    .class("primary")
                    .testid(format!("{id}-copy")),
            ),
        )
}

/// The link to the page as it is.
fn link() -> El {
    let state = state();
    let text = &state.text.panels;
    // Follows what the reader changes while the dialog is open.
    let address = move || browser::address_with(&state.fragment());
    el("div")
        .child(el("p").text(&text.share_help))
        .child(copyable(&text.share_title, "share-link", "6", address))
}

/// What can be saved, beside the figures, which have their own downloads.
fn files() -> El {
    let state = state();
    let text = &state.text.panels;
    let working = move |of: fn(&Scenario, &Report, &Messages) -> String| {
        untrack(|| of(&state.scenario(), &state.report(), state.text))
    };
    let json = move || {
        let json = untrack(|| state.scenario().to_json());
        let json = serde_json::to_string_pretty(&json).unwrap_or_default();
        browser::download("kvscope.json", "application/json", &json);
    };
    let markdown =
        move || browser::download("kvscope.md", "text/markdown", &working(export::markdown));
    let latex =
        move || browser::download("kvscope.tex", "application/x-tex", &working(export::latex));
    let print = move || {
        state.dialog.set("");
        browser::print();
    };
    el("div").child(el("p").text(&text.files_help)).child(
        el("footer")
            .child(button(&text.files_json, json).testid("save-json"))
            .child(button(&text.files_markdown, markdown).testid("save-markdown"))
            .child(button(&text.files_latex, latex).testid("save-latex"))
            .child(button(&text.files_print, print).testid("print")),
    )
}
