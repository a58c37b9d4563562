//! What layers keep: a slow oracle that pushes tokens one at a time, and the laws.

use kvscope::core::layer::{
    CacheFormats, IndexStorage, LayerKind, RecurrentFamily, RecurrentState,
};
use kvscope::core::model::LayerGroup;
use kvscope::core::setup::Request;
use kvscope::core::units::{Bytes, ElementFormat, KvFormat, Tokens, formats};

/// Every kind, small and awkward.
fn kinds() -> Vec<LayerKind> {
    let window = Tokens(7);
    vec![
        LayerKind::Full {
            num_key_value_heads: 8,
            head_dim: 128,
            v_head_dim: 128,
        },
        LayerKind::Full {
            num_key_value_heads: 1,
            head_dim: 256,
            v_head_dim: 256,
        },
        LayerKind::Full {
            num_key_value_heads: 4,
            head_dim: 192,
            v_head_dim: 128,
        },
        LayerKind::Full {
            num_key_value_heads: 0,
            head_dim: 128,
            v_head_dim: 128,
        },
        LayerKind::Sliding {
            window,
            num_key_value_heads: 8,
            head_dim: 64,
            v_head_dim: 64,
        },
        LayerKind::Chunked {
            attention_chunk_size: window,
            num_key_value_heads: 8,
            head_dim: 32,
            v_head_dim: 32,
        },
        LayerKind::Latent {
            kv_lora_rank: 512,
            qk_rope_head_dim: 64,
            index_head_dim: 0,
        },
        LayerKind::Latent {
            kv_lora_rank: 512,
            qk_rope_head_dim: 64,
            index_head_dim: 128,
        },
        LayerKind::Compressed {
            compress_ratio: 4,
            head_dim: 512,
            index_head_dim: 128,
            window,
        },
        LayerKind::Recurrent(RecurrentState {
            family: RecurrentFamily::GatedDeltaNet,
            conv_dim: 8192,
            conv_columns: 3,
            state_heads: 32,
            state_rows: 128,
            state_columns: 128,
        }),
        LayerKind::Cross {
            encoder_tokens: Tokens(15),
            num_key_value_heads: 20,
            head_dim: 64,
            v_head_dim: 64,
        },
        LayerKind::Shared,
    ]
}

fn formats_of(format: ElementFormat) -> CacheFormats {
    CacheFormats {
        kv: KvFormat::both(format),
        state: formats::F32,
        conv: formats::BF16,
        index: IndexStorage::LikeK,
    }
}

