//! Sets of variables that grow while a circuit is synthesised.

use std::ops::RangeInclusive;

use pipeline_stage::{Class, Permit, StageContext};

use crate::error::SynthError;

/// Least and most words a set grows by: 4 KiB and 1 MiB.
const GROWTH_WORDS: RangeInclusive<usize> = 1 << 9..=1 << 17;

/// Bytes of one growing structure, granted as it grows.
#[derive(Debug, Default)]
pub(crate) struct GrowingPermit(Option<Permit>);

impl GrowingPermit {
    /// Waits for more bytes of class `compiled_circuit`.
    pub(crate) fn grow(&mut self, bytes: u64, context: &StageContext) -> Result<(), SynthError> {
        let more = context.acquire(Class::CompiledCircuit, bytes)?;
        let Some(permit) = &mut self.0 else {
            self.0 = Some(more);
            return Ok(());
        };
        // One context grants both, so they merge; were they not to, the bytes would return while in use.
        permit.merge(more).map_err(|other| SynthError::Length {
            what: "bytes of a permit that grows",
            expected: bytes,
            found: bytes - other.bytes(),
        })
    }
}

/// A growing set of numbers, one bit each, under a permit.
#[derive(Debug, Default)]
pub(crate) struct Bits {
    // Freed before its bytes are returned.
    words: Vec<u64>,
    ones: u64,
    permit: GrowingPermit,
}

impl Bits {
    /// Adds a number.
    #[inline]
    pub(crate) fn set(&mut self, index: u64, context: &StageContext) -> Result<(), SynthError> {
        let word = (index / 64) as usize;
        if word >= self.words.len() {
            self.grow(word, context)?;
        }
        let bit = 1 << (index % 64);
        self.ones += u64::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, word: usize, context: &StageContext) -> Result<(), SynthError> {
        let words = self.words.len();
        let more = words.clamp(*GROWTH_WORDS.start(), *GROWTH_WORDS.end()).max(word + 1 - words);
        self.permit.grow(8 * more as u64, context)?;
        self.words.reserve_exact(more);
        self.words.resize(words + more, 0);
        Ok(())
    }

    pub(crate) fn contains(&self, index: u64) -> bool {
        self.words.get((index / 64) as usize).is_some_and(|w| w >> (index % 64) & 1 == 1)
    }

    /// How many numbers are in it.
    pub(crate) fn ones(&self) -> u64 {
        self.ones
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pipeline_stage::{Cancel, Ledger, Space, StageName};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_of_bits_is_a_set(indices in prop::collection::vec(0u64..100_000, 0..200)) {
            let context = StageContext::unlimited(StageName::Setup);
            let mut bits = Bits::default();
            for index in &indices {
                bits.set(*index, &context).unwrap();
            }
            let set: BTreeSet<u64> = indices.into_iter().collect();
            prop_assert_eq!(bits.ones(), set.len() as u64);
            prop_assert!((0..100_100).all(|i| bits.contains(i) == set.contains(&i)));
            prop_assert_eq!(context.ledger().snapshot().in_use(Space::Host), 8 * bits.words.capacity() as u64);
            drop(bits);
            prop_assert_eq!(context.ledger().snapshot().in_use(Space::Host), 0);
        }
    }

    #[test]
    fn a_set_that_does_not_fit_is_an_error() {
        let context = StageContext::new(Ledger::new(&[(Space::Host, 16384)]), StageName::Setup, Cancel::never());
        let mut bits = Bits::default();
        bits.set(0, &context).unwrap();
        assert!(matches!(bits.set(64 * 4000, &context), Err(SynthError::Memory(_))));
        bits.set(64 * 1000, &context).unwrap();
        assert!(bits.contains(0) && bits.contains(64 * 1000) && !bits.contains(64 * 4000));
    }
}
