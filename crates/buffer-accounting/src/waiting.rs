//! Waiting for bytes: threads and tasks.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::books::{Ask, Notify, Part, Place};
use crate::ledger::{Ledger, Request, cell};
use crate::sync::{Arc, Condvar};
use crate::{AcquireError, Cancel, Label, Priority, Space};

/// A request that had to wait, told to the observer of [`Ledger::observe_waits`](crate::Ledger::observe_waits).
#[derive(Clone, Debug)]
pub struct Waited {
    /// Space that was asked for; the first one of a reservation.
    pub space: Space,
    /// Class of the buffer.
    pub class: &'static str,
    /// Stage that asked.
    pub stage: &'static str,
    /// At which priority.
    pub priority: Priority,
    /// How long.
    pub time: Duration,
    /// False when the wait was given up.
    pub granted: bool,
}

pub(crate) type WaitObserver = Box<dyn Fn(&Waited) + Send + Sync>;

impl<C: Label, S: Label> Ledger<C, S> {
    /// Blocks until the books have taken what is asked for. `request` is what errors and observers are told.
    pub(crate) fn wait(&self, ask: &Ask, request: &Request<C, S>, priority: Priority, cancel: &Cancel) -> Result<(), AcquireError> {
        let mut books = self.lock();
        if books.is_open(ask, priority) && !cancel.is_cancelled() {
            books.take(ask);
            debug_assert_eq!(books.check(), Ok(()));
            return Ok(());
        }
        let start = Instant::now();
        let woken = Arc::new(Condvar::new());
        let place = books.enqueue(ask.clone(), priority, Notify::Thread(Arc::clone(&woken)));
        // Settling tells whoever can make room that somebody waits; it may also serve this request, if it only waited behind its own rank.
        self.settle(books);
        let (ledger, waker) = (self.clone(), Arc::clone(&woken));
        let subscription = cancel.subscribe(move || {
            // Taking the lock before the notification closes the gap between the check of the flag and the sleep.
            drop(ledger.lock());
            waker.notify_one();
        });
        let mut books = self.lock();
        let granted = loop {
            if cancel.is_cancelled() {
                books.give_up(place, ask);
                break false;
            }
            if books.collect(place) {
                break true;
            }
            books = woken.wait(books).unwrap_or_else(std::sync::PoisonError::into_inner);
        };
        // Those behind a given-up wait may fit.
        self.settle(books);
        drop(subscription);
        self.observe(request, priority, start, granted);
        if granted { Ok(()) } else { Err(AcquireError::Cancelled { space: request.space, needed: request.bytes }) }
    }

    /// The same for a task; gives the ask back once it is taken.
    pub(crate) fn wait_async(&self, ask: Ask, request: Request<C, S>, priority: Priority) -> Wait<C, S> {
        Wait { ledger: self.clone(), ask: Some(ask), request, priority, queued: None }
    }

    fn observe(&self, request: &Request<C, S>, priority: Priority, start: Instant, granted: bool) {
        if let Some(observer) = self.0.observer.get() {
            let (class, stage) = (request.class.name(), request.stage.name());
            observer(&Waited { space: request.space, class, stage, priority, time: start.elapsed(), granted });
        }
    }

    pub(crate) fn part(space: usize, request: &Request<C, S>) -> Part {
        Part { space, cell: cell(request.class, request.stage), bytes: request.bytes }
    }
}

/// A task's wait. Dropping it gives the wait up.
pub(crate) struct Wait<C: Label, S: Label> {
    ledger: Ledger<C, S>,
    /// Gone once the books have taken it.
    ask: Option<Ask>,
    request: Request<C, S>,
    priority: Priority,
    queued: Option<(Place, Instant)>,
}

impl<C: Label, S: Label> Unpin for Wait<C, S> {}

impl<C: Label, S: Label> Future for Wait<C, S> {
    type Output = Ask;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ask> {
        let this = &mut *self;
        let Some(ask) = this.ask.take() else { return Poll::Pending };
        let mut books = this.ledger.lock();
        let (place, since) = match this.queued {
            Some(queued) => queued,
            None => {
                if books.is_open(&ask, this.priority) {
                    books.take(&ask);
                    debug_assert_eq!(books.check(), Ok(()));
                    return Poll::Ready(ask);
                }
                let place = books.enqueue(ask.clone(), this.priority, Notify::Task(context.waker().clone()));
                this.queued = Some((place, Instant::now()));
                this.ask = Some(ask);
                this.ledger.settle(books);
                return Poll::Pending;
            }
        };
        if books.collect(place) {
            drop(books);
            this.queued = None;
            this.ledger.observe(&this.request, this.priority, since, true);
            return Poll::Ready(ask);
        }
        books.rewake(place, context.waker());
        drop(books);
        this.ask = Some(ask);
        Poll::Pending
    }
}

impl<C: Label, S: Label> Drop for Wait<C, S> {
    fn drop(&mut self) {
        if let (Some((place, since)), Some(ask)) = (self.queued.take(), self.ask.take()) {
            let mut books = self.ledger.lock();
            books.give_up(place, &ask);
            self.ledger.settle(books);
            self.ledger.observe(&self.request, self.priority, since, false);
        }
    }
}
