//! A scenario made concrete: the model's layers on the GPUs they run on, and the bytes that requests keep there.

use std::cell::Cell;

use super::engines;
use super::layer::{CacheFormats, LayerKind, Rows};
use super::model::{LayerGroup, ModelConfig};
use super::scenario::{ParallelSize, Scenario};
use super::units::{Bytes, Tokens};
use super::weights::{Ranks, StoredWeights, WeightFormat, pipeline_layers};

/// The tokens of one request, its samples included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Prefilled tokens, shared by the samples.
    pub prompt: Tokens,
    /// Reasoning tokens of one sample.
    pub thinking: Tokens,
    /// Answer tokens of one sample.
    pub answer: Tokens,
    /// Samples.
    pub num_samples: u64,
    /// Prompt tokens that all requests share.
    pub shared_prefix: Tokens,
}

/// Bytes that one request keeps, by what wrote them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseBytes {
    /// Rows of the prompt.
    pub prompt: Bytes,
    /// Rows of the thinking.
    pub thinking: Bytes,
    /// Rows of the answer.
    pub answer: Bytes,
    /// What does not depend on the length: recurrent states and the encoder's rows.
    pub state: Bytes,
    /// The part of the prompt that is stored once for all requests.
    pub shared_prefix: Bytes,
}

impl PhaseBytes {
    /// Everything one request keeps.
    pub fn total(&self) -> Bytes {
        self.prompt + self.thinking + self.answer + self.state
    }

    /// The part of one of `gpus` GPUs that hold every sequence's tokens in turn; states are on each of them.
    #[must_use]
    pub fn shared_by(self, gpus: u64) -> Self {
        if gpus <= 1 {
            return self;
        }
        let rows = self.total().minus(self.state).part_of(gpus);
        let (thinking, answer) = (Bytes(self.thinking.0 / gpus), Bytes(self.answer.0 / gpus));
        Self {
            prompt: rows.minus(thinking + answer),
            thinking,
            answer,
            state: self.state,
            shared_prefix: Bytes(self.shared_prefix.0 / gpus),
        }
    }

    /// What `num_seqs` such requests keep, the shared prefix once.
    pub fn of_requests(&self, num_seqs: u64) -> Bytes {
        if num_seqs == 0 {
            return Bytes::ZERO;
        }
        self.total().minus(self.shared_prefix).times(num_seqs) + self.shared_prefix
    }
}

impl Request {
    /// The request of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            prompt: scenario.prompt_tokens,
            thinking: scenario.thinking_tokens,
            answer: scenario.answer_tokens,
            num_samples: u64::from(scenario.num_samples),
            shared_prefix: scenario.shared_prefix_tokens.min(scenario.prompt_tokens),
        }
    }

    /// One sequence of `tokens` tokens.
    pub fn of_tokens(tokens: Tokens) -> Self {
        Self {
            prompt: tokens,
            thinking: Tokens(0),
            answer: Tokens(0),
            num_samples: 1,
            shared_prefix: Tokens(0),
        }
    }

    /// Tokens of one sample's whole sequence.
    pub fn context(&self) -> Tokens {
        self.prompt.plus(self.thinking).plus(self.answer)
    }

    /// Bytes kept in these layers. Rows count for the phase whose tokens wrote them; a window keeps the newest.
    pub fn phase_bytes(&self, groups: &[LayerGroup], formats: CacheFormats) -> PhaseBytes {
        groups.iter().fold(PhaseBytes::default(), |sum, group| {
            let part = self.kind_bytes(group.kind, formats);
            let count = u64::from(group.count);
            PhaseBytes {
                prompt: sum.prompt + part.prompt.times(count),
                thinking: sum.thinking + part.thinking.times(count),
                answer: sum.answer + part.answer.times(count),
                state: sum.state + part.state.times(count),
                shared_prefix: sum.shared_prefix + part.shared_prefix.times(count),
            }
        })
    }

    /// [`Self::phase_bytes`] of one layer.
    pub fn kind_bytes(&self, kind: LayerKind, formats: CacheFormats) -> PhaseBytes {
        let n = self.context();
        let thinking_ends = self.prompt.plus(self.thinking);
        let samples = self.num_samples;
        let prompt = kind.kept_rows(Tokens(0), self.prompt, n);
        let thinking = times(kind.kept_rows(self.prompt, thinking_ends, n), samples);
        let answer = times(kind.kept_rows(thinking_ends, n, n), samples);
        // Cumulative differences, so that formats whose blocks span rows still sum to the whole.
        let bytes = |rows: Rows| {
            let (k, v) = kind.rows_bytes(rows, formats.kv);
            k + v + kind.index_bytes(rows, formats)
        };
        let until_thinking = sum(prompt, thinking);
        let (after_prompt, after_thinking) = (bytes(prompt), bytes(until_thinking));
        let (cross_k, cross_v) = kind.cross_bytes(formats.kv);
        PhaseBytes {
            prompt: after_prompt,
            thinking: after_thinking.minus(after_prompt),
            answer: bytes(sum(until_thinking, answer)).minus(after_thinking),
            state: kind.state_bytes(formats).times(samples) + cross_k + cross_v,
            shared_prefix: bytes(kind.kept_rows(Tokens(0), self.shared_prefix, n)),
        }
    }
}

