//! A section of the page that is worked out while it can be seen, a moment after the last change: dragging costs nothing for
//! what is not there to see.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::IntoAny;

use super::near;
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, ElRef, dynamic, el};
use crate::app::state::{State, state};
use crate::core::report::Report;
use crate::core::scenario::Scenario;
use crate::core::settings::Settings;
use crate::view::fleet::setting;

/// What a section is about.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) scenario: Arc<Scenario>,
    pub(super) report: Arc<Report>,
    pub(super) settings: Arc<Settings>,
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        // The report follows from the scenario.
        self.scenario == other.scenario && self.settings == other.settings
    }
}

impl Subject {
    fn of(state: State) -> Self {
        Self {
            scenario: state.scenario(),
            report: state.report(),
            settings: Arc::new(state.settings().0),
        }
    }
}

/// Milliseconds without a change after which a section follows.
const SETTLED_MILLIS: i32 = 60;

/// A section with its title, one statement of what it shows, and its content, which gets what it is about.
pub(super) fn section(
    id: &'static str,
    title: &'static str,
    statement: &'static str,
    content: impl Fn(Cell<Subject>) -> El + Send + 'static,
) -> El {
    let state = state();
    let holder = ElRef::new();
    let is_near = Cell::new(false);
    let was_near = Cell::new(false);
    let subject = Cell::new(untrack(|| Subject::of(state)));
    let timer = StoredValue::new(None::<i32>);
    Effect::new(move |_| {
        if let Some(holder) = holder.get() {
            near::observe_nearness(&holder, move |near| {
                if near && !was_near.peek() {
                    subject.set(untrack(|| Subject::of(state)));
                    was_near.set(true);
                }
                is_near.set(near);
            });
        }
    });
    Effect::new(move |_| {
        if is_near.get() {
            let next = Subject::of(state);
            browser::debounce(timer, SETTLED_MILLIS, move || {
                // The page may have been removed meanwhile.
                if subject.try_peek().is_some() {
                    subject.set(next);
                }
            });
        }
    });
    let wrong = Derived::new(move || {
        let (_, errors) = state.settings();
        let errors = errors.iter().filter(|error| belongs(id, &error.key));
        let lines =
            errors.map(|error| format!("{}: {}", error.key, setting::error(error, state.text)));
        lines.collect::<Vec<_>>()
    });
    let notes = move || {
        let lines = wrong.get().into_iter();
        lines
            .map(|line| el("li").text(&line).view())
            .collect::<Vec<_>>()
            .into_any()
    };
    el("section")
        .class(format!("about about-{id}"))
        .testid(format!("section-{id}"))
        .reference(holder)
        .child(el("h2").text(title))
        .child(el("p").class("dim").text(statement))
        .child(
            el("ul")
                .class("notes")
                .flag_with("hidden", move || wrong.get().is_empty())
                .child(dynamic(notes)),
        )
        .child(dynamic(move || {
            if was_near.get() {
                content(subject).view()
            } else {
                ().into_any()
            }
        }))
}

/// A link to a document that lies beside the page; nothing where the page is served without it.
pub(super) fn document(address: &'static str, text: &'static str) -> El {
    let link = el("a")
        .attr("href", address)
        .attr("target", "_blank")
        .text(text);
    el("p")
        .flag_with("hidden", || !near::has_documents())
        .child(link)
}

/// Whether a section shows what is wrong with a setting. What belongs to none is named with the simulation.
fn belongs(section: &str, key: &str) -> bool {
    match crate::core::settings::group(key) {
        "speed" | "price" => section == "speed",
        "turns" => section == "turns",
        _ => section == "serve",
    }
}
