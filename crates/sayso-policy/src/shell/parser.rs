//! The shell parser: from bytes to simple commands, in one pass.

use super::programs::ProgramClass;
use super::wrappers::{CommandContext, push};
use super::{
    Awaited, CommandLine, DEPTH_MAX, FileUse, ShellWord, StandardInput, WordShape, arithmetic,
    environment, mentions,
};

/// Special files that hold no data.
const HARMLESS_FILES: &[&str] =
    &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Words that open or close a construct; a command may follow them.
pub(super) const PASSED_OVER: &[&str] =
    &["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"];

/// Constructs whose inner grammar is not that of commands.
pub(super) const NOT_READ: &[&str] =
    &["case", "esac", "select", "function", "coproc", "[[", "repeat", "foreach", "always", "end"];

pub(super) struct ShellParser<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    line: &'a mut CommandLine,
    current: CommandDraft,
    heredocs: Vec<HereDocument>,
    /// True if here-documents from before a `$(` wait for the end of a line.
    is_awaited: bool,
}

/// The command being parsed.
#[derive(Default)]
struct CommandDraft {
    words: Vec<ShellWord>,
    /// True if the first word was written without any quote, so that it may be a keyword.
    first_is_bare: bool,
    /// `NAME=value` before the program.
    assignments: Vec<ShellWord>,
    /// True if an expansion sets a variable.
    assigns: bool,
    feed: StandardInput,
}

struct HereDocument {
    number: usize,
    delimiter: Vec<u8>,
    strips_tabs: bool,
    is_literal: bool,
}

/// A word being parsed.
#[derive(Default)]
struct WordDraft {
    text: Vec<u8>,
    /// The length of the text before the first unknown part.
    known: Option<usize>,
    /// The positions in the text of parts that are known only when it runs.
    gaps: Vec<usize>,
    /// True if all of them are numbers that the shell keeps (`$?`).
    is_number: bool,
    is_substituted: bool,
    shape: Option<WordShape>,
    is_quoted: bool,
    is_assignment: bool,
    brace: bool,
    bracket: bool,
}

impl WordDraft {
    fn push(&mut self, byte: u8) {
        self.text.push(byte);
    }

    fn unknown(&mut self, shape: WordShape) {
        self.known.get_or_insert(self.text.len());
        // Any number of words outweighs one, and one outweighs a pattern of file names.
        self.shape = Some(match (self.shape, shape) {
            (Some(WordShape::Many), _) | (_, WordShape::Many) => WordShape::Many,
            (Some(WordShape::Glob), WordShape::Glob) | (None, WordShape::Glob) => WordShape::Glob,
            (Some(WordShape::Glob), _) | (Some(_), WordShape::Glob) => WordShape::Many,
            (_, shape) => shape,
        });
    }

    /// A part that is only known when it runs.
    fn gap(&mut self, shape: WordShape) {
        self.gaps.push(self.text.len());
        self.unknown(shape);
    }

    /// The whole word, with a `*` for each part that is not known.
    fn outline(&self) -> String {
        let mut outline = vec![];
        let mut before = 0;
        for gap in &self.gaps {
            outline.extend_from_slice(&self.text[before..*gap]);
            outline.push(b'*');
            before = *gap;
        }
        outline.extend_from_slice(&self.text[before..]);
        String::from_utf8_lossy(&outline).into_owned()
    }

    fn finish(mut self) -> (ShellWord, bool, bool) {
        let shape = self.shape.unwrap_or(WordShape::Fixed);
        let outline = match shape {
            WordShape::One | WordShape::Many => Some(self.outline()),
            WordShape::Fixed | WordShape::Glob => None,
        };
        let is_number = self.is_number && self.text.is_empty() && self.gaps.len() == 1;
        if let (WordShape::One | WordShape::Many, Some(known)) = (shape, self.known) {
            self.text.truncate(known);
        }
        let text = String::from_utf8_lossy(&self.text).into_owned();
        let is_substituted = self.is_substituted;
        let word = ShellWord { text, shape, outline, is_number, is_substituted };
        (word, self.is_quoted, self.is_assignment)
    }
}

impl<'a> ShellParser<'a> {
    pub(super) fn new(bytes: &'a [u8], depth: usize, line: &'a mut CommandLine) -> Self {
        let (current, heredocs) = (CommandDraft::default(), vec![]);
        Self { bytes, at: 0, depth, line, current, heredocs, is_awaited: false }
    }

