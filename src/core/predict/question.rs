//! What is asked about a scenario, and the right answers to it.

use std::sync::Arc;

use super::answer::Dimension;
use crate::core::engines;
use crate::core::fit::largest;
use crate::core::layer::LayerKind;
use crate::core::model::{LayerGroup, ModelConfig};
use crate::core::report::{Report, bytes_per_token, report};
use crate::core::scenario::{EngineKind, ModelChoice, ParallelSize, Scenario};
use crate::core::setup::{Request, Setup};
use crate::core::turns::{Conversation, Plan, Policy};
use crate::core::units::{Bytes, Tokens};

/// A question, in the order in which the steps build on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Tokens in the cache when the last token is done.
    Tokens,
    /// Bytes that one more token adds, all layers.
    BytesPerToken,
    /// Bytes of one request at its end.
    PerSeqBytes,
    /// Bytes of all requests at once.
    TotalBytes,
    /// Bytes of all requests on one GPU.
    PerGpuBytes,
    /// Bytes that each GPU has left for caches.
    KvPoolBytes,
    /// Whether all requests fit.
    Fits,
    /// Requests that fit at once.
    MaxConcurrency,
    /// The longest thinking that fits.
    MaxThinking,
    /// The longest thinking when the call's limit on the output is [`output_limit`].
    MaxThinkingUnderLimit,
    /// Tokens that a follow-up finds in the cache when earlier thinking is stripped.
    ReusedAfterStrip,
    /// A factor of bytes per token: layers.
    Layers,
    /// A factor of bytes per token: heads that are kept.
    KeyValueHeads,
    /// A factor of bytes per token: numbers in one head's key.
    HeadDim,
    /// A factor of bytes per token: bytes of one number.
    BytesPerElement,
}

use Question::{
    BytesPerElement, BytesPerToken, Fits, HeadDim, KeyValueHeads, KvPoolBytes, Layers,
    MaxConcurrency, MaxThinking, MaxThinkingUnderLimit, PerGpuBytes, PerSeqBytes, ReusedAfterStrip,
    TotalBytes,
};

impl Question {
    /// Every question.
    pub const ALL: [Self; 15] = [
        Question::Tokens,
        BytesPerToken,
        PerSeqBytes,
        TotalBytes,
        PerGpuBytes,
        KvPoolBytes,
        Fits,
        MaxConcurrency,
        MaxThinking,
        MaxThinkingUnderLimit,
        ReusedAfterStrip,
        Layers,
        KeyValueHeads,
        HeadDim,
        BytesPerElement,
    ];

    /// The id in links and JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Question::Tokens => "tokens",
            BytesPerToken => "bytes_per_token",
            PerSeqBytes => "per_seq_bytes",
            TotalBytes => "total_bytes",
            PerGpuBytes => "per_gpu_bytes",
            KvPoolBytes => "kv_pool_bytes",
            Fits => "fits",
            MaxConcurrency => "max_concurrency",
            MaxThinking => "max_thinking_tokens",
            MaxThinkingUnderLimit => "max_thinking_under_limit",
            ReusedAfterStrip => "reused_after_strip",
            Layers => "num_hidden_layers",
            KeyValueHeads => "num_key_value_heads",
            HeadDim => "head_dim",
            BytesPerElement => "bytes_per_element",
        }
    }

    /// The question with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.id() == id)
    }

    /// What is asked for.
    pub const fn dimension(self) -> Dimension {
        match self {
            Question::Tokens | MaxThinking | MaxThinkingUnderLimit | ReusedAfterStrip => {
                Dimension::Tokens
            }
            BytesPerToken | PerSeqBytes | TotalBytes | PerGpuBytes | KvPoolBytes => {
                Dimension::Bytes
            }
            Fits => Dimension::YesNo,
            MaxConcurrency => Dimension::Requests,
            Layers | KeyValueHeads | HeadDim | BytesPerElement => Dimension::Count,
        }
    }
}

/// A right answer that is not the headline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// What an engine holds: the last sampled token is never fed back.
    EngineHolds,
    /// Rounded up to whole blocks.
    WholeBlocks,
    /// While the windows are not full yet.
    BeforeWindowsFull,
    /// Without the keys of the sparse indexer.
    WithoutIndexKeys,
    /// Without the pages and the padding of the engine.
    WithoutPadding,
    /// Before rounding down.
    NotRounded,
    /// Before rounding down to whole blocks.
    NotWholeBlocks,
    /// Computed from amounts of four figures, which here tip a whole request.
    RoundedAmounts,
}

