//! The controls: each is bound to one row of the field table.

pub(crate) mod model;
pub(crate) mod number;
pub(crate) mod select;
pub(crate) mod sentence;

use crate::core::scenario::FIELDS;
use crate::view::fields;

use super::el::{El, el, list};
use super::rooms;
use super::state::state;

/// The groups of the panel: the fields that are always there, and those behind "more".
const GROUPS: &[(&str, &[&str], &[&str])] = &[
    (
        "request",
        &[
            "prompt_tokens",
            "thinking_tokens",
            "answer_tokens",
            "num_seqs",
        ],
        &["num_samples", "shared_prefix_tokens"],
    ),
    (
        "model",
        &["model", "kv_cache_dtype", "weight_format"],
        &["state_dtype"],
    ),
    (
        "hardware",
        &["gpu", "tensor_parallel_size", "gpu_memory_utilization"],
        &[
            "pipeline_parallel_size",
            "data_parallel_size",
            "activation_bytes",
            "overhead_bytes",
        ],
    ),
    ("engine", &["engine"], ENGINE_FIELDS),
];

/// Fields of every engine; its own come before them.
const ENGINE_FIELDS: &[&str] = &[
    "num_speculative_tokens",
    "draft_layers",
    "available_kv_cache_bytes",
    "num_blocks",
    "num_tokens",
];

/// All controls, in their groups.
pub(crate) fn controls() -> El {
    let groups = GROUPS
        .iter()
        .map(|(group, first, more)| controls_group(group, first, more));
    el("form")
        .class("controls")
        .on("submit", |event| event.prevent_default())
        .children(groups)
}

fn controls_group(
    group: &'static str,
    first: &'static [&'static str],
    more: &'static [&'static str],
) -> El {
    let state = state();
    let shown = move |keys: Vec<&'static str>| {
        let options = state.options();
        keys.into_iter()
            .filter(|key| options.has_control(key))
            .collect::<Vec<_>>()
    };
    // The share of the memory is the one that the engine goes by.
    let share = move || state.scenario().engine.kind.memory_share();
    let first = move || {
        let own = |key: &&'static str| match *key {
            "gpu_memory_utilization" => share(),
            key => key,
        };
        shown(first.iter().map(own).collect())
    };
    let more = move || {
        if group != "engine" {
            return shown(more.to_vec());
        }
        let scenario = state.scenario();
        let own = FIELDS
            .iter()
            .filter(|field| field.engine.is_some() && field.is_active(&scenario))
            .map(|field| field.key)
            .filter(|key| *key != share());
        shown(own.chain(more.iter().copied()).collect())
    };
    let has_more = move || !more().is_empty();
    el("fieldset")
        .flag_with("hidden", move || first().is_empty() && !has_more())
        .child(el("legend").text(fields::group_label(state.text, group)))
        .children((group == "request").then(|| rooms::panel("lengths")))
        .child(list(first, |key| row(key).view()))
        .child(
            el("details")
                .class("more")
                .flag_with("hidden", move || !has_more())
                .child(el("summary").text(&state.text.page.more))
                .child(list(more, |key| row(key).view())),
        )
}

/// The control of one field.
pub(crate) fn row(key: &'static str) -> El {
    match fields::widget(key) {
        fields::Widget::Model => model::model_controls(),
        fields::Widget::Select => select::select_row(key),
        fields::Widget::Flag => select::flag_row(key),
        fields::Widget::Number => number::number_row(key),
        fields::Widget::Text => number::text_row(key),
    }
}
