//! The threshold for asking: six levels of how much an agent is to ask, from never to almost always.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The threshold for asking, from 0 (never) to 5 (always).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct AskThreshold(u8);

impl AskThreshold {
    /// All levels: the name, and the instruction for the agent.
    pub const LEVELS: [(&'static str, &'static str); 6] = [
        ("never", "Do not ask. Decide yourself, and write down what you assumed."),
        (
            "rarely",
            "Ask only when you cannot go on at all, or before something that cannot be undone.",
        ),
        (
            "sparingly",
            "Ask before what cannot be undone, and when the task contradicts itself or the code.",
        ),
        (
            "balanced",
            "Ask when readings of the task lead to different results and nothing here decides between them.",
        ),
        (
            "often",
            "Ask before every choice that others will see: interfaces, names, dependencies, data, behaviour.",
        ),
        ("always", "Ask before every decision that the task does not spell out, however small."),
    ];

    /// The default threshold for asking.
    pub const USUAL: AskThreshold = AskThreshold(2);

    /// Returns the level of a number from 0 to 5.
    pub fn new(level: u8) -> Result<Self, UnknownAskThreshold> {
        if usize::from(level) < Self::LEVELS.len() {
            Ok(Self(level))
        } else {
            Err(UnknownAskThreshold(level.to_string()))
        }
    }

    /// Returns the number of the level.
    pub const fn level(self) -> u8 {
        self.0
    }

    /// Returns the name of the level.
    pub fn name(self) -> &'static str {
        Self::LEVELS[usize::from(self.0)].0
    }

    /// Returns the instruction for the agent.
    pub fn meaning(self) -> &'static str {
        Self::LEVELS[usize::from(self.0)].1
    }

    /// Returns the level that applies to a task that sets one: a task may raise the number of questions, never lower
    /// it. An agent can create tasks, and could otherwise create one that asks no person.
    #[must_use]
    pub fn raised_by(self, task: Option<AskThreshold>) -> Self {
        task.map_or(self, |task| task.max(self))
    }
}

impl From<AskThreshold> for u8 {
    fn from(threshold: AskThreshold) -> u8 {
        threshold.0
    }
}

impl TryFrom<u8> for AskThreshold {
    type Error = UnknownAskThreshold;
    fn try_from(level: u8) -> Result<Self, UnknownAskThreshold> {
        Self::new(level)
    }
}

impl FromStr for AskThreshold {
    type Err = UnknownAskThreshold;
    fn from_str(text: &str) -> Result<Self, UnknownAskThreshold> {
        let named = Self::LEVELS.iter().position(|(name, _)| *name == text);
        let level = named.and_then(|n| u8::try_from(n).ok()).or_else(|| text.parse().ok());
        level
            .map_or_else(|| Err(UnknownAskThreshold(text.into())), Self::new)
            .map_err(|_| UnknownAskThreshold(text.into()))
    }
}

impl fmt::Display for AskThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.name())
    }
}

/// The error for a value that is no threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is no threshold; take 0 (never), 1 (rarely), 2 (sparingly), 3 (balanced), 4 (often) or 5 (always)"
)]
pub struct UnknownAskThreshold(String);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_and_names() {
        for (level, (name, _)) in AskThreshold::LEVELS.into_iter().enumerate() {
            let by_number: AskThreshold = level.to_string().parse().unwrap();
            assert_eq!((by_number, by_number.name()), (name.parse().unwrap(), name));
        }
        for wrong in ["7", "6", "-1", "", "Never", "3.5", "300"] {
            assert!(wrong.parse::<AskThreshold>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<AskThreshold>("7").is_err());
    }

    #[test]
    fn a_task_only_raises_it() {
        let [low, usual, high] = [0, 2, 5].map(|level| AskThreshold::new(level).unwrap());
        assert_eq!(usual.raised_by(Some(low)), usual);
        assert_eq!(usual.raised_by(Some(high)), high);
        assert_eq!(usual.raised_by(None), usual);
    }
}