/// A right answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RightAnswer {
    /// Its value, in tokens, bytes or requests; 1 and 0 for yes and no.
    pub value: f64,
    /// `None` for the headline's.
    pub variant: Option<Variant>,
}

/// A scenario with its report and its parallel sizes decided, so that a changed scenario stays on the same GPUs.
#[derive(Clone, Debug)]
pub struct Situation {
    /// The scenario.
    pub scenario: Scenario,
    /// Its report.
    pub report: Report,
}

impl Situation {
    /// Decides what is `auto`.
    pub fn new(scenario: &Scenario) -> Self {
        let report = report(scenario);
        let mut scenario = scenario.clone();
        scenario.tensor_parallel_size = ParallelSize::Fixed(report.hardware.tensor_parallel_size);
        Self { scenario, report }
    }

    /// Whether the question makes sense here and has one answer.
    pub fn asks(&self, question: Question) -> bool {
        let (report, scenario) = (&self.report, &self.scenario);
        let fits_some = 0 < report.hbm.kv_pool_bytes.0 && 0 < report.kv_cache.per_seq_bytes.0;
        match question {
            Question::Tokens => true,
            BytesPerToken => 0 < report.kv_cache.bytes_per_token.0,
            PerSeqBytes => 0 < report.kv_cache.per_seq_bytes.0,
            TotalBytes => 1 < scenario.num_seqs,
            PerGpuBytes => 1 < report.hardware.num_gpus,
            KvPoolBytes => scenario.engine.available_kv_cache_bytes.is_none(),
            Fits => true,
            MaxConcurrency => fits_some && 0 < report.fit.max_concurrency,
            MaxThinking => {
                report.fit.max_thinking_tokens.is_some() && 0 < report.kv_cache.bytes_per_token.0
            }
            MaxThinkingUnderLimit => {
                let limit = output_limit(scenario);
                report.fit.max_thinking_tokens.is_some() && scenario.answer_tokens < limit
            }
            ReusedAfterStrip => {
                0 < scenario.thinking_tokens.0
                    && scenario.num_samples == 1
                    && self.strip().is_some()
            }
            Layers | KeyValueHeads | HeadDim | BytesPerElement => self.factor(question).is_some(),
        }
    }

    /// The headline's answer; `None` where the question makes no sense.
    pub fn right(&self, question: Question) -> Option<f64> {
        let report = &self.report;
        let float = |value: u64| value as f64;
        Some(match question {
            Question::Tokens => float(report.tokens.total.0),
            BytesPerToken => {
                float((report.kv_cache.bytes_per_token + report.kv_cache.index_bytes_per_token).0)
            }
            PerSeqBytes => float(report.kv_cache.per_seq_bytes.0),
            TotalBytes => float(report.kv_cache.total_bytes.0),
            PerGpuBytes => float(report.kv_cache.per_gpu_bytes.0),
            KvPoolBytes => float(report.hbm.kv_pool_bytes.0),
            Fits => f64::from(u8::from(report.fit.fits)),
            MaxConcurrency => float(report.fit.max_concurrency),
            MaxThinking => float(report.fit.max_thinking_tokens?.0),
            MaxThinkingUnderLimit => {
                let left = output_limit(&self.scenario).minus(self.scenario.answer_tokens);
                float(report.fit.max_thinking_tokens?.min(left).0)
            }
            ReusedAfterStrip => float(self.strip()?.0),
            Layers | KeyValueHeads | HeadDim | BytesPerElement => self.factor(question)?,
        })
    }

