//! Many requests: two runs of the simulator side by side, in slices between which the page draws and takes events.

use std::collections::VecDeque;
use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use web_sys::{DragEvent, Event, File, HtmlInputElement};

use super::controls::Controls;
use super::figure::figure;
use super::near;
use super::section::{Subject, document, section};
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, button, el};
use crate::app::state::{State, state};
use crate::core::gpus;
use crate::core::serve::arrivals::Arrivals;
use crate::core::serve::metrics::ServeReport;
use crate::core::serve::study::{ArrivalKind, LengthKind, PolicyChoice, Run, Versus};
use crate::core::serve::trace::{self, Trace, TraceRow, Unit};
use crate::core::serve::{Progress, ServeError, Simulation};
use crate::core::settings::{MAX_TRACE_LINK, Settings, get};
use crate::view::charts;
use crate::view::fleet::figures;
use crate::view::fleet::runs::{self as said, NamedRun};
use crate::view::text::fill;

/// Milliseconds of work between two looks at the page.
const SLICE_MILLIS: f64 = 12.0;
/// Looks at a request between two looks at the clock: about a millisecond.
const WORK: u64 = 10_000;

/// What the runs told.
#[derive(Clone, Default)]
struct Shown {
    names: Vec<String>,
    reports: Vec<Arc<ServeReport>>,
    /// Why there is nothing.
    error: String,
    is_cancelled: bool,
    is_stopped: bool,
    progress: Option<Progress>,
}

/// Runs on their way.
struct Job {
    names: Vec<String>,
    waiting: VecDeque<Simulation>,
    running: Option<Simulation>,
    done: Vec<Arc<ServeReport>>,
    is_stopped: bool,
    /// Requests of all runs.
    total: u64,
    /// Requests of the runs before.
    before: u64,
}

impl Job {
    fn new(runs: &[Run], names: Vec<String>) -> Result<Self, ServeError> {
        let waiting: VecDeque<Simulation> =
            runs.iter().map(Run::start).collect::<Result<_, _>>()?;
        Ok(Self {
            names,
            total: waiting.iter().map(|run| run.progress().total).sum(),
            waiting,
            running: None,
            done: Vec::new(),
            is_stopped: false,
            before: 0,
        })
    }

    /// Works for a slice of time.
    fn advance(&mut self) {
        let end = browser_clock() + SLICE_MILLIS;
        while browser_clock() < end {
            let Some(mut simulation) = self.running.take().or_else(|| self.waiting.pop_front())
            else {
                return;
            };
            if simulation.advance(WORK).is_over {
                self.finish(&simulation);
            } else {
                self.running = Some(simulation);
            }
        }
    }

    fn finish(&mut self, simulation: &Simulation) {
        self.is_stopped |= simulation.is_stopped();
        self.before += simulation.progress().done;
        self.done.push(Arc::new(simulation.report()));
    }

    fn is_over(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    fn progress(&self) -> Progress {
        let now = self.running.as_ref().map(Simulation::progress);
        Progress {
            done: self.before + now.map_or(0, |now| now.done),
            total: self.total,
            steps: now.map_or(0, |now| now.steps),
            is_over: self.is_over(),
        }
    }

    /// What there is to show, also of a run that is under way.
    fn shown(&self, is_cancelled: bool) -> Shown {
        let now = self.running.iter().map(|run| Arc::new(run.report()));
        Shown {
            names: self.names.clone(),
            reports: self.done.iter().cloned().chain(now).collect(),
            error: String::new(),
            is_cancelled,
            is_stopped: self.is_stopped,
            progress: Some(self.progress()),
        }
    }
}

fn browser_clock() -> f64 {
    near::now_millis()
}

/// The simulator of one section.
#[derive(Clone, Copy)]
struct Simulator {
    state: State,
    job: StoredValue<Option<Job>, LocalStorage>,
    /// How far the job is; `None`: there is none.
    progress: Cell<Option<Progress>>,
    shown: Cell<Shown>,
    /// A trace that is too long for a link.
    trace: Cell<Arc<Vec<TraceRow>>>,
}

impl PartialEq for Shown {
    fn eq(&self, other: &Self) -> bool {
        self.reports.len() == other.reports.len()
            && self
                .reports
                .iter()
                .zip(&other.reports)
                .all(|(a, b)| Arc::ptr_eq(a, b))
            && (self.is_cancelled, &self.error) == (other.is_cancelled, &other.error)
    }
}

impl Simulator {
    fn settings(self, settings: &Settings) -> Settings {
        let mut res = settings.clone();
        if res.study.trace.is_empty() {
            res.study.trace = self.trace.get();
        }
        res
    }

