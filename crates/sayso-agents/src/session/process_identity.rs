//! The identity of a process. A PID alone can be reused for another one.

use crate::process_info;
use serde::{Deserialize, Serialize};

/// The file with the boot ID.
pub(super) const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// A process, identified so that a reused PID is not mistaken for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The PID, which is also that of its session and its group.
    pub pid: u32,
    /// The start time, in clock ticks since boot.
    pub started: u64,
    /// The ID of the boot since which they are counted.
    pub boot: String,
}

impl ProcessIdentity {
    /// Parses the content of `/proc/PID/stat` with the boot ID after it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (stat, boot) = text.trim_end().rsplit_once('\n')?;
        let pid = stat.split_once(' ')?.0.parse().ok()?;
        // The name in brackets may hold any character, so we read after the last bracket.
        let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
        Some(Self { pid, started, boot: boot.to_owned() })
    }

    /// Returns the process that has this PID now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let process = process_info::of(pid).ok().filter(|process| process.is_alive)?;
        Some(Self { pid, started: process.started, boot: process_info::boot()? })
    }

    /// True if this process runs.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_more_than_its_number() {
        let me = ProcessIdentity::of(std::process::id()).unwrap();
        assert!(me.is_alive());
        for other in [
            ProcessIdentity { started: me.started + 1, ..me.clone() },
            ProcessIdentity { boot: "another".into(), ..me.clone() },
            ProcessIdentity { pid: 1, ..me.clone() },
        ] {
            assert!(!other.is_alive(), "{other:?}");
        }
    }

    #[test]
    fn names_of_processes_may_hold_anything() {
        let rest = "S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2 1";
        for name in ["sh", "a b", ") S 1 (", "a\nb"] {
            let leader = ProcessIdentity::read(&format!("7 ({name}) {rest}\nboot\n")).unwrap();
            assert_eq!((leader.pid, leader.started, leader.boot.as_str()), (7, 12345, "boot"));
        }
        for text in ["", "\n", "7 (sh) S 1\nboot\n", "7 (sh)"] {
            assert_eq!(ProcessIdentity::read(text), None, "{text:?}");
        }
    }
}
