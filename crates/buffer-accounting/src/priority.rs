//! Who is served first.

/// How urgent something is; the smaller value is served first, and within a priority the oldest is.
///
/// A higher priority overtakes: as long as its requests take all that comes back, lower ones wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Late is worthless: a deadline of seconds.
    Critical,
    /// A deadline of minutes or hours.
    High,
    /// What nobody waits for in particular.
    #[default]
    Normal,
    /// What may wait for everything else.
    Low,
}

impl Priority {
    /// Every priority, the most urgent first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    /// The name in configuration, logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}
