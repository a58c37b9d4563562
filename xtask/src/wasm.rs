//! From the crate to its two WebAssembly modules and their JavaScript, without any tool but cargo.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::dist::Mode;
use crate::{root, run, setup, target_dir};

/// The modules, which are features of the crate.
pub const MODULES: [&str; 2] = ["page", "doors"];

/// One module and what loads it.
pub struct Module {
    /// The feature that it is made of, and how its files are called.
    pub name: &'static str,
    /// The bytes of the WebAssembly module.
    pub wasm: Vec<u8>,
    /// An ES module.
    pub js: String,
}

/// Compiles the modules and writes their JavaScript.
pub fn build(mode: Mode) -> Result<Vec<Module>> {
    setup::wasm_target()?;
    let wasm = target_dir()
        .join(setup::WASM_TARGET)
        .join(mode.profile())
        .join("kvscope.wasm");
    let mut modules = Vec::new();
    for name in MODULES {
        let mut cargo = setup::cargo();
        cargo.args(["build", "--package", "kvscope", "--lib"]);
        cargo.args(["--target", setup::WASM_TARGET]);
        cargo.args(["--no-default-features", "--features", name]);
        if mode == Mode::Release {
            cargo.arg("--release");
            cargo.env("CARGO_ENCODED_RUSTFLAGS", remap_flags()?.join("\x1f"));
        }
        run::run(&mut cargo)?;
        modules.push(bindgen(&wasm, name)?);
    }
    Ok(modules)
}

/// Panic messages hold the path of the source they come from. Without these flags the module
/// would differ from machine to machine, and name the folders of the one it was built on.
fn remap_flags() -> Result<Vec<String>> {
    let version = run::read(Command::new(setup::rustc()).arg("-vV"))?;
    let commit = version
        .lines()
        .find_map(|line| line.strip_prefix("commit-hash: "));
    let sysroot = run::read(Command::new(setup::rustc()).args(["--print", "sysroot"]))?;
    let library = Path::new(&sysroot).join("lib/rustlib/src/rust");
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        remap(&root(), "/kvscope"),
        remap(
            &library,
            &format!("/rustc/{}", commit.context("rustc names no commit")?),
        ),
    ];
    // The folders in there are named after where this machine gets its crates from.
    let sources = cargo_home
        .context("there is no home folder")?
        .join("registry/src");
    for source in fs::read_dir(&sources).with_context(|| format!("no {}", sources.display()))? {
        flags.push(remap(&source?.path(), "/cargo"));
    }
    flags.sort();
    Ok(flags)
}

fn bindgen(wasm: &Path, name: &'static str) -> Result<Module> {
    let out = target_dir().join("bindgen").join(name);
    let mut output = Bindgen::new()
        .input_path(wasm)
        .out_name(name)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()?;
    let module = output.wasm_mut();
    drop_unused(module);
    let kept = module
        .imports
        .iter()
        .map(|import| import.name.clone())
        .collect();
    let names = shorten(module);
    output.emit(&out)?;
    let read = |file: String| {
        fs::read(out.join(&file)).with_context(|| format!("no {file} in {}", out.display()))
    };
    let glue = String::from_utf8(read(format!("{name}.js"))?)?;
    Ok(Module {
        name,
        wasm: read(format!("{name}_bg.wasm"))?,
        js: without_comments(&renamed(&without_unused(&glue, &kept), &names)),
    })
}

/// A dependency of leptos exports classes for streams of servers' answers, of which there are none here.
const STREAMS: &str = "IntoUnderlying";

/// Takes away what nothing of ours calls but is exported.
fn drop_unused(module: &mut walrus::Module) {
    let streams = STREAMS.to_lowercase();
    // leptos also marks modules that it could split; the mark is made from the path of its sources.
    let is_unused = |name: &str| name.starts_with("_WASM_SPLIT_MARKER_") || name.contains(&streams);
    let exports = module.exports.iter();
    let unused = exports.filter(|export| is_unused(&export.name));
    for export in unused.map(|export| export.id()).collect::<Vec<_>>() {
        module.exports.delete(export);
    }
    module.customs.remove_raw("__wasm_split_unstable");
    walrus::passes::gc::run(module);
}

