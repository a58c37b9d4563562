//! What was read from files, and what a log printed beside what is computed, until the reader dismisses it.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::{AnyView, IntoAny};

use crate::core::import::files::{FileRead, FilesRead};
use crate::view::comparison::{self, Row};
use crate::view::files_read;

use crate::app::cell::Derived;
use crate::app::el::{El, button, dynamic, el};
use crate::app::state::{State, state};

/// The panel.
pub(crate) fn read() -> El {
    let state = state();
    el("div").child(dynamic(move || match state.files.get() {
        None => ().into_any(),
        Some(read) => {
            let lines = files_read::lines(&read, state.text);
            let line = |line: files_read::Line| {
                el("li")
                    .class_with("bad", move || line.is_bad)
                    .text(&line.text)
                    .view()
            };
            let text = &state.text.files;
            el("section")
                .class("read")
                .testid("read")
                .attr("aria-label", &*text.read_title)
                .child(el("header").child(el("h2").text(&text.read_title)).child(
                    button(&text.dismiss, move || state.files.set(None)).testid("read-dismiss"),
                ))
                .child(el("ul").child(lines.into_iter().map(line).collect::<Vec<_>>().into_any()))
                .child(compared(state, read))
                .view()
        }
    }))
}

/// Printed against computed, as long as there is something printed. It follows the scenario, so that what a log does not say
/// can be tried; only the lengths of the request, which engines do not print, stay as they were.
fn compared(state: State, read: Arc<FilesRead>) -> AnyView {
    if read.facts.is_empty() {
        let is_log = |file: &FileRead| file.engine.is_some() && file.error.is_none();
        return match read.files.iter().any(is_log) {
            true => el("p").text(&state.text.files.comparison_none).view(),
            false => ().into_any(),
        };
    }
    let first = untrack(|| state.scenario());
    let setup = Derived::new(move || {
        let mut setup = (*state.scenario()).clone();
        setup.prompt_tokens = first.prompt_tokens;
        setup.thinking_tokens = first.thinking_tokens;
        setup.answer_tokens = first.answer_tokens;
        setup.num_seqs = first.num_seqs;
        Arc::new(setup)
    });
    let rows = Derived::new(move || Arc::new(read.compared(&setup.get())));
    let (text, messages) = (&state.text.files, state.text);
    let body = move || {
        let rows = comparison::rows(&rows.get(), messages);
        rows.into_iter().map(row).collect::<Vec<_>>().into_any()
    };
    let head = [
        &text.head_figure,
        &text.head_printed,
        &text.head_computed,
        &text.head_reason,
    ];
    let head = head.map(|title| el("th").attr("scope", "col").text(title));
    el("div")
        .testid("comparison")
        .child(el("h3").text(&text.comparison_title))
        .child(el("p").text_with(move || comparison::summary(&rows.get(), messages)))
        .child(el("p").text_with(move || {
            comparison::held(&state.report(), state.scenario().num_seqs, messages)
        }))
        .child(
            el("div")
                .class("scroll")
                .attr("tabindex", "0")
                .attr("role", "group")
                .attr("aria-label", &*text.comparison_title)
                .child(
                    el("table")
                        .child(el("thead").child(el("tr").children(head)))
                        .child(el("tbody").child(dynamic(body))),
                ),
        )
        .view()
}

fn row(row: Row) -> AnyView {
    el("tr")
        .class_with("bad", move || !row.agrees)
        .child(
            el("th")
                .attr("scope", "row")
                .child(el("span").text(&row.figure))
                .child(el("code").text(&row.line)),
        )
        .child(el("td").text(&row.printed))
        .child(el("td").text(&row.computed))
        .child(el("td").text(&row.reason))
        .view()
}
