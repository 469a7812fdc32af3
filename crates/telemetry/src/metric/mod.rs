//! Metrics: their names, how they are recorded, how they are read.

mod exposition;
mod name;
mod process;
mod record;
mod server;

pub use exposition::Exposition;
pub use name::{Details, Kind, Metric, Unit};
pub use record::{
    AllocatorFigures, BudgetFigures, BuildInfo, StageFigures, advance_stage, permit_waited, proof_completed, proof_failed, proofs_rejected,
    set_allocator, set_budget, set_buffer, set_build_info, set_unaccounted, stage_finished, zero_proofs, zero_stage,
};
pub use server::MetricsServer;
