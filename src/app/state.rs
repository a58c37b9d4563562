//! The state of one mounted page: one scenario that is written in one place, and what follows from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cell::{Cell, Derived};
use leptos::prelude::*;

use crate::core::link;
use crate::core::report::{Report, report};
use crate::core::scenario::{FieldError, ModelChoice, ParallelSize, Scenario, field};
#[cfg(feature = "doors")]
use crate::core::settings::{self, SettingError, Settings};
use crate::view::chart::{ChartModel, Input};
use crate::view::charts::Chart;
use crate::view::sentence;
use crate::view::text::{self, Messages};

use super::options::{PageOptions, not_pinned};

/// A scenario pinned for comparison, with its name.
pub(crate) type Pin = (String, Scenario);

/// Everything a component can reach.
#[derive(Clone, Copy)]
pub(crate) struct State {
    /// What the reader chose.
    scenario: Cell<Arc<Scenario>>,
    /// The decode step that the page shows; `None`: the end.
    pub(crate) step: Cell<Option<u64>>,
    /// Values of a link, a file or a message that could not be read.
    pub(crate) errors: Cell<Vec<FieldError>>,
    /// How the page is shown.
    options: Cell<Arc<PageOptions>>,
    /// How many models were asked for, so that only the newest answer counts.
    pub(crate) asked: Cell<u32>,
    /// Whether the module that reads models is on its way.
    pub(crate) is_reading: Cell<bool>,
    /// The dialog that is open; empty: none.
    pub(crate) dialog: Cell<&'static str>,
    /// What of it was asked for.
    pub(crate) detail: Cell<String>,
    /// The panels of the other module, once they are there.
    #[cfg(feature = "page")]
    pub(crate) panels: super::rooms::Slot,
    /// Where its dialogs stand.
    #[cfg(feature = "page")]
    pub(crate) dialogs: super::rooms::Root,
    /// What was read from files, until the reader dismisses it.
    #[cfg(feature = "doors")]
    pub(crate) files: Cell<Option<Arc<crate::core::import::files::FilesRead>>>,
    /// Scenarios to compare with.
    pinned: Derived<Arc<Vec<Scenario>>>,
    /// The report of the scenario at its end.
    report: Derived<Arc<Report>>,
    /// The report at the shown step.
    now: Derived<Arc<Report>>,
    /// Words.
    pub(crate) text: &'static Messages,
    /// What the ids of this mount begin with, so that several on one page do not collide.
    pub(crate) id_prefix: &'static str,
}

impl State {
    /// The state that a fragment describes.
    pub(crate) fn from_fragment(fragment: &str, base: PageOptions) -> Self {
        let (scenario, options, errors) = read_fragment(fragment, base);
        let scenario = Cell::whole(Arc::new(scenario));
        let step = Cell::new(None::<u64>);
        let full = Derived::whole(move || Arc::new(report(&scenario.get())));
        let now = Derived::whole(move || match step.get() {
            None => full.get(),
            Some(step) => {
                // On the GPUs of the whole request, also where fewer would do for so much of it.
                let size = ParallelSize::Fixed(full.get().hardware.tensor_parallel_size);
                let at_step = scenario.get().at_step(step);
                Arc::new(report(&Scenario {
                    tensor_parallel_size: size,
                    ..at_step
                }))
            }
        });
        let options = Cell::new(Arc::new(options));
        let fragments = Derived::new(move || options.get().pins.clone());
        let pinned = Derived::whole(move || {
            let scenario = |fragment: &String| link::from_fragment(fragment, &[]).scenario;
            Arc::new(fragments.get().iter().map(scenario).collect::<Vec<_>>())
        });
        Self {
            scenario,
            step,
            errors: Cell::whole(errors),
            options,
            asked: Cell::new(0),
            is_reading: Cell::new(false),
            dialog: Cell::new(""),
            detail: Cell::new(String::new()),
            #[cfg(feature = "page")]
            panels: StoredValue::new_local(None),
            #[cfg(feature = "page")]
            dialogs: StoredValue::new_local(None),
            #[cfg(feature = "doors")]
            files: Cell::whole(None),
            pinned,
            report: full,
            now,
            text: &text::ENGLISH,
            id_prefix: next_id_prefix(),
        }
    }

    /// Shows what another fragment describes: with the page's options of it, or, without `base`, its scenario alone.
    pub(crate) fn show(&self, fragment: &str, base: Option<PageOptions>) {
        let keeps_options = base.is_none();
        let (scenario, options, errors) = read_fragment(fragment, base.unwrap_or_default());
        if !keeps_options {
            self.options.set(Arc::new(options));
        }
        self.errors.set(errors);
        self.replace(scenario);
    }

    /// Shows this model, its weights as they were chosen.
    pub(crate) fn take_model(&self, model: ModelChoice) {
        self.replace(Scenario {
            model,
            ..Scenario::clone(&self.scenario.peek())
        });
    }

    /// The fragment of the page as it is.
    pub(crate) fn fragment(&self) -> String {
        let mut res = link::to_fragment(&self.scenario());
        self.options().push_pairs(&mut res);
        res
    }

    /// What the reader chose. Handed out as a whole, here and below: each closure that reads inside a signal is compiled
    /// with its own copy of how to get there.
    pub(crate) fn scenario(&self) -> Arc<Scenario> {
        self.scenario.get()
    }

    /// The report of the scenario at its end.
    pub(crate) fn report(&self) -> Arc<Report> {
        self.report.get()
    }

    /// The report at the shown step.
    pub(crate) fn now(&self) -> Arc<Report> {
        self.now.get()
    }

    /// How the page is shown.
    pub(crate) fn options(&self) -> Arc<PageOptions> {
        self.options.get()
    }

