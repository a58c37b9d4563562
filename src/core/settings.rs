//! What can be set that is not of the scenario: the constants of the estimate, prices, how a conversation goes on, and the
//! simulation.
//!
//! In a link their keys have a dot, `serve.clients=64`: by it a page knows them from the scenario's fields. They are written
//! group by group, where a group is not as it is by default, and then whole.

use std::sync::Arc;

use super::price::{self, ApiPrice};
use super::scenario::{Problem, cut, ungrouped, whole_number};
use super::serve::study::{ArrivalKind, LengthKind, PolicyChoice, Study, Versus};
use super::serve::trace::TraceRow;
use super::serve::{MAX_CLIENTS, MAX_REQUEST_TOKENS, MAX_REQUESTS};
use super::speed::SpeedConstants;
use super::turns::{CALL_TOKENS, FOLLOW_UP_TOKENS, NUM_TURNS, Plan, RESULT_TOKENS, TOOL_CALLS};
use super::units::{Bounds, Tokens};

/// Prices: those of a list, and what the reader wrote over them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceSettings {
    /// The list's entry.
    pub api: &'static ApiPrice,
    /// US dollars for a million prompt tokens.
    pub input: Option<f64>,
    /// US dollars for a million thinking and answer tokens.
    pub output: Option<f64>,
    /// US dollars for a GPU and hour.
    pub rent: Option<f64>,
}

impl PriceSettings {
    /// The price with what was written over it. A price for long prompts goes with the list's own.
    pub fn api_price(&self) -> ApiPrice {
        let is_own = self.input.is_some() || self.output.is_some();
        ApiPrice {
            input: self.input.unwrap_or(self.api.input),
            output: self.output.unwrap_or(self.api.output),
            long_prompt: self.api.long_prompt.filter(|_| !is_own),
            ..*self.api
        }
    }

    /// The rent of the accelerator with this id: as written, else as listed.
    pub fn usd_per_gpu_hour(&self, gpu: &str) -> Option<f64> {
        self.rent
            .or_else(|| price::rent(gpu).map(|rent| rent.usd_per_gpu_hour))
    }
}

/// All of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Constants of the estimate.
    pub constants: SpeedConstants,
    /// Prices.
    pub prices: PriceSettings,
    /// How the conversation goes on.
    pub plan: Plan,
    /// The simulation.
    pub study: Study,
}

/// The API price of the default.
const DEFAULT_API: &str = "gpt-5";

static FREE: ApiPrice = ApiPrice {
    id: "",
    name: "",
    vendor: "",
    input: 0.0,
    cached_input: None,
    output: 0.0,
    long_prompt: None,
    as_of: "",
    source: "",
    note: None,
};

impl Default for Settings {
    fn default() -> Self {
        Self {
            constants: SpeedConstants::default(),
            prices: PriceSettings {
                api: price::api(DEFAULT_API).unwrap_or(&FREE),
                input: None,
                output: None,
                rent: None,
            },
            plan: Plan::default(),
            study: Study {
                seed: SEED.default,
                ..Study::default()
            },
        }
    }
}

/// Why a value was not taken. The settings keep the value they had.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingError {
    /// The setting, or the key that is none.
    pub key: String,
    /// What was given, cut to a readable length.
    pub given: String,
    /// What is wrong with it.
    pub problem: SettingProblem,
}

impl SettingError {
    /// A key that is no setting.
    pub fn unknown(key: &str, given: &str) -> Self {
        Self {
            key: cut(key, 60),
            given: cut(given, 60),
            problem: SettingProblem::Field(Problem::UnknownKey),
        }
    }
}

/// What can be wrong with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingProblem {
    /// What can be wrong with a field, too.
    Field(Problem),
    /// Not a decimal number between these.
    NotADecimal {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
}

