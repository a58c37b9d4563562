//! A scenario's report: everything the page, the embeds and the JavaScript API show. Total and pure.

use serde::Serialize;

use super::engines::{self, EngineReport};
use super::fit::{self, verdict::Verdict};
use super::layer::LayerKind;
use super::life::{self, LifePoint};
use super::model::{LayerGroup, Message};
use super::scenario::{EngineKind, FieldKind, ParallelSize, Scenario, field};
use super::setup::{Budget, PhaseBytes, Request, Setup};
use super::speed::{self, Parallel, RequestSpeed, RequestTokens, SpeedConstants, SpeedInputs};
use super::units::{Bytes, MAX_EXACT_INTEGER, Tokens};

/// Tokens of one request, over all its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TokenReport {
    /// Prefilled tokens.
    pub prompt: Tokens,
    /// Reasoning tokens, all samples.
    pub thinking: Tokens,
    /// Answer tokens, all samples.
    pub answer: Tokens,
    /// Their sum: what the cache holds when the last token is done.
    pub total: Tokens,
}

/// One kind of layer and what all layers of it keep for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LayerReport {
    /// The kind's identifier.
    pub kind: &'static str,
    /// Layers of the kind.
    pub count: u32,
    /// KV heads, before tensor parallelism.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_key_value_heads: Option<u32>,
    /// Elements of K in one row.
    pub k_elements: u64,
    /// Elements of V in one row; zero when one row serves as both.
    pub v_elements: u64,
    /// Elements of the indexer's key in one row.
    pub index_elements: u64,
    /// Rows kept in one layer at the end, all samples.
    pub rows: u64,
    /// Tokens at which the layer stops growing, or of its uncompressed window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Tokens>,
    /// Tokens that share a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compress_ratio: Option<u32>,
    /// Elements of a recurrent state in `state_dtype`.
    pub state_elements: u64,
    /// Elements of a convolution state in the model's type.
    pub conv_elements: u64,
    /// Bytes of all layers of the kind.
    pub bytes: Bytes,
}

/// The KV cache of one request and of all of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KvCacheReport {
    /// Bytes that one more token adds once every window is full, index keys apart.
    pub bytes_per_token: Bytes,
    /// Bytes of index keys that one more token adds.
    pub index_bytes_per_token: Bytes,
    /// Rows of the prompt.
    pub prompt_bytes: Bytes,
    /// Rows of the thinking.
    pub thinking_bytes: Bytes,
    /// Rows of the answer.
    pub answer_bytes: Bytes,
    /// What does not depend on the length.
    pub state_bytes: Bytes,
    /// Sum of the four.
    pub per_seq_bytes: Bytes,
    /// The mean over the request's decode steps.
    pub mean_bytes: Bytes,
    /// All requests at once, the shared prefix once for each replica.
    pub total_bytes: Bytes,
    /// On the fullest GPU.
    pub per_gpu_bytes: Bytes,
    /// Each kind of layer.
    pub layers: Vec<LayerReport>,
}

/// The memory of the fullest GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HbmReport {
    /// What the driver reports.
    pub capacity_bytes: Bytes,
    /// What the engine may use.
    pub usable_bytes: Bytes,
    /// Weights.
    pub weight_bytes: Bytes,
    /// Activations.
    pub activation_bytes: Bytes,
    /// Runtime.
    pub overhead_bytes: Bytes,
    /// Room for the cache: what is left, or the pool that was given.
    pub kv_pool_bytes: Bytes,
    /// Of it what the engine allocates before it serves: all, or the cells of llama.cpp.
    pub kv_allocated_bytes: Bytes,
    /// What the scenario's requests hold.
    pub kv_held_bytes: Bytes,
    /// Of it the prompts' rows.
    pub kv_prompt_bytes: Bytes,
    /// Of it the thinking's rows.
    pub kv_thinking_bytes: Bytes,
    /// Of it the answers' rows.
    pub kv_answer_bytes: Bytes,
    /// Of it states of constant size.
    pub kv_state_bytes: Bytes,
    /// What the engine reserves for these requests, padding included.
    pub kv_reserved_bytes: Bytes,
    /// What is left; negative: how much is missing.
    pub free_bytes: i64,
}