    /// Keeps the scenario for comparison.
    pub(crate) fn pin(&self) {
        let pin = link::to_fragment(&self.scenario.peek());
        let mut options = PageOptions::clone(&self.options.peek());
        options.pins.retain(|known| *known != pin);
        options.pins.push(pin);
        self.options.set(Arc::new(options));
    }

    /// Lets a kept scenario go.
    pub(crate) fn unpin(&self, idx: usize) {
        let mut options = PageOptions::clone(&self.options.peek());
        if idx < options.pins.len() {
            options.pins.remove(idx);
            self.options.set(Arc::new(options));
        }
    }

    /// What is kept for comparison.
    pub(crate) fn pins(&self) -> Vec<Pin> {
        let pinned = self.pinned.get();
        if pinned.is_empty() {
            return Vec::new();
        }
        let names = sentence::pin_names(&self.scenario(), &pinned, self.text);
        names.into_iter().zip(pinned.iter().cloned()).collect()
    }

    /// The model of a figure.
    pub(crate) fn chart(&self, chart: &Chart) -> ChartModel {
        let (scenario, report, now) = (self.scenario(), self.report(), self.now());
        (chart.model)(&Input {
            scenario: &scenario,
            report: &report,
            now: &now,
            step: self.step.get().unwrap_or(scenario.decode_steps()),
            pinned: &self.pins(),
            messages: self.text,
        })
    }

    /// Shows the page in the next colour scheme.
    pub(crate) fn next_theme(&self) {
        let mut options = PageOptions::clone(&self.options.peek());
        options.theme = options.theme.next();
        self.options.set(Arc::new(options));
    }

    /// Replaces the settings of panels, which the page keeps and writes into links.
    #[cfg(feature = "doors")]
    pub(crate) fn set_settings(&self, settings: &Settings) {
        let mut options = PageOptions::clone(&self.options.peek());
        options.panel_pairs.retain(|(key, _)| !key.contains('.'));
        options.panel_pairs.extend(settings::to_pairs(settings));
        self.options.set(Arc::new(options));
    }

    /// The settings of panels, and what of them could not be read.
    #[cfg(feature = "doors")]
    pub(crate) fn settings(&self) -> (Settings, Vec<SettingError>) {
        let options = self.options();
        let pairs: Vec<(String, String)> = options
            .panel_pairs
            .iter()
            .filter(|(key, _)| key.contains('.'))
            .cloned()
            .collect();
        settings::from_pairs(&pairs)
    }

    /// Shows the page in another language.
    #[cfg(feature = "doors")]
    pub(crate) fn set_lang(&self, lang: &'static str) {
        let mut options = PageOptions::clone(&self.options.peek());
        options.lang = lang;
        self.options.set(Arc::new(options));
    }

    /// The value of a field, as links write it.
    pub(crate) fn value(&self, key: &str) -> String {
        field(key)
            .map(|field| (field.get)(&self.scenario()))
            .unwrap_or_default()
    }

    /// An id within this mount.
    pub(crate) fn id(&self, name: &str) -> String {
        format!("{}-{name}", self.id_prefix)
    }

    /// Sets a field from text. The scenario is the same on an error.
    pub(crate) fn set(&self, key: &'static str, text: &str) -> Result<(), FieldError> {
        let before = self.scenario.peek();
        let mut changed = Scenario::clone(&before);
        changed.set(key, text)?;
        // What a link said of it is mended.
        let errors = self.errors.peek();
        if errors.iter().any(|error| error.key == key) {
            let others = errors.into_iter().filter(|error| error.key != key);
            self.errors.set(others.collect());
        }
        // Many steps of a drag are none.
        if field(key).is_none_or(|field| (field.get)(&before) != (field.get)(&changed)) {
            self.replace(changed);
        } else {
            self.step.set(None);
        }
        Ok(())
    }

    /// Shows another scenario, at its end.
    pub(crate) fn replace(&self, scenario: Scenario) {
        self.step.set(None);
        self.scenario.set(Arc::new(scenario));
    }
}

impl State {
    /// Shows a preset, with its weights stored as its makers ship them.
    pub(crate) fn choose_model(&self, id: &str) {
        let mut changed = Scenario::clone(&self.scenario.peek());
        if changed.set("model", id).is_ok() {
            self.asked.set(self.asked.peek() + 1);
            self.replace(with_stored_weights(changed));
        }
    }
}

/// The scenario with the weight format that the model's file names, or bf16 when it names none.
fn with_stored_weights(mut scenario: Scenario) -> Scenario {
    let stored = scenario
        .model
        .config
        .stored
        .as_ref()
        .map_or("bf16", |stored| stored.format.id);
    // A format that no menu has, which no importer gives, would leave the one before.
    let _taken = scenario.set("weight_format", stored);
    scenario
}

/// The id prefix of the next mount. Prefixes are few and short, and live as long as the page.
fn next_id_prefix() -> &'static str {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // The two modules count apart.
    let module = if cfg!(feature = "page") { "kv" } else { "kvp" };
    Box::leak(format!("{module}{count}").into_boxed_str())
}

fn read_fragment(fragment: &str, base: PageOptions) -> (Scenario, PageOptions, Vec<FieldError>) {
    let link = link::from_fragment(fragment, PageOptions::KEYS);
    let mut errors = link.errors;
    let mut options = base.with_pairs(&link.other, &mut errors);
    // What cannot be read must not be compared with as the default.
    options.pins.retain(|pin| {
        let unread = link::from_fragment(pin, &[]).errors;
        let is_read = unread.is_empty() && !pin.is_empty();
        if !is_read {
            errors.push(not_pinned(pin));
        }
        errors.extend(unread);
        is_read
    });
    (link.scenario, options, errors)
}

/// The state of the page that this component is in.
pub(crate) fn state() -> State {
    expect_context::<State>()
}
