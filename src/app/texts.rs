//! Words that are not in the modules: they are loaded when they are needed, and kept.

use std::cell::RefCell;

use js_sys::{Function, Promise};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

thread_local! {
    static LOAD: RefCell<Option<Function>> = const { RefCell::new(None) };
    static KEPT: RefCell<Vec<(String, &'static str)>> = const { RefCell::new(Vec::new()) };
}

/// Says how a file of words is loaded: a function of its name that gives a promise of its text.
#[wasm_bindgen(js_name = setTextLoader, skip_typescript)]
pub fn set_text_loader(load: Function) {
    LOAD.set(Some(load));
}

/// The text of a file of words. There are few, and each stays.
pub(crate) async fn text(name: String) -> Result<&'static str, JsValue> {
    if let Some(text) = KEPT.with_borrow(|kept| {
        kept.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }) {
        return Ok(text);
    }
    let load = LOAD.with_borrow(Option::clone).ok_or(JsValue::NULL)?;
    let promise: Promise = load
        .call1(&JsValue::NULL, &JsValue::from_str(&name))?
        .dyn_into()?;
    let text = JsFuture::from(promise).await?;
    let text: &str = Box::leak(text.as_string().ok_or(JsValue::NULL)?.into_boxed_str());
    KEPT.with_borrow_mut(|kept| kept.push((name, text)));
    Ok(text)
}
