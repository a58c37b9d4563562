//! Where it runs: leptos, wasm-bindgen and web-sys live here only.

#![allow(
    unreachable_pub,
    reason = "wasm-bindgen and leptos make public items of what JavaScript and views reach"
)]

#[cfg(feature = "doors")]
mod api;

#[cfg(feature = "page")]
mod ask;
#[cfg(feature = "page")]
mod browser;
#[cfg(feature = "page")]
mod cell;
#[cfg(feature = "page")]
mod controls;
#[cfg(feature = "page")]
mod el;
#[cfg(feature = "page")]
mod figures;
#[cfg(feature = "page")]
mod mount;
#[cfg(feature = "page")]
mod options;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "page")]
mod panels;
#[cfg(feature = "page")]
mod state;
#[cfg(feature = "page")]
mod widgets;
