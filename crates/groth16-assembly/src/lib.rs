#![doc = include_str!("../README.md")]

mod assemble;
mod blinding;
mod encoding;
mod input_sum;
mod partitions;
mod proof;
mod verify;

pub use assemble::{Sums, assemble, assemble_and_verify};
pub use blinding::{Blinding, RandomnessError};
pub use encoding::{DecodeError, ProofElement};
pub use partitions::{PARTITIONS_MAX, PartitionCollector, PartitionError, verify_partitions};
pub use proof::{PROOF_BYTES, Proof, UnverifiedProof};
pub use verify::{BatchVerifyError, KeyError, PreparedVerifyingKey, VerifyError};
