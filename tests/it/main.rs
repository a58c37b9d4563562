//! The one native test binary: a module for each topic.

mod charts;
mod concept;
mod engines;
mod formula;
mod gguf;
mod gpus;
mod import;
mod js_types;
mod kv_bytes;
mod languages;
mod lengths;
mod link;
mod log;
mod numbers;
mod predict;
mod predict_words;
mod presets;
mod price;
mod report;
mod serve;
mod smi;
mod speed;
mod text;
mod tidy;
mod turns;
mod weights;
