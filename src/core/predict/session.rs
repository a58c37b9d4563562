//! One reader's way through a round: what waits for an answer, what was said last, and what comes next.

use serde_json::{Value, json};

use super::answer::{AnswerError, Quantity, Unit};
use super::judge::{FollowUp, FollowUpVerdict, Verdict, judge};
use super::question::{Question, Situation};
use super::rounds::{HINTS, Record, Round, Summary, to_text};
use crate::core::scenario::Scenario;

/// What the session waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// The answer to the question.
    Answer,
    /// Whether this value was meant: the comma and the point were read against the language.
    Confirmation(f64),
    /// The answer to one more question.
    FollowUp(Box<FollowUp>),
    /// The reader, who sees the working.
    Next,
    /// Nothing: every question is done.
    End,
}

/// What was said last, with what the reader had typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// To the question.
    Verdict(String, Verdict),
    /// To a follow-up; the text is the first answer's, to which the follow-up belongs.
    FollowUp(String, Box<FollowUp>, FollowUpVerdict),
    /// The text could not be read.
    Unreadable(String, AnswerError),
}

/// A round as far as a reader is.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    round: Round,
    /// One for each question that was reached; the last is the current one's.
    records: Vec<Record>,
    turn: Turn,
    reply: Option<Reply>,
    /// The text of the answer that the follow-ups are about.
    typed: String,
}

impl Session {
    /// At the first question; at the end where there is none.
    pub fn new(round: Round) -> Self {
        let first = round.questions.first().copied().map(Record::new);
        Self {
            turn: first.as_ref().map_or(Turn::End, |_| Turn::Answer),
            records: first.into_iter().collect(),
            round,
            reply: None,
            typed: String::new(),
        }
    }

    /// The round.
    pub fn round(&self) -> &Round {
        &self.round
    }

    /// What it waits for.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// What was said last about the current question.
    pub fn reply(&self) -> Option<&Reply> {
        self.reply.as_ref()
    }

