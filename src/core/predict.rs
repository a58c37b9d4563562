//! Predict first: questions about a scenario, what the reader answered, and where a number that is not right comes from.
//!
//! A question's right value is read from [`report`](super::report::report); a slip is the same report of the scenario
//! that the reader had in mind. So nothing here holds a number of its own, and every model, cache type and parallel size
//! has its slips.
//!
//! Two promises: a right answer is never called wrong, in whatever unit and notation it comes, and a slip is never named
//! from a number that another slip gives too; then one more question is asked.

pub mod answer;
pub mod judge;
mod number;
pub mod question;
pub mod rounds;
pub mod session;
pub mod slips;

pub use answer::{AnswerError, AnswerStyle, Quantity, parse_answer};
pub use judge::{FollowUp, Verdict, judge};
pub use question::{Question, Situation};
pub use slips::{SLIPS, Slip, SlipId};