    /// Begins anew.
    fn start(self, subject: &Subject) {
        let settings = self.settings(&subject.settings);
        let runs = settings.study.runs(&subject.scenario, &settings.constants);
        let names = runs.iter().map(|run| said::name(run, self.state.text));
        match Job::new(&runs, names.collect()) {
            Ok(job) => {
                let was_idle = self.progress.peek().is_none();
                self.progress.set(Some(job.progress()));
                self.job.set_value(Some(job));
                if was_idle {
                    near::soon(move || self.go_on());
                }
            }
            Err(error) => {
                self.job.set_value(None);
                self.progress.set(None);
                self.shown.set(Shown {
                    error: said::error(&error, self.state.text),
                    ..Shown::default()
                });
            }
        }
    }

    /// Works a little, and comes back.
    fn go_on(self) {
        // The page may have been removed, or the job cancelled, meanwhile.
        let is_over = self.job.try_update_value(|job| {
            let job = job.as_mut()?;
            job.advance();
            Some(job.is_over())
        });
        let Some(Some(is_over)) = is_over else { return };
        if is_over {
            self.end(false);
        } else {
            let progress = self.job.with_value(|job| job.as_ref().map(Job::progress));
            self.progress.set(progress);
            near::soon(move || self.go_on());
        }
    }

    /// Shows what there is and forgets the job.
    fn end(self, is_cancelled: bool) {
        let shown = self
            .job
            .with_value(|job| job.as_ref().map(|job| job.shown(is_cancelled)));
        self.job.set_value(None);
        self.progress.set(None);
        if let Some(shown) = shown {
            self.shown.set(shown);
        }
    }
}

/// Many requests.
pub(super) fn serve() -> El {
    let text = &state().text.fleet;
    section("serve", &text.serve_title, &text.serve_help, content)
}

fn content(subject: Cell<Subject>) -> El {
    let state = state();
    let text = &state.text.fleet;
    let simulator = Simulator {
        state,
        job: StoredValue::new_local(None),
        progress: Cell::new(None),
        shown: Cell::new(Shown::default()),
        trace: Cell::new(Arc::new(Vec::new())),
    };
    Effect::new(move |_| {
        let subject = subject.get();
        simulator.trace.get();
        untrack(|| simulator.start(&subject));
    });
    let shown = simulator.shown;
    fn named(shown: &Shown) -> Vec<NamedRun<'_>> {
        let runs = shown.names.iter().zip(&shown.reports);
        runs.map(|(name, report)| NamedRun {
            name: name.clone(),
            report,
        })
        .collect()
    }
    let model = move || charts::pool::model(&named(&shown.get()), state.text);
    let metrics = move || said::metrics_table(&named(&shown.get()), state.text);
    let save = move || {
        browser::download("kvscope-serve.csv", "text/csv", &untrack(metrics).csv());
    };
    let status = move || {
        let shown = shown.get();
        if let Some(progress) = simulator.progress.get() {
            return said::progress(progress, false, state.text);
        }
        match shown.progress.filter(|_| shown.is_cancelled) {
            Some(progress) => said::progress(progress, true, state.text),
            None if shown.is_stopped => text.serve_stopped.to_string(),
            None => shown.error,
        }
    };
    let is_running = move || simulator.progress.get().is_some();
    let part = move |of: fn(Progress) -> u64| {
        move || simulator.progress.get().map_or(1, of).max(1).to_string()
    };
    let run = button(&text.serve_run, move || simulator.start(&subject.peek()))
        .testid("serve-run")
        .flag_with("disabled", is_running);
    let cancel = button(&text.serve_cancel, move || simulator.end(true))
        .testid("serve-cancel")
        .flag_with("disabled", move || !is_running());
    let bar = el("progress")
        .attr_with("max", part(|progress| progress.total))
        .attr_with("value", part(|progress| progress.done))
        .attr("aria-label", &*text.serve_title)
        .style_with("visibility", move || {
            if is_running() { "visible" } else { "hidden" }.to_owned()
        });
    let table = el("div")
        .class("scroll")
        .testid("serve-metrics")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", &*text.serve_title)
        .html_with(move || metrics().html(&text.serve_title));
    let more = el("div").child(table).child(
        el("p")
            .class("downloads")
            .child(button(&state.text.panels.download_csv, save)),
    );
    el("div")
        .child(document("serving.html", &text.serve_document))
        .child(
            el("div")
                .class("beside")
                .child(controls(subject, simulator))
                .child(
                    el("div")
                        .child(
                            el("div")
                                .class("run-row")
                                .child(run)
                                .child(cancel)
                                .child(bar),
                        )
                        .child(
                            el("p")
                                .class("status")
                                .testid("serve-status")
                                .attr("role", "status")
                                .text_with(status),
                        )
                        .child(figure(charts::pool::ID, model, more)),
                ),
        )
}

