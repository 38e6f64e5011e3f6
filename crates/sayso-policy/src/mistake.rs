//! What is wrong with a file that somebody wrote: where, what, and how to mend it.

use sayso_core::text::distance;
use serde::Serialize;
use std::fmt;

/// Something in a file that cannot stand. A file with mistakes is not used at all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
pub struct Mistake {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, counted from 1, where it can be told.
    pub line: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { file, line, what, fix } = self;
        match line {
            Some(line) => write!(f, "{file}:{line}: {what}; {fix}"),
            None => write!(f, "{file}: {what}; {fix}"),
        }
    }
}

/// Gathers the mistakes of one file, so that a person mends them all at once.
#[derive(Debug)]
pub struct Mistakes {
    file: String,
    found: Vec<Mistake>,
}

impl Mistakes {
    /// None so far of this file.
    pub fn of(file: &str) -> Self {
        Self { file: file.into(), found: vec![] }
    }

    /// Notes a mistake; a line of 0 is a line nobody knows.
    pub fn add(&mut self, line: u64, what: impl Into<String>, fix: impl Into<String>) {
        let line = (line > 0).then_some(line);
        let mistake = Mistake { file: self.file.clone(), line, what: what.into(), fix: fix.into() };
        if !self.found.contains(&mistake) {
            self.found.push(mistake);
        }
    }

    /// Whether there are none so far.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them, in the order of lines.
    pub fn into_sorted(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|mistake| mistake.line);
        self.found
    }
}

/// The name closest to what was written, when it is close enough to be meant.
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
