//! Diffs: the kinds of their lines.

/// The kind of a line of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLineKind {
    /// The name of a file.
    File,
    /// A place in it.
    Place,
    /// A line that is added.
    Added,
    /// A line that is removed.
    Removed,
    /// An unchanged line around them.
    Same,
}

impl DiffLineKind {
    pub fn as_str(self) -> &'static str {
        match self {
            DiffLineKind::File => "file",
            DiffLineKind::Place => "place",
            DiffLineKind::Added => "added",
            DiffLineKind::Removed => "removed",
            DiffLineKind::Same => "same",
        }
    }
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub part: DiffLineKind,
    /// The text of the line.
    pub text: String,
}

/// Returns the lines of a text, if it is a diff.
pub fn diff(text: &str) -> Option<Vec<DiffLine>> {
    let is_diff = text.lines().any(|line| line.starts_with("@@ "))
        && text.lines().any(|line| line.starts_with("+++ "));
    let part = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => DiffLineKind::File,
        [b'd', b'i', b'f', b'f', b' ', ..] => DiffLineKind::File,
        [b'+', ..] => DiffLineKind::Added,
        [b'-', ..] => DiffLineKind::Removed,
        [b'@', b'@', ..] => DiffLineKind::Place,
        _ => DiffLineKind::Same,
    };
    let line = |line: &str| DiffLine { part: part(line), text: line.to_owned() };
    is_diff.then(|| text.lines().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_one() {
        let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same";
        let parts: Vec<_> =
            diff(text).unwrap_or_default().iter().map(|line| line.part.as_str()).collect();
        assert_eq!(parts, ["file", "file", "place", "removed", "added", "same"]);
        assert!(diff("+ a list\n- of things").is_none());
    }
}
