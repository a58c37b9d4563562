//! Rounds of questions: the page's own, new ones from a seed, a teacher's from a link; and what the reader made of them.

use std::collections::BTreeMap;

use super::question::{Question, Situation};
use super::slips::SlipId;
use crate::core::link;
use crate::core::scenario::{FieldError, Problem, Scenario, cut};
use crate::core::units::{Bounds, Tokens};

/// How hard a round is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// One request, a plain model, a 16-bit cache: tokens, bytes per token, the product.
    #[default]
    One,
    /// Models whose head size must be read, other cache types, several requests.
    Two,
    /// Windows, latent rows, states, several GPUs, limits, the next turn.
    Three,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// The id in links and JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Three => "3",
        }
    }

    fn models(self) -> &'static [&'static str] {
        match self {
            Self::One => &[
                "llama-3.1-70b",
                "llama-3.1-8b",
                "deepseek-r1-distill-qwen-32b",
                "qwq-32b",
                "deepseek-r1-distill-llama-70b",
                "deepseek-r1-distill-qwen-7b",
            ],
            Self::Two => &[
                "qwen3-4b",
                "qwen3-14b",
                "qwen3-32b",
                "qwen3-30b-a3b",
                "magistral-small-2506",
                "phi-4-reasoning",
                "mistral-nemo-2407",
                "glm-4.5",
            ],
            Self::Three => &[
                "deepseek-r1",
                "gpt-oss-120b",
                "gpt-oss-20b",
                "gemma-3-27b",
                "qwen3-next-80b-a3b",
                "kimi-k2-thinking",
            ],
        }
    }

    fn questions(self) -> &'static [Question] {
        use Question::{
            BytesPerToken, Fits, KvPoolBytes, MaxConcurrency, MaxThinking, MaxThinkingUnderLimit,
            PerGpuBytes, PerSeqBytes, ReusedAfterStrip, TotalBytes,
        };
        match self {
            Self::One => &[Question::Tokens, BytesPerToken, PerSeqBytes],
            Self::Two => &[
                Question::Tokens,
                BytesPerToken,
                PerSeqBytes,
                TotalBytes,
                KvPoolBytes,
                MaxConcurrency,
            ],
            Self::Three => &[
                BytesPerToken,
                PerSeqBytes,
                PerGpuBytes,
                Fits,
                MaxConcurrency,
                MaxThinking,
                MaxThinkingUnderLimit,
                ReusedAfterStrip,
            ],
        }
    }
}

/// The steps of the page's first round, about the scenario on the page.
pub const FIRST_ROUND: [Question; 7] = [
    Question::Tokens,
    Question::BytesPerToken,
    Question::PerSeqBytes,
    Question::KvPoolBytes,
    Question::Fits,
    Question::MaxConcurrency,
    Question::MaxThinking,
];

/// Bounds of a seed: what a person would type into a link.
pub const SEED: Bounds = Bounds {
    min: 0,
    max: 999_999,
    default: 0,
    is_log: false,
};

/// A seed from a random number, 0 to 1.
pub fn seed(random: f64) -> u64 {
    let range = (SEED.max - SEED.min + 1) as f64;
    ((random * range) as u64).min(SEED.max)
}

/// A scenario and the questions about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The scenario.
    pub scenario: Scenario,
    /// The steps.
    pub questions: Vec<Question>,
}

impl Round {
    /// The questions that make sense about the scenario.
    pub fn about(scenario: &Scenario, questions: &[Question]) -> Self {
        let situation = Situation::new(scenario);
        let asked = questions
            .iter()
            .copied()
            .filter(|question| situation.asks(*question));
        Self {
            scenario: scenario.clone(),
            questions: asked.collect(),
        }
    }

