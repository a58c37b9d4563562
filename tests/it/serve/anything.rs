//! Any server and any workload give an error or an end, never a panic, a hang or wrong books.

use std::sync::Arc;

use kvscope::core::serve::arrivals::{Arrivals, Lengths, Spread, Workload};
use kvscope::core::serve::schedulers::Scheduler;
use kvscope::core::serve::schedulers::llama_cpp::LlamaCpp;
use kvscope::core::serve::schedulers::sglang::Sglang;
use kvscope::core::serve::schedulers::tensorrt_llm::{CapacityPolicy, TensorRtLlm};
use kvscope::core::serve::schedulers::vllm::Vllm;
use kvscope::core::serve::trace::TraceRow;
use kvscope::core::serve::{BlockKind, PoolShape, Server, Simulation};
use proptest::prelude::*;

use super::schedule::step_time;

/// Mostly small, at times nothing or very much.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1..60_u64, 1 => Just(0), 1 => Just(u64::MAX), 1 => 1..100_000_u64]
}

fn scheduler() -> impl Strategy<Value = Scheduler> {
    let vllm = (number(), number(), any::<[bool; 4]>(), 0..1100_u64).prop_map(
        |(max_num_seqs, max_num_batched_tokens, flags, watermark_thousandths)| {
            Scheduler::Vllm(Vllm {
                max_num_seqs,
                max_num_batched_tokens,
                enable_chunked_prefill: flags[0],
                enable_prefix_caching: flags[1],
                reserve_full_isl: flags[2],
                unhashed_first: flags[3],
                watermark_thousandths,
            })
        },
    );
    let sglang = (number(), number(), number(), number()).prop_map(|numbers| {
        Scheduler::Sglang(Sglang {
            max_running_requests: numbers.0,
            max_prefill_tokens: numbers.1,
            chunked_prefill_size: numbers.2,
            schedule_conservativeness_thousandths: numbers.3,
        })
    });
    let trt = (0..3_usize, number(), number(), any::<[bool; 2]>()).prop_map(
        |(policy, max_batch_size, max_num_tokens, flags)| {
            Scheduler::TensorRtLlm(TensorRtLlm {
                policy: CapacityPolicy::ALL[policy],
                max_batch_size,
                max_num_tokens,
                enable_chunked_context: flags[0],
                enable_block_reuse: flags[1],
            })
        },
    );
    let llama = (number(), any::<bool>(), number(), number()).prop_map(
        |(n_parallel, kv_unified, n_batch, n_ubatch)| {
            Scheduler::LlamaCpp(LlamaCpp {
                n_parallel,
                kv_unified,
                n_batch,
                n_ubatch,
            })
        },
    );
    prop_oneof![vllm, sglang, trt, llama]
}

fn shape() -> impl Strategy<Value = PoolShape> {
    let kind = (number(), proptest::option::of(number()))
        .prop_map(|(units, max_blocks)| BlockKind { units, max_blocks });
    let any_shape = (
        number(),
        number(),
        proptest::collection::vec(kind, 0..3),
        number(),
    )
        .prop_map(|(block_size, units, kinds, units_per_seq)| PoolShape {
            block_size,
            units,
            kinds,
            units_per_seq,
        });
    prop_oneof![
        3 => (1..20_u64, 0..200_u64).prop_map(|(size, blocks)| PoolShape::uniform(size, blocks)),
        1 => any_shape,
    ]
}

fn workload() -> impl Strategy<Value = Workload> {
    let spread = prop_oneof![
        number().prop_map(Spread::Fixed),
        (number(), number()).prop_map(|(median, p95)| Spread::LogNormal { median, p95 }),
    ];
    let drawn = (spread.clone(), spread.clone(), spread).prop_map(|(prompt, thinking, answer)| {
        Lengths::Drawn {
            prompt,
            thinking,
            answer,
        }
    });
    let row = (0.0..3.0_f64, 0..80_u64, 0..40_u64, 0..40_u64).prop_map(|row| TraceRow {
        arrival_seconds: row.0,
        prompt_tokens: row.1,
        thinking_tokens: row.2,
        answer_tokens: row.3,
    });
    let lengths = prop_oneof![
        drawn,
        proptest::collection::vec(row, 0..20).prop_map(|rows| Lengths::Trace(Arc::new(rows))),
    ];
    let arrivals = prop_oneof![
        number().prop_map(|clients| Arrivals::ClosedLoop { clients }),
        (0.0..100.0_f64).prop_map(|requests_per_second| Arrivals::Poisson {
            requests_per_second
        }),
        Just(Arrivals::Trace),
    ];
    let numbers = (
        1..30_u64,
        number(),
        proptest::option::of(number()),
        any::<u64>(),
    );
    (arrivals, lengths, numbers).prop_map(|(arrivals, lengths, numbers)| Workload {
        arrivals,
        lengths,
        num_requests: numbers.0,
        shared_prefix_tokens: numbers.1,
        max_output_tokens: numbers.2,
        seed: numbers.3,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_simulation_ends(
        scheduler in scheduler(),
        pool in shape(),
        workload in workload(),
        max_model_len in proptest::option::of(number()),
    ) {
        let server = Server { scheduler, pool, step_time: step_time(), max_model_len };
        if let Ok(mut simulation) = Simulation::new(server, &workload) {
            for _ in 0..40 {
                if simulation.advance(200).is_over {
                    break;
                }
                prop_assert_eq!(simulation.audit(), Ok(()));
            }
            prop_assert_eq!(simulation.audit(), Ok(()));
            prop_assert!(!simulation.is_stopped(), "stuck at {:?}", simulation.progress());
            let report = simulation.report();
            prop_assert!(report.recomputed_tokens <= report.computed_tokens);
            prop_assert!(report.makespan_seconds.is_finite());
        }
    }
}
