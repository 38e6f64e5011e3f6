//! Tests of calendars: tables of cases, and properties of random calendars.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn calendar(yaml: &str) -> Calendar {
    serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"))
}

/// Parses a local time of a calendar, the first instant if the clocks show it twice. With an offset, as `2026-10-25
/// 02:30 +01:00`, exactly that instant.
fn at(calendar: &Calendar, clock: &str) -> Timestamp {
    let moment = match clock.parse::<jiff::Timestamp>() {
        Ok(moment) => moment,
        Err(_) => {
            let clock: jiff::civil::DateTime = clock.parse().unwrap();
            clock.to_zoned(calendar.zone.clone()).unwrap().timestamp()
        }
    };
    Timestamp::from_micros(moment.as_microsecond())
}

fn shown(calendar: &Calendar, at: Option<Timestamp>) -> String {
    at.map_or("never".into(), |at| calendar.zoned(at).strftime("%Y-%m-%d %H:%M %:z").to_string())
}

fn hours(hours: f64) -> Duration {
    Duration::from_secs_f64(hours * 3600.0)
}

const OFFICE: &str =
    "{zone: Europe/Berlin, hours: {mon-fri: 09:00-17:00}, holidays: [2026-12-25, 2027-01-01]}";
const NIGHTS: &str = "{zone: Europe/Berlin, hours: {mon-sun: 22:00-06:00}, holidays: [2026-05-01]}";
const ALWAYS: &str = "{zone: Europe/Berlin, hours: {mon-sun: 00:00-24:00}}";

