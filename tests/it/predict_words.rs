//! The words of "predict first": the literal sentences, and that every sentence can be filled.

use kvscope::core::predict::answer::{AnswerStyle, Dimension, Unit, parse_answer};
use kvscope::core::predict::judge::{FollowUpVerdict, Verdict};
use kvscope::core::predict::question::Variant;
use kvscope::core::predict::rounds::{Level, Record, Round, Summary};
use kvscope::core::predict::{Question, SLIPS, Situation, SlipId, judge};
use kvscope::core::presets;
use kvscope::core::scenario::Scenario;
use kvscope::view::predict::{Said, Words};
use kvscope::view::text::predict::{PredictText, PredictWords};
use kvscope::view::text::{ENGLISH, exports, fill, placeholders};

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn situation(pairs: Pairs<'_>) -> Situation {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    Situation::new(&res)
}

/// What is said in English to a text, with GiB chosen where a unit is missing.
#[track_caller]
fn said(pairs: Pairs<'_>, question: Question, typed: &str) -> Said {
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    let unit = (question.dimension() == Dimension::Bytes).then_some(Unit::GIB);
    let answer = parse_answer(typed, question.dimension(), unit, &words.answer_style())
        .unwrap_or_else(|error| panic!("{typed}: {error:?}"));
    let situation = situation(pairs);
    let verdict = judge(&situation, question, &answer);
    words.verdict(&situation, question, typed, &verdict)
}

#[test]
fn what_is_said_to_an_answer() {
    use Question::{BytesPerToken, Fits, MaxConcurrency, PerSeqBytes, ReusedAfterStrip, Tokens};
    let rows: &[(Question, &str, &str)] = &[
        (Tokens, "4812", "Right: 4,812 tokens."),
        (
            Tokens,
            "4811",
            "Right for an engine: the last sampled token is never fed back, so it holds 4,811 tokens. The count here takes all 4,812: 4,812 tokens.",
        ),
        (
            Tokens,
            "301 blocks",
            "Right in whole blocks of 16: an engine takes the last block whole. To the token it is 4,812 tokens.",
        ),
        (
            Tokens,
            "812",
            "812 tokens are what one sees. Hidden is not absent: the 4,000 thinking tokens are ordinary tokens, and each stores a key and a value in every layer.",
        ),
        (
            Tokens,
            "5000",
            "5000 is not it, and no usual way leads there. A hint may help.",
        ),
        (PerSeqBytes, "1.47 GiB", "Right: 1.469 GiB = 1.577 GB."),
        (
            PerSeqBytes,
            "1.6 GB",
            "1.6 GB is right as far as it goes. Give one digit more.",
        ),
        (
            PerSeqBytes,
            "1.577 MB",
            "1.469 GiB = 1.577 GB would be right. Is that what you typed?",
        ),
        (
            PerSeqBytes,
            "1.4685 GB",
            "The amount is right, its name is not: powers of 1,024 make KiB, MiB and GiB, powers of 1,000 make kB, MB and GB. It is 1.469 GiB = 1.577 GB.",
        ),
        (
            PerSeqBytes,
            "12.614 GB",
            "Several ways lead to 12.614 GB. One more question tells which.",
        ),
        (
            BytesPerToken,
            "1.577 GB",
            "1.577 GB answers another question: How much memory does the cache of one request take at its end?",
        ),
        (Fits, "yes", "Right: Yes."),
        (MaxConcurrency, "89", "Right: 89 requests."),
        (
            MaxConcurrency,
            "90",
            "The last one has only part of its room: 89.90 requests would fit.",
        ),
        (
            ReusedAfterStrip,
            "812",
            "The answer's text is the same, but it now stands elsewhere, behind another prefix. Its old keys and values no longer fit, so it is prefilled again.",
        ),
    ];
    for (question, typed, expected) in rows {
        assert_eq!(said(&[], *question, typed).text, *expected, "{typed}");
    }
}

