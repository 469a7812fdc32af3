//! The scalars of a multi-scalar multiplication: a dense vector, or a selection of a compact witness.

use std::ops::Range;

use blstrs::Scalar;
use ff::Field;

use crate::BackendError;

/// Scalars of one chunk of full-size values (1 MiB): a witness grows by whole chunks, so that it never owns much more than it needs.
pub const FULL_CHUNK: usize = 1 << 15;

/// Variables that share one entry of the rank index.
pub const RANK_BLOCK: usize = 512;

/// A compact witness: one bit for each variable that is 0 or 1, a full scalar for each other one. Variables are numbered inputs first
/// (ONE is variable 0), then auxiliary variables, each in order of allocation.
#[derive(Clone, Copy, Debug)]
pub struct WitnessView<'a> {
    variables: usize,
    ones: &'a [u64],
    full_flags: &'a [u64],
    ranks: &'a [u32],
    full: &'a [Vec<Scalar>],
}

impl<'a> WitnessView<'a> {
    /// A view of its parts.
    ///
    /// - `ones`: bit i (of word i / 64) is the value of variable i when that is 0 or 1, else 0;
    /// - `full_flags`: bit i is set when variable i is neither 0 nor 1;
    /// - `ranks`: for each block of [`RANK_BLOCK`] variables the number of set flags before it;
    /// - `full`: the values of the flagged variables in order, Montgomery form, in chunks of [`FULL_CHUNK`] (the last one may be shorter).
    ///
    /// # Errors
    /// [`BackendError::Length`] when the parts do not fit each other.
    pub fn new(
        variables: usize,
        ones: &'a [u64],
        full_flags: &'a [u64],
        ranks: &'a [u32],
        full: &'a [Vec<Scalar>],
    ) -> Result<Self, BackendError> {
        let check = |what, expected: usize, found: usize| {
            if expected == found { Ok(()) } else { Err(BackendError::Length { what, expected, found }) }
        };
        check("words of witness bits", variables.div_ceil(64), ones.len())?;
        check("words of witness flags", variables.div_ceil(64), full_flags.len())?;
        check("entries of the rank index", variables.div_ceil(RANK_BLOCK), ranks.len())?;
        let flagged = full_flags.iter().map(|w| w.count_ones() as usize).sum::<usize>();
        check("full-size witness values", flagged, full.iter().map(Vec::len).sum())?;
        for (k, chunk) in full.iter().enumerate() {
            if k + 1 < full.len() {
                check("values of a full chunk", FULL_CHUNK, chunk.len())?;
            }
        }
        Ok(Self { variables, ones, full_flags, ranks, full })
    }

    /// Number of variables.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// The bits of the 0/1 variables.
    #[must_use]
    pub fn ones(&self) -> &'a [u64] {
        self.ones
    }

    /// The flags of the full-size variables.
    #[must_use]
    pub fn full_flags(&self) -> &'a [u64] {
        self.full_flags
    }

    /// The k-th full-size value.
    #[inline]
    #[must_use]
    pub fn full_value(&self, k: usize) -> &'a Scalar {
        &self.full[k / FULL_CHUNK][k % FULL_CHUNK]
    }

    /// Number of full-size variables before variable `i`.
    #[inline]
    #[must_use]
    pub fn full_rank(&self, i: usize) -> usize {
        let block = i / RANK_BLOCK;
        let word = i / 64;
        let mut rank = self.ranks[block] as usize;
        for w in &self.full_flags[block * (RANK_BLOCK / 64)..word] {
            rank += w.count_ones() as usize;
        }
        rank + (self.full_flags[word] & ((1u64 << (i % 64)) - 1)).count_ones() as usize
    }

    /// The value of variable `i`, Montgomery form.
    ///
    /// # Panics
    /// When `i` is not below [`variables`](WitnessView::variables).
    #[inline]
    #[must_use]
    pub fn value(&self, i: usize) -> Scalar {
        let (word, bit) = (i / 64, i % 64);
        if self.full_flags[word] >> bit & 1 == 1 {
            *self.full_value(self.full_rank(i))
        } else if self.ones[word] >> bit & 1 == 1 {
            Scalar::ONE
        } else {
            Scalar::ZERO
        }
    }
}

/// Some variables of a witness, in order: those of a range whose density bit is set, or all of the range.
#[derive(Clone, Debug)]
pub struct SelectedWitness<'a> {
    witness: WitnessView<'a>,
    density: Option<&'a [u64]>,
    variables: Range<usize>,
}

impl<'a> SelectedWitness<'a> {
    /// All variables of a range.
    ///
    /// # Errors
    /// [`BackendError::Length`] when the range ends past the witness.
    pub fn range(witness: WitnessView<'a>, variables: Range<usize>) -> Result<Self, BackendError> {
        if variables.end > witness.variables() || variables.start > variables.end {
            return Err(BackendError::Length { what: "variables of the witness", expected: variables.end, found: witness.variables() });
        }
        Ok(Self { witness, density: None, variables })
    }

    /// The variables of a range whose bit in `density` (bit i of word i / 64 for variable i) is set.
    ///
    /// # Errors
    /// [`BackendError::Length`] when range or density do not fit the witness.
    pub fn dense(witness: WitnessView<'a>, density: &'a [u64], variables: Range<usize>) -> Result<Self, BackendError> {
        let words = witness.variables().div_ceil(64);
        if density.len() != words {
            return Err(BackendError::Length { what: "words of density", expected: words, found: density.len() });
        }
        Ok(Self { density: Some(density), ..Self::range(witness, variables)? })
    }

