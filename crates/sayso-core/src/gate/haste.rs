//! Haste: a yes that came sooner than what it is about can be read. It counts like any other; it is shown.

use super::Gate;
use crate::{Choice, Shape};
use serde_json::Value;

/// Nobody reads more characters than this in a second.
const CHARS_PER_SECOND: u64 = 60;

impl Gate {
    /// For how long whoever said yes had the card before them, in milliseconds, where that is too short to have
    /// read it. A no needs no reading.
    pub fn hasty_ms(&self) -> Option<u64> {
        let (_, by) = self.answer().filter(|(it, _)| !it.verdict.is_no())?;
        let shown = self.seen.iter().find(|seen| seen.by == by.name && seen.digest == self.digest);
        // Where nobody noted that they looked, they cannot have begun before it was asked.
        let since = shown.map_or(self.opened_at, |seen| seen.at);
        let micros = by.at.as_micros().saturating_sub(since.as_micros());
        let looked_ms = u64::try_from(micros / 1_000).ok()?;
        (looked_ms < self.reading_ms()).then_some(looked_ms)
    }

    /// How long it takes to read the card, at the very least.
    fn reading_ms(&self) -> u64 {
        let card = &self.card;
        let facts: usize = card.facts.iter().map(|fact| chars(&fact.value)).sum();
        let options = match &card.shape {
            Shape::Choice { options, .. } => options.iter().map(written).sum(),
            Shape::Verdict | Shape::Text | Shape::Form { .. } => 0,
        };
        let all = card.question.chars().count() + card.narrative.chars().count() + facts + options;
        all as u64 * 1_000 / CHARS_PER_SECOND
    }
}

fn written(option: &Choice) -> usize {
    option.name.chars().count() + option.consequence.chars().count()
}

fn chars(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    }
}