/// What fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FitReport {
    /// Whether the scenario's requests fit, by their bytes alone.
    pub fits: bool,
    /// What becomes of them, with what engines refuse.
    pub verdict: Verdict,
    /// Requests at once, by peak.
    pub max_concurrency: u64,
    /// Requests at once, by the mean over their life: what a scheduler that evicts can count on.
    pub max_concurrency_mean: u64,
    /// The same requests with 32,000 thinking tokens.
    pub max_concurrency_at_32000: u64,
    /// The longest thinking that fits; `null`: not even none.
    pub max_thinking_tokens: Option<Tokens>,
    /// Whether the trained context or the engine's longest sequence, and not memory, ends the thinking.
    pub is_limited_by_context: bool,
    /// The smallest power of two, up to 64, on which the scenario fits.
    pub min_tensor_parallel_size: Option<u32>,
}

/// The hardware as it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HardwareReport {
    /// GPUs in all.
    pub num_gpus: u64,
    /// The tensor parallel size that holds.
    pub tensor_parallel_size: u32,
    /// Whether it was chosen for the reader.
    pub is_tensor_parallel_auto: bool,
    /// Pipeline stages.
    pub pipeline_parallel_size: u32,
    /// Replicas.
    pub data_parallel_size: u32,
}

/// Parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelReport {
    /// Decoder layers.
    pub num_hidden_layers: u64,
    /// All parameters.
    pub num_params: u64,
    /// Parameters one token uses.
    pub num_active_params: u64,
    /// Bytes of all weights.
    pub weight_bytes: Bytes,
    /// Trained context.
    pub max_position_embeddings: Option<Tokens>,
}

