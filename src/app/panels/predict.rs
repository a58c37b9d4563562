//! Predict first: a question, a typed answer, hints, what is said to the answer, the working, the next question.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::tachys::view::any_view::{AnyView, IntoAny};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement};

use crate::core::link;
use crate::core::predict::answer::{Dimension, Quantity, Unit};
use crate::core::predict::rounds::{HINTS, LINK_KEYS, Level, Plan, Round, seed};
use crate::core::predict::session::{Session, Turn};
use crate::core::predict::{Question, Situation, parse_answer};
use crate::core::scenario::{FieldError, Scenario};
use crate::view::notes;
use crate::view::predict::{Asked, Said, Words};
use crate::view::text::PredictText;

use super::widgets::modal;
use super::words::{prefetch, with_words};
use crate::app::browser;
use crate::app::cell::{Cell, Derived};
use crate::app::el::{El, ElRef, button, dynamic, el};
use crate::app::options::PageOptions;
use crate::app::state::{State, state};

/// The reader's progress, which is kept while the page is there.
#[derive(Clone, Copy)]
pub(crate) struct Quiz {
    state: State,
    session: Cell<Arc<Session>>,
    /// What the reader chose in place of the link's questions.
    own: Cell<Option<Plan>>,
}

impl Quiz {
    /// Before the first question.
    pub(crate) fn new(state: State) -> Self {
        let empty = Round {
            scenario: Scenario::clone(&untrack(|| state.scenario())),
            questions: Vec::new(),
        };
        Self {
            state,
            session: Cell::new(Arc::new(Session::new(empty))),
            own: Cell::new(None),
        }
    }

    /// What the link fixes, and what of it could not be read.
    fn of_link(self) -> (Plan, Vec<FieldError>) {
        Plan::from_pairs(&self.state.options().panel_pairs)
    }

    /// What is asked: the reader's choice, else the link's.
    fn plan(self) -> Plan {
        self.own.get().unwrap_or_else(|| self.of_link().0)
    }

    /// Whether the link says what is asked.
    pub(crate) fn is_fixed(self) -> bool {
        self.own.get().is_none() && self.of_link().0 != Plan::default()
    }

    /// Begins anew when the questions change, or the scenario before anything was answered.
    fn follow(self) {
        Effect::new(move |before: Option<Plan>| {
            let (plan, scenario) = (self.plan(), self.state.scenario());
            let is_other = before.is_some_and(|before| before != plan);
            if is_other || self.session.peek().is_untouched() {
                let session = Session::new(plan.round(&scenario));
                self.session.set(Arc::new(session));
            }
            plan
        });
    }

    fn edit(self, act: impl FnOnce(&mut Session)) {
        let mut session = Session::clone(&self.session.peek());
        act(&mut session);
        if session != *self.session.peek() {
            browser::tell_result(&session.results());
            self.session.set(Arc::new(session));
        }
    }

    /// Asks something new.
    fn renew(self, level: Level) {
        let seed = Some(seed(js_sys::Math::random()));
        self.own.set(Some(Plan {
            ask: Vec::new(),
            level,
            seed,
        }));
    }

    /// The address that asks the same of others.
    fn address(self) -> String {
        let session = self.session.get();
        let plan = Plan {
            ask: session.round().questions.clone(),
            ..self.plan()
        };
        let mut options = PageOptions::clone(&self.state.options());
        options
            .panel_pairs
            .retain(|(key, _)| !LINK_KEYS.contains(&key.as_str()));
        let mut fragment = link::to_fragment(&self.state.scenario());
        options.push_pairs(&mut fragment);
        plan.push_pairs(&mut fragment);
        browser::address_with(&fragment)
    }
}

/// The questions in an embed.
pub(crate) fn predict() -> El {
    el("section")
        .child(el("h2").text(&state().text.panels.predict))
        .child(questions())
}

