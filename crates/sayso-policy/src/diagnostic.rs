//! Diagnostics for files that people write: the line, the problem and the fix.

use sayso_core::text::distance;
use serde::Serialize;
use std::fmt;

/// A mistake in a file. A file with mistakes is not used at all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
pub struct FileDiagnostic {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, counted from 1, if it is known.
    pub line: Option<u64>,
    pub what: String,
    /// The advice for fixing it.
    pub fix: String,
}

impl fmt::Display for FileDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileDiagnostic { file, line, what, fix } = self;
        match line {
            Some(line) => write!(f, "{file}:{line}: {what}; {fix}"),
            None => write!(f, "{file}: {what}; {fix}"),
        }
    }
}

/// Collects the mistakes of one file, so that a person fixes them all at once.
#[derive(Debug)]
pub struct FileDiagnostics {
    file: String,
    found: Vec<FileDiagnostic>,
}

impl FileDiagnostics {
    /// Returns an empty collection for this file.
    pub fn of(file: &str) -> Self {
        Self { file: file.into(), found: vec![] }
    }

    /// Adds a mistake; a line of 0 means that it is unknown.
    pub fn add(&mut self, line: u64, what: impl Into<String>, fix: impl Into<String>) {
        let line = (line > 0).then_some(line);
        let mistake =
            FileDiagnostic { file: self.file.clone(), line, what: what.into(), fix: fix.into() };
        if !self.found.contains(&mistake) {
            self.found.push(mistake);
        }
    }

    /// True if there are no mistakes so far.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns all of them, ordered by line.
    pub fn into_sorted(mut self) -> Vec<FileDiagnostic> {
        self.found.sort_by_key(|mistake| mistake.line);
        self.found
    }
}

/// Returns the name closest to the given one, if it is close enough to be meant.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close_enough = 1 + written.chars().count() / 4;
    names
        .into_iter()
        .map(|name| (distance(written, name), name))
        .filter(|(distance, _)| *distance <= close_enough)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_meant() {
        let names = ["match", "when", "then", "reason"];
        assert_eq!(nearest("mach", names), Some("match"));
        assert_eq!(nearest("reson", names), Some("reason"));
        assert_eq!(nearest("thn", names), Some("then"));
        assert_eq!(nearest("colour", names), None);
    }
}
