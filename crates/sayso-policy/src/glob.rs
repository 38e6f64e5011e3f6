//! Glob patterns for names, words and paths. Plain text is compared directly; only real patterns are compiled.

use globset::{GlobBuilder, GlobMatcher};
use std::sync::OnceLock;

/// The characters that make a text a pattern.
const SPECIAL: [char; 5] = ['*', '?', '[', '{', '\\'];

/// A glob pattern, compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct GlobPattern {
    text: String,
    case_matters: bool,
    sort: GlobKind,
}

#[derive(Debug)]
enum GlobKind {
    Any,
    Plain,
    Pattern { glob: globset::Glob, matcher: OnceLock<GlobMatcher> },
}

/// The purpose of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternPurpose {
    /// A name or a word: `*` matches any text.
    Names,
    /// A path: `*` stays within a directory, `**` does not.
    Paths,
}

impl GlobPattern {
    pub(crate) fn new(
        text: &str,
        purpose: PatternPurpose,
        case_matters: bool,
    ) -> Result<Self, String> {
        let sort = match text {
            "*" if purpose == PatternPurpose::Names => GlobKind::Any,
            "**" => GlobKind::Any,
            _ if !text.contains(SPECIAL) => GlobKind::Plain,
            _ => {
                let glob = GlobBuilder::new(text)
                    .literal_separator(purpose == PatternPurpose::Paths)
                    .case_insensitive(!case_matters)
                    .backslash_escape(true)
                    .build()
                    .map_err(|error| error.kind().to_string())?;
                GlobKind::Pattern { glob, matcher: OnceLock::new() }
            }
        };
        Ok(Self { text: text.into(), case_matters, sort })
    }

    /// Returns the text, if the pattern stands for exactly that.
    pub(crate) fn plain(&self) -> Option<&str> {
        match &self.sort {
            GlobKind::Plain => Some(&self.text),
            GlobKind::Any | GlobKind::Pattern { .. } => None,
        }
    }

    pub(crate) fn is_any(&self) -> bool {
        matches!(self.sort, GlobKind::Any)
    }

    pub(crate) fn fits(&self, text: &str) -> bool {
        match &self.sort {
            GlobKind::Any => true,
            GlobKind::Plain if self.case_matters => self.text == text,
            GlobKind::Plain => {
                self.text.len() == text.len() && self.text.eq_ignore_ascii_case(text)
                    || (!text.is_ascii() && self.text.to_lowercase() == text.to_lowercase())
            }
            GlobKind::Pattern { .. } if self.begins_otherwise(text) => false,
            GlobKind::Pattern { glob, matcher } => {
                matcher.get_or_init(|| glob.compile_matcher()).is_match(text)
            }
        }
    }

    /// True if the plain start of a pattern excludes a text. That is so nearly always, and it saves compiling the
    /// pattern. Only for ASCII, where each letter has just two cases.
    fn begins_otherwise(&self, text: &str) -> bool {
        let plain = self.text.split(SPECIAL).next().unwrap_or_default();
        // A slash before two stars may stand for none.
        let plain = plain.trim_end_matches('/');
        if !plain.is_ascii() || !text.is_ascii() {
            return false;
        }
        !text.get(..plain.len()).is_some_and(|head| head.eq_ignore_ascii_case(plain))
    }

    /// True if a text with this start could match.
    pub(crate) fn could_begin(&self, start: &str) -> bool {
        match &self.sort {
            GlobKind::Any | GlobKind::Pattern { .. } => true,
            GlobKind::Plain => {
                self.text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
            }
        }
    }
}

/// A set of path patterns: `*` stays within a directory, `**` does not, and a directory with a trailing slash means
/// all its content.
#[derive(Debug)]
pub struct PathPatterns(Vec<GlobPattern>);

impl PathPatterns {
    /// Parses the patterns, or returns the error of one of them.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        let read = |pattern: &S| {
            let text = pattern.as_ref();
            let whole = if text.ends_with('/') { format!("{text}**") } else { text.to_owned() };
            GlobPattern::new(&whole, PatternPurpose::Paths, true)
                .map_err(|why| format!("`{text}`: {why}"))
        };
        patterns.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// True if a path matches one of them.
    pub fn fit(&self, path: &str) -> bool {
        self.0.iter().any(|glob| glob.fits(path))
    }
}

/// A pattern, compiled twice: strictly for rules that allow, loosely for rules that ask or deny.
#[derive(Debug)]
pub(crate) struct DualPattern {
    pub(crate) text: String,
    pub(crate) exact: GlobPattern,
    pub(crate) loose: GlobPattern,
}

impl DualPattern {
    pub(crate) fn new(text: &str, purpose: PatternPurpose) -> Result<Self, String> {
        let exact = GlobPattern::new(text, purpose, true)?;
        let loose = GlobPattern::new(text, purpose, false)?;
        Ok(Self { text: text.into(), exact, loose })
    }

    pub(crate) fn fits(&self, text: &str, strictly: bool) -> bool {
        if strictly { self.exact.fits(text) } else { self.loose.fits(text) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn what_fits() {
        let table = [
            ("Bash", PatternPurpose::Names, "Bash", true, true),
            ("Bash", PatternPurpose::Names, "bash", false, true),
            ("mcp__*", PatternPurpose::Names, "mcp__x/y", true, true),
            ("{Write,Edit}", PatternPurpose::Names, "Edit", true, true),
            ("src/*", PatternPurpose::Paths, "src/a/b", false, false),
            ("src/**", PatternPurpose::Paths, "src/a/b", true, true),
            ("**", PatternPurpose::Paths, "a/b", true, true),
            ("*", PatternPurpose::Paths, "a/b", false, false),
            ("mcp__*", PatternPurpose::Names, "Bash", false, false),
            ("mcp__*", PatternPurpose::Names, "MCP__x", false, true),
            ("mcp__*", PatternPurpose::Names, "mcp", false, false),
            ("src/**/a", PatternPurpose::Paths, "src/a", true, true),
            ("/**/a", PatternPurpose::Paths, "/a", true, true),
        ];
        for (pattern, purpose, text, exact, loose) in table {
            let glob = DualPattern::new(pattern, purpose).unwrap();
            assert_eq!(glob.fits(text, true), exact, "{pattern} {text}");
            assert_eq!(glob.fits(text, false), loose, "{pattern} {text}");
        }
        assert!(DualPattern::new("a[", PatternPurpose::Names).is_err());
    }

    #[test]
    fn paths_are_named_by_any_of_the_patterns() {
        let paths = PathPatterns::new(&["PLAN.md", "docs/**", "src/*.rs", "assets/"]).unwrap();
        for path in ["PLAN.md", "docs/a/b.md", "src/main.rs", "assets/x/y.png"] {
            assert!(paths.fit(path), "{path}");
        }
        for path in ["plan.md", "x/PLAN.md", "doc", "src/a/b.rs", "assets.txt", ""] {
            assert!(!paths.fit(path), "{path}");
        }
        assert!(PathPatterns::new(&["a["]).unwrap_err().contains("`a[`"));
    }
}
