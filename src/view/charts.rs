//! Every figure. A new one is a file here and a line in [`ALL`].

use super::chart::{ChartModel, Input};
#[cfg(feature = "doors")]
use super::fleet::{self, runs::NamedRun};
#[cfg(feature = "doors")]
use super::text::Messages;
#[cfg(feature = "doors")]
use crate::core::{
    outlook::outlook,
    report::report,
    scenario::Scenario,
    serve::{ServeError, study::Run},
    settings::Settings,
};

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

/// The figures of a fleet, which need more than a report: the constants and prices, or runs of the simulator.
#[cfg(feature = "doors")]
pub const FLEET: [&str; 4] = [speed::ID, price::ID, turns::ID, pool::ID];

/// A figure of [`FLEET`] with these settings; `None` for another id. The figure of the pool simulates its runs to the end.
///
/// # Errors
///
/// Why there is nothing to simulate.
#[cfg(feature = "doors")]
pub fn fleet(
    id: &str,
    scenario: &Scenario,
    settings: &Settings,
    messages: &Messages,
) -> Option<Result<ChartModel, ServeError>> {
    let of_outlook = || (report(scenario), outlook(scenario, settings));
    match id {
        speed::ID => {
            let (report, outlook) = of_outlook();
            Some(Ok(speed::model(scenario, &report, &outlook, messages)))
        }
        price::ID => {
            let (report, outlook) = of_outlook();
            let prices = &settings.prices;
            Some(Ok(price::model(
                scenario, &report, &outlook, prices, messages,
            )))
        }
        turns::ID => {
            let input = fleet::turns::input(scenario, &settings.plan);
            Some(Ok(turns::model(&input, messages)))
        }
        pool::ID => Some(simulated(scenario, settings, messages)),
        _ => None,
    }
}

#[cfg(feature = "doors")]
fn simulated(
    scenario: &Scenario,
    settings: &Settings,
    messages: &Messages,
) -> Result<ChartModel, ServeError> {
    let runs = settings.study.runs(scenario, &settings.constants);
    let simulate = |run: &Run| {
        let mut simulation = run.start()?;
        simulation.advance(u64::MAX);
        Ok((fleet::runs::name(run, messages), simulation.report()))
    };
    let reports: Vec<_> = runs.iter().map(simulate).collect::<Result<_, _>>()?;
    let named: Vec<_> = reports
        .iter()
        .map(|(name, report)| NamedRun {
            name: name.clone(),
            report,
        })
        .collect();
    Ok(pool::model(&named, messages))
}
