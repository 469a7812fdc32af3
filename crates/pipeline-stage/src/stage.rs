//! The stage trait and what a stage is given.

use buffer_accounting::{AcquireError, Cancel, Space};

use crate::{Class, Classified, Ledger, Permit, Request, Reservation, StageName};

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
/// A stage must not panic; the runtime turns a panic into a fatal error of the item that caused it.
pub trait Stage {
    /// What it takes.
    type Input;
    /// What it gives.
    type Output;
    /// Why an item failed.
    type Error: Classified;

    /// The label its buffers are attributed to.
    fn name(&self) -> StageName;

    /// Works on one item.
    ///
    /// # Errors
    /// The stage's own; nothing of the item is held afterwards.
    fn run(&mut self, input: Self::Input, out: &mut dyn Outlet<Self::Output>, context: &StageContext) -> Result<(), Self::Error>;
}

/// What a stage is given besides its item.
#[derive(Clone, Debug)]
pub struct StageContext {
    ledger: Ledger,
    stage: StageName,
    cancel: Cancel,
    reservation: Option<Reservation>,
}

impl StageContext {
    /// A context for `stage` over `ledger`; `cancel` gives its work up.
    #[must_use]
    pub fn new(ledger: Ledger, stage: StageName, cancel: Cancel) -> Self {
        Self { ledger, stage, cancel, reservation: None }
    }

    /// A context over a ledger of its own without limits, for tests, examples and tools outside the pipeline.
    #[must_use]
    pub fn unlimited(stage: StageName) -> Self {
        Self::new(Ledger::new(&[(Space::Host, u64::MAX), (Space::Mapped, u64::MAX)]), stage, Cancel::never())
    }

    /// The same ledger and cancellation for another stage.
    #[must_use]
    pub fn for_stage(&self, stage: StageName) -> Self {
        Self { stage, ..self.clone() }
    }

    /// The same context drawing its host memory from bytes that were set aside for it, instead of from what is free in the ledger.
    #[must_use]
    pub fn with_reservation(&self, reservation: Reservation) -> Self {
        Self { reservation: Some(reservation), ..self.clone() }
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The stage that buffers made here are attributed to.
    #[must_use]
    pub fn stage(&self) -> StageName {
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
    pub fn acquire(&self, class: Class, bytes: u64) -> Result<Permit, AcquireError> {
        self.acquire_in(Space::Host, class, bytes)
    }

    /// Waits for bytes of another space.
    ///
    /// # Errors
    /// [`AcquireError`]: larger than the budget, no budget for the space, or cancelled.
    pub fn acquire_in(&self, space: Space, class: Class, bytes: u64) -> Result<Permit, AcquireError> {
        if let Some(reservation) = self.reservation.as_ref().filter(|r| r.space() == space) {
            return reservation.draw(class, self.stage, bytes, &self.cancel);
        }
        self.ledger.acquire(Request { space, class, stage: self.stage, bytes }, &self.cancel)
    }
}
