//! A consistent copy of the books at one moment.

use std::marker::PhantomData;

use crate::{Label, Space};

/// One cell of the class x stage matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Bytes now.
    pub bytes: u64,
    /// Buffers (permits) now.
    pub buffers: u64,
    /// Highest value of `bytes` so far.
    pub peak_bytes: u64,
}

impl Cell {
    pub(crate) fn add(&mut self, bytes: u64, buffers: u64) {
        self.bytes += bytes;
        self.buffers += buffers;
        self.peak_bytes = self.peak_bytes.max(self.bytes);
    }

    pub(crate) fn sub(&mut self, bytes: u64, buffers: u64) {
        self.bytes -= bytes;
        self.buffers -= buffers;
    }
}

/// The class x stage matrix of a space, and the sum of each class over its stages with a peak of its own: the peaks of the stages need
/// not fall together.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    stages: usize,
    cells: Vec<Cell>,
    classes: Vec<Cell>,
}

impl Matrix {
    pub(crate) fn new(classes: usize, stages: usize) -> Self {
        Self { stages, cells: vec![Cell::default(); classes * stages], classes: vec![Cell::default(); classes] }
    }

    /// `cell` is class x stages + stage.
    pub(crate) fn add(&mut self, cell: usize, bytes: u64, buffers: u64) {
        self.cells[cell].add(bytes, buffers);
        self.classes[cell / self.stages].add(bytes, buffers);
    }

    pub(crate) fn sub(&mut self, cell: usize, bytes: u64, buffers: u64) {
        self.cells[cell].sub(bytes, buffers);
        self.classes[cell / self.stages].sub(bytes, buffers);
    }

    /// The cells sum to what is in use, and that is within the budget.
    pub(crate) fn check(&self, space: Space, in_use: u64, budget: u64) -> Result<(), String> {
        let sum: u64 = self.cells.iter().map(|c| c.bytes).sum();
        if sum != in_use {
            return Err(format!("{space}: the cells sum to {sum} bytes, {in_use} are in use"));
        }
        if in_use > budget {
            return Err(format!("{space}: {in_use} bytes in use exceed the budget of {budget}"));
        }
        Ok(())
    }
}

/// The books of one space.
#[derive(Clone, Debug)]
pub struct SpaceUsage {
    /// Which space.
    pub space: Space,
    /// Bytes it has in all.
    pub budget: u64,
    /// Bytes in use.
    pub in_use: u64,
    /// Highest value of `in_use` so far.
    pub peak: u64,
    /// Requests that wait now.
    pub waiting: usize,
    pub(crate) cells: Matrix,
}

/// The books of every space at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<C, S> {
    spaces: Vec<SpaceUsage>,
    labels: PhantomData<fn() -> (C, S)>,
}

impl<C: Label, S: Label> Snapshot<C, S> {
    pub(crate) fn new(spaces: Vec<SpaceUsage>) -> Self {
        Self { spaces, labels: PhantomData }
    }

    /// Every space the ledger has a budget for.
    #[must_use]
    pub fn spaces(&self) -> &[SpaceUsage] {
        &self.spaces
    }

    fn space(&self, space: Space) -> Option<&SpaceUsage> {
        self.spaces.iter().find(|s| s.space == space)
    }

    /// Bytes in use in a space (0 for a space without a budget).
    #[must_use]
    pub fn in_use(&self, space: Space) -> u64 {
        self.space(space).map_or(0, |s| s.in_use)
    }

    /// Highest number of bytes in use so far.
    #[must_use]
    pub fn peak(&self, space: Space) -> u64 {
        self.space(space).map_or(0, |s| s.peak)
    }

    /// One cell of the matrix.
    #[must_use]
    pub fn cell(&self, space: Space, class: C, stage: S) -> Cell {
        self.space(space).map_or_else(Cell::default, |s| s.cells.cells[class.index() * S::ALL.len() + stage.index()])
    }

    /// Bytes in one cell.
    #[must_use]
    pub fn bytes(&self, space: Space, class: C, stage: S) -> u64 {
        self.cell(space, class, stage).bytes
    }

    /// A class over all its stages; its peak is that of the sum, not the sum of the stages' peaks.
    #[must_use]
    pub fn class(&self, space: Space, class: C) -> Cell {
        self.space(space).map_or_else(Cell::default, |s| s.cells.classes[class.index()])
    }

    /// Every cell that holds or has held something.
    pub fn cells(&self) -> impl Iterator<Item = (Space, C, S, Cell)> + '_ {
        self.spaces.iter().flat_map(|space| {
            C::ALL.iter().flat_map(move |&class| {
                S::ALL.iter().filter_map(move |&stage| {
                    let cell = space.cells.cells[class.index() * S::ALL.len() + stage.index()];
                    (cell.peak_bytes > 0 || cell.buffers > 0).then_some((space.space, class, stage, cell))
                })
            })
        })
    }

    /// The invariant of the books: the cells of each space sum to what is in use, and that is within the budget.
    ///
    /// # Errors
    /// A sentence that names the space and the numbers.
    pub fn check(&self) -> Result<(), String> {
        self.spaces.iter().try_for_each(|s| s.cells.check(s.space, s.in_use, s.budget))
    }
}
