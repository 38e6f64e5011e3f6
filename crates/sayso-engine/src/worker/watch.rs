//! Detects changes by a command outside its allowed paths, over all its attempts.
//!
//! Each attempt answers for all that was changed while it ran: changes by other processes cannot be told apart. A
//! forbidden change stays an offence until it is undone, through all further attempts. A change by a person between
//! two attempts is not one.

use crate::worktree::{PathChange, Worktree};
use sayso_policy::PathPatterns;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The maximum number of paths named in an objection.
const PATHS_MAX: usize = 20;

/// The paths that a command may change, and the file in which its attempts are recorded.
#[derive(Debug, Clone, Copy)]
pub struct PathWatch<'a> {
    /// Patterns of the only paths it may change.
    pub writes: &'a [String],
    /// The worktree to compare.
    pub tree: &'a Worktree,
    /// The file that records its attempts: a process that resumes the step after a crash finds it there.
    pub note: &'a Path,
}

/// The record of the attempts at a step.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WatchRecord {
    step: String,
    /// The snapshot at the beginning of an attempt that has not ended.
    since: Option<String>,
    offences: Vec<PathChange>,
}

impl PathWatch<'_> {
    /// Records the beginning of an attempt: changes from here on count as its own.
    pub(super) fn begin(&self, step: &str) -> Result<(), String> {
        let mut note = self.note_of(step);
        let now = self.tree.snapshot().map_err(|error| error.to_string())?;
        if let Some(since) = note.since.take() {
            // The process that ran it died. Changes since then by other processes cannot be told apart.
            note.offences = self.offences(note.offences, &since, &now)?;
        }
        note.since = Some(now);
        self.keep(&note)
    }

    /// Records the end of an attempt, and describes the forbidden changes that it or an earlier one left.
    pub(super) fn end(&self, step: &str) -> Result<Option<String>, String> {
        let mut note = self.note_of(step);
        let Some(since) = note.since.take() else {
            return Err(format!("{}: it is not noted where it began", self.note.display()));
        };
        let now = self.tree.snapshot().map_err(|error| error.to_string())?;
        note.offences = self.offences(note.offences, &since, &now)?;
        self.keep(&note)?;
        Ok((!note.offences.is_empty()).then(|| self.in_words(&note.offences)))
    }

    /// Returns the offences of earlier attempts that were not undone or changed since, and those of this one.
    fn offences(
        &self,
        earlier: Vec<PathChange>,
        since: &str,
        now: &str,
    ) -> Result<Vec<PathChange>, String> {
        let paths = PathPatterns::new(self.writes)?;
        let changes = self.tree.changes(since, now).map_err(|error| error.to_string())?;
        let mut found: BTreeMap<String, PathChange> = BTreeMap::new();
        if !earlier.is_empty() {
            let there = self.tree.contents(now).map_err(|error| error.to_string())?;
            let is_still = |change: &PathChange| there.get(&change.path) == change.after.as_ref();
            let is_ours = |change: &PathChange| changes.iter().any(|now| now.path == change.path);
            for change in earlier.into_iter().filter(|old| is_still(old) || is_ours(old)) {
                found.insert(change.path.clone(), change);
            }
        }
        for change in changes.into_iter().filter(|change| !paths.fit(&change.path)) {
            // Undone means: restored to the state before the first attempt that touched the path.
            let before = found.remove(&change.path).map_or(change.before, |old| old.before);
            if before != change.after {
                found.insert(change.path.clone(), PathChange { before, ..change });
            }
        }
        Ok(found.into_values().collect())
    }

    fn in_words(&self, offences: &[PathChange]) -> String {
        let mut named: Vec<&str> =
            offences.iter().map(|offence| offence.path.as_str()).take(PATHS_MAX).collect();
        let more = format!("{} more", offences.len().saturating_sub(PATHS_MAX));
        if offences.len() > PATHS_MAX {
            named.push(&more);
        }
        let may = match self.writes {
            [] => "nothing".to_owned(),
            writes => writes.join(", "),
        };
        let named = named.join(", ");
        format!("it changed {named}; only {may} may be changed. Take that back, then try again")
    }

    fn note_of(&self, step: &str) -> WatchRecord {
        let text = std::fs::read_to_string(self.note).unwrap_or_default();
        let note = serde_json::from_str(&text).ok().filter(|note: &WatchRecord| note.step == step);
        note.unwrap_or_else(|| WatchRecord { step: step.to_owned(), ..WatchRecord::default() })
    }

    /// Writes the record atomically: half a record would be unreadable, and the offences forgotten.
    fn keep(&self, note: &WatchRecord) -> Result<(), String> {
        let half = self.note.with_extension("half");
        let text = serde_json::to_string(note).map_err(|error| error.to_string())?;
        let folder = self.note.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&half, text))
            .and_then(|()| std::fs::rename(&half, self.note))
            .map_err(|error| format!("{}: {error}", self.note.display()))
    }
}
