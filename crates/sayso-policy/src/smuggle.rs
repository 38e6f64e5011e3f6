//! Bypass tests: known ways to hide a command from the rule about it, tried against policies.

use crate::command::CommandPattern;
use crate::demands::PolicyEffect;
use crate::request::{PolicyRequest, RequestedAction, RequestingAgent, RuleSubject, ToolCall};
use crate::ruling::PolicySet;
use serde_json::Value;

/// The bypass templates, as a file that people can read.
const WAYS: &str = include_str!("../tables/smuggle.txt");

/// The most commands that are tried with every template.
const TARGETS_MAX: usize = 200;

/// The result of the bypass tests.
#[derive(Debug, Clone, Default)]
pub struct BypassReport {
    /// The commands that rules ask about or deny, one for each pattern.
    pub targets: Vec<String>,
    /// The number of lines that were tried.
    pub tried: usize,
    /// The lines that no rule stops.
    pub passed: Vec<BypassLine>,
    /// Command patterns that were not tried: without an example line, not stopped as such, or beyond the limit.
    pub left_out: Vec<String>,
}

/// One line that hides a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BypassLine {
    /// The command that a rule names.
    pub target: String,
    /// The section of its template.
    pub section: String,
    pub line: String,
}

/// A section of templates.
struct TemplateSection<'a> {
    title: &'a str,
    lines: Vec<&'a str>,
}

/// The commands that a section is for.
enum SectionPurpose<'a> {
    Any,
    Command(&'a str),
    /// Files that rules speak of, or those of them that are no absolute path.
    Path {
        is_relative: bool,
    },
    /// Bypasses that policies are known not to see.
    Beyond,
}

impl<'a> TemplateSection<'a> {
    fn all(text: &'a str) -> Vec<Self> {
        let mut sections: Vec<Self> = vec![];
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(title) = line.strip_prefix("== ") {
                sections.push(Self { title, lines: vec![] });
            } else if let Some(section) = sections.last_mut() {
                section.lines.push(line);
            }
        }
        sections
    }

    fn purpose(&self) -> SectionPurpose<'a> {
        match self.title.split(':').next().unwrap_or_default() {
            "any" => SectionPurpose::Any,
            "beyond" => SectionPurpose::Beyond,
            "path" => SectionPurpose::Path { is_relative: false },
            "relative path" => SectionPurpose::Path { is_relative: true },
            command => SectionPurpose::Command(command),
        }
    }
}

/// Fills a command into a template.
fn filled(way: &str, target: &str) -> String {
    let (program, arguments) = target.split_once(' ').unwrap_or((target, ""));
    let first = program.chars().next().map_or(0, char::len_utf8);
    let line = way
        .replace("{}", target)
        .replace("{q}", &format!("'{target}'"))
        .replace("{p}", program)
        .replace("{a}", arguments)
        .replace("{1}", &program[..first])
        .replace("{2}", &program[first..])
        .replace("{^}", &program.to_uppercase());
    line.replace('⏎', "\n")
}

/// Returns the lines for a command that a policy is to stop.
pub fn smuggling_lines(target: &str) -> Vec<BypassLine> {
    lines(target, false)
}

/// Returns the lines for a command that policies are known to let pass, under any rules about commands.
pub fn lines_beyond(target: &str) -> Vec<BypassLine> {
    lines(target, true)
}

fn lines(target: &str, is_beyond: bool) -> Vec<BypassLine> {
    let sections = TemplateSection::all(WAYS);
    let meant = sections.iter().filter(|section| match section.purpose() {
        SectionPurpose::Any => !is_beyond,
        SectionPurpose::Command(command) => !is_beyond && target == command,
        SectionPurpose::Beyond => is_beyond,
        SectionPurpose::Path { .. } => false,
    });
    let line = |title: &str, way: &str| BypassLine {
        target: target.into(),
        section: title.into(),
        line: filled(way, target),
    };
    meant.flat_map(|s| s.lines.iter().map(move |way| line(s.title, way))).collect()
}

