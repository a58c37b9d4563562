//! The slips that people make, each as a scenario that they had in mind or a value that they put in the right one's place.
//!
//! Codes and evidence follow a collection of 53 slips; those of [`SlipId`] without a number in it (`X…`) were added for
//! windows, latent rows, parallel sizes and the next turn. No slip holds a number: what it gives follows from the
//! scenario.

use super::answer::{Prefix, Unit};
use super::question::{Question, Situation, one_layer, output_limit, with_layers, with_model};
use crate::core::layer::LayerKind;
use crate::core::scenario::Scenario;
use crate::core::turns::Policy;
use crate::core::units::{Bytes, ElementFormat, GB, GIB, KvFormat, Tokens, formats};

use Question::{
    BytesPerToken, Fits, KvPoolBytes, MaxConcurrency, MaxThinking, MaxThinkingUnderLimit,
    PerGpuBytes, PerSeqBytes, ReusedAfterStrip, TotalBytes,
};

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlipClass {
    /// Which tokens were counted.
    Tokens,
    /// What one token keeps.
    PerToken,
    /// What was measured.
    Total,
    /// The name of the unit; the amount is right.
    Unit,
    /// What fits.
    Fit,
    /// What the next turn finds.
    NextTurn,
}

/// How a slip's number follows from the scenario.
#[derive(Clone, Copy)]
enum Rule {
    /// The scenarios that the reader may have had in mind; none where the slip cannot be made.
    Worlds(fn(&Situation) -> Vec<Scenario>),
    /// The values themselves, with the unit of the answer.
    Values(fn(&Situation, Question, Unit) -> Vec<f64>),
}

/// One slip.
pub struct Slip {
    /// Which.
    pub id: SlipId,
    /// Its code in the collection.
    pub code: &'static str,
    /// What went wrong.
    pub class: SlipClass,
    /// The questions at which it is looked for.
    pub questions: &'static [Question],
    /// Where it was seen; empty where nobody found it in public.
    pub seen: &'static str,
    rule: Rule,
}

const TOKEN_QUESTIONS: &[Question] = &[Question::Tokens, PerSeqBytes, TotalBytes, PerGpuBytes];
const HELD_BYTES: &[Question] = &[PerSeqBytes, TotalBytes, PerGpuBytes];
const PER_TOKEN: &[Question] = &[BytesPerToken, PerSeqBytes, TotalBytes, PerGpuBytes];
const ALL_BYTES: &[Question] = &[
    BytesPerToken,
    PerSeqBytes,
    TotalBytes,
    PerGpuBytes,
    KvPoolBytes,
];
const POOL: &[Question] = &[KvPoolBytes, Fits, MaxConcurrency, MaxThinking];
const FITTING: &[Question] = &[Fits, MaxConcurrency, MaxThinking];

macro_rules! slips {
    ($($id:ident $code:literal $class:ident $questions:expr, $rule:expr, $seen:literal, $doc:literal;)*) => {
        /// The name of a slip.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SlipId {
            $(#[doc = $doc] $id,)*
        }

        /// Every slip.
        pub static SLIPS: &[Slip] = &[$(Slip {
            id: SlipId::$id,
            code: $code,
            class: SlipClass::$class,
            questions: $questions,
            seen: $seen,
            rule: $rule,
        },)*];
    };
}

use Rule::{Values, Worlds};

