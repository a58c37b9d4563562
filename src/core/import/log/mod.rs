//! Start-up text of an engine: what it says of the setup, and the figures it prints. Any text is read, in bounded time
//! and memory; lines that say nothing are passed over.

mod command;
mod compare;
mod llama_cpp;
mod scan;
mod sglang;
mod tensorrt_llm;
mod vllm;

use serde::Serialize;

use super::names_of_models::preset_named;
use crate::core::import::sentences::{Sentence, say};
use crate::core::model::ImportNote;
use crate::core::presets;
use crate::core::scenario::{EngineKind, FieldError, Scenario, cut};
use crate::core::weights::{WEIGHT_FORMATS, weight_format};
pub use compare::{Comparison, Computed, Reason, compare};
use scan::Rounded;

/// Bytes of text that are read.
pub const MAX_TEXT: usize = 4 << 20;
/// Bytes of one line that are read; vLLM's configuration takes some thousands.
const MAX_LINE: usize = 1 << 16;
/// Facts that are kept; a log of many ranks repeats itself.
const MAX_FACTS: usize = 400;

/// What a log says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogReading {
    /// The engine's id, when a line is one of an engine's.
    pub engine: Option<&'static str>,
    /// The model as the log names it.
    pub model_name: Option<String>,
    /// Fields of a scenario with their values; of a field that stands twice, the last holds.
    pub settings: Vec<Setting>,
    /// The figures that were printed, in order.
    pub facts: Vec<Fact>,
    /// What the reader should know of the reading.
    pub notes: Vec<ImportNote>,
}

/// A field of the scenario that the log decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The field.
    pub key: &'static str,
    /// Its value, as a link has it.
    pub value: String,
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Bytes of the pool.
    AvailableBytes,
    /// Blocks of the pool.
    NumBlocks,
    /// Tokens that the pool is said to hold.
    KvCacheSizeTokens,
    /// Longest sequences at once.
    MaxConcurrency,
    /// Bytes that one longest sequence needs.
    NeededBytes,
    /// The longest length that fits.
    MaxModelLenThatFits,
    /// Bytes of K of one cache.
    KBytes,
    /// Bytes of V of one cache.
    VBytes,
    /// Bytes of one cache, or of all.
    CacheBytes,
    /// Tokens or cells of one cache.
    CacheTokens,
    /// Bytes of weights on one GPU.
    WeightBytes,
    /// Bytes of activations on one GPU.
    ActivationBytes,
}

/// A printed figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// What it is of.
    pub what: What,
    /// The cache's label in the report, when it is of one of several.
    pub cache: Option<&'static str>,
    /// The figure, in bytes, tokens or times.
    pub value: f64,
    /// What its digits leave open, either way.
    pub half: f64,
    /// The line it stands in, without colors, cut.
    pub line: String,
}

impl LogReading {
    /// Sets the scenario to what the log says. A model that is not among the presets stays as it was.
    ///
    /// # Errors
    ///
    /// What the scenario does not take, field by field; the fields keep what they had.
    pub fn apply(&self, scenario: &mut Scenario) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if let Some(engine) = self.engine {
            errors.extend(scenario.set("engine", engine).err());
            // A pool that belongs to another log is not this one's.
            for key in ["available_kv_cache_bytes", "num_blocks", "num_tokens"] {
                errors.extend(scenario.set(key, "auto").err());
            }
        }
        for setting in &self.settings {
            errors.extend(scenario.set(setting.key, &setting.value).err());
        }
        errors
    }

    /// The figures beside ours of a scenario that this log was applied to.
    pub fn compared(&self, scenario: &Scenario) -> Vec<Comparison> {
        let mut res = compare(&self.facts, scenario);
        if self.notes.iter().any(|note| note.code == "model") {
            of_another_model(&mut res);
        }
        res
    }

    /// The value of a field that the log decides.
    pub fn setting(&self, key: &str) -> Option<&str> {
        let is_key = |setting: &&Setting| setting.key == key;
        self.settings
            .iter()
            .rev()
            .find(is_key)
            .map(|setting| setting.value.as_str())
    }
}

/// Reads pasted text.
///
/// ```
/// # use kvscope::core::import::log;
/// let text = "INFO 10-02 12:34:56 [kv_cache_utils.py:1087] GPU KV cache size: 43,296 tokens";
/// let reading = log::read(text);
/// assert_eq!(reading.engine, Some("vllm"));
/// assert_eq!(reading.facts[0].value, 43_296.0);
/// ```
pub fn read(text: &str) -> LogReading {
    let mut reader = Reader::default();
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for line in text.get(..end).unwrap_or_default().lines() {
        let line = scan::plain(line, MAX_LINE);
        command::read_line(&line, &mut reader);
        vllm::read_line(&line, &mut reader);
        sglang::read_line(&line, &mut reader);
        tensorrt_llm::read_line(&line, &mut reader);
        llama_cpp::read_line(&line, &mut reader);
    }
    if end < text.len() {
        reader.note("cut", say!(log_cut, mib = MAX_TEXT >> 20));
    }
    reader.finish()
}

/// What the lines have said so far.
#[derive(Default)]
struct Reader {
    engine: Option<EngineKind>,
    res: LogReading,
    vllm: vllm::State,
    command: command::State,
    llama_cpp: llama_cpp::State,
}

