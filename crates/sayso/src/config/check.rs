//! Reports all mistakes in a settings file at once, each with its line and a fix. For `sayso validate`; a command
//! that needs the settings stops at the first.

use super::{AgentSettings, ConfigFile, agents, settings_in_words};
use crate::exit::Failure;
use sayso_policy::FileDiagnostic;
use serde::de::DeserializeOwned;

/// The maximum number of mistakes reported for one file.
const MISTAKES_MAX: usize = 100;

/// Finds the mistakes in the settings of a space.
pub(crate) fn mistakes(file: &str, text: &str) -> Vec<FileDiagnostic> {
    let (settings, mut found) = read::<ConfigFile>(file, text, settings_in_words());
    let Some(ConfigFile { work, agents: own, notify, .. }) = settings else { return found };
    let mut note = |section: &str, key: &str, failure: Option<Failure>| {
        let Some(Failure { message, hint, .. }) = failure else { return };
        let (what, fix) = parted(&message, hint.as_deref().unwrap_or(settings_in_words()));
        let line = line_of(text, section, key);
        found.push(FileDiagnostic { file: file.into(), line, what, fix });
    };
    note("work", "turn", work.turn().err());
    note("work", "lease", work.lease().err());
    note("work", "retry", work.retry().err());
    note("work", "land", work.land().err());
    for (name, channel) in &notify {
        let (name, file, folder) = (name.clone(), channel.clone(), std::path::PathBuf::new());
        let settings = super::ChannelSettings { name, file, folder };
        note("notify", &settings.name, settings.channel(&[]).err());
    }
    for (name, agent) in &own {
        note("agents", name, agents(&[(name.clone(), agent.clone())].into()).err());
    }
    if !is_agent(&own, &work.agent) {
        let known = agents(&Default::default()).unwrap_or_default();
        let known: Vec<_> = known.keys().chain(own.keys()).map(String::as_str).collect();
        let what = format!("there is no agent {:?}", work.agent);
        let fix = format!("take one of {}, or add it to `agents`", known.join(", "));
        let line = line_of(text, "work", "agent");
        found.push(FileDiagnostic { file: file.into(), line, what, fix });
    }
    found.sort_by_key(|mistake| mistake.line);
    found
}

fn is_agent(own: &std::collections::BTreeMap<String, AgentSettings>, name: &str) -> bool {
    let known = agents(&Default::default()).unwrap_or_default();
    own.contains_key(name) || known.contains_key(name)
}

/// Parses YAML and continues after a mistake: the broken entry is removed, and the rest is parsed again. Returns the
/// value that could be parsed in the end, if there is one.
pub(crate) fn read<T: DeserializeOwned>(
    file: &str,
    text: &str,
    settings: &str,
) -> (Option<T>, Vec<FileDiagnostic>) {
    let mut lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<FileDiagnostic> = vec![];
    while found.len() < MISTAKES_MAX {
        let error = match serde_saphyr::from_str::<T>(&lines.join("\n")) {
            Ok(value) => return (Some(value), found),
            Err(error) => error,
        };
        let line = error.location().map(|at| at.line()).filter(|line| *line > 0);
        let (what, fix) = in_words(&error, settings);
        let is_known = found.iter().any(|mistake| mistake.line == line);
        if !is_known {
            found.push(FileDiagnostic { file: file.into(), line, what, fix });
        }
        let at = line.and_then(|line| usize::try_from(line).ok()).filter(|at| *at <= lines.len());
        match at {
            // A line without a key is no entry, and removing the next line would not help.
            Some(at) if !is_known && lines[at - 1].contains(':') => take_out(&mut lines, at - 1),
            _ => break,
        }
    }
    (None, found)
}

/// Removes an entry with everything that belongs to it; the lines below keep their numbers.
fn take_out(lines: &mut [&str], at: usize) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(lines[at]);
    lines[at] = "";
    let below = lines[at + 1..].iter_mut();
    below
        .take_while(|line| line.trim().is_empty() || indent(line) > depth)
        .for_each(|line| *line = "");
}

