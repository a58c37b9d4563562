//! The working: the formula of each kind of layer with every number substituted, the steps to the total, and the same as
//! code. What a line says multiplies together to the last byte, or it is not said.

use crate::core::engines;
use crate::core::layer::{LayerKind, RecurrentFamily};
use crate::core::model::LayerGroup;
use crate::core::report::Report;
use crate::core::scenario::Scenario;
use crate::core::setup::{Request, Setup};
use crate::core::units::{Bytes, GB, GIB, KIB, MAX_EXACT_INTEGER, Share, Tokens};

use super::numbers::{ByteUnit, Numbers};
use super::sentence;
use super::text::{Messages, Text, WorkingText, fill};

pub mod expr;
mod kinds;

use expr::{Expr, Form, Language, Symbol, TOKENS, bytes, count, gcd, named};

/// One line of the working.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is about, for a fact to open: `tokens`, `layers`, `together`, `per_token`, `blocks`, `per_gpu`, `usable`, `room`,
    /// `free` or `concurrency`.
    pub id: &'static str,
    /// What it works out.
    pub label: String,
    /// The line as `<math>` elements, between which it may break.
    pub math: Vec<String>,
    /// The line as text.
    pub text: String,
    /// The value it ends in.
    pub value: u64,
}

/// The same as a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The language's name.
    pub language: &'static str,
    /// The program.
    pub code: String,
}

/// Everything about how a scenario's numbers come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Working {
    /// The lines, in order.
    pub steps: Vec<Step>,
    /// The programs.
    pub snippets: Vec<Snippet>,
}

/// The working of a scenario.
pub fn working(scenario: &Scenario, report: &Report, messages: &Messages) -> Working {
    let setup = Setup::new(scenario);
    let request = Request::of(scenario);
    let groups = setup.whole_groups();
    let lines: Vec<Line> = groups
        .iter()
        .map(|group| Line::of(*group, &request, &setup))
        .collect();
    let writer = Writer {
        text: &messages.working,
        numbers: messages.numbers(),
    };
    let mut steps: Vec<Step> = writer.tokens(&request).into_iter().collect();
    steps.extend(
        lines
            .iter()
            .filter_map(|line| writer.layers(line, lines.len())),
    );
    steps.extend(writer.together(&lines));
    steps.extend(writer.per_token(&groups, report, &setup));
    steps.extend(writer.blocks(report, &request));
    steps.extend(writer.per_gpu(&setup, &request));
    steps.extend(writer.usable(scenario, report));
    steps.extend(writer.room(report));
    steps.extend(writer.free(report));
    steps.extend(writer.concurrency(report, &setup, &request));
    let comment = fill(
        &messages.working.code_comment,
        &[
            ("model", &sentence::model_name(scenario)),
            ("kv_cache_dtype", &sentence::kv_cache_dtype(scenario)),
        ],
    );
    Working {
        steps,
        snippets: snippets(&tokens_expr(&request, None), &lines, &one_line(&comment)),
    }
}

/// The layers of one kind and what they keep.
struct Line {
    kind: LayerKind,
    count: u32,
    expr: Expr,
    value: Bytes,
}

impl Line {
    fn of(group: LayerGroup, request: &Request, setup: &Setup<'_>) -> Self {
        let value = request
            .kind_bytes(group.kind, setup.formats)
            .total()
            .times(u64::from(group.count));
        let expr = kinds::expr(group, request, setup.formats);
        // A form that this file does not know is said as what the core found for one layer.
        let expr = if expr.whole() == Some(value.0) {
            expr
        } else {
            let of_one = request.kind_bytes(group.kind, setup.formats).total();
            Expr::Product(vec![
                named(u64::from(group.count), "L", ""),
                bytes(of_one.0),
            ])
        };
        Self {
            kind: group.kind,
            count: group.count,
            expr,
            value,
        }
    }
}

