//! Determines the quoting at each placeholder of a command line, so that a value can be put there whole (shell
//! injection).
//!
//! A value is put in as a variable, which the shell that runs the line does not parse again. So a value at a wrongly
//! judged place may be split into words, and can never run a command. A script that the line passes to another shell
//! is another matter: see `nested.rs`.

use super::nested::{CommandLineWord, is_script_on_input, scripts};

/// The quoting at a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    /// No quotes: the value brings its own.
    Bare,
    /// In double quotes, or where quotes would be part of the text.
    Double,
}

/// The quoting at a placeholder, or the reason for which no value can stand there.
pub(super) type PlaceQuoting = Result<QuoteStyle, &'static str>;

/// The syntactic context of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyntaxContext {
    Line,
    Double,
    /// A command substitution: `$(…)`.
    Command,
    /// A command substitution between backticks.
    Backticks,
    /// A group in brackets.
    Group,
    /// An arithmetic expansion: `$((…))`, where a shell may read a value as more than a number.
    Sum,
}

const SINGLE: &str = "stands in single quotes, where the shell puts nothing in";
const COMMENT: &str = "stands in a comment";
const SUM: &str = "stands in `$((…))`, where a shell may run what is in a value";
const ESCAPED: &str = "stands behind a backslash, which would take the shell's variable apart";
const QUOTED_TEXT: &str =
    "stands in a `<<` text whose end is quoted, where the shell puts nothing in";
const TEXT_COMMAND: &str = "stands in a command within a `<<` text";
const NESTED: &str = "stands in a script that another program reads: it would become a part of it";

/// Returns the advice for a place where no value can stand.
pub(super) fn fix(why: &str) -> &'static str {
    match why {
        SUM => "compute it in the expression",
        COMMENT => "drop it",
        ESCAPED => "drop the backslash",
        QUOTED_TEXT => {
            "write the end without quotes, as in `<<EOF`, or use `printf '%s\\n' {{ … }}`"
        }
        TEXT_COMMAND => "keep what the command prints in a variable before the text",
        NESTED => {
            "hand it over as an argument, as in `sh -c 'echo \"$1\"' _ {{ … }}`; a value that is a script \
             itself stands there alone"
        }
        _ => "put it in double quotes, or in none",
    }
}

/// Returns the quoting at each zero byte of a line, or the reason for which a value cannot stand there.
pub(super) fn quoting_of(line: &str) -> Vec<PlaceQuoting> {
    let mut scan = QuoteScanner {
        chars: line.chars().peekable(),
        found: vec![],
        within: vec![SyntaxContext::Line],
        commands: vec![ScannedCommand::default()],
        texts: vec![],
        before: '\n',
    };
    scan.run();
    scan.found
}

/// The simple command that is being read.
#[derive(Default)]
struct ScannedCommand {
    words: Vec<CommandLineWord>,
    word: Option<CommandLineWord>,
}

/// A here-document: `<<EOF`.
struct PendingHeredoc {
    end: String,
    is_quoted: bool,
    /// True for `<<-`: leading tabs do not count.
    strips_tabs: bool,
    /// True if a program reads it as a script.
    is_script: bool,
}

struct QuoteScanner<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    found: Vec<PlaceQuoting>,
    within: Vec<SyntaxContext>,
    commands: Vec<ScannedCommand>,
    /// The here-documents that begin below the line, each with the command it is for.
    texts: Vec<PendingHeredoc>,
    before: char,
}

