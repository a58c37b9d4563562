//! Prices: the lists are sound, and bills by hand.

use std::collections::BTreeSet;

use kvscope::core::gpus;
use kvscope::core::price::{self, ApiCost, api_cost, rent_cost};
use kvscope::core::speed::{Estimate, Rate, RequestSpeed, RequestTokens};

#[track_caller]
fn near(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() <= 1e-9 * expected.abs(),
        "{actual} is not {expected}"
    );
}

#[test]
fn lists_are_sound() {
    let prices = price::all();
    let text = include_str!("../../data/prices.json");
    let lines = text
        .lines()
        .filter(|line| line.starts_with("{\"id\""))
        .count();
    assert_eq!(prices.api.len(), lines, "an API price was lost");
    let lines = text
        .lines()
        .filter(|line| line.starts_with("{\"gpu\""))
        .count();
    assert_eq!(prices.rent.len(), lines, "a rent was lost");
    let vendors: BTreeSet<_> = prices.api.iter().map(|price| price.vendor).collect();
    assert_eq!(vendors.len(), 4, "{vendors:?}");
    let mut seen = BTreeSet::new();
    for price in &prices.api {
        let id = price.id;
        assert!(seen.insert(id), "{id} is listed twice");
        assert!(
            price.cached_input.is_none_or(|cached| cached < price.input),
            "{id} cached"
        );
        assert!(
            price.input < price.output,
            "{id}: output costs more than input"
        );
        assert!(
            !price.source.is_empty() && !price.as_of.is_empty(),
            "{id} source"
        );
    }
    for price in &prices.rent {
        let id = price.gpu;
        assert!(gpus::get(id).is_some(), "{id} is no accelerator");
        assert!(seen.insert(id), "{id} is listed twice");
        assert!((0.05..20.0).contains(&price.usd_per_gpu_hour), "{id} rent");
        assert!(price.as_of.starts_with("2026-"), "{id} date");
    }
    assert!(
        price::rent(gpus::DEFAULT_ID).is_some(),
        "the default can be rented"
    );
}

fn tokens(cached: u64, prompt: u64, thinking: u64, answer: u64) -> RequestTokens {
    RequestTokens {
        cached,
        prompt,
        thinking,
        answer,
    }
}

#[track_caller]
fn bill(id: &str, tokens: RequestTokens, expected: ApiCost) {
    let price = price::api(id).unwrap_or_else(|| panic!("no price {id}"));
    let cost = api_cost(price, tokens);
    near(cost.prompt, expected.prompt);
    near(cost.thinking, expected.thinking);
    near(cost.answer, expected.answer);
    near(cost.total, expected.total);
    near(cost.thinking_share, expected.thinking_share);
}

#[test]
fn api_bills_by_hand() {
    // o3: 512 × 2 + 4,000 × 8 + 300 × 8 = 1,024 + 32,000 + 2,400 = 35,424 millionths of a dollar.
    let cost = ApiCost {
        prompt: 0.001_024,
        thinking: 0.032,
        answer: 0.0024,
        total: 0.035_424,
        thinking_share: 32_000.0 / 35_424.0,
    };
    bill("o3", tokens(0, 512, 4000, 300), cost);
    // Claude Sonnet 5, 1,000 of 1,500 prompt tokens cached: 500 × 2 + 1,000 × 0.20 + (8,000 + 500) × 10.
    let cost = ApiCost {
        prompt: 0.0012,
        thinking: 0.08,
        answer: 0.005,
        total: 0.0862,
        thinking_share: 80.0 / 86.2,
    };
    bill("claude-sonnet-5", tokens(1000, 500, 8000, 500), cost);
    // Gemini 2.5 Pro, 200,000 tokens of prompt: 1.25 and 10; one more, cached or not: 2.50 and 15.
    let cost = ApiCost {
        prompt: 0.25,
        thinking: 0.01,
        answer: 0.01,
        total: 0.27,
        thinking_share: 1.0 / 27.0,
    };
    bill("gemini-2.5-pro", tokens(0, 200_000, 1000, 1000), cost);
    let cost = ApiCost {
        prompt: 0.500_000_125,
        thinking: 0.015,
        answer: 0.015,
        total: 0.530_000_125,
        thinking_share: 0.015 / 0.530_000_125,
    };
    bill("gemini-2.5-pro", tokens(1, 200_000, 1000, 1000), cost);
    // o1-pro has no price for cached tokens: they cost as others do.
    let cost = ApiCost {
        prompt: 0.15,
        total: 0.15,
        ..ApiCost::default()
    };
    bill("o1-pro", tokens(500, 500, 0, 0), cost);
    bill("o3", RequestTokens::default(), ApiCost::default());
}

#[test]
fn rent_by_hand() {
    let seconds = |low, likely, high, roofline| Estimate {
        low,
        likely,
        high,
        roofline,
    };
    let none = Estimate::default();
    let speed = RequestSpeed {
        time_to_first_token: none,
        thinking_start_step: none,
        thinking_end_step: none,
        last_step: none,
        total: seconds(120.0, 180.0, 270.0, 90.0),
        thinking: seconds(100.0, 162.0, 250.0, 80.0),
        per_output_token: none,
        tokens_per_second: Rate::default(),
        crossing_tokens: None,
    };
    // 4 GPUs at $3 an hour are $12 an hour, $0.60 for 180 s, $0.05 for each of 12 requests; 5,000 output tokens each.
    let cost = rent_cost(3.0, 4, 12, &speed, tokens(0, 512, 4500, 500));
    near(cost.per_request.likely, 0.05);
    near(cost.per_request.high, 0.075);
    near(cost.per_request.low, 1.0 / 30.0);
    near(cost.per_request.roofline, 0.025);
    near(cost.per_million_output_tokens.likely, 10.0);
    near(cost.thinking_share, 0.9);
    // Nothing runs: no division by nothing.
    let idle = RequestSpeed {
        total: none,
        thinking: none,
        ..speed
    };
    let cost = rent_cost(3.0, 4, 0, &idle, RequestTokens::default());
    assert_eq!((cost.per_request.likely, cost.thinking_share), (0.0, 0.0));
}
