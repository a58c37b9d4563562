//! KVscope: what one reasoning request (prompt, thinking, answer) does to a GPU's memory.
//!
//! Three rooms, arrows only down: `app` (browser, wasm32 only) uses [`view`] (how it is said),
//! which uses [`core`] (what is true).

pub mod core;
pub mod view;

#[cfg(target_arch = "wasm32")]
pub mod app;