#[test]
fn working_time_passes_in_working_hours_only() {
    let split = "{zone: UTC, hours: {mon: [09:00-12:00, 13:00-17:00], wed: 9-10}}";
    let overlap = "{zone: UTC, hours: {mon: [09:00-12:00, 11:00-13:00], sun: 20:00-10:00}}";
    let india = "{zone: Asia/Kolkata, hours: {mon-fri: 09:30-18:00}}";
    let howe = "{zone: Australia/Lord_Howe, hours: {mon-sun: 01:00-05:00}}";
    let gap = "{zone: Europe/Berlin, hours: {sun: [01:00-02:30, 02:30-04:00]}}";
    let inside = "{zone: Europe/Berlin, hours: {sun: 02:15-02:45}}";
    let samoa = "{zone: Pacific/Apia, hours: {mon-sun: 09:00-17:00}}";
    let cairo = "{zone: Africa/Cairo, hours: {mon-sun: 00:00-02:00}}";
    let table = [
        // Plain days, weekends.
        (OFFICE, "2026-11-16 09:00", 8.0, "2026-11-16 17:00 +01:00"),
        (OFFICE, "2026-11-16 16:00", 2.0, "2026-11-17 10:00 +01:00"),
        (OFFICE, "2026-11-16 07:00", 1.0, "2026-11-16 10:00 +01:00"),
        (OFFICE, "2026-11-20 16:30", 1.0, "2026-11-23 09:30 +01:00"),
        (OFFICE, "2026-11-21 12:00", 0.0, "2026-11-23 09:00 +01:00"),
        (OFFICE, "2026-11-16 12:00", 0.0, "2026-11-16 12:00 +01:00"),
        (OFFICE, "2026-11-16 17:00", 0.0, "2026-11-17 09:00 +01:00"),
        // Holidays and the end of the year: Fridays both.
        (OFFICE, "2026-12-24 16:00", 2.0, "2026-12-28 10:00 +01:00"),
        (OFFICE, "2026-12-31 16:00", 2.0, "2027-01-04 10:00 +01:00"),
        // Several spans, and those that overlap count once.
        (split, "2026-11-16 11:00", 2.0, "2026-11-16 14:00 +00:00"),
        (split, "2026-11-16 16:00", 2.5, "2026-11-23 09:30 +00:00"),
        (overlap, "2026-11-15 23:00", 14.0, "2026-11-16 13:00 +00:00"),
        // Over midnight; a holiday takes the night that begins on it, not the one that ends on it.
        (NIGHTS, "2026-11-16 23:00", 4.0, "2026-11-17 03:00 +01:00"),
        (NIGHTS, "2026-11-17 05:00", 2.0, "2026-11-17 23:00 +01:00"),
        (NIGHTS, "2026-05-01 05:00", 2.0, "2026-05-02 23:00 +02:00"),
        (NIGHTS, "2026-12-31 23:00", 2.0, "2027-01-01 01:00 +01:00"),
        // Spring forward: the night has an hour less. Back: an hour more.
        (NIGHTS, "2026-03-28 22:00", 7.0, "2026-03-29 06:00 +02:00"),
        (NIGHTS, "2026-03-28 22:00", 8.0, "2026-03-29 23:00 +02:00"),
        (NIGHTS, "2026-10-24 22:00", 9.0, "2026-10-25 06:00 +01:00"),
        (ALWAYS, "2026-03-29 00:00", 23.0, "2026-03-30 00:00 +02:00"),
        (ALWAYS, "2026-10-25 00:00", 25.0, "2026-10-26 00:00 +01:00"),
        // Hours that begin or end where the clocks jump, or are shown twice.
        (gap, "2026-03-29 00:00", 1.0, "2026-03-29 03:00 +02:00"),
        (gap, "2026-03-29 00:00", 2.0, "2026-03-29 04:00 +02:00"),
        (gap, "2026-10-25 00:00", 1.5, "2026-10-25 02:30 +02:00"),
        (gap, "2026-10-25 00:00", 4.0, "2026-10-25 04:00 +01:00"),
        (inside, "2026-03-29 00:00", 0.25, "2026-04-05 02:30 +02:00"),
        (inside, "2026-10-25 00:00", 0.5, "2026-10-25 02:45 +02:00"),
        (cairo, "2026-04-24 00:00", 1.0, "2026-04-24 02:00 +03:00"),
        // Offsets of half an hour: of the zone, and of its summer time.
        (india, "2026-11-16 17:30", 1.0, "2026-11-17 10:00 +05:30"),
        (howe, "2026-10-04 00:00", 3.5, "2026-10-04 05:00 +11:00"),
        (howe, "2026-04-05 00:00", 4.5, "2026-04-05 05:00 +10:30"),
        // A date that was skipped.
        (samoa, "2011-12-29 16:00", 2.0, "2011-12-31 10:00 +14:00"),
    ];
    for (yaml, from, span, expected) in table {
        let calendar = calendar(yaml);
        let after = calendar.working_after(at(&calendar, from), hours(span));
        assert_eq!(shown(&calendar, after), expected, "{span} h after {from} in {yaml}");
    }
}

#[test]
fn what_is_working_time() {
    for (yaml, clock, is_working, next) in [
        (OFFICE, "2026-11-16 08:59", false, "2026-11-16 09:00 +01:00"),
        (OFFICE, "2026-11-16 09:00", true, "2026-11-16 09:00 +01:00"),
        (OFFICE, "2026-11-16 16:59", true, "2026-11-16 16:59 +01:00"),
        (OFFICE, "2026-11-16 17:00", false, "2026-11-17 09:00 +01:00"),
        (OFFICE, "2026-12-25 12:00", false, "2026-12-28 09:00 +01:00"),
        (NIGHTS, "2026-11-16 05:59", true, "2026-11-16 05:59 +01:00"),
        (NIGHTS, "2026-11-16 06:00", false, "2026-11-16 22:00 +01:00"),
        (NIGHTS, "2026-05-01 05:00", true, "2026-05-01 05:00 +02:00"),
        (NIGHTS, "2026-05-02 05:00", false, "2026-05-02 22:00 +02:00"),
        (NIGHTS, "2026-10-25T02:30:00+01:00", true, "2026-10-25 02:30 +01:00"),
        ("{zone: UTC}", "2026-11-16 12:00", false, "never"),
        ("{zone: UTC, hours: {mon-fri: []}}", "2026-11-16 12:00", false, "never"),
    ] {
        let calendar = calendar(yaml);
        let at = at(&calendar, clock);
        assert_eq!(calendar.is_working(at), is_working, "{clock} in {yaml}");
        assert_eq!(shown(&calendar, calendar.next_working(at)), next, "{clock} in {yaml}");
    }
}

