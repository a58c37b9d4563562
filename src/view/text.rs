//! Every word of the product, as fields of one value per language.
//!
//! A field is a template: `{name}` stands for a value, and `{name?token|tokens}` for the first word when that value is
//! written `1`, else for the second. English is a constant; another language is a value of the same type (a missing
//! sentence does not compile) that reaches the page as JSON. So a new sentence is two lines: one in its table here, one in
//! `text/zh`.

use std::borrow::Cow;

use serde_json::{Map, Value};

pub mod charts;
pub mod concept;
pub mod fields;
#[cfg(feature = "doors")]
pub mod files;
#[cfg(feature = "doors")]
pub mod fleet;
#[cfg(feature = "doors")]
pub mod layers;
pub mod loaded;
pub mod notes;
pub mod page;
#[cfg(feature = "doors")]
pub mod panels;
pub mod predict;
#[cfg(not(target_arch = "wasm32"))]
pub mod pseudo;
pub mod units;
#[cfg(feature = "doors")]
pub mod working;
#[cfg(not(target_arch = "wasm32"))]
pub mod zh;

pub use charts::ChartText;
pub use concept::ConceptText;
pub use fields::FieldText;
#[cfg(feature = "doors")]
pub use files::FilesText;
#[cfg(feature = "doors")]
pub use fleet::FleetText;
#[cfg(feature = "doors")]
pub use layers::LayersText;
pub use notes::NoteText;
pub use page::PageText;
#[cfg(feature = "doors")]
pub use panels::PanelText;
pub use predict::PredictText;
pub use units::UnitText;
#[cfg(feature = "doors")]
pub use working::WorkingText;

use super::numbers::Numbers;

/// A sentence with its placeholders.
pub type Text = Cow<'static, str>;

/// A struct of sentences with their English words, and a walk over its fields by name.
macro_rules! texts {
    ($(#[$doc:meta])* pub struct $name:ident { $($field:ident: $english:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = concat!("English: `", $english, "`")] pub $field: $crate::view::text::Text,)*
        }

        impl $name {
            pub(super) const ENGLISH: Self = Self {
                $($field: std::borrow::Cow::Borrowed($english),)*
            };

            /// The sentence with this name.
            pub fn get(&self, name: &str) -> Option<&str> {
                match name {
                    $(stringify!($field) => Some(&self.$field),)*
                    _ => None,
                }
            }

            pub(super) fn for_each(&mut self, visit: &mut dyn FnMut(&'static str, &mut $crate::view::text::Text)) {
                $(visit(stringify!($field), &mut self.$field);)*
            }
        }
    };
}
pub(crate) use texts;

/// All words of one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The language as in `<html lang>`.
    pub lang: Text,
    /// Numbers and their units.
    pub units: UnitText,
    /// The figures.
    pub charts: ChartText,
    /// The controls.
    pub fields: FieldText,
    /// The page around them.
    pub page: PageText,
    /// What is asked of a fleet.
    #[cfg(feature = "doors")]
    pub fleet: FleetText,
    /// The panels and dialogs.
    #[cfg(feature = "doors")]
    pub panels: PanelText,
    /// Files and logs.
    #[cfg(feature = "doors")]
    pub files: FilesText,
    /// The layer map.
    #[cfg(feature = "doors")]
    pub layers: LayersText,
    /// How it is computed.
    #[cfg(feature = "doors")]
    pub working: WorkingText,
    /// Warnings, assumptions, errors of fields.
    pub notes: NoteText,
}

/// English.
pub static ENGLISH: Messages = Messages {
    lang: Cow::Borrowed("en"),
    units: UnitText::ENGLISH,
    charts: ChartText::ENGLISH,
    fields: FieldText::ENGLISH,
    page: PageText::ENGLISH,
    #[cfg(feature = "doors")]
    fleet: FleetText::ENGLISH,
    #[cfg(feature = "doors")]
    panels: PanelText::ENGLISH,
    #[cfg(feature = "doors")]
    files: FilesText::ENGLISH,
    #[cfg(feature = "doors")]
    layers: LayersText::ENGLISH,
    #[cfg(feature = "doors")]
    working: WorkingText::ENGLISH,
    notes: NoteText::ENGLISH,
};