/// The lines that do something with a file that a policy is to guard.
fn path_lines(path: &str) -> Vec<BypassLine> {
    let is_absolute = path.starts_with(['/', '~']);
    // The cut decides how much of the name the beginning shows.
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let first = path[name..].chars().next().map_or(0, char::len_utf8);
    let (head, tail) = path.split_at(name + first);
    let fill = |way: &str| {
        let line = way.replace("{f}", path).replace("{1}", head).replace("{2}", tail);
        line.replace('⏎', "\n")
    };
    let sections = TemplateSection::all(WAYS);
    let meant = sections.iter().filter(|section| match section.purpose() {
        SectionPurpose::Path { is_relative } => !is_relative || !is_absolute,
        SectionPurpose::Any | SectionPurpose::Command(_) | SectionPurpose::Beyond => false,
    });
    let line = |title: &str, way: &str| BypassLine {
        target: path.into(),
        section: title.into(),
        line: fill(way),
    };
    meant.flat_map(|s| s.lines.iter().map(move |way| line(s.title, way))).collect()
}

fn call(command: &str) -> PolicyRequest {
    let command = Some(command.to_owned());
    let call =
        ToolCall { tool: "Bash".into(), command, arguments: Value::Null, ..ToolCall::default() };
    PolicyRequest::new(RequestedAction::Tool(call), RequestingAgent::default())
}

impl PolicySet {
    /// Tries all known bypasses for the commands that these policies ask about or deny.
    pub fn smuggle(&self) -> BypassReport {
        let mut smuggled = BypassReport::default();
        let stops = |line: &str| self.ruling(&call(line)).effect != PolicyEffect::Allow;
        for pattern in self.objections() {
            match pattern.example() {
                Some(target) if smuggled.targets.contains(&target) => {}
                Some(target) if smuggled.targets.len() < TARGETS_MAX && stops(&target) => {
                    smuggled.targets.push(target);
                }
                Some(_) | None => smuggled.left_out.push(pattern.in_words()),
            }
        }
        // Some rules about files are for other tools than a shell.
        let mut paths: Vec<String> = vec![];
        for path in self.guarded_paths() {
            if !paths.contains(&path) && paths.len() < TARGETS_MAX && stops(&format!("cat {path}"))
            {
                paths.push(path);
            }
        }
        let commands = smuggled.targets.iter().flat_map(|target| smuggling_lines(target));
        for line in commands.chain(paths.iter().flat_map(|path| path_lines(path))) {
            smuggled.tried += 1;
            if !stops(&line.line) {
                smuggled.passed.push(line);
            }
        }
        smuggled.targets.extend(paths);
        smuggled
    }

    /// A path for each pattern of rules that ask about files or deny them, if it can be written as a plain word.
    fn guarded_paths(&self) -> Vec<String> {
        let rules = self.files().flat_map(|policy| &policy.rules);
        let rules =
            rules.filter(|rule| rule.on == RuleSubject::Tool && rule.then != PolicyEffect::Allow);
        let patterns = rules.flat_map(|rule| rule.matches.path.iter().flatten());
        let examples = patterns.map(|pattern| {
            let text = pattern.pattern.text.replace("**/", "");
            text.trim_end_matches("/**").replace(['*', '?'], "x")
        });
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./~+-".contains(c);
        examples.filter(|path| !path.is_empty() && path.chars().all(is_plain)).collect()
    }

    /// Returns the command patterns of rules that ask or deny.
    fn objections(&self) -> impl Iterator<Item = &CommandPattern> {
        let rules = self.files().flat_map(|policy| &policy.rules);
        let rules =
            rules.filter(|rule| rule.on == RuleSubject::Tool && rule.then != PolicyEffect::Allow);
        rules.flat_map(|rule| rule.matches.command.iter().flatten())
    }
}
