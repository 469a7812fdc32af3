#![doc = include_str!("../README.md")]

mod link;
pub mod policy;
pub mod simulator;
mod ticket;
mod timing;
mod worker;

pub use link::{LinkReceiver, LinkSender, Undelivered, link};
pub use ticket::{Envelope, JobError, Outcome, Ticket};
pub use timing::{StageTime, StageTimes};
pub use worker::{Deliver, WorkerSpec, Workers};
