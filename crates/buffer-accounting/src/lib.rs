#![doc = include_str!("../README.md")]

#[cfg(feature = "jemalloc")]
mod allocator;
mod cancel;
mod label;
mod lease;
mod ledger;
mod permit;
mod reservation;
mod snapshot;

#[cfg(feature = "jemalloc")]
pub use allocator::{AllocatorError, AllocatorSampler, AllocatorStats};
pub use cancel::{Cancel, CancelSubscription};
pub use label::{Label, Space};
pub use lease::{Accounted, Lease, OversizedBuffer, OwnedBytes};
pub use ledger::{AcquireError, Ledger, Request};
pub use permit::Permit;
pub use reservation::Reservation;
pub use snapshot::{Cell, Snapshot, SpaceUsage};
