//! What a command line would run: split into its simple commands, never matched as text.
//!
//! The reader knows the grammar that POSIX shells and bash share, as far as it decides *which
//! programs run*. Where that is only known when the line runs, or where the reader is not sure, it
//! says so: the line is unclear, and nobody may allow it without looking. What it did find is kept,
//! so that a rule against `rm` still sees the `rm` in a line that is unclear elsewhere.
//!
//! It errs on one side only: it may report a command that would never run, and may call a line
//! unclear that is not. It reads a line in one pass and never looks back.
//!
//! Understood is what a table names: grammar, builtins and their options (`builtins`), wrappers and shells
//! (`peel`), variables (`environment`), git (`git`), programs (`programs`). All else is unclear, or, for a
//! program that nothing is known of, searched for words that may name a command (`mentions`).

mod arithmetic;
mod builtins;
mod environment;
mod git;
mod mentions;
mod peel;
mod programs;
mod read;
#[cfg(test)]
mod tests;

/// The longest line that is read at all.
pub(crate) const BYTES_MAX: usize = 1024 * 1024;
/// The most commands that are looked at in one line.
pub(crate) const COMMANDS_MAX: usize = 1_000;
/// How deep `$(…)`, brackets, `sh -c` and wrappers may nest.
const DEPTH_MAX: usize = 16;

/// A command line, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Every command it may run, wrappers and what they wrap, in the order they are met.
    pub(crate) commands: Vec<Simple>,
    /// Files it redirects to or from.
    pub(crate) files: Vec<FileUse>,
    /// Why it cannot be told what it does, if so, apart from doubts about single commands.
    unclear: Option<String>,
    /// Whether it changes directory, so that relative paths mean something else.
    pub(crate) moves: bool,
    /// Whether a variable may hold a text that arithmetic would evaluate.
    sets_odd_values: bool,
    /// Whether arithmetic evaluates what a variable holds.
    computes_with_names: bool,
    has_unknown_program: bool,
    has_group: bool,
    has_feed: bool,
    /// Here-documents that a command waits for: their number, the command, and whether it is unknown.
    awaited: Vec<(usize, usize, bool)>,
    heredocs: usize,
    /// Names of files that it writes, and of those that it runs.
    written: Vec<String>,
    run: Vec<String>,
}

/// One program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// The program first. Empty for an assignment that stands alone.
    pub(crate) words: Vec<Word>,
    /// Whether it only runs another command that is listed too, and changes nothing about it.
    pub(crate) transparent: bool,
    /// Whether variables are set for it or by it. `PATH=… git status` is not `git status`.
    pub(crate) assigns: bool,
    /// Words that it may take for a command, where its arguments are not understood.
    pub(crate) mentions: Vec<Word>,
    /// Why it cannot be told what it runs, if so. A rule that allows this very program settles it.
    doubt: Option<String>,
}

/// What a command reads on standard input.
#[derive(Debug, Clone, Default)]
struct Feed {
    /// Something that is not in sight: a pipe, a file.
    is_piped: bool,
    /// Texts in sight.
    texts: Vec<String>,
    /// Here-documents, by their number.
    heredocs: Vec<usize>,
}

impl Feed {
    fn is_visible(&self) -> bool {
        !self.is_piped && (!self.texts.is_empty() || !self.heredocs.is_empty())
    }
}

/// A word of a command, after quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// What is known of it: all of it, or what comes before the first unknown part.
    pub(crate) text: String,
    /// How much that is.
    pub(crate) shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Known to the last character.
    Fixed,
    /// One word that begins with the text.
    One,
    /// Any number of words; the first begins with the text.
    Many,
    /// A pattern for file names: any number of words, or the text itself where nothing fits.
    Glob,
}

/// A file that a redirection opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUse {
    pub(crate) path: Word,
    pub(crate) writes: bool,
}

impl Line {
    /// Reads a command line. Never fails: what cannot be read is unclear.
    pub(crate) fn read(text: &str) -> Self {
        let mut line = Self::default();
        if text.len() > BYTES_MAX {
            line.is_unclear("it is too long to be read");
            return line;
        }
        read::Reader::new(text.as_bytes(), 0, &mut line).read_all();
        line.look_back();
        line
    }

    /// Reads a command line that may be for a shell with a grammar of its own.
    pub(crate) fn read_for(text: &str, is_foreign: bool) -> Self {
        let mut line = Self::read(text);
        if is_foreign {
            line.is_unclear("it is for a shell with a grammar of its own");
        }
        line
    }

    /// What only shows when all of a line is known.
    fn look_back(&mut self) {
        if self.computes_with_names && self.sets_odd_values {
            self.is_unclear("it computes with a variable that may hold a command");
        }
        if self.has_unknown_program && self.has_group && self.has_feed {
            self.is_unclear("a program that nothing is known of may read from elsewhere");
        }
        if self.run.iter().any(|file| self.written.contains(file)) {
            self.is_unclear("it runs a file that it has written");
        }
    }

    /// Why it cannot be told what it does. Commands that a rule vouches for are not doubted.
    pub(crate) fn unclear_but_for(&self, vouched: &[usize]) -> Option<&str> {
        let doubted = || {
            let commands = self.commands.iter().enumerate();
            let mut left = commands.filter(|(at, _)| !vouched.contains(at));
            left.find_map(|(_, command)| command.doubt.as_deref())
        };
        self.unclear.as_deref().or_else(doubted)
    }

    /// Why it cannot be told what it does.
    pub(crate) fn unclear(&self) -> Option<&str> {
        self.unclear_but_for(&[])
    }

    /// Whether a rule may have to vouch for one of its commands.
    pub(crate) fn has_doubt(&self) -> bool {
        self.commands.iter().any(|command| command.doubt.is_some())
    }

    /// Keeps the first reason.
    fn is_unclear(&mut self, why: impl Into<String>) {
        self.unclear.get_or_insert_with(|| why.into());
    }
}

impl Simple {
    /// The program, when its name is known.
    pub(crate) fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::fixed)
    }

    /// As people would write it, with `…` where a part is not known.
    pub(crate) fn in_words(&self) -> String {
        let words: Vec<_> = self
            .words
            .iter()
            .map(|word| match word.shape {
                Shape::Fixed | Shape::Glob => word.text.clone(),
                Shape::One | Shape::Many => format!("{}…", word.text),
            })
            .collect();
        words.join(" ")
    }
}

impl Word {
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self.shape {
            Shape::Fixed => Some(&self.text),
            Shape::One | Shape::Many | Shape::Glob => None,
        }
    }

    fn of(text: &str) -> Self {
        Self { text: text.into(), shape: Shape::Fixed }
    }

    fn unknown(shape: Shape) -> Self {
        Self { text: String::new(), shape }
    }
}

/// The last part of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
