#![doc = include_str!("../README.md")]

mod budget;
mod cpu_time;
mod error;
mod log;
mod machine;
mod memory;
mod metric;
mod proc_file;
mod sampler;

pub use budget::{Budget, BudgetFacts, BudgetLimit, auto_budget};
pub use cpu_time::{CpuTime, Elapsed, Stopwatch, ThreadTime, thread_times};
pub use error::TelemetryError;
pub use log::{LOG_VARIABLE, LogFormat, LogOptions, init, init_with_writer};
pub use machine::{Cache, CgroupMemory, CgroupVersion, Cpu, DiskSpace, GpuPresence, Machine, SystemMemory, VectorUnit};
pub use memory::ProcessMemory;
pub use metric::{
    AllocatorFigures, BudgetFigures, BuildInfo, Details, Exposition, Kind, Metric, MetricsServer, StageFigures, Unit, advance_stage,
    permit_waited, proof_completed, proof_failed, proofs_rejected, set_allocator, set_budget, set_buffer, set_build_info, set_unaccounted,
    stage_finished, zero_proofs, zero_stage,
};
pub use sampler::{MemoryPeak, MemorySampler, SAMPLE_INTERVAL_MAX, SAMPLE_INTERVAL_MIN};
