//! The log of a long-running agent: the end of its output, in two files of bounded size.
//!
//! No process of ours stays to write it, so a small shell program does, as long as the agent writes. That program
//! does not carry the mark: it ends by itself after the agent, when the last output is written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The size at which a log is rotated. It may exceed that by one write, 4 MiB.
const LOG_MAX: u64 = 8 * 1024 * 1024;

/// The script that writes stdin to the log. dd passes data on as soon as it arrives, and reports at the end that it
/// has read nothing. A full log is rotated. After any error the agent can still write.
const KEEP: &str = r#"umask 077
while said=$(dd bs=16k count=256 2>&1 >>"$1"); do
    case $said in "0+0 "*) exit ;; esac
    if [ "$(wc -c <"$1")" -ge "$2" ]; then mv -f "$1" "$1.1" || break; fi
done 2>/dev/null
exec cat >/dev/null"#;

/// Returns the command that writes its stdin to a log.
pub(super) fn words(log: &Path) -> [String; 6] {
    let log = log.to_string_lossy().into_owned();
    ["sh".into(), "-c".into(), KEEP.into(), "sh".into(), log, LOG_MAX.to_string()]
}

/// Returns the last lines of a log, at most `bytes_max`. Untrusted text: sanitise it before it is shown.
pub fn tail(log: &Path, bytes_max: u64) -> io::Result<String> {
    let old = PathBuf::from(format!("{}.1", log.display()));
    let mut end = match last(log, bytes_max) {
        // It was rotated just now.
        Err(error) if error.kind() == io::ErrorKind::NotFound && old.exists() => vec![],
        read => read?,
    };
    let room = bytes_max.saturating_sub(end.len() as u64);
    if room > 0 && old.exists() {
        end.splice(..0, last(&old, room)?);
    }
    let is_cut = end.len() as u64 == bytes_max;
    let first = end.iter().position(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    // A part of a line is better than none.
    if is_cut && first < end.len() {
        end.drain(..first);
    }
    Ok(String::from_utf8_lossy(&end).into_owned())
}

fn last(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
    let mut bytes = vec![];
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_has_whole_lines_of_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.log");
        assert_eq!(tail(&log, 10).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&log, "four\nfive\n").unwrap();
        let old = folder.path().join("a.log.1");
        for (before, bytes_max, expected) in [
            (None, 100, "four\nfive\n"),
            (None, 8, "five\n"),
            (None, 3, "ve\n"),
            (Some("one\ntwo\nthree\n"), 100, "one\ntwo\nthree\nfour\nfive\n"),
            (Some("one\ntwo\nthree\n"), 18, "three\nfour\nfive\n"),
            (Some("one\ntwo\nthree\n"), 8, "five\n"),
        ] {
            if let Some(before) = before {
                std::fs::write(&old, before).unwrap();
            }
            assert_eq!(tail(&log, bytes_max).unwrap(), expected, "{before:?}, {bytes_max}");
        }
        std::fs::remove_file(&log).unwrap();
        assert_eq!(tail(&log, 100).unwrap(), "one\ntwo\nthree\n");
    }
}
