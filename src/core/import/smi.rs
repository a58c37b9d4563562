//! What `nvidia-smi` and `rocm-smi` print: which accelerators there are, with their memory, used and free.

use serde::Serialize;

use super::ImportError;
use crate::core::gpus::{self, Gpu};
use crate::core::import::sentences::say;
use crate::core::units::{Bytes, MIB};

/// Bytes of text that are read.
const MAX_TEXT: usize = 1 << 20;
/// Devices that are kept.
const MAX_DEVICES: usize = 1 << 10;

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Device {
    /// The name as it is printed; empty when it is not.
    pub name: String,
    /// Memory.
    pub memory_bytes: Option<Bytes>,
    /// Of it in use.
    pub used_bytes: Option<Bytes>,
    /// The accelerator of our list, when one has this name and about this memory.
    pub gpu: Option<&'static str>,
}

impl Device {
    /// Memory that is not in use.
    pub fn free_bytes(&self) -> Option<Bytes> {
        Some(self.memory_bytes?.minus(self.used_bytes?))
    }
}

/// Reads the table of `nvidia-smi`, the list of `nvidia-smi -L`, the rows of `nvidia-smi --query-gpu=name,memory.total,
/// memory.used --format=csv`, or `rocm-smi --showproductname --showmeminfo vram`.
///
/// # Errors
///
/// When no device is found.
///
/// ```
/// # use kvscope::core::import::smi;
/// let text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\nGPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)";
/// let devices = smi::read(text)?;
/// assert_eq!((devices.len(), devices[0].gpu), (2, Some("h100-sxm-80gb")));
/// # Ok::<(), kvscope::core::import::ImportError>(())
/// ```
pub fn read(text: &str) -> Result<Vec<Device>, ImportError> {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut devices: Vec<Device> = Vec::new();
    for line in text.get(..end).unwrap_or_default().lines() {
        let line = line.trim();
        nvidia_table(line, &mut devices);
        nvidia_list(line, &mut devices);
        nvidia_csv(line, &mut devices);
        rocm(line, &mut devices);
        devices.truncate(MAX_DEVICES);
    }
    for device in &mut devices {
        device.gpu = gpu_named(&device.name, device.memory_bytes).map(|gpu| gpu.id);
    }
    if devices.is_empty() {
        return Err(ImportError::new(
            "no_gpu",
            say!(
                no_gpu,
                command = "rocm-smi --showproductname --showmeminfo vram"
            ),
        ));
    }
    Ok(devices)
}

/// Whether the text looks like what these tools print.
pub fn is_smi(text: &str) -> bool {
    let start: String = text.chars().take(4000).collect();
    [
        "NVIDIA-SMI",
        "ROCm System Management Interface",
        "ROCM-SMI",
        "memory.total [MiB]",
        "VRAM Total Memory (B)",
        "(UUID: GPU-",
    ]
    .iter()
    .any(|word| start.contains(word))
}

/// Two lines for each device, in cells: `|   0  NVIDIA H100 80GB HBM3          On  | …` with its index and its name, and
/// `| N/A   34C    P0    70W / 700W |   1290MiB / 81559MiB | …` with its memory.
fn nvidia_table(line: &str, devices: &mut Vec<Device>) {
    let Some(row) = line.strip_prefix('|') else {
        return;
    };
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let memory = cells.iter().find_map(|cell| {
        let (used, total) = cell.split_once('/')?;
        Some((mib(used.trim())?, mib(total.trim())?))
    });
    if let Some((used, total)) = memory {
        // The newest device without memory; the table of processes has none to wait for.
        if let Some(device) = devices
            .iter_mut()
            .find(|device| device.memory_bytes.is_none())
        {
            device.used_bytes = Some(used);
            device.memory_bytes = Some(total);
        }
        return;
    }
    let is_bus = cells
        .get(1)
        .is_some_and(|cell| cell.contains(':') && cell.contains('.'));
    let Some((index, rest)) = cells
        .first()
        .and_then(|cell| cell.split_once(' '))
        .filter(|_| is_bus)
    else {
        return;
    };
    if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) {
        let name = rest.trim();
        let name = ["On", "Off", "N/A"]
            .iter()
            .find_map(|mode| name.strip_suffix(mode))
            .unwrap_or(name);
        devices.push(Device {
            name: cut(name),
            ..Device::default()
        });
    }
}

/// `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)`.
fn nvidia_list(line: &str, devices: &mut Vec<Device>) {
    let Some((index, rest)) = line
        .strip_prefix("GPU ")
        .and_then(|rest| rest.split_once(": "))
    else {
        return;
    };
    if index.bytes().all(|byte| byte.is_ascii_digit()) {
        let name = rest.split(" (UUID").next().unwrap_or(rest);
        devices.push(Device {
            name: cut(name),
            ..Device::default()
        });
    }
}

