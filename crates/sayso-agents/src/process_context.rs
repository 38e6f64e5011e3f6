//! The surroundings of this process: its ancestors, and the terminal it belongs to.
//!
//! The decision about them is made in [`sayso_core::terminal`]. A part that cannot be read is reported as unseen: a
//! failed lookup is not the same as one that found nothing.

use crate::agent_detection::{self, AgentEvidence};
use crate::process_info::{self, ProcessInfo, UnreadableProcess};
use rustix::fs::{major, minor};
use sayso_core::terminal::{PresenceDoubt, TerminalEnd, TerminalInfo, TerminalProgram};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The most ancestors that are followed. A longer chain hides those above.
const ANCESTORS_MAX: usize = 256;

/// The most attempts when an ancestor ends during the walk.
const LOOKS_MAX: usize = 3;

/// The most nested terminals: that of a tmux in a terminal of sudo in a tmux, and so on.
const NESTED_MAX: usize = 4;

/// The user's own service manager. Where it has more privileges than the user, the kernel hides its environment from
/// them.
const SERVICE_MANAGER: &str = "systemd";

/// Returns the evidence of an agent among the ancestors of this process.
pub fn detect_in_ancestors() -> Result<Option<AgentEvidence>, PresenceDoubt> {
    let blind = |unseen: UnreadableProcess| PresenceDoubt::Blind(unseen.0);
    process_info::check_view().map_err(blind)?;
    let mut looked = Ok(None);
    for _ in 0..LOOKS_MAX {
        looked = walk_ancestors();
        if looked.is_ok() {
            break;
        }
    }
    looked.map_err(blind)
}

fn walk_ancestors() -> Result<Option<AgentEvidence>, UnreadableProcess> {
    let mut pid = process_info::of(std::process::id())?.parent;
    for _ in 0..ANCESTORS_MAX {
        if pid == 0 {
            return Ok(None);
        }
        // The first process belongs to the system, and may be hidden from users.
        let Some(process) = visible(pid)? else { return Ok(None) };
        if let Some(sign) = sign_in(&process)? {
            return Ok(Some(sign));
        }
        pid = process.parent;
    }
    Err(UnreadableProcess(format!("more than {ANCESTORS_MAX} processes are above this one")))
}

fn visible(pid: u32) -> Result<Option<ProcessInfo>, UnreadableProcess> {
    match process_info::of(pid) {
        Ok(process) => Ok(Some(process)),
        Err(_) if pid == 1 => Ok(None),
        Err(unseen) => Err(unseen),
    }
}

fn sign_in(process: &ProcessInfo) -> Result<Option<AgentEvidence>, UnreadableProcess> {
    let pid = process.pid;
    let words = process_info::command_line(pid).unwrap_or_default();
    if let Some(sign) = agent_detection::detect_in_program(&process.name, &words, pid) {
        return Ok(Some(sign));
    }
    match process_info::environment(pid) {
        Ok(variables) => {
            let pairs = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let sign = agent_detection::detect_in_variables_at(pairs, &process_info::folder(pid));
            let seen =
                |sign: AgentEvidence| format!("{} of its ancestor, process {pid}", sign.seen);
            Ok(sign.map(|sign| AgentEvidence { seen: seen(sign.clone()), ..sign }))
        }
        // The environment of other users' processes cannot be read.
        Err(_) if process.name == SERVICE_MANAGER || pid == 1 => Ok(None),
        Err(_) if !process_info::same_user(pid) => Ok(None),
        Err(unseen) => Err(unseen),
    }
}

/// Checks that the terminal of this process is the one on its input or error output. `device` is the device number of
/// the latter, `pane` the position in tmux: `TMUX` and `TMUX_PANE`.
pub fn judge_terminal(
    device: Option<(u32, u32)>,
    pane: Option<(&str, &str)>,
) -> Result<(), PresenceDoubt> {
    let own =
        process_info::of(std::process::id()).map_err(|unseen| PresenceDoubt::Blind(unseen.0))?;
    let number = own.terminal.ok_or(PresenceDoubt::NotOwn)?;
    // The second is the name by which every process finds its own terminal.
    let is_own = |(major, minor)| {
        process_info::terminal_number(major, minor) == number || (major, minor) == (5, 0)
    };
    if !device.is_some_and(is_own) {
        return Err(PresenceDoubt::NotOwn);
    }
    terminal_of(&own, pane, 0).judge()
}

