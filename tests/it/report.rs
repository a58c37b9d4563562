//! The report of scenarios, against figures worked by hand.

use kvscope::core::report::{Report, Warning, report};
use kvscope::core::scenario::Scenario;
use kvscope::core::units::{Bytes, GIB, Tokens};
use kvscope::view::text::ENGLISH;
use kvscope::view::{facts, notes, sentence};

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
fn more_than_can_be_counted_is_no_number() {
    let most = [
        ("prompt_tokens", "1048576"),
        ("thinking_tokens", "1048576"),
        ("answer_tokens", "1048576"),
        ("num_samples", "1000"),
        ("num_seqs", "100000"),
        ("tensor_parallel_size", "1"),
    ];
    let res = report_of(&most);
    assert_eq!(res.warnings.first(), Some(&Warning::TooLarge));
    let numbers = ENGLISH.numbers();
    // 3 × 2^20 tokens × 320 KiB × 10^5 requests × 10^3 samples are 1.0 × 10^20 bytes.
    for bytes in [res.kv_cache.total_bytes, res.hbm.kv_held_bytes] {
        assert_eq!(numbers.bytes(bytes), "over 2^63 B");
        assert_eq!(numbers.bytes_exact(bytes), "over 2^63 B");
    }
    assert_eq!(
        numbers.bytes_short(Bytes(res.hbm.free_bytes.unsigned_abs())),
        "over 2^63 B"
    );
    let page = facts::facts(&scenario(&most), &res, &ENGLISH);
    let shown = format!(
        "{page:?} {:?}",
        sentence::lede(&scenario(&most), &res, &ENGLISH)
    );
    assert!(!shown.contains("17,179,869,184"), "{shown}");
    assert!(!shown.contains("8,589,934,5"), "{shown}");
    // One token less than too many is said to the byte.
    assert!(
        !report_of(&[("num_seqs", "100000")])
            .warnings
            .contains(&Warning::TooLarge)
    );
    assert_eq!(numbers.percent(u64::MAX, u64::MAX, 0), "? %");
}

#[test]
fn the_engine_s_longest_sequence_ends_the_thinking() {
    let res = report_of(&[
        ("engine", "vllm"),
        ("max_model_len", "8192"),
        ("thinking_tokens", "9000"),
    ]);
    assert_eq!(res.fit.max_thinking_tokens, Some(Tokens(8192 - 512 - 300)));
    assert!(res.fit.is_limited_by_context);
    assert!(res.warnings.contains(&Warning::ContextAboveMaxModelLen {
        context_tokens: Tokens(9812),
        max_model_len: Tokens(8192)
    }));
    // Whichever is less.
    let res = report_of(&[
        ("engine", "sglang"),
        ("max_model_len", "1000000"),
        ("tensor_parallel_size", "8"),
    ]);
    assert_eq!(res.fit.max_thinking_tokens, Some(Tokens(131_072 - 812)));
}

#[test]
fn a_given_pool_is_used_or_said_to_be_unused() {
    let unused = |engine, field| {
        let res = report_of(&[("engine", engine), (field, "1000")]);
        res.warnings.contains(&Warning::PoolUnused { field })
    };
    assert!(unused("exact", "num_blocks"), "blocks without pages");
    assert!(unused("exact", "num_tokens"), "tokens without pages");
    assert!(unused("llama.cpp", "num_blocks"), "cells are no blocks");
    assert!(!unused("vllm", "num_blocks"), "vLLM has blocks");
    assert!(!unused("sglang", "num_tokens"), "SGLang prints tokens");
    // More GPUs would not enlarge the pool: the weights alone choose how many.
    let res = report_of(&[("engine", "vllm"), ("num_blocks", "10")]);
    assert_eq!(res.hardware.tensor_parallel_size, 2);
    assert!(!res.fit.fits, "a pool of 160 tokens");
}