impl Messages {
    /// The formatter of this language.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers::new(&self.units)
    }

    /// Visits every sentence with the name of its group and its own.
    pub fn for_each(&mut self, visit: &mut dyn FnMut(&'static str, &'static str, &mut Text)) {
        visit("", "lang", &mut self.lang);
        self.units
            .for_each(&mut |name, text| visit("units", name, text));
        self.charts
            .for_each(&mut |name, text| visit("charts", name, text));
        self.fields
            .for_each(&mut |name, text| visit("fields", name, text));
        self.page
            .for_each(&mut |name, text| visit("page", name, text));
        #[cfg(feature = "doors")]
        self.fleet
            .for_each(&mut |name, text| visit("fleet", name, text));
        #[cfg(feature = "doors")]
        self.panels
            .for_each(&mut |name, text| visit("panels", name, text));
        #[cfg(feature = "doors")]
        self.files
            .for_each(&mut |name, text| visit("files", name, text));
        #[cfg(feature = "doors")]
        self.layers
            .for_each(&mut |name, text| visit("layers", name, text));
        #[cfg(feature = "doors")]
        self.working
            .for_each(&mut |name, text| visit("working", name, text));
        self.notes
            .for_each(&mut |name, text| visit("notes", name, text));
    }

    /// The words as one flat object, `"charts.tokens_title": "…"`.
    pub fn to_json(&self) -> Value {
        let mut res = Map::new();
        self.clone().for_each(&mut |group, name, text| {
            res.insert(key(group, name), Value::from(text.clone().into_owned()));
        });
        Value::Object(res)
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    ///
    /// The key of the first sentence that is missing or has other placeholders than the English one: a page never shows
    /// half a language.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let mut res = ENGLISH.clone();
        let mut wrong = None;
        res.for_each(&mut |group, name, text| {
            let key = key(group, name);
            match value.get(&key).and_then(Value::as_str) {
                Some(given) if placeholders(given) == placeholders(text) => {
                    *text = Cow::Owned(given.to_owned());
                }
                Some(_) | None => wrong = wrong.take().or(Some(key)),
            }
        });
        wrong.map_or(Ok(res), Err)
    }
}

fn key(group: &str, name: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{group}.{name}")
    }
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Words as they are.
    Words(&'a str),
    /// The value of this name.
    Value(&'a str),
    /// One of two words, by whether the value of this name is one.
    Plural(&'a str, &'a str, &'a str),
}

/// A template in pieces, in order. A brace that opens no placeholder is a word.
pub fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((inside, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        {
            rest = after;
            let Some((name, words)) = inside.split_once('?') else {
                return Some(Piece::Value(inside));
            };
            let (one, many) = words.split_once('|').unwrap_or((words, words));
            return Some(Piece::Plural(name, one, many));
        }
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '{')
            .map_or(rest.len(), |(at, _)| at);
        let (words, after) = rest.split_at_checked(end)?;
        rest = after;
        Some(Piece::Words(words))
    })
}

/// The names that a template needs, sorted, each once.
pub fn placeholders(template: &str) -> Vec<&str> {
    let mut res: Vec<&str> = pieces(template)
        .filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Value(name) | Piece::Plural(name, _, _) => Some(name),
        })
        .collect();
    res.sort_unstable();
    res.dedup();
    res
}

/// Puts values into a template. A value is text: it is put in as it is, never read as a template.
///
/// ```
/// # use kvscope::view::text::fill;
/// assert_eq!(fill("{n} {n?token|tokens}", &[("n", "1")]), "1 token");
/// assert_eq!(fill("{n} {n?token|tokens}", &[("n", "4,812")]), "4,812 tokens");
/// ```
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let value = |name: &str| {
        values
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    };
    let mut res = String::with_capacity(template.len() + 16);
    for piece in pieces(template) {
        match piece {
            Piece::Words(words) => res.push_str(words),
            Piece::Value(name) => match value(name) {
                Some(value) => res.push_str(value),
                None => res.extend(["{", name, "}"]),
            },
            Piece::Plural(name, one, many) => {
                res.push_str(if value(name) == Some("1") { one } else { many });
            }
        }
    }
    res
}

/// The languages that the page can be shown in: the name in a link, and what its speakers call it.
pub const LANGUAGES: &[(&str, &str)] = &[("en", "English"), ("zh", "简体中文")];

/// Which way a language runs, as in `<html dir>`.
pub fn direction(lang: &str) -> &'static str {
    let language = lang.split('-').next().unwrap_or_default();
    match language {
        "ar" | "fa" | "he" | "ur" => "rtl",
        _ => "ltr",
    }
}

/// The files of words that the page loads when it needs them: name and content. `en-predict.json` and `en-concept.json`
/// are long texts that the first view does not show; `zh.json` holds the page in another language. They are not in the
/// module that the page starts with, and so not in a build for it.
#[cfg(not(target_arch = "wasm32"))]
pub fn exports() -> Vec<(String, String)> {
    [
        ("en-predict", predict::PredictWords::ENGLISH.to_json()),
        ("en-concept", concept::ConceptWords::ENGLISH.to_json()),
        ("zh", zh::MESSAGES.to_json()),
        ("zh-predict", zh::PREDICT.to_json()),
        ("zh-concept", zh::CONCEPT.to_json()),
    ]
    .into_iter()
    .map(|(name, words)| (format!("{name}.json"), words.to_string()))
    .collect()
}
