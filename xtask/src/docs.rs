//! `cargo xtask docs [PAGE…]`: runs every command line in the pages, and compares its output.
//!
//! A page is a session: its `console` blocks run in order, in a folder of the page's own, each line
//! that begins with `$ ` at a terminal. Below a line stands its output, all of it, and:
//!
//! - `…` stands for any text in its line, and alone on a line for any number of lines;
//! - a handle such as `g7k2m` stands for the one that was really made, from where it is first printed;
//! - `ann` is the user who runs this, and `db.example` the PostgreSQL started for it;
//! - `just now` may have been a little longer ago on a busy machine;
//! - a line that ends with `&` runs on without a terminal; `$ wait` shows what it printed;
//! - a line that fails is followed by `$ echo $?`.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::shell::output;
use crate::stage::{self, BackgroundCommand, ShownOutput, TestStage};
use crate::stop::{VerbError, VerbResult};
use crate::test::cluster::PostgresCluster;
use crate::test::{detach, tools};

/// The verb's name, which a detached process is started with again.
pub(crate) const DOCS: &str = "docs";

/// The page that newcomers see first, and the folders of the others.
const FRONT: &str = "README.md";
const FOLDERS: &[&str] = &["docs/guide", "docs/concepts"];
/// Placeholders in the pages for values that differ from machine to machine.
const PERSON: &str = "ann";
const DATABASE: &str = "postgres://ann@db.example/sayso";

pub(crate) fn run(words: &[String]) -> VerbResult {
    detach::unless_alone(DOCS, words)
}

/// Runs the pages in this process's own environment.
pub(crate) fn here(words: &[String]) -> VerbResult {
    // Before anything is built: a build may replace the file we were started from.
    let xtask = env::current_exe()?;
    let pages = if words.is_empty() { pages()? } else { words.to_vec() };
    let pages: Vec<DocsPage> =
        pages.iter().map(|path| DocsPage::read(path)).collect::<VerbResult<_>>()?;
    let program = stage::build()?;
    let needs_server = pages.iter().any(|page| page.names(DATABASE));
    let server =
        if needs_server { Some(PostgresCluster::start(&xtask, &tools::ensure()?)?) } else { None };
    let user = output(Command::new("id").arg("-un"))?.trim().to_owned();
    let mut count = 0;
    for page in pages.iter().filter(|page| !page.steps.is_empty()) {
        let url = server.as_ref().map(|server| server.url().to_owned());
        let stand_ins = PagePlaceholders { url, user: user.clone(), handles: BTreeMap::new() };
        PageSession {
            stage: TestStage::new(&program, false)?,
            stand_ins,
            running: vec![],
            code: 0,
        }
        .play(page)?;
        eprintln!("docs: {}: {} command lines", page.path, page.steps.len());
        count += page.steps.len();
    }
    match count {
        0 => Err("the pages show no command line: nothing was looked at".into()),
        _ => Ok(()),
    }
}

fn pages() -> VerbResult<Vec<String>> {
    let mut pages = vec![FRONT.to_owned()];
    for folder in FOLDERS {
        let entries =
            fs::read_dir(folder).map_err(|e| VerbError::from(format!("{folder}: {e}")))?;
        let names = entries.flatten().map(|entry| entry.path().to_string_lossy().into_owned());
        pages.extend(names.filter(|name| name.ends_with(".md")));
    }
    pages.sort();
    Ok(pages)
}

/// A page with its command lines.
struct DocsPage {
    path: String,
    steps: Vec<DocsStep>,
}

/// One command line, its line number, and its expected output.
#[derive(Debug, PartialEq)]
struct DocsStep {
    number: usize,
    line: String,
    prints: Vec<String>,
}

impl DocsPage {
    fn read(path: &str) -> VerbResult<DocsPage> {
        let text = fs::read_to_string(Path::new(path))
            .map_err(|e| VerbError::from(format!("{path}: {e}")))?;
        let steps =
            steps(&text).map_err(|at| VerbError::from(format!("{path}:{at}: no command")))?;
        Ok(DocsPage { path: path.into(), steps })
    }

    fn names(&self, what: &str) -> bool {
        self.steps.iter().any(|step| step.line.contains(what))
    }
}

/// Returns the steps of a page, or the line that belongs to none.
fn steps(text: &str) -> Result<Vec<DocsStep>, usize> {
    let mut steps: Vec<DocsStep> = Vec::new();
    let mut inside = false;
    let mut begun = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            (inside, begun) = (!inside && line == "```console", false);
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            steps.push(DocsStep { number: index + 1, line: command.into(), prints: vec![] });
            begun = true;
        } else if inside {
            let step = steps.last_mut().filter(|_| begun).ok_or(index + 1)?;
            step.prints.push(line.trim_end().into());
        }
    }
    Ok(steps)
}

