//! Bytes set aside in one step and drawn in parts.

use std::sync::Arc;

use crate::ledger::{AcquireError, Ledger, Request};
use crate::permit::Permit;
use crate::{Cancel, Label, Space};

struct Handle<C: Label, S: Label> {
    ledger: Ledger<C, S>,
    id: u64,
    request: Request<C, S>,
}

impl<C: Label, S: Label> Drop for Handle<C, S> {
    fn drop(&mut self) {
        self.ledger.close_reservation(self.id);
    }
}

/// Bytes that were granted in one step, so that whoever draws its buffers from them never holds some while it waits for others to be
/// granted by the whole process. Clones draw from the same bytes; when the last clone drops, what is not drawn returns to the budget.
pub struct Reservation<C: Label, S: Label>(Arc<Handle<C, S>>);

impl<C: Label, S: Label> Clone for Reservation<C, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Label, S: Label> std::fmt::Debug for Reservation<C, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reservation").field(&self.0.request).finish()
    }
}

impl<C: Label, S: Label> Reservation<C, S> {
    pub(crate) fn new(ledger: Ledger<C, S>, id: u64, request: Request<C, S>) -> Self {
        // The permit that paid for the bytes went away without returning them; `id` owns them now.
        Self(Arc::new(Handle { ledger, id, request }))
    }

    /// Bytes set aside in all.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.request.bytes
    }

    /// The space the bytes live in.
    #[must_use]
    pub fn space(&self) -> Space {
        self.0.request.space
    }

    /// Draws a part; waits first come first served until enough parts have gone back.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`] at once when the part is larger than the whole reservation, [`AcquireError::Cancelled`].
    pub fn draw(&self, class: C, stage: S, bytes: u64, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        self.0.ledger.draw(self.0.id, Request { space: self.0.request.space, class, stage, bytes }, cancel)
    }
}
