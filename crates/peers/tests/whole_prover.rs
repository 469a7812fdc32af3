//! The reference prover from secrets to a verified proof, as the figures and digests in bench-data were made.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};

use peers::PeerRun;
use sha2::{Digest, Sha256};

/// Of the parameter file that these secrets make; `proof_fixed_rs` of bench-data/porep-2kib/reference.json was proved with it.
const PARAMETERS_SHA256: &str = "3480a2db85b1fb671039c73dbda8e71528d5df2659ec69eedfae2b9e2e0d177e";

fn peers_run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_peers-run")).args(arguments).output().unwrap()
}

fn report(output: &Output) -> PeerRun {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
#[ignore = "1,300 CPU seconds and 5 GB of memory"]
fn from_secrets_to_a_verified_proof() {
    let bench_data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib");
    let c1 = bench_data.join("c1.json");
    let folder = tempfile::tempdir().unwrap();
    let parameters = folder.path().to_str().unwrap();

    let label = "filref params porep-2k";
    let arguments = ["generate-parameters", "--seal-proof", "StackedDrg2KiBV1_1", "--label", label, "--output", parameters];
    let generated = report(&peers_run(&arguments));
    let params = generated.files.iter().find(|file| file.ends_with(".params")).unwrap();
    let mut digest = Sha256::new();
    std::io::copy(&mut File::open(params).unwrap(), &mut digest).unwrap();
    assert_eq!(hex::encode(digest.finalize()), PARAMETERS_SHA256);
    let key = generated.files.iter().find(|file| file.ends_with(".vk")).unwrap();
    assert_eq!(std::fs::read(key).unwrap(), std::fs::read(bench_data.join("reference.vk")).unwrap());

    let sector = ["--c1", c1.to_str().unwrap(), "--parameters", parameters, "--miner", "1000"];
    let proved = report(&peers_run(&[&["seal-commit-phase2"][..], &sector].concat()));
    assert_eq!(proved.verified, Some(true));
    assert!(proved.figures.cpu_s > 1.0 && proved.figures.peak_anon_bytes > 500 << 20, "{:?}", proved.figures);

    let mut proof = hex::decode(proved.proof.unwrap()).unwrap();
    let file = folder.path().join("proof");
    let verify = |proof: &[u8]| {
        std::fs::write(&file, proof).unwrap();
        peers_run(&[&["verify-seal"][..], &sector, &["--proof", file.to_str().unwrap()]].concat())
    };
    assert_eq!(report(&verify(&proof)).verified, Some(true));
    // The sign of C: a proper point, and no proof.
    proof[144] ^= 0x20;
    assert_eq!(verify(&proof).status.code(), Some(1));
}
