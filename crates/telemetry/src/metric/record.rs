//! Recording. Without a recorder (see [`Exposition`](super::Exposition)) every function here does next to nothing.
#![allow(clippy::disallowed_macros, reason = "the one place that calls the macros; names and labels come from the enumeration")]

use std::borrow::Cow;
use std::time::Duration;

use metrics::Label;

use super::name::{Kind, Metric, Unit};

type Value = Cow<'static, str>;

impl Metric {
    /// Label names come from the enumeration, so a record has values only.
    fn labels<const N: usize>(self, values: [Value; N]) -> Vec<Label> {
        let names = self.details().labels;
        debug_assert_eq!(names.len(), N, "{} takes the values of {names:?}", self.name());
        names.iter().zip(values).map(|(name, value)| Label::new(*name, value)).collect()
    }

    fn set<const N: usize>(self, values: [Value; N], value: f64) {
        debug_assert_eq!(self.details().kind, Kind::Gauge);
        metrics::gauge!(self.name(), self.labels(values)).set(value);
    }

    /// Bytes beyond 2^53 lose their last bits: the format has floating-point numbers only.
    fn set_whole<const N: usize>(self, values: [Value; N], value: u64) {
        self.set(values, value as f64);
    }

    fn counter<const N: usize>(self, values: [Value; N]) -> metrics::Counter {
        debug_assert_eq!(self.details().kind, Kind::Counter);
        metrics::counter!(self.name(), self.labels(values))
    }

    /// Brings a counter of seconds to what the source has counted so far. A counter of the facade is whole, so it holds microseconds, and
    /// the exposition puts the point where it belongs.
    fn advance_to<const N: usize>(self, values: [Value; N], total: Duration) {
        debug_assert_eq!(self.details().unit, Unit::Seconds);
        self.counter(values).absolute(u64::try_from(total.as_micros()).unwrap_or(u64::MAX));
    }

    fn histogram<const N: usize>(self, values: [Value; N]) -> metrics::Histogram {
        debug_assert!(matches!(self.details().kind, Kind::Histogram(_)));
        metrics::histogram!(self.name(), self.labels(values))
    }

    pub(super) fn set_plain(self, value: u64) {
        self.set_whole([], value);
    }

    pub(super) fn set_kind(self, kind: &'static str, value: u64) {
        self.set_whole([kind.into()], value);
    }

    pub(super) fn set_seconds(self, value: f64) {
        self.set([], value);
    }

    pub(super) fn advance_plain_to(self, total: Duration) {
        self.advance_to([], total);
    }

    /// Tells the recorder type, unit and help of every metric.
    pub(super) fn describe_all() {
        for metric in Self::ALL {
            let details = metric.details();
            let unit = match details.unit {
                Unit::Bytes => metrics::Unit::Bytes,
                Unit::Seconds => metrics::Unit::Seconds,
                Unit::Count => metrics::Unit::Count,
            };
            match details.kind {
                Kind::Counter => metrics::describe_counter!(details.name, unit, details.help),
                Kind::Gauge => metrics::describe_gauge!(details.name, unit, details.help),
                Kind::Histogram(_) => metrics::describe_histogram!(details.name, unit, details.help),
            }
        }
    }
}

/// Sets one cell of the matrix of buffers: what they are, who holds them, where they live.
pub fn set_buffer(class: &'static str, stage: &'static str, space: impl Into<Cow<'static, str>>, bytes: u64, buffers: u64) {
    let space = space.into();
    Metric::BufferBytes.set_whole([class.into(), stage.into(), space.clone()], bytes);
    Metric::Buffers.set_whole([class.into(), stage.into(), space], buffers);
}

/// The books of one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetFigures {
    /// Bytes it has in all; `None` without a limit.
    pub budget_bytes: Option<u64>,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Highest number of bytes in use so far.
    pub peak_bytes: u64,
    /// Requests that wait.
    pub waiters: u64,
}

/// Sets the books of one space.
pub fn set_budget(space: impl Into<Cow<'static, str>>, figures: &BudgetFigures) {
    let space = space.into();
    if let Some(bytes) = figures.budget_bytes {
        Metric::BudgetBytes.set_whole([space.clone()], bytes);
    }
    Metric::BudgetUsedBytes.set_whole([space.clone()], figures.used_bytes);
    Metric::BudgetPeakBytes.set_whole([space.clone()], figures.peak_bytes);
    Metric::BudgetWaiters.set_whole([space], figures.waiters);
}

