//! After the answer: what the next turn reuses, against figures worked by hand.

use kvscope::core::scenario::{Problem, Scenario};
use kvscope::core::setup::Setup;
use kvscope::core::templates;
use kvscope::core::turns::{
    Conversation, Exchange, Plan, Policy, TurnReport, TurnTokens, needs_snapshot,
};
use kvscope::core::units::{Bytes, Tokens};

use Policy::{Interleaved, Preserved, Strip};

const BLOCK: Tokens = Tokens(16);

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    res
}

fn conversation(pairs: &[(&str, &str)], plan: &Plan, policy: Policy) -> Conversation {
    Conversation::new(&scenario(pairs), plan, policy, BLOCK)
        .unwrap_or_else(|error| panic!("{plan:?}: {error:?}"))
}

fn report(pairs: &[(&str, &str)], plan: &Plan, policy: Policy) -> Vec<TurnReport> {
    let scenario = scenario(pairs);
    conversation(pairs, plan, policy).report(&Setup::new(&scenario))
}

/// Prompt, reused, prefilled and dead tokens of an exchange.
fn row(tokens: &TurnTokens) -> [u64; 4] {
    [
        tokens.prompt_tokens.0,
        tokens.reused_tokens.0,
        tokens.prefilled_tokens.0,
        tokens.dead_tokens.0,
    ]
}

#[track_caller]
fn check(pairs: &[(&str, &str)], plan: &Plan, policy: Policy, expected: &[[u64; 4]]) {
    let rows: Vec<_> = conversation(pairs, plan, policy)
        .tokens()
        .iter()
        .map(row)
        .collect();
    assert_eq!(rows, expected, "{pairs:?} {policy:?}");
}

fn turns(num_turns: u64) -> Plan {
    Plan {
        num_turns,
        ..Plan::default()
    }
}

#[test]
fn a_follow_up_of_100_tokens_to_the_default() {
    // 512 is 32 whole blocks; the answer of 300 and the new 100 are prefilled. 4,811 tokens were written.
    for policy in [Strip, Interleaved] {
        check(
            &[],
            &turns(2),
            policy,
            &[[512, 0, 512, 0], [912, 512, 400, 4811 - 512]],
        );
    }
    // 300 whole blocks of 16 are 4,800.
    check(
        &[],
        &turns(2),
        Preserved,
        &[[512, 0, 512, 0], [4912, 4800, 112, 11]],
    );
    // The second turn's sequence wrote 912 + 4,299 tokens; its prompt has 57 whole blocks.
    check(
        &[],
        &turns(3),
        Strip,
        &[
            [512, 0, 512, 0],
            [912, 512, 400, 4299],
            [1312, 912, 400, 5211 - 912],
        ],
    );
    check(
        &[("thinking_tokens", "0")],
        &turns(2),
        Strip,
        // Nothing is stripped: 811 were written, 50 whole blocks are 800.
        &[[512, 0, 512, 0], [912, 800, 112, 11]],
    );
}

#[test]
fn bytes_of_the_second_turn() {
    let strip = report(&[], &turns(2), Strip);
    let preserved = report(&[], &turns(2), Preserved);
    let second = |reports: &[TurnReport]| *reports.last().expect("two turns");
    assert_eq!(second(&strip).prompt_bytes, Bytes(298_844_160));
    assert_eq!(second(&preserved).prompt_bytes, Bytes(1_609_564_160));
    // 4,000 × 327,680 B are the thinking; the answer is dead with it, but for its last token, which was never written.
    assert_eq!(second(&strip).dead_thinking_bytes, Bytes(1_310_720_000));
    assert_eq!(second(&strip).dead_bytes, Bytes(4299 * 327_680));
    assert_eq!(second(&strip).tokens.recomputed_tokens, Tokens(300));
    assert_eq!(second(&preserved).tokens.recomputed_tokens, Tokens(12));
    assert_eq!(second(&preserved).dead_thinking_bytes, Bytes(0));
    // The first response's peak does not depend on what later happens to its thinking.
    for policy in Policy::ALL {
        let first = report(&[], &turns(2), policy)
            .first()
            .copied()
            .expect("a first turn");
        assert_eq!(first.tokens.peak_tokens, Tokens(4812));
        assert_eq!(first.peak_bytes, Bytes(1_576_796_160));
    }
}

