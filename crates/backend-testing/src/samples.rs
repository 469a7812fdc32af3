//! Reproducible inputs.

use bls12_381_layout::Affine;
use blstrs::Scalar;
use ff::Field;
use group::{Curve, Group};
use rand_core::SeedableRng;
use rand_xorshift::XorShiftRng;

/// Random scalars.
#[must_use]
pub fn scalar_samples(seed: u64, len: usize) -> Vec<Scalar> {
    let mut rng = XorShiftRng::seed_from_u64(seed);
    (0..len).map(|_| Scalar::random(&mut rng)).collect()
}

/// Points without known relations among the first few hundred, by a walk of additions that costs one addition a point.
#[must_use]
pub fn point_samples<A: Affine>(seed: u64, len: usize) -> Vec<A> {
    let mut rng = XorShiftRng::seed_from_u64(seed);
    let steps: Vec<A::Projective> = (0..7).map(|_| A::Projective::random(&mut rng)).collect();
    let mut point = A::Projective::random(&mut rng);
    let mut out = vec![A::identity(); len];
    for chunk in out.chunks_mut(1 << 10) {
        let projective: Vec<A::Projective> = (0..chunk.len())
            .map(|i| {
                point += steps[i % steps.len()];
                point
            })
            .collect();
        A::Projective::batch_normalize(&projective, chunk);
        // Another direction for the next chunk: the walk does not close.
        point = point.double();
    }
    out
}