/// Something about the scenario that the reader must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Warning {
    /// The context is longer than the model was trained for.
    ContextAboveTrained {
        /// Tokens of the scenario.
        context_tokens: Tokens,
        /// Tokens of the model.
        max_position_embeddings: Tokens,
    },
    /// The context is longer than the engine was told to take.
    ContextAboveMaxModelLen {
        /// Tokens of the scenario.
        context_tokens: Tokens,
        /// Tokens of the engine.
        max_model_len: Tokens,
    },
    /// The context is longer than a slot of llama.cpp.
    ContextAboveSlot {
        /// Tokens of the scenario.
        context_tokens: Tokens,
        /// Cells of a slot.
        slot_tokens: Tokens,
    },
    /// The engine does not start: its pool does not hold one sequence of the longest length.
    MaxModelLenDoesNotFit {
        /// The longest length.
        max_model_len: Tokens,
        /// Bytes that it needs on each GPU.
        needed_bytes: Bytes,
        /// Bytes of the pool there.
        pool_bytes: Bytes,
        /// The longest length that fits.
        max_model_len_that_fits: Tokens,
    },
    /// Ranks do not divide among the GPUs that share a sequence; engines refuse this.
    ContextParallelNotDivisible {
        /// GPUs that share a sequence.
        decode_context_parallel_size: u32,
        /// Ranks.
        tensor_parallel_size: u32,
    },
    /// A quantized V needs flash attention.
    FormatNeedsFlashAttn {
        /// The format of V.
        format: &'static str,
    },
    /// More KV heads than query heads; engines refuse this.
    KvHeadsAboveQueryHeads {
        /// KV heads.
        num_key_value_heads: u32,
        /// Query heads.
        num_attention_heads: u32,
    },
    /// More ranks than KV heads: heads are replicated.
    KvHeadsReplicated {
        /// Heads.
        num_key_value_heads: u32,
        /// Ranks.
        tensor_parallel_size: u32,
    },
    /// Ranks do not divide the heads; engines refuse this.
    HeadsNotDivisible {
        /// Which heads: `num_attention_heads` or `num_key_value_heads`.
        heads: &'static str,
        /// How many.
        num_heads: u32,
        /// Ranks.
        tensor_parallel_size: u32,
    },
    /// Latent rows are on every rank.
    LatentReplicated {
        /// Ranks.
        tensor_parallel_size: u32,
    },
    /// Stages hold different numbers of layers.
    StagesUneven {
        /// Layers.
        num_hidden_layers: u64,
        /// Stages.
        pipeline_parallel_size: u32,
    },
    /// More stages than layers.
    StagesEmpty {
        /// Layers.
        num_hidden_layers: u64,
        /// Stages.
        pipeline_parallel_size: u32,
    },
    /// The weights and overheads alone exceed what the engine may use.
    WeightsDoNotFit {
        /// Bytes missing.
        missing_bytes: Bytes,
    },
    /// The requests exceed the pool.
    CacheDoesNotFit {
        /// Bytes missing.
        missing_bytes: Bytes,
    },
    /// The shared prefix is longer than the prompt; the prompt is all that is shared.
    PrefixAbovePrompt {
        /// Tokens asked for.
        shared_prefix_tokens: Tokens,
        /// Tokens of the prompt.
        prompt_tokens: Tokens,
    },
    /// Rows are not whole blocks of the storage format.
    RowsNotWhole {
        /// The format.
        format: &'static str,
        /// Elements of a row.
        row_elements: u64,
        /// Elements of a block.
        block_elements: u32,
    },
    /// An amount is 2^63 bytes or more, which is not counted: what depends on it is not known.
    TooLarge,
    /// The model has no layers of the kind that the cache's format is a layout of.
    FormatNeedsLatentRows {
        /// The format.
        format: &'static str,
    },
    /// A size of the pool was given that this engine's report does not use.
    PoolUnused {
        /// The field.
        field: &'static str,
    },
    /// A share of the memory was set that this engine does not go by.
    ShareUnused {
        /// The field that it goes by.
        used: &'static str,
    },
    /// The importer could not do what the model needs by its own rules.
    Import {
        /// Its note.
        note: Message,
    },
    /// A number is above 2^53 and not exact in JavaScript.
    NotExact {
        /// Which.
        field: &'static str,
    },
    /// How the engine lays out one of the model's kinds of layer is not established; the bytes that tokens need are shown.
    LayoutNotEstablished {
        /// The engine.
        engine: &'static str,
    },
    /// The model has nothing that grows.
    NothingGrows,
    /// The weights could not be counted; the published count stands in.
    WeightsNotCounted,
    /// The weights could not be counted and no count was published: what fits is not known.
    WeightsUnknown,
    /// The model's file stores its weights in another format than the scenario's.
    StoredInOtherFormat {
        /// The file's.
        stored: &'static str,
        /// The scenario's.
        weight_format: &'static str,
    },
}

/// Something the report takes for granted.
#[cfg(feature = "doors")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Assumption {
    /// The headline counts the last sampled token, which an engine never feeds back.
    LastTokenCounted {
        /// What an engine holds.
        engine_tokens: Tokens,
    },
    /// Windows are the idealised ones.
    WindowsIdealised,
    /// Activations and runtime are the engine's stated defaults.
    OverheadsAssumed {
        /// Activations.
        activation_bytes: Bytes,
        /// Runtime.
        overhead_bytes: Bytes,
        /// Source.
        source: &'static str,
    },
    /// The draft's layers cache; its weights are not counted, since nothing says what it consists of.
    DraftWeightsNotCounted {
        /// Its attention layers.
        draft_layers: u32,
    },
    /// Recurrent states have this type.
    StateDtype {
        /// Id.
        state_dtype: &'static str,
    },
    /// Something the importer said.
    Import {
        /// Its note.
        note: Message,
    },
}

