//! Typed answers: "1.47 GiB", "1.58e9 B", "4 812", "4.812k", "1,47 GiB", "301 blocks", as numbers with what else they
//! could mean.

use super::number;
use crate::core::scenario::cut;
use crate::core::units::{GB, GIB, KIB, MIB};

/// What a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Tokens.
    Tokens,
    /// An amount of memory.
    Bytes,
    /// Requests at once.
    Requests,
    /// A number without a unit.
    Count,
    /// Yes or no.
    YesNo,
}

/// A unit of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// One token.
    Token,
    /// One block of tokens.
    Block,
    /// One request.
    Request,
    /// No unit.
    One,
    /// Bytes.
    Byte(Prefix),
    /// Bits.
    Bit(Prefix),
}

/// What stands before a unit of memory: a power of 1,000 or of 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// Whether powers of 1,024 are meant.
    pub is_binary: bool,
    /// The power, 0 to 5.
    pub power: u8,
}

impl Prefix {
    /// No prefix.
    pub const NONE: Self = Self {
        is_binary: false,
        power: 0,
    };

    /// What the unit is multiplied by.
    pub fn factor(self) -> f64 {
        self.base().powi(i32::from(self.power))
    }

    /// 1,000 or 1,024.
    pub fn base(self) -> f64 {
        if self.is_binary { KIB as f64 } else { 1e3 }
    }
}

impl Unit {
    /// Bytes.
    pub const B: Self = Self::Byte(Prefix::NONE);
    /// 10^3 bytes.
    pub const KB: Self = Self::bytes(false, 1);
    /// 10^6 bytes.
    pub const MB: Self = Self::bytes(false, 2);
    /// 10^9 bytes.
    pub const GB: Self = Self::bytes(false, 3);
    /// 2^10 bytes.
    pub const KIB: Self = Self::bytes(true, 1);
    /// 2^20 bytes.
    pub const MIB: Self = Self::bytes(true, 2);
    /// 2^30 bytes.
    pub const GIB: Self = Self::bytes(true, 3);

    /// The units to choose from for an amount of memory.
    pub const OF_BYTES: [Self; 7] = [
        Self::B,
        Self::KIB,
        Self::MIB,
        Self::GIB,
        Self::KB,
        Self::MB,
        Self::GB,
    ];

    const fn bytes(is_binary: bool, power: u8) -> Self {
        Self::Byte(Prefix { is_binary, power })
    }

    /// What it measures; blocks are tokens.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Token | Self::Block => Dimension::Tokens,
            Self::Request => Dimension::Requests,
            Self::One => Dimension::Count,
            Self::Byte(_) | Self::Bit(_) => Dimension::Bytes,
        }
    }

    /// The symbol, the same in every language; empty where a word of the language is needed.
    pub fn symbol(self) -> String {
        match self {
            Self::Token | Self::Block | Self::Request | Self::One => String::new(),
            Self::Byte(prefix) => format!("{}B", letters(prefix)),
            Self::Bit(prefix) => format!("{}bit", letters(prefix)),
        }
    }

    fn factor(self) -> f64 {
        match self {
            Self::Token | Self::Block | Self::Request | Self::One => 1.0,
            Self::Byte(prefix) => prefix.factor(),
            Self::Bit(prefix) => prefix.factor() / 8.0,
        }
    }
}

const PREFIX_LETTERS: [&str; 6] = ["", "k", "M", "G", "T", "P"];

fn letters(prefix: Prefix) -> String {
    let letter = PREFIX_LETTERS
        .get(usize::from(prefix.power))
        .copied()
        .unwrap_or_default();
    if prefix.is_binary && prefix.power == 1 {
        "Ki".to_owned()
    } else if prefix.is_binary {
        format!("{letter}i")
    } else {
        letter.to_owned()
    }
}

/// A word that a language adds to the units and scales that every language shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A unit.
    Unit(Unit),
    /// A factor: "thousand", 万.
    Scale(u64),
    /// Yes.
    Yes,
    /// No.
    No,
}

/// How numbers are written in a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerStyle {
    /// What stands before the fraction: `.` or `,`. The other one groups.
    pub decimal: char,
    /// The language's own words, in lower case.
    pub words: Vec<(String, Word)>,
}

