//! Compiled circuits, witnesses and evaluations against the recorded ones of bellperson.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

mod support;

use std::path::Path;
use std::sync::OnceLock;

use blstrs::Scalar;
use c1_parse::{Partition, SealProof};
use circuit_synth::{CompiledCircuit, Opened, RowOrder, SynthError, evaluate};
use ff::{Field, PrimeField};
use filecoin_circuits::{
    Checked, CircuitError, Statement, check, compile, identity, open, open_or_compile, public_inputs, synthesize, vanilla_check,
};
use pipeline_stage::{Cancel, Class, Classified, ErrorClass, Ledger, Space, StageContext, StageName};
use prover_backend::{ConstraintMatrices, Domain, Matrix};
use serde_json::Value;
use sha2::{Digest, Sha256};
use support::{challenge, context, kept, parsed, tampered};
use tempfile::TempDir;
use virtual_sector::{SectorSize, Spec, fabricate};

fn seal_proof(name: &str) -> SealProof {
    SealProof::from_name(name).unwrap()
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&kept(name)).unwrap()
}

/// The compiled circuit of 2 KiB sectors, made once for all tests here.
fn circuit_2_kib() -> &'static CompiledCircuit {
    static MADE: OnceLock<(TempDir, CompiledCircuit)> = OnceLock::new();
    let (_, circuit) = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let circuit = compile(seal_proof("StackedDrg2KiBV1_1"), folder.path(), &context()).unwrap();
        (folder, circuit)
    });
    circuit
}

fn digest(values: impl IntoIterator<Item = Scalar>) -> String {
    let mut hash = Sha256::new();
    for value in values {
        hash.update(value.to_repr());
    }
    hex::encode(hash.finalize())
}

/// Counts and densities against a recorded shape.
fn same_shape(circuit: &CompiledCircuit, recorded: &Value) {
    let shape = circuit.shape();
    assert_eq!(shape.constraints, recorded["constraints_circuit"]);
    assert_eq!(shape.auxiliary, recorded["aux"]);
    assert_eq!(shape.inputs, recorded["inputs_incl_one"]);
    assert_eq!(shape.rows(), recorded["constraints_total_incl_input_rows"].as_u64().unwrap());
    assert_eq!(u64::from(shape.domain().unwrap().log2_size()), recorded["fft_domain_log2"]);
    assert_eq!(shape.a_auxiliary, recorded["a_aux_density"]);
    assert_eq!(shape.b_inputs, recorded["b_input_density"]);
    assert_eq!(shape.b_auxiliary, recorded["b_aux_density"]);
    let set = |matrix| circuit.density(matrix).iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    assert_eq!(set(Matrix::A), recorded["len_a"]);
    assert_eq!(set(Matrix::B), recorded["len_b"]);
    // The recorded numbers of terms count the rows of the inputs, one term of A each.
    let input_terms = [shape.inputs, 0, 0];
    for (k, terms) in shape.terms.into_iter().enumerate() {
        assert_eq!(terms + input_terms[k], recorded["nnz_abc"][k].as_u64().unwrap());
        assert_eq!(shape.terms_max[k], recorded["max_row_len_abc"][k]);
    }
}

/// Every value of the witness and every evaluation against recorded digests.
fn same_values(statement: &Statement, partition: &Partition, circuit: &CompiledCircuit, recorded: &Value) {
    let context = context();
    let made = synthesize(statement, partition, circuit, &context).unwrap();
    assert_eq!(made.partition, partition.index);
    assert_eq!(made.public_inputs, public_inputs(statement, partition.index).unwrap());
    let view = made.witness.view().unwrap();
    let inputs = circuit.inputs();
    assert_eq!(digest((0..inputs).map(|i| view.value(i))), recorded["sha256_inputs_le32"]);
    assert_eq!(digest(std::iter::once(Scalar::ONE).chain(made.public_inputs.iter().copied())), recorded["sha256_inputs_le32"]);
    assert_eq!(digest((inputs..circuit.variables()).map(|i| view.value(i))), recorded["sha256_aux_le32"]);
    let domain = Domain::for_rows(circuit.rows()).unwrap();
    let mut out = vec![Scalar::ZERO; domain.size()];
    for (matrix, name) in [(Matrix::A, "sha256_a_le32"), (Matrix::B, "sha256_b_le32"), (Matrix::C, "sha256_c_le32")] {
        evaluate(circuit, matrix, view, &mut out, RowOrder::Natural, &context).unwrap();
        assert_eq!(digest(out[..circuit.rows()].iter().copied()), recorded[name], "{name}");
        assert!(out[circuit.rows()..].iter().all(|value| value.is_zero_vartime()));
    }
    let checked = check(statement, partition, circuit, &context).unwrap();
    assert_eq!(checked, Checked::Satisfied { constraints: circuit.shape().constraints });
}