fn sum(a: Rows, b: Rows) -> Rows {
    Rows {
        main: a.main.saturating_add(b.main),
        window: a.window.saturating_add(b.window),
    }
}

fn times(rows: Rows, count: u64) -> Rows {
    Rows {
        main: rows.main.saturating_mul(count),
        window: rows.window.saturating_mul(count),
    }
}

/// The memory of one GPU as the engine divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What the driver reports.
    pub capacity: Bytes,
    /// What the engine may use: its share of what the runtime sees.
    pub usable: Bytes,
    /// Weights of the fullest GPU.
    pub weights: Bytes,
    /// Activations.
    pub activations: Bytes,
    /// Runtime, graphs and buffers.
    pub overhead: Bytes,
    /// What is left for the cache; negative when the weights alone do not fit.
    pub left: i64,
    /// The pool: what is left, or what the reader said.
    pub pool: Bytes,
    /// Whether the reader said it.
    pub is_pool_given: bool,
}

impl Budget {
    /// The pool, where there is one: without one not even requests that keep nothing fit.
    pub fn room(&self) -> Option<Bytes> {
        (self.is_pool_given || 0 <= self.left).then_some(self.pool)
    }
}

/// A scenario with its parallel sizes decided.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its model.
    pub model: &'a ModelConfig,
    /// Storage of what is cached.
    pub formats: CacheFormats,
    /// The tensor parallel size that holds.
    pub tensor_parallel_size: u32,
    /// Layers of each pipeline stage as one rank keeps them, draft layers on the last.
    pub stages: Vec<Vec<LayerGroup>>,
    /// How the engine lays its caches out.
    pub(super) plan: engines::Plan,
    budget: Cell<Option<Budget>>,
    own: Cell<Option<PhaseBytes>>,
    reserved: Cell<Option<Bytes>>,
}

/// Tensor parallel sizes that `auto` tries.
const AUTO_SIZES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The sizes of them that engines accept.
pub(super) fn auto_sizes(scenario: &Scenario) -> impl Iterator<Item = u32> + '_ {
    let model = &scenario.model.config;
    AUTO_SIZES
        .into_iter()
        .filter(|size| model.takes_ranks(*size))
}

impl<'a> Setup<'a> {
    /// Decides what is `auto`: the smallest power of two up to 64 that engines accept and on which the scenario fits, else
    /// the largest that they accept. A pool that the reader gave is that of a server that runs: more GPUs would
    /// not enlarge it, so the weights decide alone.
    pub fn new(scenario: &'a Scenario) -> Self {
        match scenario.tensor_parallel_size {
            ParallelSize::Fixed(size) => Self::with_tensor_parallel(scenario, size),
            ParallelSize::Auto => Self::smallest(scenario, |setup| {
                0 <= setup.budget().left && (setup.budget().is_pool_given || setup.fits())
            })
            .unwrap_or_else(|| {
                let largest = auto_sizes(scenario).last().unwrap_or(1);
                Self::with_tensor_parallel(scenario, largest)
            }),
        }
    }

    /// The smallest power of two up to 64 that engines accept and on which the scenario fits, by its bytes.
    pub fn smallest_fitting(scenario: &'a Scenario) -> Option<Self> {
        Self::smallest(scenario, Self::fits)
    }

    /// [`Self::smallest_fitting`] of this scenario, which may be what [`Self::new`] has found already.
    pub fn smallest_fitting_size(&self) -> Option<u32> {
        let engine = &self.scenario.engine;
        let is_pool_given = engine.available_kv_cache_bytes.is_some()
            || engine.num_blocks.is_some()
            || engine.num_tokens.is_some();
        if self.scenario.tensor_parallel_size == ParallelSize::Auto && !is_pool_given {
            return self.fits().then_some(self.tensor_parallel_size);
        }
        Self::smallest_fitting(self.scenario).map(|setup| setup.tensor_parallel_size)
    }

    fn smallest(scenario: &'a Scenario, serves: fn(&Self) -> bool) -> Option<Self> {
        auto_sizes(scenario)
            .map(|size| Self::with_tensor_parallel(scenario, size))
            .find(serves)
    }

