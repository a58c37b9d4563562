//! One door for all files: what a dropped or pasted thing is, and several of them joined into one scenario.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::gguf::GgufHeader;
use super::log::{self, Fact, LogReading, Setting};
use super::safetensors::{ExactWeights, SafetensorsHeader, SafetensorsIndex, read_index};
use super::smi::{self, Device};
use super::{ImportError, wrong_file};
use crate::core::import::sentences::{Key, Sentence, say};
use crate::core::link::{self, Link};
use crate::core::model::ImportNote;
use crate::core::scenario::{FIELDS, FieldError, ModelChoice, Scenario, cut};
use crate::core::units::MIB;

/// What a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A model's config.json.
    Config,
    /// `model.safetensors.index.json`.
    SafetensorsIndex,
    /// A safetensors file, whose header is read by slices.
    Safetensors,
    /// A GGUF file, whose header is read by slices.
    Gguf,
    /// Start-up text of the engine with this id.
    Log(&'static str),
    /// What `nvidia-smi` prints.
    NvidiaSmi,
    /// What `rocm-smi` prints.
    RocmSmi,
    /// A link to a scenario.
    Link,
    /// None of these.
    Unknown,
}

impl Kind {
    /// The id in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::SafetensorsIndex => "safetensors_index",
            Self::Safetensors => "safetensors",
            Self::Gguf => "gguf",
            Self::Log(_) => "log",
            Self::NvidiaSmi => "nvidia_smi",
            Self::RocmSmi => "rocm_smi",
            Self::Link => "link",
            Self::Unknown => "unknown",
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// Bytes that are looked at.
const MAX_LOOK: usize = 1 << 20;
/// Bytes of the longest header of a safetensors file, by the format.
const MAX_SAFETENSORS_HEADER: u64 = 100_000_000;

/// What begins with these bytes; a megabyte of them is enough.
///
/// ```
/// # use kvscope::core::import::recognise::{Kind, recognise};
/// assert_eq!(recognise(b"GGUF\x03\0\0\0"), Kind::Gguf);
/// assert_eq!(recognise(br#"{"model_type": "llama"}"#), Kind::Config);
/// assert_eq!(recognise(b"INFO GPU KV cache size: 43,296 tokens"), Kind::Log("vllm"));
/// ```
pub fn recognise(bytes: &[u8]) -> Kind {
    let bytes = bytes.get(..bytes.len().min(MAX_LOOK)).unwrap_or_default();
    if bytes.starts_with(b"GGUF") {
        return Kind::Gguf;
    }
    if let Some((start, rest)) = bytes.split_first_chunk() {
        let length = u64::from_le_bytes(*start);
        if (2..=MAX_SAFETENSORS_HEADER).contains(&length) && rest.starts_with(b"{") {
            return Kind::Safetensors;
        }
    }
    recognise_text(&text_of(bytes))
}

fn recognise_text(text: &str) -> Kind {
    let text = text.trim_start_matches('\u{feff}').trim();
    let before = text.split_once('{').map(|(before, _)| before.trim_end());
    if before.is_some_and(|name| name.is_empty() || name.len() < 80 && name.ends_with("Config")) {
        return if text.contains("\"weight_map\"") {
            Kind::SafetensorsIndex
        } else {
            Kind::Config
        };
    }
    if is_link(text) {
        return Kind::Link;
    }
    if let Some(engine) = log::read(text).engine {
        return Kind::Log(engine);
    }
    if !smi::is_smi(text) {
        return Kind::Unknown;
    }
    if ["ROCm", "ROCM", "VRAM Total"]
        .iter()
        .any(|word| text.contains(word))
    {
        Kind::RocmSmi
    } else {
        Kind::NvidiaSmi
    }
}

/// An address with a scenario after its `#`, or what stands there alone.
fn is_link(text: &str) -> bool {
    let fragment = match text.split_once('#') {
        Some((before, fragment)) if before.is_empty() || before.contains("://") => fragment,
        Some(_) => return false,
        None => text,
    };
    if text.contains(char::is_whitespace) {
        return false;
    }
    let mut keys = fragment
        .split('&')
        .filter_map(|pair| Some(pair.split_once('=')?.0));
    keys.any(|key| key == "v" || FIELDS.iter().any(|field| field.key == key))
}

/// The text of a file. Shells of Windows write logs in UTF-16.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |of: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let (pairs, _) = bytes.as_chunks();
        let units: Vec<u16> = pairs.iter().map(|pair| of(*pair)).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => wide(u16::from_be_bytes, rest),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A model's config.json.
    Config(ModelChoice),
    /// The index of its weights.
    Index(SafetensorsIndex),
    /// The header of a file of its weights, with the file's name.
    Safetensors(String, SafetensorsHeader),
    /// The header of a GGUF file, with the file's name.
    Gguf(String, Box<GgufHeader>),
    /// An engine's start-up text.
    Log(LogReading),
    /// The machine's accelerators.
    Devices(Vec<Device>),
    /// A scenario.
    Link(Box<Link>),
}

