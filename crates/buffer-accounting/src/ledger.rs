//! The ledger: one budget per space, one matrix of class x stage per space.

use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::books::{Ask, Books, Origin, Part, SpaceBooks};
#[cfg(not(loom))]
use crate::evict::Evictor;
use crate::permit::Permit;
use crate::reservation::Reservation;
use crate::snapshot::{Matrix, Snapshot, SpaceUsage};
use crate::sync::{Arc, Mutex, MutexGuard, lock};
use crate::waiting::{WaitObserver, Waited};
use crate::{AcquireError, Cancel, Label, Priority, Space};

/// What is asked for: so many bytes of this class, held by this stage, in this space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<C, S> {
    /// Where the bytes live.
    pub space: Space,
    /// What the buffer is.
    pub class: C,
    /// Who holds it first.
    pub stage: S,
    /// How many bytes.
    pub bytes: u64,
}

pub(crate) struct Shared<C, S> {
    pub(crate) books: Mutex<Books>,
    pub(crate) observer: OnceLock<WaitObserver>,
    #[cfg(not(loom))]
    pub(crate) evictor: Evictor,
    labels: PhantomData<fn() -> (C, S)>,
}

/// The bytes of a process by space, class and stage. Cheap to clone; clones share the books.
pub struct Ledger<C: Label, S: Label>(pub(crate) Arc<Shared<C, S>>);

impl<C: Label, S: Label> Clone for Ledger<C, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Label, S: Label> std::fmt::Debug for Ledger<C, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger").field("snapshot", &self.snapshot()).finish()
    }
}

pub(crate) fn cell<C: Label, S: Label>(class: C, stage: S) -> usize {
    class.index() * S::ALL.len() + stage.index()
}

