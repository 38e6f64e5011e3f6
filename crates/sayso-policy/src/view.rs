//! A request prepared for matching: the command line parsed, paths normalised, each once.

use crate::expression::{ConditionContext, ConditionValue};
use crate::request::{AnswerCounts, PolicyRequest, RequestedAction, ToolCall};
use crate::shell::{CommandLine, ShellWord, SimpleCommand, WordShape};
use crate::tools;
use std::cell::{OnceCell, RefCell};

/// The most words that the braces of one word stand for; of what is beyond, all may be meant.
const BRACES_MAX: usize = 64;

pub(crate) struct RequestView<'a> {
    pub(crate) request: &'a PolicyRequest,
    /// The command line, if there is one.
    pub(crate) line: Option<CommandLine>,
    paths: OnceCell<Vec<RequestPath>>,
    /// The variables of conditions; only for `expression`.
    pub(crate) facts: RefCell<ConditionContext<'a>>,
}

/// A path of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestPath {
    /// The path without `.`, `..` and the root.
    pub(crate) text: String,
    pub(crate) source: PathSource,
    /// True if it is certain that this path is meant.
    pub(crate) is_certain: bool,
    /// True if it is a glob of file names.
    pub(crate) is_pattern: bool,
    /// True if a part of it is known only when it runs.
    pub(crate) is_open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathSource {
    /// An argument of the tool.
    Given,
    /// A redirection of the command line, by its index.
    Redirection(usize),
    /// A word of the command line that may be a path.
    Argument,
}

impl<'a> RequestView<'a> {
    pub(crate) fn of(request: &'a PolicyRequest) -> Self {
        let line = match &request.subject {
            RequestedAction::Tool(ToolCall { tool, command: Some(command), .. }) => {
                Some(CommandLine::read_for(command, tools::is_foreign_shell(tool)))
            }
            RequestedAction::Tool(_)
            | RequestedAction::Transition(_)
            | RequestedAction::Lifecycle(_)
            | RequestedAction::Result(_)
            | RequestedAction::Ask(_) => None,
        };
        Self { request, line, paths: OnceCell::new(), facts: RefCell::default() }
    }

