//! The pipeline: workers joined by links, over reserved memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use circuit_synth::{evaluate_scratch_bytes, witness_bytes_max};
use pipeline_stage::{Cancel, Class, Ledger, Request, Reservation, Space, Stage, StageName};
use prover_backend::{ConstraintMatrices, Domain, ProverBackend};
use scheduler::{Deliver, Envelope, LinkReceiver, LinkSender, Outcome, StageTimes, Ticket, WorkerSpec, Workers, link};

use crate::error::EngineError;
use crate::items::{JobItem, JobProof};
use crate::keys::CircuitKeys;
use crate::one_shot;
use crate::quotient::{buffer_bytes, quotient_bytes};
use crate::stages::{BlindingSource, FinalizeStage, MsmStage, NttStage, ParseStage, SynthStage};
use crate::statement::Statement;
use crate::sums::sums_scratch_bytes;

/// How an engine is built.
#[derive(Clone)]
pub struct EngineConfig {
    /// Threads that synthesise, one partition each. More than one overlaps partitions where there are cores to spare.
    pub synth_threads: usize,
    /// Bytes that the jobs in parsing, in front of synthesis and in synthesis hold at most, beside witnesses: two jobs' vanilla proofs, say.
    /// An engine whose budget has no room for them besides everything else does not start.
    pub jobs_bytes: u64,
    /// Where blinding comes from.
    pub blinding: BlindingSource,
    /// Stops everything at once when raised: running work is given up, queued work is dropped, each job gets its outcome.
    pub stop: Cancel,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self { synth_threads: 1, jobs_bytes: 0, blinding: BlindingSource::os(), stop: Cancel::new() }
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

/// A job under way.
pub struct JobHandle {
    outcome: one_shot::Receiver,
    cancel: Cancel,
    id: u64,
}

impl JobHandle {
    /// The job's number, in order of submission.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Gives the job up; its outcome is then an error unless it is finished already.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// True when [`wait`](JobHandle::wait) returns at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.outcome.is_ready()
    }

    /// Waits for the outcome. Every job has one.
    ///
    /// # Errors
    /// [`JobError`](scheduler::JobError).
    pub fn wait(self) -> Outcome<JobProof> {
        self.outcome.wait()
    }
}

/// The link in front of parsing.
type Submissions<S> = LinkSender<Envelope<JobItem<<S as Statement>::Job>, JobProof>, StageName>;

/// A running pipeline.
pub struct Engine<S: Statement> {
    /// Gone once the engine ends.
    submit: Option<Submissions<S>>,
    workers: Workers,
    times: Arc<StageTimes>,
    stop: Cancel,
    next_id: AtomicU64,
    /// Jobs are cancelled through this when the engine stops.
    jobs: Arc<std::sync::Mutex<Vec<(u64, Cancel)>>>,
    stop_jobs: Option<buffer_accounting::CancelSubscription>,
}

/// What all stages of an engine share.
struct Shop {
    ledger: Ledger,
    stop: Cancel,
    times: Arc<StageTimes>,
    workers: Workers,
}

impl Shop {
    fn spawn<T, D>(
        &mut self,
        threads: usize,
        reservation: Option<Reservation>,
        receiver: LinkReceiver<Envelope<T::Input, JobProof>, StageName>,
        deliver: &D,
        make: impl Fn() -> T + Clone + Send + 'static,
    ) -> Result<(), EngineError>
    where
        T: Stage,
        T::Input: buffer_accounting::Accounted<StageName> + Send + 'static,
        D: Deliver<T::Output, JobProof> + Clone + 'static,
    {
        let spec = WorkerSpec {
            stage: make().name(),
            threads,
            ledger: self.ledger.clone(),
            reservation,
            stop: self.stop.clone(),
            times: Arc::clone(&self.times),
        };
        self.workers.spawn(&spec, &receiver, deliver, make).map_err(EngineError::Thread)
    }
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
        let transforms = set_aside(ledger, StageName::Ntt, need.transforms + spare * need.spare_buffer, &config.stop)?;
        let sums = set_aside(ledger, StageName::Msm, need.sums, &config.stop)?;

