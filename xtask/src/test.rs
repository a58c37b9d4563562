//! `cargo xtask test`: everything that continuous integration runs, in the same order.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::dist::{Mode, dist};
use crate::run::run;
use crate::{package, root, setup, wasm};

type Step = (&'static str, fn() -> Result<()>);

/// The quick ones first.
const STEPS: [Step; 11] = [
    ("format", || cargo("fmt --all --check")),
    ("clippy", || {
        cargo("clippy --workspace --all-targets -- -D warnings")
    }),
    ("clippy (wasm)", || {
        setup::wasm_target()?;
        for module in wasm::MODULES {
            cargo(&format!(
                "clippy --package kvscope --lib --target {} --no-default-features --features {module} -- -D warnings",
                setup::WASM_TARGET
            ))?;
        }
        Ok(())
    }),
    ("tests", || cargo("test --package kvscope")),
    ("tests of xtask", || cargo("test --package xtask")),
    ("docs", || {
        run(setup::cargo().env("RUSTDOCFLAGS", "-D warnings").args([
            "doc",
            "--no-deps",
            "--package",
            "kvscope",
        ]))
    }),
    ("dist and its size", || dist(Mode::Release)?.check()),
    ("JavaScript API in Node", || {
        run(Command::new(setup::node()?)
            .args(["--test", "tests/node/api.mjs", "tests/node/files.mjs"])
            .current_dir(root()))
    }),
    ("JavaScript API's types", || {
        let compiler = setup::node_modules()?.join("typescript/bin/tsc");
        let options = "--noEmit --strict --target es2022 --module nodenext tests/node/types.mts";
        let mut node = Command::new(setup::node()?);
        node.arg(compiler).args(options.split(' '));
        run(node.current_dir(root()))
    }),
    ("JavaScript package, packed and installed", package::test),
    ("browser tests", || cargo("run --package browser-tests")),
];

/// Runs every step whose name contains `word`, stopping at the first that fails.
pub fn test(word: &str) -> Result<()> {
    let start = Instant::now();
    let mut seconds = Vec::new();
    for (name, step) in STEPS.into_iter().filter(|(name, _)| name.contains(word)) {
        println!("\n== {name}");
        let start = Instant::now();
        step().with_context(|| {
            format!("{name} failed after {:.1} s", start.elapsed().as_secs_f64())
        })?;
        seconds.push((name, start.elapsed()));
        println!("-- {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    ensure!(!seconds.is_empty(), "no step's name contains {word:?}");
    println!("\nall steps passed");
    for (name, elapsed) in seconds {
        println!("{:>7.1} s  {name}", elapsed.as_secs_f64());
    }
    println!("{:>7.1} s  in all", start.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(args: &str) -> Result<()> {
    run(setup::cargo().args(args.split(' ')))
}
