//! `kvscope-offline.html`: the page, both modules, styles and icon in one file, which opens from `file://`, from a USB stick
//! and in a sandbox without an origin, where nothing can be loaded.
//!
//! A file can neither import modules nor fetch WebAssembly, so the ES modules become functions that give what they export,
//! and the WebAssembly is text (base64) in elements that nothing runs. What the page does is the same, by the same sources.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::wasm::Module;

/// What the file is made of.
pub(crate) struct Parts<'a> {
    /// `index.html` as it is in the repository.
    pub(crate) html: &'a str,
    /// The files that it names, by name.
    pub(crate) files: &'a BTreeMap<String, Vec<u8>>,
    /// Both modules.
    pub(crate) modules: &'a [Module],
    /// `api.js` and `frame.js`.
    pub(crate) entry: &'a str,
    /// See [`Parts::entry`].
    pub(crate) frame: &'a str,
}

/// The file.
pub(crate) fn offline(parts: &Parts<'_>) -> Result<String> {
    let mut html = without_served(parts.html)?;
    let mut styles = Vec::new();
    for (name, bytes) in parts.files {
        let text =
            || String::from_utf8(bytes.clone()).with_context(|| format!("{name} is no text"));
        let link = format!("<link rel=\"stylesheet\" href=\"./{name}\">");
        if html.contains(&link) {
            let style = text()?;
            html = html.replace(&link, &format!("<style>{style}</style>"));
            styles.push(style);
        } else if name.ends_with(".svg") {
            let data = format!(
                "data:image/svg+xml;base64,{}",
                BASE64_STANDARD.encode(bytes)
            );
            html = html.replace(&format!("./{name}"), &data);
        }
    }
    let (start, end) = boot(&html)?;
    let script = script(parts, &html[start..end])?;
    let policy = format!(
        "default-src 'none'; script-src 'wasm-unsafe-eval' {}; style-src {}; img-src data: blob:; frame-src 'self' file:; base-uri 'none'; \
         form-action 'none'",
        hash(&script),
        styles
            .iter()
            .map(|style| hash(style))
            .collect::<Vec<_>>()
            .join(" ")
    );
    let open = html[..start]
        .rfind("<script")
        .context("the boot script has no start")?;
    let wasm = parts.modules.iter().map(|module| {
        let text = BASE64_STANDARD.encode(&module.wasm);
        format!(
            "<script type=\"text/plain\" id=\"{}_bg.wasm\">{text}</script>\n",
            module.name
        )
    });
    let words = kvscope::view::text::exports()
        .into_iter()
        .map(|(name, words)| {
            ensure!(
                !words.contains("</script"),
                "{name} would end its element early"
            );
            Ok(format!(
                "<script type=\"text/plain\" id=\"text/{name}\">{words}</script>\n"
            ))
        });
    let res = [
        &html[..open],
        &wasm.collect::<String>(),
        &words.collect::<Result<String>>()?,
        &html[open..start],
        &script,
        &html[end..],
    ];
    let mark = "<!-- xtask:head -->";
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">");
    Ok(res.concat().replacen(mark, &policy, 1))
}

/// The page without the elements that are only for where it is served.
fn without_served(html: &str) -> Result<String> {
    const MARK: &str = " data-for=\"served\">";
    let mut res = html.to_owned();
    while let Some(at) = res.find(MARK) {
        let open = res[..at].rfind('<').context("an element has no start")?;
        let end = format!("</{}>", &res[open + 1..at]);
        let length = res[at..]
            .find(&end)
            .with_context(|| format!("index.html lacks {end}"))?;
        res.replace_range(open..at + length + end.len(), "");
    }
    ensure!(res.len() < html.len(), "index.html lacks{MARK}");
    Ok(res)
}

/// Where the text of the page's module script is.
fn boot(html: &str) -> Result<(usize, usize)> {
    const MARK: &str = "<script type=\"module\">";
    let start = html
        .find(MARK)
        .with_context(|| format!("index.html lacks {MARK}"))?
        + MARK.len();
    let length = html[start..]
        .find("</script>")
        .context("the boot script never ends")?;
    Ok((start, start + length))
}

