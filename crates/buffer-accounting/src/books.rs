//! The books: plain arithmetic on bytes, and who waits for which. Labels are numbers here; nothing blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::task::Waker;

use crate::snapshot::Matrix;
use crate::sync::{Arc, Condvar};
use crate::{Priority, Space};

/// Bytes of one space, counted in one cell of its matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Index of the space in [`Books::spaces`].
    pub(crate) space: usize,
    /// class x stages + stage.
    pub(crate) cell: usize,
    pub(crate) bytes: u64,
}

/// The line of a reservation that a permit was drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) reservation: u64,
    pub(crate) line: usize,
}

/// What is waited for.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// All of these from the budgets, in one step; `buffers` are counted in each cell.
    Budget { parts: Vec<Part>, buffers: u64 },
    /// A part of a reservation's line.
    Draw { origin: Origin, part: Part },
}

/// Place in the queue: by priority, then by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    rank: Priority,
    number: u64,
}

/// How a waiter is told.
pub(crate) enum Notify {
    Thread(Arc<Condvar>),
    Task(Waker),
}

impl Notify {
    pub(crate) fn notify(self) {
        match self {
            Self::Thread(condvar) => condvar.notify_one(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

struct Waiter {
    ask: Ask,
    notify: Notify,
}

/// One space.
pub(crate) struct SpaceBooks {
    pub(crate) space: Space,
    pub(crate) budget: u64,
    pub(crate) in_use: u64,
    pub(crate) peak: u64,
    pub(crate) cells: Matrix,
    /// Requests for the budget that wait now.
    pub(crate) waiting: usize,
    /// Bytes that came back so far, so that a watcher can tell whether anything did.
    pub(crate) returned: u64,
}

/// Bytes of a reservation in one space.
pub(crate) struct Line {
    pub(crate) part: Part,
    pub(crate) free: u64,
}

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) spaces: Vec<SpaceBooks>,
    /// Open reservations. A part whose reservation is closed returns straight to the budget.
    pub(crate) reservations: HashMap<u64, Vec<Line>>,
    waiting: BTreeMap<Place, Waiter>,
    /// Granted to waiters that have not woken up yet.
    granted: BTreeSet<Place>,
    next: u64,
}

impl Books {
    pub(crate) fn new(spaces: Vec<SpaceBooks>) -> Self {
        Self { spaces, ..Self::default() }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Bytes free in a space.
    pub(crate) fn free(&self, space: usize) -> u64 {
        self.spaces[space].budget - self.spaces[space].in_use
    }

    /// Bytes that all parts take together in one space.
    pub(crate) fn needed(parts: &[Part], space: usize) -> u64 {
        parts.iter().filter(|p| p.space == space).fold(0, |sum, p| sum.saturating_add(p.bytes))
    }

    /// Whether the ask can be granted before those in the queue of its rank, and fits now.
    pub(crate) fn is_open(&self, ask: &Ask, priority: Priority) -> bool {
        let ahead = |waiter: &Waiter| match (&waiter.ask, ask) {
            (Ask::Budget { parts: theirs, .. }, Ask::Budget { parts, .. }) => {
                parts.iter().any(|p| theirs.iter().any(|t| t.space == p.space))
            }
            (Ask::Draw { origin: theirs, .. }, Ask::Draw { origin, .. }) => theirs == origin,
            _ => false,
        };
        let last = Place { rank: priority, number: u64::MAX };
        self.fits(ask) && !self.waiting.range(..last).any(|(_, waiter)| ahead(waiter))
    }

    fn fits(&self, ask: &Ask) -> bool {
        match ask {
            Ask::Budget { parts, .. } => parts.iter().all(|p| Self::needed(parts, p.space) <= self.free(p.space)),
            // A line that is gone grants nothing, and its waiters are told so: see `close`.
            Ask::Draw { origin, part } => self.line(*origin).is_some_and(|line| part.bytes <= line.free),
        }
    }

    pub(crate) fn line(&self, origin: Origin) -> Option<&Line> {
        self.reservations.get(&origin.reservation)?.get(origin.line)
    }

    /// Takes what was asked for; the caller knows that it fits.
    pub(crate) fn take(&mut self, ask: &Ask) {
        match ask {
            Ask::Budget { parts, buffers } => {
                for part in parts {
                    let space = &mut self.spaces[part.space];
                    space.in_use += part.bytes;
                    space.peak = space.peak.max(space.in_use);
                    space.cells.add(part.cell, part.bytes, *buffers);
                }
            }
            Ask::Draw { origin, part } => {
                if let Some(line) = self.reservations.get_mut(&origin.reservation).and_then(|lines| lines.get_mut(origin.line)) {
                    line.free -= part.bytes;
                    let space = &mut self.spaces[line.part.space];
                    space.cells.sub(line.part.cell, part.bytes, 0);
                    space.cells.add(part.cell, part.bytes, 1);
                }
            }
        }
    }

    fn untake(&mut self, ask: &Ask) {
        match ask {
            Ask::Budget { parts, buffers } => parts.iter().for_each(|part| self.give_back(*part, part.bytes, *buffers, None)),
            Ask::Draw { origin, part } => self.give_back(*part, part.bytes, 1, Some(*origin)),
        }
    }

    /// Returns bytes of a cell to the line they were drawn from, if it is still open, else to the budget.
    pub(crate) fn give_back(&mut self, from: Part, bytes: u64, buffers: u64, origin: Option<Origin>) {
        let line = origin.and_then(|o| self.reservations.get_mut(&o.reservation)?.get_mut(o.line));
        let space = &mut self.spaces[from.space];
        space.cells.sub(from.cell, bytes, buffers);
        match line {
            Some(line) => {
                line.free += bytes;
                space.cells.add(line.part.cell, bytes, 0);
            }
            None => {
                space.in_use -= bytes;
                space.returned = space.returned.wrapping_add(bytes);
            }
        }
    }

    /// Moves one buffer to another cell.
    pub(crate) fn reattribute(&mut self, from: Part, cell: usize) {
        let cells = &mut self.spaces[from.space].cells;
        cells.sub(from.cell, from.bytes, 1);
        cells.add(cell, from.bytes, 1);
    }

    /// Opens a reservation whose bytes were taken already.
    pub(crate) fn open(&mut self, parts: &[Part]) -> u64 {
        let id = self.number();
        self.reservations.insert(id, parts.iter().map(|&part| Line { part, free: part.bytes }).collect());
        id
    }

    /// Closes a reservation: what is not drawn returns to the budget.
    pub(crate) fn close(&mut self, id: u64) {
        for line in self.reservations.remove(&id).unwrap_or_default() {
            self.give_back(line.part, line.free, 1, None);
        }
    }

    /// Queues an ask.
    pub(crate) fn enqueue(&mut self, ask: Ask, priority: Priority, notify: Notify) -> Place {
        let place = Place { rank: priority, number: self.number() };
        self.count_waiting(&ask, true);
        self.waiting.insert(place, Waiter { ask, notify });
        place
    }

    fn count_waiting(&mut self, ask: &Ask, more: bool) {
        if let Ask::Budget { parts, .. } = ask {
            for (k, space) in self.spaces.iter_mut().enumerate() {
                if parts.iter().any(|p| p.space == k) {
                    space.waiting = if more { space.waiting + 1 } else { space.waiting - 1 };
                }
            }
        }
    }

    /// Hands free bytes to those who wait, in their order, and says whom to tell. One that does not fit keeps those behind it from what
    /// it waits for, so it is not starved by smaller ones.
    pub(crate) fn settle(&mut self) -> Vec<Notify> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let mut blocked_spaces = vec![false; self.spaces.len()];
        let mut blocked_lines: Vec<Origin> = Vec::new();
        let mut fitting = Vec::new();
        let places: Vec<Place> = self.waiting.keys().copied().collect();
        for place in places {
            let Some(waiter) = self.waiting.get(&place) else { continue };
            let behind = match &waiter.ask {
                Ask::Budget { parts, .. } => parts.iter().any(|p| blocked_spaces[p.space]),
                Ask::Draw { origin, .. } => blocked_lines.contains(origin),
            };
            if !behind && self.fits(&waiter.ask) {
                if let Some(waiter) = self.waiting.remove(&place) {
                    self.take(&waiter.ask);
                    self.count_waiting(&waiter.ask, false);
                    self.granted.insert(place);
                    fitting.push(waiter.notify);
                }
                continue;
            }
            match &waiter.ask {
                Ask::Budget { parts, .. } => parts.iter().for_each(|p| blocked_spaces[p.space] = true),
                Ask::Draw { origin, .. } => blocked_lines.push(*origin),
            }
        }
        fitting
    }

    /// True once: the waiter was granted what it asked for and has it from now on.
    pub(crate) fn collect(&mut self, place: Place) -> bool {
        self.granted.remove(&place)
    }

    /// A task that waits is polled with another waker.
    pub(crate) fn rewake(&mut self, place: Place, waker: &Waker) {
        if let Some(waiter) = self.waiting.get_mut(&place) {
            waiter.notify = Notify::Task(waker.clone());
        }
    }

    /// Gives a wait up, whether it was granted meanwhile (`ask` says what then goes back) or not.
    pub(crate) fn give_up(&mut self, place: Place, ask: &Ask) {
        if let Some(waiter) = self.waiting.remove(&place) {
            self.count_waiting(&waiter.ask, false);
        } else if self.granted.remove(&place) {
            self.untake(ask);
        }
    }

    /// Whether somebody waits for a budget.
    pub(crate) fn waiting_for_budget(&self) -> bool {
        self.spaces.iter().any(|space| space.waiting > 0)
    }

    /// The first of those who wait for a budget and do not fit, as bytes needed in each space.
    #[cfg(not(loom))]
    pub(crate) fn first_short(&self) -> Option<Vec<(usize, u64)>> {
        self.waiting.values().find_map(|waiter| match &waiter.ask {
            Ask::Budget { parts, .. } => {
                let mut needs: Vec<(usize, u64)> = Vec::new();
                for part in parts {
                    if !needs.iter().any(|(space, _)| *space == part.space) {
                        needs.push((part.space, Self::needed(parts, part.space)));
                    }
                }
                needs.iter().any(|&(space, bytes)| bytes > self.free(space)).then_some(needs)
            }
            Ask::Draw { .. } => None,
        })
    }

    /// The invariant: cells sum to what is in use, that is within the budget, and undrawn bytes are in their lines' cells.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (k, s) in self.spaces.iter().enumerate() {
            s.cells.check(s.space, s.in_use, s.budget)?;
            let undrawn: u64 = self.reservations.values().flatten().filter(|l| l.part.space == k).map(|l| l.free).sum();
            if undrawn > s.in_use {
                return Err(format!("{}: {undrawn} bytes are reserved and not drawn, but only {} are in use", s.space, s.in_use));
            }
        }
        Ok(())
    }
}