/// Everything about a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The model's size.
    pub model: ModelReport,
    /// Tokens.
    pub tokens: TokenReport,
    /// The cache.
    pub kv_cache: KvCacheReport,
    /// The GPUs.
    pub hardware: HardwareReport,
    /// Memory of the fullest GPU.
    pub hbm: HbmReport,
    /// What fits.
    pub fit: FitReport,
    /// What the engine allocates and prints.
    pub engine: EngineReport,
    /// Estimated times.
    pub speed: RequestSpeed,
    /// Vertices of the cache's growth.
    pub life: Vec<LifePoint>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
    /// What was taken for granted, which the first view does without.
    #[cfg(feature = "doors")]
    pub assumptions: Vec<Assumption>,
}

/// The report of a scenario.
pub fn report(scenario: &Scenario) -> Report {
    let setup = Setup::new(scenario);
    let request = Request::of(scenario);
    let groups = setup.whole_groups();
    let phases = request.phase_bytes(&groups, setup.formats);
    let budget = setup.budget();
    let max_concurrency = fit::max_concurrency(&setup, &request, budget.room());
    // Requests that do not fit wait and are not part of a step.
    let running = max_concurrency.min(u64::from(scenario.num_seqs)).max(1);
    let (speed_inputs, constants) = (speed_inputs(&setup, running), SpeedConstants::default());
    let life = life::curve(&setup, &groups, &speed_inputs, &constants);
    let kv_cache = kv_cache(&setup, &request, &groups, &phases, &life);
    let hbm = hbm(&setup, &request, &budget);
    let tokens = tokens(&request);
    let refusals = fit::verdict::refusals(&setup, &budget);
    let verdict = Verdict::new(&setup, &refusals, max_concurrency);
    let fit = fit_report(
        &setup,
        &request,
        &budget,
        &kv_cache,
        (max_concurrency, verdict),
    );
    let model = ModelReport {
        num_hidden_layers: setup.model.layers.len() as u64,
        num_params: setup.model.weights.num_params(),
        num_active_params: setup.model.weights.num_active_params(),
        weight_bytes: setup.whole_weight_bytes(),
        max_position_embeddings: setup.model.max_position_embeddings,
    };
    let hardware = HardwareReport {
        num_gpus: setup.num_gpus(),
        tensor_parallel_size: setup.tensor_parallel_size,
        is_tensor_parallel_auto: scenario.tensor_parallel_size == ParallelSize::Auto,
        pipeline_parallel_size: scenario.pipeline_parallel_size,
        data_parallel_size: scenario.data_parallel_size,
    };
    let engine = engines::report(&setup);
    let warnings = warnings(&setup, &budget, &model, &kv_cache, &hbm, refusals);
    #[cfg(feature = "doors")]
    let assumptions = assumptions(&setup, &budget, &groups, tokens.total);
    let speed = speed_report(&setup, &speed_inputs, &constants);
    Report {
        model,
        tokens,
        kv_cache,
        hardware,
        hbm,
        fit,
        engine,
        speed,
        life,
        warnings,
        #[cfg(feature = "doors")]
        assumptions,
    }
}

fn tokens(request: &Request) -> TokenReport {
    let thinking = Tokens(request.thinking.0.saturating_mul(request.num_samples));
    let answer = Tokens(request.answer.0.saturating_mul(request.num_samples));
    TokenReport {
        prompt: request.prompt,
        thinking,
        answer,
        total: request.prompt.plus(thinking).plus(answer),
    }
}

/// The scenario as the speed estimate sees it when so many requests run on all replicas: every sample of every request of
/// the fullest replica is a sequence.
pub(super) fn speed_inputs(setup: &Setup<'_>, running: u64) -> SpeedInputs {
    let scenario = setup.scenario;
    let parallel = Parallel {
        pipeline_parallel_size: scenario.pipeline_parallel_size,
        ..Parallel::tensor(setup.tensor_parallel_size)
    };
    let num_seqs = running
        .div_ceil(u64::from(scenario.data_parallel_size.max(1)))
        .saturating_mul(u64::from(scenario.num_samples));
    SpeedInputs::new(
        setup.model,
        &setup.weight_format(),
        setup.formats,
        scenario.gpu,
        parallel,
        num_seqs,
    )
}

