#![doc = include_str!("../README.md")]

mod kernels;
mod measure;
mod parameters;
mod reference;
mod seal;
mod sums;
mod transforms;

pub use kernels::{Comparison, Size, Times, compare_g1, compare_g2, compare_transforms, compare_witness};
pub use measure::{Figures, PeerRun, measured};
pub use parameters::{ParameterFiles, Secrets, generate_parameters, generate_porep_parameters, parse_seal_proof};
pub use reference::{reference, shape, statistics};
pub use seal::{C1File, PARAMETER_FOLDER_VARIABLE, parameter_folder, prove_seal, prover_id, verify_seal};
pub use sums::{BellpersonSum, BlstG1Sum, BlstG2Sum};
pub use transforms::{Transform, bellperson_quotient, bellperson_transform};
