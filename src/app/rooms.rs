//! The way to the module behind the first view, which shows panels in elements of the page and is loaded when the page is
//! there. Both sides hold the same scenario, and tell each other of changes by fragment.

use std::cell::RefCell;

use js_sys::{Array, Function, Promise};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::HtmlElement;

use crate::core::scenario::{FieldError, Problem};

use super::ask::message_of;
use super::browser;
use super::el::{El, ElRef, el};
use super::options::PageOptions;
use super::state::{State, state};

#[wasm_bindgen]
extern "C" {
    /// The module.
    #[derive(Clone)]
    pub(crate) type Doors;

    #[wasm_bindgen(method, catch, js_name = resolveModel)]
    pub(crate) async fn resolve_model(
        this: &Doors,
        kind: &str,
        text: &str,
        name: &str,
        dims: &str,
        lang: &str,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, js_name = openPanels)]
    fn open_panels(this: &Doors, root: &HtmlElement, fragment: &str, change: &Function) -> Panels;

    /// The panels of one mount.
    #[derive(Clone)]
    pub(crate) type Panels;

    #[wasm_bindgen(method)]
    fn show(this: &Panels, element: &HtmlElement, id: &str);

    #[wasm_bindgen(method)]
    fn hide(this: &Panels, id: &str);

    #[wasm_bindgen(method)]
    fn open(this: &Panels, dialog: &str, detail: &str);

    #[wasm_bindgen(method)]
    fn give(this: &Panels, files: &Array);

    #[wasm_bindgen(method)]
    fn update(this: &Panels, fragment: &str, step: Option<f64>);

    #[wasm_bindgen(method)]
    fn free(this: &Panels);
}

thread_local! {
    static LOAD: RefCell<Option<Function>> = const { RefCell::new(None) };
    static DOORS: RefCell<Option<Doors>> = const { RefCell::new(None) };
}

/// The panels of a mount, once they are there.
pub(crate) type Slot = StoredValue<Option<Panels>, LocalStorage>;

/// The element of a mount's dialogs.
pub(crate) type Root = StoredValue<Option<HtmlElement>, LocalStorage>;

/// How the module is loaded: a function without arguments that gives a promise of it.
pub(crate) fn set_loader(load: Function) {
    LOAD.set(Some(load));
}

/// Whether the module is there.
pub(crate) fn are_open() -> bool {
    DOORS.with_borrow(Option::is_some)
}

/// The module, loaded if need be.
pub(crate) async fn doors() -> Result<Doors, JsValue> {
    if let Some(doors) = DOORS.with_borrow(Option::clone) {
        return Ok(doors);
    }
    let load = LOAD.with_borrow(Option::clone).ok_or(JsValue::NULL)?;
    let promise: Promise = load.call0(&JsValue::NULL)?.dyn_into()?;
    let doors: Doors = JsFuture::from(promise).await?.unchecked_into();
    DOORS.set(Some(doors.clone()));
    Ok(doors)
}

/// Does something with the panels of this mount, which are loaded if need be.
fn with_panels(state: State, act: impl FnOnce(&Panels) + 'static) {
    spawn_local(async move {
        match doors().await {
            Ok(doors) => {
                // The page may have been removed meanwhile.
                let known = state.panels.try_get_value();
                if let Some(panels) =
                    known.and_then(|known| known.or_else(|| connect(state, &doors)))
                {
                    act(&panels);
                }
            }
            Err(error) => state.errors.set(vec![FieldError {
                key: "pkg".to_owned(),
                given: "doors".to_owned(),
                problem: Problem::NotLoaded(message_of(&error)),
            }]),
        }
    });
}

fn connect(state: State, doors: &Doors) -> Option<Panels> {
    let change = Closure::<dyn Fn(String)>::new(move |fragment: String| {
        state.open(&fragment, Some(PageOptions::default()));
    })
    .into_js_value();
    let root = state.dialogs.get_value()?;
    let panels = doors.open_panels(&root, &untrack(|| state.fragment()), change.unchecked_ref());
    state.panels.set_value(Some(panels.clone()));
    Some(panels)
}

/// Milliseconds without a change after which the panels follow.
const PANELS_REST_MILLIS: i32 = 60;

/// Keeps the panels in step with the page, and takes them away with it.
pub(crate) fn follow(state: State) {
    state.dialogs.set_value(browser::division());
    // A file may be dropped anywhere, and before the module that reads it is there.
    browser::on_window("dragenter", move |_| with_panels(state, |_| {}));
    browser::on_window("dragover", |event| event.prevent_default());
    browser::on_window("drop", move |event| {
        event.prevent_default();
        let files = browser::dropped(event);
        with_panels(state, move |panels| panels.give(&files));
    });
    // The first view answers to each step of a drag, the panels when it rests.
    let timer = StoredValue::new(None::<i32>);
    Effect::new(move |_| {
        let _followed = (state.scenario(), state.options(), state.step.get());
        browser::debounce(timer, PANELS_REST_MILLIS, move || {
            // The page may have been removed meanwhile.
            if let Some(Some(panels)) = state.panels.try_get_value() {
                let step = state.step.peek().map(|step| step as f64);
                panels.update(&untrack(|| state.fragment()), step);
            }
        });
    });
    on_cleanup(move || {
        if let Some(panels) = state.panels.try_get_value().flatten() {
            panels.free();
            state.panels.set_value(None);
        }
    });
}

/// Where the dialogs stand: one element, which moves when the page is made anew in another language, so that what a reader
/// began in them stays.
pub(crate) fn dialogs(state: State) -> El {
    let holder = ElRef::new();
    Effect::new(move |_| {
        if let (Some(holder), Some(root)) = (holder.get(), state.dialogs.get_value()) {
            let _moved = holder.append_child(&root);
        }
    });
    el("div").reference(holder)
}

/// A part of the page that the module shows.
pub(crate) fn panel(id: impl Into<String>) -> El {
    shown(id.into())
}

fn shown(id: String) -> El {
    let state = state();
    let holder = ElRef::new();
    let class = format!("slot slot-{id}");
    let hidden = id.clone();
    Effect::new(move |_| {
        if let Some(holder) = holder.get() {
            let id = id.clone();
            with_panels(state, move |panels| panels.show(&holder, &id));
        }
    });
    on_cleanup(move || {
        if let Some(panels) = state.panels.try_get_value().flatten() {
            panels.hide(&hidden);
        }
    });
    el("div").class(class).reference(holder)
}

/// Opens a dialog of the module, or a part of one of its panels.
pub(crate) fn open(state: State, dialog: &'static str, detail: &'static str) {
    with_panels(state, move |panels| panels.open(dialog, detail));
}