        let times = Arc::new(StageTimes::default());
        let statement = Arc::new(statement);
        let mut shop = Shop { ledger: ledger.clone(), stop: config.stop.clone(), times: Arc::clone(&times), workers: Workers::new() };
        // A queue of one keeps the stage behind it fed; what bounds memory is the permit in each item.
        let (submit, jobs) = link(1, StageName::QueuedParse, StageName::Parse);
        let (to_synth, partitions) = link(1, StageName::QueuedSynth, StageName::Synth);
        let (to_ntt, witnesses) = link(1, StageName::QueuedNtt, StageName::Ntt);
        let (to_msm, quotients) = link(1, StageName::QueuedMsm, StageName::Msm);
        let (to_finalize, summed) = link(1, StageName::QueuedFinalize, StageName::Finalize);
        let parse = Arc::clone(&statement);
        shop.spawn(1, None, jobs, &to_synth, move || ParseStage(Arc::clone(&parse)))?;
        shop.spawn(config.synth_threads, None, partitions, &to_ntt, move || SynthStage(Arc::clone(&statement)))?;
        let transform_backend = Arc::clone(&backend);
        shop.spawn(1, Some(transforms), witnesses, &to_msm, move || NttStage(Arc::clone(&transform_backend)))?;
        shop.spawn(1, Some(sums), quotients, &to_finalize, move || MsmStage(Arc::clone(&backend)))?;
        let blinding = config.blinding.clone();
        let finish = |ticket: &Ticket<JobProof>, proof: JobProof| {
            ticket.succeed(proof);
        };
        shop.spawn(1, None, summed, &finish, move || FinalizeStage(blinding.clone()))?;

        let jobs: Arc<std::sync::Mutex<Vec<(u64, Cancel)>>> = Arc::default();
        let to_cancel = Arc::clone(&jobs);
        let stop_jobs = config.stop.subscribe(move || {
            let running = to_cancel.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            for (_, job) in running {
                job.cancel();
            }
        });
        Ok(Self {
            submit: Some(submit),
            workers: shop.workers,
            times,
            stop: config.stop.clone(),
            next_id: AtomicU64::new(0),
            jobs,
            stop_jobs: Some(stop_jobs),
        })
    }

    /// Submits a job; waits while the first queue is full. A job submitted after the engine was stopped is cancelled.
    pub fn submit(&self, job: S::Job) -> JobHandle {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let cancel = Cancel::new();
        let (sender, outcome) = one_shot::one_shot();
        let registered = Arc::clone(&self.jobs);
        let lock = || self.jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lock().push((id, cancel.clone()));
        if self.stop.is_cancelled() {
            cancel.cancel();
        }
        let ticket = Ticket::new(id, cancel.clone(), move |result| {
            registered.lock().unwrap_or_else(std::sync::PoisonError::into_inner).retain(|(job, _)| *job != id);
            sender.send(result);
        });
        // Undelivered: the engine was stopped; dropping the envelope gives the job its outcome.
        if let Some(submit) = &self.submit {
            drop(submit.send(Envelope { ticket, body: JobItem(job) }, &cancel));
        }
        JobHandle { outcome, cancel, id }
    }

    /// Times of the stages so far.
    #[must_use]
    pub fn times(&self) -> Arc<StageTimes> {
        Arc::clone(&self.times)
    }

    /// Takes no more jobs, waits until those under way are done, and ends the workers. What was set aside returns to the budget.
    pub fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.submit.take());
        std::mem::take(&mut self.workers).join();
        drop(self.stop_jobs.take());
    }
}

impl<S: Statement> Drop for Engine<S> {
    /// An engine that is dropped unfinished gives up its jobs, and no thread of it lives on.
    fn drop(&mut self) {
        if self.submit.is_some() {
            let jobs = std::mem::take(&mut *self.jobs.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
            for (_, job) in jobs {
                job.cancel();
            }
            self.end();
        }
    }
}