/// The requests and the scheduler.
fn controls(subject: Cell<Subject>, simulator: Simulator) -> El {
    let state = state();
    let text = &state.text.fleet;
    let numbers = state.text.numbers();
    let controls = Controls::new();
    let plain = |lines: Vec<(String, String)>, name: &str| vec![(name.to_owned(), lines)];
    let line = |id: &str, name: &str| (id.to_owned(), name.to_owned());
    let arrivals = ArrivalKind::ALL.map(|kind| {
        line(
            kind.id(),
            text.setting(&format!("serve.arrivals_{}", kind.id())),
        )
    });
    let lengths = LengthKind::ALL.map(|kind| {
        line(
            kind.id(),
            text.setting(&format!("serve.lengths_{}", kind.id())),
        )
    });
    let policies = || PolicyChoice::ALL.into_iter();
    let policy_name = |policy| said::policy_name(policy, state.text);
    let versus = |versus: Versus, name: &str| (versus.text(), name.to_owned());
    let factor = |factor: u64| {
        let name = fill(
            &text.serve_versus_thinking,
            &[("n", &numbers.integer(factor))],
        );
        versus(Versus::Thinking(factor), &name)
    };
    let groups = vec![
        (
            text.setting("serve.versus").to_owned(),
            [versus(Versus::Nothing, &text.serve_versus_none)]
                .into_iter()
                .chain([2, 4, 8].map(factor))
                .collect(),
        ),
        (
            text.serve_versus_policies.to_string(),
            policies()
                .skip(1)
                .map(|policy| versus(Versus::Policy(policy), policy_name(policy)))
                .collect(),
        ),
        (
            text.serve_versus_gpus.to_string(),
            gpus::all()
                .iter()
                .map(|gpu| versus(Versus::Gpu(gpu), gpu.name))
                .collect(),
        ),
    ];
    let auto = move || text.auto.to_string();
    // What is chosen for the reader is said.
    let load = Derived::new(move || {
        let subject = subject.get();
        let settings = simulator.settings(&subject.settings);
        let runs = settings.study.runs(&subject.scenario, &settings.constants);
        let workload = runs.first().map(|run| &run.workload);
        let (clients, rate) = match workload.map(|workload| workload.arrivals) {
            Some(Arrivals::ClosedLoop { clients }) => (clients.to_string(), String::new()),
            Some(Arrivals::Poisson {
                requests_per_second,
            }) => (
                String::new(),
                figures(requests_per_second, state.text.numbers()),
            ),
            Some(Arrivals::Trace) | None => (String::new(), String::new()),
        };
        let requests = workload.map_or(String::new(), |workload| workload.num_requests.to_string());
        [requests, clients, rate]
    });
    let chosen = move |idx: usize| {
        move || {
            let n = load.get().into_iter().nth(idx).filter(|n| !n.is_empty());
            n.unwrap_or_else(|| text.auto.to_string())
        }
    };
    let is = move |arrivals: ArrivalKind| move || controls.settings().study.arrivals == arrivals;
    let only = |row: El, is_shown: Box<dyn Fn() -> bool + Send>| {
        el("div")
            .flag_with("hidden", move || !is_shown())
            .child(row)
    };
    let spreads = ["serve.prompt_p95", "serve.thinking_p95", "serve.answer_p95"];
    let is_spread = move || controls.settings().study.lengths == LengthKind::LogNormal;
    let rest = [
        "serve.max_num_seqs",
        "serve.max_num_batched_tokens",
        "serve.max_output_tokens",
    ];
    el("div")
        .class("settings")
        .child(controls.menu("serve.versus", groups))
        .child(
            controls.menu(
                "serve.policy",
                plain(
                    policies()
                        .map(|policy| line(policy.id(), policy_name(policy)))
                        .collect(),
                    text.setting("serve.policy"),
                ),
            ),
        )
        .child(controls.menu(
            "serve.arrivals",
            plain(arrivals.to_vec(), text.setting("serve.arrivals")),
        ))
        .child(only(
            controls.number("serve.clients", chosen(1)),
            Box::new(is(ArrivalKind::Closed)),
        ))
        .child(only(
            controls.number("serve.rate", chosen(2)),
            Box::new(is(ArrivalKind::Poisson)),
        ))
        .child(controls.number("serve.requests", chosen(0)))
        .child(controls.menu(
            "serve.lengths",
            plain(lengths.to_vec(), text.setting("serve.lengths")),
        ))
        .children(spreads.map(|key| only(controls.number(key, auto), Box::new(is_spread))))
        .child(
            el("details")
                .class("more")
                .child(el("summary").text(&text.serve_more))
                .children(rest.map(|key| controls.number(key, auto)))
                .child(controls.number("serve.seed", String::new))
                .child(trace_row(controls, simulator)),
        )
}

