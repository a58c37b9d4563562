//! Documents of `docs` as pages of their own, which have no scripts: what engines printed, what was measured, how the
//! simulator works.

use std::fmt::Write;

/// A document.
pub(crate) struct Document {
    /// Its name in `docs`, without `.md`, and in `dist`, without `.html`.
    pub(crate) name: &'static str,
    /// What links to it say.
    label: &'static str,
    /// Whether its sections are folded, because they are long.
    is_folded: bool,
}

/// Every document that is a page.
pub(crate) const ALL: [Document; 3] = [
    Document {
        name: "how-we-know",
        label: "How we know",
        is_folded: true,
    },
    Document {
        name: "measured",
        label: "Measured against estimated",
        is_folded: true,
    },
    Document {
        name: "serving",
        label: "Many requests",
        is_folded: false,
    },
];

/// The page of a document.
pub(crate) fn page(document: &Document, markdown: &str) -> String {
    let policy =
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";
    let others = ALL.iter().filter(|other| other.name != document.name);
    let links: String = others
        .map(|other| format!("<a href=\"{}.html\">{}</a>\n", other.name, other.label))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>{}: KVscope</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"document.css\">\n</head>\n<body>\n\
         <header><a href=\"index.html\">KVscope</a>\n<nav>\n{links}</nav></header>\n<main>\n{}</main>\n</body>\n</html>\n",
        document.label,
        body(markdown, document.is_folded)
    )
}

/// What of Markdown the documents use: headings, paragraphs, lists and tables. A section of the second level may be folded.
fn body(markdown: &str, is_folded: bool) -> String {
    let mut sections = markdown.split("\n## ");
    let mut res = blocks(sections.next().unwrap_or_default());
    for section in sections {
        let (title, rest) = section.split_once('\n').unwrap_or((section, ""));
        let (title, content) = (inline(title), blocks(rest));
        if !is_folded {
            let _ = write!(res, "<h2>{title}</h2>\n{content}");
            continue;
        }
        let count = |start: &str| rest.lines().filter(|line| line.starts_with(start)).count();
        // Of each table the head and the line under it are no rows.
        let n_rows = count("| ") - 2 * count("| ---");
        let _ = write!(
            res,
            "<details>\n<summary><h2>{title}</h2> {n_rows} rows</summary>\n{content}</details>\n"
        );
    }
    res
}

fn blocks(markdown: &str) -> String {
    let mut res = String::new();
    for block in markdown.split("\n\n").map(str::trim) {
        if let Some(title) = block.strip_prefix("### ") {
            let _ = writeln!(res, "<h3>{}</h3>", inline(title));
        } else if let Some(title) = block.strip_prefix("# ") {
            let _ = writeln!(res, "<h1>{}</h1>", inline(title));
        } else if block.starts_with('|') {
            res += &table(block);
        } else if let Some((before, list)) = list(block) {
            if !before.is_empty() {
                let _ = writeln!(res, "<p>{}</p>", inline(&before.replace('\n', " ")));
            }
            let items = list.map(|item| format!("<li>{}</li>\n", inline(item)));
            let _ = writeln!(res, "<ul>\n{}</ul>", items.collect::<String>());
        } else if !block.is_empty() {
            let _ = writeln!(res, "<p>{}</p>", inline(&block.replace('\n', " ")));
        }
    }
    res
}

/// The lines before a list, and its points, each of one line.
fn list(block: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let start = if block.starts_with("- ") {
        0
    } else {
        block.find("\n- ")? + 1
    };
    let (before, points) = block.split_at(start);
    let points = points.lines().map(|line| line.trim_start_matches("- "));
    Some((before.trim_end(), points))
}

