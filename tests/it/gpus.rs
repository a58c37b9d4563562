//! `data/gpus.tsv`: every entry is read, sane and sourced.

use std::collections::BTreeSet;

use kvscope::core::gpus;
use kvscope::core::units::{Bytes, MIB};

#[test]
fn every_entry_is_sane_and_sourced() {
    let lines = include_str!("../../data/gpus.tsv").lines().skip(1).count();
    assert_eq!(gpus::all().len(), lines, "an entry was lost");
    assert!(40 <= lines, "{lines} accelerators");
    let ids: BTreeSet<_> = gpus::all().iter().map(|gpu| gpu.id).collect();
    assert_eq!(ids.len(), lines, "an id is used twice");
    assert!(gpus::get(gpus::DEFAULT_ID).is_some(), "the default exists");
    for gpu in gpus::all() {
        let id = gpu.id;
        assert!(
            id.bytes()
                .all(|b| b == b'-' || b.is_ascii_digit() || b.is_ascii_lowercase()),
            "{id} can stand in a link"
        );
        assert!(gpu.visible() <= gpu.memory(), "{id} sees more than it has");
        assert!(
            gpu.memory().0 < 2 * gpu.visible().0,
            "{id} sees less than half"
        );
        assert!(
            (100.0..20_000.0).contains(&gpu.bandwidth_gbps),
            "{id} bandwidth"
        );
        assert!((10.0..10_000.0).contains(&gpu.bf16_tflops), "{id} bf16");
        assert!(
            gpu.fp8_tflops.is_none_or(|fp8| gpu.bf16_tflops <= fp8),
            "{id} fp8"
        );
        assert!(!gpu.source().is_empty(), "{id} source");
        let text = format!(
            "{}{}{}",
            gpu.name,
            gpu.source(),
            gpu.note().unwrap_or_default()
        );
        assert!(
            !text.contains(['<', '>', '"', '\\']),
            "{id} is not plain text"
        );
    }
}

#[test]
fn memory_as_the_driver_reports_it() {
    // Source: nvidia-smi, rocm-smi and hl-smi prints in public files.
    for (id, mib) in [
        ("h100-sxm-80gb", 81_559),
        ("a100-sxm-80gb", 81_920),
        ("h200-sxm-141gb", 143_771),
        ("b200", 183_359),
        ("l40s", 46_068),
        ("rtx-4090", 24_564),
        ("rtx-5090", 32_607),
        ("mi300x", 196_592),
        ("gaudi-2", 98_304),
    ] {
        let memory = gpus::get(id).map(gpus::Gpu::memory);
        assert_eq!(memory, Some(Bytes(mib * MIB)), "{id}");
    }
    // vLLM start-up: 0.9 of 79.18 GiB visible.
    let h100 = gpus::get("h100-sxm-80gb").map(gpus::Gpu::visible);
    assert_eq!(h100, Some(Bytes(81_080 * MIB)));
    // Where the runtime's view is not known, the driver's figure stands in.
    let b300 = gpus::get("b300").map(|gpu| (gpu.visible_mib, gpu.visible()));
    assert_eq!(b300, Some((None, Bytes(275_040 * MIB))));
    assert_eq!(gpus::get("h100"), None);
}
