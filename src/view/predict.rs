//! "Predict first" in words: what is given, what is asked, hints, and what is said to an answer.

mod slip_words;

use crate::core::predict::answer::{AnswerError, AnswerStyle, Dimension, MAX_CHARS, Unit, Word};
use crate::core::predict::judge::{Change, FollowUp, FollowUpVerdict, Verdict};
use crate::core::predict::question::{Question, Situation, Variant};
use crate::core::predict::rounds::{HINTS, Level, Summary};
use crate::core::predict::session::{Reply, Session};
use crate::core::predict::slips::{self, SlipId};
use crate::core::report::LayerReport;
use crate::core::scenario::cut;
use crate::core::units::{Bytes, Tokens};

use super::numbers::Numbers;
use super::text::{Messages, PredictText, fill};
use super::values::{Values, is_straight_line};

/// Words and numbers of one language.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    text: &'a PredictText,
    messages: &'a Messages,
}

/// A question as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What is changed in the scenario, for a follow-up; else empty.
    pub change: String,
    /// What the answer follows from.
    pub givens: Vec<String>,
    /// The question.
    pub question: String,
}

/// What is said to an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The sentence.
    pub text: String,
    /// Where others made the same slip.
    pub seen: Option<String>,
    /// One more question.
    pub follow_up: Option<Asked>,
    /// Whether the reader should try the question again.
    pub again: bool,
}

/// What a round came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryText {
    /// Right, hints, score.
    pub lines: Vec<String>,
    /// Slips that were named.
    pub slips: Vec<String>,
}

impl<'a> Words<'a> {
    /// With the words and the numbers of a language.
    pub fn new(text: &'a PredictText, messages: &'a Messages) -> Self {
        Self { text, messages }
    }