impl Part {
    /// Reads a text, whatever it is. `name` is that of its file, empty for pasted text.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong, or what the text is instead.
    pub fn read(name: &str, text: &str) -> Result<Self, ImportError> {
        Ok(match recognise(text.as_bytes()) {
            Kind::Config => Self::Config(config(name, text)?),
            Kind::SafetensorsIndex => Self::Index(read_index(text)?),
            Kind::Log(_) => Self::Log(log::read(text)),
            Kind::NvidiaSmi | Kind::RocmSmi => Self::Devices(smi::read(text)?),
            Kind::Link => {
                let text = text.trim();
                let fragment = text.split_once('#').map_or(text, |(_, fragment)| fragment);
                // What the page keeps in its address is not the scenario's.
                let mut link = link::from_fragment(fragment, &[]);
                let is_own = |key: &str| key == "v" || FIELDS.iter().any(|field| field.key == key);
                link.errors.retain(|error| is_own(&error.key));
                Self::Link(Box::new(link))
            }
            Kind::Gguf | Kind::Safetensors | Kind::Unknown => {
                return Err(wrong_file::of_text(text).unwrap_or_else(|| unknown(name, text)));
            }
        })
    }

    fn what(&self) -> Key {
        match self {
            Self::Config(_) => Key::kind_config,
            Self::Index(_) => Key::kind_index,
            Self::Safetensors(..) => Key::kind_safetensors,
            Self::Gguf(..) => Key::kind_gguf,
            Self::Log(_) => Key::kind_log,
            Self::Devices(_) => Key::kind_devices,
            Self::Link(_) => Key::kind_link,
        }
    }
}

fn config(name: &str, text: &str) -> Result<ModelChoice, ImportError> {
    // `config.json`, `config (1).json`: the file's own name says nothing of the model.
    let name = name.strip_suffix(".json").unwrap_or(name);
    let name = if name.starts_with("config") { "" } else { name };
    ModelChoice::from_text(text, name).map_err(|message| ImportError::new("not_a_model", message))
}

fn unknown(name: &str, text: &str) -> ImportError {
    let what = if name.is_empty() {
        say!(the_text, head = format!("{:?}", cut(text.trim(), 30)))
    } else {
        say!(the_file, name = format!("{:?}", cut(name, 80)))
    };
    ImportError::new("unknown", say!(not_recognized, what))
}

/// What some things together decide of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioPatch {
    /// The scenario of a link, from which the others start.
    pub link: Option<Box<Link>>,
    /// The model.
    pub model: Option<ModelChoice>,
    /// Exact bytes of its weights, from beside it.
    pub weights: Option<ExactWeights>,
    /// The log, without what a file decides.
    pub log: Option<LogReading>,
    /// The accelerators.
    pub devices: Vec<Device>,
    /// Fields that the machine decides, unless the log does.
    pub machine: Vec<Setting>,
    /// Fields that the model's file decides.
    pub file: Vec<Setting>,
    /// What the reader should know.
    pub notes: Vec<ImportNote>,
}

impl ScenarioPatch {
    /// Sets the scenario to what the things say, and gives what it did not take, and notes.
    pub fn apply(&self, scenario: &mut Scenario) -> (Vec<FieldError>, Vec<ImportNote>) {
        let mut errors = Vec::new();
        let mut notes = self.notes.clone();
        if let Some(link) = &self.link {
            *scenario = link.scenario.clone();
            errors.extend(link.errors.iter().cloned());
        }
        for setting in &self.machine {
            errors.extend(scenario.set(setting.key, &setting.value).err());
        }
        if let Some(log) = &self.log {
            errors.extend(log.apply(scenario));
            notes.extend(log.notes.iter().cloned());
        }
        if let Some(model) = &self.model {
            scenario.model = model.clone();
        }
        if let Some(exact) = &self.weights {
            let (model, note) = scenario.model.with_exact_weights(exact);
            if let Some(model) = model {
                scenario.model = model;
            }
            notes.push(note);
        }
        if self.model.is_some() || self.weights.is_some() {
            let stored = scenario.model.config.stored;
            let id = stored.map_or("bf16", |stored| stored.format.id);
            errors.extend(scenario.set("weight_format", id).err());
        }
        for setting in &self.file {
            errors.extend(scenario.set(setting.key, &setting.value).err());
        }
        (errors, notes)
    }

    /// The figures that a log printed.
    pub fn facts(&self) -> &[Fact] {
        self.log.as_ref().map_or(&[], |log| &log.facts)
    }
}