slips! {
    // Tokens.
    PromptOnly "T1" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (t.0, 0, 0))), "",
        "Only what was typed.";
    AnswerOnly "T2" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (0, 0, t.2))), "",
        "Only what is seen.";
    ThinkingFree "T3" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (t.0, 0, t.2))),
        "early DeepSeek API documentation left the chain of thought out of the context's count",
        "Prompt and answer, as if hidden tokens were not there.";
    ThinkingOnly "T4" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (0, t.1, 0))), "",
        "Only the thinking.";
    GeneratedOnly "T5" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (0, t.1, t.2))), "",
        "Thinking and answer, without the prompt.";
    AnswerNotCached "T6" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (t.0, t.1, 0))), "",
        "Prompt and thinking, without the answer.";
    ThinkingTwice "T7" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (t.0, 2 * t.1, t.2))), "",
        "Thinking once more, beside the completion that holds it already.";
    AverageLength "T8" Tokens TOKEN_QUESTIONS, Worlds(|s| tokens(s, |t| (t.0, t.1.midpoint(t.2) , 0))), "",
        "The mean over the request's life, not the peak.";
    WholeWindow "T9" Tokens TOKEN_QUESTIONS, Worlds(whole_window), "vllm-project/vllm#10517",
        "The whole context that the model allows.";
    WordsForTokens "T10" Tokens TOKEN_QUESTIONS, Worlds(|s| {
        let total = s.scenario.context_tokens().0;
        let less = tokens(s, |_| (total * 3 / 4, 0, 0));
        [tokens(s, |_| ((4 * total).div_ceil(3), 0, 0)), less].concat()
    }), "",
        "Words turned into tokens, or tokens into words, though the numbers are tokens.";

    // Bytes per token.
    OneOfKAndV "P1" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { v: 0, ..h })), "",
        "K without V.";
    QueryHeads "P2" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { count: h.query, ..h })),
        "meta-pytorch/torchtune#38; hahnyuan/LLM-Viewer#12",
        "Query heads in place of key and value heads.";
    HiddenSize "P3" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { count: 1, k: h.hidden, v: h.hidden, ..h })),
        "vllm-project/vllm#29736, in review",
        "The hidden size in place of heads times head size.";
    OneLayer "P4" PerToken PER_TOKEN, Worlds(|s| {
        if s.right(Question::Layers).is_some_and(|layers| 1.0 < layers) {
            vec![with_model(&s.scenario, one_layer)]
        } else {
            Vec::new()
        }
    }), "",
        "One layer.";
    OneHead "P5" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { count: 1, ..h })),
        "rohitg00/ai-engineering-from-scratch#57, in review",
        "One key and value head.";
    BitsAsBytes "P6" PerToken PER_TOKEN, Worlds(|s| format(s, |f| ElementFormat { block_bytes: f.block_bytes * 8, ..f })), "",
        "Bits of a number taken for its bytes.";
    FourBytes "P7" PerToken PER_TOKEN, Worlds(|s| format(s, |_| formats::F32)), "",
        "Four bytes for each number.";
    OneByte "P8" PerToken PER_TOKEN, Worlds(|s| format(s, |_| formats::FP8)), "",
        "One byte for each number.";
    WeightsFormat "P9" PerToken PER_TOKEN, Worlds(|s| format(s, |_| FOUR_BITS)), "",
        "The four bits of quantized weights for the cache.";
    NoHeadSize "P10" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { k: 1, v: 1, ..h })), "",
        "Heads without their size.";
    TwoTwice "P11" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { v: h.k + 2 * h.v, ..h })), "",
        "A factor of two that was there already.";
    GroupSize "P12" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { count: h.query / h.count.max(1), ..h })),
        "rasbt/LLMs-from-scratch#922",
        "Query heads per key and value head, in place of key and value heads.";
    QueriesToo "P13" PerToken PER_TOKEN, Worlds(|s| {
        let all = heads(s, |h| Heads { v: h.v + h.k * h.query / h.count.max(1), ..h });
        [heads(s, |h| Heads { v: h.v + h.k, ..h }), all].concat()
    }), "",
        "Queries cached beside keys and values.";
    HeadSizeByKvHeads "P14" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| {
        let size = h.hidden / h.count.max(1);
        Heads { k: size, v: size, ..h }
    })), "",
        "The hidden size divided by key and value heads, in place of the head size.";
    OneGpusShare "P15" PerToken &[BytesPerToken, PerSeqBytes, TotalBytes], Values(|s, question, _| {
        let replicas = u64::from(s.scenario.data_parallel_size.max(1));
        right(s, question, |right| right / (s.report.hardware.num_gpus / replicas) as f64)
    }), "",
        "One GPU's share taken for the whole.";
    HeadsTimesHidden "P17" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| Heads { k: h.hidden, v: h.hidden, ..h })),
        "jranaraki/vllm-fit#2, with query heads",
        "Key and value heads times hidden size.";

    // What is measured.
    WeightsToo "B1" Total &[PerSeqBytes, TotalBytes], Values(|s, question, _| {
        right(s, question, |right| right + s.report.model.weight_bytes.0 as f64)
    }), "",
        "The weights beside the cache.";
    AttentionMatrix "B2" Total &[PerSeqBytes], Values(attention_matrix), "",
        "The scores of every token with every other.";
    EveryStep "B3" Total &[PerSeqBytes], Values(every_step), "",
        "The sum over the steps: what is read, not what is held.";
    OneRequest "B4" Total &[TotalBytes, PerGpuBytes], Worlds(|s| edited(s, |scenario| scenario.num_seqs = 1)), "",
        "One request's cache for all requests.";
    FreedAfterThinking "B5" Total HELD_BYTES, Worlds(|s| {
        // Until the answer starts the thinking is there; so this belief differs from "thinking is free" only before.
        edited(s, |scenario| if 0 < scenario.answer_tokens.0 { scenario.thinking_tokens = Tokens(0) })
    }), "",
        "The thinking freed when the answer starts.";
    WindowAssumed "B6" Total HELD_BYTES, Worlds(|s| vec![with_layers(&s.scenario, sliding)]), "",
        "A sliding window in a model that has none.";

    // Units.
    DecimalAsBinary "U1" Unit ALL_BYTES, Values(|s, question, unit| match unit {
        Unit::Byte(Prefix { is_binary: true, power }) => {
            right(s, question, |right| right * (BINARY / 1e3_f64).powi(i32::from(power)))
        }
        _ => Vec::new(),
    }), "a table of the book \"How to Scale Your Model\" is headed GiB over values in GB",
        "Divided by powers of 1,000 and called GiB.";
    BinaryAsDecimal "U2" Unit ALL_BYTES, Values(|s, question, unit| match unit {
        Unit::Byte(Prefix { is_binary: false, power }) => {
            right(s, question, |right| right / (BINARY / 1e3_f64).powi(i32::from(power)))
        }
        _ => Vec::new(),
    }), "Mooncake (FAST 2025) writes 320 KB and 40 GB for KiB and GiB; vllm-project/vllm#10517 logs GiB as GB",
        "Divided by powers of 1,024 and called GB.";
    MixedPowers "U3" Unit ALL_BYTES, Values(mixed_powers), "",
        "Some steps by 1,000 and some by 1,024.";
    Bits "U4" Unit ALL_BYTES, Values(|s, question, _| right(s, question, |right| right * 8.0)), "",
        "Bits called bytes.";
    ThousandFold "U5" Unit ALL_BYTES, Values(|s, question, unit| {
        let base = match unit {
            Unit::Byte(prefix) => prefix.base(),
            _ => 1e3,
        };
        let mut res = right(s, question, |right| right * base);
        res.extend(right(s, question, |right| right / base));
        res
    }), "",
        "One prefix too many or too few.";

    // What fits.
    WeightsForgotten "F1" Fit POOL, Worlds(|s| {
        let hbm = &s.report.hbm;
        let beside = hbm.activation_bytes + hbm.overhead_bytes;
        pool(s, &[hbm.capacity_bytes, hbm.usable_bytes, hbm.usable_bytes.minus(beside)])
    }), "",
        "The weights forgotten.";
    WholeMemory "F2" Fit POOL, Worlds(|s| {
        let hbm = &s.report.hbm;
        let beside = hbm.activation_bytes + hbm.overhead_bytes;
        let weights = hbm.weight_bytes;
        pool(s, &[
            hbm.capacity_bytes.minus(weights),
            hbm.capacity_bytes.minus(weights + beside),
            hbm.usable_bytes.minus(weights),
        ])
    }), "",
        "All of the memory used, nothing left for activations and runtime.";
    GibForGb "F3" Fit FITTING, Worlds(|s| {
        let bytes = u128::from(s.report.hbm.kv_pool_bytes.0);
        let scaled = |by: u64, of: u64| {
            Bytes(u64::try_from(bytes * u128::from(by) / u128::from(of)).unwrap_or(u64::MAX))
        };
        given_pool(s, &[scaled(GIB, GB), scaled(GB, GIB)])
    }), "",
        "A budget in GB read as GiB, or the other way.";
    AnyGpuCount "F4" Fit &[PerGpuBytes, MaxConcurrency], Values(|s, question, _| {
        let Some(whole) = s.right(TotalBytes) else { return Vec::new() };
        let (gpus, num_seqs) = (s.report.hardware.num_gpus as f64, f64::from(s.scenario.num_seqs));
        let divided = whole / gpus;
        match question {
            PerGpuBytes => vec![divided],
            _ if 0.0 < divided => {
                let pool = s.report.hbm.kv_pool_bytes.0 as f64;
                vec![(pool / (divided / num_seqs)).floor()]
            }
            _ => Vec::new(),
        }
    }), "",
        "Divided by any number of GPUs, though there are only so many heads.";
    PromptsFit "C1" Fit &[MaxConcurrency], Worlds(|s| tokens(s, |t| (t.0, 0, 0))), "",
        "Requests counted by their prompts.";
    ThinkingLeftOut "C2" Fit &[MaxConcurrency], Worlds(|s| tokens(s, |t| (t.0, 0, t.2))), "",
        "Requests counted without their thinking.";
    AverageOccupancy "C3" Fit &[MaxConcurrency], Values(|s, _, _| {
        let average = tokens(s, |t| (t.0, t.1.midpoint(t.2), 0));
        let mut res = values_of(&average, MaxConcurrency);
        res.push(s.report.fit.max_concurrency_mean as f64);
        res
    }), "",
        "Requests counted by their mean.";
    RoundedUp "C4" Fit &[MaxConcurrency], Values(|s, question, _| right(s, question, |right| right + 1.0)), "",
        "The last request rounded up.";
    ManyHeads "C5" Fit &[MaxConcurrency], Worlds(|s| heads(s, |h| Heads { count: h.query, ..h })), "",
        "Requests counted with query heads.";
    FullWindows "C6" Fit &[MaxConcurrency], Values(|s, _, _| {
        let full = whole_window(s);
        let ratios = full.iter().map(|scenario| Situation::new(scenario).concurrency_not_rounded());
        ratios.flat_map(|ratio| [ratio, ratio.floor()]).collect()
    }), "vllm-project/vllm#10517, the log line \"Maximum concurrency\"",
        "Requests that fill the whole context.";
    TokensForRequests "C7" Fit &[MaxConcurrency], Values(|s, _, _| {
        let (pool, token) = (s.report.hbm.kv_pool_bytes.0 as f64, s.per_gpu_bytes_per_token());
        if 0.0 < token { vec![(pool / token).floor()] } else { Vec::new() }
    }), "",
        "Tokens that fit, taken for requests.";
    NothingReserved "L1" Fit &[MaxThinking], Worlds(|s| tokens(s, |t| (0, t.1, 0))), "",
        "No room for prompt and answer.";
    AnswerNotReserved "L2" Fit &[MaxThinking], Worlds(|s| tokens(s, |t| (t.0, t.1, 0))), "",
        "No room for the answer.";
    OthersForgotten "L3" Fit &[MaxThinking], Worlds(|s| edited(s, |scenario| scenario.num_seqs = 1)), "",
        "The other requests forgotten.";
    WindowForgotten "L4" Fit &[MaxThinking], Values(|s, _, _| {
        let taken = s.scenario.prompt_tokens.plus(s.scenario.answer_tokens);
        s.room().map(|room| room.minus(taken).0 as f64).into_iter().collect()
    }), "",
        "The model's own context forgotten.";
    LimitIsThinking "L5" Fit &[MaxThinkingUnderLimit], Values(|s, _, _| vec![output_limit(&s.scenario).0 as f64]), "",
        "The limit on the output taken for the thinking's.";

    // Beside the collection.
    WindowIgnored "X1" PerToken HELD_BYTES, Worlds(|s| vec![with_layers(&s.scenario, LayerKind::without_window)]),
        "unslothai/unsloth#4757: 81 GB for the 10 of Gemma 3 27B",
        "Windows ignored: every layer as if it kept every token.";
    LatentTwice "X2" PerToken PER_TOKEN, Worlds(|s| vec![with_layers(&s.scenario, latent_twice)]),
        "LMCache/LMCache#694, a calculator",
        "A latent row counted for K and again for V.";
    HeadSizeFromHidden "X8" PerToken PER_TOKEN, Worlds(|s| heads(s, |h| {
        let size = h.hidden / h.query.max(1);
        Heads { k: size, v: size, ..h }
    })), "LMCache/LMCache#688; vllm-project/vllm#2622",
        "The hidden size divided by query heads, where the file says another head size.";
    AllRequests "X3" Total &[PerSeqBytes], Values(|s, _, _| s.right(TotalBytes).into_iter().collect()), "",
        "All requests' cache for one request.";
    NotDivided "X4" Fit &[PerGpuBytes], Values(|s, _, _| s.right(TotalBytes).into_iter().collect()), "",
        "Everything on one GPU.";
    PromptInLimit "X5" Fit &[MaxThinkingUnderLimit], Values(|s, question, _| {
        right(s, question, |right| right - s.scenario.prompt_tokens.0 as f64)
    }), "",
        "The prompt taken off a limit that covers only the output.";
    SameTextSameCache "X6" NextTurn &[ReusedAfterStrip], Values(|s, _, _| {
        let tokens = s.scenario.prompt_tokens.plus(s.scenario.answer_tokens);
        let blocks = tokens.0 / s.block_size().0 * s.block_size().0;
        vec![tokens.0 as f64, blocks as f64]
    }), "",
        "The answer's text is the same, so its rows are.";
    NothingStripped "X7" NextTurn &[ReusedAfterStrip], Values(|s, _, _| {
        let total = s.report.tokens.total;
        let kept = s.reused(Policy::Preserved);
        let whole = [Some(total), Some(total.minus(Tokens(1))), kept];
        whole.into_iter().flatten().map(|tokens| tokens.0 as f64).collect()
    }), "",
        "The whole sequence, as if nothing were stripped.";
}

