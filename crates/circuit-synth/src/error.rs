//! Why a circuit could not be compiled, opened, synthesised or evaluated.

use std::path::{Path, PathBuf};

use bellpepper_core::SynthesisError;
use pipeline_stage::{AcquireError, Classified, ErrorClass, OversizedBuffer};
use prover_backend::BackendError;

/// Why a circuit could not be compiled, opened, synthesised or evaluated.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// The circuit's own synthesis failed.
    #[error("synthesis of {circuit} failed: {source}")]
    Synthesis {
        /// Name of the circuit.
        circuit: String,
        /// What the circuit reported.
        source: SynthesisError,
    },
    /// The instance is not of the compiled circuit.
    #[error("{circuit} has {expected} {what}, this instance has {found}: it is of another circuit, or the compiled circuit is outdated")]
    Count {
        /// Name of the compiled circuit.
        circuit: String,
        /// What was counted.
        what: &'static str,
        /// How many the compiled circuit has.
        expected: u64,
        /// How many the instance has (at least).
        found: u64,
    },
    /// The circuit is larger than the format.
    #[error("{what}: at most {limit} are supported, found {found}")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// How many there are (at least).
        found: u64,
    },
    /// A constraint names a variable that does not exist.
    #[error("constraint {constraint} names {kind} {found}, but only {allocated} were allocated before it: the circuit is broken")]
    UnknownVariable {
        /// Number of the constraint.
        constraint: u64,
        /// Input or auxiliary variable.
        kind: &'static str,
        /// How many there are.
        allocated: u64,
        /// The number it names, from zero.
        found: u64,
    },
    /// Circuit names become parts of file names.
    #[error("{found:?} is no circuit name: expected 1 to {max} letters, digits, '.', '_', '-', not starting with '.'")]
    Name {
        /// The name.
        found: String,
        /// Longest name.
        max: usize,
    },
    /// The operating system refused.
    #[error("could not {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a compiled circuit.
    #[error("{path} is no compiled circuit: it starts with {found}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first bytes in hex.
        found: String,
    },
    /// The file is of another version of the format.
    #[error("{path} is a compiled circuit of format version {found}, expected {expected}: compile it again")]
    Version {
        /// The file.
        path: PathBuf,
        /// Version this program reads.
        expected: u32,
        /// Version of the file.
        found: u32,
    },
    /// The file is of another circuit.
    #[error("{path} is the compiled circuit {found}, expected {expected}")]
    OtherCircuit {
        /// The file.
        path: PathBuf,
        /// Name that was asked for.
        expected: String,
        /// Name in the file.
        found: String,
    },
    /// The file has another length than its header says.
    #[error("{path} has {found} bytes, expected {expected}: it is truncated or damaged, compile it again")]
    Size {
        /// The file.
        path: PathBuf,
        /// Length by the header, or the least length.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
    /// A part of the file is damaged.
    #[error("{path} is damaged: {part}: expected {expected}, found {found}; compile it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part.
        part: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Two lengths that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// Memory was not granted.
    #[error("{0}")]
    Memory(#[from] AcquireError),
    /// A buffer came out larger than its permit.
    #[error("{0}")]
    Oversized(#[from] OversizedBuffer),
    /// Witness parts or domain do not fit.
    #[error("{0}")]
    Backend(#[from] BackendError),
    /// The work was given up on request.
    #[error("cancelled")]
    Cancelled,
}

impl SynthError {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    /// True when the file cannot be trusted or read as a compiled circuit of this version, so that compiling again mends it.
    #[must_use]
    pub fn is_mended_by_compiling(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Version { .. } | Self::OtherCircuit { .. } | Self::Size { .. } | Self::Damaged { .. })
    }
}

impl Classified for SynthError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Memory(error) => error.class(),
            Self::Oversized(error) => error.class(),
            Self::Backend(error) => error.class(),
            Self::Cancelled => ErrorClass::Cancelled,
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::Interrupted => ErrorClass::Retryable,
            _ => ErrorClass::Fatal,
        }
    }
}
