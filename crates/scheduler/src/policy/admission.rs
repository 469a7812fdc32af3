//! How much is let in.

use std::time::Duration;

use super::snapshot::{JobView, Snapshot};

/// The one setting of the control law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The margin on estimated times, in percent: how much longer than estimated the way to the slowest stage may take without its
    /// running out of work.
    pub margin_percent: u32,
}

impl Default for Control {
    /// A quarter: with ten partitions on their way to the slowest stage, two or three more.
    fn default() -> Self {
        Self { margin_percent: 25 }
    }
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Let one partition of this job in.
    Admit {
        /// The job.
        job: u64,
    },
    /// A partition of this job is larger than the whole budget: fail the job.
    Refuse {
        /// The job.
        job: u64,
        /// Bytes of one partition.
        needed: u64,
        /// Bytes there are in all.
        budget: u64,
    },
    /// Let nothing in until something changes.
    Hold(Hold),
}

/// Why nothing is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// No partition waits for admission.
    NothingWaits,
    /// The slowest stage has work for long enough.
    Fed {
        /// The job that goes next.
        job: u64,
        /// Its slowest stage.
        stage: usize,
        /// Time for which admitted work keeps that stage busy.
        supply: Duration,
        /// The low-water mark.
        mark: Duration,
    },
    /// The slowest stage could do with more, but as much is in flight as the estimates justify: work piles up behind it.
    InFlight {
        /// The job that goes next.
        job: u64,
        /// Partitions in flight that count.
        partitions: u64,
    },
    /// The next partition does not fit what is free; others do not overtake it.
    Budget {
        /// The job that goes next.
        job: u64,
        /// Bytes of one partition.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
}

/// Decides about one partition: whose turn it is, and whether it is let in. Call it again after each admission
/// ([`Snapshot::admit`]), or use [`admit_all`].
///
/// Takes time in proportion to jobs times stages.
#[must_use]
pub fn next_admission(snapshot: &Snapshot, control: &Control) -> Decision {
    let waiting = snapshot.jobs.iter().filter(|job| job.waiting > 0);
    let Some(next) = waiting.min_by_key(|job| (job.priority, job.arrived, job.id)) else {
        return Decision::Hold(Hold::NothingWaits);
    };
    let (job, needed, free) = (next.id, next.bytes_each, snapshot.budget.free());
    if needed > snapshot.budget.total {
        return Decision::Refuse { job, needed, budget: snapshot.budget.total };
    }
    if let Some(hold) = enough(snapshot, next, control) {
        return Decision::Hold(hold);
    }
    if needed > free {
        return Decision::Hold(Hold::Budget { job, needed, free });
    }
    Decision::Admit { job }
}

/// Lets in as many partitions as the law allows, one after the other, and notes them in the snapshot. Returns the job of each, in
/// order, and the decision it stopped at, which is no [`Decision::Admit`].
pub fn admit_all(snapshot: &mut Snapshot, control: &Control) -> (Vec<u64>, Decision) {
    let mut admitted = Vec::new();
    loop {
        match next_admission(snapshot, control) {
            Decision::Admit { job } if snapshot.admit(job) => admitted.push(job),
            decision => return (admitted, decision),
        }
    }
}

/// Whether what is in flight is enough for the next job's slowest stage.
fn enough(snapshot: &Snapshot, next: &JobView, control: &Control) -> Option<Hold> {
    // Work of lower priority does not stand in the way of the next job, and so does not feed its slowest stage either.
    let counted: Vec<&JobView> = snapshot.jobs.iter().filter(|job| job.priority <= next.priority).collect();
    let partitions: u64 = counted.iter().map(|job| job.in_flight()).sum();
    let Some(way) = Way::of(snapshot, next) else {
        let everyone: u64 = snapshot.workers.iter().map(|&workers| u64::from(workers.max(1))).sum();
        return (partitions >= everyone.max(1)).then_some(Hold::InFlight { job: next.id, partitions });
    };
    let load = |job: &JobView, stages: usize| {
        let partitions: u64 = job.in_stage.iter().take(stages).map(|&n| u64::from(n)).sum();
        // A job that was never measured counts as one of the next job's kind.
        let service = job.service.get(way.bottleneck).map_or(way.service, Duration::as_nanos);
        u128::from(partitions).saturating_mul(service)
    };
    let supply = counted.iter().fold(0u128, |sum, job| sum.saturating_add(load(job, way.bottleneck + 1)));
    let in_flight = counted.iter().fold(0u128, |sum, job| sum.saturating_add(load(job, usize::MAX)));
    // All in worker-nanoseconds of the bottleneck and percent, so that nothing is rounded.
    let with_margin = |time: u128| time.saturating_mul(100 + u128::from(control.margin_percent)).saturating_mul(way.workers);
    let mark = with_margin(way.until_bottleneck);
    if supply.saturating_mul(100) >= mark {
        return Some(Hold::Fed {
            job: next.id,
            stage: way.bottleneck,
            supply: duration(supply / way.workers),
            mark: duration(mark / 100 / way.workers),
        });
    }
    let most = with_margin(way.in_all).saturating_add(way.service.saturating_mul(way.workers).saturating_mul(100));
    (in_flight.saturating_mul(100) >= most).then_some(Hold::InFlight { job: next.id, partitions })
}

/// The way of one job's partitions through the stages, in nanoseconds.
struct Way {
    bottleneck: usize,
    workers: u128,
    /// Of one partition at the bottleneck.
    service: u128,
    /// From admission to the end of the bottleneck, without waiting.
    until_bottleneck: u128,
    in_all: u128,
}

impl Way {
    /// `None` when the job's kind was not measured.
    fn of(snapshot: &Snapshot, job: &JobView) -> Option<Self> {
        let service: Vec<u128> = job.service.iter().take(snapshot.workers.len()).map(Duration::as_nanos).collect();
        if service.len() < snapshot.workers.len() {
            return None;
        }
        let workers = |stage: usize| u128::from(snapshot.workers[stage].max(1));
        // Of equally slow stages the one upstream, where a partition has been held for the shortest time.
        let slower = |best: usize, stage: usize| {
            if service[stage] * workers(best) > service[best] * workers(stage) { stage } else { best }
        };
        let bottleneck = (0..service.len()).reduce(slower)?;
        let times = |service: &[u128]| service.iter().fold(0u128, |sum, time| sum.saturating_add(*time));
        (service[bottleneck] > 0).then(|| Self {
            bottleneck,
            workers: workers(bottleneck),
            service: service[bottleneck],
            until_bottleneck: times(&service[..=bottleneck]),
            in_all: times(&service),
        })
    }
}

fn duration(nanoseconds: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