/// A name and amounts of MiB, in the order total, used.
fn nvidia_csv(line: &str, devices: &mut Vec<Device>) {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let amounts: Vec<Bytes> = cells.iter().filter_map(|cell| mib(cell)).collect();
    let name = cells
        .iter()
        .find(|cell| cell.contains(' ') && mib(cell).is_none());
    if let (Some(name), Some(total), false) = (name, amounts.first(), line.contains('|')) {
        let used_bytes = amounts.get(1).copied();
        devices.push(Device {
            name: cut(name),
            memory_bytes: Some(*total),
            used_bytes,
            gpu: None,
        });
    }
}

/// `GPU[0] : Card Series: AMD Instinct MI300X`, `GPU[0] : VRAM Total Memory (B): 206141652992`.
fn rocm(line: &str, devices: &mut Vec<Device>) {
    let Some((index, rest)) = line
        .strip_prefix("GPU[")
        .and_then(|rest| rest.split_once(']'))
    else {
        return;
    };
    let Some(index) = index
        .parse::<usize>()
        .ok()
        .filter(|index| *index < MAX_DEVICES)
    else {
        return;
    };
    let rest = rest.trim_start_matches([' ', '\t', ':']);
    let Some((key, value)) = rest.split_once(':') else {
        return;
    };
    let known = [
        "Card Series",
        "Card series",
        "Card Model",
        "Card model",
        "VRAM Total Memory (B)",
        "VRAM Total Used Memory (B)",
    ];
    if !known.contains(&key.trim()) {
        return;
    }
    while devices.len() <= index {
        devices.push(Device::default());
    }
    let Some(device) = devices.get_mut(index) else {
        return;
    };
    let value = value.trim();
    match key.trim() {
        "VRAM Total Memory (B)" => device.memory_bytes = value.parse().ok().map(Bytes),
        "VRAM Total Used Memory (B)" => device.used_bytes = value.parse().ok().map(Bytes),
        // Some prints give a number instead of a name.
        _ if device.name.is_empty() && !value.starts_with("0x") => device.name = cut(value),
        _ => {}
    }
}

/// An amount such as `81559MiB` or `81559 MiB`.
fn mib(text: &str) -> Option<Bytes> {
    let number = text.strip_suffix("MiB")?.trim_end();
    let number: u64 = number.parse().ok()?;
    number.checked_mul(MIB).map(Bytes)
}

fn cut(name: &str) -> String {
    crate::core::scenario::cut(name.trim(), 100)
}

/// Words of an id that a name may leave out: the socket, and what is sold as one card but is not one device.
const OPTIONAL: [&str; 6] = ["sxm", "pcie", "nvl", "die", "server", "core"];

/// The accelerator whose id's words are in `name` and whose memory is nearest, not more than a twentieth apart.
///
/// ```
/// # use kvscope::core::{import::smi::gpu_named, units::Bytes};
/// let id = |name, mib| gpu_named(name, Some(Bytes::from_mib(mib))).map(|gpu| gpu.id);
/// assert_eq!(id("NVIDIA A100-SXM4-40GB", 40_960), Some("a100-sxm-40gb"));
/// assert_eq!(id("NVIDIA GeForce RTX 4090", 24_564), Some("rtx-4090"));
/// ```
pub fn gpu_named(name: &str, memory: Option<Bytes>) -> Option<&'static Gpu> {
    // What the driver calls the chip of the DGX Spark.
    let name = name.to_ascii_lowercase().replace("gb10", "dgx spark");
    let name: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |word: &str| {
        name.iter()
            .any(|own| *own == word || (word == "sxm" && own.starts_with(word)))
    };
    let is_optional = |word: &str| OPTIONAL.contains(&word) || word.ends_with("gb");
    let is_named = |gpu: &&Gpu| gpu.id.split('-').all(|word| is_optional(word) || has(word));
    let distance = |gpu: &Gpu| memory.map_or(0, |memory| memory.0.abs_diff(gpu.memory().0));
    let is_near = |gpu: &&Gpu| memory.is_none_or(|memory| distance(gpu) <= memory.0 / 20);
    let n_words = |gpu: &Gpu| gpu.id.split('-').filter(|word| has(word)).count();
    let candidates = gpus::all().iter().filter(is_named).filter(is_near);
    // Of equals the first of the list, which is the most common.
    candidates
        .rev()
        .max_by_key(|gpu| (n_words(gpu), std::cmp::Reverse(distance(gpu))))
}
