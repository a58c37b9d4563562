//! The page: header, sentence, facts, controls, figures, working; or the parts of it that an embed shows.

use std::sync::Arc;

use super::cell::{Cell, Derived, run};
use leptos::prelude::*;
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use web_sys::KeyboardEvent;

use crate::view::text::{direction, fill};
use crate::view::{facts, notes};

use super::browser;
use super::controls::sentence::{lede, short};
use super::controls::{controls, row};
use super::el::{El, ElRef, button, dynamic, el, list};
use super::figures::figure;
use super::options::Theme;
use super::rooms;
use super::state::{State, state};

/// Everything inside the mount's element.
pub(crate) fn page(state: State) -> AnyView {
    provide_context(state);
    let is_embed = Derived::new(move || state.options().embed.is_some());
    el("div")
        .class_with("kvscope", || true)
        .class_with("embed", move || is_embed.get())
        .attr_with("data-theme", move || state.options().theme.id().to_owned())
        .attr("lang", &*state.text.lang)
        .attr("dir", direction(&state.text.lang))
        .child(dynamic(move || {
            if is_embed.get() {
                embed().view()
            } else {
                whole().view()
            }
        }))
        .child(rooms::dialogs(state))
        .view()
}

/// The whole page.
fn whole() -> El {
    let state = state();
    let text = &state.text.page;
    let is_sheet_open = Cell::new(false);
    let (sheet, opener) = (ElRef::new(), ElRef::new());
    let close_sheet = move |event: KeyboardEvent| {
        if event.key() == "Escape" && is_sheet_open.peek() {
            is_sheet_open.set(false);
            browser::focus(opener.get_untracked());
        }
    };
    let panel = el("div")
        .reference(sheet)
        .attr("tabindex", "-1")
        .on_cast("keydown", close_sheet)
        .class_with("panel", || true)
        .class_with("open", move || is_sheet_open.get())
        .child(controls());
    let figures = el("div")
        .class("figures")
        .child(note_list())
        .child(figure("tokens"))
        .child(
            el("div")
                .class("pair")
                .child(figure("hbm"))
                .child(figure("growth")),
        )
        .child(rooms::panel("layers"))
        .child(figure("sweep"))
        .child(rooms::panel("working"));
    let toggle = el("button")
        .attr("type", "button")
        .class("sheet-toggle")
        .testid("controls-toggle")
        .state_with("aria-expanded", move || is_sheet_open.get())
        .reference(opener)
        .on_cast("keydown", close_sheet)
        .on("click", move |_| {
            is_sheet_open.set(!is_sheet_open.peek());
            if is_sheet_open.peek() {
                // The sheet is shown by the class that was just set.
                browser::each_frame(move |_| {
                    browser::focus(sheet.get_untracked());
                    false
                });
            }
        })
        .text_with(move || {
            if is_sheet_open.get() {
                text.controls_hide.to_string()
            } else {
                text.controls_show.to_string()
            }
        });
    el("div")
        .child(header())
        .child(short())
        .child(
            el("main")
                .child(heading())
                .child(lede())
                .child(fact_row())
                .child(rooms::panel("read"))
                .child(el("div").class("columns").child(panel).child(figures))
                .children(["fit", "speed", "turns", "serve", "concept"].map(rooms::panel)),
        )
        .child(toggle)
}

/// What the document is, for who hears it.
fn heading() -> El {
    el("h1").class("hidden").text("KVscope")
}

/// Chosen parts, with chosen controls above them.
fn embed() -> El {
    let state = state();
    let parts = move || state.options().embed.clone().unwrap_or_default();
    let controls = move || state.options().controls.clone().unwrap_or_default();
    let form = el("form")
        .class("controls")
        .flag_with("hidden", move || controls().is_empty())
        .on("submit", |event| event.prevent_default())
        .child(list(controls, |key| row(key).view()));
    let part = |part| match part {
        "sentence" => lede().view(),
        "facts" => fact_row().view(),
        "tokens" | "hbm" | "growth" | "sweep" => figure(part).view(),
        _ => rooms::panel(part).view(),
    };
    el("main")
        .child(heading())
        .child(form)
        .child(note_list())
        .child(list(parts, part))
}

