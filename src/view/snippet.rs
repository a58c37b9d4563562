//! What a teacher pastes into a course page: a frame, or the element of `embed.js`.

use super::markup::escaped;

/// What the course page shows.
#[derive(Clone, Debug)]
pub struct Embed<'a> {
    /// The page's address, without a fragment.
    pub page: &'a str,
    /// The scenario as a fragment.
    pub scenario: &'a str,
    /// The page's options, in order: `embed`, `controls`, `lock`, `theme`, `lang` and those of panels; empty ones are left out.
    pub options: &'a [(&'a str, String)],
    /// The frame's name for screen readers.
    pub title: &'a str,
    /// The room that is kept, in CSS pixels.
    pub height: u32,
}

impl Embed<'_> {
    /// The address of what is shown.
    pub fn address(&self) -> String {
        let mut res = format!("{}#{}", self.page, self.scenario);
        for (key, value) in self.shown() {
            crate::core::link::push_pair(&mut res, key, value);
        }
        res
    }

    /// As a frame, which needs no script.
    pub fn frame(&self) -> String {
        format!(
            "<iframe src=\"{}\"\n  title=\"{}\" width=\"100%\" height=\"{}\" loading=\"lazy\" style=\"border:0\" allow=\"clipboard-write; fullscreen\"></iframe>\n",
            escaped(&self.address()),
            escaped(self.title),
            self.height
        )
    }

    /// As an element, which has its height from what it shows.
    pub fn element(&self) -> String {
        let folder = self.page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let attributes: String = self
            .shown()
            .map(|(key, value)| {
                let name = if key == "embed" { "show" } else { key };
                format!(" {}=\"{}\"", name.replace('_', "-"), escaped(value))
            })
            .collect();
        format!(
            "<script src=\"{}/embed.js\" defer></script>\n<kv-scope{attributes} title=\"{}\"\n  link=\"{}\"></kv-scope>\n",
            escaped(folder),
            escaped(self.title),
            escaped(self.scenario)
        )
    }

    fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        let options = self
            .options
            .iter()
            .map(|(key, value)| (*key, value.as_str()));
        options.filter(|(_, value)| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets() {
        let options = [
            ("embed", "sentence,tokens".to_owned()),
            ("controls", "thinking_tokens".to_owned()),
            ("lock", String::new()),
            ("predict_level", "2".to_owned()),
        ];
        let embed = Embed {
            page: "https://example.org/kvscope/index.html",
            scenario: "v=1&thinking_tokens=8000",
            options: &options,
            title: "\"a\" <b>",
            height: 400,
        };
        assert_eq!(
            embed.frame(),
            "<iframe src=\"https://example.org/kvscope/index.html#v=1&amp;thinking_tokens=8000&amp;embed=sentence,tokens&amp;controls=thinking_tokens&amp;predict_level=2\"\n  \
             title=\"&quot;a&quot; &lt;b&gt;\" width=\"100%\" height=\"400\" loading=\"lazy\" style=\"border:0\" allow=\"clipboard-write; fullscreen\"></iframe>\n"
        );
        assert_eq!(
            embed.element(),
            "<script src=\"https://example.org/kvscope/embed.js\" defer></script>\n\
             <kv-scope show=\"sentence,tokens\" controls=\"thinking_tokens\" predict-level=\"2\" title=\"&quot;a&quot; &lt;b&gt;\"\n  \
             link=\"v=1&amp;thinking_tokens=8000\"></kv-scope>\n"
        );
    }
}
