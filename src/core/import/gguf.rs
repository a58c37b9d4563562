//! A GGUF file: its header, read by slices, and the model it describes. The weights themselves are never read.
//!
//! Source: the GGUF specification (`docs/gguf.md` of ggml) and llama.cpp `ggml/src/gguf.cpp`, `src/llama-model.cpp` and
//! `src/models/*.cpp` of 2026.

mod json;
mod keys;
mod layers;
mod model;
mod reader;
mod scan;
mod sums;
mod types;

pub use model::{GgufModel, import};
pub use reader::GgufReader;
pub use sums::GgufHeader;
