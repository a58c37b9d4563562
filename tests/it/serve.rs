//! Many requests: the simulator against a real run, against a plain one, and against its own books.

mod anything;
mod laws;
mod oracle;
mod scenarios;
mod schedule;
mod study;
pub(crate) mod traces;
mod yardstick;
