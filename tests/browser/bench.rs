//! What one step of a slider drag costs, from the browser's own trace.
//!
//! The trace says when each input event began, and what the page's thread then did until the next
//! one. Script is all time in event handlers, microtasks, timers and animation frames, with what
//! they call; style, layout and paint are what the browser does by itself afterwards. Waiting for
//! the next frame is none of these.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::page::Page;

/// Script may take this long at the 95th percentile, in ms.
const BUDGET: f64 = 8.0;
/// Moves of the pointer; some of them change nothing, and at least 200 are to count.
const STEPS: u32 = 280;
/// Steps that must have counted.
const MIN_STEPS: usize = 200;

/// What the browser's work is called in a trace, and here.
const KINDS: [(&str, &[&str]); 6] = [
    (
        "script",
        &[
            "EventDispatch",
            "FunctionCall",
            "RunMicrotasks",
            "TimerFire",
            "FireAnimationFrame",
        ],
    ),
    ("of it: parsing of charts", &["ParseHTML"]),
    ("of it: garbage", &["MinorGC", "MajorGC"]),
    ("style", &["UpdateLayoutTree"]),
    ("layout", &["Layout"]),
    ("paint", &["PrePaint", "Paint", "Layerize", "Commit"]),
];

/// Drags the slider of the thinking tokens pixel by pixel and prints what a step costs.
pub(crate) async fn drag(page: &Page<'_>) -> Result<()> {
    let id = "slider-thinking_tokens";
    page.open("").await?;
    page.shows("total-tokens", "4,812").await?;
    let parts = parts(page).await?;
    page.drag_slider_to_and_fro(id, 40, STEPS).await?;
    let events = page.trace().await?;
    let trace = Trace::new(&events, ["ts", "dur"])?;
    let cpu = Trace::new(&events, ["tts", "tdur"])?;
    println!(
        "{} steps of a drag of {id} (ms){:>19} {:>7} {:>7}",
        trace.starts.len() - 1,
        "p50",
        "p95",
        "max"
    );
    cpu.print("script, in the thread's own time", |span| {
        KINDS[0].1.contains(&span.name.as_str())
    });
    for (kind, names) in KINDS {
        trace.print(kind, |span| names.contains(&span.name.as_str()));
    }
    for name in trace.measures() {
        trace.print(&format!("measure {name}"), |span| {
            span.is_measure && span.name == name
        });
    }
    println!(
        "  for comparison, in the same page through the JavaScript API (JSON and copies included)"
    );
    for (part, ms) in &parts {
        println!("  {part:<44} {ms:>7.2}");
    }
    let script = |span: &Span| KINDS[0].1.contains(&span.name.as_str());
    let [[_, p95, _], [_, own, _]] = [&trace, &cpu].map(|trace| trace.quantiles(script));
    let verdict = if p95 <= BUDGET { "within" } else { "OVER" };
    println!(
        "script at p95: {p95:.2} ms, {verdict} the budget of {BUDGET} ms; {own:.2} ms of them the thread's own"
    );
    Ok(())
}

/// The median of 200 calls of the report and of each chart, in ms: what of a step is computing.
async fn parts(page: &Page<'_>) -> Result<Vec<(String, f64)>> {
    let parts = page
        .eval_async(
            "const api = await import(new URL('pkg/kvscope.js', location.href));
             await api.default();
             const calls = { report: n => api.report({ thinking_tokens: n }) };
             for (const id of ['tokens', 'hbm', 'growth', 'sweep'])
                 calls[`chart ${id}, with its report`] = n => api.chartSvg(id, { thinking_tokens: n }, 600);
             return Object.entries(calls).map(([name, call]) => {
                 const times = [];
                 for (let n = 4000; n < 4200; n++) {
                     const start = performance.now();
                     call(n);
                     times.push(performance.now() - start);
                 }
                 return [name, times.sort((a, b) => a - b)[100]];
             });",
        )
        .await?;
    Ok(serde_json::from_value(parts)?)
}

/// A piece of work on the page's thread; times are in ms.
struct Span {
    name: String,
    start: f64,
    end: f64,
    is_measure: bool,
}

struct Trace {
    /// When each input event began.
    starts: Vec<f64>,
    spans: Vec<Span>,
}

impl Trace {
    /// `at` and `lasts` name the clock: `ts` and `dur` are the wall's, `tts` and `tdur` the thread's own, which stands still
    /// while other programs have the processor.
    fn new(events: &[Value], [at, lasts]: [&str; 2]) -> Result<Self> {
        let is = |event: &Value, kind: &str| {
            event["name"] == "EventDispatch" && event["args"]["data"]["type"] == *kind
        };
        let ms = |event: &Value, key: &str| event[key].as_f64().unwrap_or_default() / 1000.0;
        let pressed = events.iter().find(|event| is(event, "pointerdown"));
        let pressed = pressed.context("the drag did not press the pointer")?;
        let (pid, tid, from) = (&pressed["pid"], &pressed["tid"], ms(pressed, at));
        let mut starts = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        for event in events {
            let (name, start) = (event["name"].as_str().unwrap_or_default(), ms(event, at));
            if event["pid"] != *pid || event["tid"] != *tid || start < from {
                continue;
            }
            if is(event, "input") {
                starts.push(start);
            }
            let is_measure = event["cat"] == "blink.user_timing";
            let span = |end| Span {
                name: name.into(),
                start,
                end,
                is_measure,
            };
            match event["ph"].as_str() {
                Some("X") => spans.push(span(start + ms(event, lasts))),
                // performance.measure() writes its begin and its end.
                Some("b") if is_measure => spans.push(span(f64::NAN)),
                Some("e") if is_measure => {
                    let mut begun = spans.iter_mut().filter(|span| span.end.is_nan());
                    if let Some(begun) = begun.rfind(|span| span.name == name) {
                        begun.end = start;
                    }
                }
                _ => {}
            }
        }
        ensure!(
            MIN_STEPS < starts.len(),
            "{STEPS} moves caused only {} input events",
            starts.len()
        );
        starts.sort_by(f64::total_cmp);
        spans.retain(|span| span.start <= span.end);
        spans.sort_by(|a, b| a.start.total_cmp(&b.start));
        Ok(Self { starts, spans })
    }

    /// The names that the page gave to `performance.measure`.
    fn measures(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .spans
            .iter()
            .filter(|span| span.is_measure)
            .map(|span| span.name.clone())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// p50, p95 and the greatest of the time that each step spends in the spans that are `counted`.
    /// A span inside another is not counted twice.
    fn quantiles(&self, counted: impl Fn(&Span) -> bool) -> [f64; 3] {
        let mut steps: Vec<f64> = Vec::new();
        for step in self.starts.windows(2) {
            let (mut sum, mut reached) = (0.0, step[0]);
            for span in self.spans.iter().filter(|span| counted(span)) {
                let (start, end) = (span.start.max(reached), span.end.min(step[1]));
                if start < end {
                    sum += end - start;
                    reached = end;
                }
            }
            steps.push(sum);
        }
        steps.sort_by(f64::total_cmp);
        let at = |percent: usize| steps[(steps.len() * percent / 100).min(steps.len() - 1)];
        [at(50), at(95), at(100)]
    }

    fn print(&self, name: &str, counted: impl Fn(&Span) -> bool) {
        let [p50, p95, max] = self.quantiles(counted);
        println!("  {name:<44} {p50:>7.2} {p95:>7.2} {max:>7.2}");
    }
}
