//! Time formats of requests and responses: moments and spans.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span};
use sayso_core::text::{sanitize_line, shorten};
use sayso_core::{Code, Refusal, Timestamp};
use std::time::Duration;

/// The longest span that is taken: ten years.
const SPAN_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3_600);

/// Formats a moment as RFC 3339, in UTC.
pub(super) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.as_micros()).map_or_else(|_| "?".into(), |t| t.to_string())
}

/// Parses a moment to come: RFC 3339 with a zone, a span from now such as `30m`, `2h`, `3d`, or `now`.
pub(super) fn moment(typed: &str, now: Timestamp) -> Result<Timestamp, Refusal> {
    let wrong = || {
        bad(typed, "is no moment").hint("write 2026-12-24T18:00:00Z, or a span from now such as 2h")
    };
    if typed == "now" {
        return Ok(now);
    }
    if let Ok(at) = typed.parse::<jiff::Timestamp>() {
        return Ok(Timestamp::from_micros(at.as_microsecond()));
    }
    let now = jiff::Timestamp::from_microsecond(now.as_micros()).map_err(|_| wrong())?;
    let span: Span = typed.parse().map_err(|_| wrong())?;
    let at = now.to_zoned(TimeZone::UTC).checked_add(span).map_err(|_| wrong())?;
    Ok(Timestamp::from_micros(at.timestamp().as_microsecond()))
}

/// Parses a span such as `30s`, `10m`, `1h30m`, or a bare number of seconds.
pub(super) fn span(typed: &str) -> Result<Duration, Refusal> {
    let wrong = || bad(typed, "is no span of time").hint("write 30s, 10m, 2h or 1h30m");
    let span = match typed.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let span: SignedDuration = typed.parse().map_err(|_| wrong())?;
            Duration::try_from(span).map_err(|_| wrong())?
        }
    };
    if span <= SPAN_MAX { Ok(span) } else { Err(bad(typed, "is longer than ten years")) }
}

fn bad(typed: &str, why: &str) -> Refusal {
    Refusal::new(Code::BadValue, format!("{:?} {why}", shorten(&sanitize_line(typed), 60)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_a_span_and_a_moment() {
        for (typed, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5_400)] {
            assert_eq!(span(typed).ok(), Some(Duration::from_secs(seconds)), "{typed}");
        }
        for wrong in ["", "soon", "-5m", "1000000h", "18446744073709551615"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        let now = Timestamp::from_micros(1_763_208_000_000_000);
        assert_eq!(moment("2h", now).ok(), Some(now.plus_micros(7_200_000_000)));
        assert_eq!(moment("1d", now).ok(), Some(now.plus_micros(86_400_000_000)));
        assert!(moment("2030-01-01T10:00:00+01:00", now).is_ok());
        for wrong in ["", "2030-01-01T10:00", "tomorrow", "999999999999y"] {
            assert!(moment(wrong, now).is_err(), "{wrong}");
        }
        assert_eq!(rfc3339(now), "2025-11-15T12:00:00Z");
    }
}
