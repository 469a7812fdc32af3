//! What a simulation is told.

use std::time::Duration;

use buffer_accounting::Label;
use pipeline_stage::{Class, StageName};

use crate::policy::{Control, Priority};

/// One buffer, by what it is and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer<C = Class> {
    /// What it is.
    pub class: C,
    /// Its size.
    pub bytes: u64,
}

/// How long a phase takes: anything from `least` to `most`, all equally likely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The shortest time.
    pub least: Duration,
    /// The longest time.
    pub most: Duration,
}

impl Times {
    /// Always the same time.
    #[must_use]
    pub fn exactly(time: Duration) -> Self {
        Self { least: time, most: time }
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        self.least + self.most.saturating_sub(self.least) / 2
    }
}

/// Some units of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Position in [`Model::resources`].
    pub resource: usize,
    /// How many.
    pub units: u32,
}

/// Something that workers share: a device, a pair of transform buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceModel<C = Class> {
    /// What it is called in reports.
    pub name: String,
    /// How many units there are.
    pub units: u32,
    /// Memory behind each unit, from start to end: under [`Model::set_aside`] while no one has the unit.
    pub bytes_each: u64,
    /// What the memory counts as while someone has the unit.
    pub class: C,
}

/// One step of a stage's work on a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase<C = Class> {
    /// How long it takes once it has what it needs.
    pub times: Times,
    /// Buffers made when it starts. Partitions keep them, through queues too, until a phase gives them back.
    pub takes: Vec<Buffer<C>>,
    /// Classes whose buffers the partition gives back when it ends.
    pub gives: Vec<C>,
    /// Units that it waits for before it starts. Partitions keep them until a phase returns them.
    pub borrows: Vec<Units>,
    /// Units that it returns when it ends.
    pub returns: Vec<Units>,
}

impl<C> Default for Phase<C> {
    /// Takes no time and nothing else.
    fn default() -> Self {
        Self { times: Times::default(), takes: Vec::new(), gives: Vec::new(), borrows: Vec::new(), returns: Vec::new() }
    }
}

/// When a worker that is done with a partition takes the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitRule {
    /// At once. A result that finds the next queue full waits beside it, and nothing bounds how many do.
    ReleasedAtEnd,
    /// When its result has a place in the next queue.
    HeldThroughSend,
}

/// A stage, and the queue in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageModel<S = StageName> {
    /// Whose buffers they are while it works.
    pub name: S,
    /// Whose buffers they are while they wait in front of it.
    pub queue: S,
    /// Partitions it works on at once.
    pub workers: u32,
    /// Places in the queue in front of it, at least one. The first stage's queue is not limited: what waits there is not made yet.
    pub queue_depth: usize,
    /// What a worker does when the next queue is full.
    pub permit: PermitRule,
}

/// A kind of partition: what each stage does with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindModel<C = Class> {
    /// For each stage, at least one phase.
    pub work: Vec<Vec<Phase<C>>>,
}

/// A job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobModel {
    /// How urgent it is.
    pub priority: Priority,
    /// When it comes.
    pub arrives: Duration,
    /// Its partitions.
    pub partitions: u32,
    /// What they are: a position in [`Model::kinds`].
    pub kind: usize,
}

/// Where the policy's service times come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Estimates {
    /// Known at the start for each kind and stage, right or wrong, and corrected as the run goes on.
    Given(Vec<Vec<Duration>>),
    /// Measured as the run goes on, none at its start.
    Measured,
}

/// How work gets into the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Every partition of a job that has come may start when a worker is free. Bytes are asked for as each phase starts.
    Everything,
    /// [`policy::admit_all`](crate::policy::admit_all) decides, and all bytes that a partition may still need are set aside.
    Policy {
        /// The margin of the law.
        control: Control,
        /// What it knows.
        estimates: Estimates,
    },
}

/// A whole pipeline with its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model<C = Class, S = StageName> {
    /// The stages, upstream first.
    pub stages: Vec<StageModel<S>>,
    /// What partitions there are.
    pub kinds: Vec<KindModel<C>>,
    /// What workers share.
    pub resources: Vec<ResourceModel<C>>,
    /// What is held from start to end.
    pub fixed: Vec<Buffer<C>>,
    /// Whose that is.
    pub fixed_at: S,
    /// What bytes count as that are set aside and are no buffer yet.
    pub set_aside: C,
    /// Bytes in all.
    pub budget: u64,
    /// How work gets in.
    pub admission: Admission,
    /// The jobs, in the order of their numbers.
    pub jobs: Vec<JobModel>,
    /// Decides where times fall between their bounds.
    pub seed: u64,
}

