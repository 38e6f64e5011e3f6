//! Command patterns, with a strict and a loose way of matching.
//!
//! `git push *` is a program and its words; a `*` on its own stands for any number of words. A rule that *allows*
//! matches a command only word for word. A rule that *asks or denies* matches any command that may be meant: with
//! options before, between and after, spelled in another order, under another path, with further words at the end.

use crate::glob::{DualPattern, PatternPurpose};
use crate::shell::{ShellWord, SimpleCommand, WordShape, base_name};
use crate::view::normal;

/// The most words of a pattern.
const WORDS_MAX: usize = 64;

/// The result of matching a request against a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchCertainty {
    No,
    /// It depends on values that are only known at run time.
    Maybe,
    Yes,
}

#[derive(Debug)]
pub(crate) struct CommandPattern {
    /// The program; none means any command.
    program: Option<DualPattern>,
    parts: Vec<PatternPart>,
}

#[derive(Debug)]
enum PatternPart {
    /// Any number of words.
    Many,
    Word(Box<DualPattern>),
}

impl CommandPattern {
    /// Parses a pattern; the error is the problem and the fix.
    pub(crate) fn new(text: &str) -> Result<Self, (String, String)> {
        let said = |what: &str, fix: &str| (format!("`{text}` {what}"), fix.to_owned());
        let words = shell_words::split(text)
            .map_err(|_| said("has a quote that is not closed", "close it"))?;
        let is_operator = |word: &String| {
            let starts = word.starts_with(['>', '<', '|', '&', ';']);
            starts || word.ends_with([';', '|', '&']) || word.contains("$(") || word.contains('`')
        };
        if words.iter().any(is_operator) {
            return Err(said(
                "is more than one command",
                "write one command per pattern, several as a list; lines are split before they are matched",
            ));
        }
        if words.len() > WORDS_MAX {
            return Err(said("has too many words", "shorten it"));
        }
        let Some((program, rest)) = words.split_first() else {
            return Err(said("names no command", "write the program first, such as `git push *`"));
        };
        if program == "*" && !rest.is_empty() {
            return Err(said("names no program", "write the program first, or only `*`"));
        }
        let pattern = |word: &String| {
            DualPattern::new(word, PatternPurpose::Names).map_err(|error| {
                (format!("`{text}` is no pattern: {error}"), "put brackets in `[]`".to_owned())
            })
        };
        let parts = rest
            .iter()
            .map(|word| match word.as_str() {
                "*" => Ok(PatternPart::Many),
                _ => pattern(word).map(|pattern| PatternPart::Word(Box::new(pattern))),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let program = if program == "*" { None } else { Some(pattern(program)?) };
        Ok(Self { program, parts })
    }

    /// True if this command is exactly what the pattern says, so that an allow rule covers it.
    pub(crate) fn covers(&self, command: &SimpleCommand) -> bool {
        let Some((first, words)) = command.words.split_first() else { return false };
        if command.assigns {
            return false;
        }
        let Some(program) = &self.program else { return first.fixed().is_some() };
        if !first.fixed().is_some_and(|text| is_program(program, text)) {
            return false;
        }
        // One pass over the words, with the set of parts that may come next. An unknown word matches only where any
        // word would.
        let mut states = MatchStates::start(&self.parts);
        for word in words {
            states.step(&self.parts, |part| match part {
                PatternPart::Many => true,
                PatternPart::Word(pattern) => {
                    word.fixed().is_some_and(|text| is_word(pattern, text))
                }
            });
        }
        states.is_through()
    }

    /// Returns the pattern as it was written, without quotes.
    pub(crate) fn in_words(&self) -> String {
        let program = self.program.as_ref().map_or("*", |program| program.text.as_str());
        let parts = self.parts.iter().map(PatternPart::text);
        std::iter::once(program).chain(parts).collect::<Vec<_>>().join(" ")
    }

    /// Returns a command that matches the pattern, if there is one without special characters of a shell.
    pub(crate) fn example(&self) -> Option<String> {
        let program = self.program.as_ref()?;
        let words = self.parts.iter().filter_map(|part| match part {
            PatternPart::Many => None,
            PatternPart::Word(pattern) => Some(pattern.text.as_str()),
        });
        let words = std::iter::once(program.text.as_str()).chain(words);
        let words: Vec<String> = words.map(|word| word.replace(['*', '?'], "x")).collect();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@~+-,".contains(c);
        words.iter().all(|word| word.chars().all(is_plain)).then(|| words.join(" "))
    }

    /// True if it names exactly one program.
    pub(crate) fn names_program(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.exact.plain().is_some())
    }

    /// Matches the command loosely: an ask or deny rule must catch it if it may be meant.
    pub(crate) fn may_be(&self, command: &SimpleCommand) -> MatchCertainty {
        let itself = self.may_be_words(&command.words, false);
        // A program that runs its arguments may run them from any of its words on.
        let may_run = || {
            let mentions = &command.mentions;
            let mut places = (0..mentions.len()).filter(|at| self.may_begin(&mentions[*at]));
            places.any(|at| self.may_be_words(&mentions[at..], true) != MatchCertainty::No)
        };
        if itself == MatchCertainty::No && may_run() { MatchCertainty::Maybe } else { itself }
    }

    fn may_begin(&self, word: &ShellWord) -> bool {
        match (&self.program, word.fixed()) {
            (Some(program), Some(text)) => {
                let name = base_name(text);
                let name = name.strip_suffix(".exe").unwrap_or(name);
                program.fits(text, false) || program.fits(name, false)
            }
            (None, _) | (_, None) => false,
        }
    }

    /// Matches these words loosely; in code, other words may stand between them.
    fn may_be_words(&self, words: &[ShellWord], is_code: bool) -> MatchCertainty {
        let Some((first, words)) = words.split_first() else { return MatchCertainty::No };
        if self.program.is_none() {
            return MatchCertainty::Yes;
        }
        let fit = match first.fixed() {
            None => MatchCertainty::Maybe,
            Some(_) if self.may_begin(first) => MatchCertainty::Yes,
            Some(_) => return MatchCertainty::No,
        };
        let arguments = LooseArguments { program: base_name(&first.text), words, is_code };
        fit.min(arguments.hold_options(&self.parts)).min(arguments.hold_words(&self.parts))
    }

    /// True if an ask or deny rule with this pattern also catches all that `other` covers. Only obvious cases are
    /// detected.
    pub(crate) fn is_wider_than(&self, other: &CommandPattern) -> bool {
        let (Some(mine), Some(theirs)) = (&self.program, &other.program) else {
            return self.program.is_none();
        };
        if mine.text != theirs.text {
            return false;
        }
        let mine: Vec<_> = self.parts.iter().map(PatternPart::text).collect();
        let end = mine.iter().rposition(|text| *text != "*").map_or(0, |at| at + 1);
        let theirs: Vec<_> = other.parts.iter().map(PatternPart::text).collect();
        theirs.starts_with(&mine[..end])
    }
}

impl PatternPart {
    fn text(&self) -> &str {
        match self {
            PatternPart::Many => "*",
            PatternPart::Word(pattern) => &pattern.text,
        }
    }

