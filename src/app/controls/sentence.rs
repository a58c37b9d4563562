//! The sentence: the whole scenario in words, whose numbers and names are controls.

use std::sync::Arc;

use crate::app::cell::{Cell, Derived, run};
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use web_sys::PointerEvent;

use crate::app::browser;
use crate::app::el::{El, dynamic, el, words};
use crate::app::rooms;
use crate::app::state::state;
use crate::core::report::bounds_of;
use crate::view::sentence::{self, Part, Slot};
use crate::view::{fields, slider};

use super::number::Draft;
use super::select::menu;

/// The sentence.
pub(crate) fn lede() -> El {
    let state = state();
    let sentences = Derived::whole(move || {
        Arc::new(sentence::lede(
            &state.scenario(),
            &state.report(),
            state.text,
        ))
    });
    // The shape changes rarely; while it stays, the controls in the sentence stay, with what is typed in them.
    let shape = Cell::following(move || {
        let slots = |parts: &[Part]| parts.iter().map(slot).collect::<Vec<_>>();
        sentences
            .get()
            .iter()
            .map(|sentence| (sentence.is_strong, slots(&sentence.parts)))
            .collect::<Vec<_>>()
    });
    let content = move || {
        let mut texts = Vec::new();
        let mut res = el("p");
        for (idx, (is_strong, slots)) in shape.get().into_iter().enumerate() {
            let mut whole = el(if is_strong { "strong" } else { "span" });
            let mut is_after_value = false;
            for (part_idx, slot) in slots.into_iter().enumerate() {
                // The stop after a value stands with it, so that no line begins with it.
                let skipped = is_after_value && slot.is_none();
                let cell = Cell::new(String::new());
                texts.push((idx, part_idx, skipped, cell));
                let text = move || cell.get();
                is_after_value = slot.is_some();
                whole = whole.child(if is_after_value {
                    let next = sentences.peek();
                    let next = next.get(idx).and_then(|next| next.parts.get(part_idx + 1));
                    let stop = match next {
                        Some(Part::Words(words)) => sentence::stop(words),
                        Some(Part::Value(..)) | None => "",
                    };
                    let value = el("span").class("glue").child(part(slot, text));
                    value.text(stop).view()
                } else {
                    part(slot, text)
                });
            }
            res = res.text(" ").child(whole);
        }
        run(Box::new(move || {
            let sentences = sentences.get();
            for (idx, part_idx, skipped, cell) in &texts {
                let sentence = sentences.get(*idx);
                let part = sentence.and_then(|sentence| sentence.parts.get(*part_idx));
                let text = part.map(text_of).unwrap_or_default();
                let from = if *skipped {
                    sentence::stop(text).len()
                } else {
                    0
                };
                cell.set(text.get(from..).unwrap_or_default().to_owned());
            }
        }));
        res.view()
    };
    el("div")
        .class("lede")
        .testid("sentence")
        .child(dynamic(content))
        .child(
            el("p")
                .class("at-step")
                .attr("role", "status")
                .text_with(move || match state.step.get() {
                    Some(step) => {
                        let last = state.scenario().decode_steps();
                        sentence::at_step(step, last, &state.now(), state.text)
                    }
                    None => String::new(),
                }),
        )
}

/// The short form, which stays on top of narrow screens. It repeats the sentence, so it is not read aloud.
pub(crate) fn short() -> El {
    let state = state();
    el("p")
        .class("short")
        .attr("aria-hidden", "true")
        .text_with(move || sentence::short(&state.scenario(), &state.now(), state.text).text())
}

fn slot(part: &Part) -> Option<Slot> {
    match part {
        Part::Words(_) => None,
        Part::Value(slot, _) => Some(*slot),
    }
}

fn text_of(part: &Part) -> &str {
    match part {
        Part::Words(text) | Part::Value(_, text) => text,
    }
}

