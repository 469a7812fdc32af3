//! Which of several things goes first.

use std::cmp::Reverse;

use buffer_accounting::Priority;

/// Where a partition that is ready for a worker stands among others; the smallest goes first.
///
/// Compared in the order of the fields: priority, downstream first, oldest job first, the job's number (so that no two jobs tie), and
/// the lower partition first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// The job's priority.
    pub priority: Priority,
    /// The stage it is ready for, counted from upstream.
    pub stage: Reverse<usize>,
    /// When the job came: any number that grows with every job.
    pub arrived: u64,
    /// The job's number.
    pub job: u64,
    /// The partition's number within the job.
    pub partition: u32,
}

/// The position of what goes first; `None` when nothing is ready. Takes one pass.
#[must_use]
pub fn first(ready: impl IntoIterator<Item = Rank>) -> Option<usize> {
    ready.into_iter().enumerate().min_by_key(|(_, rank)| *rank).map(|(position, _)| position)
}
