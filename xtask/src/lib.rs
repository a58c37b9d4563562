//! What KVscope is built, served and tested with, as a library: the browser tests use the same
//! server and the same folders.

pub mod bench;
pub mod dist;
mod documents;
mod offline;
mod package;
pub mod run;
pub mod scorm;
pub mod serve;
pub mod server;
pub mod setup;
pub mod test;
pub mod wasm;

use std::path::{Path, PathBuf};

/// The repository's folder.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// Where `dist` writes the page.
pub fn dist_dir() -> PathBuf {
    root().join("dist")
}

/// Where cargo writes; ours lie in there too, so that one folder is all there is to delete.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
