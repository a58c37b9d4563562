//! How it is computed.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::{AnyView, IntoAny};

use crate::view::{formula, notes};

use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, button, dynamic, el};
use crate::app::state::{State, state};

/// How it is computed: the formula with its numbers, the same as programs, and what was assumed.
pub(crate) fn working() -> El {
    let state = state();
    let text = &state.text.panels;
    let working = Derived::whole(move || {
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
        steps
            .map(|step| step_line(state, step))
            .collect::<Vec<_>>()
            .into_any()
    };
    let is_open = Cell::new(false);
    // A fact was asked how it comes about.
    Effect::new(move |_| {
        if state.dialog.get() == "working" {
            state.dialog.set("");
            is_open.set(true);
            browser::focus_soon(state.id(&format!("step-{}", state.detail.peek())));
        }
    });
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
                .flag_with("open", move || is_open.get())
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
fn step_line(state: State, step: &formula::Step) -> AnyView {
    let maths = step
        .math
        .iter()
        .cloned()
        .map(|math| el("span").html_with(move || math.clone()));
    el("p")
        .class("step")
        .attr("id", state.id(&format!("step-{}", step.id)))
        .attr("tabindex", "-1")
        .child(el("b").text(&step.label))
        .children(maths)
        .view()
}
