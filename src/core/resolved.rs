//! A model that the importer read, as a line of text: what a program without the importer knows of models.
//!
//! The page is such a program. Its presets are lines of `data/resolved.tsv`, which a test makes from `data/models` and
//! compares; what its reader pastes is read by the module with the importer, which hands back such a line.
//! Nobody else is promised this form: both ends are of one build.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::layer::{LayerKind, RecurrentFamily, RecurrentState};
use super::model::{ImportNote, LayerGroup, Message, ModelConfig, UnfoldedHeads};
use super::scenario::{ModelChoice, ModelError, ModelSource};
use super::units::{Bytes, ElementFormat, Scale, Tokens};
use super::weights::{
    Place, PublishedParams, StoredWeights, WeightFormat, WeightKind, WeightPart, WeightTable,
};

const FAMILIES: [RecurrentFamily; 8] = [
    RecurrentFamily::Mamba1,
    RecurrentFamily::Mamba2,
    RecurrentFamily::GatedDeltaNet,
    RecurrentFamily::Kda,
    RecurrentFamily::Lightning,
    RecurrentFamily::Rwkv,
    RecurrentFamily::RgLru,
    RecurrentFamily::ShortConv,
];

const SCALES: [Scale; 4] = [
    Scale::InBlock,
    Scale::PerTokenHead,
    Scale::PerRow,
    Scale::LatentTile,
];

/// More layers than any model has; a line that says more is not one of ours.
const MAX_LAYERS: u64 = 1 << 20;

/// The line of a model, without a line end.
pub fn to_line(model: &ModelConfig) -> String {
    let mut line = Writer::default();
    line.model(model);
    line.res
}

/// A model with what the first view makes use of: it says no assumptions, and needs a published count of parameters only
/// where they could not be counted.
#[cfg(feature = "doors")]
pub fn of_first_view(model: &ModelConfig) -> ModelConfig {
    let mut res = model.clone();
    res.notes.retain(ImportNote::is_warning);
    match &mut res.weights.published {
        Some(published) if !model.weights.is_counted() => published.source.clear(),
        published => *published = None,
    }
    res
}

/// The model of a line; `None` when it is not one.
pub fn from_line(line: &str) -> Option<ModelConfig> {
    Reader::new(line).model()
}

/// The line of a model with where it comes from.
pub fn choice_to_line(choice: &ModelChoice) -> String {
    let mut line = Writer::default();
    let (name, json) = match &choice.source {
        ModelSource::Config { name, json } | ModelSource::File { name, json } => {
            (name.as_str(), &**json)
        }
        ModelSource::Dims(json) => ("", &**json),
        ModelSource::Preset(id) => ("", *id),
    };
    line.text(name);
    line.text(json);
    line.model(&choice.config);
    line.res
}

/// The model of such a line, which is remembered for [`known`]; `None` when it is not one.
pub fn learn(line: &str) -> Option<ModelChoice> {
    let mut line = Reader::new(line);
    let (name, json) = (line.text()?, line.text()?);
    let config = Arc::new(line.model()?);
    let source = if json.starts_with("{\"gguf\"") {
        ModelSource::File {
            name,
            json: json.as_str().into(),
        }
    } else if json.starts_with("{\"dims\"") {
        ModelSource::Dims(json.as_str().into())
    } else {
        ModelSource::Config {
            name,
            json: json.as_str().into(),
        }
    };
    let choice = ModelChoice { source, config };
    remember(json, Ok(choice.clone()));
    Some(choice)
}

/// Remembers what was answered for the scenario's field `model` with this text.
pub fn remember(json: String, answer: Result<ModelChoice, ModelError>) {
    let mut known = known_models();
    // A reader who drags a dimension makes a model with each step.
    if 64 <= known.len() {
        known.pop_front();
    }
    known.push_back((json, answer));
}

/// What is remembered of this text of the field `model`; a sentence when it is nothing.
///
/// # Errors
///
/// The sentence for the reader.
pub fn known(json: &str) -> Result<ModelChoice, ModelError> {
    known_models()
        .iter()
        .rev()
        .find(|(text, _)| text == json)
        .map_or_else(|| Err(ModelError::StillRead), |(_, answer)| answer.clone())
}

/// Whether [`known`] has an answer.
pub fn is_known(json: &str) -> bool {
    known_models().iter().any(|(text, _)| text == json)
}

