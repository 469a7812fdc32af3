//! The secrets of a development set-up.

use blstrs::{G1Projective, G2Projective, Scalar};
use ff::Field;
use group::Group;
use prover_backend::Domain;
use rand_chacha::ChaCha20Rng;
use rand_core::{OsRng, RngCore, SeedableRng};
use zeroize::{DefaultIsZeroes, Zeroize};

use crate::{Randomness, SrsError};

/// A scalar that is overwritten when its owner drops.
#[derive(Clone, Copy, Default)]
pub(super) struct Toxic(pub(super) Scalar);

impl DefaultIsZeroes for Toxic {}

/// Generators and secrets of a set-up. Whoever knows them can forge proofs. The scalars are overwritten on drop; copies that the compiler
/// keeps in registers or on the stack are out of reach.
pub struct SetupSecrets {
    pub(super) g1: G1Projective,
    pub(super) g2: G2Projective,
    pub(super) alpha: Toxic,
    pub(super) beta: Toxic,
    pub(super) gamma: Toxic,
    pub(super) delta: Toxic,
    pub(super) tau: Toxic,
    randomness: Randomness,
}

impl SetupSecrets {
    /// Secrets from a seed: g1, g2, α, β, γ, δ, τ drawn in this order from ChaCha20 with the seed as its key, each with the `random` of its
    /// type, as bellperson's `generate_random_parameters` draws them.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self::draw(&mut ChaCha20Rng::from_seed(seed), Randomness::Seeded)
    }

    /// Secrets from the operating system's generator.
    ///
    /// # Errors
    /// [`SrsError::Io`] when the generator does not answer.
    pub fn from_os() -> Result<Self, SrsError> {
        let mut probe = [0u8; 32];
        let answered = OsRng.try_fill_bytes(&mut probe);
        probe.zeroize();
        answered.map_err(|e| {
            SrsError::io("read the system's random generator", "/dev/urandom".as_ref(), std::io::Error::other(e.to_string()))
        })?;
        Ok(Self::draw(&mut OsRng, Randomness::OperatingSystem))
    }

    /// Given secrets, for comparison with another generator. Counts as a known seed.
    #[must_use]
    pub fn from_parts(g1: G1Projective, g2: G2Projective, alpha: Scalar, beta: Scalar, gamma: Scalar, delta: Scalar, tau: Scalar) -> Self {
        let (alpha, beta, gamma, delta, tau) = (Toxic(alpha), Toxic(beta), Toxic(gamma), Toxic(delta), Toxic(tau));
        Self { g1, g2, alpha, beta, gamma, delta, tau, randomness: Randomness::Seeded }
    }

    fn draw(rng: &mut impl RngCore, randomness: Randomness) -> Self {
        Self {
            g1: G1Projective::random(&mut *rng),
            g2: G2Projective::random(&mut *rng),
            alpha: Toxic(Scalar::random(&mut *rng)),
            beta: Toxic(Scalar::random(&mut *rng)),
            gamma: Toxic(Scalar::random(&mut *rng)),
            delta: Toxic(Scalar::random(&mut *rng)),
            tau: Toxic(Scalar::random(&mut *rng)),
            randomness,
        }
    }

    /// Where they came from.
    #[must_use]
    pub fn randomness(&self) -> Randomness {
        self.randomness
    }

    /// Refuses secrets that give points at infinity or no key at all.
    pub(super) fn check(&self, domain: Domain) -> Result<(), SrsError> {
        let secret = |name, why| Err(SrsError::Secret { name, why });
        if bool::from(self.g1.is_identity()) {
            return secret("g1", "is the point at infinity");
        }
        if bool::from(self.g2.is_identity()) {
            return secret("g2", "is the point at infinity");
        }
        let scalars = [("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma), ("delta", self.delta), ("tau", self.tau)];
        for (name, value) in scalars {
            if value.0.is_zero_vartime() {
                return secret(name, "is zero");
            }
        }
        if self.tau.0.pow_vartime([domain.size() as u64]) == Scalar::ONE {
            return secret("tau", "lies in the evaluation domain");
        }
        Ok(())
    }
}

impl Drop for SetupSecrets {
    fn drop(&mut self) {
        for secret in [&mut self.alpha, &mut self.beta, &mut self.gamma, &mut self.delta, &mut self.tau] {
            secret.zeroize();
        }
    }
}

impl std::fmt::Debug for SetupSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetupSecrets").field("randomness", &self.randomness).finish_non_exhaustive()
    }
}
