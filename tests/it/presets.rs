//! The presets: every file imports, with the same cache as the whole config.json it was trimmed from.

use std::collections::BTreeSet;

use kvscope::core::import::hf_config::import_value;
use kvscope::core::presets;

#[test]
fn every_preset_imports() {
    for preset in presets::all() {
        let model = import_value(&preset.config(), None);
        assert!(model.is_ok(), "{}: {model:?}", preset.id());
        let facts = preset.facts();
        for text in [&facts.name, &facts.family, &facts.source, &facts.confidence] {
            assert!(!text.is_empty(), "{}: {facts:?}", preset.id());
        }
        assert!(!preset.model().layers.is_empty(), "{}", preset.id());
    }
}

#[test]
fn ids_are_unique_and_the_default_is_one_of_them() {
    let ids: BTreeSet<&str> = presets::all().iter().map(|preset| preset.id()).collect();
    assert_eq!(ids.len(), presets::all().len());
    assert!(40 <= ids.len(), "{}", ids.len());
    assert_eq!(presets::default().id(), "llama-3.1-70b");
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    for id in ids {
        assert!(id.chars().all(allowed), "{id}");
    }
}