/// The questions above the page, which is covered meanwhile.
pub(crate) fn predict_dialog() -> El {
    let state = state();
    let options = untrack(|| state.options());
    if options.embed.is_none() {
        prefetch(state, PART);
    }
    modal(&state.text.panels.predict, "predict", questions)
}

/// The words of the questions, among those of panels.
const PART: &str = "predict";

fn questions() -> El {
    let (quiz, state) = (expect_context::<Quiz>(), state());
    quiz.follow();
    let text = with_words(state, PART, PredictText::from_json, move |text| {
        Shown { quiz, state, text }.body().view()
    });
    el("div").class("predict").testid("questions").child(text)
}

/// The questions with their words.
#[derive(Clone)]
struct Shown {
    quiz: Quiz,
    state: State,
    text: Arc<PredictText>,
}

impl Shown {
    fn words(&self) -> Words<'_> {
        Words::new(&self.text, self.state.text)
    }

    fn session(&self) -> Arc<Session> {
        self.quiz.session.get()
    }

    fn body(&self) -> El {
        el("div")
            .child(self.notes())
            .child(self.main_question())
            .child(self.hints())
            .child(self.said())
            .child(self.follow_up())
            .child(self.working())
            .child(self.end())
            .child(self.footer())
    }

    /// What to know before one begins.
    fn notes(&self) -> El {
        let (quiz, state, text) = (self.quiz, self.state, self.text.clone());
        let errors = move || {
            let line =
                |error: &FieldError| el("li").text(&notes::field_error(error, state.text)).view();
            let errors = quiz.of_link().1;
            errors.iter().map(line).collect::<Vec<_>>().into_any()
        };
        let lead = move || {
            let chosen = if quiz.is_fixed() {
                text.teacher_chose()
            } else {
                text.intro()
            };
            format!("{chosen} {}", text.kept_in_memory())
        };
        el("div")
            .child(el("p").class("dim").text_with(lead))
            .child(el("ul").class("message").child(dynamic(errors)))
    }

    fn main_question(&self) -> El {
        let quiz = self.quiz;
        let shown = self.clone();
        let round = Derived::new(move || {
            let session = quiz.session.get();
            (session.place().0, Arc::new(session.round().clone()))
        });
        el("div").child(dynamic(move || {
            let (place, round) = round.get();
            let Some(question) = place
                .checked_sub(1)
                .and_then(|idx| round.questions.get(idx))
            else {
                return ().into_any();
            };
            let situation = Situation::new(&round.scenario);
            let asked = shown.words().asked(&situation, *question);
            let is_hidden = move || {
                !matches!(
                    quiz.session.get().turn(),
                    Turn::Answer | Turn::Confirmation(_)
                )
            };
            let step = shown.clone();
            el("div")
                .flag_with("hidden", move || quiz.session.get().turn() == &Turn::End)
                .child(
                    el("p")
                        .class("step-of dim")
                        .testid("predict-step")
                        .text_with(move || step.words().step(&step.session())),
                )
                .children(shown.asked(&asked))
                .child(
                    shown
                        .form(*question, "predict")
                        .flag_with("hidden", is_hidden),
                )
                .view()
        }))
    }

    /// What is given and what is asked.
    fn asked(&self, asked: &Asked) -> Vec<El> {
        let mut res = Vec::new();
        if !asked.change.is_empty() {
            res.push(el("p").text(&asked.change));
        }
        if !asked.givens.is_empty() {
            let givens = asked.givens.iter().map(|given| el("li").text(given));
            res.push(
                el("ul")
                    .class("givens")
                    .attr("aria-label", self.text.given_title().to_owned())
                    .children(givens),
            );
        }
        res.push(el("p").class("question").text(&asked.question));
        res
    }

    /// Where the answer is typed. `name` begins the names of its parts.
    fn form(&self, question: Question, name: &'static str) -> El {
        match question.dimension() {
            Dimension::YesNo => self.yes_or_no(name),
            Dimension::Tokens | Dimension::Bytes | Dimension::Requests | Dimension::Count => {
                self.field(question, name)
            }
        }
    }

    fn yes_or_no(&self, name: &'static str) -> El {
        let quiz = self.quiz;
        let choice = |is_yes: bool, label: &str| {
            let typed = label.to_owned();
            button(label, move || {
                quiz.edit(|session| session.answer(&typed, Ok(Quantity::yes(is_yes))));
            })
            .testid(format!("{name}-{}", if is_yes { "yes" } else { "no" }))
        };
        let first = ElRef::new();
        self.focus_when_asked(first);
        el("p")
            .class("answer")
            .child(choice(true, self.text.yes()).reference(first))
            .child(choice(false, self.text.no()))
            .child(self.hint_button())
    }

    fn field(&self, question: Question, name: &'static str) -> El {
        let (quiz, text) = (self.quiz, &self.text);
        let id = self.state.id(name);
        let message_id = format!("{id}-message");
        let typed = Cell::new(String::new());
        let unit = Cell::new(None::<Unit>);
        let asked = self.clone();
        let input = ElRef::new();
        let submit = move || {
            let typed = typed.peek();
            let style = asked.words().answer_style();
            let answer = parse_answer(&typed, question.dimension(), unit.peek(), &style);
            quiz.edit(|session| session.answer(&typed, answer));
            // What is typed next takes its place.
            if let Some(input) = input.get_untracked() {
                input.unchecked_ref::<HtmlInputElement>().select();
            }
        };
        let is_here =
            move |session: &Session| session.asked().is_some_and(|(_, asked)| asked == question);
        let shown = self.clone();
        let message = move || {
            let session = shown.session();
            if is_here(&session) {
                shown.words().unreadable(&session)
            } else {
                String::new()
            }
        };
        let is_wrong = message.clone();
        self.focus_when_asked(input);
        let field = el("input")
            .attr("type", "text")
            .attr("id", id.clone())
            .attr("autocomplete", "off")
            .attr("autofocus", "")
            .attr("aria-describedby", message_id.clone())
            .testid(format!("{name}-answer"))
            .state_with("aria-invalid", move || !is_wrong().is_empty())
            .value_with(move || typed.get())
            .on("input", move |event| typed.set(event_target_value(&event)))
            .reference(input);
        let is_again = self.clone();
        let check = el("button")
            .attr("type", "submit")
            .class("primary")
            .testid(format!("{name}-check"))
            .text_with(move || {
                let said = is_again.words().reply(&is_again.session());
                if said.is_some_and(|said| said.again) {
                    is_again.text.again().to_owned()
                } else {
                    is_again.text.check().to_owned()
                }
            });
        el("form")
            .class("answer")
            .on("submit", move |event| {
                event.prevent_default();
                submit();
            })
            .child(el("label").attr("for", id).text(text.your_answer()))
            .child(field)
            .children(self.unit_choice(question, unit, name))
            .child(check)
            .child(self.hint_button())
            .child(
                el("p")
                    .class("message")
                    .attr("id", message_id)
                    .attr("role", "status")
                    .text_with(message),
            )
    }

    /// The units of memory; other amounts have one unit, or say it.
    fn unit_choice(
        &self,
        question: Question,
        unit: Cell<Option<Unit>>,
        name: &'static str,
    ) -> Option<El> {
        if question.dimension() != Dimension::Bytes {
            return None;
        }
        let words = self.words();
        let option = |unit: Unit| {
            let word = words.unit(unit);
            el("option").attr("value", word.clone()).text(&word)
        };
        let select = el("select")
            .attr("aria-label", self.text.unit().to_owned())
            .testid(format!("{name}-unit"))
            .on("change", move |event| {
                let value = event_target_value(&event);
                let chosen = Unit::OF_BYTES
                    .into_iter()
                    .find(|unit| unit.symbol() == value);
                unit.set(chosen);
            })
            .child(el("option").attr("value", "").text(self.text.unit()))
            .children(Unit::OF_BYTES.map(option));
        Some(select)
    }

    /// Puts the focus on an element that has come up because of what the reader did.
    fn focus_when_asked(&self, element: ElRef) {
        let quiz = self.quiz;
        let turn = Derived::new(move || quiz.session.get().turn().clone());
        Effect::new(move |_| {
            let is_asked = matches!(turn.get(), Turn::Answer | Turn::FollowUp(_));
            if let Some(element) = element.get().filter(|_| is_asked) {
                focus_unless_new(quiz, &element);
            }
        });
    }

    fn hint_button(&self) -> El {
        let (quiz, shown) = (self.quiz, self.clone());
        button("", move || {
            quiz.edit(|session| {
                if session.may_give_up() {
                    session.give_up();
                } else {
                    session.take_hint();
                }
            });
        })
        .testid("predict-hint")
        .text_with(move || {
            let session = shown.session();
            if session.may_give_up() {
                shown.text.show_working().to_owned()
            } else {
                shown.words().hint_button(session.hints())
            }
        })
    }

    fn hints(&self) -> El {
        let (quiz, shown) = (self.quiz, self.clone());
        let hints = Derived::new(move || {
            let session = quiz.session.get();
            let Some(question) = session.question().filter(|_| session.turn() != &Turn::End) else {
                return Vec::new();
            };
            let situation = Situation::new(&session.round().scenario);
            let taken = 1..=session.hints().min(HINTS);
            taken
                .map(|step| shown.words().hint(&situation, question, step))
                .collect()
        });
        el("ol")
            .class("hints")
            .testid("predict-hints")
            .attr("role", "status")
            .child(dynamic(move || {
                let hints = hints.get();
                let lines = hints.iter().map(|hint| el("li").text(hint).view());
                lines.collect::<Vec<_>>().into_any()
            }))
    }

    /// What is said to the last answer.
    fn said(&self) -> El {
        let (quiz, shown) = (self.quiz, self.clone());
        let said = Derived::new(move || {
            let session = quiz.session.get();
            let is_right = session
                .records()
                .last()
                .is_some_and(|record| record.is_right);
            (shown.words().reply(&session), is_right)
        });
        let confirm = self.clone();
        let is_open = move || matches!(quiz.session.get().turn(), Turn::Confirmation(_));
        let choice = |is_meant: bool, label: &str| {
            button(label, move || {
                quiz.edit(|session| session.confirm(is_meant));
            })
            .testid(format!("predict-meant-{is_meant}"))
        };
        el("div")
            .child(
                el("div")
                    .attr("role", "status")
                    .testid("predict-said")
                    .child(dynamic(move || match said.get() {
                        (Some(said), is_right) => said_lines(&said, is_right),
                        (None, _) => ().into_any(),
                    })),
            )
            .child(
                el("p")
                    .class("answer")
                    .flag_with("hidden", move || !is_open())
                    .child(choice(true, confirm.text.yes()))
                    .child(choice(false, confirm.text.no())),
            )
    }

    /// One more question, because a number alone does not tell.
    fn follow_up(&self) -> El {
        let (quiz, shown) = (self.quiz, self.clone());
        let follow_up = Derived::new(move || match quiz.session.get().turn() {
            Turn::FollowUp(follow_up) => Some(Arc::new(follow_up.as_ref().clone())),
            Turn::Answer | Turn::Confirmation(_) | Turn::Next | Turn::End => None,
        });
        el("div").child(dynamic(move || {
            let Some(follow_up) = follow_up.get() else {
                return ().into_any();
            };
            let asked = shown.words().follow_up(&follow_up);
            el("div")
                .class("follow-up")
                .testid("predict-follow-up")
                .children(shown.asked(&asked))
                .child(shown.form(follow_up.question, "follow-up"))
                .view()
        }))
    }

    fn working(&self) -> El {
        let (quiz, shown) = (self.quiz, self.clone());
        let is_next = Derived::new(move || quiz.session.get().turn() == &Turn::Next);
        el("div").child(dynamic(move || {
            let is_next = is_next.get();
            let session = quiz.session.peek();
            let Some(question) = session.question().filter(|_| is_next) else {
                return ().into_any();
            };
            let situation = Situation::new(&session.round().scenario);
            let working = shown.words().working(&situation, question);
            let next = ElRef::new();
            Effect::new(move |_| {
                if let Some(next) = next.get() {
                    focus_unless_new(quiz, &next);
                }
            });
            el("div")
                .class("work")
                .testid("predict-working")
                .child(el("b").text(shown.text.working_title()))
                .child(el("p").text(&working))
                .child(
                    el("p").child(
                        button(shown.text.next(), move || quiz.edit(Session::next))
                            .class("primary")
                            .testid("predict-next")
                            .reference(next),
                    ),
                )
                .view()
        }))
    }

    /// What it came to.
    fn end(&self) -> El {
        let (quiz, shown) = (self.quiz, self.clone());
        let is_end = Derived::new(move || {
            let session = quiz.session.get();
            session.turn() == &Turn::End && !session.records().is_empty()
        });
        el("div").attr("role", "status").child(dynamic(move || {
            if !is_end.get() {
                return ().into_any();
            }
            let text = &shown.text;
            let summary = shown.words().summary(&quiz.session.peek().summary());
            let lines = summary.lines.iter().map(|line| el("li").text(line));
            let slips = if summary.slips.is_empty() {
                el("p").text(text.summary_no_slips())
            } else {
                let slips = summary.slips.iter().map(|slip| el("li").text(slip));
                el("div")
                    .child(el("b").text(text.summary_slips()))
                    .child(el("ul").children(slips))
            };
            el("div")
                .class("work")
                .testid("predict-summary")
                .child(el("b").text(text.summary_title()))
                .child(el("ul").children(lines))
                .child(slips)
                .view()
        }))
    }

    /// Something new, at a level of the reader's choice; and the address of what is asked now.
    fn footer(&self) -> El {
        let (quiz, text) = (self.quiz, &self.text);
        let level = Cell::new(0_usize);
        let words = self.words();
        let levels = Level::ALL.into_iter().map(|level| {
            let label = format!("{}: {}", level.id(), words.level(level));
            el("option").attr("value", level.id()).text(&label)
        });
        let select = el("select")
            .attr("aria-label", text.level().to_owned())
            .testid("predict-level")
            .on("change", move |event| {
                let value = event_target_value(&event);
                let idx = Level::ALL.iter().position(|level| level.id() == value);
                level.set(idx.unwrap_or_default());
            })
            .children(levels);
        let renew = move || {
            let level = Level::ALL.get(level.peek()).copied().unwrap_or_default();
            quiz.renew(level);
        };
        el("div")
            .class("again")
            .child(
                el("p")
                    .class("answer")
                    .child(el("span").class("dim").text(text.level()))
                    .child(select)
                    .child(button(text.new_round(), renew).testid("predict-new")),
            )
            .child(
                el("details")
                    .child(el("summary").class("dim").text(text.link_label()))
                    .child(
                        el("textarea")
                            .attr("rows", "3")
                            .attr("readonly", "")
                            .attr("aria-label", text.link_label().to_owned())
                            .testid("predict-link")
                            .value_with(move || quiz.address()),
                    ),
            )
    }
}

/// The sentence, and where others made the same slip.
fn said_lines(said: &Said, is_right: bool) -> AnyView {
    let seen = said.seen.iter().map(|seen| el("p").class("dim").text(seen));
    el("div")
        .class(if is_right { "said right" } else { "said" })
        .child(el("p").text(&said.text))
        .children(seen)
        .view()
}

/// Puts the focus on an element, but not in an embed in which the reader has not begun: the page would scroll there.
fn focus_unless_new(quiz: Quiz, element: &impl JsCast) {
    if quiz.session.peek().is_untouched() && quiz.state.dialog.peek().is_empty() {
        return;
    }
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let _focused = element.focus();
    }
}
