//! What the policy sees: a small copy of the state, made by the caller.

use std::time::Duration;

use buffer_accounting::Priority;

/// The bytes there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetView {
    /// Bytes in all.
    pub total: u64,
    /// Bytes that are taken: by admitted partitions, and by everything else.
    pub used: u64,
}

impl BudgetView {
    /// Bytes that can be given out now.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.total.saturating_sub(self.used)
    }
}

/// A job with at least one partition that is not finished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobView {
    /// Its number; no two jobs share one.
    pub id: u64,
    /// How urgent it is.
    pub priority: Priority,
    /// When it came: any number that grows with every job.
    pub arrived: u64,
    /// Partitions that are not admitted yet.
    pub waiting: u32,
    /// Admitted partitions at each stage, upstream first: in front of its workers or with one of them.
    pub in_stage: Vec<u32>,
    /// The most bytes that one partition holds between its admission and its end, beside what stages have set aside for themselves.
    pub bytes_each: u64,
    /// Estimated time that one worker of each stage spends on one partition, upstream first. Empty until measured for this kind of job.
    pub service: Vec<Duration>,
}

impl JobView {
    /// Admitted partitions that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.in_stage.iter().map(|&n| u64::from(n)).sum()
    }
}

/// The state at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Workers of each stage, upstream first; a stage without a worker counts as having one.
    pub workers: Vec<u32>,
    /// The jobs, in any order.
    pub jobs: Vec<JobView>,
    /// The bytes.
    pub budget: BudgetView,
}

impl Snapshot {
    /// Partitions of all jobs that are admitted and have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.jobs.iter().map(JobView::in_flight).sum()
    }

    /// The snapshot after one more partition of a job is admitted: one fewer waits, one more is at the first stage, its bytes are used.
    /// False, and nothing changes, when the job is unknown or has none that waits.
    pub fn admit(&mut self, id: u64) -> bool {
        let Some(job) = self.jobs.iter_mut().find(|job| job.id == id && job.waiting > 0) else { return false };
        job.waiting -= 1;
        match job.in_stage.first_mut() {
            Some(first) => *first += 1,
            None => job.in_stage.push(1),
        }
        self.budget.used = self.budget.used.saturating_add(job.bytes_each);
        true
    }
}
