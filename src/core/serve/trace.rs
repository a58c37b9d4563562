//! Reads a trace of requests: a table with a header, or JSON. Names, separators and units may be of many kinds; what
//! could mean two things is an error, or is told to the reader.

mod columns;
mod date;
mod json;
mod table;

use std::borrow::Cow;

use columns::{Column, Kind, N_KINDS, examples};

use super::{MAX_REQUEST_TOKENS, MAX_REQUESTS, ServeError};

/// The longest text that is read.
pub const MAX_TRACE_BYTES: usize = 32 << 20;
/// A trace whose unit nothing tells is no longer than a year: with a wrong unit it is mostly much longer.
pub const MAX_UNNAMED_SECONDS: f64 = 366.0 * 86_400.0;

/// What makes a line no request.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceProblem {
    /// It is not of the format of the rest.
    NotReadable {
        /// The format.
        format: &'static str,
        /// What the reader of it says.
        error: String,
    },
    /// It is JSON, but no object.
    NotAnObject,
    /// It has more cells than the header.
    TooManyCells {
        /// Its cells.
        given: u64,
        /// Those of the header.
        header: u64,
    },
    /// A value is no number.
    NotANumber(String),
    /// An arrival is neither a number nor a date with a time.
    NotATime(String),
    /// A number is not one of tokens.
    NotTokens {
        /// The number.
        given: f64,
        /// The most tokens.
        max: u64,
    },
    /// There is no such column, or nothing in it.
    NoColumn {
        /// Names that it may have.
        names: Vec<&'static str>,
    },
    /// An arrival is not a finite number of seconds.
    ArrivalNotFinite,
    /// An arrival is told by another column or in another way than the first one.
    ArrivalToldOtherwise,
    /// More tokens in a part of the output than in all of it.
    PartAboveOutput {
        /// Thinking or answer tokens.
        part: u64,
        /// Output tokens.
        output: u64,
    },
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

/// Whether a request of a trace has thinking tokens.
pub fn thinks(rows: &[TraceRow]) -> bool {
    rows.iter().any(|row| 0 < row.thinking_tokens)
}

/// A unit of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// s
    Seconds,
    /// ms
    Milliseconds,
    /// µs
    Microseconds,
    /// ns
    Nanoseconds,
}

impl Unit {
    /// All, the longest first.
    pub const ALL: [Self; 4] = [
        Self::Seconds,
        Self::Milliseconds,
        Self::Microseconds,
        Self::Nanoseconds,
    ];

    /// Its sign, such as `ms`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }

    /// How many make a second.
    pub fn per_second(self) -> f64 {
        match self {
            Self::Seconds => 1.0,
            Self::Milliseconds => 1e3,
            Self::Microseconds => 1e6,
            Self::Nanoseconds => 1e9,
        }
    }
}

/// Where the unit of the arrivals is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitFrom {
    /// The column's name tells it.
    Name,
    /// They are dates with times.
    Dates,
    /// The numbers are of this size when they are counted from 1970, and in no other unit.
    Epoch,
    /// The columns are those of Mooncake's traces.
    Mooncake,
    /// The columns are those of Qwen-Bailian's traces.
    Bailian,
    /// Nothing tells it.
    Nothing,
    /// The reader of the page told it.
    Reader,
}

/// A trace that was read, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The requests by arrival; the first arrives at zero.
    pub rows: Vec<TraceRow>,
    /// What the arrivals were read as.
    pub unit: Unit,
    /// What made them be read so.
    pub unit_from: UnitFrom,
    /// Requests without prompt or without output, which failed, and are not among the rows.
    pub num_left_out: u64,
    /// Whether thinking was taken from the output tokens, or the answer.
    pub is_output_split: bool,
}

impl Trace {
    /// The same with arrivals in another unit.
    #[must_use]
    pub fn read_as(&self, unit: Unit) -> Self {
        let mut res = self.clone();
        for row in &mut res.rows {
            row.arrival_seconds = row.arrival_seconds * self.unit.per_second() / unit.per_second();
        }
        res.unit = unit;
        res.unit_from = UnitFrom::Reader;
        res
    }

    /// Whether there may be another unit.
    pub fn is_unit_open(&self) -> bool {
        match self.unit_from {
            UnitFrom::Name | UnitFrom::Dates => false,
            UnitFrom::Epoch
            | UnitFrom::Mooncake
            | UnitFrom::Bailian
            | UnitFrom::Nothing
            | UnitFrom::Reader => true,
        }
    }
}

/// What stands in one cell.
enum Cell<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    /// Anything else, by its looks.
    Other(&'static str),
}

impl Cell<'_> {
    fn text(&self) -> &str {
        match self {
            Cell::Number(_) => "",
            Cell::Text(text) => text.trim().trim_matches('"'),
            Cell::Other(looks) => looks,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number),
            Cell::Text(_) => self.text().parse().ok(),
            Cell::Other(_) => None,
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Cell::Text(_)) && self.text().is_empty()
    }
}

