//! The short course: what the cache keeps, why thinking fills it, where it lies, when the formula ends. Sections of blocks,
//! filled with the scenario's numbers; the page draws them.

pub mod pages;
pub mod sources;

use crate::core::engines::exact::BLOCK_SIZE;
use crate::core::layer::LayerKind;
use crate::core::predict::answer::Unit;
use crate::core::predict::question::{Question, Situation};
use crate::core::predict::slips::{SlipId, slip};
use crate::core::presets;
use crate::core::report::LONG_THINKING;
use crate::core::scenario::{ModelChoice, ModelSource, Scenario};
use crate::core::setup::Setup;
use crate::core::templates;
use crate::core::turns::{Conversation, Plan, Policy, TurnReport};
use crate::core::units::{Bytes, KIB, Tokens, formats};
use crate::core::{lengths, life};

use super::numbers::Numbers;
use super::text::{ConceptText, Messages, fill};
use super::values::{Values, element_bytes, fills_windows, is_straight_line};
use sources::Source;

/// A part of the course.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// A name for links within the page.
    pub id: &'static str,
    /// Its heading.
    pub title: String,
    /// What it says.
    pub blocks: Vec<Block>,
    /// What that stands on.
    pub sources: Vec<Source>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Paragraph(String),
    /// Points.
    List(Vec<Point>),
    /// A line of arithmetic, with what it computes.
    Formula {
        /// What it computes.
        label: String,
        /// The line.
        line: String,
    },
    /// A table.
    Table {
        /// Its caption, may be empty.
        caption: String,
        /// Heads of the columns.
        head: Vec<String>,
        /// Rows.
        rows: Vec<Vec<String>>,
    },
    /// The notebook picture, animated by [`Notebook::frame`].
    Notebook(Box<Notebook>),
    /// A claim and what is so.
    Myth {
        /// What is said.
        claim: String,
        /// What is so.
        truth: String,
    },
    /// A question whose approach is hidden until asked for.
    Hidden {
        /// The question.
        question: String,
        /// The approach.
        answer: String,
    },
    /// A button that puts a scenario on the page.
    Try(Try),
    /// The list of sources.
    Sources(Vec<Source>),
}

/// A point, and the scenario that shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What it says.
    pub text: String,
    /// The scenario beside it.
    pub try_it: Option<Try>,
}

/// A change of the scenario, by the names of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// The button's words.
    pub label: String,
    /// Fields and their texts.
    pub pairs: Vec<(&'static str, String)>,
}

/// The pages of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Notebook {
    scenario: Scenario,
    /// Lines of a page.
    pub block_size: u64,
    /// Steps from the prefilled prompt to the last token.
    pub steps: u64,
    /// Its caption.
    pub caption: String,
    /// What it shows, for those who do not see it.
    pub summary: String,
    frame_words: String,
    before_words: String,
}

/// The notebook at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Pages that are not listed, before the first that is.
    pub n_before: u64,
    /// The same in words; empty for none.
    pub before: String,
    /// The last pages.
    pub pages: Vec<Page>,
    /// Tokens, pages and bytes in words.
    pub caption: String,
}

/// Lines of a page by the phase that wrote them; the rest is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Lines of the prompt.
    pub prompt: u64,
    /// Lines of thinking.
    pub thinking: u64,
    /// Lines of the answer.
    pub answer: u64,
}

