//! From our types to the library's.

use bincode::Options;
use c1_parse::{
    ChallengeProof, ColumnProof, DRG_PARENTS, EXP_PARENTS, InclusionProof, LABELING_PARENTS, LabelingProof, NODE_BYTES, Partition,
    SealProof, SectorSize, TreeShape,
};
use filecoin_proofs::DefaultPieceHasher;
use storage_proofs_porep::stacked::Proof;

use crate::shape::PoRepTree;
use crate::{CircuitError, Statement};

/// The library's vanilla proof of one challenge.
pub(crate) type OfficialProof<Tree> = Proof<Tree, DefaultPieceHasher>;

/// Bytes of a challenge's official forms, in units of its digests' bytes: the vanilla proof (a vector of 7 digests has 24 bytes of header and 8
/// of position), the circuit's (40 bytes an optional digest) and, while one becomes the other, a copy of both for one challenge.
const OFFICIAL_FACTOR: u64 = 3;

/// Bytes of host memory that turning one partition into its circuit takes at most, besides the partition itself and the witness. They are held
/// under a permit from [`synthesize`](crate::synthesize) and [`check`](crate::check) while the circuit lives.
#[must_use]
pub fn conversion_bytes(seal_proof: SealProof) -> u64 {
    let digest = NODE_BYTES;
    let size = seal_proof.sector_size;
    let (tree, data) = (size.tree(), size.data_tree());
    let above = tree.sub_arity.saturating_sub(1) + tree.top_arity.saturating_sub(1);
    let path = (tree.base_levels * (tree.base_arity - 1) + above + 2) as u64;
    let columns = (1 + DRG_PARENTS + EXP_PARENTS) as u64 * (path + size.layers() as u64);
    let labels = (size.layers() as u64 + 1) * LABELING_PARENTS as u64;
    let digests = columns + path + labels + data.base_levels as u64 + 2;
    OFFICIAL_FACTOR * digest * digests * size.challenges_per_partition() as u64
}

/// Writes challenges into one buffer that is used again, and reads the official type from it: the two have the same bincode form.
#[derive(Default)]
pub(crate) struct Converter {
    buffer: Vec<u8>,
}

impl Converter {
    /// The official form of a challenge. `at` says which, for errors: partition and challenge.
    pub(crate) fn convert<Tree: PoRepTree>(
        &mut self,
        challenge: &ChallengeProof,
        at: (usize, usize),
    ) -> Result<OfficialProof<Tree>, CircuitError> {
        let form = |error: bincode::Error| CircuitError::Form { partition: at.0, challenge: at.1, reason: error.to_string() };
        self.buffer.clear();
        let options = bincode::DefaultOptions::new().with_fixint_encoding();
        options.serialize_into(&mut self.buffer, challenge).map_err(form)?;
        // The limit is on what lengths inside may promise; trailing bytes are refused.
        options.with_limit(self.buffer.len() as u64).deserialize(&self.buffer).map_err(form)
    }
}

/// The challenges of a partition, after a check of their number and form, which the library takes for granted.
pub(crate) fn challenges<'a>(statement: &Statement, partition: &'a Partition) -> Result<&'a [ChallengeProof], CircuitError> {
    statement.check_partition(partition.index)?;
    let (expected, found) = (statement.seal_proof.challenges_per_partition(), partition.challenges.len());
    if expected != found {
        return Err(CircuitError::ChallengeCount { partition: partition.index, expected, found });
    }
    for (i, challenge) in partition.challenges.iter().enumerate() {
        if let Some(field) = misfit(challenge, statement.seal_proof.sector_size) {
            let reason = format!("{field} has other counts or another kind of path than {} has", statement.seal_proof);
            return Err(CircuitError::Form { partition: partition.index, challenge: i, reason });
        }
    }
    Ok(&partition.challenges)
}

