//! The portable CPU backend behind the prover's traits.

use bls12_381_layout::Affine;
use blstrs::Scalar;
use pipeline_stage::StageContext;
use prover_backend::{BackendError, BaseSource, Coset, FixedBase, FixedBaseTable, Msm, Ntt, ProverBackend, Scalars};

use crate::fixed_base::WindowTable;
use crate::msm;
use crate::ntt::Transforms;

/// Transforms and sums on the CPU, in the global or the surrounding rayon pool.
///
/// The number of threads of that pool is read once, when the backend is made: it bounds how many workspaces a call takes from the ledger.
/// In a larger pool the backend still works, with as many workers as it has workspaces.
#[derive(Debug)]
pub struct CpuBackend {
    workers: usize,
    transforms: Transforms,
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuBackend {
    /// A backend for the threads of the current rayon pool.
    #[must_use]
    pub fn new() -> Self {
        Self::with_workers(rayon::current_num_threads())
    }

    /// A backend that keeps at most `workers` workspaces at a time (at least one).
    #[must_use]
    pub fn with_workers(workers: usize) -> Self {
        let workers = workers.max(1);
        Self { workers, transforms: Transforms::new(workers) }
    }
}

impl Ntt for CpuBackend {
    fn forward(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        self.transforms.forward(values, coset, context)
    }

    fn inverse(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        self.transforms.inverse(values, coset, context)
    }

    fn ntt_scratch_bytes(&self, log2_size: u32) -> u64 {
        self.transforms.scratch_bytes(log2_size)
    }
}

impl<A: Affine> Msm<A> for CpuBackend {
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, context: &StageContext) -> Result<A::Projective, BackendError> {
        msm::sum(bases, &scalars, self.workers, context)
    }

    fn msm_scratch_bytes(&self, points: usize) -> u64 {
        msm::scratch_bytes::<A>(points, self.workers)
    }
}

impl<A: Affine> FixedBase<A> for CpuBackend {
    fn fixed_base_table(
        &self,
        base: &A,
        multiplications: usize,
        context: &StageContext,
    ) -> Result<Box<dyn FixedBaseTable<A>>, BackendError> {
        Ok(Box::new(WindowTable::new(base, multiplications, self.workers, context)?))
    }
}

impl ProverBackend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu-portable"
    }
}
