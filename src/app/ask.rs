//! The models that the page asks the module with the importer for.

use leptos::prelude::untrack;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::core::model::Message;
use crate::core::scenario::{FieldError, ModelChoice, Problem, cut};
use crate::core::{link, resolved};
use crate::view::model_edit::Edit;

use super::options::PageOptions;
use super::rooms::{self, Doors};
use super::state::State;

/// A model that the page cannot read by itself.
pub(crate) enum Question {
    /// The scenario's field `model`, of a link or a program.
    Model(String),
    /// A model with other dimensions.
    Edit(Edit),
}

/// Why there is no model.
pub(crate) enum Refusal {
    /// The text is no model: the sentence for the reader.
    NoModel(String),
    /// The module could not be loaded: what the browser says.
    NotLoaded(String),
    /// Something newer was asked for meanwhile.
    Overtaken,
}

impl Refusal {
    /// The sentence for the reader.
    pub(crate) fn message(self) -> String {
        match self {
            Self::NoModel(message) | Self::NotLoaded(message) => message,
            Self::Overtaken => String::new(),
        }
    }
}

/// What is done with an answer. One type, so that asking is compiled once.
type Then = Box<dyn FnOnce(Result<ModelChoice, Refusal>)>;

/// Asks, and hands the answer on when it is there.
fn ask(question: Question, lang: &'static str, then: Then) {
    spawn_local(async move {
        let answer = match rooms::doors().await {
            Ok(doors) => answer(&doors, question, lang).await,
            Err(error) => Err(Refusal::NotLoaded(message_of(&error))),
        };
        then(answer);
    });
}

async fn answer(doors: &Doors, question: Question, lang: &str) -> Result<ModelChoice, Refusal> {
    let (kind, model, name, dims) = match &question {
        Question::Model(json) => ("model", json.as_str(), "", ""),
        Question::Edit(edit) => ("edit", &*edit.model, &*edit.name, &*edit.dims),
    };
    let line = doors.resolve_model(kind, model, name, dims, lang).await;
    let choice = line.map_err(|error| message_of(&error)).and_then(|line| {
        let line = line.as_string().unwrap_or_default();
        resolved::learn(&line).ok_or_else(String::new)
    });
    if let Question::Model(json) = question {
        // Also under the text it was asked by, which need not be the one that we would write.
        let said = choice.clone().map_err(|text| Message::Said(text).into());
        resolved::remember(json, said);
    }
    choice.map_err(Refusal::NoModel)
}

pub(crate) fn message_of(error: &JsValue) -> String {
    error.dyn_ref::<js_sys::Error>().map_or_else(
        || error.as_string().unwrap_or_default(),
        |error| String::from(error.message()),
    )
}

impl State {
    /// Shows what another fragment describes: with the page's options of it, or, without `base`, its scenario alone. A
    /// model that has to be read first leaves what is shown until it is there.
    pub(crate) fn open(&self, fragment: &str, base: Option<PageOptions>) {
        let state = *self;
        let Some(model) = link::unknown_model(fragment) else {
            state.asked.set(state.asked.peek() + 1);
            state.show(fragment, base);
            return;
        };
        let fragment = fragment.to_owned();
        state.ask(Question::Model(model.clone()), move |answer| match answer {
            // A pinned scenario may have another.
            Ok(_) | Err(Refusal::NoModel(_)) => state.open(&fragment, base),
            Err(Refusal::NotLoaded(message)) => state.errors.set(vec![FieldError {
                key: "model".to_owned(),
                given: cut(&model, 60),
                problem: Problem::NotLoaded(message),
            }]),
            Err(Refusal::Overtaken) => {}
        });
    }

    /// Has a model's notes said in the language that is now spoken.
    pub(crate) fn hear_again(&self) {
        let state = *self;
        let model = untrack(|| state.scenario()).model.clone();
        if model.config.notes.is_empty() {
            return;
        }
        state.ask(Question::Model(state.value("model")), move |answer| {
            if let Ok(model) = answer {
                state.take_model(model);
            }
        });
    }

    /// Asks for a model.
    pub(crate) fn ask(
        &self,
        question: Question,
        then: impl FnOnce(Result<ModelChoice, Refusal>) + 'static,
    ) {
        self.ask_then(question, Box::new(then));
    }

    fn ask_then(&self, question: Question, then: Then) {
        let state = *self;
        let number = state.asked.peek() + 1;
        state.asked.set(number);
        state.is_reading.set(!rooms::are_open());
        let lang = untrack(|| state.options()).lang;
        let hand_on = move |answer| {
            if state.asked.peek() == number {
                state.is_reading.set(false);
                then(answer);
            } else {
                then(Err(Refusal::Overtaken));
            }
        };
        ask(question, lang, Box::new(hand_on));
    }
}