#[test]
fn porep_2_kib_equals_the_reference() {
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    same_shape(circuit_2_kib(), &json("shapes/porep-2048.json"));
    same_values(&Statement::from(&c1), &c1.partitions[0], circuit_2_kib(), &json("porep-2kib/reference.json"));
}

#[test]
fn porep_8_mib_equals_the_reference() {
    let c1 = parsed(&kept("porep-8mib/c1.json"));
    let folder = tempfile::tempdir().unwrap();
    let circuit = compile(c1.seal_proof, folder.path(), &context()).unwrap();
    same_shape(&circuit, &json("shapes/porep-8388608.json"));
    same_values(&Statement::from(&c1), &c1.partitions[0], &circuit, &json("porep-8mib/reference.json")[0]);
}

#[test]
fn the_witness_is_small_in_the_ledger() {
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    let context = context();
    let before = context.ledger().snapshot().in_use(Space::Host);
    let made = synthesize(&Statement::from(&c1), &c1.partitions[0], circuit_2_kib(), &context).unwrap();
    let books = context.ledger().snapshot();
    books.check().unwrap();
    let witness = books.bytes(Space::Host, Class::Witness, StageName::Synth);
    assert_eq!(witness, made.witness.bytes());
    assert!(witness < 5 << 19, "{witness} bytes");
    assert_eq!(books.in_use(Space::Host), before + witness);
    drop(made);
    assert_eq!(context.ledger().snapshot().in_use(Space::Host), before);
}

#[test]
fn a_synthetic_proof_is_of_the_same_circuit() {
    let c1 = parsed(&kept("porep-2kib/c1-synthetic.json"));
    let statement = Statement::from(&c1);
    let checked = check(&statement, &c1.partitions[0], circuit_2_kib(), &context()).unwrap();
    assert_eq!(checked, Checked::Satisfied { constraints: 2_687_921 });
    let made = synthesize(&statement, &c1.partitions[0], circuit_2_kib(), &context()).unwrap();
    assert_eq!(made.public_inputs, public_inputs(&statement, 0).unwrap());
}

/// The circuit reads some parts of a proof, the vanilla verification others; what one lets pass the other names.
#[test]
fn broken_constraints_are_named() {
    let bare = kept("porep-2kib/c1.raw.json");
    let cases = [
        ("comm_d_proofs/data/Single/path/path/2/hashes/0/3", Some("comm_d_inclusion")),
        ("comm_r_last_proof/data/Single/path/path/1/hashes/6/3", Some("comm_r_last_data_inclusion")),
        ("replica_column_proofs/drg_parents/2/column/rows/1/3", Some("drg_parent_2_inclusion")),
        ("replica_column_proofs/exp_parents/5/inclusion_proof/data/Single/path/path/0/hashes/0/3", Some("exp_parent_5_inclusion")),
        ("replica_column_proofs/c_x/inclusion_proof/data/Single/path/path/0/hashes/0/3", Some("c_x_inclusion")),
        // Not read by the circuit.
        ("labeling_proofs/1/parents/3/3", None),
        ("encoding_proof/parents/36/3", None),
        ("replica_column_proofs/c_x/column/rows/0/3", None),
    ];
    for (part, expected) in cases {
        let c1 = parsed(&tampered(&bare, &challenge(1, part)));
        let (statement, partition) = (Statement::from(&c1), &c1.partitions[0]);
        assert!(matches!(vanilla_check(&statement, partition, &context()), Err(CircuitError::Refused { challenge: 1, .. })), "{part}");
        match (check(&statement, partition, circuit_2_kib(), &context()).unwrap(), expected) {
            (Checked::Satisfied { .. }, None) => {}
            (Checked::Broken(broken), Some(name)) => {
                assert!(broken.path.contains("challenge_1/") && broken.path.contains(name), "{part}: {broken}");
                assert!(broken.number > 2_687_921 / 2 && broken.number < 2_687_921, "{part}: {broken}");
            }
            (found, _) => panic!("{part}: {found:?}"),
        }
    }
    let c1 = parsed(&tampered(&bare, "/comm_r/3"));
    match check(&Statement::from(&c1), &c1.partitions[0], circuit_2_kib(), &context()).unwrap() {
        Checked::Broken(broken) => assert!(broken.path.contains("comm_r = H(comm_c || comm_r_last)"), "{broken}"),
        found => panic!("{found:?}"),
    }
}

