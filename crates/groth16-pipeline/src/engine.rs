//! The pipeline: workers joined by links, over reserved memory.

use std::sync::Arc;

use buffer_accounting::{PoolSource, Priority};
use pipeline_stage::{Cancel, Class, Ledger, Request, Reservation, Space, StageName};
use prover_backend::ProverBackend;
use scheduler::policy::Control;
use scheduler::{
    Admission, Envelope, JobHandle, PrioritySender, StageTimes, Ticket, Topology, WorkerSpec, link, link_by_priority, link_with_lane,
};

use crate::error::EngineError;
use crate::items::{JobItem, JobProof, PartitionItem};
use crate::keys::CircuitKeys;
use crate::plan::{self, JobSize, MemoryPlan, QUEUE, RETURN_LANE, Workload};
use crate::stages::{BlindingSource, FinalizeStage, MsmStage, NttStage, ParseStage, SynthStage, hand_out};
use crate::statement::Statement;
use crate::transform_buffers::TransformBuffers;

/// How an engine is built.
#[derive(Clone)]
pub struct EngineConfig {
    /// Threads that synthesise, one partition each. More than one overlaps partitions where there are cores to spare.
    pub synth_threads: usize,
    /// What jobs hold besides witnesses. An engine whose budget has no room for it besides everything else does not start.
    pub jobs: JobSize,
    /// How often an item is tried again after an error that may pass, in each stage that has its item still whole.
    pub retries: u32,
    /// Where blinding comes from.
    pub blinding: BlindingSource,
    /// Stops everything at once when raised: running work is given up, queued work is dropped, each job gets its outcome.
    pub stop: Cancel,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self { synth_threads: 1, jobs: JobSize::default(), retries: 2, blinding: BlindingSource::os(), stop: Cancel::new() }
    }
}

/// The link in front of parsing.
type Submissions<S> = PrioritySender<Envelope<JobItem<<S as Statement>::Job>, JobProof>, StageName>;

/// A running pipeline.
pub struct Engine<S: Statement> {
    submit: Submissions<S>,
    topology: Topology,
    plan: MemoryPlan,
}

/// The plan with the most use of what the budget has free, or why there is none.
fn choose(workload: &Workload, backend: &dyn ProverBackend, ledger: &Ledger) -> Result<MemoryPlan, EngineError> {
    let usage = ledger.snapshot();
    let host = usage.spaces().iter().find(|s| s.space == Space::Host);
    let (budget, in_use) = host.map_or((0, 0), |s| (s.budget, s.in_use));
    // What jobs hold already is in the plan.
    let held = in_use.saturating_sub(workload.jobs.held_bytes);
    let free = budget.saturating_sub(held);
    let plans = workload.plans(backend);
    let fit = plans.fit(free);
    if let Some(plan) = fit.plan {
        return Ok(plan.clone());
    }
    let parts = plans.minimum().sums().iter().filter(|(space, _)| *space == Space::Host);
    let fewer = (1..workload.synth_threads).rev().find(|n| workload.with_synth_threads(*n).plans(backend).fit(free).plan.is_some());
    Err(EngineError::Budget {
        circuit: workload.largest().to_owned(),
        needed: fit.minimum,
        parts: parts.map(|(_, sum)| format!("{} for {}", sum.bytes(), sum.what())).collect::<Vec<_>>().join(", "),
        budget,
        held,
        missing: fit.missing,
        synth_threads: fewer,
    })
}

/// Sets aside one sum of the plan. Nothing is waited for: the plan was made for what is free.
fn set_aside(plan: &MemoryPlan, what: &str, stage: StageName, ledger: &Ledger) -> Result<Option<Reservation>, EngineError> {
    let bytes = plan.set_aside_as(Space::Host, what);
    let request = Request { space: Space::Host, class: Class::Reserved, stage, bytes };
    Ok(if bytes == 0 { None } else { Some(ledger.try_reserve_all(&[request])?) })
}

