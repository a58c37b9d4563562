//! The one native test binary.

mod gpus;
mod weights;