/// `prompt + n · (thinking + answer)`, with words as names when a language is given.
fn tokens_expr(request: &Request, text: Option<&WorkingText>) -> Expr {
    let part = |tokens: Tokens, word: fn(&WorkingText) -> &Text| match text {
        Some(text) => named(tokens.0, word(text), ""),
        None => count(tokens.0),
    };
    let prompt = part(request.prompt, |text| &text.prompt);
    let (thinking, answer) = (
        part(request.thinking, |text| &text.thinking),
        part(request.answer, |text| &text.answer),
    );
    if request.num_samples == 1 {
        return Expr::Sum(vec![prompt, thinking, answer]);
    }
    let samples = part(Tokens(request.num_samples), |text| &text.samples);
    Expr::Sum(vec![
        prompt,
        Expr::Product(vec![samples, Expr::Sum(vec![thinking, answer])]),
    ])
}

/// The sum of parts: nothing, the one, or all of them.
fn sum(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        0 => bytes(0),
        1 => parts.remove(0),
        _ => Expr::Sum(parts),
    }
}

/// A formula in pieces between which a line may break: its terms, each after its sign.
fn pieces(expr: &Expr, form: Form, numbers: Numbers<'_>) -> Vec<(&'static str, String)> {
    let is_plain = |term: &Expr| !matches!(term, Expr::Sum(_) | Expr::Difference(_));
    let (terms, sign) = match expr {
        Expr::Sum(terms) if terms.iter().all(is_plain) => (terms.as_slice(), "+"),
        Expr::Difference(terms) if terms.iter().all(is_plain) => (terms.as_slice(), "−"),
        expr => (std::slice::from_ref(expr), ""),
    };
    let piece = |term: &Expr| {
        let mut res = String::new();
        term.push_mathml(&mut res, form, numbers);
        (sign, res)
    };
    terms.iter().map(piece).collect()
}

/// What a step's value counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Count,
    Bytes,
    /// Bytes, of which the exact number is enough: another line says it in other units.
    BytesOnly,
}

/// Writes steps in one language.
struct Writer<'a> {
    text: &'a WorkingText,
    numbers: Numbers<'a>,
}

