//! Our prover, step by step, on a C1 file.

use std::path::{Path, PathBuf};
use std::process::Command;

use buffer_accounting::PoolSource;
use c1_parse::{C1, Expected, Limits};
use cpu_backend::CpuBackend;
use filecoin_circuits::{Statement, Synthesized};
use groth16_assembly::{Blinding, Sums, assemble};
use groth16_pipeline::{CircuitKeys, ScalarBuffer, TransformBuffers, quotient, sums};
use groth16_srs::{CircuitCounts, CircuitIdentity, OriginPolicy, ProvingKey, SetupSecrets, setup};
use pipeline_stage::{StageContext, StageName};

/// A file of the repository's test data.
pub(crate) fn bench_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data").join(name)
}

pub(crate) fn read_c1(path: &Path, context: &StageContext) -> C1 {
    c1_parse::parse(&std::fs::read(path).unwrap(), &Limits::default(), &Expected::default(), context).unwrap()
}

pub(crate) fn seed(label: &str) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..label.len()].copy_from_slice(label.as_bytes());
    seed
}

/// Compiles the circuit of a C1 file and makes a development key from a seed.
pub(crate) fn make_keys(c1: &C1, folder: &Path, seed: [u8; 32], backend: &CpuBackend, context: &StageContext) -> CircuitKeys {
    let circuit = filecoin_circuits::compile(c1.seal_proof, folder, context).unwrap();
    let identity = CircuitIdentity::new(circuit.name(), *circuit.hash()).unwrap();
    let path = folder.join(identity.file_name());
    setup(&identity, &circuit, SetupSecrets::from_seed(seed), backend, &path, &mut |_| {}, context).unwrap();
    let expected = groth16_srs::Circuit { identity, counts: CircuitCounts::of(&circuit).unwrap() };
    let key = ProvingKey::open(&path, &expected, OriginPolicy::Any, context).unwrap();
    CircuitKeys::new(circuit, key).unwrap()
}

/// Witness, h and sums of one partition.
pub(crate) struct Worked {
    pub(crate) synthesized: Synthesized,
    pub(crate) h: ScalarBuffer,
    pub(crate) sums: Sums,
}

pub(crate) fn work(c1: &C1, partition: usize, keys: &CircuitKeys, backend: &CpuBackend, context: &StageContext) -> Worked {
    let synthesized = filecoin_circuits::synthesize(&Statement::from(c1), &c1.partitions[partition], keys.circuit(), context).unwrap();
    let view = synthesized.witness.view().unwrap();
    let buffers = TransformBuffers::new(PoolSource::Ledger(context.ledger().clone()));
    let h = quotient(keys.circuit(), view, backend, &buffers, context).unwrap();
    let sums = sums(keys, view, &h, backend, context).unwrap();
    Worked { synthesized, h, sums }
}

/// The 192 bytes of a partition's proof, verified by our own verifier.
pub(crate) fn prove(worked: &Worked, keys: &CircuitKeys, blinding: Blinding) -> [u8; 192] {
    let proof = assemble(keys.verifying_key(), &worked.sums, blinding);
    keys.verifying_key().verify(&proof, &worked.synthesized.public_inputs).unwrap().to_bytes()
}

/// Puts our verifying key where filecoin-proofs looks for it.
pub(crate) fn publish_verifying_key(c1: &C1, keys: &CircuitKeys, folder: &Path) {
    let name = filecoin_circuits::identity(c1.seal_proof).unwrap().verifying_key.name;
    keys.proving_key().verifying_key().save(&folder.join(name)).unwrap();
}

/// The verdict of filecoin-proofs' `verify_seal`, in a process of its own: false when it does not hold or is refused.
pub(crate) fn verify_seal(c1: &Path, miner: u64, sector: u64, keys: &Path, proof: &[u8]) -> bool {
    let file = keys.join("proof.bin");
    std::fs::write(&file, proof).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_peers-run"))
        .args(["verify-seal", "--miner", &miner.to_string(), "--sector", &sector.to_string()])
        .args(
            [c1, keys, file.as_path()]
                .into_iter()
                .zip(["--c1", "--parameters", "--proof"])
                .flat_map(|(path, flag)| [flag.into(), path.as_os_str().to_owned()]),
        )
        .output()
        .unwrap();
    output.status.success()
}

pub(crate) fn context() -> StageContext {
    StageContext::unlimited(StageName::Setup)
}