/// The JavaScript of wasm-bindgen, which is indented by the line, without what [`drop_unused`] took away: the classes of
/// [`STREAMS`], and functions that the module no longer imports.
fn without_unused(glue: &str, imports: &BTreeSet<String>) -> String {
    let mut res = String::with_capacity(glue.len());
    // The line that ends what is left out.
    let mut end: Option<&str> = None;
    for line in glue.lines() {
        if let Some(last) = end {
            if line == last || (last == ";" && line.ends_with(last)) {
                end = None;
            }
            continue;
        }
        let import = line
            .strip_prefix("        ")
            .and_then(|line| line.split_once(": function("))
            .map(|(name, _)| name);
        if line.starts_with(&format!("export class {STREAMS}")) {
            end = Some("}");
        } else if line.starts_with(&format!("const {STREAMS}")) {
            end = Some(";");
        } else if import.is_some_and(|name| is_name(name) && !imports.contains(name)) {
            end = Some(if line.contains("handleError") {
                "        }, arguments); },"
            } else {
                "        },"
            });
        } else if !line.starts_with(&format!("if (Symbol.dispose) {STREAMS}")) {
            res.push_str(line);
            res.push('\n');
        }
    }
    res
}

fn is_name(text: &str) -> bool {
    text.chars().all(is_word)
}

fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_ascii_alphanumeric()
}

/// Gives imports and exports whose names end in a hash short ones, and says which. The names stand in the module and in its
/// JavaScript, and hashes do not compress.
fn shorten(module: &mut walrus::Module) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    let imports = module.imports.iter_mut().map(|import| &mut import.name);
    let exports = module.exports.iter_mut().map(|export| &mut export.name);
    for name in imports.chain(exports) {
        // Some have a number behind the hash.
        let hash = match name.rsplit_once('_') {
            Some((rest, n)) if n.len() < 16 && n.bytes().all(|byte| byte.is_ascii_digit()) => rest,
            _ => name.as_str(),
        };
        let hash = hash.rsplit('_').next().unwrap_or_default();
        let hash = hash.strip_prefix('h').unwrap_or(hash);
        if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let n = names.len();
            let short = names
                .entry(name.clone())
                .or_insert_with(|| format!("$${n}"));
            name.clone_from(short);
        }
    }
    names
}

/// `glue` with these names replaced where they stand as whole words.
fn renamed(glue: &str, names: &BTreeMap<String, String>) -> String {
    let mut res = String::with_capacity(glue.len());
    let mut rest = glue;
    while let Some(start) = rest.find(is_word) {
        res.push_str(&rest[..start]);
        rest = &rest[start..];
        let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        res.push_str(names.get(word).map_or(word, String::as_str));
        rest = after;
    }
    res + rest
}

/// The JavaScript of wasm-bindgen without indentation, empty lines and lines that are comments. It has no texts that run
/// over lines, and begins a comment with `//`, `/**` or ` *`; whatever else there is stays.
fn without_comments(glue: &str) -> String {
    let mut res = String::with_capacity(glue.len());
    let mut is_comment = false;
    for line in glue.lines().map(str::trim) {
        is_comment |= line.starts_with("/*");
        if !is_comment && !line.is_empty() && !line.starts_with("//") {
            res.push_str(line);
            res.push('\n');
        }
        is_comment &= !line.ends_with("*/");
    }
    res
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_whole_words() {
        let names = BTreeMap::from([("__wbg_a_0".to_owned(), "$$0".to_owned())]);
        assert_eq!(
            renamed("__wbg_a_0: __wbg_a_01, x.__wbg_a_0(\"é\")", &names),
            "$$0: __wbg_a_01, x.$$0(\"é\")"
        );
    }

    #[test]
    fn what_is_not_imported_goes() {
        let glue = "export class IntoUnderlyingSink {\n    close() {\n    }\n}\n\
            if (Symbol.dispose) IntoUnderlyingSink.x = 1;\nexport class Mount {\n}\n    return {\n        \
            __wbg_a: function(arg0) {\n            a();\n        },\n        \
            __wbg_b: function() { return handleError(function (arg0) {\n            b();\n        }, arguments); },\n        \
            __wbg_c: function(arg0) {\n            c();\n        },\n    };\n";
        let kept = BTreeSet::from(["__wbg_c".to_owned()]);
        assert_eq!(
            without_unused(glue, &kept),
            "export class Mount {\n}\n    return {\n        \
            __wbg_c: function(arg0) {\n            c();\n        },\n    };\n"
        );
    }

    #[test]
    fn comments_go_and_code_stays() {
        let glue = "/* @ts-self-types=\"./page.d.ts\" */\n/**\n * Shows.\n */\nexport function f() {\n    \
            const a = 'http://b'; // why\n\n    // only words\n    return a /* b */;\n}\n";
        assert_eq!(
            without_comments(glue),
            "export function f() {\nconst a = 'http://b'; // why\nreturn a /* b */;\n}\n"
        );
    }
}
