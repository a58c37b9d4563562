//! `cargo xtask dist`: from the sources to a folder that any static host can serve.
//!
//! What is where in `dist/`:
//!
//! | file | from |
//! |---|---|
//! | `index.html` | `/index.html`, see below |
//! | `pkg/kvscope-HASH.js` | `src/app/api.js`, which loads the two modules when they are needed; the page, embeds and the JavaScript API all load this one, so one download serves them |
//! | `pkg/page-HASH.js`, `pkg/page_bg-HASH.wasm` | the module that `mount` shows |
//! | `pkg/doors-HASH.js`, `pkg/doors_bg-HASH.wasm` | the module with the importer and the functions that compute |
//! | `kvscope-offline.html` | all of this in one file, see `offline.rs` |
//! | `kvscope-scorm12.zip` | that file for course platforms, with `xtask/scorm/` |
//! | `how-we-know.html`, `measured.html`, `serving.html` | documents of `docs`, see `documents.rs`; they have no scripts and a style sheet of their own |
//! | `pkg/frame-HASH.js` | `src/app/frame.js`, which a page in a frame loads |
//! | `pkg/text/NAME-HASH.json` | words that are loaded when they are needed, from `src/view/text` |
//! | `pkg/kvscope.js` | the lasting name: one line that re-exports the hashed file |
//! | `pkg/kvscope_bg.wasm` | the module of the functions under a lasting name, for those who fetch it themselves and hand it to `init`; nothing of ours loads it |
//! | `pkg/kvscope.d.ts`, `pkg/README.md`, `pkg/package.json` | `src/app/api.d.ts`; `docs/package.md`; written here |
//! | `pkg/kvscope.css` | `www/style.css` for `mount` in somebody's page: its rules, held to mounted elements |
//! | all else | `www/`, under the same names, except that a file that `index.html` refers to gets a hashed name |
//! | `*.br`, `*.gz` | beside each file that compresses |
//!
//! `index.html` names files as if it stood in `dist/` and nothing were hashed (`"./style.css"`,
//! `'./pkg/kvscope.js'`, in quotes); those names are replaced. It must hold the line
//! `<!-- xtask:head -->` before its first script, stylesheet and icon: the Content-Security-Policy
//! is put there. Inline scripts are allowed (their hashes are put
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

use crate::offline::{Parts, offline};
use crate::{dist_dir, documents, root, scorm, target_dir, wasm};

/// Everything that first use downloads, compressed by brotli, may be this large, in bytes.
pub const FIRST_USE_LIMIT: usize = 220_000;
/// What we try to stay below, in bytes.
pub const FIRST_USE_REACH: usize = 190_000;

/// The page in one file. `index.html` goes there by itself when nothing can be loaded.
pub(crate) const OFFLINE: &str = "kvscope-offline.html";
/// The page for course platforms.
pub(crate) const SCORM: &str = "kvscope-scorm12.zip";

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

/// The hashed names of what a page loads: the package's JavaScript, the page's, and the page's WebAssembly.
struct PageFiles {
    entry: String,
    js: String,
    wasm: String,
}

impl Site {
    fn new(modules: Vec<wasm::Module>) -> Result<Self> {
        let mut site = Self {
            files: BTreeMap::new(),
            first_use: Vec::new(),
        };
        let html = fs::read_to_string(root().join("index.html")).context("no index.html")?;
        let frame = fs::read_to_string(root().join("src/app/frame.js")).context("no frame.js")?;
        let www = read_folder(&root().join("www"))?;
        let offline = offline(&Parts {
            html: &html,
            files: &www,
            modules: &modules,
            entry: &fs::read_to_string(root().join("src/app/api.js")).context("no api.js")?,
            frame: &frame,
        })?;
        let scorm = scorm::package(offline.as_bytes(), scorm::LINK)?;
        site.files.insert(SCORM.into(), scorm);
        site.files.insert(OFFLINE.into(), offline.into_bytes());
        for document in documents::ALL {
            let file = format!("docs/{}.md", document.name);
            let markdown =
                fs::read_to_string(root().join(&file)).with_context(|| format!("no {file}"))?;
            let page = documents::page(&document, &markdown);
            site.files
                .insert(format!("{}.html", document.name), page.into_bytes());
        }
        let page_files = site.add_pkg(modules)?;
        let mut names = vec![
            ("pkg/kvscope.js".to_owned(), page_files.entry.clone()),
            ("pkg/page.js".to_owned(), page_files.js.clone()),
            ("pkg/page_bg.wasm".to_owned(), page_files.wasm.clone()),
        ];
        let frame_name = hashed("pkg/frame.js", frame.as_bytes());
        names.push(("pkg/frame.js".to_owned(), frame_name.clone()));
        site.files.insert(frame_name, frame.into_bytes());
        for (name, bytes) in www {
            if quotes(&html, &name).next().is_some() {
                let bytes = match String::from_utf8(bytes) {
                    Ok(text) if name.ends_with(".css") => css_without_comments(&text)?.into_bytes(),
                    Ok(text) => text.into_bytes(),
                    Err(error) => error.into_bytes(),
                };
                let hashed = hashed(&name, &bytes);
                names.push((name, hashed.clone()));
                site.first_use.push(hashed.clone());
                site.files.insert(hashed, bytes);
            } else {
                site.files.insert(name, bytes);
            }
        }
        let html = page(&html, &names)?;
        site.files.insert("index.html".into(), html.into_bytes());
        let PageFiles { entry, js, wasm } = page_files;
        site.first_use
            .extend(["index.html".into(), entry, js, wasm]);
        Ok(site)
    }

