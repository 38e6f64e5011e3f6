//! Preset policies, shipped with the program. Each is a file with a comment on every rule.

/// A policy to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Asks about all actions that are not plainly harmless.
    Cautious,
    /// Asks about actions that others see or that are hard to undo.
    Balanced,
    /// Asks about actions that cannot be undone.
    Trusting,
}

impl Preset {
    /// All of them, strictest first.
    pub const ALL: [Preset; 3] = [Preset::Cautious, Preset::Balanced, Preset::Trusting];

    pub const fn as_str(self) -> &'static str {
        match self {
            Preset::Cautious => "cautious",
            Preset::Balanced => "balanced",
            Preset::Trusting => "trusting",
        }
    }

    pub const fn text(self) -> &'static str {
        match self {
            Preset::Cautious => include_str!("../presets/cautious.yaml"),
            Preset::Balanced => include_str!("../presets/balanced.yaml"),
            Preset::Trusting => include_str!("../presets/trusting.yaml"),
        }
    }
}
