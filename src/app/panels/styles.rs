//! The style sheet of the panels. It comes in their module, so that the first view does without it.

use std::cell::Cell;

use js_sys::{Array, Reflect};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use crate::app::browser::{self, window};

const STYLES: &str = concat!(
    include_str!("panels.css"),
    include_str!("predict.css"),
    include_str!("concept.css"),
);

/// The sheets of paper, and what of the page around us is not printed.
const PAPER: &str =
    "@page { size: A4; margin: 12mm } @media print { footer[data-for=served] { display: none } }";

#[wasm_bindgen]
extern "C" {
    type CSSStyleSheet;

    #[wasm_bindgen(constructor, catch)]
    fn new() -> Result<CSSStyleSheet, JsValue>;

    #[wasm_bindgen(method, js_name = replaceSync)]
    fn replace_sync(this: &CSSStyleSheet, text: &str);
}

thread_local! {
    static IS_THERE: Cell<bool> = const { Cell::new(false) };
}

/// Adds the style sheet to the document, once for all mounts. A browser that cannot make one shows the panels plainly.
pub(crate) fn add() {
    if IS_THERE.replace(true) {
        return;
    }
    let sheets = browser::document()
        .and_then(|document| Reflect::get(&document, &JsValue::from_str("adoptedStyleSheets")).ok())
        .and_then(|sheets| sheets.dyn_into::<Array>().ok());
    if let (Some(sheets), Ok(sheet)) = (sheets, CSSStyleSheet::new()) {
        // Of somebody's page nothing else is touched, where the browser can say so.
        let can_scope = window().is_some_and(|window| {
            Reflect::has(&window, &JsValue::from_str("CSSScopeRule")).unwrap_or(false)
        });
        sheet.replace_sync(&if can_scope {
            format!("@scope (:has(> .kvscope)) {{ {STYLES} }} {PAPER}")
        } else {
            format!("{STYLES} {PAPER}")
        });
        sheets.push(&sheet);
    }
}
