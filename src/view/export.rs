//! The working as a file: Markdown for notes and pages, LaTeX for papers and exercise sheets.

use crate::core::report::Report;
use crate::core::scenario::Scenario;

use super::formula::{Working, working};
use super::notes;
use super::text::{Messages, fill};

/// The working as Markdown: every step, the assumptions and the programs.
pub fn markdown(scenario: &Scenario, report: &Report, messages: &Messages) -> String {
    let Working { steps, snippets } = working(scenario, report, messages);
    let mut res = format!(
        "## {}\n\n{}\n\n",
        messages.working.title,
        heading(scenario, messages, plain_markdown)
    );
    for step in steps {
        res.extend([
            "- **",
            &plain_markdown(&step.label),
            "** ",
            &step.text,
            "\n",
        ]);
    }
    res.extend([
        "\n",
        &messages.working.names,
        "\n\n### ",
        &messages.panels.assumptions_title,
        "\n\n",
    ]);
    for assumption in &report.assumptions {
        res.extend([
            "- ",
            &plain_markdown(&notes::assumption(assumption, messages)),
            "\n",
        ]);
    }
    res.extend(["\n### ", &*messages.panels.snippets_title, "\n"]);
    for snippet in snippets {
        let id = snippet.language.to_lowercase();
        res.extend(["\n```", &id, "\n", &snippet.code, "```\n"]);
    }
    res
}

/// The working as LaTeX to paste into a document that uses `amsmath`: every step and the assumptions.
pub fn latex(scenario: &Scenario, report: &Report, messages: &Messages) -> String {
    let mut res = String::from("% \\usepackage{amsmath}\n");
    res.extend(["\\section*{", &plain_latex(&messages.working.title), "}\n"]);
    res.extend([
        &heading(scenario, messages, plain_latex),
        "\n\\begin{description}\n",
    ]);
    for step in working(scenario, report, messages).steps {
        res.extend([
            "\\item[",
            &plain_latex(&step.label),
            "] $",
            &latex_math(&step.text),
            "$\n",
        ]);
    }
    res.push_str("\\end{description}\n");
    res.extend([&plain_latex(&messages.working.names), "\n"]);
    res.extend([
        "\\paragraph{",
        &plain_latex(&messages.panels.assumptions_title),
        "}\n",
    ]);
    res.push_str("\\begin{itemize}\n");
    for assumption in &report.assumptions {
        res.extend([
            "\\item ",
            &plain_latex(&notes::assumption(assumption, messages)),
            "\n",
        ]);
    }
    res + "\\end{itemize}\n"
}

/// Whose working it is. The model's name may be a stranger's.
fn heading(scenario: &Scenario, messages: &Messages, plain: fn(&str) -> String) -> String {
    let model = super::sentence::model_name(scenario);
    let kv_cache_dtype = super::sentence::kv_cache_dtype(scenario);
    plain(&fill(
        &messages.working.code_comment,
        &[("model", &model), ("kv_cache_dtype", &kv_cache_dtype)],
    ))
}

/// Text in which Markdown sees nothing but text, on one line.
fn plain_markdown(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '$'
            | '&' => {
                res.extend(['\\', c]);
            }
            c if c.is_control() => res.push(' '),
            c => res.push(c),
        }
    }
    res
}

/// Text in which LaTeX sees nothing but text, on one line.
fn plain_latex(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => res.push_str("\\textbackslash{}"),
            '~' => res.push_str("\\textasciitilde{}"),
            '^' => res.push_str("\\textasciicircum{}"),
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => res.extend(['\\', c]),
            '\u{a0}' | '\u{202f}' => res.push('~'),
            c if c.is_control() => res.push(' '),
            c => res.push(c),
        }
    }
    res
}

