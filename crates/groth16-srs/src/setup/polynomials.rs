//! The polynomials of the quadratic arithmetic program at τ, without a transform.
//!
//! Row i of a matrix stands for the Lagrange polynomial L_i of the domain, and L_i(τ) = (τ^N - 1)/N · ω^i/(τ - ω^i). So the polynomial of
//! a variable at τ is the sum of coefficient · L_i(τ) over its terms. Rows are taken in chunks: the coefficients of a chunk cost one batch
//! inversion (Montgomery's trick) for each 4,096 of them, then each matrix adds its terms.

use std::ops::Range;

use blstrs::Scalar;
use ff::{BatchInverter, Field};
use pipeline_stage::StageContext;
use prover_backend::{BackendError, ConstraintMatrices, Domain, Matrix};
use rayon::prelude::*;

use super::workspace::{ROWS, Workspace};
use crate::SrsError;
use crate::proving_key::cancelled;

/// Coefficients of one batch inversion.
const INVERSIONS: usize = 4096;

/// Adds a_j(τ), b_j(τ), c_j(τ) to the zeroed vectors of the workspace. τ lies outside the domain.
pub(super) fn evaluate(
    matrices: &dyn ConstraintMatrices,
    domain: Domain,
    tau: &Scalar,
    space: &mut Workspace,
    context: &StageContext,
) -> Result<(), SrsError> {
    let rows = matrices.rows();
    let Some(inverse_size) = Option::<Scalar>::from(Scalar::from(domain.size() as u64).invert()) else {
        // The size is a power of two below the field's odd characteristic.
        return Err(SrsError::Secret { name: "tau", why: "has no Lagrange coefficients in this domain" });
    };
    let scale = (tau.pow_vartime([domain.size() as u64]) - Scalar::ONE) * inverse_size;
    let mut start = 0;
    while start < rows {
        cancelled(context)?;
        let end = rows.min(start + ROWS);
        let Workspace { a, b, c, lagrange, scratch, .. } = &mut *space;
        let weights = &mut lagrange[..end - start];
        lagrange_coefficients(domain, tau, &scale, start, weights, &mut scratch[..end - start]);
        let weights = &*weights;
        let (a, (b, c)) = rayon::join(
            || accumulate(matrices, Matrix::A, start..end, weights, a),
            || {
                rayon::join(
                    || accumulate(matrices, Matrix::B, start..end, weights, b),
                    || accumulate(matrices, Matrix::C, start..end, weights, c),
                )
            },
        );
        a?;
        b?;
        c?;
        start = end;
    }
    Ok(())
}

/// `out[i] = scale · ω^(first + i) / (τ - ω^(first + i))`
fn lagrange_coefficients(domain: Domain, tau: &Scalar, scale: &Scalar, first: usize, out: &mut [Scalar], scratch: &mut [Scalar]) {
    let omega = domain.generator();
    out.par_chunks_mut(INVERSIONS).zip(scratch.par_chunks_mut(INVERSIONS)).enumerate().for_each(|(k, (out, scratch))| {
        let power = omega.pow_vartime([(first + k * INVERSIONS) as u64]);
        let mut root = power;
        for value in out.iter_mut() {
            *value = tau - root;
            root *= omega;
        }
        BatchInverter::invert_with_external_scratch(out, scratch);
        let mut factor = power * scale;
        for value in out.iter_mut() {
            *value *= factor;
            factor *= omega;
        }
    });
}

/// Adds coefficient · weight to the variable of each term of the rows.
fn accumulate(
    matrices: &dyn ConstraintMatrices,
    matrix: Matrix,
    rows: Range<usize>,
    weights: &[Scalar],
    sums: &mut [Scalar],
) -> Result<(), BackendError> {
    let (variables, start) = (sums.len(), rows.start);
    let mut astray = None;
    matrices.for_each_term(matrix, rows, &mut |row, variable, coefficient| {
        match (weights.get(row.wrapping_sub(start)), sums.get_mut(variable)) {
            // Half of the coefficients of typical circuits are one.
            (Some(weight), Some(sum)) if *coefficient == Scalar::ONE => *sum += weight,
            (Some(weight), Some(sum)) => *sum += weight * coefficient,
            _ => astray = Some(variable),
        }
    })?;
    match astray {
        None => Ok(()),
        Some(found) => Err(BackendError::Length { what: "the variable of a matrix term, or its row", expected: variables, found }),
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    /// Lagrange coefficients are the values of the polynomials that are one at one root and zero at the others.
    #[test]
    fn coefficients_interpolate() {
        let mut rng = rand_xorshift::XorShiftRng::seed_from_u64(5);
        for log2_size in [0, 1, 3, 13] {
            let domain = Domain::new(log2_size).unwrap();
            let n = domain.size();
            let tau = Scalar::random(&mut rng);
            let scale = (tau.pow_vartime([n as u64]) - Scalar::ONE) * Scalar::from(n as u64).invert().unwrap();
            let mut out = vec![Scalar::ZERO; n];
            let split = n / 3;
            let mut scratch = vec![Scalar::ZERO; n];
            lagrange_coefficients(domain, &tau, &scale, 0, &mut out[..split], &mut scratch[..split]);
            lagrange_coefficients(domain, &tau, &scale, split, &mut out[split..], &mut scratch[split..]);
            // A polynomial of degree below N is the sum of its values times the coefficients.
            let polynomial: Vec<Scalar> = (0..n).map(|_| Scalar::random(&mut rng)).collect();
            let at = |x: Scalar| polynomial.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c);
            let step = (n / 8).max(1);
            if n <= 8 {
                let mut root = Scalar::ONE;
                let mut sum = Scalar::ZERO;
                for weight in &out {
                    sum += at(root) * weight;
                    root *= domain.generator();
                }
                assert_eq!(sum, at(tau));
            }
            // The coefficients sum to one, and so do the monomials x^k, k a multiple of some step.
            for k in (0..n).step_by(step) {
                let ratio = domain.generator().pow_vartime([k as u64]);
                let (mut root, mut sum) = (Scalar::ONE, Scalar::ZERO);
                for weight in &out {
                    sum += root * weight;
                    root *= ratio;
                }
                assert_eq!(sum, tau.pow_vartime([k as u64]));
            }
        }
    }
}
