//! What must not verify, and what each refusal says.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod trapdoor;

use blstrs::{G1Affine, G2Affine, Scalar};
use ff::Field;
use groth16_assembly::{
    BatchVerifyError, Blinding, DecodeError, KeyError, PARTITIONS_MAX, PartitionCollector, PartitionError, PreparedVerifyingKey, Proof,
    UnverifiedProof, VerifyError, assemble_and_verify, verify_partitions,
};
use groth16_srs::VerifyingKey;
use group::prime::PrimeCurveAffine;
use pipeline_stage::{Classified, ErrorClass};
use proptest::prelude::*;
use trapdoor::Trapdoor;

fn proofs(public_inputs: usize, count: usize, seed: u8) -> (PreparedVerifyingKey, Vec<(Vec<Scalar>, Proof)>) {
    let mut trapdoor = Trapdoor::new(public_inputs, seed);
    let key = PreparedVerifyingKey::new(&trapdoor.key()).unwrap();
    let proofs = (0..count)
        .map(|_| {
            let (inputs, sums) = trapdoor.statement();
            let proof = assemble_and_verify(&key, &sums, Blinding::from_os().unwrap(), &inputs).unwrap();
            (inputs, proof)
        })
        .collect();
    (key, proofs)
}

#[test]
fn no_flipped_bit_verifies() {
    let (key, proofs) = proofs(3, 1, 1);
    let (inputs, proof) = &proofs[0];
    let bytes = proof.to_bytes();
    let (mut undecodable, mut rejected) = (0, 0);
    for bit in 0..192 * 8 {
        let mut flipped = bytes;
        flipped[bit / 8] ^= 1 << (bit % 8);
        match UnverifiedProof::from_bytes(&flipped) {
            Err(error) => {
                assert_eq!(error.class(), ErrorClass::Fatal);
                undecodable += 1;
            }
            Ok(other) => {
                assert_eq!(key.verify(&other, inputs), Err(VerifyError::Rejected), "bit {bit}");
                rejected += 1;
            }
        }
    }
    // The three sign flags give the negated points, which are proper points.
    assert_eq!(undecodable + rejected, 192 * 8);
    assert!(rejected >= 3 && undecodable > 1500, "{undecodable} {rejected}");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if bytes.len() != 192 {
            prop_assert_eq!(UnverifiedProof::from_bytes(&bytes).unwrap_err(), DecodeError::Length { expected: 192, found: bytes.len() });
        }
        let mut proof = bytes;
        proof.resize(192, 0);
        prop_assert!(UnverifiedProof::from_bytes(&proof).is_err());
        // With plausible flags and coordinates the bytes get past the first checks; a chance point is never in the subgroup.
        for start in [0, 48, 144] {
            proof[start] = 0x80 | (proof[start] & 0x2f);
        }
        proof[96] &= 0x0f;
        let error = UnverifiedProof::from_bytes(&proof).unwrap_err();
        let late = matches!(error, DecodeError::NotCanonical(_) | DecodeError::NotOnCurve(_) | DecodeError::NotInSubgroup(_));
        prop_assert!(late, "{}", error);
    }
}

#[test]
fn bytes_make_the_same_proof_again() {
    let (key, proofs) = proofs(2, 3, 2);
    for (inputs, proof) in &proofs {
        let again = UnverifiedProof::from_bytes(&proof.to_bytes()).unwrap();
        assert_eq!(&again, proof.as_unverified());
        assert_eq!(key.verify(&again, inputs).unwrap().to_bytes(), proof.to_bytes());
    }
}

#[test]
fn another_statement_or_key_is_rejected() {
    let (key, proofs_of_key) = proofs(3, 2, 3);
    let (other_key, _) = proofs(3, 1, 4);
    let (inputs, proof) = &proofs_of_key[0];
    assert!(key.verify(proof.as_unverified(), inputs).is_ok());
    assert_eq!(key.verify(proof.as_unverified(), &proofs_of_key[1].0), Err(VerifyError::Rejected));
    assert_eq!(other_key.verify(proof.as_unverified(), inputs), Err(VerifyError::Rejected));
    for i in 0..3 {
        let mut changed = inputs.clone();
        changed[i] += Scalar::ONE;
        assert_eq!(key.verify(proof.as_unverified(), &changed), Err(VerifyError::Rejected));
    }
}

#[test]
fn a_wrong_number_of_inputs_is_told() {
    let (key, proofs) = proofs(3, 1, 5);
    let (inputs, proof) = &proofs[0];
    assert_eq!(key.public_inputs(), 3);
    for found in [0, 2, 4] {
        let mut other = inputs.clone();
        other.resize(found, Scalar::ONE);
        assert_eq!(key.verify(proof.as_unverified(), &other), Err(VerifyError::InputCount { expected: 3, found }));
    }
    let message = VerifyError::InputCount { expected: 3, found: 4 }.to_string();
    assert!(message.contains('3') && message.contains('4'), "{message}");
}

