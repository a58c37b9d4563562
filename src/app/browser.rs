//! Everything the page asks of the browser. Calls that a sandboxed frame refuses are tried and their refusal is borne:
//! the page works without history, clipboard or storage.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, DataTransfer, Document, DragEvent, Element, HtmlAnchorElement,
    HtmlElement, Url, Window,
};

/// The window; absent in a worker and in Node.
pub(crate) fn window() -> Option<Window> {
    web_sys::window()
}

/// The document.
pub(crate) fn document() -> Option<Document> {
    window().and_then(|window| window.document())
}

/// An element without content that is not in the page yet.
#[cfg(feature = "page")]
pub(crate) fn division() -> Option<HtmlElement> {
    document()?.create_element("div").ok()?.dyn_into().ok()
}

/// The fragment of the page's address, without `#`.
pub(crate) fn fragment() -> String {
    let hash = window()
        .and_then(|window| window.location().hash().ok())
        .unwrap_or_default();
    hash.strip_prefix('#').unwrap_or(&hash).to_owned()
}

/// The page's address with this fragment.
pub(crate) fn address_with(fragment: &str) -> String {
    let href = window()
        .and_then(|window| window.location().href().ok())
        .unwrap_or_default();
    format!("{}#{fragment}", href.split('#').next().unwrap_or_default())
}

/// Writes the fragment: as a new entry of the history, or in place of the current one.
pub(crate) fn write_fragment(fragment: &str, is_new_entry: bool) {
    let Some(history) = window().and_then(|window| window.history().ok()) else {
        return;
    };
    let address = format!("#{fragment}");
    let _refused_in_sandbox = if is_new_entry {
        history.push_state_with_url(&JsValue::NULL, "", Some(&address))
    } else {
        history.replace_state_with_url(&JsValue::NULL, "", Some(&address))
    };
}

/// Saves `content` under `name`.
pub(crate) fn download(name: &str, mime: &str, content: &str) {
    let options = BlobPropertyBag::new();
    options.set_type(mime);
    let parts = js_sys::Array::of1(&JsValue::from_str(content));
    if let Ok(blob) = Blob::new_with_str_sequence_and_options(&parts, &options) {
        download_blob(name, &blob);
    }
}

fn download_blob(name: &str, blob: &Blob) {
    let (Some(document), Ok(url)) = (document(), Url::create_object_url_with_blob(blob)) else {
        return;
    };
    if let Some(anchor) = document
        .create_element("a")
        .ok()
        .and_then(|a| a.dyn_into::<HtmlAnchorElement>().ok())
    {
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
    }
    let _released = Url::revoke_object_url(&url);
}

/// Draws the SVG of a chart with the page's colours into a PNG of twice its size, and saves it.
pub(crate) async fn download_png(
    name: String,
    svg: String,
    width: u32,
    height: u32,
) -> Result<(), JsValue> {
    let document = document().ok_or(JsValue::NULL)?;
    let image = web_sys::HtmlImageElement::new()?;
    image.set_src(&format!(
        "data:image/svg+xml;charset=utf-8,{}",
        js_sys::encode_uri_component(&svg)
    ));
    JsFuture::from(image.decode()).await?;
    let canvas: web_sys::HtmlCanvasElement = document.create_element("canvas")?.dyn_into()?;
    canvas.set_width(width * 2);
    canvas.set_height(height * 2);
    let context: web_sys::CanvasRenderingContext2d =
        canvas.get_context("2d")?.ok_or(JsValue::NULL)?.dyn_into()?;
    context.draw_image_with_html_image_element_and_dw_and_dh(
        &image,
        0.0,
        0.0,
        f64::from(width * 2),
        f64::from(height * 2),
    )?;
    let save = Closure::once_into_js(move |blob: Option<Blob>| {
        if let Some(blob) = blob {
            download_blob(&name, &blob);
        }
    });
    canvas.to_blob(save.unchecked_ref())
}

/// The text that is pasted.
pub(crate) fn pasted(event: &web_sys::ClipboardEvent) -> Option<String> {
    event.clipboard_data()?.get_data("text/plain").ok()
}

