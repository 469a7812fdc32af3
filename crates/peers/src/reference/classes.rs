//! How large the values of a vector are.

use blstrs::Scalar;
use ff::PrimeField;
use serde::Serialize;

/// Values by size, as canonical integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Classes {
    n: u64,
    zero: u64,
    one: u64,
    /// 2 up to 2^32 - 1.
    lt_2_32: u64,
    lt_2_64: u64,
    lt_2_128: u64,
    lt_2_192: u64,
    full: u64,
    /// Of `full`: the negative is below 2^64.
    neg_lt_2_64: u64,
}

impl Classes {
    pub(super) fn of<'a>(values: impl IntoIterator<Item = &'a Scalar>) -> Self {
        let mut classes = Self::default();
        for value in values {
            let bytes = value.to_repr();
            let within = |bytes: &[u8; 32], length: usize| bytes[length..].iter().all(|byte| *byte == 0);
            classes.n += 1;
            let class = match bytes[0] {
                0 if within(&bytes, 1) => &mut classes.zero,
                1 if within(&bytes, 1) => &mut classes.one,
                _ if within(&bytes, 4) => &mut classes.lt_2_32,
                _ if within(&bytes, 8) => &mut classes.lt_2_64,
                _ if within(&bytes, 16) => &mut classes.lt_2_128,
                _ if within(&bytes, 24) => &mut classes.lt_2_192,
                _ => {
                    classes.neg_lt_2_64 += u64::from(within(&(-*value).to_repr(), 8));
                    &mut classes.full
                }
            };
            *class += 1;
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use ff::Field;

    use super::{Classes, Scalar};

    #[test]
    fn sizes_are_told_apart() {
        let values = [Scalar::ZERO, Scalar::ONE, Scalar::from(2), Scalar::from(1 << 40), Scalar::from(1 << 63).square(), -Scalar::ONE];
        let expected =
            Classes { n: 6, zero: 1, one: 1, lt_2_32: 1, lt_2_64: 1, lt_2_128: 1, full: 1, neg_lt_2_64: 1, ..Classes::default() };
        assert_eq!(Classes::of(&values), expected);
    }
}
