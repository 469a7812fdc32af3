//! Verification.

use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Prepared, Gt, Scalar};
use ff::Field;
use groth16_srs::VerifyingKey;
use group::prime::PrimeCurveAffine;
use group::{Curve, Group};
use pairing::{Engine, MillerLoopResult, MultiMillerLoop};
use pipeline_stage::{Classified, ErrorClass};

use crate::blinding::coefficients_from_os;
use crate::input_sum::input_sum;
use crate::{Proof, RandomnessError, UnverifiedProof};

/// A verifying key that nothing can be proved or verified with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// An element is the point at infinity: whoever made the key could prove anything, or nothing is hidden.
    #[error("{element} of the verifying key is the point at infinity; the key is broken or forged, get it again from its source")]
    Infinity {
        /// Which element.
        element: &'static str,
    },
    /// There is no point for the constant ONE.
    #[error("the verifying key has no input points; expected at least one, for the constant input")]
    NoInputPoints,
}

impl Classified for KeyError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Fatal
    }
}

/// A proof that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The number of inputs is not the key's.
    #[error(
        "the verifying key takes {expected} public inputs (without the constant one), found {found}; key and statement are of different circuits"
    )]
    InputCount {
        /// Inputs of the key.
        expected: usize,
        /// Inputs given.
        found: usize,
    },
    /// The pairing equation does not hold.
    #[error("the proof does not verify: it belongs to another statement or key, was altered, or the witness does not satisfy the circuit")]
    Rejected,
}

impl Classified for VerifyError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Fatal
    }
}

/// Why not all of many proofs hold.
#[derive(Debug, thiserror::Error)]
pub enum BatchVerifyError {
    /// The first proof that does not hold.
    #[error("proof {index}: {source}")]
    At {
        /// Its place in the batch, from zero.
        index: usize,
        /// Why.
        source: VerifyError,
    },
    /// The coefficients could not be drawn.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

impl Classified for BatchVerifyError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::At { source, .. } => source.class(),
            Self::Randomness(error) => error.class(),
        }
    }
}

/// A verifying key with what verification and assembly need computed once. About 60 kB and 96 bytes an input.
pub struct PreparedVerifyingKey {
    pub(crate) alpha_g1: G1Affine,
    pub(crate) beta_g1: G1Affine,
    pub(crate) beta_g2: G2Affine,
    pub(crate) delta_g1: G1Affine,
    pub(crate) delta_g2: G2Affine,
    ic: Vec<G1Affine>,
    alpha_beta: Gt,
    beta: G2Prepared,
    minus_gamma: G2Prepared,
    minus_delta: G2Prepared,
}

impl std::fmt::Debug for PreparedVerifyingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedVerifyingKey").field("public_inputs", &self.public_inputs()).finish_non_exhaustive()
    }
}

impl PreparedVerifyingKey {
    /// Prepares a key whose points are known to be in their groups (as a key that was read by `groth16-srs` is).
    ///
    /// # Errors
    /// [`KeyError`]: an element at infinity, no input points.
    pub fn new(key: &VerifyingKey) -> Result<Self, KeyError> {
        let elements = [
            ("alpha in G1", key.alpha_g1.is_identity()),
            ("beta in G1", key.beta_g1.is_identity()),
            ("beta in G2", key.beta_g2.is_identity()),
            ("gamma in G2", key.gamma_g2.is_identity()),
            ("delta in G1", key.delta_g1.is_identity()),
            ("delta in G2", key.delta_g2.is_identity()),
        ];
        let inputs = key.ic.iter().map(|point| ("an input point", point.is_identity()));
        if let Some((element, _)) = elements.into_iter().chain(inputs).find(|(_, infinity)| bool::from(*infinity)) {
            return Err(KeyError::Infinity { element });
        }
        if key.ic.is_empty() {
            return Err(KeyError::NoInputPoints);
        }
        Ok(Self {
            alpha_g1: key.alpha_g1,
            beta_g1: key.beta_g1,
            beta_g2: key.beta_g2,
            delta_g1: key.delta_g1,
            delta_g2: key.delta_g2,
            ic: key.ic.clone(),
            alpha_beta: Bls12::pairing(&key.alpha_g1, &key.beta_g2),
            beta: G2Prepared::from(key.beta_g2),
            minus_gamma: G2Prepared::from(-key.gamma_g2),
            minus_delta: G2Prepared::from(-key.delta_g2),
        })
    }

