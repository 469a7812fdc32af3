//! Number-theoretic transforms.

use blstrs::Scalar;
use pipeline_stage::StageContext;

use crate::BackendError;

/// Where a polynomial is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coset {
    /// On the domain itself: the powers of ω.
    Subgroup,
    /// On g·ω^i for this g, which is not zero.
    Shifted(Scalar),
}

/// Transforms over the scalar field, in place, for any power of two up to 2^[`MAX_LOG2_SIZE`](crate::MAX_LOG2_SIZE).
///
/// The order of the points is chosen so that no backend needs a reordering pass: evaluations are in bit-reversed order, coefficients
/// in natural order. `inverse` undoes `forward` for the same coset.
pub trait Ntt: Send + Sync {
    /// Coefficients (natural order) to evaluations (bit-reversed order): position `bit_reverse(i)` holds the value at g·ω^i.
    ///
    /// # Errors
    /// [`BackendError::Length`] when the length is no power of two, [`BackendError::DomainTooLarge`], memory for scratch, cancellation.
    /// After an error the values are unspecified.
    fn forward(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError>;

    /// Evaluations (bit-reversed order) to coefficients (natural order), scaled by 1/N.
    ///
    /// # Errors
    /// As for [`forward`](Ntt::forward).
    fn inverse(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError>;

    /// Bytes of scratch a transform of 2^`log2_size` takes from the ledger at most.
    fn ntt_scratch_bytes(&self, log2_size: u32) -> u64;
}