const BINARY: f64 = crate::core::units::KIB as f64;
const FOUR_BITS: ElementFormat = ElementFormat {
    id: "4 bit",
    block_bytes: 1,
    block_elements: 2,
    ..formats::FP8
};
/// The window of the models that made windows known (Mistral 7B v0.1).
const KNOWN_WINDOW: Tokens = Tokens(4096);

/// The slip with this name.
pub fn slip(id: SlipId) -> Option<&'static Slip> {
    SLIPS.iter().find(|slip| slip.id == id)
}

impl SlipId {
    /// Its code in the collection.
    pub fn code(self) -> &'static str {
        slip(self).map_or("", |slip| slip.code)
    }

    /// The slip with this code.
    pub fn from_code(code: &str) -> Option<Self> {
        let found = SLIPS.iter().find(|slip| slip.code == code);
        found.map(|slip| slip.id)
    }
}

impl Slip {
    /// The answers that this slip gives to the question; none where it cannot be made or makes no difference. `unit` is
    /// the unit of the answer, which matters to slips of units only.
    pub fn answers(&self, situation: &Situation, question: Question, unit: Unit) -> Vec<f64> {
        if self.questions.contains(&question) {
            self.belief(situation, question, unit)
        } else {
            Vec::new()
        }
    }

    /// What someone with this slip in mind would answer to any question, also where the slip is not looked for: the
    /// right answer where the slip has no say.
    pub fn belief(&self, situation: &Situation, question: Question, unit: Unit) -> Vec<f64> {
        match self.rule {
            Worlds(worlds) => values_of(&worlds(situation), question),
            Values(values) if self.questions.contains(&question) => {
                values(situation, question, unit)
            }
            Values(_) => situation.right(question).into_iter().collect(),
        }
    }
}

