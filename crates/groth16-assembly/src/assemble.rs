//! The combination of sums, key and blinding.

use blstrs::{G1Projective, G2Projective, Scalar};
use group::Curve;

use crate::blinding::wipe;
use crate::{Blinding, PreparedVerifyingKey, Proof, UnverifiedProof, VerifyError};

/// The five multi-scalar multiplications of one partition, over inputs (with ONE) and auxiliary variables together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Coefficients of the quotient polynomial over the section h.
    pub h: G1Projective,
    /// Auxiliary variables over the section l.
    pub l: G1Projective,
    /// Variables with an A polynomial over the section a.
    pub a: G1Projective,
    /// Variables with a B polynomial over the section b_g1.
    pub b_g1: G1Projective,
    /// Variables with a B polynomial over the section b_g2.
    pub b_g2: G2Projective,
}

/// A = α + a + r·δ and B = β + b + s·δ in G2; C = h + l + s·(α + a) + r·(β + b) + r·s·δ in G1. The blinding is wiped.
///
/// With B₁ for β + b + s·δ in G1 this is the s·A + r·B₁ − r·s·δ + h + l of the paper (Groth 2016, section 3.2), written as bellperson
/// writes it. Four multiplications in G1 and one in G2, in constant time with respect to the scalars.
#[must_use]
pub fn assemble(key: &PreparedVerifyingKey, sums: &Sums, blinding: Blinding) -> UnverifiedProof {
    let (r, s) = (blinding.r(), blinding.s());
    let mut rs = [*r * s];
    let alpha_and_a = sums.a + key.alpha_g1;
    let beta_and_b = sums.b_g1 + key.beta_g1;

    let a = alpha_and_a + key.delta_g1 * r;
    let b = sums.b_g2 + key.beta_g2 + key.delta_g2 * s;
    let c = sums.h + sums.l + alpha_and_a * s + beta_and_b * r + key.delta_g1 * rs[0];
    wipe(&mut rs);
    UnverifiedProof { a: a.to_affine(), b: b.to_affine(), c: c.to_affine() }
}

/// [`assemble`], then [`PreparedVerifyingKey::verify`] against the public inputs (without ONE).
///
/// # Errors
/// [`VerifyError::Rejected`] when the sums belong to another statement, key or witness, [`VerifyError::InputCount`].
pub fn assemble_and_verify(
    key: &PreparedVerifyingKey,
    sums: &Sums,
    blinding: Blinding,
    public_inputs: &[Scalar],
) -> Result<Proof, VerifyError> {
    key.verify(&assemble(key, sums, blinding), public_inputs)
}
