//! Captures a tool call for the policy: the tool, the command that it would run, the files that it is about. Titles
//! and descriptions are left out, since the model wrote them.

use crate::Result;
use sayso_core::{Code, Refusal};
use sayso_policy::ToolCall;
use serde_json::{Map, Value};

/// The suffixes of argument names that hold files and folders. Patterns of file names count as well.
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

/// Further argument names that hold files and folders, compared as a whole.
const PATH_KEYS: [&str; 6] =
    ["include", "include_pattern", "source", "destination", "target", "cwd"];

/// The argument names of a command line, in snake case.
const COMMANDS: [&str; 18] = [
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
    "cmdline",
    "cmd_line",
    "argv",
    "shell_cmd",
    "bash_cmd",
    "bash",
];

/// The argument names of a program whose arguments are given beside it.
const PROGRAMS: [&str; 5] = ["program", "executable", "binary", "command", "cmd"];

/// The argument names of those arguments.
const ARGUMENTS: [&str; 4] = ["args", "arguments", "argv", "arg"];

/// The names of shell tools in various clients.
const SHELLS: [&str; 9] = [
    "Bash",
    "bash",
    "shell",
    "shell_command",
    "exec_command",
    "run_shell_command",
    "local_shell",
    "PowerShell",
    "unified_exec",
];

/// The depth to which arguments are searched, and the number of texts that are collected from them.
const DEPTH_MAX: usize = 32;
const TEXTS_MAX: usize = 1_000;

/// The texts found in arguments. Past a limit there may be more, and a call is judged whole or refused.
#[derive(Default)]
struct Gathered {
    texts: Vec<String>,
    is_cut: bool,
}

impl Gathered {
    fn add(&mut self, text: impl Into<String>) {
        if self.texts.len() < TEXTS_MAX {
            self.texts.push(text.into());
        } else {
            self.is_cut = true;
        }
    }

    /// The depth that is left within a value, or nothing where it is nested too deeply.
    fn within(&mut self, depth: usize, value: &Value) -> Option<usize> {
        let holds_more = match value {
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::String(_) => true,
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        };
        self.is_cut |= depth == 0 && holds_more;
        depth.checked_sub(1)
    }
}