#[test]
fn a_batch_names_the_first_false_proof() {
    let (key, proofs) = proofs(4, 10, 6);
    let batch: Vec<(&UnverifiedProof, &[Scalar])> = proofs.iter().map(|(inputs, proof)| (proof.as_unverified(), &inputs[..])).collect();
    for len in [0, 1, 2, 10] {
        let verified = key.verify_all(&batch[..len]).unwrap();
        assert_eq!(verified, proofs[..len].iter().map(|(_, proof)| *proof).collect::<Vec<_>>());
    }
    for false_one in [0, 4, 9] {
        let mut broken = batch.clone();
        broken[false_one].0 = batch[(false_one + 1) % 10].0;
        let error = key.verify_all(&broken).unwrap_err();
        assert!(matches!(error, BatchVerifyError::At { index, source: VerifyError::Rejected } if index == false_one), "{error}");
    }
    let mut short = batch.clone();
    short[7].1 = &short[7].1[1..];
    let error = key.verify_all(&short).unwrap_err();
    assert!(matches!(error, BatchVerifyError::At { index: 7, source: VerifyError::InputCount { expected: 4, found: 3 } }), "{error}");
}

#[test]
fn errors_that_cancel_without_coefficients_do_not_pass() {
    // Two statements whose inputs are off by +1 and -1: the plain sum of their equations still holds.
    let (key, proofs) = proofs(2, 2, 7);
    let mut inputs: Vec<Vec<Scalar>> = proofs.iter().map(|(inputs, _)| inputs.clone()).collect();
    inputs[0][0] += Scalar::ONE;
    inputs[1][0] -= Scalar::ONE;
    let batch: Vec<(&UnverifiedProof, &[Scalar])> =
        proofs.iter().zip(&inputs).map(|((_, proof), inputs)| (proof.as_unverified(), &inputs[..])).collect();
    assert!(matches!(key.verify_all(&batch), Err(BatchVerifyError::At { index: 0, .. })));
}

#[test]
fn a_key_with_infinity_is_refused() {
    let good = Trapdoor::new(2, 8).key();
    assert!(PreparedVerifyingKey::new(&good).is_ok());
    type Breakage = fn(&mut VerifyingKey);
    let cases: [(&str, Breakage); 7] = [
        ("alpha in G1", |k| k.alpha_g1 = G1Affine::identity()),
        ("beta in G1", |k| k.beta_g1 = G1Affine::identity()),
        ("beta in G2", |k| k.beta_g2 = G2Affine::identity()),
        ("gamma in G2", |k| k.gamma_g2 = G2Affine::identity()),
        ("delta in G1", |k| k.delta_g1 = G1Affine::identity()),
        ("delta in G2", |k| k.delta_g2 = G2Affine::identity()),
        ("an input point", |k| k.ic[1] = G1Affine::identity()),
    ];
    for (element, break_key) in cases {
        let mut key = good.clone();
        break_key(&mut key);
        assert_eq!(PreparedVerifyingKey::new(&key).unwrap_err(), KeyError::Infinity { element });
    }
    let mut key = good;
    key.ic.clear();
    assert_eq!(PreparedVerifyingKey::new(&key).unwrap_err(), KeyError::NoInputPoints);
}

#[test]
fn partitions_are_counted() {
    let (key, proofs) = proofs(1, 3, 9);
    let proof = |i: usize| proofs[i].1;
    assert!(matches!(PartitionCollector::new(0), Err(PartitionError::Count { found: 0, .. })));
    assert!(matches!(PartitionCollector::new(PARTITIONS_MAX + 1), Err(PartitionError::Count { max: PARTITIONS_MAX, .. })));

    let mut collector = PartitionCollector::new(3).unwrap();
    collector.insert(1, proof(1)).unwrap();
    assert!(matches!(collector.insert(1, proof(0)), Err(PartitionError::Duplicate { index: 1 })));
    assert!(matches!(collector.insert(3, proof(0)), Err(PartitionError::OutOfRange { index: 3, partitions: 3 })));
    assert_eq!(collector.missing().collect::<Vec<_>>(), [0, 2]);
    assert!(matches!(collector.to_bytes(), Err(PartitionError::Incomplete { missing: 2, partitions: 3, first: 0 })));
    collector.insert(2, proof(2)).unwrap();
    collector.insert(0, proof(0)).unwrap();
    let bytes = collector.to_bytes().unwrap();
    assert_eq!(bytes, [proof(0).to_bytes(), proof(1).to_bytes(), proof(2).to_bytes()].concat());

    let inputs: Vec<&[Scalar]> = proofs.iter().map(|(inputs, _)| &inputs[..]).collect();
    assert_eq!(verify_partitions(&key, &bytes, &inputs).unwrap().len(), 3);
    let error = verify_partitions(&key, &bytes[1..], &inputs).unwrap_err();
    assert!(matches!(error, PartitionError::Length { partitions: 3, expected: 576, found: 575 }), "{error}");
    let error = verify_partitions(&key, &bytes[..384], &inputs).unwrap_err();
    assert!(matches!(error, PartitionError::Length { partitions: 3, expected: 576, found: 384 }), "{error}");
    assert!(matches!(verify_partitions::<&[Scalar]>(&key, &[], &[]), Err(PartitionError::Count { found: 0, .. })));
    let mut altered = bytes;
    altered[192] = 0;
    let error = verify_partitions(&key, &altered, &inputs).unwrap_err();
    assert!(matches!(error, PartitionError::Decode { index: 1, source: DecodeError::NotCompressed(_) }), "{error}");
}
