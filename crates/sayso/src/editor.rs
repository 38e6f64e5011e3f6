//! Opens the user's editor, with the question quoted above the line to write below.

use crate::exit::{Failure, Result};
use sayso_core::{Code, text};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// The editors that are tried if no variable names one.
const USUAL: [&str; 2] = ["nano", "vi"];

const LINE: &str = "# ------ write your answer below this line; what is above is left out ------";

/// Opens the editor on a question, with the draft below it, and returns the text, trimmed; none if the editor was
/// left without saving.
pub(crate) fn write_below(question: &str, context: &str, begun: &str) -> Result<Option<String>> {
    let quote = |raw: &str| {
        let shown = text::sanitize(raw).text;
        shown.lines().map(|line| format!("# {line}\n")).collect::<String>()
    };
    let mut above = quote(question);
    if !context.is_empty() {
        above = format!("{above}#\n{}", quote(context));
    }
    let written = change(&format!("{above}{LINE}\n\n{begun}"), ".md")?;
    let below = |written: String| {
        let below = written.split_once(LINE).map_or(written.as_str(), |(_, below)| below);
        below.trim().to_owned()
    };
    Ok(written.map(below))
}

/// Opens the editor on a text and returns the result; none if the editor was left without saving.
pub(crate) fn change(text: &str, suffix: &str) -> Result<Option<String>> {
    let mut file = tempfile::Builder::new().prefix("sayso-").suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    let before = save_fingerprint(file.path())?;
    run_editor(file.path())?;
    let written = std::fs::read_to_string(file.path())?;
    let is_saved = written != text || save_fingerprint(file.path())? != before;
    Ok(is_saved.then_some(written))
}

/// A fingerprint of a file that differs after it was saved, even if the same text was.
fn save_fingerprint(path: &Path) -> Result<(u64, i64, i64)> {
    let file = std::fs::metadata(path)?;
    Ok((file.ino(), file.mtime(), file.mtime_nsec()))
}

/// Keeps a text that could not be used, and returns its path.
pub(crate) fn keep_unused(text: &str, suffix: &str) -> Result<std::path::PathBuf> {
    let mut file = tempfile::Builder::new().prefix("sayso-").suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().map_err(|e| e.error)?;
    Ok(path)
}

/// Runs the editor. It may be a command with arguments, as in `code --wait`; no shell is used.
fn run_editor(path: &Path) -> Result<()> {
    let chosen = ["SAYSO_EDITOR", "GIT_EDITOR", "VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    // If no variable names an editor, the first installed one is used.
    let editors = chosen.map_or_else(|| USUAL.map(String::from).to_vec(), |chosen| vec![chosen]);
    let (last, others) = editors.split_last().map_or(("vi", &[][..]), |(l, o)| (l.as_str(), o));
    for editor in others {
        match run(editor, path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            outcome => return outcome_of(editor, outcome),
        }
    }
    outcome_of(last, run(last, path))
}

fn run(editor: &str, path: &Path) -> std::io::Result<ExitStatus> {
    let mut words = editor.split_whitespace();
    Command::new(words.next().unwrap_or(editor)).args(words).arg(path).status()
}

fn outcome_of(editor: &str, outcome: std::io::Result<ExitStatus>) -> Result<()> {
    let failed = |why: String| {
        Failure::new(Code::Editor, format!("the editor {editor:?} {why}"))
            .hint("set EDITOR, or give the text on the command line; nothing was recorded")
    };
    let status = outcome.map_err(|e| failed(format!("cannot be started: {e}")))?;
    if status.success() { Ok(()) } else { Err(failed(format!("ended with {status}"))) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A save of unchanged text is detected; a read is not a save.
    #[test]
    fn saved_as_it_was_is_saved() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"as it was").unwrap();
        let before = save_fingerprint(file.path()).unwrap();
        std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(save_fingerprint(file.path()).unwrap(), before);
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(file.path(), "as it was").unwrap();
        assert_ne!(save_fingerprint(file.path()).unwrap(), before);
    }
}