    fn numbers(&self) -> Numbers<'a> {
        self.messages.numbers()
    }

    /// How answers are read in this language.
    pub fn answer_style(&self) -> AnswerStyle {
        let text = self.text;
        let lists = [
            (text.words_token(), Word::Unit(Unit::Token)),
            (text.words_block(), Word::Unit(Unit::Block)),
            (text.words_request(), Word::Unit(Unit::Request)),
            (text.words_byte(), Word::Unit(Unit::B)),
            (text.words_ten_thousand(), Word::Scale(10_000)),
            (text.words_thousand(), Word::Scale(1_000)),
            (text.words_hundred_million(), Word::Scale(100_000_000)),
            (text.words_million(), Word::Scale(1_000_000)),
            (text.words_yes(), Word::Yes),
            (text.words_no(), Word::No),
        ];
        let words = lists.into_iter().flat_map(|(list, meaning)| {
            list.split([',', '，', '、'])
                .map(move |word| (word.trim().to_lowercase(), meaning))
        });
        AnswerStyle {
            decimal: if self.messages.units.decimal_separator == "," {
                ','
            } else {
                '.'
            },
            words: words.filter(|(word, _)| !word.is_empty()).collect(),
        }
    }

    /// The name of a level.
    pub fn level(&self, level: Level) -> &'a str {
        match level {
            Level::One => self.text.level_1(),
            Level::Two => self.text.level_2(),
            Level::Three => self.text.level_3(),
        }
    }

    /// The question with what is given for it.
    pub fn asked(&self, situation: &Situation, question: Question) -> Asked {
        Asked {
            change: String::new(),
            givens: self.givens(situation, question),
            question: self.question(situation, question),
        }
    }

    fn question(&self, situation: &Situation, question: Question) -> String {
        let text = self.text;
        let template = match question {
            Question::Tokens => text.ask_tokens(),
            Question::BytesPerToken if has_window(situation) => {
                text.ask_bytes_per_token_full_windows()
            }
            Question::BytesPerToken => text.ask_bytes_per_token(),
            Question::PerSeqBytes => text.ask_per_seq_bytes(),
            Question::TotalBytes => text.ask_total_bytes(),
            Question::PerGpuBytes => text.ask_per_gpu_bytes(),
            Question::KvPoolBytes => text.ask_kv_pool_bytes(),
            Question::Fits => text.ask_fits(),
            Question::MaxConcurrency => text.ask_max_concurrency(),
            Question::MaxThinking => text.ask_max_thinking(),
            Question::MaxThinkingUnderLimit => text.ask_max_thinking_under_limit(),
            Question::ReusedAfterStrip => text.ask_reused_after_strip(),
            Question::Layers => text.ask_layers(),
            Question::KeyValueHeads => text.ask_key_value_heads(),
            Question::HeadDim => text.ask_head_dim(),
            Question::BytesPerElement => text.ask_bytes_per_element(),
        };
        self.values(situation).fill(template)
    }

    fn values(&self, situation: &Situation) -> Values {
        Values::of(situation, self.numbers())
    }

    fn givens(&self, situation: &Situation, question: Question) -> Vec<String> {
        use Question::{
            BytesPerElement, BytesPerToken, Fits, HeadDim, KeyValueHeads, KvPoolBytes, Layers,
            MaxConcurrency, MaxThinking, MaxThinkingUnderLimit, PerGpuBytes, ReusedAfterStrip,
            TotalBytes,
        };
        let (text, scenario) = (self.text, &situation.scenario);
        let values = self.values(situation);
        let mut res = Vec::new();
        let is_about_request = !matches!(
            question,
            BytesPerToken | KvPoolBytes | Layers | KeyValueHeads | HeadDim | BytesPerElement
        );
        if is_about_request {
            res.push(values.fill(text.given_request()));
            if 1 < scenario.num_samples {
                res.push(values.fill(text.given_samples()));
            }
        }
        let is_about_requests = matches!(
            question,
            TotalBytes | PerGpuBytes | Fits | MaxConcurrency | MaxThinking | MaxThinkingUnderLimit
        );
        if is_about_requests && question != MaxConcurrency && 1 < scenario.num_seqs {
            res.push(values.fill(text.given_requests()));
        }
        if is_about_requests && 0 < scenario.shared_prefix_tokens.0 {
            res.push(values.fill(text.given_prefix()));
        }
        let is_about_model = !matches!(
            question,
            Question::Tokens | KvPoolBytes | MaxThinkingUnderLimit | ReusedAfterStrip
        );
        if is_about_model {
            res.extend(self.shape(situation, &values));
            res.push(values.fill(text.given_cache()));
        }
        let is_about_room = matches!(question, KvPoolBytes | Fits | MaxConcurrency | MaxThinking);
        if is_about_room || question == PerGpuBytes {
            res.push(values.fill(text.given_gpus()));
        }
        let is_pool_given = scenario.engine.available_kv_cache_bytes.is_some();
        if matches!(question, KvPoolBytes | Fits) && !is_pool_given {
            res.push(values.fill(text.given_memory()));
            res.push(values.fill(text.given_taken()));
        } else if is_about_room {
            res.push(values.fill(text.given_pool()));
        }
        let is_about_context = matches!(question, MaxThinking | MaxThinkingUnderLimit);
        if is_about_context && situation.report.model.max_position_embeddings.is_some() {
            res.push(values.fill(text.given_context()));
        }
        res
    }

    /// The model's layers: one line where all are alike, else a line for each kind.
    fn shape(&self, situation: &Situation, values: &Values) -> Vec<String> {
        if is_uniform(situation) {
            return vec![values.fill(self.text.given_shape())];
        }
        let mut res = vec![values.fill(self.text.given_model())];
        for layer in &situation.report.kv_cache.layers {
            res.extend(self.layer_lines(layer));
        }
        res
    }

    fn layer_lines(&self, layer: &LayerReport) -> Vec<String> {
        let (text, numbers) = (self.text, self.numbers());
        let count = numbers.integer(layer.count.into());
        let heads = numbers.integer(layer.num_key_value_heads.unwrap_or(0).into());
        let width = numbers.integer(layer.k_elements + layer.v_elements);
        let n_heads = u64::from(layer.num_key_value_heads.unwrap_or(1).max(1));
        let head_dim = numbers.integer(layer.k_elements / n_heads);
        let window = numbers.integer(layer.window.unwrap_or_default().0);
        let size = numbers.bytes(layer.bytes);
        let ratio = numbers.integer(layer.compress_ratio.unwrap_or(1).into());
        let with = |template: &str, width: &str| {
            let values = [
                ("count", count.as_str()),
                ("kv_heads", heads.as_str()),
                ("head_dim", head_dim.as_str()),
                ("numbers", width),
                ("window", window.as_str()),
                ("size", size.as_str()),
                ("ratio", ratio.as_str()),
            ];
            fill(template, &values)
        };
        let template = match layer.kind {
            "full" => text.given_full(),
            "sliding" | "chunked" => text.given_window(),
            "latent" => text.given_latent(),
            "compressed" => text.given_compressed(),
            "cross" => text.given_encoder(),
            "shared" => text.given_shared(),
            _ => text.given_state(),
        };
        let mut res = vec![with(template, &width)];
        if 0 < layer.index_elements && layer.kind == "latent" {
            res.push(with(
                text.given_index(),
                &numbers.integer(layer.index_elements),
            ));
        }
        res
    }

    /// A hint, from 1 to 3: what to think of, the formula, the formula with the numbers. Empty for questions without hints.
    pub fn hint(&self, situation: &Situation, question: Question, step: u32) -> String {
        let text = self.text;
        let is_uniform = is_uniform(situation);
        let is_line = is_straight_line(situation);
        let has_heads = has_heads(situation);
        let has_prefix = 0 < situation.scenario.shared_prefix_tokens.0;
        let either = |is_first: bool, first: &'a str, second: &'a str| {
            if is_first { first } else { second }
        };
        let [first, second, third] = match question {
            Question::Tokens => [
                text.hint_tokens_1(),
                text.hint_tokens_2(),
                text.hint_tokens_3(),
            ],
            Question::BytesPerToken => [
                either(
                    is_uniform,
                    text.hint_bytes_per_token_1(),
                    text.hint_bytes_per_token_1_rows(),
                ),
                either(
                    is_uniform,
                    text.hint_bytes_per_token_2(),
                    text.hint_bytes_per_token_2_rows(),
                ),
                text.hint_bytes_per_token_3(),
            ],
            Question::PerSeqBytes => [
                either(
                    is_line,
                    text.hint_per_seq_bytes_1(),
                    text.hint_per_seq_bytes_1_rows(),
                ),
                either(
                    is_line,
                    text.hint_per_seq_bytes_2(),
                    text.hint_per_seq_bytes_2_rows(),
                ),
                either(
                    is_line,
                    text.hint_per_seq_bytes_3(),
                    text.hint_per_seq_bytes_3_rows(),
                ),
            ],
            Question::TotalBytes => [
                text.hint_total_bytes_1(),
                text.hint_total_bytes_2(),
                either(
                    has_prefix,
                    text.hint_total_bytes_3_prefix(),
                    text.hint_total_bytes_3(),
                ),
            ],
            Question::PerGpuBytes => [
                text.hint_per_gpu_bytes_1(),
                text.hint_per_gpu_bytes_2(),
                either(
                    has_heads,
                    text.hint_per_gpu_bytes_3(),
                    text.hint_per_gpu_bytes_3_rows(),
                ),
            ],
            Question::KvPoolBytes => [
                text.hint_kv_pool_bytes_1(),
                text.hint_kv_pool_bytes_2(),
                text.hint_kv_pool_bytes_3(),
            ],
            Question::Fits => [text.hint_fits_1(), text.hint_fits_2(), text.hint_fits_3()],
            Question::MaxConcurrency => [
                text.hint_max_concurrency_1(),
                text.hint_max_concurrency_2(),
                text.hint_max_concurrency_3(),
            ],
            Question::MaxThinking => [
                text.hint_max_thinking_1(),
                text.hint_max_thinking_2(),
                text.hint_max_thinking_3(),
            ],
            Question::MaxThinkingUnderLimit => [
                text.hint_max_thinking_under_limit_1(),
                text.hint_max_thinking_under_limit_2(),
                text.hint_max_thinking_under_limit_3(),
            ],
            Question::ReusedAfterStrip => [
                text.hint_reused_after_strip_1(),
                text.hint_reused_after_strip_2(),
                text.hint_reused_after_strip_3(),
            ],
            Question::Layers
            | Question::KeyValueHeads
            | Question::HeadDim
            | Question::BytesPerElement => {
                return String::new();
            }
        };
        let template = match step {
            1 => first,
            2 => second,
            _ => third,
        };
        self.values(situation).fill(template)
    }

    /// The working, with the right answer.
    pub fn working(&self, situation: &Situation, question: Question) -> String {
        let text = self.text;
        let template = match question {
            Question::Tokens => text.work_tokens(),
            Question::BytesPerToken => text.work_bytes_per_token(),
            Question::PerSeqBytes if is_straight_line(situation) => text.work_per_seq_bytes(),
            Question::PerSeqBytes => text.work_per_seq_bytes_rows(),
            Question::TotalBytes if 0 < situation.scenario.shared_prefix_tokens.0 => {
                text.work_total_bytes_prefix()
            }
            Question::TotalBytes => text.work_total_bytes(),
            Question::PerGpuBytes if has_heads(situation) => text.work_per_gpu_bytes(),
            Question::PerGpuBytes => text.work_per_gpu_bytes_rows(),
            Question::KvPoolBytes if situation.report.hbm.kv_pool_bytes == Bytes::ZERO => {
                text.work_kv_pool_bytes_none()
            }
            Question::KvPoolBytes => text.work_kv_pool_bytes(),
            Question::Fits if situation.report.fit.fits => text.work_fits_yes(),
            Question::Fits => text.work_fits_no(),
            Question::MaxConcurrency if 1 < situation.scenario.data_parallel_size => {
                text.work_max_concurrency_replicas()
            }
            Question::MaxConcurrency => text.work_max_concurrency(),
            Question::MaxThinking => text.work_max_thinking(),
            Question::MaxThinkingUnderLimit => {
                let limit = crate::core::predict::question::output_limit(&situation.scenario);
                let left = limit.minus(situation.scenario.answer_tokens);
                if situation.report.fit.max_thinking_tokens < Some(left) {
                    text.work_max_thinking_under_limit_memory()
                } else {
                    text.work_max_thinking_under_limit()
                }
            }
            Question::ReusedAfterStrip => text.work_reused_after_strip(),
            Question::Layers => text.work_layers(),
            Question::KeyValueHeads => text.work_key_value_heads(),
            Question::HeadDim => text.work_head_dim(),
            Question::BytesPerElement => text.work_bytes_per_element(),
        };
        self.with_right(situation, question).fill(template)
    }

    /// The values with the right answer among them.
    fn with_right(&self, situation: &Situation, question: Question) -> Values {
        let mut values = self.values(situation);
        let right = situation.right(question).unwrap_or_default();
        values.set("right", self.amount(question, right));
        values.set(
            "right_exact",
            self.numbers().bytes_exact(Bytes(right as u64)),
        );
        values
    }

    /// A value of what a question asks for: `4,812 tokens`, `1.469 GiB = 1.577 GB`.
    pub fn amount(&self, question: Question, value: f64) -> String {
        let numbers = self.numbers();
        // Values are counts below 2^53, so the cast is exact; it saturates where they are not.
        let whole = value.round() as u64;
        match question.dimension() {
            Dimension::Tokens => numbers.tokens(Tokens(whole)),
            Dimension::Requests => numbers.requests(whole),
            Dimension::YesNo if value == 0.0 => self.text.no().to_owned(),
            Dimension::YesNo => self.text.yes().to_owned(),
            Dimension::Count => {
                numbers.ratio((value * 1e5).round() as u64, 100_000, count_decimals(value))
            }
            Dimension::Bytes => {
                let (binary, decimal) = (
                    numbers.bytes(Bytes(whole)),
                    numbers.bytes_decimal(Bytes(whole)),
                );
                if binary == decimal {
                    binary
                } else {
                    format!("{binary} = {decimal}")
                }
            }
        }
    }

    /// What is said to an answer. `typed` is the reader's own text.
    pub fn verdict(
        &self,
        situation: &Situation,
        question: Question,
        typed: &str,
        verdict: &Verdict,
    ) -> Said {
        let text = self.text;
        let mut values = self.with_right(situation, question);
        values.set("yours", cut(typed.trim(), 40));
        let again = |template: &str| Said {
            text: values.fill(template),
            again: true,
            ..Said::default()
        };
        match verdict {
            Verdict::Right { variant, probe } => Said {
                text: values.fill(self.right_words(*variant)),
                follow_up: probe.as_ref().map(|probe| self.follow_up(probe)),
                ..Said::default()
            },
            Verdict::OtherNotation(value) => {
                values.set("meant", self.amount(question, *value));
                Said {
                    text: values.fill(text.other_notation()),
                    ..Said::default()
                }
            }
            Verdict::Rough => again(text.rough()),
            Verdict::Slip(id) => self.slip(situation, *id, &values),
            Verdict::Ambiguous { slips, follow_up } => {
                self.ambiguous(slips, follow_up.as_deref(), values)
            }
            Verdict::AnswersOther(other) => {
                values.set("question", self.question(situation, *other));
                Said {
                    text: values.fill(text.answers_other()),
                    again: true,
                    ..Said::default()
                }
            }
            Verdict::Unknown => again(text.unknown()),
        }
    }

    fn right_words(&self, variant: Option<Variant>) -> &'a str {
        let text = self.text;
        match variant {
            None => text.right(),
            Some(Variant::EngineHolds) => text.right_engine_holds(),
            Some(Variant::WholeBlocks) => text.right_whole_blocks(),
            Some(Variant::BeforeWindowsFull) => text.right_before_windows_full(),
            Some(Variant::WithoutIndexKeys) => text.right_without_index_keys(),
            Some(Variant::WithoutPadding) => text.right_without_padding(),
            Some(Variant::NotRounded) => text.right_not_rounded(),
            Some(Variant::NotWholeBlocks) => text.right_not_whole_blocks(),
            Some(Variant::RoundedAmounts) => text.right_rounded_amounts(),
        }
    }

    fn slip(&self, situation: &Situation, id: SlipId, values: &Values) -> Said {
        let (_, words) = slip_words::words(id, self.text);
        let words = if id == SlipId::AnyGpuCount && !has_heads(situation) {
            self.text.slip_any_gpu_count_rows()
        } else {
            words
        };
        let seen = slips::slip(id).map_or("", |slip| slip.seen);
        Said {
            text: values.fill(words),
            seen: (!seen.is_empty()).then(|| fill(self.text.seen(), &[("seen", seen)])),
            again: true,
            ..Said::default()
        }
    }

    fn names(&self, slips: &[SlipId]) -> String {
        let names = slips.iter().map(|id| slip_words::words(*id, self.text).0);
        self.numbers().list(names)
    }

    /// A follow-up as it is shown.
    pub fn follow_up(&self, follow_up: &FollowUp) -> Asked {
        let text = self.text;
        let situation = Situation::new(&follow_up.scenario);
        let values = self.values(&situation);
        let change = match follow_up.change {
            Change::Nothing => String::new(),
            Change::BeforeAnswer => values.fill(text.change_before_answer()),
            Change::CacheType(_) => values.fill(text.change_cache_type()),
            Change::Model(_) => values.fill(text.change_model()),
            Change::TensorParallel(_) => values.fill(text.change_tensor_parallel()),
        };
        let lead = if follow_up.is_probe {
            let both = [("first", text.probe()), ("second", &change)];
            fill(text.two_sentences(), &both)
        } else {
            change
        };
        let asked = self.asked(&situation, follow_up.question);
        // About the same scenario everything was given with the first question.
        let givens = if follow_up.change == Change::Nothing {
            Vec::new()
        } else {
            asked.givens
        };
        Asked {
            change: lead.trim().to_owned(),
            givens,
            question: asked.question,
        }
    }

    /// What is said to a number that several slips share: one more question, or, when none tells them apart, their names.
    fn ambiguous(
        &self,
        slips: &[SlipId],
        follow_up: Option<&FollowUp>,
        mut values: Values,
    ) -> Said {
        let Some(follow_up) = follow_up else {
            values.set("names", self.names(slips));
            return Said {
                text: values.fill(self.text.ambiguous_still()),
                ..Said::default()
            };
        };
        Said {
            text: values.fill(self.text.ambiguous()),
            follow_up: Some(self.follow_up(follow_up)),
            ..Said::default()
        }
    }

    /// What is said to the answer to a follow-up. `typed` is the first answer's text.
    pub fn follow_up_verdict(
        &self,
        follow_up: &FollowUp,
        typed: &str,
        verdict: &FollowUpVerdict,
    ) -> Said {
        let text = self.text;
        let situation = Situation::new(&follow_up.scenario);
        let mut values = self.with_right(&situation, follow_up.question);
        values.set("yours", cut(typed.trim(), 40));
        match verdict {
            FollowUpVerdict::Slip(id) => self.slip(&situation, *id, &values),
            FollowUpVerdict::Ambiguous { slips, follow_up } => {
                self.ambiguous(slips, follow_up.as_deref(), values)
            }
            FollowUpVerdict::Right if follow_up.is_probe => Said {
                text: text.probe_right().to_owned(),
                ..Said::default()
            },
            FollowUpVerdict::Right => Said {
                text: text.slip_of_the_pen().to_owned(),
                again: true,
                ..Said::default()
            },
            FollowUpVerdict::Unknown => Said {
                text: text.unknown_after_question().to_owned(),
                ..Said::default()
            },
        }
    }

    /// `Question 1 of 7`.
    pub fn step(&self, session: &Session) -> String {
        let (n, of) = session.place();
        self.n_of(self.text.step(), n as u64, of as u64)
    }

    /// The button for the hint after this many: `Hint 1 of 3`.
    pub fn hint_button(&self, taken: u32) -> String {
        let next = (taken + 1).min(HINTS);
        self.n_of(self.text.hint(), next.into(), HINTS.into())
    }

    fn n_of(&self, template: &str, n: u64, of: u64) -> String {
        let numbers = self.numbers();
        let (n, of) = (numbers.integer(n), numbers.integer(of));
        fill(template, &[("n", &n), ("of", &of)])
    }

    /// What is said to the last answer of a session; `None` where there was none, or it could not be read.
    pub fn reply(&self, session: &Session) -> Option<Said> {
        match session.reply()? {
            Reply::Verdict(typed, verdict) => {
                let situation = Situation::new(&session.round().scenario);
                Some(self.verdict(&situation, session.question()?, typed, verdict))
            }
            Reply::FollowUp(typed, follow_up, verdict) => {
                Some(self.follow_up_verdict(follow_up, typed, verdict))
            }
            Reply::Unreadable(..) => None,
        }
    }

    /// Why the last answer of a session could not be read; empty where it could.
    pub fn unreadable(&self, session: &Session) -> String {
        match (session.reply(), session.asked()) {
            (Some(Reply::Unreadable(typed, error)), Some((_, question))) => {
                self.error(question, typed, error)
            }
            _ => String::new(),
        }
    }

    /// Why an answer could not be read, and what to type.
    pub fn error(&self, question: Question, given: &str, error: &AnswerError) -> String {
        let (text, numbers) = (self.text, self.numbers());
        let (units, example) = match question.dimension() {
            Dimension::Tokens => (text.units_of_tokens(), numbers.integer(1234)),
            Dimension::Bytes => (text.units_of_bytes(), numbers.bytes_short(Bytes(3 << 29))),
            Dimension::Requests => (text.units_of_requests(), numbers.integer(12)),
            Dimension::Count | Dimension::YesNo => (text.units_of_count(), numbers.integer(12)),
        };
        let unit = match error {
            AnswerError::UnknownUnit(unit) => unit.clone(),
            AnswerError::OtherDimension(unit) => self.unit(*unit).to_owned(),
            _ => String::new(),
        };
        let template = match error {
            AnswerError::Empty => text.error_empty(),
            AnswerError::TooLong => text.error_too_long(),
            AnswerError::NotANumber => text.error_not_a_number(),
            AnswerError::NotYesOrNo => text.error_not_yes_or_no(),
            AnswerError::Negative => text.error_negative(),
            AnswerError::TooLarge => text.error_too_large(),
            AnswerError::UnknownUnit(_) => text.error_unknown_unit(),
            AnswerError::OtherDimension(_) => text.error_other_dimension(),
            AnswerError::MissingUnit => text.error_missing_unit(),
        };
        let given = cut(given.trim(), 40);
        let max = numbers.integer(MAX_CHARS as u64);
        fill(
            template,
            &[
                ("given", &given),
                ("example", &example),
                ("unit", &unit),
                ("units", units),
                ("max", &max),
            ],
        )
    }

    /// A unit as a menu shows it.
    pub fn unit(&self, unit: Unit) -> String {
        let first = |list: &str| {
            list.split([',', '，', '、'])
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        match unit {
            Unit::Token => first(self.text.words_token()),
            Unit::Block => first(self.text.words_block()),
            Unit::Request => first(self.text.words_request()),
            Unit::One => String::new(),
            Unit::Byte(_) | Unit::Bit(_) => unit.symbol(),
        }
    }

    /// What a round came to.
    pub fn summary(&self, summary: &Summary) -> SummaryText {
        let (text, numbers) = (self.text, self.numbers());
        let n = |count: u32| numbers.integer(count.into());
        let (asked, right) = (n(summary.asked), n(summary.right));
        let (at_once, hints, score) =
            (n(summary.right_at_once), n(summary.hints), n(summary.score));
        let values = [
            ("asked", asked.as_str()),
            ("right", right.as_str()),
            ("right_at_once", at_once.as_str()),
            ("hints", hints.as_str()),
            ("score", score.as_str()),
        ];
        let lines = [
            text.summary_right(),
            text.summary_hints(),
            text.summary_score(),
        ];
        let slips = summary.slips.iter().map(|(id, count)| {
            let name = slip_words::words(*id, text).0;
            fill(text.summary_slip(), &[("name", name), ("n", &n(*count))])
        });
        SummaryText {
            lines: lines.map(|template| fill(template, &values)).to_vec(),
            slips: slips.collect(),
        }
    }
}

fn count_decimals(value: f64) -> u32 {
    (0..5)
        .find(|decimals| (value * 10_f64.powi(*decimals)).fract() == 0.0)
        .map_or(5, |decimals| decimals as u32)
}

fn has_window(situation: &Situation) -> bool {
    let layers = &situation.report.kv_cache.layers;
    layers.iter().any(|layer| layer.window.is_some())
}

fn has_heads(situation: &Situation) -> bool {
    let layers = &situation.report.kv_cache.layers;
    layers
        .iter()
        .any(|layer| layer.num_key_value_heads.is_some())
}

/// Whether all layers are alike and keep rows of heads.
fn is_uniform(situation: &Situation) -> bool {
    let n_kinds = situation.report.kv_cache.layers.len();
    n_kinds == 1 && situation.right(Question::KeyValueHeads).is_some()
}