    pub(crate) fn tool(&self) -> Option<&'a ToolCall> {
        match &self.request.subject {
            RequestedAction::Tool(call) => Some(call),
            RequestedAction::Transition(_)
            | RequestedAction::Lifecycle(_)
            | RequestedAction::Result(_)
            | RequestedAction::Ask(_) => None,
        }
    }

    /// Returns the reason why the command line is unclear.
    pub(crate) fn unclear(&self) -> Option<&str> {
        self.line.as_ref().and_then(CommandLine::unclear)
    }

    /// Returns the tool, if its effects are not known.
    pub(crate) fn unknown_tool(&self) -> Option<&'a str> {
        self.tool().map(|call| call.tool.as_str()).filter(|tool| !tools::is_known(tool))
    }

    pub(crate) fn paths(&self) -> &[RequestPath] {
        self.paths.get_or_init(|| self.all_paths())
    }

    fn all_paths(&self) -> Vec<RequestPath> {
        let Some(call) = self.tool() else { return vec![] };
        let root = call.root.as_deref();
        let seen = |text: &str, source, is_certain| RequestPath {
            text: normal(text, root),
            source,
            is_certain,
            is_pattern: text.contains(['*', '?', '[', '{']),
            is_open: false,
        };
        let mut paths: Vec<_> =
            call.paths.iter().map(|path| seen(path, PathSource::Given, true)).collect();
        let Some(line) = &self.line else { return paths };
        for (at, file) in line.files.iter().enumerate() {
            let is_relative = !file.path.text.starts_with(['/', '~']);
            let is_certain = file.path.shape == WordShape::Fixed && !(line.moves && is_relative);
            paths.push(seen(&file.path.text, PathSource::Redirection(at), is_certain));
        }
        let words = line.commands.iter().flat_map(|command| command.words.iter().skip(1));
        for word in words.chain(&line.values) {
            let mut texts = vec![];
            candidates(word, &mut texts);
            let is_open = word.outline.is_some();
            let named = texts.iter().map(|text| seen(text, PathSource::Argument, false));
            paths.extend(named.map(|path| RequestPath { is_open, ..path }));
        }
        // Code that is not parsed may open the files it names.
        let mentions = line.commands.iter().flat_map(|command| &command.mentions);
        let named = mentions.filter(|word| !word.text.is_empty());
        paths.extend(named.map(|word| seen(&word.text, PathSource::Argument, false)));
        paths
    }

    /// Returns one variable of conditions; empty if the request does not have it.
    pub(crate) fn fact(&self, name: &str) -> ConditionValue<'a> {
        use ConditionValue::{Map, Text, Whole};
        let PolicyRequest { subject, agent, task, time, history } = self.request;
        Map(match (name, subject) {
            ("agent", _) => vec![
                ("name", Text(&agent.name)),
                ("role", Text(&agent.role)),
                ("launcher", Text(agent.launcher.as_deref().unwrap_or_default())),
            ],
            ("task", _) => task.as_ref().map_or(vec![], |task| {
                vec![
                    ("handle", Text(&task.handle)),
                    ("labels", ConditionValue::texts(&task.labels)),
                    ("priority", Whole(task.priority.into())),
                    ("type", Text(&task.sort)),
                    ("status", Text(&task.status)),
                    ("parent_labels", ConditionValue::texts(&task.parent_labels)),
                ]
            }),
            ("time", _) => time.as_ref().map_or(vec![], |time| {
                vec![
                    ("hour", Whole(time.hour.into())),
                    ("minute", Whole(time.minute.into())),
                    ("weekday", Text(&time.weekday)),
                    ("date", Text(&time.date)),
                    ("zone", Text(&time.zone)),
                ]
            }),
            ("history", _) => vec![("hour", counts(history.hour)), ("day", counts(history.day))],
            ("tool", RequestedAction::Tool(call)) => self.tool_facts(call),
            ("transition", RequestedAction::Transition(t)) => {
                vec![("from", Text(&t.from)), ("to", Text(&t.to))]
            }
            ("lifecycle", RequestedAction::Lifecycle(l)) => {
                vec![("action", Text(l.action.as_str())), ("target", Text(&l.target))]
            }
            ("result", RequestedAction::Result(report)) => {
                let confidence = report.confidence.map(|percent| Whole(percent.into()));
                let confidence = confidence.map(|percent| ("confidence", percent));
                [("outcome", Text(&report.outcome))].into_iter().chain(confidence).collect()
            }
            ("ask", RequestedAction::Ask(ask)) => {
                vec![("kind", Text(ask.kind.as_str())), ("question", Text(&ask.question))]
            }
            _ => vec![],
        })
    }

    fn tool_facts(&self, call: &'a ToolCall) -> Vec<(&'static str, ConditionValue<'a>)> {
        use ConditionValue::{Json, List, Map, Owned, Text, Truth};
        let root = call.root.as_deref();
        let (commands, files) = match &self.line {
            Some(line) => (line.commands.as_slice(), line.files.as_slice()),
            None => (&[][..], &[][..]),
        };
        let command = |command: &SimpleCommand| {
            let words = command.words.iter().map(|word| Owned(word.text.clone())).collect();
            let program = command.program().unwrap_or_default().to_owned();
            let text = Owned(command.in_words());
            Map(vec![("program", Owned(program)), ("words", List(words)), ("text", text)])
        };
        let written = files.iter().filter(|file| file.writes);
        vec![
            ("name", Text(&call.tool)),
            ("args", Json(&call.arguments)),
            ("command", Text(call.command.as_deref().unwrap_or_default())),
            ("clear", Truth(self.unclear().is_none())),
            ("commands", List(commands.iter().map(command).collect())),
            ("paths", List(call.paths.iter().map(|path| Owned(normal(path, root))).collect())),
            ("writes", List(written.map(|file| Owned(normal(&file.path.text, root))).collect())),
        ]
    }
}

