//! The ledger: one budget per space, one matrix of class x stage per space.

use std::collections::{HashMap, VecDeque};
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::permit::Permit;
use crate::reservation::Reservation;
use crate::snapshot::{Matrix, Snapshot, SpaceUsage};
use crate::{Cancel, Label, Space};

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

/// Why bytes were not granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// No waiting can help: the request is larger than the whole budget.
    #[error(
        "{class} at {stage} needs {needed} bytes of {space} memory, but the whole budget is {budget} bytes ({held} in use now): raise the budget or use a smaller job"
    )]
    ExceedsBudget {
        /// Space that was asked for.
        space: Space,
        /// Class of the buffer.
        class: &'static str,
        /// Stage that asked.
        stage: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes the space has in all.
        budget: u64,
        /// Bytes in use when it was asked.
        held: u64,
    },
    /// The bytes are there but not free now (only from [`Ledger::try_acquire`]).
    #[error("{class} at {stage} needs {needed} bytes of {space} memory; {available} of {budget} bytes are free now")]
    WouldBlock {
        /// Space that was asked for.
        space: Space,
        /// Class of the buffer.
        class: &'static str,
        /// Stage that asked.
        stage: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes the space has in all.
        budget: u64,
        /// Bytes free now.
        available: u64,
    },
    /// The bytes are not free, and the one who asks is the only one who could return some, so waiting would never end.
    #[error(
        "{class} at {stage} needs {needed} bytes of {space} memory besides what it holds; {available} of {budget} bytes are free and nobody else will return any: raise the budget"
    )]
    NobodyReturns {
        /// Space that was asked for.
        space: Space,
        /// Class of the buffer.
        class: &'static str,
        /// Stage that asked.
        stage: &'static str,
        /// Bytes asked for.
        needed: u64,
        /// Bytes the space has in all.
        budget: u64,
        /// Bytes free now.
        available: u64,
    },
    /// The wait was cancelled; nothing is held.
    #[error("the wait for {needed} bytes of {space} memory was cancelled")]
    Cancelled {
        /// Space that was asked for.
        space: Space,
        /// Bytes asked for.
        needed: u64,
    },
    /// The ledger has no budget for this space.
    #[error("the ledger has no budget for {space} memory")]
    UnknownSpace {
        /// Space that was asked for.
        space: Space,
    },
}

struct SpaceState {
    space: Space,
    budget: u64,
    in_use: u64,
    peak: u64,
    cells: Matrix,
    /// Tickets of the waiting requests, oldest first.
    waiting: VecDeque<u64>,
}

/// Bytes set aside in one step, from which parts are drawn.
struct ReservationState {
    index: usize,
    class: usize,
    stage: usize,
    total: u64,
    free: u64,
    waiting: VecDeque<u64>,
}

struct State {
    spaces: Vec<SpaceState>,
    next_ticket: u64,
    /// Open reservations by number. A part whose reservation is gone returns straight to the budget.
    reservations: HashMap<u64, ReservationState>,
}

pub(crate) struct Shared<C, S> {
    state: Mutex<State>,
    changed: Condvar,
    labels: PhantomData<fn() -> (C, S)>,
}

/// The bytes of a process by space, class and stage. Cheap to clone; clones share the books.
pub struct Ledger<C: Label, S: Label>(Arc<Shared<C, S>>);

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

