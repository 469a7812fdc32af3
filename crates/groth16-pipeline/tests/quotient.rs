//! The six-transform quotient against the textbook way with seven transforms and a division by the vanishing polynomial.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the tests of the engine")]
mod toy;

use blstrs::Scalar;
use buffer_accounting::PoolSource;
use circuit_synth::{CompiledCircuit, RowOrder, compile, evaluate, synthesize_witness};
use cpu_backend::CpuBackend;
use ff::Field;
use groth16_pipeline::{QuotientError, TransformBuffers, quotient};
use pipeline_stage::{Space, StageContext, StageName};
use proptest::prelude::*;
use prover_backend::{ConstraintMatrices, Coset, Domain, Matrix, Ntt, WitnessView};
use toy::Squarings;

/// (a·b − c)/(x^N − 1) on a coset with a shift that has nothing to do with the domain.
fn textbook(circuit: &CompiledCircuit, witness: WitnessView<'_>, backend: &CpuBackend, context: &StageContext) -> Vec<Scalar> {
    let domain = Domain::for_rows(circuit.rows()).unwrap();
    let shift = Coset::Shifted(Scalar::from(7));
    let [a, b, c] = Matrix::ALL.map(|matrix| {
        let mut values = vec![Scalar::ZERO; domain.size()];
        evaluate(circuit, matrix, witness, &mut values, RowOrder::Natural, context).unwrap();
        let mut reversed: Vec<Scalar> = (0..domain.size()).map(|i| values[domain.bit_reverse(i)]).collect();
        backend.inverse(&mut reversed, Coset::Subgroup, context).unwrap();
        backend.forward(&mut reversed, shift, context).unwrap();
        reversed
    });
    let vanishing = (Scalar::from(7).pow_vartime([domain.size() as u64]) - Scalar::ONE).invert().unwrap();
    let mut h: Vec<Scalar> = a.iter().zip(&b).zip(&c).map(|((a, b), c)| (*a * b - c) * vanishing).collect();
    backend.inverse(&mut h, shift, context).unwrap();
    h
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn six_transforms_equal_seven(rounds in 1usize..400, x in any::<u64>(), lie in any::<Option<prop::sample::Index>>()) {
        let folder = tempfile::tempdir().unwrap();
        let context = StageContext::unlimited(StageName::Ntt);
        let backend = CpuBackend::new();
        let circuit = compile(Squarings::blank(rounds), "squarings", &folder.path().join("c"), &context).unwrap();
        let statement = Squarings { rounds, x: Some(Scalar::from(x)), lie_at: lie.map(|i| i.index(rounds)) };
        let witness = synthesize_witness(statement, &circuit, &context).unwrap();
        let held = context.ledger().snapshot().in_use(Space::Host);
        let buffers = TransformBuffers::new(PoolSource::Ledger(context.ledger().clone()));
        let h = quotient(&circuit, witness.view().unwrap(), &backend, &buffers, &context);
        if lie.is_some() {
            prop_assert!(matches!(h, Err(QuotientError::Unsatisfied)));
        } else {
            let h = h.unwrap();
            prop_assert_eq!(&h[..], &textbook(&circuit, witness.view().unwrap(), &backend, &context)[..]);
        }
        // What the pool keeps is in the books as long as the pool is there.
        drop(buffers);
        prop_assert_eq!(context.ledger().snapshot().in_use(Space::Host), held);
    }
}