#[test]
fn who_never_works_is_not_waited_for() {
    let mut idle = calendar(OFFICE);
    let from = at(&idle, "2026-11-16 12:00");
    let first = idle.zoned(from).date();
    idle.holidays = first.series(1.day()).take(400).collect();
    assert_eq!(idle.next_working(from), None);
    assert_eq!(idle.working_after(from, hours(1.0)), None);
    idle.holidays = first.series(1.day()).take(300).collect();
    assert!(idle.working_after(from, hours(1.0)).is_some());

    // Neither a huge span nor the end of time leads to an endless loop.
    let always = calendar(ALWAYS);
    assert_eq!(always.working_after(from, Duration::MAX), None);
    assert_eq!(always.working_after(from, hours(24.0 * 366.0 * 11.0)), None);
    assert!(always.working_after(from, hours(24.0 * 365.0 * 9.0)).is_some());
    for end in [i64::MIN, i64::MAX] {
        let end = Timestamp::from_micros(end);
        let _ = (always.working_after(end, hours(1.0)), always.is_working(end), always.time(end));
        assert_eq!(calendar("{zone: UTC, quiet: 22-7}").out_of_quiet(end), end);
    }
}

#[test]
fn nobody_is_disturbed_in_quiet_hours() {
    let night = "{zone: Europe/Berlin, quiet: 22:00-07:00}";
    let early = "{zone: Europe/Berlin, quiet: 00:00-02:30}";
    let chain = "{zone: UTC, quiet: [12:00-13:00, 13:00-14:00, 22:00-02:00]}";
    // Loud only in the hour that the clocks jump over.
    let jumped = "{zone: Europe/Berlin, quiet: 03:00-02:00}";
    for (yaml, clock, expected) in [
        (night, "2026-11-16 21:59", "2026-11-16 21:59 +01:00"),
        (night, "2026-11-16 22:00", "2026-11-17 07:00 +01:00"),
        (night, "2026-11-17 03:00", "2026-11-17 07:00 +01:00"),
        (night, "2026-11-17 07:00", "2026-11-17 07:00 +01:00"),
        (night, "2026-12-31 23:00", "2027-01-01 07:00 +01:00"),
        (night, "2026-03-28 23:00", "2026-03-29 07:00 +02:00"),
        (early, "2026-03-29 01:00", "2026-03-29 03:00 +02:00"),
        (early, "2026-10-25 01:00", "2026-10-25 02:30 +02:00"),
        (chain, "2026-11-16 12:30", "2026-11-16 14:00 +00:00"),
        (chain, "2026-11-16 23:00", "2026-11-17 02:00 +00:00"),
        (jumped, "2026-03-28 12:00", "2026-03-30 02:00 +02:00"),
        ("{zone: UTC}", "2026-11-16 03:00", "2026-11-16 03:00 +00:00"),
    ] {
        let calendar = calendar(yaml);
        let out = calendar.out_of_quiet(at(&calendar, clock));
        assert_eq!(shown(&calendar, Some(out)), expected, "{clock} in {yaml}");
    }
}

#[test]
fn policies_see_the_clocks_of_the_calendar() {
    let calendar = calendar("{zone: asia/kolkata}");
    let time = calendar.time(at(&calendar, "2026-11-15T20:00:00Z"));
    let seen = (time.hour, time.minute, time.weekday.as_str(), time.date.as_str());
    assert_eq!(seen, (1, 30, "monday", "2026-11-16"));
    assert_eq!(time.zone, "Asia/Kolkata");
    assert_eq!(calendar.zone(), "Asia/Kolkata");
}