impl<C: Label, S: Label> Ledger<C, S> {
    /// A ledger with a budget in bytes for each space it knows. A space named twice gets the sum.
    #[must_use]
    pub fn new(budgets: &[(Space, u64)]) -> Self {
        let mut spaces: Vec<SpaceBooks> = Vec::new();
        for &(space, budget) in budgets {
            match spaces.iter_mut().find(|s| s.space == space) {
                Some(known) => known.budget = known.budget.saturating_add(budget),
                None => spaces.push(SpaceBooks {
                    space,
                    budget,
                    in_use: 0,
                    peak: 0,
                    cells: Matrix::new(C::ALL.len(), S::ALL.len()),
                    waiting: 0,
                    returned: 0,
                }),
            }
        }
        Self(Arc::new(Shared {
            books: Mutex::new(Books::new(spaces)),
            observer: OnceLock::new(),
            #[cfg(not(loom))]
            evictor: Evictor::default(),
            labels: PhantomData,
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Books> {
        lock(&self.0.books)
    }

    /// Ends a change of the books: whoever can be served now is, and is told after the lock is free.
    pub(crate) fn settle(&self, mut books: MutexGuard<'_, Books>) {
        let served = books.settle();
        debug_assert_eq!(books.check(), Ok(()));
        let short = books.waiting_for_budget();
        drop(books);
        served.into_iter().for_each(crate::books::Notify::notify);
        #[cfg(not(loom))]
        if short {
            self.0.evictor.nudge();
        }
        #[cfg(loom)]
        let _ = short;
    }

    /// True when both share the books.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The parts of some requests, which must fit the budgets together.
    fn parts(books: &Books, requests: &[Request<C, S>]) -> Result<Vec<Part>, AcquireError> {
        if requests.is_empty() {
            return Err(AcquireError::Nothing);
        }
        let part = |request: &Request<C, S>| match books.spaces.iter().position(|s| s.space == request.space) {
            Some(space) => Ok(Part { space, cell: cell(request.class, request.stage), bytes: request.bytes }),
            None => Err(AcquireError::UnknownSpace { space: request.space }),
        };
        let parts = requests.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        for (request, part) in requests.iter().zip(&parts) {
            let (needed, space) = (Books::needed(&parts, part.space), &books.spaces[part.space]);
            if needed > space.budget {
                return Err(AcquireError::ExceedsBudget {
                    space: request.space,
                    class: request.class.name(),
                    stage: request.stage.name(),
                    needed,
                    budget: space.budget,
                    held: space.in_use,
                });
            }
        }
        Ok(parts)
    }

    pub(crate) fn ask(&self, requests: &[Request<C, S>]) -> Result<Ask, AcquireError> {
        Ok(Ask::Budget { parts: Self::parts(&self.lock(), requests)?, buffers: 1 })
    }

    /// Takes what was asked for if that is possible without waiting and without overtaking.
    fn try_take(&self, ask: &Ask, requests: &[Request<C, S>], priority: Priority) -> Result<(), AcquireError> {
        let mut books = self.lock();
        if books.is_open(ask, priority) {
            books.take(ask);
            debug_assert_eq!(books.check(), Ok(()));
            return Ok(());
        }
        let Ask::Budget { parts, .. } = ask else { return Err(AcquireError::Nothing) };
        let short = parts.iter().position(|p| Books::needed(parts, p.space) > books.free(p.space)).unwrap_or(0);
        let (request, part) = (&requests[short], &parts[short]);
        Err(AcquireError::WouldBlock {
            space: request.space,
            class: request.class.name(),
            stage: request.stage.name(),
            needed: Books::needed(parts, part.space),
            budget: books.spaces[part.space].budget,
            available: books.free(part.space),
        })
    }

    fn granted(&self, ask: &Ask, request: Request<C, S>, origin: Option<Origin>) -> Permit<C, S> {
        let space = match ask {
            Ask::Budget { parts, .. } => parts.first().map_or(0, |p| p.space),
            Ask::Draw { part, .. } => part.space,
        };
        Permit::granted(self.clone(), request, space, origin)
    }

    /// Grants the bytes now or says why not. Does not overtake requests that wait already.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`], [`AcquireError::WouldBlock`] or [`AcquireError::UnknownSpace`].
    pub fn try_acquire(&self, request: Request<C, S>) -> Result<Permit<C, S>, AcquireError> {
        let ask = self.ask(&[request])?;
        self.try_take(&ask, &[request], Priority::Normal)?;
        Ok(self.granted(&ask, request, None))
    }

    /// Waits for the bytes, first come first served, until they are granted or `cancel` is raised.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`] at once when no waiting can help, [`AcquireError::Cancelled`], [`AcquireError::UnknownSpace`].
    pub fn acquire(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        self.acquire_at(Priority::Normal, request, cancel)
    }

    /// [`acquire`](Ledger::acquire) at a priority: first come first served within it, before all lower ones.
    ///
    /// # Errors
    /// As for [`acquire`](Ledger::acquire).
    pub fn acquire_at(&self, priority: Priority, request: Request<C, S>, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        let ask = self.ask(&[request])?;
        self.wait(&ask, &request, priority, cancel)?;
        Ok(self.granted(&ask, request, None))
    }

    /// [`acquire_at`](Ledger::acquire_at) for tasks. Its place in the queue is taken when the future is polled first; dropping the future
    /// gives the wait up.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`], [`AcquireError::UnknownSpace`].
    pub fn acquire_async(
        &self,
        priority: Priority,
        request: Request<C, S>,
    ) -> impl Future<Output = Result<Permit<C, S>, AcquireError>> + Send + use<C, S> {
        let ledger = self.clone();
        async move {
            let ask = ledger.ask(&[request])?;
            let ask = ledger.wait_async(ask, request, priority).await;
            Ok(ledger.granted(&ask, request, None))
        }
    }

    /// Sets bytes aside in one step, to be drawn in parts by whoever holds the [`Reservation`]. They count as in use, under the
    /// request's class and stage, until they are drawn; parts go back to the reservation as they drop.
    ///
    /// # Errors
    /// As for [`acquire`](Ledger::acquire).
    pub fn reserve(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Reservation<C, S>, AcquireError> {
        self.reserve_all(Priority::Normal, &[request], cancel)
    }

    /// Sets bytes of several classes and spaces aside, all in one step or none.
    ///
    /// # Errors
    /// As for [`acquire`](Ledger::acquire); [`AcquireError::Nothing`] without a request.
    pub fn reserve_all(&self, priority: Priority, requests: &[Request<C, S>], cancel: &Cancel) -> Result<Reservation<C, S>, AcquireError> {
        let ask = self.ask(requests)?;
        self.wait(&ask, &requests[0], priority, cancel)?;
        Ok(self.reserved(&ask, requests))
    }

    /// [`reserve_all`](Ledger::reserve_all) now or not at all.
    ///
    /// # Errors
    /// As for [`try_acquire`](Ledger::try_acquire); [`AcquireError::Nothing`] without a request.
    pub fn try_reserve_all(&self, requests: &[Request<C, S>]) -> Result<Reservation<C, S>, AcquireError> {
        let ask = self.ask(requests)?;
        self.try_take(&ask, requests, Priority::Normal)?;
        Ok(self.reserved(&ask, requests))
    }

    /// [`reserve_all`](Ledger::reserve_all) for tasks; dropping the future gives the wait up.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`], [`AcquireError::UnknownSpace`], [`AcquireError::Nothing`].
    pub fn reserve_all_async(
        &self,
        priority: Priority,
        requests: Vec<Request<C, S>>,
    ) -> impl Future<Output = Result<Reservation<C, S>, AcquireError>> + Send + use<C, S> {
        let ledger = self.clone();
        async move {
            let ask = ledger.ask(&requests)?;
            let ask = ledger.wait_async(ask, requests[0], priority).await;
            Ok(ledger.reserved(&ask, &requests))
        }
    }

    fn reserved(&self, ask: &Ask, requests: &[Request<C, S>]) -> Reservation<C, S> {
        let parts = match ask {
            Ask::Budget { parts, .. } => parts.as_slice(),
            Ask::Draw { .. } => &[],
        };
        let id = self.lock().open(parts);
        Reservation::new(self.clone(), id, requests)
    }

    /// Calls `observer` after each request that had to wait, in the thread that waited. Only the first observer is kept; false for others.
    pub fn observe_waits(&self, observer: impl Fn(&Waited) + Send + Sync + 'static) -> bool {
        self.0.observer.set(Box::new(observer)).is_ok()
    }

    /// Closes a reservation: what is not drawn returns to the budget now, what is drawn returns as it drops.
    pub(crate) fn close_reservation(&self, id: u64) {
        let mut books = self.lock();
        books.close(id);
        self.settle(books);
    }

    pub(crate) fn reattribute(&self, from: Part, to: usize) {
        let mut books = self.lock();
        books.reattribute(from, to);
        debug_assert_eq!(books.check(), Ok(()));
    }

    /// Counts one more buffer in a cell (a permit was split).
    pub(crate) fn count_buffer(&self, part: Part) {
        self.lock().spaces[part.space].cells.add(part.cell, 0, 1);
    }

    pub(crate) fn give_back(&self, from: Part, bytes: u64, buffers: u64, origin: Option<Origin>) {
        let mut books = self.lock();
        books.give_back(from, bytes, buffers, origin);
        self.settle(books);
    }

    /// A consistent copy of the books.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<C, S> {
        let books = self.lock();
        let usage = |s: &SpaceBooks| SpaceUsage {
            space: s.space,
            budget: s.budget,
            in_use: s.in_use,
            peak: s.peak,
            waiting: s.waiting,
            cells: s.cells.clone(),
        };
        Snapshot::new(books.spaces.iter().map(usage).collect())
    }
}
