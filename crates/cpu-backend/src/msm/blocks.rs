//! Scalars in blocks, and the classes of their values.

use std::ops::Range;

use bls12_381_layout::{Limbs, canonical_limbs};
use blstrs::Scalar;
use prover_backend::{Scalars, SelectedWitness};
use rayon::prelude::*;

use super::digits::{Value, Windows, classify};
use super::plan::{BLOCK, CHUNK_BLOCKS, Census};

/// Marks the opposite of a point in an index.
pub(crate) const NEGATIVE: u32 = 1 << 31;

/// Counts the values that need more than one addition.
pub(crate) fn census(scalars: &Scalars<'_>) -> Census {
    match scalars {
        Scalars::Dense(values) => values
            .par_chunks(BLOCK)
            .map(|block| {
                let mut census = Census::default();
                for value in block {
                    match classify(&canonical_limbs(value)) {
                        Value::Zero | Value::One { .. } => {}
                        Value::Small { .. } => census.small += 1,
                        Value::Full { .. } => census.full += 1,
                    }
                }
                census
            })
            .reduce(Census::default, |a, b| Census { full: a.full + b.full, small: a.small + b.small }),
        Scalars::Witness(selected) => {
            let flags = selected.witness().full_flags();
            let full = selected.words().map(|w| (selected.mask(w) & flags[w]).count_ones() as usize).sum();
            Census { full, small: 0 }
        }
    }
}

/// A block of scalars: where their points are in the section, and for a witness the words that hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) positions: Range<usize>,
    words: Range<usize>,
}

/// Walks over the scalars, a chunk of blocks at a time.
pub(crate) struct Spans<'a> {
    scalars: &'a Scalars<'a>,
    position: usize,
    word: usize,
}

impl<'a> Spans<'a> {
    pub(crate) fn new(scalars: &'a Scalars<'a>) -> Self {
        let word = match scalars {
            Scalars::Dense(_) => 0,
            Scalars::Witness(selected) => selected.words().start,
        };
        Self { scalars, position: 0, word }
    }

    /// The blocks of the next chunk; none at the end.
    pub(crate) fn next_chunk(&mut self) -> Vec<Span> {
        let mut spans = Vec::with_capacity(CHUNK_BLOCKS);
        while spans.len() < CHUNK_BLOCKS {
            let span = match self.scalars {
                Scalars::Dense(values) => Span { positions: self.position..values.len().min(self.position + BLOCK), words: 0..0 },
                Scalars::Witness(selected) => self.witness_span(selected),
            };
            if span.positions.is_empty() {
                break;
            }
            self.position = span.positions.end;
            self.word = span.words.end;
            spans.push(span);
        }
        spans
    }

    /// As many words as hold a block of selected variables.
    fn witness_span(&self, selected: &SelectedWitness<'_>) -> Span {
        let (first, end) = (self.word, selected.words().end);
        let (mut word, mut count) = (first, 0);
        while word < end {
            let more = selected.mask(word).count_ones() as usize;
            if count + more > BLOCK {
                break;
            }
            count += more;
            word += 1;
        }
        Span { positions: self.position..self.position + count, words: first..word }
    }
}

/// The values of a block by class: indices of points in the chunk, marked when [`NEGATIVE`].
pub(crate) struct Entries<'a> {
    /// Full-size values from the front, small ones from the back.
    index: &'a mut [u32],
    recoded: &'a mut [Limbs],
    ones: &'a mut [u32],
    full: usize,
    small: usize,
    ones_len: usize,
}

impl<'a> Entries<'a> {
    /// An empty block over slots for all of its positions.
    pub(crate) fn new(index: &'a mut [u32], recoded: &'a mut [Limbs], ones: &'a mut [u32]) -> Self {
        Self { index, recoded, ones, full: 0, small: 0, ones_len: 0 }
    }

    /// Points that are added as they are.
    pub(crate) fn ones(&self) -> &[u32] {
        &self.ones[..self.ones_len]
    }

    /// Indices and recoded values of full-size values.
    #[inline]
    pub(crate) fn full(&self) -> impl Iterator<Item = (&u32, &Limbs)> {
        self.index[..self.full].iter().zip(&self.recoded[..self.full])
    }

    /// Indices and recoded values of small values.
    #[inline]
    pub(crate) fn small(&self) -> impl Iterator<Item = (&u32, &Limbs)> {
        let first = self.index.len() - self.small;
        self.index[first..].iter().zip(&self.recoded[first..])
    }

    /// Number of values that are not 0 or ±1.
    pub(crate) fn len(&self) -> usize {
        self.full + self.small
    }

    fn put(&mut self, index: u32, value: &Scalar, windows: Option<Windows>) {
        let sign = |negative| if negative { NEGATIVE } else { 0 };
        let recode = |magnitude: &Limbs| windows.map_or(*magnitude, |w| w.recode(magnitude));
        match classify(&canonical_limbs(value)) {
            Value::Zero => {}
            Value::One { negative } => self.put_one(index | sign(negative)),
            Value::Small { magnitude, negative } => {
                self.small += 1;
                let slot = self.index.len() - self.small;
                self.index[slot] = index | sign(negative);
                self.recoded[slot] = recode(&magnitude);
            }
            Value::Full { magnitude, negative } => {
                self.index[self.full] = index | sign(negative);
                self.recoded[self.full] = recode(&magnitude);
                self.full += 1;
            }
        }
    }

    fn put_one(&mut self, index: u32) {
        self.ones[self.ones_len] = index;
        self.ones_len += 1;
    }

    /// Sorts the scalars of a span into classes. Indices count from `chunk_start`; without windows values are stored as they are.
    pub(crate) fn fill(&mut self, scalars: &Scalars<'_>, span: &Span, chunk_start: usize, windows: Option<Windows>) {
        let first = (span.positions.start - chunk_start) as u32;
        match scalars {
            Scalars::Dense(values) => {
                for (index, value) in (first..).zip(&values[span.positions.clone()]) {
                    self.put(index, value, windows);
                }
            }
            Scalars::Witness(selected) => self.fill_from_witness(selected, span, first, windows),
        }
    }

    fn fill_from_witness(&mut self, selected: &SelectedWitness<'_>, span: &Span, first: u32, windows: Option<Windows>) {
        let witness = selected.witness();
        let (ones, flags) = (witness.ones(), witness.full_flags());
        let mut rank = if span.words.is_empty() { 0 } else { witness.full_rank(span.words.start * 64) };
        let mut index = first;
        for word in span.words.clone() {
            let mask = selected.mask(word);
            let before = |bits: u64, bit: u32| (bits & ((1 << bit) - 1)).count_ones();
            for bit in set_bits(mask & ones[word] & !flags[word]) {
                self.put_one(index + before(mask, bit));
            }
            for bit in set_bits(mask & flags[word]) {
                let value = witness.full_value(rank + before(flags[word], bit) as usize);
                self.put(index + before(mask, bit), value, windows);
            }
            rank += flags[word].count_ones() as usize;
            index += mask.count_ones();
        }
    }
}

/// Positions of the set bits, ascending.
fn set_bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(bit)
    })
}
