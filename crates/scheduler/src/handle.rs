//! Who waits for a job's outcome.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use buffer_accounting::Cancel;

use crate::ticket::{Outcome, Ticket};

struct Shared<R> {
    outcome: Mutex<Option<Outcome<R>>>,
    arrived: Condvar,
}

/// A job under way. Dropping the handle does not cancel the job.
pub struct JobHandle<R> {
    id: u64,
    cancel: Cancel,
    shared: Arc<Shared<R>>,
}

/// A new job: the ticket goes into the pipeline with the job's first item, the handle waits for the outcome. Raising `stop` cancels the job.
#[must_use]
pub fn job<R: Send + 'static>(id: u64, stop: &Cancel) -> (Ticket<R>, JobHandle<R>) {
    let cancel = Cancel::new();
    let shared = Arc::new(Shared { outcome: Mutex::new(None), arrived: Condvar::new() });
    let to = Arc::clone(&shared);
    let ticket = Ticket::under(stop, id, cancel.clone(), move |outcome| {
        *to.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        to.arrived.notify_all();
    });
    (ticket, JobHandle { id, cancel, shared })
}

impl<R> JobHandle<R> {
    /// The job's number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Gives the job up; its outcome is then an error unless it is finished already.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// True when [`wait`](JobHandle::wait) returns at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.shared.outcome.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits for the outcome. Every job has one.
    ///
    /// # Errors
    /// [`JobError`](crate::JobError).
    pub fn wait(self) -> Outcome<R> {
        let mut slot = self.shared.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = slot.take() {
                return outcome;
            }
            slot = self.shared.arrived.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the outcome, but no longer than `patience`; the handle comes back when there is none yet.
    ///
    /// # Errors
    /// The handle.
    pub fn wait_for(self, patience: Duration) -> Result<Outcome<R>, Self> {
        let start = Instant::now();
        let mut slot = self.shared.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = slot.take() {
                return Ok(outcome);
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                drop(slot);
                return Err(self);
            }
            slot = self.shared.arrived.wait_timeout(slot, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
