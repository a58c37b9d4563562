//! What one step of a slider drag costs, from the browser's own trace; and what many embeds on one page cost.
//!
//! The trace says when each input event began, and what the page's thread then did until the next
//! one. Script is all time in event handlers, microtasks, timers and animation frames, with what
//! they call; style, layout and paint are what the browser does by itself afterwards. Waiting for
//! the next frame is none of these.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::driver::Driver;
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

/// Twenty embeds may take this much more memory than one, in MiB.
const EMBEDS_BUDGET: f64 = 60.0;

/// Compares a page with twenty embeds to a page with one: memory, starts, downloads, and frames while it scrolls.
pub(crate) async fn embeds(driver: &Driver, base: &str) -> Result<()> {
    let mut memory = Vec::new();
    for count in [1, 20] {
        let page = Page::new(driver, base).await?;
        page.open(&format!("../pages/twenty.html#count={count}&ask"))
            .await?;
        for frame in 0..count {
            let frame = format!("document.querySelectorAll('iframe')[{frame}]");
            page.eval(&format!("{frame}.scrollIntoView()")).await?;
            page.until(&format!(
                "{frame}.contentDocument?.querySelector('figure svg')"
            ))
            .await?;
        }
        page.until(&format!("window.starts.length === {count}"))
            .await?;
        page.cdp("HeapProfiler.collectGarbage", json!({})).await?;
        memory.push(memory_of_children(driver.pid())?);
        if count == 20 {
            let wasm = "[...document.querySelectorAll('iframe')].flatMap((frame) =>
                frame.contentWindow.performance.getEntriesByType('resource'))
                .filter(({ name, transferSize }) => name.endsWith('.wasm') && 0 < transferSize)
                .map(({ transferSize }) => transferSize)";
            println!(
                "twenty embeds on one page: WebAssembly downloads (bytes) {}",
                page.eval(wasm).await?
            );
            let starts = page.eval("window.starts.sort((a, b) => a - b)").await?;
            print_times(
                "start of one, asked to shown",
                &serde_json::from_value::<Vec<f64>>(starts)?,
            );
            page.eval("scrollTo(0, 0)").await?;
            print_times(
                "frame to frame while scrolling by 8,000 px",
                &scrolled(&page).await?,
            );
        }
        page.close().await?;
    }
    let whats = [
        "of pages",
        "of the whole browser, what it draws with included",
    ];
    for (idx, what) in whats.into_iter().enumerate() {
        let [one, twenty] = [0, 1].map(|page: usize| memory[page][idx]);
        let more = twenty - one;
        let verdict = if more <= EMBEDS_BUDGET {
            "within"
        } else {
            "OVER"
        };
        println!(
            "memory {what}: {one:.0} MiB with one, {twenty:.0} MiB with twenty, {more:.1} MiB more, {verdict} the budget of {EMBEDS_BUDGET} MiB"
        );
    }
    Ok(())
}

/// The times between the frames that the page drew while it was scrolled as a wheel does it, in ms.
async fn scrolled(page: &Page<'_>) -> Result<Vec<f64>> {
    page.eval(
        "(() => {
            window.frameTimes = [];
            let before;
            const frame = (now) => {
                if (before !== undefined) window.frameTimes.push(now - before);
                before = now;
                requestAnimationFrame(frame);
            };
            requestAnimationFrame(frame);
        })()",
    )
    .await?;
    let gesture = json!({ "x": 900, "y": 400, "yDistance": -8000, "speed": 2000, "gestureSourceType": "mouse" });
    page.cdp("Input.synthesizeScrollGesture", gesture).await?;
    let at = page.eval("scrollY").await?;
    ensure!(
        at.as_f64() > Some(2000.0),
        "the page was scrolled to {at} only"
    );
    let times = page.eval("window.frameTimes.sort((a, b) => a - b)").await?;
    Ok(serde_json::from_value(times)?)
}

/// p50, p95 and the greatest of sorted times in ms.
fn print_times(what: &str, sorted: &[f64]) {
    let at = |percent: usize| {
        sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
    };
    let [p50, p95, max] = [50, 95, 100].map(|percent| at(percent).copied().unwrap_or_default());
    println!(
        "  {what:<44} {p50:>7.2} {p95:>7.2} {max:>7.2}  of {}",
        sorted.len()
    );
}

/// The memory of a process's children and theirs in MiB that is theirs alone: of those that hold pages, and of all. What
/// they share with others, such as code of libraries, depends on what else runs. Linux tells it in `/proc`.
fn memory_of_children(root: u32) -> Result<[f64; 2]> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").context("memory is measured on Linux only")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        // The name, in parentheses, may hold anything; the parent is the second field after it.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        parents.extend(parent.map(|parent: u32| (pid, parent)));
    }
    let mut family = vec![root];
    let mut idx = 0;
    while idx < family.len() {
        let children = parents.iter().filter(|(_, parent)| *parent == family[idx]);
        let children: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        family.extend(children);
        idx += 1;
    }
    let mut res = [0.0; 2];
    for pid in &family[1..] {
        let rollup =
            std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = rollup
            .lines()
            .find_map(|line| line.strip_prefix("Private_Dirty:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mib = kib.unwrap_or_default() / 1024.0;
        // The browser's own interface is drawn by such a process too.
        let holds_pages =
            command.contains("--type=renderer") && !command.contains("--top-chrome-webui");
        res[0] += if holds_pages { mib } else { 0.0 };
        res[1] += mib;
    }
    Ok(res)
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
