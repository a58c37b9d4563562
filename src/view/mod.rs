//! How it is said: strings in, strings out, no DOM.

pub mod axis;
pub mod chart;
pub mod charts;
#[cfg(feature = "doors")]
pub mod comparison;
pub mod concept;
pub mod export;
pub mod facts;
pub mod fields;
pub mod formula;
pub mod lengths;
pub mod markup;
pub mod model_edit;
pub mod notes;
pub mod numbers;
pub mod predict;
pub mod scrub;
pub mod sentence;
pub mod slider;
pub mod svg;
pub mod table;
pub mod text;
mod values;
