//! Words that are loaded when they are needed: long texts that the first view of the page does not show.
//!
//! A table of such words has two faces. In the build it is a struct of sentences, so that a language with a missing
//! sentence does not compile; it is written to a JSON file. The page reads that file and asks for a sentence by the name
//! of its field; neither the sentences nor their names are in the module.

use serde_json::Value;

use super::Text;

/// The sentences of a file in the order of their table, when it is of this table.
///
/// # Errors
///
/// A sentence that says what is wrong with the file.
pub(super) fn read(value: &Value, schema: &str, n_fields: usize) -> Result<Vec<Text>, String> {
    if value.get("schema").and_then(Value::as_str) != Some(schema) {
        return Err(format!(
            "the words are of another version (expected {schema}); reload the page"
        ));
    }
    let words = value.get("words").and_then(Value::as_object);
    let values: Vec<Text> = words
        .into_iter()
        .flat_map(|words| words.values())
        .filter_map(|word| word.as_str().map(|word| Text::Owned(word.to_owned())))
        .collect();
    if values.len() == n_fields {
        Ok(values)
    } else {
        Err(format!(
            "the file has {} of {n_fields} sentences; reload the page",
            values.len()
        ))
    }
}

/// The file of a table.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn write(schema: &str, fields: &[(&str, &str)]) -> Value {
    let words = fields
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Value::from(*text)))
        .collect();
    Value::Object(serde_json::Map::from_iter([
        ("schema".to_owned(), Value::from(schema)),
        ("words".to_owned(), Value::Object(words)),
    ]))
}

/// A name for a list of fields: FNV-1a of their names, in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema([u8; 16]);

impl Schema {
    pub(super) const fn of(names: &[&str]) -> Self {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut name_idx = 0;
        while name_idx < names.len() {
            let bytes = names[name_idx].as_bytes();
            let mut idx = 0;
            while idx < bytes.len() {
                hash = (hash ^ bytes[idx] as u64).wrapping_mul(0x0100_0000_01b3);
                idx += 1;
            }
            // The end of a name counts, so that "ab", "c" and "a", "bc" differ.
            hash = (hash ^ 0xff).wrapping_mul(0x0100_0000_01b3);
            name_idx += 1;
        }
        let mut res = [0; 16];
        let mut idx = 0;
        while idx < 16 {
            let digit = ((hash >> (60 - 4 * idx)) & 15) as u8;
            res[idx] = if digit < 10 {
                b'0' + digit
            } else {
                b'a' + digit - 10
            };
            idx += 1;
        }
        Self(res)
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// A table of loaded words: `$text` asks for them, `$words` holds them in the build.
macro_rules! loaded_texts {
    (
        $(#[$text_doc:meta])* pub struct $text:ident;
        $(#[$words_doc:meta])* pub struct $words:ident { $($field:ident: $english:literal,)* }
    ) => {
        $(#[$text_doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $text {
            values: Vec<$crate::view::text::Text>,
        }

        #[expect(non_camel_case_types, reason = "the fields of a table, counted")]
        #[derive(Clone, Copy)]
        enum Field { $($field,)* }

        impl $text {
            const SCHEMA: $crate::view::text::loaded::Schema =
                $crate::view::text::loaded::Schema::of(&[$(stringify!($field)),*]);
            const N_FIELDS: usize = [$(Field::$field),*].len();

            /// Reads the file of a language.
            ///
            /// # Errors
            ///
            /// When the file is of another version, or not whole.
            pub fn from_json(value: &serde_json::Value) -> Result<Self, String> {
                let values = $crate::view::text::loaded::read(value, Self::SCHEMA.as_str(), Self::N_FIELDS)?;
                Ok(Self { values })
            }

            fn field(&self, field: Field) -> &str {
                self.values.get(field as usize).map_or("", |text| text)
            }

            $(
                #[doc = concat!("English: `", $english, "`")]
                pub fn $field(&self) -> &str {
                    self.field(Field::$field)
                }
            )*
        }

        $(#[$words_doc])*
        #[cfg(not(target_arch = "wasm32"))]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $words {
            $(#[doc = concat!("English: `", $english, "`")] pub $field: $crate::view::text::Text,)*
        }

        #[cfg(not(target_arch = "wasm32"))]
        impl $words {
            /// English.
            pub const ENGLISH: Self = Self {
                $($field: std::borrow::Cow::Borrowed($english),)*
            };

            /// Visits every sentence with its name.
            pub fn for_each(&mut self, visit: &mut dyn FnMut(&'static str, &mut $crate::view::text::Text)) {
                $(visit(stringify!($field), &mut self.$field);)*
            }

            /// The file that the page reads.
            pub fn to_json(&self) -> serde_json::Value {
                $crate::view::text::loaded::write(
                    $text::SCHEMA.as_str(),
                    &[$((stringify!($field), &*self.$field)),*],
                )
            }

            /// The words as the page has them.
            pub fn text(&self) -> $text {
                $text { values: vec![$(self.$field.clone()),*] }
            }
        }
    };
}
pub(crate) use loaded_texts;