    pub(super) fn read_all(mut self) {
        if self.bytes.contains(&0) {
            self.line.is_unclear("it holds a character that no shell takes");
        }
        self.list(false);
        if !self.heredocs.is_empty() {
            self.line.is_unclear("a here-document is not closed");
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next_is(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    /// Parses commands up to the end, or up to the closing bracket.
    fn list(&mut self, closes: bool) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.next_is("\\\n") => self.at += 2,
                b'\n' => {
                    self.at += 1;
                    self.finish();
                    if self.is_awaited {
                        // Shells differ in which lines belong to the document.
                        self.line.is_unclear("a here-document is cut in two");
                    }
                    self.here_documents();
                }
                b';' => {
                    if self.next_is(";;") || self.next_is(";&") {
                        self.line.is_unclear("it has a `;;`");
                    }
                    self.at += 1;
                    self.finish();
                }
                b'&' if self.next_is("&>") => self.redirection(),
                b'&' => {
                    self.at += if self.next_is("&&") { 2 } else { 1 };
                    self.finish();
                }
                b'|' => {
                    let is_pipe = !self.next_is("||");
                    self.at += if !is_pipe || self.next_is("|&") { 2 } else { 1 };
                    self.finish();
                    self.current.feed.is_piped = is_pipe;
                    self.line.has_feed |= is_pipe;
                }
                b')' => {
                    self.at += 1;
                    self.finish();
                    if closes {
                        return;
                    }
                    self.line.is_unclear("a bracket is closed that was not opened");
                }
                b'(' => self.group(),
                b'#' => self.comment(),
                b'<' | b'>' if self.next_is("<(") || self.next_is(">(") => {
                    self.at += 2;
                    self.substitution();
                    self.current.words.push(ShellWord::unknown(WordShape::One));
                }
                b'<' | b'>' => self.redirection(),
                b'0'..=b'9' if self.is_descriptor() => {
                    while self.peek().is_some_and(|b| b.is_ascii_digit()) {
                        self.at += 1;
                    }
                    self.redirection();
                }
                _ => self.argument(),
            }
        }
        self.finish();
        if closes {
            self.line.is_unclear("a bracket is not closed");
        }
    }

    /// True if digits right before `<` or `>` name a descriptor.
    fn is_descriptor(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().take(4).take_while(|b| b.is_ascii_digit()).count();
        matches!(rest.get(digits), Some(b'<' | b'>'))
    }

    fn group(&mut self) {
        self.line.has_group = true;
        let follows = !self.current.words.is_empty() || !self.current.assignments.is_empty();
        if self.next_is("((") {
            self.line.is_unclear("it has an arithmetic command");
        } else if follows || self.current.assigns {
            self.line.is_unclear("a bracket follows a word: a function, a list or a pattern");
        }
        self.at += 1;
        self.bracketed();
    }

    /// Skips a comment. Some shells do not know comments in some modes, so a comment that would be a command there
    /// makes the line unclear.
    fn comment(&mut self) {
        while let Some(byte) = self.peek().filter(|byte| *byte != b'\n') {
            if matches!(byte, b';' | b'&' | b'|' | b'`' | b'$' | b'<' | b'>' | b'(' | b')') {
                self.line.is_unclear("a comment holds what may be a command");
            }
            self.at += 1;
        }
    }

    fn argument(&mut self) {
        let start = self.at;
        let (word, is_quoted, is_assignment) = self.word();
        if self.at == start {
            // Unreachable by the grammar; moving on guarantees that the parser ends.
            self.at += 1;
        }
        if is_assignment && self.current.words.is_empty() {
            self.current.assignments.push(word);
            return;
        }
        if self.current.words.is_empty() {
            self.current.first_is_bare = !is_quoted;
        }
        self.current.words.push(word);
    }

