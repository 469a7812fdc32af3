//! Slabs that are kept for the next one who needs the same size.

use std::io;
use std::ops::{Deref, DerefMut};

use crate::lease::{Accounted, Buffer, BufferMut, Lease, OversizedBuffer, OwnedBytes};
use crate::ledger::{Ledger, Request};
use crate::sync::{Arc, Mutex, lock};
use crate::{AcquireError, Cancel, Label, Permit, Reservation, Space};

/// Why a slab was not had.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Its bytes were not granted.
    #[error("{0}")]
    Acquire(#[from] AcquireError),
    /// It could not be made.
    #[error("a slab of {bytes} bytes could not be made: {source}")]
    Make {
        /// Bytes asked for.
        bytes: u64,
        /// The maker's reason.
        source: io::Error,
    },
    /// It was made larger than asked for.
    #[error("{0}")]
    Oversized(#[from] OversizedBuffer),
}

/// Where the bytes of a pool come from.
#[derive(Clone, Debug)]
pub enum PoolSource<C: Label, S: Label> {
    /// The budget.
    Ledger(Ledger<C, S>),
    /// Bytes that were set aside.
    Reservation(Reservation<C, S>),
}

impl<C: Label, S: Label> PoolSource<C, S> {
    fn try_acquire(&self, request: Request<C, S>) -> Result<Permit<C, S>, AcquireError> {
        match self {
            Self::Ledger(ledger) => ledger.try_acquire(request),
            Self::Reservation(reservation) => reservation.try_draw(request),
        }
    }

    fn acquire(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        match self {
            Self::Ledger(ledger) => ledger.acquire(request, cancel),
            Self::Reservation(reservation) => reservation.draw_from(request, cancel),
        }
    }
}

type Maker<B> = Box<dyn Fn(u64) -> io::Result<B> + Send + Sync>;

struct Shared<B: OwnedBytes, C: Label, S: Label> {
    source: PoolSource<C, S>,
    space: Space,
    idle_class: C,
    idle_stage: S,
    idle_bytes_max: u64,
    make: Maker<B>,
    shelf: Mutex<Shelf<B, C, S>>,
}

struct Shelf<B: OwnedBytes, C: Label, S: Label> {
    /// Idle slabs, the one used last at the end.
    idle: Vec<Lease<B, C, S>>,
    /// Who waits for the bytes of a slab, with the size and the flag that ends the wait.
    takers: Vec<(u64, Cancel)>,
}

impl<B: OwnedBytes, C: Label, S: Label> Shelf<B, C, S> {
    fn bytes(&self) -> u64 {
        self.idle.iter().map(Lease::bytes).sum()
    }

    fn take(&mut self, bytes: u64) -> Option<Lease<B, C, S>> {
        let at = self.idle.iter().rposition(|lease| lease.bytes() == bytes)?;
        Some(self.idle.remove(at))
    }
}

impl<B: OwnedBytes, C: Label, S: Label> Shared<B, C, S> {
    /// Frees idle slabs, the one used longest ago first, until at least `bytes` are back or none is left. The bytes freed.
    fn shrink(&self, bytes: u64) -> u64 {
        let mut freed = 0;
        while freed < bytes {
            let slab = {
                let mut shelf = lock(&self.shelf);
                if shelf.idle.is_empty() {
                    break;
                }
                shelf.idle.remove(0)
            };
            freed += slab.bytes();
        }
        freed
    }
}

/// Slabs of exact sizes that keep their permits while they wait for their next user.
///
/// A slab that is dropped stays in the pool as bytes of the idle class, up to a limit, and serves the next request for exactly its size, with
/// whatever its last user left in it. A request that finds no such slab and no free bytes frees idle slabs of other sizes before it waits.
/// Others' needs free idle slabs too once the pool is [registered](SlabPool::evict_under_pressure) with the ledger.
pub struct SlabPool<B: OwnedBytes, C: Label, S: Label>(Arc<Shared<B, C, S>>);

impl<B: OwnedBytes, C: Label, S: Label> Clone for SlabPool<B, C, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B: OwnedBytes + Send + 'static, C: Label, S: Label> SlabPool<B, C, S> {
    /// A pool of slabs in `space`, made by `make` from a number of bytes that they must not exceed. Idle slabs are attributed to
    /// `idle_class` and `idle_stage`, and are at most `idle_bytes_max` bytes together.
    #[must_use]
    pub fn new(
        source: PoolSource<C, S>,
        space: Space,
        (idle_class, idle_stage): (C, S),
        idle_bytes_max: u64,
        make: impl Fn(u64) -> io::Result<B> + Send + Sync + 'static,
    ) -> Self {
        let shelf = Mutex::new(Shelf { idle: Vec::new(), takers: Vec::new() });
        Self(Arc::new(Shared { source, space, idle_class, idle_stage, idle_bytes_max, make: Box::new(make), shelf }))
    }

    /// A slab of exactly `bytes` bytes, waiting for them if need be. Its contents are whatever its last user left, or what the maker made.
    ///
    /// # Errors
    /// [`PoolError`].
    pub fn take(&self, class: C, stage: S, bytes: u64, cancel: &Cancel) -> Result<Slab<B, C, S>, PoolError> {
        let request = Request { space: self.0.space, class, stage, bytes };
        loop {
            let idle = lock(&self.0.shelf).take(bytes);
            if let Some(mut lease) = idle {
                lease.reclassify(class);
                lease.attribute_to(stage);
                return Ok(Slab { lease: Some(lease), pool: Arc::clone(&self.0) });
            }
            let permit = match self.0.source.try_acquire(request) {
                Err(AcquireError::WouldBlock { .. }) => match self.wait(request, cancel)? {
                    Some(permit) => permit,
                    None => continue,
                },
                other => other?,
            };
            // Made before the lease, since making may fail; until then the permit alone stands for it.
            let buffer = (self.0.make)(bytes).map_err(|source| PoolError::Make { bytes, source })?;
            let lease = Lease::try_new(permit, || buffer)?;
            return Ok(Slab { lease: Some(lease), pool: Arc::clone(&self.0) });
        }
    }

    /// Waits for the bytes of a new slab, or until one of that size is idle (`None`). Idle slabs of other sizes are freed for it.
    fn wait(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Option<Permit<C, S>>, AcquireError> {
        let ready = Cancel::new();
        {
            // From here on a slab that is dropped is either handed on or freed: none becomes idle unnoticed.
            let mut shelf = lock(&self.0.shelf);
            if shelf.idle.iter().any(|lease| lease.bytes() == request.bytes) {
                return Ok(None);
            }
            shelf.takers.push((request.bytes, ready.clone()));
        }
        let both = ready.clone();
        let subscription = cancel.subscribe(move || both.cancel());
        self.0.shrink(request.bytes);
        let granted = self.0.source.acquire(request, &ready);
        drop(subscription);
        lock(&self.0.shelf).takers.retain(|(_, taker)| !taker.is(&ready));
        match granted {
            Ok(permit) => Ok(Some(permit)),
            Err(AcquireError::Cancelled { .. }) if !cancel.is_cancelled() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Bytes of idle slabs.
    #[must_use]
    pub fn idle_bytes(&self) -> u64 {
        lock(&self.0.shelf).bytes()
    }

    /// Frees idle slabs, the one used longest ago first, until `bytes` bytes are back or none is left. The bytes freed.
    pub fn shrink(&self, bytes: u64) -> u64 {
        self.0.shrink(bytes)
    }

    /// Registers the idle slabs with the ledger, so that whoever waits for bytes gets theirs.
    ///
    /// # Errors
    /// As for [`Ledger::register_evictable`].
    #[cfg(not(loom))]
    pub fn evict_under_pressure(&self, ledger: &Ledger<C, S>) -> io::Result<crate::Evictable> {
        let (holds, lets_go) = (Arc::downgrade(&self.0), Arc::downgrade(&self.0));
        ledger.register_evictable(
            self.0.space,
            move || holds.upgrade().map_or(0, |pool| lock(&pool.shelf).bytes()),
            move || lets_go.upgrade().is_some_and(|pool| pool.shrink(u64::MAX) > 0),
        )
    }
}

/// A slab in use. Dropping it returns it to its pool.
pub struct Slab<B: OwnedBytes, C: Label, S: Label> {
    /// There until the slab is dropped.
    lease: Option<Lease<B, C, S>>,
    pool: Arc<Shared<B, C, S>>,
}

impl<B: OwnedBytes, C: Label, S: Label> Slab<B, C, S> {
    /// The permit's bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lease.as_ref().map_or(0, Lease::bytes)
    }

    /// The slab holds something of another class from now on.
    pub fn reclassify(&mut self, class: C) {
        if let Some(lease) = &mut self.lease {
            lease.reclassify(class);
        }
    }

    /// The buffer and its permit, which the pool does not get back.
    #[must_use]
    pub fn into_lease(mut self) -> Lease<B, C, S> {
        match self.lease.take() {
            Some(lease) => lease,
            None => unreachable!("a slab has its lease until it is dropped"),
        }
    }
}

impl<B: Buffer, C: Label, S: Label> Deref for Slab<B, C, S> {
    type Target = B::Contents;
    fn deref(&self) -> &B::Contents {
        match &self.lease {
            Some(lease) => lease,
            None => unreachable!("a slab has its lease until it is dropped"),
        }
    }
}

impl<B: BufferMut, C: Label, S: Label> DerefMut for Slab<B, C, S> {
    fn deref_mut(&mut self) -> &mut B::Contents {
        match &mut self.lease {
            Some(lease) => lease,
            None => unreachable!("a slab has its lease until it is dropped"),
        }
    }
}

impl<B: OwnedBytes, C: Label, S: Label> Accounted<S> for Slab<B, C, S> {
    fn attribute_to(&mut self, stage: S) {
        if let Some(lease) = &mut self.lease {
            lease.attribute_to(stage);
        }
    }
}

impl<B: OwnedBytes, C: Label, S: Label> Drop for Slab<B, C, S> {
    fn drop(&mut self) {
        let Some(mut lease) = self.lease.take() else { return };
        let mut shelf = lock(&self.pool.shelf);
        let wanted = shelf.takers.iter().position(|(bytes, _)| *bytes == lease.bytes());
        let room = shelf.takers.is_empty() && shelf.bytes().saturating_add(lease.bytes()) <= self.pool.idle_bytes_max;
        if wanted.is_none() && !room {
            // Freed outside the lock: returning large memory to the system takes a while.
            drop(shelf);
            return drop(lease);
        }
        lease.reclassify(self.pool.idle_class);
        lease.attribute_to(self.pool.idle_stage);
        shelf.idle.push(lease);
        let taker = wanted.map(|at| shelf.takers.remove(at));
        drop(shelf);
        if let Some((_, taker)) = taker {
            taker.cancel();
        }
    }
}