    /// Adds the JavaScript package; gives the hashed names of what a page loads.
    fn add_pkg(&mut self, modules: Vec<wasm::Module>) -> Result<PageFiles> {
        let mut entry = fs::read_to_string(root().join("src/app/api.js")).context("no api.js")?;
        let mut hashed_names = Vec::new();
        let mut page_files = None;
        for wasm::Module { name, wasm, js } in modules {
            let wasm_name = hashed(&format!("pkg/{name}_bg.wasm"), &wasm);
            let js_name = hashed(&format!("pkg/{name}.js"), js.as_bytes());
            name_hashed(&mut entry, &format!("{name}.js"), &js_name)?;
            name_hashed(&mut entry, &format!("{name}_bg.wasm"), &wasm_name)?;
            if name == "doors" {
                self.files
                    .insert("pkg/kvscope_bg.wasm".into(), wasm.clone());
            } else {
                page_files = Some((js_name.clone(), wasm_name.clone()));
            }
            hashed_names.extend([in_pkg(&js_name).to_owned(), in_pkg(&wasm_name).to_owned()]);
            self.files.insert(js_name, js.into_bytes());
            self.files.insert(wasm_name, wasm);
        }
        for (name, words) in kvscope::view::text::exports() {
            let plain = format!("text/{name}");
            let name = hashed(&format!("pkg/{plain}"), words.as_bytes());
            name_hashed(&mut entry, &plain, &name)?;
            hashed_names.push(in_pkg(&name).to_owned());
            self.files.insert(name, words.into_bytes());
        }
        let entry = js_without_comments(&entry);
        let entry_name = hashed("pkg/kvscope.js", entry.as_bytes());
        hashed_names.push(in_pkg(&entry_name).to_owned());
        let lasting = format!(
            "export {{ default }} from './{0}';\nexport * from './{0}';\n",
            in_pkg(&entry_name)
        );
        let types = fs::read_to_string(root().join("src/app/api.d.ts")).context("no api.d.ts")?;
        let readme = fs::read_to_string(root().join("docs/package.md")).context("no package.md")?;
        let package = package_json(&hashed_names)?;
        let text = [
            ("pkg/kvscope.js", lasting),
            (&entry_name, entry),
            ("pkg/kvscope.d.ts", types),
            ("pkg/package.json", package),
            ("pkg/README.md", readme),
            ("pkg/kvscope.css", scoped_style()?),
        ];
        for (name, text) in text {
            self.files.insert(name.to_owned(), text.into_bytes());
        }
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = fs::read(root().join(name)).with_context(|| format!("no {name}"))?;
            self.files.insert(format!("pkg/{name}"), text);
        }
        let (js, wasm) = page_files.context("there is no module for the page")?;
        Ok(PageFiles {
            entry: entry_name,
            js,
            wasm,
        })
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

/// A style sheet without its comments and without room at the beginning of lines: they are for those who write it.
fn css_without_comments(css: &str) -> Result<String> {
    let mut res = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, comment)) = rest.split_once("/*") {
        res += before;
        let (_, after) = comment.split_once("*/").context("a comment has no end")?;
        rest = after;
    }
    res += rest;
    let lines = res.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The style sheet for somebody else's page: the same rules, which hold in elements that something is mounted in.
fn scoped_style() -> Result<String> {
    let css = fs::read_to_string(root().join("www/style.css")).context("no style.css")?;
    let rules = css_without_comments(&css)?;
    Ok(format!("@scope (:has(> .kvscope)) {{\n{rules}\n}}\n"))
}

/// A program without the lines that are comments.
fn js_without_comments(js: &str) -> String {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    js.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// The page with its names replaced and its head filled in.
fn page(html: &str, names: &[(String, String)]) -> Result<String> {
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
    let meta = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
    Ok(html.replacen(MARK, &meta, 1))
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
         connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'"
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

/// Gives a file that `entry` names once, as `'./PLAIN'`, its hashed name.
fn name_hashed(entry: &mut String, plain: &str, hashed: &str) -> Result<()> {
    let quoted = format!("'./{plain}'");
    ensure!(
        entry.matches(&quoted).count() == 1,
        "api.js does not name {plain} once"
    );
    *entry = entry.replace(&quoted, &format!("'./{}'", in_pkg(hashed)));
    Ok(())
}

fn in_pkg(name: &str) -> &str {
    name.strip_prefix("pkg/").unwrap_or(name)
}

fn package_json(hashed: &[String]) -> Result<String> {
    let mut files = vec![
        "kvscope.js",
        "kvscope.d.ts",
        "kvscope.css",
        "kvscope_bg.wasm",
        "LICENSE-*",
    ];
    files.extend(hashed.iter().map(String::as_str));
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
            "./kvscope.css": "./kvscope.css",
            "./kvscope_bg.wasm": "./kvscope_bg.wasm"
        },
        "files": files
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
        page(html, &names)
    }

    #[test]
    fn comments_stay_at_home() -> Result<()> {
        let css = "/* a\n b */\n.x { y: z }\n\n@media print {\n  .x { y: 0 } /* c */\n}\n";
        assert_eq!(
            css_without_comments(css)?,
            ".x { y: z }\n@media print {\n.x { y: 0 }\n}"
        );
        assert!(css_without_comments(".x {} /* no end").is_err());
        let js = "// a\nlet x = 'http://y'; // b\n    // c\nx();\n";
        assert_eq!(js_without_comments(js), "let x = 'http://y'; // b\nx();");
        Ok(())
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
