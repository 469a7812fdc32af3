//! The distinct coefficients of a circuit. There are few: 1,526 in a PoRep.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use bls12_381_layout::{canonical_limbs, scalar_from_limbs};
use blstrs::Scalar;
use ff::Field;

/// Number of the coefficient 1.
pub(crate) const ONE_ID: u64 = 0;
/// Number of the coefficient -1.
pub(crate) const MINUS_ONE_ID: u64 = 1;

/// Folds the limbs of a scalar; scalars that circuits use differ in their low limbs.
#[derive(Default)]
pub(crate) struct LimbHasher(u64);

impl Hasher for LimbHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(25) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// Numbers coefficients in order of first appearance, after 1 and -1.
pub(crate) struct Dictionary {
    values: Vec<Scalar>,
    numbers: HashMap<[u64; 4], u64, BuildHasherDefault<LimbHasher>>,
    minus_one: Scalar,
}

impl Dictionary {
    pub(crate) fn new() -> Self {
        let minus_one = -Scalar::ONE;
        let mut dictionary = Self { values: Vec::new(), numbers: HashMap::default(), minus_one };
        for value in [Scalar::ONE, minus_one] {
            dictionary.insert(value);
        }
        dictionary
    }

    fn insert(&mut self, value: Scalar) -> u64 {
        let next = self.values.len() as u64;
        let number = *self.numbers.entry(canonical_limbs(&value)).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }

    /// The number of a coefficient.
    #[inline]
    pub(crate) fn number(&mut self, value: &Scalar) -> u64 {
        if *value == Scalar::ONE {
            ONE_ID
        } else if *value == self.minus_one {
            MINUS_ONE_ID
        } else {
            self.insert(*value)
        }
    }

    pub(crate) fn values(&self) -> &[Scalar] {
        &self.values
    }
}

/// A coefficient, ready for evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coefficient {
    /// The value.
    pub(crate) scalar: Scalar,
    /// The value as an integer, when it or its negative is below 2^62; then sums of a row's terms cannot overflow 128 bits.
    pub(crate) small: Option<i64>,
}

impl Coefficient {
    pub(crate) fn new(scalar: Scalar) -> Self {
        let magnitude = |value: &Scalar| match canonical_limbs(value) {
            [low, 0, 0, 0] if low < 1 << 62 => Some(low as i64),
            _ => None,
        };
        Self { scalar, small: magnitude(&scalar).or_else(|| magnitude(&-scalar).map(|m| -m)) }
    }

    /// From the canonical little-endian bytes of the file; `None` when they are not below the group order.
    pub(crate) fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        let mut limbs = [0; 4];
        for (limb, chunk) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *limb = u64::from_le_bytes(*chunk);
        }
        scalar_from_limbs(&limbs).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_appearance() {
        let mut dictionary = Dictionary::new();
        let two = Scalar::from(2);
        assert_eq!(dictionary.number(&two), 2);
        assert_eq!(dictionary.number(&Scalar::ONE), ONE_ID);
        assert_eq!(dictionary.number(&-Scalar::ONE), MINUS_ONE_ID);
        assert_eq!(dictionary.number(&-two), 3);
        assert_eq!(dictionary.number(&two), 2);
        assert_eq!(dictionary.values().len(), 4);
    }

    #[test]
    fn small_coefficients_are_integers() {
        let small = |value| Coefficient::new(value).small;
        assert_eq!(small(Scalar::ONE), Some(1));
        assert_eq!(small(-Scalar::from(5)), Some(-5));
        assert_eq!(small(Scalar::from((1 << 62) - 1)), Some((1 << 62) - 1));
        assert_eq!(small(Scalar::from(1 << 62)), None);
        assert_eq!(small(-Scalar::from(1 << 62)), None);
        assert!(Coefficient::from_bytes(&[0xff; 32]).is_none());
    }
}
