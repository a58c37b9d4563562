//! The report of scenarios, against figures worked by hand.

use kvscope::core::report::{Report, Warning, report};
use kvscope::core::scenario::Scenario;
use kvscope::core::units::{Bytes, GIB, Tokens};

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{key}={text}: {error:?}"));
    }
    res
}

fn report_of(pairs: &[(&str, &str)]) -> Report {
    report(&scenario(pairs))
}

#[test]
fn the_default_scenario() {
    let res = report_of(&[]);
    // 80 layers × 2 × 8 heads × 128 × 2 B.
    assert_eq!(res.kv_cache.bytes_per_token, Bytes(327_680));
    assert_eq!(res.tokens.total, Tokens(4812));
    assert_eq!(res.kv_cache.prompt_bytes, Bytes(167_772_160));
    assert_eq!(res.kv_cache.thinking_bytes, Bytes(1_310_720_000));
    assert_eq!(res.kv_cache.answer_bytes, Bytes(98_304_000));
    assert_eq!(res.kv_cache.per_seq_bytes, Bytes(1_576_796_160));
    assert_eq!(res.kv_cache.per_gpu_bytes, Bytes(1_576_796_160 / 4));
    // Two H100 hold the weights and have 0.2 GiB each left, which is less than the 0.73 GiB of this request.
    assert_eq!(
        (
            res.hardware.tensor_parallel_size,
            res.hardware.is_tensor_parallel_auto
        ),
        (4, true)
    );
    assert_eq!(res.hbm.capacity_bytes, Bytes(81_559 << 20));
    let tenths_of_gib = |bytes: u64| bytes * 10 / GIB;
    assert_eq!(tenths_of_gib(res.hbm.weight_bytes.0), 328);
    assert_eq!(
        tenths_of_gib(res.hbm.activation_bytes.0 + res.hbm.overhead_bytes.0),
        53
    );
    assert_eq!(
        tenths_of_gib(u64::try_from(res.hbm.free_bytes).unwrap_or(0)),
        326
    );
    assert!(res.fit.fits, "one request fits on four");
    assert_eq!(res.fit.max_concurrency, 89);
    assert_eq!(res.fit.max_concurrency_at_32000, 13);
    assert_eq!(res.fit.max_thinking_tokens, Some(Tokens(131_072 - 812)));
    assert!(
        res.fit.is_limited_by_context,
        "the trained context ends it, not memory"
    );
    assert_eq!(res.fit.min_tensor_parallel_size, Some(4));
    assert!(res.fit.fits, "the default fits");
}

#[test]
fn what_does_not_fit_says_how_much_is_missing() {
    let res = report_of(&[("tensor_parallel_size", "1")]);
    assert!(!res.fit.fits, "131 GiB of weights on one H100");
    assert!(
        matches!(res.warnings.first(), Some(Warning::WeightsDoNotFit { missing_bytes }) if 60 * GIB < missing_bytes.0),
        "{:?}",
        res.warnings
    );
    assert_eq!(res.fit.max_concurrency, 0);
    assert_eq!(res.fit.max_thinking_tokens, None);
}

#[test]
fn impossible_scenarios_keep_what_was_typed_and_say_so() {
    let res = report_of(&[("tensor_parallel_size", "3")]);
    assert_eq!(res.hardware.tensor_parallel_size, 3);
    assert!(
        res.warnings.iter().any(|warning| matches!(
            warning,
            Warning::HeadsNotDivisible {
                heads: "num_key_value_heads",
                num_heads: 8,
                tensor_parallel_size: 3
            }
        )),
        "{:?}",
        res.warnings
    );
    let res = report_of(&[("tensor_parallel_size", "16")]);
    assert!(res.warnings.contains(&Warning::KvHeadsReplicated {
        num_key_value_heads: 8,
        tensor_parallel_size: 16
    }));
    // One head of eight on each of sixteen ranks: an eighth of the cache, not a sixteenth.
    assert_eq!(res.kv_cache.per_gpu_bytes, Bytes(1_576_796_160 / 8));
    let res = report_of(&[("thinking_tokens", "200000")]);
    assert!(res.warnings.contains(&Warning::ContextAboveTrained {
        context_tokens: Tokens(200_812),
        max_position_embeddings: Tokens(131_072)
    }));
}

#[test]
fn samples_prefixes_and_replicas() {
    let res = report_of(&[("num_samples", "4")]);
    assert_eq!(res.tokens.total, Tokens(512 + 4 * 4300));
    assert_eq!(
        res.kv_cache.per_seq_bytes,
        Bytes((512 + 4 * 4300) * 327_680)
    );
    let res = report_of(&[("num_seqs", "10"), ("shared_prefix_tokens", "500")]);
    assert_eq!(res.kv_cache.total_bytes, Bytes((500 + 10 * 4312) * 327_680));
    let res = report_of(&[
        ("num_seqs", "10"),
        ("data_parallel_size", "2"),
        ("tensor_parallel_size", "4"),
    ]);
    assert_eq!(res.hardware.num_gpus, 8);
    assert_eq!(res.kv_cache.per_gpu_bytes, Bytes(5 * 4812 * 327_680 / 4));
    let res = report_of(&[
        ("pipeline_parallel_size", "2"),
        ("tensor_parallel_size", "2"),
    ]);
    assert_eq!(res.kv_cache.per_gpu_bytes, Bytes(4812 * 327_680 / 4));
}

#[test]
fn the_life_curve_bends_where_phases_end() {
    let res = report_of(&[]);
    let points: Vec<_> = res
        .life
        .iter()
        .map(|point| (point.step, point.tokens.0, point.bytes.0))
        .collect();
    assert_eq!(
        points,
        [
            (0, 512, 167_772_160),
            (4000, 4512, 1_478_492_160),
            (4300, 4812, 1_576_796_160)
        ]
    );
    // The area under a ramp from 512 to 4,812 tokens.
    assert_eq!(res.kv_cache.mean_bytes, Bytes((512 + 4812) * 327_680 / 2));
}
