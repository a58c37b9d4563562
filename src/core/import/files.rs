//! Files as a reader gives them: each read by slices, whatever it is, and all joined into one scenario.

use serde::Serialize;

use super::gguf::GgufReader;
use super::log::{self, Comparison, Fact, Setting};
use super::recognise::{Kind, Part, ScenarioPatch, join, recognise, text_of};
use super::safetensors::{self, SafetensorsReader};
use super::smi::Device;
use super::{ImportError, Need};
use crate::core::import::sentences::say;
use crate::core::model::{ImportNote, Message};
use crate::core::scenario::{FieldError, Scenario};
use crate::core::units::MIB;

/// Bytes that are asked for at once.
const SLICE: u64 = MIB;
/// Bytes of a log that are read: in UTF-16 a character takes two. One more than is kept, so that it says it was cut.
const MAX_LOG: u64 = 2 * (log::MAX_TEXT as u64 + 1);

/// Reads a file of any size, whatever it is, without ever holding more than what says something.
///
/// ```
/// # use kvscope::core::import::{files::FileReader, recognise::Kind};
/// let file = b"GPU 0: NVIDIA L4 (UUID: GPU-1)";
/// let mut reader = FileReader::new("", file.len() as u64);
/// while let Some(need) = reader.need() {
///     let from = need.offset as usize;
///     reader.feed(&file[from..from + need.length as usize]);
/// }
/// assert_eq!(reader.kind(), Kind::NvidiaSmi);
/// assert!(reader.finish().is_ok());
/// ```
#[derive(Debug)]
pub struct FileReader {
    name: String,
    size: u64,
    kind: Kind,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    Gguf(Box<GgufReader>),
    Safetensors(SafetensorsReader),
    Text(Vec<u8>),
    Failed(ImportError),
}

impl FileReader {
    /// A reader for a file of this name and this many bytes.
    pub fn new(name: &str, size: u64) -> Self {
        Self {
            name: name.to_owned(),
            size,
            kind: Kind::Unknown,
            state: State::Start,
        }
    }

    /// A file that could not be read, and why.
    pub fn failed(name: &str, message: String) -> Self {
        Self {
            state: State::Failed(ImportError::new("unreadable", Message::Said(message))),
            ..Self::new(name, 0)
        }
    }

    /// A file that cannot be read where it is.
    pub fn unreadable(name: &str) -> Self {
        Self {
            state: State::Failed(ImportError::new("unreadable", say!(unreadable))),
            ..Self::new(name, 0)
        }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file is, once its first bytes were fed.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What to feed next; `None` when enough is read or the file cannot be read.
    pub fn need(&self) -> Option<Need> {
        match &self.state {
            State::Start => self.next_slice(0, self.size),
            State::Gguf(reader) => reader.need(),
            State::Safetensors(reader) => reader.need(),
            State::Text(bytes) => self.next_slice(bytes.len() as u64, self.text_limit()),
            State::Failed(_) => None,
        }
    }

    /// Takes bytes from where [`Self::need`] said, all of them or the first of them; what is wrong with them is said by
    /// [`Self::finish`].
    pub fn feed(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Start) {
            self.kind = recognise(bytes);
            self.state = match self.kind {
                Kind::Gguf => State::Gguf(Box::new(GgufReader::new(self.size))),
                Kind::Safetensors => State::Safetensors(SafetensorsReader::new(self.size)),
                Kind::Config
                | Kind::SafetensorsIndex
                | Kind::Log(_)
                | Kind::NvidiaSmi
                | Kind::RocmSmi
                | Kind::Link
                | Kind::Unknown => State::Text(Vec::new()),
            };
        }
        let outcome = match &mut self.state {
            State::Gguf(reader) => reader.feed(bytes),
            State::Safetensors(reader) => feed_all(reader, bytes),
            State::Text(_) if bytes.is_empty() => Err(ImportError::new("cut", say!(file_shrank))),
            State::Text(text) => {
                text.extend_from_slice(bytes);
                Ok(())
            }
            State::Start | State::Failed(_) => Ok(()),
        };
        if let Err(error) = outcome {
            self.state = State::Failed(error);
        }
    }

    /// What was read.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the file, or what it is instead.
    pub fn finish(self) -> Result<Part, ImportError> {
        match self.state {
            State::Start => Part::read(&self.name, ""),
            State::Gguf(reader) => Ok(Part::Gguf(self.name, Box::new(reader.finish()?))),
            State::Safetensors(reader) => Ok(Part::Safetensors(self.name, reader.finish()?)),
            State::Text(bytes) => Part::read(&self.name, &text_of(&bytes)),
            State::Failed(error) => Err(error),
        }
    }

