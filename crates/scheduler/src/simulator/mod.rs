//! A pipeline in virtual time: what would be held, and who would wait, with given times, sizes and rules.
//!
//! [`simulate`] takes a [`Model`] (stages with workers and queue depths; kinds of partitions with their phases; shared resources; jobs;
//! a budget; how work is admitted) and gives a [`Run`]: gauges at every moment at which something changed, peaks, and what workers and
//! resources did with their time. It is a discrete-event simulation: virtual time jumps from the end of one phase to the next, and at
//! each moment everything that can start does, downstream first. Order and admission are those of [`policy`](crate::policy) itself.
//!
//! It is deterministic. Times vary between given bounds by a hash of the seed and of the job, partition, stage and phase, so a
//! partition takes the same time under every rule that is compared, in whatever order things happen.
//!
//! Cost: some microseconds a phase, and in proportion to unfinished jobs where the policy admits; memory in proportion to the phases of
//! all partitions.

mod books;
mod engine;
mod jitter;
mod model;
mod report;
mod state;

pub use books::{Entry, EntryKind};
pub use engine::simulate;
pub use model::{
    Admission, Buffer, Estimates, JobModel, KindModel, Model, ModelError, PermitRule, Phase, ResourceModel, StageModel, Times, Units,
};
pub use report::{JobTimes, Peak, ResourceUse, Run, Sample, StageGauge, StageUse};