/// How a setting is read.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number.
    Number(Bounds),
    /// A whole number, or `auto`.
    Optional(Bounds),
    /// A decimal number between these.
    Decimal(f64, f64),
    /// The same, or `auto`.
    OptionalDecimal(f64, f64),
    /// One of these.
    Choice(fn() -> Vec<&'static str>),
    /// Text with a grammar of its own, of which this is an example.
    Text(&'static str),
}

/// A value that passed its check.
enum Given<'a> {
    Number(Option<u64>),
    Decimal(Option<f64>),
    Text(&'a str),
}

impl Given<'_> {
    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => *number,
            Self::Decimal(_) | Self::Text(_) => None,
        }
    }

    fn decimal(&self) -> Option<f64> {
        match self {
            Self::Decimal(number) => *number,
            Self::Number(_) | Self::Text(_) => None,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Decimal(_) => "",
        }
    }
}

/// One setting.
pub struct Setting {
    /// Its key in links.
    pub key: &'static str,
    /// How it is read.
    pub kind: Kind,
    get: fn(&Settings) -> String,
    set: fn(&mut Settings, &Given<'_>) -> Option<()>,
}

const SEED: Bounds = Bounds::log(0, u32::MAX as u64, 1);
const TOKENS: Bounds = Bounds::log(1, MAX_REQUEST_TOKENS, 1);
const LIMIT: Bounds = Bounds::log(1, 1 << 32, 1);
const AUTO: &str = "auto";
/// US dollars.
const MAX_USD: f64 = 1e6;

fn optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| AUTO.to_owned(), |value| value.to_string())
}

macro_rules! number {
    ($key:literal, $bounds:expr, $($field:ident).+) => {
        Setting {
            key: $key,
            kind: Kind::Number($bounds),
            get: |s| s.$($field).+.to_string(),
            set: |s, given| {
                s.$($field).+ = given.number()?;
                Some(())
            },
        }
    };
}

macro_rules! tokens {
    ($key:literal, $bounds:expr, $($field:ident).+) => {
        Setting {
            key: $key,
            kind: Kind::Number($bounds),
            get: |s| s.$($field).+.to_string(),
            set: |s, given| {
                s.$($field).+ = Tokens(given.number()?);
                Some(())
            },
        }
    };
}

macro_rules! maybe {
    ($key:literal, $bounds:expr, $($field:ident).+) => {
        Setting {
            key: $key,
            kind: Kind::Optional($bounds),
            get: |s| optional(s.$($field).+),
            set: |s, given| {
                s.$($field).+ = given.number();
                Some(())
            },
        }
    };
}

macro_rules! maybe_decimal {
    ($key:literal, $min:expr, $max:expr, $($field:ident).+) => {
        Setting {
            key: $key,
            kind: Kind::OptionalDecimal($min, $max),
            get: |s| optional(s.$($field).+),
            set: |s, given| {
                s.$($field).+ = given.decimal();
                Some(())
            },
        }
    };
}

macro_rules! choice {
    ($key:literal, $all:expr, $($field:ident).+) => {
        Setting {
            key: $key,
            kind: Kind::Choice(|| $all.map(|choice| choice.id()).to_vec()),
            get: |s| s.$($field).+.id().to_owned(),
            set: |s, given| {
                s.$($field).+ = $all.into_iter().find(|choice| choice.id() == given.text())?;
                Some(())
            },
        }
    };
}

macro_rules! constants {
    ($($name:ident)*) => {
        [$(Setting {
            key: concat!("speed.", stringify!($name)),
            kind: Kind::Decimal(0.0, 0.0),
            get: |s| s.constants.$name.to_string(),
            set: |s, given| {
                s.constants.$name = given.decimal()?;
                Some(())
            },
        }),*]
    };
}

/// The constants; their bounds are those of [`SpeedConstants::TABLE`].
static CONSTANTS: [Setting; 16] = constants! {
    memory_efficiency bf16_efficiency fp8_efficiency fp4_efficiency moe_compute_factor other_vendor_factor
    layer_us moe_layer_us tensor_parallel_layer_us prefill_layer_us sequence_us fast_link_gbps slow_link_gbps overlap_power
    prefill_chunk_tokens range_factor
};