/// Pushes tokens into a toy cache one at a time and counts elements as they lie there.
fn oracle_elements(kind: LayerKind, n: u64, tp: u64) -> (u64, u64) {
    let per_rank = |heads: u32| u64::from(heads).div_ceil(tp);
    let mut rows: std::collections::VecDeque<u64> = std::collections::VecDeque::new();
    let mut window_rows: std::collections::VecDeque<u64> = std::collections::VecDeque::new();
    let mut index_keys = 0;
    for token in 1..=n {
        match kind {
            LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => {
                rows.push_back(per_rank(num_key_value_heads) * u64::from(head_dim + v_head_dim));
            }
            LayerKind::Sliding {
                window,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => {
                rows.push_back(per_rank(num_key_value_heads) * u64::from(head_dim + v_head_dim));
                if window.0 < rows.len() as u64 {
                    rows.pop_front();
                }
            }
            LayerKind::Chunked {
                attention_chunk_size,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => {
                rows.push_back(per_rank(num_key_value_heads) * u64::from(head_dim + v_head_dim));
                if attention_chunk_size.0 < rows.len() as u64 {
                    rows.pop_front();
                }
            }
            LayerKind::Latent {
                kv_lora_rank,
                qk_rope_head_dim,
                index_head_dim,
            } => {
                rows.push_back(u64::from(kv_lora_rank + qk_rope_head_dim));
                index_keys += u64::from(index_head_dim);
            }
            LayerKind::Compressed {
                compress_ratio,
                head_dim,
                index_head_dim,
                window,
            } => {
                if token % u64::from(compress_ratio) == 0 {
                    rows.push_back(u64::from(head_dim + index_head_dim));
                }
                window_rows.push_back(u64::from(head_dim));
                if window.0 < window_rows.len() as u64 {
                    window_rows.pop_front();
                }
            }
            LayerKind::Recurrent(_) | LayerKind::Cross { .. } | LayerKind::Shared => {}
        }
    }
    if let LayerKind::Cross {
        encoder_tokens,
        num_key_value_heads,
        head_dim,
        v_head_dim,
    } = kind
    {
        rows.push_back(
            encoder_tokens.0 * per_rank(num_key_value_heads) * u64::from(head_dim + v_head_dim),
        );
    }
    (
        rows.iter().sum::<u64>() + window_rows.iter().sum::<u64>(),
        index_keys,
    )
}

#[test]
fn closed_forms_agree_with_a_cache_filled_token_by_token() {
    for kind in kinds() {
        for n in [0, 1, 6, 7, 8, 14, 29] {
            for tp in [1, 2, 4, 8] {
                for format in [
                    formats::BF16,
                    formats::F32,
                    formats::FP8,
                    formats::Q8_0,
                    formats::Q4_0,
                    formats::NVFP4,
                ] {
                    let rank = kind.shard(tp);
                    let kv = KvFormat::both(format);
                    let (elements, _) = oracle_elements(kind, n, u64::from(tp));
                    assert_eq!(
                        rank.cache_bytes(Tokens(n), kv),
                        format.bytes(elements),
                        "{kind:?}, n {n}, TP {tp}, {}",
                        format.id
                    );
                }
                let (_, index_keys) = oracle_elements(kind, n, u64::from(tp));
                let rows = kind.kept_rows(Tokens(0), Tokens(n), Tokens(n));
                assert_eq!(
                    kind.index_bytes(rows, formats_of(formats::BF16)),
                    Bytes(index_keys * 2),
                    "{kind:?}"
                );
            }
        }
    }
}

#[test]
fn formats_by_hand() {
    // Elements, bytes: a q8_0 block of 32 is 34 bytes; fractions are kept.
    let rows = [
        (formats::BF16, 1024, 2048),
        (formats::F32, 1024, 4096),
        (formats::FP8, 1024, 1024),
        (formats::Q8_0, 1024, 1088),
        (formats::Q5_1, 1024, 768),
        (formats::Q5_0, 1024, 704),
        (formats::Q4_1, 1024, 640),
        (formats::Q4_0, 1024, 576),
        (formats::IQ4_NL, 1024, 576),
        (formats::NVFP4, 1024, 576),
        (formats::MXFP4, 1024, 544),
        (formats::Q6_0, 1024, 832),
    ];
    for (format, elements, bytes) in rows {
        assert_eq!(format.bytes(elements), Bytes(bytes), "{}", format.id);
    }
    // One token of 8 heads of 128 with a 4-byte scale for each head.
    assert_eq!(
        formats::FP8_PER_TOKEN_HEAD.row_bytes(1, 8, 128),
        Bytes(8 * 128 + 8 * 4)
    );
    // 8 bytes for each head's row of ik_llama.cpp's q8_KV: its pull request 240 prints 5,400 MiB for K of 27 layers,
    // 16 heads of 192 and 65,536 tokens.
    assert_eq!(
        formats::Q8_KV.row_bytes(65_536, 16, 192).times(27),
        Bytes::from_mib(5400)
    );
    // vLLM fp8_ds_mla: 512 + 4 × 4 + 64 × 2 = 656; the indexer beside it 128 + 4 = 132.
    let latent = LayerKind::Latent {
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        index_head_dim: 128,
    };
    let kv = KvFormat::both(formats::FP8_DS_MLA);
    assert_eq!(latent.cache_bytes(Tokens(1), kv), Bytes(656));
    assert_eq!(
        latent.index_bytes(
            latent.kept_rows(Tokens(0), Tokens(1), Tokens(1)),
            formats_of(formats::FP8_DS_MLA)
        ),
        Bytes(132)
    );
}

#[test]
fn laws() {
    for kind in kinds() {
        for format in formats::CACHE {
            let formats = formats_of(*format);
            let mut before = Bytes::ZERO;
            for n in 0..40 {
                let whole = kind.total_bytes(Tokens(n), formats);
                assert!(before <= whole, "{kind:?} shrinks at {n} in {}", format.id);
                before = whole;
                for tp in [2, 3, 4, 8, 16] {
                    let rank = kind.shard(tp).total_bytes(Tokens(n), formats);
                    assert!(
                        whole <= rank.times(u64::from(tp)),
                        "{kind:?}: ranks lose bytes at TP {tp}"
                    );
                    assert!(rank <= whole, "{kind:?}: a rank holds more than the whole");
                    if matches!(
                        kind,
                        LayerKind::Latent { .. } | LayerKind::Compressed { .. }
                    ) {
                        assert_eq!(rank, whole, "{kind:?}: latent rows do not shrink");
                    }
                }
                if matches!(
                    kind,
                    LayerKind::Recurrent(_) | LayerKind::Cross { .. } | LayerKind::Shared
                ) {
                    assert_eq!(
                        whole,
                        kind.total_bytes(Tokens(0), formats),
                        "{kind:?} is constant"
                    );
                }
            }
        }
    }
    let full = LayerKind::Full {
        num_key_value_heads: 8,
        head_dim: 64,
        v_head_dim: 64,
    };
    let sliding = LayerKind::Sliding {
        window: Tokens(7),
        num_key_value_heads: 8,
        head_dim: 64,
        v_head_dim: 64,
    };
    for n in 0..40 {
        let kv = KvFormat::both(formats::BF16);
        assert!(
            sliding.cache_bytes(Tokens(n), kv) <= full.cache_bytes(Tokens(n), kv),
            "sliding exceeds full at {n}"
        );
    }
}

#[test]
fn phases_sum_to_the_whole_and_windows_keep_the_newest() {
    for kind in kinds() {
        for format in [formats::BF16, formats::Q4_0, formats::NVFP4] {
            let formats = formats_of(format);
            for (prompt, thinking, answer) in [
                (0, 0, 0),
                (5, 0, 0),
                (5, 3, 0),
                (3, 20, 2),
                (20, 3, 9),
                (0, 4, 4),
            ] {
                let request = Request {
                    prompt: Tokens(prompt),
                    thinking: Tokens(thinking),
                    answer: Tokens(answer),
                    num_samples: 1,
                    shared_prefix: Tokens(0),
                };
                let phases = request.phase_bytes(&[LayerGroup { kind, count: 1 }], formats);
                assert_eq!(
                    phases.total(),
                    kind.total_bytes(request.context(), formats),
                    "{kind:?} {prompt}+{thinking}+{answer} {}",
                    format.id
                );
            }
        }
    }
    // A window of 7 after 20 + 3 + 9 tokens holds seven of the answer's.
    let sliding = LayerKind::Sliding {
        window: Tokens(7),
        num_key_value_heads: 1,
        head_dim: 1,
        v_head_dim: 1,
    };
    let request = Request {
        prompt: Tokens(20),
        thinking: Tokens(3),
        answer: Tokens(9),
        num_samples: 1,
        shared_prefix: Tokens(0),
    };
    let phases = request.kind_bytes(sliding, formats_of(formats::BF16));
    assert_eq!(
        (phases.prompt, phases.thinking, phases.answer),
        (Bytes(0), Bytes(0), Bytes(28))
    );
    // Two samples keep the prompt once and their tails each.
    let full = LayerKind::Full {
        num_key_value_heads: 1,
        head_dim: 1,
        v_head_dim: 1,
    };
    let phases = Request {
        num_samples: 2,
        ..request
    }
    .kind_bytes(full, formats_of(formats::BF16));
    assert_eq!(
        (phases.prompt, phases.thinking, phases.answer),
        (Bytes(80), Bytes(24), Bytes(72))
    );
}
