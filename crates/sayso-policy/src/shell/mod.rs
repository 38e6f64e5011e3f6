//! Shell parsing: splits a command line into the simple commands it would run; it is never matched as text.
//!
//! The parser knows the grammar that POSIX shells and bash share, as far as it decides *which programs run*. If
//! that is only known at run time, or the parser is not sure, the line is marked as unclear, and no rule may allow
//! it unseen. The commands found so far are kept, so that a rule against `rm` still sees the `rm` in a line with
//! another unclear part.
//!
//! It errs on one side only: it may report a command that would never run, and may call a line unclear that is not.
//! It reads a line in one pass without backtracking.
//!
//! Only input listed in a table is understood: grammar, builtins and their options (`builtins`), wrappers and
//! shells (`wrappers`), variables (`environment`), git (`git`), programs (`programs`). Other input is unclear, or, for
//! an unknown program, searched for words that may name a command (`mentions`).

mod arithmetic;
mod builtins;
mod environment;
mod evaluating;
mod git;
mod mentions;
mod parser;
mod programs;
mod scripts;
#[cfg(test)]
mod tests;
mod wrappers;

use std::collections::HashSet;

/// The longest line that is parsed at all.
pub(crate) const BYTES_MAX: usize = 1024 * 1024;
/// The most commands of one line.
pub(crate) const COMMANDS_MAX: usize = 1_000;
/// The most words, and the most words of codes, that are looked at in one line.
const WORDS_MAX: usize = 20_000;
const MENTIONS_MAX: usize = 50_000;
/// The deepest nesting of `$(…)`, brackets, `sh -c` and wrappers.
const DEPTH_MAX: usize = 16;

/// A parsed command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandLine {
    /// Every command it may run, wrappers and the commands they run, in order of discovery.
    pub(crate) commands: Vec<SimpleCommand>,
    /// The files of its redirections.
    pub(crate) files: Vec<FileUse>,
    /// The reason why it cannot be determined what it does, if any, apart from doubts about single commands.
    unclear: Option<String>,
    /// True if it changes directory, so that relative paths mean something else.
    pub(crate) moves: bool,
    /// True if a variable may hold a text that arithmetic would evaluate.
    sets_odd_values: bool,
    /// True if arithmetic evaluates the value of a variable.
    computes_with_names: bool,
    has_unknown_program: bool,
    has_group: bool,
    has_feed: bool,
    /// Here-documents that commands wait for.
    awaited: Vec<Awaited>,
    heredocs: usize,
    /// Texts that a variable or standard input hands on: values of assignments, the words of loops.
    pub(crate) values: Vec<ShellWord>,
    /// Files that it writes, and those that it runs.
    written: Vec<String>,
    run: Vec<String>,
    /// True if it writes a file whose name is not known.
    writes_any: bool,
    /// True if it runs git, or a program that runs commands from a file of the project.
    runs_git: bool,
    runs_project: bool,
    /// True if a program gets a variable in a place where an option that runs a command may stand.
    takes_options: bool,
}

/// A here-document whose body comes later.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Awaited {
    number: usize,
    /// The command that reads it, and its kind.
    command: usize,
    class: programs::ProgramClass,
}

/// A simple command: one program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    /// The words, program first. Empty for an assignment that stands alone.
    pub(crate) words: Vec<ShellWord>,
    /// True if it only runs another command that is listed too, and changes nothing about it.
    pub(crate) transparent: bool,
    /// True if variables are set for it or by it. `PATH=… git status` is not `git status`.
    pub(crate) assigns: bool,
    /// Words that it may treat as a command, if its arguments are not understood.
    pub(crate) mentions: Vec<ShellWord>,
    /// The reason why it cannot be determined what it runs, if any. A rule that allows exactly this program settles
    /// it.
    doubt: Option<String>,
}

/// The standard input of a command.
#[derive(Debug, Clone, Default)]
struct StandardInput {
    /// True if the input is not visible: a pipe, a file.
    is_piped: bool,
    /// The visible input.
    texts: Vec<String>,
    /// The numbers of here-documents.
    heredocs: Vec<usize>,
}

impl StandardInput {
    fn is_visible(&self) -> bool {
        !self.is_piped && (!self.texts.is_empty() || !self.heredocs.is_empty())
    }
}

/// A word of a command, unquoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellWord {
    /// The known text: all of it, or the part before the first unknown one.
    pub(crate) text: String,
    /// The extent to which it is known.
    pub(crate) shape: WordShape,
    /// All of a word that is not known to its end, with a `*` for each part that only shows when it runs.
    pub(crate) outline: Option<String>,
    /// True if it is a number that the shell itself keeps.
    is_number: bool,
    /// True if it is the output of a command.
    is_substituted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordShape {
    /// Known to the last character.
    Fixed,
    /// One word that begins with the text.
    One,
    /// Any number of words; the first begins with the text.
    Many,
    /// A glob for file names: any number of words, or the text itself if no file matches.
    Glob,
}

/// A file that a redirection opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUse {
    pub(crate) path: ShellWord,
    pub(crate) writes: bool,
}

