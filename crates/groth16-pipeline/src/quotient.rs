//! The quotient polynomial h = (a·b − c) / (x^N − 1) from the compact witness, in two buffers and six transforms.

use blstrs::Scalar;
use circuit_synth::{CompiledCircuit, RowOrder, evaluate};
use ff::Field;
use pipeline_stage::{Class, StageContext};
use prover_backend::{ConstraintMatrices, Coset, Domain, Matrix, Ntt, WitnessView};
use rayon::prelude::*;

use crate::error::QuotientError;
use crate::transform_buffers::{ScalarBuffer, TransformBuffers};

/// Scalars a task of the pointwise steps works on.
const POINTWISE_CHUNK: usize = 1 << 12;

/// Bytes of one buffer of domain size.
#[must_use]
pub(crate) fn buffer_bytes(domain: Domain) -> u64 {
    (domain.size() * size_of::<Scalar>()) as u64
}

/// The coefficients of h, natural order, Montgomery form, N of them; the last one is zero.
///
/// With a·b = lo + hi·x^N: on the domain, where x^N = 1, c interpolates lo + hi. On the coset g·ω^i with g^N = −1, a·b takes the values of
/// d = lo − hi. So h = hi = (c − d)/2, and neither does c go to the coset nor is anything divided by the vanishing polynomial: three
/// inverse transforms on the domain, two forward and one inverse on the coset, where the textbook way takes seven. A is transformed in
/// one buffer and B in the other; the product stays in the first, and the second is free for C.
///
/// Rows are written in bit-reversed order, so no transform reorders anything.
///
/// # Errors
/// [`QuotientError::Unsatisfied`] when the witness does not satisfy the circuit: then the last coefficient is not zero (for one broken
/// row always: its Lagrange polynomial has degree N − 1). Memory, cancellation, an unreadable circuit.
pub fn quotient(
    circuit: &CompiledCircuit,
    witness: WitnessView<'_>,
    ntt: &dyn Ntt,
    buffers: &TransformBuffers,
    context: &StageContext,
) -> Result<ScalarBuffer, QuotientError> {
    let domain = Domain::for_rows(circuit.rows())?;
    let [mut x, mut y] = buffers.take_two(buffer_bytes(domain), context)?;
    let odd = Coset::Shifted(domain.odd_shift());

    evaluate(circuit, Matrix::A, witness, &mut x, RowOrder::BitReversed, context)?;
    evaluate(circuit, Matrix::B, witness, &mut y, RowOrder::BitReversed, context)?;
    for buffer in [&mut x, &mut y] {
        ntt.inverse(buffer, Coset::Subgroup, context)?;
        ntt.forward(buffer, odd, context)?;
    }
    pointwise(&mut x, &y, |a, b| *a *= b);
    ntt.inverse(&mut x, odd, context)?;

    evaluate(circuit, Matrix::C, witness, &mut y, RowOrder::BitReversed, context)?;
    ntt.inverse(&mut y, Coset::Subgroup, context)?;
    let half = Scalar::from(2).invert().unwrap_or(Scalar::ZERO);
    pointwise(&mut x, &y, |d, c| *d = (*c - *d) * half);
    drop(y);

    if x.last().is_some_and(|top| !bool::from(top.is_zero())) {
        return Err(QuotientError::Unsatisfied);
    }
    x.reclassify(Class::HPoly);
    Ok(x)
}

fn pointwise(left: &mut [Scalar], right: &[Scalar], op: impl Fn(&mut Scalar, &Scalar) + Sync) {
    left.par_chunks_mut(POINTWISE_CHUNK).zip(right.par_chunks(POINTWISE_CHUNK)).for_each(|(left, right)| {
        for (l, r) in left.iter_mut().zip(right) {
            op(l, r);
        }
    });
}
