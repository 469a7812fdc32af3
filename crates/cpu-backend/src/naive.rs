//! The naive backend: every trait by definition, one operation after the other. It takes no scratch and looks at nothing twice, so it is
//! what the fast paths are compared with.

use bls12_381_layout::Affine;
use blstrs::Scalar;
use group::Curve;
use pipeline_stage::StageContext;
use prover_backend::{BackendError, BaseSource, Coset, FixedBase, FixedBaseTable, Msm, Ntt, ProverBackend, Scalars};

use crate::{msm, ntt};

/// Transforms in N² multiplications, sums by double-and-add.
#[derive(Clone, Copy, Debug, Default)]
pub struct NaiveBackend;

impl Ntt for NaiveBackend {
    fn forward(&self, values: &mut [Scalar], coset: Coset, _: &StageContext) -> Result<(), BackendError> {
        ntt::naive::forward(values, coset)
    }

    fn inverse(&self, values: &mut [Scalar], coset: Coset, _: &StageContext) -> Result<(), BackendError> {
        ntt::naive::inverse(values, coset)
    }

    fn ntt_scratch_bytes(&self, _: u32) -> u64 {
        0
    }
}

impl<A: Affine> Msm<A> for NaiveBackend {
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, _: &StageContext) -> Result<A::Projective, BackendError> {
        msm::naive::sum(bases, &scalars)
    }

    fn msm_scratch_bytes(&self, _: usize) -> u64 {
        0
    }
}

struct NaiveMultiples<A>(A);

impl<A: Affine> FixedBaseTable<A> for NaiveMultiples<A> {
    fn multiply(&self, scalars: &[Scalar], out: &mut [A], _: &StageContext) -> Result<(), BackendError> {
        if scalars.len() != out.len() {
            return Err(BackendError::Length { what: "multiples of a point", expected: scalars.len(), found: out.len() });
        }
        for (multiple, scalar) in out.iter_mut().zip(scalars) {
            *multiple = (self.0 * *scalar).to_affine();
        }
        Ok(())
    }
}

impl<A: Affine> FixedBase<A> for NaiveBackend {
    fn fixed_base_table(&self, base: &A, _: usize, _: &StageContext) -> Result<Box<dyn FixedBaseTable<A>>, BackendError> {
        Ok(Box::new(NaiveMultiples(*base)))
    }
}

impl ProverBackend for NaiveBackend {
    fn name(&self) -> &'static str {
        "cpu-naive"
    }
}
