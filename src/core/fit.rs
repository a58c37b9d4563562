//! What fits: requests at once, the longest thinking, the smallest tensor parallel size. Exact searches over the exact
//! function, never a division by bytes per token: windows, states and pages bend the curve.

pub mod fixes;
pub mod hardware;
pub mod verdict;

use super::engines;
use super::scenario::{Scenario, field};
use super::setup::{Request, Setup};
use super::units::{Bytes, Tokens};

/// The largest `n` from 0 to `max` for which `holds`, which is true up to some `n` and false after it. `None` when it
/// does not even hold for 0.
pub fn largest(max: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    if !holds(0) {
        return None;
    }
    // Most often a limit ends the search, and not memory.
    if holds(max) {
        return Some(max);
    }
    let (mut low, mut high) = (0, max - 1);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Some(low)
}

/// Requests that fit at once on all replicas together, by their peak.
pub fn max_concurrency(setup: &Setup<'_>, request: &Request, pool: Option<Bytes>) -> u64 {
    // A request that keeps nothing fits any number of times; the field's own bound is the answer then.
    let most = field("num_seqs")
        .and_then(|field| field.kind.bounds())
        .map_or(1, |bounds| bounds.max);
    let reserved = engines::reserved_by_count(setup, request);
    let fits =
        |n| pool.is_some_and(|pool| reserved(n) <= pool) && engines::takes(setup, request, n);
    let per_replica = largest(most, fits).unwrap_or(0);
    per_replica.saturating_mul(u64::from(setup.scenario.data_parallel_size.max(1)))
}

/// The longest sequence: what the model was trained for, or what the engine was told to take when that is less. `None`:
/// neither is known.
pub fn longest_sequence(scenario: &Scenario) -> Option<Tokens> {
    let trained = scenario.model.config.max_position_embeddings;
    let limits = [trained, scenario.engine.max_model_len];
    limits.into_iter().flatten().min()
}

/// Thinking tokens that [`longest_sequence`] leaves, or the field's bound where it is unknown.
pub fn thinking_limit(setup: &Setup<'_>) -> Tokens {
    let bound = field("thinking_tokens")
        .and_then(|field| field.kind.bounds())
        .map_or(0, |bounds| bounds.max);
    let scenario = setup.scenario;
    let taken = scenario.prompt_tokens.plus(scenario.answer_tokens);
    longest_sequence(scenario).map_or(Tokens(bound), |context| {
        context.minus(taken).min(Tokens(bound))
    })
}

/// The longest thinking with which the scenario's requests fit, in no longer sequence than [`longest_sequence`]. `None`:
/// they do not fit even without thinking.
pub fn max_thinking_tokens(setup: &Setup<'_>, pool: Option<Bytes>) -> Option<Tokens> {
    let pool = pool?;
    let request = Request::of(setup.scenario);
    let num_seqs = setup.seqs_per_replica();
    let fits = |thinking| {
        let request = Request {
            thinking: Tokens(thinking),
            ..request
        };
        engines::reserved_bytes(setup, &request, num_seqs) <= pool
            && engines::takes(setup, &request, num_seqs)
    };
    largest(thinking_limit(setup).0, fits).map(Tokens)
}
