//! How long stages work and wait.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use buffer_accounting::Label;
use pipeline_stage::StageName;

#[derive(Default)]
struct Counters {
    items: AtomicU64,
    starved: AtomicU64,
    retries: AtomicU64,
    panics: AtomicU64,
    busy_ns: AtomicU64,
    waiting_ns: AtomicU64,
    blocked_ns: AtomicU64,
}

/// Wall-clock time of one stage, all its workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTime {
    /// Items worked on.
    pub items: u64,
    /// Items of which none was queued when a worker came for one: how often a worker went idle and work came later.
    pub starved: u64,
    /// Times an item was tried again.
    pub retries: u64,
    /// Workers that panicked and were replaced.
    pub panics: u64,
    /// Time spent on items.
    pub busy: Duration,
    /// Time spent waiting for an item.
    pub waiting: Duration,
    /// Time spent waiting for room downstream (part of `busy`).
    pub blocked: Duration,
}

type WorkObserver<S> = Box<dyn Fn(S, Duration) + Send + Sync>;

/// Times of all stages of a pipeline with the labels `S`.
pub struct StageTimes<S: Label = StageName> {
    counters: Vec<Counters>,
    observer: OnceLock<WorkObserver<S>>,
}

impl<S: Label> Default for StageTimes<S> {
    fn default() -> Self {
        Self { counters: S::ALL.iter().map(|_| Counters::default()).collect(), observer: OnceLock::new() }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl<S: Label> StageTimes<S> {
    fn of(&self, stage: S) -> &Counters {
        &self.counters[stage.index()]
    }

    pub(crate) fn worked(&self, stage: S, time: Duration) {
        let counters = self.of(stage);
        counters.items.fetch_add(1, Ordering::Relaxed);
        counters.busy_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
        if let Some(observer) = self.observer.get() {
            observer(stage, time);
        }
    }

    /// Calls `observer` with each item's stage and time (as in [`StageTime::busy`]), in the thread that worked on it, for instance to count it
    /// in a histogram. Only the first observer is kept; false for others.
    pub fn observe_work(&self, observer: impl Fn(S, Duration) + Send + Sync + 'static) -> bool {
        self.observer.set(Box::new(observer)).is_ok()
    }

    pub(crate) fn waited(&self, stage: S, time: Duration, starved: bool) {
        let counters = self.of(stage);
        counters.waiting_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
        counters.starved.fetch_add(u64::from(starved), Ordering::Relaxed);
    }

    pub(crate) fn was_blocked(&self, stage: S, time: Duration) {
        self.of(stage).blocked_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    pub(crate) fn tried_again(&self, stage: S) {
        self.of(stage).retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn panicked(&self, stage: S) {
        self.of(stage).panics.fetch_add(1, Ordering::Relaxed);
    }

    /// What a stage has spent so far.
    #[must_use]
    pub fn stage(&self, stage: S) -> StageTime {
        let counters = self.of(stage);
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Ordering::Relaxed));
        StageTime {
            items: count(&counters.items),
            starved: count(&counters.starved),
            retries: count(&counters.retries),
            panics: count(&counters.panics),
            busy: time(&counters.busy_ns),
            waiting: time(&counters.waiting_ns),
            blocked: time(&counters.blocked_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn the_first_observer_is_told_of_each_item() {
        let times = StageTimes::<StageName>::default();
        let second = Duration::from_secs(1);
        times.worked(StageName::Ntt, second);
        let told = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&told);
        assert!(times.observe_work(move |stage, time| theirs.lock().unwrap().push((stage, time))));
        assert!(!times.observe_work(|_, _| ()));
        times.worked(StageName::Ntt, second);
        times.worked(StageName::Msm, 3 * second);
        assert_eq!(*told.lock().unwrap(), [(StageName::Ntt, second), (StageName::Msm, 3 * second)]);
        assert_eq!((times.stage(StageName::Ntt).items, times.stage(StageName::Ntt).busy), (2, 2 * second));
    }
}
