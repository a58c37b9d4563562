//! Builds, serves and tests KVscope.
fn main() {}
