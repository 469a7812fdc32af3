//! Toy circuits, set up and proved by bellperson.

use crate::toy::{Chain, parameters, sums, verifying_key};
use bellperson::groth16::{self, create_proof};
use blstrs::{Bls12, Scalar};
use ff::Field;
use groth16_assembly::{
    Blinding, PartitionCollector, PartitionError, PreparedVerifyingKey, Proof, VerifyError, assemble, assemble_and_verify,
    verify_partitions,
};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

fn bellperson_bytes(proof: &groth16::Proof<Bls12>) -> Vec<u8> {
    let mut bytes = Vec::new();
    proof.write(&mut bytes).unwrap();
    bytes
}

fn bellperson_verifies(key: &groth16::VerifyingKey<Bls12>, proof: &Proof, inputs: &[Scalar]) -> bool {
    let proof = groth16::Proof::read(&proof.to_bytes()[..]).unwrap();
    groth16::verify_proof(&groth16::prepare_verifying_key(key), &proof, inputs).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn bytes_equal_bellpersons(rounds in 1u64..30, salt: u64, secret: u64, bias: u64, seed: [u8; 32], zero_r: bool, zero_s: bool) {
        let circuit = Chain { rounds, secret: Scalar::from(secret), bias: Scalar::from(bias) };
        let parameters = parameters(rounds, salt);
        let mut rng = ChaCha20Rng::from_seed(seed);
        let draw = |zero: bool, rng: &mut ChaCha20Rng| if zero { Scalar::ZERO } else { Scalar::random(rng) };
        let (r, s) = (draw(zero_r, &mut rng), draw(zero_s, &mut rng));

        let key = PreparedVerifyingKey::new(&verifying_key(&parameters.vk)).unwrap();
        let inputs = circuit.public_inputs();
        let sums = sums(circuit.clone(), &parameters);
        let proof = assemble_and_verify(&key, &sums, Blinding::fixed(r, s), &inputs).unwrap();
        let theirs = create_proof::<Bls12, _, _>(circuit, &parameters, r, s).unwrap();
        prop_assert_eq!(proof.to_bytes().to_vec(), bellperson_bytes(&theirs));
        prop_assert!(bellperson_verifies(&parameters.vk, &proof, &inputs));

        let mut others = inputs;
        others[1] += Scalar::ONE;
        prop_assert_eq!(key.verify(proof.as_unverified(), &others), Err(VerifyError::Rejected));
        prop_assert!(!bellperson_verifies(&parameters.vk, &proof, &others));
    }
}

#[test]
fn a_seeded_blinding_is_that_of_bellpersons_random_proof() {
    let circuit = Chain { rounds: 5, secret: Scalar::from(9), bias: Scalar::from(4) };
    let parameters = parameters(5, 1);
    let key = PreparedVerifyingKey::new(&verifying_key(&parameters.vk)).unwrap();
    let sums = sums(circuit.clone(), &parameters);
    let blinding = Blinding::from_rng(&mut ChaCha20Rng::from_seed([3; 32]));
    let proof = assemble_and_verify(&key, &sums, blinding, &circuit.public_inputs()).unwrap();
    let theirs = groth16::create_random_proof::<Bls12, _, _, _>(circuit, &parameters, &mut ChaCha20Rng::from_seed([3; 32])).unwrap();
    assert_eq!(proof.to_bytes().to_vec(), bellperson_bytes(&theirs));
}

#[test]
fn blinding_of_the_os_verifies_and_never_repeats() {
    let circuit = Chain { rounds: 7, secret: Scalar::from(5), bias: Scalar::from(2) };
    let parameters = parameters(7, 2);
    let key = PreparedVerifyingKey::new(&verifying_key(&parameters.vk)).unwrap();
    let sums = sums(circuit.clone(), &parameters);
    let inputs = circuit.public_inputs();
    let make = || assemble_and_verify(&key, &sums, Blinding::from_os().unwrap(), &inputs).unwrap();
    let (x, y) = (make(), make());
    assert!(bellperson_verifies(&parameters.vk, &x, &inputs) && bellperson_verifies(&parameters.vk, &y, &inputs));
    assert_ne!(x.to_bytes()[..48], y.to_bytes()[..48]);
    assert_ne!(x.to_bytes()[48..144], y.to_bytes()[48..144]);
    assert_ne!(x.to_bytes()[144..], y.to_bytes()[144..]);
}

#[test]
fn a_sum_of_another_witness_is_rejected() {
    let parameters = parameters(6, 3);
    let key = PreparedVerifyingKey::new(&verifying_key(&parameters.vk)).unwrap();
    let circuit = |secret: u64| Chain { rounds: 6, secret: Scalar::from(secret), bias: Scalar::from(2) };
    let (right, wrong) = (sums(circuit(5), &parameters), sums(circuit(6), &parameters));
    let inputs = circuit(5).public_inputs();
    let verify = |sums| key.verify(&assemble(&key, &sums, Blinding::from_os().unwrap()), &inputs);
    assert!(verify(right).is_ok());
    for changed in [
        groth16_assembly::Sums { h: wrong.h, ..right },
        groth16_assembly::Sums { l: wrong.l, ..right },
        groth16_assembly::Sums { a: wrong.a, ..right },
        groth16_assembly::Sums { b_g1: wrong.b_g1, ..right },
        groth16_assembly::Sums { b_g2: wrong.b_g2, ..right },
        wrong,
    ] {
        assert_eq!(verify(changed), Err(VerifyError::Rejected));
    }
}

#[test]
fn partitions_verify_in_their_order_alone() {
    let parameters = parameters(4, 4);
    let key = PreparedVerifyingKey::new(&verifying_key(&parameters.vk)).unwrap();
    let circuits: Vec<Chain> = (0..4).map(|i| Chain { rounds: 4, secret: Scalar::from(i + 10), bias: Scalar::from(3) }).collect();
    let inputs: Vec<Vec<Scalar>> = circuits.iter().map(Chain::public_inputs).collect();
    let mut collector = PartitionCollector::new(4).unwrap();
    for index in [2, 0, 3, 1] {
        assert!(!collector.is_complete() && collector.to_bytes().is_err());
        let sums = sums(circuits[index].clone(), &parameters);
        let proof = assemble_and_verify(&key, &sums, Blinding::from_os().unwrap(), &inputs[index]).unwrap();
        collector.insert(index, proof).unwrap();
    }
    assert!(collector.is_complete());
    let bytes = collector.to_bytes().unwrap();
    assert_eq!(verify_partitions(&key, &bytes, &inputs).unwrap().len(), 4);

    // bellperson reads the same bytes as that many proofs, and each verifies with its own inputs.
    let theirs = groth16::Proof::<Bls12>::read_many(&bytes, 4).unwrap();
    let prepared = groth16::prepare_verifying_key(&parameters.vk);
    for (proof, inputs) in theirs.iter().zip(&inputs) {
        assert!(groth16::verify_proof(&prepared, proof, inputs).unwrap());
    }

    for (i, j) in [(0, 1), (1, 3), (0, 3)] {
        let mut swapped = bytes.clone();
        let (low, high) = swapped.split_at_mut(j * 192);
        low[i * 192..(i + 1) * 192].swap_with_slice(&mut high[..192]);
        let error = verify_partitions(&key, &swapped, &inputs).unwrap_err();
        assert!(matches!(error, PartitionError::Verify(groth16_assembly::BatchVerifyError::At { index, .. }) if index == i), "{error}");
    }
}
