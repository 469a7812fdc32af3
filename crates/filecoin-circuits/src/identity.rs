//! Which circuit a seal proof uses, and under which names others know it.

use c1_parse::{SealProof, SectorSize};
use filecoin_proofs::DefaultPieceHasher;
use storage_proofs_core::parameter_cache::{CacheableParameters, PARAMETERS, VERSION, parameter_id, verifying_key_id};
use storage_proofs_porep::stacked::{PublicParams, StackedCircuit, StackedCompound};

use crate::CircuitError;
use crate::shape::{PoRepTree, ShapeJob, with_shape};

/// Which circuit a seal proof uses. All seal proofs of a sector size share one circuit; they differ in graph, challenges and partitions.
///
/// The hash of the compiled matrices is that of the compiled circuit ([`circuit_synth::CompiledCircuit`]), which carries this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitIdentity {
    /// Our name, for instance `porep-32gib`; names the compiled circuit.
    pub name: &'static str,
    /// Name of the file that [`compile`](crate::compile) makes, for instance `porep-32gib-v28.circuit`.
    pub compiled_name: String,
    /// The official identifier, `stacked-proof-of-replication-...`.
    pub identifier: String,
    /// The official proving parameters.
    pub params: OfficialFile,
    /// The official verifying key.
    pub verifying_key: OfficialFile,
    /// Sector size in bytes.
    pub sector_size: u64,
    /// Proofs of one sector.
    pub partitions: usize,
}

/// A file of the official parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfficialFile {
    /// File name, `v28-....params`.
    pub name: String,
    /// The first 16 bytes of the file's BLAKE2b-512 in hex, when the library lists it.
    pub digest: Option<&'static str>,
    /// IPFS content identifier, when the library lists it.
    pub cid: Option<&'static str>,
}

impl OfficialFile {
    fn new(name: String) -> Self {
        let listed = PARAMETERS.get(&name);
        Self { name, digest: listed.map(|data| data.digest.as_str()), cid: listed.map(|data| data.cid.as_str()) }
    }
}

/// Our name of the circuit of a sector size.
pub(crate) fn circuit_name(size: SectorSize) -> &'static str {
    match size {
        SectorSize::KiB2 => "porep-2kib",
        SectorSize::MiB8 => "porep-8mib",
        SectorSize::MiB512 => "porep-512mib",
        SectorSize::GiB32 => "porep-32gib",
        SectorSize::GiB64 => "porep-64gib",
    }
}

/// Name of the file of a compiled circuit. The version is that of the official circuits: it changes when their constraints do.
pub(crate) fn compiled_name(size: SectorSize) -> String {
    format!("{}-v{VERSION}.circuit", circuit_name(size))
}

/// Which circuit a seal proof uses.
///
/// # Errors
/// [`CircuitError::Library`] when the library cannot set up its own parameters.
pub fn identity(seal_proof: SealProof) -> Result<CircuitIdentity, CircuitError> {
    with_shape(seal_proof, Identify { seal_proof })
}

struct Identify {
    seal_proof: SealProof,
}

impl ShapeJob for Identify {
    type Output = CircuitIdentity;

    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<CircuitIdentity, CircuitError> {
        let identifier = <StackedCompound<Tree, DefaultPieceHasher> as CacheableParameters<
            StackedCircuit<Tree, DefaultPieceHasher>,
            PublicParams<Tree>,
        >>::cache_identifier(params);
        Ok(CircuitIdentity {
            name: circuit_name(self.seal_proof.sector_size),
            compiled_name: compiled_name(self.seal_proof.sector_size),
            params: OfficialFile::new(parameter_id(&identifier)),
            verifying_key: OfficialFile::new(verifying_key_id(&identifier)),
            identifier,
            sector_size: self.seal_proof.sector_size.bytes(),
            partitions: self.seal_proof.partitions(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::registered;

    #[test]
    fn one_circuit_a_size_under_its_official_name() {
        for seal_proof in SealProof::all() {
            let identity = identity(seal_proof).unwrap();
            assert_eq!(identity.identifier, registered(seal_proof).circuit_identifier().unwrap());
            assert_eq!(identity.params.name, format!("v28-{}.params", identity.identifier));
            assert_eq!(identity.verifying_key.name, format!("v28-{}.vk", identity.identifier));
            for file in [&identity.params, &identity.verifying_key] {
                assert_eq!(file.digest.map(str::len), Some(32), "{}", file.name);
                assert!(file.cid.unwrap().starts_with("Qm"));
            }
            let plain = self::identity(SealProof { kind: c1_parse::PoRepKind::V1, ..seal_proof }).unwrap();
            assert_eq!(plain.identifier, identity.identifier);
            assert_eq!(plain.name, identity.name);
        }
    }
}