    /// A new round. The same level and seed give the same round.
    pub fn new(level: Level, seed: u64) -> Self {
        let mut random = Random(seed ^ (u64::from(level.id().as_bytes()[0]) << 32));
        let mut scenario = Scenario::default();
        let model = random.pick(level.models());
        // The ids are of presets and the values within bounds, which the tests hold to; what is not taken stays default.
        let mut set = |key: &str, value: &str| {
            let _ = scenario.set(key, value);
        };
        set("model", model);
        for (key, values) in [
            ("prompt_tokens", PROMPTS),
            ("thinking_tokens", THINKING),
            ("answer_tokens", ANSWERS),
        ] {
            set(key, &random.pick(values).to_string());
        }
        match level {
            Level::One => {}
            Level::Two => {
                set(
                    "kv_cache_dtype",
                    random.pick(&["bf16", "fp8", "bf16", "float32"]),
                );
                set("num_seqs", random.pick(&["4", "6", "12", "16", "24", "32"]));
            }
            Level::Three => {
                set("kv_cache_dtype", random.pick(&["bf16", "fp8", "bf16"]));
                set("weight_format", random.pick(&["fp8", "bf16", "fp8"]));
                set("num_seqs", random.pick(&["2", "10", "20", "40", "64"]));
                set("tensor_parallel_size", random.pick(&["2", "4", "8", "16"]));
            }
        }
        let context = scenario.model.config.max_position_embeddings;
        if let Some(context) = context.filter(|context| *context < scenario.context_tokens()) {
            scenario.thinking_tokens = Tokens(context.0 / 4);
        }
        Self::about(&scenario, level.questions())
    }
}

const PROMPTS: &[u64] = &[
    100, 150, 200, 256, 350, 400, 600, 800, 1200, 1500, 2500, 6000,
];
const THINKING: &[u64] = &[
    900, 1400, 1800, 2200, 2600, 3000, 3500, 5000, 6500, 8000, 12_000, 15_000, 18_000,
];
const ANSWERS: &[u64] = &[120, 180, 250, 350, 420, 500, 650, 700, 900];

/// SplitMix64: small, and the same everywhere.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn pick<T: Copy + Default>(&mut self, from: &[T]) -> T {
        let len = (from.len() as u64).max(1);
        let idx = usize::try_from(self.next() % len).unwrap_or(0);
        from.get(idx).copied().unwrap_or_default()
    }
}

/// The keys of a teacher's questions in a link.
pub const LINK_KEYS: [&str; 3] = ["predict", "predict_level", "predict_seed"];

/// What a teacher fixed: which questions, and whether about the link's scenario or a new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The steps; empty: the level's, or the page's.
    pub ask: Vec<Question>,
    /// The level of a new scenario.
    pub level: Level,
    /// The seed of a new scenario; `None`: the link's scenario.
    pub seed: Option<u64>,
}

impl Plan {
    /// Reads the pairs of a link whose keys are of [`LINK_KEYS`]. What cannot be read is left out and named.
    pub fn from_pairs(pairs: &[(String, String)]) -> (Self, Vec<FieldError>) {
        let (mut res, mut errors) = (Self::default(), Vec::new());
        let mut wrong = |key: &str, given: &str, problem| {
            errors.push(FieldError {
                key: key.to_owned(),
                given: cut(given, 60),
                problem,
            });
        };
        for (key, value) in pairs {
            match key.as_str() {
                "predict" => {
                    for id in value.split(',').filter(|id| !id.is_empty()) {
                        match Question::from_id(id.trim()) {
                            Some(question) if res.ask.contains(&question) => {}
                            Some(question) => res.ask.push(question),
                            None => {
                                let ids = Question::ALL.map(Question::id).to_vec();
                                wrong(key, id, Problem::NotOneOf(ids));
                            }
                        }
                    }
                }
                "predict_level" => match Level::ALL.into_iter().find(|level| level.id() == value) {
                    Some(level) => res.level = level,
                    None => {
                        let ids = Level::ALL.map(Level::id).to_vec();
                        wrong(key, value, Problem::NotOneOf(ids));
                    }
                },
                "predict_seed" => match value.parse() {
                    Ok(seed) if SEED.contains(seed) => res.seed = Some(seed),
                    Ok(_) => wrong(key, value, Problem::OutOfBounds(SEED)),
                    Err(_) => wrong(key, value, Problem::NotANumber),
                },
                _ => {}
            }
        }
        (res, errors)
    }

    /// Appends the pairs to a link's fragment.
    pub fn push_pairs(&self, fragment: &mut String) {
        if !self.ask.is_empty() {
            let ids: Vec<_> = self.ask.iter().map(|question| question.id()).collect();
            link::push_pair(fragment, "predict", &ids.join(","));
        }
        if let Some(seed) = self.seed {
            link::push_pair(fragment, "predict_level", self.level.id());
            link::push_pair(fragment, "predict_seed", &seed.to_string());
        }
    }

