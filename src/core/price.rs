//! Money, two ways: rented GPUs shared by the requests that run at once, and an API that bills thinking as output.
//!
//! Prices are dated copies of public lists, not live ones, and every one of them is an editable input.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::speed::{Estimate, RequestSpeed, RequestTokens};

/// What an API bills, in US dollars for 1,000,000 tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiPrice {
    /// The name in links and JSON.
    pub id: &'static str,
    /// The name shown.
    pub name: &'static str,
    /// Who sells it.
    pub vendor: &'static str,
    /// Prompt tokens.
    pub input: f64,
    /// Prompt tokens that the vendor's cache already held; `None` where there is no such price.
    pub cached_input: Option<f64>,
    /// Output tokens. All four vendors bill thinking as output, whether it is shown or not.
    pub output: f64,
    /// Other prices for long prompts.
    pub long_prompt: Option<LongPromptPrice>,
    /// The day of the list.
    pub as_of: &'static str,
    /// The list.
    pub source: &'static str,
    /// What else should be known.
    pub note: Option<PriceNote>,
}

/// What should be known of a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceNote {
    /// The list says that the model, or its name, is retired from this day on.
    Retired(&'static str),
    /// The price holds through this day.
    Through(&'static str),
    /// A price of the past.
    History,
}

/// Prices of a request whose prompt is long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LongPromptPrice {
    /// Prompts of more tokens than this.
    pub above_tokens: u64,
    /// Prompt tokens, in US dollars for 1,000,000.
    pub input: f64,
    /// Output tokens, thinking included.
    pub output: f64,
}

/// What a provider asks for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RentPrice {
    /// Id of the accelerator.
    pub gpu: &'static str,
    /// US dollars for one GPU and hour, on demand.
    pub usd_per_gpu_hour: f64,
    /// The day of the list.
    pub as_of: &'static str,
    /// The list.
    pub source: &'static str,
}

/// The price lists of `data/prices.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub struct Prices {
    /// APIs of reasoning models, a vendor's newest first.
    pub api: Vec<ApiPrice>,
    /// Rented GPUs.
    pub rent: Vec<RentPrice>,
}

/// The price lists.
pub fn all() -> &'static Prices {
    static PRICES: OnceLock<Prices> = OnceLock::new();
    PRICES.get_or_init(|| {
        serde_json::from_str(include_str!("../../data/prices.json")).unwrap_or_default()
    })
}

/// The API price with this id.
pub fn api(id: &str) -> Option<&'static ApiPrice> {
    all().api.iter().find(|price| price.id == id)
}

/// The rent of the accelerator with this id, where a list names it.
pub fn rent(gpu: &str) -> Option<&'static RentPrice> {
    all().rent.iter().find(|price| price.gpu == gpu)
}

/// The bill of one request, in US dollars, by what it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ApiCost {
    /// The prompt, cached or not.
    pub prompt: f64,
    /// Thinking.
    pub thinking: f64,
    /// The answer.
    pub answer: f64,
    /// All of it.
    pub total: f64,
    /// Share of the bill that is thinking, which the reader of the answer may never see.
    pub thinking_share: f64,
}

/// What an API bills for one request: each part of the tokens at its price.
///
/// ```
/// # use kvscope::core::{price, speed::RequestTokens};
/// // 512 prompt tokens at $1.25, 4,000 + 300 output tokens at $10 for a million.
/// let tokens = RequestTokens { cached: 0, prompt: 512, thinking: 4000, answer: 300 };
/// let cost = price::api("gpt-5").map(|price| price::api_cost(price, tokens)).unwrap_or_default();
/// assert!((cost.total - 0.04364).abs() < 1e-9);
/// ```
pub fn api_cost(price: &ApiPrice, tokens: RequestTokens) -> ApiCost {
    let prompt_tokens = tokens.cached.saturating_add(tokens.prompt);
    let (input, output) = match price.long_prompt {
        Some(long) if long.above_tokens < prompt_tokens => (long.input, long.output),
        _ => (price.input, price.output),
    };
    let bill = |tokens: u64, usd: f64| tokens as f64 * usd / 1e6;
    let prompt =
        bill(tokens.prompt, input) + bill(tokens.cached, price.cached_input.unwrap_or(input));
    let thinking = bill(tokens.thinking, output);
    let answer = bill(tokens.answer, output);
    let total = prompt + thinking + answer;
    ApiCost {
        prompt,
        thinking,
        answer,
        total,
        thinking_share: share(thinking, total),
    }
}

/// The cost of one request on rented GPUs, in US dollars, with the range of its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RentCost {
    /// One request, when the GPUs are shared by all that run at once and never idle.
    pub per_request: Estimate,
    /// One million thinking and answer tokens at that cost.
    pub per_million_output_tokens: Estimate,
    /// Share of the time, and so of the bill, that goes by while requests think.
    pub thinking_share: f64,
}

/// What one request costs on `num_gpus` rented GPUs: their rent for the time of a batch, shared by its requests.
///
/// `rent × GPUs × seconds / 3,600 / requests at once`. The range is the estimate's of the time; idle hours, storage and
/// traffic are not in it.
pub fn rent_cost(
    usd_per_gpu_hour: f64,
    num_gpus: u64,
    num_seqs: u64,
    speed: &RequestSpeed,
    tokens: RequestTokens,
) -> RentCost {
    let usd_per_second = usd_per_gpu_hour * num_gpus as f64 / 3600.0;
    let per_request = speed.total.times(usd_per_second / num_seqs.max(1) as f64);
    let outputs = tokens.thinking.saturating_add(tokens.answer).max(1);
    RentCost {
        per_request,
        per_million_output_tokens: per_request.times(1e6 / outputs as f64),
        thinking_share: share(speed.thinking.likely, speed.total.likely),
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if 0.0 < whole { part / whole } else { 0.0 }
}
