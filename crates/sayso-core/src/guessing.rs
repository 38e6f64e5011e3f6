//! How long whoever guesses a passphrase waits before they may guess again.

/// So many wrong ones are taken for slips of the finger.
const SLIPS: u32 = 4;

/// The longest pause. Longer would let a stranger keep a person out.
const PAUSE_MICROS_MAX: i64 = 60_000_000;

/// The pause after so many wrong guesses, one after the other.
pub fn pause_micros(failures: u32) -> i64 {
    match failures.checked_sub(SLIPS + 1) {
        None => 0,
        Some(more) => (1_000_000_i64 << more.min(30)).min(PAUSE_MICROS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::pause_micros;

    #[test]
    fn pauses_grow_and_end() {
        let seconds: Vec<_> = (0..14).map(|n| pause_micros(n) / 1_000_000).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause_micros(u32::MAX), 60_000_000);
    }
}