/// The paths that a word may be or hold: the word, what an option or a setting in it gives (`if=file`, `@file`,
/// `host:file`), and each word that its braces stand for. A part that is not known is a `*`.
fn candidates(word: &ShellWord, found: &mut Vec<String>) {
    let is_known = matches!(word.shape, WordShape::Fixed | WordShape::Glob);
    let outline = match &word.outline {
        Some(outline) => outline.as_str(),
        None if is_known => word.text.as_str(),
        None => return,
    };
    let texts = if is_known { vec![outline.to_owned()] } else { without_braces(outline) };
    for text in texts {
        // A pattern without any literal part would match every name, and ask everywhere.
        let is_told = |text: &str| text.contains(|c: char| !"*?/".contains(c));
        let starts = text.match_indices(['=', '@', ':']).map(|(at, _)| at + 1);
        let values = starts.filter_map(|at| text.get(at..));
        let attached = text.strip_prefix('-').and_then(|rest| rest.get(1..));
        let all = [Some(text.as_str()).filter(|text| !text.starts_with('-')), attached];
        let told = all.into_iter().flatten().chain(values).filter(|t| is_told(t) || is_known);
        // An unknown part may be nothing: `$x.env`.
        found.extend(told.filter(|text| !text.is_empty()).flat_map(|text| {
            let bare = (!is_known && text.starts_with('*')).then(|| text.replacen('*', "", 1));
            [Some(text.to_owned()), bare.filter(|text| !text.is_empty())].into_iter().flatten()
        }));
    }
}

/// The words that the braces of a word stand for.
fn without_braces(text: &str) -> Vec<String> {
    let mut left = vec![text.to_owned()];
    let mut done = vec![];
    while let Some(text) = left.pop() {
        let Some((before, inside, behind)) = first_braces(&text) else {
            done.push(text);
            continue;
        };
        if left.len() + done.len() >= BRACES_MAX || inside.contains("..") {
            left.push(format!("{before}*{behind}"));
            continue;
        }
        left.extend(inside.split(',').map(|part| format!("{before}{part}{behind}")));
    }
    done
}

/// The first `{a,b}` without braces in it, and what is around it.
fn first_braces(text: &str) -> Option<(&str, &str, &str)> {
    let mut open = None;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open = Some(at),
            '}' => {
                if let Some(start) = open.take() {
                    let inside = &text[start + 1..at];
                    if inside.contains(',') || inside.contains("..") {
                        return Some((&text[..start], inside, &text[at + 1..]));
                    }
                }
            }
            _ => {}
        }
    }
    None
}

fn counts(counts: AnswerCounts) -> ConditionValue<'static> {
    ConditionValue::Map(vec![
        ("asked", ConditionValue::Whole(counts.asked.into())),
        ("approved", ConditionValue::Whole(counts.approved.into())),
        ("denied", ConditionValue::Whole(counts.denied.into())),
    ])
}

/// Normalises a path, relative to the root if it is below it. Links are not resolved: no code here reads the disk.
pub(crate) fn normal(path: &str, root: Option<&str>) -> String {
    let path = without_detours(path);
    let Some(root) = root.map(without_detours).filter(|root| root != "/" && root != ".") else {
        return path;
    };
    match path.strip_prefix(&root) {
        Some("") => ".".into(),
        Some(below) => match below.strip_prefix('/') {
            Some(below) => below.into(),
            None => path,
        },
        None => path,
    }
}

fn without_detours(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = vec![];
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if is_absolute => {}
            _ => parts.push(part),
        }
    }
    match (is_absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".into(),
        (false, false) => parts.join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_detours() {
        for (path, root, expected) in [
            ("src/../.env", None, ".env"),
            ("./a//b/", None, "a/b"),
            ("../x", None, "../x"),
            ("a/../../x", None, "../x"),
            ("/a/../../x", None, "/x"),
            ("/home/p/src/a", Some("/home/p"), "src/a"),
            ("/home/p/../q/a", Some("/home/p"), "/home/q/a"),
            ("/home/pq", Some("/home/p"), "/home/pq"),
            ("/home/p", Some("/home/p/"), "."),
            ("~/.ssh/id", Some("/home/p"), "~/.ssh/id"),
            ("", None, "."),
        ] {
            assert_eq!(normal(path, root), expected, "{path}");
        }
    }
}
