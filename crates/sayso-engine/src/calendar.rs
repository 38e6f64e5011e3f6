//! Calendars: working hours, holidays and quiet hours in a time zone.
//!
//! Pure: the zone is looked up once, when a calendar is read; times are passed in. Everything is computed in
//! instants, so a day with a change to or from summer time is as long as it really is.

use jiff::civil::{Date, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{ToSpan, Zoned};
use sayso_core::Timestamp;
use sayso_core::text::distance;
use sayso_policy::LocalTime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The minutes of a day.
const DAY: i32 = 24 * 60;

/// The maximum distance to the next working hours.
const YEAR_MICROS: i64 = 366 * 24 * 3_600_000_000;

/// The maximum number of days that are searched: ten years.
const DAYS_MAX: usize = 3_660;

/// The maximum number of spans of a day, and of holidays of a calendar.
const SPANS_MAX: usize = 24;
const HOLIDAYS_MAX: usize = 1_000;

/// A person's calendar.
///
/// Read from and written in the words people use:
///
/// ```yaml
/// zone: Europe/Berlin
/// hours: {mon-fri: 09:00-17:00, sat: [10:00-12:00, 13:00-15:00]}
/// holidays: [2026-12-25]
/// quiet: 22:00-07:00
/// ```
///
/// A span over midnight belongs to the day it begins on: one that begins on a holiday falls away,
/// one that began the evening before runs to its end. Without `hours` there is no working time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CalendarText", into = "CalendarText")]
pub struct Calendar {
    zone: TimeZone,
    /// The spans of each day from Monday on, each day in order.
    hours: [Vec<DaySpan>; 7],
    holidays: BTreeSet<Date>,
    /// The quiet spans of every day, in order. Never the whole day.
    quiet: Vec<DaySpan>,
}

impl Default for Calendar {
    /// No working hours, no quiet hours, in UTC.
    fn default() -> Self {
        let (hours, holidays, quiet) = (Default::default(), BTreeSet::new(), vec![]);
        Self { zone: TimeZone::UTC, hours, holidays, quiet }
    }
}

impl Calendar {
    /// Returns the zone's name, such as Europe/Berlin.
    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or_default()
    }

    /// Returns the local time of this calendar, as policies see it.
    pub fn time(&self, at: Timestamp) -> LocalTime {
        LocalTime::of(&self.zoned(at))
    }

    /// True if `at` is working time.
    pub fn is_working(&self, at: Timestamp) -> bool {
        self.working_from(at).next().is_some_and(|work| work.start <= at)
    }

    /// Returns the first instant of working time from `at` on; none if there is none within a year.
    pub fn next_working(&self, at: Timestamp) -> Option<Timestamp> {
        let start = self.working_from(at).next()?.start.max(at);
        (micros_between(at, start) <= YEAR_MICROS).then_some(start)
    }

    /// Returns the instant at which `span` of working time has passed since `from`; for a span of zero, the first
    /// instant of working time. None if there is no working time within a year, or if it would take more than ten.
    pub fn working_after(&self, from: Timestamp, span: Duration) -> Option<Timestamp> {
        let mut left = i64::try_from(span.as_micros()).ok()?;
        let mut at = self.next_working(from)?;
        for work in self.working_from(at) {
            // Spans may overlap, and no time counts twice.
            let start = work.start.max(at);
            let length = micros_between(start, work.end);
            if left <= length {
                return Some(start.plus_micros(left));
            }
            left -= length.max(0);
            at = work.end.max(at);
        }
        None
    }

    /// Returns `at` itself, or the end of the quiet hours around it.
    pub fn out_of_quiet(&self, at: Timestamp) -> Timestamp {
        let mut end = at;
        for quiet in self.intervals(at, |_| &self.quiet) {
            if quiet.start > end {
                break;
            }
            end = end.max(quiet.end);
        }
        end
    }

    fn working_from(&self, at: Timestamp) -> impl Iterator<Item = TimeInterval> {
        self.intervals(at, |date| {
            if self.holidays.contains(&date) {
                &[]
            } else {
                self.hours.get(index(date.weekday())).map_or(&[], Vec::as_slice)
            }
        })
    }

    /// Yields the spans of each day as intervals of instants, from the first that ends after `at`, ordered by start.
    /// Bounded, so that no loop over it is endless.
    fn intervals<'a>(
        &'a self,
        at: Timestamp,
        spans: impl Fn(Date) -> &'a [DaySpan] + 'a,
    ) -> impl Iterator<Item = TimeInterval> + 'a {
        // A span that began the evening before may not have ended.
        let eve = self.zoned(at).date().saturating_sub(1.day());
        let days = eve.series(1.day()).take(DAYS_MAX);
        days.flat_map(move |date| {
            spans(date).iter().filter_map(move |span| self.interval(date, *span))
        })
        .filter(move |stretch| stretch.end > at)
    }

    /// None if a change of the clocks skips all of it.
    fn interval(&self, date: Date, span: DaySpan) -> Option<TimeInterval> {
        let (start, end) = (self.instant_at(date, span.start)?, self.instant_at(date, span.end)?);
        (start < end).then_some(TimeInterval { start, end })
    }

    /// Returns the instant at which the clocks show this many minutes past the midnight of a day. A time that is
    /// shown twice means the first, one that is skipped means the instant of the jump: each time is one instant, so
    /// spans that meet on the clock meet.
    fn instant_at(&self, date: Date, minutes: i32) -> Option<Timestamp> {
        let clock = date.at(0, 0, 0, 0).checked_add(minutes.minutes()).ok()?;
        let ambiguous = self.zone.to_ambiguous_timestamp(clock);
        let first = ambiguous.earlier().ok()?;
        let moment = match ambiguous.offset() {
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => first,
            AmbiguousOffset::Gap { .. } => self.zone.following(first).next()?.timestamp(),
        };
        Some(Timestamp::from_micros(moment.as_microsecond()))
    }

    /// Clamps times before and after the range of the calendar library.
    fn zoned(&self, at: Timestamp) -> Zoned {
        let end = if at.as_micros() < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or(end);
        at.to_zoned(self.zone.clone())
    }
}

