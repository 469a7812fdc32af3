//! Who works in a pipeline, and at what.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One worker thread.
pub(crate) struct Member {
    name: String,
    /// The job it works on plus one; zero between items.
    job: AtomicU64,
}

impl Member {
    pub(crate) fn begin(&self, job: u64) {
        self.job.store(job.wrapping_add(1), Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.job.store(0, Ordering::Relaxed);
    }
}

/// A worker that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// The thread's name: the stage and a number.
    pub name: String,
    /// The job it works on, if it does.
    pub job: Option<u64>,
}

impl std::fmt::Display for WorkerStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.job {
            Some(job) => write!(f, "{} (at job {job})", self.name),
            None => write!(f, "{} (between items)", self.name),
        }
    }
}

/// Workers that were asked to stop and still run when the time for it was over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} did not stop within {grace:?}: what they hold returns to the budget when they do; a stage must look at its cancellation flag more often",
    list(.workers)
)]
pub struct Unheeded {
    /// Who still runs.
    pub workers: Vec<WorkerStatus>,
    /// The time they were given.
    pub grace: Duration,
}

fn list(workers: &[WorkerStatus]) -> String {
    workers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The workers of a pipeline that still run.
#[derive(Default)]
pub(crate) struct Crew {
    members: Mutex<Vec<Arc<Member>>>,
    left: Condvar,
}

/// A worker's place in the crew, for as long as its thread lives.
pub(crate) struct Shift {
    crew: Arc<Crew>,
    pub(crate) member: Arc<Member>,
}

impl Drop for Shift {
    fn drop(&mut self) {
        self.crew.members.lock().unwrap_or_else(PoisonError::into_inner).retain(|member| !Arc::ptr_eq(member, &self.member));
        self.crew.left.notify_all();
    }
}

impl Crew {
    pub(crate) fn join(self: &Arc<Self>, name: String) -> Shift {
        let member = Arc::new(Member { name, job: AtomicU64::new(0) });
        self.members.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&member));
        Shift { crew: Arc::clone(self), member }
    }

    pub(crate) fn running(&self) -> Vec<WorkerStatus> {
        status(&self.members.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the last one has left.
    pub(crate) fn wait(&self, patience: Duration) -> Result<(), Vec<WorkerStatus>> {
        let start = Instant::now();
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        while !members.is_empty() {
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(status(&members));
            }
            members = self.left.wait_timeout(members, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

fn status(members: &[Arc<Member>]) -> Vec<WorkerStatus> {
    members
        .iter()
        .map(|member| WorkerStatus { name: member.name.clone(), job: member.job.load(Ordering::Relaxed).checked_sub(1) })
        .collect()
}