impl Notebook {
    /// The notebook after `step` decode steps: its last `max_pages` pages.
    pub fn frame(&self, step: u64, max_pages: u64, numbers: Numbers<'_>) -> Frame {
        let step = step.min(self.steps);
        let setup = Setup::new(&self.scenario);
        let at = life::at(&self.scenario, &setup.whole_groups(), &setup, step);
        let lines = at.tokens.0;
        let n_pages = at.tokens.blocks(Tokens(self.block_size));
        let n_before = n_pages.saturating_sub(max_pages);
        let prompt = self.scenario.prompt_tokens.0;
        let thinking_ends = prompt.saturating_add(self.scenario.thinking_tokens.0);
        let pages = (n_before..n_pages).map(|idx| {
            let (from, to) = (idx * self.block_size, (idx + 1) * self.block_size);
            let within =
                |start: u64, end: u64| end.min(to).min(lines).saturating_sub(start.max(from));
            Page {
                prompt: within(0, prompt),
                thinking: within(prompt, thinking_ends),
                answer: within(thinking_ends, u64::MAX),
            }
        });
        let pages: Vec<Page> = pages.collect();
        let before = if n_before == 0 {
            String::new()
        } else {
            fill(&self.before_words, &[("n", &numbers.integer(n_before))])
        };
        let caption = fill(
            &self.frame_words,
            &[
                ("tokens", &numbers.integer(lines)),
                ("pages", &numbers.integer(n_pages)),
                ("size", &numbers.bytes(at.bytes)),
            ],
        );
        Frame {
            n_before,
            before,
            pages,
            caption,
        }
    }
}

/// The course for a scenario.
pub fn sections(scenario: &Scenario, text: &ConceptText, messages: &Messages) -> Vec<Section> {
    let situation = Situation::new(scenario);
    let course = Course::new(&situation, text, messages.numbers());
    vec![
        course.what(),
        course.phases(),
        course.notebook(),
        course.arithmetic(),
        course.hbm(),
        course.billing(),
        course.next_turn(),
        course.eviction(),
        course.limits(),
        course.flags(),
        course.myths(),
        course.minute(),
        course.interview(),
        Section {
            id: "sources",
            title: text.sources_title().to_owned(),
            blocks: vec![Block::Sources(sources::ALL.to_vec())],
            sources: Vec::new(),
        },
    ]
}

struct Course<'a> {
    situation: &'a Situation,
    text: &'a ConceptText,
    numbers: Numbers<'a>,
    values: Values,
    block_size: Tokens,
}

impl<'a> Course<'a> {
    fn new(situation: &'a Situation, text: &'a ConceptText, numbers: Numbers<'a>) -> Self {
        // A page of a single token is no picture of a page.
        let block_size = Some(situation.block_size()).filter(|size| 1 < size.0);
        let mut res = Self {
            situation,
            text,
            numbers,
            values: Values::of(situation, numbers),
            block_size: block_size.unwrap_or(BLOCK_SIZE),
        };
        res.add_values();
        res
    }

    fn add_values(&mut self) {
        let (numbers, report) = (self.numbers, &self.situation.report);
        let (cache, tokens, fit) = (&report.kv_cache, &report.tokens, &report.fit);
        let values = &mut self.values;
        let blocks = tokens.total.blocks(self.block_size);
        let lines = blocks.saturating_mul(self.block_size.0);
        values.set("block_size", numbers.integer(self.block_size.0));
        values.set("blocks", numbers.integer(blocks));
        values.set(
            "prompt_pages",
            numbers.integer(tokens.prompt.blocks(self.block_size)),
        );
        values.set(
            "empty_lines",
            numbers.integer(lines.saturating_sub(tokens.total.0)),
        );
        let prefilled = report.life.first().map_or(Bytes::ZERO, |point| point.bytes);
        values.set("prompt_size", numbers.bytes(prefilled));
        values.set("mean", numbers.bytes(cache.mean_bytes));
        for (name, bytes) in [
            ("prompt_share", cache.prompt_bytes),
            ("thinking_share", cache.thinking_bytes),
            ("answer_share", cache.answer_bytes),
        ] {
            values.set(name, numbers.percent(bytes.0, cache.per_seq_bytes.0, 0));
        }
        values.set("max_concurrency", numbers.integer(fit.max_concurrency));
        values.set(
            "max_concurrency_mean",
            numbers.integer(fit.max_concurrency_mean),
        );
        values.set(
            "concurrency_long",
            numbers.integer(fit.max_concurrency_at_32000),
        );
        values.set("long_thinking", numbers.integer(LONG_THINKING.0));
        values.set("weight_format", self.situation.scenario.weight_format.label);
        values.set("gpu_name", self.situation.scenario.gpu.name);
        let (shared, own) = self.situation.shared_and_own_per_gpu();
        values.set("one_per_gpu", numbers.bytes(shared + own));
        values.set("follow_up", numbers.integer(Plan::default().follow_up.0));
    }

