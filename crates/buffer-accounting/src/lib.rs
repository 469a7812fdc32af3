#![doc = include_str!("../README.md")]

#[cfg(feature = "jemalloc")]
mod allocator;
mod books;
mod cancel;
mod error;
#[cfg(not(loom))]
mod evict;
mod label;
mod lease;
mod ledger;
mod page_slab;
mod permit;
mod pool;
mod priority;
mod reservation;
mod snapshot;
mod sync;
mod waiting;

#[cfg(feature = "jemalloc")]
pub use allocator::{AllocatorError, AllocatorSampler, AllocatorStats};
pub use cancel::{Cancel, CancelSubscription};
pub use error::AcquireError;
#[cfg(not(loom))]
pub use evict::{EVICTION_IDLE, Evictable};
pub use label::{Label, Space};
pub use lease::{Accounted, Buffer, BufferMut, Lease, OversizedBuffer, OwnedBytes};
pub use ledger::{Ledger, Request};
pub use page_slab::PageSlab;
pub use permit::Permit;
pub use pool::{PoolError, PoolSource, Slab, SlabPool};
pub use priority::Priority;
pub use reservation::Reservation;
pub use snapshot::{Cell, Snapshot, SpaceUsage};
pub use waiting::Waited;
