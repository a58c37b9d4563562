//! What an answer tells: right, right for another reason, a slip, one of several slips, or nothing that is known.

use super::answer::{Quantity, Reading, Unit};
use super::question::{Question, RightAnswer, Situation, Variant};
use super::slips::{SLIPS, Slip, SlipClass, SlipId, slip};
use crate::core::presets;
use crate::core::scenario::{ModelChoice, ModelSource, ParallelSize, Scenario};
use crate::core::units::{KvFormat, Tokens, formats};

/// How far an answer may be from a value to count as it.
pub const TOLERANCE: f64 = 0.002;
/// From this many digits on a correct rounding counts as the value, also where it is farther than [`TOLERANCE`]:
/// 1.58 GB for 1.5768.
pub const ROUNDED_DIGITS: u32 = 3;

/// What is said to an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Right.
    Right {
        /// Which right answer; `None`: the headline's.
        variant: Option<Variant>,
        /// A question that tells whether the idea is right too, where a wrong one gives the same number here.
        probe: Option<Box<FollowUp>>,
    },
    /// Right if the comma and the point are read as in another language: this value is meant.
    OtherNotation(f64),
    /// Right, rounded to too few digits.
    Rough,
    /// This slip, and no other known one, gives this number.
    Slip(SlipId),
    /// Several slips give this number.
    Ambiguous {
        /// Which.
        slips: Vec<SlipId>,
        /// The question that tells them apart best; `None` where no question does.
        follow_up: Option<Box<FollowUp>>,
    },
    /// The right answer to another question about the scenario.
    AnswersOther(Question),
    /// No known way gives this number.
    Unknown,
}

/// What a follow-up changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing: another question about the same scenario.
    Nothing,
    /// The moment just before the answer's first token.
    BeforeAnswer,
    /// The cache type.
    CacheType(&'static str),
    /// The model, a preset.
    Model(&'static str),
    /// The tensor parallel size.
    TensorParallel(u32),
}

/// One more question, asked because a number alone does not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct FollowUp {
    /// What is changed in the scenario.
    pub change: Change,
    /// The scenario it is about.
    pub scenario: Scenario,
    /// The question.
    pub question: Question,
    /// The slips it tells apart.
    pub candidates: Vec<SlipId>,
    /// Whether the first answer was right.
    pub is_probe: bool,
    /// What was asked first, and about which scenario.
    asked: Question,
    base: Scenario,
}

/// What is said to the answer to a follow-up.
#[derive(Clone, Debug, PartialEq)]
pub enum FollowUpVerdict {
    /// It was this slip.
    Slip(SlipId),
    /// These are still possible.
    Ambiguous {
        /// Which.
        slips: Vec<SlipId>,
        /// The next question, if one helps.
        follow_up: Option<Box<FollowUp>>,
    },
    /// This one is right: the idea is, and the first number was a slip of the pen or right for the right reason.
    Right,
    /// Nothing known.
    Unknown,
}

/// Slips that are right by luck on some models, so that a right answer is probed.
const LUCKY: [SlipId; 4] = [
    SlipId::GroupSize,
    SlipId::QueryHeads,
    SlipId::HiddenSize,
    SlipId::HeadSizeByKvHeads,
];

/// Judges an answer to a question about a scenario.
pub fn judge(situation: &Situation, question: Question, answer: &Quantity) -> Verdict {
    let rights = situation.right_answers(question);
    let readings = answer
        .readings()
        .map(|reading| in_tokens(reading, situation));
    for reading in readings {
        let Some(variant) = right_variant(&reading, &rights) else {
            continue;
        };
        return if reading.is_other_notation {
            Verdict::OtherNotation(reading.value)
        } else {
            Verdict::Right {
                variant,
                probe: probe(situation, question).map(Box::new),
            }
        };
    }
    let reading = in_tokens(answer.first(), situation);
    let Some(right) = situation.right(question) else {
        return Verdict::Unknown;
    };
    let is_yes_or_no = question == Question::Fits;
    let off = (reading.value - right).abs();
    if !is_yes_or_no && 2 <= reading.digits && off <= reading.step / 2.0 {
        return Verdict::Rough;
    }
    let slips = candidates(situation, question, &reading);
    match slips.as_slice() {
        [] => {}
        [one] => return Verdict::Slip(*one),
        _ => {
            let follow_up = FollowUp::find(situation, question, &slips, false).map(Box::new);
            return Verdict::Ambiguous { slips, follow_up };
        }
    }
    // Cut off instead of rounded.
    if !is_yes_or_no && 2 <= reading.digits && off < reading.step {
        return Verdict::Rough;
    }
    other_question(situation, question, &reading).map_or(Verdict::Unknown, Verdict::AnswersOther)
}

/// Blocks as tokens.
fn in_tokens(reading: &Reading, situation: &Situation) -> Reading {
    if reading.unit != Unit::Block {
        return *reading;
    }
    let block = situation.block_size().0 as f64;
    // Whole blocks are counted, not rounded.
    let is_counted = reading.value.fract() == 0.0;
    Reading {
        value: reading.value * block,
        step: if is_counted {
            1.0
        } else {
            reading.step * block
        },
        unit: Unit::Token,
        ..*reading
    }
}