impl Writer<'_> {
    /// A line: a name, the formula in symbols, in numbers, its value, and the value in other units.
    fn step(
        &self,
        id: &'static str,
        label: String,
        name: &str,
        expr: &Expr,
        unit: Unit,
    ) -> Option<Step> {
        let numbers = self.numbers;
        let value = expr.whole()?;
        let mut res = Step {
            id,
            label,
            math: Vec::new(),
            text: String::new(),
            value,
        };
        let mut push = |sign: &str, pieces: Vec<(&str, String)>, text: &str| {
            let is_first = res.text.is_empty();
            for (idx, (between, piece)) in pieces.into_iter().enumerate() {
                let sign = if 0 < idx {
                    between
                } else if is_first {
                    ""
                } else {
                    sign
                };
                let operator = if sign.is_empty() {
                    String::new()
                } else {
                    format!("<mo form=\"infix\">{sign}</mo>")
                };
                res.math
                    .push(format!("<math><mrow>{operator}{piece}</mrow></math>"));
            }
            if !is_first {
                res.text.extend([" ", sign, " "]);
            }
            res.text.push_str(text);
        };
        if !name.is_empty() {
            push("=", vec![("", format!("<mi>{name}</mi>"))], name);
        }
        let symbols = expr.text(Form::Symbols, numbers);
        let in_numbers = expr.text(Form::Numbers, numbers);
        // A formula without names is its own numbers, and a lone number its own value.
        let is_lone = matches!(expr, Expr::Count(..) | Expr::Bytes(..));
        if !(is_lone && symbols == in_numbers) {
            push("=", pieces(expr, Form::Symbols, numbers), &symbols);
        }
        if !is_lone && symbols != in_numbers {
            push("=", pieces(expr, Form::Numbers, numbers), &in_numbers);
        }
        let exact = match unit {
            Unit::Count => numbers.integer(value),
            Unit::Bytes | Unit::BytesOnly => numbers.bytes_exact(Bytes(value)),
        };
        push("=", vec![("", format!("<mn>{exact}</mn>"))], &exact);
        if unit == Unit::Bytes && KIB <= value {
            let units = [
                (
                    ByteUnit::decimal_of(Bytes(value)),
                    numbers.bytes_decimal(Bytes(value)),
                ),
                (ByteUnit::of(Bytes(value)), numbers.bytes(Bytes(value))),
            ];
            for (unit, written) in units {
                let sign = if value.is_multiple_of(unit.bytes()) {
                    "="
                } else {
                    "≈"
                };
                push(sign, vec![("", format!("<mn>{written}</mn>"))], &written);
            }
        }
        Some(res)
    }

    fn tokens(&self, request: &Request) -> Option<Step> {
        let label = if request.num_samples == 1 {
            &self.text.tokens
        } else {
            &self.text.tokens_samples
        };
        self.step(
            "tokens",
            label.to_string(),
            "T",
            &tokens_expr(request, Some(self.text)),
            Unit::Count,
        )
    }

    fn layers(&self, line: &Line, n_lines: usize) -> Option<Step> {
        let n = self.numbers.integer(line.count.into());
        let label = fill(
            &self.text.layers,
            &[("kind", kind_name(line.kind, self.text)), ("n", &n)],
        );
        let unit = if n_lines == 1 {
            Unit::Bytes
        } else {
            Unit::BytesOnly
        };
        self.step("layers", label, "", &line.expr, unit)
    }

    fn together(&self, lines: &[Line]) -> Option<Step> {
        let parts = lines
            .iter()
            .filter(|line| Bytes::ZERO < line.value)
            .map(|line| bytes(line.value.0))
            .collect();
        let expr = sum(parts);
        if lines.len() < 2 {
            return None;
        }
        self.step(
            "together",
            self.text.together.to_string(),
            "",
            &expr,
            Unit::Bytes,
        )
    }

    fn per_token(&self, groups: &[LayerGroup], report: &Report, setup: &Setup<'_>) -> Option<Step> {
        let value = report.kv_cache.bytes_per_token + report.kv_cache.index_bytes_per_token;
        let parts = groups
            .iter()
            .filter_map(|group| kinds::per_token(*group, setup.formats));
        let expr = sum(parts.collect());
        // Compressed layers grow by fractions, which the report rounds up: then only the value is said.
        let expr = if expr.whole() == Some(value.0) {
            expr
        } else {
            bytes(value.0)
        };
        self.step(
            "per_token",
            self.text.per_token.to_string(),
            "",
            &expr,
            Unit::Bytes,
        )
    }

    /// Blocks of one sequence; samples have last blocks of their own.
    fn blocks(&self, report: &Report, request: &Request) -> Option<Step> {
        let block_size = report
            .engine
            .block_size
            .filter(|_| request.num_samples == 1)?;
        let tokens = Expr::Count(report.tokens.total.0, Some(Symbol::tokens()));
        let expr = Expr::Ceil(Box::new(Expr::Quotient(
            Box::new(tokens),
            Box::new(count(block_size)),
        )));
        let label = fill(
            &self.text.blocks,
            &[("n", &self.numbers.integer(block_size))],
        );
        self.step("blocks", label, "", &expr, Unit::Count)
    }

    /// What one request keeps on the fullest GPU: the same formulas with that GPU's heads and layers.
    fn per_gpu(&self, setup: &Setup<'_>, request: &Request) -> Option<Step> {
        let n_gpus = setup.gpus_per_replica();
        let stage = setup
            .stages
            .iter()
            .max_by_key(|groups| request.phase_bytes(groups, setup.formats).total())?;
        let expr = sum(stage
            .iter()
            .map(|group| Line::of(*group, request, setup).expr)
            .collect());
        let is_true = expr.whole() == Some(setup.per_gpu(request).total().0);
        if n_gpus <= 1 || !is_true {
            return None;
        }
        let label = fill(&self.text.per_gpu, &[("n", &self.numbers.integer(n_gpus))]);
        self.step("per_gpu", label, "", &expr, Unit::Bytes)
    }

    fn amount(bytes: Bytes, name: &Text) -> Expr {
        Expr::Bytes(
            bytes.0,
            1,
            Some(Symbol {
                name: name.to_string(),
                index: "",
            }),
        )
    }

    /// What the engine may use of what the runtime sees. TensorRT-LLM's share is of what is free, and no factor.
    fn usable(&self, scenario: &Scenario, report: &Report) -> Option<Step> {
        let share = u64::from(engines::memory_share(scenario).0);
        let one = u64::from(Share::ONE.0);
        let divisor = u64::try_from(gcd(share.into(), one.into())).ok()?.max(1);
        let expr = Expr::Floor(Box::new(Expr::Quotient(
            Box::new(Expr::Product(vec![
                count(share / divisor),
                Self::amount(scenario.gpu.visible(), &self.text.visible),
            ])),
            Box::new(count(one / divisor)),
        )));
        if expr.whole() != Some(report.hbm.usable_bytes.0) {
            return None;
        }
        self.step(
            "usable",
            self.text.usable_share.to_string(),
            "",
            &expr,
            Unit::Bytes,
        )
    }

    fn room(&self, report: &Report) -> Option<Step> {
        let (text, hbm) = (self.text, report.hbm);
        let expr = Expr::Difference(vec![
            Self::amount(hbm.usable_bytes, &text.usable),
            Self::amount(hbm.weight_bytes, &text.weights),
            Self::amount(hbm.activation_bytes, &text.activations),
            Self::amount(hbm.overhead_bytes, &text.runtime),
        ]);
        // A pool that the reader gave is no difference.
        if expr.whole() != Some(hbm.kv_pool_bytes.0) {
            return None;
        }
        self.step("room", text.room.to_string(), "", &expr, Unit::Bytes)
    }

    fn free(&self, report: &Report) -> Option<Step> {
        let (text, hbm) = (self.text, report.hbm);
        let reserved = Self::amount(hbm.kv_reserved_bytes, &text.reserved);
        if 0 <= hbm.free_bytes {
            let expr = Expr::Difference(vec![
                Self::amount(hbm.kv_pool_bytes, &text.kv_room),
                reserved,
            ]);
            let is_true = expr.whole() == u64::try_from(hbm.free_bytes).ok();
            return if is_true {
                self.step("free", text.free.to_string(), "", &expr, Unit::Bytes)
            } else {
                None
            };
        }
        let needed = Expr::Sum(vec![
            Self::amount(hbm.weight_bytes, &text.weights),
            Self::amount(hbm.activation_bytes, &text.activations),
            Self::amount(hbm.overhead_bytes, &text.runtime),
            reserved,
        ]);
        let expr = Expr::Difference(vec![needed, Self::amount(hbm.usable_bytes, &text.usable)]);
        let is_true = expr.whole() == Some(hbm.free_bytes.unsigned_abs());
        if is_true {
            self.step("free", text.missing.to_string(), "", &expr, Unit::Bytes)
        } else {
            None
        }
    }

    fn concurrency(&self, report: &Report, setup: &Setup<'_>, request: &Request) -> Option<Step> {
        let text = self.text;
        let room = Self::amount(report.hbm.kv_pool_bytes, &text.kv_room);
        let one = Self::amount(setup.per_gpu(request).total(), &text.one_request);
        let expr = Expr::Floor(Box::new(Expr::Quotient(Box::new(room), Box::new(one))));
        let replicas = setup.scenario.data_parallel_size;
        let expr = if replicas <= 1 {
            expr
        } else {
            Expr::Product(vec![Self::named_count(replicas, &text.replicas), expr])
        };
        // Pages, shared prefixes and bounds make it another number; then the search is the only truth.
        if expr.whole() != Some(report.fit.max_concurrency) {
            return None;
        }
        self.step(
            "concurrency",
            text.concurrency.to_string(),
            "",
            &expr,
            Unit::Count,
        )
    }

    fn named_count(n: u32, name: &Text) -> Expr {
        named(n.into(), name, "")
    }
}

