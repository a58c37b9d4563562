//! The only formatter: every number on the page, in a chart, a table or a sentence is written here.

use crate::core::units::{Bytes, GB, GIB, KIB, MIB, Tokens};

use super::text::{UnitText, fill};

/// Writes numbers in one language. Amounts are rounded half up from the exact integer, never from a float.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    units: &'a UnitText,
}

/// The unit of an amount, for labels that are compared and so share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteUnit {
    /// 1.
    B,
    /// 2^10.
    KiB,
    /// 2^20.
    MiB,
    /// 2^30.
    GiB,
    /// 10^3.
    KB,
    /// 10^6.
    MB,
    /// 10^9.
    GB,
}

impl ByteUnit {
    const BINARY: [Self; 4] = [Self::B, Self::KiB, Self::MiB, Self::GiB];
    const DECIMAL: [Self; 4] = [Self::B, Self::KB, Self::MB, Self::GB];

    /// Bytes of one.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::B => 1,
            Self::KiB => KIB,
            Self::MiB => MIB,
            Self::GiB => GIB,
            Self::KB => GB / 1_000_000,
            Self::MB => GB / 1_000,
            Self::GB => GB,
        }
    }

    /// The largest decimal unit of which `bytes` is at least one.
    pub fn decimal_of(bytes: Bytes) -> Self {
        let fits = |unit: &Self| unit.bytes() <= bytes.0;
        Self::DECIMAL
            .into_iter()
            .rev()
            .find(fits)
            .unwrap_or(Self::B)
    }

    /// The largest binary unit of which `bytes` is at least one.
    pub fn of(bytes: Bytes) -> Self {
        let fits = |unit: &Self| unit.bytes() <= bytes.0;
        Self::BINARY.into_iter().rev().find(fits).unwrap_or(Self::B)
    }
}

/// `part / whole` in units of `10^-decimals`, rounded half up.
fn scaled_ratio(part: u64, whole: u64, decimals: u32) -> u128 {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    (part * 10_u128.pow(decimals.min(12)) * 2 + whole) / (whole * 2)
}

impl<'a> Numbers<'a> {
    /// With the separators and units of a language.
    pub fn new(units: &'a UnitText) -> Self {
        Self { units }
    }

    /// `4,812`.
    pub fn integer(&self, n: u64) -> String {
        self.grouped(&n.to_string())
    }

    fn grouped(&self, digits: &str) -> String {
        let mut res = String::with_capacity(digits.len() * 4 / 3 + 1);
        for (idx, digit) in digits.chars().enumerate() {
            if 0 < idx && (digits.len() - idx).is_multiple_of(3) {
                res.push_str(&self.units.group_separator);
            }
            res.push(digit);
        }
        res
    }

    /// A number of `10^-decimals`: `decimal(1469, 3)` is `1.469`.
    fn decimal(&self, scaled: u128, decimals: u32) -> String {
        let one = 10_u128.pow(decimals.min(12));
        let whole = self.grouped(&(scaled / one).to_string());
        if decimals == 0 {
            return whole;
        }
        let fraction = format!("{:0width$}", scaled % one, width = decimals as usize);
        format!("{whole}{}{fraction}", self.units.decimal_separator)
    }

    /// A ratio of integers with so many decimals: `0.90`.
    pub fn ratio(&self, part: u64, whole: u64, decimals: u32) -> String {
        self.decimal(scaled_ratio(part, whole, decimals), decimals)
    }

    /// A share as an engine's flag has it, without zeros at the end: `0.9`, `0.88`, `1`.
    pub fn fraction(&self, millionths: u32) -> String {
        let (mut scaled, mut decimals) = (u128::from(millionths), 6);
        while 0 < decimals && scaled.is_multiple_of(10) {
            scaled /= 10;
            decimals -= 1;
        }
        self.decimal(scaled, decimals)
    }

    /// Four figures, for headlines: `1.469 GiB`, `320 KiB`, `32.63 GiB`. Whole when it is exactly whole.
    pub fn bytes(&self, bytes: Bytes) -> String {
        self.amount(bytes, 4, &ByteUnit::BINARY)
    }

