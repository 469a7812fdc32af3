//! The permit: a share of the budget, returned on drop.

use crate::ledger::{Ledger, Request};
use crate::{Label, Space};

/// A share of a ledger's budget. Not `Clone`, never grows; dropping it returns the bytes.
#[must_use = "dropping a permit returns its bytes at once"]
pub struct Permit<C: Label, S: Label> {
    ledger: Ledger<C, S>,
    request: Request<C, S>,
    /// The reservation this was drawn from.
    origin: Option<u64>,
}

impl<C: Label, S: Label> Permit<C, S> {
    pub(crate) fn granted(ledger: Ledger<C, S>, request: Request<C, S>, origin: Option<u64>) -> Self {
        Self { ledger, request, origin }
    }

    /// Bytes this permit stands for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.request.bytes
    }

    /// What the bytes are.
    #[must_use]
    pub fn class(&self) -> C {
        self.request.class
    }

    /// Who has them.
    #[must_use]
    pub fn stage(&self) -> S {
        self.request.stage
    }

    /// Where they live.
    #[must_use]
    pub fn space(&self) -> Space {
        self.request.space
    }

    /// Moves the attribution to another stage. The bytes in use do not change.
    pub fn attribute_to(&mut self, stage: S) {
        if self.request.stage != stage {
            self.ledger.reattribute(&self.request, self.request.class, stage);
            self.request.stage = stage;
        }
    }

    /// The bytes are of another class from now on: the same buffer holds something else. The bytes in use do not change.
    pub fn reclassify(&mut self, class: C) {
        if self.request.class != class {
            self.ledger.reattribute(&self.request, class, self.request.stage);
            self.request.class = class;
        }
    }

    /// Gives back what is above `bytes`. A size at or above the permit's changes nothing: a permit never grows.
    pub fn shrink_to(&mut self, bytes: u64) {
        let r = &mut self.request;
        if bytes < r.bytes {
            self.ledger.give_back(*r, r.bytes - bytes, 0, self.origin);
            r.bytes = bytes;
        }
    }

    /// Splits `bytes` off into a permit of the same labels, or returns `None` when there are not that many.
    pub fn split(&mut self, bytes: u64) -> Option<Self> {
        let rest = self.request.bytes.checked_sub(bytes)?;
        self.request.bytes = rest;
        let part = Request { bytes, ..self.request };
        self.ledger.count_buffer(part.space, part.class, part.stage);
        Some(Self { ledger: self.ledger.clone(), request: part, origin: self.origin })
    }

    /// Adds another permit of the same ledger, space and class to this one, for a buffer that grew: one object, one permit. The bytes in
    /// use do not change; the other's bytes move to this permit's stage.
    ///
    /// # Errors
    /// The other permit, unchanged, when ledger, reservation, space or class differ.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        let (mine, theirs) = (&self.request, &other.request);
        if !self.ledger.is_same(&other.ledger) || self.origin != other.origin || mine.space != theirs.space || mine.class != theirs.class {
            return Err(other);
        }
        other.attribute_to(self.request.stage);
        // The other drops here with no bytes left, which uncounts it as a buffer.
        self.request.bytes += std::mem::take(&mut other.request.bytes);
        Ok(())
    }
}

impl<C: Label, S: Label> Permit<C, S> {
    /// Hands the bytes to a reservation: they stay in use, and this permit no longer returns them.
    pub(crate) fn forget(mut self) {
        let r = self.request;
        // The reservation counts as the buffer that this permit uncounts when it drops empty.
        self.ledger.count_buffer(r.space, r.class, r.stage);
        self.request.bytes = 0;
    }
}

impl<C: Label, S: Label> Drop for Permit<C, S> {
    fn drop(&mut self) {
        self.ledger.give_back(self.request, self.request.bytes, 1, self.origin);
    }
}

impl<C: Label, S: Label> std::fmt::Debug for Permit<C, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Permit").field(&self.request).finish()
    }
}
