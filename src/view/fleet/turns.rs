//! After the answer: the calls of a conversation under each policy, and what the model's template does.

use crate::core::engines;
use crate::core::scenario::{EngineKind, Scenario};
use crate::core::setup::Setup;
use crate::core::templates::{self, Template};
use crate::core::turns::{Conversation, Plan, Policy, needs_snapshot};
use crate::core::units::Tokens;
use crate::view::charts::turns::{Input, policy_name};
use crate::view::fleet::sources;
use crate::view::sentence;
use crate::view::table::{Cell, Table};
use crate::view::text::{Messages, fill};

/// Tokens of a block where no engine says: vLLM's; llama.cpp finds a prefix to the token.
fn block_size(setup: &Setup<'_>) -> Tokens {
    let unsaid = match setup.scenario.engine.kind {
        EngineKind::LlamaCpp => 1,
        EngineKind::Exact | EngineKind::Vllm | EngineKind::Sglang | EngineKind::TensorRtLlm => 16,
    };
    Tokens(engines::report(setup).block_size.unwrap_or(unsaid).max(1))
}

/// The calls of the scenario's conversation under each policy. A plan outside its bounds has none.
pub fn input(scenario: &Scenario, plan: &Plan) -> Input {
    let setup = Setup::new(scenario);
    let block_size = block_size(&setup);
    let policies = Policy::ALL.into_iter().filter_map(|policy| {
        let conversation = Conversation::new(scenario, plan, policy, block_size).ok()?;
        Some((policy, conversation.report(&setup)))
    });
    Input {
        policies: policies.collect(),
        block_size,
    }
}

/// What else should be known: the first peak, what the model's template does, and what engines must have kept.
pub fn facts(scenario: &Scenario, input: &Input, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let mut res = Vec::new();
    if let Some(first) = input.policies.first().and_then(|(_, calls)| calls.first()) {
        res.push(fill(
            &text.turns_peak,
            &[
                ("tokens", &numbers.integer(first.tokens.peak_tokens.0)),
                ("bytes", &numbers.bytes_decimal(first.peak_bytes)),
            ],
        ));
    }
    let model = sentence::model_name(scenario);
    res.push(match templates::find(&model) {
        Some(template) => fill(
            &text.turns_template,
            &[
                ("model", &model),
                ("family", template.family),
                ("policy", policy_name(template.policy, messages)),
                (
                    "policy_tools",
                    policy_name(template.policy_with_tools, messages),
                ),
                ("as_of", template.as_of),
                ("source", sources::said(template.source, messages)),
            ],
        ),
        None => fill(&text.turns_template_unknown, &[("model", &model)]),
    });
    if needs_snapshot(&Setup::new(scenario).whole_groups()) {
        res.push(text.turns_snapshot.to_string());
    }
    res.join(" ")
}

/// Every family's template.
pub fn templates_table(messages: &Messages) -> Table {
    let text = &messages.fleet;
    let words = |text: &str| Cell::Words(text.to_owned());
    let row = |template: &Template| {
        vec![
            words(template.family),
            words(policy_name(template.policy, messages)),
            words(policy_name(template.policy_with_tools, messages)),
            template
                .opt_in
                .map_or(Cell::Empty, |opt_in| words(sources::said(opt_in, messages))),
            words(template.as_of),
            words(sources::said(template.source, messages)),
        ]
    };
    let head = [
        &text.templates_family,
        &text.templates_without,
        &text.templates_with,
        &text.templates_opt_in,
        &text.templates_as_of,
        &text.templates_source,
    ];
    Table {
        head: head.map(|name| name.to_string()).to_vec(),
        rows: templates::ALL.iter().map(row).collect(),
    }
}
