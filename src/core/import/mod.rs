//! The doors for real files. The only place that knows architectures by name.

pub mod config_view;
mod context;
pub mod edited;
pub mod files;
pub mod gguf;
mod heads;
pub mod hf_config;
mod hf_weights;
mod layer_rules;
mod layer_types;
pub mod lenient_json;
pub mod log;
mod names;
pub mod names_of_models;
pub mod recognise;
pub mod safetensors;
pub mod sentences;
pub mod smi;
mod states;
pub(in crate::core) mod trim;
mod unread;
mod wrong_file;

use std::fmt;

use crate::core::model::Message;

/// The bytes of a file that a reader needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many, at most 1 MiB.
    pub length: u64,
}

/// Why a text could not be read as a model. The message says what was given, what is allowed and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    code: &'static str,
    message: Message,
}

impl ImportError {
    /// An error with a stable identifier and its sentence.
    pub fn new(code: &'static str, message: impl Into<Message>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// A stable identifier such as `not_json`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The sentence.
    pub fn message(&self) -> &Message {
        &self.message
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl std::error::Error for ImportError {}

impl From<ImportError> for Message {
    fn from(error: ImportError) -> Self {
        error.message
    }
}
