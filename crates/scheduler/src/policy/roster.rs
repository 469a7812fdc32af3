//! The state behind snapshots: which jobs there are, how far their partitions are, and how long stages take.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use buffer_accounting::Priority;

use super::admission::{Control, Decision, Hold, admit_all};
use super::estimate::Estimate;
use super::snapshot::{BudgetView, JobView, Snapshot};

/// A job as it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its number; a number that is on the roster already is ignored.
    pub id: u64,
    /// How urgent it is.
    pub priority: Priority,
    /// What its partitions are: jobs of one kind share estimates. The number of a circuit, say.
    pub kind: u64,
    /// Its partitions, none of them admitted.
    pub partitions: u32,
    /// The most bytes that one partition holds between its admission and its end.
    pub bytes_each: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    kind: u64,
    view: JobView,
}

/// What admission needs to know, kept up by whoever runs the pipeline: call [`admit`](Roster::admit) after every change and whenever
/// bytes come back. Holds no clock and no lock; a pipeline puts it behind one of its own.
///
/// ```
/// use std::time::Duration;
/// use scheduler::policy::{BudgetView, Control, NewJob, Priority, Roster};
///
/// // Four workers in front of one.
/// let mut roster = Roster::new(vec![4, 1], Control::default());
/// roster.arrive(NewJob { id: 7, priority: Priority::Normal, kind: 0, partitions: 10, bytes_each: 100 });
/// let (admitted, _) = roster.admit(BudgetView { total: 300, used: 0 });
/// assert_eq!(admitted, [7, 7, 7]);
/// roster.passed(7, 0, Some(Duration::from_secs(8)));
/// roster.passed(7, 1, Some(Duration::from_secs(4)));
/// assert_eq!(roster.in_flight(), 2);
/// let (admitted, _) = roster.admit(BudgetView { total: 300, used: 200 });
/// assert_eq!(admitted, [7]);
/// ```
#[derive(Clone, Debug)]
pub struct Roster {
    control: Control,
    workers: Vec<u32>,
    /// Of each kind, an estimate for each stage.
    estimates: BTreeMap<u64, Vec<Estimate>>,
    jobs: BTreeMap<u64, Entry>,
    /// Jobs with a partition that waits, in the order in which they go.
    order: BTreeSet<(Priority, u64, u64)>,
    /// Jobs with a partition in flight.
    flying: BTreeSet<u64>,
    next_arrival: u64,
}

impl Roster {
    /// No job, and nothing measured. `workers` are those of each stage, upstream first.
    #[must_use]
    pub fn new(workers: Vec<u32>, control: Control) -> Self {
        Self {
            control,
            workers,
            estimates: BTreeMap::new(),
            jobs: BTreeMap::new(),
            order: BTreeSet::new(),
            flying: BTreeSet::new(),
            next_arrival: 0,
        }
    }

    /// Sets what is thought about a kind before anything is measured: a time for each stage, from an earlier run, say.
    pub fn expect(&mut self, kind: u64, service: &[Duration]) {
        let estimates = service.iter().map(|time| Estimate::default().observe(*time)).collect();
        self.estimates.insert(kind, estimates);
    }

    /// Puts a job on the roster, younger than all that are there.
    pub fn arrive(&mut self, job: NewJob) {
        let view = JobView {
            id: job.id,
            priority: job.priority,
            arrived: self.next_arrival,
            waiting: job.partitions,
            in_stage: vec![0; self.workers.len()],
            bytes_each: job.bytes_each,
            service: Vec::new(),
        };
        self.jobs.entry(job.id).or_insert(Entry { kind: job.kind, view });
        self.next_arrival += 1;
        self.index(job.id);
    }

