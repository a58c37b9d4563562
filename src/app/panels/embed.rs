//! The scenario in a course page: which parts, which controls, how it looks, and the code to paste.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlIFrameElement, MessageEvent};

use super::share::copyable;
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, ElRef, button, el};
use crate::app::options::{ENGLISH_ID, PARTS, PageOptions, Theme};
use crate::app::state::{State, state};
use crate::core::link;
use crate::view::fields;
use crate::view::sentence;
use crate::view::snippet::Embed;
use crate::view::text::Messages;

/// Fields whose controls a course page may show.
const CONTROLS: [&str; 9] = [
    "prompt_tokens",
    "thinking_tokens",
    "answer_tokens",
    "num_seqs",
    "model",
    "kv_cache_dtype",
    "gpu",
    "tensor_parallel_size",
    "engine",
];

/// Pixels that are kept until the preview says how many it takes.
const FIRST_HEIGHT: u32 = 420;

/// Milliseconds after the last change until the preview follows.
const SETTLED_MILLIS: i32 = 150;

/// Whether a field's control is shown, and whether it can be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Hidden,
    Live,
    Locked,
}

impl Control {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Hidden, "hidden"),
        (Self::Live, "live"),
        (Self::Locked, "locked"),
    ];
}

/// What is chosen.
#[derive(Clone, Copy)]
struct Choice {
    state: State,
    parts: Cell<Vec<&'static str>>,
    controls: Cell<Vec<(&'static str, Control)>>,
    theme: Cell<Theme>,
    height: Cell<u32>,
}

impl Choice {
    /// Hands the chosen embed to `act`.
    fn with<T>(self, act: impl Fn(&Embed<'_>) -> T) -> T {
        let controls = self.controls.get();
        let fields = |is_chosen: fn(Control) -> bool| {
            let chosen = controls.iter().filter(|(_, control)| is_chosen(*control));
            chosen.map(|(key, _)| *key).collect::<Vec<_>>().join(",")
        };
        let theme = self.theme.get();
        let own = self.state.options();
        let lang = Some(own.lang).filter(|lang| *lang != ENGLISH_ID);
        let mut options = vec![
            ("embed", self.parts.get().join(",")),
            ("controls", fields(|control| control != Control::Hidden)),
            ("lock", fields(|control| control == Control::Locked)),
            (
                "theme",
                if theme == Theme::Auto {
                    String::new()
                } else {
                    theme.id().to_owned()
                },
            ),
            ("lang", lang.unwrap_or_default().to_owned()),
        ];
        // A teacher's questions go along.
        options.extend(own.panel_pairs.iter().filter_map(|(key, value)| {
            let key = PageOptions::KEYS.iter().find(|known| *known == key)?;
            Some((*key, value.clone()))
        }));
        let scenario = self.state.scenario();
        let page = browser::address_with("");
        act(&Embed {
            page: page.trim_end_matches('#'),
            scenario: &link::to_fragment(&scenario),
            options: &options,
            title: &format!("KVscope: {}", sentence::model_name(&scenario)),
            height: self.height.get(),
        })
    }
}

/// The choices, the preview and the code.
pub(crate) fn embed() -> El {
    let state = state();
    let text = &state.text.panels;
    let choice = Choice {
        state,
        parts: Cell::new(vec!["sentence", "tokens"]),
        controls: Cell::new(vec![("thinking_tokens", Control::Live)]),
        theme: Cell::new(Theme::Auto),
        height: Cell::new(FIRST_HEIGHT),
    };
    let is_element = Cell::new(false);
    let code = move || {
        choice.with(|embed| {
            if is_element.get() {
                embed.element()
            } else {
                embed.frame()
            }
        })
    };
    let kind = |label: &str, id: &'static str, value: bool| {
        button(label, move || is_element.set(value))
            .state_with("aria-pressed", move || is_element.get() == value)
            .testid(id)
    };
    el("div")
        .class("embed-choice")
        .child(el("p").text(&text.embed_help))
        .child(parts(choice))
        .child(controls(choice))
        .child(looks(choice))
        .child(el("h3").text(&text.embed_preview))
        .child(preview(choice))
        .child(
            el("div")
                .class("tabs")
                .attr("role", "group")
                .attr("aria-label", &*text.embed_code)
                .child(kind(&text.embed_frame, "embed-as-frame", false))
                .child(kind(&text.embed_element, "embed-as-element", true)),
        )
        .child(copyable(&text.embed_code, "embed-code", "5", code))
}

/// The parts, in the order of the page.
fn parts(choice: Choice) -> El {
    let text = choice.state.text;
    let part = |part: &'static str| {
        let is_chosen = move || choice.parts.get().contains(&part);
        let toggle = move |_| {
            let chosen = choice.parts.peek();
            let is_in = |known: &&str| chosen.contains(known) != (*known == part);
            let next: Vec<_> = PARTS.iter().copied().filter(is_in).collect();
            // An embed of nothing would be the whole page.
            if !next.is_empty() {
                choice.parts.set(next);
            } else {
                choice.parts.set(chosen);
            }
        };
        el("label")
            .child(
                el("input")
                    .attr("type", "checkbox")
                    .testid(format!("embed-part-{part}"))
                    .checked_with(is_chosen)
                    .on("change", toggle),
            )
            .text(part_name(text, part))
    };
    el("fieldset")
        .child(el("legend").text(&text.panels.embed_parts))
        .children(PARTS.iter().map(|id| part(id)))
}

