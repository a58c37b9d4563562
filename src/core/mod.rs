//! What is true: pure, exact, without browser, language or clock; does not panic on any input.

pub mod engines;
pub mod fill;
pub mod fit;
pub mod gpus;
#[cfg(feature = "doors")]
pub mod import;
pub mod layer;
pub mod lengths;
pub mod life;
pub mod link;
pub mod model;
#[cfg(feature = "doors")]
pub mod outlook;
pub mod predict;
pub mod presets;
pub mod price;
pub mod report;
pub mod resolved;
mod rows;
pub mod scenario;
#[cfg(feature = "doors")]
pub mod serve;
#[cfg(feature = "doors")]
pub mod settings;
pub mod setup;
pub mod speed;
pub mod templates;
pub mod turns;
pub mod units;
pub mod weights;
