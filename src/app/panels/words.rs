//! Words of panels on their way.

use std::sync::Arc;

use leptos::prelude::untrack;
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use serde_json::Value as Json;
use wasm_bindgen_futures::spawn_local;

use crate::app::cell::{Cell, Value};
use crate::app::el::{dynamic, el};
use crate::app::state::State;
use crate::app::texts;

/// Words on their way.
#[derive(Clone)]
enum Words<T> {
    Loading,
    Here(Arc<T>),
    /// They could not be loaded, or are of another version.
    Missing,
}

/// The file of a part's words in the page's language.
fn file(state: State, part: &str) -> String {
    let lang = untrack(|| state.options()).lang;
    format!("{lang}-{part}")
}

/// Loads the words of a part that may be shown later, so that nothing is asked for then.
pub(crate) fn prefetch(state: State, part: &str) {
    let name = file(state, part);
    spawn_local(async move {
        // Who opens the part learns what is wrong.
        let _kept = texts::text(name).await;
    });
}

/// A view with the words of a part, once they are there.
pub(crate) fn with_words<T: Value>(
    state: State,
    part: &str,
    read: fn(&Json) -> Result<T, String>,
    view: impl Fn(Arc<T>) -> AnyView + Send + 'static,
) -> AnyView {
    let words = Cell::whole(Words::Loading);
    let name = file(state, part);
    spawn_local(async move {
        let read = texts::text(name).await.ok().and_then(|text| {
            let json = serde_json::from_str(text).ok()?;
            read(&json).ok()
        });
        // The part may be closed meanwhile.
        if words.try_peek().is_some() {
            words.set(read.map_or(Words::Missing, |words| Words::Here(Arc::new(words))));
        }
    });
    dynamic(move || match words.get() {
        Words::Loading => ().into_any(),
        Words::Here(words) => view(words),
        Words::Missing => el("p")
            .class("message")
            .text(&state.text.panels.words_missing)
            .view(),
    })
}
