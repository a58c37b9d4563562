//! Every way a number is written, as tables.

use kvscope::core::scenario::whole_number;
use kvscope::core::units::{Bytes, GIB, KIB, MIB, Tokens};
use kvscope::view::numbers::{ByteUnit, Numbers};
use kvscope::view::text::ENGLISH;

fn check(rows: &[(String, &str)]) {
    for (written, expected) in rows {
        assert_eq!(written, expected, "how a number is written");
    }
}

#[test]
fn amounts() {
    let n = ENGLISH.numbers();
    let request = Bytes(1_576_796_160);
    check(&[
        (n.bytes(request), "1.469 GiB"),
        (n.bytes_short(request), "1.47 GiB"),
        (n.bytes_decimal(request), "1.577 GB"),
        (n.bytes_exact(request), "1,576,796,160 B"),
        (n.bytes(Bytes(327_680)), "320 KiB"),
        (n.bytes(Bytes(0)), "0 B"),
        (n.bytes(Bytes(1)), "1 B"),
        (n.bytes(Bytes(1023)), "1,023 B"),
        (n.bytes(Bytes(KIB)), "1 KiB"),
        (n.bytes(Bytes(KIB + 1)), "1.001 KiB"),
        // Rounding never writes 1,024 of a unit.
        (n.bytes(Bytes(MIB - 1)), "1.000 MiB"),
        (n.bytes(Bytes(GIB - 1)), "1.000 GiB"),
        (n.bytes_short(Bytes(GIB - 1)), "1.00 GiB"),
        (n.bytes(Bytes(MIB - KIB)), "1,023 KiB"),
        (n.bytes_decimal(Bytes(999_999_999)), "1.000 GB"),
        (n.bytes_decimal(Bytes(1000)), "1 kB"),
        (n.bytes_short(Bytes(81_559 * MIB)), "79.6 GiB"),
        (n.bytes_decimal(Bytes(81_559 * MIB)), "85.52 GB"),
        // Three figures after rounding, not before it.
        (n.bytes_short(Bytes(9_996 * GIB / 1000)), "10.0 GiB"),
        (n.bytes_short(Bytes(99_960 * GIB / 1000)), "100 GiB"),
        (n.bytes_short(Bytes(123_456 * GIB / 1000)), "123 GiB"),
        // Sums stop at 2^64 and differences at 2^63: neither is an amount.
        (n.bytes_short(Bytes(u64::MAX)), "over 2^63 B"),
        (n.bytes_exact(Bytes(u64::MAX)), "over 2^63 B"),
        (n.bytes_decimal(Bytes(1 << 63)), "over 2^63 B"),
        (n.bytes_in(Bytes(1 << 63), ByteUnit::GiB), "over 2^63 B"),
        (n.bytes_short(Bytes(1 << 62)), "4,294,967,296 GiB"),
        (n.bytes_in(Bytes(394_199_040), ByteUnit::GiB), "0.37 GiB"),
        (n.bytes_in(Bytes(0), ByteUnit::GiB), "0 GiB"),
        (n.bytes_in(Bytes(327_680), ByteUnit::GiB), "320 KiB"),
        (n.bytes_in(Bytes(5_798_205_849), ByteUnit::GiB), "5.40 GiB"),
        (n.bytes_tick(Bytes(GIB / 2), ByteUnit::GiB), "0.5"),
        (n.bytes_tick(Bytes(40 * GIB), ByteUnit::GiB), "40"),
        (n.bytes_tick(Bytes(GIB / 4), ByteUnit::GiB), "0.25"),
    ]);
}

#[test]
fn counts_and_shares() {
    let n = ENGLISH.numbers();
    check(&[
        (n.integer(0), "0"),
        (n.integer(999), "999"),
        (n.integer(4_812), "4,812"),
        (n.integer(1_048_576), "1,048,576"),
        (n.tokens(Tokens(1)), "1 token"),
        (n.tokens(Tokens(0)), "0 tokens"),
        (n.tokens(Tokens(4_812)), "4,812 tokens"),
        (n.requests(1), "1 request"),
        (n.requests(89), "89 requests"),
        (n.times(4, "H100 80 GB"), "4 × H100 80 GB"),
        (n.times(1, "H100 80 GB"), "H100 80 GB"),
        (n.percent(1_310_720_000, 1_576_796_160, 2), "83.13 %"),
        (n.percent(1_310_720_000, 1_576_796_160, 1), "83.1 %"),
        (n.percent(1_310_720_000, 1_576_796_160, 0), "83 %"),
        (n.percent(0, 10, 1), "0 %"),
        (n.percent(0, 0, 1), "0 %"),
        (n.percent(1, 10_000, 1), "< 0.1 %"),
        (n.percent(1, 1000, 0), "< 1 %"),
        (n.percent(10, 10, 1), "100.0 %"),
        (n.percent(1, 200, 0), "1 %"),
        (n.ratio(9, 10, 2), "0.90"),
        (n.fraction(900_000), "0.9"),
        (n.fraction(880_000), "0.88"),
        (n.fraction(1_000_000), "1"),
        (n.fraction(1), "0.000001"),
        (n.fraction(0), "0"),
    ]);
}

#[test]
fn short_counts_read_back() {
    let n = ENGLISH.numbers();
    check(&[
        (n.compact(0), "0"),
        (n.compact(32_768), "32k"),
        (n.compact(32_000), "32,000"),
        (n.compact(131_072), "128k"),
        (n.compact(128_000), "125k"),
        (n.compact(1_048_576), "1M"),
        (n.compact(1_536), "1,536"),
    ]);
    for count in (0..5000)
        .chain((0..3000).map(|k| k * 1000))
        .chain((0..3000).map(|k| k * 1024))
    {
        assert_eq!(
            whole_number(&n.compact(count)),
            Some(count),
            "{}",
            n.compact(count)
        );
        assert_eq!(
            whole_number(&n.integer(count)),
            Some(count),
            "{}",
            n.integer(count)
        );
    }
}

#[test]
fn times() {
    let n = ENGLISH.numbers();
    check(&[
        (n.seconds(0.0), "0 s"),
        (n.seconds(-1.0), "0 s"),
        (n.seconds(f64::NAN), "0 s"),
        (n.seconds(0.000_012), "12 µs"),
        (n.seconds(0.0019), "1.9 ms"),
        (n.seconds(0.0189), "19 ms"),
        (n.seconds(0.9994), "999 ms"),
        (n.seconds(0.9996), "1.0 s"),
        (n.seconds(4.24), "4.2 s"),
        (n.seconds(59.4), "59 s"),
        (n.seconds(59.6), "1 min"),
        (n.seconds(72.0), "1 min 12 s"),
        (n.seconds(3599.7), "1 h"),
        (n.seconds(7500.0), "2 h 5 min"),
        (n.seconds(273_600.0), "3 d 4 h"),
    ]);
}

#[test]
fn another_language_has_other_separators() {
    let mut units = ENGLISH.units.clone();
    units.group_separator = "\u{202f}".into();
    units.decimal_separator = ",".into();
    units.gibibytes = "{n} Gio".into();
    let n = Numbers::new(&units);
    check(&[
        (n.integer(4_812), "4\u{202f}812"),
        (n.bytes(Bytes(1_576_796_160)), "1,469 Gio"),
        (n.percent(1, 3, 2), "33,33 %"),
    ]);
}