/// A half-open interval of instants.
#[derive(Debug, Clone, Copy)]
struct TimeInterval {
    start: Timestamp,
    end: Timestamp,
}

fn micros_between(start: Timestamp, end: Timestamp) -> i64 {
    end.as_micros().saturating_sub(start.as_micros())
}

fn index(weekday: Weekday) -> usize {
    usize::from(weekday.to_monday_zero_offset().unsigned_abs())
}

/// A span of a day in minutes from its midnight. A span that ends on the next day ends after [`DAY`]; none is empty,
/// none longer than a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DaySpan {
    start: i32,
    end: i32,
}

impl FromStr for DaySpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((start, end)) = text.split_once(['-', '–']) else {
            return Err(format!("{text:?} is no span of hours: write it as 09:00-17:00"));
        };
        let (start, end) = (minutes(start)?, minutes(end)?);
        if start == end {
            let fix = "write 00:00-24:00 for the whole day, or leave it out";
            return Err(format!("the span {text:?} is empty: {fix}"));
        }
        if start == DAY {
            return Err(format!("the span {text:?} begins at 24:00: write 00:00 on the next day"));
        }
        Ok(Self { start, end: if end < start { end + DAY } else { end } })
    }
}

impl fmt::Display for DaySpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.end > DAY { self.end - DAY } else { self.end };
        let (start, hour, minute) = (self.start, end / 60, end % 60);
        write!(f, "{:02}:{:02}-{hour:02}:{minute:02}", start / 60, start % 60)
    }
}

/// Parses `09:00`, `9:00` or `9` to minutes since midnight.
fn minutes(text: &str) -> Result<i32, String> {
    let text = text.trim();
    let number = |digits: &str| {
        let is_plain = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse::<i32>().ok()).flatten()
    };
    let parsed = match text.split_once(':') {
        Some((hour, minute)) => number(hour).zip(number(minute).filter(|_| minute.len() == 2)),
        None => number(text).map(|hour| (hour, 0)),
    };
    let sum = parsed.filter(|(_, minute)| *minute < 60).map(|(hour, minute)| hour * 60 + minute);
    sum.filter(|sum| *sum <= DAY).ok_or_else(|| {
        format!("{text:?} is no time of day: write it as 09:00, from 00:00 to 24:00")
    })
}

/// Parses weekdays: `mon`, `monday`, `mon-fri`, `sat-mon`, `mon, wed`.
fn weekdays(text: &str) -> Result<Vec<usize>, String> {
    let mut days = vec![];
    for part in text.split(',') {
        let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
        let (first, last) = (weekday(first)?, weekday(last)?);
        days.extend((0..=(last + 7 - first) % 7).map(|step| (first + step) % 7));
    }
    Ok(days)
}

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn weekday(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let is_meant = |name: &str| lower.len() >= 3 && name.starts_with(&lower);
    WEEKDAYS.iter().position(|name| is_meant(name)).ok_or_else(|| {
        format!(
            "{text:?} is no weekday: write mon, tue, wed, thu, fri, sat, sun, or a range as mon-fri"
        )
    })
}

/// The serialized form of a calendar.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CalendarText {
    zone: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    hours: BTreeMap<String, SpanList>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    holidays: Vec<String>,
    #[serde(default, skip_serializing_if = "SpanList::is_empty")]
    quiet: SpanList,
}

/// One span or a list of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected hours as 09:00-17:00, or a list of them")]
enum SpanList {
    One(String),
    Many(Vec<String>),
}

impl Default for SpanList {
    fn default() -> Self {
        Self::Many(vec![])
    }
}

