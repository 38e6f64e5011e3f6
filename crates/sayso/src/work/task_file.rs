//! Task files: a task as markdown, with settings in front.

use crate::config::check;
use crate::exit::{Failure, Result};
use sayso_core::{AskThreshold, Code, GateKind};
use sayso_policy::FileDiagnostic;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The most bytes read from a task file.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;

const SETTINGS: &str = "the settings of a task file are: title, role, agent, threshold, priority, \
                        labels, requires, parent, blocked-by, size, type";

/// A task as a file describes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskFile {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) settings: FrontMatter,
}

/// The settings at the top of the file (front matter).
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct FrontMatter {
    title: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) agent: Option<String>,
    #[serde(alias = "interactionThreshold", alias = "interaction-threshold")]
    pub(crate) threshold: Option<AskThreshold>,
    pub(crate) priority: Option<u8>,
    labels: BTreeSet<String>,
    requires: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) blocked_by: Vec<String>,
    pub(crate) size: Option<String>,
    #[serde(rename = "type")]
    pub(crate) sort: Option<String>,
}

impl TaskFile {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        use std::io::Read;
        let shown = path.display();
        let wrong =
            |why: &dyn std::fmt::Display| Failure::new(Code::TaskFile, format!("{shown}: {why}"));
        let file = std::fs::File::open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Failure::new(Code::NotFound, format!("there is no file {shown}"))
            }
            _ => wrong(&error),
        })?;
        let mut text = String::new();
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|e| wrong(&e))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(wrong(&format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        Self::parse(&text, &path.display().to_string())
    }

    fn parse(text: &str, name: &str) -> Result<Self> {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (front, body) = split(&text)
            .map_err(|why| Failure::new(Code::TaskFile, format!("{name}: {why}")).hint(SETTINGS))?;
        let settings: FrontMatter = match front.trim() {
            "" => FrontMatter::default(),
            _ => serde_saphyr::from_str(&front).map_err(|error| wrong(name, &error))?,
        };
        settings.check(name)?;
        let (heading, rest) = heading(&body);
        let title = settings.title.clone().or(heading);
        let title = title.filter(|title| !title.trim().is_empty()).ok_or_else(|| {
            Failure::new(Code::TaskFile, format!("{name} has no title"))
                .hint("begin it with a heading: # What is to be done")
        })?;
        Ok(Self { title: title.trim().into(), body: rest.trim().into(), settings })
    }

    /// The settings as labels, by which the worker finds them.
    pub(crate) fn labels(&self) -> BTreeSet<String> {
        let FrontMatter { role, agent, threshold, labels, .. } = &self.settings;
        let said = [
            role.as_ref().map(|role| format!("role:{role}")),
            agent.as_ref().map(|agent| format!("agent:{agent}")),
            threshold.map(|threshold| format!("threshold:{}", threshold.level())),
        ];
        labels.iter().cloned().chain(said.into_iter().flatten()).collect()
    }

    pub(crate) fn requires(&self) -> Option<GateKind> {
        self.settings.requires.as_deref().and_then(|kind| kind.parse().ok())
    }
}

impl FrontMatter {
    fn check(&self, name: &str) -> Result<()> {
        match self.flaws().into_iter().next() {
            Some((_, why)) => {
                Err(Failure::new(Code::TaskFile, format!("{name}: {why}")).hint(SETTINGS))
            }
            None => Ok(()),
        }
    }

    /// The invalid settings, with reasons.
    fn flaws(&self) -> Vec<(&'static str, String)> {
        let kind = self.requires.as_deref().map(str::parse::<GateKind>);
        let kind =
            kind.and_then(std::result::Result::err).map(|error| format!("requires: {error}"));
        let priority = self.priority.filter(|priority| *priority > 4);
        let priority = priority.map(|given| format!("priority: {given} is not one of 0 to 4"));
        let all = [("requires", kind), ("priority", priority)];
        all.into_iter().filter_map(|(key, why)| Some((key, why?))).collect()
    }
}

/// Reports all mistakes in a task file at once. `roles` and `agents` are the existing ones, if they are known.
pub(crate) fn mistakes(
    file: &str,
    text: &str,
    roles: Option<&BTreeSet<String>>,
    agents: Option<&BTreeSet<String>>,
) -> Vec<FileDiagnostic> {
    let mistake = |line: Option<u64>, what: String, fix: String| {
        let file = file.to_owned();
        FileDiagnostic { file, line, what, fix }
    };
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let (front, body) = match split(&text) {
        Ok(parts) => parts,
        Err(why) => return vec![mistake(None, why.into(), "add the line ---".into())],
    };
    let (settings, mut found) = match front.trim() {
        "" => (Some(FrontMatter::default()), vec![]),
        _ => check::read::<FrontMatter>(file, &front, SETTINGS),
    };
    let line = |key: &str| check::line_of(&front, key, key);
    if let Some(settings) = &settings {
        for (key, why) in settings.flaws() {
            let (what, fix) = check::parted(&why, SETTINGS);
            found.push(mistake(line(key), what, fix));
        }
        let named = [("role", &settings.role, roles), ("agent", &settings.agent, agents)];
        for (key, name, known) in named {
            let (Some(name), Some(known)) = (name, known) else { continue };
            if !known.contains(name) {
                let all: Vec<_> = known.iter().map(String::as_str).collect();
                let fix = format!("take one of {}", all.join(", "));
                found.push(mistake(line(key), format!("there is no {key} {name:?}"), fix));
            }
        }
    }
    let title = settings.and_then(|settings| settings.title).or_else(|| heading(&body).0);
    if title.is_none_or(|title| title.trim().is_empty()) {
        let fix = "begin it with a heading: # What is to be done".into();
        found.push(mistake(None, "it has no title".into(), fix));
    }
    found.sort_by_key(|mistake| mistake.line);
    found
}

