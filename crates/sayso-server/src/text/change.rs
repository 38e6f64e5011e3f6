//! Diff of the files that a tool call would change. It is read from the captured arguments, and only where all of it
//! is understood; what the diff does not show is told beside it. The arguments stay what is approved.

use super::diff::{DiffLine, DiffLineKind};
use super::gate::{captured_arguments, captured_call};
use super::json_to_edit;
use sayso_core::AnswerContent;
use sayso_core::gate::{CardFact, Gate};
use sayso_core::text::{sanitize, sanitize_line, shorten};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

/// The most lines that are compared. Longer texts are shown as all of the old and all of the new: comparing them
/// would take too long.
const COMPARED_LINES_MAX: usize = 4_000;

/// The number of lines that are shown around a change.
const AROUND: usize = 3;

/// The most of another argument that is shown.
const WORDS_MAX: usize = 200;

/// The change a call would make in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDiff {
    /// The diff, harmless to look at.
    pub lines: Vec<DiffLine>,
    /// The notes on what the diff does not show.
    pub notes: Vec<String>,
}

impl CallDiff {
    /// Returns the number of added and of removed lines.
    pub fn in_numbers(&self) -> String {
        let count = |part| self.lines.iter().filter(|line| line.part == part).count();
        format!("+{} -{}", count(DiffLineKind::Added), count(DiffLineKind::Removed))
    }
}

/// True if a change is read from this fact.
pub fn is_of_the_call(fact: &CardFact) -> bool {
    matches!(fact.name.as_str(), "arguments" | "command")
}

/// Returns the change that the call of a gate would make in files, if it changes some in a way that is understood.
pub fn change(gate: &Gate) -> Option<CallDiff> {
    let (tool, arguments) = captured_call(gate)?;
    change_of(tool, &arguments)
}

/// Returns the change that an answer made in the arguments of a call.
pub fn changed(gate: &Gate) -> Option<CallDiff> {
    let (answer, _) = gate.answer()?;
    let AnswerContent::Arguments(approved) = &answer.content else { return None };
    let mut change = CallDiff { lines: vec![], notes: vec![] };
    compare(&json_to_edit(&captured_arguments(gate)?), &json_to_edit(approved), &mut change);
    Some(change)
}

/// Returns the change that a call with these arguments would make in files.
pub fn change_of(tool: &str, arguments: &Value) -> Option<CallDiff> {
    let mut rest = arguments.as_object()?.clone();
    let mut change = CallDiff { lines: vec![], notes: vec![] };
    match tool {
        "Edit" | "edit" | "replace" => edit(&mut rest, &mut change)?,
        "MultiEdit" | "multiedit" => edits(&mut rest, &mut change)?,
        "Write" | "write" | "write_file" => write(&mut rest, &mut change)?,
        "apply_patch" | "patch" => patch(&mut rest, &mut change)?,
        _ => return None,
    }
    for (name, value) in rest {
        let value = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let value = shorten(&sanitize_line(&value), WORDS_MAX);
        change.notes.push(format!("also given: {} {value}", sanitize_line(&name)));
    }
    Some(change)
}

