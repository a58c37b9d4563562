//! How it is said: strings in, strings out, no DOM.

pub mod notes;
pub mod numbers;
pub mod sentence;
pub mod text;
