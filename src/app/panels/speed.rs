//! Speed and price: both figures, their constants and prices.

use std::sync::Arc;

use super::controls::Controls;
use super::figure::figure;
use super::section::{Subject, document, section};
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, el};
use crate::app::state::state;
use crate::core::outlook::outlook;
use crate::core::price;
use crate::core::speed::SpeedConstants;
use crate::view::charts;
use crate::view::fleet::{figures, setting};
use crate::view::text::fill;

/// Speed and price.
pub(super) fn speed() -> El {
    let text = &state().text.fleet;
    section("speed", &text.speed_title, &text.speed_help, content)
}

fn content(subject: Cell<Subject>) -> El {
    let state = state();
    let outlook = Derived::whole(move || {
        let subject = subject.get();
        Arc::new(outlook(&subject.scenario, &subject.settings))
    });
    let speed = move || {
        let subject = subject.get();
        charts::speed::model(
            &subject.scenario,
            &subject.report,
            &outlook.get(),
            state.text,
        )
    };
    let price = move || {
        let subject = subject.get();
        let prices = &subject.settings.prices;
        charts::price::model(
            &subject.scenario,
            &subject.report,
            &outlook.get(),
            prices,
            state.text,
        )
    };
    let times = move || {
        let title = &state.text.fleet.speed_chart_title;
        charts::speed::table(&outlook.get(), state.text).html(title)
    };
    let no_more = || el("div");
    el("div")
        .class("pair")
        .child(
            el("div")
                .child(figure(charts::speed::ID, speed, no_more()))
                .child(
                    el("div")
                        .class("scroll")
                        .attr("tabindex", "0")
                        .attr("role", "group")
                        .attr("aria-label", &*state.text.fleet.speed_chart_title)
                        .html_with(times),
                )
                .child(document("measured.html", &state.text.fleet.speed_document))
                .child(constants()),
        )
        .child(
            el("div")
                .child(figure(charts::price::ID, price, no_more()))
                .child(prices(subject)),
        )
}

/// The constants of the estimate, each with its source.
fn constants() -> El {
    let state = state();
    let text = &state.text.fleet;
    let controls = Controls::new();
    let rows = SpeedConstants::TABLE.iter().filter_map(|constant| {
        let key = crate::core::settings::get(&format!("speed.{}", constant.name))?.key;
        let source = setting::constant_source(constant, state.text);
        let source = fill(&text.constants_source, &[("source", source)]);
        Some(
            el("div")
                .child(controls.number(key, String::new))
                .child(el("p").class("dim source").text(&source)),
        )
    });
    el("details")
        .class("data")
        .testid("constants")
        .child(el("summary").text(&text.constants_title))
        .child(el("p").class("dim").text(&text.constants_note))
        .child(el("div").class("settings").children(rows))
}

/// The prices, which can be typed over.
fn prices(subject: Cell<Subject>) -> El {
    let state = state();
    let controls = Controls::new();
    let mut groups: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for price in &price::all().api {
        let line = (price.id.to_owned(), price.name.to_owned());
        match groups.iter_mut().find(|(vendor, _)| vendor == price.vendor) {
            Some((_, lines)) => lines.push(line),
            None => groups.push((price.vendor.to_owned(), vec![line])),
        }
    }
    let listed = move |part: fn(&price::ApiPrice) -> f64| {
        move || figures(part(controls.settings().prices.api), state.text.numbers())
    };
    let rent = move || {
        let listed = price::rent(subject.get().scenario.gpu.id);
        listed
            .map(|rent| figures(rent.usd_per_gpu_hour, state.text.numbers()))
            .unwrap_or_default()
    };
    let api_source = move || charts::price::api_source(&controls.settings().prices, state.text);
    let rent_source = move || {
        let gpu = subject.get().scenario.gpu;
        charts::price::rent_source(gpu, &controls.settings().prices, state.text)
    };
    el("div")
        .class("settings")
        .child(controls.menu("price.api", groups))
        .child(el("p").class("dim source").text_with(api_source))
        .child(controls.number("price.input", listed(|price| price.input)))
        .child(controls.number("price.output", listed(|price| price.output)))
        .child(controls.number("price.rent", rent))
        .child(el("p").class("dim source").text_with(rent_source))
}