fn speed_report(
    setup: &Setup<'_>,
    inputs: &SpeedInputs,
    constants: &SpeedConstants,
) -> RequestSpeed {
    let scenario = setup.scenario;
    let tokens = RequestTokens {
        cached: 0,
        prompt: scenario.prompt_tokens.0,
        thinking: scenario.thinking_tokens.0,
        answer: scenario.answer_tokens.0,
    };
    speed::request_speed(inputs, constants, tokens)
}

/// Tokens over which growth is measured: a multiple of every compression ratio in use (powers of two, and small factors).
const GROWTH_SPAN: u64 = 1 << 10;

/// Bytes of rows (without index keys) and of index keys that one more token adds when all windows are full; rounded up
/// where compressed rows make it a fraction.
pub fn bytes_per_token(groups: &[LayerGroup], setup: &Setup<'_>) -> (Bytes, Bytes) {
    let span = groups
        .iter()
        .filter_map(|group| match group.kind {
            LayerKind::Compressed { compress_ratio, .. } => Some(u64::from(compress_ratio.max(1))),
            _ => None,
        })
        .fold(GROWTH_SPAN, |span, ratio| {
            if span.is_multiple_of(ratio) {
                span
            } else {
                span.saturating_mul(ratio)
            }
        });
    let windows = groups
        .iter()
        .filter_map(|group| group.kind.cap())
        .max()
        .unwrap_or_default();
    let start = Tokens(windows.0.div_ceil(span).saturating_mul(span));
    let end = start.plus(Tokens(span));
    let format = setup.formats.kv;
    let grown = |bytes: &dyn Fn(LayerKind, Tokens) -> Bytes| {
        let total: Bytes = groups
            .iter()
            .map(|group| {
                bytes(group.kind, end)
                    .minus(bytes(group.kind, start))
                    .times(u64::from(group.count))
            })
            .sum();
        total.part_of(span)
    };
    (
        grown(&|kind, n| kind.cache_bytes(n, format)),
        grown(&|kind, n| kind.index_bytes(kind.kept_rows(Tokens(0), n, n), setup.formats)),
    )
}

fn kv_cache(
    setup: &Setup<'_>,
    request: &Request,
    groups: &[LayerGroup],
    phases: &PhaseBytes,
    life: &[LifePoint],
) -> KvCacheReport {
    let (bytes_per_token, index_bytes_per_token) = bytes_per_token(groups, setup);
    let n_replicas = u64::from(setup.scenario.data_parallel_size.max(1));
    let num_seqs = u64::from(setup.scenario.num_seqs);
    let stored_prefixes = n_replicas.min(num_seqs);
    let total_bytes = phases.total().minus(phases.shared_prefix).times(num_seqs)
        + phases.shared_prefix.times(stored_prefixes);
    KvCacheReport {
        bytes_per_token,
        index_bytes_per_token,
        prompt_bytes: phases.prompt,
        thinking_bytes: phases.thinking,
        answer_bytes: phases.answer,
        state_bytes: phases.state,
        per_seq_bytes: phases.total(),
        mean_bytes: life::mean_bytes(life),
        total_bytes,
        per_gpu_bytes: setup.held_bytes(request, setup.seqs_per_replica()),
        layers: groups
            .iter()
            .map(|group| layer_report(*group, request, setup))
            .collect(),
    }
}