static OTHERS: &[Setting] = &[
    Setting {
        key: "price.api",
        kind: Kind::Choice(|| price::all().api.iter().map(|price| price.id).collect()),
        get: |s| s.prices.api.id.to_owned(),
        set: |s, given| {
            s.prices.api = price::api(given.text())?;
            Some(())
        },
    },
    maybe_decimal!("price.input", 0.0, MAX_USD, prices.input),
    maybe_decimal!("price.output", 0.0, MAX_USD, prices.output),
    maybe_decimal!("price.rent", 0.0, MAX_USD, prices.rent),
    number!("turns.num_turns", NUM_TURNS, plan.num_turns),
    tokens!("turns.follow_up_tokens", FOLLOW_UP_TOKENS, plan.follow_up),
    number!("turns.tool_calls", TOOL_CALLS, plan.tool_calls),
    tokens!("turns.call_tokens", CALL_TOKENS, plan.call),
    tokens!("turns.result_tokens", RESULT_TOKENS, plan.result),
    choice!("serve.arrivals", ArrivalKind::ALL, study.arrivals),
    maybe!("serve.requests", MAX_REQUESTS, study.num_requests),
    maybe!("serve.clients", MAX_CLIENTS, study.clients),
    maybe_decimal!("serve.rate", 1e-6, 1e6, study.requests_per_second),
    choice!("serve.lengths", LengthKind::ALL, study.lengths),
    maybe!("serve.prompt_p95", TOKENS, study.prompt_p95),
    maybe!("serve.thinking_p95", TOKENS, study.thinking_p95),
    maybe!("serve.answer_p95", TOKENS, study.answer_p95),
    maybe!("serve.max_output_tokens", TOKENS, study.max_output_tokens),
    choice!("serve.policy", PolicyChoice::ALL, study.policy),
    maybe!("serve.max_num_seqs", LIMIT, study.max_num_seqs),
    maybe!(
        "serve.max_num_batched_tokens",
        LIMIT,
        study.max_num_batched_tokens
    ),
    number!("serve.seed", SEED, study.seed),
    Setting {
        key: "serve.versus",
        kind: Kind::Text("thinking:2"),
        get: |s| s.study.versus.text(),
        set: |s, given| {
            s.study.versus = Versus::from_text(given.text())?;
            Some(())
        },
    },
    Setting {
        key: "serve.trace",
        kind: Kind::Text("0:512:4000:300;1.5:512:4000:300"),
        get: |s| trace_text(&s.study.trace),
        set: |s, given| {
            s.study.trace = Arc::new(read_trace(given.text())?);
            Some(())
        },
    },
];

/// Every setting, in the order of links.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    CONSTANTS.iter().chain(OTHERS)
}

/// The setting with this key.
pub fn get(key: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.key == key)
}

/// The group of a key: what stands before its dot.
pub fn group(key: &str) -> &str {
    key.split_once('.').map_or("", |(group, _)| group)
}

/// A trace of at most so many bytes is written into a link.
pub const MAX_TRACE_LINK: usize = 20_000;

/// Rows as `arrival:prompt:thinking:answer`, with `;` between.
fn trace_text(rows: &[TraceRow]) -> String {
    let row = |row: &TraceRow| {
        format!(
            "{}:{}:{}:{}",
            row.arrival_seconds, row.prompt_tokens, row.thinking_tokens, row.answer_tokens
        )
    };
    rows.iter().map(row).collect::<Vec<_>>().join(";")
}

fn read_trace(text: &str) -> Option<Vec<TraceRow>> {
    let rows = text.split(';').filter(|row| !row.is_empty()).map(|row| {
        let mut cells = row.split(':');
        let mut next = || cells.next();
        let arrival_seconds: f64 = next()?.parse().ok()?;
        let mut tokens = || next()?.parse::<u64>().ok();
        let res = TraceRow {
            arrival_seconds,
            prompt_tokens: tokens()?,
            thinking_tokens: tokens()?,
            answer_tokens: tokens()?,
        };
        let is_right = cells.next().is_none() && 0.0 <= arrival_seconds && res.check().is_ok();
        is_right.then_some(res)
    });
    let rows: Vec<TraceRow> = rows.collect::<Option<_>>()?;
    let is_sorted = rows.is_sorted_by(|a, b| a.arrival_seconds <= b.arrival_seconds);
    (is_sorted && rows.len() as u64 <= MAX_REQUESTS.max).then_some(rows)
}

impl Setting {
    /// Its text.
    pub fn text(&self, settings: &Settings) -> String {
        (self.get)(settings)
    }

