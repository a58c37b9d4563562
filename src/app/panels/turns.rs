//! After the answer: what the next prompt finds, under three policies.

use std::sync::Arc;

use super::controls::Controls;
use super::figure::figure;
use super::section::{Subject, section};
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, el};
use crate::app::state::state;
use crate::view::charts;
use crate::view::fleet::turns as said;

/// After the answer.
pub(super) fn turns() -> El {
    let text = &state().text.fleet;
    section("turns", &text.turns_title, &text.turns_help, content)
}

fn content(subject: Cell<Subject>) -> El {
    let state = state();
    let text = &state.text.fleet;
    let controls = Controls::new();
    let input = Derived::whole(move || {
        let subject = subject.get();
        Arc::new(said::input(&subject.scenario, &subject.settings.plan))
    });
    let model = move || charts::turns::model(&input.get(), state.text);
    let facts = move || {
        let subject = subject.get();
        said::facts(&subject.scenario, &input.get(), state.text)
    };
    let keys = [
        "turns.num_turns",
        "turns.follow_up_tokens",
        "turns.tool_calls",
        "turns.call_tokens",
        "turns.result_tokens",
    ];
    let is_open = Cell::new(false);
    let templates = move || {
        if is_open.get() {
            said::templates_table(state.text).html(&text.templates_title)
        } else {
            String::new()
        }
    };
    el("div")
        .class("beside")
        .child(
            el("div")
                .class("settings")
                .children(keys.map(|key| controls.number(key, String::new))),
        )
        .child(
            el("div")
                .child(figure(
                    charts::turns::ID,
                    model,
                    el("p")
                        .class("summary")
                        .testid("turns-facts")
                        .text_with(facts),
                ))
                .child(
                    el("details")
                        .class("data")
                        .on("toggle", move |event| is_open.set(browser::is_open(&event)))
                        .child(el("summary").text(&text.templates_title))
                        .child(el("p").class("dim").text(&text.templates_note))
                        .child(
                            el("div")
                                .class("scroll")
                                .attr("tabindex", "0")
                                .attr("role", "group")
                                .attr("aria-label", &*text.templates_title)
                                .html_with(templates),
                        ),
                ),
        )
}