fn layer_report(group: LayerGroup, request: &Request, setup: &Setup<'_>) -> LayerReport {
    let n = request.context();
    let prompt_rows = group.kind.kept_rows(Tokens(0), request.prompt, n);
    let tail_rows = group.kind.kept_rows(request.prompt, n, n);
    let heads = group.kind.num_key_value_heads();
    let per_row = |width: u32| u64::from(heads.unwrap_or(1)).saturating_mul(u64::from(width));
    let mut res = LayerReport {
        kind: group.kind.id(),
        count: group.count,
        num_key_value_heads: heads,
        k_elements: 0,
        v_elements: 0,
        index_elements: 0,
        rows: prompt_rows
            .main
            .saturating_add(tail_rows.main.saturating_mul(request.num_samples)),
        window: group.kind.cap(),
        compress_ratio: None,
        state_elements: 0,
        conv_elements: 0,
        bytes: request
            .kind_bytes(group.kind, setup.formats)
            .total()
            .times(u64::from(group.count)),
    };
    match group.kind {
        LayerKind::Full {
            head_dim,
            v_head_dim,
            ..
        }
        | LayerKind::Sliding {
            head_dim,
            v_head_dim,
            ..
        }
        | LayerKind::Chunked {
            head_dim,
            v_head_dim,
            ..
        } => {
            (res.k_elements, res.v_elements) = (per_row(head_dim), per_row(v_head_dim));
        }
        LayerKind::Cross {
            head_dim,
            v_head_dim,
            encoder_tokens,
            ..
        } => {
            (res.k_elements, res.v_elements) = (per_row(head_dim), per_row(v_head_dim));
            res.rows = encoder_tokens.0;
        }
        LayerKind::Latent {
            kv_lora_rank,
            qk_rope_head_dim,
            index_head_dim,
        } => {
            res.k_elements = u64::from(kv_lora_rank) + u64::from(qk_rope_head_dim);
            res.index_elements = u64::from(index_head_dim);
        }
        LayerKind::Compressed {
            compress_ratio,
            head_dim,
            index_head_dim,
            ..
        } => {
            res.k_elements = u64::from(head_dim);
            res.index_elements = u64::from(index_head_dim);
            res.compress_ratio = Some(compress_ratio);
        }
        LayerKind::Recurrent(state) => {
            res.state_elements = state.state_elements();
            res.conv_elements = state.conv_elements();
        }
        LayerKind::Shared => {}
    }
    res
}

fn hbm(setup: &Setup<'_>, request: &Request, budget: &Budget) -> HbmReport {
    let num_seqs = setup.seqs_per_replica();
    let one = setup.per_gpu(request);
    let kv_held_bytes = one.of_requests(num_seqs);
    let kv_reserved_bytes = setup.reserved_bytes();
    let is_pool = setup.scenario.engine.kind != EngineKind::LlamaCpp;
    // The shared prefix is stored once, so the prompts take what the other phases leave of the whole.
    let (thinking, answer, state) = (
        one.thinking.times(num_seqs),
        one.answer.times(num_seqs),
        one.state.times(num_seqs),
    );
    HbmReport {
        capacity_bytes: budget.capacity,
        usable_bytes: budget.usable,
        weight_bytes: budget.weights,
        activation_bytes: budget.activations,
        overhead_bytes: budget.overhead,
        kv_pool_bytes: budget.pool,
        kv_allocated_bytes: if is_pool {
            budget.pool
        } else {
            kv_reserved_bytes
        },
        kv_held_bytes,
        kv_prompt_bytes: kv_held_bytes.minus(thinking + answer + state),
        kv_thinking_bytes: thinking,
        kv_answer_bytes: answer,
        kv_state_bytes: state,
        kv_reserved_bytes,
        free_bytes: setup.shortfall().saturating_neg(),
    }
}

/// Thinking tokens of the page's standing comparison.
pub const LONG_THINKING: Tokens = Tokens(32_000);

