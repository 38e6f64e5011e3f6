//! Login backoff: the delay before a passphrase may be guessed again. Wrong guesses count against the place they were
//! made at, so that no guesses made at one place lock a person out at another. A name has a rate limit over all
//! places from which a stranger may log in, which one place alone cannot use up.

use crate::Timestamp;

/// The number of wrong guesses without a delay, taken for typing errors.
const SLIPS: u32 = 4;

/// The longest delay at a place.
const PAUSE_MICROS_MAX: i64 = 60_000_000;

/// The time without another wrong guess after which they are forgotten.
const FORGOTTEN_MICROS: i64 = 10 * 60 * 1_000_000;

/// The time in which one guess of a name is allowed for strangers, from all places together.
const NAME_MICROS: i64 = 3_000_000;

/// The number of guesses of a name that may come at once.
const NAME_BURST: i64 = 50;

/// The interval at which an address regains one guess, for all names together.
const ADDRESS_MICROS: i64 = 1_000_000;

/// So many guesses from an address may come at once.
const ADDRESS_BURST: i64 = 100;

/// Returns the delay after so many consecutive wrong guesses.
pub fn pause_micros(failures: u32) -> i64 {
    match failures.checked_sub(SLIPS + 1) {
        None => 0,
        Some(more) => (1_000_000_i64 << more.min(30)).min(PAUSE_MICROS_MAX),
    }
}

/// True if wrong guesses up to the time `until` no longer count.
pub fn is_forgotten(until: Timestamp, now: Timestamp) -> bool {
    until.plus_micros(FORGOTTEN_MICROS) <= now
}

/// Returns the time before which all guesses are forgotten.
pub fn forgotten_before(now: Timestamp) -> Timestamp {
    now.plus_micros(-FORGOTTEN_MICROS)
}

/// Takes one guess out of the rate limit of a name, which is used up until `used_until`. Returns the new time until
/// which it is used up, or as an error the time from which another guess is allowed.
pub fn guess_name(used_until: Timestamp, now: Timestamp) -> Result<Timestamp, Timestamp> {
    take(used_until, now, NAME_MICROS, NAME_BURST)
}

/// The same for an address: names that a stranger makes up are no way around it.
pub fn guess_address(used_until: Timestamp, now: Timestamp) -> Result<Timestamp, Timestamp> {
    take(used_until, now, ADDRESS_MICROS, ADDRESS_BURST)
}

fn take(
    used_until: Timestamp,
    now: Timestamp,
    each_micros: i64,
    burst: i64,
) -> Result<Timestamp, Timestamp> {
    let free_at = used_until.plus_micros(-(burst - 1) * each_micros);
    if now < free_at {
        return Err(free_at);
    }
    Ok(used_until.max(now).plus_micros(each_micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn pauses_grow_and_end() {
        let seconds: Vec<_> = (0..14).map(|n| pause_micros(n) / 1_000_000).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_micros(u32::MAX), 60_000_000);
    }

    #[test]
    fn an_address_has_a_burst_and_then_one_each_second() {
        let mut used = second(0);
        let mut taken = |now| {
            let guess = guess_address(used, second(now));
            used = guess.unwrap_or(used);
            guess.is_ok()
        };
        assert_eq!((0..300).filter(|_| taken(1_000)).count(), 100);
        assert_eq!((0..300).filter(|at| taken(1_000 + at / 3)).count(), 99);
        assert!(taken(1_000_000));
    }

    #[test]
    fn guesses_are_forgotten_after_a_while() {
        for (until, now, expected) in [(0, 599, false), (0, 600, true), (100, 0, false)] {
            assert_eq!(is_forgotten(second(until), second(now)), expected, "{until} {now}");
        }
        assert_eq!(forgotten_before(second(700)), second(100));
    }

    #[test]
    fn a_name_takes_a_burst_and_then_one_guess_each_three_seconds() {
        let mut used_until = second(0);
        let mut guess = |at: i64| match guess_name(used_until, second(at)) {
            Ok(until) => {
                used_until = until;
                Ok(())
            }
            Err(free_at) => Err(free_at.as_micros() / 1_000_000),
        };
        assert_eq!((0..50).filter(|_| guess(1_000).is_ok()).count(), 50);
        assert_eq!(guess(1_000), Err(1_003));
        assert_eq!((guess(1_003), guess(1_003)), (Ok(()), Err(1_006)));
        // One place, with a delay of a minute between its guesses, never uses it up.
        assert!((0..500).all(|minute| guess(2_000 + 60 * minute) == Ok(())));
        assert_eq!((0..60).filter(|_| guess(100_000).is_ok()).count(), 50);
    }
}
