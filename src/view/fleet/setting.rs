//! Settings of panels: what a control shows, and what is wrong with a value.

use crate::core::scenario::Problem;
use crate::core::settings::{Kind, Setting, SettingError, SettingProblem};
use crate::core::speed::ConstantInfo;
use crate::core::units::Bounds;
use crate::view::slider;
use crate::view::text::{Messages, fill};

/// What is wrong with a value.
pub fn error(error: &SettingError, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let problem = match &error.problem {
        SettingProblem::Field(Problem::OutOfBounds(bounds)) => whole(*bounds, messages),
        SettingProblem::Field(Problem::NotANumber) => {
            let kind = crate::core::settings::get(&error.key).map(|setting| setting.kind);
            match kind {
                Some(Kind::Number(bounds) | Kind::Optional(bounds)) => whole(bounds, messages),
                Some(_) | None => text.setting_unknown.to_string(),
            }
        }
        SettingProblem::NotADecimal { min, max } => {
            let (min, max) = (min.to_string(), max.to_string());
            fill(&text.setting_decimal, &[("min", &min), ("max", &max)])
        }
        SettingProblem::Field(Problem::NotOneOf(choices)) => {
            let choices = numbers.list(choices.iter().copied());
            fill(&text.setting_choice, &[("choices", &choices)])
        }
        SettingProblem::Field(_) => text.setting_unknown.to_string(),
    };
    fill(
        &text.setting_error,
        &[("given", &error.given), ("problem", &problem)],
    )
}

fn whole(bounds: Bounds, messages: &Messages) -> String {
    let numbers = messages.numbers();
    fill(
        &messages.fleet.setting_number,
        &[
            ("min", &numbers.integer(bounds.min)),
            ("max", &numbers.integer(bounds.max)),
        ],
    )
}

/// Where a constant of the estimate is from.
pub fn constant_source<'a>(constant: &ConstantInfo, messages: &'a Messages) -> &'a str {
    let name = format!("speed_{}_source", constant.name);
    // The tests hold every constant to have its source among the words.
    messages.fleet.get(&name).unwrap_or(constant.source)
}

/// The bounds of a whole number.
pub fn bounds(setting: &Setting) -> Option<Bounds> {
    match setting.kind {
        Kind::Number(bounds) | Kind::Optional(bounds) => Some(bounds),
        Kind::Decimal(..) | Kind::OptionalDecimal(..) | Kind::Choice(_) | Kind::Text(_) => None,
    }
}

/// Where a text stands on a slider; one that is no number where `auto` stands, which says what was chosen.
pub fn position(bounds: Bounds, text: &str, auto: &str) -> u32 {
    let number = text.parse().or_else(|_| auto.parse());
    slider::position(bounds, number.unwrap_or(bounds.min))
}