#[test]
fn what_5000_thinking_tokens_leave() {
    // 64 and 80 layers × 2 × 8 × 128 × 2 B a token.
    let rows = [
        ("qwq-32b", 1_310_720_000),
        ("deepseek-r1-distill-llama-70b", 1_638_400_000),
    ];
    for (model, bytes) in rows {
        let mut scenario = scenario(&[("thinking_tokens", "5000")]);
        if let Err(error) = scenario.set("model", model) {
            panic!("{model}: {error:?}");
        }
        let conversation = Conversation::new(&scenario, &turns(4), Strip, BLOCK)
            .unwrap_or_else(|error| panic!("{error:?}"));
        let reports = conversation.report(&Setup::new(&scenario));
        let left: Vec<_> = reports
            .iter()
            .map(|report| report.dead_thinking_bytes.0)
            .collect();
        assert_eq!(left, [0, bytes, bytes, bytes], "{model}");
    }
}

#[test]
fn tool_calls_part_the_policies() {
    // 4,000 thinking in two halves around one call of 50 and a result of 500, then a follow-up of 100.
    let plan = Plan {
        tool_calls: 1,
        ..Plan::default()
    };
    let by_policy = [
        (
            Strip,
            [
                [512, 0, 512, 0],
                // The call is prefilled again behind the 512.
                [1062, 512, 550, 2561 - 512],
                // 1,062 is 66 whole blocks and 6 tokens.
                [1462, 1056, 406, 1062 + 2299 - 1056],
                [2012, 1456, 556, 1462 + 2049 - 1456],
            ],
        ),
        (
            Interleaved,
            [
                [512, 0, 512, 0],
                // 2,561 of 2,562 tokens were written: 160 whole blocks.
                [3062, 2560, 502, 1],
                // The new message drops both halves.
                [1462, 512, 950, 3062 + 2299 - 512],
                // 1,462 + 2,049 written: 219 whole blocks.
                [4012, 3504, 508, 7],
            ],
        ),
        (
            Preserved,
            [
                [512, 0, 512, 0],
                [3062, 2560, 502, 1],
                // 3,062 + 2,299 written: 335 whole blocks.
                [5462, 5360, 102, 1],
                // 5,462 + 2,049 written: 469 whole blocks.
                [8012, 7504, 508, 7],
            ],
        ),
    ];
    for (policy, expected) in by_policy {
        check(&[], &plan, policy, &expected);
    }
}

#[test]
fn samples_and_shared_prefixes_count() {
    // One of four samples goes on; the other three are dead from where they parted, 4,299 written tokens each.
    let samples = [("num_samples", "4")];
    check(
        &samples,
        &turns(2),
        Strip,
        &[[512, 0, 512, 0], [912, 512, 400, 4 * 4299]],
    );
    check(
        &samples,
        &turns(2),
        Preserved,
        &[[512, 0, 512, 0], [4912, 4800, 112, 11 + 3 * 4299]],
    );
    let first = report(&samples, &turns(2), Strip)
        .first()
        .copied()
        .expect("a first turn");
    assert_eq!(first.tokens.peak_tokens, Tokens(512 + 4 * 4300));
    assert_eq!(first.peak_bytes, Bytes((512 + 4 * 4300) * 327_680));
    // 500 shared tokens are 31 whole blocks; all 512 shared still leave the last token to compute.
    check(
        &[("shared_prefix_tokens", "500")],
        &turns(1),
        Strip,
        &[[512, 496, 16, 0]],
    );
    check(
        &[("shared_prefix_tokens", "512")],
        &turns(1),
        Strip,
        &[[512, 496, 16, 0]],
    );
}

