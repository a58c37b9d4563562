//! `config.json`. Placeholder for the importer.

use serde_json::Value;

use super::ImportError;
use crate::core::model::ModelConfig;

/// The model of a configuration.
///
/// # Errors
///
/// Always, until the importer is here.
pub fn import_value(_: &Value, _: Option<&str>) -> Result<ModelConfig, ImportError> {
    Err(ImportError::new(
        "not_ready",
        "configurations cannot be imported yet",
    ))
}
