//! A real run of vLLM 0.19 under load, replayed.

use std::path::PathBuf;
use std::sync::Arc;

use kvscope::core::gpus;
use kvscope::core::scenario::Scenario;
use kvscope::core::serve::arrivals::{Arrivals, Lengths, Workload};
use kvscope::core::serve::metrics::{Percentiles, Record};
use kvscope::core::serve::schedulers::{Scheduler, vllm::Vllm};
use kvscope::core::serve::step_time::StepTime;
use kvscope::core::serve::{PoolShape, Server, Simulation, trace};
use kvscope::core::setup::Setup;
use kvscope::core::speed::{Parallel, SpeedConstants, SpeedInputs};

/// The folder with the run, which is not part of this repository: the requests of
/// <https://github.com/casys-kaist/LLMServingSim> (MIT), `bench`, RTX 4090 with Llama-3.1-8B, as
/// `req_RTX4090_Llama-3.1-8B.jsonl`, and its counts of each second as `ts_RTX4090_Llama-3.1-8B.csv`.
const FOLDER: &str = "KVSCOPE_TRACES";

fn read(name: &str) -> Option<String> {
    let folder = PathBuf::from(std::env::var_os(FOLDER)?);
    Some(
        std::fs::read_to_string(folder.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}")),
    )
}

/// The three constants of the machine: shares of bandwidth and peak, and milliseconds of each step. Fitted on this run.
struct Constants {
    memory_efficiency: f64,
    compute_efficiency: f64,
    step_ms: f64,
}

const CONSTANTS: Constants = Constants {
    memory_efficiency: 0.88,
    compute_efficiency: 0.85,
    step_ms: 2.0,
};

fn step_time(constants: &Constants) -> StepTime {
    let mut scenario = Scenario::default();
    scenario.set("model", "llama-3.1-8b").expect("a preset");
    let model = &scenario.model.config;
    let gpu = gpus::get("rtx-4090").expect("an accelerator");
    let mut inputs = SpeedInputs::new(
        model,
        &scenario.weight_format,
        Setup::new(&scenario).formats,
        gpu,
        Parallel::tensor(1),
        1,
    );
    // 8,030,261,248 parameters, of which the embedding's 128,256 × 4,096 are looked up and the head's as many multiplied.
    inputs.num_head_params = 525_336_576.0;
    inputs.num_multiplied_params = 8_030_261_248.0 - inputs.num_head_params;
    inputs.weight_bytes = 2.0 * inputs.num_multiplied_params;
    let constants = SpeedConstants {
        memory_efficiency: constants.memory_efficiency,
        bf16_efficiency: constants.compute_efficiency,
        layer_us: 1000.0 * constants.step_ms / model.num_hidden_layers() as f64,
        prefill_layer_us: 0.0,
        sequence_us: 0.0,
        overlap_power: 100.0,
        ..SpeedConstants::default()
    };
    StepTime::new(&inputs, &constants)
}

/// What the run and its replay are compared by.
#[derive(Debug)]
struct Figures {
    first_token: Percentiles,
    per_token: Percentiles,
    latency: Percentiles,
    makespan: f64,
    running: f64,
    waiting: f64,
    occupancy: f64,
}

fn replay(text: &str, vllm: Vllm, constants: &Constants) -> (Figures, Vec<Record>, u64, u64) {
    let rows = trace::read(text)
        .unwrap_or_else(|error| panic!("{error:?}"))
        .rows;
    let server = Server {
        scheduler: Scheduler::Vllm(vllm),
        // 2,588 blocks, one of them the null block.
        pool: PoolShape::uniform(16, 2587),
        step_time: step_time(constants),
        max_model_len: None,
    };
    let workload = Workload {
        arrivals: Arrivals::Trace,
        num_requests: rows.len() as u64,
        lengths: Lengths::Trace(Arc::new(rows)),
        shared_prefix_tokens: 0,
        max_output_tokens: None,
        seed: 0,
    };
    let mut simulation =
        Simulation::new(server, &workload).unwrap_or_else(|error| panic!("{error:?}"));
    while !simulation.advance(1000).is_over {
        assert_eq!(simulation.audit(), Ok(()));
    }
    let report = simulation.report();
    let figures = Figures {
        first_token: report.time_to_first_token,
        per_token: report.time_per_output_token,
        latency: report.latency,
        makespan: report.makespan_seconds,
        running: report.mean_running,
        waiting: report.mean_waiting,
        occupancy: report.mean_occupancy,
    };
    (
        figures,
        simulation.records().collect(),
        report.preemptions,
        report.reused_tokens,
    )
}

