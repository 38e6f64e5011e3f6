//! A tool call as a client captured it: the tool, what it would run, the files it is about. Never a
//! title or a description: those the model wrote.

use crate::Result;
use sayso_core::{Code, Refusal};
use sayso_policy::ToolCall;
use serde_json::{Map, Value};

/// The ends of what a tool's arguments call the files and folders it is about. A pattern of file names counts.
const PATHS: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "file_name",
    "filenames",
    "glob",
    "globs",
    "dir",
    "directory",
    "folder",
    "uri",
    "workdir",
];

/// Further names of them, as a whole.
const PATH_KEYS: [&str; 6] =
    ["include", "include_pattern", "source", "destination", "target", "cwd"];

/// What a tool's arguments call a command line.
const COMMANDS: [&str; 12] = [
    "command",
    "cmd",
    "commands",
    "command_line",
    "commandline",
    "shell_command",
    "bash_command",
    "script",
    "powershell",
    "chars",
    "shell",
    "exec",
];

/// What clients call their shell.
const SHELLS: [&str; 8] = [
    "Bash",
    "bash",
    "shell",
    "shell_command",
    "exec_command",
    "run_shell_command",
    "local_shell",
    "PowerShell",
];

/// How deep arguments are searched, and how many texts are taken from them.
const DEPTH_MAX: usize = 8;
const TEXTS_MAX: usize = 256;

/// The call of a tool with these arguments, in a folder.
pub fn captured(tool: &str, arguments: &Value, root: Option<&str>) -> Result<ToolCall> {
    let wrong = |why: &str| Refusal::new(Code::BadValue, why);
    let Value::Object(fields) = arguments else {
        return Err(wrong("the input of the tool is no object").into());
    };
    let is_shell = SHELLS.contains(&tool);
    let named = (line_of(fields.get("command")), line_of(fields.get("cmd")));
    // Which of them the client would run is its own affair, so neither can be judged.
    if is_shell && matches!(&named, (Some(one), Some(other)) if one != other) {
        return Err(wrong("it names two commands").into());
    }
    let command = match tool {
        _ if is_shell => named.0.or(named.1),
        // What it is given is a patch, whatever its argument is called.
        "apply_patch" | "patch" => None,
        // Whatever a tool is called: what looks like a command is read as one.
        _ => commands(arguments),
    };
    if is_shell && command.is_none() {
        return Err(wrong("it runs a command and does not say which").into());
    }
    let mut paths = vec![];
    gather(arguments, DEPTH_MAX, &is_path_key, &mut paths);
    patched(arguments, DEPTH_MAX, &mut paths);
    // The pattern of this tool is one of file names; that of others is looked for in files.
    if tool.eq_ignore_ascii_case("glob") {
        paths.extend(fields.get("pattern").and_then(Value::as_str).map(str::to_owned));
    }
    Ok(ToolCall {
        tool: tool.into(),
        command,
        paths,
        root: root.map(str::to_owned),
        arguments: without_description(fields, is_shell),
    })
}

