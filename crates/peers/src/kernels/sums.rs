//! Multi-scalar multiplications.

use anyhow::Result;
use backend_testing::{OwnedWitness, point_samples, scalar_samples};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use pipeline_stage::{StageContext, StageName};
use prover_backend::{BaseSource, Msm, ProverBackend, Scalars, SelectedWitness};
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

use super::rounds::{Comparison, Contender, Size, Times, alternate, timed};
use crate::{BellpersonSum, BlstG1Sum, BlstG2Sum};

const BLST: &str = "blst";
const BELLPERSON: &str = "bellperson";

fn comparison(kernel: &str, size: Size, contenders: Vec<Times>) -> Comparison {
    Comparison { kernel: kernel.to_owned(), log2_len: size.log2_len, unit: "point".to_owned(), units: size.count() as u64, contenders }
}

/// Ours, from scalars in Montgomery form; the others get canonical ones that were converted beforehand.
fn ours<'a, A, B>(backend: &'a B, points: &'a [A], scalars: Scalars<'a>) -> Contender<'a, A::Projective>
where
    A: bls12_381_layout::Affine,
    B: ProverBackend + Msm<A>,
    Vec<A>: BaseSource<A>,
{
    let context = StageContext::unlimited(StageName::Msm);
    let bases = points.to_vec();
    Contender::new(backend.name(), move || {
        let (cpu_s, sum) = timed(|| backend.msm(&bases, scalars.clone(), &context))?;
        Ok((cpu_s, sum?))
    })
}

fn g1(backend: &impl ProverBackend, points: &[G1Affine], scalars: Scalars<'_>, rounds: u32) -> Result<Vec<Times>> {
    let plain = scalars.to_vec();
    let (blst, bellperson) = (BlstG1Sum::new(points, &plain)?, BellpersonSum::new(points, &plain)?);
    alternate::<G1Projective>(
        rounds,
        vec![
            ours(backend, points, scalars),
            Contender::new(BLST, || timed(|| blst.run())),
            Contender::new(BELLPERSON, || timed(|| bellperson.run()).and_then(|(cpu_s, sum)| Ok((cpu_s, sum?)))),
        ],
    )
}

/// Sums in G1 with full-size random scalars.
///
/// # Errors
/// A contender's own, results that differ.
pub fn compare_g1(backend: &impl ProverBackend, size: Size) -> Result<Comparison> {
    let (points, scalars) = (point_samples(1, size.count()), scalar_samples(2, size.count()));
    Ok(comparison("G1 sum, full-size scalars", size, g1(backend, &points, Scalars::Dense(&scalars), size.rounds)?))
}

/// Sums in G2 with full-size random scalars.
///
/// # Errors
/// A contender's own, results that differ.
pub fn compare_g2(backend: &impl ProverBackend, size: Size) -> Result<Comparison> {
    let (points, scalars) = (point_samples::<G2Affine>(3, size.count()), scalar_samples(4, size.count()));
    let (blst, bellperson) = (BlstG2Sum::new(&points, &scalars)?, BellpersonSum::new(&points, &scalars)?);
    let contenders = alternate::<G2Projective>(
        size.rounds,
        vec![
            ours(backend, &points, Scalars::Dense(&scalars)),
            Contender::new(BLST, || timed(|| blst.run())),
            Contender::new(BELLPERSON, || timed(|| bellperson.run()).and_then(|(cpu_s, sum)| Ok((cpu_s, sum?)))),
        ],
    )?;
    Ok(comparison("G2 sum, full-size scalars", size, contenders))
}

/// Shares of a witness in thousandths; the rest is full-size.
struct Mix {
    zero: u32,
    one: u32,
    /// 2 up to 2^32 - 1.
    small: u32,
}

/// The auxiliary variables of the 2 KiB PoRep: 1,375,305 zeros and 1,266,562 ones of 2,685,673.
const POREP: Mix = Mix { zero: 512, one: 472, small: 0 };
/// A witness with more than bits in it.
const MIXED: Mix = Mix { zero: 425, one: 425, small: 100 };

impl Mix {
    fn values(&self, len: usize) -> Vec<Scalar> {
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        (0..len)
            .map(|_| {
                let drawn = rng.next_u32() % 1000;
                if drawn < self.zero {
                    Scalar::ZERO
                } else if drawn < self.zero + self.one {
                    Scalar::ONE
                } else if drawn < self.zero + self.one + self.small {
                    Scalar::from(u64::from(rng.next_u32().max(2)))
                } else {
                    Scalar::random(&mut rng)
                }
            })
            .collect()
    }
}

/// Sums in G1 over two witnesses: one as of a PoRep circuit, 98.4 % bits and the rest full-size; one of 85 % bits, 10 % below 2^32 and 5 %
/// full-size. Ours reads the compact witness, the others plain vectors of the same values.
///
/// # Errors
/// A contender's own, results that differ.
pub fn compare_witness(backend: &impl ProverBackend, size: Size) -> Result<Vec<Comparison>> {
    let points = point_samples(5, size.count());
    let one = |(kernel, mix): (&str, Mix)| {
        let owned = OwnedWitness::new(&mix.values(size.count()));
        let selected = SelectedWitness::range(owned.view(), 0..size.count())?;
        Ok(comparison(kernel, size, g1(backend, &points, Scalars::Witness(selected), size.rounds)?))
    };
    [("G1 sum, PoRep witness", POREP), ("G1 sum, mixed witness", MIXED)].into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use cpu_backend::CpuBackend;

    use super::*;

    #[test]
    fn a_mix_has_its_shares() {
        let values = MIXED.values(10_000);
        let count = |keep: fn(&Scalar) -> bool| values.iter().filter(|value| keep(value)).count();
        let small = |value: &Scalar| value.to_bytes_le()[4..].iter().all(|byte| *byte == 0);
        let (zeros, ones) = (count(|value| *value == Scalar::ZERO), count(|value| *value == Scalar::ONE));
        let small = values.iter().filter(|value| small(value)).count() - zeros - ones;
        assert!((4000..4500).contains(&zeros) && (4000..4500).contains(&ones) && (850..1150).contains(&small), "{zeros} {ones} {small}");
        assert_eq!(values, MIXED.values(10_000));
    }

    #[test]
    fn all_contenders_agree_and_are_timed() {
        let (backend, size) = (CpuBackend::new(), Size { log2_len: 8, rounds: 2 });
        let mut all = vec![compare_g1(&backend, size).unwrap(), compare_g2(&backend, size).unwrap()];
        all.extend(compare_witness(&backend, size).unwrap());
        for comparison in &all {
            let names: Vec<_> = comparison.contenders.iter().map(|times| times.name.as_str()).collect();
            assert_eq!(names, [backend.name(), BLST, BELLPERSON]);
            assert!(comparison.units == 256 && comparison.contenders.iter().all(|times| times.cpu_s.len() == 2), "{comparison:?}");
        }
    }
}
