//! Every figure. A new one is a file here and a line in [`ALL`].

use super::chart::{ChartModel, Input};

#[cfg(feature = "doors")]
mod bars;
pub mod growth;
pub mod hbm;
#[cfg(feature = "doors")]
pub mod layers;
#[cfg(feature = "doors")]
pub mod pool;
#[cfg(feature = "doors")]
pub mod price;
#[cfg(feature = "doors")]
pub mod speed;
pub mod sweep;
pub mod tokens;
#[cfg(feature = "doors")]
pub mod turns;

/// A figure that a page or a link can ask for.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    /// Its id in links.
    pub id: &'static str,
    /// Its model for a scenario.
    pub model: fn(&Input<'_>) -> ChartModel,
}

/// Every figure, in the order of the page.
pub static ALL: &[Chart] = &[
    Chart {
        id: tokens::ID,
        model: tokens::model,
    },
    Chart {
        id: hbm::ID,
        model: hbm::model,
    },
    Chart {
        id: growth::ID,
        model: growth::model,
    },
    Chart {
        id: sweep::ID,
        model: sweep::model,
    },
    // Behind the first view.
    #[cfg(feature = "doors")]
    Chart {
        id: layers::ID,
        model: layers::model,
    },
];

/// The figure with this id.
pub fn get(id: &str) -> Option<&'static Chart> {
    ALL.iter().find(|chart| chart.id == id)
}
