//! Languages that nobody speaks, for tests: one with long words and accents, one that runs from right to left. They show
//! text that is not in the tables, and layouts that depend on English.
//!
//! They are named as in Unicode CLDR: `en-XA` and `ar-XB`.

use std::borrow::Cow;

use super::concept::ConceptWords;
use super::predict::PredictWords;
use super::{ENGLISH, Messages, Piece, Text, files_of, pieces};

/// A language made by rule from the English one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    /// Accents, and words half as long again.
    Long,
    /// Hebrew letters, from right to left.
    RightToLeft,
}

impl Pseudo {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Long, Self::RightToLeft];

    /// The language as in `<html lang>`, and the name of its files.
    pub const fn lang(self) -> &'static str {
        match self {
            Self::Long => "en-XA",
            Self::RightToLeft => "ar-XB",
        }
    }

    /// The words of the page.
    pub fn messages(self) -> Messages {
        let mut res = ENGLISH.clone();
        res.for_each(&mut |group, name, text| {
            let is_sign = group == "units" && name.ends_with("_separator");
            if group.is_empty() {
                *text = Cow::Borrowed(self.lang());
            } else if !is_sign {
                *text = self.translated(text);
            }
        });
        res
    }

    /// The words of "predict first". What a reader may type stays English.
    pub fn predict(self) -> PredictWords {
        let mut res = PredictWords::ENGLISH;
        res.for_each(&mut |name, text| {
            if !name.starts_with("words_") {
                *text = self.translated(text);
            }
        });
        res
    }

    /// The words of the short course.
    pub fn concept(self) -> ConceptWords {
        let mut res = ConceptWords::ENGLISH;
        res.for_each(&mut |_, text| *text = self.translated(text));
        res
    }

    /// Its files in place of those of the language `lang`, so that a page can be shown in it.
    pub fn exports(self, lang: &str) -> Vec<(String, String)> {
        files_of(lang, &self.messages(), &self.predict(), &self.concept())
    }

    fn translated(self, template: &str) -> Text {
        let mut res = String::with_capacity(template.len() * 2);
        for piece in pieces(template) {
            match piece {
                Piece::Words(words) => res.push_str(&self.words(words)),
                Piece::Value(name) => res.extend(["{", name, "}"]),
                Piece::Plural(name, one, many) => {
                    let (one, many) = (self.words(one), self.words(many));
                    res.extend(["{", name, "?", &one, "|", &many, "}"]);
                }
            }
        }
        Cow::Owned(res)
    }

    fn words(self, words: &str) -> String {
        match self {
            Self::Long => words.split_inclusive(' ').map(lengthened).collect(),
            Self::RightToLeft => words.chars().map(mirrored).collect(),
        }
    }
}

/// A word with accents, and with half as many letters again.
fn lengthened(word: &str) -> String {
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    let head = word.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    let rest = word.get(head.len()..).unwrap_or_default();
    let mut res: String = head.chars().map(accented).collect();
    res.extend(std::iter::repeat_n('ø', letters.div_ceil(2)));
    res.push_str(rest);
    res
}

fn accented(c: char) -> char {
    const FROM: &str = "aceginorsuyzAEINOSU";
    const TO: &str = "áçéğíñöŕšüýžÀÊÎÑØŠÜ";
    let at = FROM.chars().position(|from| from == c);
    at.and_then(|at| TO.chars().nth(at)).unwrap_or(c)
}

/// A letter that runs from right to left in the place of each Latin one.
fn mirrored(c: char) -> char {
    let lower = c.to_ascii_lowercase();
    if !lower.is_ascii_lowercase() {
        return c;
    }
    // The Hebrew block has 27 letters from U+05D0, as many as are needed.
    let offset = u32::from(lower) - u32::from('a');
    char::from_u32(0x5d0 + offset).unwrap_or(c)
}
