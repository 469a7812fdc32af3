//! The sum of public inputs over the points of a verifying key.

use blstrs::{G1Affine, G1Projective, Scalar};
use ff::PrimeField;
use group::Group;

/// Σ scalars\[i\]·points\[i\] by the bucket method (Pippenger), on the calling thread. Time depends on the scalars: they are public.
///
/// The prover's own sums use a backend; a verifier needs none. A PoRep of 32 GiB has 327 inputs.
pub(crate) fn input_sum<'a>(terms: impl Iterator<Item = (&'a G1Affine, Scalar)>) -> G1Projective {
    let terms: Vec<(&G1Affine, [u8; 32])> = terms.map(|(point, scalar)| (point, scalar.to_repr())).collect();
    let width = window_width(terms.len());
    let mut buckets = vec![G1Projective::identity(); (1 << width) - 1];
    let windows = Scalar::NUM_BITS.div_ceil(width);
    let mut sum = G1Projective::identity();
    for window in (0..windows).rev() {
        for _ in 0..width {
            sum = sum.double();
        }
        buckets.fill(G1Projective::identity());
        for (point, scalar) in &terms {
            if let Some(bucket) = digit(scalar, window * width, width).checked_sub(1) {
                buckets[bucket] += *point;
            }
        }
        // Each bucket counts as often as its digit says: the sum of the running sums from the top.
        // Empty buckets above the highest digit are left out: most inputs of a PoRep are challenge indices of at most 32 bits.
        let mut running = G1Projective::identity();
        for bucket in buckets.iter().rev().skip_while(|bucket| bool::from(bucket.is_identity())) {
            running += bucket;
            sum += running;
        }
    }
    sum
}

/// Bits of a digit: a bucket costs two additions, a point one, in each window.
fn window_width(points: usize) -> u32 {
    match points {
        0..=7 => 2,
        8..=31 => 3,
        32..=127 => 4,
        128..=511 => 6,
        512..=4095 => 8,
        _ => 11,
    }
}

/// `width` (at most 16) bits from `start` on, little-endian, zeros past the end.
fn digit(scalar: &[u8; 32], start: u32, width: u32) -> usize {
    let first = (start / 8) as usize;
    let bytes = (0..3).fold(0usize, |word, i| word | usize::from(scalar.get(first + i).copied().unwrap_or(0)) << (8 * i));
    (bytes >> (start % 8)) & ((1 << width) - 1)
}

#[cfg(test)]
mod tests {
    use ff::Field;
    use group::Curve;
    use group::prime::PrimeCurveAffine;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn naive(points: &[G1Affine], scalars: &[Scalar]) -> G1Projective {
        points.iter().zip(scalars).map(|(point, scalar)| point.to_curve() * scalar).sum()
    }

    #[test]
    fn every_width_agrees_with_the_naive_sum() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let points: Vec<G1Affine> = (0..4200).map(|i| (G1Projective::generator() * Scalar::from(i * i + 1)).to_affine()).collect();
        let scalars: Vec<Scalar> = (0..4200)
            .map(|i| match i % 5 {
                0 => Scalar::ZERO,
                1 => Scalar::from(i),
                2 => -Scalar::from(i),
                _ => Scalar::random(&mut rng),
            })
            .collect();
        for len in [0, 1, 7, 8, 31, 39, 127, 327, 512, 4200] {
            assert_eq!(
                input_sum(points[..len].iter().zip(scalars[..len].iter().copied())),
                naive(&points[..len], &scalars[..len]),
                "{len}"
            );
        }
    }

    proptest! {
        #[test]
        fn digits_make_the_scalar_again(words in any::<[u64; 4]>(), width in 1u32..=16) {
            let mut scalar = [0; 32];
            for (bytes, word) in scalar.chunks_exact_mut(8).zip(words) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            let mut bits = Vec::new();
            for window in 0..256u32.div_ceil(width) {
                let value = digit(&scalar, window * width, width);
                bits.extend((0..width).map(|bit| (value >> bit) & 1 == 1));
            }
            for (i, bit) in bits.iter().enumerate() {
                let expected = scalar.get(i / 8).is_some_and(|byte| (byte >> (i % 8)) & 1 == 1);
                prop_assert_eq!(*bit, expected);
            }
        }
    }
}