    /// Lets in what the law allows, and notes it. Returns the job of each partition in order, and the decision it stopped at.
    ///
    /// Looks at the jobs in flight and the one that goes next, however many wait.
    pub fn admit(&mut self, mut budget: BudgetView) -> (Vec<u64>, Decision) {
        let mut admitted = Vec::new();
        while let Some(&(_, _, next)) = self.order.first() {
            let mut snapshot = Snapshot { workers: self.workers.clone(), jobs: Vec::new(), budget };
            for id in self.flying.iter().copied().chain((!self.flying.contains(&next)).then_some(next)) {
                if let Some(entry) = self.jobs.get(&id) {
                    let waiting = if id == next { entry.view.waiting } else { 0 };
                    snapshot.jobs.push(JobView { waiting, ..self.view(entry) });
                }
            }
            let (of_next, decision) = admit_all(&mut snapshot, &self.control);
            if let (Some(entry), Some(view)) = (self.jobs.get_mut(&next), snapshot.jobs.iter().find(|view| view.id == next)) {
                (entry.view.waiting, entry.view.in_stage) = (view.waiting, view.in_stage.clone());
            }
            self.index(next);
            admitted.extend(of_next);
            budget = snapshot.budget;
            if decision != Decision::Hold(Hold::NothingWaits) {
                return (admitted, decision);
            }
        }
        (admitted, Decision::Hold(Hold::NothingWaits))
    }

    /// What admission sees now.
    #[must_use]
    pub fn snapshot(&self, budget: BudgetView) -> Snapshot {
        Snapshot { workers: self.workers.clone(), jobs: self.jobs.values().map(|entry| self.view(entry)).collect(), budget }
    }

    fn view(&self, entry: &Entry) -> JobView {
        JobView { service: self.service(entry.kind), ..entry.view.clone() }
    }

    /// Estimated times of a kind, or nothing until every stage was measured.
    #[must_use]
    pub fn service(&self, kind: u64) -> Vec<Duration> {
        let of_kind = self.estimates.get(&kind).filter(|estimates| estimates.len() >= self.workers.len());
        of_kind.and_then(|estimates| estimates.iter().map(Estimate::value).collect()).unwrap_or_default()
    }

    /// A partition has ended at a stage and is the next one's, or has ended for good behind the last. `took` is what the stage worked on it
    /// (without waiting), if that says anything about the next.
    pub fn passed(&mut self, job: u64, stage: usize, took: Option<Duration>) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        let Some(here) = entry.view.in_stage.get_mut(stage).filter(|n| **n > 0) else { return };
        *here -= 1;
        if let Some(next) = entry.view.in_stage.get_mut(stage + 1) {
            *next += 1;
        }
        if let Some(took) = took {
            let estimates = self.estimates.entry(entry.kind).or_default();
            estimates.resize(estimates.len().max(self.workers.len()), Estimate::default());
            estimates[stage] = estimates[stage].observe(took);
        }
        self.index(job);
    }

    /// A partition that was at a stage holds nothing any more and waits for admission again.
    pub fn returned(&mut self, job: u64, stage: usize) {
        let Some(entry) = self.jobs.get_mut(&job) else { return };
        let Some(here) = entry.view.in_stage.get_mut(stage).filter(|n| **n > 0) else { return };
        *here -= 1;
        entry.view.waiting += 1;
        self.index(job);
    }

    /// The partitions of a job that wait are not wanted any more (it failed or was cancelled). Those in flight count until they are
    /// reported: as [`passed`](Roster::passed) at the last stage or as [`dropped`](Roster::dropped).
    pub fn give_up(&mut self, job: u64) {
        if let Some(entry) = self.jobs.get_mut(&job) {
            entry.view.waiting = 0;
        }
        self.index(job);
    }

    /// A partition ended at a stage without getting further.
    pub fn dropped(&mut self, job: u64, stage: usize) {
        let entry = self.jobs.get_mut(&job);
        if let Some(here) = entry.and_then(|entry| entry.view.in_stage.get_mut(stage)) {
            *here = here.saturating_sub(1);
        }
        self.index(job);
    }

    /// Admitted partitions of all jobs that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.jobs.values().map(|entry| entry.view.in_flight()).sum()
    }

    /// Partitions of all jobs that are not admitted.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.jobs.values().map(|entry| u64::from(entry.view.waiting)).sum()
    }

    /// Brings the sets up to date with a job, which leaves the roster when nothing of it is left.
    fn index(&mut self, job: u64) {
        let Some(entry) = self.jobs.get(&job) else { return };
        let key = (entry.view.priority, entry.view.arrived, job);
        let (waits, flies) = (entry.view.waiting > 0, entry.view.in_flight() > 0);
        if waits {
            self.order.insert(key)
        } else {
            self.order.remove(&key)
        };
        if flies {
            self.flying.insert(job)
        } else {
            self.flying.remove(&job)
        };
        if !waits && !flies {
            self.jobs.remove(&job);
        }
    }
}
