//! Every word of the product, as fields of one value per language.
//!
//! A field is a template: `{name}` stands for a value, and `{name?token|tokens}` for the first word when that value is
//! written `1`, else for the second. English is a constant; another language is a value of the same type (a missing
//! sentence does not compile) that reaches the page as a file of lines, see [`Messages::to_lines`]. So a new sentence is two lines: one in its table here, one in
//! `text/zh`.

use std::borrow::Cow;

pub mod charts;
pub mod concept;
pub mod fields;
#[cfg(feature = "doors")]
pub mod files;
#[cfg(feature = "doors")]
pub mod fleet;
#[cfg(feature = "doors")]
pub mod import;
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
pub use import::ImportText;
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

pub use crate::core::fill::{Piece, fill, pieces, placeholders};

use super::numbers::Numbers;
use crate::core::model::Message;

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

            pub(super) const N_FIELDS: usize = [$(stringify!($field)),*].len();

            /// The sentences in the order of the table, a line each.
            pub(super) fn read(lines: &mut $crate::view::text::Lines) -> Self {
                Self { $($field: $crate::view::text::next(lines),)* }
            }

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
    /// What the importer says.
    #[cfg(feature = "doors")]
    pub import: ImportText,
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
    working: WorkingText::ENGLISH,
    #[cfg(feature = "doors")]
    files: FilesText::ENGLISH,
    #[cfg(feature = "doors")]
    import: ImportText::ENGLISH,
    #[cfg(feature = "doors")]
    layers: LayersText::ENGLISH,
    notes: NoteText::ENGLISH,
};

impl Messages {
    /// The formatter of this language.
    pub fn numbers(&self) -> Numbers<'_> {
        Numbers::new(&self.units)
    }

    /// A sentence of the importer.
    pub fn message(&self, message: &Message) -> String {
        match message {
            Message::Said(text) => text.clone(),
            #[cfg(feature = "doors")]
            Message::Words(words) => {
                words.say(&|key| self.import.get(key.name()).unwrap_or_default())
            }
        }
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
        self.working
            .for_each(&mut |name, text| visit("working", name, text));
        #[cfg(feature = "doors")]
        self.files
            .for_each(&mut |name, text| visit("files", name, text));
        #[cfg(feature = "doors")]
        self.import
            .for_each(&mut |name, text| visit("import", name, text));
        #[cfg(feature = "doors")]
        self.layers
            .for_each(&mut |name, text| visit("layers", name, text));
        self.notes
            .for_each(&mut |name, text| visit("notes", name, text));
    }

    /// Every sentence in a line of its own, in the order of the tables; those of the first view only, or all.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn to_lines(&self, is_first_view: bool) -> String {
        let mut res = String::new();
        self.clone().for_each(&mut |group, _, text| {
            let is_of_panels = matches!(
                group,
                "fleet" | "panels" | "working" | "files" | "import" | "layers"
            );
            if !(is_first_view && is_of_panels) {
                res.push_str(text);
                res.push('\n');
            }
        });
        res
    }

    /// Reads what [`Self::to_lines`] wrote for this module: a page with words of another version, or a part of them, is
    /// none. The files' names change with what is in them, so that this does not happen by itself.
    pub fn from_lines(text: &'static str) -> Option<Self> {
        let mut n_lines = 1;
        n_lines += UnitText::N_FIELDS + ChartText::N_FIELDS + FieldText::N_FIELDS;
        n_lines += PageText::N_FIELDS + NoteText::N_FIELDS;
        #[cfg(feature = "doors")]
        {
            n_lines += FleetText::N_FIELDS + PanelText::N_FIELDS + WorkingText::N_FIELDS;
            n_lines += FilesText::N_FIELDS + ImportText::N_FIELDS + LayersText::N_FIELDS;
        }
        if text.split_terminator('\n').count() != n_lines {
            return None;
        }
        let lines = &mut text.split_terminator('\n');
        Some(Self {
            lang: next(lines),
            units: UnitText::read(lines),
            charts: ChartText::read(lines),
            fields: FieldText::read(lines),
            page: PageText::read(lines),
            #[cfg(feature = "doors")]
            fleet: FleetText::read(lines),
            #[cfg(feature = "doors")]
            panels: PanelText::read(lines),
            #[cfg(feature = "doors")]
            working: WorkingText::read(lines),
            #[cfg(feature = "doors")]
            files: FilesText::read(lines),
            #[cfg(feature = "doors")]
            import: ImportText::read(lines),
            #[cfg(feature = "doors")]
            layers: LayersText::read(lines),
            notes: NoteText::read(lines),
        })
    }
}

/// The lines of a file of words.
type Lines = std::str::SplitTerminator<'static, char>;

/// The next sentence. Its own function, so that a table of hundreds is hundreds of calls.
#[inline(never)]
fn next(lines: &mut Lines) -> Text {
    Cow::Borrowed(lines.next().unwrap_or_default())
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

/// The files of words that are loaded when they are needed: name and content. `LANG-page.txt` holds the first view in
/// another language, `LANG-panels.txt` what the module of the panels says; `LANG-predict.json` and `LANG-concept.json` are
/// long texts of theirs.
#[cfg(not(target_arch = "wasm32"))]
pub fn exports() -> Vec<(String, String)> {
    let mut res = long_texts(
        "en",
        &predict::PredictWords::ENGLISH,
        &concept::ConceptWords::ENGLISH,
    );
    res.extend(files_of("zh", &zh::MESSAGES, &zh::PREDICT, &zh::CONCEPT));
    res
}

/// The files of a language, called `lang`.
#[cfg(not(target_arch = "wasm32"))]
pub fn files_of(
    lang: &str,
    messages: &Messages,
    predict: &predict::PredictWords,
    concept: &concept::ConceptWords,
) -> Vec<(String, String)> {
    let mut res = vec![
        (format!("{lang}-page.txt"), messages.to_lines(true)),
        (format!("{lang}-panels.txt"), messages.to_lines(false)),
    ];
    res.extend(long_texts(lang, predict, concept));
    res
}

#[cfg(not(target_arch = "wasm32"))]
fn long_texts(
    lang: &str,
    predict: &predict::PredictWords,
    concept: &concept::ConceptWords,
) -> Vec<(String, String)> {
    vec![
        (
            format!("{lang}-predict.json"),
            predict.to_json().to_string(),
        ),
        (
            format!("{lang}-concept.json"),
            concept.to_json().to_string(),
        ),
    ]
}
