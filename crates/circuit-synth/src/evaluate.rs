//! A·w, B·w and C·w.

use bls12_381_layout::zeroed_vec;
use blstrs::Scalar;
use ff::Field;
use pipeline_stage::{Class, Lease, StageContext};
use prover_backend::{ConstraintMatrices, Domain, Matrix, WitnessView};
use rayon::prelude::*;

use crate::block::BLOCK_ROWS;
use crate::compiled::CompiledCircuit;
use crate::error::SynthError;
use crate::row_value::RowEvaluator;
use crate::scatter::scatter;

/// Blocks that are evaluated before they are scattered: 4 MiB of rows, which stay in the last-level cache.
const BATCH_BLOCKS: usize = 32;
const BATCH_ROWS: usize = BATCH_BLOCKS * BLOCK_ROWS;

/// In which order the rows' values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Row i at place i.
    Natural,
    /// Row i at place `bit_reverse(i)`, the order that inverse transforms read.
    BitReversed,
}

/// Bytes that [`evaluate`] takes from the ledger at most, class `evaluations`.
#[must_use]
pub fn evaluate_scratch_bytes(domain: Domain) -> u64 {
    (BATCH_ROWS.min(domain.size()) * size_of::<Scalar>()) as u64
}

/// Writes the matrix times the witness into `out`, which has the size of the domain; places of no row become zero. Montgomery form.
///
/// Cost: one pass over the matrix's bytes, an integer addition for each term of a variable that is 1, a field multiplication for each term
/// of a full-size variable whose coefficient is not ±1.
///
/// # Errors
/// [`SynthError::Count`] when the witness is of another circuit, [`SynthError::Length`], [`SynthError::Damaged`], memory, cancellation.
pub fn evaluate(
    circuit: &CompiledCircuit,
    matrix: Matrix,
    witness: WitnessView<'_>,
    out: &mut [Scalar],
    order: RowOrder,
    context: &StageContext,
) -> Result<(), SynthError> {
    let domain = Domain::for_rows(circuit.rows())?;
    if out.len() != domain.size() {
        return Err(SynthError::Length { what: "places for evaluations", expected: domain.size() as u64, found: out.len() as u64 });
    }
    if witness.variables() != circuit.variables() {
        return Err(SynthError::Count {
            circuit: circuit.name().to_owned(),
            what: "variables",
            expected: circuit.variables() as u64,
            found: witness.variables() as u64,
        });
    }
    let evaluator = RowEvaluator::new(witness, circuit.coefficients());
    let task = Task { circuit, matrix, evaluator: &evaluator, context };
    match order {
        RowOrder::Natural => {
            let constraints = circuit.constraints();
            let (rows, rest) = out.split_at_mut(constraints);
            rows.par_chunks_mut(BLOCK_ROWS).enumerate().try_for_each(|(block, out)| task.block(block, out))?;
            rest.fill(Scalar::ZERO);
            if matrix == Matrix::A {
                for (input, out) in rest.iter_mut().take(circuit.inputs()).enumerate() {
                    *out = witness.value(input);
                }
            }
        }
        RowOrder::BitReversed => {
            let permit = context.acquire(Class::Evaluations, evaluate_scratch_bytes(domain))?;
            let mut batch = Lease::try_new(permit, || zeroed_vec::<Scalar>(BATCH_ROWS.min(domain.size())))?;
            out.par_chunks_mut(BLOCK_ROWS).for_each(|out| out.fill(Scalar::ZERO));
            for first in (0..circuit.constraints()).step_by(BATCH_ROWS) {
                let rows = (circuit.constraints() - first).min(BATCH_ROWS);
                let batch = &mut batch[..rows];
                let first_block = first / BLOCK_ROWS;
                batch.par_chunks_mut(BLOCK_ROWS).enumerate().try_for_each(|(k, out)| task.block(first_block + k, out))?;
                scatter(batch, first, domain, out);
            }
            if matrix == Matrix::A {
                for input in 0..circuit.inputs() {
                    out[domain.bit_reverse(circuit.constraints() + input)] = witness.value(input);
                }
            }
        }
    }
    Ok(())
}

struct Task<'a> {
    circuit: &'a CompiledCircuit,
    matrix: Matrix,
    evaluator: &'a RowEvaluator<'a>,
    context: &'a StageContext,
}

impl Task<'_> {
    fn block(&self, block: usize, out: &mut [Scalar]) -> Result<(), SynthError> {
        if self.context.cancel().is_cancelled() {
            return Err(SynthError::Cancelled);
        }
        let undecodable = || self.circuit.undecodable(self.matrix, block);
        let mut reader = self.circuit.rows_of_block(self.matrix, block)?;
        for value in out.iter_mut() {
            *value = self.evaluator.next_row(&mut reader).ok_or_else(undecodable)?;
        }
        if reader.is_at_end() { Ok(()) } else { Err(undecodable()) }
    }
}