/// A trace, pasted, dropped or picked.
fn trace_row(controls: Controls, simulator: Simulator) -> El {
    let state = state();
    let text = &state.text.fleet;
    let note = Cell::new(String::new());
    // How the trace was read, while its unit may be another one.
    let open = Cell::new(None::<Arc<Trace>>);
    let show = move |trace: Trace| {
        let mut said = said::trace(&trace, state.text);
        let rows = Arc::new(trace.rows.clone());
        simulator.trace.set(rows.clone());
        controls.change(|settings| {
            settings.study.trace = rows;
            settings.study.arrivals = ArrivalKind::Trace;
            settings.study.lengths = LengthKind::Trace;
            let in_link = get("serve.trace").map_or(0, |trace| trace.text(settings).len());
            if MAX_TRACE_LINK < in_link {
                said = format!("{said} {}", text.serve_trace_too_long);
            }
        });
        note.set(said);
        open.set(trace.is_unit_open().then(|| Arc::new(trace)));
    };
    let take = move |content: String| match trace::read(&content) {
        Ok(trace) => show(trace),
        Err(error) => {
            let mut said = said::error(&error, state.text);
            if !simulator.trace.peek().is_empty() {
                said = format!("{said}. {}", text.serve_trace_kept);
            }
            note.set(said);
            open.set(None);
        }
    };
    let read_as = move |event: Event| {
        let unit = Unit::ALL
            .into_iter()
            .find(|unit| unit.id() == event_target_value(&event));
        if let (Some(unit), Some(trace)) = (unit, open.peek()) {
            show(trace.read_as(unit));
        }
    };
    let units = Unit::ALL.map(|unit| {
        let name = said::unit_name(unit, state.text);
        el("option").attr("value", unit.id()).text(name)
    });
    let unit_id = state.id("serve-trace-unit");
    let unit_row = el("div")
        .class("row wide")
        .flag_with("hidden", move || open.get().is_none())
        .child(
            el("label")
                .attr("for", unit_id.clone())
                .text(&text.serve_trace_read_as),
        )
        .child(
            el("select")
                .attr("id", unit_id)
                .testid("serve-trace-unit")
                .on("change", read_as)
                .children(units)
                .value_with(move || open.get().map_or("", |trace| trace.unit.id()).to_owned()),
        );
    let read = move |file: Option<File>| {
        let Some(file) = file else { return };
        spawn_local(async move {
            match near::read_text(file).await {
                Ok(content) => take(content),
                Err(_) => note.set(text.serve_unreadable.to_string()),
            }
        });
    };
    let clear = move || {
        note.set(String::new());
        open.set(None);
        simulator.trace.set(Arc::new(Vec::new()));
        controls.change(|settings| {
            let study = &mut settings.study;
            study.trace = Arc::new(Vec::new());
            study.arrivals = ArrivalKind::Closed;
            study.lengths = LengthKind::Fixed;
        });
    };
    let pick = el("span").class("button").text(&text.serve_pick).child(
        el("input")
            .attr("type", "file")
            .attr("aria-label", &*text.serve_trace)
            .on("change", move |event: Event| {
                let input = event.target().and_then(|target| target.dyn_into().ok());
                let files = input.and_then(|input: HtmlInputElement| input.files());
                read(files.and_then(|files| files.get(0)));
            }),
    );
    el("div")
        .class("trace")
        .child(el("p").child(el("b").text(&text.serve_trace)))
        .child(el("p").class("dim").text(&text.serve_trace_help))
        .child(
            el("textarea")
                .attr("rows", "3")
                .attr("aria-label", &*text.serve_trace)
                .testid("serve-trace")
                .on("change", move |event| {
                    let content = event_target_value(&event);
                    if content.trim().is_empty() {
                        clear();
                    } else {
                        take(content);
                    }
                })
                .on_cast("drop", move |event: DragEvent| {
                    event.prevent_default();
                    event.stop_propagation();
                    let files = event.data_transfer().and_then(|data| data.files());
                    read(files.and_then(|files| files.get(0)));
                }),
        )
        .child(
            el("p")
                .child(pick)
                .child(button(&text.serve_trace_clear, clear)),
        )
        .child(
            el("p")
                .class("message")
                .testid("serve-trace-note")
                .attr("role", "status")
                .text_with(move || note.get()),
        )
        .child(unit_row)
}