impl CommandLine {
    /// Parses a command line. Never fails: unreadable input is unclear.
    pub(crate) fn read(text: &str) -> Self {
        let mut line = Self::default();
        if text.len() > BYTES_MAX {
            line.is_unclear("it is too long to be read");
            return line;
        }
        parser::ShellParser::new(text.as_bytes(), 0, &mut line).read_all();
        line.look_back();
        line
    }

    /// Parses a command line that may be for a shell with another grammar.
    pub(crate) fn read_for(text: &str, is_foreign: bool) -> Self {
        let mut line = Self::read(text);
        if is_foreign {
            line.is_unclear("it is for a shell with a grammar of its own");
        }
        line
    }

    /// Adds the doubts that only show when the whole line is known.
    fn look_back(&mut self) {
        if self.computes_with_names && self.sets_odd_values {
            self.is_unclear("it computes with a variable that may hold a command");
        }
        if self.has_unknown_program && self.has_group && self.has_feed {
            self.is_unclear("a program that nothing is known of may read from elsewhere");
        }
        let run: HashSet<&str> = self.run.iter().flat_map(|path| path.split('/')).collect();
        if self.written.iter().any(|file| self.may_run(file, &run)) {
            self.is_unclear("it runs a file that it has written");
        }
        if self.writes_any && (self.runs_git || self.runs_project || !self.run.is_empty()) {
            self.is_unclear("it runs a file, and writes one whose name is not in sight");
        }
        if self.takes_options && self.values.iter().any(ShellWord::may_hold_option) {
            self.is_unclear("a variable may hold an option that runs a command");
        }
        let words = self.commands.iter().map(|command| command.words.len()).sum::<usize>();
        let mentions = self.commands.iter().map(|command| command.mentions.len()).sum::<usize>();
        if words + self.values.len() > WORDS_MAX || mentions > MENTIONS_MAX {
            self.is_unclear("it has more words than are looked at");
        }
    }

    /// True if it may run this file: by its name, from the folder of that name, or as a part of the project.
    fn may_run(&self, file: &str, run: &HashSet<&str>) -> bool {
        let is_part = |path: &str, name: &str| path.split('/').any(|part| part == name);
        let name = base_name(file.trim_end_matches('/'));
        run.contains(name)
            || (self.runs_project && programs::is_of_projects(name))
            || (self.runs_git
                && (is_part(file, ".git")
                    || (self.moves && (name == "config" || is_part(file, "hooks")))
                    || [".gitconfig", ".gitattributes", ".gitmodules"].contains(&name)))
    }

    /// Notes a file that it writes.
    fn writes(&mut self, file: &ShellWord) {
        match file.fixed() {
            Some(path) => self.written.push(path.to_owned()),
            None => self.writes_any = true,
        }
    }

    /// Returns the reason why the line is unclear. Doubts about commands for which a rule vouches do not count.
    pub(crate) fn unclear_but_for(&self, vouched: &[usize]) -> Option<&str> {
        let doubted = || {
            let commands = self.commands.iter().enumerate();
            let mut left = commands.filter(|(at, _)| !vouched.contains(at));
            left.find_map(|(_, command)| command.doubt.as_deref())
        };
        self.unclear.as_deref().or_else(doubted)
    }

    /// Returns the reason why the line is unclear.
    pub(crate) fn unclear(&self) -> Option<&str> {
        self.unclear_but_for(&[])
    }

    /// True if a rule has to vouch for one of its commands.
    pub(crate) fn has_doubt(&self) -> bool {
        self.commands.iter().any(|command| command.doubt.is_some())
    }

    /// Marks the line as unclear. The first reason is kept.
    fn is_unclear(&mut self, why: impl Into<String>) {
        self.unclear.get_or_insert_with(|| why.into());
    }
}

impl SimpleCommand {
    /// Returns the program, if its name is known.
    pub(crate) fn program(&self) -> Option<&str> {
        self.words.first().and_then(ShellWord::fixed)
    }

    /// Formats the command for people, with `…` for unknown parts.
    pub(crate) fn in_words(&self) -> String {
        let words: Vec<_> = self
            .words
            .iter()
            .map(|word| match word.shape {
                WordShape::Fixed | WordShape::Glob => word.text.clone(),
                WordShape::One | WordShape::Many => format!("{}…", word.text),
            })
            .collect();
        words.join(" ")
    }
}

impl ShellWord {
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self.shape {
            WordShape::Fixed => Some(&self.text),
            WordShape::One | WordShape::Many | WordShape::Glob => None,
        }
    }

    /// True if a variable with this value, or this assignment, may hold an option.
    fn may_hold_option(&self) -> bool {
        let text = self.outline.as_ref().unwrap_or(&self.text);
        let value = match text.split_once('=') {
            Some((name, value)) if environment::is_plain_name(name.trim_end_matches('+')) => value,
            _ => text,
        };
        let is_known = matches!(self.shape, WordShape::Fixed | WordShape::Glob);
        let is_open = !is_known && (value.is_empty() || value.starts_with('*'));
        is_open || value.split_whitespace().any(|word| word.starts_with('-'))
    }

    fn of(text: &str) -> Self {
        Self { text: text.into(), ..Self::unknown(WordShape::Fixed) }
    }

    fn unknown(shape: WordShape) -> Self {
        let (text, outline) = (String::new(), None);
        Self { text, shape, outline, is_number: false, is_substituted: false }
    }
}

/// Returns the last part of a program's path.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