impl QuoteScanner<'_> {
    fn run(&mut self) {
        while let Some(c) = self.chars.next() {
            let is_double = self.within.last() == Some(&SyntaxContext::Double);
            self.take(c, is_double);
            self.before = c;
        }
        while !self.commands.is_empty() {
            self.end_command();
            self.commands.pop();
        }
    }

    fn take(&mut self, c: char, is_double: bool) {
        match c {
            '\0' if self.within.contains(&SyntaxContext::Sum) => self.stands(Err(SUM)),
            '\0' if is_double => self.stands(Ok(QuoteStyle::Double)),
            '\0' => self.stands(Ok(QuoteStyle::Bare)),
            '\\' => match self.chars.next() {
                Some('\0') => self.stands(Err(ESCAPED)),
                Some('\n') | None => {}
                Some(c) => self.letter(c),
            },
            '\'' if !is_double => self.skip('\'', SINGLE),
            '#' if !is_double && self.is_between_words() => {
                self.skip('\n', COMMENT);
                self.end_line();
            }
            '"' => {
                if is_double {
                    self.within.pop();
                } else {
                    self.within.push(SyntaxContext::Double);
                }
                self.word();
            }
            '`' => self.backtick(),
            '$' if self.chars.peek() == Some(&'(') => {
                self.letter('$');
                self.chars.next();
                if self.chars.peek() == Some(&'(') {
                    self.within.push(SyntaxContext::Sum)
                } else {
                    self.within.push(SyntaxContext::Command);
                    self.commands.push(ScannedCommand::default());
                }
            }
            c if is_double => self.letter(c),
            '(' => {
                self.within.push(SyntaxContext::Group);
                self.commands.push(ScannedCommand::default());
            }
            ')' => self.close(),
            '<' if self.chars.peek() == Some(&'<') => self.text_begins(),
            '\n' => self.end_line(),
            '&' if "<>".contains(self.before) => self.letter('&'),
            ';' | '&' | '|' => self.end_command(),
            ' ' | '\t' | '<' | '>' => self.end_word(),
            c => self.letter(c),
        }
    }

    /// Begins a command substitution, or ends the one between backticks with all that is open in it.
    fn backtick(&mut self) {
        if !self.within.contains(&SyntaxContext::Backticks) {
            self.word();
            self.within.push(SyntaxContext::Backticks);
            self.commands.push(ScannedCommand::default());
            return;
        }
        while let Some(closed) = self.within.pop() {
            if matches!(
                closed,
                SyntaxContext::Command | SyntaxContext::Group | SyntaxContext::Backticks
            ) {
                self.end_command();
                self.commands.pop();
            }
            if closed == SyntaxContext::Backticks {
                return;
            }
        }
    }

    fn close(&mut self) {
        // The end of a pattern of `case` closes nothing.
        self.end_command();
        if self.within.len() > 1 && self.within.last() != Some(&SyntaxContext::Backticks) {
            let closed = self.within.pop();
            if matches!(closed, Some(SyntaxContext::Command | SyntaxContext::Group))
                && self.commands.len() > 1
            {
                self.commands.pop();
            }
        }
    }

    /// Records a value at this place.
    fn stands(&mut self, stands: PlaceQuoting) {
        let at = self.found.len();
        self.found.push(stands);
        if let Some(word) = self.word() {
            word.text.push('\0');
            word.values.push(at);
        }
    }

    fn letter(&mut self, c: char) {
        if let Some(word) = self.word() {
            word.text.push(c);
        }
    }

    /// Returns the word that is being read; it begins here if none was.
    fn word(&mut self) -> Option<&mut CommandLineWord> {
        self.commands.last_mut().map(|command| command.word.get_or_insert_default())
    }

    fn is_between_words(&self) -> bool {
        self.commands.last().is_some_and(|command| command.word.is_none())
    }

    fn end_word(&mut self) {
        if let Some(command) = self.commands.last_mut() {
            command.words.extend(command.word.take());
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        let Some(command) = self.commands.last_mut() else { return };
        let words = std::mem::take(&mut command.words);
        for at in scripts(&words) {
            self.found[at] = Err(NESTED);
        }
    }

    fn end_line(&mut self) {
        // A here-document belongs to its command, so that is examined first.
        let texts = std::mem::take(&mut self.texts);
        self.end_command();
        for text in texts {
            self.text(&text);
        }
    }

    /// Skips to the end of a quote or comment; no value can stand in it.
    fn skip(&mut self, until: char, why: &'static str) {
        let is_word = until == '\'';
        if is_word {
            self.word();
        }
        while let Some(c) = self.chars.next() {
            match c {
                c if c == until => return,
                '\0' if is_word => self.stands(Err(why)),
                '\0' => self.found.push(Err(why)),
                c if is_word => self.letter(c),
                _ => {}
            }
        }
    }

    /// Reads, after the first `<` of `<<`, the delimiter of the here-document, unless it is `<<<` and a word.
    fn text_begins(&mut self) {
        self.end_word();
        self.chars.next();
        if self.chars.peek() == Some(&'<') {
            self.chars.next();
            return;
        }
        let strips_tabs = self.chars.next_if_eq(&'-').is_some();
        while self.chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let (mut end, mut is_quoted) = (String::new(), false);
        while let Some(c) = self.chars.next_if(|c| !" \t\n;&|<>()".contains(*c)) {
            match c {
                '\'' | '"' | '\\' => is_quoted = true,
                '\0' => self.found.push(Err(QUOTED_TEXT)),
                c => end.push(c),
            }
        }
        let words = self.commands.last().map(|command| command.words.as_slice());
        let is_script = words.is_some_and(is_script_on_input);
        self.texts.push(PendingHeredoc { end, is_quoted, strips_tabs, is_script });
    }

    /// Reads the lines of a here-document. Quotes mean nothing in it.
    fn text(&mut self, text: &PendingHeredoc) {
        let (mut brackets, mut is_in_backticks) = (0usize, false);
        while self.chars.peek().is_some() {
            let mut line = String::new();
            while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                line.push(c);
            }
            self.chars.next();
            let bare = if text.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if bare == text.end {
                return;
            }
            let mut before = '\n';
            let mut chars = line.chars().peekable();
            while let Some(c) = chars.next() {
                match c {
                    '\0' if text.is_script => self.found.push(Err(NESTED)),
                    '\0' if text.is_quoted => self.found.push(Err(QUOTED_TEXT)),
                    '\0' if brackets > 0 || is_in_backticks => self.found.push(Err(TEXT_COMMAND)),
                    '\0' if before == '\\' => self.found.push(Err(ESCAPED)),
                    '\0' => self.found.push(Ok(QuoteStyle::Double)),
                    '(' if before == '$' || brackets > 0 => brackets += 1,
                    ')' => brackets = brackets.saturating_sub(1),
                    '`' => is_in_backticks = !is_in_backticks,
                    '\\' if chars.peek() != Some(&'\0') => drop(chars.next()),
                    _ => {}
                }
                before = c;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QuoteStyle::{Bare, Double};

    #[test]
    fn places_are_judged_as_a_shell_would() {
        for (line, expected) in [
            ("echo \0", vec![Ok(Bare)]),
            ("echo \"a \0 b\" \0", vec![Ok(Double), Ok(Bare)]),
            ("echo \"$(cat \0)\" \0", vec![Ok(Bare), Ok(Bare)]),
            ("echo \"a $(x \"\0\" ) \0\"", vec![Ok(Double), Ok(Double)]),
            ("echo 'a \0' \0", vec![Err(SINGLE), Ok(Bare)]),
            ("echo \"it's \0\"", vec![Ok(Double)]),
            ("echo a # it's \0\necho \0", vec![Err(COMMENT), Ok(Bare)]),
            ("echo a#b \0", vec![Ok(Bare)]),
            ("echo $((1 + \0)) \0", vec![Err(SUM), Ok(Bare)]),
            ("echo \\\"\0", vec![Ok(Bare)]),
            ("echo \"\\\0\"", vec![Err(ESCAPED)]),
            ("(cd \0 && ls)", vec![Ok(Bare)]),
            ("echo `cat \0` \0", vec![Ok(Bare), Ok(Bare)]),
            ("echo \"a `cat \0 | tr a b` \0\"", vec![Ok(Bare), Ok(Double)]),
            ("echo `echo '\0'`", vec![Err(SINGLE)]),
            ("case \0 in a) echo \"\0\";; *) echo \0;; esac", vec![Ok(Bare), Ok(Double), Ok(Bare)]),
        ] {
            assert_eq!(quoting_of(line), expected, "{line:?}");
        }
    }

    /// A value in a here-document stands as it is; where the shell expands nothing, it is refused.
    #[test]
    fn texts_below_the_line_are_judged_too() {
        for (line, expected) in [
            (
                "cat <<EOF > \0\nit's \0 and \"\0\"\nEOF\necho \0",
                vec![Ok(Bare), Ok(Double), Ok(Double), Ok(Bare)],
            ),
            ("cat <<'EOF'\n\0\nEOF\necho \0", vec![Err(QUOTED_TEXT), Ok(Bare)]),
            ("cat <<\"EOF\" | tr a b\n\0\nEOF\n", vec![Err(QUOTED_TEXT)]),
            ("cat <<\\EOF\n\0\nEOF\n", vec![Err(QUOTED_TEXT)]),
            ("cat <<-EOF\n\t\0\n\tEOF\necho '\0'", vec![Ok(Double), Err(SINGLE)]),
            ("cat <<A <<'B'\n\0\nA\n\0\nB\necho \0", vec![Ok(Double), Err(QUOTED_TEXT), Ok(Bare)]),
            ("cat <<EOF\n$(echo \0) \0\nEOF\n", vec![Err(TEXT_COMMAND), Ok(Double)]),
            ("cat <<EOF\n`echo \0` \0\nEOF\n", vec![Err(TEXT_COMMAND), Ok(Double)]),
            ("cat <<EOF\n\\`echo \0\nEOF\n", vec![Ok(Double)]),
            ("cat <<EOF\n\\\0\nEOF\n", vec![Err(ESCAPED)]),
            ("x=$(cat <<EOF\n\0\nEOF\n) && echo \0", vec![Ok(Double), Ok(Bare)]),
            ("cat <<< \0", vec![Ok(Bare)]),
            ("cat <<EOF # '\n\0\nEOF\n", vec![Ok(Double)]),
        ] {
            assert_eq!(quoting_of(line), expected, "{line:?}");
        }
    }

    /// A value that another program would read as a part of its script is refused, in each notation.
    #[test]
    fn no_value_becomes_a_part_of_a_script_within() {
        for line in [
            "sh -c \"echo \0\"",
            "sh -c 'echo \0'",
            "bash -lc \"echo \0\" x",
            "/bin/bash -o pipefail -c \"echo \0\"",
            "cd x && sudo sh -c \"echo \0\"",
            "ls | xargs -n1 sh -c \"echo \0\"",
            "find . -exec sh -c \"echo \0 {}\" \\;",
            "docker exec box zsh -c \"echo \0\"",
            "x=$(sh -c \"echo \0\")",
            "(sh -c \"echo \0\")",
            "eval \"echo \0\"",
            "eval echo \0",
            "if eval \"test \0\"; then ls; fi",
            "A=b eval echo \0",
            "ssh -p 22 box rm \0",
            "ssh box \"rm \0\"",
            "su - ann -c \"echo \0\"",
            "python3 -c \"print('\0')\"",
            "sh <<EOF\necho \0\nEOF\n",
            "ssh box bash -s <<EOF\necho \0\nEOF\n",
            // For each program that passes it on, with options and words of its own.
            "timeout 10 python3 -c \"print('\0')\"",
            "nice -n 5 python3 -c \"print('\0')\"",
            "ls | xargs python3 -c \"print('\0')\"",
            "find . -exec perl -e \"print '\0'\" \\;",
            "timeout 5 ssh box \"rm \0\"",
            "sudo -u root ssh box rm \0",
            "sudo -u root ssh -p 22 box \"rm \0\"",
            "f() { eval \"rm \0\"; }",
            // In each notation of the option.
            "python3.12 -Bc \"print('\0')\"",
            "python -c\"print('\0')\"",
            "perl -i.bak -pe \"s/a/\0/\" file",
            "node --eval=\"f('\0')\"",
            "bash --rcfile x -c \"echo \0\"",
            "$SHELL -c \"echo \0\"",
            // Scripts that are run later, and input that is read as a script.
            "trap \"rm \0\" EXIT",
            "trap -- \"rm \0\" EXIT",
            ". /dev/stdin <<EOF\nrm \0\nEOF\n",
            "source /dev/fd/0 <<EOF\nrm \0\nEOF\n",
            "timeout 5 python3 <<EOF\nprint('\0')\nEOF\n",
            // Within backticks, too.
            "echo `sh -c \"echo \0\"`",
            "echo \"`eval echo \0`\"",
            "echo `echo \\`sh -c \"echo \0\"\\``",
            // A word that is only called like such a program: it is refused, and nothing is run.
            "grep python3 -c \"a \0\"",
        ] {
            assert_eq!(quoting_of(line), [Err(NESTED)], "{line:?}");
        }
        assert_eq!(quoting_of("eval \0 \0"), [Ok(Bare), Err(NESTED)]);
        assert_eq!(quoting_of("ssh box \0 \"rm \0\""), [Ok(Bare), Err(NESTED)]);
        for line in [
            "sh -c 'echo \"$1\"' _ \0",
            "sh -c \0",
            "sh build.sh -c \"about \0\"",
            "eval \0",
            "eval \0 --quiet",
            "ssh \0 uptime",
            "./sh-like.sh \"about \0\"",
            "make -c \"about \0\"",
            "grep -c \"a \0\" file",
            "bash \0",
            "echo \"$(sh -c 'date')\" \0",
            "echo `sh -c 'date'` \0",
            "timeout 10 python3 report.py \"about \0\"",
            "python3 -c 'import sys; print(sys.argv[1])' \0",
            "perl -ne 'print' \0",
            "trap 'rm -f lock' EXIT; echo \"about \0\"",
            ". ./env.sh; echo \0",
            "cp \0 .",
            "rsync -e ssh \0 box:",
        ] {
            assert!(quoting_of(line)[0].is_ok(), "{line:?}");
        }
    }
}