/// A line of the working, as [`Step::text`](super::formula::Step::text) has it, as LaTeX's mathematics.
fn latex_math(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let at = |idx: usize| chars.get(idx).copied().unwrap_or(' ');
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '\'' | '’');
    let mut res = String::with_capacity(line.len() * 2);
    let mut idx = 0;
    let mut after_number = false;
    while idx < chars.len() {
        let c = at(idx);
        let start = idx;
        idx += 1;
        if c.is_ascii_digit() {
            // Digits, their groups and their decimals.
            while at(idx).is_ascii_digit()
                || (at(idx + 1).is_ascii_digit() && is_separator(at(idx)))
            {
                idx += 1;
            }
            for &digit in chars.get(start..idx).unwrap_or_default() {
                match digit {
                    '\u{a0}' | '\u{202f}' | ' ' => res.push_str("\\,"),
                    ',' | '.' => res.extend(["{", digit.encode_utf8(&mut [0; 4]), "}"]),
                    digit => res.push(digit),
                }
            }
            after_number = true;
            continue;
        }
        if c.is_alphabetic() {
            // Words of a name stand together.
            while is_word(at(idx))
                || (matches!(at(idx), ' ' | '\u{a0}') && at(idx + 1).is_alphabetic())
            {
                idx += 1;
            }
            let word: String = chars.get(start..idx).unwrap_or_default().iter().collect();
            if after_number {
                res.extend(["\\,\\text{", &plain_latex(&word), "}"]);
            } else if word == "min" {
                res.push_str("\\min");
            } else if word.chars().count() == 1 {
                res.push_str(&word);
            } else {
                res.extend(["\\text{", &plain_latex(&word), "}"]);
            }
            if at(idx) == '_' {
                let index = idx + 1;
                idx = index;
                while is_word(at(idx)) {
                    idx += 1;
                }
                let index: String = chars.get(index..idx).unwrap_or_default().iter().collect();
                res.extend(["_{", &index, "}"]);
            }
            after_number = false;
            continue;
        }
        match c {
            // A unit follows its number over a space.
            ' ' | '\u{a0}' if after_number && at(idx).is_alphabetic() => continue,
            '·' => res.push_str("\\cdot"),
            '−' => res.push('-'),
            '≈' => res.push_str("\\approx"),
            '⌊' => res.push_str("\\lfloor "),
            '⌋' => res.push_str("\\rfloor"),
            '⌈' => res.push_str("\\lceil "),
            '⌉' => res.push_str("\\rceil"),
            c => res.push_str(&plain_latex(c.encode_utf8(&mut [0; 4]))),
        }
        after_number = false;
    }
    res
}

fn is_separator(c: char) -> bool {
    matches!(c, ',' | '.' | '\u{a0}' | '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mathematics() {
        let check = |line: &str, expect: &str| assert_eq!(latex_math(line), expect);
        check(
            "T = prompt + thinking = 512 + 4,000 = 4,512",
            "T = \\text{prompt} + \\text{thinking} = 512 + 4{,}000 = 4{,}512",
        );
        check(
            "2 · L · H_kv · d_h · b = 2 · 80 · 8 · 128 · 34/32 B ≈ 1.469 GiB",
            "2 \\cdot L \\cdot H_{kv} \\cdot d_{h} \\cdot b = 2 \\cdot 80 \\cdot 8 \\cdot 128 \\cdot 34/32\\,\\text{B} \\approx 1{.}469\\,\\text{GiB}",
        );
        check(
            "⌈T / 16⌉ = min(T, 4,096) = ⌊room for KV / one request⌋ − 7",
            "\\lceil T / 16\\rceil = \\min(T, 4{,}096) = \\lfloor \\text{room for KV} / \\text{one request}\\rfloor - 7",
        );
    }

    #[test]
    fn what_strangers_wrote_is_text() {
        assert_eq!(
            plain_latex("a_b \\input{x} 50% $"),
            "a\\_b \\textbackslash{}input\\{x\\} 50\\% \\$"
        );
        assert_eq!(plain_markdown("a*b* <i>\n# c"), "a\\*b\\* \\<i\\> \\# c");
    }
}
