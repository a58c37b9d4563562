//! Parameters counted from the dimensions, and the bytes of storing them.

use super::units::Bytes;

/// What a part of the weights is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightKind {
    /// Token (and position) embeddings.
    Embedding,
    /// The output projection, when it is not tied to the embedding.
    Head,
    /// Attention projections, latent ones and indexers included.
    Attention,
    /// Recurrent mixers: state space, delta net, short convolution.
    Recurrent,
    /// Dense MLPs.
    Mlp,
    /// Experts that every token uses.
    SharedExperts,
    /// Experts of which each token uses a few.
    RoutedExperts,
    /// Routers.
    Router,
    /// Norms, biases and other vectors.
    Norm,
}

/// One part of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightPart {
    /// What it is.
    pub kind: WeightKind,
    /// Its parameters.
    pub num_params: u64,
    /// Whether tensor parallelism divides it; otherwise every rank holds all of it.
    pub is_sharded: bool,
}

/// The parameters of a model by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightTable {
    /// Parts; empty when the file does not hold the dimensions.
    pub parts: Vec<WeightPart>,
    /// Routed experts in each expert layer, zero for a dense model.
    pub num_experts: u32,
    /// Routed experts each token uses.
    pub num_experts_per_tok: u32,
    /// The count its maker published, where it is known, with its source.
    pub published: Option<PublishedParams>,
}

/// A published parameter count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedParams {
    /// All parameters.
    pub num_params: u64,
    /// Parameters one token uses.
    pub num_active_params: Option<u64>,
    /// Where it was published.
    pub source: String,
}

/// What a file says of how its weights are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWeights {
    /// Id of the weight format.
    pub weight_format: String,
    /// Exact bytes, when a tensor table gave them.
    pub bytes: Option<Bytes>,
}
