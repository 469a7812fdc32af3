//! Multi-scalar multiplications of others. Making one copies and converts the input, so that running it measures the sum alone.

use std::sync::Arc;

use anyhow::{Result, ensure};
use blst::{MultiPoint, blst_p1_affine, blst_p2_affine};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ec_gpu_gen::multiexp_cpu::{DensityTracker, FullDensity, multiexp_cpu};
use ec_gpu_gen::threadpool::Worker;
use ff::PrimeField;
use group::Group;
use group::prime::PrimeCurveAffine;

fn check_lengths(points: usize, scalars: usize) -> Result<()> {
    ensure!(points == scalars, "{points} points and {scalars} scalars");
    Ok(())
}

enum Density {
    Full,
    Selected(Arc<DensityTracker>),
}

/// A sum by ec-gpu-gen's `multiexp_cpu`, the one bellperson uses on the CPU.
pub struct BellpersonSum<A: PrimeCurveAffine> {
    bases: Arc<Vec<A>>,
    exponents: Arc<Vec<[u8; 32]>>,
    density: Density,
}

impl<A> BellpersonSum<A>
where
    A: PrimeCurveAffine<Scalar = Scalar>,
{
    /// Σ scalars\[i\]·points\[i\]. Points at infinity with a scalar other than zero make [`Self::run`] fail.
    ///
    /// # Errors
    /// Lengths that differ.
    pub fn new(points: &[A], scalars: &[Scalar]) -> Result<Self> {
        check_lengths(points.len(), scalars.len())?;
        Ok(Self::over(points, scalars, Density::Full))
    }

    /// The scalars with `selected[i]` set, in order, over the points, as the prover sums the A and B queries.
    ///
    /// # Errors
    /// As many flags as scalars and as many set flags as points are needed.
    pub fn selected(points: &[A], scalars: &[Scalar], selected: &[bool]) -> Result<Self> {
        ensure!(selected.len() == scalars.len(), "{} flags and {} scalars", selected.len(), scalars.len());
        let mut density = DensityTracker::new();
        for (index, selected) in selected.iter().enumerate() {
            density.add_element();
            if *selected {
                density.inc(index);
            }
        }
        check_lengths(points.len(), density.get_total_density())?;
        Ok(Self::over(points, scalars, Density::Selected(Arc::new(density))))
    }

    fn over(points: &[A], scalars: &[Scalar], density: Density) -> Self {
        let exponents = scalars.iter().map(PrimeField::to_repr).collect();
        Self { bases: Arc::new(points.to_vec()), exponents: Arc::new(exponents), density }
    }

    /// Sums on the threads of its own pool.
    ///
    /// # Errors
    /// A point at infinity among those that count.
    pub fn run(&self) -> Result<A::Curve> {
        let worker = Worker::new();
        let bases = (Arc::clone(&self.bases), 0);
        let exponents = Arc::clone(&self.exponents);
        Ok(match &self.density {
            Density::Full => multiexp_cpu(&worker, bases, FullDensity, exponents).wait(),
            Density::Selected(density) => multiexp_cpu(&worker, bases, Arc::clone(density), exponents).wait(),
        }?)
    }
}

macro_rules! blst_sum {
    ($(#[$doc:meta])* $name:ident, $affine:ty, $projective:ty, $raw:ty) => {
        $(#[$doc])*
        pub struct $name {
            points: Vec<$raw>,
            scalars: Vec<u8>,
        }

        impl $name {
            /// Σ scalars\[i\]·points\[i\].
            ///
            /// # Errors
            /// Lengths that differ.
            pub fn new(points: &[$affine], scalars: &[Scalar]) -> Result<Self> {
                check_lengths(points.len(), scalars.len())?;
                let points = points.iter().map(|point| *AsRef::<$raw>::as_ref(point)).collect();
                Ok(Self { points, scalars: scalars.iter().flat_map(Scalar::to_bytes_le).collect() })
            }

            /// Sums on the threads of its own pool.
            #[must_use]
            pub fn run(&self) -> $projective {
                let mut sum = <$projective>::identity();
                // blst takes the address of the first point.
                if !self.points.is_empty() {
                    *sum.as_mut() = self.points.mult(&self.scalars, Scalar::NUM_BITS as usize);
                }
                sum
            }
        }
    };
}

blst_sum! {
    /// A sum in G1 by blst's Pippenger.
    BlstG1Sum, G1Affine, G1Projective, blst_p1_affine
}
blst_sum! {
    /// A sum in G2 by blst's Pippenger.
    BlstG2Sum, G2Affine, G2Projective, blst_p2_affine
}

#[cfg(test)]
mod tests {
    use ff::Field;
    use group::Curve;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn scalars(len: u64) -> Vec<Scalar> {
        let mut rng = ChaCha20Rng::from_seed([5; 32]);
        (0..len)
            .map(|i| match i % 4 {
                0 => Scalar::ZERO,
                1 => Scalar::ONE,
                _ => Scalar::random(&mut rng),
            })
            .collect()
    }

    fn points<A: PrimeCurveAffine<Scalar = Scalar>>(len: u64) -> Vec<A>
    where
        A::Curve: Curve<AffineRepr = A>,
    {
        (1..=len).map(|i| (A::generator() * Scalar::from(i * i)).to_affine()).collect()
    }

    fn naive<A: PrimeCurveAffine<Scalar = Scalar>>(points: &[A], scalars: &[Scalar]) -> A::Curve {
        points.iter().zip(scalars).map(|(point, scalar)| *point * *scalar).sum()
    }

    #[test]
    fn all_agree_with_the_naive_sum() {
        for len in [0, 1, 2, 31, 32, 33, 300, 1000] {
            let scalars = scalars(len);
            let g1 = points::<G1Affine>(len);
            let g2 = points::<G2Affine>(len);
            assert_eq!(BlstG1Sum::new(&g1, &scalars).unwrap().run(), naive(&g1, &scalars), "{len}");
            assert_eq!(BlstG2Sum::new(&g2, &scalars).unwrap().run(), naive(&g2, &scalars), "{len}");
            assert_eq!(BellpersonSum::new(&g1, &scalars).unwrap().run().unwrap(), naive(&g1, &scalars), "{len}");
            assert_eq!(BellpersonSum::new(&g2, &scalars).unwrap().run().unwrap(), naive(&g2, &scalars), "{len}");
        }
    }

    #[test]
    fn a_selection_skips_scalars() {
        let all = scalars(100);
        let selected: Vec<bool> = (0..100).map(|i| i % 3 != 1).collect();
        let chosen: Vec<Scalar> = all.iter().zip(&selected).filter(|(_, selected)| **selected).map(|(scalar, _)| *scalar).collect();
        let points = points::<G1Affine>(chosen.len() as u64);
        let sum = BellpersonSum::selected(&points, &all, &selected).unwrap();
        assert_eq!(sum.run().unwrap(), naive(&points, &chosen));
        assert!(BellpersonSum::selected(&points[1..], &all, &selected).is_err());
        assert!(BellpersonSum::selected(&points, &all, &selected[1..]).is_err());
    }

    #[test]
    fn lengths_are_checked() {
        let points = points::<G1Affine>(3);
        assert!(BellpersonSum::new(&points, &scalars(4)).is_err() && BlstG1Sum::new(&points, &scalars(2)).is_err());
    }
}
