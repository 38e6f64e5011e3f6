//! Ids. Each kind of object has its own type, so that arguments cannot be swapped.
//!
//! An id is a ULID minted by the caller, which makes it an idempotency key: a retry after an unknown outcome is the
//! same command. People see a *handle* instead: a letter and a few characters of the id's random part, such as
//! `g7k2m`, unique within the space and fixed when the object is created.

use crate::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use ulid::Ulid;

/// The minimum number of random characters in a handle.
pub const HANDLE_LEN_MIN: usize = 4;

/// The number of random characters of an id, and so the maximum in a handle.
pub const HANDLE_LEN_MAX: usize = 16;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            /// The first letter of its handles.
            pub const LETTER: char = $letter;

            /// Returns an id from a time and 80 bits of randomness (the low bits of `chance`).
            pub fn mint(at: Timestamp, chance: u128) -> Self {
                Self(Ulid::from_parts(at.as_millis_unsigned(), chance & ((1 << 80) - 1)))
            }

            /// Returns the handle: the letter and the first `len` characters of the random part.
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
                // Only the full length is an id: anything shorter is a handle.
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
    /// The id of a space (project), which holds tasks, gates and an audit chain.
    SpaceId, 's'
);
id!(
    /// The id of a task, a unit of work.
    TaskId, 't'
);
id!(
    /// The id of a gate, a request to a person.
    GateId, 'g'
);
id!(
    /// The id of a run, one execution of an agent on a task.
    RunId, 'r'
);
id!(
    /// The id of a flow, one execution of a workflow.
    FlowId, 'f'
);
id!(
    /// The id of a message to an agent.
    MessageId, 'm'
);
id!(
    /// The id of a token (credential).
    TokenId, 'k'
);

/// The error for a text that is not a ULID.
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