impl AnswerStyle {
    /// English.
    pub const ENGLISH: Self = Self {
        decimal: '.',
        words: Vec::new(),
    };
}

/// One way to read what was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Tokens, bytes, requests, or 1 and 0 for yes and no. Blocks stay blocks.
    pub value: f64,
    /// One in the last digit that was typed; zero for a chosen answer.
    pub step: f64,
    /// Significant digits typed.
    pub digits: u32,
    /// The unit.
    pub unit: Unit,
    /// Whether the comma and the point were read against the language.
    pub is_other_notation: bool,
}

/// An answer: the ways to read it, the likeliest first. There is always at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    first: Reading,
    others: Vec<Reading>,
}

impl Quantity {
    /// The likeliest reading.
    pub fn first(&self) -> &Reading {
        &self.first
    }

    /// Every reading.
    pub fn readings(&self) -> impl Iterator<Item = &Reading> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// An answer that was chosen, not typed: an exact number.
    pub fn exact(value: f64, unit: Unit) -> Self {
        let first = Reading {
            value: value * unit.factor(),
            step: 0.0,
            digits: u32::MAX,
            unit,
            is_other_notation: false,
        };
        Self {
            first,
            others: Vec::new(),
        }
    }

    /// Yes or no, chosen.
    pub fn yes(is_yes: bool) -> Self {
        Self::exact(if is_yes { 1.0 } else { 0.0 }, Unit::One)
    }
}

/// Why an answer could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// Nothing was typed.
    Empty,
    /// More than [`MAX_CHARS`] characters.
    TooLong,
    /// No number where one should be.
    NotANumber,
    /// Neither yes nor no.
    NotYesOrNo,
    /// Below zero.
    Negative,
    /// Above 10^24.
    TooLarge,
    /// Words after the number that are no unit.
    UnknownUnit(String),
    /// A unit of something else.
    OtherDimension(Unit),
    /// An amount of memory without a unit, where none was chosen.
    MissingUnit,
}

/// The longest text that is read as an answer.
pub const MAX_CHARS: usize = 100;
const MAX_VALUE: f64 = 1e24;

/// Reads an answer to a question of this dimension. `default_unit` is the unit that was chosen beside the field and holds
/// when the text has none; `None`: the reader must say it, as an amount of memory without a unit can be read two ways.
///
/// # Errors
///
/// When the text is no number or its unit does not fit the question.
///
/// ```
/// # use kvscope::core::predict::answer::{AnswerStyle, Dimension, Unit, parse_answer};
/// let read = |text| parse_answer(text, Dimension::Bytes, None, &AnswerStyle::ENGLISH).map(|answer| answer.first().value);
/// assert_eq!(read("1.5 GiB"), Ok(1_610_612_736.0));
/// assert_eq!(read("1.58e9 B"), Ok(1_580_000_000.0));
/// ```
pub fn parse_answer(
    text: &str,
    dimension: Dimension,
    default_unit: Option<Unit>,
    style: &AnswerStyle,
) -> Result<Quantity, AnswerError> {
    if text.trim().is_empty() {
        return Err(AnswerError::Empty);
    }
    if MAX_CHARS < text.chars().count() {
        return Err(AnswerError::TooLong);
    }
    let text: String = text.chars().map(number::plain).collect();
    let text = text.trim();
    if dimension == Dimension::YesNo {
        return yes_or_no(text, style);
    }
    let (notations, rest) = number::read(text, style.decimal)?;
    let is_zero = notations.iter().all(|notation| notation.value == 0.0);
    let units = units(rest.trim(), dimension, default_unit, style, is_zero)?;
    let mut readings = Vec::new();
    for notation in notations {
        for &(unit, scale) in &units {
            let factor = unit.factor() * scale;
            let value = notation.value * factor;
            if !value.is_finite() || MAX_VALUE < value {
                return Err(AnswerError::TooLarge);
            }
            readings.push(Reading {
                value,
                step: notation.step * factor,
                digits: notation.digits,
                unit,
                is_other_notation: notation.is_other,
            });
        }
    }
    // Nobody counts thousandths of tokens or of requests: "4.812" is 4,812, and no other notation.
    let is_whole = |reading: &Reading| reading.value.fract() == 0.0;
    let is_counted = matches!(dimension, Dimension::Tokens | Dimension::Requests);
    if is_counted && readings.first().is_some_and(|first| !is_whole(first)) {
        readings.sort_by_key(|reading| !(is_whole(reading) && reading.is_other_notation));
        for reading in &mut readings {
            reading.is_other_notation = false;
        }
    }
    let mut readings = readings.into_iter();
    let first = readings.next().ok_or(AnswerError::NotANumber)?;
    Ok(Quantity {
        first,
        others: readings.collect(),
    })
}

