//! Detection of rate and usage limits in a client's error messages, and of the time at which they end.
//!
//! Only texts of the client are searched, never those of the agent: an agent may well write about limits.

use crate::events::UsageLimit;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp as Moment, Zoned};
use sayso_core::Timestamp;

/// Phrases of clients that mean a limit, in lower case.
const WORDS: &[&str] = &[
    "usage limit",
    "rate limit",
    "rate-limit",
    "rate_limit",
    "spend limit",
    "session limit",
    "weekly limit",
    "too many requests",
    "(429)",
    "status 429",
    "status: 429",
    "error 429",
    "error: 429",
    "resource_exhausted",
    "quota exceeded",
    "exceeded your current quota",
    "exhausted your",
    "quota will reset",
    "increase your limits",
];

/// The age up to which a time of day still means today.
const JUST_PAST: SignedDuration = SignedDuration::from_mins(5);

/// The most characters of the client's message that are kept.
const TEXT_MAX: usize = 500;

/// The current time with its time zone, by which clients name times of day.
#[derive(Debug, Clone)]
pub(crate) struct LocalNow {
    at: Zoned,
}

impl LocalNow {
    pub(crate) fn take() -> Self {
        Self { at: Zoned::now() }
    }

    pub(crate) fn after(&self, seconds: f64) -> Option<Timestamp> {
        let span = SignedDuration::try_from_secs_f64(seconds).ok()?;
        Some(stamp(self.at.timestamp().checked_add(span).ok()?))
    }
}

/// Returns the limit that a message reports, if it does.
pub(crate) fn read(text: &str, now: &LocalNow) -> Option<UsageLimit> {
    let lower = text.to_ascii_lowercase();
    let is_hit = lower.contains("hit your") && lower.contains("limit");
    if !is_hit && !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    Some(known(text, until(&lower, now)))
}

/// Builds a limit that the client has marked as one.
pub(crate) fn known(text: &str, until: Option<Timestamp>) -> UsageLimit {
    UsageLimit { until, text: text.trim().chars().take(TEXT_MAX).collect() }
}

/// Returns the end of the limit that a message in lower case names.
pub(crate) fn until(lower: &str, now: &LocalNow) -> Option<Timestamp> {
    epoch(lower)
        .or_else(|| behind(lower, SPANS).and_then(|words| now.after(seconds(words)?)))
        .or_else(|| behind(lower, CLOCKS).and_then(|words| on_the_clock(words, now)))
}

/// Parses a time in RFC 3339 format.
pub(crate) fn rfc3339(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok().map(stamp)
}

/// Converts seconds since the epoch.
pub(crate) fn from_seconds(seconds: i64) -> Option<Timestamp> {
    seconds.checked_mul(1_000_000).map(Timestamp::from_micros)
}

fn stamp(moment: Moment) -> Timestamp {
    Timestamp::from_micros(moment.as_microsecond())
}

/// Phrases before a duration, and before a time of day.
const SPANS: &[&str] =
    &["try again in ", "retry in ", "reset after ", "resets in ", "retry after "];
const CLOCKS: &[&str] = &["try again at ", "resets at ", "resets on ", "resets ", "reset at "];

fn behind<'t>(lower: &'t str, phrases: &[&str]) -> Option<&'t str> {
    phrases.iter().find_map(|phrase| lower.split_once(phrase)).map(|(_, words)| words)
}

/// Parses `usage limit reached|1760000000`, an earlier format of Claude Code.
fn epoch(lower: &str) -> Option<Timestamp> {
    let (_, rest) = lower.split_once("limit reached|")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    from_seconds(digits.parse().ok()?)
}

/// Parses `1.5s`, `18h22m7s`, `20ms`, `3 days 4 hours 5 minutes`.
fn seconds(words: &str) -> Option<f64> {
    let mut rest = words.trim_start();
    let mut total = None;
    while let Some((number, unit, behind)) = number_and_unit(rest) {
        total = Some(total.unwrap_or(0.0) + number * unit);
        rest = behind.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    total
}

fn number_and_unit(words: &str) -> Option<(f64, f64, &str)> {
    let digits = words.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = words.get(..digits)?.parse().ok()?;
    let behind = words.get(digits..)?.trim_start();
    let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
    let (unit, rest) = behind.split_at_checked(letters)?;
    let seconds = match unit {
        "ms" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some((number, seconds, rest))
}

/// Parses `3:04 pm.`, `3pm (europe/berlin)`, `oct 9 at 3pm`, `oct 9th, 2026 3:04 pm`: the next such time in the named
/// zone, or else in ours.
fn on_the_clock(words: &str, now: &LocalNow) -> Option<Timestamp> {
    let zone = zone(words).unwrap_or_else(|| now.at.time_zone().clone());
    let here = now.at.with_time_zone(zone.clone());
    let words: Vec<_> = words.split([' ', ',', '(']).filter(|word| !word.is_empty()).collect();
    let (date, rest) = match month(words.first()?) {
        Some(month) => date(month, words.get(1..)?, &here)?,
        None => (None, words.as_slice()),
    };
    let time = time(rest)?;
    let moment = match date {
        Some(date) => date.to_datetime(time),
        None => today_or_tomorrow(time, &here)?,
    };
    Some(stamp(moment.to_zoned(zone).ok()?.timestamp()))
}

fn zone(words: &str) -> Option<TimeZone> {
    let name = words.split_once('(')?.1.split_once(')')?.0;
    TimeZone::get(name).ok()
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let found = MONTHS.iter().position(|month| word.starts_with(month))?;
    i8::try_from(found + 1).ok()
}

type DateAndRest<'w, 't> = (Option<jiff::civil::Date>, &'w [&'t str]);

/// Parses a day with an optional year; without one the next such day is meant.
fn date<'w, 't>(month: i8, words: &'w [&'t str], here: &Zoned) -> Option<DateAndRest<'w, 't>> {
    let (day, rest) = words.split_first()?;
    let day = day.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    let written = rest.first().and_then(|word| word.parse::<i16>().ok()).filter(|y| *y > 2000);
    let rest = if written.is_some() { rest.get(1..)? } else { rest };
    let in_year = |year| jiff::civil::Date::new(year, month, day).ok();
    let date = match written {
        Some(year) => in_year(year)?,
        None => in_year(here.year())
            .filter(|date| *date >= here.date())
            .or_else(|| in_year(here.year() + 1))?,
    };
    Some((Some(date), rest))
}