fn fit_report(
    setup: &Setup<'_>,
    request: &Request,
    budget: &Budget,
    kv_cache: &KvCacheReport,
    (max_concurrency, verdict): (u64, Verdict),
) -> FitReport {
    let max_thinking_tokens = fit::max_thinking_tokens(setup, budget.room());
    let taken = setup
        .scenario
        .prompt_tokens
        .plus(setup.scenario.answer_tokens);
    let by_mean = if kv_cache.mean_bytes.0 == 0 {
        u128::from(max_concurrency)
    } else {
        u128::from(max_concurrency) * u128::from(kv_cache.per_seq_bytes.0)
            / u128::from(kv_cache.mean_bytes.0)
    };
    FitReport {
        fits: setup.fits(),
        verdict,
        max_concurrency,
        max_concurrency_mean: u64::try_from(by_mean).unwrap_or(u64::MAX),
        max_concurrency_at_32000: fit::max_concurrency(
            setup,
            &Request {
                thinking: LONG_THINKING,
                ..*request
            },
            budget.room(),
        ),
        max_thinking_tokens,
        is_limited_by_context: fit::longest_sequence(setup.scenario)
            .is_some_and(|longest| max_thinking_tokens == Some(longest.minus(taken))),
        min_tensor_parallel_size: setup.smallest_fitting_size(),
    }
}

fn warnings(
    setup: &Setup<'_>,
    budget: &Budget,
    whole: &ModelReport,
    kv_cache: &KvCacheReport,
    hbm: &HbmReport,
    refusals: Vec<Warning>,
) -> Vec<Warning> {
    let mut res = Vec::new();
    let (scenario, model, tp) = (setup.scenario, setup.model, setup.tensor_parallel_size);
    let amounts = [
        kv_cache.per_seq_bytes,
        kv_cache.total_bytes,
        hbm.kv_held_bytes,
        hbm.kv_reserved_bytes,
        hbm.kv_pool_bytes,
        hbm.weight_bytes,
    ];
    let is_too_large = amounts.into_iter().any(Bytes::is_beyond);
    if is_too_large {
        res.push(Warning::TooLarge);
    }
    let notes = model.notes.iter().filter(|note| note.is_warning());
    res.extend(notes.map(|note| Warning::Import {
        note: note.message.clone(),
    }));
    let context_tokens = scenario.context_tokens();
    // Engines that refuse it have said so.
    let is_refused = |warning: &Warning| matches!(warning, Warning::ContextAboveTrained { .. });
    if let Some(max_position_embeddings) = model
        .max_position_embeddings
        .filter(|max| *max < context_tokens && !refusals.iter().any(is_refused))
    {
        res.push(Warning::ContextAboveTrained {
            context_tokens,
            max_position_embeddings,
        });
    }
    res.extend(refusals);
    if let Some(heads) = model
        .num_key_value_heads()
        .min()
        .filter(|heads| *heads < tp)
    {
        res.push(Warning::KvHeadsReplicated {
            num_key_value_heads: heads,
            tensor_parallel_size: tp,
        });
    }
    if 1 < tp && model.has_latent_rows() {
        res.push(Warning::LatentReplicated {
            tensor_parallel_size: tp,
        });
    }
    let (n_layers, pp) = (model.layers.len() as u64, scenario.pipeline_parallel_size);
    if u64::from(pp) <= n_layers && !n_layers.is_multiple_of(u64::from(pp.max(1))) {
        res.push(Warning::StagesUneven {
            num_hidden_layers: n_layers,
            pipeline_parallel_size: pp,
        });
    }
    if budget.room().is_none() {
        res.push(Warning::WeightsDoNotFit {
            missing_bytes: Bytes(budget.left.unsigned_abs()),
        });
    } else if hbm.free_bytes < 0 {
        res.push(Warning::CacheDoesNotFit {
            missing_bytes: Bytes(hbm.free_bytes.unsigned_abs()),
        });
    }
    if scenario.prompt_tokens < scenario.shared_prefix_tokens {
        res.push(Warning::PrefixAbovePrompt {
            shared_prefix_tokens: scenario.shared_prefix_tokens,
            prompt_tokens: scenario.prompt_tokens,
        });
    }
    res.extend(rows_not_whole(setup, kv_cache));
    let largest = [
        ("kv_cache.total_bytes", kv_cache.total_bytes.0),
        ("kv_cache.per_seq_bytes", kv_cache.per_seq_bytes.0),
        ("hbm.kv_held_bytes", hbm.kv_held_bytes.0),
    ];
    let not_exact = largest
        .into_iter()
        .filter(|(_, value)| MAX_EXACT_INTEGER < *value && !is_too_large);
    res.extend(not_exact.map(|(field, _)| Warning::NotExact { field }));
    res.extend(engines::unused_pools(setup).map(|field| Warning::PoolUnused { field }));
    let used = scenario.engine.kind.memory_share();
    if used != "gpu_memory_utilization"
        && scenario.gpu_memory_utilization != Scenario::default().gpu_memory_utilization
    {
        res.push(Warning::ShareUnused { used });
    }
    if !engines::is_established(setup) {
        res.push(Warning::LayoutNotEstablished {
            engine: scenario.engine.kind.id(),
        });
    }
    let has_window = model.groups.iter().any(|group| group.kind.cap().is_some());
    if kv_cache.bytes_per_token == Bytes::ZERO && !has_window {
        res.push(Warning::NothingGrows);
    }
    if whole.weight_bytes == Bytes::ZERO && !model.layers.is_empty() {
        res.push(Warning::WeightsUnknown);
    } else if !model.weights.is_counted() {
        res.push(Warning::WeightsNotCounted);
    }
    if let Some(stored) = model
        .stored
        .as_ref()
        .filter(|stored| stored.format.id != scenario.weight_format.id)
    {
        res.push(Warning::StoredInOtherFormat {
            stored: stored.format.id,
            weight_format: scenario.weight_format.id,
        });
    }
    res
}