/// Removes and returns the text that has one of these names.
fn take(from: &mut Map<String, Value>, names: &[&str]) -> Option<String> {
    let name = names.iter().find(|name| from.get(**name).is_some_and(Value::is_string))?;
    match from.shift_remove(*name)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn file(change: &mut CallDiff, deed: &str, path: &str) {
    let text = format!("{deed} {}", sanitize_line(path));
    change.lines.push(DiffLine { part: DiffLineKind::File, text });
}

fn edit(rest: &mut Map<String, Value>, change: &mut CallDiff) -> Option<()> {
    let path = take(rest, PATHS)?;
    file(change, "edit", &path);
    one_edit(rest, change)
}

const PATHS: &[&str] = &["file_path", "filePath", "path"];

fn one_edit(rest: &mut Map<String, Value>, change: &mut CallDiff) -> Option<()> {
    let old = take(rest, &["old_string", "oldString"])?;
    let new = take(rest, &["new_string", "newString"])?;
    let everywhere = ["replace_all", "replaceAll"].iter().find(|name| rest.contains_key(**name));
    if let Some(name) = everywhere {
        match rest.shift_remove(*name)? {
            Value::Bool(true) => {
                change.notes.push("wherever the old text stands in the file, not once".into());
            }
            Value::Bool(false) => {}
            _ => return None,
        }
    }
    compare(&old, &new, change);
    Some(())
}

fn edits(rest: &mut Map<String, Value>, change: &mut CallDiff) -> Option<()> {
    let path = take(rest, PATHS)?;
    let Value::Array(edits) = rest.shift_remove("edits")? else { return None };
    file(change, "edit", &path);
    let count = edits.len();
    for (at, one) in edits.into_iter().enumerate() {
        let Value::Object(mut one) = one else { return None };
        let text = format!("@@ {} of {count} @@", at + 1);
        change.lines.push(DiffLine { part: DiffLineKind::Place, text });
        one_edit(&mut one, change)?;
        // A further argument of one of them has no place to be shown.
        if !one.is_empty() {
            return None;
        }
    }
    Some(())
}

fn write(rest: &mut Map<String, Value>, change: &mut CallDiff) -> Option<()> {
    let path = take(rest, PATHS)?;
    let content = take(rest, &["content"])?;
    file(change, "write", &path);
    change.notes.push(
        "all of the file is written anew; what stands in it now was not captured, so all is shown as added".into(),
    );
    whole(&content, DiffLineKind::Added, change);
    Some(())
}

/// Reads a patch, which is a diff by itself; its own words say which file a part of it is for.
fn patch(rest: &mut Map<String, Value>, change: &mut CallDiff) -> Option<()> {
    let text = take(rest, &["input", "patch", "patchText", "command", "cmd"])?;
    let begin = text.find("*** Begin Patch")?;
    // A text around the patch would not be shown.
    let end = text.find("*** End Patch").map(|at| at + "*** End Patch".len())?;
    let is_alone = text[..begin].trim().is_empty() && text.get(end..)?.trim().is_empty();
    if !is_alone {
        return None;
    }
    for line in text.get(begin..end)?.lines() {
        let part = match line.as_bytes() {
            [b'*', b'*', b'*', ..] => DiffLineKind::File,
            [b'@', b'@', ..] => DiffLineKind::Place,
            [b'+', ..] => DiffLineKind::Added,
            [b'-', ..] => DiffLineKind::Removed,
            _ => DiffLineKind::Same,
        };
        change.lines.push(DiffLine { part, text: sanitize(line).text });
    }
    Some(())
}

fn whole(text: &str, part: DiffLineKind, change: &mut CallDiff) {
    text.split_inclusive('\n').for_each(|text| line(part, text, change));
}

fn line(part: DiffLineKind, text: &str, change: &mut CallDiff) {
    let sign = match part {
        DiffLineKind::Added => '+',
        DiffLineKind::Removed => '-',
        DiffLineKind::Same | DiffLineKind::File | DiffLineKind::Place => ' ',
    };
    let text = sanitize(text.strip_suffix('\n').unwrap_or(text)).text;
    change.lines.push(DiffLine { part, text: format!("{sign}{text}") });
}

/// Adds the lines of the old and the new text. Equal lines far from any change are counted.
fn compare(old: &str, new: &str, change: &mut CallDiff) {
    if old.lines().count() + new.lines().count() > COMPARED_LINES_MAX {
        whole(old, DiffLineKind::Removed, change);
        whole(new, DiffLineKind::Added, change);
        return;
    }
    let ends_differ =
        old.ends_with('\n') != new.ends_with('\n') && !old.is_empty() && !new.is_empty();
    let diff = TextDiff::from_lines(old, new);
    let mut end = 0;
    for group in diff.grouped_ops(AROUND) {
        let from = group.first().map_or(0, |op| op.old_range().start);
        skipped(from.saturating_sub(end), change);
        end = group.last().map_or(end, |op| op.old_range().end);
        for one in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let part = match one.tag() {
                ChangeTag::Delete => DiffLineKind::Removed,
                ChangeTag::Insert => DiffLineKind::Added,
                ChangeTag::Equal => DiffLineKind::Same,
            };
            line(part, one.value(), change);
        }
    }
    skipped(diff.old_slices().len().saturating_sub(end), change);
    if ends_differ {
        let how = if new.ends_with('\n') { "ends" } else { "no longer ends" };
        change.notes.push(format!("the new text {how} with a line break"));
    }
}

