//! Lists the commands and agents of a stored workflow in words: for the cards of its questions, and for people who
//! resume it.

use sayso_core::flow::Flow;
use sayso_core::{Code, Refusal};
use sayso_policy::yaml::{self, YamlNode, YamlValue};
use serde::Deserialize;
use serde_json::Value;

/// The most that a card shows of what a flow runs. A flow that runs more asks nothing: a yes to a part of it would be a yes to all.
const SHOWN_BYTES_MAX: usize = 128 * 1024;

/// A workflow as it is stored with a flow.
#[derive(Deserialize)]
struct StoredText {
    text: String,
}

/// Returns the initial values of a flow, and its commands and agents, phase by phase; none where a program leads it.
/// Nothing is cut, and a text that cannot be parsed is reported as such: a part left out here would run unseen.
pub fn flow_commands(flow: &Flow) -> Option<Vec<String>> {
    let kept = flow.started.definition.as_deref()?;
    let text = serde_json::from_str::<StoredText>(kept).map(|kept| kept.text);
    let lines = text.ok().and_then(|text| yaml::read(&text).ok()).and_then(|node| lines(&node));
    let mut lines = lines.unwrap_or_else(|| vec!["the workflow cannot be read".to_owned()]);
    if lines.is_empty() {
        lines.push("no command and no agent".to_owned());
    }
    lines.splice(0..0, inputs(&flow.started.state));
    Some(lines)
}

/// The same as one text for a card, which has to hold all of it.
pub(crate) fn shown_commands(flow: &Flow) -> Result<String, Refusal> {
    let text = flow_commands(flow).map(|lines| lines.join("\n")).unwrap_or_default();
    if text.len() <= SHOWN_BYTES_MAX {
        return Ok(text);
    }
    let (handle, size) = (&flow.started.handle, text.len());
    let message = format!(
        "what flow {handle} was begun with and runs has {size} bytes, and a card shows {SHOWN_BYTES_MAX}: it cannot ask"
    );
    Err(Refusal::new(Code::TooLarge, message).hint(
        "put long scripts and values into files of the project, and name those in the workflow",
    ))
}

/// The values a flow was begun with: a command that names one runs with it.
fn inputs(state: &Value) -> Vec<String> {
    let Some(values) = state.get("input").and_then(Value::as_object) else { return vec![] };
    let in_words = |value: &Value| match value {
        Value::String(text) => one_line(text),
        other => other.to_string(),
    };
    values.iter().map(|(name, value)| format!("input {name} = {}", in_words(value))).collect()
}

fn lines(workflow: &YamlNode) -> Option<Vec<String>> {
    let YamlValue::List(phases) = field(workflow, "phases")? else { return None };
    let mut lines = vec![];
    for phase in phases {
        let name = text(phase, "name").unwrap_or_else(|| "?".to_owned());
        lines.extend(
            text(phase, "run").map(|command| format!("{name} runs: {}", one_line(&command))),
        );
        if ["prompt", "prompt_file"].iter().any(|key| field(phase, key).is_some()) {
            let own = text(phase, "agent").or_else(|| text(phase, "role"));
            let agent = own.or_else(|| text(workflow, "agent")).or_else(|| text(workflow, "role"));
            lines.push(format!(
                "{name} lets an agent work: {}",
                agent.map_or_else(|| "the usual one".into(), |agent| one_line(&agent))
            ));
        }
        let Some(YamlValue::List(checks)) = field(phase, "check") else { continue };
        for check in checks {
            let command = text(check, "passes").or_else(|| text(check, "fails"));
            lines.extend(command.map(|command| format!("{name} checks: {}", one_line(&command))));
        }
    }
    Some(lines)
}

fn field<'n>(node: &'n YamlNode, key: &str) -> Option<&'n YamlValue> {
    let YamlValue::Map(entries) = &node.tree else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value.tree)
}

fn text(node: &YamlNode, key: &str) -> Option<String> {
    match field(node, key)? {
        YamlValue::Text(text) => Some(text.clone()),
        YamlValue::Null => None,
        YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::List(_) | YamlValue::Map(_) => {
            Some("?".to_owned())
        }
    }
}

/// Returns a script as one line, with a mark where a line ends.
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
        let file = "workflow: w\nagent: fixer\nphases: [{name: a, prompt_file: a.md}]";
        assert_eq!(said(file), ["a lets an agent work: fixer"]);
    }

    /// A command is told to its end, however long it is and however many there are.
    #[test]
    fn nothing_is_cut() {
        let script = format!("{}echo hidden", "# a line of words that nobody reads\n".repeat(50));
        let phases = (0..60).map(|n| {
            format!("  - name: p{n}\n    run: |\n      {}\n", script.replace('\n', "\n      "))
        });
        let told = said(&format!("workflow: w\nphases:\n{}", phases.collect::<String>()));
        assert_eq!(told.len(), 60);
        assert!(told.iter().all(|line| line.ends_with("echo hidden")), "{told:?}");
    }

    #[test]
    fn what_it_began_with_is_told() {
        let state =
            serde_json::json!({"input": {"a": "echo x\n> y", "n": 3}, "state": {"a": "other"}});
        assert_eq!(inputs(&state), ["input a = echo x ⏎ > y", "input n = 3"]);
        assert!(inputs(&serde_json::json!({"state": {}})).is_empty());
    }
}