/// The text field that has the focus.
pub(crate) fn focused_field() -> Option<Element> {
    let element = document()?.active_element()?;
    (element.get_attribute("type")? == "text").then_some(element)
}

/// Gives an element the focus.
pub(crate) fn focus(element: Option<HtmlElement>) {
    if let Some(element) = element {
        let _focused = element.focus();
    }
}

/// Copies `text`; `false` when the browser refuses.
pub(crate) async fn copy(text: String) -> bool {
    let Some(window) = window() else { return false };
    let clipboard = window.navigator().clipboard();
    // The property is undefined on pages that are not served securely.
    if clipboard.is_undefined() {
        return false;
    }
    JsFuture::from(clipboard.write_text(&text)).await.is_ok()
}

/// Opens the browser's dialog for printing.
pub(crate) fn print() {
    let _shown = window().map(|window| window.print());
}

/// Whether the reader asked for less motion.
pub(crate) fn prefers_reduced_motion() -> bool {
    matches("(prefers-reduced-motion: reduce)")
}

/// Whether the reader's system is dark.
pub(crate) fn prefers_dark() -> bool {
    matches("(prefers-color-scheme: dark)")
}

fn matches(query: &str) -> bool {
    let list = window().and_then(|window| window.match_media(query).ok().flatten());
    list.is_some_and(|list| list.matches())
}

/// Whether the `<details>` of this event is open.
pub(crate) fn is_open(event: &web_sys::Event) -> bool {
    let details = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    details.is_some_and(|details| details.has_attribute("open"))
}

/// Calls `act` with the width of `element` in CSS pixels, now and whenever it changes, until the owner is disposed.
pub(crate) fn observe_width(element: &HtmlElement, act: impl Fn(f64) + 'static) {
    act(f64::from(element.client_width()));
    let callback = Closure::<dyn FnMut(js_sys::Array)>::new(move |entries: js_sys::Array| {
        let last = entries.pop().dyn_into::<web_sys::ResizeObserverEntry>();
        if let Ok(entry) = last {
            act(entry.content_rect().width());
        }
    });
    let Ok(observer) = web_sys::ResizeObserver::new(callback.as_ref().unchecked_ref()) else {
        return;
    };
    observer.observe(element);
    let kept = StoredValue::new_local((observer, callback));
    on_cleanup(move || {
        kept.with_value(|(observer, _)| observer.disconnect());
    });
}

/// Calls `act` on each event of this name at the window, until the owner is disposed.
pub(crate) fn on_window(name: &'static str, act: impl Fn(web_sys::Event) + 'static) {
    let Some(window) = window() else { return };
    let callback = Closure::<dyn FnMut(web_sys::Event)>::new(act);
    let _listening =
        window.add_event_listener_with_callback(name, callback.as_ref().unchecked_ref());
    let kept = StoredValue::new_local(callback);
    on_cleanup(move || {
        kept.with_value(|callback| {
            let _gone = window_remove(name, callback.as_ref().unchecked_ref());
        });
    });
}

/// The files that were dropped, or else the text. They can be had only while the event is handled.
pub(crate) fn dropped(event: web_sys::Event) -> js_sys::Array {
    let transfer = event
        .dyn_into::<DragEvent>()
        .ok()
        .and_then(|event| event.data_transfer());
    let files = transfer.as_ref().and_then(DataTransfer::files);
    match files.filter(|files| 0 < files.length()) {
        Some(files) => js_sys::Array::from(&files),
        None => transfer
            .and_then(|transfer| transfer.get_data("text/plain").ok())
            .filter(|text| !text.is_empty())
            .map(JsValue::from)
            .into_iter()
            .collect(),
    }
}

fn window_remove(name: &str, callback: &js_sys::Function) -> Option<()> {
    window()?
        .remove_event_listener_with_callback(name, callback)
        .ok()
}

/// Sends the rest of a drag to the element it began on, also outside of it.
pub(crate) fn capture_pointer(event: &web_sys::PointerEvent) {
    if let Some(element) = event
        .current_target()
        .and_then(|target| target.dyn_into::<Element>().ok())
    {
        let _captured = element.set_pointer_capture(event.pointer_id());
    }
}

