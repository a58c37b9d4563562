//! Reads a trace of requests: CSV with a header, or one JSON object a line.

use serde_json::Value;

use super::{MAX_REQUEST_TOKENS, MAX_REQUESTS, ServeError};

/// The longest text that is read.
pub const MAX_TRACE_BYTES: usize = 32 << 20;

/// What makes a line no request.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceProblem {
    /// It is no JSON, by what the reader of it says.
    NotJson(String),
    /// A value is no number.
    NotANumber(String),
    /// A number is not one of tokens.
    NotTokens {
        /// The number.
        given: f64,
        /// The most tokens.
        max: u64,
    },
    /// There is no such column.
    NoColumn {
        /// Names that it may have.
        names: Vec<&'static str>,
    },
    /// An arrival is not a finite number of seconds.
    ArrivalNotFinite,
    /// No prompt token or no output token.
    NoTokens,
    /// More tokens than are simulated.
    TooManyTokens(u64),
}

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRow {
    /// Seconds after the first arrival.
    pub arrival_seconds: f64,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Thinking tokens.
    pub thinking_tokens: u64,
    /// Answer tokens; all output tokens where the trace does not tell thinking from answer.
    pub answer_tokens: u64,
}

impl TraceRow {
    /// What makes it no request, if anything.
    pub(in crate::core) fn check(&self) -> Result<(), TraceProblem> {
        let output = self.thinking_tokens.saturating_add(self.answer_tokens);
        if !self.arrival_seconds.is_finite() {
            return Err(TraceProblem::ArrivalNotFinite);
        }
        if self.prompt_tokens == 0 || output == 0 {
            return Err(TraceProblem::NoTokens);
        }
        let longest = self.prompt_tokens.max(output);
        if 2 * MAX_REQUEST_TOKENS < longest {
            return Err(TraceProblem::TooManyTokens(longest));
        }
        Ok(())
    }
}

/// Names of the columns, the first of each list ours.
const ARRIVAL: &[&str] = &["arrival", "arrival_seconds", "arrival_time", "timestamp"];
const PROMPT: &[&str] = &[
    "prompt",
    "prompt_tokens",
    "input_toks",
    "input_tokens",
    "input_length",
];
const THINKING: &[&str] = &["thinking", "thinking_tokens", "reasoning_tokens"];
const ANSWER: &[&str] = &["answer", "answer_tokens"];
const OUTPUT: &[&str] = &[
    "output",
    "output_toks",
    "output_tokens",
    "output_length",
    "completion_tokens",
];

/// A row's values by the names of columns.
trait Columns {
    fn number(&self, names: &[&str]) -> Result<Option<f64>, TraceProblem>;
}

struct CsvRow<'a> {
    header: &'a [String],
    cells: Vec<&'a str>,
}

impl Columns for CsvRow<'_> {
    fn number(&self, names: &[&str]) -> Result<Option<f64>, TraceProblem> {
        let found = names
            .iter()
            .find_map(|name| self.header.iter().position(|column| column == name));
        let Some(cell) = found.and_then(|idx| self.cells.get(idx)) else {
            return Ok(None);
        };
        let cell = cell.trim().trim_matches('"');
        match cell.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if cell.is_empty() => Ok(None),
            Err(_) => Err(TraceProblem::NotANumber(shorten(cell))),
        }
    }
}

impl Columns for Value {
    fn number(&self, names: &[&str]) -> Result<Option<f64>, TraceProblem> {
        match names.iter().find_map(|name| self.get(name)) {
            None | Some(Self::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(number) => Ok(Some(number)),
                None => Err(TraceProblem::NotANumber(shorten(&value.to_string()))),
            },
        }
    }
}

fn shorten(text: &str) -> String {
    crate::core::scenario::cut(text, 40)
}

/// The requests of a trace, by arrival; the first arrives at zero.
///
/// # Errors
///
/// The first line that cannot be read, or a trace that is too long or empty.
pub fn read(text: &str) -> Result<Vec<TraceRow>, ServeError> {
    if MAX_TRACE_BYTES < text.len() {
        return Err(ServeError::TraceTooLong {
            given: text.len() as u64,
            max: MAX_TRACE_BYTES as u64,
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let mut rows = Vec::new();
    let is_json = text.trim_start().starts_with('{');
    let header: Vec<String> = if is_json {
        Vec::new()
    } else {
        let (_, line) = lines.next().ok_or(ServeError::TraceEmpty)?;
        let cells = line.split(',');
        cells
            .map(|cell| cell.trim().trim_matches('"').to_lowercase())
            .collect()
    };
    for (idx, line) in lines {
        if MAX_REQUESTS.max <= rows.len() as u64 {
            return Err(ServeError::TraceTooLong {
                given: rows.len() as u64 + 1,
                max: MAX_REQUESTS.max,
            });
        }
        let row = if is_json {
            serde_json::from_str::<Value>(line)
                .map_err(|error| TraceProblem::NotJson(error.to_string()))
                .and_then(|value| row(&value))
        } else {
            row(&CsvRow {
                header: &header,
                cells: line.split(',').collect(),
            })
        };
        rows.push(row.map_err(|problem| ServeError::TraceLine {
            line: idx as u64 + 1,
            problem,
        })?);
    }
    let first = rows
        .iter()
        .map(|row| row.arrival_seconds)
        .fold(f64::INFINITY, f64::min);
    if rows.is_empty() {
        return Err(ServeError::TraceEmpty);
    }
    for row in &mut rows {
        row.arrival_seconds -= first;
    }
    rows.sort_by(|a, b| a.arrival_seconds.total_cmp(&b.arrival_seconds));
    Ok(rows)
}

fn row(columns: &dyn Columns) -> Result<TraceRow, TraceProblem> {
    let arrival_seconds = columns.number(ARRIVAL)?.ok_or_else(|| missing(ARRIVAL))?;
    let prompt_tokens = tokens(columns, PROMPT)?.ok_or_else(|| missing(PROMPT))?;
    let thinking_tokens = tokens(columns, THINKING)?.unwrap_or(0);
    let answer_tokens = match (tokens(columns, ANSWER)?, tokens(columns, OUTPUT)?) {
        (Some(answer), _) => answer,
        // All output tokens, of which some are thinking where the trace says so.
        (None, Some(output)) => output.saturating_sub(thinking_tokens),
        (None, None) => return Err(missing(&[ANSWER, OUTPUT].concat())),
    };
    let res = TraceRow {
        arrival_seconds,
        prompt_tokens,
        thinking_tokens,
        answer_tokens,
    };
    res.check()?;
    Ok(res)
}

fn tokens(columns: &dyn Columns, names: &[&str]) -> Result<Option<u64>, TraceProblem> {
    match columns.number(names)? {
        None => Ok(None),
        Some(number)
            if number.fract() == 0.0 && (0.0..=MAX_REQUEST_TOKENS as f64).contains(&number) =>
        {
            // In range by the check, so the cast cannot truncate.
            Ok(Some(number as u64))
        }
        Some(given) => Err(TraceProblem::NotTokens {
            given,
            max: MAX_REQUEST_TOKENS,
        }),
    }
}

fn missing(names: &[&'static str]) -> TraceProblem {
    TraceProblem::NoColumn {
        names: names.to_vec(),
    }
}
