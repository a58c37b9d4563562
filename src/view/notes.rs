//! Sentences for what the core has to say: warnings, assumptions, errors of fields.

#[cfg(feature = "doors")]
use crate::core::engines;
#[cfg(feature = "doors")]
use crate::core::report::Assumption;
use crate::core::report::Warning;
#[cfg(feature = "doors")]
use crate::core::scenario::EngineKind;
use crate::core::scenario::{FieldError, FieldKind, ModelError, Problem, field};
use crate::core::units::{Bytes, Share};

use super::fields;
use super::text::{Messages, fill};

/// The sentence of a warning.
pub fn warning(warning: &Warning, messages: &Messages) -> String {
    let (text, numbers) = (&messages.notes, messages.numbers());
    let count = |n: &u32| numbers.integer(u64::from(*n));
    match warning {
        Warning::ContextAboveTrained {
            context_tokens,
            max_position_embeddings,
        } => fill(
            &text.context_above_trained,
            &[
                ("context_tokens", &numbers.integer(context_tokens.0)),
                (
                    "max_position_embeddings",
                    &numbers.integer(max_position_embeddings.0),
                ),
            ],
        ),
        Warning::ContextAboveMaxModelLen {
            context_tokens,
            max_model_len,
        } => fill(
            &text.context_above_max_model_len,
            &[
                ("context_tokens", &numbers.integer(context_tokens.0)),
                ("max_model_len", &numbers.integer(max_model_len.0)),
            ],
        ),
        Warning::ContextAboveSlot {
            context_tokens,
            slot_tokens,
        } => fill(
            &text.context_above_slot,
            &[
                ("context_tokens", &numbers.integer(context_tokens.0)),
                ("n", &numbers.integer(slot_tokens.0)),
            ],
        ),
        Warning::MaxModelLenDoesNotFit {
            max_model_len,
            needed_bytes,
            pool_bytes,
            max_model_len_that_fits,
        } => fill(
            &text.max_model_len_does_not_fit,
            &[
                ("len", &numbers.integer(max_model_len.0)),
                ("needed", &numbers.bytes_short(*needed_bytes)),
                ("pool", &numbers.bytes_short(*pool_bytes)),
                ("fits", &numbers.integer(max_model_len_that_fits.0)),
            ],
        ),
        Warning::ContextParallelNotDivisible {
            decode_context_parallel_size,
            tensor_parallel_size,
        } => fill(
            &text.context_parallel_not_divisible,
            &[
                ("n", &count(decode_context_parallel_size)),
                ("tensor_parallel_size", &count(tensor_parallel_size)),
            ],
        ),
        Warning::FormatNeedsFlashAttn { format } => {
            fill(&text.format_needs_flash_attn, &[("format", format)])
        }
        Warning::KvHeadsAboveQueryHeads {
            num_key_value_heads,
            num_attention_heads,
        } => fill(
            &text.kv_heads_above_query_heads,
            &[
                ("n", &count(num_key_value_heads)),
                ("num_attention_heads", &count(num_attention_heads)),
            ],
        ),
        Warning::TooLarge => text.too_large.to_string(),
        Warning::FormatNeedsLatentRows { format } => {
            fill(&text.format_needs_latent_rows, &[("format", format)])
        }
        Warning::PoolUnused { field } => fill(
            &text.pool_unused,
            &[("field", fields::label(messages, field))],
        ),
        Warning::ShareUnused { used } => fill(
            &text.share_unused,
            &[("used", fields::label(messages, used))],
        ),
        Warning::Import { note } => messages.message(note),
        Warning::KvHeadsReplicated {
            num_key_value_heads,
            tensor_parallel_size,
        } => fill(
            &text.kv_heads_replicated,
            &[
                ("num_key_value_heads", &count(num_key_value_heads)),
                ("tensor_parallel_size", &count(tensor_parallel_size)),
            ],
        ),
        Warning::HeadsNotDivisible {
            heads,
            num_heads,
            tensor_parallel_size,
        } => fill(
            if *heads == "num_key_value_heads" {
                &text.key_value_heads_not_divisible
            } else {
                &text.attention_heads_not_divisible
            },
            &[
                ("num_heads", &count(num_heads)),
                ("tensor_parallel_size", &count(tensor_parallel_size)),
            ],
        ),
        Warning::LatentReplicated {
            tensor_parallel_size,
        } => fill(
            &text.latent_replicated,
            &[("tensor_parallel_size", &count(tensor_parallel_size))],
        ),
        Warning::StagesUneven {
            num_hidden_layers,
            pipeline_parallel_size,
        } => fill(
            &text.stages_uneven,
            &[
                ("num_hidden_layers", &numbers.integer(*num_hidden_layers)),
                ("pipeline_parallel_size", &count(pipeline_parallel_size)),
            ],
        ),
        Warning::StagesEmpty {
            num_hidden_layers,
            pipeline_parallel_size,
        } => fill(
            &text.stages_empty,
            &[
                ("num_hidden_layers", &numbers.integer(*num_hidden_layers)),
                ("pipeline_parallel_size", &count(pipeline_parallel_size)),
            ],
        ),
        Warning::WeightsDoNotFit { missing_bytes } => fill(
            &text.weights_do_not_fit,
            &[("missing", &numbers.bytes_short(*missing_bytes))],
        ),
        Warning::CacheDoesNotFit { missing_bytes } => fill(
            &text.cache_does_not_fit,
            &[("missing", &numbers.bytes_short(*missing_bytes))],
        ),
        Warning::PrefixAbovePrompt {
            shared_prefix_tokens,
            prompt_tokens,
        } => fill(
            &text.prefix_above_prompt,
            &[
                (
                    "shared_prefix_tokens",
                    &numbers.integer(shared_prefix_tokens.0),
                ),
                ("prompt_tokens", &numbers.integer(prompt_tokens.0)),
            ],
        ),
        Warning::RowsNotWhole {
            format,
            row_elements,
            block_elements,
        } => fill(
            &text.rows_not_whole,
            &[
                ("format", format),
                ("row_elements", &numbers.integer(*row_elements)),
                ("block_elements", &count(block_elements)),
            ],
        ),
        Warning::NotExact { field } => fill(&text.not_exact, &[("field", field)]),
        Warning::LayoutNotEstablished { engine } => {
            fill(&text.layout_not_established, &[("engine", engine)])
        }
        Warning::NothingGrows => text.nothing_grows.clone().into_owned(),
        Warning::WeightsUnknown => text.weights_unknown.to_string(),
        Warning::WeightsNotCounted => text.weights_not_counted.clone().into_owned(),
        Warning::StoredInOtherFormat {
            stored,
            weight_format,
        } => fill(
            &text.stored_in_other_format,
            &[("stored", stored), ("weight_format", weight_format)],
        ),
    }
}