    /// Number of public inputs of a statement, without the constant ONE.
    #[must_use]
    pub fn public_inputs(&self) -> usize {
        self.ic.len() - 1
    }

    fn check_count(&self, public_inputs: &[Scalar]) -> Result<(), VerifyError> {
        let (expected, found) = (self.public_inputs(), public_inputs.len());
        if expected == found { Ok(()) } else { Err(VerifyError::InputCount { expected, found }) }
    }

    /// e(A, B) = e(α, β)·e(inputs, γ)·e(C, δ). Three Miller loops and one final exponentiation. `public_inputs` come without ONE.
    ///
    /// # Errors
    /// [`VerifyError::InputCount`], [`VerifyError::Rejected`].
    pub fn verify(&self, proof: &UnverifiedProof, public_inputs: &[Scalar]) -> Result<Proof, VerifyError> {
        self.check_count(public_inputs)?;
        let scalars = std::iter::once(Scalar::ONE).chain(public_inputs.iter().copied());
        let inputs = input_sum(self.ic.iter().zip(scalars)).to_affine();
        let product = Bls12::multi_miller_loop(&[
            (&proof.a, &G2Prepared::from(proof.b)),
            (&inputs, &self.minus_gamma),
            (&proof.c, &self.minus_delta),
        ])
        .final_exponentiation();
        if product == self.alpha_beta { Ok(Proof(*proof)) } else { Err(VerifyError::Rejected) }
    }

    /// Verifies many proofs under one final exponentiation: the equations are added up with random coefficients of 128 bits, so that a set
    /// with a false proof passes with probability 2^-127. When the set fails, proofs are tried one by one to name the first false one.
    /// (Bellare, Garay, Rabin 1998; for Groth16 the Zcash protocol specification, appendix B.2.)
    ///
    /// # Errors
    /// [`BatchVerifyError::At`] names the proof, [`BatchVerifyError::Randomness`].
    pub fn verify_all(&self, proofs: &[(&UnverifiedProof, &[Scalar])]) -> Result<Vec<Proof>, BatchVerifyError> {
        for (index, (_, public_inputs)) in proofs.iter().enumerate() {
            self.check_count(public_inputs).map_err(|source| BatchVerifyError::At { index, source })?;
        }
        // A single proof is cheaper on its own.
        if proofs.len() > 1 && self.combination_holds(proofs)? {
            return Ok(proofs.iter().map(|(proof, _)| Proof(**proof)).collect());
        }
        proofs
            .iter()
            .enumerate()
            .map(|(index, (proof, public_inputs))| {
                self.verify(proof, public_inputs).map_err(|source| BatchVerifyError::At { index, source })
            })
            .collect()
    }

    /// Π e(zᵢ·Aᵢ, Bᵢ) · e(Σ zᵢ·inputsᵢ, -γ) · e(Σ zᵢ·Cᵢ, -δ) · e(-(Σ zᵢ)·α, β) = 1
    fn combination_holds(&self, proofs: &[(&UnverifiedProof, &[Scalar])]) -> Result<bool, RandomnessError> {
        let z = coefficients_from_os(proofs.len())?;
        let z_sum: Scalar = z.iter().sum();
        let inputs = self.ic.iter().enumerate().map(|(input, point)| {
            let scalar = match input.checked_sub(1) {
                None => z_sum,
                Some(input) => z.iter().zip(proofs).map(|(z, (_, inputs))| *z * inputs[input]).sum(),
            };
            (point, scalar)
        });
        let inputs = input_sum(inputs).to_affine();
        let c: G1Projective = z.iter().zip(proofs).map(|(z, (proof, _))| proof.c * z).sum();
        let c = c.to_affine();
        let minus_alpha = (-(self.alpha_g1 * z_sum)).to_affine();

        let pairs: Vec<(G1Affine, G2Prepared)> =
            z.iter().zip(proofs).map(|(z, (proof, _))| ((proof.a * z).to_affine(), G2Prepared::from(proof.b))).collect();
        let fixed = [(&inputs, &self.minus_gamma), (&c, &self.minus_delta), (&minus_alpha, &self.beta)];
        let terms: Vec<(&G1Affine, &G2Prepared)> = pairs.iter().map(|(a, b)| (a, b)).chain(fixed).collect();
        Ok(Bls12::multi_miller_loop(&terms).final_exponentiation() == Gt::identity())
    }
}