#[test]
fn a_slip_says_where_others_made_it_and_that_one_may_try_again() {
    let said = said(&[("model", "qwen3-4b")], Question::BytesPerToken, "90 KiB");
    assert_eq!(
        said.text,
        "2,560 ÷ 32 is not this model's head size. Its file says so: head_dim is 128."
    );
    assert_eq!(
        said.seen.as_deref(),
        Some("Others slipped here too: LMCache/LMCache#688; vllm-project/vllm#2622.")
    );
    assert!(said.again && said.follow_up.is_none(), "{said:?}");
}

#[test]
fn follow_ups_in_words() {
    let ambiguous = said(&[], Question::PerSeqBytes, "12.614 GB");
    let asked = ambiguous.follow_up.expect("one more question");
    assert_eq!(
        (asked.change.as_str(), asked.question.as_str()),
        ("", "How many numbers do you take for one head's key?")
    );
    let probed = said(&[], Question::BytesPerToken, "320 KiB");
    let asked = probed.follow_up.expect("it may be luck");
    assert_eq!(
        asked.change,
        "One more, to see that it was not luck. Take another model."
    );
    assert_eq!(
        asked.givens,
        [
            "Llama 3.1 8B: 32 layers, 32 query heads, 8 key and value heads of 128, hidden size 4,096",
            "the cache in bf16: 2 bytes a number",
        ]
    );
    let asked = said(&[], Question::PerSeqBytes, "0.266 GB").follow_up;
    let asked = asked.expect("freed, or never counted?");
    assert_eq!(
        asked.change,
        "Take the moment just before the answer's first token."
    );
}

#[test]
fn what_cannot_be_read_says_what_to_type() {
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    let check = |question: Question, typed: &str, expected: &str| {
        let error = parse_answer(typed, question.dimension(), None, &words.answer_style())
            .expect_err("it cannot be read");
        assert_eq!(words.error(question, typed, &error), expected);
    };
    check(Question::Tokens, "", "type a number");
    check(
        Question::Tokens,
        "<b>many</b>",
        "there is no number in \"<b>many</b>\"; type one such as 1,234",
    );
    check(
        Question::PerSeqBytes,
        "1.47",
        "say the unit, such as GiB or GB: they differ by 7.4 %",
    );
    check(
        Question::PerSeqBytes,
        "5 apples",
        "\"apples\" is not a unit that is known here; use B, KiB, MiB, GiB, kB, MB or GB",
    );
    check(
        Question::Tokens,
        "5 GB",
        "GB is not what is asked for; use tokens, k or blocks",
    );
    check(
        Question::PerSeqBytes,
        "5 tokens",
        "token is not what is asked for; use B, KiB, MiB, GiB, kB, MB or GB",
    );
    check(
        Question::Fits,
        "perhaps",
        "\"perhaps\" is neither yes nor no",
    );
}

#[test]
fn the_summary_in_words() {
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    let records = [
        Record {
            tries: 1,
            is_right: true,
            ..Record::new(Question::Tokens)
        },
        Record {
            tries: 2,
            hints: 1,
            is_right: true,
            slips: vec![SlipId::QueryHeads],
            ..Record::new(Question::BytesPerToken)
        },
    ];
    let summary = words.summary(&Summary::of(&records));
    assert_eq!(
        summary.lines,
        [
            "2 of 2 right, 1 of them at once",
            "1 hint taken",
            "75 of 100"
        ]
    );
    assert_eq!(summary.slips, ["query heads were counted, 1 time"]);
}

/// Every preset with the parallel sizes and cache types in turn.
fn situations() -> Vec<Situation> {
    let presets = presets::all().iter().enumerate();
    let situations = presets.map(|(idx, preset)| {
        situation(&[
            ("model", preset.id()),
            ("tensor_parallel_size", ["auto", "1", "8", "16"][idx % 4]),
            (
                "kv_cache_dtype",
                ["bf16", "fp8", "q8_0/q4_0", "float32"][idx / 4 % 4],
            ),
            ("num_seqs", ["1", "8", "64"][idx % 3]),
            ("num_samples", ["1", "1", "3"][idx / 3 % 3]),
            ("shared_prefix_tokens", ["0", "100"][idx % 2]),
            ("data_parallel_size", ["1", "1", "2"][idx % 3]),
        ])
    });
    situations.collect()
}

