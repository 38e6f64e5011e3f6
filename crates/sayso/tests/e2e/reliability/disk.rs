//! A disk of a test's own: small, or read-only. Mounting takes root; where it is not allowed, the
//! tests that need it say so and use what the system offers to everybody.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, unmounted on drop.
pub(super) struct Disk(PathBuf);

impl Disk {
    /// Mounts one of this size. Says on stderr when that is not allowed here.
    pub(super) fn mount(at: &Path, kib: u64) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let size = format!("size={kib}k,mode=700");
        let mounted = mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], at);
        if !mounted {
            eprintln!("no small disk here: mounting one is not allowed");
        }
        mounted.then(|| Self(at.to_owned()))
    }

    /// Shows a folder as it is, read-only, to whoever opens something there from now on. What is open stays so.
    pub(super) fn read_only_view(of: &Path) -> Option<Self> {
        let folder = of.to_str().unwrap();
        let is_there = mount(&["--bind", folder], of);
        if !is_there {
            eprintln!("no read-only view here: mounting one is not allowed");
            return None;
        }
        let view = Self(of.to_owned());
        assert!(mount(&["-o", "remount,bind,ro"], of), "remount,bind,ro");
        Some(view)
    }

    /// Makes it read-only, or writable again.
    pub(super) fn read_only(&self, is_so: bool) {
        let how = if is_so { "remount,ro" } else { "remount,rw" };
        assert!(mount(&["-o", how], &self.0), "{how}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a test that failed half-way may have left files open.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(options: &[&str], at: &Path) -> bool {
    let output = Command::new("mount").args(options).arg(at).output();
    output.is_ok_and(|output| output.status.success())
}
