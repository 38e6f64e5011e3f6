//! Starts other programs, and finds them on the PATH.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::stop::{VerbError, VerbResult};

/// Changes to the repository's root, so that every path in xtask can be relative to it.
pub(crate) fn enter_root() -> VerbResult {
    // Cargo's value of this run comes first: a binary in a shared target folder may have been built from another
    // clone.
    let xtask = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = xtask.parent().unwrap_or(Path::new("."));
    env::set_current_dir(root).map_err(|e| format!("{}: {e}", root.display()).into())
}

/// Returns the cargo that started us.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words);
    // Cargo's variables about xtask itself; some crates would be rebuilt wherever they differ.
    let is_ours = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"]
            .iter()
            .any(|p| name.starts_with(p))
    };
    for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if is_ours(&name) {
            command.env_remove(name);
        }
    }
    command
}

/// Shows a command, runs it, and passes its exit code on.
pub(crate) fn run(command: &mut Command) -> VerbResult {
    eprintln!("$ {}", spell(command));
    // No stdin: no command may wait for a key, and a detached run keeps its lifeline there.
    let status = command.stdin(Stdio::null()).status().map_err(|e| failed(command, &e))?;
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Err(VerbError { code, text: format!("`{}` failed: {status}", spell(command)) })
}

/// Runs a command and returns its stdout; its output comes with the error.
pub(crate) fn output(command: &mut Command) -> VerbResult<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| failed(command, &e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(format!("`{}` failed: {}\n{}", spell(command), output.status, said.trim_end()).into())
}

/// True if a command can be run and succeeds.
pub(crate) fn works(command: &mut Command) -> bool {
    output(command).is_ok()
}

/// Returns the folders of `PATH`, in order.
pub(crate) fn path_folders() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

/// True if a program of this name is in `PATH`.
pub(crate) fn has(program: &str) -> bool {
    path_folders().iter().any(|folder| folder.join(program).is_file())
}

fn failed(command: &Command, error: &std::io::Error) -> VerbError {
    format!("`{}` could not be started: {error}", spell(command)).into()
}

fn spell(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = command.get_args().map(|word| word.to_string_lossy());
    std::iter::once(program.to_string_lossy()).chain(words).collect::<Vec<_>>().join(" ")
}
