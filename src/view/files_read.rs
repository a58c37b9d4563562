//! What was read from files, in words.

use crate::core::import::files::{FileRead, FilesRead};
use crate::core::import::recognise::Kind;
use crate::core::import::smi::Device;
use crate::core::scenario::cut;

use super::notes;
use super::text::{Messages, fill};

/// A line of what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The words.
    pub text: String,
    /// Whether it says that something could not be taken.
    pub is_bad: bool,
}

/// What each file is, the accelerators, and what the reader should know.
pub fn lines(read: &FilesRead, messages: &Messages) -> Vec<Line> {
    let good = |text: String| Line {
        text,
        is_bad: false,
    };
    let bad = |text: String| Line { text, is_bad: true };
    let files = read.files.iter().map(|file| Line {
        text: file_line(file, messages),
        is_bad: file.error.is_some(),
    });
    let notes = read
        .notes
        .iter()
        .map(|note| good(messages.message(&note.message)));
    let errors = read
        .errors
        .iter()
        .map(|error| bad(notes::field_error(error, messages)));
    files
        .chain(device_line(&read.devices, messages).map(good))
        .chain(taken(read, messages).map(good))
        .chain(notes)
        .chain(errors)
        .collect()
}

/// Why nothing was taken: what is wrong with each file, or why they do not go together.
pub fn refusal(read: &FilesRead, messages: &Messages) -> String {
    let wrong = read.files.iter().filter(|file| file.error.is_some());
    let lines: Vec<String> = match (&read.error, read.files.as_slice()) {
        (Some(error), _) => vec![messages.message(error)],
        // A single file need not be named.
        (
            None,
            [
                FileRead {
                    error: Some(error), ..
                },
            ],
        ) => vec![messages.message(error)],
        (None, _) => wrong.map(|file| file_line(file, messages)).collect(),
    };
    format!("{}. {}", lines.join("; "), messages.files.unchanged)
}

fn file_line(file: &FileRead, messages: &Messages) -> String {
    let text = &messages.files;
    let name = if file.name.is_empty() {
        text.pasted.to_string()
    } else {
        cut(&file.name, 80)
    };
    let kind = match (&file.error, file.kind) {
        (Some(error), _) => messages.message(error),
        (None, Kind::Config) => text.kind_config.to_string(),
        (None, Kind::SafetensorsIndex) => text.kind_index.to_string(),
        (None, Kind::Safetensors) => text.kind_safetensors.to_string(),
        (None, Kind::Gguf) => text.kind_gguf.to_string(),
        (None, Kind::Log(engine)) => fill(&text.kind_log, &[("engine", engine_name(engine))]),
        (None, Kind::NvidiaSmi) => text.kind_nvidia_smi.to_string(),
        (None, Kind::RocmSmi) => text.kind_rocm_smi.to_string(),
        (None, Kind::Link) => text.kind_link.to_string(),
        // What is not recognized has an error.
        (None, Kind::Unknown) => String::new(),
    };
    fill(&text.file, &[("name", &name), ("kind", &kind)])
}

/// An engine as its makers write it.
fn engine_name(id: &str) -> &str {
    match id {
        "vllm" => "vLLM",
        "sglang" => "SGLang",
        "tensorrt-llm" => "TensorRT-LLM",
        id => id,
    }
}

/// The accelerators, counted as the first of them.
fn device_line(devices: &[Device], messages: &Messages) -> Option<String> {
    let text = &messages.files;
    let first = devices.first()?;
    let numbers = messages.numbers();
    let count = numbers.integer(devices.len() as u64);
    let (count, name) = (("count", count.as_str()), ("name", first.name.as_str()));
    // The one with least to spare decides.
    let free = devices.iter().filter_map(Device::free_bytes).min();
    Some(match first.memory_bytes.zip(free) {
        Some((memory, free)) => {
            let (memory, free) = (numbers.bytes_short(memory), numbers.bytes_short(free));
            fill(
                &text.device,
                &[count, name, ("memory", &memory), ("free", &free)],
            )
        }
        None => fill(&text.device_short, &[count, name]),
    })
}

/// The fields that a log, the machine and a file decided.
fn taken(read: &FilesRead, messages: &Messages) -> Option<String> {
    let fields: Vec<String> = read
        .settings
        .iter()
        .map(|setting| format!("{} = {}", setting.key, setting.value))
        .collect();
    let fields = messages.numbers().list(fields.iter().map(String::as_str));
    (!fields.is_empty()).then(|| fill(&messages.files.took, &[("fields", &fields)]))
}
