//! A figure of a panel.

use super::data::data;
use crate::app::el::El;
use crate::app::figure::frame;
use crate::view::chart::ChartModel;

/// A figure below a section's title; `more` stands under its sentence.
pub(super) fn figure(
    id: &'static str,
    model: impl Fn() -> ChartModel + Copy + Send + Sync + 'static,
    more: El,
) -> El {
    frame(
        id,
        "h3",
        model,
        |picture, _| picture,
        more,
        move || data(id, model),
    )
}
