//! How it is said: strings in, strings out, no DOM.

mod values;
pub mod axis;
pub mod chart;
pub mod charts;
pub mod concept;
pub mod formula;
pub mod markup;
pub mod notes;
pub mod numbers;
pub mod predict;
pub mod sentence;
pub mod svg;
pub mod table;
pub mod text;
