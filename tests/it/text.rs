//! The words: placeholders, languages, and the literal text of every warning, assumption and error.

use kvscope::core::link;
use kvscope::core::model::Message;
use kvscope::core::report::{Assumption, Warning, report};
use kvscope::core::scenario::Scenario;
use kvscope::core::units::{Bytes, GIB, Tokens};
use kvscope::view::sentence::{self, Part, Slot};
use kvscope::view::text::{ENGLISH, Messages, fill, placeholders};
use kvscope::view::{fields, model_edit, notes};
use serde_json::json;

#[test]
fn placeholders_are_filled() {
    let check = |template: &str, values: &[(&str, &str)], expected: &str| {
        assert_eq!(fill(template, values), expected, "{template}");
    };
    check("", &[], "");
    check("a {x} b", &[("x", "1")], "a 1 b");
    check("{x}{x}", &[("x", "ab")], "abab");
    check("{n} {n?token|tokens}", &[("n", "1")], "1 token");
    check("{n} {n?token|tokens}", &[("n", "1,000")], "1,000 tokens");
    check("{n}", &[], "{n}");
    check("an open { brace", &[("x", "1")], "an open { brace");
    check("{x", &[("x", "1")], "{x");
    // A value is never read as a template.
    check(
        "{model} {size}",
        &[("model", "{size}"), ("size", "2")],
        "{size} 2",
    );
    check("思考 {n} 个", &[("n", "4,000")], "思考 4,000 个");
    assert_eq!(placeholders("{b} {a} {b?one|many}"), ["a", "b"]);
}

