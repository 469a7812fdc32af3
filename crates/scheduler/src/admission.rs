//! Where partitions wait until the policy lets them in.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use buffer_accounting::{Cancel, Priority};

use crate::policy::{BudgetView, Control, NewJob, Roster};

struct State {
    roster: Roster,
    /// Let in, and not yet gone through.
    admitted: BTreeSet<u64>,
    next: u64,
}

/// Lets partitions into a pipeline as its [policy](crate::policy) says: by priority and age, and no more than keep the slowest stage busy.
///
/// How many fit into the budget is the ledger's to say, when they ask for their bytes; here bytes are not counted a second time.
pub struct Admission {
    stages: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl Admission {
    /// Nothing is in. `workers` are those of each stage behind this point, upstream first.
    #[must_use]
    pub fn new(workers: Vec<u32>, control: Control) -> Arc<Self> {
        let stages = workers.len();
        let state = State { roster: Roster::new(workers, control), admitted: BTreeSet::new(), next: 0 };
        Arc::new(Self { stages, state: Mutex::new(state), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The roster is changed by plain steps that do not unwind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets in what may go in now, and wakes those who wait.
    fn settle(&self, state: &mut State) {
        let (admitted, _) = state.roster.admit(BudgetView { total: u64::MAX, used: 0 });
        if !admitted.is_empty() {
            state.admitted.extend(admitted);
            self.changed.notify_all();
        }
    }

    /// Waits until a partition is let in. `kind` says whose service times it shares, the number of a circuit, say. `None` when `cancel` is
    /// raised.
    #[must_use]
    pub fn enter(self: &Arc<Self>, priority: Priority, kind: u64, cancel: &Cancel) -> Option<Pass> {
        let waker = Arc::clone(self);
        let subscription = cancel.subscribe(move || {
            // Under the lock, so that it does not fall between a waiter's look at the flag and its sleep.
            drop(waker.lock());
            waker.changed.notify_all();
        });
        let mut state = self.lock();
        state.next += 1;
        let id = state.next;
        state.roster.arrive(NewJob { id, priority, kind, partitions: 1, bytes_each: 0 });
        self.settle(&mut state);
        let entered = loop {
            if cancel.is_cancelled() {
                if state.admitted.remove(&id) {
                    state.roster.dropped(id, 0);
                } else {
                    state.roster.give_up(id);
                }
                self.settle(&mut state);
                break false;
            }
            if state.admitted.remove(&id) {
                break true;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        drop(subscription);
        entered.then(|| Pass { admission: Arc::clone(self), id, stage: 0 })
    }

    /// Partitions that are in.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.lock().roster.in_flight()
    }

    /// Partitions that wait to be let in.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.lock().roster.waiting()
    }
}

/// A partition's stay in the pipeline. It travels with the partition; when it drops, the partition is out, wherever it was.
#[must_use = "a dropped pass says that its partition has left"]
pub struct Pass {
    admission: Arc<Admission>,
    id: u64,
    /// Where the partition is: in front of this stage or in it.
    stage: usize,
}

impl Pass {
    /// The partition has passed a stage, which took `took` for it. Passing a stage again (a proof that is made anew) changes nothing.
    pub fn passed(&mut self, stage: usize, took: Duration) {
        if stage != self.stage {
            return;
        }
        let mut state = self.admission.lock();
        state.roster.passed(self.id, stage, Some(took));
        self.stage += 1;
        self.admission.settle(&mut state);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.admission.lock();
        if self.stage < self.admission.stages {
            state.roster.dropped(self.id, self.stage);
        }
        self.admission.settle(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn as_many_go_in_as_keep_the_slowest_stage_busy_and_the_next_when_one_leaves() {
        let admission = Admission::new(vec![1, 1], Control { margin_percent: 0 });
        let never = Cancel::never();
        // Nothing is measured: one for each worker.
        let mut passes: Vec<Pass> = (0..2).map(|_| admission.enter(Priority::Normal, 7, &never).unwrap()).collect();
        let cancel = Cancel::new();
        let waiter = {
            let (admission, cancel) = (Arc::clone(&admission), cancel.clone());
            thread::spawn(move || admission.enter(Priority::Normal, 7, &cancel).is_some())
        };
        while admission.waiting() == 0 {
            thread::yield_now();
        }
        cancel.cancel();
        assert!(!waiter.join().unwrap());
        assert_eq!((admission.in_flight(), admission.waiting()), (2, 0));
        for stage in 0..2 {
            passes[0].passed(stage, SECOND);
        }
        // A stage passed twice, and a pass that drops at its end, count once.
        passes[0].passed(1, SECOND);
        drop(passes.remove(0));
        assert_eq!(admission.in_flight(), 1);
        // Two stages of a second each: the first one has work for as long as the way to its end, until its partition has passed.
        passes[0].passed(0, SECOND);
        passes.push(admission.enter(Priority::Normal, 7, &never).unwrap());
        // One fails on its way.
        drop(passes.remove(0));
        assert_eq!(admission.in_flight(), 1);
        drop(passes);
        assert_eq!(admission.in_flight(), 0);
    }

    #[test]
    fn the_more_urgent_goes_in_first() {
        // Without a margin, one is in at a time.
        let admission = Admission::new(vec![1], Control { margin_percent: 0 });
        let first = admission.enter(Priority::Normal, 0, &Cancel::never()).unwrap();
        let (sender, order) = sync_channel(3);
        let mut threads = Vec::new();
        for (k, priority) in [Priority::Low, Priority::Normal, Priority::Critical].into_iter().enumerate() {
            let (waiting, sender) = (Arc::clone(&admission), sender.clone());
            threads.push(thread::spawn(move || {
                let mut pass = waiting.enter(priority, 0, &Cancel::never()).unwrap();
                sender.send(priority).unwrap();
                pass.passed(0, SECOND);
            }));
            // Work of a lower priority does not hold up a higher one, so the critical one goes in at once.
            while priority != Priority::Critical && admission.waiting() <= k as u64 {
                thread::yield_now();
            }
        }
        assert_eq!(order.recv().unwrap(), Priority::Critical);
        drop(first);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [Priority::Normal, Priority::Low]);
    }
}
