//! Text that strangers wrote, made safe for HTML, SVG and MathML.

/// Appends `text` with the five characters that markup reads replaced.
pub fn push_escaped(markup: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => markup.push_str("&amp;"),
            '<' => markup.push_str("&lt;"),
            '>' => markup.push_str("&gt;"),
            '"' => markup.push_str("&quot;"),
            '\'' => markup.push_str("&#39;"),
            // Control characters are no XML; a file with one would not open.
            c if c.is_control() && !matches!(c, '\n' | '\t') => markup.push('\u{fffd}'),
            c => markup.push(c),
        }
    }
}

/// `text` with the five characters that markup reads replaced.
///
/// ```
/// # use kvscope::view::markup::escaped;
/// assert_eq!(escaped("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
/// ```
pub fn escaped(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    push_escaped(&mut res, text);
    res
}
