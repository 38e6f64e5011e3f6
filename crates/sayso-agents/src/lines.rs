//! Bounded line reader of a pipe: an overlong line is cut, so memory stays bounded.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most bytes of a line that are kept.
pub(crate) const LINE_MAX: usize = 4 * 1024 * 1024;

/// The interval at which a reader checks if it should stop.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Splits a byte stream into lines.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    line: Vec<u8>,
    left_out: usize,
}

impl LineSplitter {
    /// Adds bytes; every complete line is passed to `each`, with the number of bytes cut off.
    pub(crate) fn push(&mut self, mut piece: &[u8], mut each: impl FnMut(&[u8], usize)) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = piece.split_at(end);
            self.add(line);
            self.hand_out(&mut each);
            piece = rest.get(1..).unwrap_or_default();
        }
        self.add(piece);
    }

    /// Passes on the rest without a line end.
    pub(crate) fn end(&mut self, mut each: impl FnMut(&[u8], usize)) {
        if !self.line.is_empty() {
            self.hand_out(&mut each);
        }
    }

    fn add(&mut self, piece: &[u8]) {
        let kept = piece.len().min(LINE_MAX.saturating_sub(self.line.len()));
        self.line.extend_from_slice(piece.get(..kept).unwrap_or_default());
        self.left_out += piece.len() - kept;
    }

    fn hand_out(&mut self, each: &mut impl FnMut(&[u8], usize)) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        each(line, self.left_out);
        self.line.clear();
        // One huge line must not keep its memory until the end.
        self.line.shrink_to(64 * 1024);
        self.left_out = 0;
    }
}

/// Reads a pipe to its end, or until `unwanted` is set: a process that escaped may keep it open for ever.
pub(crate) fn read_pipe(pipe: &mut File, unwanted: &AtomicBool, mut each: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while !unwanted.load(Ordering::SeqCst) {
        if !is_ready(pipe, PollFlags::IN) {
            continue;
        }
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => each(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Waits a short time until a pipe can be read or written, or is closed. Returns false on timeout.
pub(crate) fn is_ready(pipe: &impl AsFd, flags: PollFlags) -> bool {
    let mut polled = [PollFd::new(pipe, flags)];
    poll(&mut polled, Some(&LOOK_EVERY)).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_whatever_the_pieces() {
        let mut lines = LineSplitter::default();
        let mut got = vec![];
        for piece in ["one\ntw", "o\r\n\nth", "ree"] {
            lines.push(piece.as_bytes(), |line, _| got.push(line.to_vec()));
        }
        lines.end(|line, _| got.push(line.to_vec()));
        assert_eq!(got, [&b"one"[..], b"two", b"", b"three"]);
    }

    #[test]
    fn a_long_line_is_cut_and_what_it_lacks_is_told() {
        let mut lines = LineSplitter::default();
        let mut got = vec![];
        for _ in 0..10 {
            lines.push(&vec![b'x'; 1024 * 1024], |_, _| panic!("no end of line yet"));
        }
        lines.push(b"\nnext\n", |line, left_out| got.push((line.len(), left_out)));
        assert_eq!(got, [(LINE_MAX, 6 * 1024 * 1024), (4, 0)]);
    }
}
