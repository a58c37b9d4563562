//! Where it runs: leptos, wasm-bindgen and web-sys live here only.

#![allow(
    unreachable_pub,
    reason = "wasm-bindgen and leptos make public items of what JavaScript and views reach"
)]
#![cfg_attr(
    not(all(feature = "doors", feature = "page")),
    allow(
        dead_code,
        reason = "what both modules share, neither uses up; natively and in lints both are on"
    )
)]

mod browser;
mod cell;
mod el;
mod figure;
mod figures;
mod film;
mod language;
mod options;
mod state;
mod texts;

#[cfg(feature = "doors")]
mod api;
#[cfg(feature = "doors")]
mod files;
#[cfg(feature = "doors")]
mod panels;

#[cfg(feature = "page")]
mod ask;
#[cfg(feature = "page")]
mod controls;
#[cfg(feature = "page")]
mod frame;
#[cfg(feature = "page")]
mod mount;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "page")]
mod rooms;
