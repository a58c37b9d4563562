//! The models to choose from: trimmed config.json files that went through the importer.
//!
//! A program with the importer (the feature `doors`) holds the files. One without it holds what the importer made of them.

use std::sync::{Arc, OnceLock};

#[cfg(feature = "doors")]
use serde_json::Value;

#[cfg(feature = "doors")]
use super::import::hf_config;
use super::model::ModelConfig;
use super::resolved;
#[cfg(feature = "doors")]
use super::weights::PublishedParams;

/// A model to choose. What is known of it is read when it is first asked for, and once.
pub struct Preset {
    id: &'static str,
    #[cfg(feature = "doors")]
    file: &'static str,
    #[cfg(feature = "doors")]
    facts: OnceLock<Facts>,
    model: OnceLock<Arc<ModelConfig>>,
}

/// What is known of a preset beside its configuration.
#[cfg(feature = "doors")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The name shown.
    pub name: String,
    /// The family it is listed in.
    pub family: String,
    /// Where its configuration was read.
    pub source: String,
    /// How sure it is.
    pub confidence: String,
    /// The published parameter count, with its source.
    pub published: Option<PublishedParams>,
}

macro_rules! presets {
    ($($id:literal,)*) => {
        static PRESETS: [Preset; [$($id),*].len()] = [$(Preset {
            id: $id,
            #[cfg(feature = "doors")]
            file: include_str!(concat!("../../data/models/", $id, ".json")),
            #[cfg(feature = "doors")]
            facts: OnceLock::new(),
            model: OnceLock::new(),
        },)*];
    };
}

// In the order of the page's menu: reasoning models first.
presets! {
    "deepseek-r1",
    "deepseek-v3.2",
    "deepseek-v4-pro",
    "deepseek-r1-distill-qwen-1.5b",
    "deepseek-r1-distill-qwen-7b",
    "deepseek-r1-distill-qwen-32b",
    "deepseek-r1-distill-llama-70b",
    "qwq-32b",
    "qwen3-4b",
    "qwen3-8b",
    "qwen3-14b",
    "qwen3-32b",
    "qwen3-30b-a3b",
    "qwen3-235b-a22b-thinking-2507",
    "qwen3-next-80b-a3b",
    "qwen3.5-27b",
    "qwen3.5-122b-a10b",
    "qwen3.5-397b-a17b",
    "gpt-oss-20b",
    "gpt-oss-120b",
    "kimi-k2-thinking",
    "kimi-k2.5",
    "kimi-k3",
    "glm-4.5",
    "glm-4.6",
    "glm-4.7-flash",
    "glm-5.2",
    "minimax-m2.5",
    "minimax-m3",
    "magistral-small-2506",
    "phi-4-reasoning",
    "phi-4-mini-flash-reasoning",
    "nemotron-nano-9b-v2",
    "nemotron-nano-12b-v2",
    "nemotron-super-49b-v1",
    "nemotron-ultra-253b-v1",
    "nemotron-3-ultra-550b-a55b",
    "exaone-4.0-32b",
    "seed-oss-36b",
    "jamba-reasoning-3b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "llama-4-maverick",
    "llama-2-7b",
    "llama-2-13b",
    "gemma-2-9b",
    "gemma-3-4b",
    "gemma-3-27b",
    "gemma-4-26b-a4b",
    "gemma-4-e4b",
    "mistral-7b-v0.1",
    "mixtral-8x7b",
    "mistral-nemo-2407",
    "mistral-small-3.1-24b",
    "mistral-large-2407",
    "devstral-2-123b",
    "qwen2.5-7b",
    "qwen2.5-72b",
    "command-r7b",
    "olmo-3-7b",
    "granite-4.0-h-tiny",
    "falcon-h1-34b",
    "lfm2-8b-a1b",
    "ernie-4.5-300b-a47b",
    "longcat-flash",
}

/// Every preset, in the order of the menu.
pub fn all() -> &'static [Preset] {
    &PRESETS
}

/// The preset with this id.
pub fn get(id: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.id == id)
}

/// The preset of the default scenario.
pub fn default() -> &'static Preset {
    static NONE: Preset = Preset {
        id: "",
        #[cfg(feature = "doors")]
        file: "",
        #[cfg(feature = "doors")]
        facts: OnceLock::new(),
        model: OnceLock::new(),
    };
    get("llama-3.1-70b").unwrap_or(&NONE)
}

/// The line of each preset: id, family, and the model as [`resolved`] writes it.
const RESOLVED: &str = include_str!("../../data/resolved.tsv");

impl Preset {
    /// The id in links and JSON.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// The family it is listed in.
    pub fn family(&self) -> &'static str {
        self.resolved().0
    }

    /// The model, as it was when `data/resolved.tsv` was made from the files: a test says whether that is now.
    pub fn resolved_model(&self) -> Option<ModelConfig> {
        resolved::from_line(self.resolved().1)
    }

    /// The family and the line of the model.
    fn resolved(&self) -> (&'static str, &'static str) {
        let is_own = |line: &&str| line.split('\t').next() == Some(self.id);
        let line = RESOLVED.lines().find(is_own).unwrap_or_default();
        let mut parts = line.splitn(3, '\t').skip(1);
        (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        )
    }

    /// The model. What cannot be read, which the tests rule out, is a model without layers.
    pub fn model(&self) -> Arc<ModelConfig> {
        let model = self.model.get_or_init(|| {
            let none = || ModelConfig::from_layers(self.id, "", Vec::new());
            Arc::new(self.read().unwrap_or_else(none))
        });
        Arc::clone(model)
    }

    #[cfg(not(feature = "doors"))]
    fn read(&self) -> Option<ModelConfig> {
        self.resolved_model()
    }
}

#[cfg(feature = "doors")]
impl Preset {
    fn read(&self) -> Option<ModelConfig> {
        let facts = self.facts();
        let mut res = hf_config::import_value(&self.config(), Some(&facts.name)).ok()?;
        res.weights.published = facts.published.clone();
        Some(res)
    }

    /// The line of `data/resolved.tsv` that is this preset's.
    pub fn line(&self) -> String {
        let model = resolved::to_line(&resolved::of_first_view(&self.model()));
        format!("{}\t{}\t{model}", self.id, self.facts().family)
    }

    /// What is known beside the configuration.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| {
            let file = self.parsed();
            let text = |key: &str| {
                file.get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let number = |key: &str| file.get(key).and_then(Value::as_u64);
            Facts {
                name: text("name"),
                family: text("family"),
                source: text("source"),
                confidence: text("confidence"),
                published: number("num_params").map(|num_params| PublishedParams {
                    num_params,
                    num_active_params: number("num_active_params"),
                    source: text("params_source"),
                }),
            }
        })
    }

    /// The configuration as the file has it.
    pub fn config(&self) -> Value {
        self.parsed()
            .get_mut("config")
            .map(Value::take)
            .unwrap_or_default()
    }

    fn parsed(&self) -> Value {
        serde_json::from_str(self.file).unwrap_or_default()
    }
}
