//! Signed digits.
//!
//! With windows of c bits a scalar is Σ d_w·2^(cw) with -2^(c-1) <= d_w <= 2^(c-1), so a window needs 2^(c-1) buckets. Scalars above half
//! the group order are negated first, which leaves 254 bits. The digits are those of k + Σ 2^(cw + c - 1) over all windows but the last,
//! each less 2^(c-1): the bias makes carries a plain addition.

use bls12_381_layout::Limbs;

/// The group order r.
const ORDER: Limbs = [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];
/// (r - 1) / 2
const HALF_ORDER: Limbs = [0x7fff_ffff_8000_0000, 0xa9de_d201_7fff_2dff, 0x199c_ec04_04d0_ec02, 0x39f6_d3a9_94ce_bea4];
/// Bits of (r - 1) / 2.
const BITS: u32 = 254;
/// Bits of a value that counts as small.
const SMALL_BITS: u32 = 64;

/// What a scalar is to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing to add.
    Zero,
    /// The point itself, or its opposite.
    One { negative: bool },
    /// An absolute value below 2^64.
    Small { magnitude: Limbs, negative: bool },
    /// Any other absolute value, below r/2.
    Full { magnitude: Limbs, negative: bool },
}

fn exceeds(a: &Limbs, b: &Limbs) -> bool {
    a.iter().rev().cmp(b.iter().rev()).is_gt()
}

/// r - k for k below r.
fn negate(k: &Limbs) -> Limbs {
    let mut out = [0; 4];
    let mut borrow = false;
    for ((out, r), k) in out.iter_mut().zip(&ORDER).zip(k) {
        let (difference, under) = r.overflowing_sub(*k);
        let (difference, under_again) = difference.overflowing_sub(u64::from(borrow));
        *out = difference;
        borrow = under || under_again;
    }
    out
}

/// The class of a scalar in canonical form.
#[inline]
pub(crate) fn classify(limbs: &Limbs) -> Value {
    let negative = exceeds(limbs, &HALF_ORDER);
    let magnitude = if negative { negate(limbs) } else { *limbs };
    match magnitude {
        [0, 0, 0, 0] => Value::Zero,
        [1, 0, 0, 0] => Value::One { negative },
        [_, 0, 0, 0] => Value::Small { magnitude, negative },
        _ => Value::Full { magnitude, negative },
    }
}

/// How scalars are cut into windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    bits: u32,
    bias: Limbs,
}

impl Windows {
    /// Windows of `bits` bits, 2 to 24.
    pub(crate) fn new(bits: u32) -> Self {
        let mut bias = [0; 4];
        for w in 0..Self::count_for(bits) - 1 {
            let bit = w as u32 * bits + bits - 1;
            bias[bit as usize / 64] |= 1 << (bit % 64);
        }
        Self { bits, bias }
    }

    /// The last window holds what is left of the 254 bits and a carry, at most 2^(bits-1): so at most bits - 1 bits may be left.
    pub(crate) fn count_for(bits: u32) -> usize {
        (BITS / bits + 1) as usize
    }

    /// Number of windows.
    pub(crate) fn count(self) -> usize {
        Self::count_for(self.bits)
    }

    /// Bits of a window.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }

    /// Buckets of a window: digits 1 to 2^(bits-1).
    pub(crate) fn buckets(self) -> usize {
        1 << (self.bits - 1)
    }

    /// True for a window in which small values have digits: their bits and, where these fill all but the top bit of a window, a carry.
    pub(crate) fn holds_small(self, window: usize) -> bool {
        window as u32 * self.bits <= SMALL_BITS + 1
    }

    /// The magnitude with the bias added, ready for [`digit`](Windows::digit).
    #[inline]
    pub(crate) fn recode(self, magnitude: &Limbs) -> Limbs {
        let mut out = [0; 4];
        let mut carry = false;
        for ((out, k), b) in out.iter_mut().zip(magnitude).zip(&self.bias) {
            let (sum, over) = k.overflowing_add(*b);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            *out = sum;
            carry = over || over_again;
        }
        out
    }

