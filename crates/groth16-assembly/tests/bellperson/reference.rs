//! The sums that bellperson computed for a real 2 KiB PoRep, with the blinding and proof bytes of the same run.

use bellperson::groth16;
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::{Field, PrimeField};
use groth16_assembly::{Blinding, PreparedVerifyingKey, Sums, UnverifiedProof, VerifyError, assemble_and_verify};
use serde_json::Value;

use crate::toy::verifying_key;

fn bench_data(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data/porep-2kib").join(name)).unwrap()
}

fn bytes<const N: usize>(value: &Value) -> [u8; N] {
    hex::decode(value.as_str().unwrap()).unwrap().try_into().unwrap()
}

fn scalar(value: &Value) -> Scalar {
    Scalar::from_repr(bytes(value)).unwrap()
}

#[test]
fn the_real_proof_comes_out_byte_for_byte() {
    let reference: Value = serde_json::from_slice(&bench_data("reference.json")).unwrap();
    let msm = &reference["msm"];
    let g1 = |name: &str| G1Projective::from(G1Affine::from_compressed(&bytes(&msm[name])).unwrap());
    let g2 = |name: &str| G2Projective::from(G2Affine::from_compressed(&bytes(&msm[name])).unwrap());
    let sums = Sums {
        h: g1("h"),
        l: g1("l"),
        a: g1("a_inputs") + g1("a_aux"),
        b_g1: g1("b_g1_inputs") + g1("b_g1_aux"),
        b_g2: g2("b_g2_inputs") + g2("b_g2_aux"),
    };
    let inputs: Vec<Scalar> = reference["public_inputs_le_hex"].as_array().unwrap().iter().map(scalar).collect();
    let key = PreparedVerifyingKey::new(&verifying_key(&groth16::VerifyingKey::read(&bench_data("reference.vk")[..]).unwrap())).unwrap();
    assert_eq!(key.public_inputs(), inputs.len());

    let blinding = Blinding::fixed(scalar(&reference["r_le"]), scalar(&reference["s_le"]));
    let proof = assemble_and_verify(&key, &sums, blinding, &inputs).unwrap();
    assert_eq!(proof.to_bytes(), bytes::<192>(&reference["proof_fixed_rs"]));
    let plain = assemble_and_verify(&key, &sums, Blinding::fixed(Scalar::ZERO, Scalar::ZERO), &inputs).unwrap();
    assert_eq!(plain.to_bytes(), bytes::<192>(&reference["proof_r0_s0"]));

    let decoded = UnverifiedProof::from_bytes(&bytes::<192>(&reference["proof_fixed_rs"])).unwrap();
    assert_eq!(key.verify(&decoded, &inputs).unwrap(), proof);
    let mut other_sector = inputs;
    other_sector[0] += Scalar::ONE;
    assert_eq!(key.verify(&decoded, &other_sector), Err(VerifyError::Rejected));
}
