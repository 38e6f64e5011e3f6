//! The keys of the login throttle: the place at which a wrong passphrase counts, and the refusal while it pauses.

use sayso_core::{Code, Refusal, Timestamp};

/// The purpose of a passphrase that is typed. Wrong guesses count against the place that it names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PassphraseUse<'a> {
    /// To log in, by an unauthenticated client at this address.
    LogIn {
        /// The address, as far as it is known.
        from: &'a str,
    },
    /// To unlock a terminal or a credential, named with its session or process.
    Unlock { place: &'a str },
    /// To set another passphrase.
    Change,
}

impl PassphraseUse<'_> {
    /// The key under which guesses from this address count, for all names together.
    pub(crate) fn address_key(self) -> Option<String> {
        match self {
            PassphraseUse::LogIn { from } => Some(format!("address {from}")),
            PassphraseUse::Unlock { .. } | PassphraseUse::Change => None,
        }
    }

    /// The key under which guesses of this person count at this place and, for strangers, at all places together. The
    /// word in front keeps one purpose from passing for another.
    pub(crate) fn keys(self, name: &str) -> (String, Option<String>) {
        match self {
            PassphraseUse::LogIn { from } => {
                (format!("from {from} {name}"), Some(format!("in {name}")))
            }
            PassphraseUse::Unlock { place } => (format!("at {place} {name}"), None),
            PassphraseUse::Change => (format!("change {name}"), None),
        }
    }
}

/// Returns the refusal of an attempt before its pause is over.
pub(crate) fn too_many(now: Timestamp, until: Timestamp) -> Refusal {
    let seconds = (until.as_micros().saturating_sub(now.as_micros())).div_euclid(1_000_000) + 1;
    Refusal::new(Code::TooManyGuesses, format!("too many wrong guesses; wait {seconds} s"))
        .wait(u32::try_from(seconds).unwrap_or(u32::MAX))
        .hint("if it was not you who guessed, tell whoever looks after the space")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn guesses_at_one_place_count_at_no_other() {
        let place = "34816:7:42";
        let all = [
            PassphraseUse::LogIn { from: "10.0.0.1" }.keys("ann"),
            PassphraseUse::LogIn { from: "10.0.0.2" }.keys("ann"),
            // A name that a stranger makes up to hit the place of another.
            PassphraseUse::LogIn { from: "10.0.0.1" }.keys(&format!("at {place} ann")),
            PassphraseUse::Unlock { place }.keys("ann"),
            PassphraseUse::Unlock { place: "token/01J" }.keys("ann"),
            PassphraseUse::Change.keys("ann"),
        ];
        let places: BTreeSet<_> = all.iter().map(|(place, _)| place).collect();
        assert_eq!(places.len(), all.len());
        let names: BTreeSet<_> = all.iter().filter_map(|(_, name)| name.as_ref()).collect();
        assert_eq!(names.len(), 2, "one for each name");
        assert!(places.is_disjoint(&names));
        let address = PassphraseUse::LogIn { from: "10.0.0.1" }.address_key().unwrap_or_default();
        assert!(!places.contains(&address) && !names.contains(&address));
        assert_eq!(PassphraseUse::Unlock { place }.address_key(), None);
    }
}