    /// What the reader made of the questions so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What the round came to so far.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.records)
    }

    /// The current question.
    pub fn question(&self) -> Option<Question> {
        self.records.last().map(|record| record.question)
    }

    /// What is asked now, and about which scenario: the follow-up's while there is one.
    pub fn asked(&self) -> Option<(&Scenario, Question)> {
        match &self.turn {
            Turn::FollowUp(follow_up) => Some((&follow_up.scenario, follow_up.question)),
            Turn::Answer | Turn::Confirmation(_) | Turn::Next | Turn::End => {
                Some((&self.round.scenario, self.question()?))
            }
        }
    }

    /// Its place, from 1, and the number of questions.
    pub fn place(&self) -> (usize, usize) {
        (self.records.len(), self.round.questions.len())
    }

    /// Hints that were taken for the current question.
    pub fn hints(&self) -> u32 {
        self.records.last().map_or(0, |record| record.hints)
    }

    /// Whether nothing was answered and no hint taken.
    pub fn is_untouched(&self) -> bool {
        self.reply.is_none() && self.records.len() <= 1 && self.hints() == 0
    }

    /// Whether the working may be asked for: every hint was taken.
    pub fn may_give_up(&self) -> bool {
        self.turn != Turn::Next && self.turn != Turn::End && HINTS <= self.hints()
    }

    /// Takes what was typed, as it was read. What cannot be read costs nothing.
    pub fn answer(&mut self, typed: &str, answer: Result<Quantity, AnswerError>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.reply = Some(Reply::Unreadable(typed.to_owned(), error));
                return;
            }
        };
        match self.turn.clone() {
            Turn::Answer | Turn::Confirmation(_) => self.take(typed, &answer),
            Turn::FollowUp(follow_up) => self.take_follow_up(*follow_up, &answer),
            Turn::Next | Turn::End => {}
        }
    }

    /// Answers whether the other notation was meant.
    pub fn confirm(&mut self, is_meant: bool) {
        let Turn::Confirmation(value) = self.turn else {
            return;
        };
        if is_meant {
            let typed = self.typed.clone();
            self.take(&typed, &Quantity::exact(value, Unit::One));
        } else {
            self.turn = Turn::Answer;
            self.reply = None;
        }
    }

    /// Takes a hint.
    pub fn take_hint(&mut self) {
        if let Some(record) = self.records.last_mut() {
            record.hints = (record.hints + 1).min(HINTS);
        }
    }

    /// Shows the working without a right answer.
    pub fn give_up(&mut self) {
        if self.may_give_up() {
            self.turn = Turn::Next;
            self.reply = None;
        }
    }

    /// Goes on, after the working was seen.
    pub fn next(&mut self) {
        if self.turn != Turn::Next {
            return;
        }
        self.reply = None;
        self.turn = match self.round.questions.get(self.records.len()) {
            Some(question) => {
                self.records.push(Record::new(*question));
                Turn::Answer
            }
            None => Turn::End,
        };
    }

    /// How far the reader is, for the page around this one: `records`, the same as a short `text` for a course platform,
    /// the `summary`, how many questions there are, and whether all are done.
    pub fn results(&self) -> Value {
        let summary = self.summary();
        let record = |record: &Record| {
            let slips: Vec<&str> = record.slips.iter().map(|id| id.code()).collect();
            json!({
                "question": record.question.id(),
                "tries": record.tries,
                "hints": record.hints,
                "is_right": record.is_right,
                "slips": slips,
            })
        };
        json!({
            "questions": self.round.questions.len(),
            "is_done": self.turn == Turn::End,
            "summary": {
                "asked": summary.asked,
                "right": summary.right,
                "right_at_once": summary.right_at_once,
                "hints": summary.hints,
                "score": summary.score,
            },
            "records": self.records.iter().map(record).collect::<Vec<_>>(),
            "text": to_text(&self.records, MAX_TEXT),
        })
    }

    fn take(&mut self, typed: &str, answer: &Quantity) {
        let Some(record) = self.records.last_mut() else {
            return;
        };
        let verdict = judge(
            &Situation::new(&self.round.scenario),
            record.question,
            answer,
        );
        // A number that is right but for its notation or its digits is not a wrong try.
        if !matches!(verdict, Verdict::OtherNotation(_) | Verdict::Rough) {
            record.tries = record.tries.saturating_add(1);
        }
        self.turn = match &verdict {
            Verdict::Right { probe, .. } => {
                record.is_right = true;
                probe.clone().map_or(Turn::Next, Turn::FollowUp)
            }
            Verdict::OtherNotation(value) => Turn::Confirmation(*value),
            Verdict::Slip(id) => {
                record.slips.push(*id);
                Turn::Answer
            }
            Verdict::Ambiguous { follow_up, .. } => {
                follow_up.clone().map_or(Turn::Next, Turn::FollowUp)
            }
            Verdict::Rough | Verdict::AnswersOther(_) | Verdict::Unknown => Turn::Answer,
        };
        self.typed = typed.to_owned();
        self.reply = Some(Reply::Verdict(typed.to_owned(), verdict));
    }

    fn take_follow_up(&mut self, follow_up: FollowUp, answer: &Quantity) {
        let Some(record) = self.records.last_mut() else {
            return;
        };
        let verdict = follow_up.judge(answer);
        self.turn = match &verdict {
            FollowUpVerdict::Slip(id) => {
                record.slips.push(*id);
                again_unless(record.is_right)
            }
            FollowUpVerdict::Ambiguous {
                follow_up: next, ..
            } => next.clone().map_or(Turn::Next, Turn::FollowUp),
            FollowUpVerdict::Right => again_unless(record.is_right),
            FollowUpVerdict::Unknown => Turn::Next,
        };
        let typed = self.typed.clone();
        self.reply = Some(Reply::FollowUp(typed, Box::new(follow_up), verdict));
    }
}

/// Characters of the results as text. The tightest course platform keeps 4,096, SCORM 1.2's `cmi.suspend_data`, in which the
/// text stands under a name.
const MAX_TEXT: usize = 4000;

/// Back to the question, unless it is answered.
fn again_unless(is_right: bool) -> Turn {
    if is_right { Turn::Next } else { Turn::Answer }
}
