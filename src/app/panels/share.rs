//! The link to the page as it is.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::widgets::modal;
use crate::app::browser;
use crate::app::cell::Cell;
use crate::app::el::{El, button, el};
use crate::app::state::state;

/// The link to the page as it is.
pub(crate) fn share() -> El {
    let state = state();
    let text = &state.text.panels;
    let copied = Cell::new(None::<bool>);
    let address = move || {
        // Follows what the reader changes while the dialog is open.
        browser::address_with(&state.fragment())
    };
    let copy = move || {
        let address = untrack(address);
        spawn_local(async move { copied.set(Some(browser::copy(address).await)) });
    };
    let outcome = move || match copied.get() {
        Some(true) => text.copied.to_string(),
        Some(false) => text.copy_refused.to_string(),
        None => String::new(),
    };
    let content = move || {
        let link = el("textarea")
            .attr("rows", "6")
            .attr("readonly", "")
            .testid("share-link")
            .attr("aria-label", &*text.share_title)
            .value_with(address);
        el("div")
            .child(el("p").text(&text.share_help))
            .child(link)
            .child(
                el("p")
                    .class("message")
                    .attr("role", "status")
                    .text_with(outcome),
            )
            .child(
                el("footer").child(
                    button(&state.text.page.copy, copy)
                        .class("primary")
                        .testid("share-copy"),
                ),
            )
    };
    modal(&text.share_title, "share", content)
}