/// A file of words, as it is there once it is loaded.
fn file(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

#[test]
fn a_language_goes_through_lines() {
    let lines = ENGLISH.to_lines(false);
    assert_eq!(Messages::from_lines(file(&lines)).as_ref(), Some(&ENGLISH));
    let more = format!("{lines}one more\n");
    let (fewer, _) = lines.split_at(lines.len() / 2);
    for other in ["", fewer, &more, &ENGLISH.to_lines(true)] {
        assert_eq!(Messages::from_lines(file(other)), None);
    }
    ENGLISH.clone().for_each(&mut |group, name, text| {
        assert!(!text.contains('\n'), "{group}.{name} is more than a line");
    });
}

#[test]
fn english_has_no_stray_braces_and_no_empty_words() {
    ENGLISH.clone().for_each(&mut |group, name, text| {
        assert!(!text.trim().is_empty(), "{group}.{name} is empty");
        let names: Vec<String> = placeholders(text)
            .iter()
            .map(|&name| name.to_owned())
            .collect();
        let values: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
        let filled = fill(text, &values);
        assert!(
            !filled.contains(['{', '}', '|']),
            "{group}.{name}: {filled}"
        );
        assert!(
            names
                .iter()
                .all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')),
            "{group}.{name}: {names:?}"
        );
    });
}

#[test]
fn warnings() {
    let check = |warning: Warning, expected: &str| {
        assert_eq!(notes::warning(&warning, &ENGLISH), expected);
    };
    check(
        Warning::ContextAboveTrained {
            context_tokens: Tokens(200_812),
            max_position_embeddings: Tokens(131_072),
        },
        "200,812 tokens are more than the 131,072 this model was trained for; shorten the request or choose a model with a longer context",
    );
    check(
        Warning::ContextAboveMaxModelLen {
            context_tokens: Tokens(4812),
            max_model_len: Tokens(4096),
        },
        "4,812 tokens are more than the 4,096 of max_model_len, and engines refuse such a request; shorten it or raise max_model_len",
    );
    check(
        Warning::TooLarge,
        "amounts over 2^63 B are not counted here: those that say so, and all that follows from them, are not known; use fewer, shorter or smaller requests",
    );
    check(
        Warning::FormatNeedsLatentRows {
            format: "fp8_ds_mla",
        },
        "fp8_ds_mla is a layout of latent rows, which this model does not keep; engines refuse it: choose another format of the cache",
    );
    check(
        Warning::PoolUnused {
            field: "num_blocks",
        },
        "Pool blocks has no use with this engine, which has no pages here: give the pool in bytes, or choose an engine with pages",
    );
    check(
        Warning::Import {
            note: Message::Said("<b>as it was</b>".to_owned()),
        },
        "<b>as it was</b>",
    );
    check(
        Warning::KvHeadsReplicated {
            num_key_value_heads: 8,
            tensor_parallel_size: 16,
        },
        "16 GPUs share 8 KV heads, so some hold copies: the cache per GPU no longer shrinks",
    );
    check(
        Warning::KvHeadsReplicated {
            num_key_value_heads: 1,
            tensor_parallel_size: 2,
        },
        "2 GPUs share 1 KV head, so some hold copies: the cache per GPU no longer shrinks",
    );
    check(
        Warning::HeadsNotDivisible {
            heads: "num_key_value_heads",
            num_heads: 8,
            tensor_parallel_size: 3,
        },
        "8 KV heads do not divide by a tensor parallel size of 3; engines refuse this, and the fullest GPU is shown: use a divisor of 8",
    );
    check(
        Warning::HeadsNotDivisible {
            heads: "num_attention_heads",
            num_heads: 64,
            tensor_parallel_size: 3,
        },
        "64 query heads do not divide by a tensor parallel size of 3; engines refuse this: use a divisor of 64",
    );
    check(
        Warning::LatentReplicated {
            tensor_parallel_size: 8,
        },
        "latent rows are not split by heads: each of 8 GPUs holds the whole cache",
    );
    check(
        Warning::StagesUneven {
            num_hidden_layers: 61,
            pipeline_parallel_size: 2,
        },
        "61 layers do not divide by 2 stages; the fullest stage is shown",
    );
    check(
        Warning::StagesEmpty {
            num_hidden_layers: 80,
            pipeline_parallel_size: 100,
        },
        "100 stages are more than 80 layers; use at most 80",
    );
    check(
        Warning::WeightsDoNotFit {
            missing_bytes: Bytes(66 * GIB),
        },
        "the weights and overheads alone exceed what the engine may use by 66 GiB on each GPU; use more GPUs, a larger one or a smaller weight format",
    );
    check(
        Warning::CacheDoesNotFit {
            missing_bytes: Bytes(GIB / 2),
        },
        "the requests exceed the room for KV by 512 MiB on each GPU; use fewer requests, shorter thinking, a smaller cache format or more GPUs",
    );
    check(
        Warning::PrefixAbovePrompt {
            shared_prefix_tokens: Tokens(600),
            prompt_tokens: Tokens(512),
        },
        "a shared prefix of 600 tokens is longer than the prompt; all 512 prompt tokens are shared",
    );
    check(
        Warning::RowsNotWhole {
            format: "q8_0",
            row_elements: 80,
            block_elements: 32,
        },
        "a row of 80 elements is not whole blocks of 32, which q8_0 needs; engines refuse this or pad the row",
    );
    check(
        Warning::NotExact {
            field: "kv_cache.total_bytes",
        },
        "kv_cache.total_bytes is above 2^53 and is rounded where JavaScript reads it",
    );
    check(
        Warning::StoredInOtherFormat {
            stored: "mxfp4",
            weight_format: "bf16",
        },
        "the model's own file stores its weights as mxfp4; here they are counted as bf16",
    );
    check(
        Warning::WeightsUnknown,
        "the weights cannot be counted from these dimensions and their size is not known: they are left out, so what fits is not known either",
    );
    check(
        Warning::WeightsNotCounted,
        "the weights could not be counted from the dimensions; the published count stands in",
    );
    check(
        Warning::LayoutNotEstablished { engine: "vllm" },
        "how vllm lays out the layers of this model is not established; the bytes that its tokens need are shown instead",
    );
    check(
        Warning::NothingGrows,
        "nothing in this model grows with the sequence: it keeps states of constant size",
    );
}

#[test]
fn assumptions() {
    let check = |assumption: Assumption, expected: &str| {
        assert_eq!(notes::assumption(&assumption, &ENGLISH), expected);
    };
    check(
        Assumption::LastTokenCounted {
            engine_tokens: Tokens(4811),
        },
        "the last sampled token is counted; an engine never feeds it back and holds 4,811 tokens",
    );
    check(
        Assumption::WindowsIdealised,
        "a sliding window keeps exactly its newest tokens; engines reserve up to a batch more",
    );
    check(
        Assumption::OverheadsAssumed {
            activation_bytes: Bytes::from_gib_hundredths(480),
            overhead_bytes: Bytes::from_gib_hundredths(60),
            source: "a log",
        },
        "activations 4.80 GiB and runtime 614 MiB per GPU, from: a log",
    );
    check(
        Assumption::DraftWeightsNotCounted { draft_layers: 1 },
        "the draft's 1 layer cache as the model's do; its weights are not counted, as nothing here says what it consists of: add them to the runtime",
    );
    check(
        Assumption::StateDtype {
            state_dtype: "float32",
        },
        "recurrent states are kept as float32",
    );
    check(
        Assumption::Import {
            note: Message::Said("<b>as it was</b>".to_owned()),
        },
        "<b>as it was</b>",
    );
}

#[test]
fn field_errors() {
    let check = |key: &str, text: &str, expected: &str| {
        let error = Scenario::default().set(key, text).expect_err("not a value");
        assert_eq!(notes::field_error(&error, &ENGLISH), expected);
    };
    check(
        "thinking_tokens",
        "many",
        "Thinking is \"many\": type a whole number from 0 to 1,048,576, such as 4000, 4,000 or 32k",
    );
    check(
        "thinking_tokens",
        "9999999",
        "Thinking is \"9999999\": it may be from 0 to 1,048,576",
    );
    check(
        "thinking_tokens",
        "4,8",
        "Thinking is \"4,8\": type a whole number from 0 to 1,048,576, such as 4000, 4,000 or 32k; a comma stands before each three digits, a decimal point is a full stop",
    );
    check(
        "available_kv_cache_bytes",
        "4,8 GiB",
        "Cache pool is \"4,8 GiB\": type an amount from 0 B to 1,048,576 GiB, such as 4.8 GiB, 512 MiB, 1.5 GB or a whole number of bytes, or auto; a comma stands before each three digits, a decimal point is a full stop",
    );
    check(
        "overhead_bytes",
        "1152921504606846976",
        "Runtime is \"1152921504606846976\": it may be from 0 B to 1,048,576 GiB, or auto",
    );
    check(
        "thinking_tokens",
        "4.000",
        "Thinking is \"4.000\": type a whole number from 0 to 1,048,576, such as 4000, 4,000 or 32k; a comma stands before each three digits, a decimal point is a full stop",
    );
    check(
        "tensor_parallel_size",
        "0",
        "Tensor parallel is \"0\": it may be from 1 to 1,000, or auto",
    );
    check(
        "tensor_parallel_size",
        "all",
        "Tensor parallel is \"all\": type a whole number from 1 to 1,000, such as 4000, 4,000 or 32k, or auto",
    );
    check(
        "mem_fraction_static",
        "2",
        "Static fraction is \"2\": type a share from 0.01 to 1, such as 0.9, or auto",
    );
    check(
        "version",
        "March",
        "Build of (YYYY-MM) is \"March\": type a year and a month, such as 2026-11",
    );
    check(
        "num_seqs",
        "0",
        "Requests is \"0\": it may be from 1 to 100,000",
    );
    check(
        "num_seqs",
        "",
        "Requests is empty: type a whole number from 1 to 100,000, such as 4000, 4,000 or 32k",
    );
    check(
        "gpu_memory_utilization",
        "90",
        "Use of memory is \"90\": type a share from 0.01 to 1, such as 0.9",
    );
    check(
        "flash_attn",
        "maybe",
        "Flash attention is \"maybe\": type true or false",
    );
    check(
        "mamba_cache_mode",
        "magic",
        "State cache mode is \"magic\": choose one of none, align, all",
    );
    check(
        "state_dtype",
        "int3",
        "State type is \"int3\": choose one of float32, bf16, float16",
    );
    check(
        "nonsense",
        "<b>",
        "nonsense is \"<b>\": there is no such field; it was left out",
    );
    check(
        "model",
        "gpt-9",
        "Model is \"gpt-9\": no preset has this id; give the id of a preset, a config or dims",
    );
    let of_link = |fragment: &str, expected: &str| {
        let errors = link::from_fragment(fragment, &[]).errors;
        let said: Vec<String> = errors
            .iter()
            .map(|error| notes::field_error(error, &ENGLISH))
            .collect();
        assert_eq!(said, [expected]);
    };
    of_link(
        "v=9",
        "v is \"9\": this page knows version 1, and what it understands of the link is shown; load the page again for a newer one",
    );
    of_link(
        &"x".repeat(1_500_010),
        "link is \"1500010 bytes\": a link may have 1 MiB at most; hand the scenario on as a file",
    );
}

#[test]
fn a_name_of_thousands_of_letters_is_cut() {
    let name = "x".repeat(5000);
    let model = format!(
        r#"{{"config":{{"num_hidden_layers":2,"num_attention_heads":8,"hidden_size":512}},"name":"{name}"}}"#
    );
    let scenario = scenario(&[("model", &model)]);
    assert_eq!(scenario.model.config.name.len(), 5000);
    let shown = format!("{}…", "x".repeat(60));
    assert_eq!(sentence::model_name(&scenario), shown);
    assert_eq!(
        model_edit::summary(&ENGLISH, &scenario),
        format!("{shown} · MHA · 2 layers")
    );
    assert!(
        sentence::lede(&scenario, &report(&scenario), &ENGLISH)[0]
            .text()
            .len()
            < 400
    );
}

#[test]
fn numbers_in_the_sentence_are_as_wide_as_they_look() {
    assert_eq!(sentence::number_width("512"), "calc(6ch / 2)");
    assert_eq!(sentence::number_width("4,000"), "calc(9ch / 2)");
    assert_eq!(sentence::number_width(""), "calc(2ch / 2)");
}

#[test]
fn auto_is_read_in_any_case() {
    let mut scenario = Scenario::default();
    for (key, text) in [("tensor_parallel_size", "AUTO"), ("block_size", "Auto")] {
        assert_eq!(scenario.set(key, text), Ok(()), "{key}");
    }
    assert_eq!(scenario, Scenario::default());
}

#[test]
fn pins_of_one_name_say_what_they_differ_in() {
    let named = |shown: &[(&str, &str)], pinned: &[&[(&str, &str)]]| {
        let pinned: Vec<Scenario> = pinned.iter().map(|pairs| scenario(pairs)).collect();
        sentence::pin_names(&scenario(shown), &pinned, &ENGLISH)
    };
    assert_eq!(named(&[], &[&[]]), ["Llama 3.1 70B bf16"]);
    // Thinking is what they are compared over.
    assert_eq!(
        named(&[("thinking_tokens", "8000")], &[&[]]),
        ["Llama 3.1 70B bf16"]
    );
    assert_eq!(
        named(
            &[],
            &[
                &[("gpu", "b200")],
                &[("engine", "vllm")],
                &[("kv_cache_dtype", "fp8")]
            ]
        ),
        [
            "Llama 3.1 70B bf16 · B200 180 GB · exact",
            "Llama 3.1 70B bf16 · H100 80 GB · vllm",
            "Llama 3.1 70B fp8",
        ]
    );
    assert_eq!(
        named(&[("num_seqs", "8")], &[&[]]),
        ["Llama 3.1 70B bf16 · Requests 1"]
    );
}

fn scenario(pairs: &[(&str, &str)]) -> Scenario {
    let mut res = Scenario::default();
    for (key, text) in pairs {
        res.set(key, text)
            .unwrap_or_else(|error| panic!("{error:?}"));
    }
    res
}

fn lede(pairs: &[(&str, &str)]) -> Vec<String> {
    let scenario = scenario(pairs);
    let sentences = sentence::lede(&scenario, &report(&scenario), &ENGLISH);
    sentences.iter().map(sentence::Sentence::text).collect()
}

#[test]
fn the_sentence() {
    assert_eq!(
        lede(&[]),
        [
            "A request prefills 512 prompt tokens, thinks for 4,000 and answers in 300. Its KV cache ends at 4,812 tokens, which on Llama 3.1 70B in bf16 is 1.47 GiB of the memory of 4 × H100 80 GB.",
            "83 % of it was written while thinking.",
        ]
    );
    let many = lede(&[
        ("num_samples", "4"),
        ("num_seqs", "64"),
        ("kv_cache_dtype", "q8_0/q4_0"),
    ]);
    assert_eq!(
        many.get(1).map(String::as_str),
        Some("4 answers are sampled from the one prompt.")
    );
    // 64 × (512 + 4 × 4,300) tokens × 80 layers × 8 heads × 128 × (34 + 18) / 32 B.
    assert_eq!(
        many.get(2).map(String::as_str),
        Some("64 such requests hold 141 GiB.")
    );
    let one = lede(&[
        ("prompt_tokens", "1"),
        ("thinking_tokens", "0"),
        ("answer_tokens", "0"),
    ]);
    assert!(
        one[0].starts_with("A request prefills 1 prompt token, "),
        "{}",
        one[0]
    );
    assert_eq!(one[1], "0 % of it was written while thinking.");
}

#[test]
fn the_sentence_is_words_and_values() {
    let scenario = Scenario::default();
    let short = sentence::short(&scenario, &report(&scenario), &ENGLISH);
    assert_eq!(short.text(), "512 + 4,000 + 300 = 4,812 tokens, 1.47 GiB");
    let value = |slot: Slot, text: &str| Part::Value(slot, text.to_owned());
    assert_eq!(short.parts.first(), Some(&value(Slot::Prompt, "512")));
    assert_eq!(short.parts.get(1), Some(&Part::Words(" + ".to_owned())));
    assert_eq!(Slot::Thinking.field(), Some("thinking_tokens"));
    assert_eq!(Slot::Total.field(), None);
}

#[test]
fn amounts_as_people_type_them() {
    let rows = [
        ("4.8 GiB", "5153960755"),
        ("1,024 MiB", "1073741824"),
        ("1.5 GB", "1500000000"),
        ("512", "512"),
        // Not an amount, so the field refuses it and quotes what was typed.
        ("4,8 GiB", "4,8 GiB"),
        ("4.8 GiX", "4.8 GiX"),
    ];
    for (input, expected) in rows {
        assert_eq!(fields::typed("overhead_bytes", input), expected);
    }
    assert_eq!(fields::typed("gpu_memory_utilization", "0,85"), "0.85");
}

#[test]
fn a_full_stop_stays_with_the_number_before_it() {
    assert_eq!(sentence::stop(". Its"), ".");
    assert_eq!(sentence::stop("。"), "。");
    assert_eq!(sentence::stop(" and"), "");
    assert_eq!(sentence::stop(""), "");
}

/// Notes of the importer that put the numbers in doubt are warnings; the rest is assumed.
#[test]
fn what_the_importer_doubts_is_a_warning() {
    let config = |model_type: &str, n_types: usize| {
        let config = json!({
            "model_type": model_type,
            "num_hidden_layers": 4,
            "num_attention_heads": 8,
            "num_key_value_heads": 8,
            "hidden_size": 512,
            "layer_types": vec!["full_attention"; n_types],
        });
        let (scenario, errors) = Scenario::from_json(&json!({ "model": { "config": config } }));
        assert_eq!(errors, []);
        let report = report(&scenario);
        let lines = report.warnings.iter();
        lines
            .map(|warning| notes::warning(warning, &ENGLISH))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        config("supernova", 4).first().map(String::as_str),
        Some(
            "model_type \"supernova\" is not known; its layers were read by the general rules, so check the working"
        )
    );
    assert_eq!(
        config("llama", 9).first().map(String::as_str),
        Some(
            "layer_types has 9 entries and num_hidden_layers is 4; the first 4 are taken, so check which is right"
        )
    );
    assert!(
        config("llama", 4)
            .iter()
            .all(|line| !line.contains("layer_types"))
    );
}
