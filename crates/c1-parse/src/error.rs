//! Why a file was refused.

use std::fmt;

use pipeline_stage::{AcquireError, Classified, ErrorClass, OversizedBuffer};

/// Which bytes an offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Document {
    /// The file.
    File,
    /// The JSON inside a wrapper: what `Phase1Out` decodes to.
    Phase1Out,
}

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// JSON path inside the document, e.g. `$.vanilla_proofs.StackedDrg2KiBV1[0][1].comm_d_proofs.data.Single.root`.
    pub path: String,
    /// The document that path and offset belong to.
    pub document: Document,
    /// Bytes from the start of the document: the value, or for what is missing or at odds with another value, the point where it was noticed.
    pub offset: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {}", self.path, self.offset)?;
        match self.document {
            Document::File => f.write_str(")"),
            Document::Phase1Out => f.write_str(" of the decoded Phase1Out)"),
        }
    }
}

/// Who says what a value should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Authority {
    /// The caller's [`Expected`](crate::Expected).
    Caller,
    /// The wrapper around the proofs.
    Wrapper,
    /// The registered proof of the file.
    SealProof,
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Caller => "the caller",
            Self::Wrapper => "the wrapper",
            Self::SealProof => "the registered proof",
        })
    }
}

/// Why a C1 file was refused. Nothing of it is held afterwards.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum C1Error {
    /// There are no bytes, or only white space.
    #[error("the C1 file is empty: expected a JSON object with vanilla proofs; run commit phase 1 again")]
    Empty,
    /// The file exceeds [`Limits::max_input_bytes`](crate::Limits).
    #[error(
        "the C1 file has {}{found} bytes, the limit is {limit}: raise the limit if this is a non-interactive proof",
        if *.at_least { "at least " } else { "" }
    )]
    TooLarge {
        /// The limit.
        limit: u64,
        /// Bytes found.
        found: u64,
        /// Whether there may be more (a reader was not read to its end).
        at_least: bool,
    },
    /// Not JSON, or JSON of another type than the format has here.
    #[error("{at}: expected {expected}, found {found}")]
    Syntax {
        /// Where.
        at: Box<Location>,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The document ends too early.
    #[error("{at}: the document ends where {expected} should follow; it is truncated, copy it again")]
    UnexpectedEnd {
        /// Where.
        at: Box<Location>,
        /// What should follow.
        expected: &'static str,
    },
    /// Something follows the end of the document.
    #[error("{at}: expected the end of the document, found {found}")]
    TrailingData {
        /// Where.
        at: Box<Location>,
        /// What follows.
        found: String,
    },
    /// A field occurs twice.
    #[error("{at}: the field occurs twice in its object")]
    DuplicateField {
        /// Where; the path ends in the field.
        at: Box<Location>,
    },
    /// A field is missing.
    #[error("{at}: expected the field `{field}`, found the end of its object")]
    MissingField {
        /// The object.
        at: Box<Location>,
        /// The field.
        field: &'static str,
    },
    /// A name that is none of the known ones where ignoring it is not possible.
    #[error("{at}: expected one of {expected}, found `{found}`")]
    UnknownName {
        /// Where.
        at: Box<Location>,
        /// The known names.
        expected: String,
        /// The name found.
        found: String,
    },
    /// `Phase1Out` is not standard, padded base64.
    #[error("{at}: expected standard base64, found {found}")]
    Base64 {
        /// Where; the offset is that of the first bad character.
        at: Box<Location>,
        /// What is wrong.
        found: String,
    },
    /// A list has the wrong length.
    #[error("{at}: expected {expected} {what}, found {found}{}", if .found > .expected { " or more" } else { "" })]
    Count {
        /// The list.
        at: Box<Location>,
        /// What the list holds.
        what: &'static str,
        /// Length the shape fixes.
        expected: u64,
        /// Length found; reading stops at the first item too many.
        found: u64,
    },
    /// 32 bytes that should be a field element are not below the modulus of the BLS12-381 scalar field.
    #[error("{at}: expected a field element below the BLS12-381 scalar modulus, found {found} (little-endian hex)")]
    NotCanonical {
        /// The element.
        at: Box<Location>,
        /// The bytes in hex, least significant first.
        found: String,
    },
    /// A number is out of its range.
    #[error("{at}: expected {what} below {limit}, found {found}")]
    OutOfRange {
        /// The number.
        at: Box<Location>,
        /// What the number is.
        what: &'static str,
        /// First value that is too large.
        limit: u64,
        /// The value found.
        found: u64,
    },
    /// A number disagrees with what the rest of the file fixes.
    #[error("{at}: expected {what} {expected}, found {found}")]
    Inconsistent {
        /// The number.
        at: Box<Location>,
        /// What the number is.
        what: &'static str,
        /// The value that follows from the rest of the file.
        expected: u64,
        /// The value found.
        found: u64,
    },
    /// The proofs are of another kind than the sector's tree has.
    #[error("{at}: expected a {expected} proof for this sector size, found a {found} proof")]
    ProofKind {
        /// The proof.
        at: Box<Location>,
        /// Kind the shape fixes.
        expected: &'static str,
        /// Kind found.
        found: &'static str,
    },
    /// The vanilla proofs are of another shape than the registered proof.
    #[error("{at}: {seal_proof} needs vanilla proofs of shape {}, found {found}", seal_proof.shape_key())]
    ShapeMismatch {
        /// Where the later of the two was read.
        at: Box<Location>,
        /// The registered proof of the file.
        seal_proof: crate::SealProof,
        /// The shape key found.
        found: &'static str,
    },
    /// The file is for another registered proof than the caller expects.
    #[error("{at}: the caller expects a {expected}, found a {found}: is this the right sector?")]
    WrongSealProof {
        /// Where.
        at: Box<Location>,
        /// What the caller expects.
        expected: crate::SealProof,
        /// What the file says.
        found: crate::SealProof,
    },
    /// The sector size is another.
    #[error("{at}: {authority} says the sector has {expected} bytes, found {found}: is this the right sector?")]
    WrongSectorSize {
        /// Where.
        at: Box<Location>,
        /// Who says so.
        authority: Authority,
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The sector number is another.
    #[error("{at}: {authority} expects sector {expected}, found sector {found}: is this the right file?")]
    WrongSectorNumber {
        /// Where.
        at: Box<Location>,
        /// Who says so.
        authority: Authority,
        /// Number expected.
        expected: u64,
        /// Number found.
        found: u64,
    },
    /// A field of [`Limits`](crate::Limits) was exceeded.
    #[error("{at}: exceeds the limit {limit} = {max}")]
    Limit {
        /// Where.
        at: Box<Location>,
        /// The field of the limits.
        limit: &'static str,
        /// Its value.
        max: u64,
    },
    /// The reader failed.
    #[error("the C1 file cannot be read at byte {offset}: {source}")]
    Read {
        /// Bytes read before.
        offset: u64,
        /// The error of the reader.
        source: std::io::Error,
    },
    /// The ledger did not grant the memory.
    #[error("no memory for the vanilla proofs: {0}")]
    Memory(#[from] AcquireError),
    /// The proofs own more memory than was reserved for them.
    #[error("the vanilla proofs outgrew their reservation: {0}")]
    Oversized(#[from] OversizedBuffer),
    /// Parsing was cancelled.
    #[error("parsing was cancelled at byte {offset}")]
    Cancelled {
        /// Bytes read before.
        offset: u64,
    },
}

impl C1Error {
    /// Where the error is, when it belongs to a place in the file.
    #[must_use]
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Syntax { at, .. }
            | Self::UnexpectedEnd { at, .. }
            | Self::TrailingData { at, .. }
            | Self::DuplicateField { at }
            | Self::MissingField { at, .. }
            | Self::UnknownName { at, .. }
            | Self::Base64 { at, .. }
            | Self::Count { at, .. }
            | Self::NotCanonical { at, .. }
            | Self::OutOfRange { at, .. }
            | Self::Inconsistent { at, .. }
            | Self::ProofKind { at, .. }
            | Self::ShapeMismatch { at, .. }
            | Self::WrongSealProof { at, .. }
            | Self::WrongSectorSize { at, .. }
            | Self::WrongSectorNumber { at, .. }
            | Self::Limit { at, .. } => Some(at),
            Self::Empty | Self::TooLarge { .. } | Self::Read { .. } | Self::Memory(_) | Self::Oversized(_) | Self::Cancelled { .. } => None,
        }
    }
}

impl Classified for C1Error {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Memory(error) => error.class(),
            Self::Oversized(error) => error.class(),
            Self::Cancelled { .. } => ErrorClass::Cancelled,
            _ => ErrorClass::Fatal,
        }
    }
}
