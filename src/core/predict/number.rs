//! Numbers as people type them: separators, powers of ten, sums and products, digits of other keyboards.

use super::answer::AnswerError;

/// Digits and signs of other keyboards as ASCII.
pub(super) fn plain(c: char) -> char {
    let digit = |zero: u32| char::from_digit(u32::from(c) - zero, 10).unwrap_or(c);
    match c {
        // The wide forms of ASCII, as Chinese and Japanese keyboards type them.
        '\u{ff01}'..='\u{ff5e}' => {
            let narrow = char::from_u32(u32::from(c) - 0xfee0);
            narrow.map_or(c, plain)
        }
        '\u{660}'..='\u{669}' => digit(0x660),
        '\u{6f0}'..='\u{6f9}' => digit(0x6f0),
        '。' => '.',
        '\u{66b}' | '\u{60c}' | '、' => ',',
        '\u{66c}' | '’' | '_' => '\'',
        '\u{a0}' | '\u{202f}' | '\u{2009}' | '\u{3000}' | '\t' | '\n' | '\r' => ' ',
        '−' | '–' | '—' => '-',
        '·' | '⋅' | '*' | '✕' => '×',
        _ => c,
    }
}

/// A number as it was typed: digits with what stands between them, and a power of ten.
struct Number<'a> {
    body: &'a str,
    exponent: i32,
}

/// One way to read a number.
pub(super) struct Notation {
    /// Its value.
    pub(super) value: f64,
    /// One in its last digit; zero for the result of a calculation.
    pub(super) step: f64,
    /// Its significant digits.
    pub(super) digits: u32,
    /// Whether comma and point were read against the language.
    pub(super) is_other: bool,
}

