//! What moves a picture by steps: a button that plays it, and a slider for the keyboard.

use leptos::prelude::*;

use crate::view::text::PageText;

use super::browser;
use super::cell::{Cell, Derived};
use super::el::{El, el};

/// A picture that moves.
#[derive(Clone, Copy)]
pub(crate) struct Film<A, G> {
    /// The test ids of the button and the slider.
    pub(crate) ids: [&'static str; 2],
    pub(crate) is_playing: Cell<bool>,
    /// The last step; the first is 0.
    pub(crate) last: Derived<u64>,
    /// The step that is shown.
    pub(crate) at: A,
    /// Shows a step.
    pub(crate) go: G,
    /// The step that so many seconds of playing lead to, with the last step.
    pub(crate) step_at: fn(f64, u64) -> u64,
    /// When that step is shown.
    pub(crate) seconds_at: fn(u64, u64) -> f64,
}

impl<A: Fn() -> u64 + Copy + Send + 'static, G: Fn(u64) + Copy + Send + 'static> Film<A, G> {
    /// The button, the slider and what the step is called, in a row. `label` says what the slider moves.
    pub(crate) fn row(
        self,
        text: &'static PageText,
        label: String,
        step: impl Fn() -> String + Clone + Send + 'static,
    ) -> El {
        let is_playing = self.is_playing;
        let play_button = el("button")
            .attr("type", "button")
            .testid(self.ids[0])
            .flag_with("hidden", browser::prefers_reduced_motion)
            .on("click", move |_| self.play())
            .text_with(move || {
                let label = if is_playing.get() {
                    &text.pause
                } else {
                    &text.play
                };
                label.to_string()
            });
        let slider = el("input")
            .attr("type", "range")
            .attr("min", "0")
            .attr_with("max", move || self.last.get().to_string())
            .attr("aria-label", label)
            .testid(self.ids[1])
            .attr_with("aria-valuetext", step.clone())
            .value_with(move || (self.at)().to_string())
            .on("input", move |event| {
                is_playing.set(false);
                (self.go)(event_target_value(&event).parse().unwrap_or(0));
            });
        el("div")
            .class("scrub-row")
            .child(play_button)
            .child(slider)
            .child(el("output").text_with(step))
    }

    fn play(self) {
        let is_playing = self.is_playing;
        is_playing.set(!is_playing.peek());
        if !is_playing.peek() {
            return;
        }
        let last = self.last.peek();
        let mut step = untrack(self.at);
        if step == last {
            step = 0;
            (self.go)(0);
        }
        let mut seconds = (self.seconds_at)(step, last);
        browser::each_frame(move |elapsed| {
            // The page may have been removed, or paused, since the last frame.
            if !is_playing.try_peek().unwrap_or(false) {
                return false;
            }
            seconds += elapsed;
            let last = self.last.peek();
            let step = (self.step_at)(seconds, last).min(last);
            (self.go)(step);
            is_playing.set(step < last);
            step < last
        });
    }
}
