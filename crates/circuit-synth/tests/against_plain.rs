//! Compiled circuit, compact witness, evaluations and check against plain vectors and bellpepper's own evaluation.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random;

use bellpepper_core::Index;
use blstrs::Scalar;
use circuit_synth::{RowOrder, Satisfaction, SynthError, check, compile, evaluate, synthesize_witness, witness_bytes_max};
use ff::Field;
use pipeline_stage::{Cancel, Class, Ledger, Space, StageContext, StageName};
use proptest::prelude::*;
use prover_backend::{ConstraintMatrices, Domain, Matrix};
use random::{Plain, RandomCircuit};

fn context() -> StageContext {
    StageContext::unlimited(StageName::Synth)
}

fn bit(words: &[u64], i: usize) -> bool {
    words[i / 64] >> (i % 64) & 1 == 1
}

fn compare(instance: &RandomCircuit) {
    let context = context();
    let folder = tempfile::tempdir().unwrap();
    let circuit = compile(instance.blank(), "random", &folder.path().join("c"), &context).unwrap();
    let plain = Plain::of(instance.clone());
    let variables = plain.variables();
    let inputs = plain.inputs.len();
    assert_eq!((circuit.inputs(), circuit.variables(), circuit.constraints()), (inputs, variables.len(), instance.rows));
    circuit.verify_checksums(&context).unwrap();

    let witness = synthesize_witness(instance.clone(), &circuit, &context).unwrap();
    let view = witness.view().unwrap();
    for (i, value) in variables.iter().enumerate() {
        assert_eq!(view.value(i), *value, "variable {i}");
    }

    let place = |index| match index {
        Index::Input(i) => i,
        Index::Aux(j) => inputs + j,
    };
    let domain = Domain::for_rows(circuit.rows()).unwrap();
    for (k, matrix) in Matrix::ALL.into_iter().enumerate() {
        let mut natural = vec![Scalar::from(99); domain.size()];
        evaluate(&circuit, matrix, view, &mut natural, RowOrder::Natural, &context).unwrap();
        let mut expected = plain.rows[k].clone();
        expected.resize(domain.size(), Scalar::ZERO);
        assert!(natural == expected, "{matrix:?} in natural order");
        let mut reversed = vec![Scalar::from(99); domain.size()];
        evaluate(&circuit, matrix, view, &mut reversed, RowOrder::BitReversed, &context).unwrap();
        assert!((0..domain.size()).all(|i| reversed[domain.bit_reverse(i)] == expected[i]), "{matrix:?} in bit-reversed order");

        let mut terms = Vec::new();
        circuit.for_each_term(matrix, 0..circuit.rows(), &mut |row, variable, c| terms.push((row, variable, *c))).unwrap();
        let mut expected_terms = Vec::new();
        for (row, lcs) in plain.lcs.iter().enumerate() {
            let lc = lcs[k].iter().filter(|(_, c)| !bool::from(c.is_zero()));
            expected_terms.extend(lc.map(|(v, c)| (row, place(v.0), *c)));
        }
        assert!(terms == expected_terms, "terms of {matrix:?}");
        let middle = circuit.rows() / 3..circuit.rows() / 2;
        let mut some = Vec::new();
        circuit.for_each_term(matrix, middle.clone(), &mut |row, variable, c| some.push((row, variable, *c))).unwrap();
        assert!(some == expected_terms.iter().filter(|t| middle.contains(&t.0)).copied().collect::<Vec<_>>());
        if matrix != Matrix::C {
            for i in 0..variables.len() {
                let used = expected_terms.iter().any(|(_, variable, _)| *variable == i);
                assert_eq!(bit(circuit.density(matrix), i), used, "density of {matrix:?} at {i}");
            }
        }
    }
    let expected = Satisfaction::Satisfied { constraints: instance.rows as u64, public_inputs: plain.inputs[1..].to_vec() };
    assert_eq!(check(|| Ok::<_, SynthError>(instance.clone()), &circuit, &context).unwrap(), expected);
    drop(witness);
    assert_eq!(context.ledger().snapshot().in_use(Space::Host), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn small_circuits(seed in any::<u64>(), rows in 0usize..300, full in 0u32..256) {
        compare(&RandomCircuit::new(seed, rows, full));
    }

    #[test]
    fn a_broken_constraint_is_named(seed in any::<u64>(), rows in 1usize..100, at in any::<prop::sample::Index>()) {
        let context = context();
        let folder = tempfile::tempdir().unwrap();
        let broken = RandomCircuit { broken_row: Some(at.index(rows)), ..RandomCircuit::new(seed, rows, 20) };
        let circuit = compile(broken.blank(), "random", &folder.path().join("c"), &context).unwrap();
        match check(|| Ok::<_, SynthError>(broken.clone()), &circuit, &context).unwrap() {
            Satisfaction::Broken(found) => {
                prop_assert_eq!(found.number, at.index(rows) as u64);
                prop_assert_eq!(&found.path, &format!("row {}/product", found.number));
                prop_assert_ne!(found.a * found.b, found.c);
            }
            Satisfaction::Satisfied { .. } => prop_assert!(false, "row {} is broken", at.index(rows)),
        }
        prop_assert_eq!(context.ledger().snapshot().in_use(Space::Host), 0);
    }
}

#[test]
fn several_blocks_and_several_chunks_of_full_values() {
    // More than one block of 4096 rows and, with every variable full-size, more than one chunk of 32768 values.
    compare(&RandomCircuit::new(1, 20_000, 255));
}

#[test]
fn an_instance_of_another_circuit_is_refused_and_holds_nothing() {
    let context = context();
    let folder = tempfile::tempdir().unwrap();
    let right = RandomCircuit::new(5, 50, 30);
    let circuit = compile(right.blank(), "random", &folder.path().join("c"), &context).unwrap();
    for wrong in [
        RandomCircuit { extra: true, ..right.clone() },
        RandomCircuit { rows: 49, ..right.clone() },
        RandomCircuit { rows: 60, ..right.clone() },
    ] {
        let error = synthesize_witness(wrong.clone(), &circuit, &context).unwrap_err();
        assert!(matches!(error, SynthError::Count { .. }), "{error}");
        assert!(check(|| Ok::<_, SynthError>(wrong.clone()), &circuit, &context).is_err());
    }
    let error = synthesize_witness(right.blank(), &circuit, &context).unwrap_err();
    assert!(matches!(error, SynthError::Synthesis { .. }), "{error}");
    assert_eq!(context.ledger().snapshot().in_use(Space::Host), 0);

    let cancelled = Cancel::new();
    cancelled.cancel();
    let stopped = StageContext::new(context.ledger().clone(), StageName::Synth, cancelled);
    assert!(matches!(synthesize_witness(right.clone(), &circuit, &stopped), Err(SynthError::Memory(_) | SynthError::Cancelled)));
    let mut out = vec![Scalar::ZERO; 8];
    let witness = synthesize_witness(right, &circuit, &context).unwrap();
    let error = evaluate(&circuit, Matrix::A, witness.view().unwrap(), &mut out, RowOrder::Natural, &context).unwrap_err();
    assert!(matches!(error, SynthError::Length { .. }), "{error}");
}

#[test]
fn a_witness_owns_what_its_lease_says_and_a_tight_budget_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let instance = RandomCircuit::new(9, 30_000, 255);
    let circuit = compile(instance.blank(), "random", &folder.path().join("c"), &context()).unwrap();
    let ledger = |bytes| Ledger::new(&[(Space::Host, bytes)]);
    let roomy = ledger(1 << 30);
    let context = StageContext::new(roomy.clone(), StageName::Synth, Cancel::never());
    let witness = synthesize_witness(instance.clone(), &circuit, &context).unwrap();
    let exact = (witness.full_values() * 32 + circuit.variables() / 4) as u64;
    assert!(witness.full_values() > 32768, "more than one chunk");
    assert!(witness.bytes() >= exact && witness.bytes() < exact + exact / 20, "{} for {exact}", witness.bytes());
    assert_eq!(roomy.snapshot().in_use(Space::Host), witness.bytes());
    // Growing took at most one step more than the result.
    assert!(roomy.snapshot().peak(Space::Host) <= witness.bytes() + (128 << 10) + (1 << 12));
    assert!(roomy.snapshot().peak(Space::Host) <= witness_bytes_max(circuit.variables()));
    assert_eq!(roomy.snapshot().bytes(Space::Host, Class::Witness, StageName::Synth), witness.bytes());

    let tight = ledger(1000);
    let context = StageContext::new(tight.clone(), StageName::Synth, Cancel::never());
    assert!(matches!(synthesize_witness(instance, &circuit, &context), Err(SynthError::Memory(_))));
    assert_eq!(tight.snapshot().in_use(Space::Host), 0);
}