fn skipped(count: usize, change: &mut CallDiff) {
    if count > 0 {
        let text = format!("@@ {count} more lines that stay as they are @@");
        change.lines.push(DiffLine { part: DiffLineKind::Place, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(tool: &str, arguments: Value) -> String {
        let Some(change) = change_of(tool, &arguments) else { return "none".into() };
        let lines =
            change.lines.iter().map(|line| format!("{:7} {}", line.part.as_str(), line.text));
        let notes = change.notes.iter().map(|note| format!("note    {note}"));
        lines.chain(notes).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_calls_of_each_client_change() {
        let edited = "file    edit a.rs\nsame     one\nremoved -two\nadded   +2";
        for (tool, arguments) in [
            (
                "Edit",
                json!({"file_path": "a.rs", "old_string": "one\ntwo", "new_string": "one\n2"}),
            ),
            (
                "Edit",
                json!({"file_path": "a.rs", "old_string": "one\ntwo", "new_string": "one\n2", "replace_all": false}),
            ),
            (
                "replace",
                json!({"file_path": "a.rs", "old_string": "one\ntwo", "new_string": "one\n2"}),
            ),
            ("edit", json!({"filePath": "a.rs", "oldString": "one\ntwo", "newString": "one\n2"})),
        ] {
            assert_eq!(told(tool, arguments), edited, "{tool}");
        }
        for (tool, path) in
            [("Write", "file_path"), ("write_file", "file_path"), ("write", "filePath")]
        {
            let written = told(tool, json!({path: "b", "content": "x\n\n\n\n\ty\n"}));
            assert!(written.starts_with("file    write b\nadded   +x\nadded   +\nadded   +\nadded   +\nadded   +\ty\nnote    all of"), "{written}");
        }
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n one\n-two\n+2\n*** End Patch";
        for (tool, name) in
            [("apply_patch", "input"), ("apply_patch", "command"), ("patch", "patchText")]
        {
            let shown = told(tool, json!({name: patch}));
            assert_eq!(
                shown,
                "file    *** Begin Patch\nfile    *** Update File: a.rs\nplace   @@\nsame     one\nremoved -two\nadded   +2\nfile    *** End Patch"
            );
        }
        let many = json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": "", "replace_all": true}]});
        assert_eq!(
            told("MultiEdit", many),
            "file    edit a\nplace   @@ 1 of 2 @@\nremoved -1\nadded   +2\nplace   @@ 2 of 2 @@\nremoved -3\nnote    wherever the old text stands in the file, not once"
        );
    }

    /// A diff that would leave something out is none, or says what else there is.
    #[test]
    fn nothing_is_hidden_behind_a_diff() {
        let more =
            json!({"file_path": "a", "old_string": "1", "new_string": "2", "then_run": "rm -rf /"});
        assert!(told("Edit", more).ends_with("note    also given: then_run rm -rf /"));
        for (tool, arguments) in [
            ("Bash", json!({"command": "ls"})),
            ("Edit", json!({"file_path": "a", "old_string": "1"})),
            ("Edit", json!({"file_path": "a", "old_string": 1, "new_string": "2"})),
            (
                "Edit",
                json!({"file_path": "a", "old_string": "1", "new_string": "2", "replace_all": "yes"}),
            ),
            ("Edit", json!("a")),
            (
                "MultiEdit",
                json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2", "x": 1}]}),
            ),
            ("mcp__files__edit", json!({"path": "a", "oldString": "1", "newString": "2"})),
            ("apply_patch", json!({"command": "rm -rf / ; *** Begin Patch\n*** End Patch"})),
            ("apply_patch", json!({"command": "*** Begin Patch\n*** End Patch\nrm -rf /"})),
        ] {
            assert_eq!(told(tool, arguments.clone()), "none", "{tool} {arguments}");
        }
        let hostile = told(
            "Edit",
            json!({"file_path": "a\n+++ b", "old_string": "x\r\n", "new_string": "\u{202e}x\n"}),
        );
        assert_eq!(hostile, "file    edit a ⏎ +++ b\nremoved -x␍\nadded   +[U+202E]x");
    }

    #[test]
    fn what_stays_is_counted_and_large_texts_are_quick() {
        let text = |change: &str| {
            (0..20)
                .map(|n| if n == 10 { format!("{change}\n") } else { format!("{n}\n") })
                .collect::<String>()
        };
        let shown = told(
            "Edit",
            json!({"file_path": "a", "old_string": text("x"), "new_string": text("y")}),
        );
        assert!(
            shown.contains("place   @@ 7 more lines that stay as they are @@\nsame     7\n"),
            "{shown}"
        );
        assert!(
            shown.ends_with("same     13\nplace   @@ 6 more lines that stay as they are @@"),
            "{shown}"
        );
        let long = |word: &str| (0..60_000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let change = change_of(
            "Edit",
            &json!({"file_path": "a", "old_string": long("a"), "new_string": long("b")}),
        );
        assert_eq!(change.map(|it| it.lines.len()), Some(120_001));
    }
}
