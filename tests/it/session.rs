//! A reader's way through a round, step by step; and the film of the notebook.

use kvscope::core::predict::answer::{AnswerStyle, Unit, parse_answer};
use kvscope::core::predict::rounds::{FIRST_ROUND, Round, SEED, seed};
use kvscope::core::predict::session::{Reply, Session, Turn};
use kvscope::core::predict::{Question, SlipId};
use kvscope::core::scenario::Scenario;
use kvscope::view::concept::{Block, Notebook, pages, sections};
use kvscope::view::text::ENGLISH;
use kvscope::view::text::concept::ConceptWords;
use serde_json::json;

fn session(questions: &[Question]) -> Session {
    Session::new(Round::about(&Scenario::default(), questions))
}

/// Types an answer to what is asked now.
fn say(session: &mut Session, typed: &str) {
    let dimension = session.asked().map(|(_, question)| question.dimension());
    let dimension = dimension.expect("something is asked");
    let answer = parse_answer(typed, dimension, None, &AnswerStyle::ENGLISH);
    session.answer(typed, answer);
}

#[test]
fn a_right_answer_leads_to_the_working_and_on() {
    let mut session = session(&FIRST_ROUND);
    assert!(session.is_untouched(), "nothing was said");
    assert_eq!(session.place(), (1, 7));
    say(&mut session, "4812");
    assert_eq!(session.turn(), &Turn::Next);
    assert!(!session.is_untouched(), "something was said");
    session.next();
    assert_eq!(session.question(), Some(Question::BytesPerToken));
    assert_eq!((session.place(), session.reply()), ((2, 7), None));
    // The working is no answer to the next question.
    session.next();
    assert_eq!(session.place(), (2, 7));
}

#[test]
fn a_slip_is_tried_again_and_remembered() {
    let mut session = session(&[Question::Tokens]);
    say(&mut session, "4000");
    assert_eq!(session.turn(), &Turn::Answer);
    assert_eq!(session.records()[0].slips, [SlipId::ThinkingOnly]);
    say(&mut session, "a lot");
    assert!(
        matches!(session.reply(), Some(Reply::Unreadable(typed, _)) if typed == "a lot"),
        "{:?}",
        session.reply()
    );
    say(&mut session, "4812");
    session.next();
    assert_eq!(session.turn(), &Turn::End);
    // What could not be read cost nothing: a slip and a right answer are two tries.
    assert_eq!(
        session.results(),
        json!({
            "questions": 1,
            "is_done": true,
            "summary": { "asked": 1, "right": 1, "right_at_once": 0, "hints": 0, "score": 75 },
            "records": [{ "question": "tokens", "tries": 2, "hints": 0, "is_right": true, "slips": ["T4"] }],
            "text": "tokens 2 0 r T4",
        })
    );
}

#[test]
fn another_notation_is_asked_about_and_yes_makes_it_right() {
    let mut yes = session(&[Question::PerSeqBytes]);
    say(&mut yes, "1.577 MB");
    assert!(
        matches!(yes.turn(), Turn::Confirmation(_)),
        "{:?}",
        yes.turn()
    );
    let mut no = yes.clone();
    yes.confirm(true);
    assert_eq!(
        (yes.records()[0].is_right, yes.records()[0].tries),
        (true, 1)
    );
    no.confirm(false);
    assert_eq!(
        (no.turn(), no.records()[0].is_right),
        (&Turn::Answer, false)
    );
}

#[test]
fn a_shared_number_is_asked_about_before_a_slip_is_named() {
    let mut session = session(&[Question::PerSeqBytes]);
    say(&mut session, "12.614 GB");
    assert!(
        matches!(session.turn(), Turn::FollowUp(_)),
        "{:?}",
        session.turn()
    );
    assert_eq!(session.records()[0].slips, []);
    assert_eq!(
        session.asked().map(|(_, question)| question),
        Some(Question::HeadDim)
    );
    say(&mut session, "1024");
    assert_eq!(session.records()[0].slips, [SlipId::HeadSizeByKvHeads]);
    assert_eq!(session.turn(), &Turn::Answer);
}

