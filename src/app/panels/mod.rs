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
use super::options::PageOptions;
use super::state::State;
use crate::view::charts;

mod controls;
pub(crate) mod data;
mod embed;
mod figure;
mod fit;
mod import;
mod layers;
mod models;
mod near;
mod read;
mod section;
mod serve;
mod share;
mod speed;
mod styles;
mod turns;
mod widgets;
mod working;

/// The panels of one mount.
#[wasm_bindgen(skip_typescript)]
pub struct Panels {
    state: State,
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
        (state, known, import::Door::new(state))
    });
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
            provide_context(state);
            Effect::new(move |_| follow());
            dialogs(door).view()
        })
    });
    Panels {
        state,
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
        let Some(panel) = panel(id) else { return };
        let state = self.state;
        let handle = self.owner.with(|| {
            mount_to(element, move || {
                provide_context(state);
                panel().view()
            })
        });
        self.shown.insert(id.to_owned(), Box::new(handle));
    }

    /// Takes a panel away.
    #[wasm_bindgen(skip_typescript)]
    pub fn hide(&mut self, id: &str) {
        self.shown.remove(id);
    }

    /// Opens a dialog, or the part of a panel that `detail` names.
    #[wasm_bindgen(skip_typescript)]
    pub fn open(&self, dialog: &str, detail: &str) {
        let known = ["import", "models", "share", "working"];
        let id = known.into_iter().find(|id| *id == dialog);
        self.state.detail.set(detail.to_owned());
        self.state.dialog.set(id.unwrap_or_default());
    }

    /// Reads what was dropped: files, or a text.
    #[wasm_bindgen(skip_typescript)]
    pub fn give(&self, files: js_sys::Array) {
        self.door.take(files.to_vec());
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

/// The panels by id.
fn panel(id: &str) -> Option<Box<dyn Fn() -> El>> {
    if let Some(chart) = id.strip_prefix("data-").and_then(charts::get) {
        return Some(Box::new(move || {
            let state = super::state::state();
            data::data(chart.id, move || state.chart(chart))
        }));
    }
    match id {
        "layers" => Some(Box::new(layers::map)),
        "read" => Some(Box::new(read::read)),
        "working" => Some(Box::new(working::working)),
        "fit" => Some(Box::new(fit::fit)),
        "speed" => Some(Box::new(speed::speed)),
        "turns" => Some(Box::new(turns::turns)),
        "serve" => Some(Box::new(serve::serve)),
        _ => None,
    }
}

/// Everything that opens above the page.
fn dialogs(door: import::Door) -> El {
    el("div")
        .child(import::import(door))
        .child(models::models())
        .child(share::share())
}
