//! Every metric once: name, type, unit, labels, help.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only grows, from zero at the start of the process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations in buckets with these upper bounds, in the metric's unit, and one without a bound.
    Histogram(&'static [f64]),
}

impl Kind {
    /// The word in the `# TYPE` line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// What a metric counts. Always a base unit, so that no reader has to know a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Things.
    Count,
}

/// What is known of a metric beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Details {
    /// The name, as it is scraped.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The unit.
    pub unit: Unit,
    /// The names of its labels, in the order in which values are given. Every set of values is bounded when the program is built, but for
    /// the numbers of devices.
    pub labels: &'static [&'static str],
    /// One sentence for the `# HELP` line.
    pub help: &'static str,
}

/// From a small circuit's parsing to a production partition on few cores.
const STAGE_BUCKETS: &[f64] = &[0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 180.0, 600.0, 1800.0];

/// From a permit that was just being returned to one that waited for another job.
const PERMIT_BUCKETS: &[f64] = &[0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 300.0, 1800.0];

macro_rules! metrics {
    ($($variant:ident: $name:literal, $kind:expr, $unit:ident, [$($label:literal),*], $help:literal;)+) => {
        /// Every metric there is. The only way to record one, so that each has a type, a help text and a bounded set of labels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Metric {
            $(#[doc = concat!("`", $name, "`: ", $help)] $variant),+
        }

        impl Metric {
            /// Every member, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// What is known of it beforehand.
            #[must_use]
            pub const fn details(self) -> Details {
                match self {
                    $(Self::$variant => Details { name: $name, kind: $kind, unit: Unit::$unit, labels: &[$($label),*], help: $help }),+
                }
            }
        }
    };
}

