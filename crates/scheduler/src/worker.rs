//! Named threads that run stages.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use buffer_accounting::{Accounted, Label};
use pipeline_stage::{Cancel, ErrorClass, Ledger, Outlet, Reservation, Stage, StageContext, StageName};

use crate::link::{LinkReceiver, LinkSender};
use crate::ticket::{Envelope, JobError, Ticket};
use crate::timing::StageTimes;

/// Where a worker puts what its stage gives.
pub trait Deliver<T, R>: Send {
    /// Takes one result of a job. May wait; an item that cannot be delivered is dropped, which abandons its job.
    fn deliver(&mut self, ticket: &Ticket<R>, item: T);
}

impl<T: Accounted<StageName> + Send, R: Send> Deliver<T, R> for LinkSender<Envelope<T, R>, StageName> {
    fn deliver(&mut self, ticket: &Ticket<R>, body: T) {
        // Undelivered: the next stage is gone or the job is given up; dropping the envelope returns its bytes and its share in the job.
        drop(self.send(Envelope { ticket: ticket.clone(), body }, ticket.cancel()));
    }
}

impl<T, R, F: FnMut(&Ticket<R>, T) + Send> Deliver<T, R> for F {
    fn deliver(&mut self, ticket: &Ticket<R>, item: T) {
        self(ticket, item);
    }
}

/// What the workers of a stage share.
#[derive(Clone)]
pub struct WorkerSpec {
    /// The stage.
    pub stage: StageName,
    /// Number of threads, at least one.
    pub threads: usize,
    /// The ledger its buffers come from.
    pub ledger: Ledger,
    /// Bytes set aside for this stage, if any.
    pub reservation: Option<Reservation>,
    /// Stops the workers at once; without it they end when their link does.
    pub stop: Cancel,
    /// Where times go.
    pub times: Arc<StageTimes>,
}

/// The running threads of a pipeline.
#[derive(Default)]
pub struct Workers(Vec<JoinHandle<()>>);

impl Workers {
    /// No thread yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the workers of one stage. `make` makes a stage for each worker, and again after a panic.
    ///
    /// # Errors
    /// The system's error when a thread cannot be started.
    pub fn spawn<T, R, D>(
        &mut self,
        spec: &WorkerSpec,
        receiver: &LinkReceiver<Envelope<T::Input, R>, StageName>,
        deliver: &D,
        make: impl Fn() -> T + Clone + Send + 'static,
    ) -> std::io::Result<()>
    where
        T: Stage,
        T::Input: Accounted<StageName> + Send + 'static,
        R: Send + 'static,
        D: Deliver<T::Output, R> + Clone + 'static,
    {
        for number in 0..spec.threads.max(1) {
            let (spec, receiver, mut deliver, make) = (spec.clone(), receiver.clone(), deliver.clone(), make.clone());
            let thread = std::thread::Builder::new().name(format!("{}-{number}", spec.stage.name())).spawn(move || {
                let mut stage = make();
                loop {
                    let idle = Instant::now();
                    let Some(envelope) = receiver.receive(&spec.stop) else { break };
                    spec.times.waited(spec.stage, idle.elapsed());
                    if run_one(&spec, &mut stage, envelope, &mut deliver).is_err() {
                        stage = make();
                    }
                }
            })?;
            self.0.push(thread);
        }
        Ok(())
    }

    /// Waits until every worker has ended (their links have ended, or they were stopped).
    pub fn join(self) {
        for thread in self.0 {
            if let Err(panic) = thread.join() {
                // Stages run under `catch_unwind`, so this is the worker loop itself.
                tracing::error!(message = panic_message(panic.as_ref()), "a worker thread panicked outside a stage");
            }
        }
    }
}

struct ToNext<'a, D, R> {
    deliver: &'a mut D,
    ticket: &'a Ticket<R>,
    times: &'a StageTimes,
    stage: StageName,
}

impl<T, R, D: Deliver<T, R>> Outlet<T> for ToNext<'_, D, R> {
    fn give(&mut self, item: T) {
        let start = Instant::now();
        self.deliver.deliver(self.ticket, item);
        self.times.was_blocked(self.stage, start.elapsed());
    }
}

/// The stage panicked and must be made anew.
struct Panicked;

fn run_one<T: Stage, R, D: Deliver<T::Output, R>>(
    spec: &WorkerSpec,
    stage: &mut T,
    envelope: Envelope<T::Input, R>,
    deliver: &mut D,
) -> Result<(), Panicked> {
    let Envelope { ticket, body } = envelope;
    if ticket.cancel().is_cancelled() {
        return Ok(());
    }
    let mut context = StageContext::new(spec.ledger.clone(), spec.stage, ticket.cancel().clone());
    if let Some(reservation) = &spec.reservation {
        context = context.with_reservation(reservation.clone());
    }
    let start = Instant::now();
    let mut outlet = ToNext { deliver, ticket: &ticket, times: &spec.times, stage: spec.stage };
    // After a panic the stage is thrown away, and the item's leases were dropped by the unwinding: nothing broken is seen again.
    let outcome = catch_unwind(AssertUnwindSafe(|| stage.run(body, &mut outlet, &context)));
    spec.times.worked(spec.stage, start.elapsed());
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            use pipeline_stage::Classified;
            if error.class() == ErrorClass::Cancelled {
                ticket.fail(JobError::Cancelled);
            } else {
                ticket.fail(JobError::Stage { stage: spec.stage.name(), error: Box::new(error) });
            }
            Ok(())
        }
        Err(panic) => {
            ticket.fail(JobError::Panicked { stage: spec.stage.name(), message: panic_message(panic.as_ref()).to_owned() });
            Err(Panicked)
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
