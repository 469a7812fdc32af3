//! Canonical limbs of scalars, as bucket methods read them.

use blst::{blst_fr, blst_uint64_from_fr};
use blstrs::Scalar;

/// A scalar in canonical form: four 64-bit limbs, least significant first, below the group order.
pub type Limbs = [u64; 4];

/// Leaves the Montgomery form.
#[inline]
#[must_use]
pub fn canonical_limbs(scalar: &Scalar) -> Limbs {
    let fr: blst_fr = (*scalar).into();
    let mut limbs = [0u64; 4];
    // SAFETY: blst writes four limbs and reads one blst_fr; both are live locals.
    unsafe { blst_uint64_from_fr(limbs.as_mut_ptr(), &raw const fr) };
    limbs
}

/// Enters the Montgomery form. `None` when the limbs are not below the group order.
#[must_use]
pub fn scalar_from_limbs(limbs: &Limbs) -> Option<Scalar> {
    Scalar::from_u64s_le(limbs).into()
}

#[cfg(test)]
mod tests {
    use ff::{Field, PrimeField};
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn limbs_are_the_little_endian_representation() {
        let mut rng = rand_xorshift::XorShiftRng::seed_from_u64(7);
        let mut values: Vec<Scalar> = (0..100).map(|_| Scalar::random(&mut rng)).collect();
        values.extend([Scalar::ZERO, Scalar::ONE, -Scalar::ONE]);
        for value in values {
            let limbs = canonical_limbs(&value);
            let bytes: Vec<u8> = limbs.iter().flat_map(|l| l.to_le_bytes()).collect();
            assert_eq!(bytes[..], value.to_repr()[..]);
            assert_eq!(scalar_from_limbs(&limbs), Some(value));
        }
        assert_eq!(scalar_from_limbs(&[u64::MAX; 4]), None);
    }
}