/// Joins things into one scenario: a model from its config.json or GGUF file, the bytes of its weights from the files
/// beside it, the rest from a log, the machine and a link.
///
/// # Errors
///
/// When two of a kind do not go together.
pub fn join(parts: Vec<Part>) -> Result<ScenarioPatch, ImportError> {
    let mut res = ScenarioPatch::default();
    let (mut headers, mut shards) = (Vec::new(), Vec::new());
    let mut config = None;
    let mut index = None;
    for part in parts {
        let what = part.what();
        let is_second = match part {
            Part::Config(choice) => config.replace(choice).is_some(),
            Part::Index(read) => index.replace(read).is_some(),
            Part::Log(log) => res.log.replace(log).is_some(),
            Part::Link(link) => res.link.replace(link).is_some(),
            Part::Devices(devices) => {
                let is_second = !res.devices.is_empty();
                res.devices = devices;
                is_second
            }
            Part::Safetensors(name, header) => {
                shards.push((name, header));
                false
            }
            Part::Gguf(name, header) => {
                headers.push((name, header));
                false
            }
        };
        if is_second {
            return Err(ImportError::new("two_of_a_kind", say!(given_twice, what)));
        }
    }
    res.weights = exact_weights(index.as_ref(), &shards, &mut res.notes);
    if headers.is_empty() {
        res.model = config;
    } else {
        if config.is_some() {
            res.notes.push(note("config_unused", say!(config_unused)));
        }
        if res.weights.take().is_some() {
            res.notes.push(note("index_unused", say!(index_unused)));
        }
        take_gguf(headers, &mut res)?;
    }
    if let Some(model) = &res.model {
        let is_files = |setting: &Setting| matches!(setting.key, "model" | "weight_format");
        if let Some(log) = &mut res.log {
            log.settings.retain(|setting| !is_files(setting));
            log.notes.retain(|note| note.code != "model");
        }
        res.notes.extend(model.config.notes.iter().cloned());
    }
    take_devices(&mut res);
    Ok(res)
}

fn note(code: &'static str, message: Sentence) -> ImportNote {
    ImportNote {
        code,
        message: message.into(),
    }
}

fn take_gguf(
    headers: Vec<(String, Box<GgufHeader>)>,
    res: &mut ScenarioPatch,
) -> Result<(), ImportError> {
    let name = headers
        .iter()
        .min_by_key(|(_, header)| header.split().0)
        .map(|(name, _)| name.clone())
        .unwrap_or_default();
    let headers = headers.into_iter().map(|(_, header)| *header).collect();
    let (model, settings) = ModelChoice::from_gguf(&GgufHeader::joined(headers)?, &name)?;
    res.model = Some(model);
    res.file = settings;
    Ok(())
}

/// The bytes that the index gives, or the headers of all files together.
fn exact_weights(
    index: Option<&SafetensorsIndex>,
    shards: &[(String, SafetensorsHeader)],
    notes: &mut Vec<ImportNote>,
) -> Option<ExactWeights> {
    if let Some(bytes) = index.and_then(|index| index.total_size) {
        return Some(ExactWeights {
            bytes,
            source: "model.safetensors.index.json".into(),
        });
    }
    if index.is_some() && shards.is_empty() {
        notes.push(note("index", say!(no_total_size)));
    }
    let (first, _) = shards.first()?;
    let n_files = index.map_or_else(|| files_of(first), |index| index.n_files);
    let n_read = shards.len() as u64;
    if n_read < n_files {
        notes.push(note(
            "shards",
            say!(shards_missing, read = n_read, files = n_files),
        ));
        return None;
    }
    Some(ExactWeights {
        bytes: shards.iter().map(|(_, header)| header.bytes).sum(),
        source: if n_read == 1 {
            cut(first, 80).into()
        } else {
            say!(headers_of, files = n_read).into()
        },
    })
}

/// How many files there are by the name of one, such as `model-00001-of-00004.safetensors`.
fn files_of(name: &str) -> u64 {
    let count = name
        .strip_suffix(".safetensors")
        .and_then(|name| name.rsplit_once("-of-"))
        .and_then(|(_, count)| count.parse().ok());
    count.unwrap_or(1)
}

fn take_devices(res: &mut ScenarioPatch) {
    let Some(first) = res.devices.first() else {
        return;
    };
    let n_devices = res.devices.len();
    match first.gpu {
        Some(gpu) => res.machine.push(Setting {
            key: "gpu",
            value: gpu.to_owned(),
        }),
        None => {
            let name = format!("{:?}", first.name);
            let message = match first.memory_bytes {
                Some(bytes) => say!(unknown_gpu_of, name, mib = bytes.0 / MIB),
                None => say!(unknown_gpu, name),
            };
            res.notes.push(note("gpu", message));
        }
    }
    res.machine.push(Setting {
        key: "tensor_parallel_size",
        value: n_devices.to_string(),
    });
    if res.devices.iter().any(|device| device.gpu != first.gpu) {
        res.notes.push(note("gpu", say!(gpus_differ)));
    }
}
