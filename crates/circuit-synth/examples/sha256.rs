//! What compiling, witness generation, evaluation and checking cost on SHA-256 of as many blocks as the argument says (default 100, the size
//! of a 2 KiB PoRep).

#![allow(clippy::print_stdout, reason = "an example speaks to its terminal")]

use std::error::Error;
use std::time::Instant;

use bellpepper::gadgets::sha256::sha256;
use bellpepper_core::boolean::{AllocatedBit, Boolean};
use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use blstrs::Scalar;
use circuit_synth::{RowOrder, SynthError, check, compile, evaluate, synthesize_witness};
use ff::Field;
use pipeline_stage::{StageContext, StageName};
use prover_backend::{ConstraintMatrices, Domain, Matrix};

/// Hashes a message whose bits are the witness.
#[derive(Clone)]
struct Sha256 {
    blocks: usize,
    message: Option<u8>,
}

impl Circuit<Scalar> for Sha256 {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut bits = Vec::new();
        // The padding takes one more block.
        for i in 0..512 * (self.blocks - 1) {
            let value = self.message.map(|byte| byte >> (i % 8) & 1 == 1);
            bits.push(Boolean::from(AllocatedBit::alloc(cs.namespace(|| format!("bit {i}")), value)?));
        }
        for (i, bit) in sha256(cs.namespace(|| "hash"), &bits)?.iter().enumerate() {
            let mut cs = cs.namespace(|| format!("digest bit {i}"));
            let input = cs.alloc_input(
                || "input",
                || Ok(if bit.get_value().ok_or(SynthesisError::AssignmentMissing)? { Scalar::ONE } else { Scalar::ZERO }),
            )?;
            cs.enforce(|| "equal", |_| bit.lc(CS::one(), Scalar::ONE), |lc| lc + CS::one(), |lc| lc + input);
        }
        Ok(())
    }
}

/// User and system seconds of this process so far.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    [11, 12].iter().filter_map(|i| fields.get(*i)?.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let result = work();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or("?").trim();
    println!("{what:22} {:8.2} s wall {:8.2} s CPU, anonymous {anonymous}", wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    result
}

fn main() -> Result<(), Box<dyn Error>> {
    let blocks = std::env::args().nth(1).map_or(Ok(100), |n| n.parse::<usize>())?.max(1);
    let folder = tempfile::tempdir()?;
    let context = StageContext::unlimited(StageName::Synth);
    let blank = Sha256 { blocks, message: None };
    let instance = Sha256 { blocks, message: Some(0x6d) };

    let circuit = timed("compile", || compile(blank, "sha256", &folder.path().join("sha256"), &context))?;
    let shape = circuit.shape();
    let terms: u64 = shape.terms.iter().sum();
    println!(
        "{} constraints, {} terms, {} coefficients, {} bytes: {:.2} bytes a term",
        shape.constraints,
        terms,
        shape.coefficients,
        circuit.file_bytes(),
        circuit.file_bytes() as f64 / terms as f64
    );
    let witness = timed("witness", || synthesize_witness(instance.clone(), &circuit, &context))?;
    println!("{} variables, {} full-size, {} bytes", witness.variables(), witness.full_values(), witness.bytes());
    let domain = Domain::for_rows(circuit.rows())?;
    let mut out = vec![Scalar::ZERO; domain.size()];
    for order in [RowOrder::Natural, RowOrder::BitReversed] {
        for matrix in Matrix::ALL {
            timed(&format!("{matrix:?} {order:?}"), || evaluate(&circuit, matrix, witness.view()?, &mut out, order, &context))?;
        }
    }
    timed("check", || check(|| Ok::<_, SynthError>(instance.clone()), &circuit, &context))?;
    Ok(())
}
