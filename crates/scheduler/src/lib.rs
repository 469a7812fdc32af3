#![doc = include_str!("../README.md")]

mod admission;
mod contain;
mod crew;
mod handle;
mod line;
mod link;
pub mod plan;
pub mod policy;
pub mod simulator;
mod sync;
mod ticket;
mod timing;
mod topology;
mod worker;

pub use admission::{Admission, Pass};
pub use crew::{Unheeded, WorkerStatus};
pub use handle::{JobHandle, job};
pub use link::{LinkReceiver, LinkSender, PrioritySender, Undelivered, link, link_by_priority, link_with_lane};
pub use ticket::{Envelope, JobError, Outcome, Ticket};
pub use timing::{StageTime, StageTimes};
pub use topology::Topology;
pub use worker::{Deliver, WorkerSpec};