/// The files that a patch in the arguments names.
fn patched(value: &Value, depth: usize, found: &mut Vec<String>) {
    const MARKS: [&str; 6] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
        "+++ b/",
        "--- a/",
    ];
    if depth == 0 || found.len() >= TEXTS_MAX {
        return;
    }
    match value {
        Value::String(text) => {
            let named =
                text.lines().filter_map(|line| MARKS.iter().find_map(|m| line.strip_prefix(m)));
            found.extend(named.map(|name| name.trim().to_owned()).take(TEXTS_MAX));
        }
        Value::Object(fields) => fields.values().for_each(|v| patched(v, depth - 1, found)),
        Value::Array(items) => items.iter().for_each(|item| patched(item, depth - 1, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A command line, or a list of words as one.
fn line_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let quoted =
                words?.into_iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            Some(quoted.collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Everything in the arguments that is named as a command is, a line each.
fn commands(arguments: &Value) -> Option<String> {
    let mut found = vec![];
    let is_key = |key: &str| COMMANDS.contains(&key.to_ascii_lowercase().as_str());
    lines_in(arguments, DEPTH_MAX, &is_key, &mut found);
    (!found.is_empty()).then(|| found.join("\n"))
}

fn lines_in(value: &Value, depth: usize, is_key: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
    if depth == 0 || found.len() >= TEXTS_MAX {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match line_of(Some(value)).filter(|_| is_key(key)) {
                    Some(line) => {
                        found.push(line);
                        // A list may be of lines, too.
                        let lines =
                            value.as_array().into_iter().flatten().filter_map(Value::as_str);
                        found.extend(lines.map(str::to_owned));
                    }
                    None => lines_in(value, depth - 1, is_key, found),
                }
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| lines_in(item, depth - 1, is_key, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_path_key(key: &str) -> bool {
    let mut small = String::new();
    for letter in key.chars() {
        // `filePath` is `file_path`.
        if letter.is_ascii_uppercase() && !small.is_empty() {
            small.push('_');
        }
        small.push(letter.to_ascii_lowercase());
    }
    let ends = |end: &str| {
        small == end || small.strip_suffix(end).is_some_and(|rest| rest.ends_with(['_', '-']))
    };
    PATHS.iter().any(|end| ends(end)) || PATH_KEYS.contains(&small.as_str())
}

/// The texts under keys like these, single or in lists, at any depth.
fn gather(value: &Value, depth: usize, is_key: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
    if depth == 0 || found.len() >= TEXTS_MAX {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if is_key(key) => found.push(text.clone()),
                    Value::Array(items) if is_key(key) => {
                        found.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
                        gather(value, depth - 1, is_key, found);
                    }
                    _ => gather(value, depth - 1, is_key, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, depth - 1, is_key, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A shell's description is the model's word on its own call, and may differ each time it tries.
fn without_description(fields: &Map<String, Value>, is_shell: bool) -> Value {
    let mut fields = fields.clone();
    if is_shell {
        fields.shift_remove("description");
    }
    Value::Object(fields)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_found_whatever_the_tool_is_called() {
        for (tool, arguments, expected) in [
            ("Bash", json!({"command": "ls"}), Some("ls")),
            ("Monitor", json!({"command": "git push", "description": "x"}), Some("git push")),
            ("PowerShell", json!({"command": "git push"}), Some("git push")),
            ("write_stdin", json!({"session_id": 1, "chars": "git push\n"}), Some("git push\n")),
            ("shell", json!({"command": ["sh", "-c", "it's"]}), Some(r"'sh' '-c' 'it'\''s'")),
            ("mcp__x__run", json!({"input": {"cmd": "git push"}}), Some("git push")),
            ("Batch", json!({"calls": [{"args": {"command": "a"}}, {"cmd": "b"}]}), Some("a\nb")),
            ("Read", json!({"file_path": "a"}), None),
            ("Grep", json!({"pattern": "git push", "path": "."}), None),
        ] {
            let call = captured(tool, &arguments, None).unwrap();
            assert_eq!(call.command.as_deref(), expected, "{tool}");
        }
        assert!(captured("Bash", &json!({"command": "a", "cmd": "b"}), None).is_err());
        assert!(captured("PowerShell", &json!({}), None).is_err());
    }

    #[test]
    fn files_are_found_under_whatever_name() {
        for (tool, arguments, expected) in [
            ("Grep", json!({"pattern": "KEY", "path": ".", "glob": ".env*"}), vec![".", ".env*"]),
            ("Glob", json!({"pattern": "**/.env"}), vec!["**/.env"]),
            ("mcp__files__read", json!({"paths": ["a", ".env"]}), vec!["a", ".env"]),
            ("mcp__x__y", json!({"items": [{"filePath": "b"}]}), vec!["b"]),
            ("edit", json!({"filePath": "c", "file_text": "no path"}), vec!["c"]),
            ("apply_patch", json!({"input": "*** Begin Patch\n*** Update File: d\n"}), vec!["d"]),
            ("read_many_files", json!({"include": ["*.env"]}), vec!["*.env"]),
        ] {
            let call = captured(tool, &arguments, None).unwrap();
            assert_eq!(call.paths, expected, "{tool}");
        }
    }
}