/// What a part is called.
fn part_name<'a>(text: &'a Messages, part: &'a str) -> &'a str {
    let (panels, charts) = (&text.panels, &text.charts);
    match part {
        "sentence" => &panels.part_sentence,
        "facts" => &panels.part_facts,
        "tokens" => &charts.tokens_title,
        "hbm" => &charts.hbm_title,
        "growth" => &charts.growth_title,
        "sweep" => &charts.sweep_title,
        "layers" => &text.layers.title,
        "working" => &panels.working_title,
        "predict" => &panels.part_predict,
        "concept" => &panels.part_concept,
        "fit" => &text.fleet.fit_title,
        "speed" => &text.fleet.speed_title,
        "turns" => &text.fleet.turns_title,
        "serve" => &text.fleet.serve_title,
        other => other,
    }
}

/// For each field: hidden, live, or shown and locked.
fn controls(choice: Choice) -> El {
    let text = choice.state.text;
    let row = |key: &'static str| {
        let chosen = move || {
            let controls = choice.controls.get();
            let found = controls.iter().find(|(known, _)| *known == key);
            found.map_or(Control::Hidden, |(_, control)| *control)
        };
        let labels = [
            &text.panels.control_hidden,
            &text.panels.control_live,
            &text.panels.control_locked,
        ];
        let lines = Control::ALL
            .into_iter()
            .zip(labels)
            .map(|((_, id), label)| el("option").attr("value", id).text(label));
        let menu = el("select")
            .testid(format!("embed-control-{key}"))
            .on("change", move |event| {
                let value = event_target_value(&event);
                let found = Control::ALL.into_iter().find(|(_, id)| *id == value);
                let control = found.map_or(Control::Hidden, |(control, _)| control);
                let known = choice.controls.peek();
                let rest = CONTROLS.iter().filter_map(|field| {
                    let known = known.iter().find(|(known, _)| known == field);
                    let is_this = *field == key;
                    let control = if is_this {
                        Some(control)
                    } else {
                        known.map(|(_, control)| *control)
                    };
                    control.map(|control| (*field, control))
                });
                choice.controls.set(rest.collect());
            })
            .children(lines)
            .value_with(move || {
                let chosen = chosen();
                let found = Control::ALL
                    .into_iter()
                    .find(|(control, _)| *control == chosen);
                found.map_or("hidden", |(_, id)| id).to_owned()
            });
        el("label").text(fields::label(text, key)).child(menu)
    };
    el("fieldset")
        .class("choices")
        .child(el("legend").text(&text.panels.embed_controls))
        .children(CONTROLS.map(row))
}

/// Theme and height.
fn looks(choice: Choice) -> El {
    let text = &choice.state.text.panels;
    let labels = [&text.theme_auto, &text.theme_light, &text.theme_dark];
    let lines = Theme::ALL
        .into_iter()
        .zip(labels)
        .map(|(theme, label)| el("option").attr("value", theme.id()).text(label));
    let theme = el("select")
        .testid("embed-theme")
        .on("change", move |event| {
            let value = event_target_value(&event);
            let found = Theme::ALL.into_iter().find(|theme| theme.id() == value);
            choice.theme.set(found.unwrap_or_default());
        })
        .children(lines)
        .value_with(move || choice.theme.get().id().to_owned());
    let height = el("input")
        .attr("type", "number")
        .attr("min", "100")
        .attr("max", "4000")
        .testid("embed-height")
        .on("change", move |event| {
            if let Ok(height) = event_target_value(&event).parse() {
                choice.height.set(height);
            }
        })
        .value_with(move || choice.height.get().to_string());
    el("fieldset")
        .class("choices")
        .child(el("legend").text(&text.embed_looks))
        .child(el("label").text(&text.embed_theme).child(theme))
        .child(el("label").text(&text.embed_height).child(height))
}

/// The page as the course will show it. It tells how high it is, which is the height that is proposed.
fn preview(choice: Choice) -> El {
    let frame = ElRef::new();
    let window = move || {
        let frame: HtmlIFrameElement = frame.get_untracked()?.dyn_into().ok()?;
        frame.content_window()
    };
    let address = Derived::new(move || choice.with(|embed| embed.address()));
    let first = address.peek();
    let timer = StoredValue::new(None::<i32>);
    Effect::new(move |before: Option<String>| {
        let address = address.get();
        if before.is_some_and(|before| before != address) {
            let next = address.clone();
            browser::debounce(timer, SETTLED_MILLIS, move || {
                // In place: the preview is no place in the reader's history.
                if let Some(window) = window() {
                    let _gone = window.location().replace(&next);
                }
            });
        }
        address
    });
    browser::on_window("message", move |event| {
        let Ok(event) = event.dyn_into::<MessageEvent>() else {
            return;
        };
        let is_ours = event
            .source()
            .is_some_and(|source| window().is_some_and(|window| source.loose_eq(&window)));
        let field = |name: &str| js_sys::Reflect::get(&event.data(), &name.into()).ok();
        let is_height = is_ours
            && field("type").and_then(|kind| kind.as_string()).as_deref() == Some("kvscope:height");
        if let Some(height) = field("height")
            .and_then(|height| height.as_f64())
            .filter(|_| is_height)
        {
            choice.height.set(height.clamp(0.0, 4000.0) as u32);
        }
    });
    el("iframe")
        .reference(frame)
        .testid("embed-preview")
        .attr("title", &*choice.state.text.panels.embed_preview)
        .attr("src", first)
        .style_with("height", move || format!("{}px", choice.height.get()))
}