#[test]
fn pages_headers_and_freeing_at_finish() {
    let second = |change: &dyn Fn(&mut Conversation), policy| {
        let mut conversation = conversation(&[], &turns(2), policy);
        change(&mut conversation);
        row(conversation.tokens().last().expect("two turns"))
    };
    let page_1 = |conversation: &mut Conversation| conversation.block_size = Tokens(1);
    assert_eq!(second(&page_1, Strip), [912, 512, 400, 4299]);
    assert_eq!(second(&page_1, Preserved), [4912, 4811, 101, 0]);
    // The prompt ended in `<think>\n`; the history does not, so the last block of the prompt is lost too.
    let header = |conversation: &mut Conversation| conversation.changed_header = Tokens(2);
    assert_eq!(second(&header, Strip), [912, 496, 416, 4811 - 496]);
    assert_eq!(second(&header, Preserved), [4912, 4800, 112, 11]);
    // SGLang's option frees thinking and answer when the response ends: nothing dead stays, nothing kept can be reused.
    let frees = |conversation: &mut Conversation| conversation.frees_at_finish = true;
    assert_eq!(second(&frees, Strip), [912, 512, 400, 0]);
    assert_eq!(second(&frees, Preserved), [4912, 512, 4400, 0]);
}

/// Every token by its own name, blocks compared one by one: the slow way to the same numbers.
fn slow_reused(
    conversation: &Conversation,
    history: &[Vec<(usize, char, u64)>],
    idx: usize,
) -> u64 {
    let block_size = usize::try_from(conversation.block_size.0).expect("small");
    let Some((prompt, before)) = history
        .get(idx)
        .zip(idx.checked_sub(1).map(|i| &history[i]))
    else {
        return 0;
    };
    let prompt_len = slow_prompt_len(conversation, idx);
    let written = before.len() - 1;
    let mut blocks = 0;
    while (blocks + 1) * block_size <= written.min(prompt_len - 1)
        && before[..(blocks + 1) * block_size] == prompt[..(blocks + 1) * block_size]
    {
        blocks += 1;
    }
    (blocks * block_size) as u64
}

fn slow_prompt_len(conversation: &Conversation, idx: usize) -> usize {
    let exchange = conversation.exchanges[idx];
    slow_sequence(conversation, idx).len() - (exchange.thinking.0 + exchange.answer.0) as usize
}

fn slow_sequence(conversation: &Conversation, idx: usize) -> Vec<(usize, char, u64)> {
    let user_turn = |of: usize| {
        let until = conversation.exchanges.iter().take(of + 1).skip(1);
        until.filter(|exchange| exchange.is_user).count()
    };
    let mut res = Vec::new();
    for (past, exchange) in conversation.exchanges.iter().take(idx + 1).enumerate() {
        let keeps = past == idx
            || match conversation.policy {
                Strip => false,
                Interleaved => user_turn(past) == user_turn(idx),
                Preserved => true,
            };
        res.extend((0..exchange.new_tokens.0).map(|i| (past, 'n', i)));
        if keeps {
            res.extend((0..exchange.thinking.0).map(|i| (past, 't', i)));
        }
        res.extend((0..exchange.answer.0).map(|i| (past, 'a', i)));
    }
    res
}

#[test]
fn as_comparing_token_by_token() {
    let lengths = [1, 2, 3, 5, 8, 13];
    for policy in Policy::ALL {
        for block_size in [1, 2, 3, 4, 7, 16] {
            for seed in 0..40_usize {
                let pick = |idx: usize, step: usize| lengths[(seed * 7 + idx * step + idx) % 6];
                let exchanges: Vec<_> = (0..6)
                    .map(|idx| Exchange {
                        is_user: (seed + idx) % 3 != 1,
                        new_tokens: Tokens(pick(idx, 1)),
                        thinking: Tokens(pick(idx, 2) - 1),
                        answer: Tokens(pick(idx, 3)),
                    })
                    .collect();
                let conversation = Conversation {
                    exchanges,
                    policy,
                    block_size: Tokens(block_size),
                    num_samples: 1,
                    shared_prefix: Tokens(0),
                    changed_header: Tokens(0),
                    frees_at_finish: false,
                };
                let history: Vec<_> = (0..6)
                    .map(|idx| slow_sequence(&conversation, idx))
                    .collect();
                for (idx, tokens) in conversation.tokens().iter().enumerate() {
                    assert_eq!(
                        tokens.prompt_tokens.0,
                        slow_prompt_len(&conversation, idx) as u64,
                        "{conversation:?} at {idx}"
                    );
                    assert_eq!(
                        tokens.reused_tokens.0,
                        slow_reused(&conversation, &history, idx),
                        "{conversation:?} at {idx}"
                    );
                }
            }
        }
    }
}