#[test]
fn a_calendar_is_written_in_the_words_it_is_read_from() {
    let text = "
zone: Europe/Berlin
hours: {mon-fri: 09:00-17:00, sat: [10:00-12:00, 13:00-15:00]}
holidays: [2026-12-25]
quiet: 22:00-07:00
";
    let plain = json!({
        "zone": "Europe/Berlin",
        "hours": {"mon-fri": "09:00-17:00", "sat": ["10:00-12:00", "13:00-15:00"]},
        "holidays": ["2026-12-25"],
        "quiet": "22:00-07:00",
    });
    assert_eq!(serde_json::to_value(calendar(text)).unwrap(), plain);
    assert_eq!(serde_json::from_value::<Calendar>(plain).unwrap(), calendar(text));

    for (written, plain) in [
        ("{monday: 9-17}", json!({"mon": "09:00-17:00"})),
        ("{MON–Wed: 9:30–24:00}", json!({"mon-wed": "09:30-24:00"})),
        ("{sat-mon: 22:00-00:00}", json!({"mon": "22:00-24:00", "sat-sun": "22:00-24:00"})),
        ("{'tue, thu': 20:00-19:59}", json!({"tue": "20:00-19:59", "thu": "20:00-19:59"})),
        (
            "{mon: [13:00-15:00, 9-12], tue: [9-12, 13-15]}",
            json!({"mon-tue": ["09:00-12:00", "13:00-15:00"]}),
        ),
    ] {
        let calendar = calendar(&format!("{{zone: UTC, hours: {written}}}"));
        let again = serde_json::to_value(&calendar).unwrap();
        assert_eq!(again["hours"], plain, "{written}");
        assert_eq!(serde_json::from_value::<Calendar>(again).unwrap(), calendar, "{written}");
    }
}

#[test]
fn a_mistake_says_what_to_write() {
    for (yaml, expected) in [
        ("{zone: europe/berln}", "no time zone \"europe/berln\": did you mean Europe/Berlin?"),
        ("{zone: Berlin}", "did you mean Europe/Berlin?"),
        ("{zone: new york}", "did you mean America/New_York?"),
        ("{zone: Middle-earth/Bree}", "write it as Europe/Berlin, America/New_York or UTC"),
        ("{zone: ''}", "no time zone"),
        ("{}", "missing field `zone`"),
        (
            "{zone: UTC, hours: {mon: 25:00-26:00}}",
            "\"25:00\" is no time of day: write it as 09:00",
        ),
        ("{zone: UTC, hours: {mon: 09:60-10:00}}", "\"09:60\" is no time of day"),
        ("{zone: UTC, hours: {mon: 9:5-10:00}}", "\"9:5\" is no time of day"),
        ("{zone: UTC, hours: {mon: +9-10}}", "\"+9\" is no time of day"),
        ("{zone: UTC, hours: {mon: 24:01-10:00}}", "\"24:01\" is no time of day"),
        ("{zone: UTC, hours: {mon: 24:00-02:00}}", "begins at 24:00: write 00:00"),
        ("{zone: UTC, hours: {mon: 09:00}}", "\"09:00\" is no span of hours: write it as"),
        ("{zone: UTC, hours: {mon: 09:00-09:00}}", "is empty: write 00:00-24:00"),
        ("{zone: UTC, hours: {mon: {from: 9}}}", "expected hours as 09:00-17:00"),
        ("{zone: UTC, hours: {mo: 9-17}}", "\"mo\" is no weekday: write mon, tue"),
        ("{zone: UTC, hours: {mon-day: 9-17}}", "\"day\" is no weekday"),
        ("{zone: UTC, hours: {mon-fri: 9-17, fri: 9-15}}", "friday is named twice"),
        (
            "{zone: UTC, holidays: [25.12.2026]}",
            "\"25.12.2026\" is no date: write it as 2026-12-25",
        ),
        ("{zone: UTC, holidays: [2026-02-30]}", "\"2026-02-30\" is no date"),
        ("{zone: UTC, quiet: 00:00-24:00}", "cover the whole day: leave out"),
        ("{zone: UTC, quiet: [20:00-08:00, 8-20]}", "cover the whole day"),
        ("{zone: UTC, holiday: [2026-12-25]}", "unknown field `holiday`"),
    ] {
        let error = serde_saphyr::from_str::<Calendar>(yaml).unwrap_err().to_string();
        assert!(error.contains(expected), "{yaml}: {error}");
    }
    let many = json!({"zone": "UTC", "hours": {"mon": vec!["9-10"; SPANS_MAX + 1]}});
    let error = serde_json::from_value::<Calendar>(many).unwrap_err().to_string();
    assert!(error.contains("at most 24 spans"), "{error}");
    let many = json!({"zone": "UTC", "holidays": vec!["2026-12-25"; HOLIDAYS_MAX + 1]});
    let error = serde_json::from_value::<Calendar>(many).unwrap_err().to_string();
    assert!(error.contains("at most 1000 holidays"), "{error}");
}

