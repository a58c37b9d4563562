//! Simplified Chinese. A sentence that is missing here does not compile.

mod concept;
mod figures;
mod files;
mod fleet;
mod import;
mod layers;
mod page;
mod panels;
mod predict;

use std::borrow::Cow;

use super::Messages;

pub use concept::CONCEPT;
pub use predict::PREDICT;

/// The words of the page and its figures.
pub static MESSAGES: Messages = Messages {
    lang: Cow::Borrowed("zh-Hans"),
    units: page::UNITS,
    charts: figures::CHARTS,
    fields: page::FIELDS,
    page: page::PAGE,
    fleet: fleet::FLEET,
    panels: panels::PANELS,
    files: files::FILES,
    import: import::IMPORT,
    layers: layers::LAYERS,
    working: figures::WORKING,
    notes: page::NOTES,
};

/// A table of words.
macro_rules! words {
    ($name:ident { $($field:ident: $text:literal,)* }) => {
        $name { $($field: std::borrow::Cow::Borrowed($text),)* }
    };
}
use words;
