//! A test environment for the program as people and agents use it: built, on the path, in a folder of its own.
//!
//! sayso takes no verdict without a person at a terminal. People are simulated at a terminal of our own pool, see
//! `test/terminals.rs`; agents have pipes and a token.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::scratch::ScratchFolder;
use crate::shell::{cargo, output, run as sh};
use crate::stop::{VerbError, VerbResult};
use crate::test::terminals;

/// The working folder; a space made there has its name.
const FOLDER: &str = "shop";
/// The names of the program: its own, and those of the trackers it emulates.
const NAMES: &[&str] = &["sayso", "bh", "tk"];
/// The passphrase of all simulated people.
const PASSPHRASE: &str = "correct horse battery";
/// Between printing its prompt and reading, a program switches the echo off.
const TYPING: Duration = Duration::from_millis(200);
/// The editor of a simulated person: it appends a line.
const EDITOR: &str = "#!/bin/sh\necho 'Use JWT tokens.' >> \"$1\"\n";
/// The maximum time for the end of a program in the background, once it is waited for.
const END_MAX: Duration = Duration::from_secs(20);

/// A folder with the program on its path; removed on drop.
pub(crate) struct TestStage {
    scratch: ScratchFolder,
    colour: bool,
}

/// The exit code and output of a command line.
#[derive(Debug)]
pub(crate) struct ShownOutput {
    pub(crate) code: i32,
    /// All it printed, as a person sees it: both streams, no carriage returns.
    pub(crate) text: String,
}

/// Builds the program and returns its path.
pub(crate) fn build() -> VerbResult<PathBuf> {
    sh(&mut cargo(&["build", "--quiet", "--locked", "--package", "sayso"]))?;
    let words = ["metadata", "--no-deps", "--format-version", "1", "--locked"];
    let metadata: serde_json::Value = serde_json::from_str(&output(&mut cargo(&words))?)
        .map_err(|e| VerbError::from(format!("cargo metadata: {e}")))?;
    let target = metadata["target_directory"].as_str().unwrap_or("target");
    Ok(Path::new(target).join("debug/sayso"))
}

impl TestStage {
    /// Makes a fresh folder with the program on its path.
    pub(crate) fn new(program: &Path, colour: bool) -> VerbResult<TestStage> {
        let scratch = ScratchFolder::below(&env::temp_dir())?;
        let stage = TestStage { scratch, colour };
        for folder in [stage.folder(), stage.programs(), stage.home()] {
            fs::create_dir(folder)?;
        }
        for name in NAMES {
            symlink(program, stage.programs().join(name))?;
        }
        let editor = stage.programs().join("write");
        fs::write(&editor, EDITOR)?;
        fs::set_permissions(&editor, fs::Permissions::from_mode(0o755))?;
        Ok(stage)
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path().join(FOLDER)
    }

    fn programs(&self) -> PathBuf {
        self.scratch.path().join("bin")
    }

    fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// Runs a command line at a terminal of its own, as a person types it. Prompts for a passphrase are answered.
    pub(crate) fn at_terminal(&self, line: &str) -> VerbResult<ShownOutput> {
        // A terminal without an emulator window has no width.
        let mut command = terminals::command(&format!("stty cols 100 rows 40; {line}"))?;
        let mut child = self
            .dressed(&mut command, None)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(mut keys), Some(mut screen)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a terminal has no streams".into());
        };
        let mut seen = Vec::new();
        let mut some = [0; 4096];
        loop {
            let count = screen.read(&mut some)?;
            if count == 0 {
                break;
            }
            seen.extend_from_slice(&some[..count]);
            if asks_for_passphrase(&seen) {
                thread::sleep(TYPING);
                writeln!(keys, "{PASSPHRASE}")?;
            }
        }
        // Typed a moment too early, it would have been echoed.
        let text = readable(&seen).replace(PASSPHRASE, "");
        Ok(ShownOutput { code: code(child.wait()?), text })
    }

    /// Starts a command line without a terminal, and returns after its first line of output.
    pub(crate) fn start(&self, token: Option<&str>, line: &str) -> VerbResult<BackgroundCommand> {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 2>&1; {line}")]);
        let mut child = self
            .dressed(&mut command, token)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or("a process without stdout")?;
        let mut running =
            BackgroundCommand { child, stdout: BufReader::new(stdout), first: Vec::new() };
        running.stdout.read_until(b'\n', &mut running.first)?;
        Ok(running)
    }

    /// Sets the environment of a command: our folder, our path, and no other variables of ours.
    fn dressed<'a>(&self, command: &'a mut Command, token: Option<&str>) -> &'a mut Command {
        command.current_dir(self.folder()).env_clear();
        let mut path = vec![self.programs()];
        path.extend(crate::shell::path_folders());
        command.env("PATH", env::join_paths(path).unwrap_or_default());
        command.env("HOME", self.home()).env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.env("EDITOR", self.programs().join("write"));
        if !self.colour {
            command.env("NO_COLOR", "1");
        }
        if let Some(token) = token {
            command.env("SAYSO_TOKEN_FILE", token);
        }
        command
    }
}

/// A process in the background.
pub(crate) struct BackgroundCommand {
    child: Child,
    stdout: BufReader<ChildStdout>,
    first: Vec<u8>,
}

impl BackgroundCommand {
    /// Waits for its end, for a bounded time, and returns all it printed.
    pub(crate) fn end(mut self) -> VerbResult<ShownOutput> {
        let begun = Instant::now();
        let status = loop {
            // Its output is small and fits into the pipe, so it can end before we read it.
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if begun.elapsed() > END_MAX {
                self.child.kill()?;
                self.child.wait()?;
                return Err(format!("it still runs after {} seconds", END_MAX.as_secs()).into());
            }
            thread::sleep(Duration::from_millis(5));
        };
        self.stdout.read_to_end(&mut self.first)?;
        Ok(ShownOutput { code: code(status), text: readable(&self.first) })
    }
}

fn asks_for_passphrase(seen: &[u8]) -> bool {
    let text = readable(seen);
    let last = text.rsplit('\n').next().unwrap_or_default();
    last.ends_with(": ") && (last.contains("assphrase") || last.starts_with("Once more"))
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prompt_for_a_passphrase_is_answered() {
        assert!(asks_for_passphrase(b"x\r\nPassphrase of ann: "));
        assert!(asks_for_passphrase(b"Once more: "));
        assert!(!asks_for_passphrase(b"Passphrase of ann: \r\nunlocked"));
        assert!(!asks_for_passphrase(b"passphrase: none is set"));
    }

    #[test]
    fn a_stage_has_its_folder_and_an_exit_code() {
        let stage = TestStage::new(Path::new("/bin/true"), false).unwrap();
        let ran = stage.start(Some("a.token"), "basename \"$PWD\"; exit 7").unwrap().end().unwrap();
        assert_eq!((ran.code, ran.text.as_str()), (7, "shop\n"));
        let ran = stage.start(Some("a.token"), "echo $SAYSO_TOKEN_FILE").unwrap().end().unwrap();
        assert_eq!(ran.text, "a.token\n");
    }
}
