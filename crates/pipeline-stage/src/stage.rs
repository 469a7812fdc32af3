//! The stage trait and what a stage is given.

use buffer_accounting::{AcquireError, Cancel, Label, Ledger, Permit, Request, Reservation, Space};

use crate::{Class, Classified, Failed, StageName};

/// Where a stage puts its results. Giving may wait: a link is bounded.
pub trait Outlet<T> {
    /// Hands one item on.
    fn give(&mut self, item: T);
}

impl<T> Outlet<T> for Vec<T> {
    fn give(&mut self, item: T) {
        self.push(item);
    }
}

/// One step of the pipeline: takes an item, gives any number of items.
///
/// `C` are the classes of buffers it makes and `S` the labels of the pipeline it is part of; a stage of the prover leaves both out.
///
/// A stage must not panic; the runtime turns a panic into a fatal error of the item that caused it.
pub trait Stage<C: Label = Class, S: Label = StageName> {
    /// What it takes.
    type Input;
    /// What it gives.
    type Output;
    /// Why an item failed.
    type Error: Classified;

    /// The label its buffers are attributed to.
    fn name(&self) -> S;

    /// Works on one item.
    ///
    /// # Errors
    /// The stage's own, with the item when it is intact and nothing was given yet, so that it can be tried again. What does not come back
    /// is not held any more.
    fn run(
        &mut self,
        input: Self::Input,
        out: &mut dyn Outlet<Self::Output>,
        context: &StageContext<C, S>,
    ) -> Result<(), Failed<Self::Input, Self::Error>>;
}

/// What a stage is given besides its item.
#[derive(Clone, Debug)]
pub struct StageContext<C: Label = Class, S: Label = StageName> {
    ledger: Ledger<C, S>,
    stage: S,
    cancel: Cancel,
    reservation: Option<Reservation<C, S>>,
    alone: bool,
}

impl<C: Label, S: Label> StageContext<C, S> {
    /// A context for `stage` over `ledger`; `cancel` gives its work up.
    #[must_use]
    pub fn new(ledger: Ledger<C, S>, stage: S, cancel: Cancel) -> Self {
        Self { ledger, stage, cancel, reservation: None, alone: false }
    }

    /// A context over a ledger of its own without limits, for tests, examples and tools outside the pipeline.
    #[must_use]
    pub fn unlimited(stage: S) -> Self {
        Self::new(Ledger::new(&[(Space::Host, u64::MAX), (Space::Mapped, u64::MAX)]), stage, Cancel::never())
    }

    /// The same ledger and cancellation for another stage.
    #[must_use]
    pub fn for_stage(&self, stage: S) -> Self {
        Self { stage, ..self.clone() }
    }

    /// The same context drawing its host memory from bytes that were set aside for it, instead of from what is free in the ledger.
    #[must_use]
    pub fn with_reservation(&self, reservation: Reservation<C, S>) -> Self {
        Self { reservation: Some(reservation), ..self.clone() }
    }

    /// The same context for work that nobody else's progress helps: what is not free at once is an error with the numbers, since a wait for
    /// bytes that only this work would return never ends.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { alone: true, ..self.clone() }
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger<C, S> {
        &self.ledger
    }

    /// The stage that buffers made here are attributed to.
    #[must_use]
    pub fn stage(&self) -> S {
        self.stage
    }

    /// The cancellation flag.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Waits for bytes of host memory for a buffer of `class`, attributed to this stage.
    ///
    /// # Errors
    /// [`AcquireError`]: larger than the budget, or cancelled.
    pub fn acquire(&self, class: C, bytes: u64) -> Result<Permit<C, S>, AcquireError> {
        self.acquire_in(Space::Host, class, bytes)
    }

    /// Waits for bytes of another space.
    ///
    /// # Errors
    /// [`AcquireError`]: larger than the budget, no budget for the space, or cancelled.
    pub fn acquire_in(&self, space: Space, class: C, bytes: u64) -> Result<Permit<C, S>, AcquireError> {
        if let Some(reservation) = self.reservation.as_ref().filter(|r| r.covers(space)) {
            return reservation.draw_from(Request { space, class, stage: self.stage, bytes }, &self.cancel);
        }
        let request = Request { space, class, stage: self.stage, bytes };
        if !self.alone {
            return self.ledger.acquire(request, &self.cancel);
        }
        if self.cancel.is_cancelled() {
            return Err(AcquireError::Cancelled { space, needed: bytes });
        }
        self.ledger.try_acquire(request).map_err(|error| match error {
            AcquireError::WouldBlock { space, class, stage, needed, budget, available } => {
                AcquireError::NobodyReturns { space, class, stage, needed, budget, available }
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_alone_is_told_instead_of_waiting_for_itself() {
        let ledger = Ledger::new(&[(Space::Host, 100)]);
        let cancel = Cancel::new();
        let context = StageContext::new(ledger.clone(), StageName::Setup, cancel.clone()).alone();
        let held = context.acquire(Class::Staging, 60).unwrap();
        let error = context.acquire(Class::Staging, 41).unwrap_err();
        assert!(matches!(error, AcquireError::NobodyReturns { needed: 41, budget: 100, available: 40, .. }), "{error}");
        assert!(matches!(context.acquire(Class::Staging, 101), Err(AcquireError::ExceedsBudget { .. })));
        drop(context.acquire(Class::Staging, 40).unwrap());
        cancel.cancel();
        assert!(matches!(context.acquire(Class::Staging, 1), Err(AcquireError::Cancelled { .. })));
        drop(held);
        assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    }
}
