//! How fast a scenario's requests are and what one of them costs, with constants and prices that the reader may change.

use super::fit;
use super::price::{self, ApiCost, RentCost};
use super::report::speed_inputs;
use super::scenario::Scenario;
use super::settings::Settings;
use super::setup::{Request, Setup};
use super::speed::{self, Estimate, RequestSpeed, RequestTokens};

/// Points of the curve of time per token.
const POINTS: u64 = 64;

/// Speed and price of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// Requests that run at once: the scenario's, as far as they fit.
    pub num_seqs: u64,
    /// Their times.
    pub speed: RequestSpeed,
    /// Time per token by the tokens in the cache of each request, from the prompt to the end.
    pub steps: Vec<(u64, Estimate)>,
    /// GPUs in all.
    pub num_gpus: u64,
    /// Requests that fit at once, by their peak; a full server runs so many.
    pub max_concurrency: u64,
    /// What an API bills for one request.
    pub api: ApiCost,
    /// What one request costs on a full server of rented GPUs. `None`: no list names a rent and the reader gave none, or
    /// nothing fits.
    pub rent: Option<RentCost>,
    /// The times of requests on that server.
    pub full: RequestSpeed,
}

/// Speed and price of a scenario.
pub fn outlook(scenario: &Scenario, settings: &Settings) -> Outlook {
    let setup = Setup::new(scenario);
    let request = Request::of(scenario);
    let max_concurrency = fit::max_concurrency(&setup, &request, setup.budget().room());
    let num_seqs = max_concurrency.min(u64::from(scenario.num_seqs)).max(1);
    let tokens = RequestTokens {
        cached: 0,
        prompt: scenario.prompt_tokens.0,
        thinking: scenario.thinking_tokens.0,
        answer: scenario.answer_tokens.0,
    };
    let constants = &settings.constants;
    let inputs = speed_inputs(&setup, num_seqs);
    let full_inputs = speed_inputs(&setup, max_concurrency.max(1));
    let full = speed::request_speed(&full_inputs, constants, tokens);
    let (first, last) = (scenario.prompt_tokens.0, scenario.context_tokens().0);
    let mut places: Vec<u64> = (0..=POINTS)
        .map(|idx| first + (u128::from(last - first) * u128::from(idx) / u128::from(POINTS)) as u64)
        .map(|tokens| tokens.max(1))
        .collect();
    places.dedup();
    let step = |tokens| {
        (
            tokens,
            speed::decode_step_seconds(&inputs, constants, tokens),
        )
    };
    let num_gpus = setup.num_gpus();
    let rent = settings
        .prices
        .usd_per_gpu_hour(scenario.gpu.id)
        .filter(|_| 0 < max_concurrency)
        .map(|usd| price::rent_cost(usd, num_gpus, max_concurrency, &full, tokens));
    Outlook {
        num_seqs,
        speed: speed::request_speed(&inputs, constants, tokens),
        steps: places.into_iter().map(step).collect(),
        num_gpus,
        max_concurrency,
        api: price::api_cost(&settings.prices.api_price(), tokens),
        rent,
        full,
    }
}
