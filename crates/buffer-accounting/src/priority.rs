//! Who is served first.

/// Who is served first when several wait; within a priority the oldest is.
///
/// A higher priority overtakes: as long as its requests take all that comes back, lower ones wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Nobody gains from waiting.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Before others.
    High,
    /// Before everything else.
    Critical,
}

impl Priority {
    /// Every priority, lowest first.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Critical];

    /// The name in configuration and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Smaller is served first.
    pub(crate) fn rank(self) -> u8 {
        match self {
            Self::Critical => 0,
            Self::High => 1,
            Self::Normal => 2,
            Self::Low => 3,
        }
    }
}
