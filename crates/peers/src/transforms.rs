//! bellperson's transforms on the CPU.

use anyhow::{Result, ensure};
use bellperson::domain::EvaluationDomain;
use blstrs::Scalar;
use ec_gpu_gen::threadpool::Worker;

/// A transform over the domain of the vector's length, in natural order on both sides. The coset is that of the field's generator, 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Coefficients to values on the domain.
    Forward,
    /// Values on the domain to coefficients.
    Inverse,
    /// Coefficients to values on the coset.
    CosetForward,
    /// Values on the coset to coefficients.
    CosetInverse,
}

fn domain(values: Vec<Scalar>) -> Result<EvaluationDomain<Scalar>> {
    ensure!(values.len().is_power_of_two(), "a domain has a power of two of values, found {}", values.len());
    Ok(EvaluationDomain::from_coeffs(values)?)
}

/// One transform, in place in the vector's own memory.
///
/// # Errors
/// A length that is no power of two or larger than the field's largest domain, 2^32.
pub fn bellperson_transform(values: Vec<Scalar>, transform: Transform) -> Result<Vec<Scalar>> {
    let worker = Worker::new();
    let mut domain = domain(values)?;
    match transform {
        Transform::Forward => domain.fft(&worker, &mut None)?,
        Transform::Inverse => domain.ifft(&worker, &mut None)?,
        Transform::CosetForward => domain.coset_fft(&worker, &mut None)?,
        Transform::CosetInverse => domain.icoset_fft(&worker, &mut None)?,
    }
    Ok(domain.into_coeffs())
}

/// Coefficients of h = (a·b - c) / (xⁿ - 1), all n of them (the last is zero for a satisfied system), from values of a, b and c on the
/// domain: the seven transforms of bellperson's prover.
///
/// # Errors
/// Lengths that differ or are no power of two.
pub fn bellperson_quotient(a: Vec<Scalar>, b: Vec<Scalar>, c: Vec<Scalar>) -> Result<Vec<Scalar>> {
    ensure!(a.len() == b.len() && b.len() == c.len(), "a, b and c have {}, {} and {} values", a.len(), b.len(), c.len());
    let worker = Worker::new();
    let (mut a, mut b, mut c) = (domain(a)?, domain(b)?, domain(c)?);
    EvaluationDomain::ifft_many(&mut [&mut a, &mut b, &mut c], &worker, &mut None)?;
    EvaluationDomain::coset_fft_many(&mut [&mut a, &mut b, &mut c], &worker, &mut None)?;
    a.mul_assign(&worker, &b);
    drop(b);
    a.sub_assign(&worker, &c);
    drop(c);
    a.divide_by_z_on_coset(&worker);
    a.icoset_fft(&worker, &mut None)?;
    Ok(a.into_coeffs())
}

#[cfg(test)]
mod tests {
    use ff::{Field, PrimeField};
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn random(len: usize, seed: u8) -> Vec<Scalar> {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        (0..len).map(|_| Scalar::random(&mut rng)).collect()
    }

    fn at(coefficients: &[Scalar], x: Scalar) -> Scalar {
        coefficients.iter().rev().fold(Scalar::ZERO, |sum, coefficient| sum * x + coefficient)
    }

    fn root(len: usize) -> Scalar {
        (len.trailing_zeros()..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square())
    }

    #[test]
    fn values_are_those_of_the_polynomial() {
        for len in [1, 2, 64, 1024] {
            let coefficients = random(len, 1);
            let forward = bellperson_transform(coefficients.clone(), Transform::Forward).unwrap();
            let coset = bellperson_transform(coefficients.clone(), Transform::CosetForward).unwrap();
            for i in [0, len / 3, len - 1] {
                let x = root(len).pow([i as u64]);
                assert_eq!((forward[i], coset[i]), (at(&coefficients, x), at(&coefficients, x * Scalar::MULTIPLICATIVE_GENERATOR)));
            }
            assert_eq!(bellperson_transform(forward, Transform::Inverse).unwrap(), coefficients);
            assert_eq!(bellperson_transform(coset, Transform::CosetInverse).unwrap(), coefficients);
        }
    }

    #[test]
    fn the_quotient_times_the_vanishing_polynomial_is_the_remainder_of_nothing() {
        let len = 128;
        let (a, b) = (random(len, 2), random(len, 3));
        let c: Vec<Scalar> = a.iter().zip(&b).map(|(a, b)| *a * b).collect();
        let h = bellperson_quotient(a.clone(), b.clone(), c.clone()).unwrap();
        assert_eq!(h[len - 1], Scalar::ZERO);
        let inverse = |values| bellperson_transform(values, Transform::Inverse).unwrap();
        let (a, b, c) = (inverse(a), inverse(b), inverse(c));
        let x = Scalar::from(123_456_789);
        assert_eq!(at(&a, x) * at(&b, x) - at(&c, x), at(&h, x) * (x.pow([len as u64]) - Scalar::ONE));
    }

    #[test]
    fn lengths_are_checked() {
        assert!(bellperson_transform(random(3, 4), Transform::Forward).is_err());
        assert!(bellperson_transform(vec![], Transform::Forward).is_err());
        assert!(bellperson_quotient(random(4, 1), random(4, 2), random(8, 3)).is_err());
    }
}
