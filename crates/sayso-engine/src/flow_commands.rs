//! The commands and agents of a kept workflow, in words: for the cards of its questions, and for whoever resumes it.

use sayso_core::flow::Flow;
use sayso_core::text::shorten;
use sayso_policy::yaml::{self, Node, Tree};
use serde::Deserialize;

/// The most lines that are told, and the longest of them. Beyond that their number is told.
const LINES_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 300;

/// A workflow as it is kept with a flow.
#[derive(Deserialize)]
struct KeptText {
    text: String,
}

/// The commands and agents of a flow, phase by phase; none where a program leads it. A text that cannot be read is told as that: it is never
/// left out.
pub fn flow_commands(flow: &Flow) -> Option<Vec<String>> {
    let kept = flow.started.definition.as_deref()?;
    let text = serde_json::from_str::<KeptText>(kept).map(|kept| kept.text);
    let lines = text.ok().and_then(|text| yaml::read(&text).ok()).and_then(|node| lines(&node));
    let mut lines = lines.unwrap_or_else(|| vec!["the workflow cannot be read".to_owned()]);
    if lines.is_empty() {
        lines.push("no command and no agent".to_owned());
    }
    let more = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    lines.iter_mut().for_each(|line| *line = shorten(line, LINE_CHARS_MAX));
    lines.extend((more > 0).then(|| format!("and {more} more: see sayso flow show")));
    Some(lines)
}

fn lines(workflow: &Node) -> Option<Vec<String>> {
    let Tree::List(phases) = field(workflow, "phases")? else { return None };
    let mut lines = vec![];
    for phase in phases {
        let name = text(phase, "name").unwrap_or_else(|| "?".to_owned());
        lines.extend(
            text(phase, "run").map(|command| format!("{name} runs: {}", one_line(&command))),
        );
        if field(phase, "prompt").is_some() {
            let agent = text(phase, "agent").or_else(|| text(phase, "role"));
            lines.push(format!(
                "{name} lets an agent work: {}",
                agent.unwrap_or_else(|| "the usual one".into())
            ));
        }
        let Some(Tree::List(checks)) = field(phase, "check") else { continue };
        for check in checks {
            let command = text(check, "passes").or_else(|| text(check, "fails"));
            lines.extend(command.map(|command| format!("{name} checks: {}", one_line(&command))));
        }
    }
    Some(lines)
}

fn field<'n>(node: &'n Node, key: &str) -> Option<&'n Tree> {
    let Tree::Map(entries) = &node.tree else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value.tree)
}

fn text(node: &Node, key: &str) -> Option<String> {
    match field(node, key)? {
        Tree::Text(text) => Some(text.clone()),
        Tree::Null => None,
        Tree::Bool(_) | Tree::Number(_) | Tree::List(_) | Tree::Map(_) => Some("?".to_owned()),
    }
}

/// A script as one line, with a mark where a line ends.
fn one_line(script: &str) -> String {
    script.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ⏎ ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        lines(&yaml::read(text).unwrap()).unwrap_or_default()
    }

    #[test]
    fn every_command_and_agent_is_told() {
        let text = "workflow: w\nphases:\n  - name: build\n    run: |\n      make\n      make install\n    \
                    check: [{passes: make test}, {file: there}, {fails: grep TODO src}]\n  - name: think\n    \
                    prompt: All of it.\n    agent: fixer\n  - name: ask\n    ask: {approval: Ship?}\n";
        let expected = [
            "build runs: make ⏎ make install",
            "build checks: make test",
            "build checks: grep TODO src",
            "think lets an agent work: fixer",
        ];
        assert_eq!(said(text), expected);
        assert!(said("workflow: w\nphases: [{name: a, ask: {text: What?}}]").is_empty());
    }
}
