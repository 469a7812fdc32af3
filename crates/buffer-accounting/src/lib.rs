#![doc = include_str!("../README.md")]

mod cancel;
mod label;
mod lease;
mod ledger;
mod permit;
mod reservation;
mod snapshot;

pub use cancel::{Cancel, CancelSubscription};
pub use label::{Label, Space};
pub use lease::{Accounted, Lease, OversizedBuffer, OwnedBytes};
pub use ledger::{AcquireError, Ledger, Request};
pub use permit::Permit;
pub use reservation::Reservation;
pub use snapshot::{Cell, Snapshot, SpaceUsage};