impl Reader {
    /// A line that only this engine prints. The first such line decides.
    fn is_of(&mut self, engine: EngineKind) -> bool {
        *self.engine.get_or_insert(engine) == engine
    }

    fn set(&mut self, key: &'static str, value: impl ToString) {
        let value = value.to_string();
        match self
            .res
            .settings
            .iter_mut()
            .find(|setting| setting.key == key)
        {
            Some(setting) => setting.value = value,
            None => self.res.settings.push(Setting { key, value }),
        }
    }

    fn set_model(&mut self, name: &str) {
        if name.is_empty() || name == "None" {
            return;
        }
        self.res.model_name = Some(cut(name, 200));
        if let Some(preset) = preset_named(name) {
            self.set("model", preset.id());
        }
        if let Some(format) = weight_format_in(name) {
            self.set("weight_format", format);
        }
    }

    fn note(&mut self, code: &'static str, message: Sentence) {
        if !self.res.notes.iter().any(|note| note.code == code) {
            let message = message.into();
            self.res.notes.push(ImportNote { code, message });
        }
    }

    fn fact(&mut self, what: What, cache: Option<&'static str>, value: Rounded, line: &str) {
        if self.res.facts.len() < MAX_FACTS {
            let line = cut(line.trim(), 300);
            self.res.facts.push(Fact {
                what,
                cache,
                value: value.value,
                half: value.half,
                line,
            });
        }
    }

    /// A figure that is exact.
    fn count(&mut self, what: What, cache: Option<&'static str>, value: u64, line: &str) {
        self.fact(
            what,
            cache,
            Rounded {
                value: value as f64,
                half: 0.0,
            },
            line,
        );
    }

    /// The smallest figure of this kind: ranks agree on the least.
    fn least(&self, what: What) -> Option<f64> {
        let of_kind = self.res.facts.iter().filter(|fact| fact.what == what);
        of_kind.map(|fact| fact.value).min_by(f64::total_cmp)
    }

    /// A preset whose weights nothing names is stored as its makers ship it; so is one of which only `fp8` is known.
    fn as_its_makers_store_it(&mut self) {
        let Some(preset) = self.res.setting("model").and_then(presets::get) else {
            return;
        };
        let stored = preset.model().stored;
        let stored = stored.map_or("bf16", |stored| stored.format.id);
        let is_its = |format: &str| stored.starts_with(format);
        if self.res.setting("weight_format").is_none_or(is_its) {
            self.set("weight_format", stored);
        }
    }

    fn finish(mut self) -> LogReading {
        self.res.engine = self.engine.map(EngineKind::id);
        match self.engine {
            Some(EngineKind::Vllm) => vllm::finish(&mut self),
            Some(EngineKind::LlamaCpp) => llama_cpp::finish(&mut self),
            Some(EngineKind::Sglang | EngineKind::TensorRtLlm | EngineKind::Exact) => {}
            None => self.note("no_engine", say!(no_engine)),
        }
        self.as_its_makers_store_it();
        command::finish(&mut self);
        if self.engine.is_some() && self.res.setting("model").is_none() {
            let message = match &self.res.model_name {
                Some(name) => say!(log_model, name = name.as_str()),
                None => say!(log_no_model),
            };
            self.note("model", message);
        }
        self.res
    }
}

/// The weight format that a model's name holds as a word, such as `fp8` in `Qwen3-32B-FP8`; the longest when it holds several.
fn weight_format_in(name: &str) -> Option<&'static str> {
    const MORE: [&str; 6] = ["awq", "gptq", "w4a16", "w8a8", "f16", "fp16"];
    let name = name.to_ascii_lowercase();
    let is_word = |word: &str| {
        let is_apart = |text: &str, at_end: bool| {
            let c = if at_end {
                text.chars().next_back()
            } else {
                text.chars().next()
            };
            c.is_none_or(|c| !c.is_ascii_alphanumeric())
        };
        name.match_indices(word).any(|(at, _)| {
            let (before, rest) = name.split_at(at);
            is_apart(before, true) && is_apart(rest.get(word.len()..).unwrap_or_default(), false)
        })
    };
    let ids = WEIGHT_FORMATS.iter().map(|format| format.id);
    let found = ids
        .chain(MORE)
        .filter(|id| is_word(id))
        .max_by_key(|id| id.len())?;
    Some(weight_format(found)?.id)
}

/// Differences in a log whose model the scenario does not have.
pub fn of_another_model(rows: &mut [Comparison]) {
    for row in rows.iter_mut().filter(|row| !row.agrees) {
        row.reason = Some(Reason::OtherModel);
    }
}

/// A cache format by the name that engines print. `auto` is the model's own type.
fn cache_format(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches("torch.");
    Some(match name {
        "auto" | "bfloat16" | "bf16" => "bf16",
        "float16" | "half" | "fp16" | "f16" => "float16",
        "float32" | "f32" => "float32",
        _ if name.starts_with("fp8_per_token_head") => "fp8_per_token_head",
        _ if name.starts_with("int8_per_token_head") => "int8_per_token_head",
        "fp8_ds_mla" => "fp8_ds_mla",
        _ if name.starts_with("fp8") || name.starts_with("float8") => "fp8",
        "nvfp4" | "fp4_e2m1" => "nvfp4",
        _ => crate::core::units::formats::cache_format(name)?.id,
    })
}
