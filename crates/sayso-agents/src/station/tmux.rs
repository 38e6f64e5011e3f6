//! An agent in a tmux session, which people can look at and type into.
//!
//! Each has a server of its own, started with the environment of the agent, so nothing of ours and
//! nothing of another agent is in it. tmux reads formats into most of what it is told; here it is
//! told as little as possible, and that quoted.

use super::hold::Hold;
use super::leader::Leader;
use super::{Station, StationError, find, keeper};
use crate::process::MARK;
use sayso_core::text::{harmless_line, shorten};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The agent's pane: the first of its server, which no other pane ever is.
const PANE: &str = "%0";

/// The screen of a session nobody looks at.
const SCREEN: [&str; 4] = ["-x", "200", "-y", "50"];

/// How long tmux may take, in seconds, and what `timeout` says if it took longer.
const SECONDS_MAX: &str = "10";
const TIMED_OUT: i32 = 124;

/// How long the path of a socket may be.
const SOCKET_MAX: usize = 107;

/// How long a name and a line that is typed may be.
const NAME_MAX: usize = 40;
const LINE_MAX: usize = 1_000;

/// What comes as fast as a machine types, many agents take for pasted, and the end of the line too.
const BEFORE_ENTER: Duration = Duration::from_millis(150);

/// The tmux server of one agent.
#[derive(Debug)]
pub(super) struct Tmux {
    program: PathBuf,
    timeout: PathBuf,
    pub(super) socket: PathBuf,
}

impl Tmux {
    pub(super) fn new(path: &str, socket: PathBuf) -> Result<Self, StationError> {
        if socket.as_os_str().len() > SOCKET_MAX {
            return Err(StationError::LongSocket { path: super::shown(&socket) });
        }
        let program = find("tmux", path, Path::new("/")).ok_or(StationError::NoTmux)?;
        let timeout = find("timeout", path, Path::new("/")).unwrap_or_else(|| "timeout".into());
        Ok(Self { program, timeout, socket })
    }

    /// Starts the agent. The right to do so goes along, so that it lasts until tmux is done, whatever
    /// becomes of us.
    pub(super) fn start(
        &self,
        session: &str,
        station: &Station<'_>,
        program: &Path,
        hold: &Hold,
    ) -> Result<(), StationError> {
        let mut command = self.command();
        command.envs(station.variables.iter().map(|(name, value)| (name, value)));
        command.env("PWD", station.folder).current_dir(station.folder);
        command.args(["new-session", "-d", "-s", session]).args(SCREEN);
        let mark = format!("export {MARK}=\"$0\"; exec \"$@\"");
        let program = program.to_string_lossy();
        let words = ["sh", "-c", &mark, station.mark, &program].map(literal);
        command.args(words).args(station.args.iter().map(|word| literal(word)));
        // In one breath, so that nothing is missing from the log.
        command.args([";", "pipe-pane", "-t", PANE, &keep(station.log)]);
        let stdin = hold.hand_over();
        command.stdin(stdin.map_err(|source| self.refused(source))?);
        said(&self.run(command)?).map(drop)
    }

    /// Whether the agent runs.
    pub(super) fn is_there(&self) -> Result<bool, StationError> {
        Ok(self.ask(&["has-session", "-t", PANE])?.status.success())
    }

    /// Its process.
    pub(super) fn leader(&self) -> Result<Option<Leader>, StationError> {
        let output = self.ask(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let pid = text.lines().find_map(|line| line.strip_prefix(PANE)?.trim().parse().ok());
        Ok(pid.and_then(Leader::of))
    }

    /// Ends what is left of the server, and where it could be reached.
    pub(super) fn end(&self) -> Result<(), StationError> {
        if self.socket.exists() {
            self.ask(&["kill-server"])?;
        }
        match std::fs::remove_file(&self.socket) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(self.refused(source)),
            _ => Ok(()),
        }
    }

    /// Types a line and enters it.
    pub(super) fn type_line(&self, text: &str) -> Result<(), StationError> {
        let line = shorten(&harmless_line(text), LINE_MAX);
        if line.is_empty() {
            return Ok(());
        }
        said(&self.ask(&["send-keys", "-t", PANE, "-l", "--", &literal(&line)])?)?;
        std::thread::sleep(BEFORE_ENTER);
        said(&self.ask(&["send-keys", "-t", PANE, "Enter"])?).map(drop)
    }

    /// What is on the screen.
    pub(super) fn capture(&self) -> Result<String, StationError> {
        said(&self.ask(&["capture-pane", "-p", "-t", PANE])?)
    }

    /// With no settings of the user: an agent's screen is the same on every machine.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.timeout);
        command.env_clear().arg(SECONDS_MAX).arg(&self.program);
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command
    }

    fn ask(&self, words: &[&str]) -> Result<Output, StationError> {
        let mut command = self.command();
        command.args(words).stdin(Stdio::null());
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Result<Output, StationError> {
        let output = command.output().map_err(|source| self.refused(source))?;
        if output.status.code() == Some(TIMED_OUT) {
            let said = format!("no answer within {SECONDS_MAX} seconds");
            return Err(StationError::Tmux { said });
        }
        Ok(output)
    }

    fn refused(&self, source: std::io::Error) -> StationError {
        StationError::Refused { program: super::shown(&self.program), source }
    }
}

/// What it printed, if it did as it was told.
fn said(output: &Output) -> Result<String, StationError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(StationError::Tmux { said: harmless_line(&text(&output.stderr)) }),
    }
}

/// A session's name, of what means nothing to tmux.
pub(super) fn session_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' });
    let plain: String = plain.take(NAME_MAX).collect();
    if plain.is_empty() { "agent".to_owned() } else { plain }
}

/// A word as it is: a semicolon at its end would begin another command.
fn literal(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(start) => format!("{start}\\;"),
        None => word.to_owned(),
    }
}

/// The command line that keeps the log, for a shell, and for the eyes of tmux before it.
fn keep(log: &Path) -> String {
    let quoted = keeper::words(log).map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.join(" ").replace('#', "##").replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_plain_name() {
        for (name, expected) in [
            ("reviewer", "reviewer"),
            ("code review:1.2", "code-review-1-2"),
            ("#(touch x)", "--touch-x-"),
            ("größe", "gr--e"),
            ("", "agent"),
        ] {
            assert_eq!(session_name(name), expected);
        }
        assert_eq!(session_name(&"x".repeat(100)).len(), NAME_MAX);
    }

    #[test]
    fn a_word_ends_no_command() {
        for (word, expected) in [("a", "a"), (";", "\\;"), ("a;b", "a;b"), ("a\\;", "a\\\\;")] {
            assert_eq!(literal(word), expected);
        }
    }
}