const RAISED: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/// The number of a text, or what its sum of products gives ("512 + 4000 + 300", "2×80×8×128×2"), and what follows it.
/// Words before the number say nothing about it and are passed over.
///
/// # Errors
///
/// When there is no number, or one below zero.
pub(super) fn read(text: &str, decimal: char) -> Result<(Vec<Notation>, &str), AnswerError> {
    let is_start = |(idx, c): &(usize, char)| {
        let rest = text.get(*idx + 1..).unwrap_or_default();
        c.is_ascii_digit()
            || (matches!(c, '.' | ',') && rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let (start, _) = text
        .char_indices()
        .find(is_start)
        .ok_or(AnswerError::NotANumber)?;
    let (before, text) = text
        .split_at_checked(start)
        .ok_or(AnswerError::NotANumber)?;
    if before.trim_end().ends_with('-') {
        return Err(AnswerError::Negative);
    }
    let (number, rest) = Number::split(text).ok_or(AnswerError::NotANumber)?;
    let notations = number.notations(decimal);
    let Some((value, rest)) = calculation(&notations, rest, decimal) else {
        return Ok((notations, rest));
    };
    if value < 0.0 {
        return Err(AnswerError::Negative);
    }
    let exact = Notation {
        value,
        step: 0.0,
        digits: u32::MAX,
        is_other: false,
    };
    Ok((vec![exact], rest))
}

/// Goes on from the first number while signs and numbers follow; `None` when none does.
fn calculation<'a>(first: &[Notation], rest: &'a str, decimal: char) -> Option<(f64, &'a str)> {
    let (mut sum, mut product) = (0.0, first.first()?.value);
    let (mut rest, mut is_calculation) = (rest, false);
    while let Some((sign, number, after)) = sign_and_number(rest) {
        let value = number.notations(decimal).first()?.value;
        match sign {
            '+' | '-' => {
                sum += product;
                product = if sign == '-' { -value } else { value };
            }
            '÷' => product /= value,
            _ => product *= value,
        }
        (rest, is_calculation) = (after, true);
    }
    is_calculation.then_some((sum + product, rest))
}

fn sign_and_number(text: &str) -> Option<(char, Number<'_>, &str)> {
    let text = text.trim_start();
    let sign = text.chars().next()?;
    let rest = text.get(sign.len_utf8()..)?.trim_start();
    let sign = match sign {
        '+' | '-' => sign,
        '×' | 'x' | 'X' => '×',
        '÷' | '/' => '÷',
        _ => return None,
    };
    let (number, after) = Number::split(rest)?;
    Some((sign, number, after))
}

impl<'a> Number<'a> {
    /// The number at the start of the text, and what follows it.
    fn split(text: &'a str) -> Option<(Self, &'a str)> {
        let mut end = 0;
        let mut chars = text.char_indices().peekable();
        while let Some((idx, c)) = chars.next() {
            let is_before_digit = chars.peek().is_some_and(|(_, next)| next.is_ascii_digit());
            if c.is_ascii_digit() || (matches!(c, '.' | ',' | ' ' | '\'') && is_before_digit) {
                end = idx + c.len_utf8();
            } else if matches!(c, '.' | ',') && 0 < end {
                // "5." is 5; the dot of a sentence.
                end = idx + c.len_utf8();
                break;
            } else {
                break;
            }
        }
        let (body, rest) = text.split_at_checked(end)?;
        if !body.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let (exponent, rest) = power_of_ten(rest);
        let body = body.trim_end_matches(['.', ',']);
        Some((Self { body, exponent }, rest))
    }

    fn notations(&self, decimal: char) -> Vec<Notation> {
        let body: String = self
            .body
            .chars()
            .filter(|c| !matches!(c, ' ' | '\''))
            .collect();
        let marks: Vec<(usize, char)> = body
            .char_indices()
            .filter(|(_, c)| matches!(c, '.' | ','))
            .collect();
        let grouped = || self.notation(&body, None);
        let fraction = |at: usize| self.notation(&body, Some(at));
        let (first, other) = match marks.as_slice() {
            [] => (grouped(), None),
            &[(at, mark)] => {
                let can_group =
                    at + 4 == body.len() && (1..=3).contains(&at) && !body.starts_with('0');
                match (mark == decimal, can_group) {
                    (true, true) => (fraction(at), grouped()),
                    (false, true) => (grouped(), fraction(at)),
                    (_, false) => (fraction(at), None),
                }
            }
            [.., (_, before), (at, last)] if before != last => (fraction(*at), None),
            _ => (grouped(), None),
        };
        let mut res: Vec<Notation> = [first, other].into_iter().flatten().collect();
        if let Some(other) = res.get_mut(1) {
            other.is_other = true;
        }
        res
    }

    fn notation(&self, body: &str, point: Option<usize>) -> Option<Notation> {
        let (whole, fraction) = match point {
            Some(at) => (body.get(..at)?, body.get(at + 1..)?),
            None => (body, ""),
        };
        let digits_of = |part: &str| {
            part.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let (whole, fraction) = (digits_of(whole), digits_of(fraction));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        // The zeros that end a whole number may be rounded away: 1,580,000,000 has three digits.
        let zeros = if fraction.is_empty() {
            significant.len() - significant.trim_end_matches('0').len()
        } else {
            0
        };
        let exponent = self.exponent - i32::try_from(fraction.len()).ok()?;
        let value: f64 = format!("{all}e{exponent}").parse().ok()?;
        let step: f64 = format!("1e{}", exponent + i32::try_from(zeros).ok()?)
            .parse()
            .ok()?;
        Some(Notation {
            value,
            step,
            digits: u32::try_from(significant.len() - zeros).ok()?,
            is_other: false,
        })
    }
}

/// `e9`, `×10^9`, `x 10⁹` at the start of the text, and what follows.
fn power_of_ten(text: &str) -> (i32, &str) {
    let trimmed = text.trim_start();
    if let Some(rest) = text.strip_prefix(['e', 'E'])
        && let Some((exponent, rest)) = exponent(rest)
    {
        return (exponent, rest);
    }
    let power = trimmed
        .strip_prefix(['×', 'x', 'X'])
        .and_then(|rest| rest.trim_start().strip_prefix("10"));
    // "2 × 100" is a product; a power has a caret or raised digits.
    let raised = power.and_then(|rest| {
        let rest = rest.trim_start();
        let after_caret = rest.strip_prefix('^').map(str::trim_start);
        after_caret.or_else(|| {
            rest.starts_with(|c| c == '⁻' || RAISED.contains(c))
                .then_some(rest)
        })
    });
    raised.and_then(exponent).unwrap_or((0, text))
}

fn exponent(text: &str) -> Option<(i32, &str)> {
    let (sign, text) = match text.chars().next()? {
        '-' | '⁻' => (-1, text.trim_start_matches(['-', '⁻'])),
        '+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let mut value = 0_i32;
    let mut end = 0;
    for (idx, c) in text.char_indices() {
        let raised = RAISED.chars().position(|raised| raised == c);
        let Some(digit) = raised.map(|digit| digit as i32).or_else(|| {
            let digit = c.to_digit(10)?;
            i32::try_from(digit).ok()
        }) else {
            break;
        };
        value = value.saturating_mul(10).saturating_add(digit).min(999);
        end = idx + c.len_utf8();
    }
    (0 < end).then(|| (sign * value, text.get(end..).unwrap_or_default()))
}