/// A model that cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There is nothing to simulate.
    #[error("expected at least one stage, each with a worker, and a phase of each kind for each, found {0}")]
    NoStage(String),
    /// A phase names a resource that is not there, or more units than there are.
    #[error("stage {stage} borrows {wanted} of resource {resource}, which has {units}: give it more units or borrow fewer")]
    NoSuchUnits {
        /// The stage.
        stage: &'static str,
        /// Position of the resource.
        resource: usize,
        /// Units it wants.
        wanted: u32,
        /// Units there are.
        units: u32,
    },
    /// A phase returns units that the partition does not have.
    #[error("stage {stage} returns {returned} of resource {resource}, of which a partition has {had} there")]
    NotBorrowed {
        /// The stage.
        stage: &'static str,
        /// Position of the resource.
        resource: usize,
        /// Units returned.
        returned: u32,
        /// Units the partition has.
        had: u32,
    },
    /// A job is of a kind that is not there.
    #[error("a job is of kind {kind}, and there are {kinds}: kinds are numbered from 0")]
    NoSuchKind {
        /// The job's kind.
        kind: usize,
        /// Kinds there are.
        kinds: usize,
    },
    /// One partition never fits.
    #[error("one partition needs {needed} bytes; of a budget of {budget} bytes {held} are held from the start: raise the budget")]
    TooLarge {
        /// Bytes of one partition.
        needed: u64,
        /// Bytes in all.
        budget: u64,
        /// Bytes that are never free.
        held: u64,
    },
    /// Everyone waits for someone: with these rules the pipeline deadlocks.
    #[error(
        "deadlock after {time:?}: {unfinished} partitions are not finished, {in_use} bytes of {budget} are held, and nothing can go on"
    )]
    Stuck {
        /// When.
        time: Duration,
        /// Partitions that are not finished.
        unfinished: u64,
        /// Bytes held.
        in_use: u64,
        /// Bytes in all.
        budget: u64,
    },
}

impl<C: Label, S: Label> Model<C, S> {
    /// Bytes that are held whatever happens.
    #[must_use]
    pub fn held_from_the_start(&self) -> u64 {
        let resources = self.resources.iter().map(|r| u64::from(r.units).saturating_mul(r.bytes_each));
        self.fixed.iter().map(|buffer| buffer.bytes).chain(resources).fold(0, u64::saturating_add)
    }

    /// Partitions that a stage can work on at once: its workers, or fewer when they share units that do not go round.
    #[must_use]
    pub fn at_once(&self, stage: usize) -> u32 {
        let work = self.kinds.iter().filter_map(|kind| kind.work.get(stage)).flatten();
        let wants = work.flat_map(|phase| &phase.borrows).filter(|want| want.units > 0);
        let rounds = wants.map(|want| self.resources.get(want.resource).map_or(0, |resource| resource.units) / want.units);
        rounds.fold(self.stages.get(stage).map_or(0, |stage| stage.workers), u32::min)
    }

    /// The most bytes that one partition of a kind holds at a time: what admission by policy sets aside for it.
    #[must_use]
    pub fn bytes_each(&self, kind: usize) -> u64 {
        self.kinds.get(kind).and_then(|kind| kind.needs().first().copied()).unwrap_or(0)
    }

    /// Whether the model can be run at all.
    ///
    /// # Errors
    /// Every [`ModelError`] but [`Stuck`](ModelError::Stuck).
    pub fn check(&self) -> Result<(), ModelError> {
        if self.stages.is_empty() {
            return Err(ModelError::NoStage("no stage".to_owned()));
        }
        if let Some(stage) = self.stages.iter().find(|stage| stage.workers == 0) {
            return Err(ModelError::NoStage(format!("no worker at {}", stage.name.name())));
        }
        for (number, kind) in self.kinds.iter().enumerate() {
            if kind.work.len() != self.stages.len() || kind.work.iter().any(Vec::is_empty) {
                let phases: Vec<usize> = kind.work.iter().map(Vec::len).collect();
                let stages = self.stages.len();
                return Err(ModelError::NoStage(format!("phases of kind {number}: {phases:?}, for {stages} stages")));
            }
            self.check_units(kind)?;
        }
        let held = self.held_from_the_start();
        for job in &self.jobs {
            if job.kind >= self.kinds.len() {
                return Err(ModelError::NoSuchKind { kind: job.kind, kinds: self.kinds.len() });
            }
            let needed = self.bytes_each(job.kind);
            if held.saturating_add(needed) > self.budget {
                return Err(ModelError::TooLarge { needed, budget: self.budget, held });
            }
        }
        Ok(())
    }

    fn check_units(&self, kind: &KindModel<C>) -> Result<(), ModelError> {
        let mut has = vec![0u32; self.resources.len()];
        let steps = self.stages.iter().zip(&kind.work).flat_map(|(stage, phases)| phases.iter().map(move |phase| (stage, phase)));
        for (stage, phase) in steps {
            let stage = stage.name.name();
            for &Units { resource, units: wanted } in &phase.borrows {
                let units = self.resources.get(resource).map_or(0, |r| r.units);
                match has.get_mut(resource) {
                    Some(has) if wanted <= units - *has => *has += wanted,
                    _ => return Err(ModelError::NoSuchUnits { stage, resource, wanted, units }),
                }
            }
            for &Units { resource, units: returned } in &phase.returns {
                match has.get_mut(resource) {
                    Some(has) if returned <= *has => *has -= returned,
                    other => return Err(ModelError::NotBorrowed { stage, resource, returned, had: other.map_or(0, |has| *has) }),
                }
            }
        }
        Ok(())
    }
}

impl<C: Label> KindModel<C> {
    /// For each phase of the way, the most bytes that a partition holds from there to its end; then a zero.
    pub(super) fn needs(&self) -> Vec<u64> {
        let mut held = vec![0u64; C::ALL.len()];
        let mut during = Vec::new();
        for phase in self.work.iter().flatten() {
            for buffer in &phase.takes {
                held[buffer.class.index()] = held[buffer.class.index()].saturating_add(buffer.bytes);
            }
            during.push(held.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)));
            for class in &phase.gives {
                held[class.index()] = 0;
            }
        }
        during.push(0);
        for step in (1..during.len()).rev() {
            during[step - 1] = during[step - 1].max(during[step]);
        }
        during
    }

    /// The place of a phase in the order of the whole way.
    pub(super) fn step(&self, stage: usize, phase: usize) -> usize {
        self.work.iter().take(stage).map(Vec::len).sum::<usize>() + phase
    }
}
