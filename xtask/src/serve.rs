//! `cargo xtask serve`: the page on localhost, and again after every change.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::dist::{Mode, dist};
use crate::server::{self, Mount};
use crate::{dist_dir, root};

/// What the command line said.
pub struct Options {
    /// Where to start looking for a free port.
    pub port: u16,
    /// Whether to build again when a source changes.
    pub watch: bool,
}

/// Builds the page and serves it until the process is stopped.
pub fn serve(options: &Options) -> Result<()> {
    let before = newest();
    dist(Mode::Release)?;
    let listener = server::listen(options.port)?;
    let port = listener.local_addr()?.port();
    if options.port != 0 && port != options.port {
        println!("port {} is taken, so this is port {port}", options.port);
    }
    println!("serving dist/ at http://localhost:{port}/ (Ctrl-C stops it)");
    if options.watch {
        println!("watching the sources");
        thread::spawn(move || watch(before));
    }
    server::serve(
        listener,
        vec![Mount {
            path: "/".into(),
            folder: dist_dir(),
        }],
    )
}

/// Looks at the sources twice a second: there are few of them, and it works on every system.
fn watch(mut built: State) {
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = newest();
        if now == built {
            continue;
        }
        built = now;
        match dist(Mode::Release) {
            Ok(_) => println!("built again: reload the page"),
            Err(err) => eprintln!("error: {err:#}; the page served is still the one before"),
        }
    }
}

/// How many sources there are and when the last one changed.
type State = (usize, Option<SystemTime>);

fn newest() -> State {
    let mut state = (0, None);
    for source in [
        "src",
        "data",
        "www",
        "index.html",
        "Cargo.toml",
        "Cargo.lock",
    ] {
        visit(&root().join(source), &mut state);
    }
    state
}

fn visit(path: &Path, state: &mut State) {
    if let Ok(entries) = fs::read_dir(path) {
        entries
            .flatten()
            .for_each(|entry| visit(&entry.path(), state));
    } else if let Ok(changed) = fs::metadata(path).and_then(|data| data.modified()) {
        state.0 += 1;
        state.1 = state.1.max(Some(changed));
    }
}