/// The execution of a page.
struct PageSession {
    stage: TestStage,
    stand_ins: PagePlaceholders,
    running: Vec<BackgroundCommand>,
    code: i32,
}

impl PageSession {
    fn play(mut self, page: &DocsPage) -> VerbResult {
        for (at, step) in page.steps.iter().enumerate() {
            let ran = self.run(&step.line)?;
            let asks_for_code = page.steps.get(at + 1).is_some_and(|next| next.line == "echo $?");
            if ran.code != 0 && !asks_for_code {
                return Err(mismatch(
                    page,
                    step,
                    &format!("ended with {}:\n{}", ran.code, ran.text),
                ));
            }
            self.code = ran.code;
            let printed = self.stand_ins.as_shown(&ran.text);
            if !self.stand_ins.take(&step.prints, &printed) {
                return Err(mismatch(page, step, &format!("printed:\n{printed}")));
            }
        }
        if self.running.is_empty() {
            Ok(())
        } else {
            Err(format!("{}: a command in the background, and no `wait`", page.path).into())
        }
    }

    fn run(&mut self, line: &str) -> VerbResult<ShownOutput> {
        let real = self.stand_ins.as_typed(line);
        if let Some(real) = real.strip_suffix(" &") {
            self.running.push(self.stage.start(None, real)?);
            return Ok(ShownOutput { code: 0, text: String::new() });
        }
        match line {
            "wait" => {
                let mut all = ShownOutput { code: 0, text: String::new() };
                for running in self.running.drain(..) {
                    let ran = running.end()?;
                    all = ShownOutput { code: ran.code, text: all.text + &ran.text };
                }
                Ok(all)
            }
            "echo $?" => Ok(ShownOutput { code: 0, text: self.code.to_string() }),
            _ => self.stage.at_terminal(&real),
        }
    }
}

fn mismatch(page: &DocsPage, step: &DocsStep, what: &str) -> VerbError {
    let said = step.prints.join("\n");
    let DocsStep { number, line, .. } = step;
    format!("{}:{number}: `{line}` {what}\n--- the page says:\n{said}", page.path).into()
}

/// The placeholders of the pages and the real values.
struct PagePlaceholders {
    url: Option<String>,
    user: String,
    /// The handles of the page, and those they stand for.
    handles: BTreeMap<String, String>,
}

impl PagePlaceholders {
    /// Returns a line of a page with the real values.
    fn as_typed(&self, line: &str) -> String {
        let line = match &self.url {
            Some(url) => line.replace(DATABASE, url),
            None => line.to_owned(),
        };
        by_word(&line, |word| match word {
            PERSON => self.user.clone(),
            _ => self.handles.get(word).cloned().unwrap_or_else(|| word.into()),
        })
    }

    /// Returns the real output with placeholders, except for handles.
    fn as_shown(&self, text: &str) -> String {
        let text = match &self.url {
            Some(url) => text.replace(url, DATABASE),
            None => text.to_owned(),
        };
        by_word(&text, |word| if word == self.user { PERSON.into() } else { word.into() })
    }

    /// Returns true if the output is as expected; then its handles are known from now on.
    fn take(&mut self, says: &[String], printed: &str) -> bool {
        let says = says.join("\n");
        let exactly = self.compare(&says, printed);
        let found = exactly.or_else(|| self.compare(&squeezed(&says), &squeezed(&recent(printed))));
        found.map(|handles| self.handles = handles).is_some()
    }

    fn compare(&self, says: &str, printed: &str) -> Option<HandleMap> {
        let lines =
            |text: &'_ str| text.trim_end().lines().map(|l| l.trim_end().to_owned()).collect();
        let (says, printed): (Vec<String>, Vec<String>) = (lines(says), lines(printed));
        fits(&says, &printed, &self.handles)
    }
}

/// Replaces recent times by "just now".
fn recent(printed: &str) -> String {
    let seconds = (10..60).map(|n| format!("{n} seconds ago"));
    let minutes = (2..10).map(|n| format!("{n} minutes ago")).chain(["1 minute ago".into()]);
    seconds.chain(minutes).fold(printed.to_owned(), |text, time| text.replace(&time, "just now"))
}