fn values_of(worlds: &[Scenario], question: Question) -> Vec<f64> {
    let values = worlds
        .iter()
        .filter_map(|scenario| Situation::new(scenario).right(question));
    values.collect()
}

fn right(s: &Situation, question: Question, change: impl Fn(f64) -> f64) -> Vec<f64> {
    s.right(question).map(change).into_iter().collect()
}

fn edited(s: &Situation, edit: impl FnOnce(&mut Scenario)) -> Vec<Scenario> {
    let mut res = s.scenario.clone();
    edit(&mut res);
    vec![res]
}

/// With other tokens of prompt, thinking and answer.
fn tokens(s: &Situation, change: impl FnOnce((u64, u64, u64)) -> (u64, u64, u64)) -> Vec<Scenario> {
    let scenario = &s.scenario;
    let old = (
        scenario.prompt_tokens.0,
        scenario.thinking_tokens.0,
        scenario.answer_tokens.0,
    );
    let (prompt, thinking, answer) = change(old);
    edited(s, |scenario| {
        scenario.prompt_tokens = Tokens(prompt);
        scenario.thinking_tokens = Tokens(thinking);
        scenario.answer_tokens = Tokens(answer);
    })
}

fn whole_window(s: &Situation) -> Vec<Scenario> {
    let context = s.report.model.max_position_embeddings;
    let longer = context.filter(|context| s.scenario.context_tokens() < *context);
    let scenario = longer.map(|context| {
        let taken = s.scenario.prompt_tokens.plus(s.scenario.answer_tokens);
        let mut res = s.scenario.clone();
        res.thinking_tokens = context.minus(taken);
        res.num_samples = 1;
        res
    });
    scenario.into_iter().collect()
}

