//! The pipeline: workers joined by links, over reserved memory.

use std::sync::Arc;

use buffer_accounting::PoolSource;
use circuit_synth::{evaluate_scratch_bytes, witness_bytes_max};
use pipeline_stage::{Cancel, Class, Ledger, Request, Reservation, Space, StageName};
use prover_backend::{ConstraintMatrices, Domain, ProverBackend};
use scheduler::policy::Priority;
use scheduler::{Envelope, JobHandle, PrioritySender, StageTimes, Topology, WorkerSpec, link, link_by_priority, link_with_lane};

use crate::error::EngineError;
use crate::items::{JobItem, JobProof};
use crate::keys::CircuitKeys;
use crate::quotient::{buffer_bytes, quotient_bytes};
use crate::stages::{BlindingSource, FinalizeStage, MsmStage, NttStage, ParseStage, SynthStage, hand_out};
use crate::statement::Statement;
use crate::sums::sums_scratch_bytes;
use crate::transform_buffers::TransformBuffers;

/// Partitions that can wait to be proved again. Each holds its compact witness.
const RETURN_LANE: usize = 2;

/// How an engine is built.
#[derive(Clone)]
pub struct EngineConfig {
    /// Threads that synthesise, one partition each. More than one overlaps partitions where there are cores to spare.
    pub synth_threads: usize,
    /// Bytes that the jobs in parsing, in front of synthesis and in synthesis hold at most, beside witnesses: two jobs' vanilla proofs, say.
    /// An engine whose budget has no room for them besides everything else does not start.
    pub jobs_bytes: u64,
    /// How often an item is tried again after an error that may pass, in each stage that has its item still whole.
    pub retries: u32,
    /// Where blinding comes from.
    pub blinding: BlindingSource,
    /// Stops everything at once when raised: running work is given up, queued work is dropped, each job gets its outcome.
    pub stop: Cancel,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self { synth_threads: 1, jobs_bytes: 0, retries: 2, blinding: BlindingSource::os(), stop: Cancel::new() }
    }
}

/// What an engine needs, in bytes of host memory: transforms and sums are set aside when it starts, the rest must be left free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Two transform buffers and the transform's scratch, for the largest circuit.
    pub transforms: u64,
    /// One buffer of domain size: with one or two of them set aside besides, the next partition is transformed while h of this one waits
    /// for or is in the sums.
    pub spare_buffer: u64,
    /// Scratch of the sums.
    pub sums: u64,
    /// The witnesses being made, if every variable were full-size. Witnesses that are made wait for transforms and sums, whose memory is set
    /// aside, so they always go; with room for the ones being made, synthesis never waits for bytes that nobody will return.
    pub witnesses: u64,
    /// Vanilla proofs and the like, as configured.
    pub jobs: u64,
}

impl Need {
    /// The need of the largest of some circuits, each part by itself.
    ///
    /// # Errors
    /// [`EngineError::NoCircuit`], [`EngineError::Backend`] for a circuit above the largest domain.
    pub fn of(circuits: &[Arc<CircuitKeys>], backend: &dyn ProverBackend, config: &EngineConfig) -> Result<Self, EngineError> {
        let mut need: Option<Self> = None;
        for keys in circuits {
            let domain = Domain::for_rows(keys.circuit().rows())?;
            let one = Self {
                transforms: quotient_bytes(domain) + backend.ntt_scratch_bytes(domain.log2_size()).max(evaluate_scratch_bytes(domain)),
                spare_buffer: buffer_bytes(domain),
                sums: sums_scratch_bytes(keys, backend),
                witnesses: config.synth_threads.max(1) as u64 * witness_bytes_max(keys.circuit().variables()),
                jobs: config.jobs_bytes,
            };
            need = Some(need.map_or(one, |n| Self {
                transforms: n.transforms.max(one.transforms),
                spare_buffer: n.spare_buffer.max(one.spare_buffer),
                sums: n.sums.max(one.sums),
                witnesses: n.witnesses.max(one.witnesses),
                jobs: n.jobs,
            }));
        }
        need.ok_or(EngineError::NoCircuit)
    }

    /// The least that makes progress.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.transforms + self.sums + self.witnesses + self.jobs
    }
}

/// The link in front of parsing.
type Submissions<S> = PrioritySender<Envelope<JobItem<<S as Statement>::Job>, JobProof>, StageName>;

/// A running pipeline.
pub struct Engine<S: Statement> {
    submit: Submissions<S>,
    topology: Topology,
}