/// The server of the run: 2,048 tokens a step, blocks as before 0.24.
fn vllm_0_19() -> Vllm {
    Vllm {
        max_num_batched_tokens: 2048,
        max_num_seqs: 256,
        unhashed_first: false,
        ..Vllm::default()
    }
}

fn real(requests: &str, seconds: &str) -> (Figures, Vec<(f64, f64)>) {
    let rows: Vec<serde_json::Value> = requests
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let number = |row: &serde_json::Value, key: &str| row[key].as_f64().expect("a number");
    let start = rows
        .iter()
        .map(|row| number(row, "queued_ts"))
        .fold(f64::INFINITY, f64::min);
    let of = |value: &dyn Fn(&serde_json::Value) -> f64| {
        Percentiles::of(rows.iter().map(value).collect())
    };
    let counts: Vec<Vec<f64>> = seconds
        .lines()
        .skip(1)
        .map(|line| {
            let cells = line.split(',');
            cells.map(|cell| cell.parse().expect("a number")).collect()
        })
        .collect();
    let mean =
        |column: usize| counts.iter().map(|row| row[column]).sum::<f64>() / counts.len() as f64;
    let figures = Figures {
        first_token: of(&|row| number(row, "first_token_ts") - number(row, "queued_ts")),
        per_token: of(&|row| {
            (number(row, "last_token_ts") - number(row, "first_token_ts"))
                / (number(row, "output_toks") - 1.0)
        }),
        latency: of(&|row| number(row, "last_token_ts") - number(row, "queued_ts")),
        makespan: rows
            .iter()
            .map(|row| number(row, "last_token_ts") - start)
            .fold(0.0, f64::max),
        running: mean(3),
        waiting: mean(4),
        occupancy: mean(5) / 100.0,
    };
    let ends = rows
        .iter()
        .map(|row| {
            (
                number(row, "first_token_ts") - start,
                number(row, "last_token_ts") - start,
            )
        })
        .collect();
    (figures, ends)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn a_real_run_of_vllm() {
    let (Some(requests), Some(seconds)) = (
        read("req_RTX4090_Llama-3.1-8B.jsonl"),
        read("ts_RTX4090_Llama-3.1-8B.csv"),
    ) else {
        println!("skipped: set {FOLDER} to the folder with the run");
        return;
    };
    let (real, ends) = real(&requests, &seconds);
    let (replay, records, preemptions, reused) = replay(&requests, vllm_0_19(), &CONSTANTS);
    let rows = [
        (
            "time to first token, mean",
            real.first_token.mean,
            replay.first_token.mean,
        ),
        (
            "time to first token, p90",
            real.first_token.p90,
            replay.first_token.p90,
        ),
        (
            "time per output token, mean",
            real.per_token.mean,
            replay.per_token.mean,
        ),
        (
            "time per output token, p90",
            real.per_token.p90,
            replay.per_token.p90,
        ),
        ("latency, mean", real.latency.mean, replay.latency.mean),
        ("latency, p90", real.latency.p90, replay.latency.p90),
        ("makespan", real.makespan, replay.makespan),
        ("running, mean", real.running, replay.running),
        ("waiting, mean", real.waiting, replay.waiting),
        ("occupancy, mean", real.occupancy, replay.occupancy),
    ];
    for (what, real, replay) in rows {
        println!(
            "{what}: {real:.4} real, {replay:.4} replayed, {:+.1} %",
            100.0 * (replay / real - 1.0)
        );
    }
    let errors = |of: &dyn Fn(&Record) -> Option<f64>, real: &dyn Fn(&(f64, f64)) -> f64| {
        let pairs = records.iter().zip(&ends);
        median(
            pairs
                .map(|(record, ends)| (of(record).expect("finished") - real(ends)).abs())
                .collect(),
        )
    };
    println!(
        "median error of a request: first token {:.2} s, end {:.2} s; {preemptions} preemptions, {reused} tokens found",
        errors(&|record| record.first_token, &|ends| ends.0),
        errors(&|record| record.end, &|ends| ends.1),
    );
    for (what, real, replay) in rows {
        assert!(
            (replay / real - 1.0).abs() <= 0.1,
            "{what}: {real} real, {replay} replayed"
        );
    }
}
