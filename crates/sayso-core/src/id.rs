//! Ids. Each kind of thing has its own type, so that no call can take them in the wrong order.
//!
//! An id is a ULID minted by the caller, which makes a retry after an unknown outcome the same
//! command. People see a *handle* instead: a letter and a few characters of the id's random part,
//! such as `g7k2m`, unique within the space and fixed when the thing is made.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use ulid::Ulid;

/// The fewest characters of the random part a handle shows.
pub const HANDLE_LEN_MIN: usize = 4;

/// How many characters of randomness an id has; a handle cannot be longer.
pub const HANDLE_LEN_MAX: usize = 16;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            /// The letter its handles begin with.
            pub const LETTER: char = $letter;

            /// Makes an id from a moment and 80 bits of chance (the low bits of `chance` are used).
            pub fn mint(at: Timestamp, chance: u128) -> Self {
                Self(Ulid::from_parts(at.as_millis_unsigned(), chance & ((1 << 80) - 1)))
            }

            /// The first `len` characters of the random part, behind the letter.
            pub fn handle(&self, len: usize) -> String {
                let text = self.0.to_string().to_ascii_lowercase();
                let len = len.clamp(HANDLE_LEN_MIN, HANDLE_LEN_MAX);
                format!("{}{}", $letter, &text[10..10 + len])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                // Only the canonical length is an id: everything shorter is a handle.
                if text.len() != 26 {
                    return Err(InvalidId(text.into()));
                }
                Ulid::from_string(text).map(Self).map_err(|_| InvalidId(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

id!(
    /// A project: it holds tasks, gates and an audit chain.
    SpaceId, 's'
);
id!(
    /// A unit of work.
    TaskId, 't'
);
id!(
    /// One thing that waits for a person.
    GateId, 'g'
);
id!(
    /// One execution of an agent on a task.
    RunId, 'r'
);
id!(
    /// One walk through a workflow.
    FlowId, 'f'
);
id!(
    /// A text to an agent.
    MessageId, 'm'
);
id!(
    /// A credential.
    TokenId, 'k'
);

/// A text that is not a ULID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an id")]
pub struct InvalidId(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_and_shows_a_short_handle() {
        let id =
            GateId::mint(Timestamp::from_micros(1_700_000_000_000_000), 0x1234_5678_9abc_def0_1234);
        assert_eq!(id.to_string().parse::<GateId>().ok(), Some(id));
        assert_eq!(id.handle(4).len(), 5);
        assert!(id.handle(4).starts_with('g'));
        assert!(id.handle(9).starts_with(&id.handle(4)));
        assert_eq!(id.handle(99).len(), 1 + HANDLE_LEN_MAX);
    }

    #[test]
    fn what_is_not_a_ulid_is_refused() {
        for bad in ["", "g7k2", "../../etc/passwd", "01ARZ3NDEKTSV4RRFFQ69G5FA\0"] {
            assert!(bad.parse::<GateId>().is_err(), "{bad:?}");
        }
    }
}