    /// The round: about a new scenario when there is a seed, else about this one.
    pub fn round(&self, scenario: &Scenario) -> Round {
        match (self.seed, self.ask.as_slice()) {
            (Some(seed), []) => Round::new(self.level, seed),
            (Some(seed), ask) => Round::about(&Round::new(self.level, seed).scenario, ask),
            (None, []) => Round::about(scenario, &FIRST_ROUND),
            (None, ask) => Round::about(scenario, ask),
        }
    }
}

/// What the reader made of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The question.
    pub question: Question,
    /// Answers given.
    pub tries: u32,
    /// Hints taken, 0 to [`HINTS`].
    pub hints: u32,
    /// Whether the last answer was right.
    pub is_right: bool,
    /// Slips that were named.
    pub slips: Vec<SlipId>,
}

/// Hints before the working is shown.
pub const HINTS: u32 = 3;

impl Record {
    /// A question that was not answered yet.
    pub fn new(question: Question) -> Self {
        Self {
            question,
            tries: 0,
            hints: 0,
            is_right: false,
            slips: Vec::new(),
        }
    }

    /// Hundredths of the step's point: all of it for a right first answer without hints; a further try or a hint takes a
    /// quarter, but a right answer leaves at least a quarter. Nothing for a step that was not solved.
    pub fn score(&self) -> u32 {
        if self.is_right {
            let taken = self.tries.saturating_sub(1).saturating_add(self.hints);
            100_u32.saturating_sub(taken.saturating_mul(25)).max(25)
        } else {
            0
        }
    }
}

/// What a round, or several, came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Questions asked.
    pub asked: u32,
    /// Answered right in the end.
    pub right: u32,
    /// Answered right at once, without a hint.
    pub right_at_once: u32,
    /// Hints taken.
    pub hints: u32,
    /// The mean of [`Record::score`], 0 to 100, rounded down.
    pub score: u32,
    /// Slips that were named, the most frequent first.
    pub slips: Vec<(SlipId, u32)>,
}

impl Summary {
    /// Of these records.
    pub fn of(records: &[Record]) -> Self {
        let count = |is_counted: &dyn Fn(&Record) -> bool| {
            let n = records.iter().filter(|record| is_counted(record)).count();
            u32::try_from(n).unwrap_or(u32::MAX)
        };
        let asked = count(&|_| true);
        let total = records
            .iter()
            .fold(0_u32, |sum, record| sum.saturating_add(record.score()));
        let mut counts: BTreeMap<SlipId, u32> = BTreeMap::new();
        for id in records.iter().flat_map(|record| &record.slips) {
            *counts.entry(*id).or_default() += 1;
        }
        let mut slips: Vec<_> = counts.into_iter().collect();
        slips.sort_by_key(|(id, count)| (std::cmp::Reverse(*count), *id));
        Self {
            asked,
            right: count(&|record| record.is_right),
            right_at_once: count(&|record| record.score() == 100),
            hints: records
                .iter()
                .fold(0, |sum, record| sum.saturating_add(record.hints)),
            score: total.checked_div(asked).unwrap_or(0),
            slips,
        }
    }
}

/// The records as a short text for a course platform, the oldest left out beyond `max_chars`:
/// `tokens 2 1 r T3` joined by `;`.
pub fn to_text(records: &[Record], max_chars: usize) -> String {
    let lines: Vec<String> = records
        .iter()
        .map(|record| {
            let mark = if record.is_right { "r" } else { "w" };
            let mut line = format!(
                "{} {} {} {mark}",
                record.question.id(),
                record.tries,
                record.hints
            );
            for id in &record.slips {
                line.push(' ');
                line.push_str(id.code());
            }
            line
        })
        .collect();
    let mut from = lines.len();
    let mut len = 0;
    for line in lines.iter().rev() {
        len += line.len() + 1;
        if max_chars < len - 1 {
            break;
        }
        from -= 1;
    }
    lines.get(from..).unwrap_or_default().join(";")
}

/// Reads what [`to_text`] wrote; what cannot be read is left out.
pub fn from_text(text: &str) -> Vec<Record> {
    let record = |line: &str| {
        let mut words = line.split(' ');
        let question = Question::from_id(words.next()?)?;
        let tries = words.next()?.parse().ok()?;
        let hints: u32 = words.next()?.parse().ok()?;
        let is_right = match words.next()? {
            "r" => true,
            "w" => false,
            _ => return None,
        };
        Some(Record {
            question,
            tries,
            hints: hints.min(HINTS),
            is_right,
            slips: words.filter_map(SlipId::from_code).collect(),
        })
    };
    text.split(';').filter_map(record).collect()
}
