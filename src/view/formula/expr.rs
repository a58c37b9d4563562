//! A formula as a tree: written in symbols, in numbers and as code, and worked out exactly, all from one value.

use crate::view::markup::push_escaped;
use crate::view::numbers::Numbers;

/// A name in a formula, with its index: `H` with `kv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The letter, or a word.
    pub name: String,
    /// The index, empty when there is none.
    pub index: &'static str,
}

/// The variable of [`Symbol::tokens`] in code.
pub const TOKENS: &str = "tokens";

/// A formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A count, with the name it has in the symbols' form.
    Count(u64, Option<Symbol>),
    /// Bytes of so many elements, with a name: 2 B of 1, 34 B of 32.
    Bytes(u64, u64, Option<Symbol>),
    /// A product.
    Product(Vec<Expr>),
    /// A sum.
    Sum(Vec<Expr>),
    /// The first less the others; all of them whole.
    Difference(Vec<Expr>),
    /// The smaller of two.
    Least(Box<Expr>, Box<Expr>),
    /// The first divided by the second.
    Quotient(Box<Expr>, Box<Expr>),
    /// The whole number before.
    Floor(Box<Expr>),
    /// The next whole number.
    Ceil(Box<Expr>),
}

/// Which form is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Names where there are some.
    Symbols,
    /// Numbers everywhere.
    Numbers,
}

/// The programming languages of the snippets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// JavaScript, with numbers.
    JavaScript,
    /// JavaScript, with big integers, where numbers are not exact.
    JavaScriptBig,
}

/// A count with a one-letter name.
pub fn named(value: u64, name: &str, index: &'static str) -> Expr {
    Expr::Count(
        value,
        Some(Symbol {
            name: name.to_owned(),
            index,
        }),
    )
}

/// A count without a name.
pub fn count(value: u64) -> Expr {
    Expr::Count(value, None)
}

/// A whole number of bytes without a name.
pub fn bytes(value: u64) -> Expr {
    Expr::Bytes(value, 1, None)
}

impl Expr {
    /// The exact value as a fraction in lowest terms. `None` when it does not fit in 128 bits or a difference is negative.
    pub fn value(&self) -> Option<(u128, u128)> {
        let reduced = |(n, d): (u128, u128)| {
            let divisor = gcd(n, d).max(1);
            (n / divisor, d / divisor)
        };
        match self {
            Self::Count(n, _) => Some((u128::from(*n), 1)),
            Self::Bytes(n, per, _) => Some(reduced((u128::from(*n), u128::from((*per).max(1))))),
            Self::Product(factors) => factors.iter().try_fold((1, 1), |(n, d), factor| {
                let (n2, d2) = factor.value()?;
                let ((n, d2), (n2, d)) = (reduced((n, d2)), reduced((n2, d)));
                Some((n.checked_mul(n2)?, d.checked_mul(d2)?))
            }),
            Self::Sum(terms) => terms.iter().try_fold((0_u128, 1_u128), |(n, d), term| {
                let (n2, d2) = term.value()?;
                let sum = n.checked_mul(d2)?.checked_add(n2.checked_mul(d)?)?;
                Some(reduced((sum, d.checked_mul(d2)?)))
            }),
            Self::Difference(terms) => {
                let (first, rest) = terms.split_first()?;
                let first = u128::from(first.whole()?);
                let rest = rest
                    .iter()
                    .try_fold(0_u128, |sum, term| sum.checked_add(term.whole()?.into()))?;
                Some((first.checked_sub(rest)?, 1))
            }
            Self::Least(a, b) => {
                let ((n, d), (n2, d2)) = (a.value()?, b.value()?);
                Some(if n.checked_mul(d2)? <= n2.checked_mul(d)? {
                    (n, d)
                } else {
                    (n2, d2)
                })
            }
            Self::Quotient(a, b) => {
                let ((n, d), (n2, d2)) = (a.value()?, b.value()?);
                let divisor = n2.checked_mul(d)?;
                (divisor != 0).then_some(reduced((n.checked_mul(d2)?, divisor)))
            }
            Self::Floor(inner) => {
                let (n, d) = inner.value()?;
                Some((n / d, 1))
            }
            Self::Ceil(inner) => {
                let (n, d) = inner.value()?;
                Some((n.div_ceil(d), 1))
            }
        }
    }

    /// The value, when it is whole and fits.
    pub fn whole(&self) -> Option<u64> {
        match self.value()? {
            (n, 1) => u64::try_from(n).ok(),
            _ => None,
        }
    }