#[test]
fn nothing_fits_where_the_weights_do_not() {
    let none = [
        ("prompt_tokens", "0"),
        ("thinking_tokens", "0"),
        ("answer_tokens", "0"),
        ("tensor_parallel_size", "1"),
    ];
    let res = report_of(&none);
    assert_eq!(res.fit.max_concurrency, 0);
    assert_eq!(res.fit.max_thinking_tokens, None);
}

#[test]
fn a_layout_of_latent_rows_needs_latent_rows() {
    let warning = Warning::FormatNeedsLatentRows {
        format: "fp8_ds_mla",
    };
    let with = |model| report_of(&[("model", model), ("kv_cache_dtype", "fp8_ds_mla")]).warnings;
    assert!(with("llama-3.1-70b").contains(&warning));
    assert!(!with("deepseek-r1").contains(&warning));
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

/// What the page says of a scenario: the fact of this name with its working, and all warnings.
fn said(pairs: &[(&str, &str)], fact: &str) -> String {
    let (scenario, report) = (scenario(pairs), report_of(pairs));
    let facts = facts::facts(&scenario, &report, &ENGLISH);
    let facts = facts.iter().filter(|known| known.id == fact);
    let warnings = report
        .warnings
        .iter()
        .map(|warning| notes::warning(warning, &ENGLISH));
    facts
        .map(|fact| {
            let working = facts::working(fact.id, &scenario, &report, &ENGLISH);
            format!("{}: {}", fact.value, working.unwrap_or_default())
        })
        .chain(warnings)
        .collect::<Vec<_>>()
        .join(" | ")
}

#[test]
fn what_engines_refuse_is_no_yes() {
    let check = |pairs: &[(&str, &str)], needle: &str| {
        let said = said(pairs, "fits");
        assert!(
            said.starts_with("engines refuse this: "),
            "{pairs:?}: {said}"
        );
        assert!(said.contains(needle), "{pairs:?}: {said}");
    };
    // 40,960 tokens × 256 KiB are 10.0 GiB.
    check(
        &[("model", "qwen3-32b"), ("engine", "vllm")],
        "a max_model_len of 40,960 needs 10 GiB on each GPU and 4.84 GiB is there; set it to 19,808 at most",
    );
    check(
        &[
            ("engine", "vllm"),
            ("tensor_parallel_size", "4"),
            ("decode_context_parallel_size", "3"),
        ],
        "a tensor parallel size of 4 does not divide by a decode context parallel size of 3",
    );
    check(
        &[
            ("engine", "llama.cpp"),
            ("kv_cache_dtype", "f16/q8_0"),
            ("flash_attn", "false"),
        ],
        "V in q8_0 needs flash attention",
    );
    check(
        &[(
            "model",
            r#"{"dims":{"num_hidden_layers":8,"num_attention_heads":4,"num_key_value_heads":8,"head_dim":64}}"#,
        )],
        "8 KV heads are more than 4 query heads",
    );
}

#[test]
fn a_share_that_an_engine_does_not_go_by_is_said() {
    let share = ("gpu_memory_utilization", "0.5");
    for (engine, used) in [
        ("sglang", "Static fraction"),
        ("tensorrt-llm", "Free fraction"),
    ] {
        let note = format!("gpu_memory_utilization has no use with this engine: set {used}");
        let said = |pairs: &[(&str, &str)]| said(pairs, "fits").contains(&note);
        assert!(said(&[("engine", engine), share]), "{engine}");
        assert!(!said(&[("engine", engine)]), "{engine}: nothing was set");
    }
    for engine in ["exact", "vllm", "llama.cpp"] {
        let said = said(&[("engine", engine), share], "fits");
        assert!(!said.contains("has no use"), "{engine}: {said}");
    }
}

#[test]
fn where_a_search_ends_and_what_a_sum_starts_from() {
    let check = |pairs: &[(&str, &str)], fact: &str, needle: &str| {
        let said = said(pairs, fact);
        assert!(said.contains(needle), "{pairs:?}: {said}");
    };
    let llama = ("model", "llama-3.1-8b");
    let cells = |n_ctx, n_seq_max, kv_unified, fact: &str, needle: &str| {
        let pairs = [
            llama,
            ("engine", "llama.cpp"),
            ("n_ctx", n_ctx),
            ("n_seq_max", n_seq_max),
            ("kv_unified", kv_unified),
        ];
        check(&pairs, fact, needle);
    };
    // 0.9 × 79.18 GiB = 71.26 GiB, of which 89 requests and their weights leave 33 GiB on each of four.
    check(
        &[],
        "fits",
        "The engine may use 0.9 × 79.2 GiB = 71.3 GiB: of 79.6 GiB the runtime sees 79.2 GiB.",
    );
    check(&[], "fits", "On 4 GPUs together ");
    let one = [("tensor_parallel_size", "1")];
    assert!(
        !said(&one, "fits").contains("together"),
        "one GPU is no sum"
    );
    // The longest context of Gemma 2 is 8,192 tokens.
    check(
        &[("model", "gemma-2-9b")],
        "at_long_thinking",
        "context ends at 8,192: ",
    );
    // 512 tokens of prompt and 300 of answer leave 1,236 of 2,048.
    let slot = "4,812 tokens are more than the 2,048 cells of a slot";
    cells("2048", "1", "false", "fits", slot);
    cells("8192", "4", "false", "longest_thinking", "1,236 tokens: ");
    cells("8192", "4", "false", "longest_thinking", slot);
    cells("8192", "4", "true", "longest_thinking", "7,380 tokens: ");
    cells("32768", "4", "false", "max_concurrency", "4: ");
    cells("32768", "8", "true", "max_concurrency", "6: ");
    let small = (
        "model",
        r#"{"dims":{"num_hidden_layers":1,"num_attention_heads":1,"num_key_value_heads":1,"head_dim":1}}"#,
    );
    check(&[small], "max_concurrency", "100,000 or more: ");
    check(&[small], "at_long_thinking", "100,000 or more: ");
    check(
        &[small],
        "longest_thinking",
        "1,048,576 or more tokens: Memory would allow more: the search ends here.",
    );
    check(
        &[
            ("engine", "vllm"),
            ("num_blocks", "1000"),
            ("tensor_parallel_size", "2"),
        ],
        "fits",
        "On each GPU: 2.44 GiB given as the pool − 753 MiB cache = 1.71 GiB.",
    );
}

#[test]
fn llama_cpp_allocates_its_cells_and_no_more() {
    let res = report_of(&[("engine", "llama.cpp"), ("n_ctx", "65536")]);
    let caches = res.engine.caches.iter();
    let cells: Bytes = caches.map(|cache| cache.k_bytes + cache.v_bytes).sum();
    assert_eq!(res.hbm.kv_allocated_bytes, cells);
    assert_eq!(
        res.hbm.free_bytes.unsigned_abs(),
        res.hbm.kv_pool_bytes.minus(cells).0
    );
    let res = report_of(&[("engine", "vllm")]);
    assert_eq!(res.hbm.kv_allocated_bytes, res.hbm.kv_pool_bytes);
}

#[test]
fn a_state_is_no_part_of_the_prompt() {
    let res = report_of(&[("model", "nemotron-nano-9b-v2")]);
    let cache = &res.kv_cache;
    assert!(Bytes::ZERO < cache.state_bytes, "{cache:?}");
    for point in &res.life {
        assert_eq!(point.state_bytes, cache.state_bytes);
        assert_eq!(point.prompt_bytes, cache.prompt_bytes);
        let parts = point.state_bytes + point.prompt_bytes;
        assert_eq!(
            parts + point.thinking_bytes + point.answer_bytes,
            point.bytes
        );
    }
}