/// The sentence of an assumption.
#[cfg(feature = "doors")]
pub fn assumption(assumption: &Assumption, messages: &Messages) -> String {
    let (text, numbers) = (&messages.panels, messages.numbers());
    match assumption {
        Assumption::LastTokenCounted { engine_tokens } => fill(
            &text.last_token_counted,
            &[("engine_tokens", &numbers.integer(engine_tokens.0))],
        ),
        Assumption::WindowsIdealised => text.windows_idealised.clone().into_owned(),
        Assumption::OverheadsAssumed {
            activation_bytes,
            overhead_bytes,
            source,
        } => fill(
            &text.overheads_assumed,
            &[
                ("activations", &numbers.bytes_short(*activation_bytes)),
                ("runtime", &numbers.bytes_short(*overhead_bytes)),
                ("source", overhead_source(source, messages)),
            ],
        ),
        Assumption::DraftWeightsNotCounted { draft_layers } => fill(
            &text.draft_weights,
            &[("n", &numbers.integer(u64::from(*draft_layers)))],
        ),
        Assumption::StateDtype { state_dtype } => {
            fill(&text.state_dtype, &[("state_dtype", state_dtype)])
        }
        Assumption::Import { note } => messages.message(note),
    }
}

/// What an engine's overheads are from. Another source than those of the engines is a name, and stays as it is.
#[cfg(feature = "doors")]
fn overhead_source<'a>(source: &'a str, messages: &'a Messages) -> &'a str {
    let text = &messages.panels;
    let of_engine = |kind: &&EngineKind| engines::defaults(**kind).source == source;
    match EngineKind::ALL.iter().find(of_engine) {
        Some(EngineKind::Exact | EngineKind::Vllm) => &text.overheads_vllm,
        Some(EngineKind::Sglang) => &text.overheads_sglang,
        Some(EngineKind::TensorRtLlm) => &text.overheads_tensorrt_llm,
        Some(EngineKind::LlamaCpp) => &text.overheads_llama_cpp,
        None => source,
    }
}