fn table(block: &str) -> String {
    let mut lines = block.lines();
    let Some(head) = lines.next() else {
        return String::new();
    };
    let row = |line: &str, tag: &str, scope: &str| {
        let cells = cells(line).into_iter().enumerate().map(|(idx, cell)| {
            let (tag, scope) = match (idx, tag) {
                (0, "td") => ("th", " scope=\"row\""),
                _ => (tag, scope),
            };
            format!("<{tag}{scope}>{}</{tag}>", inline(&cell))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    // The second line rules off the head.
    let rows: String = lines.skip(1).map(|line| row(line, "td", "")).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n<table>\n<thead>\n{}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n",
        row(head, "th", " scope=\"col\"")
    )
}

/// The cells of a line; `\|` is no end of one.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line);
    let mut res = vec![String::new()];
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek(), res.last_mut()) {
            ('\\', Some('|'), Some(cell)) => {
                cell.push('|');
                chars.next();
            }
            ('|', ..) => res.push(String::new()),
            (c, _, Some(cell)) => cell.push(c),
            (_, _, None) => {}
        }
    }
    res.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Text with `code`, **bold**, *italic* and [links](https://…).
fn inline(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    // What stands in code is as it is.
    let parts = text.split('`').enumerate().map(|(idx, part)| {
        if idx % 2 == 1 {
            format!("<code>{part}</code>")
        } else {
            linked(&paired(&paired(part, "**", "b"), "*", "i"))
        }
    });
    parts.collect()
}

/// Every second mark closes what the one before opened; a last one alone stays.
fn paired(text: &str, mark: &str, tag: &str) -> String {
    let parts: Vec<&str> = text.split(mark).collect();
    let mut res = String::new();
    for (idx, part) in parts.iter().enumerate() {
        if 0 < idx {
            let is_open = idx % 2 == 1;
            if is_open && idx + 1 == parts.len() {
                res += mark;
            } else {
                let _ = write!(res, "<{}{tag}>", if is_open { "" } else { "/" });
            }
        }
        res += part;
    }
    res
}

fn linked(text: &str) -> String {
    let mut res = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        res += before;
        let link = after
            .split_once("](")
            .filter(|(name, _)| !name.contains('['))
            .and_then(|(name, after)| Some((name, after.split_once(')')?)))
            .and_then(|(name, (address, after))| Some((name, href(address)?, after)));
        match link {
            Some((name, address, after)) => {
                let _ = write!(res, "<a href=\"{address}\" rel=\"noreferrer\">{name}</a>");
                rest = after;
            }
            None => {
                res.push('[');
                rest = after;
            }
        }
    }
    res + rest
}

/// Where a link leads: to another site, or to a document that is a page.
fn href(address: &str) -> Option<String> {
    if address.starts_with("http") {
        return Some(address.to_owned());
    }
    let name = address.strip_suffix(".md")?;
    let is_page = ALL.iter().any(|document| document.name == name);
    is_page.then(|| format!("{name}.html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_markup() {
        for (text, expected) in [
            ("# A & B", "<h1>A &amp; B</h1>\n"),
            (
                "a\nb **c** *d* `**e**` * f",
                "<p>a b <b>c</b> <i>d</i> <code>**e**</code> * f</p>\n",
            ),
            (
                "[a b](https://x.org/?a=1&b=2), [c] and <script>",
                "<p><a href=\"https://x.org/?a=1&amp;b=2\" rel=\"noreferrer\">a b</a>, [c] and &lt;script&gt;</p>\n",
            ),
            (
                "a:\n- b\n- [c](measured.md), [d](e.md)",
                "<p>a:</p>\n<ul>\n<li>b</li>\n\
                 <li><a href=\"measured.html\" rel=\"noreferrer\">c</a>, [d](e.md)</li>\n</ul>\n",
            ),
            (
                "x\n\n## A\n\n| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |\n\n### B\n\n## C",
                "<p>x</p>\n<details>\n<summary><h2>A</h2> 1 rows</summary>\n\
                 <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n<table>\n<thead>\n\
                 <tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr>\n</thead>\n<tbody>\n\
                 <tr><th scope=\"row\">1 | 2</th><td>3</td></tr>\n</tbody>\n</table>\n</div>\n\
                 <h3>B</h3>\n</details>\n<details>\n<summary><h2>C</h2> 0 rows</summary>\n</details>\n",
            ),
        ] {
            assert_eq!(body(text, true), expected, "{text}");
        }
    }

    #[test]
    fn sections_may_stand_open() {
        assert_eq!(
            body("x\n\n## A\n\nb", false),
            "<p>x</p>\n<h2>A</h2>\n<p>b</p>\n"
        );
    }

    #[test]
    fn the_documents_are_whole() {
        for document in ALL {
            let path = crate::root()
                .join("docs")
                .join(document.name)
                .with_extension("md");
            let markdown = std::fs::read_to_string(path).expect("it is there");
            let page = page(&document, &markdown);
            let count = |start: &str| {
                let lines = markdown.lines().filter(|line| line.starts_with(start));
                lines.count()
            };
            let name = document.name;
            assert_eq!(
                page.matches("<tr>").count(),
                count("| ") - count("| ---"),
                "{name}"
            );
            assert_eq!(page.matches("<li>").count(), count("- "), "{name}");
            let sections = if document.is_folded {
                "<details>"
            } else {
                "<h2>"
            };
            assert_eq!(
                page.matches(sections).count(),
                markdown.matches("\n## ").count(),
                "{name}"
            );
            assert_eq!(
                page.matches("](").count(),
                0,
                "{name}: a link was not understood"
            );
            let style = ["<script", "style=", "**"];
            assert!(
                style.iter().all(|part| !page.contains(part)),
                "{name} is plain"
            );
        }
    }
}
