//! What a worker thread does: one item after the other through its stage.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use buffer_accounting::{Accounted, Cancel, Label, Ledger, Reservation};
use pipeline_stage::{Class, Classified, ErrorClass, Outlet, Stage, StageContext, StageName};

use crate::contain::{contained, panic_message};
use crate::crew::Member;
use crate::link::{LinkReceiver, LinkSender};
use crate::ticket::{Envelope, JobError, Ticket};
use crate::timing::StageTimes;

/// Where a worker puts what its stage gives.
pub trait Deliver<T, R>: Send {
    /// Takes one result of a job. May wait; an item that cannot be delivered is dropped, which abandons its job.
    fn deliver(&mut self, ticket: &Ticket<R>, item: T);
}

impl<T: Accounted<S> + Send, R: Send, S: Label> Deliver<T, R> for LinkSender<Envelope<T, R>, S> {
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
#[derive(Clone, Debug)]
pub struct WorkerSpec<C: Label = Class, S: Label = StageName> {
    /// The stage.
    pub stage: S,
    /// Number of threads, at least one.
    pub threads: usize,
    /// Bytes set aside for this stage, if any: it draws its host memory from them instead of from what is free in the ledger.
    pub reservation: Option<Reservation<C, S>>,
    /// How often an item is tried again whose stage failed with a retryable error and handed the item back.
    pub retries: u32,
    /// Time between two tries. Cancellation ends it.
    pub retry_pause: Duration,
}

impl<C: Label, S: Label> WorkerSpec<C, S> {
    /// One thread, nothing set aside, two more tries at once.
    #[must_use]
    pub fn new(stage: S) -> Self {
        Self { stage, threads: 1, reservation: None, retries: 2, retry_pause: Duration::ZERO }
    }
}

/// A worker's view of its pipeline.
pub(crate) struct Post<C: Label, S: Label> {
    pub(crate) spec: WorkerSpec<C, S>,
    pub(crate) ledger: Ledger<C, S>,
    pub(crate) stop: Cancel,
    pub(crate) times: Arc<StageTimes<S>>,
    pub(crate) member: Arc<Member>,
}

/// A stage and its way out; thrown away together after a panic, since either may be broken.
struct Hands<T, D> {
    stage: T,
    deliver: D,
}

impl<C: Label, S: Label> Post<C, S> {
    /// Works until the link ends or the pipeline stops. No panic of a stage, of an item, of `make` or of `deliver` ends it.
    pub(crate) fn work<T, R, D>(&self, receiver: &LinkReceiver<Envelope<T::Input, R>, S>, deliver: &D, make: &impl Fn() -> T)
    where
        T: Stage<C, S>,
        T::Input: Accounted<S>,
        D: Deliver<T::Output, R> + Clone,
    {
        let mut hands: Option<Hands<T, D>> = None;
        loop {
            let idle = Instant::now();
            let Some(arrival) = receiver.next(&self.stop) else { break };
            self.times.waited(self.spec.stage, idle.elapsed(), arrival.waited);
            let envelope = arrival.item;
            let ticket = envelope.ticket.clone();
            self.member.begin(ticket.id());
            // What unwinding leaves half done is either dropped by it or thrown away below.
            let survived = catch_unwind(AssertUnwindSafe(|| {
                let hands = hands.get_or_insert_with(|| Hands { stage: make(), deliver: deliver.clone() });
                self.serve(envelope, hands);
            }));
            if let Err(panic) = survived {
                self.times.panicked(self.spec.stage);
                contained("a stage", || drop(hands.take()));
                let error = JobError::Panicked { stage: self.spec.stage.name(), message: panic_message(panic.as_ref()).to_owned() };
                contained("the report of a job", || {
                    ticket.fail(error);
                });
            }
            contained("the report of a job", || drop(ticket));
            self.member.end();
        }
        contained("a stage", || drop(hands));
    }

    fn serve<T, R, D>(&self, envelope: Envelope<T::Input, R>, hands: &mut Hands<T, D>)
    where
        T: Stage<C, S>,
        T::Input: Accounted<S>,
        D: Deliver<T::Output, R>,
    {
        let Envelope { ticket, body: mut input } = envelope;
        let cancel = ticket.cancel();
        if cancel.is_cancelled() {
            return;
        }
        let mut context = StageContext::new(self.ledger.clone(), self.spec.stage, cancel.clone());
        if let Some(reservation) = &self.spec.reservation {
            context = context.with_reservation(reservation.clone());
        }
        let flag = cancel.clone();
        let _stopped = self.stop.subscribe(move || flag.cancel());
        let start = Instant::now();
        let mut tries_left = self.spec.retries;
        let failed = loop {
            input.attribute_to(self.spec.stage);
            let mut outlet =
                ToNext { deliver: &mut hands.deliver, ticket: &ticket, times: &self.times, stage: self.spec.stage, given: false };
            let Err(failed) = hands.stage.run(input, &mut outlet, &context) else { break None };
            let given = outlet.given;
            match failed.into_parts() {
                // An item that gave something already would give it twice.
                (error, Some(same)) if error.class() == ErrorClass::Retryable && tries_left > 0 && !given => {
                    tries_left -= 1;
                    self.times.tried_again(self.spec.stage);
                    tracing::warn!(stage = self.spec.stage.name(), job = ticket.id(), tries_left, %error, "trying again");
                    pause(cancel, self.spec.retry_pause);
                    if cancel.is_cancelled() {
                        break Some(JobError::Cancelled);
                    }
                    input = same;
                }
                (error, _) if error.class() == ErrorClass::Cancelled => break Some(JobError::Cancelled),
                (error, _) => break Some(JobError::Stage { stage: self.spec.stage.name(), error: Box::new(error) }),
            }
        };
        self.times.worked(self.spec.stage, start.elapsed());
        if let Some(error) = failed {
            ticket.fail(error);
        }
    }
}

struct ToNext<'a, D, R, S: Label> {
    deliver: &'a mut D,
    ticket: &'a Ticket<R>,
    times: &'a StageTimes<S>,
    stage: S,
    given: bool,
}

impl<T, R, D: Deliver<T, R>, S: Label> Outlet<T> for ToNext<'_, D, R, S> {
    fn give(&mut self, item: T) {
        self.given = true;
        let start = Instant::now();
        self.deliver.deliver(self.ticket, item);
        self.times.was_blocked(self.stage, start.elapsed());
    }
}

/// Waits, but not for work that is given up.
fn pause(cancel: &Cancel, time: Duration) {
    if time.is_zero() {
        return;
    }
    let woken = Arc::new((Mutex::new(()), Condvar::new()));
    let waker = Arc::clone(&woken);
    let subscription = cancel.subscribe(move || {
        // Under the lock, so that it does not fall between the waiter's look at the flag and its sleep.
        drop(waker.0.lock().unwrap_or_else(PoisonError::into_inner));
        waker.1.notify_all();
    });
    let guard = woken.0.lock().unwrap_or_else(PoisonError::into_inner);
    drop(woken.1.wait_timeout_while(guard, time, |()| !cancel.is_cancelled()));
    drop(subscription);
}
