//! Tokens, bytes, element formats and bounds. The only file of the core that may say 1024.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::Serialize;

/// 2^10 bytes.
pub const KIB: u64 = 1024;
/// 2^20 bytes.
pub const MIB: u64 = 1024 * KIB;
/// 2^30 bytes.
pub const GIB: u64 = 1024 * MIB;
/// 10^9 bytes, the unit on a maker's label.
pub const GB: u64 = 1_000_000_000;
/// The largest integer that a JSON number holds exactly in JavaScript: 2^53 − 1.
pub const MAX_EXACT_INTEGER: u64 = (1 << 53) - 1;

/// A count of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Tokens(pub u64);

/// An amount of memory in bytes. Sums and products saturate at `u64::MAX`, which then means "more than can be said" and
/// stays that whatever is taken away from it; see [`Self::is_beyond`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `count` times this amount.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// This amount less `other`, or nothing when `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        if self.0 == u64::MAX {
            return self;
        }
        Self(self.0.saturating_sub(other.0))
    }

    /// One of `parts` equal parts, rounded up.
    #[must_use]
    pub fn part_of(self, parts: u64) -> Self {
        if self.0 == u64::MAX {
            return self;
        }
        Self(self.0.div_ceil(parts.max(1)))
    }

    /// Whether this is 2^63 or more, or the largest difference that has a sign: what was worked out with it is not exact.
    pub const fn is_beyond(self) -> bool {
        i64::MAX as u64 <= self.0
    }

    /// This amount less `other`, with its sign.
    pub fn signed_difference(self, other: Self) -> i64 {
        let res = i128::from(self.0) - i128::from(other.0);
        i64::try_from(res).unwrap_or(if res < 0 { i64::MIN } else { i64::MAX })
    }

    /// The whole number of GiB as bytes, from hundredths of a GiB, rounded down.
    pub const fn from_gib_hundredths(hundredths: u64) -> Self {
        Self(GIB / 100 * hundredths + GIB % 100 * hundredths / 100)
    }

    /// An amount in MiB, as drivers print it.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib * MIB)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl Tokens {
    /// Sum, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Difference, or zero when `other` is larger.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Whole blocks of `block_size` tokens that hold this many tokens, rounded up. A block size of zero counts as one.
    pub fn blocks(self, block_size: Self) -> u64 {
        self.0.div_ceil(block_size.0.max(1))
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a storage format keeps beside its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Nothing, or scales that lie inside the blocks.
    InBlock,
    /// One fp32 scale for each head and token, for K and for V: 4 bytes.
    PerTokenHead,
    /// One header of 8 bytes for each row of one head (ik_llama.cpp `q8_KV`).
    PerRow,
    /// The latent row of vLLM's `fp8_ds_mla`: fp8 latent, one fp32 scale per 128 of it, bf16 rotary key.
    LatentTile,
}

/// How elements are stored: `block_bytes` bytes hold `block_elements` elements. Fractions are never rounded;
/// an amount that is not whole blocks is rounded up once, at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementFormat {
    /// The name in links, JSON and engines' flags.
    pub id: &'static str,
    /// Bytes of one block.
    pub block_bytes: u32,
    /// Elements of one block.
    pub block_elements: u32,
    /// What lies beside the elements.
    pub scale: Scale,
}

impl ElementFormat {
    const fn new(id: &'static str, block_bytes: u32, block_elements: u32) -> Self {
        Self {
            id,
            block_bytes,
            block_elements,
            scale: Scale::InBlock,
        }
    }

    /// Bytes of `elements` elements, without what lies beside them. Exact for whole blocks, else rounded up.
    pub fn bytes(&self, elements: u64) -> Bytes {
        Bytes(scaled(
            elements,
            u64::from(self.block_bytes),
            u64::from(self.block_elements),
        ))
    }

    /// Bytes of `rows` rows of `heads × width` elements, with their scales.
    pub fn row_bytes(&self, rows: u64, heads: u64, width: u64) -> Bytes {
        let elements = rows.saturating_mul(heads).saturating_mul(width);
        let beside = match self.scale {
            Scale::InBlock | Scale::LatentTile => 0,
            Scale::PerTokenHead => rows.saturating_mul(heads).saturating_mul(4),
            Scale::PerRow if elements == 0 => 0,
            Scale::PerRow => rows.saturating_mul(heads).saturating_mul(8),
        };
        self.bytes(elements) + Bytes(beside)
    }

