//! The state of a run: where each partition is, what it holds, and who has what.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use buffer_accounting::Label;

use super::books::Books;
use super::model::{Buffer, Model, PermitRule, StageModel, Units};
use super::report::{JobTimes, Peak, ResourceUse, Run, Sample, StageGauge, StageUse};
use crate::policy::Rank;

/// A partition on its way.
#[derive(Default)]
pub(super) struct Item {
    pub(super) job: usize,
    pub(super) partition: u32,
    pub(super) stage: usize,
    pub(super) phase: usize,
    /// Its buffers, by their number in the books.
    buffers: Vec<usize>,
    /// Units it has: the resource, and the buffer behind the unit.
    units: Vec<(usize, usize)>,
    /// Bytes set aside for it that it has not drawn.
    pub(super) reserve: Option<usize>,
    /// Time spent in the phases of this stage.
    pub(super) spent: Duration,
}

impl Item {
    pub(super) fn new(job: usize, partition: u32) -> Self {
        Self { job, partition, ..Self::default() }
    }
}

/// A stage with its queue.
#[derive(Default)]
pub(super) struct Station {
    workers: u32,
    /// In the order of the policy.
    pub(super) queue: BTreeMap<Rank, usize>,
    /// With a worker, in front of a phase.
    pub(super) starting: Vec<usize>,
    pub(super) working: u32,
    /// Done here, without a place in the next queue.
    pub(super) unsent: VecDeque<usize>,
    /// Whether a worker waits with each of them.
    holds_worker: bool,
    busy: Duration,
    waiting: Duration,
    blocked: Duration,
}

impl Station {
    fn new<S>(stage: &StageModel<S>) -> Self {
        Self { workers: stage.workers, holds_worker: stage.permit == PermitRule::HeldThroughSend, ..Self::default() }
    }

    /// Workers that are done and wait for a place in the next queue.
    fn blocked(&self) -> u32 {
        if self.holds_worker { u32::try_from(self.unsent.len()).unwrap_or(u32::MAX) } else { 0 }
    }

    /// Whether a worker could take a partition now.
    pub(super) fn has_free_worker(&self) -> bool {
        let starting = u32::try_from(self.starting.len()).unwrap_or(u32::MAX);
        self.working.saturating_add(starting).saturating_add(self.blocked()) < self.workers
    }
}

/// The units of a resource.
pub(super) struct Pool<S> {
    /// The buffers behind units that nobody has.
    idle: Vec<usize>,
    /// To whom idle units count.
    home: S,
    units: u32,
    busy: Duration,
    first: Option<Duration>,
    last: Duration,
}

impl<S> Pool<S> {
    pub(super) fn free(&self) -> u32 {
        u32::try_from(self.idle.len()).unwrap_or(u32::MAX)
    }

    fn in_use(&self) -> u32 {
        self.units - self.free()
    }
}

pub(super) struct JobState {
    /// Partitions that are not in the pipeline.
    pub(super) outside: u32,
    /// Partitions that have not ended.
    pub(super) left: u32,
    pub(super) started: Option<Duration>,
    ended: Duration,
}

pub(super) struct State<C, S> {
    pub(super) now: Duration,
    pub(super) items: Vec<Item>,
    pub(super) stations: Vec<Station>,
    pub(super) pools: Vec<Pool<S>>,
    pub(super) jobs: Vec<JobState>,
    pub(super) books: Books<C, S>,
    set_aside: C,
    samples: Vec<Sample>,
    in_flight: u64,
    in_flight_most: u64,
}

impl<C: Label, S: Label> State<C, S> {
    pub(super) fn new(model: &Model<C, S>) -> Self {
        let mut books = Books::new();
        for buffer in &model.fixed {
            books.take(Duration::ZERO, buffer.class, model.fixed_at, buffer.bytes);
        }
        let borrower = |resource: usize| {
            let borrows = |stage: &usize| {
                let phases = model.kinds.iter().flat_map(|kind| &kind.work[*stage]);
                phases.flat_map(|phase| &phase.borrows).any(|want| want.resource == resource)
            };
            (0..model.stages.len()).find(borrows).map_or(model.fixed_at, |stage| model.stages[stage].name)
        };
        let mut pools = Vec::new();
        for (number, resource) in model.resources.iter().enumerate() {
            let home = borrower(number);
            let unit = |_| books.take(Duration::ZERO, model.set_aside, home, resource.bytes_each);
            let idle = (0..resource.units).map(unit).collect();
            pools.push(Pool { idle, home, units: resource.units, busy: Duration::ZERO, first: None, last: Duration::ZERO });
        }
        let job = |partitions| JobState { outside: partitions, left: partitions, started: None, ended: Duration::ZERO };
        Self {
            now: Duration::ZERO,
            items: Vec::new(),
            stations: model.stages.iter().map(Station::new).collect(),
            pools,
            jobs: model.jobs.iter().map(|j| job(j.partitions)).collect(),
            books,
            set_aside: model.set_aside,
            samples: Vec::new(),
            in_flight: 0,
            in_flight_most: 0,
        }
    }

    /// Moves on to a later moment; everyone did until then what they do now.
    pub(super) fn advance(&mut self, time: Duration) {
        let passed = time.saturating_sub(self.now);
        let sample = self.samples.last();
        for (number, station) in self.stations.iter_mut().enumerate() {
            let gauge = sample.map_or_else(StageGauge::default, |sample| sample.stages[number]);
            station.busy += passed * gauge.working;
            station.waiting += passed * gauge.waiting;
            station.blocked += passed * gauge.blocked;
        }
        for pool in &mut self.pools {
            pool.busy += passed * pool.in_use();
        }
        self.now = time;
    }

