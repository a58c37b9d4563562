//! Simplified Chinese. A sentence that is missing here does not compile.

mod concept;
mod predict;

pub use concept::CONCEPT;
pub use predict::PREDICT;

/// A table of words.
macro_rules! words {
    ($name:ident { $($field:ident: $text:literal,)* }) => {
        $name { $($field: std::borrow::Cow::Borrowed($text),)* }
    };
}
use words;