metrics! {
    BufferBytes: "proofmill_buffer_bytes", Kind::Gauge, Bytes, ["class", "stage", "space"],
        "Bytes of large buffers alive, by what they are, who holds them, and where they live.";
    Buffers: "proofmill_buffers", Kind::Gauge, Count, ["class", "stage", "space"],
        "Large buffers alive, by what they are, who holds them, and where they live.";
    BudgetBytes: "proofmill_budget_bytes", Kind::Gauge, Bytes, ["space"],
        "Bytes that large buffers may take; absent for a space without a limit.";
    BudgetUsedBytes: "proofmill_budget_used_bytes", Kind::Gauge, Bytes, ["space"],
        "Bytes that large buffers take: the sum of proofmill_buffer_bytes over class and stage.";
    BudgetPeakBytes: "proofmill_budget_peak_bytes", Kind::Gauge, Bytes, ["space"],
        "Highest value of proofmill_budget_used_bytes since the start, however short it lasted.";
    BudgetWaiters: "proofmill_budget_waiters", Kind::Gauge, Count, ["space"],
        "Requests for bytes that wait for others to return some.";
    UnaccountedBytes: "proofmill_unaccounted_bytes", Kind::Gauge, Bytes, [],
        "Bytes allocated for which no buffer is on the books: jemalloc_allocated_bytes less the buffers made in host memory.";
    StageDuration: "proofmill_stage_duration_seconds", Kind::Histogram(STAGE_BUCKETS), Seconds, ["stage"],
        "Time from taking an item to being done with it, waits for memory and for room downstream included.";
    StageWait: "proofmill_stage_wait_seconds_total", Kind::Counter, Seconds, ["stage", "on"],
        "Time the workers of a stage waited, all together: on input for an item, on output for room downstream.";
    PermitWait: "proofmill_permit_wait_seconds", Kind::Histogram(PERMIT_BUCKETS), Seconds, ["stage"],
        "Time that a request for the bytes of a large buffer waited, until it was granted or given up; without those granted at once.";
    StageRetries: "proofmill_stage_retries_total", Kind::Counter, Count, ["stage"],
        "Times an item was tried again after an error that another try may not meet.";
    StagePanics: "proofmill_stage_panics_total", Kind::Counter, Count, ["stage"],
        "Workers that panicked and were replaced; each is a defect of the program.";
    StageStarved: "proofmill_stage_starved_total", Kind::Counter, Count, ["stage"],
        "Items that a worker had to wait for because none was queued.";
    ProofsCompleted: "proofmill_proofs_completed_total", Kind::Counter, Count, [],
        "Jobs whose proof was verified and handed out.";
    ProofsFailed: "proofmill_proofs_failed_total", Kind::Counter, Count, ["reason"],
        "Jobs that ended without a proof: retryable, fatal or cancelled.";
    ProofsRetried: "proofmill_proofs_retried_total", Kind::Counter, Count, [],
        "Partitions that were proved again because their proof did not verify, counted when their job ends.";
    VerificationFailures: "proofmill_verification_failures_total", Kind::Counter, Count, [],
        "Proofs of partitions that did not verify and were thrown away, counted when their job ends.";
    JemallocAllocated: "jemalloc_allocated_bytes", Kind::Gauge, Bytes, [],
        "Bytes the allocator has handed out and not got back.";
    JemallocActive: "jemalloc_active_bytes", Kind::Gauge, Bytes, [],
        "Bytes of pages that hold at least one allocated byte.";
    JemallocResident: "jemalloc_resident_bytes", Kind::Gauge, Bytes, [],
        "Bytes of the allocator's pages that are resident at most: active, dirty and its own.";
    JemallocMapped: "jemalloc_mapped_bytes", Kind::Gauge, Bytes, [],
        "Bytes of address space the allocator has mapped for use.";
    JemallocRetained: "jemalloc_retained_bytes", Kind::Gauge, Bytes, [],
        "Bytes of address space the allocator keeps although their pages went back to the system.";
    JemallocMetadata: "jemalloc_metadata_bytes", Kind::Gauge, Bytes, [],
        "Bytes the allocator needs for itself.";
    ResidentBytes: "proofmill_resident_bytes", Kind::Gauge, Bytes, ["kind"],
        "Resident memory of the process by kind: anonymous, file (which the kernel may drop) or shared.";
    ProcessCpu: "process_cpu_seconds_total", Kind::Counter, Seconds, [],
        "CPU time of the process, user and system, all threads.";
    ProcessResident: "process_resident_memory_bytes", Kind::Gauge, Bytes, [],
        "Resident memory of the process, all kinds.";
    ProcessVirtual: "process_virtual_memory_bytes", Kind::Gauge, Bytes, [],
        "Address space of the process.";
    ProcessThreads: "process_threads", Kind::Gauge, Count, [],
        "Threads of the process.";
    ProcessOpenFds: "process_open_fds", Kind::Gauge, Count, [],
        "File descriptors the process has open.";
    ProcessMaxFds: "process_max_fds", Kind::Gauge, Count, [],
        "File descriptors the process may have open.";
    ProcessStart: "process_start_time_seconds", Kind::Gauge, Seconds, [],
        "When the process started, in seconds since 1970.";
    BuildInfo: "proofmill_build_info", Kind::Gauge, Count, ["version", "arch", "allocator", "profile"],
        "Always 1; the labels tell how the program was built.";
}

impl Metric {
    /// The name, as it is scraped.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.details().name
    }

    /// The metric with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|metric| metric.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        let names: BTreeSet<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        assert_eq!(names.len(), Metric::ALL.len(), "a name is there twice");
        for metric in Metric::ALL {
            let Details { name, kind, unit, labels, help } = metric.details();
            assert_eq!(Metric::from_name(name), Some(*metric));
            assert!(["proofmill_", "jemalloc_", "process_"].iter().any(|prefix| name.starts_with(prefix)), "{name}");
            assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}");
            let base = name.trim_end_matches("_total");
            for (suffix, wanted) in [("_bytes", Unit::Bytes), ("_seconds", Unit::Seconds)] {
                assert_eq!(base.ends_with(suffix), unit == wanted, "{name}");
            }
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}: {help}");
            for label in labels {
                assert!(label.bytes().all(|b| b.is_ascii_lowercase()) && !["le", "quantile", "job", "instance"].contains(label), "{name}");
            }
            if let Kind::Histogram(buckets) = kind {
                assert!(buckets.windows(2).all(|pair| pair[0] < pair[1]) && buckets[0] > 0.0, "{name}");
            }
        }
    }
}