    /// The largest number that appears on the way to the value when a program works it out from left to right.
    pub fn largest_step(&self) -> u128 {
        let children =
            |children: &[Self]| children.iter().map(Self::largest_step).max().unwrap_or(0);
        match self {
            Self::Count(n, _) | Self::Bytes(n, _, _) => u128::from(*n),
            Self::Product(factors) => {
                let numerators = factors.iter().map(|factor| match factor {
                    Self::Bytes(n, _, _) => u128::from(*n),
                    factor => factor.value().map_or(u128::MAX, |(n, _)| n),
                });
                let product = numerators.fold(1_u128, u128::saturating_mul);
                product.max(children(factors))
            }
            Self::Sum(terms) | Self::Difference(terms) => terms
                .iter()
                .map(Self::largest_step)
                .fold(0, u128::saturating_add),
            Self::Least(a, b) | Self::Quotient(a, b) => a.largest_step().max(b.largest_step()),
            Self::Floor(inner) | Self::Ceil(inner) => inner.largest_step(),
        }
    }

    /// As the inside of a MathML element.
    pub fn push_mathml(&self, res: &mut String, form: Form, numbers: Numbers<'_>) {
        // Fences keep their size: a formula on one line needs no tall ones.
        let operator = |res: &mut String, sign: &str| {
            let is_fence = matches!(sign, "(" | ")" | "⌊" | "⌋" | "⌈" | "⌉");
            let open = if is_fence {
                "<mo stretchy=\"false\">"
            } else {
                "<mo>"
            };
            res.extend([open, sign, "</mo>"]);
        };
        let join = |res: &mut String, parts: &[Self], sign: &str| {
            for (idx, part) in parts.iter().enumerate() {
                if 0 < idx {
                    operator(res, sign);
                }
                let is_open = matches!(part, Self::Sum(_) | Self::Difference(_)) && sign != "+";
                if is_open {
                    operator(res, "(");
                }
                part.push_mathml(res, form, numbers);
                if is_open {
                    operator(res, ")");
                }
            }
        };
        match self {
            Self::Count(_, Some(symbol)) | Self::Bytes(_, _, Some(symbol))
                if form == Form::Symbols =>
            {
                symbol.push_mathml(res);
            }
            Self::Count(n, _) => res.extend(["<mn>", &numbers.integer(*n), "</mn>"]),
            Self::Bytes(n, 1, _) => {
                res.extend(["<mn>", &numbers.integer(*n), "</mn><mtext>\u{a0}B</mtext>"])
            }
            Self::Bytes(n, per, _) => {
                let (n, per) = (numbers.integer(*n), numbers.integer(*per));
                res.extend([
                    "<mfrac><mn>",
                    &n,
                    "</mn><mn>",
                    &per,
                    "</mn></mfrac><mtext>\u{a0}B</mtext>",
                ]);
            }
            Self::Product(factors) => join(res, factors, "·"),
            Self::Sum(terms) => join(res, terms, "+"),
            Self::Difference(terms) => join(res, terms, "−"),
            Self::Least(a, b) => {
                res.push_str("<mi>min</mi>");
                operator(res, "(");
                a.push_mathml(res, form, numbers);
                operator(res, ",");
                b.push_mathml(res, form, numbers);
                operator(res, ")");
            }
            Self::Quotient(a, b) => {
                a.push_mathml(res, form, numbers);
                operator(res, "/");
                b.push_mathml(res, form, numbers);
            }
            Self::Floor(inner) => {
                operator(res, "⌊");
                inner.push_mathml(res, form, numbers);
                operator(res, "⌋");
            }
            Self::Ceil(inner) => {
                operator(res, "⌈");
                inner.push_mathml(res, form, numbers);
                operator(res, "⌉");
            }
        }
    }

