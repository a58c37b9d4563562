//! Small pieces that several panels share.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

use crate::app::el::{El, ElRef, button, dynamic, el};
use crate::app::state::state;

/// Opens a modal dialog while it is the one that is open, and closes it when it is not.
pub(crate) fn open_while(dialog: ElRef, id: &'static str) {
    let open = state().dialog;
    Effect::new(move |_| {
        let Some(dialog) = dialog
            .get()
            .and_then(|dialog| dialog.dyn_into::<HtmlDialogElement>().ok())
        else {
            return;
        };
        if open.get() == id {
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
    id: &'static str,
    content: impl Fn() -> El + Send + 'static,
) -> El {
    let dialog = ElRef::new();
    open_while(dialog, id);
    let state = state();
    let close =
        button("✕", move || state.dialog.set("")).attr("aria-label", &*state.text.page.close);
    el("dialog")
        .reference(dialog)
        .class(format!("dialog-{id}"))
        .testid(id)
        .attr("aria-label", title)
        .on("close", move |_| {
            if state.dialog.peek() == id {
                state.dialog.set("");
            }
        })
        .child(el("header").child(el("h2").text(title)).child(close))
        .child(dynamic(move || {
            if state.dialog.get() == id {
                content().view()
            } else {
                ().into_any()
            }
        }))
}
