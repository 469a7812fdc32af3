#![doc = include_str!("../README.md")]

mod engine;
mod error;
mod items;
mod keys;
mod plan;
mod quotient;
mod stages;
mod statement;
mod sums;
mod transform_buffers;

pub use engine::{Engine, EngineConfig};
pub use error::{EngineError, FinalizeError, QuotientError};
pub use items::JobProof;
pub use keys::{CircuitKeys, KeysError};
pub use plan::{CircuitSize, JobSize, MemoryPlan, MemoryPlans, Workload};
pub use quotient::quotient;
pub use scheduler::policy::Priority;
pub use scheduler::{JobError, Outcome, StageTime, StageTimes};
pub use stages::BlindingSource;
pub use statement::{ParsedPartition, Statement, Synthesized};
pub use sums::sums;
pub use transform_buffers::{ScalarBuffer, TransformBuffers};

/// A proving job under way.
pub type JobHandle = scheduler::JobHandle<JobProof>;