/// Splits front matter and body. Unterminated front matter is an error: its settings, such as a sign-off, must not
/// get lost. The lines before the settings are kept as blank ones, so that an error names the right line.
fn split(text: &str) -> std::result::Result<(String, String), &'static str> {
    let is_fence = |line: &&str| matches!(line.trim_end(), "---" | "...");
    let lines: Vec<_> = text.lines().collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
    if lines.get(first).is_none_or(|line| line.trim_end() != "---") {
        return Ok((String::new(), text.to_owned()));
    }
    let rest = &lines[first + 1..];
    let end =
        rest.iter().position(is_fence).ok_or("its settings are not closed with a line ---")?;
    let blank = "\n".repeat(first + 1);
    Ok((format!("{blank}{}", rest[..end].join("\n")), rest[end + 1..].join("\n")))
}

/// The first heading, and the text without it.
fn heading(body: &str) -> (Option<String>, String) {
    let is_heading = |line: &&str| line.starts_with("# ");
    let Some(found) = body.lines().find(is_heading) else {
        let first = body.lines().find(|line| !line.trim().is_empty());
        return (first.map(str::to_owned), body.to_owned());
    };
    (Some(found[2..].to_owned()), body.replacen(found, "", 1))
}

fn wrong(name: &str, error: &serde_saphyr::Error) -> Failure {
    let why = error.without_snippet().to_string();
    let line = error.location().map(|at| format!(", line {}", at.line())).unwrap_or_default();
    Failure::new(Code::TaskFile, format!("{name}{line}: {why}")).hint(SETTINGS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_task() {
        let text = "---\nthreshold: 4\nrole: test\nlabels: [web]\nrequires: review\n---\n\n# Fix it\n\nAll of it.\n";
        let task = TaskFile::parse(text, "x.md").unwrap();
        assert_eq!((task.title.as_str(), task.body.as_str()), ("Fix it", "All of it."));
        let labels: Vec<_> = task.labels().into_iter().collect();
        assert_eq!(labels, ["role:test", "threshold:4", "web"]);
        assert_eq!(task.requires(), Some(GateKind::Review));
        let bare = TaskFile::parse("Just do it\n\nplease", "x.md").unwrap();
        assert_eq!((bare.title.as_str(), bare.settings), ("Just do it", FrontMatter::default()));
    }

    #[test]
    fn settings_count_however_the_file_was_saved() {
        for text in [
            "---\r\nrequires: approval\r\n---\r\n# X\r\n",
            "\u{feff}---\nrequires: approval\n---\n# X\n",
            "\n\n---\nrequires: approval\n---\n# X\n",
            "--- \nrequires: approval\n---  \n# X\n",
            "---\nrequires: approval\n...\n# X\n",
        ] {
            let task = TaskFile::parse(text, "x.md").unwrap();
            assert_eq!(
                (task.requires(), task.title.as_str()),
                (Some(GateKind::Approval), "X"),
                "{text:?}"
            );
        }
        for open in ["---\nrequires: approval\n# X\n", "---\n", "---\n# X"] {
            assert_eq!(TaskFile::parse(open, "x.md").unwrap_err().code, Code::TaskFile, "{open:?}");
        }
        let late =
            TaskFile::parse("\n---\nrole: code\nthreshold: 7\n---\n# X\n", "x.md").unwrap_err();
        assert!(late.message.contains("line 4"), "{}", late.message);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let says = |text: &str| TaskFile::parse(text, "x.md").unwrap_err().message;
        let seven = says("---\nrole: code\nthreshold: 7\n---\n# Fix it\n");
        assert!(seven.contains("line 3") && seven.contains("5 (always)"), "{seven}");
        let unknown = says("---\ntitel: x\n---\n# Fix it\n");
        assert!(unknown.contains("titel") && unknown.contains("line 2"), "{unknown}");
        for wrong in [
            "---\npriority: high\n---\nx",
            "---\npriority: 9\n---\nx",
            "---\nlabels: 5\n---\nx",
            "---\nrequires: luck\n---\nx",
            "",
            "---\nrole: x\n---\n  \n",
        ] {
            assert_eq!(TaskFile::parse(wrong, "x.md").unwrap_err().code, Code::TaskFile, "{wrong}");
        }
    }
}
