//! Numbers and units.

use super::texts;

texts! {
    /// Separators, units and the order of a number and its unit.
    pub struct UnitText {
        group_separator: ",",
        decimal_separator: ".",
        bytes: "{n} B",
        kibibytes: "{n} KiB",
        mebibytes: "{n} MiB",
        gibibytes: "{n} GiB",
        kilobytes: "{n} kB",
        megabytes: "{n} MB",
        gigabytes: "{n} GB",
        too_many_bytes: "over 2^63 B",
        unknown: "?",
        percent: "{n} %",
        microseconds: "{n} µs",
        milliseconds: "{n} ms",
        seconds: "{n} s",
        minutes: "{n} min",
        hours: "{n} h",
        days: "{n} d",
        tokens: "{n} {n?token|tokens}",
        steps: "{n} {n?step|steps}",
        requests: "{n} {n?request|requests}",
        blocks: "{n} {n?block|blocks}",
        gpus: "{n} {n?GPU|GPUs}",
        times: "{n} × {what}",
        list_separator: ", ",
        less_than: "< {n}",
        or_more: "{n} or more",
        yes: "yes",
        no: "no",
    }
}
