//! How the page is shown: the pairs of a link that are not of the scenario, which are also the options of `mount`.

use crate::core::link::push_pair;
use crate::core::scenario::{FIELDS, FieldError, Problem, cut};
use crate::view::text::LANGUAGES;

/// The colour scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the reader's system says.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// Every theme.
    pub(crate) const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// Its id in links.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The one after it.
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Auto => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::Auto,
        }
    }
}

/// The language that needs no loading.
pub(crate) const ENGLISH_ID: &str = "en";

/// The parts of the page that an embed can show.
pub(crate) const PARTS: &[&str] = &[
    "sentence", "facts", "tokens", "hbm", "growth", "sweep", "layers", "working", "predict",
    "concept", "fit", "speed", "turns", "serve",
];

/// Scenarios that can be compared with: as many as the charts have colours for.
pub(crate) const MAX_PINS: usize = 3;

/// How the page is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageOptions {
    /// Parts to show; `None`: the whole page.
    pub(crate) embed: Option<Vec<&'static str>>,
    /// Fields whose controls are shown; `None`: all on the page, none in an embed.
    pub(crate) controls: Option<Vec<&'static str>>,
    /// Fields that are shown but cannot be changed.
    pub(crate) lock: Vec<&'static str>,
    /// The colour scheme.
    pub(crate) theme: Theme,
    /// Scenarios to compare with, as fragments.
    pub(crate) pins: Vec<String>,
    /// The language, by its id in links.
    pub(crate) lang: &'static str,
    /// Pairs that belong to panels, which read their values; here they are kept and written back.
    pub(crate) panel_pairs: Vec<(String, String)>,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            embed: None,
            controls: None,
            lock: Vec::new(),
            theme: Theme::Auto,
            pins: Vec::new(),
            lang: ENGLISH_ID,
            panel_pairs: Vec::new(),
        }
    }
}

impl PageOptions {
    /// The keys in links: those of the page, then those of panels.
    pub(crate) const KEYS: &'static [&'static str] = &[
        "embed",
        "controls",
        "lock",
        "theme",
        "pin",
        "lang",
        "predict",
        "predict_level",
        "predict_seed",
    ];

    /// These options with the pairs of a link; values that are not known are named in `errors`.
    pub(crate) fn with_pairs(
        mut self,
        pairs: &[(String, String)],
        errors: &mut Vec<FieldError>,
    ) -> Self {
        for (key, value) in pairs {
            match key.as_str() {
                "embed" => {
                    // An embed of nothing would be an empty page.
                    let parts = list(key, value, PARTS, errors);
                    self.embed = Some(parts).filter(|parts| !parts.is_empty());
                    if self.embed.is_none() {
                        errors.push(unknown(key, value, PARTS));
                    }
                }
                "controls" => self.controls = Some(list(key, value, &field_keys(), errors)),
                "lock" => self.lock = list(key, value, &field_keys(), errors),
                "theme" => match Theme::ALL.into_iter().find(|theme| theme.id() == value) {
                    Some(theme) => self.theme = theme,
                    None => errors.push(unknown(key, value, &Theme::ALL.map(Theme::id))),
                },
                "pin" if self.pins.len() < MAX_PINS => self.pins.push(value.clone()),
                "pin" => errors.push(not_pinned(value)),
                "lang" => match LANGUAGES.iter().find(|(lang, _)| lang == value) {
                    Some((lang, _)) => self.lang = lang,
                    None => {
                        let ids: Vec<_> = LANGUAGES.iter().map(|(lang, _)| *lang).collect();
                        errors.push(unknown(key, value, &ids));
                    }
                },
                _ => self.set_panel_pair(key, value),
            }
        }
        self
    }

    /// Sets a pair of a panel, in place of one with the same key.
    pub(crate) fn set_panel_pair(&mut self, key: &str, value: &str) {
        self.panel_pairs.retain(|(known, _)| known != key);
        self.panel_pairs.push((key.to_owned(), value.to_owned()));
    }

    /// Appends the pairs that differ from the plain page.
    pub(crate) fn push_pairs(&self, fragment: &mut String) {
        if let Some(embed) = &self.embed {
            push_pair(fragment, "embed", &commas(embed));
        }
        if let Some(controls) = &self.controls {
            push_pair(fragment, "controls", &commas(controls));
        }
        if !self.lock.is_empty() {
            push_pair(fragment, "lock", &commas(&self.lock));
        }
        if self.theme != Theme::Auto {
            push_pair(fragment, "theme", self.theme.id());
        }
        for pin in &self.pins {
            push_pair(fragment, "pin", pin);
        }
        if self.lang != ENGLISH_ID {
            push_pair(fragment, "lang", self.lang);
        }
        for (key, value) in &self.panel_pairs {
            push_pair(fragment, key, value);
        }
    }

    /// Whether the control of this field is shown.
    pub(crate) fn has_control(&self, key: &str) -> bool {
        match &self.controls {
            Some(controls) => controls.contains(&key),
            None => self.embed.is_none(),
        }
    }

    /// Whether this field cannot be changed: it is locked, or it is not one of the controls that stay live.
    pub(crate) fn is_locked(&self, key: &str) -> bool {
        self.lock.contains(&key) || !self.has_control(key)
    }
}

fn field_keys() -> Vec<&'static str> {
    FIELDS.iter().map(|field| field.key).collect()
}

/// The known names of a comma-separated list; `thinking` is short for `thinking_tokens` and so on.
fn list(
    key: &str,
    value: &str,
    known: &[&'static str],
    errors: &mut Vec<FieldError>,
) -> Vec<&'static str> {
    let mut res = Vec::new();
    for given in value
        .split(',')
        .map(str::trim)
        .filter(|given| !given.is_empty())
    {
        let long = format!("{given}_tokens");
        match known.iter().find(|name| **name == given || **name == long) {
            Some(name) if res.contains(name) => {}
            Some(name) => res.push(*name),
            None => errors.push(unknown(key, given, known)),
        }
    }
    res
}

/// What is said of a pin that is left out.
pub(crate) fn not_pinned(given: &str) -> FieldError {
    FieldError {
        key: "pin".to_owned(),
        given: cut(given, 60),
        problem: Problem::NotPinned(MAX_PINS),
    }
}

fn unknown(key: &str, given: &str, known: &[&'static str]) -> FieldError {
    FieldError {
        key: key.to_owned(),
        given: cut(given, 60),
        problem: Problem::NotOneOf(known.to_vec()),
    }
}

/// `join` of these would be compiled a second time beside that of texts.
fn commas(items: &[&str]) -> String {
    let mut res = String::new();
    for (idx, item) in items.iter().enumerate() {
        if 0 < idx {
            res.push(',');
        }
        res.push_str(item);
    }
    res
}
