//! Two backends that must agree.

use bls12_381_layout::Affine;
use blstrs::Scalar;
use pipeline_stage::StageContext;
use prover_backend::{BackendError, BaseSource, Coset, FixedBase, FixedBaseTable, Msm, Ntt, ProverBackend, Scalars};

/// Runs everything on both backends and asserts that the results are equal; answers with the left one's.
///
/// When one fails and the other does not, that is an assertion too, except for memory and cancellation, which are passed on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dual<L, R> {
    /// Whose results are returned.
    pub left: L,
    /// What they are compared with.
    pub right: R,
}

impl<L, R> Dual<L, R> {
    /// Both backends as one.
    pub const fn new(left: L, right: R) -> Self {
        Self { left, right }
    }
}

fn both<T>(left: Result<T, BackendError>, right: Result<T, BackendError>, equal: impl FnOnce(&T, &T) -> bool) -> Result<T, BackendError> {
    let excused = |e: &BackendError| matches!(e, BackendError::Memory(_) | BackendError::Oversized(_) | BackendError::Cancelled);
    match (left, right) {
        (Ok(left), Ok(right)) => {
            assert!(equal(&left, &right), "the backends disagree");
            Ok(left)
        }
        (Err(left), Err(right)) => {
            assert!(
                excused(&left) || excused(&right) || std::mem::discriminant(&left) == std::mem::discriminant(&right),
                "the backends fail for different reasons: {left} | {right}"
            );
            Err(left)
        }
        (Ok(_), Err(error)) | (Err(error), Ok(_)) if excused(&error) => Err(error),
        (Ok(_), Err(error)) => panic!("only the right backend fails: {error}"),
        (Err(error), Ok(_)) => panic!("only the left backend fails: {error}"),
    }
}

impl<L: Ntt, R: Ntt> Ntt for Dual<L, R> {
    fn forward(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        let mut other = values.to_vec();
        let left = self.left.forward(values, coset, context);
        let right = self.right.forward(&mut other, coset, context);
        both(left, right, |(), ()| *values == *other)
    }

    fn inverse(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        let mut other = values.to_vec();
        let left = self.left.inverse(values, coset, context);
        let right = self.right.inverse(&mut other, coset, context);
        both(left, right, |(), ()| *values == *other)
    }

    fn ntt_scratch_bytes(&self, log2_size: u32) -> u64 {
        // One after the other, so the larger of the two.
        self.left.ntt_scratch_bytes(log2_size).max(self.right.ntt_scratch_bytes(log2_size))
    }
}

impl<A: Affine, L: Msm<A>, R: Msm<A>> Msm<A> for Dual<L, R> {
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, context: &StageContext) -> Result<A::Projective, BackendError> {
        let left = self.left.msm(bases, scalars.clone(), context);
        let right = self.right.msm(bases, scalars, context);
        both(left, right, |left, right| left == right)
    }

    fn msm_scratch_bytes(&self, points: usize) -> u64 {
        self.left.msm_scratch_bytes(points).max(self.right.msm_scratch_bytes(points))
    }
}

struct DualTable<A> {
    left: Box<dyn FixedBaseTable<A>>,
    right: Box<dyn FixedBaseTable<A>>,
}

impl<A: Affine> FixedBaseTable<A> for DualTable<A> {
    fn multiply(&self, scalars: &[Scalar], out: &mut [A], context: &StageContext) -> Result<(), BackendError> {
        let mut other = out.to_vec();
        let left = self.left.multiply(scalars, out, context);
        let right = self.right.multiply(scalars, &mut other, context);
        both(left, right, |(), ()| *out == *other)
    }
}

impl<A: Affine, L: FixedBase<A>, R: FixedBase<A>> FixedBase<A> for Dual<L, R> {
    fn fixed_base_table(
        &self,
        base: &A,
        multiplications: usize,
        context: &StageContext,
    ) -> Result<Box<dyn FixedBaseTable<A>>, BackendError> {
        Ok(Box::new(DualTable {
            left: self.left.fixed_base_table(base, multiplications, context)?,
            right: self.right.fixed_base_table(base, multiplications, context)?,
        }))
    }
}

impl<L: ProverBackend, R: ProverBackend> ProverBackend for Dual<L, R> {
    fn name(&self) -> &'static str {
        "dual"
    }
}
