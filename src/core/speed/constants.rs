//! The constants of the estimate, each with its range and its source.

use serde::Serialize;

/// What a constant is, for the page and for its tooltip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ConstantInfo {
    /// Its field in [`SpeedConstants`], and its name in links and JSON.
    pub name: &'static str,
    /// The value it has when nobody changed it.
    pub default: f64,
    /// Its smallest sensible value.
    pub min: f64,
    /// Its largest sensible value.
    pub max: f64,
    /// Its unit; empty for a share.
    pub unit: &'static str,
    /// What it is, as a sentence.
    pub what: &'static str,
    /// Where the default is from; the page says it in the reader's language.
    pub source: &'static str,
}

macro_rules! constants {
    ($($name:ident = $default:literal, $min:literal to $max:literal $unit:literal, $what:literal, $source:literal;)*) => {
        /// The constants of the estimate. They were fitted together: change one and the others are no longer the best.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize)]
        pub struct SpeedConstants {
            $(#[doc = $what] pub $name: f64,)*
        }

        impl Default for SpeedConstants {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl SpeedConstants {
            /// Every constant, in the order in which to show them.
            pub const TABLE: &[ConstantInfo] = &[$(ConstantInfo {
                name: stringify!($name),
                default: $default,
                min: $min,
                max: $max,
                unit: $unit,
                what: $what,
                source: $source,
            },)*];

            /// The value of the constant with this name.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// Changes the constant with this name, if there is one.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

constants! {
    memory_efficiency = 0.8, 0.1 to 1.0 "",
        "Share of the memory bandwidth on the data sheet that a step reaches.",
        "fit on 1,829 serving runs (H100, H200, B200; 6 models; vLLM, TensorRT-LLM, SGLang); NVIDIA aiconfigurator uses 0.8 too";
    bf16_efficiency = 0.66, 0.05 to 1.0 "",
        "Share of the dense bf16 peak that matrix products reach.",
        "fit on TensorRT-LLM performance.md (A100, 2023 and 2024); all such rows are in docs/measured.md";
    fp8_efficiency = 0.48, 0.05 to 1.0 "",
        "Share of the dense fp8 peak that matrix products reach.",
        "fit on TensorRT-LLM performance.md and perf-overview.md (H100, H200, 2023 to 2025)";
    fp4_efficiency = 0.39, 0.05 to 1.0 "",
        "Share of the dense fp4 peak that matrix products reach.",
        "fit on TensorRT-LLM perf-overview.md (B200, GB200, 2025)";
    moe_compute_factor = 0.38, 0.05 to 1.0 "",
        "What mixtures of experts reach of the shares above, because each expert sees few tokens.",
        "fit on TensorRT-LLM perf-overview.md (Qwen3-235B-A22B, Qwen3-30B-A3B)";
    other_vendor_factor = 0.62, 0.1 to 1.0 "",
        "What GPUs of other makers than NVIDIA reach of all shares above.",
        "fit on vLLM on MI300X (Llama 3.1 70B and 405B, 2024 and 2025); gpt-fast on MI250 and llama.cpp on RX 7900 XTX want 0.7 to 0.8; experts on MI300X are slower still";
    layer_us = 30.0, 0.0 to 1000.0 "µs",
        "Time that each layer adds to a step: launches and small kernels.",
        "fit on 1,829 serving runs, groups of which want 10 to 120";
    moe_layer_us = 30.0, 0.0 to 1000.0 "µs",
        "Time that a layer with experts adds further.",
        "fit on 1,829 serving runs";
    tensor_parallel_layer_us = 20.0, 0.0 to 1000.0 "µs",
        "Time that each layer adds for each doubling of the GPUs that share it.",
        "fit on 1,829 serving runs, TP 1 to 8";
    prefill_layer_us = 70.0, 0.0 to 1000.0 "µs",
        "Time that each layer adds further to a step with tokens of a prompt: its kernels are launched one by one.",
        "fit on TensorRT-LLM performance.md 0.5 and 0.9 (prompts of 128 tokens)";
    sequence_us = 5.0, 0.0 to 1000.0 "µs",
        "Time that each sequence adds to a step: scheduling, sampling, detokenizing.",
        "fit on TensorRT-LLM perf-overview.md, batches to 2,048, and on the 1,829 serving runs, which want less; GB200 wants more";
    fast_link_gbps = 250.0, 1.0 to 2000.0 "GB/s",
        "Speed at which GPUs on NVLink or the like add up their results.",
        "fit on TensorRT-LLM perf-overview.md (Llama 405B on 8 GPUs); 150 to 400 fit nearly as well";
    slow_link_gbps = 15.0, 1.0 to 2000.0 "GB/s",
        "The same over PCIe.",
        "fit on 45 rows of TensorRT-LLM on L40S and RTX PRO 6000; 12 fits as well";
    overlap_power = 2.0, 1.0 to 100.0 "",
        "How reading and computing overlap: 1 one after the other, 100 the longer hides the shorter.",
        "fit on TensorRT-LLM tables; 1.5 to 3 fit nearly as well";
    prefill_chunk_tokens = 8192.0, 16.0 to 1048576.0 "tokens",
        "Prompt tokens of one prefill step.",
        "vLLM and TensorRT-LLM defaults for data-center GPUs";
    range_factor = 1.5, 1.0 to 10.0 "",
        "The range: nine runs in ten lie within the estimate divided and multiplied by this.",
        "fit on 1,829 serving runs: 90th percentile of the error 1.49; middle half 1.15";
}