/// The heads of a layer, as the formula multiplies them.
#[derive(Clone, Copy)]
struct Heads {
    count: u32,
    k: u32,
    v: u32,
    query: u32,
    hidden: u32,
}

/// With other heads in every layer that has heads; nothing for a model without query heads or hidden size, or whose rows
/// are not of heads.
fn heads(s: &Situation, change: impl Fn(Heads) -> Heads) -> Vec<Scenario> {
    let model = &s.scenario.model.config;
    let (query, hidden) = (model.num_attention_heads, model.hidden_size);
    let is_of_heads = model.groups.iter().all(|group| {
        group.kind.num_key_value_heads().is_some()
            || matches!(group.kind, LayerKind::Recurrent(_) | LayerKind::Shared)
    });
    if query == 0 || hidden == 0 || !is_of_heads {
        return Vec::new();
    }
    let changed = |count: &mut u32, k: &mut u32, v: &mut u32| {
        let old = Heads {
            count: *count,
            k: *k,
            v: *v,
            query,
            hidden,
        };
        let new = change(old);
        (*count, *k, *v) = (new.count, new.k, new.v);
    };
    vec![with_layers(&s.scenario, |mut kind| {
        match &mut kind {
            LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            }
            | LayerKind::Sliding {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            }
            | LayerKind::Chunked {
                num_key_value_heads,
                head_dim,
                v_head_dim,
                ..
            } => changed(num_key_value_heads, head_dim, v_head_dim),
            LayerKind::Latent { .. }
            | LayerKind::Compressed { .. }
            | LayerKind::Recurrent(_)
            | LayerKind::Cross { .. }
            | LayerKind::Shared => {}
        }
        kind
    })]
}

