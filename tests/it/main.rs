//! The one native test binary.