impl<S: Statement> Engine<S> {
    /// Starts the workers by the plan with the most use of what the budget has free ([`Workload::plans`]), and sets aside what it says.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when not even the least plan fits, with the numbers and what would fit; [`EngineError::Thread`].
    pub fn start(
        statement: S,
        circuits: &[Arc<CircuitKeys>],
        backend: Arc<dyn ProverBackend>,
        ledger: &Ledger,
        config: &EngineConfig,
    ) -> Result<Self, EngineError> {
        if circuits.is_empty() {
            return Err(EngineError::NoCircuit);
        }
        let workload = Workload::of(circuits, config.jobs, config.synth_threads)?;
        let plan = choose(&workload, backend.as_ref(), ledger)?;
        let reserved = |what, stage| set_aside(&plan, what, stage, ledger);
        let (parsing, synthesis) = (reserved(plan::PARSING, StageName::Parse)?, reserved(plan::SYNTHESIS, StageName::Synth)?);
        // Apart, so that buffers that are kept for the next partition never take the scratch's bytes.
        let (buffers, scratch) = (reserved(plan::BUFFERS, StageName::Ntt)?, reserved(plan::SCRATCH, StageName::Ntt)?);
        let buffers = buffers.map_or_else(|| PoolSource::Ledger(ledger.clone()), PoolSource::Reservation);
        let sums = reserved(plan::SUMS, StageName::Msm)?;

        let statement = Arc::new(statement);
        let mut topology = Topology::new(ledger.clone(), &config.stop);
        let spec = |stage| WorkerSpec { retries: config.retries, ..WorkerSpec::new(stage) };
        let (submit, jobs) = link_by_priority(QUEUE, StageName::QueuedParse, StageName::Parse);
        let (to_synth, partitions) = link(QUEUE, StageName::QueuedSynth, StageName::Synth);
        let (to_ntt, back, witnesses) = link_with_lane(QUEUE, RETURN_LANE, StageName::QueuedNtt, StageName::Ntt);
        let (to_msm, quotients) = link(QUEUE, StageName::QueuedMsm, StageName::Msm);
        let (to_finalize, summed) = link(QUEUE, StageName::QueuedFinalize, StageName::Finalize);

        let parse = Arc::clone(&statement);
        let parser = WorkerSpec { reservation: parsing, ..spec(StageName::Parse) };
        let synth_threads = config.synth_threads.max(1);
        let admission = Admission::new(vec![u32::try_from(synth_threads).unwrap_or(u32::MAX), 1, 1, 1], Control::default());
        let let_in = move |ticket: &Ticket<JobProof>, mut item: PartitionItem<S::Partition>| {
            let hash = item.place.keys.circuit().hash();
            let kind = hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
            // A partition that is given up returns its bytes here.
            if let Some(pass) = admission.enter(item.place.priority, kind, ticket.cancel()) {
                item.place.pass = Some(pass);
                drop(to_synth.send(Envelope { ticket: ticket.clone(), body: item }, ticket.cancel()));
            }
        };
        topology.stage(&parser, jobs, let_in, move || ParseStage(Arc::clone(&parse)))?;
        let synth = WorkerSpec { threads: config.synth_threads, reservation: synthesis, ..spec(StageName::Synth) };
        topology.stage(&synth, partitions, to_ntt, move || SynthStage { statement: Arc::clone(&statement), back: back.clone() })?;
        let ntt = WorkerSpec { reservation: scratch, ..spec(StageName::Ntt) };
        let (transform_backend, buffers) = (Arc::clone(&backend), Arc::new(TransformBuffers::new(buffers)));
        topology
            .stage(&ntt, witnesses, to_msm, move || NttStage { backend: Arc::clone(&transform_backend), buffers: Arc::clone(&buffers) })?;
        let msm = WorkerSpec { reservation: sums, ..spec(StageName::Msm) };
        topology.stage(&msm, quotients, to_finalize, move || MsmStage(Arc::clone(&backend)))?;
        let blinding = config.blinding.clone();
        topology.stage(&spec(StageName::Finalize), summed, hand_out, move || FinalizeStage(blinding.clone()))?;
        Ok(Self { submit, topology, plan })
    }

    /// Submits a job; waits while the first queue is full. A job submitted after the engine was stopped is cancelled.
    pub fn submit(&self, job: S::Job) -> JobHandle<JobProof> {
        self.submit_with(Priority::default(), job)
    }

    /// Submits a job that goes before all less urgent ones that wait, and behind those as urgent that came before it. Waits while the first
    /// queue has no room for one of this priority. The partitions of a job go together: one that has begun is not interrupted.
    pub fn submit_with(&self, priority: Priority, job: S::Job) -> JobHandle<JobProof> {
        let (ticket, handle) = self.topology.job();
        let cancel = ticket.cancel().clone();
        // Undelivered: the engine was stopped; dropping the envelope gives the job its outcome.
        drop(self.submit.send(priority, Envelope { ticket, body: JobItem { job, priority } }, &cancel));
        handle
    }

    /// What the engine holds at most.
    #[must_use]
    pub fn plan(&self) -> &MemoryPlan {
        &self.plan
    }

    /// Times of the stages so far.
    #[must_use]
    pub fn times(&self) -> Arc<StageTimes> {
        Arc::clone(self.topology.times())
    }

    /// Takes no more jobs, waits until those under way are done, and ends the workers. What was set aside returns to the budget.
    ///
    /// An engine that is dropped instead gives up its jobs; workers that do not heed that within half a minute are named in the log.
    pub fn finish(self) {
        let Self { submit, topology, .. } = self;
        drop(submit);
        topology.drain();
    }
}
