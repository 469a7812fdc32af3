#![doc = include_str!("../README.md")]

mod error;
mod failed;
mod labels;
mod stage;

pub use buffer_accounting::{AcquireError, Cancel, OversizedBuffer, Space};
pub use error::{Classified, ErrorClass};
pub use failed::Failed;
pub use labels::{Class, StageName};
pub use stage::{Outlet, Stage, StageContext};

/// The prover's ledger.
pub type Ledger = buffer_accounting::Ledger<Class, StageName>;
/// A permit of the prover's ledger.
pub type Permit = buffer_accounting::Permit<Class, StageName>;
/// A buffer under a permit of the prover's ledger.
pub type Lease<B> = buffer_accounting::Lease<B, Class, StageName>;
/// Bytes of the prover's ledger that were set aside in one step.
pub type Reservation = buffer_accounting::Reservation<Class, StageName>;
/// A request to the prover's ledger.
pub type Request = buffer_accounting::Request<Class, StageName>;
