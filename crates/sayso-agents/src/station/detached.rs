//! An agent as a process without a terminal, in a session of its own.

use super::hold::Hold;
use super::leader::{BOOT, Leader};
use super::{Station, StationError, keeper, shown};
use crate::process::MARK;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts an agent and says which process it is.
pub(super) fn start(
    station: &Station<'_>,
    program: &Path,
    path: &str,
    hold: Hold,
) -> Result<Leader, StationError> {
    let place = hold.path.clone();
    launch(station, program, path, hold)
        // The agent has let go of it when it has written down who it is.
        .and_then(|()| Hold::take(&place)?.leader().ok_or(io::ErrorKind::UnexpectedEof.into()))
        .map_err(|source| StationError::Refused { program: shown(program), source })
}

fn launch(station: &Station<'_>, program: &Path, path: &str, hold: Hold) -> io::Result<()> {
    hold.clear()?;
    let (output, input) = io::pipe()?;

    let mut keeper = in_own_session(path);
    keeper.env_clear().env("PATH", path);
    keeper.args(keeper::words(station.log));
    keeper.stdin(output).stdout(Stdio::null()).stderr(Stdio::null());
    run(keeper)?;

    let mut agent = in_own_session(path);
    agent.env_clear().envs(station.variables.iter().map(|(name, value)| (name, value)));
    // Some clients believe this rather than the folder they are in.
    agent.env("PWD", station.folder).env(MARK, station.mark).current_dir(station.folder);
    let write_down = format!("cat /proc/$$/stat {BOOT} >&0 && exec \"$@\" </dev/null");
    agent.args(["sh", "-c", &write_down, "sh"]).arg(program).args(station.args);
    agent.stdin(hold.hand_over()?).stdout(input.try_clone()?).stderr(input);
    run(agent)
}

/// The system would let us ask for a session only in unsafe code, so a program of its own does. It
/// forks, so that we are nobody's parent: who has ended leaves nothing that waits for us.
fn in_own_session(path: &str) -> Command {
    let setsid = super::find("setsid", path, Path::new("/")).unwrap_or_else(|| "setsid".into());
    let mut command = Command::new(setsid);
    command.arg("--fork");
    command
}

/// Takes the command, so that none of its files stays open with us.
fn run(mut command: Command) -> io::Result<()> {
    let status = command.status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("setsid failed: {status}"))),
    }
}
