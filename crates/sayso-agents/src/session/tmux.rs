//! The backend for an agent in a tmux session, which people can look at and type into.
//!
//! Each agent has a tmux server of its own, started with the agent's environment, so that no variable of ours or of
//! another agent is in it. tmux expands formats in most of its arguments; so it gets as few as possible, and those
//! quoted.

use super::lock::SessionLock;
use super::process_identity::ProcessIdentity;
use super::prompt::PaneScreen;
use super::{SessionError, SessionSpec, find, log_writer};
use crate::process_tree::MARK;
use sayso_core::text::{sanitize_line, shorten};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The agent's pane: the first of its server, an ID that no other pane ever gets.
const PANE: &str = "%0";

/// The screen size of a session without an attached client.
const SCREEN: [&str; 4] = ["-x", "200", "-y", "50"];

/// The timeout of a tmux command in seconds, and the exit code of `timeout` after it.
const SECONDS_MAX: &str = "10";
const TIMED_OUT: i32 = 124;

/// The longest path of a socket.
const SOCKET_MAX: usize = 107;

/// The longest name of a session.
const NAME_MAX: usize = 40;

/// The format of the first line of a pane snapshot.
const LOOK: &str = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_width} #{pane_height} \
                    #{pane_in_mode}";

/// The time after the last key of an attached person during which they may press another.
const PERSON_IS_THERE: Duration = Duration::from_secs(30);

/// The tmux buffer for a line that is about to be pasted.
const BUFFER: &str = "sayso";

/// The tmux server of one agent.
#[derive(Debug)]
pub(super) struct TmuxServer {
    program: PathBuf,
    timeout: PathBuf,
    pub(super) socket: PathBuf,
}

impl TmuxServer {
    pub(super) fn new(path: &str, socket: PathBuf) -> Result<Self, SessionError> {
        if socket.as_os_str().len() > SOCKET_MAX {
            return Err(SessionError::LongSocket { path: super::shown(&socket) });
        }
        let program = find("tmux", path, Path::new("/")).ok_or(SessionError::NoTmux)?;
        let timeout = find("timeout", path, Path::new("/")).unwrap_or_else(|| "timeout".into());
        Ok(Self { program, timeout, socket })
    }

    /// Starts the agent. The lock is passed on, so that it is held until tmux is done, even if we die.
    pub(super) fn start(
        &self,
        session: &str,
        station: &SessionSpec<'_>,
        program: &Path,
        hold: &SessionLock,
    ) -> Result<(), SessionError> {
        let mut command = self.command();
        command.envs(station.variables.iter().map(|(name, value)| (name, value)));
        command.env("PWD", station.folder).current_dir(station.folder);
        command.args(["new-session", "-d", "-s", session]).args(SCREEN);
        let mark = format!("export {MARK}=\"$0\"; exec \"$@\"");
        let program = program.to_string_lossy();
        let words = ["sh", "-c", &mark, station.mark, &program].map(literal);
        command.args(words).args(station.args.iter().map(|word| literal(word)));
        // In one tmux command, so that the log misses no output.
        command.args([";", "pipe-pane", "-t", PANE, &keep(station.log)]);
        let stdin = hold.hand_over();
        command.stdin(stdin.map_err(|source| self.refused(source))?);
        said(&self.run(command)?).map(drop)
    }

    /// True if the agent runs.
    pub(super) fn is_there(&self) -> Result<bool, SessionError> {
        Ok(self.ask(&["has-session", "-t", PANE])?.status.success())
    }

    pub(super) fn leader(&self) -> Result<Option<ProcessIdentity>, SessionError> {
        let output = self.ask(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let pid = text.lines().find_map(|line| line.strip_prefix(PANE)?.trim().parse().ok());
        Ok(pid.and_then(ProcessIdentity::of))
    }

    /// Kills the server, if it still runs, and deletes its socket.
    pub(super) fn end(&self) -> Result<(), SessionError> {
        if self.socket.exists() {
            self.ask(&["kill-server"])?;
        }
        match std::fs::remove_file(&self.socket) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(self.refused(source)),
            _ => Ok(()),
        }
    }

    /// Pastes a line into the terminal. A program that supports bracketed paste gets it in one piece, and none of its
    /// menus reads a letter of it as a key. Enter is not pressed.
    pub(super) fn paste(&self, line: &str) -> Result<(), SessionError> {
        let line = literal(line);
        let set = ["set-buffer", "-b", BUFFER, "--", &line, ";"];
        let paste = ["paste-buffer", "-p", "-d", "-b", BUFFER, "-t", PANE];
        said(&self.ask(&[&set[..], &paste[..]].concat())?).map(drop)
    }

    pub(super) fn enter(&self) -> Result<(), SessionError> {
        said(&self.ask(&["send-keys", "-t", PANE, "Enter"])?).map(drop)
    }

