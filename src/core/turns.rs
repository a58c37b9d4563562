//! After the answer: what the next turn finds in the cache, and what nobody will read again.
//!
//! A cached block is named by a hash of the block before it and of its own tokens, so it is found again only when every
//! token up to its end is the same. A chat template that drops earlier thinking therefore cuts the chain where the
//! thinking began: the thinking *and the answer behind it* stay in the pool, dead, and the answer is prefilled again.

use serde::Serialize;

use super::layer::LayerKind;
use super::model::LayerGroup;
use super::scenario::{FieldError, Problem, Scenario};
use super::setup::Setup;
use super::units::{Bounds, Bytes, Tokens};

/// What happens to earlier thinking in the history of a conversation. A switch, never a fact about reasoning models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Removed at the next user message and between tool calls.
    Strip,
    /// Kept through the tool calls of the current turn, removed at the next user message.
    Interleaved,
    /// Kept across user messages.
    Preserved,
}

impl Policy {
    /// Every policy, in the order in which it keeps more.
    pub const ALL: [Self; 3] = [Self::Strip, Self::Interleaved, Self::Preserved];

    /// The id in links and JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Strip => "strip",
            Self::Interleaved => "interleaved",
            Self::Preserved => "preserved",
        }
    }

    /// Whether thinking of the user turn `of` is still in a prompt of the user turn `in_turn`.
    fn keeps(self, of: u32, in_turn: u32) -> bool {
        match self {
            Self::Strip => false,
            Self::Interleaved => of == in_turn,
            Self::Preserved => true,
        }
    }
}

/// One call of the model: new tokens come in, thinking and an answer go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Whether the new tokens are a user's message (else a tool's result).
    pub is_user: bool,
    /// Tokens that no earlier prompt held.
    pub new_tokens: Tokens,
    /// Thinking of one sample.
    pub thinking: Tokens,
    /// Answer of one sample, or its tool call.
    pub answer: Tokens,
}

/// A conversation and how it is cached. Nothing is evicted between its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// What is said.
    pub exchanges: Vec<Exchange>,
    /// What the template does with earlier thinking.
    pub policy: Policy,
    /// Tokens of a block of the prefix cache; SGLang's page is 1.
    pub block_size: Tokens,
    /// Samples of each exchange; the conversation goes on with one of them.
    pub num_samples: u64,
    /// Tokens of the first prompt that other conversations have cached already.
    pub shared_prefix: Tokens,
    /// Tokens at the end of a prompt that the history renders differently once the thinking is dropped: a generation
    /// header that ends in `<think>`.
    pub changed_header: Tokens,
    /// Whether only the prompt stays cached when a response with thinking ends (SGLang `--strip-thinking-cache`).
    pub frees_at_finish: bool,
}

/// How a scenario's request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// User messages.
    pub num_turns: u64,
    /// Tokens of each message after the first.
    pub follow_up: Tokens,
    /// Tool calls before each answer; the thinking is spread evenly before, between and after them.
    pub tool_calls: u64,
    /// Tokens of one tool call.
    pub call: Tokens,
    /// Tokens of one tool's result.
    pub result: Tokens,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            num_turns: NUM_TURNS.default,
            follow_up: Tokens(FOLLOW_UP_TOKENS.default),
            tool_calls: TOOL_CALLS.default,
            call: Tokens(CALL_TOKENS.default),
            result: Tokens(RESULT_TOKENS.default),
        }
    }
}

/// Bounds of [`Plan::num_turns`].
pub const NUM_TURNS: Bounds = Bounds::log(1, 50, 2);
/// Bounds of [`Plan::follow_up`].
pub const FOLLOW_UP_TOKENS: Bounds = Bounds::log(1, 1 << 20, 100);
/// Bounds of [`Plan::tool_calls`].
pub const TOOL_CALLS: Bounds = Bounds::log(0, 20, 0);
/// Bounds of [`Plan::call`].
pub const CALL_TOKENS: Bounds = Bounds::log(1, 1 << 20, 50);
/// Bounds of [`Plan::result`].
pub const RESULT_TOKENS: Bounds = Bounds::log(1, 1 << 20, 500);

