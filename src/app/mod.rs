//! Where it runs: leptos, wasm-bindgen and web-sys live here only.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;

/// Starts the page inside `element`.
#[wasm_bindgen]
pub fn mount(element: web_sys::HtmlElement) {
    mount_to(element, || view! { <p>"KVscope"</p> }).forget();
}
