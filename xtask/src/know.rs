//! `how-we-know.html`: the posted logs of `docs/how-we-know.md` as a page of their own, folded by engine. It has no scripts.

use std::fmt::Write;

/// The page.
pub(crate) fn page(markdown: &str) -> String {
    let policy =
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>How we know: KVscope beside what engines printed</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <link rel=\"stylesheet\" href=\"how-we-know.css\">\n</head>\n<body>\n\
         <header><a href=\"index.html\">KVscope</a></header>\n<main>\n{}</main>\n</body>\n</html>\n",
        body(markdown)
    )
}

/// What of Markdown the document uses: headings, paragraphs and tables; a section of the second level is folded.
fn body(markdown: &str) -> String {
    let mut sections = markdown.split("\n## ");
    let mut res = blocks(sections.next().unwrap_or_default());
    for section in sections {
        let (title, rest) = section.split_once('\n').unwrap_or((section, ""));
        let count = |start: &str| rest.lines().filter(|line| line.starts_with(start)).count();
        // Of each table the head and the line under it are no rows.
        let n_rows = count("| ") - 2 * count("| ---");
        let _ = write!(
            res,
            "<details>\n<summary><h2>{}</h2> {n_rows} rows</summary>\n{}</details>\n",
            inline(title),
            blocks(rest)
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
        } else if !block.is_empty() {
            let _ = writeln!(res, "<p>{}</p>", inline(&block.replace('\n', " ")));
        }
    }
    res
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
            .split_once("](http")
            .filter(|(name, _)| !name.contains('['))
            .and_then(|(name, after)| Some((name, after.split_once(')')?)));
        match link {
            Some((name, (address, after))) => {
                let _ = write!(
                    res,
                    "<a href=\"http{address}\" rel=\"noreferrer\">{name}</a>"
                );
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
                "x\n\n## A\n\n| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |\n\n### B\n\n## C",
                "<p>x</p>\n<details>\n<summary><h2>A</h2> 1 rows</summary>\n\
                 <div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">\n<table>\n<thead>\n\
                 <tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr>\n</thead>\n<tbody>\n\
                 <tr><th scope=\"row\">1 | 2</th><td>3</td></tr>\n</tbody>\n</table>\n</div>\n\
                 <h3>B</h3>\n</details>\n<details>\n<summary><h2>C</h2> 0 rows</summary>\n</details>\n",
            ),
        ] {
            assert_eq!(body(text), expected, "{text}");
        }
    }

    #[test]
    fn the_document_is_whole() {
        let path = crate::root().join("docs/how-we-know.md");
        let markdown = std::fs::read_to_string(path).expect("it is there");
        let page = page(&markdown);
        let n_rows = markdown
            .lines()
            .filter(|line| line.starts_with("| "))
            .count();
        let n_heads = markdown
            .lines()
            .filter(|line| line.starts_with("| ---"))
            .count();
        assert_eq!(page.matches("<tr>").count(), n_rows - n_heads);
        assert_eq!(
            page.matches("<details>").count(),
            markdown.matches("\n## ").count()
        );
        assert_eq!(
            page.matches("](http").count(),
            0,
            "a link was not understood"
        );
        let style = ["<script", "style=", "**"];
        assert!(style.iter().all(|part| !page.contains(part)), "it is plain");
    }
}
