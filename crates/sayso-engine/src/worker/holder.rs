//! Identifies the process that holds a run, and detects holders whose process is gone.

use sayso_agents::process_info;
use sayso_core::run::LeaseHolder;
use std::path::Path;

/// Returns the holder that stands for this process in a repository.
pub fn holder(repository: &Path) -> LeaseHolder {
    let pid = std::process::id();
    LeaseHolder {
        host: host(),
        repository: repository.display().to_string(),
        process: format!("{pid}:{}", began(pid).unwrap_or_default()),
    }
}

/// True if the process of a holder is known to be gone. Processes on another machine cannot be checked.
pub fn is_gone(holder: &LeaseHolder, ours: &LeaseHolder) -> bool {
    let Some((pid, began_at)) = holder.process.split_once(':') else { return false };
    let (Ok(pid), false) = (pid.parse::<u32>(), began_at.is_empty()) else { return false };
    holder.host == ours.host && began(pid).as_deref() != Some(began_at)
}

/// Returns the host name with the PID namespace: in a container the same number is another process.
fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{name} {}", process_info::namespace())
}

/// Returns the start time of a process, in the system's own count; none if it is gone or a zombie.
fn began(pid: u32) -> Option<String> {
    let process = process_info::of(pid).ok().filter(|process| process.is_alive)?;
    Some(process.started.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ended_is_gone_and_this_one_is_not() {
        let ours = holder(Path::new("/repository"));
        assert!(!is_gone(&ours, &ours));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let process = format!("{pid}:{}", began(pid).unwrap_or_else(|| "1".into()));
        child.wait().unwrap();
        let theirs = LeaseHolder { process, ..ours.clone() };
        assert!(is_gone(&theirs, &ours));
        let elsewhere = LeaseHolder { host: "elsewhere".into(), ..theirs };
        assert!(!is_gone(&elsewhere, &ours), "nobody can know");
        assert!(!is_gone(&LeaseHolder::default(), &ours), "nobody said who it was");
    }
}
