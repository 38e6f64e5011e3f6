//! The log of a turn: the output of the process up to a size limit, and the end of it.
//!
//! Lines of stdout are written as they are, those of stderr with the prefix [`STDERR`]. When the file is full, the
//! end is kept in memory and written when the agent has ended.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The prefix of a line of stderr.
pub(crate) const STDERR: &str = "stderr: ";

/// The prefix of a line of ours.
pub(crate) const OURS: &str = "[sayso] ";

/// The largest size of a log, and of the end that is kept beyond it.
const LOG_MAX: u64 = 16 * 1024 * 1024;
const TAIL_MAX: usize = 1024 * 1024;

/// An open log. Several turns may share one file.
#[derive(Debug)]
pub(crate) struct TurnLog {
    file: File,
    size: u64,
    tail: VecDeque<u8>,
    left_out: u64,
    is_full: bool,
}

impl TurnLog {
    /// Opens a log, readable by this user only: agents print the files they read.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size, tail: VecDeque::new(), left_out: 0, is_full: false })
    }

    pub(crate) fn stdout(&mut self, line: &[u8]) {
        self.write(b"", line);
    }

    pub(crate) fn stderr(&mut self, line: &[u8]) {
        self.write(STDERR.as_bytes(), line);
    }

    /// True if there was more output than the file holds.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Writes a line. An error is ignored: a log that cannot be written must not stop the agent, whose work is done
    /// and whose final message is passed on without it.
    fn write(&mut self, prefix: &[u8], line: &[u8]) {
        let length = (prefix.len() + line.len() + 1) as u64;
        if !self.is_full && self.size + length <= LOG_MAX {
            self.size += length;
            let whole = [prefix, line, b"\n"].concat();
            let _ = self.file.write_all(&whole);
            return;
        }
        if !self.is_full {
            self.is_full = true;
            self.say(&format!("the log is full at {} MiB; its end follows", LOG_MAX >> 20));
        }
        for piece in [prefix, line, b"\n"] {
            self.tail.extend(piece);
        }
        // Cut rarely, so that the cost stays linear.
        if self.tail.len() > 2 * TAIL_MAX {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        let surplus = self.tail.len().saturating_sub(TAIL_MAX);
        self.tail.drain(..surplus);
        self.left_out += surplus as u64;
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.file, "{OURS}{text}");
    }

    /// Writes the end that was kept.
    pub(crate) fn end(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        self.cut_tail();
        self.say(&format!("{} bytes left out", self.left_out));
        let (front, back) = self.tail.as_slices();
        let _ = self.file.write_all(front).and_then(|()| self.file.write_all(back));
        self.tail.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_its_beginning_and_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/run.log");
        let mut log = TurnLog::open(&path).unwrap();
        log.stdout(b"the first line");
        log.stderr(b"a complaint");
        let line = vec![b'x'; 1_000_000];
        for _ in 0..30 {
            log.stdout(&line);
        }
        log.stdout(b"the last line");
        log.end();
        assert!(log.is_full());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() < 18 * 1024 * 1024, "{}", text.len());
        assert!(text.starts_with("the first line\nstderr: a complaint\n"));
        assert!(text.ends_with("\nthe last line\n"));
        assert!(text.contains("[sayso] the log is full at 16 MiB; its end follows\n"));
        assert!(text.contains(" bytes left out\n"));
    }
}