    /// Notes the gauges of this moment.
    pub(super) fn sample(&mut self) {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let gauges = self.stations.iter().map(|station| StageGauge {
            working: station.working,
            waiting: count(station.starting.len()),
            blocked: station.blocked(),
            queued: count(station.queue.len()),
            unsent: count(station.unsent.len()),
        });
        let sample = Sample {
            time: self.now,
            bytes: self.books.class_bytes.clone(),
            buffers: self.books.class_buffers.clone(),
            stages: gauges.collect(),
            units: self.pools.iter().map(Pool::in_use).collect(),
        };
        self.samples.push(sample);
    }

    /// One more partition is admitted.
    pub(super) fn enter_flight(&mut self) {
        self.in_flight += 1;
        self.in_flight_most = self.in_flight_most.max(self.in_flight);
    }

    /// Everything a partition has counts as somebody else's.
    pub(super) fn attribute(&mut self, item: usize, stage: S) {
        let item = &self.items[item];
        let units = item.units.iter().map(|(_, buffer)| buffer);
        for &buffer in item.buffers.iter().chain(units).chain(&item.reserve) {
            self.books.reattribute(self.now, buffer, stage);
        }
    }

    pub(super) fn borrow(&mut self, model: &Model<C, S>, item: usize, want: Units, stage: S) {
        let pool = &mut self.pools[want.resource];
        pool.first.get_or_insert(self.now);
        for _ in 0..want.units {
            if let Some(buffer) = pool.idle.pop() {
                self.books.reclass(self.now, buffer, model.resources[want.resource].class, stage);
                self.items[item].units.push((want.resource, buffer));
            }
        }
    }

    pub(super) fn give_back(&mut self, item: usize, back: Units) {
        let pool = &mut self.pools[back.resource];
        pool.last = self.now;
        for _ in 0..back.units {
            let units = &mut self.items[item].units;
            if let Some(position) = units.iter().position(|(resource, _)| *resource == back.resource) {
                let (_, buffer) = units.swap_remove(position);
                self.books.reclass(self.now, buffer, self.set_aside, pool.home);
                pool.idle.push(buffer);
            }
        }
    }

    /// Makes a buffer, out of what is set aside for the partition if anything is.
    pub(super) fn take(&mut self, item: usize, buffer: Buffer<C>, stage: S) {
        if let Some(reserve) = self.items[item].reserve {
            let left = self.books.bytes(reserve).saturating_sub(buffer.bytes);
            self.books.resize(self.now, reserve, left);
        }
        let number = self.books.take(self.now, buffer.class, stage, buffer.bytes);
        self.items[item].buffers.push(number);
    }

    /// Gives back the buffers of some classes.
    pub(super) fn give(&mut self, item: usize, classes: &[C]) {
        let (books, now) = (&mut self.books, self.now);
        self.items[item].buffers.retain(|&buffer| {
            let gone = books.class(buffer).is_none_or(|class| classes.contains(&class));
            if gone {
                books.give(now, buffer);
            }
            !gone
        });
    }

    /// Keeps aside only what a partition may still need besides what it has.
    pub(super) fn shrink_reserve(&mut self, item: usize, needs: u64) {
        if let Some(reserve) = self.items[item].reserve {
            let has: u64 = self.items[item].buffers.iter().map(|buffer| self.books.bytes(*buffer)).sum();
            self.books.resize(self.now, reserve, needs.saturating_sub(has));
        }
    }

    /// The partition is done; all it has goes back.
    pub(super) fn finish(&mut self, item: usize) {
        let buffers = std::mem::take(&mut self.items[item].buffers);
        for buffer in buffers.into_iter().chain(self.items[item].reserve) {
            self.books.give(self.now, buffer);
        }
        while let Some(&(resource, _)) = self.items[item].units.first() {
            self.give_back(item, Units { resource, units: 1 });
        }
        let job = &mut self.jobs[self.items[item].job];
        job.left -= 1;
        job.ended = self.now;
        self.in_flight -= 1;
    }

    pub(super) fn report(self, model: &Model<C, S>) -> Run<C, S> {
        let end = self.now;
        let stages = model.stages.iter().zip(&self.stations).map(|(stage, station)| StageUse {
            name: stage.name,
            workers: stage.workers,
            busy: station.busy,
            waiting: station.waiting,
            blocked: station.blocked,
            idle: (end * stage.workers).saturating_sub(station.busy + station.waiting + station.blocked),
        });
        let resources = model.resources.iter().zip(&self.pools).map(|(resource, pool)| ResourceUse {
            name: resource.name.clone(),
            units: resource.units,
            busy: pool.busy,
            span: pool.last.saturating_sub(pool.first.unwrap_or_default()),
        });
        let jobs = model.jobs.iter().zip(&self.jobs).map(|(job, state)| JobTimes {
            arrived: job.arrives,
            started: state.started.unwrap_or(job.arrives),
            ended: state.ended,
        });
        Run {
            end,
            samples: self.samples,
            peak: Peak { bytes: self.books.peak, at: self.books.peak_at, by_class: self.books.peak_by_class.clone() },
            cell_peaks: self.books.cell_peaks.clone(),
            left_over: self.books.in_use - model.held_from_the_start(),
            stages: stages.collect(),
            resources: resources.collect(),
            jobs: jobs.collect(),
            in_flight_most: self.in_flight_most,
            entries: self.books.entries,
        }
    }
}
