//! The development set-up and the prover against recorded values of bellperson, bit for bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "ours/mod.rs"]
#[allow(dead_code, reason = "shared with the other test")]
mod ours;

use std::io::Write;

use bls12_381_layout::Affine;
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use cpu_backend::CpuBackend;
use ff::PrimeField;
use groth16_assembly::Blinding;
use group::{Curve, GroupEncoding};
use ours::{bench_data, context, make_keys, prove, read_c1, seed, work};
use pipeline_stage::StageContext;
use prover_backend::{BaseSource, ConstraintMatrices, Matrix, Msm, Scalars, SelectedWitness, WitnessView};
use sha2::{Digest, Sha256};

/// SHA-256 of the parameter file that bellperson writes with the secrets of this seed.
const PARAMETERS_SHA256: &str = "3480a2db85b1fb671039c73dbda8e71528d5df2659ec69eedfae2b9e2e0d177e";

struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The sum over the variables of one side (inputs or auxiliary), as the reference lists them.
fn part<A: Affine>(
    section: &dyn BaseSource<A>,
    witness: WitnessView<'_>,
    density: &[u64],
    variables: [std::ops::Range<usize>; 2],
    backend: &CpuBackend,
    context: &StageContext,
) -> [A::Projective; 2]
where
    CpuBackend: Msm<A>,
{
    let mut start = 0;
    variables.map(|range| {
        let selected = SelectedWitness::dense(witness, density, range).unwrap();
        let points = section.points(start..start + selected.len()).unwrap().to_vec();
        start += selected.len();
        backend.msm(&points, Scalars::Witness(selected), context).unwrap()
    })
}

#[test]
#[ignore = "slow: a set-up and a proof of the 2 KiB circuit, and the SHA-256 of its parameter file"]
fn setup_sums_h_and_proof_equal_the_recorded_reference() {
    let reference: serde_json::Value = serde_json::from_slice(&std::fs::read(bench_data("porep-2kib/reference.json")).unwrap()).unwrap();
    let text = |key: &str| reference[key].as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (CpuBackend::new(), context());
    let c1 = read_c1(&bench_data("porep-2kib/c1.json"), &context);
    let keys = make_keys(&c1, folder.path(), seed("filref params porep-2k"), &backend, &context);

    let vk = std::fs::read(bench_data("porep-2kib/reference.vk")).unwrap();
    assert_eq!(keys.proving_key().verifying_key().to_bytes(), vk, "verifying key");
    let mut hash = Hashing(Sha256::new());
    groth16_srs::export(keys.proving_key(), &mut hash, &mut |_| {}, &context).unwrap();
    assert_eq!(hex::encode(hash.0.finalize()), PARAMETERS_SHA256, "parameter file");

    let worked = work(&c1, 0, &keys, &backend, &context);
    let mut h = Sha256::new();
    for coefficient in &worked.h[..worked.h.len() - 1] {
        h.update(coefficient.to_repr());
    }
    assert_eq!(hex::encode(h.finalize()), text("sha256_h_coeffs_le32"), "h");

    let g1 = |sum: &G1Projective| hex::encode(sum.to_affine().to_bytes());
    let g2 = |sum: &G2Projective| hex::encode(sum.to_affine().to_bytes());
    let msm = |key: &str| reference["msm"][key].as_str().unwrap().to_owned();
    let (circuit, key) = (keys.circuit(), keys.proving_key());
    let witness = worked.synthesized.witness.view().unwrap();
    let sides = || [0..circuit.inputs(), circuit.inputs()..circuit.variables()];
    assert_eq!(g1(&worked.sums.h), msm("h"));
    assert_eq!(g1(&worked.sums.l), msm("l"));
    let [inputs, aux] = part::<G1Affine>(&key.a(), witness, circuit.density(Matrix::A), sides(), &backend, &context);
    assert_eq!([g1(&inputs), g1(&aux)], [msm("a_inputs"), msm("a_aux")]);
    assert_eq!(inputs + aux, worked.sums.a);
    let [inputs, aux] = part::<G1Affine>(&key.b_g1(), witness, circuit.density(Matrix::B), sides(), &backend, &context);
    assert_eq!([g1(&inputs), g1(&aux)], [msm("b_g1_inputs"), msm("b_g1_aux")]);
    assert_eq!(inputs + aux, worked.sums.b_g1);
    let [inputs, aux] = part::<G2Affine>(&key.b_g2(), witness, circuit.density(Matrix::B), sides(), &backend, &context);
    assert_eq!([g2(&inputs), g2(&aux)], [msm("b_g2_inputs"), msm("b_g2_aux")]);
    assert_eq!(inputs + aux, worked.sums.b_g2);

    let scalar = |key: &str| -> Scalar {
        let bytes: [u8; 32] = hex::decode(text(key)).unwrap().try_into().unwrap();
        Scalar::from_repr(bytes).unwrap()
    };
    let proof = prove(&worked, &keys, Blinding::fixed(scalar("r_le"), scalar("s_le")));
    assert_eq!(hex::encode(proof), text("proof_fixed_rs"));
    let unblinded = prove(&worked, &keys, Blinding::fixed(Scalar::from(0), Scalar::from(0)));
    assert_eq!(hex::encode(unblinded), text("proof_r0_s0"));
}
