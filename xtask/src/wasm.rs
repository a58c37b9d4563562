//! From the crate to one WebAssembly module and its JavaScript, without any tool but cargo.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::dist::Mode;
use crate::{root, run, setup, target_dir};

/// The module and what loads it.
pub struct Module {
    /// The bytes of the WebAssembly module.
    pub wasm: Vec<u8>,
    /// An ES module; it names the WebAssembly file `kvscope_bg.wasm`.
    pub js: String,
    /// The types that wasm-bindgen wrote, for want of hand-written ones.
    pub types: String,
}

/// Compiles the page and writes its JavaScript.
pub fn build(mode: Mode) -> Result<Module> {
    setup::wasm_target()?;
    let wasm = target_dir()
        .join(setup::WASM_TARGET)
        .join(mode.profile())
        .join("kvscope.wasm");
    let mut cargo = setup::cargo();
    cargo.args([
        "build",
        "--package",
        "kvscope",
        "--lib",
        "--target",
        setup::WASM_TARGET,
    ]);
    if mode == Mode::Release {
        cargo.arg("--release");
        cargo.env("CARGO_ENCODED_RUSTFLAGS", remap_flags()?.join("\x1f"));
    }
    run::run(&mut cargo)?;
    bindgen(&wasm)
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

fn bindgen(wasm: &Path) -> Result<Module> {
    let out = target_dir().join("bindgen");
    let mut output = Bindgen::new()
        .input_path(wasm)
        .web(true)?
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()?;
    // leptos marks modules that it could split; the mark is made from the path of its sources.
    let module = output.wasm_mut();
    let marks = module
        .exports
        .iter()
        .filter(|export| export.name.starts_with("_WASM_SPLIT_MARKER_"));
    for mark in marks.map(|export| export.id()).collect::<Vec<_>>() {
        module.exports.delete(mark);
    }
    module.customs.remove_raw("__wasm_split_unstable");
    output.emit(&out)?;
    let read = |name: &str| {
        fs::read_to_string(out.join(name))
            .with_context(|| format!("no {name} in {}", out.display()))
    };
    Ok(Module {
        wasm: fs::read(out.join("kvscope_bg.wasm"))?,
        js: with_loader(&read("kvscope.js")?)?,
        types: read("kvscope.d.ts")?,
    })
}

/// Puts our default export in the place of wasm-bindgen's, which cannot read the file in Node.
fn with_loader(glue: &str) -> Result<String> {
    const THEIRS: &str = "export { initSync, __wbg_init as default };";
    ensure!(
        glue.matches(THEIRS).count() == 1,
        "wasm-bindgen no longer ends its module with {THEIRS:?}; loader.js has to be fitted to what it does now"
    );
    Ok(glue.replace(
        THEIRS,
        concat!("export { initSync };\n", include_str!("loader.js")),
    ))
}