    /// Returns the pattern if it is for an option. An option is searched at any position, so it has no place among
    /// the words.
    fn option(&self) -> Option<&DualPattern> {
        match self {
            PatternPart::Word(pattern) if is_option(&pattern.text) => Some(pattern),
            PatternPart::Word(_) | PatternPart::Many => None,
        }
    }
}

/// Matches the program strictly. A pattern without a slash is for a name and not for a path.
fn is_program(pattern: &DualPattern, text: &str) -> bool {
    pattern.fits(text, true) && (!text.contains('/') || pattern.text.contains('/'))
}

/// Matches a word strictly: `build/*` does not mean `build/../../etc`.
fn is_word(pattern: &DualPattern, text: &str) -> bool {
    let goes_up = text.split('/').any(|part| part == "..");
    pattern.fits(text, true) && (!goes_up || pattern.exact.plain().is_some())
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-') && text != "--"
}

/// The set of pattern parts that may come next, as bits. Patterns have at most 64 words.
struct MatchStates {
    bits: u128,
    end: usize,
}

impl MatchStates {
    fn start(parts: &[PatternPart]) -> Self {
        let mut states = Self { bits: 1, end: parts.len() };
        states.pass_over_many(parts);
        states
    }

    fn holds(&self, at: usize) -> bool {
        self.bits & (1 << at) != 0
    }

    /// Adds the parts after each `*`, which may stand for no word.
    fn pass_over_many(&mut self, parts: &[PatternPart]) {
        for (at, part) in parts.iter().enumerate() {
            if self.holds(at) && matches!(part, PatternPart::Many) {
                self.bits |= 1 << (at + 1);
            }
        }
    }

