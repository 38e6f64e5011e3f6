//! A small Markdown parser that separates an agent's own words from code and quotes.

use std::collections::HashMap;
use std::ops::Range;

/// A parsed message; parsing takes time linear in its length.
#[derive(Debug)]
pub(super) struct ParsedMarkdown<'m> {
    /// The message with code and quotes blanked out; every byte keeps its position.
    pub(super) plain: String,
    pub(super) fences: Vec<CodeFence<'m>>,
}

/// A fenced code block.
#[derive(Debug)]
pub(super) struct CodeFence<'m> {
    /// The info string after the opening fence, in lower case.
    pub(super) language: String,
    pub(super) content: &'m str,
    /// The end of the block in the message.
    pub(super) end: usize,
    /// False if it was never closed, or if another fence seems to open inside it.
    pub(super) is_certain: bool,
}

impl CodeFence<'_> {
    pub(super) fn is_json(&self) -> bool {
        matches!(self.language.as_str(), "json" | "json5" | "jsonc")
    }

    /// True if it may hold a result.
    pub(super) fn may_hold_a_result(&self) -> bool {
        self.is_json() || self.language.is_empty()
    }
}

/// A code block that is still open.
struct OpenFence {
    indent: usize,
    mark: char,
    length: usize,
    language: String,
    start: usize,
    content: usize,
    is_certain: bool,
}

impl<'m> ParsedMarkdown<'m> {
    pub(super) fn of(message: &'m str) -> Self {
        let mut reader = MarkdownReader { message, ..MarkdownReader::default() };
        let mut start = 0;
        for line in message.split_inclusive('\n') {
            let end = start + line.len();
            match reader.open.take() {
                Some(block) => reader.line_of_code(block, line, start..end),
                None => reader.line_of_text(line, start..end),
            }
            start = end;
        }
        reader.end()
    }
}

/// The state of the parser.
#[derive(Default)]
struct MarkdownReader<'m> {
    message: &'m str,
    open: Option<OpenFence>,
    paragraph: Option<Range<usize>>,
    blanks: Vec<Range<usize>>,
    fences: Vec<CodeFence<'m>>,
}

impl<'m> MarkdownReader<'m> {
    fn line_of_code(&mut self, mut block: OpenFence, line: &str, place: Range<usize>) {
        // A fence that is indented further belongs to the code.
        let same = fence(line).filter(|(indent, mark, length, _)| {
            *mark == block.mark && *length >= block.length && *indent <= block.indent + 3
        });
        match same {
            Some((_, _, _, "")) => return self.close(block, place.start, place.end),
            // The closing fence before it was probably forgotten.
            Some(_) => block.is_certain = false,
            None => {}
        }
        self.open = Some(block);
    }

    fn close(&mut self, block: OpenFence, content_end: usize, end: usize) {
        let OpenFence { language, start, content, is_certain, .. } = block;
        let content = self.message.get(content..content_end).unwrap_or_default();
        self.blanks.push(start..end);
        self.fences.push(CodeFence { language, content, end, is_certain });
    }

    fn line_of_text(&mut self, line: &str, place: Range<usize>) {
        let is_quote = indented_little(line).is_some_and(|line| line.starts_with('>'));
        if is_quote {
            self.end_paragraph();
            self.blanks.push(place);
        } else if let Some((indent, mark, length, info)) = fence(line) {
            self.end_paragraph();
            let language = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            let (start, content, is_certain) = (place.start, place.end, true);
            self.open =
                Some(OpenFence { indent, mark, length, language, start, content, is_certain });
        } else if line.trim().is_empty() {
            self.end_paragraph();
        } else {
            self.paragraph.get_or_insert(place.clone()).end = place.end;
        }
    }

    /// Ends a paragraph: inline code does not extend beyond it.
    fn end_paragraph(&mut self) {
        if let Some(paragraph) = self.paragraph.take() {
            self.blanks.extend(code_spans(self.message, paragraph));
        }
    }

    fn end(mut self) -> ParsedMarkdown<'m> {
        self.end_paragraph();
        if let Some(block) = self.open.take() {
            let end = self.message.len();
            self.close(OpenFence { is_certain: false, ..block }, end, end);
        }
        ParsedMarkdown { plain: blanked(self.message, &mut self.blanks), fences: self.fences }
    }
}

/// Returns the line without its indent, if that is too small to make it code.
fn indented_little(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(' ');
    (line.len() - bare.len() <= 3).then_some(bare)
}

/// Parses a line that opens or closes a block: its indent, its character, the count, and the rest. In a list a fence
/// may be indented as far as the text.
fn fence(line: &str) -> Option<(usize, char, usize, &str)> {
    let bare = line.trim_start_matches([' ', '\t']);
    let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = bare.trim_start_matches(mark);
    let (length, info) = (bare.len() - rest.len(), rest.trim());
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then_some((line.len() - bare.len(), mark, length, info))
}

/// Returns the inline code spans of a paragraph: from a run of backticks to the next run of the same length.
fn code_spans(message: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    let runs = backticks(message, paragraph);
    let mut next_alike = vec![None; runs.len()];
    let mut seen = HashMap::new();
    for (at, run) in runs.iter().enumerate().rev() {
        let next = seen.insert(run.len(), at);
        if let Some(place) = next_alike.get_mut(at) {
            *place = next;
        }
    }
    let mut spans = vec![];
    let mut at = 0;
    while let Some(run) = runs.get(at) {
        let close = next_alike.get(at).copied().flatten();
        match close.and_then(|close| Some((close, runs.get(close)?))) {
            Some((close, end)) => {
                spans.push(run.start..end.end);
                at = close + 1;
            }
            None => at += 1,
        }
    }
    spans
}

fn backticks(message: &str, paragraph: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    let text = message.get(paragraph.clone()).unwrap_or_default();
    for (at, _) in text.match_indices('`') {
        let at = paragraph.start + at;
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

fn blanked(message: &str, blanks: &mut [Range<usize>]) -> String {
    blanks.sort_by_key(|range| range.start);
    let mut plain = String::with_capacity(message.len());
    for range in blanks {
        let (start, end) = (range.start.max(plain.len()), range.end);
        plain.push_str(message.get(plain.len()..start).unwrap_or_default());
        // Line ends stay, so that lines remain lines.
        let bytes = message.as_bytes().get(start..end).unwrap_or_default();
        plain.extend(bytes.iter().map(|byte| if *byte == b'\n' { '\n' } else { ' ' }));
    }
    plain.push_str(message.get(plain.len()..).unwrap_or_default());
    plain
}
