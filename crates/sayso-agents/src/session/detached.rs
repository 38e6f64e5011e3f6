//! The backend for an agent process without a terminal, in a session of its own.

use super::lock::SessionLock;
use super::process_identity::{BOOT, ProcessIdentity};
use super::{SessionError, SessionSpec, log_writer, shown};
use crate::process_tree::MARK;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts an agent and returns its process.
pub(super) fn start(
    station: &SessionSpec<'_>,
    program: &Path,
    path: &str,
    hold: SessionLock,
) -> Result<ProcessIdentity, SessionError> {
    let place = hold.path.clone();
    launch(station, program, path, hold)
        // The agent releases the lock when it has written its own process ID.
        .and_then(|()| {
            SessionLock::take(&place)?.leader().ok_or(io::ErrorKind::UnexpectedEof.into())
        })
        .map_err(|source| SessionError::Refused { program: shown(program), source })
}

fn launch(
    station: &SessionSpec<'_>,
    program: &Path,
    path: &str,
    hold: SessionLock,
) -> io::Result<()> {
    hold.clear()?;
    let (output, input) = io::pipe()?;

    let mut keeper = in_own_session(path);
    keeper.env_clear().env("PATH", path);
    keeper.args(log_writer::words(station.log));
    keeper.stdin(output).stdout(Stdio::null()).stderr(Stdio::null());
    run(keeper)?;

    let mut agent = in_own_session(path);
    agent.env_clear().envs(station.variables.iter().map(|(name, value)| (name, value)));
    // Some clients trust this variable rather than the working directory.
    agent.env("PWD", station.folder).env(MARK, station.mark).current_dir(station.folder);
    let write_down = format!("cat /proc/$$/stat {BOOT} >&0 && exec \"$@\" </dev/null");
    agent.args(["sh", "-c", &write_down, "sh"]).arg(program).args(station.args);
    agent.stdin(hold.hand_over()?).stdout(input.try_clone()?).stderr(input);
    run(agent)
}

/// Builds a command that runs in a new session. We could start a session only with unsafe code, so a program of its
/// own does it. It forks, so that we are not the parent: a process that ends leaves no zombie for us to reap.
fn in_own_session(path: &str) -> Command {
    let setsid = super::find("setsid", path, Path::new("/")).unwrap_or_else(|| "setsid".into());
    let mut command = Command::new(setsid);
    command.arg("--fork");
    command
}

/// Runs a command and drops it, so that none of its files stays open in this process.
fn run(mut command: Command) -> io::Result<()> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("setsid failed: {status}")))
    }
}