impl<C: Label, S: Label> Ledger<C, S> {
    /// A ledger with a budget in bytes for each space it knows. A space named twice gets the sum.
    #[must_use]
    pub fn new(budgets: &[(Space, u64)]) -> Self {
        let mut spaces: Vec<SpaceState> = Vec::new();
        for &(space, budget) in budgets {
            match spaces.iter_mut().find(|s| s.space == space) {
                Some(known) => known.budget = known.budget.saturating_add(budget),
                None => spaces.push(SpaceState {
                    space,
                    budget,
                    in_use: 0,
                    peak: 0,
                    cells: Matrix::new(C::ALL.len(), S::ALL.len()),
                    waiting: VecDeque::new(),
                }),
            }
        }
        Self(Arc::new(Shared {
            state: Mutex::new(State { spaces, next_ticket: 0, reservations: HashMap::new() }),
            changed: Condvar::new(),
            labels: PhantomData,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The books are changed by plain arithmetic that cannot unwind half-way, so a poisoned lock still guards consistent books.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when both share the books.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn cell(class: C, stage: S) -> usize {
        class.index() * S::ALL.len() + stage.index()
    }

    fn admissible(state: &State, request: &Request<C, S>) -> Result<usize, AcquireError> {
        let Some(index) = state.spaces.iter().position(|s| s.space == request.space) else {
            return Err(AcquireError::UnknownSpace { space: request.space });
        };
        let space = &state.spaces[index];
        if request.bytes > space.budget {
            return Err(AcquireError::ExceedsBudget {
                space: request.space,
                class: request.class.name(),
                stage: request.stage.name(),
                needed: request.bytes,
                budget: space.budget,
                held: space.in_use,
            });
        }
        Ok(index)
    }

    fn grant(&self, state: &mut State, index: usize, request: &Request<C, S>) -> Permit<C, S> {
        let space = &mut state.spaces[index];
        space.in_use += request.bytes;
        space.peak = space.peak.max(space.in_use);
        space.cells.add(Self::cell(request.class, request.stage), request.bytes, 1);
        Permit::granted(self.clone(), *request, None)
    }

    /// Grants the bytes now or says why not. Does not overtake requests that wait already.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`], [`AcquireError::WouldBlock`] or [`AcquireError::UnknownSpace`].
    pub fn try_acquire(&self, request: Request<C, S>) -> Result<Permit<C, S>, AcquireError> {
        let mut state = self.lock();
        let index = Self::admissible(&state, &request)?;
        let space = &state.spaces[index];
        let available = space.budget - space.in_use;
        if request.bytes > available || !space.waiting.is_empty() {
            return Err(AcquireError::WouldBlock {
                space: request.space,
                class: request.class.name(),
                stage: request.stage.name(),
                needed: request.bytes,
                budget: space.budget,
                available,
            });
        }
        Ok(self.grant(&mut state, index, &request))
    }

    /// Waits for the bytes, first come first served, until they are granted or `cancel` is raised.
    ///
    /// # Errors
    /// [`AcquireError::ExceedsBudget`] at once when no waiting can help, [`AcquireError::Cancelled`], [`AcquireError::UnknownSpace`].
    pub fn acquire(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        let mut state = self.lock();
        let index = Self::admissible(&state, &request)?;
        {
            let space = &state.spaces[index];
            if space.waiting.is_empty() && request.bytes <= space.budget - space.in_use && !cancel.is_cancelled() {
                return Ok(self.grant(&mut state, index, &request));
            }
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.spaces[index].waiting.push_back(ticket);
        drop(state);
        let mut state = self.wait_until(cancel, |state| {
            let space = &state.spaces[index];
            space.waiting.front() == Some(&ticket) && request.bytes <= space.budget - space.in_use
        });
        let granted = if cancel.is_cancelled() {
            Err(AcquireError::Cancelled { space: request.space, needed: request.bytes })
        } else {
            Ok(self.grant(&mut state, index, &request))
        };
        state.spaces[index].waiting.retain(|t| *t != ticket);
        drop(state);
        // The next in line may fit too, or may have been waiting behind a cancelled one.
        self.0.changed.notify_all();
        granted
    }

    /// Waits until `ready` says so or the flag is raised, and returns with the books locked.
    fn wait_until(&self, cancel: &Cancel, ready: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waker = self.clone();
        // Taking the lock before the notification closes the gap between a waiter's check of the flag and its sleep.
        let subscription = cancel.subscribe(move || {
            drop(waker.lock());
            waker.0.changed.notify_all();
        });
        let mut state = self.lock();
        while !cancel.is_cancelled() && !ready(&state) {
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // The listener takes this lock, so the subscription must not be dropped (it waits for the list of listeners) while another thread
        // runs listeners under that list: `Cancel` calls them outside its own lock, so this order is safe.
        drop(subscription);
        state
    }

    /// Sets bytes aside in one step, to be drawn in parts by whoever holds the [`Reservation`]. They count as in use, under the
    /// request's class and stage, until they are drawn; parts go back to the reservation as they drop.
    ///
    /// # Errors
    /// As for [`acquire`](Ledger::acquire).
    pub fn reserve(&self, request: Request<C, S>, cancel: &Cancel) -> Result<Reservation<C, S>, AcquireError> {
        let permit = self.acquire(request, cancel)?;
        let mut state = self.lock();
        let id = state.next_ticket;
        state.next_ticket += 1;
        let Some(index) = state.spaces.iter().position(|s| s.space == request.space) else {
            return Err(AcquireError::UnknownSpace { space: request.space });
        };
        state.reservations.insert(
            id,
            ReservationState {
                index,
                class: request.class.index(),
                stage: request.stage.index(),
                total: request.bytes,
                free: request.bytes,
                waiting: VecDeque::new(),
            },
        );
        drop(state);
        // From here on the reservation owns the bytes.
        permit.forget();
        Ok(Reservation::new(self.clone(), id, request))
    }

    /// Draws a part of a reservation; waits first come first served until enough parts have gone back.
    pub(crate) fn draw(&self, id: u64, request: Request<C, S>, cancel: &Cancel) -> Result<Permit<C, S>, AcquireError> {
        let mut state = self.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let Some(reservation) = state.reservations.get_mut(&id) else {
            return Err(AcquireError::UnknownSpace { space: request.space });
        };
        if request.bytes > reservation.total {
            return Err(AcquireError::ExceedsBudget {
                space: request.space,
                class: request.class.name(),
                stage: request.stage.name(),
                needed: request.bytes,
                budget: reservation.total,
                held: reservation.total - reservation.free,
            });
        }
        reservation.waiting.push_back(ticket);
        drop(state);
        let mut state = self.wait_until(cancel, |state| {
            state.reservations.get(&id).is_none_or(|r| r.waiting.front() == Some(&ticket) && request.bytes <= r.free)
        });
        let drawn = match state.reservations.get_mut(&id) {
            Some(reservation) => {
                reservation.waiting.retain(|t| *t != ticket);
                if cancel.is_cancelled() {
                    Err(AcquireError::Cancelled { space: request.space, needed: request.bytes })
                } else {
                    reservation.free -= request.bytes;
                    let (index, from) = (reservation.index, reservation.class * S::ALL.len() + reservation.stage);
                    let space = &mut state.spaces[index];
                    space.cells.sub(from, request.bytes, 0);
                    space.cells.add(Self::cell(request.class, request.stage), request.bytes, 1);
                    Ok(Permit::granted(self.clone(), request, Some(id)))
                }
            }
            None => Err(AcquireError::UnknownSpace { space: request.space }),
        };
        drop(state);
        self.0.changed.notify_all();
        drawn
    }

    /// Closes a reservation: what is not drawn returns to the budget now, what is drawn returns as it drops.
    pub(crate) fn close_reservation(&self, id: u64) {
        let mut state = self.lock();
        if let Some(reservation) = state.reservations.remove(&id) {
            let space = &mut state.spaces[reservation.index];
            space.in_use -= reservation.free;
            space.cells.sub(reservation.class * S::ALL.len() + reservation.stage, reservation.free, 1);
        }
        drop(state);
        self.0.changed.notify_all();
    }

    /// Moves one buffer of `from.bytes` bytes to another cell. The total does not change.
    pub(crate) fn reattribute(&self, from: &Request<C, S>, class: C, stage: S) {
        let mut state = self.lock();
        if let Some(space) = state.spaces.iter_mut().find(|s| s.space == from.space) {
            space.cells.sub(Self::cell(from.class, from.stage), from.bytes, 1);
            space.cells.add(Self::cell(class, stage), from.bytes, 1);
        }
    }

    /// Counts one more buffer in a cell (a permit was split).
    pub(crate) fn count_buffer(&self, space: Space, class: C, stage: S) {
        let mut state = self.lock();
        if let Some(space) = state.spaces.iter_mut().find(|s| s.space == space) {
            space.cells.add(Self::cell(class, stage), 0, 1);
        }
    }

    /// Returns bytes to the reservation they were drawn from, if it is still open, else to the budget.
    pub(crate) fn give_back(&self, from: Request<C, S>, bytes: u64, buffers: u64, origin: Option<u64>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let reservation = origin.and_then(|id| state.reservations.get_mut(&id));
        if let Some(space) = state.spaces.iter_mut().find(|s| s.space == from.space) {
            space.cells.sub(Self::cell(from.class, from.stage), bytes, buffers);
            match reservation {
                Some(reservation) => {
                    reservation.free += bytes;
                    space.cells.add(reservation.class * S::ALL.len() + reservation.stage, bytes, 0);
                }
                None => space.in_use -= bytes,
            }
        }
        drop(guard);
        self.0.changed.notify_all();
    }

    /// A consistent copy of the books.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<C, S> {
        let state = self.lock();
        let spaces = state
            .spaces
            .iter()
            .map(|s| SpaceUsage {
                space: s.space,
                budget: s.budget,
                in_use: s.in_use,
                peak: s.peak,
                waiting: s.waiting.len(),
                cells: s.cells.clone(),
            })
            .collect();
        Snapshot::new(spaces)
    }
}
