//! The books of a simulated ledger: every buffer with its class and stage, and the sums over them.

use std::time::Duration;

use buffer_accounting::Label;
use pipeline_stage::{Class, StageName};

/// What happened to one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind<C = Class, S = StageName> {
    /// It was made.
    Take {
        /// What it is.
        class: C,
        /// Who has it.
        stage: S,
        /// Its size.
        bytes: u64,
    },
    /// It counts as something else, or as someone else's.
    Move {
        /// What it is.
        class: C,
        /// Who has it.
        stage: S,
    },
    /// It has another size (bytes set aside that are drawn or come back).
    Resize {
        /// Its size.
        bytes: u64,
    },
    /// It was given back.
    Give,
}

/// A line of the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<C = Class, S = StageName> {
    /// When.
    pub time: Duration,
    /// Which buffer, numbered in the order in which they were made.
    pub buffer: usize,
    /// What happened to it.
    pub kind: EntryKind<C, S>,
}

#[derive(Clone, Copy)]
struct Held<C, S> {
    class: C,
    stage: S,
    bytes: u64,
}

/// Sums by class and stage, kept up with every entry.
pub(super) struct Books<C, S> {
    /// `None` for one that was given back.
    buffers: Vec<Option<Held<C, S>>>,
    cells: Vec<u64>,
    pub(super) class_bytes: Vec<u64>,
    pub(super) class_buffers: Vec<u32>,
    pub(super) in_use: u64,
    pub(super) peak: u64,
    pub(super) peak_at: Duration,
    pub(super) peak_by_class: Vec<u64>,
    pub(super) cell_peaks: Vec<u64>,
    pub(super) entries: Vec<Entry<C, S>>,
}

impl<C: Label, S: Label> Books<C, S> {
    pub(super) fn new() -> Self {
        let (classes, cells) = (C::ALL.len(), C::ALL.len() * S::ALL.len());
        Self {
            buffers: Vec::new(),
            cells: vec![0; cells],
            class_bytes: vec![0; classes],
            class_buffers: vec![0; classes],
            in_use: 0,
            peak: 0,
            peak_at: Duration::ZERO,
            peak_by_class: vec![0; classes],
            cell_peaks: vec![0; cells],
            entries: Vec::new(),
        }
    }

    fn cell(class: C, stage: S) -> usize {
        class.index() * S::ALL.len() + stage.index()
    }

    fn add(&mut self, time: Duration, held: Held<C, S>) {
        let cell = Self::cell(held.class, held.stage);
        self.cells[cell] += held.bytes;
        self.cell_peaks[cell] = self.cell_peaks[cell].max(self.cells[cell]);
        self.class_bytes[held.class.index()] += held.bytes;
        self.class_buffers[held.class.index()] += u32::from(held.bytes > 0);
        self.in_use += held.bytes;
        if self.in_use > self.peak {
            (self.peak, self.peak_at) = (self.in_use, time);
            self.peak_by_class.clone_from(&self.class_bytes);
        }
    }

    fn sub(&mut self, held: Held<C, S>) {
        self.cells[Self::cell(held.class, held.stage)] -= held.bytes;
        self.class_bytes[held.class.index()] -= held.bytes;
        self.class_buffers[held.class.index()] -= u32::from(held.bytes > 0);
        self.in_use -= held.bytes;
    }

    pub(super) fn take(&mut self, time: Duration, class: C, stage: S, bytes: u64) -> usize {
        let held = Held { class, stage, bytes };
        let buffer = self.buffers.len();
        self.buffers.push(Some(held));
        self.add(time, held);
        self.entries.push(Entry { time, buffer, kind: EntryKind::Take { class, stage, bytes } });
        buffer
    }

    /// Changes what a buffer counts as; one that was given back stays away.
    fn change(&mut self, time: Duration, buffer: usize, kind: EntryKind<C, S>, to: impl FnOnce(Held<C, S>) -> Option<Held<C, S>>) {
        let Some(held) = self.buffers[buffer] else { return };
        self.sub(held);
        self.buffers[buffer] = to(held);
        if let Some(held) = self.buffers[buffer] {
            self.add(time, held);
        }
        self.entries.push(Entry { time, buffer, kind });
    }

    pub(super) fn reattribute(&mut self, time: Duration, buffer: usize, stage: S) {
        if let Some(held) = self.buffers[buffer] {
            self.reclass(time, buffer, held.class, stage);
        }
    }

    pub(super) fn reclass(&mut self, time: Duration, buffer: usize, class: C, stage: S) {
        self.change(time, buffer, EntryKind::Move { class, stage }, |held| Some(Held { class, stage, ..held }));
    }

    pub(super) fn resize(&mut self, time: Duration, buffer: usize, bytes: u64) {
        if self.bytes(buffer) != bytes {
            self.change(time, buffer, EntryKind::Resize { bytes }, |held| Some(Held { bytes, ..held }));
        }
    }

    pub(super) fn give(&mut self, time: Duration, buffer: usize) {
        self.change(time, buffer, EntryKind::Give, |_| None);
    }

    pub(super) fn bytes(&self, buffer: usize) -> u64 {
        self.buffers[buffer].map_or(0, |held| held.bytes)
    }

    pub(super) fn class(&self, buffer: usize) -> Option<C> {
        self.buffers[buffer].map(|held| held.class)
    }
}
