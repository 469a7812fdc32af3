//! How long stages work and wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use buffer_accounting::Label;
use pipeline_stage::StageName;

#[derive(Default)]
struct Counters {
    items: AtomicU64,
    busy_ns: AtomicU64,
    waiting_ns: AtomicU64,
    blocked_ns: AtomicU64,
}

/// Wall-clock time of one stage, all its workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTime {
    /// Items worked on.
    pub items: u64,
    /// Time spent on items.
    pub busy: Duration,
    /// Time spent waiting for an item.
    pub waiting: Duration,
    /// Time spent waiting for room downstream (part of `busy`).
    pub blocked: Duration,
}

/// Times of all stages.
pub struct StageTimes(Vec<Counters>);

impl Default for StageTimes {
    fn default() -> Self {
        Self(StageName::ALL.iter().map(|_| Counters::default()).collect())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl StageTimes {
    pub(crate) fn worked(&self, stage: StageName, time: Duration) {
        let counters = &self.0[stage.index()];
        counters.items.fetch_add(1, Ordering::Relaxed);
        counters.busy_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    pub(crate) fn waited(&self, stage: StageName, time: Duration) {
        self.0[stage.index()].waiting_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    pub(crate) fn was_blocked(&self, stage: StageName, time: Duration) {
        self.0[stage.index()].blocked_ns.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// What a stage has spent so far.
    #[must_use]
    pub fn stage(&self, stage: StageName) -> StageTime {
        let counters = &self.0[stage.index()];
        let time = |counter: &AtomicU64| Duration::from_nanos(counter.load(Ordering::Relaxed));
        StageTime {
            items: counters.items.load(Ordering::Relaxed),
            busy: time(&counters.busy_ns),
            waiting: time(&counters.waiting_ns),
            blocked: time(&counters.blocked_ns),
        }
    }
}
