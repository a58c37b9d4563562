//! The types of tensors, with the bytes of their blocks.

use crate::core::weights::{WEIGHT_FORMATS, WeightFormat, weight_format};

/// A type of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorType {
    pub(super) id: u32,
    pub(super) name: &'static str,
    /// Elements of a block; zero where rows have bytes beside their blocks, so that only the file's offsets tell the size.
    pub(super) block_elements: u32,
    pub(super) block_bytes: u32,
}

const fn row(id: u32, name: &'static str, block_elements: u32, block_bytes: u32) -> TensorType {
    TensorType {
        id,
        name,
        block_elements,
        block_bytes,
    }
}

/// Sources: `GGML_QUANT_SIZES` in `gguf-py/gguf/constants.py` of llama.cpp and, from 97 on, of ik_llama.cpp; types 4, 5 and
/// 31 to 38 of llama.cpp's list were withdrawn.
const TYPES: &[TensorType] = &[
    row(0, "float32", 1, 4),
    row(1, "float16", 1, 2),
    row(2, "q4_0", 32, 18),
    row(3, "q4_1", 32, 20),
    row(6, "q5_0", 32, 22),
    row(7, "q5_1", 32, 24),
    row(8, "q8_0", 32, 34),
    row(9, "q8_1", 32, 36),
    row(10, "q2_k", 256, 84),
    row(11, "q3_k", 256, 110),
    row(12, "q4_k", 256, 144),
    row(13, "q5_k", 256, 176),
    row(14, "q6_k", 256, 210),
    row(15, "q8_k", 256, 292),
    row(16, "iq2_xxs", 256, 66),
    row(17, "iq2_xs", 256, 74),
    row(18, "iq3_xxs", 256, 98),
    row(19, "iq1_s", 256, 50),
    row(20, "iq4_nl", 32, 18),
    row(21, "iq3_s", 256, 110),
    row(22, "iq2_s", 256, 82),
    row(23, "iq4_xs", 256, 136),
    row(24, "int8", 1, 1),
    row(25, "int16", 1, 2),
    row(26, "int32", 1, 4),
    row(27, "int64", 1, 8),
    row(28, "float64", 1, 8),
    row(29, "iq1_m", 256, 56),
    row(30, "bf16", 1, 2),
    row(31, "q4_0_4_4", 32, 18),
    row(32, "q4_0_4_8", 32, 18),
    row(33, "q4_0_8_8", 32, 18),
    row(34, "tq1_0", 256, 54),
    row(35, "tq2_0", 256, 66),
    row(39, "mxfp4", 32, 17),
    row(40, "nvfp4", 64, 36),
    row(41, "q1_0", 128, 18),
    row(42, "q2_0", 64, 18),
    row(133, "q6_0", 32, 26),
    row(134, "iq1_bn", 0, 0),
    row(135, "iq2_bn", 0, 0),
    row(137, "iq2_k", 256, 76),
    row(138, "iq3_k", 256, 110),
    row(139, "iq4_k", 256, 144),
    row(140, "iq5_k", 256, 176),
    row(141, "iq6_k", 256, 212),
    row(144, "iq4_ks", 0, 0),
    row(145, "iq2_ks", 0, 0),
    row(146, "iq4_kss", 0, 0),
    row(151, "q8_kv", 0, 0),
    row(152, "iq5_ks", 0, 0),
    row(153, "iq2_kt", 0, 0),
    row(154, "iq3_kt", 0, 0),
    row(155, "iq4_kt", 0, 0),
    row(156, "iq3_ks", 0, 0),
    row(157, "iq2_kl", 0, 0),
    row(158, "iq1_kt", 0, 0),
    row(202, "q4_0_r8", 32, 18),
    row(206, "q5_0_r4", 32, 22),
    row(208, "q8_0_r8", 32, 34),
    row(210, "q2_k_r4", 256, 84),
    row(211, "q3_k_r4", 256, 110),
    row(212, "q4_k_r4", 256, 144),
    row(213, "q5_k_r4", 256, 176),
    row(214, "q6_k_r4", 256, 210),
    row(216, "iq2_xxs_r4", 256, 66),
    row(217, "iq2_xs_r4", 256, 74),
    row(218, "iq3_xxs_r4", 256, 98),
    row(219, "iq1_s_r4", 0, 0),
    row(220, "iq4_nl_r4", 32, 18),
    row(221, "iq3_s_r4", 256, 110),
    row(222, "iq2_s_r4", 256, 82),
    row(223, "iq4_xs_r8", 256, 136),
    row(229, "iq1_m_r4", 0, 0),
    row(230, "bf16_r16", 1, 2),
    row(233, "q6_0_r4", 32, 26),
    row(335, "iq2_bn_r4", 0, 0),
    row(337, "iq2_k_r4", 256, 76),
    row(338, "iq3_k_r4", 256, 110),
    row(339, "iq4_k_r4", 256, 144),
    row(340, "iq5_k_r4", 256, 176),
    row(344, "iq4_ks_r4", 0, 0),
    row(352, "iq5_ks_r4", 0, 0),
];