impl Plan {
    /// Checks every number against its bounds.
    ///
    /// # Errors
    ///
    /// The first number outside its bounds.
    pub fn check(&self) -> Result<(), FieldError> {
        let rows = [
            ("num_turns", self.num_turns, NUM_TURNS),
            ("follow_up_tokens", self.follow_up.0, FOLLOW_UP_TOKENS),
            ("tool_calls", self.tool_calls, TOOL_CALLS),
            ("call_tokens", self.call.0, CALL_TOKENS),
            ("result_tokens", self.result.0, RESULT_TOKENS),
        ];
        match rows
            .iter()
            .find(|(_, value, bounds)| !bounds.contains(*value))
        {
            Some((key, value, bounds)) => Err(FieldError {
                key: (*key).to_owned(),
                given: value.to_string(),
                problem: Problem::OutOfBounds(*bounds),
            }),
            None => Ok(()),
        }
    }

    fn exchanges(&self, scenario: &Scenario) -> Vec<Exchange> {
        let parts = self.tool_calls.saturating_add(1);
        let part = scenario.thinking_tokens.0 / parts;
        let mut res = Vec::new();
        for turn in 0..self.num_turns {
            for call in 0..parts {
                let is_last = call + 1 == parts;
                let new_tokens = match (turn, call) {
                    (0, 0) => scenario.prompt_tokens,
                    (_, 0) => self.follow_up,
                    _ => self.result,
                };
                res.push(Exchange {
                    is_user: call == 0,
                    new_tokens,
                    thinking: if is_last {
                        Tokens(scenario.thinking_tokens.0 - part * self.tool_calls)
                    } else {
                        Tokens(part)
                    },
                    answer: if is_last {
                        scenario.answer_tokens
                    } else {
                        self.call
                    },
                });
            }
        }
        res
    }
}

/// The tokens of one exchange. Exact for a hash chain of whole blocks from which nothing is evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TurnTokens {
    /// The user turn it belongs to, from 0.
    pub turn: u32,
    /// Tokens of the prompt: the history as the template renders it, and what is new.
    pub prompt_tokens: Tokens,
    /// Of them found in the cache.
    pub reused_tokens: Tokens,
    /// Of them prefilled.
    pub prefilled_tokens: Tokens,
    /// Of the prefilled ones those that an earlier sequence held already. (An engine never feeds back a sequence's last
    /// token, so one of them may be computed for the first time.)
    pub recomputed_tokens: Tokens,
    /// Tokens held when the response ends, all samples; the same under every policy in the first turn.
    pub peak_tokens: Tokens,
    /// Tokens of the exchange before that this prompt made unreachable.
    pub dead_tokens: Tokens,
    /// Of them thinking.
    pub dead_thinking_tokens: Tokens,
    /// Dead tokens of all exchanges before, while nothing evicts them.
    pub total_dead_tokens: Tokens,
}

/// One exchange with its bytes, unsharded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurnReport {
    /// Its tokens.
    #[serde(flatten)]
    pub tokens: TurnTokens,
    /// Bytes held once the prompt is in the cache.
    pub prompt_bytes: Bytes,
    /// Bytes held when the response ends, all samples.
    pub peak_bytes: Bytes,
    /// Bytes of [`TurnTokens::dead_tokens`].
    pub dead_bytes: Bytes,
    /// Bytes of [`TurnTokens::dead_thinking_tokens`].
    pub dead_thinking_bytes: Bytes,
    /// Bytes of [`TurnTokens::total_dead_tokens`].
    pub total_dead_bytes: Bytes,
}

/// A run of tokens of a sequence: equal names are equal tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    name: SegmentName,
    len: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentName {
    New(usize),
    /// The end of a prompt, as it was sent or as the history renders it without the thinking behind it.
    Header(usize, bool),
    Thinking(usize),
    Answer(usize),
}

/// Positions `from..to` that no later prompt reaches, in `count` sequences.
#[derive(Clone, Copy, Debug)]
struct Dead {
    from: u64,
    to: u64,
    is_thinking: bool,
    count: u64,
}

/// A finished sequence as the cache holds it.
struct Cached {
    segments: Vec<Segment>,
    /// Tokens that have rows: all but the last, which was never fed back.
    written: u64,
    /// Where its samples parted.
    parted: u64,
}

struct Step {
    tokens: TurnTokens,
    dead: Vec<Dead>,
    /// Rows of the sequence of which `dead` are positions.
    dead_of: u64,
}

fn len(segments: &[Segment]) -> u64 {
    segments
        .iter()
        .fold(0, |sum, segment| sum.saturating_add(segment.len))
}

fn common_prefix(a: &[Segment], b: &[Segment]) -> u64 {
    let equal = a.iter().zip(b).take_while(|(a, b)| a == b);
    equal.fold(0, |sum, (segment, _)| sum.saturating_add(segment.len))
}

