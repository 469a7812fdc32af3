//! From our types to the library's.

use bincode::Options;
use c1_parse::{ChallengeProof, Partition, SealProof};
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
    let digest = c1_parse::NODE_BYTES;
    let size = seal_proof.sector_size;
    let (tree, data) = (size.tree(), size.data_tree());
    let above = tree.sub_arity.saturating_sub(1) + tree.top_arity.saturating_sub(1);
    let path = (tree.base_levels * (tree.base_arity - 1) + above + 2) as u64;
    let columns = (1 + c1_parse::DRG_PARENTS + c1_parse::EXP_PARENTS) as u64 * (path + size.layers() as u64);
    let labels = (size.layers() as u64 + 1) * c1_parse::LABELING_PARENTS as u64;
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

/// The challenges of a partition, after a check of their number.
pub(crate) fn challenges<'a>(statement: &Statement, partition: &'a Partition) -> Result<&'a [ChallengeProof], CircuitError> {
    statement.check_partition(partition.index)?;
    let (expected, found) = (statement.seal_proof.challenges_per_partition(), partition.challenges.len());
    if expected != found {
        return Err(CircuitError::ChallengeCount { partition: partition.index, expected, found });
    }
    Ok(&partition.challenges)
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
        let file = virtual_sector::fabricate(&virtual_sector::Spec::new(virtual_sector::SectorSize::KiB2)).unwrap().file;
        let context = StageContext::unlimited(StageName::Synth);
        let c1 = parse(&file.raw, &Limits::default(), &Expected::default(), &context).unwrap();
        // 64 GiB proofs have another kind of path; nothing is read past the end of what was written.
        let large = c1_parse::SealProof { sector_size: c1_parse::SectorSize::GiB64, ..c1.seal_proof };
        let cut = Partition { index: 0, challenges: Vec::new() };
        let statement = Statement { seal_proof: large, ..Statement::from(&c1) };
        assert!(matches!(challenges(&statement, &cut), Err(CircuitError::ChallengeCount { expected: 18, found: 0, .. })));
    }
}