fn any_span() -> impl Strategy<Value = DaySpan> {
    (0..DAY, 1..DAY).prop_map(|(start, length)| DaySpan { start, end: start + length })
}

fn any_calendar() -> impl Strategy<Value = Calendar> {
    let zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Africa/Cairo"];
    let day = proptest::collection::vec(any_span(), 0..3);
    let holidays = proptest::collection::vec((2026..2028i16, 1..13i8, 1..29i8), 0..20);
    let quiet = proptest::collection::vec(any_span(), 0..2);
    let days = proptest::array::uniform7(day);
    (proptest::sample::select(zones.to_vec()), days, holidays, quiet).prop_map(
        |(zone, mut hours, holidays, quiet)| {
            hours.iter_mut().for_each(|spans| spans.sort_unstable());
            let date = |(year, month, day)| jiff::civil::date(year, month, day);
            Calendar {
                zone: TimeZone::get(zone).unwrap(),
                hours,
                holidays: holidays.into_iter().map(date).collect(),
                quiet,
            }
        },
    )
}

/// Any whole minute of 2026 and 2027.
fn any_minute() -> impl Strategy<Value = Timestamp> {
    (0..2 * 365 * 24 * 60i64)
        .prop_map(|minute| Timestamp::from_micros((1_767_225_600 + minute * 60) * 1_000_000))
}

const MINUTE: i64 = 60_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn working_time_is_counted_right(
        calendar in any_calendar(),
        from in any_minute(),
        later in 0..10_000i64,
        span in 0..5_000u64,
        more in 0..5_000u64,
    ) {
        let minutes = |minutes| Duration::from_secs(60 * minutes);
        let after = calendar.working_after(from, minutes(span));
        let is_idle = calendar.hours.iter().all(Vec::is_empty);
        prop_assert_eq!(after.is_none(), is_idle);
        let Some(after) = after else { return Ok(()) };

        // Inside of working hours, or at the very end of them.
        let is_inside = calendar.is_working(after) || calendar.is_working(after.plus_micros(-1));
        prop_assert!(is_inside, "{} is outside", shown(&calendar, Some(after)));

        // Monotonic: later for later beginnings and longer spans.
        let beginning_later = from.plus_micros(later * MINUTE);
        prop_assert!(after <= calendar.working_after(beginning_later, minutes(span)).unwrap());
        prop_assert!(after <= calendar.working_after(from, minutes(span + more)).unwrap());

        // As many minutes of work lie in between as were asked for.
        let between = (after.as_micros() - from.as_micros()) / MINUTE;
        if between < 20_000 {
            let worked = (0..between).filter(|m| calendar.is_working(from.plus_micros(m * MINUTE)));
            prop_assert_eq!(worked.count() as u64, span);
        }
    }

    #[test]
    fn quiet_hours_are_left_once(calendar in any_calendar(), at in any_minute()) {
        let out = calendar.out_of_quiet(at);
        prop_assert!(out >= at);
        prop_assert_eq!(calendar.out_of_quiet(out), out);
        prop_assert!(out.as_micros() - at.as_micros() <= 3 * 24 * 60 * MINUTE);
    }

    #[test]
    fn every_calendar_survives_being_written(calendar in any_calendar()) {
        let words = serde_json::to_string(&calendar).unwrap();
        prop_assert_eq!(serde_json::from_str::<Calendar>(&words).unwrap(), calendar, "{}", words);
    }
}