    /// The witness selected from.
    #[must_use]
    pub fn witness(&self) -> &WitnessView<'a> {
        &self.witness
    }

    /// The words of the witness that hold selected variables.
    #[must_use]
    pub fn words(&self) -> Range<usize> {
        if self.variables.is_empty() { 0..0 } else { self.variables.start / 64..self.variables.end.div_ceil(64) }
    }

    /// The mask of the selected variables among 64·word .. 64·word + 63.
    #[inline]
    #[must_use]
    pub fn mask(&self, word: usize) -> u64 {
        let first = word * 64;
        let mut mask = self.density.map_or(u64::MAX, |d| d[word]);
        if first < self.variables.start {
            mask &= u64::MAX.checked_shl((self.variables.start - first) as u32).unwrap_or(0);
        }
        if first + 64 > self.variables.end {
            mask &= u64::MAX.checked_shr((first + 64 - self.variables.end) as u32).unwrap_or(0);
        }
        mask
    }

    /// Number of selected variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words().map(|w| self.mask(w).count_ones() as usize).sum()
    }

    /// True when nothing is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words().all(|w| self.mask(w) == 0)
    }
}

/// One scalar for each point of a multi-scalar multiplication, in the order of the points.
#[derive(Clone, Debug)]
pub enum Scalars<'a> {
    /// Any values, Montgomery form.
    Dense(&'a [Scalar]),
    /// Variables of a compact witness.
    Witness(SelectedWitness<'a>),
}

impl Scalars<'_> {
    /// Number of scalars.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Dense(values) => values.len(),
            Self::Witness(selected) => selected.len(),
        }
    }

    /// True when there is no scalar.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Dense(values) => values.is_empty(),
            Self::Witness(selected) => selected.is_empty(),
        }
    }

    /// The scalars as a plain vector: the slow twin of every backend's own walk.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Scalar> {
        match self {
            Self::Dense(values) => values.to_vec(),
            Self::Witness(selected) => selected
                .words()
                .flat_map(|word| {
                    let mask = selected.mask(word);
                    (0..64).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| word * 64 + bit)
                })
                .map(|i| selected.witness.value(i))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Parts {
        ones: Vec<u64>,
        flags: Vec<u64>,
        ranks: Vec<u32>,
        full: Vec<Vec<Scalar>>,
    }

    fn compact(values: &[u64]) -> Parts {
        let words = values.len().div_ceil(64);
        let mut parts = Parts { ones: vec![0; words], flags: vec![0; words], ranks: Vec::new(), full: Vec::new() };
        let mut seen = 0;
        for (i, &v) in values.iter().enumerate() {
            if i % RANK_BLOCK == 0 {
                parts.ranks.push(seen);
            }
            match v {
                0 => {}
                1 => parts.ones[i / 64] |= 1 << (i % 64),
                _ => {
                    parts.flags[i / 64] |= 1 << (i % 64);
                    if (seen as usize).is_multiple_of(FULL_CHUNK) {
                        parts.full.push(Vec::new());
                    }
                    parts.full.last_mut().unwrap().push(Scalar::from(v));
                    seen += 1;
                }
            }
        }
        parts
    }

    fn view<'a>(values: &[u64], parts: &'a Parts) -> WitnessView<'a> {
        WitnessView::new(values.len(), &parts.ones, &parts.flags, &parts.ranks, &parts.full).unwrap()
    }

    proptest! {
        #[test]
        fn a_selection_is_what_it_says(
            values in prop::collection::vec(0u64..4, 1..2000),
            density in prop::collection::vec(any::<u64>(), 32),
            a in any::<prop::sample::Index>(),
            b in any::<prop::sample::Index>(),
        ) {
            let parts = compact(&values);
            let witness = view(&values, &parts);
            for (i, &v) in values.iter().enumerate() {
                prop_assert_eq!(witness.value(i), Scalar::from(v));
            }
            let (a, b) = (a.index(values.len() + 1), b.index(values.len() + 1));
            let range = a.min(b)..a.max(b);
            let plain: Vec<Scalar> = range.clone().map(|i| Scalar::from(values[i])).collect();
            let all = Scalars::Witness(SelectedWitness::range(witness, range.clone()).unwrap());
            prop_assert_eq!(all.len(), plain.len());
            prop_assert_eq!(all.is_empty(), plain.is_empty());
            prop_assert_eq!(all.to_vec(), plain);
            let words = values.len().div_ceil(64);
            let some = Scalars::Witness(SelectedWitness::dense(witness, &density[..words], range.clone()).unwrap());
            let plain: Vec<Scalar> = range.filter(|i| density[i / 64] >> (i % 64) & 1 == 1).map(|i| Scalar::from(values[i])).collect();
            prop_assert_eq!(some.len(), plain.len());
            prop_assert_eq!(some.to_vec(), plain);
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let values = vec![2u64; 600];
        let parts = compact(&values);
        assert!(WitnessView::new(601, &parts.ones, &parts.flags, &parts.ranks, &parts.full).is_ok_and(|w| w.variables() == 601));
        assert!(WitnessView::new(641, &parts.ones, &parts.flags, &parts.ranks, &parts.full).is_err());
        assert!(WitnessView::new(600, &parts.ones, &parts.flags, &parts.ranks[..1], &parts.full).is_err());
        assert!(WitnessView::new(600, &parts.ones, &parts.flags, &parts.ranks, &[]).is_err());
        let witness = view(&values, &parts);
        assert!(SelectedWitness::range(witness, 0..601).is_err());
        assert!(SelectedWitness::dense(witness, &[0; 9], 0..600).is_err());
    }
}