    fn step(&mut self, parts: &[PatternPart], fits: impl Fn(&PatternPart) -> bool) {
        let mut next = 0;
        for (at, part) in parts.iter().enumerate().filter(|(at, _)| self.holds(*at)) {
            if fits(part) {
                let stays = matches!(part, PatternPart::Many);
                next |= 1u128 << if stays { at } else { at + 1 };
            }
        }
        self.bits = next;
        self.pass_over_many(parts);
    }

    fn is_through(&self) -> bool {
        self.holds(self.end)
    }
}

/// The arguments of a command, for loose matching.
struct LooseArguments<'a> {
    program: &'a str,
    words: &'a [ShellWord],
    is_code: bool,
}

impl LooseArguments<'_> {
    /// Matches every option of the pattern, at any position and in any spelling.
    fn hold_options(&self, parts: &[PatternPart]) -> MatchCertainty {
        parts
            .iter()
            .filter_map(PatternPart::option)
            .map(|o| self.hold_option(o))
            .min()
            .unwrap_or(MatchCertainty::Yes)
    }

    fn hold_option(&self, pattern: &DualPattern) -> MatchCertainty {
        let mut fit = MatchCertainty::No;
        let mut letters_left: Vec<char> = match pattern.text.strip_prefix('-') {
            Some(rest) if !rest.starts_with('-') => rest.chars().collect(),
            _ => vec![],
        };
        let is_cluster =
            !letters_left.is_empty() && letters_left.iter().all(char::is_ascii_alphanumeric);
        for word in self.words {
            let text = word.text.as_str();
            match word.shape {
                WordShape::Fixed | WordShape::Glob if text == "--" => break,
                // A file that is called like an option is one.
                WordShape::Glob if may_name_option(text, &pattern.text) => {
                    fit = MatchCertainty::Maybe
                }
                WordShape::Fixed | WordShape::Glob if pattern.fits(text, false) => {
                    return MatchCertainty::Yes;
                }
                WordShape::Fixed | WordShape::Glob if !is_option(text) => {}
                WordShape::Fixed | WordShape::Glob => {
                    if let Some(long) = text.strip_prefix("--") {
                        let name = long.split('=').next().unwrap_or(long);
                        if is_long_form(&pattern.text, name) {
                            return MatchCertainty::Yes;
                        }
                        letters_left.retain(|letter| {
                            let long = long_form(*letter);
                            !long.is_some_and(|long| !name.is_empty() && long.starts_with(name))
                        });
                    } else {
                        letters_left.retain(|letter| {
                            let same = |other: char| {
                                long_form(other).is_some() && long_form(other) == long_form(*letter)
                            };
                            !text.contains(|other| other == *letter || same(other))
                        });
                        let short = pattern.text.strip_prefix("--").and_then(short_form);
                        if short.is_some_and(|letter| text.contains(letter)) {
                            return MatchCertainty::Yes;
                        }
                    }
                }
                WordShape::One | WordShape::Many if text.is_empty() || text.starts_with('-') => {
                    fit = MatchCertainty::Maybe;
                }
                WordShape::Many => fit = MatchCertainty::Maybe,
                WordShape::One => {}
            }
            if is_cluster && letters_left.is_empty() {
                return MatchCertainty::Yes;
            }
        }
        fit
    }

    /// Matches the other words of the pattern in this order, with options left out and any words after them.
    fn hold_words(&self, parts: &[PatternPart]) -> MatchCertainty {
        let parts: Vec<&PatternPart> =
            parts.iter().filter(|part| part.option().is_none()).collect();
        let (sure, perhaps) = (self.reach(&parts, false), self.reach(&parts, true));
        match (sure, perhaps) {
            (true, _) => MatchCertainty::Yes,
            (false, true) => MatchCertainty::Maybe,
            (false, false) => MatchCertainty::No,
        }
    }

    fn reach(&self, parts: &[&PatternPart], perhaps: bool) -> bool {
        let mut reached = vec![false; parts.len() + 1];
        reached[0] = true;
        let mut value_may_follow = false;
        pass_over(parts, &mut reached);
        for word in self.words {
            if reached[parts.len()] {
                return true;
            }
            let text = word.text.as_str();
            let is_known = matches!(word.shape, WordShape::Fixed | WordShape::Glob);
            let is_skippable = is_known && text.len() > 1 && text.starts_with(['-', '+']);
            let mut next = vec![false; parts.len() + 1];
            for (at, part) in parts.iter().enumerate().filter(|(at, _)| reached[*at]) {
                let fits = match part {
                    PatternPart::Many => true,
                    PatternPart::Word(pattern) if is_known => self.is_word(pattern, text),
                    PatternPart::Word(pattern) => perhaps && pattern.loose.could_begin(text),
                };
                let stays = matches!(part, PatternPart::Many)
                    || is_skippable
                    || value_may_follow
                    || self.is_code;
                next[at] |= stays;
                next[at + 1] |= fits && matches!(part, PatternPart::Word(_));
                if perhaps && matches!(word.shape, WordShape::Many | WordShape::Glob) {
                    // Any number of words: every later part is reachable, and so is this one.
                    next[at..].fill(true);
                }
            }
            value_may_follow = is_skippable && self.takes_value(text);
            reached = next;
            pass_over(parts, &mut reached);
        }
        reached[parts.len()]
    }

    /// True if a word means the same as the pattern in another spelling.
    fn is_word(&self, pattern: &DualPattern, text: &str) -> bool {
        if pattern.fits(text, false) {
            return true;
        }
        // `//`, `~/` and `/./` are parts of paths, too.
        if text.contains('/') && pattern.fits(&normal(text, None), false) {
            return true;
        }
        let cuts_short = ABBREVIATING.iter().any(|name| self.program.eq_ignore_ascii_case(name));
        cuts_short
            && text.len() > 1
            && pattern.exact.plain().is_some()
            && pattern.loose.could_begin(text)
    }

    /// True if the word after this option may be its value.
    fn takes_value(&self, option: &str) -> bool {
        const GIT: &[&str] = &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--exec-path",
            "--super-prefix",
            "--config-env",
            "--attr-source",
        ];
        if self.program.eq_ignore_ascii_case("git") {
            return GIT.contains(&option);
        }
        option.starts_with('-') && !option.contains('=')
    }
}

