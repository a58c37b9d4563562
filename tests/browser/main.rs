//! Tests KVscope as it is served, in a real browser, through its real input events.
//!
//! `cargo run -p browser-tests [WORD]` runs the tests whose name contains the word, over the
//! `dist/` that is there; `--bench` measures a slider drag and many embeds instead. After a failure, a picture of the page lies in `target/browser-tests/`.

mod bench;
mod doors;
mod driver;
mod files;
mod learn;
mod page;
mod requests;
mod tests;
mod tools;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use xtask::server::{self, Mount};
use xtask::{dist_dir, root, setup, target_dir};

use driver::Driver;
use page::Page;

/// Where the page lies on the test server: as deep as in a course, so that a name that is not
/// relative is not found.
const PATH: &str = "/some/course/";

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    match run(&word) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(err) => {
            eprintln!("error: {err:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the tests and gives the number of those that failed.
fn run(word: &str) -> Result<usize> {
    ensure!(
        dist_dir().join("index.html").is_file(),
        "there is no dist/: run cargo xtask dist first"
    );
    let mut mounts = vec![
        Mount {
            path: PATH.into(),
            folder: dist_dir(),
        },
        Mount {
            path: "/some/pages/".into(),
            folder: root().join("tests/browser/pages"),
        },
    ];
    mounts.extend(learn::folders()?);
    let port = server::spawn(mounts)?;
    let base = format!("http://127.0.0.1:{port}{PATH}");
    let driver = Driver::start(setup::browser()?)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if word == "--bench" {
        runtime.block_on(async {
            let page = Page::traced(&driver, &base).await?;
            bench::drag(&page).await?;
            page.close().await?;
            println!();
            bench::embeds(&driver, &base).await
        })?;
        return Ok(0);
    }
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in tests::ALL {
        if !name.contains(word) {
            continue;
        }
        let start = Instant::now();
        let result = runtime.block_on(async {
            let page = Page::new(&driver, &base).await?;
            let mut result = test(&page).await;
            if result.is_ok() {
                result = page.clean().await;
            }
            if let Err(err) = result {
                let console = page.errors().await?;
                result = Err(err.context(format!("the console says {console:?}")));
                let folder = target_dir().join("browser-tests");
                std::fs::create_dir_all(&folder)?;
                page.screenshot(&folder.join(format!("{name}.png"))).await?;
            }
            page.close().await.context("the browser did not close")?;
            result
        });
        let seconds = start.elapsed().as_secs_f64();
        match result {
            Ok(()) => {
                passed += 1;
                println!("ok     {name} ({seconds:.1} s)");
            }
            Err(err) => {
                failed += 1;
                println!("FAILED {name} ({seconds:.1} s): {err:#}");
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    ensure!(passed + failed > 0, "no test's name contains {word:?}");
    Ok(failed)
}
