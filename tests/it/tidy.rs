//! The rules of the repository that no compiler knows.

use std::fs;
use std::path::{Path, PathBuf};

/// Files that people write, by their path from the root with `/` between the parts.
fn files(extensions: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    visit(root, &mut paths);
    let mut res = Vec::new();
    for path in paths {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if extensions.contains(&&*extension) {
            let name = path.strip_prefix(root).expect("it lies below the root");
            let name = name.to_string_lossy().replace('\\', "/");
            res.push((name, fs::read_to_string(&path).expect("it is text")));
        }
    }
    assert!(
        !res.is_empty(),
        "no file found: the test looks in the wrong place"
    );
    res
}

fn visit(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !["target", "dist", "node_modules", ".git"].contains(&&*name) {
                visit(&path, paths);
            }
        } else {
            paths.push(path);
        }
    }
}

/// Lines of the files that `is_broken` picks, as `file:line: text`; the test fails if there are any.
#[track_caller]
fn check(rule: &str, extensions: &[&str], is_broken: impl Fn(&str, &str) -> bool) {
    let mut broken = Vec::new();
    for (name, text) in files(extensions) {
        for (idx, line) in text.lines().enumerate() {
            if is_broken(&name, line) {
                broken.push(format!("{name}:{}: {line}", idx + 1));
            }
        }
    }
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn arrows_only_down() {
    let browser = ["leptos", "web_sys", "js_sys", "wasm_bindgen", "crate::app"];
    check("core and view know no browser", &["rs"], |name, line| {
        let is_pure = name.starts_with("src/core/") || name.starts_with("src/view/");
        is_pure && browser.iter().any(|word| line.contains(word))
    });
    check(
        "core does not know how things are said",
        &["rs"],
        |name, line| name.starts_with("src/core/") && line.contains("crate::view"),
    );
    check(
        "plotters is named in view/svg.rs only",
        &["rs"],
        |name, line| {
            name.starts_with("src/") && name != "src/view/svg.rs" && line.contains("plotters::")
        },
    );
    check(
        "core gets its binary units from units.rs",
        &["rs"],
        |name, line| {
            let is_unit = line.contains("1024") || line.contains("1_024");
            name.starts_with("src/core/") && name != "src/core/units.rs" && is_unit
        },
    );
}

#[test]
fn text() {
    let written = [
        "rs", "md", "toml", "css", "js", "mjs", "ts", "mts", "html", "yml",
    ];
    check("no space at the end of a line", &written, |_, line| {
        line.ends_with([' ', '\t'])
    });
    // Put together, so that this file keeps the rule.
    let paths = ["root", "home", "work", "Users"].map(|folder| format!("/{folder}/"));
    check("no path of one machine", &written, |_, line| {
        paths.iter().any(|path| line.contains(path.as_str()))
    });
    for (name, text) in files(&written) {
        assert!(
            text.is_empty() || text.ends_with('\n'),
            "{name} does not end with a line end"
        );
    }
}

#[test]
fn every_module_says_what_it_is() {
    for (name, text) in files(&["rs"]) {
        assert!(
            text.starts_with("//! "),
            "{name} does not start with //! and what it is for"
        );
    }
}

#[test]
fn links_in_the_documents_lead_somewhere() {
    for (name, text) in files(&["md"]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
        let folder = folder.parent().expect("a file lies in a folder");
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split('#').next().unwrap_or_default();
            let is_local =
                !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:");
            assert!(
                !is_local || folder.join(file).exists(),
                "{name} links to {link}, which is missing"
            );
        }
    }
}
