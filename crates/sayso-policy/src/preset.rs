//! Policies people start from, shipped with the program. Each is a file with a comment on every rule.

/// A policy to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Asks about everything that is not plainly harmless.
    Cautious,
    /// Asks about what others see or what is hard to undo.
    Balanced,
    /// Asks about what cannot be undone.
    Trusting,
}

impl Preset {
    /// All of them, from the strictest on.
    pub const ALL: [Preset; 3] = [Preset::Cautious, Preset::Balanced, Preset::Trusting];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Preset::Cautious => "cautious",
            Preset::Balanced => "balanced",
            Preset::Trusting => "trusting",
        }
    }

    /// The file.
    pub const fn text(self) -> &'static str {
        match self {
            Preset::Cautious => include_str!("../presets/cautious.yaml"),
            Preset::Balanced => include_str!("../presets/balanced.yaml"),
            Preset::Trusting => include_str!("../presets/trusting.yaml"),
        }
    }
}
