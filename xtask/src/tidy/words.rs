//! Readability figures: names and comments that a reader from the field can search for.
//!
//! Each figure has a limit. A tree above a limit fails, and the report names the places that count against it.

use std::collections::BTreeMap;

use super::CheckFindings;
use super::tree::{SourceTree, crate_of_source};

/// The most type names, in percent, that consist of one word.
const ONE_WORD_PERCENT_MAX: usize = 15;
/// The most type definitions, in percent, whose name another definition has.
const SHARED_PERCENT_MAX: usize = 8;
/// The most indefinite words in 2,000 words of comment.
const INDEFINITE_PER_2000_MAX: usize = 1;
/// The most comments, in percent, that begin with a question word.
const QUESTION_PERCENT_MAX: usize = 3;
/// The most doc comments of one to three words.
const SHORT_DOCS_MAX: usize = 350;
/// The most `match` expressions on a bool.
const BOOL_MATCHES_MAX: usize = 10;
/// The most places that one report names.
const PLACES_MAX: usize = 10;

const QUESTION_WORDS: [&str; 11] =
    ["What", "Whether", "Who", "Whom", "Whose", "How", "Where", "That", "When", "Which", "Why"];
const INDEFINITE_PRONOUNS: [&str; 10] = [
    "whoever",
    "whatever",
    "whenever",
    "wherever",
    "whichever",
    "somebody",
    "anybody",
    "nobody",
    "everybody",
    "elsewhere",
];

pub(super) fn check(tree: &SourceTree) -> CheckFindings {
    let mut findings = CheckFindings::default();
    let figures = ProseFigures::of(tree);
    findings.seen = figures.types.len() + figures.comments;
    figures.report(&mut findings);
    findings
}

/// A place in the tree: a path and a line.
type SourcePlace = (String, usize);

/// The counts of one tree.
#[derive(Debug, Default)]
struct ProseFigures {
    /// Type definitions by name.
    types: BTreeMap<String, Vec<SourcePlace>>,
    comments: usize,
    comment_words: usize,
    indefinite: Vec<SourcePlace>,
    questions: Vec<SourcePlace>,
    short_docs: Vec<SourcePlace>,
    bool_matches: Vec<SourcePlace>,
}

impl ProseFigures {
    fn of(tree: &SourceTree) -> Self {
        let mut figures = Self::default();
        let is_source =
            |path: &str| crate_of_source(path).is_some() || path.starts_with("xtask/src/");
        for (path, text) in tree.rust(is_source) {
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            figures.count(path, text);
        }
        figures
    }

    fn count(&mut self, path: &str, text: &str) {
        let mut block: Vec<&str> = vec![];
        for (index, line) in text.lines().chain([""]).enumerate() {
            if let Some(comment) = comment_of(line) {
                block.push(comment);
                continue;
            }
            if !block.is_empty() {
                let first_line = index + 1 - block.len();
                self.count_comment(&block, (path.to_owned(), first_line));
                block.clear();
            }
            if let Some(name) = defined_type(line) {
                self.types.entry(name.to_owned()).or_default().push((path.to_owned(), index + 1));
            }
            if line.trim_start().starts_with("true =>") {
                self.bool_matches.push((path.to_owned(), index + 1));
            }
        }
    }

    fn count_comment(&mut self, block: &[&str], place: SourcePlace) {
        let words: Vec<&str> = block.iter().flat_map(|line| line.split_whitespace()).collect();
        self.comments += 1;
        self.comment_words += words.len();
        let bare = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let indefinite = words.iter().map(bare);
        let count = indefinite.filter(|word| INDEFINITE_PRONOUNS.contains(&word.as_str())).count();
        self.indefinite.extend(std::iter::repeat_n(place.clone(), count));
        let first = words.first().map(|word| word.trim_end_matches(|c: char| !c.is_alphanumeric()));
        if first.is_some_and(|first| QUESTION_WORDS.contains(&first)) {
            self.questions.push(place.clone());
        }
        if block.len() == 1 && (1..=3).contains(&words.len()) {
            self.short_docs.push(place);
        }
    }

