//! Twiddle factors.

use blstrs::Scalar;
use ff::Field;
use prover_backend::{BackendError, Domain, MAX_LOG2_SIZE};

/// The roots that the levels of a transform multiply with, in bit-reversed order: entry i is the product of the primitive
/// 2^(j+2)-th roots of unity over the set bits j of i. The first 2^l entries serve level l of any transform.
pub(crate) fn bit_reversed_roots(log2_len: u32, inverse: bool) -> Vec<Scalar> {
    let mut roots = Vec::with_capacity(1 << log2_len);
    roots.push(Scalar::ONE);
    for j in 0..log2_len {
        let root = primitive_root(j + 2, inverse);
        for i in 0..1 << j {
            roots.push(roots[i] * root);
        }
    }
    roots
}

/// A primitive 2^k-th root of unity, k at most one above [`MAX_LOG2_SIZE`]; or its inverse.
pub(crate) fn primitive_root(log2_order: u32, inverse: bool) -> Scalar {
    // Domain refuses only what `log2_size` has already refused.
    let root = Domain::new(log2_order.min(MAX_LOG2_SIZE)).map_or(Scalar::ONE, Domain::generator);
    if inverse { root.pow_vartime([(1u64 << log2_order) - 1]) } else { root }
}

/// log2 of the number of values, if a transform of them exists.
pub(crate) fn log2_size(values: usize) -> Result<u32, BackendError> {
    if !values.is_power_of_two() {
        return Err(BackendError::Length {
            what: "values of a transform (a power of two)",
            expected: values.checked_next_power_of_two().unwrap_or(usize::MAX),
            found: values,
        });
    }
    Ok(Domain::new(values.trailing_zeros())?.log2_size())
}

/// The twiddles of `levels` levels over `size` coefficients with this shift, level after level: entry 2^l - 1 + i belongs to node i of
/// level l. `table` has 2^levels - 1 entries.
pub(crate) fn fill_twiddles(table: &mut [Scalar], roots: &[Scalar], log2_size: u32, levels: u32, shift: &Scalar) {
    // Level l multiplies with shift^(size / 2^(l+1)): squares, so from the last level to the first.
    let mut scale = *shift;
    for _ in levels..log2_size {
        scale = scale.square();
    }
    for level in (0..levels).rev() {
        let first = (1usize << level) - 1;
        let entries = &mut table[first..=2 * first];
        if scale == Scalar::ONE {
            entries.copy_from_slice(&roots[..=first]);
        } else {
            entries[0] = scale;
            for (entry, root) in entries.iter_mut().zip(roots).skip(1) {
                *entry = scale * root;
            }
        }
        scale = scale.square();
    }
}