#[track_caller]
fn is_filled(text: &str, what: &str) {
    let is_whole = !text.contains(['{', '}', '|']) && !text.contains("  ");
    assert!(is_whole && !text.trim().is_empty(), "{what}: {text:?}");
}

#[test]
fn every_sentence_can_be_filled() {
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    for situation in situations() {
        let model = &situation.scenario.model.config.name;
        for question in Question::ALL
            .into_iter()
            .filter(|question| situation.asks(*question))
        {
            let what = format!("{model} {question:?}");
            let asked = words.asked(&situation, question);
            is_filled(&asked.question, &what);
            assert!(!asked.givens.is_empty(), "{what}");
            for given in &asked.givens {
                is_filled(given, &what);
            }
            is_filled(&words.working(&situation, question), &what);
            let has_hints = !words.hint(&situation, question, 1).is_empty();
            for step in 1..=3 {
                let hint = words.hint(&situation, question, step);
                assert_eq!(!hint.is_empty(), has_hints, "{what} {step}");
                if has_hints {
                    is_filled(&hint, &what);
                }
            }
            for slip in SLIPS
                .iter()
                .filter(|slip| slip.questions.contains(&question))
            {
                if slip.answers(&situation, question, Unit::GIB).is_empty() {
                    continue;
                }
                let verdict = Verdict::Slip(slip.id);
                let said = words.verdict(&situation, question, "7 GB", &verdict);
                is_filled(&said.text, &format!("{what} {:?}", slip.id));
            }
            let variants = [
                Variant::EngineHolds,
                Variant::WholeBlocks,
                Variant::BeforeWindowsFull,
                Variant::WithoutIndexKeys,
                Variant::WithoutPadding,
                Variant::NotRounded,
                Variant::NotWholeBlocks,
                Variant::RoundedAmounts,
            ];
            for variant in variants {
                let verdict = Verdict::Right {
                    variant: Some(variant),
                    probe: None,
                };
                let said = words.verdict(&situation, question, "7", &verdict);
                is_filled(&said.text, &format!("{what} {variant:?}"));
            }
        }
    }
}