impl Conversation {
    /// The scenario's request and its follow-ups.
    ///
    /// # Errors
    ///
    /// When a number of the plan is outside its bounds.
    pub fn new(
        scenario: &Scenario,
        plan: &Plan,
        policy: Policy,
        block_size: Tokens,
    ) -> Result<Self, FieldError> {
        plan.check()?;
        Ok(Self {
            exchanges: plan.exchanges(scenario),
            policy,
            block_size,
            num_samples: u64::from(scenario.num_samples),
            shared_prefix: scenario.shared_prefix_tokens.min(scenario.prompt_tokens),
            changed_header: Tokens(0),
            frees_at_finish: false,
        })
    }

    /// The tokens of every exchange.
    ///
    /// With q the tokens that a prompt of N tokens has in common with the sequence before it, which wrote all its tokens
    /// but the last: `⌊min(q, written, N − 1) / block_size⌋ · block_size` are reused, the rest of what was written is dead.
    ///
    /// Source: vLLM `KVCacheManager.get_computed_blocks` (whole blocks, the last token always recomputed) and
    /// `hash_block_tokens` (the hash of a block covers the hash of the block before it).
    pub fn tokens(&self) -> Vec<TurnTokens> {
        self.steps().into_iter().map(|step| step.tokens).collect()
    }

    /// The tokens of every exchange with their bytes in the setup's layers, unsharded.
    ///
    /// A layer with a window keeps the rows of its newest tokens only, and a recurrent layer one state; engines can go on
    /// from the middle of such a sequence only if they kept that window or state: see [`needs_snapshot`].
    pub fn report(&self, setup: &Setup<'_>) -> Vec<TurnReport> {
        let groups = setup.whole_groups();
        let range = |from: u64, to: u64, n: u64| rows_bytes(&groups, setup, from, to, n);
        let mut total_dead_bytes = Bytes::ZERO;
        let steps = self.steps();
        let reports = steps.iter().map(|step| {
            let tokens = step.tokens;
            let dead = |dead: &Dead| range(dead.from, dead.to, step.dead_of).times(dead.count);
            let dead_bytes = step.dead.iter().map(dead).sum();
            total_dead_bytes = total_dead_bytes + dead_bytes;
            let thinking = step.dead.iter().filter(|dead| dead.is_thinking);
            let (prompt, samples) = (tokens.prompt_tokens.0, self.num_samples.max(1));
            let tail = tokens.peak_tokens.minus(tokens.prompt_tokens).0 / samples;
            let end = prompt.saturating_add(tail);
            TurnReport {
                tokens,
                prompt_bytes: range(0, prompt, prompt) + state_bytes(&groups, setup, 1),
                peak_bytes: range(0, prompt, end)
                    + range(prompt, end, end).times(samples)
                    + state_bytes(&groups, setup, samples),
                dead_bytes,
                dead_thinking_bytes: thinking.map(dead).sum(),
                total_dead_bytes,
            }
        });
        reports.collect()
    }

    fn steps(&self) -> Vec<Step> {
        let mut res = Vec::new();
        let mut before: Option<Cached> = None;
        let (mut turn, mut total_dead) = (0, Tokens(0));
        for (idx, exchange) in self.exchanges.iter().enumerate() {
            if 0 < idx && exchange.is_user {
                turn += 1;
            }
            let mut segments = self.prompt(idx, turn);
            let prompt = len(&segments);
            let common = before.as_ref().map_or(self.shared_prefix.0, |before| {
                common_prefix(&before.segments, &segments).min(before.written)
            });
            let block_size = self.block_size.0.max(1);
            let reused = common.min(prompt.saturating_sub(1)) / block_size * block_size;
            let dead = before
                .as_ref()
                .map_or_else(Vec::new, |before| self.dead(before, reused));
            let (dead_tokens, dead_thinking_tokens) =
                dead.iter()
                    .fold((Tokens(0), Tokens(0)), |(all, thinking), dead| {
                        let tokens = Tokens((dead.to - dead.from).saturating_mul(dead.count));
                        let of_thinking = if dead.is_thinking { tokens } else { Tokens(0) };
                        (all.plus(tokens), thinking.plus(of_thinking))
                    });
            total_dead = total_dead.plus(dead_tokens);
            let tail = exchange.thinking.plus(exchange.answer).0;
            let prefilled_tokens = Tokens(prompt - reused);
            res.push(Step {
                tokens: TurnTokens {
                    turn,
                    prompt_tokens: Tokens(prompt),
                    reused_tokens: Tokens(reused),
                    prefilled_tokens,
                    recomputed_tokens: prefilled_tokens.minus(exchange.new_tokens),
                    peak_tokens: Tokens(prompt)
                        .plus(Tokens(tail.saturating_mul(self.num_samples.max(1)))),
                    dead_tokens,
                    dead_thinking_tokens,
                    total_dead_tokens: total_dead,
                },
                dead,
                dead_of: before.as_ref().map_or(0, |before| before.written),
            });
            segments.push(Segment {
                name: SegmentName::Thinking(idx),
                len: exchange.thinking.0,
            });
            segments.push(Segment {
                name: SegmentName::Answer(idx),
                len: exchange.answer.0,
            });
            segments.retain(|segment| 0 < segment.len);
            let frees = self.frees_at_finish && 0 < exchange.thinking.0;
            let fed_back = if frees { 0 } else { tail.saturating_sub(1) };
            before = Some(Cached {
                segments,
                written: prompt.saturating_add(fed_back),
                parted: prompt,
            });
        }
        res
    }

