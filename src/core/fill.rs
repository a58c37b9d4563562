//! Templates of sentences: `{name}` stands for a value, and `{name?token|tokens}` for the first word when that value is
//! written `1`, else for the second.

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
/// # use kvscope::core::fill::fill;
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
