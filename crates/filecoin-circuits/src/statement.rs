//! What the partitions of a sector prove together.

use c1_parse::{C1, Digest, SealProof};
use ff::PrimeField;
use filecoin_hashers::Hasher;
use filecoin_proofs::DefaultPieceDomain;
use filecoin_proofs::constants::DefaultTreeHasher;
use storage_proofs_porep::stacked::{PublicInputs, Tau, generate_replica_id};

use crate::CircuitError;

/// A node of the column tree or the replica tree.
pub(crate) type TreeDomain = <DefaultTreeHasher as Hasher>::Domain;
/// The official public inputs, before they become field elements.
pub(crate) type OfficialInputs = PublicInputs<TreeDomain, DefaultPieceDomain>;

/// What the partitions of a sector prove together: the part of a C1 file that is not a vanilla proof. Small, so that a partition can travel with
/// its own copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The registered proof.
    pub seal_proof: SealProof,
    /// Commitment to the replica.
    pub comm_r: Digest,
    /// Commitment to the data.
    pub comm_d: Digest,
    /// Replica id.
    pub replica_id: Digest,
    /// What the challenges are drawn from.
    pub seed: [u8; 32],
    /// Randomness of the sealing.
    pub ticket: [u8; 32],
}

impl From<&C1> for Statement {
    fn from(c1: &C1) -> Self {
        Self {
            seal_proof: c1.seal_proof,
            comm_r: c1.comm_r,
            comm_d: c1.comm_d,
            replica_id: c1.replica_id,
            seed: c1.seed,
            ticket: c1.ticket,
        }
    }
}

impl Statement {
    /// Refuses the statement when it is not about this miner's sector. The chain derives the replica id from both, so a proof of another one is
    /// lost work; costs one hash.
    ///
    /// # Errors
    /// [`CircuitError::WrongSector`].
    pub fn check_sector(&self, miner: u64, sector: u64) -> Result<(), CircuitError> {
        let expected: TreeDomain =
            generate_replica_id::<DefaultTreeHasher, _>(&prover_id(miner), sector, &self.ticket, self.comm_d, &self.seal_proof.porep_id());
        let expected: Digest = expected.into();
        if expected == self.replica_id {
            return Ok(());
        }
        Err(CircuitError::WrongSector { miner, sector, expected: hex::encode(expected), found: hex::encode(self.replica_id) })
    }

    /// The official form. The library panics later on digests that are no field elements, so they are refused here.
    pub(crate) fn official(&self) -> Result<OfficialInputs, CircuitError> {
        let canonical = |field, digest: Digest| match blstrs::Scalar::from_repr_vartime(digest) {
            Some(_) => Ok(digest),
            None => Err(CircuitError::NotCanonical { field, found: hex::encode(digest) }),
        };
        Ok(PublicInputs {
            replica_id: canonical("replica_id", self.replica_id)?.into(),
            seed: Some(self.seed),
            tau: Some(Tau { comm_d: canonical("comm_d", self.comm_d)?.into(), comm_r: canonical("comm_r", self.comm_r)?.into() }),
            k: None,
        })
    }

    /// Refuses a partition number that the seal proof does not have.
    pub(crate) fn check_partition(&self, partition: usize) -> Result<(), CircuitError> {
        let partitions = self.seal_proof.partitions();
        if partition < partitions {
            return Ok(());
        }
        Err(CircuitError::PartitionNumber { seal_proof: self.seal_proof, partitions, found: partition })
    }
}

/// The prover id of a miner: the LEB128 form of its number, zero padded.
fn prover_id(miner: u64) -> [u8; 32] {
    let mut id = [0; 32];
    let mut rest = miner;
    for byte in &mut id {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prover_ids_are_leb128() {
        assert_eq!(prover_id(0), [0; 32]);
        assert_eq!(prover_id(1000)[..3], [0xe8, 0x07, 0]);
        assert_eq!(prover_id(128)[..3], [0x80, 0x01, 0]);
    }
}