    /// The prompt of exchange `idx`: the history as the template renders it in user turn `turn`, and what is new.
    fn prompt(&self, idx: usize, turn: u32) -> Vec<Segment> {
        let mut res = Vec::with_capacity(4 * idx + 2);
        let mut turn_of = 0;
        for (past_idx, past) in self.exchanges.iter().take(idx + 1).enumerate() {
            if 0 < past_idx && past.is_user {
                turn_of += 1;
            }
            let header = self.changed_header.min(past.new_tokens);
            let is_past = past_idx < idx;
            let keeps = !is_past || self.policy.keeps(turn_of, turn);
            res.push(Segment {
                name: SegmentName::New(past_idx),
                len: past.new_tokens.minus(header).0,
            });
            res.push(Segment {
                name: SegmentName::Header(past_idx, keeps),
                len: header.0,
            });
            if is_past && keeps {
                res.push(Segment {
                    name: SegmentName::Thinking(past_idx),
                    len: past.thinking.0,
                });
            }
            if is_past {
                res.push(Segment {
                    name: SegmentName::Answer(past_idx),
                    len: past.answer.0,
                });
            }
        }
        // An empty run is the same under any name.
        res.retain(|segment| 0 < segment.len);
        res
    }

    /// What of a sequence no later prompt reaches: the continued sample after `reused`, the others after they parted.
    fn dead(&self, before: &Cached, reused: u64) -> Vec<Dead> {
        let others = self.num_samples.max(1) - 1;
        let mut res = Vec::new();
        let mut start = 0_u64;
        for segment in &before.segments {
            let to = start.saturating_add(segment.len).min(before.written);
            let is_thinking = matches!(segment.name, SegmentName::Thinking(_));
            for (unreached, count) in [(reused, 1), (before.parted, others)] {
                let from = start.max(unreached);
                if from < to && 0 < count {
                    res.push(Dead {
                        from,
                        to,
                        is_thinking,
                        count,
                    });
                }
            }
            start = to;
        }
        res
    }
}

/// Whether a prefix can be reused only where the engine kept a window or a state of that very moment.
pub fn needs_snapshot(groups: &[LayerGroup]) -> bool {
    groups.iter().any(|group| match group.kind {
        LayerKind::Sliding { .. }
        | LayerKind::Chunked { .. }
        | LayerKind::Compressed { .. }
        | LayerKind::Recurrent(_) => true,
        LayerKind::Full { .. }
        | LayerKind::Latent { .. }
        | LayerKind::Cross { .. }
        | LayerKind::Shared => false,
    })
}

fn rows_bytes(groups: &[LayerGroup], setup: &Setup<'_>, from: u64, to: u64, n: u64) -> Bytes {
    let parts = groups.iter().map(|group| {
        let rows = group.kind.kept_rows(Tokens(from), Tokens(to), Tokens(n));
        let (k, v) = group.kind.rows_bytes(rows, setup.formats.kv);
        (k + v + group.kind.index_bytes(rows, setup.formats)).times(u64::from(group.count))
    });
    parts.sum()
}

fn state_bytes(groups: &[LayerGroup], setup: &Setup<'_>, samples: u64) -> Bytes {
    let parts = groups.iter().map(|group| {
        let (k, v) = group.kind.cross_bytes(setup.formats.kv);
        (group.kind.state_bytes(setup.formats).times(samples) + k + v).times(u64::from(group.count))
    });
    parts.sum()
}
