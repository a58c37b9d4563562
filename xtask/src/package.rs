//! The JavaScript package as its users get it: packed, installed from the tarball, and an example run with it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{dist_dir, root, run, setup, target_dir};

/// Examples that run in Node, and what one of their lines must contain.
const EXAMPLES: [(&str, &str); 2] = [("node.mjs", "1,576,796,160 B"), ("node-chart.mjs", "<svg ")];

/// Packs `dist/pkg`, installs it into an empty project and runs the examples there.
pub(crate) fn test() -> Result<()> {
    let folder = target_dir().join("package-test");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let npm = || -> Result<Command> {
        let mut npm = Command::new(setup::npm()?);
        npm.current_dir(&folder);
        Ok(npm)
    };
    let package = dist_dir().join("pkg");
    let packed = run::read(npm()?.args(["pack", "--silent"]).arg(package))?;
    let tarball = packed.lines().last().context("npm pack names no file")?;
    fs::write(
        folder.join("package.json"),
        "{ \"private\": true, \"type\": \"module\" }\n",
    )?;
    let install = ["install", "--offline", "--no-audit", "--no-fund"];
    run::run(npm()?.args(install).arg(format!("./{tarball}")))?;
    for (example, expected) in EXAMPLES {
        fs::copy(
            root().join("www/examples").join(example),
            folder.join(example),
        )?;
        let printed = run::read(
            Command::new(setup::node()?)
                .arg(example)
                .current_dir(&folder),
        )?;
        ensure!(
            printed.contains(expected),
            "{example} printed {printed:?}, which does not contain {expected:?}"
        );
    }
    let installed = folder.join("node_modules/kvscope");
    let names = fs::read_dir(&installed)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>>>()?;
    for name in [
        "kvscope.js",
        "kvscope.d.ts",
        "kvscope.css",
        "kvscope_bg.wasm",
        "README.md",
        "LICENSE-MIT",
    ] {
        ensure!(
            names.iter().any(|found| found == name),
            "{tarball} lacks {name}: {names:?}"
        );
    }
    let size = fs::metadata(folder.join(tarball))?.len();
    println!("{tarball}: {size} bytes, {} files", names.len());
    Ok(())
}