#[test]
fn a_right_number_is_probed_and_stays_right() {
    let mut session = session(&[Question::BytesPerToken]);
    say(&mut session, "320 KiB");
    assert!(
        matches!(session.turn(), Turn::FollowUp(follow_up) if follow_up.is_probe),
        "{:?}",
        session.turn()
    );
    say(&mut session, "128 KiB");
    assert_eq!(session.turn(), &Turn::Next);
    assert!(session.records()[0].is_right, "it was");
}

#[test]
fn the_working_comes_after_three_hints() {
    let mut session = session(&[Question::Tokens]);
    session.give_up();
    assert_eq!(session.turn(), &Turn::Answer);
    for hints in 1..=3 {
        assert!(!session.may_give_up(), "after {} hints", hints - 1);
        session.take_hint();
        assert_eq!(session.hints(), hints);
    }
    session.take_hint();
    assert_eq!(session.hints(), 3);
    session.give_up();
    assert_eq!(session.turn(), &Turn::Next);
    session.next();
    let summary = session.summary();
    assert_eq!((summary.right, summary.hints, summary.score), (0, 3, 0));
}

#[test]
fn a_round_without_questions_is_at_its_end() {
    let mut empty = session(&[]);
    assert_eq!((empty.turn(), empty.question()), (&Turn::End, None));
    empty.take_hint();
    empty.next();
    empty.answer(
        "1",
        Ok(kvscope::core::predict::Quantity::exact(1.0, Unit::One)),
    );
    assert_eq!((empty.turn(), empty.reply()), (&Turn::End, None));
    assert!(empty.is_untouched(), "nothing can be said");
}

#[test]
fn seeds_are_of_their_range() {
    assert_eq!(
        [0.0, 0.5, 0.999_999_9, 1.0, f64::NAN].map(seed),
        [0, 500_000, 999_999, SEED.max, 0]
    );
}

fn notebook(thinking: u64, engine: &str) -> Notebook {
    let mut scenario = Scenario::default();
    scenario.thinking_tokens.0 = thinking;
    scenario.set("engine", engine).expect("an engine");
    let text = ConceptWords::ENGLISH.text();
    sections(&scenario, &text, &ENGLISH)
        .into_iter()
        .flat_map(|section| section.blocks)
        .find_map(|block| match block {
            Block::Notebook(notebook) => Some(*notebook),
            _ => None,
        })
        .expect("the course has a notebook")
}

#[test]
fn the_film_begins_slowly_and_ends() {
    assert_eq!(pages::step_at(0.0, 4300), 0);
    assert_eq!(pages::step_at(0.25, 4300), 3, "one line after another");
    assert_eq!(pages::step_at(f64::MAX, 4300), u64::MAX);
    for step in [0, 1, 16, 500, 4300, 1 << 20] {
        let seconds = pages::seconds_at(step, 4300);
        assert!((0.0..15.0).contains(&seconds), "step {step} at {seconds} s");
        let back = pages::step_at(seconds + 1e-6, 4300);
        assert!(back.abs_diff(step) <= 2, "{step} became {back}");
    }
}

#[test]
fn the_picture_has_a_line_for_each_token_it_shows() {
    let notebook = notebook(4000, "exact");
    let numbers = ENGLISH.numbers();
    for width in [1, 300, 700, 1200] {
        let max = pages::max_pages(width);
        for step in [0, 1, 300, 4300] {
            let frame = notebook.frame(step, max, numbers);
            let svg = pages::svg(&frame, &notebook, width);
            let shown: u64 = frame
                .pages
                .iter()
                .map(|page| page.prompt + page.thinking + page.answer)
                .sum();
            let rects = svg.matches('M').count() as u64;
            assert_eq!(
                rects,
                shown + frame.pages.len() as u64,
                "{width} px, step {step}"
            );
            assert!(
                !svg.contains('-') || !svg.contains("M-"),
                "nothing is left of the picture"
            );
        }
    }
    assert_eq!(pages::svg(&notebook.frame(0, 3, numbers), &notebook, 0), "");
}

#[test]
fn a_page_of_many_lines_is_drawn_in_pieces() {
    let mut large = notebook(4000, "exact");
    large.block_size = 4096;
    let numbers = ENGLISH.numbers();
    let frame = large.frame(4300, pages::max_pages(700), numbers);
    // Two pages: prompt and thinking; thinking and answer.
    assert_eq!(pages::svg(&frame, &large, 700).matches('M').count(), 4 + 2);
}