/// The message of a parse error, and the expected form. It never quotes a line of the file: the address of a database
/// may hold a password.
pub(crate) fn in_words(error: &serde_saphyr::Error, settings: &str) -> (String, String) {
    let said = error.without_snippet().to_string();
    let said = said.lines().next().unwrap_or_default();
    // `error: line 9 column 1: …`: the line is reported separately.
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let said = match said.split_once(": ") {
        Some((place, rest)) if place.starts_with("line ") => rest,
        _ => said,
    };
    let said = said.split(" at line ").next().unwrap_or(said);
    if said.contains("://") {
        return ("this is not a list of settings".into(), settings.into());
    }
    if let Some((what, expected)) = said.split_once(", expected ") {
        return (what.into(), format!("write {expected}"));
    }
    // The parser's own messages are about the parser.
    let (what, fix) = match said {
        "expected mapping start" => ("settings are needed here", "write them as `name: value`"),
        "expected string scalar" => ("a text is needed here", "put it in quotes"),
        "expected sequence start" => ("a list is needed here", "write it as `[one, two]`"),
        _ if said.starts_with("invalid u") => {
            ("this is no number that can be", "write a whole number")
        }
        _ => return parted(said, settings),
    };
    (what.into(), fix.into())
}

/// Splits a message of the form `what; fix`.
pub(crate) fn parted(message: &str, fallback: &str) -> (String, String) {
    let (what, fix) = message.split_once("; ").unwrap_or((message, fallback));
    (what.into(), fix.into())
}

/// The line of a key in a section, or of the section if both share a line.
pub(crate) fn line_of(text: &str, section: &str, key: &str) -> Option<u64> {
    let is = |line: &str, key: &str| {
        let rest = line.trim_start().trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':'))
    };
    let lines = || text.lines().zip(1_u64..);
    let (_, start) = lines().find(|(line, _)| !line.starts_with(' ') && is(line, section))?;
    let inside = lines().skip(usize::try_from(start).ok()?);
    let inside = inside.take_while(|(line, _)| {
        line.starts_with(' ') || line.starts_with('#') || line.trim().is_empty()
    });
    let found = inside.into_iter().find(|(line, _)| is(line, key)).map(|(_, number)| number);
    found.or(Some(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        mistakes("c.yaml", text).iter().map(|m| format!("{m}\n")).collect()
    }

    #[test]
    fn all_mistakes_are_told_with_line_and_fix() {
        let fine = super::super::DEFAULT.replace("{space}", "x").replace("{store}", "sqlite");
        assert_eq!(said(&fine), "");
        let text = "space: x\nstoer: y\nwork:\n  jobs: many\n  threshold: 7\n  turn: soon\n  \
                    land: command\n  agent: nobody\nagents:\n  mine: {adapter: magic}\n  \
                    yours:\n    adapter: command\n    program: x\n    modle: x\nnotify:\n  bell: {}\n";
        let said = said(text);
        for expected in [
            "c.yaml:2: unknown field `stoer`; write one of",
            "c.yaml:4: this is no number that can be; write a whole number",
            "c.yaml:5: 7 is no threshold; take 0 (never)",
            "c.yaml:6: work.turn: \"soon\" is no duration; write 30s",
            "c.yaml:7: land is command",
            "c.yaml:8: there is no agent \"nobody\"; take one of",
            "c.yaml:10: agent mine",
            "c.yaml:14: unknown field `modle`; write one of adapter",
            "c.yaml:16: channel bell: it is a command or a webhook; write one of the two",
        ] {
            assert!(said.contains(expected), "{expected}:\n{said}");
        }
        assert_eq!(said.lines().count(), 9, "{said}");
    }

    #[test]
    fn what_is_no_yaml_is_one_mistake_and_no_secret_is_told() {
        for text in ["work: [", "store: [postgres://ann:secret@db/x", "- a\n- b\n"] {
            let said = said(text);
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(!said.contains("secret"), "{said}");
        }
    }
}
