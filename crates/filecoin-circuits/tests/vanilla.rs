//! The vanilla verification and the statement, on real, virtual and tampered files.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

#[path = "support/process.rs"]
mod process;
mod support;

use c1_parse::{C1, SealProof};
use ff::PrimeField;
use filecoin_circuits::{CircuitError, OpeningFlaw, Statement, public_inputs, vanilla_check};
use filecoin_proofs_api::seal::SealCommitPhase1Output;
use pipeline_stage::{Cancel, Classified, ErrorClass, Space, StageContext, StageName};
use serde_json::Value;
use support::{challenge, context, kept, parsed, tampered};
use virtual_sector::{Fixture, Labels, SectorSize, Spec, fabricate, seal_fixture};

fn verify_all(c1: &C1) -> Result<(), CircuitError> {
    let statement = Statement::from(c1);
    c1.partitions.iter().try_for_each(|partition| vanilla_check(&statement, partition, &context()))
}

#[test]
fn real_files_pass_and_are_the_official_types() {
    for name in ["porep-2kib/c1.json", "porep-2kib/c1.raw.json", "porep-2kib/c1-synthetic.json", "porep-8mib/c1.json"] {
        let c1 = parsed(&kept(name));
        verify_all(&c1).unwrap();
        Statement::from(&c1).check_sector(1000, 1).unwrap();
        // The parsed types have the bincode form of the official ones, made here from the JSON by the library.
        let bare = serde_json::to_vec(&c1).unwrap();
        let official: SealCommitPhase1Output = serde_json::from_slice(&bare).unwrap();
        assert!(serde_json::to_vec(&official).unwrap() == bare, "{name}");
        assert!(bincode::serialize(&official).unwrap() == bincode::serialize(&c1).unwrap(), "{name}");
    }
    // That the bare form is the file itself, and not only the same to both.
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    assert!(serde_json::to_vec(&c1).unwrap() == kept("porep-2kib/c1.raw.json"));
}

#[test]
fn virtual_sectors_of_every_size_pass() {
    for size in SectorSize::ALL {
        let made = fabricate(&Spec::new(size)).unwrap();
        let c1 = parsed(&made.file.raw);
        assert_eq!(c1.seal_proof.name(), made.file.meta.registered_seal_proof);
        assert_eq!(c1.partitions.len(), made.construction.challenges.len());
        verify_all(&c1).unwrap();
        let official: SealCommitPhase1Output = serde_json::from_slice(&made.file.raw).unwrap();
        assert!(bincode::serialize(&official).unwrap() == bincode::serialize(&c1).unwrap(), "{size}");
        // Each partition's inputs spell its challenges: the 16th input of a challenge is the node itself.
        let statement = Statement::from(&c1);
        for (k, nodes) in made.construction.challenges.iter().enumerate() {
            let inputs = public_inputs(&statement, k).unwrap();
            let per_challenge = (inputs.len() - 3) / nodes.len();
            let opened: Vec<u64> = inputs[3..].chunks(per_challenge).map(|chunk| low_limb(&chunk[15])).collect();
            assert_eq!(opened, nodes.iter().map(|&node| node as u64).collect::<Vec<_>>());
        }
    }
}

fn low_limb(scalar: &blstrs::Scalar) -> u64 {
    let bytes = scalar.to_repr();
    assert!(bytes[8..].iter().all(|&byte| byte == 0));
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

#[test]
fn public_inputs_are_the_recorded_ones() {
    let reference: Value = serde_json::from_slice(&kept("porep-2kib/reference.json")).unwrap();
    let recorded: Vec<&str> = reference["public_inputs_le_hex"].as_array().unwrap().iter().map(|hex| hex.as_str().unwrap()).collect();
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    let derived = public_inputs(&Statement::from(&c1), 0).unwrap();
    assert_eq!(derived.iter().map(|scalar| hex::encode(scalar.to_repr())).collect::<Vec<_>>(), recorded);
}

#[test]
fn every_flaw_is_named() {
    let bare = kept("porep-2kib/c1.raw.json");
    let first = |part: &str| challenge(0, part);
    let cases = [
        (first("comm_d_proofs/data/Single/path/path/2/hashes/0/3"), 0, OpeningFlaw::DataPath),
        (first("comm_d_proofs/data/Single/root/3"), 0, OpeningFlaw::DataRoot),
        (first("comm_d_proofs/data/Single/leaf/3"), 0, OpeningFlaw::Encoding),
        (first("comm_r_last_proof/data/Single/path/path/1/hashes/6/3"), 0, OpeningFlaw::ReplicaPath),
        (first("comm_r_last_proof/data/Single/root/3"), 0, OpeningFlaw::CommR),
        (first("comm_r_last_proof/data/Single/leaf/3"), 0, OpeningFlaw::Encoding),
        (first("replica_column_proofs/c_x/column/rows/0/3"), 0, OpeningFlaw::Column),
        (first("replica_column_proofs/drg_parents/2/column/rows/1/3"), 0, OpeningFlaw::BaseParent(2)),
        (
            first("replica_column_proofs/exp_parents/5/inclusion_proof/data/Single/path/path/0/hashes/0/3"),
            0,
            OpeningFlaw::ExpanderParent(5),
        ),
        (first("labeling_proofs/1/parents/3/3"), 0, OpeningFlaw::Label { layer: 2 }),
        (first("encoding_proof/parents/36/3"), 0, OpeningFlaw::Encoding),
        (challenge(1, "comm_r_last_proof/data/Single/root/3"), 1, OpeningFlaw::Roots),
        (challenge(1, "replica_column_proofs/c_x/inclusion_proof/data/Single/root/3"), 1, OpeningFlaw::Roots),
        ("/comm_r/3".to_owned(), 0, OpeningFlaw::CommR),
        ("/comm_d/3".to_owned(), 0, OpeningFlaw::DataRoot),
    ];
    for (pointer, at, expected) in cases {
        let error = verify_all(&parsed(&tampered(&bare, &pointer))).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Fatal);
        assert!(
            matches!(error, CircuitError::Refused { partition: 0, challenge, flaw } if challenge == at && flaw == expected),
            "{pointer}: expected {expected:?}, found {error}"
        );
    }
    // Another seed or replica id draws other challenges.
    for pointer in ["/seed/3", "/replica_id/3"] {
        let error = verify_all(&parsed(&tampered(&bare, pointer))).unwrap_err();
        assert!(matches!(error, CircuitError::Refused { flaw: OpeningFlaw::DataIndex { .. }, .. }), "{pointer}: {error}");
    }
}

