//! The processes of this machine, read through one crate and one interface.
//!
//! This module decides nothing. A process that cannot be read is an [`UnreadableProcess`] with its reason, never a process
//! without properties: callers must be able to tell "no" from "not known". On systems without `/proc` everything is
//! unseen.

use std::fmt;
use std::time::Duration;

/// A process as the system lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub pid: u32,
    /// The PID of its parent; zero for the first process.
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// The device number of its controlling terminal, if it has one.
    pub terminal: Option<u64>,
    /// The start time in clock ticks since boot.
    pub started: u64,
    /// The name of its program, as far as the system keeps it.
    pub name: String,
    /// True if it has not ended.
    pub is_alive: bool,
}

/// The reason why a process cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableProcess(pub String);

impl fmt::Display for UnreadableProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub use system::{
    all, boot, check_view, command_line, environment, folder, namespace, of, process_age, same_user,
};

/// The major device numbers of pseudo terminals.
const PSEUDO_TERMINALS: std::ops::RangeInclusive<u64> = 136..=143;

/// True if this device number is that of a pseudo terminal.
pub fn is_pseudo_terminal(terminal: u64) -> bool {
    PSEUDO_TERMINALS.contains(&((terminal >> 8) & 0xff))
}

/// Encodes a device number as `/proc` lists controlling terminals.
pub fn terminal_number(major: u32, minor: u32) -> u64 {
    let (major, minor) = (u64::from(major), u64::from(minor));
    ((minor & 0xfff00) << 12) | (major << 8) | (minor & 0xff)
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Duration, ProcessInfo, UnreadableProcess};
    use procfs::Current;
    use procfs::process::Process as Entry;
    use std::path::PathBuf;

    /// The IDs of the initial namespaces, which the kernel has fixed.
    const FIRST_PIDS: &str = "pid:[4026531836]";
    const FIRST_USERS: &str = "user:[4026531837]";

    /// The type of file system that `/proc` has to be.
    const PROC_MAGIC: i64 = 0x9fa0;

    fn unseen(error: impl ToString) -> UnreadableProcess {
        UnreadableProcess(error.to_string())
    }

    fn entry(pid: u32) -> Result<Entry, UnreadableProcess> {
        let pid = i32::try_from(pid).map_err(unseen)?;
        Entry::new(pid).map_err(unseen)
    }

    fn number(raw: i32) -> u32 {
        u32::try_from(raw).unwrap_or(0)
    }

    /// Reads a process by its PID.
    pub fn of(pid: u32) -> Result<ProcessInfo, UnreadableProcess> {
        let stat = entry(pid)?.stat().map_err(unseen)?;
        Ok(ProcessInfo {
            pid: number(stat.pid),
            parent: number(stat.ppid),
            group: number(stat.pgrp),
            session: number(stat.session),
            terminal: Some(u64::from(stat.tty_nr.cast_unsigned())).filter(|terminal| *terminal > 0),
            started: stat.starttime,
            name: stat.comm,
            is_alive: !matches!(stat.state, 'Z' | 'X' | 'x'),
        })
    }

    /// Returns the PIDs of all listed processes.
    pub fn all() -> Vec<u32> {
        let entries = procfs::process::all_processes().into_iter().flatten().flatten();
        entries.map(|entry| number(entry.pid())).collect()
    }

    /// Returns the initial environment of a process.
    pub fn environment(pid: u32) -> Result<Vec<(String, String)>, UnreadableProcess> {
        let pairs = entry(pid)?.environ().map_err(unseen)?;
        let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
        Ok(pairs.into_iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    /// Returns the command line of a process.
    pub fn command_line(pid: u32) -> Result<Vec<String>, UnreadableProcess> {
        entry(pid)?.cmdline().map_err(unseen)
    }

    /// Returns a path that leads to the working directory of a process.
    pub fn folder(pid: u32) -> PathBuf {
        PathBuf::from(format!("/proc/{pid}/cwd"))
    }

    /// True if the process belongs to the user of this one, or if that is not known.
    pub fn same_user(pid: u32) -> bool {
        let owner = entry(pid).and_then(|entry| entry.status().map_err(unseen)).map(|s| s.ruid);
        owner.map_or(true, |owner| owner == rustix::process::getuid().as_raw())
    }

    /// Returns the time since a process was started.
    pub fn process_age(process: &ProcessInfo) -> Result<Duration, UnreadableProcess> {
        let up = procfs::Uptime::current().map_err(unseen)?.uptime_duration();
        let ticks = procfs::ticks_per_second().max(1);
        let started = Duration::from_millis(process.started.saturating_mul(1000) / ticks);
        Ok(up.saturating_sub(started))
    }

    /// Returns the boot ID.
    pub fn boot() -> Option<String> {
        procfs::sys::kernel::random::boot_id().ok()
    }

    /// Returns the PID namespace of this process.
    pub fn namespace() -> String {
        let name = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        name.display().to_string()
    }

    /// Checks that every ancestor of this process can be listed: a real `/proc`, which lists this process under its
    /// own PID, outside of containers.
    pub fn check_view() -> Result<(), UnreadableProcess> {
        let kind = rustix::fs::statfs("/proc").map_err(unseen)?.f_type;
        if kind != PROC_MAGIC {
            return Err(UnreadableProcess("/proc is hidden".into()));
        }
        let own = Entry::myself().map_err(unseen)?;
        if number(own.pid()) != std::process::id() {
            return Err(UnreadableProcess("/proc shows other processes than this one's".into()));
        }
        for (kind, first) in [("pid", FIRST_PIDS), ("user", FIRST_USERS)] {
            let link = std::fs::read_link(format!("/proc/self/ns/{kind}")).map_err(unseen)?;
            if link.as_os_str() != first {
                return Err(UnreadableProcess(
                    "this is a container, and what is outside is hidden".into(),
                ));
            }
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Duration, ProcessInfo, UnreadableProcess};
    use std::path::PathBuf;

    fn unseen<T>() -> Result<T, UnreadableProcess> {
        Err(UnreadableProcess(format!(
            "sayso does not read the processes of {}",
            std::env::consts::OS
        )))
    }

    /// Reads a process by its PID.
    pub fn of(_: u32) -> Result<ProcessInfo, UnreadableProcess> {
        unseen()
    }

    /// Returns the PIDs of all listed processes.
    pub fn all() -> Vec<u32> {
        vec![]
    }

    /// Returns the initial environment of a process.
    pub fn environment(_: u32) -> Result<Vec<(String, String)>, UnreadableProcess> {
        unseen()
    }

    /// Returns the command line of a process.
    pub fn command_line(_: u32) -> Result<Vec<String>, UnreadableProcess> {
        unseen()
    }

    /// Returns the working directory of a process.
    pub fn folder(_: u32) -> PathBuf {
        PathBuf::new()
    }

    /// True if the process belongs to the user of this one, or if that is not known.
    pub fn same_user(_: u32) -> bool {
        true
    }

    /// Returns the time since a process was started.
    pub fn process_age(_: &ProcessInfo) -> Result<Duration, UnreadableProcess> {
        unseen()
    }

    /// Returns the boot ID.
    pub fn boot() -> Option<String> {
        None
    }

    /// Returns the PID namespace of this process.
    pub fn namespace() -> String {
        String::new()
    }

    /// Checks that every ancestor of this process can be listed.
    pub fn check_view() -> Result<(), UnreadableProcess> {
        unseen()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_read_as_it_is() {
        let own = of(std::process::id()).unwrap();
        assert_eq!((own.pid, own.is_alive), (std::process::id(), true));
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(all().contains(&own.pid));
        assert!(same_user(own.pid));
        assert!(process_age(&own).unwrap() < Duration::from_secs(3600));
        assert!(environment(own.pid).unwrap().iter().any(|(name, _)| name == "PATH"));
        assert!(!command_line(own.pid).unwrap().is_empty());
        assert!(boot().is_some());
    }

    #[test]
    fn a_process_that_is_not_there_is_unseen() {
        assert!(of(u32::MAX).is_err() && environment(0).is_err());
    }

    #[test]
    fn numbers_of_terminals_are_those_that_processes_have() {
        for (major, minor, number, is_pseudo) in [
            (136, 3, 0x8803, true),
            (136, 300, (300 & 0xfff00) << 12 | 0x8800 | 44, true),
            (4, 1, 0x401, false),
            (229, 0, 0xe500, false),
        ] {
            assert_eq!(terminal_number(major, minor), number);
            assert_eq!(is_pseudo_terminal(number), is_pseudo, "{major}:{minor}");
        }
    }
}