fn pass_over(parts: &[&PatternPart], reached: &mut [bool]) {
    for (at, part) in parts.iter().enumerate() {
        reached[at + 1] |= reached[at] && matches!(part, PatternPart::Many);
    }
}

/// Programs that accept abbreviated subcommands.
const ABBREVIATING: &[&str] = &["npm", "gem", "hg", "ip", "nmcli", "chezmoi", "perforce", "lvm"];

/// Short and long options that mean the same in programs that are often guarded.
const FORMS: &[(char, &str)] = &[
    ('r', "recursive"),
    ('R', "recursive"),
    ('f', "force"),
    ('d', "delete"),
    ('a', "all"),
    ('n', "no-verify"),
    ('o', "output"),
    ('i', "in-place"),
];

/// True if a file name pattern may expand to this option, or to a part of it.
fn may_name_option(glob: &str, option: &str) -> bool {
    if !glob.starts_with(['*', '?', '[', '-']) {
        return false;
    }
    let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or("");
    let reversed = format!("-{}", letters.chars().rev().collect::<String>());
    let parts = letters.chars().flat_map(|letter| {
        let long = long_form(letter).map(|long| format!("--{long}"));
        [Some(format!("-{letter}")), long]
    });
    let mut names =
        parts.flatten().chain([option.to_owned(), reversed]).filter(|name| name.len() > 1);
    DualPattern::new(glob, PatternPurpose::Names)
        .is_ok_and(|glob| names.any(|name| glob.fits(&name, false)))
}

fn long_form(letter: char) -> Option<&'static str> {
    FORMS.iter().find(|(short, _)| *short == letter).map(|(_, long)| *long)
}

fn short_form(long: &str) -> Option<char> {
    FORMS.iter().find(|(_, name)| *name == long).map(|(letter, _)| *letter)
}