fn format(s: &Situation, change: impl Fn(ElementFormat) -> ElementFormat) -> Vec<Scenario> {
    edited(s, |scenario| {
        let KvFormat { k, v } = scenario.kv_cache_dtype;
        scenario.kv_cache_dtype = KvFormat {
            k: change(k),
            v: change(v),
        };
    })
}

fn sliding(kind: LayerKind) -> LayerKind {
    match kind {
        LayerKind::Full {
            num_key_value_heads,
            head_dim,
            v_head_dim,
        } => LayerKind::Sliding {
            window: KNOWN_WINDOW,
            num_key_value_heads,
            head_dim,
            v_head_dim,
        },
        LayerKind::Sliding { .. }
        | LayerKind::Chunked { .. }
        | LayerKind::Latent { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_)
        | LayerKind::Cross { .. }
        | LayerKind::Shared => kind,
    }
}

fn latent_twice(kind: LayerKind) -> LayerKind {
    match kind {
        LayerKind::Latent {
            kv_lora_rank,
            qk_rope_head_dim,
            index_head_dim,
        } => LayerKind::Latent {
            kv_lora_rank: 2 * kv_lora_rank,
            qk_rope_head_dim: 2 * qk_rope_head_dim,
            index_head_dim,
        },
        LayerKind::Full { .. }
        | LayerKind::Sliding { .. }
        | LayerKind::Chunked { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_)
        | LayerKind::Cross { .. }
        | LayerKind::Shared => kind,
    }
}