impl SpanList {
    fn is_empty(&self) -> bool {
        matches!(self, SpanList::Many(spans) if spans.is_empty())
    }

    fn written(spans: &[DaySpan]) -> Self {
        match spans {
            [span] => SpanList::One(span.to_string()),
            _ => SpanList::Many(spans.iter().map(ToString::to_string).collect()),
        }
    }

    /// Parses the spans and sorts them.
    fn read(&self) -> Result<Vec<DaySpan>, String> {
        let texts = match self {
            SpanList::One(text) => std::slice::from_ref(text),
            SpanList::Many(texts) => texts,
        };
        if texts.len() > SPANS_MAX {
            return Err(format!("a day has at most {SPANS_MAX} spans, not {}", texts.len()));
        }
        let mut spans = texts.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>()?;
        spans.sort_unstable();
        Ok(spans)
    }
}

impl TryFrom<CalendarText> for Calendar {
    type Error = String;

    fn try_from(words: CalendarText) -> Result<Self, String> {
        let mut hours: [Vec<DaySpan>; 7] = Default::default();
        let mut named = BTreeSet::new();
        for (days, spans) in &words.hours {
            let spans = spans.read()?;
            for day in weekdays(days)? {
                if !named.insert(day) {
                    return Err(format!(
                        "{} is named twice, at last in {days:?}: name each day once, with all its spans",
                        WEEKDAYS[day]
                    ));
                }
                hours[day].clone_from(&spans);
            }
        }
        let quiet = words.quiet.read()?;
        if is_whole_day(&quiet) {
            let fix = "leave out the hours in which a message may come";
            return Err(format!("the quiet hours cover the whole day: {fix}"));
        }
        if words.holidays.len() > HOLIDAYS_MAX {
            return Err(format!("at most {HOLIDAYS_MAX} holidays, not {}", words.holidays.len()));
        }
        let holidays = words.holidays.iter().map(|text| date(text)).collect::<Result<_, _>>()?;
        Ok(Self { zone: zone(&words.zone)?, hours, holidays, quiet })
    }
}

impl From<Calendar> for CalendarText {
    fn from(calendar: Calendar) -> Self {
        let spans = |day: &usize| calendar.hours[*day].as_slice();
        let days: Vec<usize> = (0..7).filter(|day| !spans(day).is_empty()).collect();
        let runs = days.chunk_by(|a, b| *b == a + 1 && spans(a) == spans(b));
        let short = |day: &usize| &WEEKDAYS[*day][..3];
        let hours = runs.filter_map(|run| {
            let name = match (run.first()?, run.last()?) {
                (first, last) if first == last => short(first).to_owned(),
                (first, last) => format!("{}-{}", short(first), short(last)),
            };
            Some((name, SpanList::written(spans(run.first()?))))
        });
        Self {
            zone: calendar.zone().to_owned(),
            hours: hours.collect(),
            holidays: calendar.holidays.iter().map(ToString::to_string).collect(),
            quiet: SpanList::written(&calendar.quiet),
        }
    }
}

/// True if the daily spans cover the whole day.
fn is_whole_day(spans: &[DaySpan]) -> bool {
    let covers = |minute: i32, span: &DaySpan| {
        (span.start..span.end).contains(&minute) || (span.start..span.end).contains(&(minute + DAY))
    };
    (0..DAY).all(|minute| spans.iter().any(|span| covers(minute, span)))
}

fn date(text: &str) -> Result<Date, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no date: write it as 2026-12-25"))
}

fn zone(text: &str) -> Result<TimeZone, String> {
    let found = TimeZone::get(text).ok().filter(|zone| !zone.is_unknown());
    found.filter(|zone| zone.iana_name().is_some()).ok_or_else(|| {
        let near = near_zones(text);
        let fix = match near.as_slice() {
            [] => "write it as Europe/Berlin, America/New_York or UTC".to_owned(),
            names => format!("did you mean {}?", names.join(" or ")),
        };
        format!("there is no time zone {text:?}: {fix}")
    })
}

/// Returns the zones whose name or city is nearest to the text by edit distance; three at most.
fn near_zones(text: &str) -> Vec<String> {
    let plain = |name: &str| name.trim().to_lowercase().replace(' ', "_");
    let wanted = plain(text);
    let close_enough = 1 + wanted.chars().count() / 5;
    let mut near: Vec<(usize, String)> = vec![];
    for name in jiff::tz::db().available() {
        let whole = plain(name.as_str());
        let city = whole.rsplit('/').next().unwrap_or_default();
        let distance = distance(&wanted, &whole).min(distance(&wanted, city));
        near.push((distance, name.to_string()));
    }
    let nearest = near.iter().map(|(distance, _)| *distance).min().unwrap_or_default();
    near.retain(|(distance, _)| *distance == nearest && nearest <= close_enough);
    near.sort();
    near.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
