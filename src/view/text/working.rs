//! How it is computed.

use super::texts;

texts! {
    /// The formula, its steps and the same thing as code.
    pub struct WorkingText {
        title: "How it is computed",
        kind_full: "full attention",
        kind_sliding: "sliding window",
        kind_chunked: "chunked attention",
        kind_latent: "latent attention",
        kind_compressed: "compressed attention",
        kind_mamba1: "Mamba state",
        kind_mamba2: "Mamba-2 state",
        kind_gated_delta_net: "gated delta net state",
        kind_kda: "Kimi delta attention state",
        kind_lightning: "lightning attention state",
        kind_rwkv: "RWKV state",
        kind_rg_lru: "gated linear recurrence state",
        kind_short_conv: "short convolution state",
        kind_cross: "cross attention",
        kind_shared: "shared cache",
    }
}
