//! The scenario as a sentence, in pieces: words, and values of which many are controls.

use crate::core::gpus::Gpu;
use crate::core::report::Report;
use crate::core::scenario::{FIELDS, ModelSource, Scenario, cut};

use super::fields;
use super::text::{Messages, Piece, fill, pieces};

/// A value in the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Prompt tokens.
    Prompt,
    /// Thinking tokens.
    Thinking,
    /// Answer tokens.
    Answer,
    /// Tokens in the cache at the end.
    Total,
    /// The model's name.
    Model,
    /// The cache's format.
    KvCacheDtype,
    /// Bytes of one request.
    Size,
    /// The GPUs.
    Gpus,
    /// Share of the bytes that thinking wrote.
    Share,
    /// Samples.
    NumSamples,
    /// Requests at once.
    NumSeqs,
}

impl Slot {
    const ALL: [(&'static str, Self); 11] = [
        ("prompt", Self::Prompt),
        ("thinking", Self::Thinking),
        ("answer", Self::Answer),
        ("total", Self::Total),
        ("model", Self::Model),
        ("kv_cache_dtype", Self::KvCacheDtype),
        ("size", Self::Size),
        ("gpus", Self::Gpus),
        ("share", Self::Share),
        ("num_samples", Self::NumSamples),
        ("num_seqs", Self::NumSeqs),
    ];

    /// The scenario's field that a control in this place changes; `None` for a result.
    pub fn field(self) -> Option<&'static str> {
        match self {
            Self::Prompt => Some("prompt_tokens"),
            Self::Thinking => Some("thinking_tokens"),
            Self::Answer => Some("answer_tokens"),
            Self::Model => Some("model"),
            Self::KvCacheDtype => Some("kv_cache_dtype"),
            Self::Gpus => Some("gpu"),
            Self::NumSamples => Some("num_samples"),
            Self::NumSeqs => Some("num_seqs"),
            Self::Total | Self::Size | Self::Share => None,
        }
    }
}

/// The name of a slot in templates.
pub fn slot_id(slot: Slot) -> &'static str {
    Slot::ALL
        .iter()
        .find(|(_, known)| *known == slot)
        .map_or("", |(name, _)| name)
}

/// A piece of the sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Words(String),
    /// A value.
    Value(Slot, String),
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Its pieces, in order.
    pub parts: Vec<Part>,
    /// Whether all of it is the point, and set so.
    pub is_strong: bool,
}

impl Sentence {
    fn new(template: &str, is_strong: bool, value: &dyn Fn(Slot) -> String) -> Self {
        let named = |name: &str| {
            Slot::ALL
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, slot)| *slot)
        };
        let parts = pieces(template)
            .map(|piece| match piece {
                Piece::Words(words) => Part::Words(words.to_owned()),
                Piece::Value(name) => match named(name) {
                    Some(slot) => Part::Value(slot, value(slot)),
                    None => Part::Words(name.to_owned()),
                },
                Piece::Plural(name, one, many) => {
                    let is_one = named(name).is_some_and(|slot| value(slot) == "1");
                    Part::Words(if is_one { one } else { many }.to_owned())
                }
            })
            .collect();
        Self { parts, is_strong }
    }

    /// The sentence as text.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Words(text) | Part::Value(_, text) => text.as_str(),
            })
            .collect()
    }
}

/// The whole scenario in words: what one request does, and where they say something, its samples and the requests at once.
pub fn lede(scenario: &Scenario, report: &Report, messages: &Messages) -> Vec<Sentence> {
    let page = &messages.page;
    let value = |slot| value(slot, scenario, report, messages);
    let mut res = vec![Sentence::new(&page.lede, false, &value)];
    if 1 < scenario.num_samples {
        res.push(Sentence::new(&page.lede_samples, false, &value));
    }
    if 1 < scenario.num_seqs {
        let all = messages.numbers().bytes_short(report.kv_cache.total_bytes);
        let value = |slot| {
            if slot == Slot::Size {
                all.clone()
            } else {
                value(slot)
            }
        };
        res.push(Sentence::new(&page.lede_requests, false, &value));
    }
    res.push(Sentence::new(&page.lede_share, true, &value));
    res
}

/// The width of a number's field in CSS: that of its digits, and half of it for what stands between them.
pub fn number_width(text: &str) -> String {
    let halves: usize = text
        .chars()
        .map(|c| if matches!(c, ',' | '.' | ' ') { 1 } else { 2 })
        .sum();
    format!("calc({}ch / 2)", halves.clamp(2, 32))
}

/// The sign with which words begin that end what stands before them; empty when they begin otherwise. A line does not
/// begin with it.
pub fn stop(words: &str) -> &str {
    let is_stop = words.starts_with(['.', ',', '。', '，']);
    let end = words.chars().next().filter(|_| is_stop);
    words.get(..end.map_or(0, char::len_utf8)).unwrap_or("")
}

