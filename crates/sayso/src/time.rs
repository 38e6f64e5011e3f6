//! Times and durations: parsing and formatting for people.

use crate::exit::{Failure, Result};
use jiff::{SignedDuration, Span, Zoned};
use sayso_core::{Code, Timestamp};
use std::time::Duration;

pub(crate) use sayso_server::text::relative;

/// A moment as RFC 3339, in UTC.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).map_or_else(|_| "?".into(), |t| t.to_string())
}

/// A moment in the local time zone of the person.
pub(crate) fn local(at: Timestamp) -> String {
    let Ok(at) = jiff::Timestamp::from_microsecond(at.as_micros()) else { return "?".into() };
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A duration such as `90s`, `10m`, `1h30m` or a bare number of seconds.
pub(crate) fn duration(text: &str) -> std::result::Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration; write 30s, 10m, 2h or 1h30m");
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let span: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(span).map_err(|_| wrong())
}

/// A future moment: `2h`, `3d`, `2026-12-24`, `2026-12-24T18:00`; and `now`.
pub(crate) fn moment(text: &str, now: Timestamp) -> Result<Timestamp> {
    let wrong = || {
        Failure::new(Code::BadValue, format!("{text:?} is no time"))
            .hint("write 2h, 3d, tomorrow, 2026-12-24 or 2026-12-24T18:00")
    };
    let now = jiff::Timestamp::from_microsecond(now.as_micros()).map_err(|_| wrong())?;
    let now = now.to_zoned(jiff::tz::TimeZone::system());
    let at = parse_future(text, &now).ok_or_else(wrong)?;
    Ok(Timestamp::from_micros(at.timestamp().as_microsecond()))
}

/// A past moment: `30d` ago, `2026-12-24`, `2026-12-24T18:00`.
pub(crate) fn past(text: &str, now: Timestamp) -> Result<Timestamp> {
    let wrong = || {
        Failure::new(Code::BadValue, format!("{text:?} is no time that was"))
            .hint("write 2h, 30d, 2026-12-24 or 2026-12-24T18:00")
    };
    let at = jiff::Timestamp::from_microsecond(now.as_micros()).map_err(|_| wrong())?;
    let at = at.to_zoned(jiff::tz::TimeZone::system());
    match text.parse::<Span>() {
        Ok(span) => {
            let at = at.checked_sub(span).map_err(|_| wrong())?;
            Ok(Timestamp::from_micros(at.timestamp().as_microsecond()))
        }
        Err(_) => moment(text, now).map_err(|_| wrong()),
    }
}

fn parse_future(text: &str, now: &Zoned) -> Option<Zoned> {
    if text == "now" {
        return Some(now.clone());
    }
    if text == "tomorrow" {
        return now.tomorrow().ok()?.start_of_day().ok();
    }
    if let Ok(span) = text.parse::<Span>() {
        return now.checked_add(span).ok();
    }
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(at.to_zoned(now.time_zone().clone()));
    }
    if let Ok(at) = text.parse::<jiff::civil::DateTime>() {
        return at.to_zoned(now.time_zone().clone()).ok();
    }
    let date = text.parse::<jiff::civil::Date>().ok()?;
    date.to_zoned(now.time_zone().clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_write_them() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5_400), ("0", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for wrong in ["", "soon", "-5m", "5 parsecs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn moments_to_come() {
        let now = Timestamp::from_micros(1_763_208_000_000_000);
        assert!(moment("2h", now).is_ok_and(|at| at == now.plus_micros(7_200_000_000)));
        assert!(moment("2030-01-01", now).is_ok());
        assert!(moment("2030-01-01T10:00", now).is_ok());
        assert!(moment("whenever", now).is_err());
        assert!(past("2h", now).is_ok_and(|at| at == now.plus_micros(-7_200_000_000)));
        assert!(past("2020-01-01", now).is_ok());
        assert!(past("whenever", now).is_err());
    }
}