    /// With this tensor parallel size.
    pub fn with_tensor_parallel(scenario: &'a Scenario, tensor_parallel_size: u32) -> Self {
        let model = &*scenario.model.config;
        let formats = engines::storage(scenario, model);
        let attention_parallel_size =
            engines::attention_parallel_size(scenario, tensor_parallel_size);
        let stages = stage_groups(scenario, model, attention_parallel_size);
        let plan = engines::Plan::new(&engines::Parts {
            scenario,
            model,
            formats,
            stages: &stages,
            attention_parallel_size,
        });
        Self {
            scenario,
            model,
            formats,
            tensor_parallel_size: tensor_parallel_size.max(1),
            plan,
            stages,
            budget: Cell::new(None),
            own: Cell::new(None),
            reserved: Cell::new(None),
        }
    }

    /// GPUs of one replica.
    pub fn gpus_per_replica(&self) -> u64 {
        u64::from(self.tensor_parallel_size)
            .saturating_mul(u64::from(self.scenario.pipeline_parallel_size.max(1)))
    }

    /// Longest sequence: as set, else what the model was trained for, else what the scenario needs.
    pub fn max_model_len(&self) -> Tokens {
        engines::max_model_len(self.scenario, self.model)
    }

    /// All GPUs.
    pub fn num_gpus(&self) -> u64 {
        // Data-parallel attention divides the GPUs of one replica instead of adding more.
        if engines::attention_parallel_size(self.scenario, self.tensor_parallel_size)
            < self.tensor_parallel_size
        {
            return self.gpus_per_replica();
        }
        self.gpus_per_replica()
            .saturating_mul(u64::from(self.scenario.data_parallel_size.max(1)))
    }

    /// The whole model's layers, unsharded, with the draft's.
    pub fn whole_groups(&self) -> Vec<LayerGroup> {
        with_draft(
            self.model.groups.clone(),
            self.model,
            self.scenario.draft_layers,
            |kind| kind,
        )
    }

    /// Requests that the fullest replica serves.
    pub fn seqs_per_replica(&self) -> u64 {
        u64::from(self.scenario.num_seqs)
            .div_ceil(u64::from(self.scenario.data_parallel_size.max(1)))
    }

    /// Bytes that one request keeps on the fullest GPU, by phase.
    pub fn per_gpu(&self, request: &Request) -> PhaseBytes {
        // Everything asks for the scenario's own request.
        if *request == Request::of(self.scenario) {
            known(&self.own, || self.fullest(request))
        } else {
            self.fullest(request)
        }
    }

    fn fullest(&self, request: &Request) -> PhaseBytes {
        self.stages
            .iter()
            .map(|groups| request.phase_bytes(groups, self.formats))
            .max_by_key(PhaseBytes::total)
            .unwrap_or_default()
            .shared_by(engines::gpus_per_sequence(self.scenario))
    }

    /// Bytes that the engine reserves for the scenario's requests on the fullest GPU.
    pub fn reserved_bytes(&self) -> Bytes {
        known(&self.reserved, || {
            let request = Request::of(self.scenario);
            engines::reserved_bytes(self, &request, self.seqs_per_replica())
        })
    }

    /// Bytes that `num_seqs` requests keep on the fullest GPU.
    pub fn held_bytes(&self, request: &Request, num_seqs: u64) -> Bytes {
        self.per_gpu(request).of_requests(num_seqs)
    }

    /// The memory of the fullest GPU.
    pub fn budget(&self) -> Budget {
        known(&self.budget, || self.divide())
    }

    fn divide(&self) -> Budget {
        let (scenario, defaults) = (self.scenario, engines::defaults(self.scenario.engine.kind));
        let weights = self.weight_bytes();
        let activations = scenario.activation_bytes.unwrap_or(defaults.activations);
        let overhead = scenario.overhead_bytes.unwrap_or(defaults.overhead);
        let (usable, left) = engines::usable(scenario, weights + activations + overhead);
        let given = engines::given_pool(self);
        Budget {
            capacity: scenario.gpu.memory(),
            usable,
            weights,
            activations,
            overhead,
            left,
            pool: given.unwrap_or_else(|| Bytes(u64::try_from(left).unwrap_or(0))),
            is_pool_given: given.is_some(),
        }
    }

    /// Bytes of weights on the fullest GPU.
    pub fn weight_bytes(&self) -> Bytes {
        let (format, tp) = (self.weight_format(), self.tensor_parallel_size);
        let counted = |ranks| {
            let pp = self.scenario.pipeline_parallel_size;
            self.model.weights.bytes_per_gpu(&format, ranks, pp)
        };
        let ranks = Ranks {
            all: tp,
            attention: engines::attention_parallel_size(self.scenario, tp),
        };
        match self.exact_weight_bytes() {
            Some(bytes) => {
                let copied = counted(ranks).minus(counted(Ranks::from(tp)));
                Bytes(bytes.0.div_ceil(self.gpus_per_replica())) + copied
            }
            None => counted(ranks),
        }
    }