    fn paragraph(&self, template: &str) -> Block {
        Block::Paragraph(self.values.fill(template))
    }

    fn point(&self, template: &str) -> Point {
        Point {
            text: self.values.fill(template),
            try_it: None,
        }
    }

    fn points(&self, templates: &[&str]) -> Block {
        Block::List(
            templates
                .iter()
                .map(|template| self.point(template))
                .collect(),
        )
    }

    fn try_it(&self, label: &str, pairs: &[(&'static str, &str)]) -> Try {
        let own = |(key, value): &(&'static str, &str)| (*key, (*value).to_owned());
        Try {
            label: self.values.fill(label),
            pairs: pairs.iter().map(own).collect(),
        }
    }

    fn section(
        &self,
        id: &'static str,
        title: &str,
        blocks: Vec<Block>,
        sources: &[Source],
    ) -> Section {
        Section {
            id,
            title: self.values.fill(title),
            blocks,
            sources: sources.to_vec(),
        }
    }

    fn what(&self) -> Section {
        let text = self.text;
        let doubled = self.situation.scenario.thinking_tokens.0.saturating_mul(2);
        // Twice as much may be more than the field takes; then there is nothing to press.
        let doubled = self.applied(&[("thinking_tokens", &doubled.to_string())]);
        let mut blocks = vec![
            self.paragraph(text.what_attention()),
            self.paragraph(text.what_kept()),
            self.paragraph(if fills_windows(self.situation) {
                text.what_here_windows()
            } else {
                text.what_here()
            }),
        ];
        if let Some(doubled) = doubled {
            let tokens = doubled.scenario.thinking_tokens.0.to_string();
            blocks.push(Block::Try(
                self.try_it(text.what_try(), &[("thinking_tokens", &tokens)]),
            ));
        }
        self.section(
            "what",
            text.what_title(),
            blocks,
            &[sources::ATTENTION, sources::MLA, sources::SCALING_BOOK],
        )
    }

    fn phases(&self) -> Section {
        let text = self.text;
        let mut blocks = vec![
            self.paragraph(text.phases_prefill()),
            self.paragraph(text.phases_decode()),
            self.paragraph(text.phases_growth()),
        ];
        if let Some(lengths) = lengths::get("long-document") {
            let pairs = [
                ("prompt_tokens", lengths.prompt_tokens.to_string()),
                ("thinking_tokens", lengths.thinking_tokens.to_string()),
                ("answer_tokens", lengths.answer_tokens.to_string()),
            ];
            blocks.push(Block::Try(Try {
                label: text.phases_try().to_owned(),
                pairs: pairs.to_vec(),
            }));
        }
        self.section(
            "phases",
            text.phases_title(),
            blocks,
            &[sources::SCALING_BOOK, sources::POPE, sources::MQA],
        )
    }

    fn notebook(&self) -> Section {
        let (text, scenario) = (self.text, &self.situation.scenario);
        let mut values = self.values.clone();
        let pages = scenario.context_tokens().blocks(self.block_size);
        values.set("pages", self.numbers.integer(pages));
        let notebook = Notebook {
            scenario: scenario.clone(),
            block_size: self.block_size.0,
            steps: scenario.decode_steps(),
            caption: text.notebook_caption().to_owned(),
            summary: values.fill(text.notebook_summary()),
            frame_words: text.notebook_frame().to_owned(),
            before_words: text.notebook_before().to_owned(),
        };
        let blocks = vec![
            self.paragraph(text.notebook_picture()),
            Block::Notebook(Box::new(notebook)),
            self.paragraph(text.notebook_engines()),
        ];
        self.section(
            "notebook",
            text.notebook_title(),
            blocks,
            &[sources::PAGED_ATTENTION, sources::TENSORRT_LLM],
        )
    }

    fn arithmetic(&self) -> Section {
        let text = self.text;
        let line = if is_straight_line(self.situation) {
            "{total_count} × {per_token_exact} = {size_exact} = {size} = {size_decimal}"
        } else {
            "{row_terms} = {size_exact} = {size} = {size_decimal}"
        };
        let formula = |label: &str, line: &str| Block::Formula {
            label: label.to_owned(),
            line: self.values.fill(line),
        };
        let mut blocks = vec![
            self.paragraph(text.arithmetic_tokens()),
            formula(text.arithmetic_per_token(), "{token_line}"),
            formula(text.arithmetic_total(), line),
            self.phase_table(),
            self.paragraph(text.arithmetic_share()),
            self.paragraph(text.arithmetic_engine()),
        ];
        let mut cited = vec![sources::MLA];
        // The shape for which the paper gives its figures.
        if self.situation.report.kv_cache.bytes_per_token == Bytes(320 * KIB) {
            blocks.push(self.paragraph(text.arithmetic_anchor()));
            cited.push(sources::MOONCAKE);
        }
        self.section("arithmetic", text.arithmetic_title(), blocks, &cited)
    }

    fn phase_table(&self) -> Block {
        let (text, numbers) = (self.text, self.numbers);
        let (tokens, cache) = (
            &self.situation.report.tokens,
            &self.situation.report.kv_cache,
        );
        let row = |part: &str, tokens: Option<Tokens>, bytes: Bytes| {
            vec![
                part.to_owned(),
                tokens.map_or_else(String::new, |tokens| numbers.integer(tokens.0)),
                numbers.integer(bytes.0),
                numbers.percent(bytes.0, cache.per_seq_bytes.0, 2),
            ]
        };
        let mut rows = vec![
            row(
                text.arithmetic_prompt(),
                Some(tokens.prompt),
                cache.prompt_bytes,
            ),
            row(
                text.arithmetic_thinking(),
                Some(tokens.thinking),
                cache.thinking_bytes,
            ),
            row(
                text.arithmetic_answer(),
                Some(tokens.answer),
                cache.answer_bytes,
            ),
        ];
        if cache.state_bytes != Bytes::ZERO {
            rows.push(row(text.arithmetic_state(), None, cache.state_bytes));
        }
        rows.push(row(
            text.arithmetic_sum(),
            Some(tokens.total),
            cache.per_seq_bytes,
        ));
        let head = [
            text.arithmetic_part(),
            text.arithmetic_tokens_head(),
            text.arithmetic_bytes_head(),
            text.arithmetic_share_head(),
        ];
        Block::Table {
            caption: String::new(),
            head: head.map(str::to_owned).to_vec(),
            rows,
        }
    }

    fn hbm(&self) -> Section {
        let (text, report) = (self.text, &self.situation.report);
        let has_room = report.hbm.kv_pool_bytes != Bytes::ZERO;
        let mut blocks = if has_room {
            vec![
                self.paragraph(text.hbm_weights()),
                self.paragraph(text.hbm_requests()),
                self.paragraph(text.hbm_reserved()),
            ]
        } else {
            vec![self.paragraph(text.hbm_weights_none())]
        };
        let long = LONG_THINKING.0.to_string();
        blocks.push(Block::Try(
            self.try_it(text.hbm_try(), &[("thinking_tokens", &long)]),
        ));
        let half = report.hardware.tensor_parallel_size / 2;
        if 0 < half {
            let half = half.to_string();
            blocks.push(Block::Try(
                self.try_it(text.hbm_try_gpus(), &[("tensor_parallel_size", &half)]),
            ));
        }
        self.section("hbm", text.hbm_title(), blocks, &[sources::VLLM_TUNING])
    }

    fn billing(&self) -> Section {
        let text = self.text;
        let blocks = vec![
            self.paragraph(text.billing_cost()),
            self.paragraph(text.billing_said()),
            self.paragraph(text.billing_usage()),
        ];
        self.section(
            "billing",
            text.billing_title(),
            blocks,
            &[sources::OPENAI, sources::ANTHROPIC, sources::GOOGLE],
        )
    }

    fn follow_up(&self, policy: Policy) -> Option<TurnReport> {
        let setup = Setup::new(&self.situation.scenario);
        let plan = Plan::default();
        let conversation =
            Conversation::new(&self.situation.scenario, &plan, policy, self.block_size).ok()?;
        conversation.report(&setup).last().copied()
    }

    fn policy_name(&self, policy: Policy) -> &'a str {
        match policy {
            Policy::Strip => self.text.next_name_strip(),
            Policy::Interleaved => self.text.next_name_interleaved(),
            Policy::Preserved => self.text.next_name_preserved(),
        }
    }

    fn next_turn(&self) -> Section {
        let (text, numbers) = (self.text, self.numbers);
        let rows = Policy::ALL.into_iter().filter_map(|policy| {
            let turn = self.follow_up(policy)?;
            Some(vec![
                self.policy_name(policy).to_owned(),
                numbers.integer(turn.tokens.prompt_tokens.0),
                numbers.integer(turn.tokens.reused_tokens.0),
                numbers.integer(turn.tokens.prefilled_tokens.0),
                numbers.bytes(turn.prompt_bytes),
            ])
        });
        let head = [
            text.next_policy(),
            text.next_prompt(),
            text.next_reused(),
            text.next_prefilled(),
            text.next_size(),
        ];
        let families = templates::ALL.iter().map(|template| {
            vec![
                template.family.to_owned(),
                self.policy_name(template.policy).to_owned(),
                self.policy_name(template.policy_with_tools).to_owned(),
                template.as_of.to_owned(),
            ]
        });
        let families_head = [
            text.next_family(),
            text.next_without_tools(),
            text.next_with_tools(),
            text.next_date(),
        ];
        let blocks = vec![
            self.paragraph(text.next_inside()),
            self.points(&[
                text.next_strip(),
                text.next_interleaved(),
                text.next_preserved(),
            ]),
            Block::Table {
                caption: self.values.fill(text.next_table()),
                head: head.map(str::to_owned).to_vec(),
                rows: rows.collect(),
            },
            self.paragraph(text.next_trade()),
            Block::Table {
                caption: text.next_families().to_owned(),
                head: families_head.map(str::to_owned).to_vec(),
                rows: families.collect(),
            },
            self.paragraph(text.next_trend()),
        ];
        self.section(
            "next-turn",
            text.next_title(),
            blocks,
            &[
                sources::PAGED_ATTENTION,
                sources::TEMPLATES,
                sources::ANTHROPIC,
                sources::OPENAI,
            ],
        )
    }

    fn eviction(&self) -> Section {
        let text = self.text;
        let mut blocks = vec![
            self.paragraph(text.eviction_preempt()),
            self.paragraph(text.eviction_swap()),
        ];
        if 0 < self.situation.report.fit.max_concurrency {
            blocks.push(self.paragraph(text.eviction_here()));
        }
        blocks.push(self.paragraph(text.eviction_remedy()));
        self.section(
            "eviction",
            text.eviction_title(),
            blocks,
            &[
                sources::PAGED_ATTENTION,
                sources::VLLM_TUNING,
                sources::SGLANG,
                sources::TENSORRT_LLM,
            ],
        )
    }

    /// The situation with these fields set; `None` when one does not take its text.
    fn applied(&self, pairs: &[(&str, &str)]) -> Option<Situation> {
        let mut scenario = self.situation.scenario.clone();
        for (key, value) in pairs {
            scenario.set(key, value).ok()?;
        }
        Some(Situation::new(&scenario))
    }

    /// This request on another model.
    fn on(&self, id: &str) -> Option<(Situation, Values)> {
        let preset = presets::get(id)?;
        let situation = self.situation.edited(|scenario| {
            scenario.model = ModelChoice {
                source: ModelSource::Preset(preset.id()),
                config: preset.model(),
            };
            scenario.draft_layers = 0;
        });
        let values = Values::of(&situation, self.numbers);
        Some((situation, values))
    }

    fn limits(&self) -> Section {
        let text = self.text;
        let mut points: Vec<Point> = [
            self.window_point(),
            self.latent_point(),
            self.state_point(),
            self.shared_point(),
            self.sparse_point(),
        ]
        .into_iter()
        .flatten()
        .collect();
        points.push(self.quantized_point());
        points.push(self.point(text.limits_evicted()));
        points.extend(self.prefix_point());
        points.push(Point {
            text: text.limits_draft().to_owned(),
            try_it: Some(self.try_it(text.limits_try(), &[("draft_layers", "1")])),
        });
        points.extend(self.copies_point());
        let blocks = vec![self.paragraph(text.limits_intro()), Block::List(points)];
        self.section(
            "limits",
            text.limits_title(),
            blocks,
            &[
                sources::GPT_OSS,
                sources::MLA,
                sources::STREAMING,
                sources::H2O,
                sources::SPECULATIVE,
            ],
        )
    }

    fn window_point(&self) -> Option<Point> {
        let id = "gpt-oss-120b";
        let (situation, mut values) = self.on(id)?;
        let ignored = slip(SlipId::WindowIgnored)?;
        let full = ignored.answers(&situation, Question::PerSeqBytes, Unit::B);
        // Bytes below 2^53 are exact as floats.
        let full = Bytes(*full.first()? as u64);
        let cache = &situation.report.kv_cache;
        let window = cache.layers.iter().find_map(|layer| layer.window)?;
        values.set("window_model", situation.scenario.model.config.name.clone());
        values.set("window_tokens", self.numbers.tokens(window));
        values.set("window_size", self.numbers.bytes(cache.per_seq_bytes));
        values.set("window_full_size", self.numbers.bytes(full));
        Some(self.shown(&values, self.text.limits_window(), &[("model", id)]))
    }

    fn shown(&self, values: &Values, template: &str, pairs: &[(&'static str, &str)]) -> Point {
        Point {
            text: values.fill(template),
            try_it: Some(self.try_it(self.text.limits_try(), pairs)),
        }
    }

    fn latent_point(&self) -> Option<Point> {
        let id = "deepseek-r1";
        let (situation, mut values) = self.on(id)?;
        values.set("latent_model", situation.scenario.model.config.name.clone());
        let per_token = situation.report.kv_cache.bytes_per_token;
        values.set("latent_per_token", self.numbers.bytes_exact(per_token));
        Some(self.shown(&values, self.text.limits_latent(), &[("model", id)]))
    }

    fn state_point(&self) -> Option<Point> {
        let id = "qwen3-next-80b-a3b";
        let (situation, mut values) = self.on(id)?;
        let cache = &situation.report.kv_cache;
        let with_rows = cache
            .layers
            .iter()
            .filter(|layer| layer.num_key_value_heads.is_some());
        let with_rows: u64 = with_rows.map(|layer| u64::from(layer.count)).sum();
        values.set("state_model", situation.scenario.model.config.name.clone());
        values.set("state_size", self.numbers.bytes(cache.state_bytes));
        values.set("state_attention_layers", self.numbers.integer(with_rows));
        let layers = situation.report.model.num_hidden_layers;
        values.set("state_layers", self.numbers.integer(layers));
        Some(self.shown(&values, self.text.limits_state(), &[("model", id)]))
    }

    fn shared_point(&self) -> Option<Point> {
        let id = "gemma-4-e4b";
        let (situation, mut values) = self.on(id)?;
        let groups = &situation.scenario.model.config.groups;
        let shared = groups
            .iter()
            .find(|group| group.kind == LayerKind::Shared)?;
        values.set("shared_model", situation.scenario.model.config.name.clone());
        values.set("shared_layers", self.numbers.integer(shared.count.into()));
        let layers = situation.report.model.num_hidden_layers;
        values.set("shared_all_layers", self.numbers.integer(layers));
        Some(self.shown(&values, self.text.limits_shared(), &[("model", id)]))
    }

    fn sparse_point(&self) -> Option<Point> {
        let id = "deepseek-v3.2";
        let (situation, mut values) = self.on(id)?;
        let cache = &situation.report.kv_cache;
        let per_token = cache.bytes_per_token + cache.index_bytes_per_token;
        values.set("sparse_model", situation.scenario.model.config.name.clone());
        values.set("sparse_per_token", self.numbers.bytes_exact(per_token));
        values.set(
            "sparse_index",
            self.numbers.bytes_exact(cache.index_bytes_per_token),
        );
        Some(self.shown(&values, self.text.limits_sparse(), &[("model", id)]))
    }

    fn quantized_point(&self) -> Point {
        let format = formats::Q4_0;
        let mut values = self.values.clone();
        values.set("quant_dtype", format.id);
        values.set("quant_bytes", element_bytes(format, 1, self.numbers));
        self.shown(
            &values,
            self.text.limits_quantized(),
            &[("kv_cache_dtype", format.id)],
        )
    }

    fn prefix_point(&self) -> Option<Point> {
        const NUM_SEQS: u32 = 8;
        let prompt = self.situation.scenario.prompt_tokens;
        if prompt.0 == 0 {
            return None;
        }
        let together = self.situation.edited(|scenario| {
            scenario.num_seqs = NUM_SEQS;
            scenario.data_parallel_size = 1;
            scenario.shared_prefix_tokens = prompt;
        });
        let mut values = self.values.clone();
        let cache = &together.report.kv_cache;
        values.set("prefix_seqs", self.numbers.integer(NUM_SEQS.into()));
        values.set("prefix_size", self.numbers.bytes(cache.total_bytes));
        let apart = cache.per_seq_bytes.times(NUM_SEQS.into());
        values.set("prefix_size_apart", self.numbers.bytes(apart));
        let (num_seqs, prompt) = (NUM_SEQS.to_string(), prompt.to_string());
        let pairs = [
            ("num_seqs", num_seqs.as_str()),
            ("shared_prefix_tokens", &prompt),
        ];
        Some(self.shown(&values, self.text.limits_prefix(), &pairs))
    }

    fn copies_point(&self) -> Option<Point> {
        let layers = &self.situation.report.kv_cache.layers;
        let heads = layers
            .iter()
            .filter_map(|layer| layer.num_key_value_heads)
            .max()?;
        let gpus = heads.checked_mul(2)?.to_string();
        let situation = self.applied(&[("tensor_parallel_size", &gpus), ("num_seqs", "1")])?;
        let mut values = Values::of(&situation, self.numbers);
        values.set("copies_gpus", self.numbers.integer(u64::from(heads) * 2));
        let per_gpu = situation.report.kv_cache.per_gpu_bytes;
        values.set("copies_per_gpu", self.numbers.bytes(per_gpu));
        Some(self.shown(
            &values,
            self.text.limits_copies(),
            &[("tensor_parallel_size", &gpus)],
        ))
    }

    fn flags(&self) -> Section {
        let text = self.text;
        let model = &self.situation.scenario.model.config;
        let layers = &self.situation.report.kv_cache.layers;
        let heads = layers.iter().find_map(|layer| layer.num_key_value_heads);
        let mut flags = vec![
            text.flags_thinking(),
            text.flags_generated(),
            text.flags_visible(),
        ];
        if heads.is_some_and(|heads| heads < model.num_attention_heads) {
            flags.push(text.flags_heads());
        }
        flags.extend([
            text.flags_hidden(),
            text.flags_units(),
            text.flags_label(),
            text.flags_weights(),
            text.flags_mean(),
            text.flags_log(),
        ]);
        let blocks = vec![self.points(&flags)];
        self.section("red-flags", text.flags_title(), blocks, &[])
    }

    fn myths(&self) -> Section {
        let text = self.text;
        let myths = [
            (text.myth_flash(), text.truth_flash()),
            (text.myth_mla(), text.truth_mla()),
            (text.myth_waste(), text.truth_waste()),
            (text.myth_quadratic(), text.truth_quadratic()),
            (text.myth_moe(), text.truth_moe()),
            (text.myth_forgets(), text.truth_forgets()),
        ];
        let blocks = myths.map(|(claim, truth)| Block::Myth {
            claim: claim.to_owned(),
            truth: truth.to_owned(),
        });
        self.section(
            "myths",
            text.myths_title(),
            blocks.to_vec(),
            &[
                sources::FLASH_ATTENTION,
                sources::MLA,
                sources::VLLM_BLOG,
                sources::PAGED_ATTENTION,
            ],
        )
    }

    fn minute(&self) -> Section {
        let text = self.text;
        let mut lines = vec![
            text.minute_1(),
            if fills_windows(self.situation) {
                text.minute_2_windows()
            } else {
                text.minute_2()
            },
            text.minute_3(),
            text.minute_4(),
            text.minute_5(),
            text.minute_6(),
        ];
        if 0 < self.situation.report.fit.max_concurrency {
            lines.push(text.minute_7());
        }
        lines.extend([text.minute_8(), text.minute_9(), text.minute_10()]);
        let blocks = vec![self.points(&lines)];
        self.section("minute", text.minute_title(), blocks, &[])
    }

    fn interview(&self) -> Section {
        let text = self.text;
        let mut values = self.values.clone();
        if let Some(strip) = self.follow_up(Policy::Strip) {
            values.set(
                "strip_reused",
                self.numbers.integer(strip.tokens.reused_tokens.0),
            );
            values.set(
                "strip_prefilled",
                self.numbers.integer(strip.tokens.prefilled_tokens.0),
            );
        }
        let cache = &self.situation.report.kv_cache;
        let model = &self.situation.scenario.model.config;
        let heads = cache
            .layers
            .iter()
            .find_map(|layer| layer.num_key_value_heads);
        let is_grouped = heads.is_some_and(|heads| heads < model.num_attention_heads);
        let questions = [
            (text.interview_q1(), text.interview_a1()),
            (text.interview_q2(), text.interview_a2()),
            (text.interview_q3(), text.interview_a3()),
            (text.interview_q4(), text.interview_a4()),
            (text.interview_q5(), text.interview_a5()),
            (text.interview_q6(), text.interview_a6()),
            (text.interview_q7(), text.interview_a7()),
            (text.interview_q8(), text.interview_a8()),
            (text.interview_q9(), text.interview_a9()),
            (text.interview_q10(), text.interview_a10()),
        ];
        let about_groups = text.interview_q5();
        let asked = questions
            .into_iter()
            .filter(|(question, _)| is_grouped || *question != about_groups);
        let blocks = asked.map(|(question, answer)| Block::Hidden {
            question: values.fill(question),
            answer: values.fill(answer),
        });
        self.section(
            "interview",
            text.interview_title(),
            blocks.collect(),
            &[
                sources::GQA,
                sources::SCALING_BOOK,
                sources::PAGED_ATTENTION,
            ],
        )
    }
}
