//! What a command changed that it may not, over all its attempts.
//!
//! Each attempt answers for what was changed while it ran, by whomever: nobody can tell that apart. What
//! it left that it may not stays an offence until that is taken back, however often it is tried again. What
//! a person changes between two attempts is theirs.

use crate::worktree::{Change, Worktree};
use sayso_policy::Paths;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How many paths are named in an objection.
const PATHS_MAX: usize = 20;

/// What a command may change, and where it is noted what it did.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// Patterns of the only paths it may change.
    pub writes: &'a [String],
    /// The tree to look at.
    pub tree: &'a Worktree,
    /// The file that keeps what its attempts did: whoever goes on with it after a crash finds it there.
    pub note: &'a Path,
}

/// What is known of the attempts at a step.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    step: String,
    /// What was there when the attempt began that has not ended.
    since: Option<String>,
    offences: Vec<Change>,
}

impl Watch<'_> {
    /// An attempt begins: what is changed from here on is its doing.
    pub(super) fn begin(&self, step: &str) -> Result<(), String> {
        let mut note = self.note_of(step);
        let now = self.tree.snapshot().map_err(|error| error.to_string())?;
        if let Some(since) = note.since.take() {
            // Whoever ran it died. Nobody knows what was changed since by somebody else.
            note.offences = self.offences(note.offences, &since, &now)?;
        }
        note.since = Some(now);
        self.keep(&note)
    }

    /// The attempt is over. What it, or one before it, changed and may not, in words.
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

    /// Those of earlier attempts that nobody took back or changed since, and those of this one.
    fn offences(
        &self,
        earlier: Vec<Change>,
        since: &str,
        now: &str,
    ) -> Result<Vec<Change>, String> {
        let paths = Paths::new(self.writes)?;
        let changes = self.tree.changes(since, now).map_err(|error| error.to_string())?;
        let mut found: BTreeMap<String, Change> = BTreeMap::new();
        if !earlier.is_empty() {
            let there = self.tree.contents(now).map_err(|error| error.to_string())?;
            let is_still = |change: &Change| there.get(&change.path) == change.after.as_ref();
            let is_ours = |change: &Change| changes.iter().any(|now| now.path == change.path);
            for change in earlier.into_iter().filter(|old| is_still(old) || is_ours(old)) {
                found.insert(change.path.clone(), change);
            }
        }
        for change in changes.into_iter().filter(|change| !paths.fit(&change.path)) {
            // Taken back is what was there before the first attempt that touched it.
            let before = found.remove(&change.path).map_or(change.before, |old| old.before);
            if before != change.after {
                found.insert(change.path.clone(), Change { before, ..change });
            }
        }
        Ok(found.into_values().collect())
    }

    fn in_words(&self, offences: &[Change]) -> String {
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

    fn note_of(&self, step: &str) -> Note {
        let text = std::fs::read_to_string(self.note).unwrap_or_default();
        let note = serde_json::from_str(&text).ok().filter(|note: &Note| note.step == step);
        note.unwrap_or_else(|| Note { step: step.to_owned(), ..Note::default() })
    }

    /// Whole or not at all: half a note would be none, and what was done against the rule forgotten.
    fn keep(&self, note: &Note) -> Result<(), String> {
        let half = self.note.with_extension("half");
        let text = serde_json::to_string(note).map_err(|error| error.to_string())?;
        let folder = self.note.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&half, text))
            .and_then(|()| std::fs::rename(&half, self.note))
            .map_err(|error| format!("{}: {error}", self.note.display()))
    }
}