/// True if a long option may be the one of the pattern: `--forc` and `--force=x` are `--force`, since programs accept
/// abbreviations.
fn is_long_form(pattern: &str, name: &str) -> bool {
    let wanted = pattern.strip_prefix("--").map(|long| long.split('=').next().unwrap_or(long));
    !name.is_empty() && wanted.is_some_and(|wanted| wanted.starts_with(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::shell::CommandLine;

    fn pattern(text: &str) -> CommandPattern {
        CommandPattern::new(text).unwrap()
    }

    fn last(text: &str) -> SimpleCommand {
        CommandLine::read(text).commands.pop().unwrap()
    }

    #[test]
    fn a_yes_covers_exactly_what_it_says() {
        for (text, command, expected) in [
            ("git status", "git status", true),
            ("git status", "git status -s", false),
            ("git status *", "git status", true),
            ("git status *", "git status -s -b", true),
            ("git status", "git -c x=y status", false),
            ("git status *", "git -C d status", false),
            ("git status", "/tmp/git status", false),
            ("git status", "./git status", false),
            ("git status", "GIT status", false),
            ("git status", "PATH=/tmp git status", false),
            ("cat *", "cat $X \"$Y\" *.rs", true),
            ("cat a", "cat $X", false),
            ("cat src/*", "cat \"$X\"", false),
            ("git push origin feature/*", "git push origin feature/a", true),
            ("git push origin feature/*", "git push origin feature/a main", false),
            ("make * all", "make -j 4 all", true),
            ("make * all", "make all", true),
            ("make * all", "make -j 4", false),
            ("*", "anything at all", true),
            ("*", "X=1 anything", false),
            ("git*", "git/../tmp/x", false),
            ("rm build/*", "rm build/a/b", true),
            ("rm build/*", "rm build/../../etc", false),
            ("rm ../x", "rm ../x", true),
        ] {
            assert_eq!(pattern(text).covers(&last(command)), expected, "{text} | {command}");
        }
    }

    #[test]
    fn a_no_catches_whatever_may_be_it() {
        use MatchCertainty::{Maybe, No, Yes};
        for (text, command, expected) in [
            ("git push *", "git push", Yes),
            ("git push", "git push origin main", Yes),
            ("git push *", "git -c a=b -C d push", Yes),
            ("git push *", "git --git-dir=x --no-pager push", Yes),
            ("git push *", "/usr/bin/git push", Yes),
            ("git push *", "X=1 git push", Yes),
            ("git push *", "git status", No),
            ("git push *", "git log push", No),
            ("git push *", "git --no-pager log push", No),
            ("git push *", "git $X", Maybe),
            ("git push *", "git \"$X\" main", Maybe),
            ("git push *", "git commit -m \"$X\"", No),
            ("git push * --force *", "git push origin main --force", Yes),
            ("git push --force", "git push -f", Yes),
            ("git push --force", "git push --forc origin", Yes),
            ("git push --force", "git push --force-with-lease", No),
            ("git push --force", "git push origin", No),
            ("git push --force", "git push \"$X\"", Maybe),
            ("rm -rf *", "rm -fr x", Yes),
            ("rm -rf *", "rm -r -f x", Yes),
            ("rm -rf *", "rm x -r --force", Yes),
            ("rm -rf *", "rm --recursive --force x", Yes),
            ("rm -rf *", "rm -r x", No),
            ("rm -rf *", "rm -- -rf", No),
            ("rm -rf *", "rm \"dist/$X\"", No),
            ("rm -rf *", "rm $X", Maybe),
            ("rm -rf *", "rm *", Maybe),
            ("rm -rf *", "rm -r ?f x", Maybe),
            ("rm -rf *", "rm -r [-]f x", Maybe),
            ("rm -rf *", "rm -f *.o", No),
            ("rm -rf *", "rm -r ./* src/*", No),
            ("rm *", "RM x", Yes),
            ("kubectl delete *", "kubectl -n prod delete pod x", Yes),
            ("npm publish", "npm --prefix d publish", Yes),
            ("cargo publish", "cargo +nightly publish", Yes),
            ("curl *", "wget x", No),
            ("*", "wget x", Yes),
        ] {
            assert_eq!(pattern(text).may_be(&last(command)), expected, "{text} | {command}");
        }
    }

    #[test]
    fn patterns_that_are_no_command_are_refused() {
        for text in ["", "a; b", "a && b", "a | b", "a > b", "a 'b", "* push", "a [", "a $(b)"] {
            assert!(CommandPattern::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn wider_is_seen_where_it_is_plain() {
        for (wide, narrow, expected) in [
            ("git push *", "git push origin *", true),
            ("git push", "git push origin", true),
            ("*", "git push", true),
            ("git push origin", "git push", false),
            ("git pull *", "git push *", false),
            ("git push", "*", false),
        ] {
            assert_eq!(pattern(wide).is_wider_than(&pattern(narrow)), expected, "{wide} {narrow}");
        }
    }
}