    fn word(&mut self) -> (ShellWord, bool, bool) {
        let mut draft = WordDraft::default();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\\' => self.backslash(&mut draft),
                b'\'' => self.single_quoted(&mut draft),
                b'"' => {
                    self.at += 1;
                    draft.is_quoted = true;
                    self.double_quoted(&mut draft);
                }
                b'$' => self.dollar(&mut draft, false),
                b'`' => self.backtick(&mut draft, false),
                _ => {
                    self.plain(byte, &mut draft);
                    self.at += 1;
                }
            }
        }
        draft.finish()
    }

    /// Adds an unquoted character, which may have a special meaning.
    fn plain(&mut self, byte: u8, draft: &mut WordDraft) {
        match byte {
            b'*' | b'?' => draft.unknown(WordShape::Glob),
            b'[' => draft.bracket = true,
            b']' if draft.bracket => draft.unknown(WordShape::Glob),
            b'{' => draft.brace = true,
            b',' if draft.brace => draft.unknown(WordShape::Many),
            b'.' if draft.brace && draft.text.last() == Some(&b'.') => {
                draft.unknown(WordShape::Many)
            }
            b'=' if !draft.is_quoted && draft.shape.is_none() && is_variable(&draft.text) => {
                draft.is_assignment = true;
            }
            _ => {}
        }
        draft.push(byte);
    }

    fn backslash(&mut self, draft: &mut WordDraft) {
        match self.bytes.get(self.at + 1) {
            None => {
                self.line.is_unclear("it ends in a backslash");
                self.at += 1;
            }
            Some(b'\n') => self.at += 2,
            Some(byte) => {
                draft.is_quoted = true;
                draft.push(*byte);
                self.at += 2;
            }
        }
    }

    fn single_quoted(&mut self, draft: &mut WordDraft) {
        draft.is_quoted = true;
        self.at += 1;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\'');
        if length.is_none() {
            self.line.is_unclear("a quote is not closed");
        }
        let taken = length.unwrap_or(rest.len());
        draft.text.extend_from_slice(&rest[..taken]);
        self.at += taken + usize::from(length.is_some());
    }

    /// Parses up to the closing `"`; the opening one is consumed.
    fn double_quoted(&mut self, draft: &mut WordDraft) {
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => self.quoted_backslash(draft),
                b'$' => self.dollar(draft, true),
                b'`' => self.backtick(draft, true),
                _ => {
                    draft.push(byte);
                    self.at += 1;
                }
            }
        }
        self.line.is_unclear("a quote is not closed");
    }

    /// Parses a backslash in double quotes, where it escapes a few characters only.
    fn quoted_backslash(&mut self, draft: &mut WordDraft) {
        match self.bytes.get(self.at + 1) {
            Some(b'\n') => {}
            Some(byte @ (b'$' | b'`' | b'"' | b'\\')) => draft.push(*byte),
            Some(byte) => draft.text.extend_from_slice(&[b'\\', *byte]),
            None => draft.push(b'\\'),
        }
        self.at = (self.at + 2).min(self.bytes.len());
    }

    fn dollar(&mut self, draft: &mut WordDraft, quoted: bool) {
        self.at += 1;
        let alone = if quoted { WordShape::One } else { WordShape::Many };
        match self.peek() {
            Some(b'(') => {
                if let Some(computed) = arithmetic::read(&self.bytes[self.at..]) {
                    self.at += computed.length;
                    self.line.computes_with_names |= computed.has_names;
                    draft.gap(WordShape::One);
                    return;
                }
                if self.next_is("((") {
                    self.line.is_unclear("it computes what is not plain");
                }
                self.at += 1;
                self.substitution();
                draft.is_substituted = true;
                draft.gap(alone);
            }
            Some(b'[') => {
                self.line.is_unclear("it computes what is not plain");
                draft.gap(alone);
            }
            Some(b'{') => {
                self.at += 1;
                let shape = self.parameter(quoted);
                draft.gap(shape);
            }
            Some(b'\'') if !quoted => self.escaped_quote(draft),
            Some(b'"') if !quoted => {
                // The text of a translation is not known.
                self.at += 1;
                draft.gap(WordShape::One);
                self.double_quoted(draft);
            }
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
                while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
                    self.at += 1;
                }
                // zsh takes the following bracket as an index into a list, and evaluates it.
                if self.peek() == Some(b'[') {
                    self.line.is_unclear("it computes what is not plain");
                }
                draft.gap(alone);
            }
            Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                self.at += 1;
                draft.is_number = b"?#$!".contains(&byte);
                draft.gap(if byte == b'@' { WordShape::Many } else { alone });
            }
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>' | b'"') => {
                draft.push(b'$');
            }
            // Other shells expand more than this parser knows.
            Some(_) => draft.gap(alone),
        }
    }

    /// Parses `$'…'`, whose escapes are not decoded: one unknown word.
    fn escaped_quote(&mut self, draft: &mut WordDraft) {
        draft.is_quoted = true;
        draft.gap(WordShape::One);
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\'' => return,
                b'\\' => self.at = (self.at + 1).min(self.bytes.len()),
                _ => {}
            }
        }
        self.line.is_unclear("a quote is not closed");
    }

    /// Parses the inside of `${…}`, which may hold commands.
    fn parameter(&mut self, quoted: bool) -> WordShape {
        if !self.may_go_deeper() {
            return WordShape::Many;
        }
        let start = self.at;
        let mut scratch = WordDraft::default();
        loop {
            match self.peek() {
                None => {
                    self.line.is_unclear("a `${` is not closed");
                    break;
                }
                Some(b'}') => break,
                Some(b'\\') => self.at = (self.at + 2).min(self.bytes.len()),
                Some(b'\'') if !quoted => self.single_quoted(&mut scratch),
                Some(b'"') => {
                    self.at += 1;
                    self.double_quoted(&mut scratch);
                }
                Some(b'$') => self.dollar(&mut scratch, quoted),
                Some(b'`') => self.backtick(&mut scratch, quoted),
                Some(_) => self.at += 1,
            }
        }
        self.depth -= 1;
        let body = &self.bytes[start..self.at.min(self.bytes.len())];
        self.at = (self.at + 1).min(self.bytes.len());
        self.judge_parameter(body);
        let is_one = quoted && !body.contains(&b'@');
        if is_one { WordShape::One } else { WordShape::Many }
    }

    /// Checks a parameter expansion. Only forms that evaluate nothing but the parsed parts are understood.
    fn judge_parameter(&mut self, body: &[u8]) {
        let body = body.strip_prefix(b"#").filter(|rest| !rest.is_empty()).unwrap_or(body);
        let is_special = body.first().is_some_and(|b| b"@*#?-$".contains(b));
        let name = if is_special {
            1
        } else {
            body.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
        };
        let mut rest = &body[name..];
        if name == 0 && !rest.is_empty() {
            self.line.is_unclear("a variable is expanded in a way that may run a command");
            return;
        }
        if let Some(place) = rest.strip_prefix(b"[") {
            let end = place.iter().position(|b| *b == b']').unwrap_or(place.len());
            let is_plain = matches!(&place[..end], b"@" | b"*")
                || (end > 0 && place[..end].iter().all(u8::is_ascii_digit));
            if !is_plain {
                self.line.is_unclear("the place in a list is computed");
            }
            rest = place.get(end + 1..).unwrap_or_default();
        }
        if rest.starts_with(b"=") || rest.starts_with(b":=") {
            self.current.assigns = true;
            let name = String::from_utf8_lossy(&body[..name]).into_owned();
            environment::look_at_name(self.line, &name);
        }
        let is_digits = |text: &[u8]| text.iter().all(|b| b.is_ascii_digit() || b" :-".contains(b));
        let is_understood = match rest {
            [] | [b':', b'-' | b'=' | b'+' | b'?', ..] => true,
            [b'-' | b'=' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',', ..] => true,
            [b':', digits @ ..] => is_digits(digits),
            [b'@', letter] => b"QULu".contains(letter),
            [..] => false,
        };
        if !is_understood {
            self.line.is_unclear("a variable is expanded in a way that may run a command");
        }
    }

    /// Parses `…`: unescaped, then parsed as a line of its own.
    fn backtick(&mut self, draft: &mut WordDraft, quoted: bool) {
        self.at += 1;
        let mut inside = vec![];
        let mut is_closed = false;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match (byte, self.peek()) {
                (b'`', _) => {
                    is_closed = true;
                    break;
                }
                (b'\\', Some(next @ (b'`' | b'\\' | b'$'))) => {
                    inside.push(next);
                    self.at += 1;
                }
                _ => inside.push(byte),
            }
        }
        if !is_closed {
            self.line.is_unclear("a backtick is not closed");
        }
        draft.is_substituted = true;
        draft.gap(if quoted { WordShape::One } else { WordShape::Many });
        if self.may_go_deeper() {
            ShellParser::new(&inside, self.depth, self.line).read_all();
            self.depth -= 1;
        }
    }

    /// Commands in `$(…)` or `<(…)`; the opening bracket is behind us. Here-documents of the outer line are no
    /// part of it.
    fn substitution(&mut self) {
        let outer = std::mem::take(&mut self.heredocs);
        let was_awaited = self.is_awaited;
        self.is_awaited |= !outer.is_empty();
        self.bracketed();
        self.is_awaited = was_awaited;
        let inner = std::mem::replace(&mut self.heredocs, outer);
        if !inner.is_empty() {
            self.line.is_unclear("a here-document is not closed");
            self.heredocs.extend(inner);
        }
    }

    /// Parses commands in brackets; the opening one is consumed.
    fn bracketed(&mut self) {
        if self.may_go_deeper() {
            let outer = std::mem::take(&mut self.current);
            self.list(true);
            self.current = outer;
            self.depth -= 1;
        }
    }

    /// Enters a level of nesting. Past the limit parsing stops, and the rest of the line counts as unknown.
    fn may_go_deeper(&mut self) -> bool {
        if self.depth >= DEPTH_MAX {
            self.line.is_unclear("it is nested too deeply");
            self.at = self.bytes.len();
            return false;
        }
        self.depth += 1;
        true
    }

    fn redirection(&mut self) {
        const OPERATORS: &[&str] =
            &["<<<", "<<-", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">"];
        let operator = OPERATORS.iter().find(|op| self.next_is(op)).copied().unwrap_or("<");
        self.at += operator.len();
        let Some((target, is_quoted)) = self.target() else {
            self.line.is_unclear("a redirection leads nowhere");
            return;
        };
        self.line.has_feed |= operator.starts_with('<');
        if let "<<" | "<<-" = operator {
            if target.fixed().is_none() {
                self.line.is_unclear("a here-document ends in an odd word");
            }
            let number = self.line.heredocs;
            self.line.heredocs += 1;
            self.current.feed.heredocs.push(number);
            self.heredocs.push(HereDocument {
                number,
                delimiter: target.text.into_bytes(),
                strips_tabs: operator == "<<-",
                is_literal: is_quoted,
            });
            return;
        }
        match (operator, target.fixed()) {
            ("<<<", Some(text)) => {
                self.line.values.extend(text.split_whitespace().map(ShellWord::of));
                self.current.feed.texts.push(text.to_owned());
            }
            _ => self.current.feed.is_piped |= operator.starts_with('<'),
        }
        let is_copy = operator.ends_with('&')
            && target.fixed().is_some_and(|t| {
                t.bytes().all(|b| b.is_ascii_digit() || b == b'-') && !t.is_empty()
            });
        let leads_nowhere = target.fixed().is_some_and(|t| {
            HARMLESS_FILES.contains(&t) || t.strip_prefix("/dev/fd/").is_some_and(is_number)
        });
        if operator != "<<<" && !is_copy && !leads_nowhere {
            let writes = operator.contains('>');
            if writes {
                self.line.writes(&target);
            }
            self.line.files.push(FileUse { path: target, writes });
        }
    }

    /// Parses the word after a redirection.
    fn target(&mut self) -> Option<(ShellWord, bool)> {
        while matches!(self.peek(), Some(b' ' | b'\t')) || self.next_is("\\\n") {
            self.at += if self.peek() == Some(b'\\') { 2 } else { 1 };
        }
        if self.next_is("<(") || self.next_is(">(") {
            self.at += 2;
            self.substitution();
            // The data goes to a command that is listed, not to a file.
            return Some((ShellWord::of("/dev/null"), true));
        }
        let start = self.at;
        let (word, is_quoted, _) = self.word();
        (self.at > start).then_some((word, is_quoted))
    }

    /// Parses the bodies of the here-documents whose line has just ended.
    fn here_documents(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let start = self.at;
            let mut is_closed = false;
            let mut end = self.bytes.len();
            while self.at < self.bytes.len() {
                let rest = &self.bytes[self.at..];
                let length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                let tabs = if heredoc.strips_tabs {
                    rest[..length].iter().take_while(|b| **b == b'\t').count()
                } else {
                    0
                };
                let line_start = self.at;
                self.at = (self.at + length + 1).min(self.bytes.len());
                if rest[tabs..length] == heredoc.delimiter {
                    (is_closed, end) = (true, line_start);
                    break;
                }
            }
            if !is_closed {
                self.line.is_unclear("a here-document is not closed");
            }
            let body = &self.bytes[start..end];
            let is_whole = heredoc.is_literal || !body.iter().any(|b| b"$`".contains(b));
            self.hand_over(heredoc.number, &String::from_utf8_lossy(body), is_whole);
            if !heredoc.is_literal && self.may_go_deeper() {
                if body.windows(2).any(|pair| pair == b"\\\n") {
                    // The end of such a document depends on the shell.
                    self.line.is_unclear("a here-document has joined lines");
                }
                ShellParser::new(body, self.depth, self.line).expansions();
                self.depth -= 1;
            }
        }
    }

    /// Gives a here-document to the commands that read it; whether all of it is in sight.
    fn hand_over(&mut self, number: usize, body: &str, is_whole: bool) {
        let (mine, left): (Vec<Awaited>, Vec<Awaited>) =
            std::mem::take(&mut self.line.awaited).into_iter().partition(|a| a.number == number);
        self.line.awaited = left;
        for Awaited { command: at, class, .. } in mine {
            let mut found = vec![];
            mentions::of_text(body, &mut found);
            mentions::add(self.line, at, found);
            let command = &mut self.line.commands[at];
            if class == ProgramClass::Unknown && mentions::holds_shell_signs(body) {
                command.doubt("it is given what a shell would read");
            } else if class == ProgramClass::Interpreter && !is_whole {
                command.doubt("it is given code that is only known when it runs");
            }
        }
    }

    /// Parses the commands in a text that is expanded like a quoted one.
    fn expansions(mut self) {
        let mut scratch = WordDraft::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
                b'$' => self.dollar(&mut scratch, true),
                b'`' => self.backtick(&mut scratch, true),
                _ => self.at += 1,
            }
        }
        if self.current.assigns {
            self.line.is_unclear("a here-document sets a variable");
        }
    }

    /// Adds the completed command.
    fn finish(&mut self) {
        let CommandDraft { mut words, mut first_is_bare, mut assignments, mut assigns, feed } =
            std::mem::take(&mut self.current);
        while first_is_bare && !words.is_empty() {
            let Some(first) = words[0].fixed() else { break };
            if PASSED_OVER.contains(&first) {
                self.line.has_group = true;
                words.remove(0);
                // After a keyword an assignment is possible again.
                while words.first().is_some_and(|w| is_assignment(&w.text)) {
                    assignments.push(words.remove(0));
                    first_is_bare = false;
                }
                continue;
            }
            if NOT_READ.contains(&first) {
                self.line.is_unclear(format!("it has a `{first}`"));
            }
            if first == "for" {
                assigns |= self.looks_at_loop(&words);
                // `for x do command`.
                if words.get(2).and_then(ShellWord::fixed) == Some("do") {
                    words.drain(..2);
                    continue;
                }
                words.clear();
            }
            break;
        }
        let is_exported = !words.is_empty();
        for assignment in &assignments {
            environment::look(self.line, assignment, is_exported);
        }
        self.line.values.extend(assignments.iter().cloned());
        assigns |= !assignments.is_empty();
        if !words.is_empty() || assigns {
            push(self.line, words, CommandContext { assigns, feed }, self.depth);
        }
    }

    /// Checks `for x in a b`: no command runs here, and the words were parsed already. Returns true if the variable
    /// matters beyond the script itself.
    fn looks_at_loop(&mut self, words: &[ShellWord]) -> bool {
        self.line.has_group = true;
        self.line.values.extend(words.iter().skip(3).cloned());
        let name = words.get(1).map_or("", |word| word.text.as_str());
        let was_odd = self.line.sets_odd_values;
        environment::look_at_name(self.line, name);
        let is_plain =
            |word: &ShellWord| word.fixed().is_some_and(|t| !t.contains(['[', '(', '$', '`']));
        self.line.sets_odd_values = was_odd || !words.iter().skip(2).all(is_plain);
        !environment::is_small(name)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// True for `name`, `name+` or `name[…]`, to be followed by `=`.
fn is_variable(text: &[u8]) -> bool {
    let text = text.strip_suffix(b"+").unwrap_or(text);
    let name = match text.iter().position(|b| *b == b'[') {
        Some(at) if text.ends_with(b"]") => &text[..at],
        _ => text,
    };
    let starts_well = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    starts_well && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_variable(name.as_bytes()))
}