#[test]
fn the_working_holds() {
    // A product that is shown gives the number that is shown.
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    let evaluate = |expression: &str| -> f64 {
        let number = |text: &str| -> f64 {
            let digits: String = text
                .chars()
                .filter(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            digits.parse().unwrap_or_else(|_| panic!("{expression}"))
        };
        let product = |text: &str| -> f64 {
            text.split('×')
                .map(|factor| {
                    let mut parts = factor.split('÷').map(number);
                    let first = parts.next().unwrap_or_default();
                    parts.fold(first, |a, b| a / b)
                })
                .product()
        };
        expression.split('+').map(product).sum()
    };
    let mut checked = 0;
    for situation in situations() {
        let what = &situation.scenario.model.config.name;
        for question in [Question::BytesPerToken, Question::PerSeqBytes] {
            if !situation.asks(question) {
                continue;
            }
            let right = situation.right(question).expect("it is asked");
            let shown = evaluate(&words.hint(&situation, question, 3));
            // Compressed rows and 4-bit blocks can make bytes per token a fraction, which is rounded up.
            assert!(
                (shown - right).abs() < 1.0,
                "{what} {question:?}: {shown}, not {right}"
            );
            checked += 1;
        }
    }
    assert!(130 < checked, "{checked}");
}

#[test]
fn rounds_read_well() {
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    for level in Level::ALL {
        is_filled(words.level(level), "level");
        for seed in 0..20 {
            let round = Round::new(level, seed);
            let situation = Situation::new(&round.scenario);
            for question in round.questions {
                let asked = words.asked(&situation, question);
                is_filled(&asked.question, &format!("{level:?} {seed}"));
            }
        }
    }
}

#[test]
fn the_words_go_through_their_file() {
    let json = PredictWords::ENGLISH.to_json();
    assert_eq!(
        PredictText::from_json(&json),
        Ok(PredictWords::ENGLISH.text())
    );
    let mut other = json.clone();
    other["schema"] = "0".into();
    let error = PredictText::from_json(&other).expect_err("another version");
    assert!(
        error.starts_with("the words are of another version"),
        "{error}"
    );
    let mut part = json;
    part["words"]
        .as_object_mut()
        .map(|words| words.remove("title"));
    let error = PredictText::from_json(&part).expect_err("not whole");
    assert!(error.ends_with("sentences; reload the page"), "{error}");
}

#[test]
fn answers_are_read_in_the_words_of_the_language() {
    let text = PredictWords::ENGLISH.text();
    let style = Words::new(&text, &ENGLISH).answer_style();
    let read = |typed: &str, dimension| {
        let answer = parse_answer(typed, dimension, None, &style);
        answer.map(|answer| answer.first().value)
    };
    assert_eq!(read("12 requests", Dimension::Requests), Ok(12.0));
    assert_eq!(
        read("3 ten thousand tokens", Dimension::Tokens),
        Ok(30_000.0)
    );
    assert_eq!(read("It fits", Dimension::YesNo), Ok(1.0));
    assert_eq!(read("Does not fit.", Dimension::YesNo), Ok(0.0));
    assert_eq!(style.decimal, AnswerStyle::ENGLISH.decimal);
}

#[test]
fn a_value_is_never_read_as_a_template() {
    let said = said(&[], Question::Tokens, "77 tokens");
    assert!(
        said.text.starts_with("77 tokens is not it"),
        "{}",
        said.text
    );
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    let situation = situation(&[]);
    let said = words.verdict(&situation, Question::Tokens, "{right}", &Verdict::Unknown);
    assert!(said.text.starts_with("{right} is not it"), "{}", said.text);
    assert_eq!(placeholders(text.unknown()), ["yours"]);
    assert_eq!(fill("{yours}", &[("yours", "{right}")]), "{right}");
}

#[test]
fn an_answer_to_a_follow_up() {
    let text = PredictWords::ENGLISH.text();
    let words = Words::new(&text, &ENGLISH);
    let situation = situation(&[]);
    let style = words.answer_style();
    let read = |typed: &str, dimension| {
        parse_answer(typed, dimension, None, &style).expect("it is a number")
    };
    let verdict = judge(
        &situation,
        Question::PerSeqBytes,
        &read("0.788 GB", Dimension::Bytes),
    );
    let Verdict::Ambiguous {
        follow_up: Some(follow_up),
        ..
    } = verdict
    else {
        panic!("{verdict:?}");
    };
    let say = |typed: &str| {
        let verdict = follow_up.judge(&read(typed, follow_up.question.dimension()));
        (
            words
                .follow_up_verdict(&follow_up, "0.788 GB", &verdict)
                .text,
            verdict,
        )
    };
    assert_eq!(
        words.follow_up(&follow_up).question,
        "How many bytes do you take for each number?"
    );
    assert_eq!(
        say("1"),
        (
            "One byte would be an 8-bit cache, which exists. This one is kept in bf16.".to_owned(),
            FollowUpVerdict::Slip(SlipId::OneByte)
        )
    );
    assert_eq!(
        say("2 bytes"),
        (
            "Each token leaves a key and a value: two vectors for every stored head, not one."
                .to_owned(),
            FollowUpVerdict::Slip(SlipId::OneOfKAndV)
        )
    );
    assert_eq!(say("3").1, FollowUpVerdict::Unknown);
}

#[test]
fn the_files_of_words_are_small() {
    for (name, content) in exports() {
        let range = 5_000..50_000;
        assert!(range.contains(&content.len()), "{name}: {}", content.len());
        if name.ends_with(".json") {
            let value: serde_json::Value = serde_json::from_str(&content).expect("it is JSON");
            assert!(value.is_object(), "{name}");
        }
    }
}