    /// Its text by default.
    pub fn default_text(&self) -> String {
        (self.get)(&Settings::default())
    }

    /// The bounds of a decimal number.
    pub fn decimal_bounds(&self) -> Option<(f64, f64)> {
        let constant = self.key.strip_prefix("speed.").and_then(|name| {
            let mut table = SpeedConstants::TABLE.iter();
            table.find(|constant| constant.name == name)
        });
        match (self.kind, constant) {
            (_, Some(constant)) => Some((constant.min, constant.max)),
            (Kind::Decimal(min, max) | Kind::OptionalDecimal(min, max), None) => Some((min, max)),
            (Kind::Number(_) | Kind::Optional(_) | Kind::Choice(_) | Kind::Text(_), None) => None,
        }
    }

    fn read<'a>(&self, text: &'a str) -> Result<Given<'a>, SettingProblem> {
        let field = SettingProblem::Field;
        let text = text.trim();
        let is_auto = text.is_empty() || text == AUTO;
        match self.kind {
            Kind::Optional(_) if is_auto => Ok(Given::Number(None)),
            Kind::OptionalDecimal(..) if is_auto => Ok(Given::Decimal(None)),
            Kind::Number(bounds) | Kind::Optional(bounds) => match whole_number(text) {
                Some(number) if bounds.contains(number) => Ok(Given::Number(Some(number))),
                Some(_) => Err(field(Problem::OutOfBounds(bounds))),
                None => Err(field(Problem::NotANumber)),
            },
            Kind::Decimal(..) | Kind::OptionalDecimal(..) => {
                let (min, max) = self.decimal_bounds().unwrap_or_default();
                let plain = ungrouped(text).unwrap_or_default();
                let is_plain = plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                match plain.parse::<f64>() {
                    Ok(number) if is_plain && (min..=max).contains(&number) => {
                        Ok(Given::Decimal(Some(number)))
                    }
                    Ok(_) | Err(_) => Err(SettingProblem::NotADecimal { min, max }),
                }
            }
            Kind::Choice(ids) => {
                let ids = ids();
                if ids.contains(&text) {
                    Ok(Given::Text(text))
                } else {
                    Err(field(Problem::NotOneOf(ids)))
                }
            }
            Kind::Text(_) => Ok(Given::Text(text)),
        }
    }

    /// Sets it from text.
    ///
    /// # Errors
    ///
    /// When the text is not a value of it; the settings stay as they were.
    pub fn set(&self, settings: &mut Settings, text: &str) -> Result<(), SettingError> {
        let wrong = |problem| SettingError {
            key: self.key.to_owned(),
            given: cut(text, 60),
            problem,
        };
        let given = self.read(text).map_err(wrong)?;
        let example = match self.kind {
            Kind::Text(example) => example,
            Kind::Number(_)
            | Kind::Optional(_)
            | Kind::Decimal(..)
            | Kind::OptionalDecimal(..)
            | Kind::Choice(_) => "",
        };
        (self.set)(settings, &given)
            .ok_or_else(|| wrong(SettingProblem::Field(Problem::NotOneOf(vec![example]))))
    }
}

/// Reads the pairs of a link. What cannot be read has its default and is named in the errors.
pub fn from_pairs(pairs: &[(String, String)]) -> (Settings, Vec<SettingError>) {
    let mut res = Settings::default();
    let mut errors = Vec::new();
    for (key, value) in pairs {
        let taken = match get(key) {
            Some(setting) => setting.set(&mut res, value),
            None => Err(SettingError::unknown(key, value)),
        };
        errors.extend(taken.err());
    }
    (res, errors)
}

/// The pairs of a link: every group that is not as it is by default, whole. A trace longer than [`MAX_TRACE_LINK`] is left
/// out.
pub fn to_pairs(settings: &Settings) -> Vec<(String, String)> {
    let changed: Vec<&str> = all()
        .filter(|setting| setting.text(settings) != setting.default_text())
        .map(|setting| group(setting.key))
        .collect();
    all()
        .filter(|setting| changed.contains(&group(setting.key)))
        .map(|setting| (setting.key.to_owned(), setting.text(settings)))
        .filter(|(_, text)| text.len() <= MAX_TRACE_LINK)
        .collect()
}
