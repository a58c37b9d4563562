//! The page in the reader's language: English is there, the words of another are loaded.

use std::cell::RefCell;

use leptos::prelude::*;
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use wasm_bindgen_futures::spawn_local;

use crate::core::scenario::{FieldError, Problem};
#[cfg(feature = "doors")]
use crate::view::text::LANGUAGES;
use crate::view::text::{ENGLISH, Messages};

use super::cell::Cell;
use super::el::dynamic;
use super::options::ENGLISH_ID;
use super::state::State;
use super::texts;

thread_local! {
    static KNOWN: RefCell<Vec<(&'static str, &'static Messages)>> = const { RefCell::new(Vec::new()) };
}

/// The words of a language, if they are there.
fn known(lang: &str) -> Option<&'static Messages> {
    if lang == ENGLISH_ID {
        return Some(&ENGLISH);
    }
    KNOWN.with_borrow(|known| {
        let found = known.iter().find(|(id, _)| *id == lang);
        found.map(|(_, words)| *words)
    })
}

/// The words of the language with this id; English when there is none, or its words cannot be loaded.
#[cfg(feature = "doors")]
pub(crate) async fn words(lang: &str) -> &'static Messages {
    let found = LANGUAGES.iter().find(|(id, _)| *id == lang);
    let Some((lang, _)) = found else {
        return &ENGLISH;
    };
    if known(lang).is_none() {
        let _learned = learn(lang).await;
    }
    known(lang).unwrap_or(&ENGLISH)
}

/// Loads the words of a language; there are few, and each stays.
async fn learn(lang: &'static str) -> Option<()> {
    // Each module has its own words.
    let part = if cfg!(feature = "page") {
        "page"
    } else {
        "panels"
    };
    let text = texts::text(format!("{lang}-{part}")).await.ok()?;
    let words: &Messages = Box::leak(Box::new(Messages::from_lines(text)?));
    KNOWN.with_borrow_mut(|known| known.push((lang, words)));
    Some(())
}

/// A view in the language that the page's options say, anew when they say another. Nothing is shown until its words are
/// there; where they cannot be loaded it is English, with a note.
pub(crate) fn speaking(state: State, view: impl Fn(State) -> AnyView + Send + 'static) -> AnyView {
    let chosen = untrack(|| state.options()).lang;
    let spoken = Cell::new(known(chosen).map_or("", |_| chosen));
    Effect::new(move |_| {
        let lang = state.options().lang;
        if known(lang).is_some() {
            return spoken.set(lang);
        }
        spawn_local(async move {
            let is_learned = learn(lang).await.is_some();
            // The page may be gone meanwhile.
            if spoken.try_peek().is_none() {
                return;
            }
            if is_learned {
                spoken.set(lang);
            } else {
                spoken.set(ENGLISH_ID);
                state.errors.set(vec![FieldError {
                    key: "lang".to_owned(),
                    given: lang.to_owned(),
                    problem: Problem::NotOneOf(vec![ENGLISH_ID]),
                }]);
            }
        });
    });
    dynamic(move || match known(spoken.get()) {
        Some(text) => {
            let mut spoken = state;
            spoken.text = text;
            view(spoken)
        }
        None => ().into_any(),
    })
}
