//! `mount(element, options)`: a page in an element, and the handle that changes and removes it.

use std::mem::ManuallyDrop;

use leptos::mount::mount_to;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::core::link;

use super::browser;
use super::frame;
use super::language;
use super::options::PageOptions;
use super::page::page;
use super::rooms;
use super::state::State;

/// A mounted page. It stays when JavaScript forgets this handle; only [`Mount::unmount`] removes it.
#[wasm_bindgen(skip_typescript)]
pub struct Mount {
    pub(super) state: State,
    handle: ManuallyDrop<Option<Box<dyn std::any::Any>>>,
}

/// Mounts a page into `element`. All texts are fragments: `link` is what the page opens with, `scenario` replaces the
/// scenario of it, `options` are the page's own pairs. `syncs_address`: whether the page's address follows, which is for a
/// page that is alone in its document. `doors` loads the module with the importer. `changed` is called with the link to what
/// is shown, at the start and after every change.
#[wasm_bindgen(js_name = mount, skip_typescript)]
pub fn mount(
    element: HtmlElement,
    link: Option<String>,
    scenario: Option<String>,
    options: &str,
    syncs_address: bool,
    doors: js_sys::Function,
    changed: Option<js_sys::Function>,
) -> Mount {
    browser::report_panics();
    rooms::set_loader(doors);
    let mut errors = Vec::new();
    let pairs = link::from_fragment(options, PageOptions::KEYS).other;
    let page_options = PageOptions::default().with_pairs(&pairs, &mut errors);
    let link = match link {
        Some(link) => link,
        None if syncs_address => browser::fragment(),
        None => String::new(),
    };
    let owner = Owner::new();
    let state = owner.with(|| State::from_fragment(&link, page_options.clone()));
    match &scenario {
        Some(scenario) => state.open(scenario, None),
        None => state.open(&link, Some(page_options.clone())),
    }
    let known = state.errors.peek();
    state.errors.set(known.into_iter().chain(errors).collect());
    let handle = mount_to(element, move || {
        if syncs_address {
            sync_address(state, page_options.clone());
        }
        if let Some(changed) = changed.clone() {
            frame::tell(state, changed);
        }
        rooms::follow(state);
        language::speaking(state, move |state| {
            if syncs_address {
                browser::set_language(&state.text.lang, &state.text.page.tagline);
            }
            untrack(|| state.hear_again());
            page(state)
        })
    });
    Mount {
        state,
        handle: ManuallyDrop::new(Some(Box::new((handle, owner)))),
    }
}

#[wasm_bindgen]
impl Mount {
    /// Shows the scenario of another fragment. Fields that are absent have their defaults; what cannot be read is noted on
    /// the page.
    #[wasm_bindgen(skip_typescript)]
    pub fn update(&self, scenario: &str) {
        self.state.open(scenario, None);
    }

    /// Removes the page from its element.
    #[wasm_bindgen(skip_typescript)]
    pub fn unmount(&mut self) {
        *self.handle = None;
    }
}

/// Milliseconds without a change after which the address follows: browsers refuse to be told of every step of a drag.
const SETTLED_MILLIS: i32 = 250;

/// Keeps the page's address and its state the same.
fn sync_address(state: State, base: PageOptions) {
    let timer = StoredValue::new(None::<i32>);
    let written = StoredValue::new(untrack(|| state.fragment()));
    // The text field whose newest entry of the history this is: what goes on in it is the same edit.
    let edited = StoredValue::new_local(None);
    Effect::new(move |_| {
        let _followed = (state.scenario(), state.options());
        browser::debounce(timer, SETTLED_MILLIS, move || {
            let fragment = untrack(|| state.fragment());
            if written.with_value(|written| *written != fragment) {
                let field = browser::focused_field();
                let is_same_edit = field.is_some() && edited.with_value(|edited| *edited == field);
                browser::write_fragment(&fragment, !is_same_edit);
                written.set_value(fragment);
                edited.set_value(field);
            }
        });
    });
    let open = move || {
        let fragment = browser::fragment();
        if written.with_value(|written| *written != fragment) {
            state.open(&fragment, Some(base.clone()));
            edited.set_value(None);
            written.set_value(untrack(|| state.fragment()));
        }
    };
    let reopen = open.clone();
    browser::on_window("popstate", move |_| open());
    browser::on_window("hashchange", move |_| reopen());
}
