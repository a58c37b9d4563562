//! The context a model was trained for, as an engine would serve it.

use super::config_view::ConfigView;
use crate::core::model::ImportNote;
use crate::core::units::Tokens;

/// The trained context.
pub(super) fn max_position_embeddings(
    view: &ConfigView<'_>,
    _notes: &mut Vec<ImportNote>,
) -> Option<Tokens> {
    view.number("max_position_embeddings").map(Tokens)
}
