//! The one native test binary: a module for each topic.

mod kv_bytes;
mod link;
mod report;
