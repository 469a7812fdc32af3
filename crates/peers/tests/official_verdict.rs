//! Proofs of real C1 files, judged by filecoin-proofs' `verify_seal`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "ours/mod.rs"]
#[allow(dead_code, reason = "shared with the other test")]
mod ours;

use cpu_backend::CpuBackend;
use groth16_assembly::Blinding;
use ours::{bench_data, context, make_keys, prove, publish_verifying_key, read_c1, seed, verify_seal, work};

/// The miner of the fixtures.
const MINER: u64 = 1000;

fn judged(files: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (CpuBackend::new(), context());
    let first = read_c1(&bench_data(files[0]), &context);
    let keys = make_keys(&first, folder.path(), seed("any"), &backend, &context);
    publish_verifying_key(&first, &keys, folder.path());
    let mut proofs = Vec::new();
    for file in files {
        let path = bench_data(file);
        let c1 = read_c1(&path, &context);
        let worked = work(&c1, 0, &keys, &backend, &context);
        let proof = prove(&worked, &keys, Blinding::from_os().unwrap());
        assert!(verify_seal(&path, MINER, 1, folder.path(), &proof), "{file}");
        assert!(!verify_seal(&path, MINER + 1, 1, folder.path(), &proof), "another miner's public inputs, {file}");
        assert!(!verify_seal(&path, MINER, 2, folder.path(), &proof), "another sector's public inputs, {file}");
        for bit in [0, 7 * 8 + 3, 100 * 8, 191 * 8 + 7] {
            let mut flipped = proof;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify_seal(&path, MINER, 1, folder.path(), &flipped), "bit {bit} flipped, {file}");
        }
        let doubled = [proof, proof].concat();
        assert!(!verify_seal(&path, MINER, 1, folder.path(), &doubled), "one partition too many, {file}");
        proofs.push((path, proof));
    }
    for (k, (path, _)) in proofs.iter().enumerate() {
        for (other, (_, proof)) in proofs.iter().enumerate() {
            let same_statement = k == other;
            assert_eq!(verify_seal(path, MINER, 1, folder.path(), proof), same_statement, "proof {other} for statement {k}");
        }
    }
}

#[test]
fn proofs_of_2_kib_sectors_plain_and_synthetic() {
    judged(&["porep-2kib/c1.json", "porep-2kib/c1-synthetic.json"]);
}

#[test]
#[ignore = "slow: a set-up and a proof of the 8 MiB circuit"]
fn proofs_of_8_mib_sectors() {
    judged(&["porep-8mib/c1.json"]);
}

#[test]
fn bare_and_wrapped_files_are_one_statement() {
    let context = context();
    let [wrapped, bare] = ["porep-2kib/c1.json", "porep-2kib/c1.raw.json"].map(|file| read_c1(&bench_data(file), &context));
    assert_eq!(filecoin_circuits::Statement::from(&wrapped), filecoin_circuits::Statement::from(&bare));
    let partitions = |c1: &c1_parse::C1| c1.partitions.iter().map(|p| bincode::serialize(&p.challenges).unwrap()).collect::<Vec<_>>();
    assert_eq!(partitions(&wrapped), partitions(&bare));
}