    /// Every right answer, the headline's first.
    pub fn right_answers(&self, question: Question) -> Vec<RightAnswer> {
        let Some(value) = self.right(question) else {
            return Vec::new();
        };
        let mut res = vec![RightAnswer {
            value,
            variant: None,
        }];
        let mut also = |variant, value: Option<f64>| {
            if let Some(value) = value.filter(|value| *value != res[0].value) {
                res.push(RightAnswer {
                    value,
                    variant: Some(variant),
                });
            }
        };
        let scenario = &self.scenario;
        match question {
            Question::Tokens => {
                let unfed = Tokens(u64::from(scenario.num_samples));
                also(
                    Variant::EngineHolds,
                    (0 < scenario.decode_steps()).then_some(value - unfed.0 as f64),
                );
                also(Variant::WholeBlocks, Some(self.whole_blocks(value)));
            }
            PerSeqBytes | TotalBytes | PerGpuBytes => {
                also(Variant::EngineHolds, self.without_last().right(question));
                also(Variant::WholeBlocks, self.in_whole_blocks().right(question));
                if question == PerGpuBytes {
                    let reserved = self.report.hbm.kv_reserved_bytes.0;
                    also(Variant::WholeBlocks, Some(reserved as f64));
                }
            }
            BytesPerToken => {
                let rows = self.report.kv_cache.bytes_per_token.0 as f64;
                also(Variant::WithoutIndexKeys, Some(rows));
                also(Variant::BeforeWindowsFull, Some(self.bytes_of_a_token()));
            }
            MaxConcurrency | MaxThinking | MaxThinkingUnderLimit | Fits => {
                if scenario.engine.kind != EngineKind::Exact {
                    let exact = self.edited(|scenario| scenario.engine.kind = EngineKind::Exact);
                    also(Variant::WithoutPadding, exact.right(question));
                }
                if question == MaxConcurrency {
                    let exact = self.concurrency_not_rounded();
                    also(Variant::NotRounded, Some(exact));
                    for factor in [1.0 - AMOUNT_ERROR, 1.0 + AMOUNT_ERROR] {
                        also(Variant::RoundedAmounts, Some((exact * factor).floor()));
                    }
                }
            }
            ReusedAfterStrip => {
                also(
                    Variant::NotWholeBlocks,
                    Some(scenario.prompt_tokens.0 as f64),
                );
            }
            KvPoolBytes | Layers | KeyValueHeads | HeadDim | BytesPerElement => {}
        }
        res
    }

    /// The situation after a change to its scenario.
    pub fn edited(&self, edit: impl FnOnce(&mut Scenario)) -> Self {
        let mut scenario = self.scenario.clone();
        edit(&mut scenario);
        Self::new(&scenario)
    }

    /// Tokens of a block: the engine's, or 16.
    pub fn block_size(&self) -> Tokens {
        let block = self.report.engine.block_size.unwrap_or(0);
        Tokens(if block == 0 {
            engines::exact::BLOCK_SIZE.0
        } else {
            block
        })
    }

    fn whole_blocks(&self, tokens: f64) -> f64 {
        let block = self.block_size().0 as f64;
        (tokens / block).ceil() * block
    }

    fn without_last(&self) -> Self {
        self.edited(|scenario| {
            if scenario.answer_tokens.0 == 0 {
                scenario.thinking_tokens = scenario.thinking_tokens.minus(Tokens(1));
            } else {
                scenario.answer_tokens = scenario.answer_tokens.minus(Tokens(1));
            }
        })
    }

    fn in_whole_blocks(&self) -> Self {
        let context = self.scenario.context_tokens();
        let block_size = self.block_size();
        let padded = Tokens(context.blocks(block_size).saturating_mul(block_size.0));
        self.edited(|scenario| {
            scenario.answer_tokens = scenario.answer_tokens.plus(padded.minus(context));
        })
    }

    /// Bytes that the second token of a sequence adds: every layer still keeps everything. Exact below 2^53.
    pub fn bytes_of_a_token(&self) -> f64 {
        let setup = Setup::new(&self.scenario);
        let bytes_at = |n| {
            let bytes = self.scenario.model.config.cache_bytes(n, setup.formats, 1);
            bytes.0
        };
        bytes_at(Tokens(2)).saturating_sub(bytes_at(Tokens(1))) as f64
    }

    pub(super) fn concurrency_not_rounded(&self) -> f64 {
        let replicas = f64::from(self.scenario.data_parallel_size.max(1));
        let (shared, own) = self.shared_and_own_per_gpu();
        let pool = self.report.hbm.kv_pool_bytes.minus(shared);
        replicas * pool.0 as f64 / (own.0.max(1) as f64)
    }

    /// Tokens of one request that memory holds, whatever the model's context is; `None` when not even prompt and answer fit.
    pub fn room(&self) -> Option<Tokens> {
        let setup = Setup::new(&self.scenario);
        let (request, num_seqs) = (Request::of(&self.scenario), setup.seqs_per_replica());
        let fits = |thinking| {
            let request = Request {
                thinking: Tokens(thinking),
                ..request
            };
            engines::reserved_bytes(&setup, &request, num_seqs) <= self.report.hbm.kv_pool_bytes
        };
        // A model whose cache stops growing fits any length; 2^40 tokens stand for that.
        let thinking = largest(1 << 40, fits)?;
        Some(Tokens(thinking).plus(request.prompt).plus(request.answer))
    }

