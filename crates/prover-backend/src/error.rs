//! Why a backend could not do its work.

use buffer_accounting::{AcquireError, OversizedBuffer};
use pipeline_stage::{Classified, ErrorClass};

/// Why a backend could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Scratch memory was not granted.
    #[error("{0}")]
    Memory(#[from] AcquireError),
    /// Scratch turned out larger than planned.
    #[error("{0}")]
    Oversized(#[from] OversizedBuffer),
    /// Two lengths that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The domain is larger than supported.
    #[error("a domain of 2^{log2_size} is larger than 2^{log2_size_max}, the largest supported")]
    DomainTooLarge {
        /// Requested size.
        log2_size: u32,
        /// Largest supported size.
        log2_size_max: u32,
    },
    /// The points of a section could not be had.
    #[error("points {start}..{end} could not be read: {reason}")]
    Bases {
        /// First point asked for.
        start: usize,
        /// One past the last point asked for.
        end: usize,
        /// Why.
        reason: String,
    },
    /// The work was given up on request.
    #[error("cancelled")]
    Cancelled,
}

impl Classified for BackendError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Memory(error) => error.class(),
            Self::Oversized(error) => error.class(),
            Self::Length { .. } | Self::DomainTooLarge { .. } => ErrorClass::Fatal,
            Self::Bases { .. } => ErrorClass::Retryable,
            Self::Cancelled => ErrorClass::Cancelled,
        }
    }
}