    /// Three figures, for sentences and labels: `1.47 GiB`, `32.6 GiB`, `131 GiB`.
    pub fn bytes_short(&self, bytes: Bytes) -> String {
        self.amount(bytes, 3, &ByteUnit::BINARY)
    }

    /// Four figures in a maker's unit: `1.577 GB`, `85.52 GB`.
    pub fn bytes_decimal(&self, bytes: Bytes) -> String {
        self.amount(bytes, 4, &ByteUnit::DECIMAL)
    }

    /// All of them: `1,576,796,160 B`.
    pub fn bytes_exact(&self, bytes: Bytes) -> String {
        if bytes.is_beyond() {
            return self.units.too_many_bytes.to_string();
        }
        fill(&self.units.bytes, &[("n", &self.integer(bytes.0))])
    }

    /// In this unit, so that labels of one figure compare: two decimals below 10, one below 100, none above. Below a tenth
    /// of the unit in the amount's own, where its figures are.
    pub fn bytes_in(&self, bytes: Bytes, unit: ByteUnit) -> String {
        if Bytes::ZERO < bytes && bytes.0 < unit.bytes() / 10 || bytes.is_beyond() {
            return self.bytes_short(bytes);
        }
        self.with_unit(&self.figures(bytes, unit, 3), unit)
    }

    /// The number alone, for the ticks of an axis: as few decimals as are exact, at most two.
    pub fn bytes_tick(&self, bytes: Bytes, unit: ByteUnit) -> String {
        let is_exact = |decimals: &u32| {
            (u128::from(bytes.0) * 10_u128.pow(*decimals)).is_multiple_of(unit.bytes().into())
        };
        let decimals = (0..2).find(is_exact).unwrap_or(2);
        self.decimal(scaled_ratio(bytes.0, unit.bytes(), decimals), decimals)
    }

    /// [`Self::bytes_tick`] with the unit: `80 GiB`.
    pub fn bytes_tick_with_unit(&self, bytes: Bytes, unit: ByteUnit) -> String {
        if bytes.is_beyond() {
            return self.units.too_many_bytes.to_string();
        }
        self.with_unit(&self.bytes_tick(bytes, unit), unit)
    }

    /// The largest unit in which the rounded amount is at least one.
    fn amount(&self, bytes: Bytes, n_figures: u32, units: &[ByteUnit; 4]) -> String {
        if bytes.is_beyond() {
            return self.units.too_many_bytes.to_string();
        }
        let [smallest, larger @ ..] = units;
        let mut unit = *smallest;
        for next in larger {
            // What rounds to 1,024 of one unit is written as 1 of the next.
            if scaled_ratio(bytes.0, unit.bytes(), 0) < scaled_ratio(next.bytes(), unit.bytes(), 0)
            {
                break;
            }
            unit = *next;
        }
        self.with_unit(&self.figures(bytes, unit, n_figures), unit)
    }

    /// The number in `unit` with so many figures, more when the whole part has more; whole when it is exactly whole.
    fn figures(&self, bytes: Bytes, unit: ByteUnit, n_figures: u32) -> String {
        if bytes.0.is_multiple_of(unit.bytes()) {
            return self.integer(bytes.0 / unit.bytes());
        }
        let mut decimals = n_figures.saturating_sub(1);
        // As many as the rounded number leaves room for: 9.996 has three figures as 10.0.
        while 0 < decimals
            && 10_u128.pow(n_figures) <= scaled_ratio(bytes.0, unit.bytes(), decimals)
        {
            decimals -= 1;
        }
        self.ratio(bytes.0, unit.bytes(), decimals)
    }

    fn with_unit(&self, n: &str, unit: ByteUnit) -> String {
        let template = match unit {
            ByteUnit::B => &self.units.bytes,
            ByteUnit::KiB => &self.units.kibibytes,
            ByteUnit::MiB => &self.units.mebibytes,
            ByteUnit::GiB => &self.units.gibibytes,
            ByteUnit::KB => &self.units.kilobytes,
            ByteUnit::MB => &self.units.megabytes,
            ByteUnit::GB => &self.units.gigabytes,
        };
        fill(template, &[("n", n)])
    }