/// Returns a text in which columns do not matter.
fn squeezed(text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

type HandleMap = BTreeMap<String, String>;

/// Compares lines; returns the handles as they are then known.
fn fits(says: &[String], printed: &[String], handles: &HandleMap) -> Option<HandleMap> {
    let Some((first, says_then)) = says.split_first() else {
        return printed.is_empty().then(|| handles.clone());
    };
    if first.trim() == "…" {
        return (0..=printed.len()).find_map(|skip| fits(says_then, &printed[skip..], handles));
    }
    let (line, printed_then) = printed.split_first()?;
    fits(says_then, printed_then, &line_fits(first, line, handles)?)
}

/// Compares one line from left to right.
fn line_fits(says: &str, printed: &str, handles: &HandleMap) -> Option<HandleMap> {
    if let Some(then) = says.strip_prefix('…') {
        let mut ends = printed.char_indices().map(|(at, _)| at).chain([printed.len()]);
        return ends.find_map(|at| line_fits(then, &printed[at..], handles));
    }
    let (word, real) = (first_word(says), first_word(printed));
    if is_stand_in(word) && real.len() >= word.len() && real[..1] == word[..1] {
        let known = handles.get(word);
        if known.is_some_and(|known| known != real) {
            return None;
        }
        let mut handles = handles.clone();
        handles.insert(word.into(), real.into());
        return line_fits(&says[word.len()..], &printed[real.len()..], &handles);
    }
    // A whole word at a time, so that no handle begins in the middle of one.
    let step = word.len().max(says.chars().next().map_or(0, char::len_utf8));
    match step {
        0 => printed.is_empty().then(|| handles.clone()),
        _ => line_fits(&says[step..], printed.strip_prefix(&says[..step])?, handles),
    }
}

/// True if the word is a handle as the pages write them: a letter, four characters, at least one of them a digit.
fn is_stand_in(word: &str) -> bool {
    word.len() == 5
        && word.starts_with(['g', 't', 'm', 'k', 'f'])
        && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_digit())
}

/// Returns the letters and digits a text begins with.
fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

/// Replaces word by word, keeping the text between them.
fn by_word(text: &str, with: impl Fn(&str) -> String) -> String {
    let mut rest = text;
    let mut made = String::with_capacity(text.len());
    while let Some(next) = rest.chars().next() {
        let word = first_word(rest);
        if word.is_empty() {
            made.push(next);
            rest = &rest[next.len_utf8()..];
        } else {
            made.push_str(&with(word));
            rest = &rest[word.len()..];
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stand_ins() -> PagePlaceholders {
        PagePlaceholders { url: None, user: "root".into(), handles: HandleMap::new() }
    }

    fn takes(stand_ins: &mut PagePlaceholders, says: &str, printed: &str) -> bool {
        stand_ins.take(&says.lines().map(Into::into).collect::<Vec<_>>(), printed)
    }

    #[test]
    fn steps_are_found_in_console_blocks_only() {
        let text = "$ no\n```sh\n$ no\n```\n```console\n$ sayso\nNothing.\n\n$ sayso init\n```\n";
        let found = steps(text).unwrap();
        let lines: Vec<_> = found.iter().map(|s| (s.number, s.line.as_str())).collect();
        assert_eq!(lines, [(6, "sayso"), (9, "sayso init")]);
        assert_eq!(found[0].prints, ["Nothing.", ""]);
        assert_eq!(steps("```console\nlost\n```\n"), Err(2));
    }

    #[test]
    fn what_is_shown_is_what_is_printed() {
        let mut s = stand_ins();
        assert!(takes(&mut s, "one\ntwo", "one\ntwo\n"));
        assert!(!takes(&mut s, "one", "one\ntwo\n"));
        assert!(!takes(&mut s, "", "one\n"));
        assert!(takes(&mut s, "", ""));
        assert!(takes(&mut s, "a … c\n…", "a b c\nx\ny\n"));
        assert!(takes(&mut s, "…\nlast", "x\ny\nlast"));
        assert!(!takes(&mut s, "a … c", "a b d"));
    }

    #[test]
    fn handles_are_bound_where_they_are_first_printed() {
        let mut s = stand_ins();
        assert!(takes(&mut s, "gate g7k2m waits", "gate gq0zz waits"));
        assert_eq!(s.as_typed("sayso show g7k2m --to ann"), "sayso show gq0zz --to root");
        assert!(takes(&mut s, "g7k2m", "gq0zz"));
        assert!(!takes(&mut s, "g7k2m", "gother"));
        assert!(!takes(&mut s, "t7k2m", "gq0zz"));
    }

    #[test]
    fn a_busy_machine_takes_longer_than_just_now() {
        let mut s = stand_ins();
        assert!(takes(
            &mut s,
            "  just now         asked\n  just now",
            "  12 seconds ago   asked\n  1 minute ago"
        ));
        assert!(!takes(&mut s, "just now", "2 hours ago"));
    }

    #[test]
    fn the_person_who_runs_it_is_ann() {
        assert_eq!(stand_ins().as_shown("by root, not rooted"), "by ann, not rooted");
    }
}