/// The type with this number; without block sizes when it is not known.
pub(super) fn tensor_type(id: u32) -> TensorType {
    let known = TYPES.iter().find(|kind| kind.id == id);
    known.copied().unwrap_or(row(id, "unknown", 0, 0))
}

impl TensorType {
    /// Bytes of a tensor of these dimensions, rows being whole blocks. `None` where only the offsets tell.
    pub(super) fn bytes(self, dims: &[u64]) -> Option<u64> {
        let block = u64::from(self.block_elements);
        if block == 0 {
            return None;
        }
        let (row, rows) = dims.split_first().unwrap_or((&1, &[]));
        let start = row
            .div_ceil(block)
            .checked_mul(u64::from(self.block_bytes))?;
        rows.iter()
            .try_fold(start, |product, dim| product.checked_mul(*dim))
    }
}

/// What `general.file_type` calls the mixture, as [`WEIGHT_FORMATS`] does.
///
/// Source: `llama_ftype` in llama.cpp `include/llama.h`.
const FILE_TYPES: &[(u64, &str)] = &[
    (0, "float32"),
    (1, "float16"),
    (2, "q4_0"),
    (3, "q4_1"),
    (7, "q8_0"),
    (8, "q5_0"),
    (9, "q5_1"),
    (10, "q2_k"),
    (11, "q3_k_s"),
    (12, "q3_k_m"),
    (13, "q3_k_l"),
    (14, "q4_k_s"),
    (15, "q4_k_m"),
    (16, "q5_k_s"),
    (17, "q5_k_m"),
    (18, "q6_k"),
    (19, "iq2_xxs"),
    (20, "iq2_xs"),
    (21, "q2_k_s"),
    (22, "iq3_xs"),
    (23, "iq3_xxs"),
    (24, "iq1_s"),
    (25, "iq4_nl"),
    (26, "iq3_s"),
    (27, "iq3_m"),
    (28, "iq2_s"),
    (29, "iq2_m"),
    (30, "iq4_xs"),
    (31, "iq1_m"),
    (32, "bf16"),
    (38, "mxfp4"),
    (39, "nvfp4"),
];

/// The listed format that most of the weights are in: the mixture that the file names, when it is one of the type that
/// holds most bytes; else that type's own; else the listed one of the nearest size. The second is whether the type has a
/// format of its own.
pub(super) fn listed_format(
    dominant: TensorType,
    bits: f64,
    file_type: Option<u64>,
) -> Option<(WeightFormat, bool)> {
    let name = dominant.name;
    let base = name.split_once("_r").map_or(name, |(base, _)| base);
    // The i-quants of one width are mixed with each other.
    let family = if base.starts_with("iq") && !base.starts_with("iq4") {
        base.get(..3).unwrap_or(base)
    } else {
        base
    };
    let named = FILE_TYPES
        .iter()
        .find(|(number, id)| Some(*number) == file_type && id.starts_with(family))
        .and_then(|(_, id)| weight_format(id));
    let medium = || weight_format(base).or_else(|| weight_format(&format!("{base}_m")));
    if let Some(format) = named.or_else(medium) {
        return Some((format, true));
    }
    let distance = |format: &&WeightFormat| {
        let listed = f64::from(format.mlp.block_bytes) * 8.0 / f64::from(format.mlp.block_elements);
        (listed - bits).abs()
    };
    let of_gguf = WEIGHT_FORMATS
        .iter()
        .filter(|format| format.label.starts_with("GGUF"));
    let nearest = of_gguf.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    Some((*nearest, false))
}
