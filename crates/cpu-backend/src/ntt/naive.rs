//! Transforms by definition, N² multiplications: the reference.

use blstrs::Scalar;
use ff::Field;
use prover_backend::{BackendError, Coset, Domain};

fn shift_of(coset: Coset) -> Scalar {
    match coset {
        Coset::Subgroup => Scalar::ONE,
        Coset::Shifted(shift) => shift,
    }
}

fn domain_of(values: &[Scalar]) -> Result<Domain, BackendError> {
    if !values.len().is_power_of_two() {
        return Err(BackendError::Length {
            what: "values of a transform (a power of two)",
            expected: values.len().next_power_of_two(),
            found: values.len(),
        });
    }
    Domain::new(values.len().trailing_zeros())
}

/// Coefficients in natural order to values in bit-reversed order, each value by Horner's rule.
///
/// # Errors
/// [`BackendError::Length`], [`BackendError::DomainTooLarge`].
pub fn forward(values: &mut [Scalar], coset: Coset) -> Result<(), BackendError> {
    let domain = domain_of(values)?;
    let coefficients = values.to_vec();
    let mut x = shift_of(coset);
    for i in 0..values.len() {
        values[domain.bit_reverse(i)] = coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c);
        x *= domain.generator();
    }
    Ok(())
}

/// Values in bit-reversed order to coefficients in natural order: coefficient j is g^-j / N times the sum of `value_i`·ω^(-ij).
///
/// # Errors
/// [`BackendError::Length`] (also for a zero shift, which has no inverse), [`BackendError::DomainTooLarge`].
pub fn inverse(values: &mut [Scalar], coset: Coset) -> Result<(), BackendError> {
    let domain = domain_of(values)?;
    let invert = |s: Scalar| {
        Option::<Scalar>::from(s.invert()).ok_or(BackendError::Length { what: "invertible coset shifts", expected: 1, found: 0 })
    };
    let shift_inverse = invert(shift_of(coset))?;
    let root_inverse = invert(domain.generator())?;
    let natural: Vec<Scalar> = (0..values.len()).map(|i| values[domain.bit_reverse(i)]).collect();
    let mut scale = invert(Scalar::from(values.len() as u64))?;
    let mut x = Scalar::ONE;
    for value in values.iter_mut() {
        *value = scale * natural.iter().rev().fold(Scalar::ZERO, |sum, v| sum * x + v);
        x *= root_inverse;
        scale *= shift_inverse;
    }
    Ok(())
}
