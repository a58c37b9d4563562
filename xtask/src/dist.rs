//! `cargo xtask dist`: from the sources to a folder that any static host can serve.
//!
//! What is where in `dist/`:
//!
//! | file | from |
//! |---|---|
//! | `index.html` | `/index.html`, see below |
//! | `pkg/kvscope-HASH.js`, `pkg/kvscope_bg-HASH.wasm` | the module; the page, embeds and the JavaScript API all load these two, so one download serves them |
//! | `pkg/kvscope.js` | the lasting name: one line that re-exports the hashed module |
//! | `pkg/kvscope_bg.wasm` | the same bytes under a lasting name, for bundlers and those who fetch it themselves; nothing of ours loads it |
//! | `pkg/kvscope.d.ts`, `pkg/package.json` | `src/app/api.d.ts` (wasm-bindgen's types while that is missing); written here |
//! | all else | `www/`, under the same names, except that a file that `index.html` refers to gets a hashed name |
//! | `*.br`, `*.gz` | beside each file that compresses |
//!
//! `index.html` names files as if it stood in `dist/` and nothing were hashed (`"./style.css"`,
//! `'./pkg/kvscope.js'`, in quotes); those names are replaced. It must hold the line
//! `<!-- xtask:head -->` before its first script, stylesheet and icon: the Content-Security-Policy
//! and the preloads of the module are put there. Inline scripts are allowed (their hashes are put
//! into the policy); inline styles, `style` attributes and event attributes are not.
//! Stylesheets and scripts in `www/` must not refer to a file that `index.html` refers to.
//!
//! All names are relative, so that the folder works below any path, and nothing in it depends on
//! the machine or the time: the same sources give the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::{dist_dir, root, target_dir, wasm};

/// Everything that first use downloads, compressed by brotli, may be this large, in bytes.
pub const FIRST_USE_LIMIT: usize = 220_000;
/// What we try to stay below, in bytes.
pub const FIRST_USE_REACH: usize = 190_000;

/// How the page is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Small, with compressed files beside each file.
    Release,
    /// Quick to build, with the names of functions and nothing compressed.
    Dev,
}

impl Mode {
    /// The folder that cargo puts this build into.
    pub fn profile(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dev => "debug",
        }
    }
}

/// One file's size in bytes.
#[derive(Clone, Copy, Default)]
pub struct Size {
    /// As it is.
    pub raw: usize,
    /// Compressed by gzip; as it is where that does not apply.
    pub gzip: usize,
    /// Compressed by brotli; as it is where that does not apply.
    pub brotli: usize,
}

/// How large the page is.
pub struct Sizes {
    /// Everything that first use downloads.
    pub first_use: Size,
}

impl Sizes {
    /// Fails when first use is over its limit.
    pub fn check(&self) -> Result<()> {
        let brotli = self.first_use.brotli;
        ensure!(
            brotli <= FIRST_USE_LIMIT,
            "first use is {brotli} bytes (brotli), {} more than allowed",
            brotli - FIRST_USE_LIMIT
        );
        Ok(())
    }
}

/// Builds `dist/` and prints what is in it.
pub fn dist(mode: Mode) -> Result<Sizes> {
    let site = Site::new(wasm::build(mode)?)?;
    let sizes = site.write(mode)?;
    Ok(print(&site, &sizes, mode))
}

/// The files of `dist/`, by their path in it, before compression.
struct Site {
    files: BTreeMap<String, Vec<u8>>,
    first_use: Vec<String>,
}

impl Site {
    fn new(module: wasm::Module) -> Result<Self> {
        let mut site = Self {
            files: BTreeMap::new(),
            first_use: Vec::new(),
        };
        let (js, wasm) = site.add_pkg(module)?;
        let mut names = vec![("pkg/kvscope.js".to_owned(), js.clone())];
        let html = fs::read_to_string(root().join("index.html")).context("no index.html")?;
        for (name, bytes) in read_folder(&root().join("www"))? {
            if quotes(&html, &name).next().is_some() {
                let hashed = hashed(&name, &bytes);
                names.push((name, hashed.clone()));
                site.first_use.push(hashed.clone());
                site.files.insert(hashed, bytes);
            } else {
                site.files.insert(name, bytes);
            }
        }
        let html = page(&html, &names, &js, &wasm)?;
        site.files.insert("index.html".into(), html.into_bytes());
        site.first_use.extend(["index.html".into(), js, wasm]);
        Ok(site)
    }

