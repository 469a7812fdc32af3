//! Why bytes were not granted.

use crate::Space;

/// Why bytes were not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// No waiting can help: the request is larger than the whole budget.
    #[error(
        "{class} at {stage} needs {needed} bytes of {space} memory, but the whole budget is {budget} bytes ({held} in use now): raise the budget or use a smaller job"
    )]
    ExceedsBudget {
        /// Space that was asked for.
        space: Space,
        /// Class of the buffer.
        class: &'static str,
        /// Stage that asked.
        stage: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes the space (or the reservation that is drawn from) has in all.
        budget: u64,
        /// Bytes in use when it was asked.
        held: u64,
    },
    /// The bytes are there but not free now, or others wait for them already (only from the forms that do not wait).
    #[error("{class} at {stage} needs {needed} bytes of {space} memory; {available} of {budget} bytes are free now")]
    WouldBlock {
        /// Space that was asked for.
        space: Space,
        /// Class of the buffer.
        class: &'static str,
        /// Stage that asked.
        stage: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes the space (or the reservation that is drawn from) has in all.
        budget: u64,
        /// Bytes free now.
        available: u64,
    },
    /// The bytes are not free, and the one who asks is the only one who could return some, so waiting would never end.
    #[error(
        "{class} at {stage} needs {needed} bytes of {space} memory besides what it holds; {available} of {budget} bytes are free and nobody else will return any: raise the budget"
    )]
    NobodyReturns {
        /// Space that was asked for.
        space: Space,
        /// Class of the buffer.
        class: &'static str,
        /// Stage that asked.
        stage: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes the space has in all.
        budget: u64,
        /// Bytes free now.
        available: u64,
    },
    /// The wait was cancelled; nothing is held.
    #[error("the wait for {needed} bytes of {space} memory was cancelled")]
    Cancelled {
        /// Space that was asked for.
        space: Space,
        /// Bytes asked for.
        needed: u64,
    },
    /// The ledger has no budget for this space, or the reservation no bytes in it.
    #[error("there is no budget for {space} memory here")]
    UnknownSpace {
        /// Space that was asked for.
        space: Space,
    },
    /// Nothing was asked for.
    #[error("a reservation needs at least one request")]
    Nothing,
}
