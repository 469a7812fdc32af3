#![doc = include_str!("../README.md")]

mod bases;
mod domain;
mod error;
mod fixed_base;
mod matrices;
mod msm;
mod ntt;
mod scalars;

pub use bases::BaseSource;
pub use domain::{Domain, MAX_LOG2_SIZE};
pub use error::BackendError;
pub use fixed_base::{FixedBase, FixedBaseTable};
pub use matrices::{ConstraintMatrices, Matrix};
pub use msm::Msm;
pub use ntt::{Coset, Ntt};
pub use scalars::{FULL_CHUNK, RANK_BLOCK, Scalars, SelectedWitness, WitnessView};

use blstrs::{G1Affine, G2Affine};

/// Everything a Groth16 prover needs from one backend.
pub trait ProverBackend: Ntt + Msm<G1Affine> + Msm<G2Affine> + FixedBase<G1Affine> + FixedBase<G2Affine> {
    /// A short name for logs, tables and metrics, for instance `cpu-portable`.
    fn name(&self) -> &'static str;
}
