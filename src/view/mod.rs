//! How it is said: strings in, strings out, no DOM.

pub mod axis;
pub mod chart;
pub mod charts;
#[cfg(feature = "doors")]
pub mod comparison;
#[cfg(feature = "doors")]
pub mod concept;
#[cfg(feature = "doors")]
pub mod export;
pub mod facts;
pub mod fields;
#[cfg(feature = "doors")]
pub mod files_read;
#[cfg(feature = "doors")]
pub mod fleet;
#[cfg(feature = "doors")]
pub mod formula;
#[cfg(feature = "doors")]
pub mod lengths;
pub mod markup;
pub mod model_edit;
pub mod notes;
pub mod numbers;
#[cfg(feature = "doors")]
pub mod predict;
pub mod scrub;
pub mod sentence;
pub mod slider;
pub mod snippet;
pub mod svg;
#[cfg(feature = "doors")]
pub mod table;
pub mod text;
#[cfg(feature = "doors")]
mod values;
