//! What one step of a slider drag costs, from the browser's own trace.
//!
//! The trace says when each input event began, and what the page's thread then did until the next
//! one. Script is all time in event handlers, microtasks, timers and animation frames, with what
//! they call; style, layout and paint are what the browser does by itself afterwards. Waiting for
//! the next frame is none of these.

use anyhow::{Context, Result, ensure};
use fantoccini::key::Key;
use serde_json::Value;

use crate::page::Page;

/// Script may take this long at the 95th percentile, in ms.
const BUDGET: f64 = 8.0;
const STEPS: u32 = 200;

/// What the browser's work is called in a trace, and here.
const KINDS: [(&str, &[&str]); 5] = [
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
    ("of it: garbage", &["MinorGC", "MajorGC"]),
    ("style", &["UpdateLayoutTree"]),
    ("layout", &["Layout"]),
    ("paint", &["PrePaint", "Paint", "Layerize", "Commit"]),
];

/// Drags the slider `id` by 200 steps of one pixel and prints what a step costs.
pub(crate) async fn drag(page: &Page<'_>, path: &str, id: &str) -> Result<()> {
    page.open(path).await?;
    page.keys(id, &[Key::Home]).await?;
    page.drag_slider(id, f64::from(STEPS), STEPS).await?;
    let events = page.trace().await?;
    let trace = Trace::new(&events)?;
    println!(
        "{} steps of a drag of {id} (ms){:>19} {:>7} {:>7}",
        trace.starts.len() - 1,
        "p50",
        "p95",
        "max"
    );
    for (kind, names) in KINDS {
        trace.print(kind, |span| names.contains(&span.name.as_str()));
    }
    for name in trace.measures() {
        trace.print(&format!("measure {name}"), |span| {
            span.is_measure && span.name == name
        });
    }
    let [_, p95, _] = trace.quantiles(|span| KINDS[0].1.contains(&span.name.as_str()));
    let verdict = if p95 <= BUDGET { "within" } else { "OVER" };
    println!("script at p95: {p95:.2} ms, {verdict} the budget of {BUDGET} ms");
    Ok(())
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
    fn new(events: &[Value]) -> Result<Self> {
        let is = |event: &Value, kind: &str| {
            event["name"] == "EventDispatch" && event["args"]["data"]["type"] == *kind
        };
        let ms = |event: &Value, key: &str| event[key].as_f64().unwrap_or_default() / 1000.0;
        let pressed = events.iter().find(|event| is(event, "pointerdown"));
        let pressed = pressed.context("the drag did not press the pointer")?;
        let (pid, tid, from) = (&pressed["pid"], &pressed["tid"], ms(pressed, "ts"));
        let mut starts = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        for event in events {
            let (name, start) = (event["name"].as_str().unwrap_or_default(), ms(event, "ts"));
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
                Some("X") => spans.push(span(start + ms(event, "dur"))),
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
            STEPS as usize / 2 < starts.len(),
            "{STEPS} moves caused {} input events: is the slider wide enough?",
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