fn yes_or_no(text: &str, style: &AnswerStyle) -> Result<Quantity, AnswerError> {
    let lower = text.trim_end_matches(['.', '!']).to_lowercase();
    let word = style.words.iter().find(|(word, _)| *word == lower);
    match (word.map(|(_, word)| *word), lower.as_str()) {
        (Some(Word::Yes), _) | (None, "yes" | "y" | "true" | "1") => Ok(Quantity::yes(true)),
        (Some(Word::No), _) | (None, "no" | "n" | "false" | "0") => Ok(Quantity::yes(false)),
        (Some(Word::Unit(_) | Word::Scale(_)) | None, _) => Err(AnswerError::NotYesOrNo),
    }
}

/// The units that a text can mean, each with its scale.
fn units(
    text: &str,
    dimension: Dimension,
    default_unit: Option<Unit>,
    style: &AnswerStyle,
    is_zero: bool,
) -> Result<Vec<(Unit, f64)>, AnswerError> {
    // "KiB/token" and "KiB per token" say what the question says.
    let text = text.split('/').next().unwrap_or_default();
    let text = text.split(" per ").next().unwrap_or_default().trim();
    let own = match dimension {
        Dimension::Tokens => Some(Unit::Token),
        Dimension::Requests => Some(Unit::Request),
        Dimension::Count | Dimension::YesNo => Some(Unit::One),
        // Nothing is nothing in every unit.
        Dimension::Bytes if is_zero => Some(Unit::B),
        Dimension::Bytes => None,
    };
    let default = default_unit
        .filter(|unit| unit.dimension() == dimension)
        .or(own);
    if text.is_empty() {
        let unit = default.ok_or(AnswerError::MissingUnit)?;
        return Ok(vec![(unit, 1.0)]);
    }
    let found = unit_word(text, style);
    let fitting: Vec<_> = found
        .iter()
        .filter(|unit| fits(**unit, dimension))
        .map(|unit| (*unit, 1.0))
        .collect();
    if !fitting.is_empty() {
        return Ok(fitting);
    }
    for (scales, rest) in scale_words(text, style, dimension) {
        let rest = rest.trim_start();
        let res: Vec<_> = if rest.is_empty() {
            let unit = default.ok_or(AnswerError::MissingUnit)?;
            scales.iter().map(|scale| (unit, *scale)).collect()
        } else {
            let units = unit_word(rest, style);
            let units = units.iter().filter(|unit| fits(**unit, dimension));
            units
                .flat_map(|unit| scales.iter().map(|scale| (*unit, *scale)))
                .collect()
        };
        if !res.is_empty() {
            return Ok(res);
        }
    }
    Err(match found.first() {
        Some(unit) => AnswerError::OtherDimension(*unit),
        None => AnswerError::UnknownUnit(cut(text, 20)),
    })
}

fn fits(unit: Unit, dimension: Dimension) -> bool {
    match dimension {
        // Bytes per number are counted in bytes, heads in nothing.
        Dimension::Count => matches!(unit, Unit::One | Unit::Byte(Prefix { power: 0, .. })),
        Dimension::Tokens | Dimension::Bytes | Dimension::Requests | Dimension::YesNo => {
            unit.dimension() == dimension
        }
    }
}

/// What a whole word can mean as a unit.
fn unit_word(text: &str, style: &AnswerStyle) -> Vec<Unit> {
    let text = text.trim_end_matches(['.', '!', ' ']);
    let lower = text.to_lowercase();
    // One word may count several things, as 个 does.
    let own = style
        .words
        .iter()
        .filter_map(|(word, meaning)| match meaning {
            Word::Unit(unit) if *word == lower => Some(*unit),
            Word::Unit(_) | Word::Scale(_) | Word::Yes | Word::No => None,
        });
    let named = match lower.as_str() {
        "token" | "tokens" | "tok" | "toks" | "t" => Some(Unit::Token),
        "block" | "blocks" | "page" | "pages" => Some(Unit::Block),
        "request" | "requests" | "user" | "users" | "sequence" | "sequences" | "seqs" | "x"
        | "×" => Some(Unit::Request),
        _ => None,
    };
    own.chain(named).chain(memory_unit(text, &lower)).collect()
}

