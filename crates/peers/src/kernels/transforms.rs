//! Number-theoretic transforms.

use anyhow::Result;
use backend_testing::scalar_samples;
use blstrs::Scalar;
use ff::PrimeField;
use pipeline_stage::{StageContext, StageName};
use prover_backend::{Coset, Domain, ProverBackend};

use super::rounds::{Comparison, Contender, Size, alternate, timed};
use crate::{Transform, bellperson_transform};

const KERNELS: [(&str, Transform); 4] = [
    ("NTT, forward", Transform::Forward),
    ("NTT, inverse", Transform::Inverse),
    ("NTT, coset forward", Transform::CosetForward),
    ("NTT, coset inverse", Transform::CosetInverse),
];

/// The four transforms beside bellperson's, which has natural order on both sides; ours has evaluations in bit-reversed order, so that no
/// reordering pass is needed where a prover only multiplies them. Reordering for the comparison is not timed. blst has no transform.
///
/// # Errors
/// A contender's own, results that differ.
pub fn compare_transforms(backend: &impl ProverBackend, size: Size) -> Result<Vec<Comparison>> {
    let domain = Domain::new(size.log2_len)?;
    let context = StageContext::unlimited(StageName::Ntt);
    let values = scalar_samples(6, size.count());
    let reordered = bit_reversed(domain, &values);
    let one = |(kernel, transform): (&str, Transform)| {
        let coset = match transform {
            Transform::Forward | Transform::Inverse => Coset::Subgroup,
            Transform::CosetForward | Transform::CosetInverse => Coset::Shifted(Scalar::MULTIPLICATIVE_GENERATOR),
        };
        let inverse = matches!(transform, Transform::Inverse | Transform::CosetInverse);
        let ours =
            || {
                let mut vector = if inverse { reordered.clone() } else { values.clone() };
                let (cpu_s, done) = timed(|| {
                    if inverse { backend.inverse(&mut vector, coset, &context) } else { backend.forward(&mut vector, coset, &context) }
                })?;
                done?;
                Ok((cpu_s, if inverse { vector } else { bit_reversed(domain, &vector) }))
            };
        let theirs = || {
            let vector = values.clone();
            let (cpu_s, result) = timed(|| bellperson_transform(vector, transform))?;
            Ok((cpu_s, result?))
        };
        let contenders = alternate(size.rounds, vec![Contender::new(backend.name(), ours), Contender::new("bellperson", theirs)])?;
        let units = u64::from(size.log2_len) * (size.count() as u64 / 2);
        Ok(Comparison { kernel: kernel.to_owned(), log2_len: size.log2_len, unit: "butterfly".to_owned(), units, contenders })
    };
    KERNELS.into_iter().map(one).collect()
}

fn bit_reversed(domain: Domain, values: &[Scalar]) -> Vec<Scalar> {
    (0..values.len()).map(|index| values[domain.bit_reverse(index)]).collect()
}

#[cfg(test)]
mod tests {
    use cpu_backend::CpuBackend;

    use super::*;

    #[test]
    fn all_four_agree_and_are_timed() {
        for log2_len in [1, 9] {
            let all = compare_transforms(&CpuBackend::new(), Size { log2_len, rounds: 1 }).unwrap();
            assert_eq!(all.len(), KERNELS.len());
            for comparison in all {
                assert_eq!(comparison.units, u64::from(log2_len) << (log2_len - 1));
                assert!(comparison.contenders.iter().all(|times| times.cpu_s.len() == 1), "{comparison:?}");
            }
        }
    }
}
