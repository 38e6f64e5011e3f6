//! Preset policies, shipped with the program. Each is a file with a comment on every rule.

/// A policy to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyPreset {
    /// Asks about all actions that are not plainly harmless.
    Cautious,
    /// Asks about actions that others see or that are hard to undo.
    Balanced,
    /// Asks about actions that cannot be undone.
    Trusting,
}

impl PolicyPreset {
    /// All of them, strictest first.
    pub const ALL: [PolicyPreset; 3] =
        [PolicyPreset::Cautious, PolicyPreset::Balanced, PolicyPreset::Trusting];

    pub const fn as_str(self) -> &'static str {
        match self {
            PolicyPreset::Cautious => "cautious",
            PolicyPreset::Balanced => "balanced",
            PolicyPreset::Trusting => "trusting",
        }
    }

    pub const fn text(self) -> &'static str {
        match self {
            PolicyPreset::Cautious => include_str!("../presets/cautious.yaml"),
            PolicyPreset::Balanced => include_str!("../presets/balanced.yaml"),
            PolicyPreset::Trusting => include_str!("../presets/trusting.yaml"),
        }
    }
}