#[test]
fn inputs_of_other_challenges_are_refused() {
    // Another seed draws other challenges: the circuit is satisfied, and no verifier would accept its inputs.
    let c1 = parsed(&tampered(&kept("porep-2kib/c1.raw.json"), "/seed/3"));
    for error in [
        synthesize(&Statement::from(&c1), &c1.partitions[0], circuit_2_kib(), &context()).unwrap_err(),
        check(&Statement::from(&c1), &c1.partitions[0], circuit_2_kib(), &context()).unwrap_err(),
    ] {
        assert!(matches!(error, CircuitError::Inputs { partition: 0, .. }), "{error}");
    }
}

#[test]
fn every_partition_of_a_virtual_sector_is_satisfied() {
    let made = fabricate(&Spec::new(SectorSize::KiB2)).unwrap();
    let c1 = parsed(&made.file.raw);
    let checked = check(&Statement::from(&c1), &c1.partitions[0], circuit_2_kib(), &context()).unwrap();
    assert_eq!(checked, Checked::Satisfied { constraints: 2_687_921 });
}

#[test]
fn files_are_kept_named_and_rebuilt() {
    let seal_proof = seal_proof("StackedDrg2KiBV1");
    let name = identity(seal_proof).unwrap().compiled_name;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(&name);
    assert!(matches!(open(seal_proof, folder.path(), &context()), Err(CircuitError::Synthesis(SynthError::Io { .. }))));
    // The blank circuit is the same for all seal proofs of a size.
    std::fs::copy(circuit_2_kib().path(), &path).unwrap();
    let (circuit, opened) = open_or_compile(seal_proof, folder.path(), &context()).unwrap();
    assert!(matches!(opened, Opened::Found));
    assert_eq!(circuit.hash(), circuit_2_kib().hash());
    drop(circuit);
    std::fs::write(&path, "not a compiled circuit").unwrap();
    let (circuit, opened) = open_or_compile(seal_proof, folder.path(), &context()).unwrap();
    assert!(matches!(opened, Opened::Rebuilt(_)));
    assert_eq!(circuit.hash(), circuit_2_kib().hash());
    // The circuit of another size under this name, and of this size for another.
    let other = identity(self::seal_proof("StackedDrg8MiBV1_1")).unwrap().compiled_name;
    std::fs::copy(&path, folder.path().join(other)).unwrap();
    let error = open(self::seal_proof("StackedDrg8MiBV1_1"), folder.path(), &context()).unwrap_err();
    assert!(matches!(error, CircuitError::Synthesis(SynthError::OtherCircuit { .. })), "{error}");
    let c1 = parsed(&kept("porep-8mib/c1.json"));
    let error = synthesize(&Statement::from(&c1), &c1.partitions[0], &circuit, &context()).unwrap_err();
    assert!(matches!(error, CircuitError::WrongCircuit { expected: "porep-8mib", .. }), "{error}");
}

#[test]
fn budget_and_cancellation_reach_the_synthesis() {
    let c1 = parsed(&kept("porep-2kib/c1.json"));
    let statement = Statement::from(&c1);
    // Enough for the conversion, not for the words of the witness.
    let poor = StageContext::new(Ledger::new(&[(Space::Host, 1 << 19)]), StageName::Synth, Cancel::never());
    let error = synthesize(&statement, &c1.partitions[0], circuit_2_kib(), &poor).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Fatal, "{error}");
    assert_eq!(poor.ledger().snapshot().in_use(Space::Host), 0);
    let cancel = Cancel::new();
    cancel.cancel();
    let cancelled = StageContext::new(context().ledger().clone(), StageName::Synth, cancel);
    let error = synthesize(&statement, &c1.partitions[0], circuit_2_kib(), &cancelled).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled, "{error}");
    let error = compile(c1.seal_proof, tempfile::tempdir().unwrap().path(), &cancelled).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Cancelled, "{error}");
}

#[test]
fn folders_that_cannot_be_written_are_errors() {
    let error = compile(seal_proof("StackedDrg2KiBV1_1"), Path::new("/proc/no-such-folder"), &context()).unwrap_err();
    assert!(matches!(error, CircuitError::Synthesis(SynthError::Io { .. })), "{error}");
}

#[test]
#[ignore = "half a minute: compiles and checks 512 MiB"]
fn porep_512_mib_equals_the_recorded_shape() {
    let made = fabricate(&Spec::new(SectorSize::MiB512)).unwrap();
    let c1 = parsed(&made.file.raw);
    let folder = tempfile::tempdir().unwrap();
    let circuit = compile(c1.seal_proof, folder.path(), &context()).unwrap();
    same_shape(&circuit, &json("shapes/porep-536870912.json"));
    let checked = check(&Statement::from(&c1), &c1.partitions[0], &circuit, &context()).unwrap();
    assert_eq!(checked, Checked::Satisfied { constraints: 4_423_433 });
}