/// The known cells of one request.
#[derive(Default)]
struct Record<'a> {
    /// The best one of each kind.
    cells: [Option<(Column, Cell<'a>)>; N_KINDS],
    has_mooncake_mark: bool,
    has_bailian_mark: bool,
}

impl<'a> Record<'a> {
    fn put(&mut self, column: Column, cell: Cell<'a>) {
        match column.kind {
            Kind::MooncakeMark => self.has_mooncake_mark = true,
            Kind::BailianMark => self.has_bailian_mark = true,
            Kind::Arrival | Kind::Prompt | Kind::Thinking | Kind::Answer | Kind::Output => {
                let known = &mut self.cells[column.kind as usize];
                let is_better = known
                    .as_ref()
                    .is_none_or(|(known, _)| column.rank < known.rank);
                if is_better && !cell.is_empty() {
                    *known = Some((column, cell));
                }
            }
        }
    }

    fn get(&self, kind: Kind) -> Option<&(Column, Cell<'a>)> {
        self.cells.get(kind as usize)?.as_ref()
    }

    fn tokens(&self, kind: Kind) -> Result<Option<u64>, TraceProblem> {
        let Some((_, cell)) = self.get(kind) else {
            return Ok(None);
        };
        let number = cell
            .number()
            .ok_or_else(|| TraceProblem::NotANumber(shorten(cell.text())))?;
        if number.fract() == 0.0 && (0.0..=MAX_REQUEST_TOKENS as f64).contains(&number) {
            // In range by the check, so the cast cannot truncate.
            return Ok(Some(number as u64));
        }
        Err(TraceProblem::NotTokens {
            given: number,
            max: MAX_REQUEST_TOKENS,
        })
    }

    /// The number of the arrival, and the clock that it is of.
    fn arrival(&self) -> Result<(f64, Clock), TraceProblem> {
        let (column, cell) = self
            .get(Kind::Arrival)
            .ok_or_else(|| missing(Kind::Arrival))?;
        let clock = |is_date| Clock {
            column: *column,
            is_date,
        };
        if let Some(number) = cell.number() {
            return Ok((number, clock(false)));
        }
        match date::seconds(cell.text()) {
            Some(seconds) => Ok((seconds, clock(true))),
            None => Err(TraceProblem::NotATime(shorten(cell.text()))),
        }
    }

    /// Thinking and answer, and whether one of them is what the other leaves of the output.
    fn outputs(&self) -> Result<(u64, u64, bool), TraceProblem> {
        let thinking = self.tokens(Kind::Thinking)?;
        let answer = self.tokens(Kind::Answer)?;
        let output = self.tokens(Kind::Output)?;
        let rest = |part: u64, output: u64| {
            output
                .checked_sub(part)
                .ok_or(TraceProblem::PartAboveOutput { part, output })
        };
        Ok(match (thinking, answer, output) {
            (thinking, Some(answer), None) => (thinking.unwrap_or(0), answer, false),
            (Some(thinking), Some(answer), Some(_)) => (thinking, answer, false),
            (None, Some(answer), Some(output)) => (rest(answer, output)?, answer, true),
            (Some(thinking), None, Some(output)) => (thinking, rest(thinking, output)?, true),
            (None, None, Some(output)) => (0, output, false),
            (_, None, None) => return Err(missing(Kind::Output)),
        })
    }
}

/// How arrivals are told.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Clock {
    column: Column,
    is_date: bool,
}

/// What was read so far.
#[derive(Default)]
struct Collector {
    /// Requests with their arrivals as they are told.
    rows: Vec<TraceRow>,
    /// All requests, also those that were left out.
    n_read: u64,
    n_left_out: u64,
    /// Lists that may hold requests.
    n_lists: u64,
    is_output_split: bool,
    /// The line that is read, where there is one for each request.
    line: Option<u64>,
    clock: Option<Clock>,
    has_mooncake_mark: bool,
    has_bailian_mark: bool,
    /// `timestamp` beside `input_length`, without Mooncake's mark.
    has_mooncake_names: bool,
    has_fractions: bool,
    /// An error that the reader of JSON cannot carry.
    error: Option<ServeError>,
    left_out_first: Option<ServeError>,
}

impl Collector {
    fn add(&mut self, record: &Record<'_>) -> Result<(), ServeError> {
        let max = MAX_REQUESTS.max;
        if max <= self.rows.len() as u64 {
            return Err(ServeError::TraceTooLong {
                given: max + 1,
                max,
            });
        }
        self.n_read += 1;
        match self.row(record) {
            Ok(row) => self.rows.push(row),
            Err(TraceProblem::NoTokens) => {
                self.n_left_out += 1;
                if self.left_out_first.is_none() {
                    self.left_out_first = Some(self.problem(TraceProblem::NoTokens));
                }
            }
            Err(problem) => return Err(self.problem(problem)),
        }
        Ok(())
    }

