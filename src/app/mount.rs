//! `mount(element, options)`: a page in an element, and the handle that changes and removes it.

use std::mem::ManuallyDrop;

use leptos::mount::mount_to;
use leptos::prelude::*;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use super::api;
use super::browser;
use super::options::PageOptions;
use super::page::page;
use super::state::State;

/// A mounted page. It stays when JavaScript forgets this handle; only [`Mount::unmount`] removes it.
#[wasm_bindgen(skip_typescript)]
pub struct Mount {
    state: State,
    handle: ManuallyDrop<Option<Box<dyn std::any::Any>>>,
}

/// Mounts a page into `element`. `options`: `scenario`, `link` (a fragment), `embed`, `controls`, `lock`, `theme`, and
/// `syncs_address`: whether the page's address follows, which is for a page that is alone in its document.
#[wasm_bindgen(js_name = mount, skip_typescript)]
pub fn mount(element: HtmlElement, options: JsValue) -> Result<Mount, JsError> {
    browser::report_panics();
    let options = api::to_json(&options)?;
    let mut errors = Vec::new();
    let page_options = PageOptions::default().with_pairs(&page_pairs(&options), &mut errors);
    let syncs_address = options
        .get("syncs_address")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let fragment = match options.get("link").and_then(Value::as_str) {
        Some(link) => link.to_owned(),
        None if syncs_address => browser::fragment(),
        None => String::new(),
    };
    let owner = Owner::new();
    let state = owner.with(|| State::from_fragment(&fragment, page_options.clone()));
    if let Some(given) = options.get("scenario") {
        let (scenario, more) = crate::core::scenario::Scenario::from_json(given);
        state.replace(scenario);
        errors.extend(more);
    }
    let known = state.errors.peek();
    state.errors.set(known.into_iter().chain(errors).collect());
    let handle = mount_to(element, move || {
        if syncs_address {
            sync_address(state, page_options.clone());
        }
        page(state)
    });
    Ok(Mount {
        state,
        handle: ManuallyDrop::new(Some(Box::new((handle, owner)))),
    })
}

#[wasm_bindgen]
impl Mount {
    /// Shows another scenario. Fields that are absent have their defaults; what cannot be read is noted on the page.
    #[wasm_bindgen(skip_typescript)]
    pub fn update(&self, scenario: JsValue) -> Result<(), JsError> {
        let (scenario, errors) = api::read_scenario(&scenario)?;
        self.state.replace(scenario);
        self.state.errors.set(errors);
        Ok(())
    }

    /// Removes the page from its element.
    #[wasm_bindgen(skip_typescript)]
    pub fn unmount(&mut self) {
        *self.handle = None;
    }
}

/// The page's own options as the pairs of a link.
fn page_pairs(options: &Value) -> Vec<(String, String)> {
    PageOptions::KEYS
        .iter()
        .filter_map(|key| {
            let text = match options.get(*key)? {
                Value::String(text) => text.clone(),
                Value::Array(items) => items
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join(","),
                other => other.to_string(),
            };
            Some(((*key).to_owned(), text))
        })
        .collect()
}

/// Milliseconds without a change after which the address follows: browsers refuse to be told of every step of a drag.
const SETTLED_MILLIS: i32 = 250;

/// Keeps the page's address and its state the same, and tells an embedding page of the height.
fn sync_address(state: State, base: PageOptions) {
    let timer = StoredValue::new(None::<i32>);
    let written = StoredValue::new(untrack(|| state.fragment()));
    Effect::new(move |_| {
        let fragment = state.fragment();
        browser::debounce(timer, SETTLED_MILLIS, move || {
            if written.with_value(|written| *written != fragment) {
                browser::write_fragment(&fragment, true);
                written.set_value(fragment);
            }
        });
    });
    let open = move || {
        let fragment = browser::fragment();
        if written.with_value(|written| *written != fragment) {
            state.open_fragment(&fragment, base.clone());
            written.set_value(untrack(|| state.fragment()));
        }
    };
    let reopen = open.clone();
    browser::on_window("popstate", move |_| open());
    browser::on_window("hashchange", move |_| reopen());
    if let Some(body) = browser::document().and_then(|document| document.body()) {
        browser::observe_width(&body, |_| {
            let message = json!({ "type": "kvscope:height", "height": browser::content_height() });
            if let Ok(message) = api::from_value(&message) {
                browser::post_to_parent(&message);
            }
        });
    }
}
