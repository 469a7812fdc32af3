//! Stages, the threads that run them, and how they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use buffer_accounting::{Accounted, Cancel, CancelSubscription, Label, Ledger};
use pipeline_stage::{Class, Stage, StageName};

use crate::contain::{contained, panic_message};
use crate::crew::{Crew, Unheeded, WorkerStatus};
use crate::handle::{JobHandle, job};
use crate::link::LinkReceiver;
use crate::ticket::{Envelope, Ticket};
use crate::timing::StageTimes;
use crate::worker::{Deliver, Post, WorkerSpec};

/// How long workers have to stop when their topology is dropped.
const DROP_GRACE: Duration = Duration::from_secs(30);
/// Time between two lines in the log while a drain waits.
const DRAIN_REPORT: Duration = Duration::from_secs(60);

/// The running stages of a pipeline.
///
/// Stages are added with the links between them; each worker is a thread of its own, named after its stage. A pipeline ends in one of two
/// ways: its first link's senders are dropped and [`drain`](Topology::drain) waits for what is under way, or [`give_up`](Topology::give_up)
/// cancels what is under way. Either way every job has its outcome and every byte is back when no worker runs any more.
///
/// A panic in a stage, in an item or on the way out is a fatal error of that item's job. The worker throws its stage away and makes a new
/// one for the next item.
pub struct Topology<C: Label = Class, S: Label = StageName> {
    ledger: Ledger<C, S>,
    stop: Cancel,
    _outer: CancelSubscription,
    times: Arc<StageTimes<S>>,
    crew: Arc<Crew>,
    threads: Vec<JoinHandle<()>>,
    next_job: AtomicU64,
}

impl<C: Label, S: Label> Topology<C, S> {
    /// No stage yet. Raising `stop` cancels all jobs and ends all workers at once, as giving up does.
    #[must_use]
    pub fn new(ledger: Ledger<C, S>, stop: &Cancel) -> Self {
        let inner = Cancel::new();
        let flag = inner.clone();
        let outer = stop.subscribe(move || flag.cancel());
        Self {
            ledger,
            stop: inner,
            _outer: outer,
            times: Arc::default(),
            crew: Arc::default(),
            threads: Vec::new(),
            next_job: AtomicU64::new(0),
        }
    }

    /// Starts the workers of one stage. `make` makes a stage for each worker when its first item comes, and again after a panic.
    ///
    /// # Errors
    /// The system's error when a thread cannot be started. The stages before it run; dropping the topology ends them.
    pub fn stage<T, R, D>(
        &mut self,
        spec: &WorkerSpec<C, S>,
        receiver: LinkReceiver<Envelope<T::Input, R>, S>,
        deliver: D,
        make: impl Fn() -> T + Clone + Send + 'static,
    ) -> std::io::Result<()>
    where
        T: Stage<C, S>,
        T::Input: Accounted<S> + Send + 'static,
        R: Send + 'static,
        D: Deliver<T::Output, R> + Clone + 'static,
    {
        for number in 0..spec.threads.max(1) {
            let name = format!("{}-{number}", spec.stage.name());
            let shift = self.crew.join(name.clone());
            let post = Post {
                spec: spec.clone(),
                ledger: self.ledger.clone(),
                stop: self.stop.clone(),
                times: Arc::clone(&self.times),
                member: Arc::clone(&shift.member),
            };
            let (receiver, deliver, make) = (receiver.clone(), deliver.clone(), make.clone());
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                // Last to go: whoever waits for the worker finds everything returned.
                let _shift = shift;
                post.work(&receiver, &deliver, &make);
                contained("the end of a worker", || drop((receiver, deliver, make, post)));
            })?;
            self.threads.push(thread);
        }
        Ok(())
    }

    /// A new job, numbered in order: the ticket for its first item, and the handle for whoever waits for its outcome.
    #[must_use]
    pub fn job<R: Send + 'static>(&self) -> (Ticket<R>, JobHandle<R>) {
        job(self.next_job.fetch_add(1, Ordering::Relaxed), &self.stop)
    }

    /// Times and counts of the stages.
    #[must_use]
    pub fn times(&self) -> &Arc<StageTimes<S>> {
        &self.times
    }

    /// The workers that run, and what they are at.
    #[must_use]
    pub fn running(&self) -> Vec<WorkerStatus> {
        self.crew.running()
    }

    /// Waits until the workers have ended by themselves, which they do when all senders of their links are gone and everything queued is
    /// worked off. The caller's own senders must be dropped before. While it waits it says in the log, once a minute, for whom, and warns
    /// when no item got through a stage in that minute.
    pub fn drain(mut self) {
        let done = |times: &StageTimes<S>| S::ALL.iter().map(|&stage| times.stage(stage).items).sum::<u64>();
        let mut before = done(&self.times);
        while let Err(workers) = self.crew.wait(DRAIN_REPORT) {
            let workers = workers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let now = done(&self.times);
            if now == before {
                tracing::warn!(workers, "the pipeline drains, but nothing got through a stage for a minute");
            } else {
                tracing::info!(workers, "the pipeline drains");
            }
            before = now;
        }
        self.join();
    }

    /// Cancels all jobs, drops what is queued, and waits until the workers have ended, but no longer than `grace`.
    ///
    /// # Errors
    /// [`Unheeded`] names the workers that still run then. They are left to themselves: when they look at their flag they end, and what they
    /// hold returns.
    pub fn give_up(mut self, grace: Duration) -> Result<(), Unheeded> {
        self.end(grace)
    }

    fn end(&mut self, grace: Duration) -> Result<(), Unheeded> {
        self.stop.cancel();
        match self.crew.wait(grace) {
            Ok(()) => {
                self.join();
                Ok(())
            }
            Err(workers) => {
                self.threads.clear();
                Err(Unheeded { workers, grace })
            }
        }
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                // Everything a worker calls is contained, so this is a defect of the worker loop itself.
                tracing::error!(message = panic_message(panic.as_ref()), "a worker thread panicked outside its items");
            }
        }
    }
}

impl<C: Label, S: Label> Drop for Topology<C, S> {
    /// A topology that is dropped gives up, and waits half a minute at most.
    fn drop(&mut self) {
        if !self.threads.is_empty()
            && let Err(unheeded) = self.end(DROP_GRACE)
        {
            tracing::error!(%unheeded, "workers of a dropped pipeline");
        }
    }
}
