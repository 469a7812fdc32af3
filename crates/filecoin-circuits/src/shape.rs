//! From a seal proof to the types and parameters that the library uses for it.

use c1_parse::{PoRepKind, SealProof, SectorSize};
use filecoin_proofs::constants::{
    DefaultTreeHasher, SectorShape2KiB, SectorShape8MiB, SectorShape32GiB, SectorShape64GiB, SectorShape512MiB,
};
use filecoin_proofs::parameters::public_params;
use filecoin_proofs_api::RegisteredSealProof;
use storage_proofs_core::merkle::MerkleTreeTrait;
use storage_proofs_porep::stacked::PublicParams;

use crate::CircuitError;
use crate::guard::library;

/// The tree types of the seal proofs: Poseidon, base arity 8, and what joins the base trees.
pub(crate) trait PoRepTree: 'static + MerkleTreeTrait<Hasher = DefaultTreeHasher> {}
impl<Tree: 'static + MerkleTreeTrait<Hasher = DefaultTreeHasher>> PoRepTree for Tree {}

/// Work that is generic over the tree type.
pub(crate) trait ShapeJob {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<Self::Output, CircuitError>;
}

/// Runs a job with the types and parameters of a seal proof.
pub(crate) fn with_shape<J: ShapeJob>(seal_proof: SealProof, job: J) -> Result<J::Output, CircuitError> {
    match seal_proof.sector_size {
        SectorSize::KiB2 => run::<SectorShape2KiB, J>(seal_proof, job),
        SectorSize::MiB8 => run::<SectorShape8MiB, J>(seal_proof, job),
        SectorSize::MiB512 => run::<SectorShape512MiB, J>(seal_proof, job),
        SectorSize::GiB32 => run::<SectorShape32GiB, J>(seal_proof, job),
        SectorSize::GiB64 => run::<SectorShape64GiB, J>(seal_proof, job),
    }
}

fn run<Tree: PoRepTree, J: ShapeJob>(seal_proof: SealProof, job: J) -> Result<J::Output, CircuitError> {
    let params = public_params::<Tree>(&registered(seal_proof).as_v1_config()).map_err(library("setting up the proof of replication"))?;
    job.run(&params)
}

/// The library's name for a seal proof.
pub(crate) fn registered(seal_proof: SealProof) -> RegisteredSealProof {
    use RegisteredSealProof as R;
    match (seal_proof.sector_size, seal_proof.kind) {
        (SectorSize::KiB2, PoRepKind::V1) => R::StackedDrg2KiBV1,
        (SectorSize::KiB2, PoRepKind::V1_1) => R::StackedDrg2KiBV1_1,
        (SectorSize::KiB2, PoRepKind::Synthetic) => R::StackedDrg2KiBV1_1_Feat_SyntheticPoRep,
        (SectorSize::KiB2, PoRepKind::NonInteractive) => R::StackedDrg2KiBV1_2_Feat_NonInteractivePoRep,
        (SectorSize::MiB8, PoRepKind::V1) => R::StackedDrg8MiBV1,
        (SectorSize::MiB8, PoRepKind::V1_1) => R::StackedDrg8MiBV1_1,
        (SectorSize::MiB8, PoRepKind::Synthetic) => R::StackedDrg8MiBV1_1_Feat_SyntheticPoRep,
        (SectorSize::MiB8, PoRepKind::NonInteractive) => R::StackedDrg8MiBV1_2_Feat_NonInteractivePoRep,
        (SectorSize::MiB512, PoRepKind::V1) => R::StackedDrg512MiBV1,
        (SectorSize::MiB512, PoRepKind::V1_1) => R::StackedDrg512MiBV1_1,
        (SectorSize::MiB512, PoRepKind::Synthetic) => R::StackedDrg512MiBV1_1_Feat_SyntheticPoRep,
        (SectorSize::MiB512, PoRepKind::NonInteractive) => R::StackedDrg512MiBV1_2_Feat_NonInteractivePoRep,
        (SectorSize::GiB32, PoRepKind::V1) => R::StackedDrg32GiBV1,
        (SectorSize::GiB32, PoRepKind::V1_1) => R::StackedDrg32GiBV1_1,
        (SectorSize::GiB32, PoRepKind::Synthetic) => R::StackedDrg32GiBV1_1_Feat_SyntheticPoRep,
        (SectorSize::GiB32, PoRepKind::NonInteractive) => R::StackedDrg32GiBV1_2_Feat_NonInteractivePoRep,
        (SectorSize::GiB64, PoRepKind::V1) => R::StackedDrg64GiBV1,
        (SectorSize::GiB64, PoRepKind::V1_1) => R::StackedDrg64GiBV1_1,
        (SectorSize::GiB64, PoRepKind::Synthetic) => R::StackedDrg64GiBV1_1_Feat_SyntheticPoRep,
        (SectorSize::GiB64, PoRepKind::NonInteractive) => R::StackedDrg64GiBV1_2_Feat_NonInteractivePoRep,
    }
}

#[cfg(test)]
mod tests {
    use storage_proofs_core::drgraph::Graph;

    use super::*;

    /// Everything that c1-parse knows about a seal proof, against the library.
    #[test]
    fn seal_proofs_agree_with_the_library() {
        struct Numbers;
        impl ShapeJob for Numbers {
            type Output = (usize, usize, usize);
            fn run<Tree: PoRepTree>(self, params: &PublicParams<Tree>) -> Result<Self::Output, CircuitError> {
                Ok((params.graph.size(), params.num_layers, params.challenges.num_challenges_per_partition()))
            }
        }
        for seal_proof in SealProof::all() {
            let official = registered(seal_proof);
            assert_eq!(format!("{official:?}"), seal_proof.name());
            let config = official.as_v1_config();
            assert_eq!(u64::from(config.sector_size), seal_proof.sector_size.bytes());
            assert_eq!(usize::from(config.partitions), seal_proof.partitions(), "{seal_proof}");
            assert_eq!(config.porep_id, seal_proof.porep_id());
            let version = config.api_version.as_semver();
            assert_eq!((version.major, version.minor, version.patch), seal_proof.api_version());
            let (nodes, layers, challenges) = with_shape(seal_proof, Numbers).unwrap();
            assert_eq!(nodes as u64, seal_proof.sector_size.nodes());
            assert_eq!(layers, seal_proof.layers());
            assert_eq!(challenges, seal_proof.challenges_per_partition());
        }
    }
}
