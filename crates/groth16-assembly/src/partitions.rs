//! Proofs of partitions, in order.

use blstrs::Scalar;
use pipeline_stage::{Classified, ErrorClass};

use crate::{BatchVerifyError, DecodeError, PROOF_BYTES, PreparedVerifyingKey, Proof, UnverifiedProof};

/// Most partitions one proof may have. Filecoin's largest today has 16 (sector update); the bound keeps a forged count from reserving memory.
pub const PARTITIONS_MAX: usize = 1024;

/// A set of partitions that does not make one proof.
#[derive(Debug, thiserror::Error)]
pub enum PartitionError {
    /// The number of partitions cannot be.
    #[error("a proof has 1 to {max} partitions, found {found}")]
    Count {
        /// Most partitions.
        max: usize,
        /// Partitions asked for.
        found: usize,
    },
    /// There is no such partition.
    #[error("partition {index} of a proof with {partitions} partitions (numbered from 0)")]
    OutOfRange {
        /// Index given.
        index: usize,
        /// Partitions of the proof.
        partitions: usize,
    },
    /// The partition is there already.
    #[error("partition {index} was delivered twice; the first delivery is kept")]
    Duplicate {
        /// Index given.
        index: usize,
    },
    /// Partitions are missing.
    #[error("{missing} of {partitions} partitions are missing, the first is {first}")]
    Incomplete {
        /// How many are missing.
        missing: usize,
        /// Partitions of the proof.
        partitions: usize,
        /// The first missing one.
        first: usize,
    },
    /// The length does not fit the partitions.
    #[error("a proof with {partitions} partitions has {expected} bytes, found {found}")]
    Length {
        /// Partitions of the proof.
        partitions: usize,
        /// Bytes they take.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The bytes of a partition are no proof.
    #[error("partition {index}: {source}")]
    Decode {
        /// Which partition.
        index: usize,
        /// Why.
        source: DecodeError,
    },
    /// A partition does not verify. The index is the partition's.
    #[error("in partition order: {0}")]
    Verify(#[from] BatchVerifyError),
}

impl Classified for PartitionError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Verify(error) => error.class(),
            _ => ErrorClass::Fatal,
        }
    }
}

fn check_count(partitions: usize) -> Result<(), PartitionError> {
    if (1..=PARTITIONS_MAX).contains(&partitions) { Ok(()) } else { Err(PartitionError::Count { max: PARTITIONS_MAX, found: partitions }) }
}

/// Takes the verified proofs of partitions in any order and gives their bytes in partition order.
#[derive(Clone, Debug)]
pub struct PartitionCollector {
    proofs: Vec<Option<Proof>>,
}

impl PartitionCollector {
    /// A collector for 1 to [`PARTITIONS_MAX`] partitions.
    ///
    /// # Errors
    /// [`PartitionError::Count`].
    pub fn new(partitions: usize) -> Result<Self, PartitionError> {
        check_count(partitions)?;
        Ok(Self { proofs: vec![None; partitions] })
    }

    /// Number of partitions of the proof.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.proofs.len()
    }

    /// Indices of the partitions that are not there yet, ascending.
    pub fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        self.proofs.iter().enumerate().filter(|(_, proof)| proof.is_none()).map(|(index, _)| index)
    }

    /// True when every partition is there.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.proofs.iter().all(Option::is_some)
    }

    /// Puts a proof in its place.
    ///
    /// # Errors
    /// [`PartitionError::OutOfRange`], [`PartitionError::Duplicate`]; the collector is unchanged.
    pub fn insert(&mut self, index: usize, proof: Proof) -> Result<(), PartitionError> {
        let partitions = self.partitions();
        match self.proofs.get_mut(index) {
            None => Err(PartitionError::OutOfRange { index, partitions }),
            Some(Some(_)) => Err(PartitionError::Duplicate { index }),
            Some(slot) => {
                *slot = Some(proof);
                Ok(())
            }
        }
    }

    /// The proofs' bytes in partition order, [`PROOF_BYTES`] each.
    ///
    /// # Errors
    /// [`PartitionError::Incomplete`]; the collector keeps what it has.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PartitionError> {
        let mut bytes = Vec::with_capacity(self.partitions() * PROOF_BYTES);
        for (first, proof) in self.proofs.iter().enumerate() {
            let Some(proof) = proof else {
                return Err(PartitionError::Incomplete { missing: self.missing().count(), partitions: self.partitions(), first });
            };
            bytes.extend_from_slice(&proof.to_bytes());
        }
        Ok(bytes)
    }
}

/// Verifies the bytes of a whole proof against the public inputs (without ONE) of every partition, in partition order.
///
/// # Errors
/// A wrong number of partitions or bytes, or the first partition that cannot be decoded or does not verify.
pub fn verify_partitions<I: AsRef<[Scalar]>>(
    key: &PreparedVerifyingKey,
    bytes: &[u8],
    public_inputs: &[I],
) -> Result<Vec<Proof>, PartitionError> {
    let partitions = public_inputs.len();
    check_count(partitions)?;
    let expected = partitions * PROOF_BYTES;
    if bytes.len() != expected {
        return Err(PartitionError::Length { partitions, expected, found: bytes.len() });
    }
    let decode = |(index, part)| UnverifiedProof::from_bytes(part).map_err(|source| PartitionError::Decode { index, source });
    let proofs: Vec<UnverifiedProof> = bytes.chunks_exact(PROOF_BYTES).enumerate().map(decode).collect::<Result<_, _>>()?;
    let statements: Vec<(&UnverifiedProof, &[Scalar])> = proofs.iter().zip(public_inputs).map(|(p, i)| (p, i.as_ref())).collect();
    Ok(key.verify_all(&statements)?)
}