/// One script of all modules.
fn script(parts: &Parts<'_>, boot: &str) -> Result<String> {
    let mut entry = parts.entry.to_owned();
    let mut res = String::from(
        "\nfunction bytesOf(id) {\nconst element = document.getElementById(id);\nconst text = element.textContent;\n\
         element.remove();\nreturn Uint8Array.from(atob(text), (c) => c.charCodeAt(0));\n}\n",
    );
    for Module { name, js, .. } in parts.modules {
        res += &format!("const {name}Module = {};\n", as_value(js)?);
        for (from, to) in [
            (format!("import('./{name}.js')"), format!("{name}Module")),
            (
                format!("new URL('./{name}_bg.wasm', import.meta.url)"),
                format!("bytesOf('{name}_bg.wasm')"),
            ),
        ] {
            ensure!(entry.contains(&from), "api.js lacks {from}");
            entry = entry.replace(&from, &to);
        }
    }
    for (name, _) in kvscope::view::text::exports() {
        let from = format!("new URL('./text/{name}', import.meta.url)");
        ensure!(entry.contains(&from), "api.js lacks {from}");
        let to = format!("document.getElementById('text/{name}').textContent");
        entry = entry.replace(&from, &to);
    }
    res += &format!("const kvscope = {};\n", as_value(&entry)?);
    res += &format!("const frame = {};\n", as_value(parts.frame)?);
    let boot = boot.replace("(await import('./pkg/frame.js'))", "frame");
    let import = boot
        .lines()
        .find(|line| line.ends_with(" from './pkg/kvscope.js';"))
        .context("index.html does not import './pkg/kvscope.js'")?;
    let names = import
        .trim_start_matches("import ")
        .trim_end_matches(" from './pkg/kvscope.js';");
    // `init, { mount }` is the default export and one by name.
    let names = match names.split_once(", {") {
        Some((default, rest)) => format!("{{ default: {default},{rest}"),
        None => names.to_owned(),
    };
    let boot = boot.replace(import, &format!("const {names} = kvscope;"));
    ensure!(
        !boot.contains("import("),
        "index.html imports something else"
    );
    res += &boot;
    ensure!(
        !res.contains("</script") && !res.contains("<!--"),
        "a script would end early"
    );
    Ok(res)
}

/// An ES module as an expression of what it exports. Its exports begin lines; it imports nothing at its head.
fn as_value(module: &str) -> Result<String> {
    let mut body = String::with_capacity(module.len());
    let mut exports = Vec::new();
    for line in module.lines() {
        ensure!(!line.starts_with("import "), "a module begins with {line}");
        if let Some(list) = line.strip_prefix("export {") {
            let list = list.trim_end_matches([';', ' ', '}']);
            for item in list.split(',') {
                exports.push(match item.trim().split_once(" as ") {
                    Some((own, name)) => format!("{name}: {own}"),
                    None => item.trim().to_owned(),
                });
            }
            continue;
        }
        let Some(declared) = line.strip_prefix("export ") else {
            body += line;
            body.push('\n');
            continue;
        };
        let default = declared.strip_prefix("default ");
        let declared = default.unwrap_or(declared);
        let name = declared
            .split([' ', '(', '{', '='])
            .find(|word| !["async", "function", "class", "const", "let", ""].contains(word))
            .with_context(|| format!("no name in {line}"))?;
        exports.push(if default.is_some() {
            format!("default: {name}")
        } else {
            name.to_owned()
        });
        body += declared;
        body.push('\n');
    }
    Ok(format!(
        "(() => {{\n{body}return {{ {} }};\n}})()",
        exports.join(", ")
    ))
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_become_values() {
        let module = "const a = 1;\nexport function f(x) { return x; }\nexport default async function g() {}\n\
            export const h = () => a;\nexport class K { }\nexport { i, j as k };\n";
        assert_eq!(
            as_value(module).expect("it is a module"),
            "(() => {\nconst a = 1;\nfunction f(x) { return x; }\nasync function g() {}\nconst h = () => a;\nclass K { }\n\
             return { f, default: g, h, K, i, k: j };\n})()"
        );
        let wrong = as_value("import x from 'y';\n").expect_err("it imports");
        assert_eq!(wrong.to_string(), "a module begins with import x from 'y';");
    }

    #[test]
    fn one_file() {
        let html = "<!-- xtask:head -->\n<script data-for=\"served\">away();</script>\n\
            <footer data-for=\"served\"><a href=\"away.html\">away()</a></footer>\
            <link rel=\"icon\" href=\"./icon.svg\"><link rel=\"stylesheet\" href=\"./style.css\">\n\
            <script type=\"module\">\nimport init, { mount } from './pkg/kvscope.js';\nmount((await import('./pkg/frame.js')));</script>";
        let files = [("icon.svg", "<svg/>"), ("style.css", "a{}")];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        let module = Module {
            name: "page",
            wasm: b"\0asm".to_vec(),
            js: "export function m() {}\n".to_owned(),
        };
        let texts: String = kvscope::view::text::exports()
            .iter()
            .map(|(name, _)| format!(" new URL('./text/{name}', import.meta.url);"))
            .collect();
        let entry = format!(
            "export function mount() {{ import('./page.js'); new URL('./page_bg.wasm', import.meta.url);{texts} }}\n"
        );
        let parts = Parts {
            html,
            files: &BTreeMap::from(files),
            modules: &[module],
            entry: &entry,
            frame: "export default function framed() {}\n",
        };
        let file = offline(&parts).expect("it is complete");
        for part in [
            // By sha256sum and base64.
            "style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk=';",
            "<style>a{}</style>",
            "href=\"data:image/svg+xml;base64,PHN2Zy8+\"",
            "<script type=\"text/plain\" id=\"page_bg.wasm\">AGFzbQ==</script>",
            "function mount() { pageModule; bytesOf('page_bg.wasm'); document.getElementById('text/",
            "\nconst { default: init, mount } = kvscope;\nmount(frame);",
        ] {
            assert!(file.contains(part), "{part} is not in\n{file}");
        }
        assert!(!file.contains("away()"), "it would go away");
    }
}
