//! Multi-scalar multiplication.

use bls12_381_layout::Affine;
use pipeline_stage::StageContext;

use crate::{BackendError, BaseSource, Scalars};

/// The sum of scalar·point over a section of points.
pub trait Msm<A: Affine>: Send + Sync {
    /// Σ scalars\[i\]·bases\[i\]. Points at infinity, zero scalars, equal and opposite points are all fine; the empty sum is infinity.
    ///
    /// # Errors
    /// [`BackendError::Length`] when there are not exactly as many points as scalars, unreadable points, memory for scratch, cancellation.
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, context: &StageContext) -> Result<A::Projective, BackendError>;

    /// Bytes of scratch a sum over `points` points takes from the ledger at most, whatever the scalars.
    fn msm_scratch_bytes(&self, points: usize) -> u64;
}
