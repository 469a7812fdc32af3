//! What a simulation gives.

use std::time::Duration;

use buffer_accounting::Label;
use pipeline_stage::{Class, StageName};

use super::books::Entry;

/// What the workers of a stage do at one moment, and what waits in front of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageGauge {
    /// Partitions being worked on.
    pub working: u32,
    /// Workers with a partition that waits for units of a resource, or for bytes.
    pub waiting: u32,
    /// Workers that are done and wait for a place in the next queue.
    pub blocked: u32,
    /// Partitions in the queue in front.
    pub queued: u32,
    /// Results that have no place in the next queue, with or without a worker that waits for it.
    pub unsent: u32,
}

/// All gauges at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When; the gauges hold until the next sample.
    pub time: Duration,
    /// Bytes by class, in the order of the labels.
    pub bytes: Vec<u64>,
    /// Buffers of at least one byte by class, in the same order.
    pub buffers: Vec<u32>,
    /// The stages, upstream first.
    pub stages: Vec<StageGauge>,
    /// Units in use of each resource.
    pub units: Vec<u32>,
}

impl Sample {
    /// Bytes of all classes.
    #[must_use]
    pub fn in_use(&self) -> u64 {
        self.bytes.iter().sum()
    }
}

/// The highest number of bytes held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Bytes.
    pub bytes: u64,
    /// When it was reached first.
    pub at: Duration,
    /// What it consisted of, in the order of the labels.
    pub by_class: Vec<u64>,
}

/// What the workers of a stage did with their time, summed over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageUse<S = StageName> {
    /// The stage.
    pub name: S,
    /// Workers.
    pub workers: u32,
    /// Working.
    pub busy: Duration,
    /// With a partition, waiting for units or bytes.
    pub waiting: Duration,
    /// Done, waiting for a place in the next queue.
    pub blocked: Duration,
    /// Without a partition.
    pub idle: Duration,
}

/// What became of a resource's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// What it is called.
    pub name: String,
    /// Units.
    pub units: u32,
    /// Time in use, summed over units.
    pub busy: Duration,
    /// From its first use to its last.
    pub span: Duration,
}

impl ResourceUse {
    /// Share of the time between first and last use in which a unit was idle, from 0 to 1.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        let there = self.span.as_secs_f64() * f64::from(self.units);
        if there > 0.0 { (1.0 - self.busy.as_secs_f64() / there).max(0.0) } else { 0.0 }
    }
}

/// One job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobTimes {
    /// When it came.
    pub arrived: Duration,
    /// When its first partition started.
    pub started: Duration,
    /// When its last partition ended.
    pub ended: Duration,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run<C = Class, S = StageName> {
    /// When the last partition ended.
    pub end: Duration,
    /// Gauges after each moment at which something happened.
    pub samples: Vec<Sample>,
    /// The most bytes held.
    pub peak: Peak,
    /// The most bytes of each class at each stage; see [`cell_peak`](Run::cell_peak).
    pub(super) cell_peaks: Vec<u64>,
    /// Bytes held when everything had ended, beside what is held from the start. Zero, or the rules of the model lose bytes.
    pub left_over: u64,
    /// The stages, upstream first.
    pub stages: Vec<StageUse<S>>,
    /// The resources.
    pub resources: Vec<ResourceUse>,
    /// The jobs.
    pub jobs: Vec<JobTimes>,
    /// The most partitions that had been admitted and had not ended.
    pub in_flight_most: u64,
    /// The books, line by line.
    pub entries: Vec<Entry<C, S>>,
}

impl<C: Label, S: Label> Run<C, S> {
    /// The most bytes of a class that a stage held.
    #[must_use]
    pub fn cell_peak(&self, class: C, stage: S) -> u64 {
        self.cell_peaks[class.index() * S::ALL.len() + stage.index()]
    }

    /// From the start to the end, divided by the jobs.
    #[must_use]
    pub fn time_per_job(&self) -> Duration {
        self.end / u32::try_from(self.jobs.len()).unwrap_or(u32::MAX).max(1)
    }

    /// The first sample that fulfils a condition.
    pub fn first(&self, condition: impl Fn(&Sample) -> bool) -> Option<&Sample> {
        self.samples.iter().find(|sample| condition(sample))
    }
}
