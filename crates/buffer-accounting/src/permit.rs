//! The permit: a share of the budget, returned on drop.

use crate::books::{Origin, Part};
use crate::ledger::{Ledger, Request, cell};
use crate::{Label, Space};

/// A share of a ledger's budget. Not `Clone`, never grows; dropping it returns the bytes.
#[must_use = "dropping a permit returns its bytes at once"]
pub struct Permit<C: Label, S: Label> {
    ledger: Ledger<C, S>,
    request: Request<C, S>,
    /// Index of the space in the books.
    space: usize,
    /// The reservation this was drawn from.
    origin: Option<Origin>,
}

impl<C: Label, S: Label> Permit<C, S> {
    pub(crate) fn granted(ledger: Ledger<C, S>, request: Request<C, S>, space: usize, origin: Option<Origin>) -> Self {
        Self { ledger, request, space, origin }
    }

    fn part(&self) -> Part {
        Ledger::part(self.space, &self.request)
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
            self.ledger.reattribute(self.part(), cell(self.request.class, stage));
            self.request.stage = stage;
        }
    }

    /// The bytes are of another class from now on: the same buffer holds something else. The bytes in use do not change.
    pub fn reclassify(&mut self, class: C) {
        if self.request.class != class {
            self.ledger.reattribute(self.part(), cell(class, self.request.stage));
            self.request.class = class;
        }
    }

    /// Gives back what is above `bytes`. A size at or above the permit's changes nothing: a permit never grows.
    pub fn shrink_to(&mut self, bytes: u64) {
        let more = self.request.bytes.saturating_sub(bytes);
        if more > 0 {
            self.ledger.give_back(self.part(), more, 0, self.origin);
            self.request.bytes = bytes;
        }
    }

    /// Splits `bytes` off into a permit of the same labels, or returns `None` when there are not that many.
    pub fn split(&mut self, bytes: u64) -> Option<Self> {
        let rest = self.request.bytes.checked_sub(bytes)?;
        self.request.bytes = rest;
        let part = Self { ledger: self.ledger.clone(), request: Request { bytes, ..self.request }, space: self.space, origin: self.origin };
        self.ledger.count_buffer(part.part());
        Some(part)
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

impl<C: Label, S: Label> Drop for Permit<C, S> {
    fn drop(&mut self) {
        self.ledger.give_back(self.part(), self.request.bytes, 1, self.origin);
    }
}

impl<C: Label, S: Label> std::fmt::Debug for Permit<C, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Permit").field(&self.request).finish()
    }
}
