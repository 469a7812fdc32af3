//! A cancellation flag that wakes whoever waits.

use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, StdArc, lock};
use std::fmt;

type Listener = StdArc<dyn Fn() + Send + Sync>;

struct Shared {
    cancelled: AtomicBool,
    next_id: AtomicU64,
    listeners: Mutex<Vec<(u64, Listener)>>,
}

/// A flag that is raised once and stays raised. Clones share the flag.
///
/// Waiters that block on something else register a listener with [`subscribe`](Cancel::subscribe); it is called once, when the flag is raised.
#[derive(Clone)]
pub struct Cancel(Arc<Shared>);

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

impl Cancel {
    /// A new flag, not raised.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared { cancelled: AtomicBool::new(false), next_id: AtomicU64::new(0), listeners: Mutex::new(Vec::new()) }))
    }

    /// A flag that nobody else holds, so nobody can raise it.
    #[must_use]
    pub fn never() -> Self {
        Self::new()
    }

    /// Raises the flag and calls the listeners. Raising it again does nothing.
    pub fn cancel(&self) {
        if self.0.cancelled.swap(true, Ordering::SeqCst) {
            return;
        }
        let listeners = std::mem::take(&mut *lock(&self.0.listeners));
        for (_, listener) in listeners {
            listener();
        }
    }

    /// True when both are the same flag.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// True once the flag is raised.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Calls `listener` when the flag is raised, or at once if it is raised already. Dropping the result unsubscribes.
    #[must_use = "dropping the subscription removes the listener"]
    pub fn subscribe(&self, listener: impl Fn() + Send + Sync + 'static) -> CancelSubscription {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let listener: Listener = StdArc::new(listener);
        lock(&self.0.listeners).push((id, StdArc::clone(&listener)));
        // Raised between the push and now: `cancel` may have taken the list before the push, so call it here. Calling twice is harmless.
        if self.is_cancelled() {
            listener();
        }
        CancelSubscription { cancel: self.clone(), id }
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// Keeps a listener registered.
pub struct CancelSubscription {
    cancel: Cancel,
    id: u64,
}

impl Drop for CancelSubscription {
    fn drop(&mut self) {
        lock(&self.cancel.0.listeners).retain(|(id, _)| *id != self.id);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn listeners_run_once_and_late_ones_at_once() {
        let cancel = Cancel::new();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let early = cancel.subscribe(move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let count = Arc::clone(&calls);
        let gone = cancel.subscribe(move || {
            count.fetch_add(100, Ordering::SeqCst);
        });
        drop(gone);
        cancel.cancel();
        cancel.cancel();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let count = Arc::clone(&calls);
        let late = cancel.subscribe(move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        drop((early, late));
    }
}