    fn next_slice(&self, offset: u64, limit: u64) -> Option<Need> {
        let length = limit.min(self.size).saturating_sub(offset).min(SLICE);
        (0 < length).then_some(Need { offset, length })
    }

    /// Bytes of a text that are read. What is longer than its kind may be has its own message.
    fn text_limit(&self) -> u64 {
        match self.kind {
            Kind::Config | Kind::SafetensorsIndex => safetensors::MAX_TEXT + 1,
            Kind::Log(_) => MAX_LOG,
            Kind::NvidiaSmi | Kind::RocmSmi | Kind::Link | Kind::Unknown => SLICE,
            Kind::Gguf | Kind::Safetensors => 0,
        }
    }
}

/// The reader asks for few bytes first, where more are at hand.
fn feed_all(reader: &mut SafetensorsReader, bytes: &[u8]) -> Result<(), ImportError> {
    let start = reader.need().map_or(0, |need| need.offset);
    reader.feed(bytes)?;
    if let Some(need) = reader.need().filter(|_| !bytes.is_empty()) {
        let from = usize::try_from(need.offset.saturating_sub(start)).unwrap_or(usize::MAX);
        match bytes.get(from..) {
            Some(rest) if !rest.is_empty() => reader.feed(rest)?,
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// One file among those that were given.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileRead {
    /// Its name, empty for pasted text.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The engine whose log it is.
    pub engine: Option<&'static str>,
    /// What is wrong with it.
    pub error: Option<Message>,
}

/// What some files together say.
#[derive(Clone, Debug, PartialEq)]
pub struct FilesRead {
    /// What each was.
    pub files: Vec<FileRead>,
    /// The scenario; `None` when nothing was read, or what was read does not go together.
    pub scenario: Option<Scenario>,
    /// Why what was read does not go together.
    pub error: Option<Message>,
    /// Fields that they decide, in the order in which they are set; a model from a file is not among them.
    pub settings: Vec<Setting>,
    /// The figures that a log printed.
    pub facts: Vec<Fact>,
    /// The figures of a log, each beside ours.
    pub comparison: Vec<Comparison>,
    /// The accelerators of the machine.
    pub devices: Vec<Device>,
    /// What the reader should know.
    pub notes: Vec<ImportNote>,
    /// Values that the scenario did not take.
    pub errors: Vec<FieldError>,
}

impl FilesRead {
    /// The log's figures beside those of a scenario, which need not be the one that was read.
    pub fn compared(&self, scenario: &Scenario) -> Vec<Comparison> {
        let mut res = log::compare(&self.facts, scenario);
        // Until the reader chooses one, the model is not the log's: no file gave it, and its name is none of the presets'.
        let is_guessed = self.notes.iter().any(|note| note.code == "model")
            && self
                .scenario
                .as_ref()
                .is_some_and(|own| own.model == scenario.model);
        if is_guessed {
            log::of_another_model(&mut res);
        }
        res
    }
}

/// Joins files, each read to its end, into a scenario that starts from `base`. A file that cannot be read is said to be so,
/// and the others are taken.
pub fn join_files(readers: Vec<FileReader>, base: &Scenario) -> FilesRead {
    let mut res = FilesRead {
        files: Vec::new(),
        scenario: None,
        error: None,
        settings: Vec::new(),
        facts: Vec::new(),
        comparison: Vec::new(),
        devices: Vec::new(),
        notes: Vec::new(),
        errors: Vec::new(),
    };
    let mut parts = Vec::new();
    for reader in readers {
        let (name, kind) = (reader.name.clone(), reader.kind);
        let engine = match kind {
            Kind::Log(engine) => Some(engine),
            _ => None,
        };
        let error = match reader.finish() {
            Ok(part) => {
                parts.push(part);
                None
            }
            Err(error) => Some(error.into()),
        };
        res.files.push(FileRead {
            name,
            kind,
            engine,
            error,
        });
    }
    if parts.is_empty() {
        return res;
    }
    match join(parts) {
        Err(error) => res.error = Some(error.into()),
        Ok(patch) => take(patch, base, &mut res),
    }
    res
}

fn take(patch: ScenarioPatch, base: &Scenario, res: &mut FilesRead) {
    let mut scenario = base.clone();
    let (errors, notes) = patch.apply(&mut scenario);
    res.facts = patch.facts().to_vec();
    let logged = patch.log.into_iter().flat_map(|log| log.settings);
    for setting in patch.machine.into_iter().chain(logged).chain(patch.file) {
        // The later one holds.
        res.settings.retain(|known| known.key != setting.key);
        res.settings.push(setting);
    }
    res.devices = patch.devices;
    (res.errors, res.notes) = (errors, notes);
    res.scenario = Some(scenario);
    res.comparison = res
        .scenario
        .as_ref()
        .map_or_else(Vec::new, |scenario| res.compared(scenario));
}
