//! The short course: sections that open, with the scenario's numbers in them, and scenarios to try.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::IntoAny;

use crate::core::scenario::Scenario;
use crate::view::concept::sources::Source;
use crate::view::concept::{self, Block, Notebook, Point, Section, Try, pages};
use crate::view::text::ConceptText;

use super::words::with_words;
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, ElRef, button, dynamic, el, list};
use crate::app::film::Film;
use crate::app::state::{State, state};

/// Milliseconds without a change after which the text follows: nobody reads while dragging.
const SETTLED_MILLIS: i32 = 150;

/// The course.
pub(crate) fn concept() -> El {
    let state = state();
    let text = with_words(state, "concept", ConceptText::from_json, move |text| {
        body(state, text).view()
    });
    el("section")
        .class("concept")
        .testid("concept")
        .attr("id", state.id("concept"))
        .attr("tabindex", "-1")
        .child(text)
}

fn body(state: State, text: Arc<ConceptText>) -> El {
    let timer = StoredValue::new(None::<i32>);
    let settled = Cell::new(untrack(|| state.scenario()));
    Effect::new(move |_| {
        let scenario = state.scenario();
        browser::debounce(timer, SETTLED_MILLIS, move || {
            // The page may be gone meanwhile.
            if settled.try_peek().is_some() {
                settled.set(scenario);
            }
        });
    });
    let words = text.clone();
    let sections = Derived::new(move || {
        let sections = concept::sections(&settled.get(), &words, state.text);
        Arc::new(sections.into_iter().map(Arc::new).collect::<Vec<_>>())
    });
    let ids = move || sections.get().iter().map(|section| section.id).collect();
    let sources_label = text.sources_label().to_owned();
    let section = move |id: &'static str| {
        let found = Derived::new(move || {
            let sections = sections.get();
            sections.iter().find(|section| section.id == id).cloned()
        });
        section(state, id, found, sources_label.clone()).view()
    };
    el("div")
        .child(el("h2").text(text.title()))
        .child(el("p").class("dim").text(text.intro()))
        .child(list(ids, section))
}

fn section(
    state: State,
    id: &'static str,
    section: Derived<Option<Arc<Section>>>,
    sources_label: String,
) -> El {
    let title = move || section.get().map(|section| section.title.clone());
    let is_open = Cell::new(false);
    let content = move || {
        let Some(section) = section.get().filter(|_| is_open.get()) else {
            return ().into_any();
        };
        let blocks = section.blocks.iter().map(|block| block_el(state, block));
        let sources = (!section.sources.is_empty()).then(|| {
            let links = section
                .sources
                .iter()
                .map(|source| el("li").child(link(source)));
            el("div")
                .class("dim")
                .child(el("span").text(&sources_label))
                .child(el("ul").children(links))
        });
        el("div").children(blocks).children(sources).view()
    };
    el("details")
        .testid(format!("concept-{id}"))
        .on("toggle", move |event| is_open.set(browser::is_open(&event)))
        .child(el("summary").child(el("h3").text_with(move || title().unwrap_or_default())))
        .child(dynamic(content))
}

fn block_el(state: State, block: &Block) -> El {
    match block {
        Block::Paragraph(text) => el("p").text(text),
        Block::List(points) => el("ul").children(points.iter().map(|point| point_el(state, point))),
        Block::Formula { label, line } => el("p")
            .class("line")
            .child(el("span").class("dim").text(label))
            .child(el("span").text(line)),
        Block::Table {
            caption,
            head,
            rows,
        } => table(caption, head, rows),
        Block::Notebook(notebook) => notebook_el(state, notebook),
        Block::Myth { claim, truth } => el("p")
            .class("myth")
            .child(el("q").text(claim))
            .child(el("span").text(truth)),
        Block::Hidden { question, answer } => el("details")
            .class("hidden-answer")
            .child(el("summary").text(question))
            .child(el("p").text(answer)),
        Block::Try(try_it) => el("p").child(try_button(state, try_it)),
        Block::Sources(sources) => {
            el("ul").children(sources.iter().map(|source| el("li").child(link(source))))
        }
    }
}

fn point_el(state: State, point: &Point) -> El {
    let try_it = point.try_it.iter().map(|try_it| try_button(state, try_it));
    el("li").text(&point.text).children(try_it)
}

/// A button that puts a scenario on the page; the browser's way back takes it away.
fn try_button(state: State, try_it: &Try) -> El {
    let pairs = try_it.pairs.clone();
    button(&try_it.label, move || {
        let mut scenario = Scenario::clone(&untrack(|| state.scenario()));
        for (key, value) in &pairs {
            // The course offers what the fields take; what one does not take stays as it was.
            let _taken = scenario.set(key, value);
        }
        state.replace(scenario);
    })
    .class("try")
}

fn link(source: &Source) -> El {
    el("a")
        .attr("href", source.url)
        .attr("target", "_blank")
        .attr("rel", "noopener")
        .text(source.title)
}

fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> El {
    let cells = |tag: &'static str, cells: &[String]| {
        el("tr").children(
            cells
                .iter()
                .map(|cell| el(tag).text(cell))
                .collect::<Vec<_>>(),
        )
    };
    let caption = (!caption.is_empty()).then(|| el("caption").text(caption));
    let label = head.join(", ");
    el("div")
        .class("scroll")
        .attr("tabindex", "0")
        .attr("role", "group")
        .attr("aria-label", label)
        .child(
            el("table")
                .children(caption)
                .child(el("thead").child(cells("th", head)))
                .child(el("tbody").children(rows.iter().map(|row| cells("td", row)))),
        )
}

/// The pages of a request, which fill: those of the prompt at once, then line by line.
fn notebook_el(state: State, notebook: &Notebook) -> El {
    let notebook = Arc::new(notebook.clone());
    let last = notebook.steps;
    let holder = ElRef::new();
    let width = Cell::new(0_u32);
    let step = Cell::new(0_u64);
    Effect::new(move |_| {
        if let Some(holder) = holder.get() {
            browser::observe_width(&holder, move |new| width.set(new as u32));
        }
    });
    let shown = notebook.clone();
    let frame = Derived::new(move || {
        let max_pages = pages::max_pages(width.get());
        Arc::new(shown.frame(step.get(), max_pages, state.text.numbers()))
    });
    let picture = {
        let notebook = notebook.clone();
        move || pages::svg(&frame.get(), &notebook, width.get())
    };
    let film = Film {
        ids: ["notebook-play", "notebook-step"],
        is_playing: Cell::new(false),
        last: Derived::new(move || last),
        at: move || step.get(),
        go: move |at| step.set(at),
        step_at: pages::step_at,
        seconds_at: pages::seconds_at,
    };
    let row = film.row(&state.text.page, notebook.caption.clone(), move || {
        frame.get().caption.clone()
    });
    el("figure")
        .class("notebook")
        .testid("notebook")
        .child(el("figcaption").text(&notebook.caption))
        .child(
            el("p")
                .class("dim before")
                .text_with(move || frame.get().before.clone()),
        )
        .child(el("div").reference(holder).html_with(picture))
        .child(row)
}
