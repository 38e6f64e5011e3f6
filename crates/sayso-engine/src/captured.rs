//! A tool call as a client captured it: the tool, what it would run, the files it is about. Never a
//! title or a description: those the model wrote.

use crate::Result;
use sayso_core::{Code, Refusal};
use sayso_policy::ToolCall;
use serde_json::{Map, Value};

/// What a tool's arguments call the files it is about.
const PATHS: [&str; 8] = [
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "absolute_path",
    "dir_path",
    "target_file",
    "workdir",
];

/// What clients call their shell.
const SHELLS: [&str; 6] =
    ["Bash", "bash", "shell", "exec_command", "run_shell_command", "local_shell"];

/// The call of a tool with these arguments, in a folder.
pub fn captured(tool: &str, arguments: &Value, root: Option<&str>) -> Result<ToolCall> {
    let wrong = |why: &str| Refusal::new(Code::BadValue, why);
    let Value::Object(fields) = arguments else {
        return Err(wrong("the input of the tool is no object").into());
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_shell = SHELLS.contains(&tool);
    let named = (text("command"), text("cmd"));
    // Which of them the client would run is its own affair, so neither can be judged.
    if is_shell && matches!(&named, (Some(one), Some(other)) if one != other) {
        return Err(wrong("it names two commands").into());
    }
    let command = named.0.or(named.1).filter(|_| is_shell);
    if is_shell && command.is_none() {
        return Err(wrong("it runs a command and does not say which").into());
    }
    Ok(ToolCall {
        tool: tool.into(),
        command,
        paths: paths(fields),
        root: root.map(str::to_owned),
        arguments: without_description(fields, is_shell),
    })
}

/// A shell's description is the model's word on its own call, and may differ each time it tries.
fn without_description(fields: &Map<String, Value>, is_shell: bool) -> Value {
    let mut fields = fields.clone();
    if is_shell {
        fields.shift_remove("description");
    }
    Value::Object(fields)
}

fn paths(fields: &Map<String, Value>) -> Vec<String> {
    let named = PATHS.iter().filter_map(|key| fields.get(*key)).filter_map(Value::as_str);
    named.map(str::to_owned).collect()
}
