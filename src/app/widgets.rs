//! Small pieces that several panels share.

use super::cell::Cell;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

use super::el::{El, ElRef, button, dynamic, el};
use super::state::state;

/// Opens a modal dialog while the signal is true, and closes it when it is not.
pub(crate) fn open_while(dialog: ElRef, is_open: Cell<bool>) {
    Effect::new(move |_| {
        let Some(dialog) = dialog
            .get()
            .and_then(|dialog| dialog.dyn_into::<HtmlDialogElement>().ok())
        else {
            return;
        };
        if is_open.get() {
            if !dialog.open() {
                let _shown = dialog.show_modal();
            }
        } else {
            dialog.close();
        }
    });
}

/// A modal dialog with a title and a button that closes it. Its content is made when it is opened.
pub(crate) fn modal(
    title: &'static str,
    is_open: Cell<bool>,
    testid: &'static str,
    content: impl Fn() -> El + Send + 'static,
) -> El {
    let dialog = ElRef::new();
    open_while(dialog, is_open);
    let close =
        button("✕", move || is_open.set(false)).attr("aria-label", &*state().text.page.close);
    el("dialog")
        .reference(dialog)
        .testid(testid)
        .attr("aria-label", title)
        .on("close", move |_| is_open.set(false))
        .child(el("header").child(el("h2").text(title)).child(close))
        .child(dynamic(move || {
            if is_open.get() {
                content().view()
            } else {
                ().into_any()
            }
        }))
}
