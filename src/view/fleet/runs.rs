//! The runs of the simulator: their names, what they tell in a sentence and as tables.

use crate::core::scenario::EngineKind;
use crate::core::serve::metrics::{Percentiles, Point, ServeReport};
use crate::core::serve::schedulers::tensorrt_llm::CapacityPolicy;
use crate::core::serve::study::{PolicyChoice, Run};
use crate::core::serve::trace::{Trace, TraceProblem, Unit, UnitFrom, thinks};
use crate::core::serve::{Progress, Refusal, ServeError};
use crate::core::setup::Setup;
use crate::view::fleet::figures;
use crate::view::table::{Cell, Table};
use crate::view::text::{Messages, Text, fill};

/// A run with its name and what it told.
#[derive(Clone, Debug)]
pub struct NamedRun<'a> {
    /// Its name.
    pub name: String,
    /// What it told.
    pub report: &'a ServeReport,
}

/// The name of rules.
pub fn policy_name(policy: PolicyChoice, messages: &Messages) -> &str {
    let text = &messages.fleet;
    text.get(&format!("serve_policy_{}", policy.id().replace('.', "_")))
        .unwrap_or(policy.id())
}

/// The name of a run: what differs between runs, and what one wants to know of each.
pub fn name(run: &Run, messages: &Messages) -> String {
    let (scenario, numbers) = (&run.scenario, messages.numbers());
    let num_gpus = Setup::new(scenario).gpus_per_replica();
    // Without an engine the rules are vLLM's, too.
    let policy = match (run.policy, scenario.engine.kind) {
        (PolicyChoice::Engine, EngineKind::Exact | EngineKind::Vllm) => PolicyChoice::Vllm,
        (PolicyChoice::Engine, EngineKind::Sglang) => PolicyChoice::Sglang,
        (PolicyChoice::Engine, EngineKind::TensorRtLlm) => {
            PolicyChoice::TensorRtLlm(CapacityPolicy::GuaranteedNoEvict)
        }
        (PolicyChoice::Engine, EngineKind::LlamaCpp) => PolicyChoice::LlamaCpp,
        (policy, _) => policy,
    };
    fill(
        &messages.fleet.serve_run_base,
        &[
            ("thinking", &numbers.integer(scenario.thinking_tokens.0)),
            ("policy", policy_name(policy, messages)),
            ("gpus", &numbers.times(num_gpus, scenario.gpu.short)),
        ],
    )
}

/// How far the runs are.
pub fn progress(progress: Progress, is_cancelled: bool, messages: &Messages) -> String {
    let numbers = messages.numbers();
    let template = if is_cancelled {
        &messages.fleet.serve_cancelled
    } else {
        &messages.fleet.serve_progress
    };
    fill(
        template,
        &[
            ("done", &numbers.integer(progress.done)),
            ("total", &numbers.integer(progress.total)),
        ],
    )
}