/// The first field whose counts are not those of a sector size.
fn misfit(challenge: &ChallengeProof, size: SectorSize) -> Option<&'static str> {
    let columns = &challenge.replica_column_proofs;
    let column = |column: &ColumnProof| column.column.rows.len() == size.layers() && opens(&column.inclusion_proof, size.tree());
    let labelling = |labelling: &LabelingProof| labelling.parents.len() == LABELING_PARENTS;
    let all = |fits: bool, field: &'static str| (!fits).then_some(field);
    all(opens(&challenge.comm_d_proofs, size.data_tree()), "comm_d_proofs")
        .or_else(|| all(opens(&challenge.comm_r_last_proof, size.tree()), "comm_r_last_proof"))
        .or_else(|| all(column(&columns.c_x), "replica_column_proofs.c_x"))
        .or_else(|| {
            let fits = columns.drg_parents.len() == DRG_PARENTS && columns.drg_parents.iter().all(column);
            all(fits, "replica_column_proofs.drg_parents")
        })
        .or_else(|| {
            let fits = columns.exp_parents.len() == EXP_PARENTS && columns.exp_parents.iter().all(column);
            all(fits, "replica_column_proofs.exp_parents")
        })
        .or_else(|| {
            let fits = challenge.labeling_proofs.len() == size.layers() && challenge.labeling_proofs.iter().all(labelling);
            all(fits, "labeling_proofs")
        })
        .or_else(|| all(labelling(&challenge.encoding_proof), "encoding_proof"))
}

/// Whether an inclusion proof has the paths of a tree.
fn opens(proof: &InclusionProof, tree: TreeShape) -> bool {
    let levels = [(tree.base_arity, tree.base_levels), (tree.sub_arity, 1), (tree.top_arity, 1)];
    proof.paths().map(|path| (path.arity(), path.len())).eq(levels.into_iter().filter(|&(arity, _)| arity > 0))
}

#[cfg(test)]
mod tests {
    use c1_parse::{C1, Expected, Limits, parse};
    use pipeline_stage::{StageContext, StageName};
    use storage_proofs_porep::stacked::PublicParams;

    use super::*;
    use crate::shape::{ShapeJob, with_shape};

    struct RoundTrip<'a>(&'a C1);

    impl ShapeJob for RoundTrip<'_> {
        type Output = u64;

        fn run<Tree: PoRepTree>(self, _: &PublicParams<Tree>) -> Result<u64, CircuitError> {
            let mut converter = Converter::default();
            let mut bytes = 0;
            for (i, challenge) in self.0.partitions[0].challenges.iter().enumerate() {
                let official = converter.convert::<Tree>(challenge, (0, i))?;
                let written = bincode::serialize(&official).unwrap();
                assert!(written == bincode::serialize(challenge).unwrap());
                bytes += written.len() as u64;
            }
            Ok(bytes)
        }
    }

    #[test]
    fn conversion_loses_nothing_and_is_bounded() {
        for size in virtual_sector::SectorSize::ALL {
            let file = virtual_sector::fabricate(&virtual_sector::Spec::new(size)).unwrap().file;
            let context = StageContext::unlimited(StageName::Synth);
            let c1 = parse(&file.raw, &Limits::default(), &Expected::default(), &context).unwrap();
            let bytes = with_shape(c1.seal_proof, RoundTrip(&c1)).unwrap();
            let bound = conversion_bytes(c1.seal_proof);
            assert!(bound > 2 * bytes && bound < 4 * bytes, "{size}: {bound} for {bytes}");
        }
    }

    #[test]
    fn another_form_is_refused() {
        let small = virtual_sector::fabricate(&virtual_sector::Spec::new(virtual_sector::SectorSize::KiB2)).unwrap().file;
        let context = StageContext::unlimited(StageName::Synth);
        let c1 = parse(&small.raw, &Limits::default(), &Expected::default(), &context).unwrap();
        let honest = &c1.partitions[0].challenges[0];
        let size = c1.seal_proof.sector_size;
        assert_eq!(misfit(honest, size), None);
        assert_eq!(misfit(honest, SectorSize::MiB8), Some("comm_d_proofs"));
        let misfit_of = |change: fn(&mut ChallengeProof)| {
            let mut changed = honest.clone();
            change(&mut changed);
            misfit(&changed, size)
        };
        assert_eq!(misfit_of(|p| p.comm_r_last_proof = p.comm_d_proofs.clone()), Some("comm_r_last_proof"));
        assert_eq!(misfit_of(|p| p.replica_column_proofs.c_x.column.rows.clear()), Some("replica_column_proofs.c_x"));
        assert_eq!(misfit_of(|p| drop(p.replica_column_proofs.drg_parents.pop())), Some("replica_column_proofs.drg_parents"));
        assert_eq!(
            misfit_of(|p| p.replica_column_proofs.exp_parents[7].inclusion_proof = p.comm_d_proofs.clone()),
            Some("replica_column_proofs.exp_parents")
        );
        assert_eq!(misfit_of(|p| p.labeling_proofs.clear()), Some("labeling_proofs"));
        assert_eq!(misfit_of(|p| p.encoding_proof.parents.clear()), Some("encoding_proof"));
    }
}
