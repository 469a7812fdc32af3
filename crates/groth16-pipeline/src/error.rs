//! Why the engine, or one of its stages, failed.

use buffer_accounting::PoolError;
use circuit_synth::SynthError;
use groth16_assembly::{PartitionError, RandomnessError, VerifyError};
use pipeline_stage::{AcquireError, Classified, ErrorClass};
use prover_backend::BackendError;

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The budget cannot hold the least plan.
    #[error(
        "proving {circuit} needs at least {needed} bytes of host memory ({parts}), the budget is {budget} bytes with {held} in use besides: raise the budget by {missing} bytes{}",
        match .synth_threads { Some(n) => format!(", or synthesise with {n} at a time"), None => String::new() }
    )]
    Budget {
        /// The largest circuit asked for.
        circuit: String,
        /// Bytes needed at least.
        needed: u64,
        /// What they are for.
        parts: String,
        /// Bytes the budget has.
        budget: u64,
        /// Bytes in use already, besides what the jobs hold.
        held: u64,
        /// Bytes that are missing.
        missing: u64,
        /// With so many threads of synthesis it would fit.
        synth_threads: Option<usize>,
    },
    /// No circuit to prove.
    #[error("an engine needs the keys of at least one circuit")]
    NoCircuit,
    /// The counts of a circuit are out of range.
    #[error("{0}")]
    Circuit(#[from] groth16_srs::SrsError),
    /// Reservation failed.
    #[error("{0}")]
    Memory(#[from] AcquireError),
    /// A worker thread could not be started.
    #[error("a worker thread could not be started: {0}")]
    Thread(#[from] std::io::Error),
}

impl Classified for EngineError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Budget { .. } | Self::NoCircuit => ErrorClass::Fatal,
            Self::Circuit(error) => error.class(),
            Self::Memory(error) => error.class(),
            Self::Thread(_) => ErrorClass::Retryable,
        }
    }
}

/// Why there is no quotient polynomial.
#[derive(Debug, thiserror::Error)]
pub enum QuotientError {
    /// The witness does not satisfy the circuit.
    #[error("the witness does not satisfy the circuit; `circuit check` names the constraint")]
    Unsatisfied,
    /// The matrices could not be evaluated.
    #[error("{0}")]
    Evaluate(#[from] SynthError),
    /// A transform failed.
    #[error("{0}")]
    Backend(#[from] BackendError),
    /// A buffer was not had.
    #[error("{0}")]
    Buffer(#[from] PoolError),
}

impl Classified for QuotientError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Unsatisfied => ErrorClass::Fatal,
            Self::Evaluate(error) => error.class(),
            Self::Backend(error) => error.class(),
            Self::Buffer(error) => error.class(),
        }
    }
}

/// Why sums did not become a proof.
#[derive(Debug, thiserror::Error)]
pub enum FinalizeError {
    /// The operating system gave no randomness.
    #[error("{0}")]
    Randomness(#[from] RandomnessError),
    /// The proof does not verify. Proving it again helps where hardware erred, never where the key is wrong.
    #[error("the proof of partition {partition} does not verify, {}: {source}", if *.rejected > 1 { format!("and neither did {} before it", .rejected - 1) } else { "at the first try".to_owned() })]
    Verify {
        /// Which partition.
        partition: usize,
        /// Proofs of this partition that did not verify, this one included.
        rejected: u32,
        /// What verification said.
        source: VerifyError,
    },
    /// The partition's place is taken or does not exist.
    #[error("{0}")]
    Partition(#[from] PartitionError),
}

impl Classified for FinalizeError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Randomness(_) => ErrorClass::Retryable,
            Self::Verify { source, .. } => source.class(),
            Self::Partition(error) => error.class(),
        }
    }
}