    /// Returns a consistent snapshot of the screen and of all else that decides if a line may be typed.
    pub(super) fn look(&self) -> Result<PaneSnapshot, SessionError> {
        let look = ["display-message", "-p", "-t", PANE, LOOK, ";"];
        let capture = ["capture-pane", "-p", "-t", PANE, ";"];
        let people = ["list-clients", "-F", "#{client_activity}"];
        let text = said(&self.ask(&[&look[..], &capture[..], &people[..]].concat())?)?;
        PaneSnapshot::read(&text).ok_or_else(|| {
            let said = format!("a look at a pane that cannot be read: {}", sanitize_line(&text));
            SessionError::Tmux { said: shorten(&said, NAME_MAX * 4) }
        })
    }

    /// Returns the text of the screen.
    pub(super) fn capture(&self) -> Result<String, SessionError> {
        said(&self.ask(&["capture-pane", "-p", "-t", PANE])?)
    }

    /// Builds a tmux command without the user's configuration: an agent's screen is the same on every machine.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.timeout);
        command.env_clear().arg(SECONDS_MAX).arg(&self.program);
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket);
        command
    }

    fn ask(&self, words: &[&str]) -> Result<Output, SessionError> {
        let mut command = self.command();
        command.args(words).stdin(Stdio::null());
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Result<Output, SessionError> {
        let output = command.output().map_err(|source| self.refused(source))?;
        if output.status.code() == Some(TIMED_OUT) {
            let said = format!("no answer within {SECONDS_MAX} seconds");
            return Err(SessionError::Tmux { said });
        }
        Ok(output)
    }

    fn refused(&self, source: std::io::Error) -> SessionError {
        SessionError::Refused { program: super::shown(&self.program), source }
    }
}

/// A snapshot of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaneSnapshot {
    pub(super) screen: PaneScreen,
    /// True if tmux itself reads the keys, as while a person scrolls.
    pub(super) is_in_mode: bool,
    /// The times of the last keys of attached people, in seconds since 1970.
    activity: Vec<u64>,
}

impl PaneSnapshot {
    /// Parses the output of tmux: a line of numbers, the rows of the screen, a line for each attached client.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let numbers = lines.next()?.split_whitespace().map(str::parse);
        let numbers: Vec<usize> = numbers.collect::<Result<_, _>>().ok()?;
        let [column, row, flag, alternate, columns, height, mode] = numbers[..] else {
            return None;
        };
        let rows: Vec<String> =
            lines.by_ref().take(height).map(|row| row.trim_end().to_owned()).collect();
        let activity = lines.map(|line| line.trim().parse()).collect::<Result<_, _>>().ok()?;
        let screen = PaneScreen {
            rows,
            cursor: (column, row),
            shows_cursor: flag != 0,
            is_alternate: alternate != 0,
            columns,
        };
        (screen.rows.len() == height).then_some(Self { screen, is_in_mode: mode != 0, activity })
    }

    /// True if a person is at the keyboard, or if the clocks cannot be compared.
    pub(super) fn has_person(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let until = now.map_or(0, |now| now.saturating_sub(PERSON_IS_THERE).as_secs());
        self.activity.iter().any(|at| *at >= until)
    }
}

/// Returns the output of a successful command.
fn said(output: &Output) -> Result<String, SessionError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(SessionError::Tmux { said: sanitize_line(&text(&output.stderr)) })
    }
}

/// Returns a session name without characters that are special to tmux.
pub(super) fn session_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' });
    let plain: String = plain.take(NAME_MAX).collect();
    if plain.is_empty() { "agent".to_owned() } else { plain }
}

/// Escapes a word: a semicolon at its end would begin another command.
fn literal(word: &str) -> String {
    match word.strip_suffix(';') {
        Some(start) => format!("{start}\\;"),
        None => word.to_owned(),
    }
}

/// Returns the shell command that writes the log, quoted for the shell and for tmux.
fn keep(log: &Path) -> String {
    let quoted = log_writer::words(log).map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.join(" ").replace('#', "##").replace('%', "%%")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
    fn a_look_is_read_whole_or_not_at_all() {
        let look = PaneSnapshot::read("2 1 1 0 80 3 0\none  \n> \n\n1700000000\n").unwrap();
        assert_eq!(look.screen.rows, ["one", ">", ""]);
        assert_eq!((look.screen.cursor, look.screen.columns), ((2, 1), 80));
        assert!(look.screen.shows_cursor && !look.screen.is_alternate && !look.is_in_mode);
        assert!(!look.has_person(), "years ago");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let typing = format!("2 0 1 0 80 1 0\n> \n1700000000\n{now}\n");
        assert!(PaneSnapshot::read(&typing).unwrap().has_person());
        for text in ["", "2 1 1 0 80 3\n", "2 1 1 0 80 3 0\none\n", "2 0 1 0 80 1 0\n>\nsoon\n"] {
            assert_eq!(PaneSnapshot::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_word_ends_no_command() {
        for (word, expected) in [("a", "a"), (";", "\\;"), ("a;b", "a;b"), ("a\\;", "a\\\\;")] {
            assert_eq!(literal(word), expected);
        }
    }
}