    fn problem(&self, problem: TraceProblem) -> ServeError {
        match self.line {
            Some(line) => ServeError::TraceLine { line, problem },
            None => ServeError::TraceRequest {
                request: self.n_read,
                problem,
            },
        }
    }

    fn row(&mut self, record: &Record<'_>) -> Result<TraceRow, TraceProblem> {
        let (arrival, clock) = record.arrival()?;
        if *self.clock.get_or_insert(clock) != clock {
            return Err(TraceProblem::ArrivalToldOtherwise);
        }
        let prompt = record.tokens(Kind::Prompt)?;
        let (thinking_tokens, answer_tokens, is_split) = record.outputs()?;
        let res = TraceRow {
            arrival_seconds: arrival,
            prompt_tokens: prompt.ok_or_else(|| missing(Kind::Prompt))?,
            thinking_tokens,
            answer_tokens,
        };
        res.check()?;
        self.is_output_split |= is_split;
        let prompt_name = record.get(Kind::Prompt).map(|(column, _)| column.name);
        self.has_mooncake_names |=
            clock.column.name == "timestamp" && prompt_name == Some("inputlength");
        self.has_fractions |= arrival.fract() != 0.0;
        self.has_mooncake_mark |= record.has_mooncake_mark;
        self.has_bailian_mark |= record.has_bailian_mark;
        Ok(res)
    }

    /// The unit of the arrivals, and what tells it.
    fn unit(&self) -> (Unit, UnitFrom) {
        let Some(clock) = self.clock else {
            return (Unit::Seconds, UnitFrom::Nothing);
        };
        if clock.is_date {
            return (Unit::Seconds, UnitFrom::Dates);
        }
        if let Some(unit) = clock.column.unit {
            return (unit, UnitFrom::Name);
        }
        // From 2001 to 2128 in the unit.
        let is_since_1970 = |unit: &Unit| {
            let years = 1e9 * unit.per_second()..5e9 * unit.per_second();
            self.rows
                .iter()
                .all(|row| years.contains(&row.arrival_seconds))
        };
        if let Some(unit) = Unit::ALL.into_iter().find(is_since_1970) {
            return (unit, UnitFrom::Epoch);
        }
        if self.has_bailian_mark {
            return (Unit::Seconds, UnitFrom::Bailian);
        }
        // The names alone are also of others, whose seconds have fractions.
        if self.has_mooncake_mark || self.has_mooncake_names && !self.has_fractions {
            return (Unit::Milliseconds, UnitFrom::Mooncake);
        }
        (Unit::Seconds, UnitFrom::Nothing)
    }

    fn finish(self) -> Result<Trace, ServeError> {
        let (unit, unit_from) = self.unit();
        let mut rows = self.rows;
        if rows.is_empty() {
            return Err(self.left_out_first.unwrap_or(ServeError::TraceEmpty));
        }
        let arrivals = || rows.iter().map(|row| row.arrival_seconds);
        let first = arrivals().fold(f64::INFINITY, f64::min);
        let last = arrivals().fold(f64::NEG_INFINITY, f64::max);
        let span = (last - first) / unit.per_second();
        let max_span = match unit_from {
            UnitFrom::Name | UnitFrom::Dates => f64::MAX,
            UnitFrom::Epoch
            | UnitFrom::Mooncake
            | UnitFrom::Bailian
            | UnitFrom::Nothing
            | UnitFrom::Reader => MAX_UNNAMED_SECONDS,
        };
        if max_span < span {
            return Err(ServeError::TraceSpan {
                seconds: span,
                unit,
            });
        }
        for row in &mut rows {
            row.arrival_seconds = (row.arrival_seconds - first) / unit.per_second();
        }
        rows.sort_by(|a, b| a.arrival_seconds.total_cmp(&b.arrival_seconds));
        Ok(Trace {
            rows,
            unit,
            unit_from,
            num_left_out: self.n_left_out,
            is_output_split: self.is_output_split,
        })
    }
}

fn shorten(text: &str) -> String {
    crate::core::scenario::cut(text, 40)
}

fn missing(kind: Kind) -> TraceProblem {
    TraceProblem::NoColumn {
        names: examples(kind).to_vec(),
    }
}

/// The requests of a trace.
///
/// # Errors
///
/// The first line that cannot be read, or a trace that is too long or empty, or whose unit cannot be right.
pub fn read(text: &str) -> Result<Trace, ServeError> {
    if MAX_TRACE_BYTES < text.len() {
        return Err(ServeError::TraceTooLong {
            given: text.len() as u64,
            max: MAX_TRACE_BYTES as u64,
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut collector = Collector::default();
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .ok_or(ServeError::TraceEmpty)?;
    if first.starts_with(['{', '[']) {
        json::read(text, &mut collector)?;
    } else {
        table::read(text, first, &mut collector)?;
    }
    collector.finish()
}