    /// Elements a row must be a multiple of, for its blocks to be whole.
    pub fn is_whole(&self, elements: u64) -> bool {
        elements.is_multiple_of(u64::from(self.block_elements.max(1)))
    }
}

/// The storage formats of a cache.
///
/// Source: GGML block layouts (`ggml-common.h`: a q8_0 block is 32 int8 and one f16 scale, 34 bytes),
/// OCP MX specification 1.0 (mxfp4: 32 × 4 bit + 8 bit), NVIDIA nvfp4 (16 × 4 bit + one fp8 scale).
pub mod formats {
    use super::{ElementFormat, Scale};

    /// IEEE single.
    pub const F32: ElementFormat = ElementFormat::new("float32", 4, 1);
    /// IEEE half.
    pub const F16: ElementFormat = ElementFormat::new("float16", 2, 1);
    /// Brain float.
    pub const BF16: ElementFormat = ElementFormat::new("bf16", 2, 1);
    /// 8-bit float with a scale per tensor, which adds nothing.
    pub const FP8: ElementFormat = ElementFormat::new("fp8", 1, 1);
    /// 8-bit integer with a scale per tensor.
    pub const INT8: ElementFormat = ElementFormat::new("int8", 1, 1);
    /// GGML q8_0.
    pub const Q8_0: ElementFormat = ElementFormat::new("q8_0", 34, 32);
    /// GGML q5_1.
    pub const Q5_1: ElementFormat = ElementFormat::new("q5_1", 24, 32);
    /// GGML q5_0.
    pub const Q5_0: ElementFormat = ElementFormat::new("q5_0", 22, 32);
    /// GGML q4_1.
    pub const Q4_1: ElementFormat = ElementFormat::new("q4_1", 20, 32);
    /// GGML q4_0.
    pub const Q4_0: ElementFormat = ElementFormat::new("q4_0", 18, 32);
    /// GGML iq4_nl.
    pub const IQ4_NL: ElementFormat = ElementFormat::new("iq4_nl", 18, 32);
    /// NVIDIA 4-bit float, one fp8 scale per 16.
    pub const NVFP4: ElementFormat = ElementFormat::new("nvfp4", 9, 16);
    /// OCP 4-bit float, one 8-bit exponent per 32.
    pub const MXFP4: ElementFormat = ElementFormat::new("mxfp4", 17, 32);
    /// vLLM `fp8_per_token_head`.
    pub const FP8_PER_TOKEN_HEAD: ElementFormat = ElementFormat {
        scale: Scale::PerTokenHead,
        ..ElementFormat::new("fp8_per_token_head", 1, 1)
    };
    /// vLLM `int8_per_token_head`.
    pub const INT8_PER_TOKEN_HEAD: ElementFormat = ElementFormat {
        scale: Scale::PerTokenHead,
        ..ElementFormat::new("int8_per_token_head", 1, 1)
    };
    /// vLLM `fp8_ds_mla`: 656 bytes for a row of 512 + 64.
    pub const FP8_DS_MLA: ElementFormat = ElementFormat {
        scale: Scale::LatentTile,
        ..ElementFormat::new("fp8_ds_mla", 1, 1)
    };
    /// ik_llama.cpp `q8_KV`.
    pub const Q8_KV: ElementFormat = ElementFormat {
        scale: Scale::PerRow,
        ..ElementFormat::new("q8_KV", 1, 1)
    };
    /// ik_llama.cpp `q6_0`.
    pub const Q6_0: ElementFormat = ElementFormat::new("q6_0", 26, 32);

    /// Every format a cache can be kept in, in the order of the page's menu.
    pub const CACHE: &[ElementFormat] = &[
        BF16,
        F16,
        F32,
        FP8,
        INT8,
        FP8_PER_TOKEN_HEAD,
        INT8_PER_TOKEN_HEAD,
        FP8_DS_MLA,
        NVFP4,
        MXFP4,
        Q8_0,
        Q5_1,
        Q5_0,
        Q4_1,
        Q4_0,
        IQ4_NL,
        Q8_KV,
        Q6_0,
    ];

    /// The cache format with this id, or with a name that engines use for it.
    pub fn cache_format(id: &str) -> Option<ElementFormat> {
        let id = match id {
            "bfloat16" => "bf16",
            "f16" | "fp16" | "half" => "float16",
            "f32" | "fp32" => "float32",
            "fp8_e4m3" | "fp8_e5m2" | "fp8_inc" => "fp8",
            other => other,
        };
        CACHE.iter().find(|format| format.id == id).copied()
    }
}

