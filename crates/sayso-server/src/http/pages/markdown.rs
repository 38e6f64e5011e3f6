//! Safe rendering of agents' texts for a browser (against XSS). Nothing of a text is ever HTML: it is read as
//! Markdown, and only the elements in the list below are shown. Pictures and links are text.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use sayso_core::text::sanitize;

/// A rendered text of many lines.
pub(super) struct RenderedText {
    /// HTML that was generated here and comes from no other source.
    pub(super) html: String,
    /// The number of characters that were invisible or acted on the screen and are spelt out.
    pub(super) spelt_out: usize,
}

/// Renders an agent's text as Markdown.
pub(super) fn render(raw: &str) -> RenderedText {
    let harmless = sanitize(raw);
    let mut html = String::with_capacity(harmless.text.len() * 2);
    // The targets of links and pictures, shown behind their text.
    let mut leads_to = vec![];
    let known = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    for event in Parser::new_ext(&parted(&harmless.text), known) {
        match event {
            Event::Start(tag) => begin(&mut html, tag, &mut leads_to),
            Event::Text(text) => escape(&mut html, &text),
            Event::Html(text) | Event::InlineHtml(text) => with_lines(&mut html, &text),
            Event::End(TagEnd::HtmlBlock) => {
                html.truncate(html.strip_suffix(BREAK).map_or(html.len(), str::len));
                html.push_str("</p>");
            }
            Event::End(end) => finish(&mut html, end, &mut leads_to),
            Event::Code(text) => {
                html.push_str("<code>");
                escape(&mut html, &text);
                html.push_str("</code>");
            }
            Event::SoftBreak | Event::HardBreak => html.push_str(BREAK),
            Event::Rule => html.push_str("<hr>"),
            Event::InlineMath(text) | Event::DisplayMath(text) => escape(&mut html, &text),
            Event::FootnoteReference(text) => escape(&mut html, &text),
            Event::TaskListMarker(is_done) => html.push_str(if is_done { "[x] " } else { "[ ] " }),
        }
    }
    RenderedText { html, spelt_out: harmless.spelt_out }
}

/// The end of a line.
const BREAK: &str = "<br>";

/// Writes text that looks like HTML. It keeps its lines, as it would in a paragraph.
fn with_lines(html: &mut String, text: &str) {
    for line in text.split_inclusive('\n') {
        escape(html, line.trim_end_matches('\n'));
        if line.ends_with('\n') {
            html.push_str(BREAK);
        }
    }
}

/// Restores paragraphs: blank lines that were folded into a line with their number separate them, as they did before.
fn parted(text: &str) -> String {
    let is_folded = |line: &str| {
        let count = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(" blank lines]"));
        count.is_some_and(|count| count.parse::<usize>().is_ok())
    };
    let line = |line: &str| if is_folded(line) { format!("\n{line}\n") } else { line.to_owned() };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn begin(html: &mut String, tag: Tag<'_>, leads_to: &mut Vec<String>) {
    match tag {
        Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
            leads_to.push(dest_url.to_string());
            html.push_str("<span class=\"link\">");
        }
        Tag::List(Some(first)) => html.push_str(&format!("<ol start=\"{first}\">")),
        other => {
            html.push_str(&element(&other.to_end()).map_or(String::new(), |e| format!("<{e}>")))
        }
    }
}

fn finish(html: &mut String, end: TagEnd, leads_to: &mut Vec<String>) {
    match end {
        TagEnd::Link | TagEnd::Image => {
            let to = leads_to.pop().unwrap_or_default();
            html.push_str("</span>");
            if !to.is_empty() {
                html.push_str(" <span class=\"to\">(");
                escape(html, &to);
                html.push_str(")</span>");
            }
        }
        other => html.push_str(&element(&other).map_or(String::new(), |e| format!("</{e}>"))),
    }
}

/// Returns the element for a part of a text. A heading of an agent's is no heading of the page's.
fn element(end: &TagEnd) -> Option<&'static str> {
    Some(match end {
        TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Heading(_) => "p",
        TagEnd::BlockQuote(_) => "blockquote",
        TagEnd::CodeBlock => "pre",
        TagEnd::List(true) => "ol",
        TagEnd::List(false) => "ul",
        TagEnd::Item => "li",
        TagEnd::Table => "table",
        TagEnd::TableHead | TagEnd::TableRow => "tr",
        TagEnd::TableCell => "td",
        TagEnd::Emphasis => "em",
        TagEnd::Strong => "strong",
        TagEnd::Strikethrough => "s",
        _ => return None,
    })
}

/// Escapes text for HTML.
pub(super) fn escape(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_an_agent_writes_is_html() {
        for (raw, shown) in [
            ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
            ("a <b>b</b>", "<p>a &lt;b&gt;b&lt;/b&gt;</p>"),
            (
                "![x](http://e/p.png)",
                "<p><span class=\"link\">x</span> <span class=\"to\">(http://e/p.png)</span></p>",
            ),
            (
                "[go](javascript:alert(1))",
                "<p><span class=\"link\">go</span> <span class=\"to\">(javascript:alert(1))</span></p>",
            ),
            ("# Approved", "<p>Approved</p>"),
            ("`<i>`", "<p><code>&lt;i&gt;</code></p>"),
            ("**bold** and *so*", "<p><strong>bold</strong> and <em>so</em></p>"),
            ("```\n</pre><script>\n```", "<pre>&lt;/pre&gt;&lt;script&gt;\n</pre>"),
            (
                "<details>\nline A\nline B\n\nafter",
                "<p>&lt;details&gt;<br>line A<br>line B</p><p>after</p>",
            ),
            ("a <b\nc> d", "<p>a &lt;b<br>c&gt; d</p>"),
            (
                "| a | b |\n|---|---|\n| <i> | 2 |",
                "<table><tr><td>a</td><td>b</td></tr><tr><td>&lt;i&gt;</td><td>2</td></tr></table>",
            ),
            ("<svg onload=alert(1)>", "<p>&lt;svg onload=alert(1)&gt;</p>"),
            (
                "[a]: http://e 'x'\n\n[a]",
                "<p><span class=\"link\">a</span> <span class=\"to\">(http://e)</span></p>",
            ),
        ] {
            assert_eq!(render(raw).html, shown, "{raw}");
        }
    }

    #[test]
    fn folded_blank_lines_part_what_stands_around_them() {
        let blank = "\n".repeat(13);
        assert_eq!(
            render(&format!("<b>{blank}```\nls\n```")).html,
            "<p>&lt;b&gt;</p><p>[12 blank lines]</p><pre>ls\n</pre>"
        );
        assert_eq!(
            render(&format!("above{blank}below")).html,
            "<p>above</p><p>[12 blank lines]</p><p>below</p>"
        );
    }

    #[test]
    fn what_is_invisible_is_counted() {
        let shown = render("pay \u{202e}001 now\u{200b}");
        assert_eq!(shown.spelt_out, 2);
        assert!(!shown.html.contains('\u{202e}'));
    }
}
