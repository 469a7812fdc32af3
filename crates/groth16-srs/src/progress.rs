//! How far a long operation has come.

/// How far a long operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The section in work, or another step.
    pub step: &'static str,
    /// Bytes of the key done, over all steps.
    pub done: u64,
    /// Bytes of the key in all.
    pub total: u64,
}