/// Returns the captured call of a tool with these arguments, in a folder.
pub fn capture_tool_call(tool: &str, arguments: &Value, root: Option<&str>) -> Result<ToolCall> {
    let wrong = |why: &str| Refusal::new(Code::BadValue, why);
    let Value::Object(fields) = arguments else {
        return Err(wrong("the input of the tool is no object").into());
    };
    let is_shell = SHELLS.contains(&tool);
    let input = if tool == "unified_exec" { line_of(fields.get("input")) } else { None };
    let named = (line_of(fields.get("command")).or(input), line_of(fields.get("cmd")));
    // It is unknown which of the two the client would run, so neither can be judged.
    if is_shell && matches!(&named, (Some(one), Some(other)) if one != other) {
        return Err(wrong("it names two commands").into());
    }
    let mut lines = Gathered::default();
    let command = match tool {
        _ if is_shell => named.0.or(named.1),
        // The argument of these tools is a patch, under any name.
        "apply_patch" | "patch" => None,
        // For any other tool, an argument that looks like a command is judged as one.
        _ => {
            lines_in(arguments, DEPTH_MAX, &mut lines);
            (!lines.texts.is_empty()).then(|| lines.texts.join("\n"))
        }
    };
    if is_shell && command.is_none() {
        return Err(wrong("it runs a command and does not say which").into());
    }
    let mut found = Gathered::default();
    gather(arguments, DEPTH_MAX, &mut found);
    patched(arguments, DEPTH_MAX, &mut found);
    if found.is_cut || lines.is_cut {
        return Err(wrong(&format!(
            "its input has more than {TEXTS_MAX} files or commands, or is nested more than {DEPTH_MAX} deep: not all of it \
             can be judged; make several smaller calls"
        ))
        .into());
    }
    let mut paths = found.texts;
    // The pattern of this tool is a file name pattern; other tools search file contents for theirs.
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

/// Collects the files that a patch in the arguments names.
fn patched(value: &Value, depth: usize, found: &mut Gathered) {
    const MARKS: [&str; 6] = [
        "*** Add File:",
        "*** Update File:",
        "*** Delete File:",
        "*** Move to:",
        "+++ b/",
        "--- a/",
    ];
    let Some(depth) = found.within(depth, value) else { return };
    match value {
        Value::String(text) => {
            // Clients take marks with spaces around them, too.
            let lines = text.lines().map(str::trim);
            for name in lines.filter_map(|line| MARKS.iter().find_map(|m| line.strip_prefix(m))) {
                found.add(name.trim());
            }
        }
        Value::Object(fields) => fields.values().for_each(|v| patched(v, depth, found)),
        Value::Array(items) => items.iter().for_each(|item| patched(item, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a command line as text; a list of words is quoted and joined.
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

/// Returns all arguments with the name of a command, one per line.
fn lines_in(value: &Value, depth: usize, found: &mut Gathered) {
    let Some(depth) = found.within(depth, value) else { return };
    match value {
        Value::Object(fields) => {
            if let Some(line) = with_arguments(fields) {
                found.add(line);
            }
            for (key, value) in fields {
                let Some(line) =
                    line_of(Some(value)).filter(|_| COMMANDS.contains(&snake(key).as_str()))
                else {
                    lines_in(value, depth, found);
                    continue;
                };
                found.add(line);
                // A list may be of lines, too.
                let lines = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                lines.for_each(|line| found.add(line));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| lines_in(item, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `{program: "git", args: ["push"]}` as one line.
fn with_arguments(fields: &Map<String, Value>) -> Option<String> {
    let named = |names: &[&str]| {
        fields.iter().find(|(key, _)| names.contains(&snake(key).as_str())).map(|(_, value)| value)
    };
    let arguments = match named(&ARGUMENTS) {
        Some(Value::String(text)) => Some(text.clone()),
        value => line_of(value),
    };
    match arguments {
        Some(arguments) => Some(format!("{} {arguments}", named(&PROGRAMS)?.as_str()?)),
        None => named(&PROGRAMS[..3])?.as_str().map(str::to_owned),
    }
}

/// A name in small letters with `_` between its words: `filePath` is `file_path`.
fn snake(key: &str) -> String {
    let mut small = String::new();
    let mut follows_small = false;
    for letter in key.chars() {
        if letter.is_ascii_uppercase() && follows_small {
            small.push('_');
        }
        follows_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        small.push(if letter == '-' { '_' } else { letter.to_ascii_lowercase() });
    }
    small
}

fn is_path_key(key: &str) -> bool {
    let small = snake(key);
    let ends =
        |end: &str| small == end || small.strip_suffix(end).is_some_and(|rest| rest.ends_with('_'));
    PATHS.iter().any(|end| ends(end)) || PATH_KEYS.contains(&small.as_str())
}

/// The texts under names of files, single or in lists, at any depth.
fn gather(value: &Value, depth: usize, found: &mut Gathered) {
    let Some(depth) = found.within(depth, value) else { return };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if is_path_key(key) => found.add(text.as_str()),
                    Value::Array(items) if is_path_key(key) => {
                        items.iter().filter_map(Value::as_str).for_each(|text| found.add(text));
                        gather(value, depth, found);
                    }
                    _ => gather(value, depth, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Drops the description of a shell call: it is the model's statement about its own call, and may differ on each try.
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
            ("mcp__x__run", json!({"shellCommand": "git push"}), Some("git push")),
            ("mcp__x__run", json!({"bashCommand": "git push"}), Some("git push")),
            ("mcp__x__run", json!({"Shell-Command": "git push"}), Some("git push")),
            ("mcp__x__run", json!({"cmdline": "git push"}), Some("git push")),
            ("mcp__x__run", json!({"argv": ["git", "push"]}), Some("'git' 'push'\ngit\npush")),
            ("mcp__x__run", json!({"program": "git", "args": ["push"]}), Some("git 'push'")),
            ("mcp__x__run", json!({"command": "git", "args": ["push"]}), Some("git 'push'\ngit")),
            (
                "mcp__x__run",
                json!({"command": {"program": "git", "args": ["push"]}}),
                Some("git 'push'"),
            ),
            ("unified_exec", json!({"input": ["git", "push"]}), Some("'git' 'push'")),
            ("Grep", json!({"pattern": "git push", "path": "."}), None),
        ] {
            let call = capture_tool_call(tool, &arguments, None).unwrap();
            assert_eq!(call.command.as_deref(), expected, "{tool}");
        }
        assert!(capture_tool_call("Bash", &json!({"command": "a", "cmd": "b"}), None).is_err());
        assert!(capture_tool_call("PowerShell", &json!({}), None).is_err());
        assert!(capture_tool_call("unified_exec", &json!({"input": 1}), None).is_err());
    }

    #[test]
    fn what_is_too_much_to_be_judged_is_refused() {
        let marks = |count: usize| {
            let patch: String = (0..count).map(|n| format!("*** Add File: a{n}\n+x\n")).collect();
            capture_tool_call("apply_patch", &json!({"input": patch}), None)
        };
        assert_eq!(marks(1_000).unwrap().paths.len(), 1_000);
        assert!(marks(1_001).unwrap_err().to_string().contains("smaller calls"));
        let calls = |count: usize| {
            let mut calls = vec![json!({"cmd": "true"}); count];
            calls.push(json!({"cmd": "git push"}));
            capture_tool_call("mcp__x__batch", &json!({"calls": calls}), None)
        };
        assert!(calls(999).unwrap().command.unwrap().ends_with("git push"));
        assert!(calls(1_000).is_err());
        let nested = |depth: usize| {
            let deep = (0..depth).fold(json!({"cmd": "git push"}), |value, _| json!({"a": value}));
            capture_tool_call("mcp__x__run", &deep, None)
        };
        assert_eq!(nested(30).unwrap().command.as_deref(), Some("git push"));
        assert!(nested(33).is_err());
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
            ("apply_patch", json!({"input": "  *** Update File: .codex/x  \n"}), vec![".codex/x"]),
            ("read_many_files", json!({"include": ["*.env"]}), vec!["*.env"]),
        ] {
            let call = capture_tool_call(tool, &arguments, None).unwrap();
            assert_eq!(call.paths, expected, "{tool}");
        }
    }
}
