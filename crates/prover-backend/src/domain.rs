//! The multiplicative subgroup that a transform evaluates on.

use blstrs::Scalar;
use ff::{Field, PrimeField};

use crate::BackendError;

/// The largest supported domain is 2^28: a proving key for more than 2^27 rows does not exist, and twiddle indices stay in 32 bits.
pub const MAX_LOG2_SIZE: u32 = 28;

/// The subgroup of the 2^k-th roots of unity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    log2_size: u32,
}

impl Domain {
    /// The domain of 2^`log2_size` elements.
    ///
    /// # Errors
    /// [`BackendError::DomainTooLarge`] above [`MAX_LOG2_SIZE`].
    pub fn new(log2_size: u32) -> Result<Self, BackendError> {
        if log2_size > MAX_LOG2_SIZE {
            return Err(BackendError::DomainTooLarge { log2_size, log2_size_max: MAX_LOG2_SIZE });
        }
        Ok(Self { log2_size })
    }

    /// The smallest domain with at least `rows` elements.
    ///
    /// # Errors
    /// [`BackendError::DomainTooLarge`].
    pub fn for_rows(rows: usize) -> Result<Self, BackendError> {
        Self::new(rows.max(1).next_power_of_two().trailing_zeros())
    }

    /// k for a domain of 2^k elements.
    #[must_use]
    pub fn log2_size(self) -> u32 {
        self.log2_size
    }

    /// Number of elements.
    #[must_use]
    pub fn size(self) -> usize {
        1 << self.log2_size
    }

    /// The primitive root of unity that generates the domain.
    #[must_use]
    pub fn generator(self) -> Scalar {
        root_of_unity(self.log2_size)
    }

    /// The shift g with g^N = -1: a primitive root of twice the order. Its coset and the domain together are the domain of twice the size.
    #[must_use]
    pub fn odd_shift(self) -> Scalar {
        root_of_unity(self.log2_size + 1)
    }

    /// The index with the low log2(N) bits of `index` in reverse order.
    #[inline]
    #[must_use]
    pub fn bit_reverse(self, index: usize) -> usize {
        if self.log2_size == 0 { 0 } else { index.reverse_bits() >> (usize::BITS - self.log2_size) }
    }
}

/// A primitive 2^k-th root of unity, by squaring the field's own 2^S-th root.
fn root_of_unity(log2_order: u32) -> Scalar {
    let mut root = Scalar::ROOT_OF_UNITY;
    for _ in log2_order..Scalar::S {
        root = root.square();
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_right() {
        for k in 0..=MAX_LOG2_SIZE {
            let domain = Domain::new(k).unwrap();
            assert_eq!(domain.generator().pow_vartime([domain.size() as u64]), Scalar::ONE);
            if k > 0 {
                assert_eq!(domain.generator().pow_vartime([domain.size() as u64 / 2]), -Scalar::ONE);
            }
            assert_eq!(domain.odd_shift().pow_vartime([domain.size() as u64]), -Scalar::ONE);
            assert_eq!(domain.odd_shift().square(), domain.generator());
        }
        assert!(Domain::new(MAX_LOG2_SIZE + 1).is_err());
        assert_eq!(Domain::for_rows(0).unwrap().size(), 1);
        assert_eq!(Domain::for_rows(4).unwrap().size(), 4);
        assert_eq!(Domain::for_rows(5).unwrap().size(), 8);
    }

    #[test]
    fn bit_reversal_is_an_involution() {
        let domain = Domain::new(5).unwrap();
        for i in 0..32 {
            assert_eq!(domain.bit_reverse(domain.bit_reverse(i)), i);
        }
        assert_eq!(domain.bit_reverse(1), 16);
        assert_eq!(Domain::new(0).unwrap().bit_reverse(0), 0);
    }
}