    /// Adds the JavaScript package; gives the hashed names of its module and its WebAssembly.
    fn add_pkg(&mut self, module: wasm::Module) -> Result<(String, String)> {
        let wasm = hashed("pkg/kvscope_bg.wasm", &module.wasm);
        let js = module.js.replace("kvscope_bg.wasm", in_pkg(&wasm));
        ensure!(
            js != module.js,
            "the module's JavaScript does not name kvscope_bg.wasm"
        );
        let js_name = hashed("pkg/kvscope.js", js.as_bytes());
        let entry = format!(
            "export {{ default }} from './{0}';\nexport * from './{0}';\n",
            in_pkg(&js_name)
        );
        let types = fs::read_to_string(root().join("src/app/api.d.ts")).unwrap_or(module.types);
        let package = package_json([in_pkg(&js_name), in_pkg(&wasm)])?;
        let text = [
            ("pkg/kvscope.js", entry),
            (&js_name, js),
            ("pkg/kvscope.d.ts", types),
            ("pkg/package.json", package),
        ];
        for (name, text) in text {
            self.files.insert(name.to_owned(), text.into_bytes());
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = fs::read(root().join(name)).with_context(|| format!("no {name}"))?;
            self.files.insert(format!("pkg/{name}"), text);
        }
        self.files
            .insert("pkg/kvscope_bg.wasm".into(), module.wasm.clone());
        self.files.insert(wasm.clone(), module.wasm);
        Ok((js_name, wasm))
    }

    /// Writes the files, in one step for whoever is serving the folder meanwhile.
    fn write(&self, mode: Mode) -> Result<BTreeMap<&str, Size>> {
        let new = target_dir().join("dist-new");
        let old = target_dir().join("dist-old");
        for folder in [&new, &old] {
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        let mut sizes = BTreeMap::new();
        for (name, bytes) in &self.files {
            let path = new.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&new))?;
            fs::write(&path, bytes)?;
            let mut size = Size {
                raw: bytes.len(),
                gzip: bytes.len(),
                brotli: bytes.len(),
            };
            if mode == Mode::Release && compresses(name) {
                size.gzip = write_beside(&path, "gz", gzip(bytes)?)?;
                size.brotli = write_beside(&path, "br", brotli(bytes)?)?;
            }
            sizes.insert(name.as_str(), size);
        }
        if dist_dir().exists() {
            fs::rename(dist_dir(), &old).context("could not replace dist/")?;
        }
        fs::rename(&new, dist_dir()).context("could not write dist/")?;
        Ok(sizes)
    }
}

/// The page with its names replaced and its head filled in.
fn page(html: &str, names: &[(String, String)], js: &str, wasm: &str) -> Result<String> {
    const MARK: &str = "<!-- xtask:head -->";
    let mut html = html.to_owned();
    for (name, hashed) in names {
        for quoted in quotes(&html.clone(), name) {
            let quote = &quoted[..1];
            html = html.replace(quoted, &format!("{quote}./{hashed}{quote}"));
        }
    }
    let head = html
        .find(MARK)
        .with_context(|| format!("index.html lacks the line {MARK}"))?;
    if let Some(early) = ["<script", "<link", "<style"]
        .iter()
        .find(|tag| html[..head].contains(*tag))
    {
        bail!(
            "index.html has a {early}> before {MARK}, which the policy put there would not cover"
        );
    }
    let policy = policy(&html)?;
    let preloads = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <link rel=\"modulepreload\" href=\"./{js}\">\n\
         <link rel=\"preload\" href=\"./{wasm}\" as=\"fetch\" type=\"application/wasm\" crossorigin>"
    );
    Ok(html.replacen(MARK, &preloads, 1))
}

/// The Content-Security-Policy of `html`: nothing but what lies beside it, and its own scripts.
fn policy(html: &str) -> Result<String> {
    let mut scripts = String::from("'self' 'wasm-unsafe-eval'");
    for script in inline_scripts(html)? {
        let hash = BASE64_STANDARD.encode(Sha256::digest(script));
        scripts += &format!(" 'sha256-{hash}'");
    }
    Ok(format!(
        "default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'"
    ))
}

/// The text of every script element that has no `src`.
fn inline_scripts(html: &str) -> Result<Vec<&str>> {
    let mut scripts = Vec::new();
    for element in html.split("<script").skip(1) {
        let (attributes, rest) = element
            .split_once('>')
            .context("a <script in index.html never ends")?;
        let (script, _) = rest
            .split_once("</script>")
            .context("index.html lacks a </script>")?;
        if !attributes.contains("src=") {
            scripts.push(script);
        }
    }
    Ok(scripts)
}

/// How `html` may refer to the file `name`: those of the four ways that it uses.
fn quotes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let ways = [
        format!("\"{name}\""),
        format!("\"./{name}\""),
        format!("'{name}'"),
        format!("'./{name}'"),
    ];
    ways.into_iter()
        .filter_map(|way| html.find(&way).map(|at| &html[at..at + way.len()]))
}

/// `folder/name-HASH.ext` for `folder/name.ext`. 64 bits of the hash: enough for a file name.
fn hashed(name: &str, bytes: &[u8]) -> String {
    let hash: String = Sha256::digest(bytes)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}-{hash}.{extension}"),
        None => format!("{name}-{hash}"),
    }
}

fn in_pkg(name: &str) -> &str {
    name.strip_prefix("pkg/").unwrap_or(name)
}

