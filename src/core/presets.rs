//! The models to choose from. Placeholder for the imported presets: only the default model, built by hand.

use std::sync::{Arc, OnceLock};

use super::layer::LayerKind;
use super::model::ModelConfig;
use super::units::Tokens;
use super::weights::PublishedParams;

/// A model to choose.
pub struct Preset {
    id: &'static str,
}

static DEFAULT: Preset = Preset {
    id: "llama-3.1-70b",
};

impl Preset {
    /// The id in links and JSON.
    pub fn id(&self) -> &'static str {
        self.id
    }

    /// The model.
    pub fn model(&self) -> Arc<ModelConfig> {
        static MODEL: OnceLock<Arc<ModelConfig>> = OnceLock::new();
        Arc::clone(MODEL.get_or_init(|| {
            let layer = LayerKind::Full {
                num_key_value_heads: 8,
                head_dim: 128,
                v_head_dim: 128,
            };
            let mut model =
                ModelConfig::from_layers("Llama 3.1 70B", "llama", vec![vec![layer]; 80]);
            model.max_position_embeddings = Some(Tokens(131_072));
            model.num_attention_heads = 64;
            model.weights.published = Some(PublishedParams {
                num_params: 70_553_706_496,
                num_active_params: None,
                source: "computed from the configuration".to_owned(),
            });
            Arc::new(model)
        }))
    }
}

/// The preset with this id.
pub fn get(id: &str) -> Option<&'static Preset> {
    (id == DEFAULT.id).then_some(&DEFAULT)
}

/// The preset of the default scenario.
pub fn default() -> &'static Preset {
    &DEFAULT
}
