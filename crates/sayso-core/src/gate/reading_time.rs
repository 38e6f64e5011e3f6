//! Reading time: detects an approval that came faster than the card can be read. It counts like any other; it is
//! shown.

use super::Gate;
use crate::{AnswerShape, ChoiceOption};
use serde_json::Value;

/// An upper bound of reading speed, in characters per second.
const CHARS_PER_SECOND: u64 = 60;

impl Gate {
    /// Returns the time in milliseconds between display and approval, if it is too short to have read the card. A
    /// rejection needs no reading.
    pub fn hasty_ms(&self) -> Option<u64> {
        let (_, by) = self.answer().filter(|(it, _)| !it.verdict.is_no())?;
        let shown = self.seen.iter().find(|seen| seen.by == by.name && seen.digest == self.digest);
        // Without a record of the display the time of opening is the earliest possible one.
        let since = shown.map_or(self.opened_at, |seen| seen.at);
        let micros = by.at.as_micros().saturating_sub(since.as_micros());
        let looked_ms = u64::try_from(micros / 1_000).ok()?;
        (looked_ms < self.reading_ms()).then_some(looked_ms)
    }

    /// Returns the minimum time it takes to read the card.
    fn reading_ms(&self) -> u64 {
        let card = &self.card;
        let facts: usize = card.facts.iter().map(|fact| chars(&fact.value)).sum();
        let options = match &card.shape {
            AnswerShape::Choice { options, .. } => options.iter().map(written).sum(),
            AnswerShape::Verdict | AnswerShape::Text | AnswerShape::Form { .. } => 0,
        };
        let all = card.question.chars().count() + card.narrative.chars().count() + facts + options;
        all as u64 * 1_000 / CHARS_PER_SECOND
    }
}

fn written(option: &ChoiceOption) -> usize {
    option.name.chars().count() + option.consequence.chars().count()
}

fn chars(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    }
}