/// Whether the reading counts as the value.
fn matches(reading: &Reading, value: f64) -> bool {
    let off = (reading.value - value).abs();
    off <= TOLERANCE * value.abs()
        || (ROUNDED_DIGITS <= reading.digits && is_rounded(reading, value))
}

/// Whether the value, rounded to the digits typed, is the reading.
fn is_rounded(reading: &Reading, value: f64) -> bool {
    // A little more, for what binary fractions cannot hold.
    (reading.value - value).abs() <= reading.step / 2.0 * (1.0 + 1e-9) + 1e-12 * value.abs()
}

/// The right answer that the reading is, if any: the headline's unless only another one has the digits typed.
fn right_variant(reading: &Reading, rights: &[RightAnswer]) -> Option<Option<Variant>> {
    // Whole requests are not a quotient that was left unrounded, however near they are.
    let is_whole = reading.value.fract() == 0.0;
    let mut matching = rights
        .iter()
        .filter(|right| !(is_whole && right.variant == Some(Variant::NotRounded)))
        .filter(|right| matches(reading, right.value));
    let first = matching.next()?;
    if first.variant.is_none() && !is_rounded(reading, first.value) {
        let exact = matching.find(|right| is_rounded(reading, right.value));
        return Some(exact.and_then(|right| right.variant));
    }
    Some(first.variant)
}

/// The slips that give the reading; where some give its very digits, only those.
fn candidates(situation: &Situation, question: Question, reading: &Reading) -> Vec<SlipId> {
    let mut res: Vec<(SlipId, bool)> = Vec::new();
    let looked_for = SLIPS
        .iter()
        .filter(|slip| slip.questions.contains(&question));
    for slip in looked_for {
        let answers = slip.answers(situation, question, reading.unit);
        let matching: Vec<f64> = answers
            .into_iter()
            .filter(|value| matches(reading, *value))
            .collect();
        if !matching.is_empty() {
            let is_exact = matching.iter().any(|value| is_rounded(reading, *value));
            res.push((slip.id, is_exact));
        }
    }
    let any_exact = res.iter().any(|(_, is_exact)| *is_exact);
    res.retain(|(_, is_exact)| *is_exact || !any_exact);
    res.into_iter().map(|(id, _)| id).collect()
}

fn other_question(
    situation: &Situation,
    question: Question,
    reading: &Reading,
) -> Option<Question> {
    let others = Question::ALL.into_iter().filter(|other| {
        *other != question && other.dimension() == question.dimension() && situation.asks(*other)
    });
    let mut matching = others.filter(|other| {
        let right = situation.right(*other);
        right.is_some_and(|right| 0.0 < right && matches(reading, right))
    });
    // Where two questions have this answer nothing can be said of the reader's idea.
    matching.next().filter(|_| matching.next().is_none())
}

/// The question that tells a right idea from one that is right by luck here.
fn probe(situation: &Situation, question: Question) -> Option<FollowUp> {
    let right = situation.right(question)?;
    let lucky: Vec<SlipId> = LUCKY
        .into_iter()
        .filter(|id| {
            let answers = slip(*id).map(|slip| slip.answers(situation, question, Unit::B));
            answers.is_some_and(|answers| answers.contains(&right))
        })
        .collect();
    if lucky.is_empty() {
        return None;
    }
    FollowUp::find(situation, question, &lucky, true)
}

/// Models of different shapes: 32 query heads on 8, head size apart from hidden ÷ query heads, and the default.
const PROBE_MODELS: [&str; 3] = ["llama-3.1-8b", "qwen3-4b", "llama-3.1-70b"];

const SAME_SCENARIO: [Question; 10] = [
    Question::HeadDim,
    Question::KeyValueHeads,
    Question::BytesPerElement,
    Question::Layers,
    Question::Tokens,
    Question::BytesPerToken,
    Question::PerSeqBytes,
    Question::PerGpuBytes,
    Question::KvPoolBytes,
    Question::MaxConcurrency,
];

impl FollowUp {
    /// The question that tells the most pairs of these slips apart, about the same scenario if one tells any; for a probe,
    /// the most of them from the right idea.
    /// `None` where no question tells any.
    pub fn find(
        situation: &Situation,
        asked: Question,
        slips: &[SlipId],
        is_probe: bool,
    ) -> Option<Self> {
        let mut best: Option<(usize, Self)> = None;
        for (change, scenario, question) in changes(situation, asked) {
            // What someone multiplied is easier to say than a new number is to compute.
            let is_simpler = |best: &(usize, Self)| best.1.change == Change::Nothing;
            if change != Change::Nothing && best.as_ref().is_some_and(is_simpler) {
                break;
            }
            let changed = Situation::new(&scenario);
            if !changed.asks(question) {
                continue;
            }
            let told_apart = told_apart(&changed, question, slips, is_probe);
            if best.as_ref().map_or(0, |(most, _)| *most) < told_apart {
                let follow_up = Self {
                    change,
                    scenario: changed.scenario,
                    question,
                    candidates: slips.to_vec(),
                    is_probe,
                    asked,
                    base: situation.scenario.clone(),
                };
                best = Some((told_apart, follow_up));
            }
        }
        best.map(|(_, follow_up)| follow_up)
    }

