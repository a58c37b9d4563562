//! How a fact follows.

use leptos::prelude::*;

use crate::app::el::{El, button, el};
use crate::app::state::state;
use crate::view::facts;

/// The sentence, and the way to the step of the formula that computes it.
pub(crate) fn fact(id: &str) -> El {
    let state = state();
    let id = facts::IDS.iter().copied().find(|known| *known == id);
    let text = move || {
        let (scenario, report) = (state.scenario(), state.report());
        id.and_then(|id| facts::working(id, &scenario, &report, state.text))
            .unwrap_or_default()
            + " "
    };
    let step = move || {
        let options = state.options();
        let parts = options.embed.as_ref();
        id.filter(|_| parts.is_none_or(|parts| parts.contains(&"working")))
            .and_then(facts::step_of)
    };
    let see = button(&state.text.panels.fact_formula, move || {
        if let Some(step) = untrack(step) {
            state.detail.set(step.to_owned());
            state.dialog.set("working");
        }
    })
    .testid("fact-formula")
    .flag_with("hidden", move || step().is_none());
    el("p").class("fact-working").text_with(text).child(see)
}
