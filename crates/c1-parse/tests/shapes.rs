//! Every registered proof, with fabricated files.

#![allow(clippy::unwrap_used, reason = "a test")]

mod fabricate;

use c1_parse::{Expected, InclusionProof, Limits, PoRepKind, SealProof, SectorSize, parse, parse_reader};
use fabricate::Digests;
use pipeline_stage::{Cancel, Ledger, Space, StageContext, StageName};

#[test]
fn every_proof_of_the_test_sizes_and_every_interactive_proof_is_read() {
    for proof in SealProof::all() {
        if proof.sector_size.is_production() && proof.kind != PoRepKind::V1_1 {
            continue; // Same shape, tens to hundreds of megabytes each.
        }
        for digests in [Digests::Random, Digests::Zero] {
            let mut bytes = Vec::new();
            fabricate::c1(&mut bytes, proof, digests, proof.registered_id() + 7);
            let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
            let context = StageContext::new(ledger.clone(), StageName::Parse, Cancel::never());
            let c1 = parse(&bytes, &Limits::default(), &Expected::default(), &context).unwrap();
            assert_eq!(c1.seal_proof, proof);
            assert_eq!(c1.partitions.len(), proof.partitions());
            // Even the shortest file is longer than its decoded proofs, so reserving no more than the input never stops a complete file.
            assert!(ledger.snapshot().peak(Space::Host) <= bytes.len() as u64, "{proof}");
            for (k, partition) in c1.partitions.iter().enumerate() {
                assert_eq!(partition.index, k);
                assert_eq!(partition.challenges.len(), proof.challenges_per_partition());
            }
            let kind = &c1.partitions[0].challenges[0].comm_r_last_proof;
            match proof.sector_size {
                SectorSize::GiB32 => assert!(matches!(kind, InclusionProof::Sub { .. })),
                SectorSize::GiB64 => assert!(matches!(kind, InclusionProof::Top { .. })),
                _ => assert!(matches!(kind, InclusionProof::Single { .. })),
            }
            assert!(serde_json::to_vec(&c1).unwrap() == bytes, "{proof}: the JSON written differs from the JSON read");
            drop(c1);
            assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
        }
    }
}

#[test]
fn a_production_file_passes_through_a_reader() {
    let proof = SealProof { sector_size: SectorSize::GiB64, kind: PoRepKind::Synthetic };
    let mut bytes = Vec::new();
    fabricate::wrapped(&mut bytes, proof, 12, 3);
    let context = StageContext::unlimited(StageName::Parse);
    let expected = Expected { sector_size: Some(64 << 30), sector_number: Some(12), seal_proof: Some(proof) };
    let c1 = parse_reader(&bytes[..], &Limits::default(), &expected, &context).unwrap();
    assert_eq!(c1.partitions.len(), 10);
    assert!(c1.partitions.iter().flat_map(|partition| &partition.challenges).any(|challenge| challenge.comm_r_last_proof.leaf_index() > 0));
}