const PREFIX_WORDS: [(&str, bool, u8); 10] = [
    ("kilo", false, 1),
    ("mega", false, 2),
    ("giga", false, 3),
    ("tera", false, 4),
    ("peta", false, 5),
    ("kibi", true, 1),
    ("mebi", true, 2),
    ("gibi", true, 3),
    ("tebi", true, 4),
    ("pebi", true, 5),
];

fn memory_unit(text: &str, lower: &str) -> Vec<Unit> {
    let word = |rest: &str, prefix: Prefix| match rest {
        "byte" | "bytes" => vec![Unit::Byte(prefix)],
        "bit" | "bits" => vec![Unit::Bit(prefix)],
        _ => Vec::new(),
    };
    let spelled = PREFIX_WORDS.iter().find_map(|(name, is_binary, power)| {
        let rest = lower.strip_prefix(name)?;
        let prefix = Prefix {
            is_binary: *is_binary,
            power: *power,
        };
        Some(word(rest, prefix))
    });
    spelled.unwrap_or_else(|| {
        let mut chars = text.chars();
        let power = match chars.next() {
            Some('k' | 'K') => 1,
            Some('m' | 'M') => 2,
            Some('g' | 'G') => 3,
            Some('t' | 'T') => 4,
            Some('p' | 'P') => 5,
            Some(_) | None => 0,
        };
        let rest = if power == 0 { text } else { chars.as_str() };
        let (is_binary, rest) = match rest.strip_prefix(['i', 'I']) {
            Some(rest) if 0 < power => (true, rest),
            Some(_) | None => (false, rest),
        };
        let prefix = Prefix { is_binary, power };
        let is_all_lower = text == lower;
        match rest {
            "B" | "Bs" => vec![Unit::Byte(prefix)],
            // Most who write gb mean bytes; who writes Gb may mean either.
            "b" | "bs" if is_all_lower && 0 < power => vec![Unit::Byte(prefix)],
            "b" | "bs" => vec![Unit::Byte(prefix), Unit::Bit(prefix)],
            "" if is_binary => vec![Unit::Byte(prefix)],
            "" if 0 < power => vec![
                Unit::Byte(prefix),
                Unit::Byte(Prefix {
                    is_binary: true,
                    power,
                }),
            ],
            _ => word(&rest.to_lowercase(), prefix),
        }
    })
}

/// Scales at the start of a text, each as the factors it can mean, and what follows.
fn scale_words<'a>(
    text: &'a str,
    style: &AnswerStyle,
    dimension: Dimension,
) -> Vec<(Vec<f64>, &'a str)> {
    let mut res = Vec::new();
    let own = style
        .words
        .iter()
        .filter_map(|(word, meaning)| match meaning {
            Word::Scale(scale) => Some((word.as_str(), vec![*scale as f64])),
            Word::Unit(_) | Word::Yes | Word::No => None,
        });
    let shared = [
        ("thousand", vec![1e3]),
        ("million", vec![1e6]),
        ("billion", vec![GB as f64]),
        ("bn", vec![GB as f64]),
    ];
    for (word, scales) in own.chain(shared) {
        let head = text.get(..word.len()).unwrap_or_default();
        if head.to_lowercase() == word {
            res.push((scales, text.get(word.len()..).unwrap_or_default()));
        }
    }
    // For tokens 128k is 131,072 to most and 128,000 to some; both are taken.
    if dimension != Dimension::Bytes {
        let letters = [
            (['k', 'K'], [1e3, KIB as f64]),
            (['m', 'M'], [1e6, MIB as f64]),
            (['g', 'G'], [1e9, GIB as f64]),
        ];
        for (letters, scales) in letters {
            if let Some(rest) = text.strip_prefix(letters) {
                res.push((scales.to_vec(), rest));
            }
        }
    }
    res
}
