//! The accelerators of `data/gpus.tsv`: memory as their driver reports it, bandwidth, peaks, each with its source.

use std::sync::OnceLock;

use serde::Serialize;

use super::rows;
use super::units::Bytes;

/// Id of the accelerator of the default scenario.
pub const DEFAULT_ID: &str = "h100-sxm-80gb";

/// One accelerator, as one device that the runtime sees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gpu {
    /// The name in links and JSON, such as `h100-sxm-80gb`.
    pub id: &'static str,
    /// The maker's name, with the capacity on the label.
    pub name: &'static str,
    /// The name in a sentence.
    pub short: &'static str,
    /// Who makes it.
    pub vendor: &'static str,
    /// Memory that the driver reports, in MiB.
    pub memory_mib: u64,
    /// Memory that the runtime sees, in MiB, from which an engine takes its share; `None` when it is not known.
    pub visible_mib: Option<u64>,
    /// Memory bandwidth on the data sheet, in 10^9 bytes per second.
    pub bandwidth_gbps: f64,
    /// Dense bf16 peak (fp16 where there is no bf16), in 10^12 operations per second.
    pub bf16_tflops: f64,
    /// Dense fp8 peak, in 10^12 operations per second; `None` where there is no fp8.
    pub fp8_tflops: Option<f64>,
    /// Dense fp4 peak, in 10^12 operations per second; `None` where there is no fp4.
    pub fp4_tflops: Option<f64>,
    /// Whether several of them are usually linked by NVLink, Infinity Fabric or the like, and not by PCIe alone.
    pub has_fast_link: bool,
}

impl Gpu {
    /// Where the values are from; what nobody checked says so.
    pub fn source(&self) -> &'static str {
        self.said("source").unwrap_or_default()
    }

    /// What else should be known.
    pub fn note(&self) -> Option<&'static str> {
        self.said("note")
    }

    fn said(&self, column: &str) -> Option<&'static str> {
        let mut sources = rows::of(include_str!("../../data/gpu_sources.tsv"));
        sources
            .find(|row| row.text("id") == self.id)?
            .optional(column)
    }

    /// Memory that the driver reports.
    pub fn memory(&self) -> Bytes {
        Bytes::from_mib(self.memory_mib)
    }

    /// Memory that the runtime sees, or what the driver reports where that is not known.
    pub fn visible(&self) -> Bytes {
        Bytes::from_mib(self.visible_mib.unwrap_or(self.memory_mib))
    }
}

/// Every accelerator, in the order in which to offer them.
pub fn all() -> &'static [Gpu] {
    static GPUS: OnceLock<Vec<Gpu>> = OnceLock::new();
    GPUS.get_or_init(|| {
        rows::of(include_str!("../../data/gpus.tsv"))
            .map(|row| Gpu {
                id: row.text("id"),
                name: row.text("name"),
                short: row.text("short"),
                vendor: row.text("vendor"),
                memory_mib: row.integer("memory_mib").unwrap_or(0),
                visible_mib: row.integer("visible_mib"),
                bandwidth_gbps: row.decimal("bandwidth_gbps").unwrap_or(0.0),
                bf16_tflops: row.decimal("bf16_tflops").unwrap_or(0.0),
                fp8_tflops: row.decimal("fp8_tflops"),
                fp4_tflops: row.decimal("fp4_tflops"),
                has_fast_link: row.text("has_fast_link") == "true",
            })
            .collect()
    })
}

/// The accelerator with this id.
///
/// ```
/// # use kvscope::core::gpus;
/// // The label says 80 GB; the driver says 81,559 MiB = 85.5 GB.
/// assert_eq!(gpus::get("h100-sxm-80gb").map(|gpu| gpu.memory().0), Some(85_520_809_984));
/// ```
pub fn get(id: &str) -> Option<&'static Gpu> {
    all().iter().find(|gpu| gpu.id == id)
}

/// The accelerator of the default scenario.
pub fn default_gpu() -> &'static Gpu {
    // The table is part of the program and tested; an accelerator without memory keeps this total all the same.
    static NONE: Gpu = Gpu {
        id: "none",
        name: "no accelerator",
        short: "none",
        vendor: "",
        memory_mib: 0,
        visible_mib: None,
        bandwidth_gbps: 0.0,
        bf16_tflops: 0.0,
        fp8_tflops: None,
        fp4_tflops: None,
        has_fast_link: false,
    };
    get(DEFAULT_ID).unwrap_or(&NONE)
}
