//! Where threads wait, oldest first, until something can be done or their wait is cancelled.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use buffer_accounting::Cancel;

use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};

#[derive(Default)]
struct State {
    next_ticket: u64,
    /// Who waits, oldest first.
    waiting: VecDeque<u64>,
    /// Nothing will come of waiting any more.
    closed: bool,
}

/// A waiting line. What is waited for is tried under the line's lock, and whoever makes it possible rings afterwards.
///
/// No ring is missed: a waiter is counted before it tries, and what it tries takes the lock of the queue that the ringer changed before
/// it looks at the count. So either the try sees the change, or the ringer sees the waiter. Cancellation rings under the same lock.
pub(crate) struct Line {
    state: Mutex<State>,
    changed: Condvar,
    waiting: AtomicUsize,
}

impl Default for Line {
    fn default() -> Self {
        Self { state: Mutex::new(State::default()), changed: Condvar::new(), waiting: AtomicUsize::new(0) }
    }
}

/// What is behind a line, when something is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    Closed,
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Only tickets and a flag are changed under this lock, each in one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries once, unless somebody waits already. `None`: nothing came of it.
    pub(crate) fn try_now<T>(&self, attempt: impl FnOnce(Gate) -> Option<T>) -> Option<T> {
        let state = self.lock();
        if !state.waiting.is_empty() {
            return None;
        }
        attempt(gate(&state))
    }

    /// Tries until something comes of it; waits in line in between. `None` when `cancel` is raised first.
    pub(crate) fn wait<T>(self: &Arc<Self>, cancel: &Cancel, mut attempt: impl FnMut(Gate) -> Option<T>) -> Option<T> {
        let waker = Arc::clone(self);
        let subscription = cancel.subscribe(move || waker.ring());
        let mut state = self.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back(ticket);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let result = loop {
            if cancel.is_cancelled() {
                break None;
            }
            if state.waiting.front() == Some(&ticket)
                && let Some(result) = attempt(gate(&state))
            {
                break Some(result);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.waiting.retain(|waiting| *waiting != ticket);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let others = !state.waiting.is_empty();
        drop(state);
        if others {
            // The next in line may go too, or may have stood behind one that gave up.
            self.changed.notify_all();
        }
        drop(subscription);
        result
    }

    /// Wakes whoever waits.
    pub(crate) fn ring(&self) {
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Wakes whoever waits, for a change that was made under the lock of the queue that waiters try.
    pub(crate) fn ring_if_waited_for(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.ring();
        }
    }

    /// From now on attempts see a closed gate.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

fn gate(state: &State) -> Gate {
    if state.closed { Gate::Closed } else { Gate::Open }
}