/// The name of a kind of layer.
pub fn kind_name(kind: LayerKind, text: &WorkingText) -> &str {
    match kind {
        LayerKind::Full { .. } => &text.kind_full,
        LayerKind::Sliding { .. } => &text.kind_sliding,
        LayerKind::Chunked { .. } => &text.kind_chunked,
        LayerKind::Latent { .. } => &text.kind_latent,
        LayerKind::Compressed { .. } => &text.kind_compressed,
        LayerKind::Cross { .. } => &text.kind_cross,
        LayerKind::Shared => &text.kind_shared,
        LayerKind::Recurrent(state) => match state.family {
            RecurrentFamily::Mamba1 => &text.kind_mamba1,
            RecurrentFamily::Mamba2 => &text.kind_mamba2,
            RecurrentFamily::GatedDeltaNet => &text.kind_gated_delta_net,
            RecurrentFamily::Kda => &text.kind_kda,
            RecurrentFamily::Lightning => &text.kind_lightning,
            RecurrentFamily::Rwkv => &text.kind_rwkv,
            RecurrentFamily::RgLru => &text.kind_rg_lru,
            RecurrentFamily::ShortConv => &text.kind_short_conv,
        },
    }
}

/// A stranger's text on one line of code: nothing in it ends the line or hides what follows.
fn one_line(text: &str) -> String {
    let is_plain = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    text.chars().filter(is_plain).collect()
}