/// What the runs tell, in sentences.
pub fn summary(named: &[NamedRun<'_>], messages: &Messages) -> String {
    let sentences: Vec<String> = named.iter().map(|run| sentence(run, messages)).collect();
    match sentences.as_slice() {
        [first, second] => fill(
            &messages.fleet.serve_summary_two,
            &[("first", first), ("second", second)],
        ),
        _ => sentences.concat(),
    }
}

fn sentence(run: &NamedRun<'_>, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let report = run.report;
    let twice = numbers.percent(report.recomputed_tokens, report.computed_tokens, 1);
    let values: &[(&str, &str)] = &[
        ("name", &run.name),
        ("finished", &numbers.integer(report.num_finished)),
        ("requests", &numbers.integer(report.num_requests)),
        ("makespan", &numbers.seconds(report.makespan_seconds)),
        ("running", &figures(report.mean_running, numbers)),
        ("peak", &numbers.integer(report.peak_running)),
        ("static", &numbers.integer(report.static_concurrency)),
        ("preemptions", &numbers.integer(report.preemptions)),
        ("twice", &twice),
        ("ttft", &numbers.seconds(report.time_to_first_token.p50)),
        ("rate", &figures(report.output_tokens_per_second, numbers)),
    ];
    // Of nothing there is no median.
    let template = if report.num_refused == report.num_requests {
        &text.serve_summary_none
    } else {
        &text.serve_summary_one
    };
    let mut res = fill(template, values);
    if let Some(refusal) = report.first_refusal {
        let n = numbers.integer(report.num_refused);
        let reason = reason(refusal, messages);
        res.push(' ');
        res.push_str(&fill(
            &text.serve_refused,
            &[("n", &n), ("reason", &reason)],
        ));
    }
    if 0 < report.num_truncated {
        let n = numbers.integer(report.num_truncated);
        res.push(' ');
        res.push_str(&fill(&text.serve_truncated, &[("n", &n)]));
    }
    if 0 < report.num_failed {
        let n = numbers.integer(report.num_failed);
        res.push(' ');
        let most = report.peak_running.saturating_sub(1);
        let most = numbers.integer(most.min(report.static_concurrency).max(1));
        let setting = text.setting("serve.max_num_seqs");
        let values = [("n", &*n), ("setting", setting), ("most", &most)];
        res.push_str(&fill(&text.serve_failed, &values));
    }
    res
}

fn reason(refusal: Refusal, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let (template, n, max): (&Text, u64, u64) = match refusal {
        Refusal::LargerThanPool {
            needed_units,
            units: 0,
        } => (&text.serve_refused_no_pool, needed_units, 0),
        Refusal::LargerThanPool {
            needed_units,
            units,
        } => (&text.serve_refused_pool, needed_units, units),
        Refusal::WindowLargerThanPool {
            needed_units,
            units,
        } => (&text.serve_refused_window, needed_units, units),
        // Where there is no memory the longest sequence has no token.
        Refusal::PromptTooLong {
            prompt_tokens,
            max_tokens: 0,
        } => (&text.serve_refused_no_pool, prompt_tokens, 0),
        Refusal::PromptTooLong {
            prompt_tokens,
            max_tokens,
        } => (&text.serve_refused_prompt, prompt_tokens, max_tokens),
        Refusal::PromptAboveStep { tokens, max_tokens } => {
            (&text.serve_refused_step, tokens, max_tokens)
        }
    };
    let setting = text.setting("serve.max_output_tokens");
    let (n, max) = (numbers.integer(n), numbers.integer(max));
    fill(template, &[("n", &n), ("max", &max), ("setting", setting)])
}

/// Why there is nothing to simulate.
pub fn error(error: &ServeError, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let count = |n: u64| numbers.integer(n);
    match error {
        ServeError::OutOfBounds {
            key,
            given,
            min,
            max,
        } => fill(
            &text.serve_error_bounds,
            &[
                ("key", key),
                ("given", &count(*given)),
                ("min", &count(*min)),
                ("max", &count(*max)),
            ],
        ),
        ServeError::RateOutOfBounds { given } => {
            fill(&text.serve_error_rate, &[("given", &given.to_string())])
        }
        ServeError::SpreadReversed { key, median, p95 } => fill(
            &text.serve_error_spread,
            &[
                ("key", key),
                ("median", &count(*median)),
                ("high", &count(*p95)),
            ],
        ),
        ServeError::NoOutput => text.serve_error_no_output.to_string(),
        ServeError::TooManyTokens { requests, max } => fill(
            &text.serve_error_tokens,
            &[("n", &count(*requests)), ("max", &count(*max))],
        ),
        ServeError::TraceTooLong { given, max } => fill(
            &text.serve_error_trace_long,
            &[("given", &count(*given)), ("max", &count(*max))],
        ),
        ServeError::TraceEmpty => text.serve_error_trace_empty.to_string(),
        ServeError::TraceLine { line, problem } => fill(
            &text.serve_error_line,
            &[
                ("line", &count(*line)),
                ("problem", &trace_problem(problem, messages)),
            ],
        ),
        ServeError::TraceRequest { request, problem } => fill(
            &text.serve_error_request,
            &[
                ("n", &count(*request)),
                ("problem", &trace_problem(problem, messages)),
            ],
        ),
        ServeError::TraceSpan { seconds, unit } => fill(
            &text.serve_error_span,
            &[
                ("unit", unit_name(*unit, messages)),
                ("days", &figures(seconds / 86_400.0, messages.numbers())),
            ],
        ),
    }
}

/// What makes a line of a trace no request.
fn trace_problem(problem: &TraceProblem, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    match problem {
        TraceProblem::NotReadable { format, error } => fill(
            &text.serve_error_format,
            &[("format", format), ("error", error)],
        ),
        TraceProblem::NotAnObject => text.serve_error_object.to_string(),
        TraceProblem::TooManyCells { given, header } => fill(
            &text.serve_error_cells,
            &[
                ("given", &numbers.integer(*given)),
                ("n", &numbers.integer(*header)),
            ],
        ),
        TraceProblem::NotANumber(given) => fill(&text.serve_error_number, &[("given", given)]),
        TraceProblem::NotATime(given) => fill(&text.serve_error_time, &[("given", given)]),
        TraceProblem::ArrivalToldOtherwise => text.serve_error_told_otherwise.to_string(),
        TraceProblem::PartAboveOutput { part, output } => fill(
            &text.serve_error_part,
            &[
                ("part", &numbers.integer(*part)),
                ("output", &numbers.integer(*output)),
            ],
        ),
        TraceProblem::NotTokens { given, max } => fill(
            &text.serve_error_count,
            &[
                ("given", &given.to_string()),
                ("max", &numbers.integer(*max)),
            ],
        ),
        TraceProblem::NoColumn { names } => {
            fill(&text.serve_error_column, &[("names", &names.join(", "))])
        }
        TraceProblem::ArrivalNotFinite => text.serve_error_arrival.to_string(),
        TraceProblem::NoTokens => text.serve_error_no_tokens.to_string(),
        TraceProblem::TooManyTokens(n) => {
            fill(&text.serve_error_many, &[("n", &numbers.integer(*n))])
        }
    }
}

/// What a unit of arrivals is called.
pub fn unit_name(unit: Unit, messages: &Messages) -> &str {
    let text = &messages.fleet;
    match unit {
        Unit::Seconds => &text.serve_trace_unit_s,
        Unit::Milliseconds => &text.serve_trace_unit_ms,
        Unit::Microseconds => &text.serve_trace_unit_us,
        Unit::Nanoseconds => &text.serve_trace_unit_ns,
    }
}

/// How a trace was read: what it holds, in which unit, and what of it was not taken.
pub fn trace(trace: &Trace, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let last = trace.rows.last().map_or(0.0, |row| row.arrival_seconds);
    let read = fill(
        &text.serve_trace_read,
        &[
            ("n", &numbers.integer(trace.rows.len() as u64)),
            ("time", &numbers.seconds(last)),
        ],
    );
    let unit = |why: &str| {
        let unit = unit_name(trace.unit, messages);
        fill(&text.serve_trace_unit, &[("unit", unit), ("why", why)])
    };
    let arrivals = match trace.unit_from {
        UnitFrom::Dates => text.serve_trace_dates.to_string(),
        UnitFrom::Name => unit(&text.serve_trace_from_name),
        UnitFrom::Epoch => unit(&text.serve_trace_from_epoch),
        UnitFrom::Mooncake => unit(&text.serve_trace_from_mooncake),
        UnitFrom::Bailian => unit(&text.serve_trace_from_bailian),
        UnitFrom::Nothing => unit(&text.serve_trace_from_nothing),
        UnitFrom::Reader => unit(&text.serve_trace_from_reader),
    };
    let mut said = vec![read, arrivals];
    if 0 < trace.num_left_out {
        let n = numbers.integer(trace.num_left_out);
        said.push(fill(&text.serve_trace_left_out, &[("n", &n)]));
    }
    if trace.is_output_split {
        said.push(text.serve_trace_split.to_string());
    }
    if !thinks(&trace.rows) {
        said.push(text.serve_trace_no_thinking.to_string());
    }
    said.join(" ")
}

/// The figures of the runs, side by side.
pub fn metrics_table(named: &[NamedRun<'_>], messages: &Messages) -> Table {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let count = |n: u64| Cell::Count(n, numbers.integer(n));
    let plain = |n: f64| Cell::Number(n, figures(n, numbers));
    let share = |n: f64| {
        let millionths = (n * 1e6).round() as u64;
        Cell::Number(n, numbers.percent(millionths, 1_000_000, 1))
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut row = |label: String, cell: &dyn Fn(&ServeReport) -> Cell| {
        let cells = named.iter().map(|run| cell(run.report));
        rows.push([Cell::Words(label)].into_iter().chain(cells).collect());
    };
    row(text.serve_row_finished.to_string(), &|report| {
        count(report.num_finished)
    });
    row(text.serve_row_makespan.to_string(), &|report| {
        plain(report.makespan_seconds)
    });
    let percentiles: [(&str, Part); 3] = [
        ("p50", |of| of.p50),
        ("p95", |of| of.p95),
        ("p99", |of| of.p99),
    ];
    let times: [(&Text, TimesOf, f64); 3] = [
        (
            &text.serve_row_ttft,
            |report| report.time_to_first_token,
            1.0,
        ),
        (
            &text.serve_row_answer,
            |report| report.time_to_first_answer_token,
            1.0,
        ),
        (
            &text.serve_row_tpot,
            |report| report.time_per_output_token,
            1e3,
        ),
    ];
    for (template, of, scale) in times {
        for (p, part) in percentiles {
            row(fill(template, &[("p", p)]), &|report| {
                plain(part(&of(report)) * scale)
            });
        }
    }
    row(text.serve_row_rate.to_string(), &|report| {
        plain(report.output_tokens_per_second)
    });
    row(text.serve_row_twice.to_string(), &|report| {
        share(report.recomputed_share)
    });
    row(text.serve_row_preemptions.to_string(), &|report| {
        count(report.preemptions)
    });
    row(text.serve_row_running.to_string(), &|report| {
        plain(report.mean_running)
    });
    row(text.serve_row_peak.to_string(), &|report| {
        count(report.peak_running)
    });
    row(text.serve_row_static.to_string(), &|report| {
        count(report.static_concurrency)
    });
    row(text.serve_row_waiting.to_string(), &|report| {
        plain(report.mean_waiting)
    });
    row(text.serve_row_occupancy.to_string(), &|report| {
        share(report.mean_occupancy)
    });
    let names = named.iter().map(|run| run.name.clone());
    Table {
        head: [text.serve_metric.to_string()]
            .into_iter()
            .chain(names)
            .collect(),
        rows,
    }
}

/// Times of a report.
type TimesOf = fn(&ServeReport) -> Percentiles;
/// One of the times.
type Part = fn(&Percentiles) -> f64;

/// At most about `max` points of a timeline, each with the preemptions since the one before; the last one stays.
pub fn thinned(timeline: &[Point], max: usize) -> Vec<Point> {
    let step = timeline.len().div_ceil(max.max(1)).max(1);
    let mut preemptions = 0;
    let mut res = Vec::new();
    for (idx, point) in timeline.iter().enumerate() {
        preemptions += point.preemptions;
        if idx % step == 0 || idx + 1 == timeline.len() {
            res.push(Point {
                preemptions,
                ..*point
            });
            preemptions = 0;
        }
    }
    res
}

/// Rows of the timeline's table for each run.
const MAX_ROWS: usize = 200;

/// The pool over time.
pub fn timeline_table(named: &[NamedRun<'_>], messages: &Messages) -> Table {
    let (text, charts, numbers) = (&messages.fleet, &messages.charts, messages.numbers());
    let mut rows = Vec::new();
    for run in named {
        let units = run.report.pool_units;
        let share = |part: u64| {
            let value = part as f64 / units.max(1) as f64;
            Cell::Number(value, numbers.percent(part, units, 1))
        };
        let count = |n: u64| Cell::Count(n, numbers.integer(n));
        rows.extend(thinned(&run.report.timeline, MAX_ROWS).iter().map(|point| {
            vec![
                Cell::Words(run.name.clone()),
                Cell::Number(point.seconds, numbers.seconds(point.seconds)),
                share(point.prompt_units),
                share(point.thinking_units),
                share(point.answer_units),
                count(point.running),
                count(point.waiting),
                count(point.preemptions),
            ]
        }));
    }
    let head = [
        &text.serve_metric,
        &text.serve_time,
        &charts.prompt,
        &charts.thinking,
        &charts.answer,
        &text.serve_running,
        &text.serve_waiting,
        &text.serve_preempted,
    ];
    Table {
        head: head.map(|name| name.to_string()).to_vec(),
        rows,
    }
}