/// What the cache holds at an earlier step than the last.
pub fn at_step(step: u64, last: u64, now: &Report, messages: &Messages) -> String {
    let numbers = messages.numbers();
    let values = [
        ("step", numbers.integer(step)),
        ("last", numbers.integer(last)),
        ("tokens", numbers.integer(now.tokens.total.0)),
        ("size", numbers.bytes_short(now.kv_cache.per_seq_bytes)),
    ];
    fill(
        &messages.page.at_step,
        &values
            .each_ref()
            .map(|(name, value)| (*name, value.as_str())),
    )
}

/// The short form, for narrow screens.
pub fn short(scenario: &Scenario, report: &Report, messages: &Messages) -> Sentence {
    let value = |slot| value(slot, scenario, report, messages);
    Sentence::new(&messages.page.lede_short, false, &value)
}

fn value(slot: Slot, scenario: &Scenario, report: &Report, messages: &Messages) -> String {
    let (numbers, cache) = (messages.numbers(), &report.kv_cache);
    match slot {
        Slot::Prompt => numbers.integer(scenario.prompt_tokens.0),
        Slot::Thinking => numbers.integer(scenario.thinking_tokens.0),
        Slot::Answer => numbers.integer(scenario.answer_tokens.0),
        Slot::Total => numbers.tokens(report.tokens.total),
        Slot::Model => model_name(scenario),
        Slot::KvCacheDtype => kv_cache_dtype(scenario),
        Slot::Size => numbers.bytes_short(cache.per_seq_bytes),
        Slot::Gpus => gpus(scenario, report, messages),
        Slot::Share => {
            let (part, whole) = (cache.thinking_bytes.0, cache.per_seq_bytes.0);
            // A part is never said to be the whole.
            let is_nearly_all = part < whole && whole - part < whole / 200;
            numbers.percent(part, whole, if is_nearly_all { 2 } else { 0 })
        }
        Slot::NumSamples => numbers.integer(scenario.num_samples.into()),
        Slot::NumSeqs => numbers.integer(scenario.num_seqs.into()),
    }
}

/// Characters of a model's name that are shown; a file may give it thousands.
const NAME_LENGTH: usize = 60;

/// The name of the model, or of the file it came from when the file does not say.
pub fn model_name(scenario: &Scenario) -> String {
    let model = &scenario.model;
    let name = match &model.source {
        ModelSource::Config { name, .. } | ModelSource::File { name, .. }
            if model.config.name.is_empty() =>
        {
            name
        }
        ModelSource::Preset(_)
        | ModelSource::Config { .. }
        | ModelSource::Dims(_)
        | ModelSource::File { .. } => &model.config.name,
    };
    cut(name, NAME_LENGTH)
}

/// What a scenario is called in a comparison: what people compare, its model and its cache.
fn pin_name(scenario: &Scenario) -> String {
    format!("{} {}", model_name(scenario), kv_cache_dtype(scenario))
}

/// The names of pinned scenarios beside the one that is shown: where several would be called the same, with what they
/// differ in. Thinking tokens are what they are compared over.
pub fn pin_names(shown: &Scenario, pinned: &[Scenario], messages: &Messages) -> Vec<String> {
    let name = |scenario: &Scenario| {
        let mut res = pin_name(scenario);
        let others = || {
            pinned
                .iter()
                .chain([shown])
                .filter(|other| pin_name(other) == pin_name(scenario))
        };
        for field in FIELDS.iter().filter(|field| field.is_active(scenario)) {
            let value = (field.get)(scenario);
            if matches!(field.key, "model" | "thinking_tokens")
                || others().all(|other| (field.get)(other) == value)
            {
                continue;
            }
            match field.key {
                "gpu" => res.extend([" · ", &gpu_label(scenario.gpu)]),
                "engine" | "weight_format" => res.extend([" · ", &value]),
                key => res.extend([" · ", fields::label(messages, key), " ", &value]),
            }
        }
        res
    };
    pinned.iter().map(name).collect()
}

/// The format of the cache, or of K and V when they differ: `bf16`, `q8_0/q4_0`.
pub fn kv_cache_dtype(scenario: &Scenario) -> String {
    let format = scenario.kv_cache_dtype;
    if format.k == format.v {
        format.k.id.to_owned()
    } else {
        format!("{}/{}", format.k.id, format.v.id)
    }
}

/// The GPUs: `4 × H100 80 GB`.
pub fn gpus(scenario: &Scenario, report: &Report, messages: &Messages) -> String {
    messages
        .numbers()
        .times(report.hardware.num_gpus, &gpu_label(scenario.gpu))
}

/// The short name with the capacity on the maker's label, where the short name does not hold it.
fn gpu_label(gpu: &Gpu) -> String {
    let words: Vec<&str> = gpu.name.split([' ', ',']).collect();
    let capacity = words.windows(2).find_map(|pair| match pair {
        [n, unit @ ("GB" | "GiB")] => Some(format!("{n} {unit}")),
        _ => None,
    });
    match capacity {
        Some(capacity) if !gpu.short.contains(&capacity) => format!("{} {capacity}", gpu.short),
        Some(_) | None => gpu.short.to_owned(),
    }
}
