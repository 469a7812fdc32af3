//! A hand-over of one job's outcome to whoever waits for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use scheduler::Outcome;

use crate::items::JobProof;

type Shared = Arc<(Mutex<Option<Outcome<JobProof>>>, Condvar)>;

pub(crate) struct Sender(Shared);
pub(crate) struct Receiver(Shared);

pub(crate) fn one_shot() -> (Sender, Receiver) {
    let shared: Shared = Arc::default();
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl Sender {
    pub(crate) fn send(self, outcome: Outcome<JobProof>) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.0.1.notify_all();
    }
}

impl Receiver {
    pub(crate) fn wait(self) -> Outcome<JobProof> {
        let mut slot = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = slot.take() {
                return outcome;
            }
            slot = self.0.1.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
