//! What a caller allows, and what it expects.

use crate::SealProof;

const MIB: u64 = 1 << 20;

/// What a file may cost at most. Everything that the input could make larger is bounded by a field here or by the shape it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file. A wrapped 32 GiB file has 51 MB.
    pub max_input_bytes: u64,
    /// Bytes of the decoded proofs, reserved before the first of them is decoded.
    pub max_decoded_bytes: u64,
    /// Nesting of objects and arrays. The format itself reaches 16.
    pub max_depth: usize,
    /// Partitions. Non-interactive proofs have 126.
    pub max_partitions: usize,
    /// Bytes of one field name, proof name, or ignored string.
    pub max_string_bytes: usize,
    /// Fields that are not part of the format, in the whole file; they are ignored.
    pub max_ignored_fields: u64,
    /// Bytes of these fields, in the whole file.
    pub max_ignored_bytes: u64,
}

impl Default for Limits {
    /// Enough for every interactive and synthetic proof: 128 MiB of input.
    fn default() -> Self {
        Self {
            max_input_bytes: 128 * MIB,
            max_decoded_bytes: 256 * MIB,
            max_depth: 32,
            max_partitions: 126,
            max_string_bytes: 1 << 10,
            max_ignored_fields: 256,
            max_ignored_bytes: 64 << 10,
        }
    }
}

impl Limits {
    /// The default with room for non-interactive proofs of production sectors, whose wrapped files have about 650 MB.
    #[must_use]
    pub fn non_interactive() -> Self {
        Self { max_input_bytes: 1024 * MIB, ..Self::default() }
    }
}

/// What the caller knows already; a file that says otherwise is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Sector size in bytes.
    pub sector_size: Option<u64>,
    /// Sector number. Only wrapped files name one, so a bare file passes.
    pub sector_number: Option<u64>,
    /// The registered proof.
    pub seal_proof: Option<SealProof>,
}