/// The same, and how wide the element is.
pub(crate) fn x_of_width(event: &web_sys::PointerEvent) -> Option<(f64, u32)> {
    let element: HtmlElement = event.current_target()?.dyn_into().ok()?;
    // A width in CSS pixels is not negative.
    Some((x_within(event), element.offset_width() as u32))
}

/// Pixels from the left edge of the element that listens to the pointer.
pub(crate) fn x_within(event: &web_sys::PointerEvent) -> f64 {
    let left = event
        .current_target()
        .and_then(|target| target.dyn_into::<Element>().ok())
        .map_or(0.0, |element| element.get_bounding_client_rect().left());
    f64::from(event.client_x()) - left
}

/// Calls `act` with the seconds since the last frame until it says that it is done.
pub(crate) fn each_frame(act: impl FnMut(f64) -> bool + 'static) {
    fn next(mut act: impl FnMut(f64) -> bool + 'static, before: Option<f64>) {
        let callback = Closure::once_into_js(move |now: f64| {
            if act(before.map_or(0.0, |before| (now - before) / 1000.0)) {
                next(act, Some(now));
            }
        });
        if let Some(window) = window() {
            let _asked = window.request_animation_frame(callback.unchecked_ref());
        }
    }
    next(act, None);
}

/// Moves the focus to the element with this id, which is there by the next frame.
pub(crate) fn focus_soon(id: String) {
    each_frame(move |_| {
        let element = document().and_then(|document| document.get_element_by_id(&id));
        if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            let _focused = element.focus();
        }
        false
    });
}

/// Calls `act` once, after `millis`; a later call with the same slot replaces it.
pub(crate) fn debounce(slot: StoredValue<Option<i32>>, millis: i32, act: impl FnOnce() + 'static) {
    if let (Some(window), Some(id)) = (window(), slot.get_value()) {
        window.clear_timeout_with_handle(id);
    }
    slot.set_value(after(millis, Box::new(act)));
}

/// Calls `act` once, after `millis`; gives what cancels it.
pub(crate) fn after(millis: i32, act: Box<dyn FnOnce()>) -> Option<i32> {
    let callback = Closure::once_into_js(act);
    window()?
        .set_timeout_with_callback_and_timeout_and_arguments_0(callback.unchecked_ref(), millis)
        .ok()
}

/// Scrolls the list of the element with this id, which is there by the next frame, so that it can be seen.
pub(crate) fn reveal_soon(id: String) {
    each_frame(move |_| {
        let element = document().and_then(|document| document.get_element_by_id(&id));
        if let Some(element) = element {
            let options = web_sys::ScrollIntoViewOptions::new();
            options.set_block(web_sys::ScrollLogicalPosition::Nearest);
            element.scroll_into_view_with_scroll_into_view_options(&options);
        }
        false
    });
}

/// Says what language the document is in, which the page is alone in.
pub(crate) fn set_language(lang: &str, tagline: &str) {
    let Some(document) = document() else { return };
    document.set_title(&format!("KVscope: {tagline}"));
    if let Some(root) = document.document_element() {
        let _set = root.set_attribute("lang", lang);
    }
}

/// Tells the program around the page what a reader made of its questions, as an event of the window with a plain object;
/// `frame.js` hands it to a page around the frame that asked.
pub(crate) fn tell_result(result: &serde_json::Value) {
    let init = web_sys::CustomEventInit::new();
    if let Ok(detail) = js_sys::JSON::parse(&result.to_string()) {
        init.set_detail(&detail);
    }
    let event = web_sys::CustomEvent::new_with_event_init_dict("kvscope:result", &init);
    if let (Some(window), Ok(event)) = (window(), event) {
        let _heard = window.dispatch_event(&event);
    }
}

/// Scrolls to the element with this id, and puts the focus there.
pub(crate) fn go_to(id: &str) {
    let element = document().and_then(|document| document.get_element_by_id(id));
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        element.scroll_into_view();
        let _focused = element.focus();
    }
}

/// Writes to the browser's console what a panic says; the boot script tells the reader.
pub(crate) fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        web_sys::console::error_1(&JsValue::from_str(&info.to_string()))
    }));
}