/// The programs: the tokens, a line for each kind of layer, their sum, printed exactly.
fn snippets(tokens: &Expr, lines: &[Line], comment: &str) -> Vec<Snippet> {
    let sum = Expr::Sum(lines.iter().map(|line| line.expr.clone()).collect());
    let is_exact = sum.largest_step() <= u128::from(MAX_EXACT_INTEGER);
    let script = if is_exact {
        Language::JavaScript
    } else {
        Language::JavaScriptBig
    };
    let name = |(idx, line): (usize, &Line)| {
        let id = line.kind.id();
        match lines
            .iter()
            .take(idx)
            .filter(|before| before.kind.id() == id)
            .count()
        {
            0 => id.to_owned(),
            n_before => format!("{id}_{}", n_before + 1),
        }
    };
    let names: Vec<String> = lines.iter().enumerate().map(name).collect();
    let total = if names.is_empty() {
        "0".to_owned()
    } else {
        names.join(" + ")
    };
    let program = |language: Language,
                   comment_mark: &str,
                   (before, between, after): (&str, &str, &str),
                   last: &str| {
        let mut res = format!("{comment_mark} {comment}\n");
        let mut define =
            |name: &str, value: &str| res.extend([before, name, between, value, after, "\n"]);
        define(TOKENS, &tokens.code(language));
        for (name, line) in names.iter().zip(lines) {
            define(name, &line.expr.code(language));
        }
        define("total", &total);
        res + last + "\n"
    };
    let (gib, gb) = (GIB, GB);
    let print =
        format!("print(f\"{{total:,}} B = {{total / {gb}:.3f}} GB = {{total / {gib}:.3f}} GiB\")");
    let python = program(Language::Python, "#", ("", " = ", ""), &print);
    let print = format!(
        "println!(\"{{total}} B = {{:.3}} GB = {{:.3}} GiB\", total as f64 / {gb}.0, total as f64 / {gib}.0);"
    );
    let rust = program(Language::Rust, "//", ("let ", ": u128 = ", ";"), &print);
    let rust: String = rust.lines().flat_map(|line| ["    ", line, "\n"]).collect();
    let print = format!(
        "console.log(`${{total}} B = ${{(Number(total) / {gb}).toFixed(3)}} GB = ${{(Number(total) / {gib}).toFixed(3)}} GiB`);"
    );
    let javascript = program(script, "//", ("const ", " = ", ";"), &print);
    vec![
        Snippet {
            language: "Python",
            code: python,
        },
        Snippet {
            language: "Rust",
            code: format!("fn main() {{\n{rust}}}\n"),
        },
        Snippet {
            language: "JavaScript",
            code: javascript,
        },
    ]
}