fn package_json(hashed: [&str; 2]) -> Result<String> {
    let package = serde_json::json!({
        "name": "kvscope",
        "version": version()?,
        "description": "What one reasoning request does to a GPU's memory: the KV cache, exact, engine by engine.",
        "license": "MIT OR Apache-2.0",
        "type": "module",
        "main": "./kvscope.js",
        "types": "./kvscope.d.ts",
        "exports": {
            ".": { "types": "./kvscope.d.ts", "default": "./kvscope.js" },
            "./kvscope_bg.wasm": "./kvscope_bg.wasm"
        },
        "files": ["kvscope.js", "kvscope.d.ts", "kvscope_bg.wasm", hashed[0], hashed[1], "LICENSE-*"]
    });
    Ok(serde_json::to_string_pretty(&package)? + "\n")
}

/// The crate's version, which is the package's too.
fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = "));
    Ok(version
        .context("Cargo.toml states no version")?
        .trim_matches('"')
        .to_owned())
}

/// Every file below `folder`, by its path in it with `/` between the parts; none if it is missing.
fn read_folder(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let below = read_folder(&path)?;
            files.extend(
                below
                    .into_iter()
                    .map(|(file, bytes)| (format!("{name}/{file}"), bytes)),
            );
        } else {
            files.insert(name, fs::read(&path)?);
        }
    }
    Ok(files)
}

fn compresses(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    [
        "html", "css", "js", "mjs", "wasm", "json", "svg", "ico", "ts", "txt", "md",
    ]
    .contains(&extension)
}

fn write_beside(path: &Path, suffix: &str, bytes: Vec<u8>) -> Result<usize> {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    fs::write(name, &bytes)?;
    Ok(bytes.len())
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

fn brotli(mut bytes: &[u8]) -> Result<Vec<u8>> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut bytes, &mut out, &params)?;
    Ok(out)
}

fn print(site: &Site, sizes: &BTreeMap<&str, Size>, mode: Mode) -> Sizes {
    let line = |name: &str, size: Size| {
        println!(
            "{name:<40} {:>9} {:>9} {:>9}",
            size.raw, size.gzip, size.brotli
        )
    };
    println!(
        "{:<40} {:>9} {:>9} {:>9}",
        "dist/ (bytes)", "raw", "gzip", "brotli"
    );
    for (name, size) in sizes {
        line(name, *size);
    }
    let mut first_use = Size::default();
    for size in site
        .first_use
        .iter()
        .filter_map(|name| sizes.get(name.as_str()))
    {
        first_use.raw += size.raw;
        first_use.gzip += size.gzip;
        first_use.brotli += size.brotli;
    }
    line("first use", first_use);
    if mode == Mode::Release {
        println!(
            "first use: {} of {FIRST_USE_LIMIT} bytes allowed (brotli), reach {FIRST_USE_REACH}",
            first_use.brotli
        );
    } else {
        println!("a development build: not compressed, not held to the size limit");
    }
    Sizes { first_use }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTML: &str = "<head>\n<!-- xtask:head -->\n<link href=\"./style.css\">\n</head>\n\
        <script src='boot.js'></script><script>import './pkg/kvscope.js';</script>";

    fn page_of(html: &str) -> Result<String> {
        let names = [
            ("style.css", "style-1.css"),
            ("boot.js", "boot-2.js"),
            ("pkg/kvscope.js", "pkg/kvscope-3.js"),
        ];
        let names = names.map(|(name, hashed)| (name.to_owned(), hashed.to_owned()));
        page(html, &names, "pkg/kvscope-3.js", "pkg/kvscope_bg-4.wasm")
    }

    #[test]
    fn names_are_replaced_and_the_head_filled_in() {
        let html = page_of(HTML).expect("it is complete");
        // The hash of `import './pkg/kvscope-3.js';`, by sha256sum and base64.
        for part in [
            "<link href=\"./style-1.css\">",
            "<script src='./boot-2.js'></script>",
            "<script>import './pkg/kvscope-3.js';</script>",
            "script-src 'self' 'wasm-unsafe-eval' 'sha256-0mmZTT19OVSIsk5XuWSZ7eEJnkKHRJGMQgZgpjnlZTc=';",
            "<link rel=\"modulepreload\" href=\"./pkg/kvscope-3.js\">",
            "href=\"./pkg/kvscope_bg-4.wasm\" as=\"fetch\"",
        ] {
            assert!(html.contains(part), "{part} is not in\n{html}");
        }
    }

    #[test]
    fn broken_pages() {
        let check = |html: &str, error: &str| {
            let res = page_of(html).expect_err("it is broken");
            assert_eq!(res.to_string(), error);
        };
        check(
            "<head></head>",
            "index.html lacks the line <!-- xtask:head -->",
        );
        check(
            "<script></script><!-- xtask:head -->",
            "index.html has a <script> before <!-- xtask:head -->, which the policy put there would not cover",
        );
        check(
            "<!-- xtask:head --><script>",
            "index.html lacks a </script>",
        );
    }

    #[test]
    fn names_with_hashes() {
        // The first 64 bits of the SHA-256 of nothing.
        assert_eq!(hashed("a/b.min.js", b""), "a/b.min-e3b0c44298fc1c14.js");
        assert_eq!(hashed("LICENSE", b""), "LICENSE-e3b0c44298fc1c14");
    }
}
