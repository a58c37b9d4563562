//! Files that are dropped by mistake: what they are, and which file is meant.

use serde_json::{Map, Value};

use super::ImportError;

/// An error for a text that is not JSON but is recognized.
pub(super) fn of_text(_text: &str) -> Option<ImportError> {
    None
}

/// An error for an object that is another kind of file.
pub(super) fn of_fields(_fields: &Map<String, Value>) -> Option<ImportError> {
    None
}