#[test]
fn the_statement_knows_its_sector() {
    let statement = Statement::from(&parsed(&kept("porep-2kib/c1.json")));
    for (miner, sector) in [(1001, 1), (1000, 2)] {
        let error = statement.check_sector(miner, sector).unwrap_err();
        assert!(matches!(error, CircuitError::WrongSector { .. }), "{error}");
    }
    // The ticket is part of the replica id, and of nothing else.
    let mut other = statement;
    other.ticket[0] ^= 1;
    assert!(other.check_sector(1000, 1).is_err());
}

#[test]
fn statements_that_fit_no_circuit_are_refused() {
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    let statement = Statement::from(&c1);
    assert!(matches!(public_inputs(&statement, 1), Err(CircuitError::PartitionNumber { partitions: 1, found: 1, .. })));
    let bad = Statement { comm_r: [0xff; 32], ..statement };
    assert!(matches!(public_inputs(&bad, 0), Err(CircuitError::NotCanonical { field: "comm_r", .. })));
    assert!(matches!(vanilla_check(&bad, &c1.partitions[0], &context()), Err(CircuitError::NotCanonical { field: "comm_r", .. })));
    // A partition of another shape.
    let large = Statement { seal_proof: SealProof::from_name("StackedDrg32GiBV1_1").unwrap(), ..statement };
    assert!(matches!(
        vanilla_check(&large, &c1.partitions[0], &context()),
        Err(CircuitError::ChallengeCount { partition: 0, expected: 18, found: 2 })
    ));
    let other_size = Statement { seal_proof: SealProof::from_name("StackedDrg8MiBV1_1").unwrap(), ..statement };
    let error = vanilla_check(&other_size, &c1.partitions[0], &context()).unwrap_err();
    assert!(matches!(error, CircuitError::Form { partition: 0, challenge: 0, .. }), "{error}");
}

#[test]
fn a_raised_flag_ends_the_verification_and_memory_is_asked_for() {
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = StageContext::new(context().ledger().clone(), StageName::Synth, cancel);
    let error = vanilla_check(&Statement::from(&c1), &c1.partitions[0], &cancelled).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled);
    let poor = StageContext::new(pipeline_stage::Ledger::new(&[(Space::Host, 1000)]), StageName::Synth, Cancel::never());
    let error = vanilla_check(&Statement::from(&c1), &c1.partitions[0], &poor).unwrap_err();
    assert!(matches!(error, CircuitError::Memory(_)), "{error}");
}

#[test]
fn a_fully_labelled_sector_passes_too() {
    let made = fabricate(&Spec { labels: Labels::All, ..Spec::new(SectorSize::KiB2) }).unwrap();
    verify_all(&parsed(&made.file.raw)).unwrap();
}

/// Sealed here, in a process whose library cache is in a folder of its own: no such file is kept.
#[test]
fn a_non_interactive_proof_passes_in_all_partitions() {
    const TEST: &str = "a_non_interactive_proof_passes_in_all_partitions";
    if process::step().is_none() {
        let folder = tempfile::tempdir().unwrap();
        let cache = format!("{}/", folder.path().display());
        return process::run_alone(TEST, "run", folder.path(), &[("FIL_PROOFS_CACHE_DIR", &cache)]);
    }
    let file = seal_fixture(Fixture::KiB2NonInteractive, std::path::Path::new(".")).unwrap();
    let c1 = parsed(&file.raw);
    assert_eq!(c1.partitions.len(), 13);
    verify_all(&c1).unwrap();
    let statement = Statement::from(&c1);
    statement.check_sector(1000, 1).unwrap();
    // Its challenges do not come from the seed, and each partition has its own.
    let inputs: Vec<_> = (0..13).map(|k| public_inputs(&statement, k).unwrap()).collect();
    let reseeded = Statement { seed: [7; 32], ..statement };
    assert!((0..13).all(|k| public_inputs(&reseeded, k).unwrap() == inputs[k]));
    assert!((1..13).all(|k| inputs[k] != inputs[0]));
    let swapped = c1_parse::Partition { index: 1, challenges: c1.partitions[0].challenges.clone() };
    assert!(matches!(vanilla_check(&statement, &swapped, &context()), Err(CircuitError::Refused { partition: 1, .. })));
}