    /// How to read the digits of one window.
    pub(crate) fn reader(self, window: usize) -> DigitReader {
        let bit = window as u32 * self.bits;
        let last = window + 1 == self.count();
        DigitReader {
            limb: (bit / 64) as usize,
            shift: bit % 64,
            straddles: bit % 64 + self.bits > 64 && bit / 64 < 3,
            mask: (1 << self.bits) - 1,
            offset: if last { 0 } else { 1 << (self.bits - 1) },
        }
    }
}

/// Reads the digits of one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DigitReader {
    limb: usize,
    shift: u32,
    straddles: bool,
    mask: u64,
    offset: i32,
}

impl DigitReader {
    /// The digit of a recoded value.
    #[inline(always)]
    pub(crate) fn digit(self, recoded: &Limbs) -> i32 {
        let limb = self.limb & 3;
        let mut value = recoded[limb] >> self.shift;
        if self.straddles {
            // A straddling window starts at bit 1 of its limb or later, so the shift is below 64.
            value |= recoded[(limb + 1) & 3] << (64 - self.shift);
        }
        (value & self.mask) as i32 - self.offset
    }
}

#[cfg(test)]
mod tests {
    use bls12_381_layout::{canonical_limbs, scalar_from_limbs};
    use blstrs::Scalar;
    use ff::{Field, PrimeField};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_constants_are_those_of_the_field() {
        assert_eq!(negate(&[1, 0, 0, 0]), canonical_limbs(&-Scalar::ONE));
        assert_eq!(canonical_limbs(&(-Scalar::ONE * Scalar::TWO_INV)), HALF_ORDER);
    }

    fn digits_give_the_scalar_back(scalar: Scalar) {
        let (magnitude, negative) = match classify(&canonical_limbs(&scalar)) {
            Value::Zero => ([0; 4], false),
            Value::One { negative } => ([1, 0, 0, 0], negative),
            Value::Small { magnitude, negative } | Value::Full { magnitude, negative } => (magnitude, negative),
        };
        let absolute = scalar_from_limbs(&magnitude).unwrap();
        assert_eq!(if negative { -absolute } else { absolute }, scalar);
        for bits in 2..=20 {
            let windows = Windows::new(bits);
            let recoded = windows.recode(&magnitude);
            let mut sum = Scalar::ZERO;
            for w in (0..windows.count()).rev() {
                let digit = windows.reader(w).digit(&recoded);
                assert!(digit.unsigned_abs() as usize <= windows.buckets());
                if magnitude[1..] == [0; 3] && !windows.holds_small(w) {
                    assert_eq!(digit, 0);
                }
                let value = Scalar::from(u64::from(digit.unsigned_abs()));
                sum = sum * Scalar::from(1 << bits) + if digit < 0 { -value } else { value };
            }
            assert_eq!(sum, absolute);
        }
    }

    #[test]
    fn edges() {
        let half = -Scalar::ONE * Scalar::TWO_INV;
        let two_64 = Scalar::from(u64::MAX) + Scalar::ONE;
        for edge in [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, half, half + Scalar::ONE, Scalar::from(u64::MAX), two_64, -two_64] {
            digits_give_the_scalar_back(edge);
            digits_give_the_scalar_back(edge - Scalar::from(2));
        }
    }

    proptest! {
        #[test]
        fn any_scalar(words in any::<[u64; 4]>(), zeros in 0u32..256) {
            let mut limbs = words;
            for (i, limb) in limbs.iter_mut().enumerate() {
                let keep = (256 - zeros).saturating_sub(64 * i as u32).min(64);
                *limb &= u64::MAX.checked_shr(64 - keep).unwrap_or(0);
            }
            limbs[3] &= u64::MAX >> 2;
            digits_give_the_scalar_back(scalar_from_limbs(&limbs).unwrap());
        }
    }
}
