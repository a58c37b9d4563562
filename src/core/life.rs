//! The cache over a request's life: prefill writes the prompt's rows at once, then each decode step adds one token.

use serde::Serialize;

use super::model::LayerGroup;
use super::scenario::Scenario;
use super::setup::{PhaseBytes, Request, Setup};
use super::speed::{self, SpeedConstants, SpeedInputs};
use super::units::{Bytes, Tokens, ascending};

/// A vertex of the life curve, which is straight between vertices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LifePoint {
    /// Decode steps done.
    pub step: u64,
    /// Tokens of one sample's sequence.
    pub tokens: Tokens,
    /// Bytes that the request keeps on all GPUs together, unsharded.
    pub bytes: Bytes,
    /// Of them what does not depend on the length.
    pub state_bytes: Bytes,
    /// Of them the prompt's rows.
    pub prompt_bytes: Bytes,
    /// Of them the thinking's rows.
    pub thinking_bytes: Bytes,
    /// Of them the answer's rows.
    pub answer_bytes: Bytes,
    /// Estimated seconds since the request was admitted.
    pub seconds: f64,
}

/// The cache after `step` decode steps, seconds not estimated.
pub fn at(scenario: &Scenario, groups: &[LayerGroup], setup: &Setup<'_>, step: u64) -> LifePoint {
    let request = Request::of(&scenario.at_step(step));
    let phases: PhaseBytes = request.phase_bytes(groups, setup.formats);
    LifePoint {
        step,
        tokens: request.context(),
        bytes: phases.total(),
        state_bytes: phases.state,
        prompt_bytes: phases.prompt,
        thinking_bytes: phases.thinking,
        answer_bytes: phases.answer,
        seconds: 0.0,
    }
}

/// The steps at which the curve bends: the ends of phases, and where a window is full.
pub fn vertex_steps(scenario: &Scenario, groups: &[LayerGroup]) -> Vec<u64> {
    let last = scenario.decode_steps();
    let mut res = vec![0, scenario.thinking_tokens.0.min(last), last];
    for cap in groups.iter().filter_map(|group| group.kind.cap()) {
        // The window is full at `cap` tokens; then the oldest phase's rows leave it one by one until they are gone.
        for base in [
            Tokens(0),
            scenario.prompt_tokens,
            scenario.prompt_tokens.plus(scenario.thinking_tokens),
        ] {
            let step = base.plus(cap).minus(scenario.prompt_tokens).0;
            if scenario.prompt_tokens.0 <= base.0.saturating_add(cap.0) && step < last {
                res.push(step);
            }
        }
    }
    ascending(&res)
}

/// The vertices of the curve, with the seconds that the prefill and the decode steps up to each take.
pub fn curve(
    setup: &Setup<'_>,
    groups: &[LayerGroup],
    inputs: &SpeedInputs,
    constants: &SpeedConstants,
) -> Vec<LifePoint> {
    let prompt = setup.scenario.prompt_tokens.0;
    let mut seconds = speed::prefill_seconds(inputs, constants, 0, prompt, 1).likely;
    let mut before = 0;
    vertex_steps(setup.scenario, groups)
        .into_iter()
        .map(|step| {
            let (from, to) = (prompt.saturating_add(before), prompt.saturating_add(step));
            seconds += speed::decode_seconds(inputs, constants, from, to).likely;
            before = step;
            LifePoint {
                seconds,
                ..at(setup.scenario, groups, setup, step)
            }
        })
        .collect()
}

/// Mean bytes over the decode steps: the area under the curve by its width. The prefilled prompt alone when nothing is
/// decoded.
pub fn mean_bytes(life: &[LifePoint]) -> Bytes {
    let (Some(first), Some(last)) = (life.first(), life.last()) else {
        return Bytes::ZERO;
    };
    let width = u128::from(last.step - first.step);
    if width == 0 || last.bytes.is_beyond() {
        return last.bytes;
    }
    let twice_area: u128 = life
        .windows(2)
        .filter_map(|pair| <&[LifePoint; 2]>::try_from(pair).ok())
        .map(|[a, b]| (u128::from(a.bytes.0) + u128::from(b.bytes.0)) * u128::from(b.step - a.step))
        .sum();
    Bytes(u64::try_from(twice_area / 2 / width).unwrap_or(u64::MAX))
}
