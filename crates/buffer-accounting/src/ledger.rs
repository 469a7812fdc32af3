//! The ledger: one budget per space, one matrix of class x stage per space.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::permit::Permit;
use crate::snapshot::{Cell, Snapshot, SpaceUsage};
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
    cells: Vec<Cell>,
    /// Tickets of the waiting requests, oldest first.
    waiting: VecDeque<u64>,
}

struct State {
    spaces: Vec<SpaceState>,
    next_ticket: u64,
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
                    cells: vec![Cell::default(); C::ALL.len() * S::ALL.len()],
                    waiting: VecDeque::new(),
                }),
            }
        }
        Self(Arc::new(Shared { state: Mutex::new(State { spaces, next_ticket: 0 }), changed: Condvar::new(), labels: PhantomData }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The books are changed by plain arithmetic that cannot unwind half-way, so a poisoned lock still guards consistent books.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        space.cells[Self::cell(request.class, request.stage)].add(request.bytes, 1);
        Permit::granted(self.clone(), *request)
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
        let waker = self.clone();
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
        // Taking the lock before the notification closes the gap between a waiter's check of the flag and its sleep.
        let subscription = cancel.subscribe(move || {
            drop(waker.lock());
            waker.0.changed.notify_all();
        });
        let mut state = self.lock();
        let granted = loop {
            let space = &state.spaces[index];
            if cancel.is_cancelled() {
                break Err(AcquireError::Cancelled { space: request.space, needed: request.bytes });
            }
            if space.waiting.front() == Some(&ticket) && request.bytes <= space.budget - space.in_use {
                break Ok(self.grant(&mut state, index, &request));
            }
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        state.spaces[index].waiting.retain(|t| *t != ticket);
        drop(state);
        // The next in line may fit too, or may have been waiting behind a cancelled one.
        self.0.changed.notify_all();
        drop(subscription);
        granted
    }

    /// Moves `bytes` and `buffers` from one cell to another of the same class. The total does not change.
    pub(crate) fn reattribute(&self, space: Space, class: C, from: S, to: S, bytes: u64, buffers: u64) {
        let mut state = self.lock();
        if let Some(space) = state.spaces.iter_mut().find(|s| s.space == space) {
            space.cells[Self::cell(class, from)].sub(bytes, buffers);
            space.cells[Self::cell(class, to)].add(bytes, buffers);
        }
    }

    /// Counts one more buffer in a cell (a permit was split).
    pub(crate) fn count_buffer(&self, space: Space, class: C, stage: S) {
        let mut state = self.lock();
        if let Some(space) = state.spaces.iter_mut().find(|s| s.space == space) {
            space.cells[Self::cell(class, stage)].add(0, 1);
        }
    }

    /// Returns bytes to the budget.
    pub(crate) fn give_back(&self, space: Space, class: C, stage: S, bytes: u64, buffers: u64) {
        let mut state = self.lock();
        if let Some(space) = state.spaces.iter_mut().find(|s| s.space == space) {
            space.in_use -= bytes;
            space.cells[Self::cell(class, stage)].sub(bytes, buffers);
        }
        drop(state);
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