/// The storage of K and of V, which may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvFormat {
    /// Format of K, of latent rows and of index keys.
    pub k: ElementFormat,
    /// Format of V.
    pub v: ElementFormat,
}

impl KvFormat {
    /// One format for both.
    pub const fn both(format: ElementFormat) -> Self {
        Self {
            k: format,
            v: format,
        }
    }
}

/// What a bounded number may be. The slider, the field, the link parser and the error text all read this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Smallest allowed value.
    pub min: u64,
    /// Largest allowed value.
    pub max: u64,
    /// The value of the default scenario.
    pub default: u64,
    /// Whether the range spans decades, so that a slider is logarithmic.
    pub is_log: bool,
}

impl Bounds {
    /// Bounds of a number whose slider is logarithmic.
    pub const fn log(min: u64, max: u64, default: u64) -> Self {
        Self {
            min,
            max,
            default,
            is_log: true,
        }
    }

    /// Whether `value` is allowed.
    pub fn contains(&self, value: u64) -> bool {
        self.min <= value && value <= self.max
    }
}

/// A share of a whole, in millionths: 0.9 is 900,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(pub u32);

impl Share {
    /// The whole.
    pub const ONE: Self = Self(1_000_000);

    /// This share of `bytes`, rounded down.
    pub fn of(self, bytes: Bytes) -> Bytes {
        let res = u128::from(bytes.0) * u128::from(self.0) / u128::from(Self::ONE.0);
        Bytes(u64::try_from(res).unwrap_or(u64::MAX))
    }

    /// As a fraction of one.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }

    /// The nearest share to a fraction from 0 to 1; `None` outside that range or for NaN.
    pub fn from_fraction(fraction: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&fraction) {
            return None;
        }
        // In range by the check above, so the cast cannot truncate.
        Some(Self((fraction * 1e6).round() as u32))
    }

    /// Reads `0.9`, `.9`, `1` or `0.874`, rounded half up to millionths; `None` for anything else and above 1.
    ///
    /// ```
    /// # use kvscope::core::units::Share;
    /// assert_eq!(Share::from_text("0.9"), Some(Share(900_000)));
    /// assert_eq!(Share::from_text("1.1"), None);
    /// ```
    pub fn from_text(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let mut digits = whole.bytes().chain(fraction.bytes());
        if whole.len() + fraction.len() == 0 || !digits.all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digit =
            |idx: usize| u32::from(fraction.as_bytes().get(idx).map_or(0, |byte| byte - b'0'));
        let millionths =
            (0..6).fold(0, |sum, idx| sum * 10 + digit(idx)) + u32::from(5 <= digit(6));
        let ones = whole.bytes().fold(0_u32, |sum, byte| {
            sum.saturating_mul(10)
                .saturating_add(u32::from(byte - b'0'))
        });
        let share = ones.saturating_mul(Self::ONE.0).saturating_add(millionths);
        (share <= Self::ONE.0).then_some(Self(share))
    }
}

/// As [`Share::from_text`] reads it: `0.9`, `0.874`, `1`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % Self::ONE.0);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{}{point}{fraction}", self.0 / Self::ONE.0)
    }
}

/// `number × factor ÷ divisor`, rounded up; `u64::MAX` when it is more. A divisor of zero counts as one.
pub fn scaled(number: u64, factor: u64, divisor: u64) -> u64 {
    match number.checked_mul(factor) {
        // Most formats have blocks of one element, and a division takes longer than everything else here.
        Some(product) if divisor <= 1 => product,
        Some(product) => product.div_ceil(divisor),
        None => {
            let product = u128::from(number) * u128::from(factor);
            u64::try_from(product.div_ceil(u128::from(divisor.max(1)))).unwrap_or(u64::MAX)
        }
    }
}

/// These numbers from small to large, each once. The lists here are short, and the standard library's sorting is more
/// code than a chart.
pub fn ascending(numbers: &[u64]) -> Vec<u64> {
    let mut res = Vec::with_capacity(numbers.len());
    for number in numbers {
        let at = res.partition_point(|known| known < number);
        if res.get(at) != Some(number) {
            res.insert(at, *number);
        }
    }
    res
}