/// Returns today or tomorrow at this time. Clients leave out the seconds, so the named minute may have begun: then
/// one minute is added, and not a day.
fn today_or_tomorrow(time: Time, here: &Zoned) -> Option<DateTime> {
    let (today, now) = (here.date().to_datetime(time), here.datetime());
    if today > now {
        return Some(today);
    }
    if now.duration_since(today) <= JUST_PAST {
        now.checked_add(SignedDuration::from_mins(1)).ok()
    } else {
        Some(here.date().tomorrow().ok()?.to_datetime(time))
    }
}

/// Parses `3pm`, `3:04 pm`, `15:04`, with an optional `at` before it.
fn time(words: &[&str]) -> Option<Time> {
    let words = if words.first() == Some(&"at") { words.get(1..)? } else { words };
    let first = words.first()?.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let joined = words.get(1).map_or("", |word| word.trim_end_matches('.'));
    let (digits, half) = match first.strip_suffix("pm").map(|d| (d, 12)) {
        Some(found) => found,
        None => match first.strip_suffix("am") {
            Some(digits) => (digits, 0),
            None if joined.starts_with("pm") => (first, 12),
            None if joined.starts_with("am") => (first, 0),
            None => (first, 24),
        },
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = if half == 24 { hour } else { hour % 12 + half };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn now() -> LocalNow {
        LocalNow { at: "2026-10-08T14:00:00+00:00[UTC]".parse().unwrap() }
    }

    fn check(text: &str, expected: Option<&str>) {
        let limit = read(text, &now()).unwrap_or_else(|| panic!("no limit in {text:?}"));
        assert_eq!(limit.until, expected.map(|at| rfc3339(at).unwrap()), "{text}");
    }

    #[test]
    fn limits_are_recognised_with_their_end() {
        check("Claude AI usage limit reached|1791475200", Some("2026-10-08T16:00:00Z"));
        check(
            "You've hit your session limit · resets 3pm (Europe/Berlin)",
            Some("2026-10-09T13:00:00Z"),
        );
        check(
            "You've hit your weekly limit · resets Oct 9 at 3pm (UTC)",
            Some("2026-10-09T15:00:00Z"),
        );
        check(
            "You've hit your weekly limit · resets Jan 2, 5:30am (UTC)",
            Some("2027-01-02T05:30:00Z"),
        );
        check("You've hit your limit · resets at 14:30", Some("2026-10-08T14:30:00Z"));
        check(
            "You've hit your usage limit. Upgrade to Pro or try again at 3:04 PM.",
            Some("2026-10-08T15:04:00Z"),
        );
        // The current minute: the end is one minute later, and not a day.
        check("You've hit your usage limit. Try again at 2:00 PM.", Some("2026-10-08T14:01:00Z"));
        check("You've hit your usage limit. Try again at 1:54 PM.", Some("2026-10-09T13:54:00Z"));
        check(
            "You've hit your usage limit. Try again at Oct 9th, 2026 1:04 AM.",
            Some("2026-10-09T01:04:00Z"),
        );
        check(
            "You've hit your usage limit. Try again in 1 day 2 hours 3 minutes.",
            Some("2026-10-09T16:03:00Z"),
        );
        check(
            "Rate limit reached for gpt-5. Please try again in 1.5s. Visit",
            Some("2026-10-08T14:00:01.5Z"),
        );
        check("Your quota will reset after 18h22m7s.", Some("2026-10-09T08:22:07Z"));
        check(
            "You exceeded your current quota. Please retry in 34.5s.",
            Some("2026-10-08T14:00:34.5Z"),
        );
        check("exceeded retry limit, last status: 429 Too Many Requests", None);
        check("API Error: Request rejected (429) · overloaded", None);
        check("You've hit your limit · resets whenever", None);
        check("usage limit reached|99999999999999999999999", None);
    }

    #[test]
    fn other_troubles_are_no_limits() {
        for text in ["unexpected status 401 Unauthorized", "connection reset", "", "exit 429"] {
            assert_eq!(read(text, &now()), None, "{text}");
        }
    }
}
