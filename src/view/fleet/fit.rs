//! Whether a scenario fits, what would help, and on what it fits.

use crate::core::fit::fixes::{Change, Fix};
use crate::core::fit::hardware::{Hardware, MAX_GPUS};
use crate::core::fit::verdict::{Verdict, refusals_of};
use crate::core::report::Report;
use crate::core::scenario::Scenario;
use crate::core::units::Bytes;
use crate::view::table::{Cell, Table};
use crate::view::text::{Messages, fill};
use crate::view::{notes, sentence};

fn amount(bytes: i64, messages: &Messages) -> String {
    messages.numbers().bytes_short(Bytes(bytes.unsigned_abs()))
}

/// Whether it fits, and by how much.
pub fn verdict(scenario: &Scenario, report: &Report, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let free = amount(report.hbm.free_bytes, messages);
    let reasons = refusals_of(scenario);
    let reasons = reasons
        .iter()
        .map(|reason| notes::warning(reason, messages));
    let reasons = reasons.collect::<Vec<_>>().join(&text.fit_reasons_between);
    let values: &[(&str, &str)] = &[
        ("gpus", &sentence::gpus(scenario, report, messages)),
        ("spare", &free),
        ("missing", &free),
        ("n", &numbers.integer(report.fit.max_concurrency)),
        ("reasons", &reasons),
        ("asked", &numbers.integer(scenario.num_seqs.into())),
        ("mean", &numbers.integer(report.fit.max_concurrency_mean)),
    ];
    let template = match report.fit.verdict {
        Verdict::Unknown => &text.fit_unknown,
        Verdict::Refused => &text.fit_refused,
        Verdict::Missing => &text.fit_no,
        Verdict::Waits => &text.fit_waits,
        Verdict::Fits => &text.fit_yes,
    };
    fill(template, values)
}

/// A number of one kind of GPU and its split.
fn split(hardware: &Hardware, messages: &Messages) -> String {
    let numbers = messages.numbers();
    let template = if hardware.pipeline_parallel_size <= 1 {
        &messages.fleet.fit_split_tensor
    } else {
        &messages.fleet.fit_split_both
    };
    fill(
        template,
        &[
            (
                "gpus",
                &numbers.times(hardware.num_gpus, hardware.gpu.short),
            ),
            (
                "tensor",
                &numbers.integer(hardware.tensor_parallel_size.into()),
            ),
            (
                "pipeline",
                &numbers.integer(hardware.pipeline_parallel_size.into()),
            ),
        ],
    )
}

/// The fewest GPUs of the scenario's kind.
pub fn fewest(hardware: Option<&Hardware>, messages: &Messages) -> String {
    let text = &messages.fleet;
    match hardware {
        Some(hardware) => fill(&text.fit_fewest, &[("split", &split(hardware, messages))]),
        None => {
            let n = messages.numbers().integer(MAX_GPUS.into());
            fill(&text.fit_fewest_none, &[("n", &n)])
        }
    }
}

/// What a fix changes.
pub fn change(fix: &Fix, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    match fix.change {
        Change::CacheFormat(format) => fill(&text.fix_cache, &[("format", format.k.id)]),
        Change::Split {
            tensor_parallel_size,
            pipeline_parallel_size,
        } => {
            let hardware = Hardware {
                gpu: fix.scenario.gpu,
                tensor_parallel_size,
                pipeline_parallel_size,
                num_gpus: fix.num_gpus,
                memory: Bytes::ZERO,
                max_concurrency: fix.max_concurrency,
                spare_bytes: fix.spare_bytes,
            };
            fill(&text.fix_split, &[("split", &split(&hardware, messages))])
        }
        Change::MaxModelLen(tokens) => fill(
            &text.fix_max_model_len,
            &[("n", &numbers.integer(tokens.0))],
        ),
        Change::Context(tokens) => fill(&text.fix_context, &[("n", &numbers.integer(tokens.0))]),
        Change::Thinking(tokens) => fill(&text.fix_thinking, &[("n", &numbers.integer(tokens.0))]),
        Change::Requests(count) => {
            fill(&text.fix_requests, &[("n", &numbers.integer(count.into()))])
        }
        Change::Gpu(gpu) => numbers.times(fix.num_gpus, gpu.short),
    }
}

/// What comes of a fix.
pub fn outcome(fix: &Fix, messages: &Messages) -> String {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let bytes = amount(fix.spare_bytes, messages);
    let values: &[(&str, &str)] = &[
        ("gpus", &numbers.times(fix.num_gpus, fix.scenario.gpu.short)),
        ("spare", &bytes),
        ("missing", &bytes),
        ("n", &numbers.integer(fix.max_concurrency)),
    ];
    let template = match fix.verdict {
        Verdict::Fits => &text.fix_fits,
        Verdict::Missing | Verdict::Refused | Verdict::Waits | Verdict::Unknown => &text.fix_still,
    };
    fill(template, values)
}

/// The accelerators on which it fits.
pub fn table(fitting: &[Hardware], messages: &Messages) -> Table {
    let (text, numbers) = (&messages.fleet, messages.numbers());
    let row = |hardware: &Hardware| {
        let spare = u64::try_from(hardware.spare_bytes).unwrap_or(0);
        let count = |n: u64| Cell::Count(n, numbers.integer(n));
        let bytes = |bytes: Bytes| Cell::Count(bytes.0, numbers.bytes_short(bytes));
        vec![
            Cell::Words(hardware.gpu.name.to_owned()),
            count(hardware.num_gpus),
            bytes(hardware.memory),
            count(hardware.max_concurrency),
            bytes(Bytes(spare)),
        ]
    };
    let head = [
        &text.fitting_gpu,
        &text.fitting_gpus,
        &text.fitting_memory,
        &text.fitting_concurrency,
        &text.fitting_spare,
    ];
    Table {
        head: head.map(|name| name.to_string()).to_vec(),
        rows: fitting.iter().map(row).collect(),
    }
}
