//! The user's editor, with what is asked quoted above the line to write below.

use crate::exit::{Failure, Result};
use sayso_core::{Code, text};
use std::io::Write;
use std::process::Command;

const LINE: &str = "# ------ write your answer below this line; what is above is left out ------";

/// Opens the editor on a question and returns what was written, trimmed.
pub(crate) fn write_below(question: &str, context: &str) -> Result<String> {
    let mut file = tempfile::Builder::new().prefix("sayso-").suffix(".md").tempfile()?;
    let quote = |raw: &str| {
        let shown = text::harmless(raw).text;
        shown.lines().map(|line| format!("# {line}\n")).collect::<String>()
    };
    write!(file, "{}", quote(question))?;
    if !context.is_empty() {
        write!(file, "#\n{}", quote(context))?;
    }
    writeln!(file, "{LINE}\n")?;
    file.flush()?;
    run_editor(file.path())?;
    let written = std::fs::read_to_string(file.path())?;
    let below = written.split_once(LINE).map_or(written.as_str(), |(_, below)| below);
    Ok(below.trim().to_owned())
}

/// Opens the editor on a text and returns what became of it.
pub(crate) fn change(text: &str, suffix: &str) -> Result<String> {
    let mut file = tempfile::Builder::new().prefix("sayso-").suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    run_editor(file.path())?;
    Ok(std::fs::read_to_string(file.path())?)
}

/// Keeps a text that could not be used, and says where.
pub(crate) fn keep(text: &str, suffix: &str) -> Result<std::path::PathBuf> {
    let mut file = tempfile::Builder::new().prefix("sayso-").suffix(suffix).tempfile()?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().map_err(|e| e.error)?;
    Ok(path)
}

/// The editor may be a command with arguments, as in `code --wait`; it never sees a shell.
fn run_editor(path: &std::path::Path) -> Result<()> {
    let chosen = ["SAYSO_EDITOR", "GIT_EDITOR", "VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "nano".into());
    let failed = |why: String| {
        Failure::new(Code::Editor, format!("the editor {chosen:?} {why}"))
            .hint("set EDITOR, or give the text on the command line; nothing was recorded")
    };
    let mut words = chosen.split_whitespace();
    let program = words.next().unwrap_or("nano");
    let status = Command::new(program)
        .args(words)
        .arg(path)
        .status()
        .map_err(|e| failed(format!("cannot be started: {e}")))?;
    if status.success() { Ok(()) } else { Err(failed(format!("ended with {status}"))) }
}
