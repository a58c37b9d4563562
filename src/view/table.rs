//! The data of a figure as rows: a table to read, a file to keep.

use std::fmt::Write;

use super::markup::push_escaped;
use super::text::Text;

/// One cell: what a reader sees, and what a program gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words, which may be a stranger's.
    Words(String),
    /// A whole number and how it is written.
    Count(u64, String),
    /// Another number and how it is written.
    Number(f64, String),
    /// Nothing.
    Empty,
}

impl Cell {
    /// What a reader sees.
    pub fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Count(_, text) | Self::Number(_, text) => text,
            Self::Empty => "",
        }
    }
}

/// A table with a head; the first cell of a row names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table whose columns have these names.
    pub fn new(head: &[&Text], rows: Vec<Vec<Cell>>) -> Self {
        let head = head.iter().map(|name| name.to_string()).collect();
        Self { head, rows }
    }

    /// As the markup of a `<table>`.
    pub fn html(&self, caption: &str) -> String {
        let mut res = String::from("<table><caption>");
        push_escaped(&mut res, caption);
        res.push_str("</caption><thead><tr>");
        for name in &self.head {
            res.push_str("<th scope=\"col\">");
            push_escaped(&mut res, name);
            res.push_str("</th>");
        }
        res.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            res.push_str("<tr>");
            for (idx, cell) in row.iter().enumerate() {
                let (open, close) = if idx == 0 {
                    ("<th scope=\"row\">", "</th>")
                } else {
                    ("<td>", "</td>")
                };
                res.push_str(open);
                push_escaped(&mut res, cell.text());
                res.push_str(close);
            }
            res.push_str("</tr>");
        }
        res.push_str("</tbody></table>");
        res
    }

    /// As comma-separated values, RFC 4180: numbers plain, words quoted where they must be.
    pub fn csv(&self) -> String {
        let mut res = String::new();
        for (idx, name) in self.head.iter().enumerate() {
            if 0 < idx {
                res.push(',');
            }
            push_csv_words(&mut res, name);
        }
        res.push_str("\r\n");
        for row in &self.rows {
            for (idx, cell) in row.iter().enumerate() {
                if 0 < idx {
                    res.push(',');
                }
                // Writing to a string cannot fail.
                let _ = match cell {
                    Cell::Words(text) => {
                        push_csv_words(&mut res, text);
                        Ok(())
                    }
                    Cell::Count(n, _) => write!(res, "{n}"),
                    Cell::Number(n, _) => write!(res, "{}", decimal(*n)),
                    Cell::Empty => Ok(()),
                };
            }
            res.push_str("\r\n");
        }
        res
    }
}

/// An estimate with as many decimals as it needs, at most six.
fn decimal(n: f64) -> String {
    if !n.is_finite() {
        return String::new();
    }
    let sign = if n < 0.0 { "-" } else { "" };
    // Above 2^53 millionths, nine thousand million, the cast is inexact; beyond 2^64 it saturates.
    let millionths = (n.abs() * 1e6).round() as u64;
    let fraction = format!("{:06}", millionths % 1_000_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", millionths / 1_000_000)
}

fn push_csv_words(csv: &mut String, text: &str) {
    // A spreadsheet runs a cell that begins so; a stranger's model name must not.
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !is_formula && !text.contains([',', '"', '\n', '\r']) {
        csv.push_str(text);
        return;
    }
    csv.push('"');
    if is_formula {
        csv.push('\'');
    }
    csv.push_str(&text.replace('"', "\"\""));
    csv.push('"');
}
