//! Where it runs: leptos, wasm-bindgen and web-sys live here only.

#![allow(
    unreachable_pub,
    reason = "wasm-bindgen and leptos make public items of what JavaScript and views reach"
)]

mod api;
mod browser;
mod cell;
mod controls;
mod el;
mod figures;
mod mount;
mod options;
mod page;
mod panels;
mod state;
mod widgets;