/// The name, what it is, and the doors.
fn header() -> El {
    let state = state();
    let text = &state.text.page;
    let theme_label = move || match state.options().theme {
        Theme::Auto => text.theme_auto.to_string(),
        Theme::Light => text.theme_light.to_string(),
        Theme::Dark => text.theme_dark.to_string(),
    };
    let next_theme = move || state.next_theme();
    let doors = el("nav")
        .attr("aria-label", &*text.doors)
        .child(rooms::panel("nav"))
        .child(
            button(&text.import_button, move || {
                rooms::open(state, "import", "")
            })
            .testid("import-open"),
        )
        .child(
            button(&text.share_button, move || rooms::open(state, "share", ""))
                .testid("share-open"),
        )
        .child(
            button("◐", next_theme)
                .testid("theme")
                .attr_with("aria-label", theme_label)
                .attr_with("title", theme_label),
        );
    el("header")
        .class("top")
        .child(el("b").text("KVscope"))
        .child(el("span").text(&text.tagline))
        .child(doors)
}

/// The facts; each opens its working.
fn fact_row() -> El {
    let state = state();
    let all = Derived::whole(move || {
        Arc::new(facts::facts(&state.scenario(), &state.report(), state.text))
    });
    let ids = move || all.get().iter().map(|fact| fact.id).collect();
    let open = Cell::new(None::<&'static str>);
    let fact = move |id: &'static str| {
        let [label, value] = [(); 2].map(|()| Cell::new(String::new()));
        let is_bad = Cell::new(false);
        run(Box::new(move || {
            if let Some(fact) = all.get().iter().find(|fact| fact.id == id) {
                label.set(fact.label.clone());
                value.set(fact.value.clone());
                is_bad.set(fact.is_bad);
            }
        }));
        el("button")
            .attr("type", "button")
            .class_with("fact", || true)
            .class_with("bad", move || is_bad.get())
            .state_with("aria-expanded", move || open.get() == Some(id))
            .attr("aria-controls", state.id("fact"))
            .testid(format!("fact-{id}"))
            .on("click", move |_| {
                open.set((open.peek() != Some(id)).then_some(id))
            })
            .child(el("span").text_with(move || label.get()))
            .child(el("b").text_with(move || value.get()))
            .view()
    };
    let shown = el("div")
        .attr("id", state.id("fact"))
        .attr("role", "status")
        .child(list(
            move || open.get().into_iter().collect(),
            |id| rooms::panel(format!("fact-{id}")).view(),
        ));
    el("div")
        .child(el("div").class("facts").child(list(ids, fact)))
        .child(shown)
}

/// Unreadable values that are named one by one.
const MAX_ERRORS: usize = 6;

/// What the reader must know: values that were not read, and warnings.
fn note_list() -> El {
    let state = state();
    let lines = Derived::new(move || {
        let errors = state.errors.get();
        let errors = errors
            .iter()
            .map(|error| notes::field_error(error, state.text));
        let report = state.report();
        let reading = state
            .is_reading
            .get()
            .then(|| state.text.page.reading.to_string());
        // A link full of errors is not a page full of them.
        let surplus = errors.len().saturating_sub(MAX_ERRORS);
        let more = (0 < surplus).then(|| {
            let count = state.text.numbers().integer(surplus as u64);
            fill(&state.text.page.more_notes, &[("count", &count)])
        });
        // "Does not fit" would answer what is asked.
        let is_quiz = state.options().embed.as_deref() == Some(&["predict"]);
        let warnings = report.warnings.iter().filter(|_| !is_quiz);
        errors
            .take(MAX_ERRORS)
            .chain(more)
            .chain(reading)
            .chain(warnings.map(|warning| notes::warning(warning, state.text)))
            .collect::<Vec<_>>()
    });
    el("ul")
        .class("notes")
        .testid("notes")
        .flag_with("hidden", move || lines.get().is_empty())
        .child(dynamic(move || {
            let lines = lines
                .get()
                .into_iter()
                .map(|line| el("li").text(&line).view())
                .collect::<Vec<_>>();
            lines.into_any()
        }))
}