#[test]
fn preserving_holds_most_and_prefills_least() {
    for tool_calls in [0, 1, 5, 20] {
        let plan = Plan {
            num_turns: 10,
            tool_calls,
            ..Plan::default()
        };
        let totals: [[u64; 3]; 3] = Policy::ALL.map(|policy| {
            let tokens = conversation(&[], &plan, policy).tokens();
            let sum = |of: &dyn Fn(&TurnTokens) -> u64| tokens.iter().map(of).sum::<u64>();
            [
                sum(&|tokens| tokens.prompt_tokens.0),
                tokens.last().expect("turns").total_dead_tokens.0,
                sum(&|tokens| tokens.prefilled_tokens.0),
            ]
        });
        let [strip, interleaved, preserved] = totals;
        let said = format!("{tool_calls} calls: {strip:?} {interleaved:?} {preserved:?}");
        assert!(
            strip[0] <= interleaved[0] && interleaved[0] < preserved[0],
            "prompts of {said}"
        );
        // Interleaved can leave more than strip: its chain is cut before the tools' results, not only before the answer.
        assert!(
            preserved[1] < strip[1] && strip[1] <= interleaved[1],
            "dead of {said}"
        );
        assert!(
            preserved[2] < strip[2] && strip[2] <= interleaved[2],
            "prefilled of {said}"
        );
    }
}

#[test]
fn a_plan_outside_its_bounds_is_named() {
    let plan = Plan {
        num_turns: 51,
        ..Plan::default()
    };
    let error = Conversation::new(&Scenario::default(), &plan, Strip, BLOCK)
        .expect_err("51 turns are too many");
    assert_eq!(
        (error.key.as_str(), error.given.as_str()),
        ("num_turns", "51")
    );
    assert!(
        matches!(error.problem, Problem::OutOfBounds(bounds) if bounds.max == 50),
        "{error:?}"
    );
}

#[test]
fn windows_and_states_need_a_snapshot() {
    let rows = [
        ("llama-3.1-70b", false),
        ("deepseek-r1", false),
        ("gpt-oss-120b", true),
        ("qwen3-next-80b-a3b", true),
    ];
    for (model, expected) in rows {
        let scenario = scenario(&[("model", model)]);
        let groups = Setup::new(&scenario).whole_groups();
        assert_eq!(needs_snapshot(&groups), expected, "{model}");
    }
}

#[test]
fn families_by_name() {
    let rows = [
        ("QwQ-32B", "QwQ-32B", Strip, Strip),
        (
            "DeepSeek R1 Distill Llama 70B",
            "DeepSeek-R1-Distill",
            Strip,
            Strip,
        ),
        ("DeepSeek-V4", "DeepSeek-V4", Strip, Preserved),
        ("Qwen3.5-35B-A3B", "Qwen3.5", Strip, Interleaved),
        ("qwen3-32b", "Qwen3", Strip, Interleaved),
        ("gpt-oss-120b", "gpt-oss (harmony)", Strip, Interleaved),
        (
            "Seed-OSS-36B",
            "Seed-OSS, Cohere2MoE, Bielik v3",
            Preserved,
            Preserved,
        ),
    ];
    for (name, family, policy, policy_with_tools) in rows {
        let template = templates::find(name).unwrap_or_else(|| panic!("{name} has a family"));
        assert_eq!(
            (template.family, template.policy, template.policy_with_tools),
            (family, policy, policy_with_tools),
            "{name}"
        );
    }
    assert_eq!(templates::find("Llama 3.1 70B"), None);
    for template in templates::ALL {
        assert!(
            !template.as_of.is_empty() && !template.source.is_empty(),
            "{} is dated and sourced",
            template.family
        );
    }
}
