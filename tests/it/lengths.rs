//! The six requests to start from, in tokens and bytes.

use kvscope::core::lengths;
use kvscope::core::report::report;
use kvscope::core::scenario::{Scenario, field};
use kvscope::view::lengths as view;
use kvscope::view::text::ENGLISH;

#[test]
fn the_six_requests() {
    // 327,680 B for each token of the default model.
    let rows = [
        ("chat-question", [200, 350, 150], 229_376_000),
        ("logic-puzzle", [512, 4000, 300], 1_576_796_160),
        ("aime-problem", [150, 12_000, 700], 4_210_688_000),
        ("hard-science", [300, 18_000, 600], 6_193_152_000),
        ("long-document", [12_000, 1500, 350], 4_538_368_000),
        ("runs-to-the-cap", [512, 80_920, 1000], 27_011_317_760),
    ];
    let ids: Vec<_> = lengths::all().iter().map(|lengths| lengths.id).collect();
    assert_eq!(ids, rows.map(|(id, _, _)| id));
    for (id, tokens, bytes) in rows {
        let lengths = lengths::get(id).expect("it is listed");
        let mut scenario = Scenario::default();
        lengths.apply(&mut scenario);
        let report = report(&scenario);
        let found = [
            report.tokens.prompt,
            report.tokens.thinking,
            report.tokens.answer,
        ];
        assert_eq!(found.map(|tokens| tokens.0), tokens, "{id}");
        assert_eq!(report.kv_cache.per_seq_bytes.0, bytes, "{id}");
        assert!(lengths.is_of(&scenario), "{id}");
    }
}

#[test]
fn their_words() {
    let words: Vec<_> = lengths::all()
        .iter()
        .map(|lengths| (view::name(lengths, &ENGLISH), view::note(lengths, &ENGLISH)))
        .collect();
    assert!(words.iter().all(|(name, _)| !name.is_empty()), "{words:?}");
    assert_eq!(
        words[1],
        (
            "A logic puzzle",
            "typical of DeepSeek-R1; thinking from 1,164 to 11,307 tokens".to_owned()
        )
    );
    assert_eq!(
        words[4].1,
        "typical of Mooncake (FAST 2025); prompts from 6,909 to 27,367 tokens"
    );
}

#[test]
fn every_request_says_where_it_is_from() {
    for lengths in lengths::all() {
        let [low, high] = lengths.range;
        let value = match lengths.ranged {
            "prompt_tokens" => lengths.prompt_tokens,
            "thinking_tokens" => lengths.thinking_tokens,
            ranged => panic!("{}: {ranged}", lengths.id),
        };
        assert!(low <= value && value <= high, "{}", lengths.id);
        let bounds = field(lengths.ranged).and_then(|field| field.kind.bounds());
        assert!(
            bounds.is_some_and(|bounds| bounds.contains(high)),
            "{}",
            lengths.id
        );
        for text in [
            lengths.typical_of,
            lengths.confidence,
            lengths.note,
            lengths.source,
        ] {
            assert!(!text.is_empty(), "{}", lengths.id);
        }
        assert!(lengths.url.starts_with("https://"), "{}", lengths.id);
    }
}