fn set_aside(ledger: &Ledger, stage: StageName, bytes: u64, stop: &Cancel) -> Result<Reservation, EngineError> {
    let request = Request { space: Space::Host, class: Class::Reserved, stage, bytes };
    Ok(ledger.reserve(request, stop)?)
}

impl<S: Statement> Engine<S> {
    /// Starts the workers and sets aside what transforms and sums need for the largest of `circuits`. When the budget has room for it, one
    /// or two spare transform buffers are set aside too, so that transforms and sums of different partitions overlap.
    ///
    /// # Errors
    /// [`EngineError::Budget`] when one partition does not fit, with the numbers; [`EngineError::Thread`].
    pub fn start(
        statement: S,
        circuits: &[Arc<CircuitKeys>],
        backend: Arc<dyn ProverBackend>,
        ledger: &Ledger,
        config: &EngineConfig,
    ) -> Result<Self, EngineError> {
        let need = Need::of(circuits, backend.as_ref(), config)?;
        let usage = ledger.snapshot();
        let host = usage.spaces().iter().find(|s| s.space == Space::Host);
        let (budget, held) = host.map_or((0, 0), |s| (s.budget, s.in_use));
        let free = budget.saturating_sub(held);
        if need.least() > free {
            let circuit = circuits.iter().max_by_key(|keys| keys.circuit().rows()).map_or("", |keys| keys.circuit().name());
            return Err(EngineError::Budget {
                circuit: circuit.to_owned(),
                needed: need.least(),
                transforms: need.transforms,
                sums: need.sums,
                witnesses: need.witnesses,
                jobs: need.jobs,
                budget,
                held,
            });
        }
        // Spare buffers only when half is free afterwards, for witnesses that wait.
        let spare = (1..=2u64).rev().find(|n| need.least() + n * need.spare_buffer <= free / 2).unwrap_or(0);
        let buffers = (2 + spare) * need.spare_buffer;
        // Apart, so that buffers that are kept for the next partition never take the scratch's bytes.
        let scratch = set_aside(ledger, StageName::Ntt, need.transforms.saturating_sub(2 * need.spare_buffer), &config.stop)?;
        let buffers = PoolSource::Reservation(set_aside(ledger, StageName::Ntt, buffers, &config.stop)?);
        let sums = set_aside(ledger, StageName::Msm, need.sums, &config.stop)?;

        let statement = Arc::new(statement);
        let mut topology = Topology::new(ledger.clone(), &config.stop);
        let spec = |stage| WorkerSpec { retries: config.retries, ..WorkerSpec::new(stage) };
        // A queue of one keeps the stage behind it fed; what bounds memory is the permit in each item.
        let (submit, jobs) = link_by_priority(1, StageName::QueuedParse, StageName::Parse);
        let (to_synth, partitions) = link(1, StageName::QueuedSynth, StageName::Synth);
        let (to_ntt, back, witnesses) = link_with_lane(1, RETURN_LANE, StageName::QueuedNtt, StageName::Ntt);
        let (to_msm, quotients) = link(1, StageName::QueuedMsm, StageName::Msm);
        let (to_finalize, summed) = link(1, StageName::QueuedFinalize, StageName::Finalize);

        let parse = Arc::clone(&statement);
        topology.stage(&spec(StageName::Parse), jobs, to_synth, move || ParseStage(Arc::clone(&parse)))?;
        let synth = WorkerSpec { threads: config.synth_threads, ..spec(StageName::Synth) };
        topology.stage(&synth, partitions, to_ntt, move || SynthStage { statement: Arc::clone(&statement), back: back.clone() })?;
        let ntt = WorkerSpec { reservation: Some(scratch), ..spec(StageName::Ntt) };
        let (transform_backend, buffers) = (Arc::clone(&backend), Arc::new(TransformBuffers::new(buffers)));
        topology
            .stage(&ntt, witnesses, to_msm, move || NttStage { backend: Arc::clone(&transform_backend), buffers: Arc::clone(&buffers) })?;
        let msm = WorkerSpec { reservation: Some(sums), ..spec(StageName::Msm) };
        topology.stage(&msm, quotients, to_finalize, move || MsmStage(Arc::clone(&backend)))?;
        let blinding = config.blinding.clone();
        topology.stage(&spec(StageName::Finalize), summed, hand_out, move || FinalizeStage(blinding.clone()))?;
        Ok(Self { submit, topology })
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
        drop(self.submit.send(priority, Envelope { ticket, body: JobItem(job) }, &cancel));
        handle
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
        let Self { submit, topology } = self;
        drop(submit);
        topology.drain();
    }
}