    /// `part` of `whole` in percent with so many decimals: `83.13 %`. Something is never written as nothing: `< 0.1 %`.
    pub fn percent(&self, part: u64, whole: u64, decimals: u32) -> String {
        let scaled = scaled_ratio(part, whole, decimals + 2);
        let n = match (part, scaled) {
            _ if Bytes(whole).is_beyond() => self.units.unknown.to_string(),
            (0, _) => self.integer(0),
            (_, 0) => fill(&self.units.less_than, &[("n", &self.decimal(1, decimals))]),
            (_, scaled) => self.decimal(scaled, decimals),
        };
        fill(&self.units.percent, &[("n", &n)])
    }

    /// `4,812 tokens`, `1 token`.
    pub fn tokens(&self, n: Tokens) -> String {
        fill(&self.units.tokens, &[("n", &self.integer(n.0))])
    }

    /// `64 requests`.
    pub fn requests(&self, n: u64) -> String {
        fill(&self.units.requests, &[("n", &self.integer(n))])
    }

    /// `301 blocks`.
    pub fn blocks(&self, n: u64) -> String {
        fill(&self.units.blocks, &[("n", &self.integer(n))])
    }

    /// `4 × H100 80 GB`, or the name alone for one.
    pub fn times(&self, n: u64, what: &str) -> String {
        if n == 1 {
            return what.to_owned();
        }
        fill(
            &self.units.times,
            &[("n", &self.integer(n)), ("what", what)],
        )
    }

    /// A short count that reads back as the same number: `32k` is 32,768 and `1M` is 1,048,576; 32,000 stays `32,000`.
    pub fn compact(&self, n: u64) -> String {
        match n {
            0 => self.integer(0),
            n if n.is_multiple_of(MIB) => format!("{}M", self.integer(n / MIB)),
            n if n.is_multiple_of(KIB) => format!("{}k", self.integer(n / KIB)),
            n => self.integer(n),
        }
    }

    /// An estimate of time with two or three figures: `19 ms`, `4.2 s`, `1 min 12 s`, `2 h 5 min`, `3 d 4 h`.
    pub fn seconds(&self, seconds: f64) -> String {
        let unit = |template: &str, n: String| fill(template, &[("n", &n)]);
        if !seconds.is_finite() || seconds <= 0.0 {
            return unit(&self.units.seconds, self.integer(0));
        }
        // Below 2^53 µs (285 years) the cast is exact after rounding; above it saturates.
        let micros = (seconds * 1e6).round() as u64;
        let two_figures = |micros: u64, per_unit: u64| {
            let decimals = u32::from(scaled_ratio(micros, per_unit, 1) < 100);
            self.ratio(micros, per_unit, decimals)
        };
        match micros {
            0..=999 => unit(&self.units.microseconds, self.integer(micros.max(1))),
            1_000..=999_499 => unit(&self.units.milliseconds, two_figures(micros, 1_000)),
            999_500..=59_499_999 => unit(&self.units.seconds, two_figures(micros, 1_000_000)),
            _ => {
                let whole_seconds = (micros + 500_000) / 1_000_000;
                let (large, small, n_large, n_small) = match whole_seconds {
                    0..=3_599 => (
                        &self.units.minutes,
                        &self.units.seconds,
                        whole_seconds / 60,
                        whole_seconds % 60,
                    ),
                    3_600..=86_399 => (
                        &self.units.hours,
                        &self.units.minutes,
                        whole_seconds / 3_600,
                        whole_seconds % 3_600 / 60,
                    ),
                    _ => (
                        &self.units.days,
                        &self.units.hours,
                        whole_seconds / 86_400,
                        whole_seconds % 86_400 / 3_600,
                    ),
                };
                let large = unit(large, self.integer(n_large));
                if n_small == 0 {
                    large
                } else {
                    format!("{large} {}", unit(small, self.integer(n_small)))
                }
            }
        }
    }

    /// Items as a list: `a, b, c`.
    pub fn list<'b>(&self, items: impl IntoIterator<Item = &'b str>) -> String {
        let mut res = String::new();
        for item in items {
            if !res.is_empty() {
                res.push_str(&self.units.list_separator);
            }
            res.push_str(item);
        }
        res
    }
}
