//! Pasted output of `nvidia-smi` and `rocm-smi`.

use kvscope::core::import::smi::{self, gpu_named};
use kvscope::core::units::Bytes;
use proptest::prelude::*;

use crate::languages::check_in_chinese;

const TABLE: &str = "Thu Oct  2 12:00:00 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.15              Driver Version: 570.86.15      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |
| N/A   34C    P0             70W /  700W |    1024MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:2A:00.0 Off |                    0 |
| N/A   33C    P0             69W /  700W |       4MiB /  81559MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|    0   N/A  N/A            1234      C   python                                 1010MiB |
+-----------------------------------------------------------------------------------------+
";

#[test]
fn table() {
    let devices = smi::read(TABLE).expect("two devices");
    assert_eq!(devices.len(), 2, "{devices:?}");
    assert_eq!(devices[0].name, "NVIDIA H100 80GB HBM3");
    assert_eq!(devices[0].gpu, Some("h100-sxm-80gb"));
    assert_eq!(devices[0].memory_bytes, Some(Bytes::from_mib(81_559)));
    assert_eq!(
        devices[0].free_bytes(),
        Some(Bytes::from_mib(81_559 - 1024))
    );
    assert_eq!(devices[1].used_bytes, Some(Bytes::from_mib(4)));
    assert!(smi::is_smi(TABLE), "it is recognised");
}

#[test]
fn other_prints() {
    let csv = "name, memory.total [MiB], memory.used [MiB]\nNVIDIA GeForce RTX 4090, 24564 MiB, 1290 MiB\n";
    let devices = smi::read(csv).expect("one device");
    assert_eq!((devices.len(), devices[0].gpu), (1, Some("rtx-4090")));
    assert_eq!(
        devices[0].free_bytes(),
        Some(Bytes::from_mib(24_564 - 1290))
    );

    let rocm =
        "============================ ROCm System Management Interface ============================
GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X
GPU[0]\t\t: Card Model: \t\t0x74a1
GPU[1]\t\t: Card Series: \t\tAMD Instinct MI300X
GPU[0]\t\t: VRAM Total Memory (B): 206141652992
GPU[0]\t\t: VRAM Total Used Memory (B): 309784576
GPU[1]\t\t: VRAM Total Memory (B): 206141652992
GPU[1]\t\t: VRAM Total Used Memory (B): 309784576
";
    let devices = smi::read(rocm).expect("two devices");
    assert_eq!(devices.len(), 2, "{devices:?}");
    assert_eq!(devices[1].gpu, Some("mi300x"));
    assert_eq!(
        devices[1].free_bytes(),
        Some(Bytes(206_141_652_992 - 309_784_576))
    );
}

#[test]
fn names() {
    for (name, mib, expected) in [
        ("NVIDIA H100 PCIe", 81_559, Some("h100-pcie-80gb")),
        ("NVIDIA H100 NVL", 95_830, Some("h100-nvl-94gb")),
        ("NVIDIA A100-SXM4-80GB", 81_920, Some("a100-sxm-80gb")),
        ("NVIDIA A100 80GB PCIe", 81_920, Some("a100-pcie-80gb")),
        ("NVIDIA A100-PCIE-40GB", 40_960, Some("a100-pcie-40gb")),
        ("NVIDIA H200", 143_771, Some("h200-sxm-141gb")),
        ("NVIDIA B200", 183_359, Some("b200")),
        ("NVIDIA L40S", 46_068, Some("l40s")),
        ("NVIDIA L4", 23_034, Some("l4")),
        ("Tesla T4", 15_360, Some("t4")),
        ("Tesla V100-SXM2-16GB", 16_384, Some("v100-sxm-16gb")),
        ("NVIDIA RTX A6000", 49_140, Some("rtx-a6000")),
        (
            "NVIDIA RTX 6000 Ada Generation",
            49_140,
            Some("rtx-6000-ada"),
        ),
        ("NVIDIA GeForce RTX 3090", 24_576, Some("rtx-3090")),
        ("NVIDIA GeForce RTX 3090 Ti", 24_564, Some("rtx-3090-ti")),
        ("NVIDIA GeForce RTX 5090", 32_607, Some("rtx-5090")),
        (
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            97_887,
            Some("rtx-pro-6000"),
        ),
        ("NVIDIA GeForce GTX 1080", 8192, None),
        ("NVIDIA H100 80GB HBM3", 20_000, None),
        ("", 81_559, None),
    ] {
        let found = gpu_named(name, Some(Bytes::from_mib(mib))).map(|gpu| gpu.id);
        assert_eq!(found, expected, "{name}, {mib} MiB");
    }
}

#[test]
fn no_device() {
    for text in [
        "",
        "No devices were found",
        "GPU KV cache size: 43,296 tokens",
        "| a | b |",
        "GPU[99999999999]: x: y",
    ] {
        let error = smi::read(text).expect_err("nothing there");
        assert_eq!(error.code(), "no_gpu", "{text:?}");
        check_in_chinese(error.message());
    }
}

proptest! {
    #[test]
    fn any_text_is_read(noise in "\\PC{0,40}", from in 0_usize..2000, to in 0_usize..2000) {
        let chars: Vec<char> = TABLE.chars().collect();
        let (from, to) = (from % (chars.len() + 1), to % (chars.len() + 1));
        let piece: String = chars[from.min(to)..from.max(to)].iter().collect();
        for text in [format!("{noise}{piece}"), format!("GPU[{noise}]: {piece}"), format!("{piece}, {noise} MiB")] {
            let devices = smi::read(&text).unwrap_or_default();
            prop_assert!(devices.len() <= 1024);
        }
    }
}
