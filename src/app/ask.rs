//! What the page asks of the module with the importer, which is loaded when it is first asked.

use std::cell::RefCell;

use js_sys::{Function, Promise};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_futures::spawn_local;

use crate::core::resolved;
use crate::core::scenario::ModelChoice;
use crate::view::model_edit::Edit;

#[wasm_bindgen]
extern "C" {
    /// The module with the importer.
    #[derive(Clone)]
    type Doors;

    #[wasm_bindgen(method, catch, js_name = resolveModel)]
    fn resolve_model(
        this: &Doors,
        kind: &str,
        text: &str,
        name: &str,
        dims: &str,
    ) -> Result<String, JsValue>;
}

thread_local! {
    static LOAD: RefCell<Option<Function>> = const { RefCell::new(None) };
    static DOORS: RefCell<Option<Doors>> = const { RefCell::new(None) };
}

/// A model that the page cannot read by itself.
pub(crate) enum Question {
    /// The scenario's field `model`, of a link or a program.
    Model(String),
    /// A file's text, and the name that its reader gave it.
    File(String, String),
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

/// How the module is loaded: a function without arguments that gives a promise of it.
pub(crate) fn set_loader(load: Function) {
    LOAD.set(Some(load));
}

/// Whether an answer needs no download.
pub(crate) fn is_loaded() -> bool {
    DOORS.with_borrow(Option::is_some)
}

/// Asks, and hands the answer on when it is there.
pub(crate) fn ask(question: Question, then: impl FnOnce(Result<ModelChoice, Refusal>) + 'static) {
    spawn_local(async move {
        let answer = match doors().await {
            Ok(doors) => answer(&doors, question),
            Err(error) => Err(Refusal::NotLoaded(message_of(&error))),
        };
        then(answer);
    });
}

fn answer(doors: &Doors, question: Question) -> Result<ModelChoice, Refusal> {
    let line = match &question {
        Question::Model(json) => doors.resolve_model("model", json, "", ""),
        Question::File(text, name) => doors.resolve_model("file", text, name, ""),
        Question::Edit(edit) => doors.resolve_model("edit", &edit.model, &edit.name, &edit.dims),
    };
    let choice = line
        .map_err(|error| message_of(&error))
        .and_then(|line| resolved::learn(&line).ok_or_else(String::new));
    if let Question::Model(json) = question {
        // Also under the text it was asked by, which need not be the one that we would write.
        resolved::remember(json, choice.clone());
    }
    choice.map_err(Refusal::NoModel)
}

async fn doors() -> Result<Doors, JsValue> {
    if let Some(doors) = DOORS.with_borrow(Option::clone) {
        return Ok(doors);
    }
    let load = LOAD.with_borrow(Option::clone).ok_or(JsValue::NULL)?;
    let promise: Promise = load.call0(&JsValue::NULL)?.dyn_into()?;
    let doors: Doors = JsFuture::from(promise).await?.unchecked_into();
    DOORS.set(Some(doors.clone()));
    Ok(doors)
}

fn message_of(error: &JsValue) -> String {
    error.dyn_ref::<js_sys::Error>().map_or_else(
        || error.as_string().unwrap_or_default(),
        |error| String::from(error.message()),
    )
}
