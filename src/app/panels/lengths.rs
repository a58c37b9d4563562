//! The requests to start from: how long prompts, thinking and answers are of what was measured or published.

use leptos::prelude::untrack;

use crate::core::lengths::{self, Lengths};
use crate::core::scenario::Scenario;
use crate::view;

use super::widgets::modal;
use crate::app::el::{El, button, el};
use crate::app::state::{State, state};

/// The fields that a request sets.
const FIELDS: [&str; 3] = ["prompt_tokens", "thinking_tokens", "answer_tokens"];

/// The button above the controls, which says which of them the scenario is.
pub(crate) fn lengths() -> El {
    let state = state();
    let label = move || {
        let scenario = state.scenario();
        let found = lengths::all().iter().find(|one| one.is_of(&scenario));
        let name = found.map(|one| view::lengths::name(one, state.text));
        name.unwrap_or(&state.text.panels.group_lengths).to_owned()
    };
    el("button")
        .attr("type", "button")
        .class("choose")
        .testid("lengths-open")
        .attr("aria-haspopup", "dialog")
        .attr("title", &*state.text.panels.group_lengths)
        .flag_with("disabled", move || {
            let options = state.options();
            FIELDS.iter().any(|field| options.is_locked(field))
        })
        .on("click", move |_| state.dialog.set("lengths"))
        .text_with(label)
}

/// The list.
pub(crate) fn lengths_dialog() -> El {
    let state = state();
    modal(&state.text.panels.group_lengths, "lengths", move || {
        let lines = lengths::all().iter().map(|one| line(state, one));
        el("ul").class("lengths").children(lines)
    })
}

fn line(state: State, one: &'static Lengths) -> El {
    let choose = move || {
        let mut scenario = Scenario::clone(&untrack(|| state.scenario()));
        one.apply(&mut scenario);
        state.replace(scenario);
        state.dialog.set("");
    };
    let numbers = state.text.numbers();
    let tokens = [one.prompt_tokens, one.thinking_tokens, one.answer_tokens]
        .map(|tokens| numbers.integer(tokens))
        .join(" + ");
    el("li")
        .child(
            button(view::lengths::name(one, state.text), choose)
                .testid(format!("lengths-{}", one.id)),
        )
        .child(el("span").text(&tokens))
        .child(
            el("p")
                .class("dim")
                .text(&view::lengths::note(one, state.text))
                .child(
                    el("a")
                        .attr("href", one.url)
                        .attr("target", "_blank")
                        .attr("rel", "noopener")
                        .text(one.source),
                ),
        )
}
