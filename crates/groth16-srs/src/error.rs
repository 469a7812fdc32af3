//! Why a key could not be read, written or made.

use std::path::{Path, PathBuf};

use pipeline_stage::{AcquireError, Classified, ErrorClass, OversizedBuffer};
use prover_backend::BackendError;

use crate::{Digest, Origin};

/// What is wrong with an encoded point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PointFault {
    /// The flag bits are not those of an uncompressed finite point.
    #[error("the flag bits are not those of an uncompressed point")]
    Flags,
    /// A coordinate is not below the field's modulus.
    #[error("a coordinate is not canonical (not below the modulus)")]
    NotCanonical,
    /// The coordinates do not satisfy the curve equation, or x is zero, which no point of the group has.
    #[error("not on the curve")]
    NotOnCurve,
    /// The point is on the curve but not in the subgroup of prime order.
    #[error("not in the subgroup of prime order")]
    NotInSubgroup,
    /// The point at infinity where there can be none.
    #[error("the point at infinity, which cannot occur here")]
    Infinity,
}

/// Why a key could not be read, written or made. A failed operation leaves no half-written file.
#[derive(Debug, thiserror::Error)]
pub enum SrsError {
    /// The file system refused.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason the system gave.
        source: std::io::Error,
    },
    /// Another process holds the file exclusively.
    #[error("{path}: another process holds this file locked; try again when it is done")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The writer that an export was given refused the bytes.
    #[error("the destination of the exported key refused its bytes: {0}")]
    Destination(#[source] std::io::Error),
    /// The folder's file system has too little room for the key.
    #[error("{folder}: the key needs {needed} bytes, {available} are free; free some space or keep keys elsewhere")]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// Bytes of the key.
        needed: u64,
        /// Bytes free.
        available: u64,
    },
    /// Memory was not granted.
    #[error("{0}")]
    Memory(#[from] AcquireError),
    /// A buffer turned out larger than planned.
    #[error("{0}")]
    Oversized(#[from] OversizedBuffer),
    /// The backend or the constraint matrices failed.
    #[error("{0}")]
    Backend(#[from] BackendError),
    /// The work was given up on request.
    #[error("cancelled")]
    Cancelled,
    /// The file is no native proving key at all.
    #[error("{path}: no native proving key: it starts with {found}, expected {expected}; import an official .params file first")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The magic bytes, hex.
        expected: String,
        /// The bytes found, hex.
        found: String,
    },
    /// The file has another version of the native format.
    #[error("{path}: native proving key of version {found}, this program reads version {expected}; make it again")]
    Version {
        /// The file.
        path: PathBuf,
        /// Version this crate reads.
        expected: u32,
        /// Version of the file.
        found: u32,
    },
    /// The file is shorter or longer than it should be.
    #[error("{path}: {found} bytes, expected {expected} ({what}): the file is truncated, still being copied, or another one")]
    Size {
        /// The file.
        path: PathBuf,
        /// What fixes the expected size.
        what: &'static str,
        /// Bytes there should be.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// The bytes end in the middle of something.
    #[error("{path}: the bytes end inside {section}, in what starts at byte {offset}: the file is truncated")]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What was being read.
        section: &'static str,
        /// Where the part that is cut off starts.
        offset: u64,
    },
    /// Header or table do not match their checksum.
    #[error("{path}: checksum of the header is {found}, expected {expected}: the file is corrupt, make it again")]
    HeaderChecksum {
        /// The file.
        path: PathBuf,
        /// Checksum in the file, hex.
        expected: String,
        /// Checksum of the bytes, hex.
        found: String,
    },
    /// A section does not match its checksum.
    #[error("{path}: checksum of section {section} is {found}, expected {expected}: the file is corrupt, make it again")]
    SectionChecksum {
        /// The file.
        path: PathBuf,
        /// The section.
        section: &'static str,
        /// Checksum in the table, hex.
        expected: String,
        /// Checksum of the bytes, hex.
        found: String,
    },
    /// The space between two sections is not zero.
    #[error("{path}: byte {offset} is {found:#04x}, expected zero padding: the file is corrupt, make it again")]
    Padding {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// The byte found.
        found: u8,
    },
    /// A field of the header has a value it cannot have.
    #[error("{path}: {field} is {found}, expected {expected}")]
    Header {
        /// The file.
        path: PathBuf,
        /// The field.
        field: &'static str,
        /// What it can be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The key belongs to another circuit.
    #[error("{path}: this key is for circuit {found}, expected {expected}: the file was swapped or the circuit changed")]
    Circuit {
        /// The file.
        path: PathBuf,
        /// Name and hash of the expected circuit.
        expected: String,
        /// Name and hash in the file.
        found: String,
    },
    /// A count does not fit the circuit.
    #[error("{path}: {found} {what}, expected {expected} for circuit {circuit}: the file belongs to another circuit or is corrupt")]
    Count {
        /// The file.
        path: PathBuf,
        /// What was counted.
        what: &'static str,
        /// The circuit's name.
        circuit: String,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A point cannot be what it should be.
    #[error("{path}: point {index} of {section} (byte {offset}): {fault}")]
    Point {
        /// The file.
        path: PathBuf,
        /// The section.
        section: &'static str,
        /// Index in the section.
        index: u64,
        /// Byte offset in the file.
        offset: u64,
        /// What is wrong.
        fault: PointFault,
    },
    /// The file has another digest than the published one.
    #[error("{path}: digest {found}, expected {expected} (first 16 bytes of BLAKE2b-512): not the published file, fetch it again")]
    Digest {
        /// The file.
        path: PathBuf,
        /// The published digest.
        expected: Digest,
        /// The file's digest.
        found: Digest,
    },
    /// A circuit of production size refuses a key that nobody vouches for.
    #[error(
        "{path}: the key of {circuit} (domain 2^{log2_domain}) is {origin}: its proofs are worthless in production, since whoever made it can forge them; import the official parameters, or allow such keys explicitly for tests"
    )]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// The circuit's name.
        circuit: String,
        /// log2 of the circuit's domain.
        log2_domain: u32,
        /// Where the key comes from.
        origin: Origin,
    },
    /// A circuit's name cannot name a file.
    #[error("circuit name {found:?}: expected 1 to {max} characters from a-z, A-Z, 0-9, '.', '_', '-', not starting with a dot")]
    CircuitName {
        /// The name.
        found: String,
        /// Most characters.
        max: usize,
    },
    /// Counts that no circuit has.
    #[error("{what} is {found}, expected {expected}")]
    CircuitCounts {
        /// What was counted.
        what: &'static str,
        /// What it can be.
        expected: String,
        /// What it is.
        found: u64,
    },
    /// A secret of a set-up has a value that gives no usable key.
    #[error("set-up secret {name} {why}; draw the secrets again")]
    Secret {
        /// Which.
        name: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// A variable appears in no constraint, so that any value would do for it.
    #[error("variable {variable} ({kind} {index}) is unconstrained; a circuit must use every variable")]
    Unconstrained {
        /// Number of the variable, inputs first.
        variable: usize,
        /// `input` or `auxiliary variable`.
        kind: &'static str,
        /// Number among its kind.
        index: usize,
    },
    /// The terms of a variable cancel, so that prover and key would disagree about the query.
    #[error(
        "the polynomial of variable {variable} in matrix {matrix} is {found} at tau but its density bit says {expected}: terms that cancel cannot be proved; remove them from the circuit"
    )]
    Density {
        /// Number of the variable, inputs first.
        variable: usize,
        /// `A` or `B`.
        matrix: &'static str,
        /// What the density says.
        expected: &'static str,
        /// What the evaluation is.
        found: &'static str,
    },
}

impl SrsError {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

impl Classified for SrsError {
    fn class(&self) -> ErrorClass {
        use std::io::ErrorKind;
        match self {
            Self::Io { source, .. } | Self::Destination(source) => match source.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ResourceBusy => ErrorClass::Retryable,
                _ => ErrorClass::Fatal,
            },
            Self::Busy { .. } => ErrorClass::Retryable,
            Self::Memory(error) => error.class(),
            Self::Oversized(error) => error.class(),
            Self::Backend(error) => error.class(),
            Self::Cancelled => ErrorClass::Cancelled,
            _ => ErrorClass::Fatal,
        }
    }
}
