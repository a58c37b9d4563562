//! What is true: pure, exact, without browser, language or clock; does not panic on any input.

pub mod gpus;
pub mod import;
pub mod layer;
pub mod model;
pub mod units;
pub mod weights;