/// With these pools, where the pool is what the memory leaves.
fn pool(s: &Situation, pools: &[Bytes]) -> Vec<Scenario> {
    if s.scenario.engine.available_kv_cache_bytes.is_some() {
        return Vec::new();
    }
    given_pool(s, pools)
}

fn given_pool(s: &Situation, pools: &[Bytes]) -> Vec<Scenario> {
    let worlds = pools.iter().flat_map(|pool| {
        edited(s, |scenario| {
            scenario.engine.available_kv_cache_bytes = Some(*pool)
        })
    });
    worlds.collect()
}

/// Scores of every token with every other, for each query head and layer.
fn attention_matrix(s: &Situation, _: Question, _: Unit) -> Vec<f64> {
    let model = &s.scenario.model.config;
    let format = s.scenario.kv_cache_dtype.k;
    let element = f64::from(format.block_bytes) / f64::from(format.block_elements.max(1));
    let tokens = s.report.tokens.total.0 as f64;
    if model.num_attention_heads == 0 {
        return Vec::new();
    }
    let heads = f64::from(model.num_attention_heads) * s.report.model.num_hidden_layers as f64;
    vec![tokens * tokens * heads * element]
}

/// The cache summed over the decode steps.
fn every_step(s: &Situation, _: Question, _: Unit) -> Vec<f64> {
    let points = s.report.life.windows(2);
    let sum: f64 = points
        .filter_map(|pair| <&[_; 2]>::try_from(pair).ok())
        .map(|[a, b]| {
            let (from, to) = (a.bytes.0 as f64, b.bytes.0 as f64);
            // The points after `a` up to `b`, on a straight line.
            let steps = (b.step - a.step) as f64;
            steps * (from + to) / 2.0 + (to - from) / 2.0
        })
        .sum();
    if sum == 0.0 { Vec::new() } else { vec![sum] }
}

/// The number after steps of both kinds, with the name of the answer's unit.
fn mixed_powers(s: &Situation, question: Question, unit: Unit) -> Vec<f64> {
    let Unit::Byte(prefix) = unit else {
        return Vec::new();
    };
    let power = i32::from(prefix.power);
    let mixed = (1..power).flat_map(|binary| {
        right(s, question, |right| {
            right / BINARY.powi(binary) / 1e3_f64.powi(power - binary) * prefix.factor()
        })
    });
    mixed.collect()
}