    /// Bytes of all weights of one replica, each counted once.
    pub fn whole_weight_bytes(&self) -> Bytes {
        self.exact_weight_bytes()
            .unwrap_or_else(|| self.model.weights.bytes(&self.weight_format()))
    }

    /// The scenario's format, with the parts that the model's own file leaves unquantized.
    pub fn weight_format(&self) -> WeightFormat {
        StoredWeights::resolve(self.model.stored.as_ref(), self.scenario.weight_format.id)
            .unwrap_or(self.scenario.weight_format)
    }

    /// The bytes that a tensor table gave, when the scenario stores the weights as that file does.
    fn exact_weight_bytes(&self) -> Option<Bytes> {
        let stored = self
            .model
            .stored
            .as_ref()
            .filter(|stored| stored.format.id == self.scenario.weight_format.id)?;
        stored.bytes
    }

    /// Bytes by which the scenario's requests, as the engine reserves them, exceed what they may use; negative: to spare.
    pub fn shortfall(&self) -> i64 {
        let budget = self.budget();
        let available = if budget.is_pool_given {
            i128::from(budget.pool.0)
        } else {
            i128::from(budget.left)
        };
        i64::try_from(i128::from(self.reserved_bytes().0) - available).unwrap_or(i64::MAX)
    }

    /// Whether the scenario's requests fit.
    pub fn fits(&self) -> bool {
        let budget = self.budget();
        // Weights alone rule most splits out, and what requests reserve takes longer to work out.
        (budget.is_pool_given || 0 <= budget.left) && self.shortfall() <= 0
    }
}

/// What is worked out when it is first asked for.
fn known<T: Copy>(slot: &Cell<Option<T>>, compute: impl FnOnce() -> T) -> T {
    let res = slot.get().unwrap_or_else(compute);
    slot.set(Some(res));
    res
}

fn stage_groups(
    scenario: &Scenario,
    model: &ModelConfig,
    tensor_parallel_size: u32,
) -> Vec<Vec<LayerGroup>> {
    let shard = |kind| engines::stored_kind(scenario, model, kind).shard(tensor_parallel_size);
    let mut stages: Vec<Vec<LayerGroup>> = if scenario.pipeline_parallel_size <= 1 {
        vec![
            model
                .groups
                .iter()
                .map(|group| LayerGroup {
                    kind: shard(group.kind),
                    count: group.count,
                })
                .collect(),
        ]
    } else {
        (0..scenario.pipeline_parallel_size)
            .map(|stage| {
                let (from, to) =
                    pipeline_layers(model.layers.len(), stage, scenario.pipeline_parallel_size);
                let mut counts = vec![0_u32; model.groups.len()];
                for group_idx in model.layers.iter().take(to).skip(from).flatten() {
                    if let Some(count) = counts.get_mut(*group_idx) {
                        *count += 1;
                    }
                }
                let groups = model
                    .groups
                    .iter()
                    .zip(counts)
                    .filter(|(_, count)| 0 < *count);
                groups
                    .map(|(group, count)| LayerGroup {
                        kind: shard(group.kind),
                        count,
                    })
                    .collect()
            })
            .collect()
    };
    if let Some(last) = stages.pop() {
        stages.push(with_draft(last, model, scenario.draft_layers, shard));
    }
    stages
}

/// Adds the draft's attention layers, which cache as the model's last layer with attention does.
fn with_draft(
    mut groups: Vec<LayerGroup>,
    model: &ModelConfig,
    draft_layers: u32,
    on_rank: impl Fn(LayerKind) -> LayerKind,
) -> Vec<LayerGroup> {
    let last_attention =
        model
            .groups
            .iter()
            .rev()
            .map(|group| group.kind)
            .find(|kind| match kind {
                LayerKind::Full { .. } | LayerKind::Latent { .. } => true,
                LayerKind::Sliding { .. }
                | LayerKind::Chunked { .. }
                | LayerKind::Compressed { .. }
                | LayerKind::Recurrent(_)
                | LayerKind::Cross { .. }
                | LayerKind::Shared => false,
            });
    let any_attention = model
        .groups
        .iter()
        .rev()
        .map(|group| group.kind)
        .find(|kind| kind.cap().is_some());
    if let Some(kind) = last_attention
        .or(any_attention)
        .filter(|_| 0 < draft_layers)
    {
        let kind = on_rank(kind);
        match groups.iter_mut().find(|group| group.kind == kind) {
            Some(group) => group.count = group.count.saturating_add(draft_layers),
            None => groups.push(LayerGroup {
                kind,
                count: draft_layers,
            }),
        }
    }
    groups
}
