//! The layer map.

use super::texts;

texts! {
    /// What each layer keeps, and whether it grows.
    pub struct LayersText {
        title: "Layer by layer",
        subtitle: "what each keeps of this request",
        grows: "grow with every token",
        capped: "capped by their window",
        constant: "of constant size",
        shared: "share a cache",
        nothing: "keep nothing",
        count: "{n} {n?layer|layers}",
        summary: "Of {layers} {layers?layer|layers}, at {tokens}: {pieces}.",
        grows_sentence: "{n} {n?grows|grow} with every token and {n?holds|hold} {size} ({share})",
        capped_sentence: "{n} {n?is|are} capped by {n?its|their} window and {n?holds|hold} {size} ({share})",
        constant_sentence: "{n} {n?keeps|keep} a state of constant size, {size} ({share})",
        shared_sentence: "{n} {n?uses|use} another layer's cache",
        nothing_sentence: "{n} {n?keeps|keep} nothing",
        head_layer: "layer",
        head_kind: "kind",
        head_behaviour: "while tokens come",
        head_tokens: "tokens kept",
        choose: "Layer",
        layer: "Layer {layer}: {caches}.",
        cache_of_tokens: "{kind} with {tokens}, {size}",
        cache_of_state: "{kind}, {size} at any length",
        cache_shared: "no cache of its own, it uses another layer's",
        cache_nothing: "no cache",
    }
}
