//! Bytes set aside in one step and drawn in parts.

use crate::books::{Ask, Books, Origin};
use crate::ledger::{Ledger, Request};
use crate::permit::Permit;
use crate::sync::Arc;
use crate::{AcquireError, Cancel, Label, Priority, Space};

struct Handle<C: Label, S: Label> {
    ledger: Ledger<C, S>,
    id: u64,
    lines: Vec<Request<C, S>>,
}

impl<C: Label, S: Label> Drop for Handle<C, S> {
    fn drop(&mut self) {
        self.ledger.close_reservation(self.id);
    }
}

/// Bytes that were granted in one step, so that whoever draws its buffers from them never holds some while it waits for others to be
/// granted by the whole process. Clones draw from the same bytes; when the last clone drops, what is not drawn returns to the budget.
///
/// A reservation has a line for each request it was made from. A part is drawn from the line of its space and class; a class that has none
/// draws from the first line of its space. Drawn parts go back to their line, from any thread, in any order.
pub struct Reservation<C: Label, S: Label>(Arc<Handle<C, S>>);

impl<C: Label, S: Label> Clone for Reservation<C, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Label, S: Label> std::fmt::Debug for Reservation<C, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reservation").field(&self.0.lines).finish()
    }
}

impl<C: Label, S: Label> Reservation<C, S> {
    pub(crate) fn new(ledger: Ledger<C, S>, id: u64, lines: &[Request<C, S>]) -> Self {
        Self(Arc::new(Handle { ledger, id, lines: lines.to_vec() }))
    }

    /// Bytes set aside in all spaces together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.lines.iter().map(|line| line.bytes).sum()
    }

    /// Bytes that are not drawn now, in one space.
    #[must_use]
    pub fn free(&self, space: Space) -> u64 {
        let books = self.0.ledger.lock();
        let lines = books.reservations.get(&self.0.id).into_iter().flatten();
        lines.zip(&self.0.lines).filter(|(_, request)| request.space == space).map(|(line, _)| line.free).sum()
    }

    /// The space of its first line.
    #[must_use]
    pub fn space(&self) -> Space {
        self.0.lines.first().map_or(Space::Host, |line| line.space)
    }

    /// True when it has bytes of this space.
    #[must_use]
    pub fn covers(&self, space: Space) -> bool {
        self.0.lines.iter().any(|line| line.space == space)
    }

    fn origin(&self, request: &Request<C, S>) -> Result<Origin, AcquireError> {
        let same_space = |line: &Request<C, S>| line.space == request.space;
        let own = self.0.lines.iter().position(|line| same_space(line) && line.class == request.class);
        match own.or_else(|| self.0.lines.iter().position(same_space)) {
            Some(line) => Ok(Origin { reservation: self.0.id, line }),
            None => Err(AcquireError::UnknownSpace { space: request.space }),
        }
    }

    fn ask(&self, books: &Books, request: &Request<C, S>) -> Result<Ask, AcquireError> {
        let origin = self.origin(request)?;
        let Some(line) = books.line(origin) else { return Err(AcquireError::UnknownSpace { space: request.space }) };
        if request.bytes > line.part.bytes {
            return Err(AcquireError::ExceedsBudget {
                space: request.space,
                class: request.class.name(),
                stage: request.stage.name(),
                needed: request.bytes,
                budget: line.part.bytes,
                held: line.part.bytes - line.free,
            });
        }
        Ok(Ask::Draw { origin, part: Ledger::part(line.part.space, request) })
    }

    fn drawn(&self, ask: &Ask, request: Request<C, S>) -> Result<Permit<C, S>, AcquireError> {
        match ask {
            Ask::Draw { origin, part } => Ok(Permit::granted(self.0.ledger.clone(), request, part.space, Some(*origin))),
            Ask::Budget { .. } => Err(AcquireError::UnknownSpace { space: request.space }),
        }
    }

    /// Draws a part from the space of the first line; waits first come first served until enough parts have gone back.
    ///
    /// # Errors
    /// As for [`draw_from`](Reservation::draw_from).
    pub fn draw(&self, class: C, stage: S, bytes: u64, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        self.draw_from(Request { space: self.space(), class, stage, bytes }, cancel)
    }

    /// Draws a part; waits first come first served until enough parts have gone back to its line.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`] at once when the part is larger than the whole line, [`AcquireError::UnknownSpace`] when no line is
    /// of that space, [`AcquireError::Cancelled`].
    pub fn draw_from(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        let ask = self.ask(&self.0.ledger.lock(), &request)?;
        self.0.ledger.wait(&ask, &request, Priority::Normal, cancel)?;
        self.drawn(&ask, request)
    }

    /// Draws a part now or says why not.
    ///
    /// # Errors
    /// As for [`draw_from`](Reservation::draw_from), and [`AcquireError::WouldBlock`].
    pub fn try_draw(&self, request: Request<C, S>) -> Result<Permit<C, S>, AcquireError> {
        let mut books = self.0.ledger.lock();
        let ask = self.ask(&books, &request)?;
        if !books.is_open(&ask, Priority::Normal) {
            let line = self.origin(&request).ok().and_then(|origin| books.line(origin).map(|line| (line.part.bytes, line.free)));
            let (budget, available) = line.unwrap_or_default();
            return Err(AcquireError::WouldBlock {
                space: request.space,
                class: request.class.name(),
                stage: request.stage.name(),
                needed: request.bytes,
                budget,
                available,
            });
        }
        books.take(&ask);
        debug_assert_eq!(books.check(), Ok(()));
        drop(books);
        self.drawn(&ask, request)
    }

    /// [`draw_from`](Reservation::draw_from) for tasks; dropping the future gives the wait up.
    ///
    /// # Errors
    /// As for [`draw_from`](Reservation::draw_from).
    pub fn draw_async(&self, request: Request<C, S>) -> impl Future<Output = Result<Permit<C, S>, AcquireError>> + Send + use<C, S> {
        let reservation = self.clone();
        async move {
            let ask = reservation.ask(&reservation.0.ledger.lock(), &request)?;
            let ask = reservation.0.ledger.wait_async(ask, request, Priority::Normal).await;
            reservation.drawn(&ask, request)
        }
    }
}
