//! Texts for people, the same on every surface: the command line, the terminal inbox, the pages. The layout is the
//! surface's own.

mod change;
mod diff;
mod flow;
mod form;
mod gate;
mod unblocks;

pub use change::{CallDiff, change, change_of, changed, is_of_the_call};
pub use diff::{DiffLine, DiffLineKind, diff};
pub use flow::flow_event;
pub use form::{
    FieldKind, FormField, PickOption, TextFormat, ValueBounds, field_lines, fields, filled_in,
    json_to_edit, to_correct, to_fill_in,
};
pub use gate::{
    arguments, askers, conditions, ending_in_words, follow_up_lines, hasty_warning, how_to_answer,
    list_notes, rejections_warning, signed, snooze_text, spelt_out, step, still_needed,
    timeout_text, timeout_text_short, who_says,
};
pub use unblocks::{unblocked, unblocks};

use sayso_core::Timestamp;

/// The suffix of an option that means no.
pub const DECLINES: &str = " (rejects)";

/// The age of something that waits, as a surface may colour it. The words stand beside the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingAge {
    /// So new that a person could not be expected to look yet.
    Fresh,
    /// An asker is being kept from its work.
    Waiting,
    Old,
}

impl WaitingAge {
    pub fn as_str(self) -> &'static str {
        match self {
            WaitingAge::Fresh => "fresh",
            WaitingAge::Waiting => "waiting",
            WaitingAge::Old => "old",
        }
    }
}

/// Returns the age of something that waits.
pub fn age(since: Timestamp, now: Timestamp) -> WaitingAge {
    match (now.as_micros() - since.as_micros()) / 60_000_000 {
        ..10 => WaitingAge::Fresh,
        10..60 => WaitingAge::Waiting,
        _ => WaitingAge::Old,
    }
}

/// Returns the distance to a moment: `2 hours ago`, `in 3 days`.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_micros() - at.as_micros()) / 1_000_000;
    let distance = seconds.unsigned_abs();
    let words = match distance {
        0..10 if seconds < 0 => return "in a few seconds".into(),
        0..10 => return "just now".into(),
        10..60 => format!("{distance} seconds"),
        60..3_541 if seconds < 0 => count(distance.div_ceil(60), "minute"),
        3_541..3_600 if seconds < 0 => count(1, "hour"),
        60..3_600 => count(distance / 60, "minute"),
        // A time to come is told to the minute: it may be a deadline.
        3_600..86_400 if seconds < 0 => hours_and_minutes(distance.div_ceil(60)),
        3_600..86_400 => count(distance / 3_600, "hour"),
        86_400..2_592_000 => count(distance / 86_400, "day"),
        2_592_000..31_536_000 => count(distance / 2_592_000, "month"),
        _ => count(distance / 31_536_000, "year"),
    };
    if seconds < 0 { format!("in {words}") } else { format!("{words} ago") }
}

fn hours_and_minutes(minutes: u64) -> String {
    let hours = count(minutes / 60, "hour");
    match minutes % 60 {
        0 => hours,
        minutes => format!("{hours} {}", count(minutes, "minute")),
    }
}

fn count(number: u64, unit: &str) -> String {
    if number == 1 { format!("1 {unit}") } else { format!("{number} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_told_in_words() {
        let now = Timestamp::from_micros(1_000_000_000_000_000);
        let ago = |seconds: i64| relative(now.plus_micros(-seconds * 1_000_000), now);
        assert_eq!(ago(3), "just now");
        assert_eq!(ago(60), "1 minute ago");
        assert_eq!(ago(7_300), "2 hours ago");
        assert_eq!(ago(-90_000), "in 1 day");
    }

    #[test]
    fn ages_grow() {
        let now = Timestamp::from_micros(1_000_000_000_000_000);
        let since = |minutes: i64| age(now.plus_micros(-minutes * 60_000_000), now);
        assert_eq!(
            [since(9), since(10), since(60)],
            [WaitingAge::Fresh, WaitingAge::Waiting, WaitingAge::Old]
        );
    }
}
