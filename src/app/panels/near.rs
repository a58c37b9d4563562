//! What panels ask of the browser beyond what the page does.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, File, HtmlElement};

use crate::app::browser::{self, window};

/// Calls `act` with whether `element` is in or near the viewport, until the owner is disposed.
pub(super) fn observe_nearness(element: &HtmlElement, act: impl Fn(bool) + 'static) {
    let callback = Closure::<dyn FnMut(js_sys::Array)>::new(move |entries: js_sys::Array| {
        let last = entries
            .pop()
            .dyn_into::<web_sys::IntersectionObserverEntry>();
        if let Ok(entry) = last {
            act(entry.is_intersecting());
        }
    });
    let options = web_sys::IntersectionObserverInit::new();
    options.set_root_margin("200px");
    let function = callback.as_ref().unchecked_ref();
    let observer = web_sys::IntersectionObserver::new_with_options(function, &options);
    let Ok(observer) = observer else { return };
    observer.observe(element);
    let kept = StoredValue::new_local((observer, callback));
    on_cleanup(move || {
        kept.with_value(|(observer, _)| observer.disconnect());
    });
}

/// Scrolls to the element with this id, and keeps it where it is while what stands above it is filled, until the reader does
/// something.
pub(super) fn go_and_stay(id: &str) {
    browser::go_to(id);
    let document = window().and_then(|window| window.document());
    let found =
        document.and_then(|document| Some((document.body()?, document.get_element_by_id(id)?)));
    let (Some(window), Some((body, element))) = (window(), found) else {
        return;
    };
    let resized = Closure::<dyn FnMut()>::new(move || element.scroll_into_view()).into_js_value();
    let Ok(observer) = web_sys::ResizeObserver::new(resized.unchecked_ref()) else {
        return;
    };
    observer.observe(&body);
    let stop = Closure::<dyn FnMut()>::new(move || observer.disconnect()).into_js_value();
    for act in ["wheel", "pointerdown", "keydown", "touchstart"] {
        let _listening = window.add_event_listener_with_callback(act, stop.unchecked_ref());
    }
}

/// The link to documents that lie beside the page, which the page has where it is served.
fn documents() -> Option<Element> {
    let document = window()?.document()?;
    document
        .query_selector("footer[data-for=served] a")
        .ok()
        .flatten()
}

/// Whether documents lie beside the page.
pub(super) fn has_documents() -> bool {
    documents().is_some()
}

/// Says in the reader's language what the documents are; the page itself comes without such words.
pub(super) fn name_documents(label: &str) {
    if let Some(link) = documents() {
        link.set_text_content(Some(label));
    }
}

/// Milliseconds of a clock that only goes forward.
pub(super) fn now_millis() -> f64 {
    window()
        .and_then(|window| window.performance())
        .map_or(0.0, |performance| performance.now())
}

/// Calls `act` when the browser has drawn and taken events.
pub(super) fn soon(act: impl FnOnce() + 'static) {
    let callback = Closure::once_into_js(act);
    if let Some(window) = window() {
        let _asked = window
            .set_timeout_with_callback_and_timeout_and_arguments_0(callback.unchecked_ref(), 0);
    }
}

/// The text of a file, read lossily.
pub(super) async fn read_text(file: File) -> Result<String, JsValue> {
    let buffer = JsFuture::from(file.array_buffer()).await?;
    Ok(String::from_utf8_lossy(&js_sys::Uint8Array::new(&buffer).to_vec()).into_owned())
}