    /// Bytes on the fullest GPU, as the engine reserves them: what all requests share, and what each takes beside it.
    pub fn shared_and_own_per_gpu(&self) -> (Bytes, Bytes) {
        let setup = Setup::new(&self.scenario);
        let request = Request::of(&self.scenario);
        let reserved = |num_seqs| engines::reserved_bytes(&setup, &request, num_seqs);
        let own = reserved(2).minus(reserved(1));
        (reserved(1).minus(own), own)
    }

    /// Bytes that one token of one request adds on the fullest GPU.
    pub(super) fn per_gpu_bytes_per_token(&self) -> f64 {
        let setup = Setup::new(&self.scenario);
        let stages = setup.stages.iter().map(|groups| {
            let (rows, index) = bytes_per_token(groups, &setup);
            (rows + index).0
        });
        stages.max().unwrap_or(0) as f64
    }

    fn strip(&self) -> Option<Tokens> {
        self.reused(Policy::Strip)
    }

    /// Tokens that a follow-up finds in the cache under this policy.
    pub(super) fn reused(&self, policy: Policy) -> Option<Tokens> {
        let plan = Plan::default();
        let conversation =
            Conversation::new(&self.scenario, &plan, policy, self.block_size()).ok()?;
        let tokens = conversation.tokens();
        Some(tokens.last()?.reused_tokens)
    }

    /// A factor of bytes per token, where all layers that keep rows of heads are of one shape and nothing else grows.
    fn factor(&self, question: Question) -> Option<f64> {
        let mut growing = self
            .scenario
            .model
            .config
            .groups
            .iter()
            .filter(|group| !matches!(group.kind, LayerKind::Shared | LayerKind::Recurrent(_)));
        let (group, more) = (growing.next()?, growing.next());
        let LayerKind::Full {
            num_key_value_heads,
            head_dim,
            ..
        } = group.kind
        else {
            return None;
        };
        let format = self.scenario.kv_cache_dtype.k;
        match (more, question) {
            (Some(_), _) => None,
            (None, Layers) => Some(f64::from(group.count)),
            (None, KeyValueHeads) => Some(f64::from(num_key_value_heads)),
            (None, HeadDim) => Some(f64::from(head_dim)),
            (None, BytesPerElement) => {
                Some(f64::from(format.block_bytes) / f64::from(format.block_elements.max(1)))
            }
            (None, _) => None,
        }
    }
}

/// How far an amount of four figures, or the quotient of two, may be off.
const AMOUNT_ERROR: f64 = 0.001;

/// The limit on the output that the question about a call's budget names: 32,768, the maximum with which DeepSeek-R1 and
/// Qwen3 were evaluated, or the next power of two that holds the scenario's output.
///
/// Source: DeepSeek-R1 paper (arXiv 2501.12948) and Qwen3 report (arXiv 2505.09388), evaluation settings.
pub fn output_limit(scenario: &Scenario) -> Tokens {
    let output = scenario.thinking_tokens.plus(scenario.answer_tokens);
    Tokens(output.0.max(1 << 15).next_power_of_two())
}

/// The scenario with its model's layers changed.
pub(super) fn with_layers(scenario: &Scenario, edit: impl Fn(LayerKind) -> LayerKind) -> Scenario {
    with_model(scenario, |model| {
        for group in &mut model.groups {
            group.kind = edit(group.kind);
        }
    })
}

/// The scenario with its model changed.
pub(super) fn with_model(scenario: &Scenario, edit: impl FnOnce(&mut ModelConfig)) -> Scenario {
    let mut model = (*scenario.model.config).clone();
    edit(&mut model);
    Scenario {
        model: ModelChoice {
            source: scenario.model.source.clone(),
            config: Arc::new(model),
        },
        ..scenario.clone()
    }
}

/// The layers of which only one is counted.
pub(super) fn one_layer(model: &mut ModelConfig) {
    model.groups = model
        .groups
        .iter()
        .take(1)
        .map(|group| LayerGroup { count: 1, ..*group })
        .collect();
    model.layers = vec![vec![0]];
}
