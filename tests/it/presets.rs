//! The presets: every file imports, with the same cache as the whole config.json it was trimmed from.

use std::collections::BTreeSet;

use kvscope::core::import::hf_config::import;
use kvscope::core::{presets, resolved};

#[test]
fn every_preset_says_where_it_is_from() {
    for preset in presets::all() {
        let facts = preset.facts();
        for text in [&facts.name, &facts.family, &facts.source, &facts.confidence] {
            assert!(!text.is_empty(), "{}: {facts:?}", preset.id());
        }
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

#[test]
fn a_trimmed_preset_is_its_whole_config() {
    let rows: Vec<&str> = include_str!("../data/presets.tsv")
        .lines()
        .skip(1)
        .collect();
    assert_eq!(rows.len(), presets::all().len());
    for (row, preset) in rows.iter().zip(presets::all()) {
        let (id, file) = row.split_once('\t').unwrap_or_else(|| panic!("{row}"));
        assert_eq!(id, preset.id());
        let path = format!("{}/tests/data/configs/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|err| panic!("{path}: {err}"));
        let whole = import(&text, None).unwrap_or_else(|err| panic!("{file}: {err}"));
        let model = preset.model();
        assert_eq!(model.layers, whole.layers, "{id}");
        assert_eq!(model.groups, whole.groups, "{id}");
        assert_eq!(
            model.max_position_embeddings, whole.max_position_embeddings,
            "{id}"
        );
        assert_eq!(
            model.num_nextn_predict_layers, whole.num_nextn_predict_layers,
            "{id}"
        );
        assert_eq!(model.dtype, whole.dtype, "{id}");
        assert_eq!(model.weights.parts, whole.weights.parts, "{id}");
        assert_eq!(model.stored, whole.stored, "{id}");
        assert_eq!(model.notes, whole.notes, "{id}");
    }
}

/// What the page's module has in place of the importer. `UPDATE_EXPECT=1 cargo test presets` writes it.
#[test]
fn the_page_has_the_presets_as_the_importer_reads_them() {
    let mut lines = String::new();
    for preset in presets::all() {
        lines.push_str(&preset.line());
        lines.push('\n');
    }
    expect_test::expect_file!["../../data/resolved.tsv"].assert_eq(&lines);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return;
    }
    for preset in presets::all() {
        assert_eq!(
            preset.resolved_model().as_ref(),
            Some(&resolved::of_first_view(&preset.model())),
            "{}",
            preset.id()
        );
        assert_eq!(preset.family(), preset.facts().family);
        assert_eq!(preset.model().name, preset.facts().name);
    }
}