    /// Judges the answer to it.
    pub fn judge(&self, answer: &Quantity) -> FollowUpVerdict {
        let situation = Situation::new(&self.scenario);
        let rights = situation.right_answers(self.question);
        let readings: Vec<Reading> = answer
            .readings()
            .map(|reading| in_tokens(reading, &situation))
            .collect();
        let is_right = readings
            .iter()
            .any(|reading| right_variant(reading, &rights).is_some());
        if is_right && self.is_probe {
            return FollowUpVerdict::Right;
        }
        let Some(reading) = readings.first() else {
            return FollowUpVerdict::Unknown;
        };
        let gives_it = |id: &SlipId| {
            let beliefs =
                slip(*id).map(|slip| belief(slip, &situation, self.question, reading.unit));
            beliefs.is_some_and(|beliefs| beliefs.iter().any(|value| matches(reading, *value)))
        };
        let slips: Vec<SlipId> = self.candidates.iter().copied().filter(gives_it).collect();
        match slips.as_slice() {
            [] if is_right => FollowUpVerdict::Right,
            [] => FollowUpVerdict::Unknown,
            [one] => FollowUpVerdict::Slip(*one),
            _ => {
                let is_narrower = slips.len() < self.candidates.len();
                // A question that did not narrow them down would be asked again.
                let follow_up = if is_narrower {
                    Self::find(&Situation::new(&self.base), self.asked, &slips, false)
                } else {
                    None
                };
                let follow_up = follow_up.map(Box::new);
                FollowUpVerdict::Ambiguous { slips, follow_up }
            }
        }
    }
}

/// A unit slip is a slip of one answer, not a belief about the next question.
fn belief(slip: &Slip, situation: &Situation, question: Question, unit: Unit) -> Vec<f64> {
    match slip.class {
        SlipClass::Unit => situation.right(question).into_iter().collect(),
        SlipClass::Tokens
        | SlipClass::PerToken
        | SlipClass::Total
        | SlipClass::Fit
        | SlipClass::NextTurn => slip.belief(situation, question, unit),
    }
}

fn told_apart(
    situation: &Situation,
    question: Question,
    slips: &[SlipId],
    is_probe: bool,
) -> usize {
    let beliefs: Vec<Vec<f64>> = slips
        .iter()
        .filter_map(|id| slip(*id))
        .map(|slip| belief(slip, situation, question, Unit::B))
        .collect();
    let differ = |a: &[f64], b: &[f64]| {
        let are_near = |a: f64, b: f64| (a - b).abs() <= 3.0 * TOLERANCE * a.abs().max(b.abs());
        !a.iter().any(|a| b.iter().any(|b| are_near(*a, *b)))
    };
    if is_probe {
        let right: Vec<f64> = situation.right(question).into_iter().collect();
        return beliefs
            .iter()
            .filter(|belief| differ(belief, &right))
            .count();
    }
    let pairs = beliefs
        .iter()
        .enumerate()
        .flat_map(|(idx, a)| beliefs.iter().skip(idx + 1).map(move |b| (a, b)));
    pairs.filter(|(a, b)| differ(a, b)).count()
}

/// What can be asked next, the simplest first.
fn changes(situation: &Situation, question: Question) -> Vec<(Change, Scenario, Question)> {
    let same = &situation.scenario;
    let mut res: Vec<_> = SAME_SCENARIO
        .into_iter()
        .filter(|other| *other != question)
        .map(|other| (Change::Nothing, same.clone(), other))
        .collect();
    let mut changed = |change, question, edit: &dyn Fn(&mut Scenario)| {
        let mut scenario = same.clone();
        edit(&mut scenario);
        if scenario != *same {
            res.push((change, scenario, question));
        }
    };
    changed(Change::BeforeAnswer, Question::PerSeqBytes, &|scenario| {
        scenario.answer_tokens = Tokens(0);
    });
    for format in [formats::F32, formats::FP8] {
        changed(Change::CacheType(format.id), question, &|scenario| {
            scenario.kv_cache_dtype = KvFormat::both(format);
        });
    }
    for id in PROBE_MODELS {
        let Some(preset) = presets::get(id) else {
            continue;
        };
        changed(
            Change::Model(preset.id()),
            Question::BytesPerToken,
            &|scenario| {
                scenario.model = ModelChoice {
                    source: ModelSource::Preset(preset.id()),
                    config: preset.model(),
                };
                scenario.draft_layers = 0;
            },
        );
    }
    for size in [2, 4, 8] {
        changed(Change::TensorParallel(size), question, &|scenario| {
            scenario.tensor_parallel_size = ParallelSize::Fixed(size);
        });
    }
    res
}