fn rows_not_whole(setup: &Setup<'_>, kv_cache: &KvCacheReport) -> Option<Warning> {
    let format = setup.formats.kv;
    kv_cache.layers.iter().find_map(|layer| {
        [(format.k, layer.k_elements), (format.v, layer.v_elements)]
            .into_iter()
            .find_map(|(format, row_elements)| {
                (!format.is_whole(row_elements)).then_some(Warning::RowsNotWhole {
                    format: format.id,
                    row_elements,
                    block_elements: format.block_elements,
                })
            })
    })
}

#[cfg(feature = "doors")]
fn assumptions(
    setup: &Setup<'_>,
    budget: &Budget,
    groups: &[LayerGroup],
    total: Tokens,
) -> Vec<Assumption> {
    let (scenario, mut res) = (setup.scenario, Vec::new());
    if 0 < scenario.decode_steps() {
        let unfed = Tokens(u64::from(scenario.num_samples));
        res.push(Assumption::LastTokenCounted {
            engine_tokens: total.minus(unfed),
        });
    }
    if groups.iter().any(|group| {
        matches!(
            group.kind,
            LayerKind::Sliding { .. } | LayerKind::Chunked { .. }
        )
    }) {
        res.push(Assumption::WindowsIdealised);
    }
    if groups
        .iter()
        .any(|group| matches!(group.kind, LayerKind::Recurrent(_)))
    {
        res.push(Assumption::StateDtype {
            state_dtype: scenario.state_dtype.id,
        });
    }
    if 0 < scenario.draft_layers {
        res.push(Assumption::DraftWeightsNotCounted {
            draft_layers: scenario.draft_layers,
        });
    }
    if scenario.activation_bytes.is_none() || scenario.overhead_bytes.is_none() {
        res.push(Assumption::OverheadsAssumed {
            activation_bytes: budget.activations,
            overhead_bytes: budget.overhead,
            source: engines::defaults(scenario.engine.kind).source,
        });
    }
    let notes = setup.model.notes.iter().filter(|note| !note.is_warning());
    res.extend(notes.map(|note| Assumption::Import {
        note: note.message.clone(),
    }));
    res
}

/// The bounds of a number field, for controls and charts.
pub fn bounds_of(key: &str) -> Option<super::units::Bounds> {
    field(key)
        .map(|field| field.kind)
        .as_ref()
        .and_then(FieldKind::bounds)
}
