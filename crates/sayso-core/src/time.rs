//! A moment, as microseconds since the Unix epoch. It is always handed in, never taken here.

use serde::{Deserialize, Serialize};

/// A moment in time, in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `micros` microseconds after the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the epoch; moments before it count as zero, as ULIDs need.
    pub const fn as_millis_unsigned(self) -> u64 {
        if self.0 < 0 { 0 } else { (self.0 / 1_000) as u64 }
    }

    /// This moment, later by `micros`; at the end of time it stays there.
    pub const fn plus_micros(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros))
    }
}
