//! What proofs of replication ask of the engine's memory plan.

use c1_parse::SealProof;
use groth16_pipeline::JobSize;

/// One sector to be proved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedJob {
    /// Its registered proof.
    pub(crate) seal_proof: SealProof,
    /// True when its C1 file is read when its turn comes; false when it is held from the start.
    pub(crate) read_in_turn: bool,
}

/// The largest of each quantity, over the sectors. A file is parsed whole, and its partitions go on one by one.
pub(crate) fn job_size(jobs: impl IntoIterator<Item = PlannedJob>, held_bytes: u64) -> JobSize {
    let mut size = JobSize { held_bytes, ..JobSize::default() };
    let (mut sectors, mut partitions) = (0, 0);
    for PlannedJob { seal_proof, read_in_turn } in jobs {
        let of_job = seal_proof.partitions() as u64;
        sectors += 1;
        partitions += of_job;
        size.conversion_bytes = size.conversion_bytes.max(filecoin_circuits::conversion_bytes(seal_proof));
        if read_in_turn {
            size.partition_bytes = size.partition_bytes.max(seal_proof.partition_bytes());
            size.parsed_bytes = size.parsed_bytes.max(of_job * seal_proof.partition_bytes());
        }
    }
    JobSize { jobs: Some(sectors), partitions: Some(partitions), ..size }
}

#[cfg(test)]
mod tests {
    use c1_parse::{PoRepKind, SectorSize};

    use super::*;

    #[test]
    fn the_largest_sector_decides_and_held_files_are_not_parsed_again() {
        let of = |sector_size, read_in_turn| PlannedJob { seal_proof: SealProof { sector_size, kind: PoRepKind::V1_1 }, read_in_turn };
        let (small, large) = (of(SectorSize::KiB2, true), of(SectorSize::GiB32, false));
        let size = job_size([small, small, large], 1000);
        assert_eq!((size.jobs, size.partitions, size.held_bytes), (Some(3), Some(12), 1000));
        assert_eq!(size.parsed_bytes, small.seal_proof.partition_bytes());
        assert_eq!(size.conversion_bytes, filecoin_circuits::conversion_bytes(large.seal_proof));
        let size = job_size([PlannedJob { read_in_turn: true, ..large }], 0);
        assert_eq!((size.parsed_bytes, size.parsed_bytes / size.partition_bytes), (10 * large.seal_proof.partition_bytes(), 10));
    }
}
