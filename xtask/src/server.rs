//! A static file server on localhost, as plain as the hosts that the page will live on.

use std::convert::Infallible;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION,
    VARY,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;

/// A folder and the path it appears under; the path starts and ends with `/`.
pub struct Mount {
    /// For example `/` or `/some/course/`.
    pub path: String,
    /// The folder with the files.
    pub folder: PathBuf,
}

/// Listens on `port` of this machine, or on the next free one.
pub fn listen(port: u16) -> Result<TcpListener> {
    let ports = port..=u16::MAX;
    let free = ports
        .into_iter()
        .find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    free.with_context(|| format!("no port from {port} on is free"))
}

/// Serves the mounts until the process ends.
pub fn serve(listener: TcpListener, mounts: Vec<Mount>) -> Result<()> {
    listener.set_nonblocking(true)?;
    let mounts = Arc::new(mounts);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let mounts = Arc::clone(&mounts);
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let response = respond(&mounts, &request);
                    async move { Ok::<_, Infallible>(response) }
                });
                // A browser that goes away in the middle of an answer is no error of ours.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}

/// Serves the mounts from a thread of their own, on any free port, which it returns.
pub fn spawn(mounts: Vec<Mount>) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        if let Err(err) = serve(listener, mounts) {
            eprintln!("the server stopped: {err:#}");
        }
    });
    Ok(port)
}

fn respond<B>(mounts: &[Mount], request: &Request<B>) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
        set(&mut response, ALLOW, "GET, HEAD");
        return response;
    }
    match find(mounts, request.uri().path()) {
        Found::File(path) => file(&path, request.headers()),
        Found::Folder(with_slash) => {
            let mut response = plain(StatusCode::MOVED_PERMANENTLY);
            set(&mut response, LOCATION, &with_slash);
            response
        }
        Found::Nothing => plain(StatusCode::NOT_FOUND),
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    File(PathBuf),
    /// A folder asked for without the slash at the end: relative names would go astray.
    Folder(String),
    Nothing,
}

fn find(mounts: &[Mount], path: &str) -> Found {
    let Some((mount, below)) = mounts
        .iter()
        .find_map(|mount| Some((mount, path.strip_prefix(&mount.path)?)))
    else {
        return Found::Nothing;
    };
    let Ok(below) = percent_decode_str(below).decode_utf8() else {
        return Found::Nothing;
    };
    if below.split(['/', '\\']).any(|part| part == "..") {
        return Found::Nothing;
    }
    let file = mount.folder.join(&*below);
    if !file.starts_with(&mount.folder) {
        return Found::Nothing;
    }
    match (file.is_dir(), path.ends_with('/')) {
        (true, true) => Found::File(file.join("index.html")),
        (true, false) => Found::Folder(format!("{path}/")),
        (false, _) => Found::File(file),
    }
}

fn file(path: &Path, headers: &HeaderMap) -> Response<Full<Bytes>> {
    let Ok(plain_bytes) = fs::read(path) else {
        return plain(StatusCode::NOT_FOUND);
    };
    let (bytes, encoding) = encoded(path, headers).unwrap_or((plain_bytes, "identity"));
    let mut response = Response::new(Full::new(Bytes::from(bytes)));
    set(&mut response, CONTENT_TYPE, mime(path));
    set(&mut response, VARY, "accept-encoding");
    // What a reader sees after a rebuild must be what was built; a name with a hash in it says so by itself.
    let lasts = if is_hashed(path) {
        "max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    set(&mut response, CACHE_CONTROL, lasts);
    if encoding != "identity" {
        set(&mut response, CONTENT_ENCODING, encoding);
    }
    response
}

/// The smallest of the compressed files beside `path` that the client takes.
fn encoded(path: &Path, headers: &HeaderMap) -> Option<(Vec<u8>, &'static str)> {
    let accepted = headers.get(ACCEPT_ENCODING)?.to_str().ok()?;
    let accepted: Vec<&str> = accepted.split(',').map(str::trim).collect();
    [("br", "br"), ("gz", "gzip")]
        .into_iter()
        .find_map(|(suffix, encoding)| {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(suffix);
            accepted
                .contains(&encoding)
                .then(|| Some((fs::read(name).ok()?, encoding)))?
        })
}

/// Whether the name is one that `dist` made from the file's content.
fn is_hashed(path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let hash = stem.and_then(|stem| Some(stem.rsplit_once('-')?.1));
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn mime(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("ts" | "txt" | "md" | "csv") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{status}\n"))));
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, "text/plain; charset=utf-8");
    response
}

fn set(response: &mut Response<Full<Bytes>>, name: hyper::header::HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_hashes() {
        let check = |name: &str, is: bool| assert_eq!(is_hashed(Path::new(name)), is, "{name}");
        check("pkg/page_bg-e3b0c44298fc1c14.wasm", true);
        check("pkg/kvscope.js", false);
        check("kvscope-offline.html", false);
        check("course-of-2026.html", false);
    }

    #[test]
    fn paths() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mounts = [Mount {
            path: "/some/course/".into(),
            folder: here.into(),
        }];
        let check = |path: &str, found: Found| assert_eq!(find(&mounts, path), found, "{path}");
        check(
            "/some/course/Cargo.toml",
            Found::File(here.join("Cargo.toml")),
        );
        check(
            "/some/course/Cargo%2Etoml",
            Found::File(here.join("Cargo.toml")),
        );
        check("/some/course/", Found::File(here.join("index.html")));
        check(
            "/some/course/src/",
            Found::File(here.join("src/index.html")),
        );
        check(
            "/some/course/src",
            Found::Folder("/some/course/src/".into()),
        );
        check("/some/course/../Cargo.toml", Found::Nothing);
        check("/some/course/%2e%2e/Cargo.toml", Found::Nothing);
        check("/some/course/%2Fetc/passwd", Found::Nothing);
        check("/some/course/%ff", Found::Nothing);
        check("/elsewhere", Found::Nothing);
    }
}