type Known = VecDeque<(String, Result<ModelChoice, ModelError>)>;

fn known_models() -> MutexGuard<'static, Known> {
    static KNOWN: Mutex<Known> = Mutex::new(VecDeque::new());
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same text for ever: names that were literals where the line was written. There are few, and each is kept once.
fn literal(text: String) -> &'static str {
    static LITERALS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut literals = LITERALS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = literals.iter().find(|literal| **literal == text) {
        return found;
    }
    let res: &'static str = Box::leak(text.into_boxed_str());
    literals.push(res);
    res
}

/// Values with a tab after each; absent ones are empty.
#[derive(Default)]
struct Writer {
    res: String,
}

impl Writer {
    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\t' => self.res.push_str("\\t"),
                '\n' => self.res.push_str("\\n"),
                '\r' => self.res.push_str("\\r"),
                '\\' => self.res.push_str("\\\\"),
                c => self.res.push(c),
            }
        }
        self.res.push('\t');
    }

    fn number(&mut self, number: u64) {
        self.text(&number.to_string());
    }

    fn numbers<const N: usize>(&mut self, numbers: [u32; N]) {
        for number in numbers {
            self.number(number.into());
        }
    }

    fn optional(&mut self, number: Option<u64>) {
        self.text(&number.map_or_else(String::new, |number| number.to_string()));
    }

    /// Equal neighbours once, with their number: `80x0 1x0+1`.
    fn runs<T: PartialEq>(&mut self, items: &[T], text: impl Fn(&T) -> String) {
        let runs: Vec<String> = items
            .chunk_by(|a, b| a == b)
            .filter_map(|run| Some(format!("{}x{}", run.len(), text(run.first()?))))
            .collect();
        self.text(&runs.join(" "));
    }

    fn model(&mut self, model: &ModelConfig) {
        self.text(&model.name);
        self.text(&model.model_type);
        self.runs(&model.layers, |groups| {
            let groups: Vec<String> = groups.iter().map(usize::to_string).collect();
            groups.join("+")
        });
        self.number(model.groups.len() as u64);
        for group in &model.groups {
            self.numbers([group.count]);
            self.layer(group.kind);
        }
        self.numbers([
            model.num_nextn_predict_layers,
            model.num_attention_heads,
            model.hidden_size,
        ]);
        self.optional(model.idle_window.map(|tokens| tokens.0));
        self.optional(model.max_position_embeddings.map(|tokens| tokens.0));
        match model.unfolded_heads {
            None => self.number(0),
            Some(heads) => {
                self.number(1);
                self.numbers([heads.num_heads, heads.head_dim, heads.v_head_dim]);
            }
        }
        self.element(model.dtype);
        self.weights(&model.weights);
        match model.stored {
            None => self.number(0),
            Some(stored) => {
                self.number(1);
                self.optional(stored.bytes.map(|bytes| bytes.0));
                self.text(stored.format.id);
                self.text(stored.format.label);
                for part in formats_of(&stored.format) {
                    self.element(part);
                }
            }
        }
        self.number(model.notes.len() as u64);
        for note in &model.notes {
            self.text(note.code);
            self.text(&note.message.to_string());
        }
    }

    fn layer(&mut self, kind: LayerKind) {
        let (tag, tokens, dims) = match kind {
            LayerKind::Full {
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => ("full", None, [num_key_value_heads, head_dim, v_head_dim]),
            LayerKind::Sliding {
                window,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => (
                "sliding",
                Some(window),
                [num_key_value_heads, head_dim, v_head_dim],
            ),
            LayerKind::Chunked {
                attention_chunk_size,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => (
                "chunked",
                Some(attention_chunk_size),
                [num_key_value_heads, head_dim, v_head_dim],
            ),
            LayerKind::Cross {
                encoder_tokens,
                num_key_value_heads,
                head_dim,
                v_head_dim,
            } => (
                "cross",
                Some(encoder_tokens),
                [num_key_value_heads, head_dim, v_head_dim],
            ),
            LayerKind::Latent {
                kv_lora_rank,
                qk_rope_head_dim,
                index_head_dim,
            } => (
                "latent",
                None,
                [kv_lora_rank, qk_rope_head_dim, index_head_dim],
            ),
            LayerKind::Compressed {
                compress_ratio,
                head_dim,
                index_head_dim,
                window,
            } => (
                "compressed",
                Some(window),
                [compress_ratio, head_dim, index_head_dim],
            ),
            LayerKind::Shared => return self.text("shared"),
            LayerKind::Recurrent(state) => {
                self.text("recurrent");
                self.number(position(&FAMILIES, state.family));
                for dim in [
                    state.conv_dim,
                    state.conv_columns,
                    state.state_heads,
                    state.state_rows,
                    state.state_columns,
                ] {
                    self.number(dim);
                }
                return;
            }
        };
        self.text(tag);
        self.number(tokens.map_or(0, |tokens| tokens.0));
        self.numbers(dims);
    }

    fn element(&mut self, format: ElementFormat) {
        self.text(format.id);
        self.numbers([format.block_bytes, format.block_elements]);
        self.number(position(&SCALES, format.scale));
    }

    fn weights(&mut self, weights: &WeightTable) {
        self.number(weights.parts.len() as u64);
        for part in &weights.parts {
            self.number(position(&WeightKind::ALL, part.kind));
            self.number(part.num_params);
            self.number(part.shard_units);
            self.text(&match part.place {
                Place::FirstStage => "first".to_owned(),
                Place::LastStage => "last".to_owned(),
                Place::FirstAndLastStage => "both".to_owned(),
                Place::EveryStage => "every".to_owned(),
                Place::Layer(group) => group.to_string(),
            });
        }
        self.runs(&weights.layers, usize::to_string);
        self.numbers([weights.num_experts, weights.num_experts_per_tok]);
        match &weights.published {
            None => self.number(0),
            Some(published) => {
                self.number(1);
                self.number(published.num_params);
                self.optional(published.num_active_params);
                self.text(&published.source);
            }
        }
    }
}

fn position<T: PartialEq + Copy>(all: &[T], item: T) -> u64 {
    all.iter().position(|other| *other == item).unwrap_or(0) as u64
}

fn formats_of(format: &WeightFormat) -> [ElementFormat; 7] {
    [
        format.attention,
        format.mlp,
        format.routed_experts,
        format.embedding,
        format.head,
        format.router,
        format.norm,
    ]
}

/// What [`Writer`] wrote, in the same order.
struct Reader<'a> {
    values: std::str::Split<'a, char>,
}

impl<'a> Reader<'a> {
    fn new(line: &'a str) -> Self {
        Self {
            values: line.split('\t'),
        }
    }

    fn raw(&mut self) -> Option<&'a str> {
        self.values.next()
    }

    fn text(&mut self) -> Option<String> {
        let mut chars = self.raw()?.chars();
        let mut res = String::new();
        while let Some(c) = chars.next() {
            res.push(match c {
                '\\' => match chars.next()? {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                },
                c => c,
            });
        }
        Some(res)
    }

    fn number(&mut self) -> Option<u64> {
        self.raw()?.parse().ok()
    }

    fn count(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn optional(&mut self) -> Option<Option<u64>> {
        match self.raw()? {
            "" => Some(None),
            text => Some(Some(text.parse().ok()?)),
        }
    }

    fn is_there(&mut self) -> Option<bool> {
        Some(self.raw()? == "1")
    }

    fn runs(&mut self) -> Option<Vec<(usize, &'a str)>> {
        let mut res = Vec::new();
        let mut sum = 0_u64;
        for run in self.raw()?.split(' ').filter(|run| !run.is_empty()) {
            let (count, item) = run.split_once('x')?;
            let count: u64 = count.parse().ok()?;
            sum = sum.saturating_add(count);
            res.push((usize::try_from(count).ok()?, item));
        }
        (sum <= MAX_LAYERS).then_some(res)
    }

    fn many<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.number()?).map(|_| read(self)).collect()
    }

    fn model(&mut self) -> Option<ModelConfig> {
        let (name, model_type) = (self.text()?, self.text()?);
        let mut layers = Vec::new();
        for (count, groups) in self.runs()? {
            let groups: Option<Vec<usize>> = groups
                .split('+')
                .filter(|group| !group.is_empty())
                .map(|group| group.parse().ok())
                .collect();
            let groups = groups?;
            layers.extend(std::iter::repeat_n(groups, count));
        }
        let groups = self.many(|line| {
            Some(LayerGroup {
                count: line.count()?,
                kind: line.layer()?,
            })
        })?;
        Some(ModelConfig {
            name,
            model_type,
            layers,
            groups,
            num_nextn_predict_layers: self.count()?,
            num_attention_heads: self.count()?,
            hidden_size: self.count()?,
            idle_window: self.optional()?.map(Tokens),
            max_position_embeddings: self.optional()?.map(Tokens),
            unfolded_heads: if self.is_there()? {
                Some(UnfoldedHeads {
                    num_heads: self.count()?,
                    head_dim: self.count()?,
                    v_head_dim: self.count()?,
                })
            } else {
                None
            },
            dtype: self.element()?,
            weights: self.weights()?,
            stored: if self.is_there()? {
                Some(self.stored()?)
            } else {
                None
            },
            notes: self.many(|line| {
                Some(ImportNote {
                    code: literal(line.text()?),
                    message: Message::Said(line.text()?),
                })
            })?,
        })
    }

    fn layer(&mut self) -> Option<LayerKind> {
        let tag = self.raw()?;
        if tag == "shared" {
            return Some(LayerKind::Shared);
        }
        if tag == "recurrent" {
            return Some(LayerKind::Recurrent(RecurrentState {
                family: self.one_of(&FAMILIES)?,
                conv_dim: self.number()?,
                conv_columns: self.number()?,
                state_heads: self.number()?,
                state_rows: self.number()?,
                state_columns: self.number()?,
            }));
        }
        let tokens = Tokens(self.number()?);
        let (a, b, c) = (self.count()?, self.count()?, self.count()?);
        Some(match tag {
            "full" => LayerKind::Full {
                num_key_value_heads: a,
                head_dim: b,
                v_head_dim: c,
            },
            "sliding" => LayerKind::Sliding {
                window: tokens,
                num_key_value_heads: a,
                head_dim: b,
                v_head_dim: c,
            },
            "chunked" => LayerKind::Chunked {
                attention_chunk_size: tokens,
                num_key_value_heads: a,
                head_dim: b,
                v_head_dim: c,
            },
            "cross" => LayerKind::Cross {
                encoder_tokens: tokens,
                num_key_value_heads: a,
                head_dim: b,
                v_head_dim: c,
            },
            "latent" => LayerKind::Latent {
                kv_lora_rank: a,
                qk_rope_head_dim: b,
                index_head_dim: c,
            },
            "compressed" => LayerKind::Compressed {
                compress_ratio: a,
                head_dim: b,
                index_head_dim: c,
                window: tokens,
            },
            _ => return None,
        })
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::try_from(self.number()?).ok()?).copied()
    }

    fn element(&mut self) -> Option<ElementFormat> {
        Some(ElementFormat {
            id: literal(self.text()?),
            block_bytes: self.count()?,
            block_elements: self.count()?,
            scale: self.one_of(&SCALES)?,
        })
    }

    fn weights(&mut self) -> Option<WeightTable> {
        let parts = self.many(|line| {
            Some(WeightPart {
                kind: line.one_of(&WeightKind::ALL)?,
                num_params: line.number()?,
                shard_units: line.number()?,
                place: match line.raw()? {
                    "first" => Place::FirstStage,
                    "last" => Place::LastStage,
                    "both" => Place::FirstAndLastStage,
                    "every" => Place::EveryStage,
                    group => Place::Layer(group.parse().ok().filter(|group| *group < 1 << 20)?),
                },
            })
        })?;
        let mut layers = Vec::new();
        for (count, group) in self.runs()? {
            let group: usize = group.parse().ok().filter(|group| *group < 1 << 20)?;
            layers.extend(std::iter::repeat_n(group, count));
        }
        Some(WeightTable {
            parts,
            layers,
            num_experts: self.count()?,
            num_experts_per_tok: self.count()?,
            published: if self.is_there()? {
                Some(PublishedParams {
                    num_params: self.number()?,
                    num_active_params: self.optional()?,
                    source: self.text()?,
                })
            } else {
                None
            },
        })
    }

    fn stored(&mut self) -> Option<StoredWeights> {
        let bytes = self.optional()?.map(Bytes);
        let (id, label) = (literal(self.text()?), literal(self.text()?));
        Some(StoredWeights {
            bytes,
            format: WeightFormat {
                id,
                label,
                attention: self.element()?,
                mlp: self.element()?,
                routed_experts: self.element()?,
                embedding: self.element()?,
                head: self.element()?,
                router: self.element()?,
                norm: self.element()?,
            },
        })
    }
}
