//! Many multiples of one point.

use bls12_381_layout::Affine;
use blstrs::Scalar;
use pipeline_stage::StageContext;

use crate::BackendError;

/// Precomputed multiples of one point.
pub trait FixedBaseTable<A>: Send + Sync {
    /// `out[i] = scalars[i]·base`, affine. A zero scalar gives infinity.
    ///
    /// # Errors
    /// [`BackendError::Length`] when the lengths differ, memory for scratch, cancellation.
    fn multiply(&self, scalars: &[Scalar], out: &mut [A], context: &StageContext) -> Result<(), BackendError>;
}

/// Makes tables of multiples, for set-ups that multiply one generator by millions of scalars.
pub trait FixedBase<A: Affine>: Send + Sync {
    /// A table for `base`, sized for about `multiplications` scalars. The table holds a permit of the context's ledger.
    ///
    /// # Errors
    /// Memory for the table, cancellation.
    fn fixed_base_table(
        &self,
        base: &A,
        multiplications: usize,
        context: &StageContext,
    ) -> Result<Box<dyn FixedBaseTable<A>>, BackendError>;
}
