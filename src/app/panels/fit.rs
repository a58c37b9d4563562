//! Will it fit: the verdict, what would help, and on what it fits.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::IntoAny;

use super::section::section;
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, button, dynamic, el};
use crate::app::state::state;
use crate::core::fit::fixes::{Fix, fixes};
use crate::core::fit::hardware::{fewest_gpus, fitting};
use crate::core::fit::verdict::Verdict;
use crate::view::fleet::fit as said;
use crate::view::text::fill;

use super::section::Subject;

/// Will it fit.
pub(super) fn fit() -> El {
    let text = &state().text.fleet;
    section("fit", &text.fit_title, &text.fit_help, content)
}

fn content(subject: Cell<Subject>) -> El {
    let state = state();
    let text = &state.text.fleet;
    let verdict = move || {
        let subject = subject.get();
        said::verdict(&subject.scenario, &subject.report, state.text)
    };
    let is_unknown = move || subject.get().report.fit.verdict == Verdict::Unknown;
    let fewest = move || {
        let hardware = fewest_gpus(&subject.get().scenario);
        said::fewest(hardware.as_ref(), state.text)
    };
    let found = Derived::whole(move || Arc::new(fixes(&subject.get().scenario)));
    let line = move |fix: &Fix| {
        let scenario = fix.scenario.clone();
        el("li")
            .child(
                button(&said::change(fix, state.text), move || {
                    state.replace(scenario.clone());
                })
                .testid("fix"),
            )
            .child(
                el("span")
                    .class("dim")
                    .text(&said::outcome(fix, state.text)),
            )
            .view()
    };
    let lines = move || found.get().iter().map(line).collect::<Vec<_>>().into_any();
    el("div")
        .child(el("p").testid("verdict").text_with(verdict))
        .child(
            el("div")
                .flag_with("hidden", move || found.get().is_empty())
                .child(el("h3").text(&text.fixes_title))
                .child(el("ul").class("fixes").child(dynamic(lines))),
        )
        .child(
            el("div")
                .flag_with("hidden", is_unknown)
                .child(el("p").class("dim").text_with(fewest))
                .child(accelerators(subject)),
        )
}

/// The accelerators on which it fits, with a button to take each.
fn accelerators(subject: Cell<Subject>) -> El {
    let state = state();
    let text = &state.text.fleet;
    let list = Derived::whole(move || Arc::new(fitting(&subject.get().scenario)));
    let table = move || said::table(&list.get(), state.text);
    let title = move || {
        let list = list.get();
        if list.is_empty() {
            return text.fitting_none.to_string();
        }
        let n = state.text.numbers().integer(list.len() as u64);
        fill(&text.fitting_title, &[("n", &n)])
    };
    let is_open = Cell::new(false);
    let rows = move || {
        if !is_open.get() {
            return ().into_any();
        }
        let (list, table) = (list.get(), table());
        let head = table
            .head
            .iter()
            .map(|name| el("th").attr("scope", "col").text(name));
        let rows = table.rows.iter().zip(list.iter()).map(|(cells, hardware)| {
            let hardware = *hardware;
            let take = button(&text.fitting_use, move || {
                let changed = hardware.scenario(&subject.peek().scenario);
                state.replace(changed);
            })
            .attr(
                "aria-label",
                format!("{} {}", text.fitting_use, hardware.gpu.name),
            );
            let cells = cells.iter().enumerate().map(|(idx, cell)| {
                let tag = if idx == 0 { "th" } else { "td" };
                el(tag).text(cell.text())
            });
            el("tr")
                .children(cells.collect::<Vec<_>>())
                .child(el("td").child(take))
        });
        el("table")
            .child(el("thead").child(el("tr").children(head).child(el("td"))))
            .child(el("tbody").children(rows))
            .view()
    };
    let save = move || {
        browser::download("kvscope-fit.csv", "text/csv", &untrack(table).csv());
    };
    el("details")
        .class("data")
        .testid("accelerators")
        .on("toggle", move |event| is_open.set(browser::is_open(&event)))
        .child(el("summary").text_with(title))
        .child(
            el("div")
                .class("scroll")
                .attr("tabindex", "0")
                .attr("role", "group")
                .attr("aria-label", &*text.fit_title)
                .child(dynamic(rows)),
        )
        .child(
            el("p")
                .class("downloads")
                .child(button(&state.text.panels.download_csv, save)),
        )
}
