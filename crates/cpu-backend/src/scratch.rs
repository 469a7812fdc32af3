//! Scratch memory: one reservation for a call, cut into the buffers it is for, and pools that workers borrow from.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bls12_381_layout::{Plain, zeroed_vec};
use buffer_accounting::{Label, OversizedBuffer, OwnedBytes};
use pipeline_stage::{Class, Lease, Permit, StageContext};
use prover_backend::BackendError;

/// Everything a call will need, granted in one step, so that no call waits for more while it holds some.
pub(crate) struct Reservation {
    permit: Permit,
}

impl Reservation {
    pub(crate) fn new(context: &StageContext, class: Class, bytes: u64) -> Result<Self, BackendError> {
        if context.cancel().is_cancelled() {
            return Err(BackendError::Cancelled);
        }
        Ok(Self { permit: context.acquire(class, bytes)? })
    }

    /// A buffer of zeros out of the reservation.
    pub(crate) fn zeroed<T: Plain>(&mut self, len: usize) -> Result<Lease<Vec<T>>, BackendError> {
        self.make(bytes_of::<T>(len), || zeroed_vec::<T>(len))
    }

    /// A buffer of at most `bytes` bytes out of the reservation.
    pub(crate) fn make<B: OwnedBytes>(&mut self, bytes: u64, make: impl FnOnce() -> B) -> Result<Lease<B>, BackendError> {
        let (class, permitted) = (self.permit.class().name(), self.permit.bytes());
        let part = self.permit.split(bytes).ok_or(OversizedBuffer { class, actual: bytes, permitted })?;
        Ok(Lease::try_new(part, make)?)
    }
}

/// Bytes of so many values.
pub(crate) const fn bytes_of<T>(len: usize) -> u64 {
    len as u64 * size_of::<T>() as u64
}

/// Gives a cancelled call up.
pub(crate) fn check_cancel(context: &StageContext) -> Result<(), BackendError> {
    if context.cancel().is_cancelled() { Err(BackendError::Cancelled) } else { Ok(()) }
}

/// Workspaces that leaf tasks borrow. A task that holds one starts no other task, so a waiting task always gets one in the end.
pub(crate) struct Pool<W> {
    free: Mutex<Vec<W>>,
    returned: Condvar,
}

impl<W> Pool<W> {
    /// A pool of these workspaces, of which there must be at least one.
    pub(crate) fn new(workspaces: Vec<W>) -> Self {
        Self { free: Mutex::new(workspaces), returned: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<W>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` with a workspace of its own.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut W) -> R) -> R {
        let mut free = self.lock();
        let workspace = loop {
            if let Some(workspace) = free.pop() {
                break workspace;
            }
            free = self.returned.wait(free).unwrap_or_else(PoisonError::into_inner);
        };
        drop(free);
        let mut borrowed = Borrowed { pool: self, workspace: Some(workspace) };
        match borrowed.workspace.as_mut() {
            Some(workspace) => work(workspace),
            None => unreachable!("a borrowed workspace leaves its slot only on drop"),
        }
    }
}

/// Brings the workspace back, also when the work unwinds.
struct Borrowed<'a, W> {
    pool: &'a Pool<W>,
    workspace: Option<W>,
}

impl<W> Drop for Borrowed<'_, W> {
    fn drop(&mut self) {
        if let Some(workspace) = self.workspace.take() {
            self.pool.lock().push(workspace);
            self.pool.returned.notify_one();
        }
    }
}
