//! The program against the recorded proof of a real 2 KiB PoRep.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use peers::{ParameterFiles, PeerRun, parse_seal_proof};
use serde_json::Value;

fn bench_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib").join(name)
}

fn peers_run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peers-run")).args(arguments).output().unwrap()
}

/// A folder with the recorded verifying key under the library's name, and no proving key.
fn parameters() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = ParameterFiles::of(parse_seal_proof("StackedDrg2KiBV1_1").unwrap(), folder.path()).unwrap();
    std::fs::copy(bench_data("reference.vk"), files.verifying_key).unwrap();
    folder
}

fn verify(parameters: &Path, miner: &str, proof: &[u8]) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), proof).unwrap();
    let (c1, parameters, proof) = (bench_data("c1.json"), parameters.to_str().unwrap(), file.path().to_str().unwrap());
    peers_run(&["verify-seal", "--c1", c1.to_str().unwrap(), "--parameters", parameters, "--miner", miner, "--proof", proof])
}

#[test]
fn the_recorded_proof_verifies_and_an_altered_one_does_not() {
    let reference: Value = serde_json::from_slice(&std::fs::read(bench_data("reference.json")).unwrap()).unwrap();
    let parameters = parameters();
    for name in ["proof_fixed_rs", "proof_r0_s0"] {
        let proof = hex::decode(reference[name].as_str().unwrap()).unwrap();
        let output = verify(parameters.path(), "1000", &proof);
        assert!(output.status.success(), "{output:?}");
        let run: PeerRun = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((run.verified, run.proof), (Some(true), Some(hex::encode(&proof))));
        assert!(run.figures.peak_anon_bytes > 1 << 20 && run.figures.peak_rss_bytes > run.figures.peak_anon_bytes);

        let other_miner = verify(parameters.path(), "1001", &proof);
        assert!(!other_miner.status.success(), "{other_miner:?}");
    }
    // A and C of the two proofs exchanged: proper points, but no proof.
    let bytes = |name: &str| hex::decode(reference[name].as_str().unwrap()).unwrap();
    let mixed = [&bytes("proof_fixed_rs")[..144], &bytes("proof_r0_s0")[144..]].concat();
    let output = verify(parameters.path(), "1000", &mixed);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(serde_json::from_slice::<PeerRun>(&output.stdout).unwrap().verified, Some(false));
}

#[test]
fn missing_parameters_are_told() {
    let (c1, folder) = (bench_data("c1.json"), parameters());
    let parameters = folder.path().to_str().unwrap();
    let output = peers_run(&["seal-commit-phase2", "--c1", c1.to_str().unwrap(), "--parameters", parameters, "--miner", "1000"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{message}");
    assert!(message.contains(parameters) && message.contains(".params"), "{message}");
}

#[test]
fn wrong_arguments_are_told() {
    let folder = parameters();
    let parameters = folder.path().to_str().unwrap();
    let output = peers_run(&["seal-commit-phase2", "--c1", "/nonexistent/c1.json", "--parameters", parameters, "--miner", "1000"]);
    assert!(output.status.code() == Some(2) && String::from_utf8(output.stderr).unwrap().contains("/nonexistent/c1.json"));
    let output = peers_run(&["generate-parameters", "--seal-proof", "StackedDrg32GiBV1_1", "--label", "x", "--output", parameters]);
    assert!(output.status.code() == Some(2) && String::from_utf8(output.stderr).unwrap().contains("up to"));
}
