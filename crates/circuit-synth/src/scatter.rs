//! Writing rows to bit-reversed places from many threads.
//!
//! With n = log2 N and t = log2 of the number of parts of the output, row `high·2^t + low` goes to `rev(low)·2^(n-t) + rev(high)`: the rows with
//! the same low bits make up one contiguous part of the output. So a batch of evaluated rows is handed to all parts at once, and each part
//! picks its own rows; no two threads write to the same part.

use blstrs::Scalar;
use prover_backend::Domain;
use rayon::prelude::*;

/// log2 of the number of parts.
const LOG2_PARTS: u32 = 6;

fn reverse(value: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { value.reverse_bits() >> (usize::BITS - bits) }
}

/// Writes `rows`, which are rows `first..` of the matrix, to their bit-reversed places. `first` is a multiple of 64.
pub(crate) fn scatter(rows: &[Scalar], first: usize, domain: Domain, out: &mut [Scalar]) {
    let log2_parts = LOG2_PARTS.min(domain.log2_size());
    let parts = 1usize << log2_parts;
    let high_bits = domain.log2_size() - log2_parts;
    let high_first = first >> log2_parts;
    out.par_chunks_mut(1 << high_bits).enumerate().for_each(|(part, out)| {
        let low = reverse(part, log2_parts);
        for (k, value) in rows.iter().skip(low).step_by(parts).enumerate() {
            out[reverse(high_first + k, high_bits)] = *value;
        }
    });
}

#[cfg(test)]
mod tests {
    use ff::Field;

    use super::*;

    #[test]
    fn every_row_goes_to_its_reversed_place() {
        for log2 in 0..=13 {
            let domain = Domain::new(log2).unwrap();
            let rows: Vec<Scalar> = (0..domain.size() as u64).map(Scalar::from).collect();
            let mut out = vec![Scalar::ZERO; domain.size()];
            for first in (0..rows.len()).step_by(1 << 7) {
                let end = rows.len().min(first + (1 << 7));
                scatter(&rows[first..end], first, domain, &mut out);
            }
            for (i, row) in rows.iter().enumerate() {
                assert_eq!(out[domain.bit_reverse(i)], *row, "2^{log2}, row {i}");
            }
        }
    }
}
