//! Holders that can let go: a cache, a mapped key, idle slabs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::ledger::{Ledger, Shared};
use crate::sync::lock;
use crate::{Label, Space};

/// How long nothing may come back before holders are asked although others could return bytes, and before busy ones are asked again.
pub const EVICTION_IDLE: Duration = Duration::from_millis(500);

struct Holder {
    id: u64,
    space: Space,
    used: AtomicU64,
    bytes: Box<dyn Fn() -> u64 + Send + Sync>,
    evict: Box<dyn Fn() -> bool + Send + Sync>,
}

struct State {
    holders: Vec<Arc<Holder>>,
    idle: Duration,
    /// Something changed while somebody waits.
    nudged: bool,
    running: bool,
    stop: bool,
}

struct Core {
    state: Mutex<State>,
    wake: Condvar,
    any: AtomicBool,
    clock: AtomicU64,
}

/// Asks holders to let go while somebody waits; one thread, started with the first holder.
pub(crate) struct Evictor(Arc<Core>);

impl Default for Evictor {
    fn default() -> Self {
        let state = State { holders: Vec::new(), idle: EVICTION_IDLE, nudged: false, running: false, stop: false };
        Self(Arc::new(Core { state: Mutex::new(state), wake: Condvar::new(), any: AtomicBool::new(false), clock: AtomicU64::new(0) }))
    }
}

impl Drop for Evictor {
    fn drop(&mut self) {
        lock(&self.0.state).stop = true;
        self.0.wake.notify_all();
    }
}

impl Evictor {
    /// Somebody waits, and the books have changed.
    pub(crate) fn nudge(&self) {
        if self.0.any.load(Ordering::Acquire) {
            self.0.nudge();
        }
    }
}

impl Core {
    fn nudge(&self) {
        lock(&self.state).nudged = true;
        self.wake.notify_all();
    }

    fn holders(&self) -> Vec<Arc<Holder>> {
        let mut holders = lock(&self.state).holders.clone();
        holders.sort_by_key(|holder| holder.used.load(Ordering::Relaxed));
        holders
    }

    fn remove(&self, id: u64) {
        let mut state = lock(&self.state);
        state.holders.retain(|holder| holder.id != id);
        self.any.store(!state.holders.is_empty(), Ordering::Release);
    }
}

/// Keeps a holder registered.
#[must_use = "dropping the registration takes the holder off the list"]
pub struct Evictable {
    core: Arc<Core>,
    holder: Arc<Holder>,
}

impl Evictable {
    /// What is held was used: the holder that was used longest ago is asked first.
    pub fn touch(&self) {
        self.holder.used.store(self.core.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// What is held is not in use any more: whoever waits for it need not wait until the holder is asked again.
    pub fn became_idle(&self) {
        self.core.nudge();
    }
}

impl Drop for Evictable {
    fn drop(&mut self) {
        self.core.remove(self.holder.id);
    }
}

impl<C: Label, S: Label> Ledger<C, S> {
    /// Registers a holder of bytes in `space` that can let go when others wait for them. `bytes` says how many it would return now;
    /// `evict` returns them (drops the leases) and says whether it did: false while they are in use.
    ///
    /// Holders are asked, the one used longest ago first and one after the other until the first request in the queue fits: at once, when
    /// that request cannot be served even if everything else came back; otherwise after nothing came back for the idle time
    /// ([`EVICTION_IDLE`] unless [set](Ledger::set_eviction_idle)), and then again after each idle time. They are called in a thread of the
    /// ledger's, which holds no lock meanwhile. A holder whose callback panics is taken off the list.
    ///
    /// # Errors
    /// The system's, when the thread cannot be started.
    pub fn register_evictable(
        &self,
        space: Space,
        bytes: impl Fn() -> u64 + Send + Sync + 'static,
        evict: impl Fn() -> bool + Send + Sync + 'static,
    ) -> std::io::Result<Evictable> {
        let core = &self.0.evictor.0;
        let id = core.clock.fetch_add(1, Ordering::Relaxed);
        let holder = Arc::new(Holder { id, space, used: AtomicU64::new(id), bytes: Box::new(bytes), evict: Box::new(evict) });
        let mut state = lock(&core.state);
        if !state.running {
            let (core, books) = (Arc::clone(core), Arc::downgrade(&self.0));
            std::thread::Builder::new().name("ledger-evictor".to_owned()).spawn(move || watch(&core, &books))?;
            state.running = true;
        }
        state.holders.push(Arc::clone(&holder));
        core.any.store(true, Ordering::Release);
        drop(state);
        core.nudge();
        Ok(Evictable { core: Arc::clone(core), holder })
    }

    /// Sets the idle time of [`register_evictable`](Ledger::register_evictable).
    pub fn set_eviction_idle(&self, idle: Duration) {
        lock(&self.0.evictor.0.state).idle = idle;
        self.0.evictor.0.wake.notify_all();
    }
}

/// The evictor's thread: ends when the ledger is gone.
fn watch<C: Label, S: Label>(core: &Core, books: &Weak<Shared<C, S>>) {
    let mut quiet_since = Instant::now();
    let mut returned = None;
    loop {
        {
            let mut state = lock(&core.state);
            while !state.nudged && !state.stop {
                // Without a waiter there is nothing to come back for.
                if returned.is_none() {
                    state = core.wake.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
                    continue;
                }
                let left = state.idle.saturating_sub(quiet_since.elapsed());
                if left.is_zero() {
                    break;
                }
                state = core.wake.wait_timeout(state, left).map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
            }
            if state.stop {
                return;
            }
            state.nudged = false;
        }
        let Some(shared) = books.upgrade() else { return };
        let ledger = Ledger(shared);
        let came_back = ledger.lock().spaces.iter().map(|space| space.returned).fold(0u64, u64::wrapping_add);
        if returned != Some(came_back) {
            quiet_since = Instant::now();
        }
        let idle = lock(&core.state).idle;
        let asked_all = quiet_since.elapsed() >= idle;
        let short = make_room(core, &ledger, asked_all);
        if asked_all {
            quiet_since = Instant::now();
        }
        returned = short.then_some(came_back);
    }
}

/// Asks holders until the first request that is short fits. True while one is short.
fn make_room<C: Label, S: Label>(core: &Core, ledger: &Ledger<C, S>, even_if_others_may_return: bool) -> bool {
    let holders = core.holders();
    let would_return = |space: Space| holders.iter().filter(|h| h.space == space).map(|h| (h.bytes)()).fold(0u64, u64::saturating_add);
    let evictable: Vec<u64> = {
        let spaces: Vec<Space> = ledger.lock().spaces.iter().map(|s| s.space).collect();
        spaces.into_iter().map(would_return).collect()
    };
    let mut next = holders.iter();
    loop {
        let short: Vec<Space> = {
            let books = ledger.lock();
            let Some(needs) = books.first_short() else { return false };
            let alone = needs.iter().any(|&(space, needed)| needed > books.spaces[space].budget.saturating_sub(evictable[space]));
            if !alone && !even_if_others_may_return {
                return true;
            }
            needs.into_iter().filter(|&(space, needed)| needed > books.free(space)).map(|(space, _)| books.spaces[space].space).collect()
        };
        let Some(holder) = next.by_ref().find(|holder| short.contains(&holder.space)) else { return true };
        // Its leases return their bytes as they drop, which serves whoever fits.
        if catch_unwind(AssertUnwindSafe(|| (holder.evict)())).is_err() {
            core.remove(holder.id);
        }
    }
}