/// Returns the terminal of a process. `pane` is its position in tmux.
fn terminal_of(process: &ProcessInfo, pane: Option<(&str, &str)>, depth: usize) -> TerminalInfo {
    let unseen = TerminalInfo { end: TerminalEnd::Unseen, age: Duration::ZERO };
    let (Some(number), true) = (process.terminal, depth < NESTED_MAX) else { return unseen };
    let leader = process_info::of(process.session).ok();
    let leader = leader.filter(|leader| leader.is_alive && leader.terminal == Some(number));
    let Some(leader) = leader else { return unseen };
    let Ok(age) = process_info::process_age(&leader) else { return unseen };
    if !process_info::is_pseudo_terminal(number) {
        return TerminalInfo { end: TerminalEnd::Device, age };
    }
    // The program that creates a terminal starts the first process in it.
    let Ok(maker) = process_info::of(leader.parent) else { return TerminalInfo { age, ..unseen } };
    let command = process_info::command_line(maker.pid).unwrap_or_default().join(" ");
    let shown_in = match TerminalProgram::of(&maker.name, &command) {
        TerminalProgram::Seat | TerminalProgram::Other => vec![],
        TerminalProgram::Privilege => vec![terminal_of(&maker, pane, depth + 1)],
        TerminalProgram::Multiplexer => clients_of(&maker, number, pane)
            .iter()
            .map(|c| terminal_of(c, None, depth + 1))
            .collect(),
    };
    let end = TerminalEnd::Program { name: maker.name, command, shown_in };
    TerminalInfo { end, age }
}

/// The processes that show a terminal of a multiplexer. Only tmux tells who is attached to which of its terminals: a
/// client of any other says nothing of the one at hand.
fn clients_of(server: &ProcessInfo, terminal: u64, pane: Option<(&str, &str)>) -> Vec<ProcessInfo> {
    let is_known = server.name.starts_with("tmux");
    let found =
        pane.filter(|_| is_known).and_then(|(at, pane)| tmux_clients(server, terminal, at, pane));
    found.unwrap_or_default()
}

/// Returns the clients attached to the session of a pane. The server's own program is asked, at the address in the
/// environment. Any process can set the environment: the answer of another server does not count, nor one about a
/// pane with another terminal.
fn tmux_clients(
    server: &ProcessInfo,
    terminal: u64,
    at: &str,
    pane: &str,
) -> Option<Vec<ProcessInfo>> {
    let socket = Path::new(at.split(',').next()?);
    let program = PathBuf::from(format!("/proc/{}/exe", server.pid));
    let mut command = Command::new(program);
    command.arg("-S").arg(socket).args(["display-message", "-p", "-t", pane, "#{pid} #{pane_tty}"]);
    command.args([";", "list-clients", "-t", pane, "-F", "#{pid} #{client_pid}"]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut answers = text.lines().filter_map(|line| {
        let (asked, answer) = line.split_once(' ')?;
        (asked.parse() == Ok(server.pid)).then(|| answer.trim())
    });
    let device = std::fs::metadata(answers.next()?).ok()?.rdev();
    if process_info::terminal_number(major(device), minor(device)) != terminal {
        return None;
    }
    Some(answers.filter_map(|client| process_info::of(client.parse().ok()?).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_types_at_no_terminal_is_in_doubt() {
        assert_eq!(judge_terminal(None, None), Err(PresenceDoubt::NotOwn));
        // A device that exists and is not a terminal.
        assert_eq!(judge_terminal(Some((1, 3)), None), Err(PresenceDoubt::NotOwn));
    }
}