/// Sets the bytes that are allocated and on no book; below zero when more is on the books than is allocated.
pub fn set_unaccounted(bytes: i64) {
    Metric::UnaccountedBytes.set([], bytes as f64);
}

/// What jemalloc says about itself, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatorFigures {
    /// Handed out.
    pub allocated: u64,
    /// Pages that hold something handed out.
    pub active: u64,
    /// Pages that are resident at most.
    pub resident: u64,
    /// Mapped for use.
    pub mapped: u64,
    /// Kept without pages.
    pub retained: u64,
    /// For itself.
    pub metadata: u64,
}

/// Sets what jemalloc says about itself.
pub fn set_allocator(figures: &AllocatorFigures) {
    let AllocatorFigures { allocated, active, resident, mapped, retained, metadata } = *figures;
    Metric::JemallocAllocated.set_whole([], allocated);
    Metric::JemallocActive.set_whole([], active);
    Metric::JemallocResident.set_whole([], resident);
    Metric::JemallocMapped.set_whole([], mapped);
    Metric::JemallocRetained.set_whole([], retained);
    Metric::JemallocMetadata.set_whole([], metadata);
}

/// What a stage counts by itself, from the start of its pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageFigures {
    /// Time its workers waited for an item, all together.
    pub waited_for_input: Duration,
    /// Time its workers waited for room downstream, all together.
    pub waited_for_output: Duration,
    /// Times an item was tried again.
    pub retries: u64,
    /// Workers that panicked.
    pub panics: u64,
    /// Items a worker had to wait for.
    pub starved: u64,
}

/// Brings the counters of a stage to these figures. Counters never fall.
pub fn advance_stage(stage: &'static str, figures: &StageFigures) {
    let StageFigures { waited_for_input, waited_for_output, retries, panics, starved } = *figures;
    for (on, time) in [("input", waited_for_input), ("output", waited_for_output)] {
        Metric::StageWait.advance_to([stage.into(), on.into()], time);
    }
    for (metric, count) in [(Metric::StageRetries, retries), (Metric::StagePanics, panics), (Metric::StageStarved, starved)] {
        metric.counter([stage.into()]).absolute(count);
    }
}

/// A stage has worked this long on one item.
pub fn stage_finished(stage: &'static str, worked: Duration) {
    Metric::StageDuration.histogram([stage.into()]).record(worked.as_secs_f64());
}

/// A stage has waited this long for the bytes of a buffer.
pub fn permit_waited(stage: &'static str, waited: Duration) {
    Metric::PermitWait.histogram([stage.into()]).record(waited.as_secs_f64());
}

/// Makes the series of a stage, at zero.
pub fn zero_stage(stage: &'static str) {
    advance_stage(stage, &StageFigures::default());
    // A histogram is there as soon as its handle was asked for.
    drop(Metric::StageDuration.histogram([stage.into()]));
    drop(Metric::PermitWait.histogram([stage.into()]));
}

/// Makes the series of proofs, at zero; `reasons` are those that [`proof_failed`] will be given.
pub fn zero_proofs(reasons: &[&'static str]) {
    Metric::ProofsCompleted.counter([]).increment(0);
    proofs_rejected(0, 0);
    for reason in reasons {
        Metric::ProofsFailed.counter([(*reason).into()]).increment(0);
    }
}

/// So many proofs of partitions of a job did not verify, after which so many were proved again.
pub fn proofs_rejected(rejected: u64, retried: u64) {
    Metric::VerificationFailures.counter([]).increment(rejected);
    Metric::ProofsRetried.counter([]).increment(retried);
}

/// A job's proof was handed out.
pub fn proof_completed() {
    Metric::ProofsCompleted.counter([]).increment(1);
}

/// A job ended without a proof.
pub fn proof_failed(reason: &'static str) {
    Metric::ProofsFailed.counter([reason.into()]).increment(1);
}

/// How the program was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildInfo {
    /// Its version.
    pub version: &'static str,
    /// The global allocator.
    pub allocator: &'static str,
}

/// Sets how the program was built.
pub fn set_build_info(info: &BuildInfo) {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    Metric::BuildInfo.set_whole([info.version.into(), std::env::consts::ARCH.into(), info.allocator.into(), profile.into()], 1);
}