/// What was given, what is allowed, and so what to do.
pub fn field_error(error: &FieldError, messages: &Messages) -> String {
    let (text, numbers) = (&messages.notes, messages.numbers());
    let share =
        |millionths: u64| numbers.fraction(u32::try_from(millionths).unwrap_or(Share::ONE.0));
    let within =
        |template: &str, min: &str, max: &str| fill(template, &[("min", min), ("max", max)]);
    let amount = |value: u64| {
        if fields::is_bytes(&error.key) {
            numbers.bytes(Bytes(value))
        } else {
            numbers.integer(value)
        }
    };
    let mut problem = match &error.problem {
        Problem::Repeated => text.repeated.to_string(),
        Problem::UnknownKey => text.unknown_key.clone().into_owned(),
        Problem::NotANumber => match field(&error.key).and_then(|field| field.kind.bounds()) {
            Some(bounds) if fields::is_bytes(&error.key) => within(
                &text.not_bytes_within,
                &amount(bounds.min),
                &amount(bounds.max),
            ),
            Some(bounds) => within(
                &text.not_a_number_within,
                &amount(bounds.min),
                &amount(bounds.max),
            ),
            None => text.not_a_number.to_string(),
        },
        Problem::OutOfBounds(bounds) => within(
            &text.out_of_bounds,
            &amount(bounds.min),
            &amount(bounds.max),
        ),
        Problem::NotAShare(bounds) => {
            within(&text.not_a_share, &share(bounds.min), &share(bounds.max))
        }
        Problem::TooLong(most) => fill(
            &text.too_long,
            &[("max", &numbers.bytes(Bytes(*most as u64)))],
        ),
        Problem::OtherVersion(known) => fill(&text.other_version, &[("version", known)]),
        Problem::NotPinned(most) => {
            fill(&text.not_pinned, &[("max", &numbers.integer(*most as u64))])
        }
        Problem::NotLoaded(reason) => fill(&text.not_loaded, &[("reason", reason)]),
        Problem::NotAMonth => text.not_a_month.to_string(),
        Problem::NotAFlag => text.not_a_flag.clone().into_owned(),
        Problem::NotOneOf(choices) => fill(
            &text.not_one_of,
            &[("choices", &numbers.list(choices.iter().copied()))],
        ),
        Problem::NotAModel(error) => fill(
            &text.not_a_model,
            &[("reason", &model_error(error, messages))],
        ),
    };
    let kind = field(&error.key).map(|field| field.kind);
    if let Some(FieldKind::Optional(_) | FieldKind::OptionalShare(_)) = kind {
        problem.push_str(&text.or_auto);
    }
    let has_separator =
        error.given.contains(',') || error.given.contains('.') && !fields::is_bytes(&error.key);
    if has_separator && error.problem == Problem::NotANumber {
        problem.push_str(&text.comma);
    }
    let given = if error.given.is_empty() {
        text.empty.clone().into_owned()
    } else {
        format!("\"{}\"", error.given)
    };
    fill(
        &text.field_error,
        &[
            ("field", fields::label(messages, &error.key)),
            ("given", &given),
            ("problem", &problem),
        ],
    )
}

/// Why a text is no model, without a full stop.
pub fn model_error(error: &ModelError, messages: &Messages) -> String {
    match error {
        ModelError::NoPreset => messages.notes.no_preset.to_string(),
        ModelError::StillRead => messages.notes.still_read.to_string(),
        ModelError::Message(message) => messages.message(message),
    }
}
