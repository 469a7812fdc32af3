//! Production size on a small machine: a virtual 32 GiB sector, with the limits that must hold. By hand and scheduled; needs 6 GB of disk.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

#[path = "support/process.rs"]
mod process;
mod support;

use std::fs::File;
use std::path::Path;

use c1_parse::{C1, Expected, Limits, parse_reader};
use circuit_synth::CompiledCircuit;
use filecoin_circuits::{Checked, Statement, check, compile, open, public_inputs, synthesize, vanilla_check};
use process::{measured, mib, status_bytes};
use serde_json::{Value, json};
use support::context;
use virtual_sector::{SectorSize, Spec, fabricate};

const TEST: &str = "production_size_keeps_its_limits";
const GIB: f64 = (1u64 << 30) as f64;

fn load(name: &str) -> C1 {
    parse_reader(File::open(name).unwrap(), &Limits::default(), &Expected::default(), &context()).unwrap()
}

fn compiled(c1: &C1) -> CompiledCircuit {
    open(c1.seal_proof, Path::new("."), &context()).unwrap()
}

#[test]
#[ignore = "minutes: compiles and checks 32 GiB"]
fn production_size_keeps_its_limits() {
    match process::step().as_deref() {
        None => {
            let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let made = fabricate(&Spec::new(SectorSize::GiB32)).unwrap();
            made.file.write_wrapped(File::create(folder.path().join("c1.json")).unwrap()).unwrap();
            let mut value: Value = serde_json::from_slice(&made.file.raw).unwrap();
            let pointer = "/vanilla_proofs/StackedDrg32GiBV1/3/7/comm_d_proofs/data/Single/path/path/11/hashes/0/5";
            let byte = value.pointer_mut(pointer).unwrap();
            *byte = json!(byte.as_u64().unwrap() ^ 1);
            std::fs::write(folder.path().join("tampered.json"), serde_json::to_vec(&value).unwrap()).unwrap();
            for step in ["parse", "vanilla", "compile", "witness", "check", "tampered"] {
                process::run_alone(TEST, step, folder.path(), &[]);
            }
        }
        Some("parse") => {
            let (c1, used) = measured("parse", || load("c1.json"));
            let peak = status_bytes("VmHWM:");
            println!("parse: peak RSS {:.1} MiB", mib(peak));
            assert_eq!(c1.partitions.len(), 10);
            assert!(used.wall_s < 0.5 && peak < 120 << 20);
        }
        Some("vanilla") => {
            let c1 = load("c1.json");
            let statement = Statement::from(&c1);
            let verify = || c1.partitions.iter().try_for_each(|partition| vanilla_check(&statement, partition, &context()));
            let (verified, used) = measured("vanilla verification of ten partitions", verify);
            verified.unwrap();
            assert!(used.cpu_s < 20.0);
        }
        Some("compile") => {
            let c1 = load("c1.json");
            let (circuit, used) = measured("compile", || compile(c1.seal_proof, Path::new("."), &context()).unwrap());
            println!("compile: {} bytes", circuit.file_bytes());
            let shape = circuit.shape();
            let recorded: Value = serde_json::from_slice(&support::kept("shapes/porep-34359738368.json")).unwrap();
            assert_eq!(shape.constraints, recorded["constraints_circuit"]);
            assert_eq!(shape.auxiliary, recorded["aux"]);
            assert_eq!(shape.inputs, recorded["inputs_incl_one"]);
            assert_eq!(shape.a_auxiliary, recorded["a_aux_density"]);
            assert_eq!(shape.b_auxiliary, recorded["b_aux_density"]);
            // The recorded number for A counts the rows of the inputs, one term each.
            let [a, b, c] = shape.terms;
            assert_eq!(json!([a + shape.inputs, b, c]), recorded["nnz_abc"]);
            assert!(used.cpu_s < 150.0 && used.anonymous_peak < 1 << 30 && circuit.file_bytes() < 5_500_000_000);
        }
        Some("witness") => {
            let c1 = load("c1.json");
            let circuit = compiled(&c1);
            let statement = Statement::from(&c1);
            let (made, used) = measured("witness", || synthesize(&statement, &c1.partitions[9], &circuit, &context()).unwrap());
            println!("witness: {} bytes, {:.4} GiB", made.witness.bytes(), made.witness.bytes() as f64 / GIB);
            assert_eq!(made.public_inputs, public_inputs(&statement, 9).unwrap());
            assert_eq!(made.witness.full_values(), 1_699_102 + made.public_inputs.len());
            assert!(made.witness.bytes() as f64 <= 0.09 * GIB && used.anonymous_growth as f64 <= 0.09 * GIB);
        }
        Some("check") => {
            let c1 = load("c1.json");
            let circuit = compiled(&c1);
            let (checked, used) = measured("check", || check(&Statement::from(&c1), &c1.partitions[0], &circuit, &context()).unwrap());
            assert_eq!(checked, Checked::Satisfied { constraints: 130_278_541 });
            assert!(used.anonymous_peak < 3 << 29);
        }
        Some("tampered") => {
            let c1 = load("tampered.json");
            let circuit = compiled(&c1);
            let statement = Statement::from(&c1);
            assert!(vanilla_check(&statement, &c1.partitions[3], &context()).is_err());
            let (checked, used) = measured("check, tampered", || check(&statement, &c1.partitions[3], &circuit, &context()).unwrap());
            match checked {
                Checked::Broken(broken) => assert!(broken.path.starts_with("challenge_7/comm_d_inclusion"), "{broken}"),
                found => panic!("{found:?}"),
            }
            assert!(used.anonymous_peak < 3 << 29);
        }
        Some(step) => panic!("unknown step {step}"),
    }
}