/// One piece: words, a result, or a control.
fn part(slot: Option<Slot>, text: impl Fn() -> String + Send + 'static) -> AnyView {
    let state = state();
    let Some(slot) = slot else {
        return words(text).into_any();
    };
    match (slot, slot.field()) {
        (Slot::Model, _) => el("button")
            .attr("type", "button")
            .class("choice")
            .testid("sentence-model")
            .attr_with("title", move || state.scenario().model.config.name.clone())
            .attr("aria-haspopup", "dialog")
            .flag_with("disabled", move || state.options().is_locked("model"))
            .on("click", move |_| rooms::open(state, "models", ""))
            .text_with(text)
            .view(),
        (Slot::KvCacheDtype | Slot::Gpus, Some(key)) => {
            let is_locked = Derived::new(move || state.options().is_locked(key));
            // A menu that cannot be used would be most of an embed's elements.
            let menu = move || {
                if is_locked.get() {
                    return ().into_any();
                }
                let id = state.id(&format!("sentence-{key}"));
                let label = el("label").class("hidden").attr("for", id.clone());
                el("span")
                    .child(label.text(fields::label(state.text, key)))
                    .child(menu(key, id).testid(format!("sentence-{key}")))
                    .view()
            };
            let words = el("span")
                .state_with("aria-hidden", move || !is_locked.get())
                .text_with(text);
            el("span")
                .class("choice")
                .child(words)
                .child(dynamic(menu))
                .view()
        }
        (_, Some(key)) => sentence_number(key).view(),
        (Slot::Total, None) => el("strong").testid("total-tokens").text_with(text).view(),
        (_, None) => el("strong")
            .testid(format!("sentence-{}", sentence::slot_id(slot)))
            .text_with(text)
            .view(),
    }
}

/// Pixels of sideways dragging for one step of the value.
const PIXELS_PER_STEP: f64 = 6.0;

/// A number in the sentence: type it, move it with the arrow keys, or drag it sideways.
fn sentence_number(key: &'static str) -> El {
    let (state, draft) = (state(), Draft::new(key));
    let label = format!(
        "{}, {}",
        fields::label(state.text, key),
        fields::unit(state.text, key)
    );
    // Where the drag began, and how many steps it has moved the value.
    let drag = Cell::new(None::<(i32, i32)>);
    let on_move = move |event: PointerEvent| {
        let Some((start, done)) = drag.peek() else {
            return;
        };
        let steps = slider::steps_of_drag(f64::from(event.client_x() - start), PIXELS_PER_STEP);
        if steps != done {
            browser::capture_pointer(&event);
            draft.step(steps - done);
            drag.set(Some((start, steps)));
        }
    };
    let bound = |pick: fn(&crate::core::units::Bounds) -> u64| {
        bounds_of(key).as_ref().map(pick).unwrap_or(0).to_string()
    };
    let message_id = state.id(&format!("sentence-{key}-message"));
    let input = draft
        .number_el()
        .attr("role", "spinbutton")
        .attr("aria-describedby", message_id.clone())
        .class(format!("number {}", fields::phase_class(key)))
        .testid(format!("sentence-{key}"))
        .attr("aria-label", label)
        .attr_with("aria-valuenow", move || draft.number().to_string())
        .attr("aria-valuemin", bound(|bounds| bounds.min))
        .attr("aria-valuemax", bound(|bounds| bounds.max))
        .attr_with("aria-valuetext", move || draft.text())
        .style_with("width", move || sentence::number_width(&draft.text()))
        .on_cast("pointerdown", move |event: PointerEvent| {
            if event.button() == 0 && !draft.is_locked() {
                drag.set(Some((event.client_x(), 0)));
            }
        })
        .on_cast("pointermove", on_move)
        .on("pointerup", move |_| drag.set(None))
        .on("pointercancel", move |_| drag.set(None));
    let message = el("span")
        .class("message")
        .attr("id", message_id)
        .attr("role", "status")
        .text_with(move || draft.message());
    el("span").class("number-box").child(input).child(message)
}
