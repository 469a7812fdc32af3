//! The scalars that blind a proof.

use bls12_381_layout::as_bytes_mut;
use blstrs::Scalar;
use ff::Field;
use pipeline_stage::{Classified, ErrorClass};
use rand_core::{OsRng, RngCore};
use zeroize::{Zeroize, Zeroizing};

/// The operating system's generator gave no bytes.
#[derive(Debug, thiserror::Error)]
#[error(
    "the operating system's random generator failed: {reason}; a proof without fresh randomness would not be zero-knowledge, so none is made"
)]
pub struct RandomnessError {
    reason: rand_core::Error,
}

impl Classified for RandomnessError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Retryable
    }
}

/// The two scalars r and s of a proof. Neither `Clone` nor reusable: two proofs with the same scalars can be told apart.
///
/// Its memory is overwritten on drop. Copies that the compiler spills while multiplying are beyond what safe Rust can reach.
pub struct Blinding([Scalar; 2]);

impl Blinding {
    /// Fresh scalars from the operating system's generator, each reduced from 384 bits (a bias below 2^-128).
    ///
    /// # Errors
    /// [`RandomnessError`] when the generator fails.
    pub fn from_os() -> Result<Self, RandomnessError> {
        let mut blinding = Self([Scalar::ZERO; 2]);
        for scalar in &mut blinding.0 {
            *scalar = scalar_from_os()?;
        }
        Ok(blinding)
    }

    /// Scalars chosen by the caller, so that two provers can be compared byte for byte. Zeros make a proof that hides nothing.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn fixed(r: Scalar, s: Scalar) -> Self {
        Self([r, s])
    }

    /// r, then s, drawn from a seeded generator as `Scalar::random` draws them.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn from_rng(rng: &mut impl RngCore) -> Self {
        let r = Scalar::random(&mut *rng);
        Self([r, Scalar::random(rng)])
    }

    pub(crate) fn r(&self) -> &Scalar {
        &self.0[0]
    }

    pub(crate) fn s(&self) -> &Scalar {
        &self.0[1]
    }
}

impl Drop for Blinding {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl std::fmt::Debug for Blinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Blinding(..)")
    }
}

/// Overwrites scalars in a way the optimiser may not drop.
pub(crate) fn wipe(scalars: &mut [Scalar]) {
    as_bytes_mut(scalars).zeroize();
}

/// A uniform scalar, up to a bias below 2^-128.
fn scalar_from_os() -> Result<Scalar, RandomnessError> {
    let mut bytes = Zeroizing::new([0u8; 48]);
    OsRng.try_fill_bytes(bytes.as_mut_slice()).map_err(|reason| RandomnessError { reason })?;
    let two_to_64 = Scalar::from(u64::MAX) + Scalar::ONE;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().fold(Scalar::ZERO, |sum, word| sum * two_to_64 + Scalar::from(u64::from_le_bytes(*word))))
}

/// Coefficients of 128 random bits, none zero, for a random linear combination.
pub(crate) fn coefficients_from_os(count: usize) -> Result<Vec<Scalar>, RandomnessError> {
    let two_to_64 = Scalar::from(u64::MAX) + Scalar::ONE;
    let mut coefficients = Vec::with_capacity(count);
    for _ in 0..count {
        let mut bytes = [0u8; 16];
        OsRng.try_fill_bytes(&mut bytes).map_err(|reason| RandomnessError { reason })?;
        // Setting one bit costs one bit of soundness and excludes zero, which would leave a proof unchecked.
        let bits = u128::from_le_bytes(bytes) | 1;
        coefficients.push(Scalar::from((bits >> 64) as u64) * two_to_64 + Scalar::from(bits as u64));
    }
    Ok(coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_of_the_os_differ() {
        let (x, y) = (Blinding::from_os().unwrap(), Blinding::from_os().unwrap());
        let all = [*x.r(), *x.s(), *y.r(), *y.s()];
        for (i, scalar) in all.iter().enumerate() {
            assert!(!all[..i].contains(scalar));
            // Below 2^64 with probability 2^-191 unless most of the words are dropped.
            assert!(scalar.to_bytes_le()[8..].iter().any(|byte| *byte != 0));
        }
    }

    #[test]
    fn coefficients_fit_128_bits_and_differ() {
        let coefficients = coefficients_from_os(100).unwrap();
        for (i, z) in coefficients.iter().enumerate() {
            assert!(!coefficients[..i].contains(z));
            let bytes = z.to_bytes_le();
            assert!(bytes[0] & 1 == 1 && bytes[16..].iter().all(|byte| *byte == 0));
        }
        assert!(coefficients.iter().any(|z| z.to_bytes_le()[15] != 0));
    }

    #[test]
    fn wiping_leaves_zeros() {
        let mut scalars = [Scalar::from(3), -Scalar::ONE];
        wipe(&mut scalars);
        assert_eq!(scalars, [Scalar::ZERO; 2]);
    }

    #[test]
    fn the_debug_text_tells_nothing() {
        assert_eq!(format!("{:?}", Blinding::fixed(Scalar::from(77), Scalar::ONE)), "Blinding(..)");
    }
}
