//! The five multi-scalar multiplications of a partition.

use blstrs::Scalar;
use groth16_assembly::Sums;
use groth16_srs::CircuitCounts;
use pipeline_stage::StageContext;
use prover_backend::{BackendError, ConstraintMatrices, Matrix, Msm, ProverBackend, Scalars, SelectedWitness, WitnessView};

use crate::keys::CircuitKeys;

/// h over the section h, the auxiliary variables over l, the dense variables over a, b_g1 and b_g2.
///
/// `h` are the N coefficients that [`quotient`](crate::quotient) returns; the last one, which is zero, has no point.
///
/// # Errors
/// [`BackendError`]: key and circuit that do not fit each other, unreadable sections, memory, cancellation.
pub fn sums(
    keys: &CircuitKeys,
    witness: WitnessView<'_>,
    h: &[Scalar],
    backend: &dyn ProverBackend,
    context: &StageContext,
) -> Result<Sums, BackendError> {
    let (circuit, key) = (keys.circuit(), keys.proving_key());
    let (inputs, variables) = (circuit.inputs(), circuit.variables());
    let coefficients = &h[..h.len().saturating_sub(1)];
    let auxiliary = SelectedWitness::range(witness, inputs..variables)?;
    let dense = |matrix| SelectedWitness::dense(witness, circuit.density(matrix), 0..variables).map(Scalars::Witness);
    Ok(Sums {
        h: backend.msm(&key.h(), Scalars::Dense(coefficients), context)?,
        l: backend.msm(&key.l(), Scalars::Witness(auxiliary), context)?,
        a: backend.msm(&key.a(), dense(Matrix::A)?, context)?,
        b_g1: backend.msm(&key.b_g1(), dense(Matrix::B)?, context)?,
        b_g2: backend.msm(&key.b_g2(), dense(Matrix::B)?, context)?,
    })
}

/// Name and bytes of scratch that each of the [`sums`] takes from the ledger at most; they run one after the other.
#[must_use]
pub(crate) fn sums_scratch_bytes(counts: &CircuitCounts, backend: &dyn ProverBackend) -> [(&'static str, u64); 5] {
    let g1 = |points: u64| Msm::<blstrs::G1Affine>::msm_scratch_bytes(backend, points as usize);
    let g2 = |points: u64| Msm::<blstrs::G2Affine>::msm_scratch_bytes(backend, points as usize);
    [
        ("h", g1(counts.h_query())),
        ("l", g1(counts.auxiliary())),
        ("a", g1(counts.a_query())),
        ("b_g1", g1(counts.b_query())),
        ("b_g2", g2(counts.b_query())),
    ]
}
