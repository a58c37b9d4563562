//! What the importer says, whose table is in core.

use super::texts;
use crate::core::import::sentences::all;

macro_rules! import_texts {
    ($($key:ident: $english:literal,)*) => {
        texts! {
            /// What is said of configurations, files and logs that are read.
            pub struct ImportText { $($key: $english,)* }
        }
    };
}
all!(import_texts);