    fn report(&self, findings: &mut CheckFindings) {
        let all: usize = self.types.values().map(Vec::len).sum();
        let places = |is_counted: fn(&str, &[SourcePlace]) -> bool| {
            let counted = self.types.iter().filter(move |(name, at)| is_counted(name, at));
            counted.flat_map(|(_, at)| at).cloned().collect::<Vec<SourcePlace>>()
        };
        let one_word = places(|name, _| words_of(name) == 1);
        let shared = places(|_, at| at.len() > 1);
        let limits = [
            ("type names of one word", &one_word, all * ONE_WORD_PERCENT_MAX / 100),
            ("type definitions that share a name", &shared, all * SHARED_PERCENT_MAX / 100),
            (
                "indefinite words in comments",
                &self.indefinite,
                self.comment_words * INDEFINITE_PER_2000_MAX / 2000,
            ),
            (
                "comments that begin with a question word",
                &self.questions,
                self.comments * QUESTION_PERCENT_MAX / 100,
            ),
            ("comments of one to three words", &self.short_docs, SHORT_DOCS_MAX),
            ("`match` on a bool", &self.bool_matches, BOOL_MATCHES_MAX),
        ];
        for (figure, places, limit) in limits {
            if places.len() > limit {
                report_places(findings, figure, places, limit);
            }
        }
    }
}

fn report_places(findings: &mut CheckFindings, figure: &str, places: &[SourcePlace], limit: usize) {
    for (path, line) in places.iter().take(PLACES_MAX) {
        let what = format!("{} {figure} in the tree, limit {limit}; this is one", places.len());
        let fix = "use the term of the field; STYLE.md, section Words, has the rules";
        findings.problem(path.as_str(), *line, what, fix);
    }
}

/// Returns the text of a line that is a comment and nothing else.
fn comment_of(line: &str) -> Option<&str> {
    let comment = line.trim_start().strip_prefix("//")?;
    Some(comment.trim_start_matches(['/', '!']).trim())
}

/// Returns the name of the struct, enum or trait that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    if !matches!(words.next()?, "struct" | "enum" | "trait") {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| &name[..end])
}

fn words_of(name: &str) -> usize {
    name.chars().filter(char::is_ascii_uppercase).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::expect;

    const PATH: &str = "crates/a/src/lib.rs";

    fn expect_problems(source: &str, problems: &[&str]) {
        expect(check, &SourceTree::of(&[(PATH, source)]), problems);
    }

    #[test]
    fn names_of_the_field_pass() {
        let source = "//! A cache.\npub struct CredentialCache;\n/// Holds the last answer that came in.\nenum AskRateLimit {}\n";
        expect_problems(source, &[]);
    }

    #[test]
    fn a_name_of_one_word_counts() {
        let source = "pub(crate) struct Kept<T>(T);\npub enum TaskFilter {}\n";
        let problem =
            "crates/a/src/lib.rs:1: 1 type names of one word in the tree, limit 0; this is one";
        expect_problems(source, &[problem]);
    }

    #[test]
    fn a_name_that_two_types_have_counts_twice() {
        let tree = SourceTree::of(&[
            (PATH, "struct TaskFilter;"),
            ("crates/b/src/lib.rs", "trait TaskFilter {}"),
        ]);
        let what = "2 type definitions that share a name in the tree, limit 0; this is one";
        let problems =
            [format!("crates/a/src/lib.rs:1: {what}"), format!("crates/b/src/lib.rs:1: {what}")];
        expect(check, &tree, &problems.each_ref().map(String::as_str));
    }

    #[test]
    fn comments_are_held_to_plain_prose() {
        let source = "// Why not.\nfn a() {}\n// The caller, whoever, waits.\n";
        let problems = [
            "crates/a/src/lib.rs:3: 1 indefinite words in comments in the tree, limit 0; this is one",
            "crates/a/src/lib.rs:1: 1 comments that begin with a question word in the tree, limit 0; this is one",
        ];
        expect_problems(source, &problems);
    }

    #[test]
    fn the_tests_of_a_file_do_not_count() {
        expect_problems(
            "struct TaskFilter;\n#[cfg(test)]\nmod tests {\n    struct Made;\n}\n",
            &[],
        );
    }
}
