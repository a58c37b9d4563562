//! What is shown behind the first view: panels in elements that the page hands over, and dialogs. They have a state of their
//! own, which is kept in step with the page's by fragment.

use std::any::Any;
use std::collections::BTreeMap;

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use super::browser;
use super::cell::Cell;
use super::el::{El, el};
use super::language;
use super::options::PageOptions;
use super::state::State;
use crate::core::predict::rounds::LINK_KEYS;
use crate::view::charts;

mod concept;
mod controls;
pub(crate) mod data;
mod embed;
pub(crate) mod engine;
mod fact;
mod figure;
mod fit;
mod import;
mod layers;
mod lengths;
mod models;
mod nav;
mod near;
mod predict;
mod read;
mod section;
mod serve;
mod share;
mod speed;
mod styles;
mod turns;
mod widgets;
mod words;
mod working;

/// The panels of one mount.
#[wasm_bindgen(skip_typescript)]
pub struct Panels {
    state: State,
    /// The same with the words of the language that is spoken.
    spoken: StoredValue<State, LocalStorage>,
    door: import::Door,
    owner: Owner,
    /// The fragment that both sides know.
    known: Cell<String>,
    shown: BTreeMap<String, Box<dyn Any>>,
    _root: Box<dyn Any>,
}

/// Opens the panels of a mount that shows this fragment, with their dialogs in `root`; `change` is called with the fragment when a panel changes it.
#[wasm_bindgen(js_name = openPanels, skip_typescript)]
pub fn open_panels(root: HtmlElement, fragment: &str, change: js_sys::Function) -> Panels {
    browser::report_panics();
    styles::add();
    let owner = Owner::new();
    let (state, known, door) = owner.with(|| {
        let state = State::from_fragment(fragment, PageOptions::default());
        let known = Cell::new(untrack(|| state.fragment()));
        provide(state);
        (state, known, import::Door::new(state))
    });
    let spoken = owner.with(|| StoredValue::new_local(state));
    let tell = StoredValue::new_local(change);
    let follow = move || {
        let fragment = state.fragment();
        if fragment != known.peek() {
            known.set(fragment.clone());
            let _told =
                tell.with_value(|tell| tell.call1(&JsValue::NULL, &JsValue::from_str(&fragment)));
        }
    };
    let root = owner.with(|| {
        mount_to(root, move || {
            Effect::new(move |_| follow());
            language::speaking(state, move |state| {
                spoken.set_value(state);
                provide_context(state);
                dialogs(door.speaking(state)).view()
            })
        })
    });
    Panels {
        state,
        spoken,
        door,
        owner,
        known,
        shown: BTreeMap::new(),
        _root: Box::new(root),
    }
}

#[wasm_bindgen]
impl Panels {
    /// Shows a panel in an element.
    #[wasm_bindgen(skip_typescript)]
    pub fn show(&mut self, element: HtmlElement, id: &str) {
        let (state, id) = (self.state, id.to_owned());
        let key = id.clone();
        let handle = self.owner.with(|| {
            mount_to(element, move || {
                language::speaking(state, move |state| {
                    provide_context(state);
                    panel(&id).view()
                })
            })
        });
        self.shown.insert(key, Box::new(handle));
    }

    /// Takes a panel away.
    #[wasm_bindgen(skip_typescript)]
    pub fn hide(&mut self, id: &str) {
        self.shown.remove(id);
    }

    /// Opens a dialog, or the part of a panel that `detail` names.
    #[wasm_bindgen(skip_typescript)]
    pub fn open(&self, dialog: &str, detail: &str) {
        let known = ["import", "lengths", "models", "predict", "share", "working"];
        let id = known.into_iter().find(|id| *id == dialog);
        self.state.detail.set(detail.to_owned());
        self.state.dialog.set(id.unwrap_or_default());
    }

    /// Reads what was dropped: files, or a text.
    #[wasm_bindgen(skip_typescript)]
    pub fn give(&self, files: js_sys::Array) {
        self.door
            .speaking(self.spoken.get_value())
            .take(files.to_vec());
    }

    /// Follows the page.
    #[wasm_bindgen(skip_typescript)]
    pub fn update(&self, fragment: &str, step: Option<f64>) {
        if fragment != self.known.peek() {
            self.known.set(fragment.to_owned());
            self.state.show(fragment, Some(PageOptions::default()));
        }
        self.state.step.set(step.map(|step| step as u64));
    }
}

/// What panels keep while they are not shown.
fn provide(state: State) {
    provide_context(predict::Quiz::new(state));
    let options = untrack(|| state.options());
    let is_key = |(key, _): &(String, String)| LINK_KEYS.contains(&key.as_str());
    if options.embed.is_none() && options.panel_pairs.iter().any(is_key) {
        state.dialog.set("predict");
    }
}

/// The panels by id; nothing for one that is none.
fn panel(id: &str) -> El {
    if let Some(chart) = id.strip_prefix("data-").and_then(charts::get) {
        let state = super::state::state();
        return data::data(chart.id, move || state.chart(chart));
    }
    if let Some(fact) = id.strip_prefix("fact-") {
        return fact::fact(fact);
    }
    match id {
        "concept" => concept::concept(),
        "fit" => fit::fit(),
        "layers" => layers::map(),
        "lengths" => lengths::lengths(),
        "nav" => nav::nav(),
        "predict" => predict::predict(),
        "read" => read::read(),
        "serve" => serve::serve(),
        "speed" => speed::speed(),
        "turns" => turns::turns(),
        "engine" => engine::engine(),
        "working" => working::working(),
        _ => el("div"),
    }
}

/// Everything that opens above the page.
fn dialogs(door: import::Door) -> El {
    el("div")
        .child(import::import(door))
        .child(lengths::lengths_dialog())
        .child(models::models())
        .child(predict::predict_dialog())
        .child(share::share())
}