    /// As plain text: `2 · 80 · 8 · 128 · 2 B · 4,812`.
    pub fn text(&self, form: Form, numbers: Numbers<'_>) -> String {
        let join = |parts: &[Self], sign: &str| -> String {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match part {
                    Self::Sum(_) | Self::Difference(_) if sign != " + " => {
                        format!("({})", part.text(form, numbers))
                    }
                    part => part.text(form, numbers),
                })
                .collect();
            parts.join(sign)
        };
        match self {
            Self::Count(_, Some(symbol)) | Self::Bytes(_, _, Some(symbol))
                if form == Form::Symbols =>
            {
                symbol.text()
            }
            Self::Count(n, _) => numbers.integer(*n),
            Self::Bytes(n, 1, _) => format!("{} B", numbers.integer(*n)),
            Self::Bytes(n, per, _) => {
                format!("{}/{} B", numbers.integer(*n), numbers.integer(*per))
            }
            Self::Product(factors) => join(factors, " · "),
            Self::Sum(terms) => join(terms, " + "),
            Self::Difference(terms) => join(terms, " − "),
            Self::Least(a, b) => {
                format!("min({}, {})", a.text(form, numbers), b.text(form, numbers))
            }
            Self::Quotient(a, b) => {
                format!("{} / {}", a.text(form, numbers), b.text(form, numbers))
            }
            Self::Floor(inner) => format!("⌊{}⌋", inner.text(form, numbers)),
            Self::Ceil(inner) => format!("⌈{}⌉", inner.text(form, numbers)),
        }
    }

    /// As code that gives the exact value.
    pub fn code(&self, language: Language) -> String {
        let integer = |n: u64| match language {
            Language::JavaScriptBig => format!("{n}n"),
            Language::Python | Language::Rust | Language::JavaScript => n.to_string(),
        };
        let divide = |dividend: &str, divisor: u64| match language {
            Language::Python => format!("{dividend} // {divisor}"),
            Language::Rust | Language::JavaScript => format!("{dividend} / {divisor}"),
            Language::JavaScriptBig => format!("{dividend} / {divisor}n"),
        };
        match self {
            Self::Count(_, Some(symbol)) if *symbol == Symbol::tokens() => TOKENS.to_owned(),
            Self::Count(n, _) | Self::Bytes(n, 1, _) => integer(*n),
            Self::Bytes(n, per, _) => divide(&integer(*n), *per),
            Self::Product(_) => {
                let (dividend, divisor) = self.quotient(language);
                if divisor == 1 {
                    dividend
                } else {
                    divide(&dividend, divisor)
                }
            }
            Self::Sum(terms) => {
                let terms: Vec<String> = terms.iter().map(|term| term.code(language)).collect();
                terms.join(" + ")
            }
            Self::Difference(terms) => {
                let terms: Vec<String> = terms.iter().map(|term| term.code(language)).collect();
                terms.join(" - ")
            }
            Self::Least(a, b) => {
                let (a, b) = (a.code(language), b.code(language));
                match language {
                    Language::Python => format!("min({a}, {b})"),
                    Language::Rust => format!("{a}.min({b})"),
                    Language::JavaScript => format!("Math.min({a}, {b})"),
                    Language::JavaScriptBig => format!("({a} < {b} ? {a} : {b})"),
                }
            }
            Self::Quotient(..) | Self::Floor(_) => {
                let (dividend, divisor) = self.fraction(language);
                match language {
                    Language::JavaScript => format!("Math.floor({dividend} / {divisor})"),
                    Language::Python => format!("({dividend} // {divisor})"),
                    Language::Rust | Language::JavaScriptBig => format!("({dividend} / {divisor})"),
                }
            }
            Self::Ceil(inner) => {
                let (dividend, divisor) = inner.fraction(language);
                match language {
                    Language::Python => format!("-(-({dividend}) // {divisor})"),
                    Language::Rust => format!("u128::div_ceil({dividend}, {divisor})"),
                    Language::JavaScript => format!("Math.ceil({dividend} / {divisor})"),
                    Language::JavaScriptBig => {
                        format!("(({dividend}) + {divisor} - 1n) / {divisor}")
                    }
                }
            }
        }
    }

    /// What is divided, and by what.
    fn fraction(&self, language: Language) -> (String, String) {
        match self {
            Self::Quotient(a, b) => (a.code(language), b.code(language)),
            Self::Floor(inner) => inner.fraction(language),
            _ => {
                let (dividend, divisor) = self.quotient(language);
                (dividend, count(divisor).code(language))
            }
        }
    }

    /// A product as the code of its numerators, and the product of its denominators.
    fn quotient(&self, language: Language) -> (String, u64) {
        let Self::Product(factors) = self else {
            return (self.code(language), 1);
        };
        let mut divisor = 1_u64;
        let parts: Vec<String> = factors
            .iter()
            .map(|factor| match factor {
                Self::Bytes(n, per, symbol) => {
                    divisor = divisor.saturating_mul(*per);
                    Self::Bytes(*n, 1, symbol.clone()).code(language)
                }
                Self::Sum(_) | Self::Difference(_) | Self::Ceil(_) => {
                    format!("({})", factor.code(language))
                }
                factor => factor.code(language),
            })
            .collect();
        (parts.join(" * "), divisor)
    }
}

impl Symbol {
    /// The tokens of a request, which code computes first and keeps.
    pub fn tokens() -> Self {
        Self {
            name: "T".to_owned(),
            index: "",
        }
    }

    fn push_mathml(&self, res: &mut String) {
        let name = |res: &mut String| {
            res.push_str("<mi>");
            push_escaped(res, &self.name);
            res.push_str("</mi>");
        };
        if self.index.is_empty() {
            name(res);
            return;
        }
        res.push_str("<msub>");
        name(res);
        res.extend(["<mi>", self.index, "</mi></msub>"]);
    }

    fn text(&self) -> String {
        if self.index.is_empty() {
            self.name.clone()
        } else {
            format!("{}_{}", self.name, self.index)
        }
    }
}

/// The greatest common divisor.
pub fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}
