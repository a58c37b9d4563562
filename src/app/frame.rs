//! What a mounted page tells the program around it, and takes from it: `frame.js` turns it into messages.

use js_sys::Function;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;

use crate::core::link;

use super::mount::Mount;
use super::options::PageOptions;
use super::state::State;

/// Calls `changed` now and after every change, with what [`Mount::link`] gives.
pub(super) fn tell(state: State, changed: Function) {
    Effect::new(move |_| {
        // A listener that throws is no trouble of the page's.
        let _heard = changed.call1(&JsValue::NULL, &JsValue::from_str(&state.fragment()));
    });
}

#[wasm_bindgen]
impl Mount {
    /// The fragment of the page as it is.
    #[wasm_bindgen(getter, skip_typescript)]
    pub fn link(&self) -> String {
        untrack(|| self.state.fragment())
    }

    /// Tokens of a request, bytes per token, bytes of a request, requests at once, the longest thinking that fits (or NaN),
    /// and whether the scenario fits (1 or 0).
    #[wasm_bindgen(getter, skip_typescript)]
    pub fn figures(&self) -> Vec<f64> {
        let report = untrack(|| self.state.report());
        let exact = |number: u64| number as f64;
        vec![
            exact(report.tokens.total.0),
            exact(report.kv_cache.bytes_per_token.0),
            exact(report.kv_cache.per_seq_bytes.0),
            exact(report.fit.max_concurrency),
            report
                .fit
                .max_thinking_tokens
                .map_or(f64::NAN, |n| exact(n.0)),
            f64::from(u8::from(report.fit.fits)),
        ]
    }

    /// Shows the page with these pairs changed, of the scenario and of the page's options, and all else as it is.
    #[wasm_bindgen(skip_typescript)]
    pub fn set(&self, pairs: &str) {
        let link = link::with_pairs(&self.link(), pairs);
        self.state.open(&link, Some(PageOptions::default()));
    }
}
