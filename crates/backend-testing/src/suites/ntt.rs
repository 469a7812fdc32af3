//! What a transform must do.

use blstrs::Scalar;
use ff::Field;
use pipeline_stage::StageContext;
use prover_backend::{BackendError, Coset, Domain, Ntt};

use crate::books::{Books, balanced};
use crate::scalar_samples;

/// Sizes 2^0 to 2^`log2_naive_max` against Horner's rule at every point (N² multiplications); round trips, single points, linearity
/// and a product by convolution up to 2^`log2_max`; lengths that are no power of two, a ledger in balance, cancellation.
pub fn ntt(backend: &dyn Ntt, log2_naive_max: u32, log2_max: u32) {
    for log2_size in 0..=log2_naive_max {
        against_the_definition(backend, log2_size);
    }
    for log2_size in log2_naive_max..=log2_max {
        samples_of_values(backend, log2_size);
    }
    for log2_size in 0..=log2_max {
        round_trips(backend, log2_size);
    }
    edge_values(backend, log2_naive_max.min(8));
    linear(backend, log2_max.min(10));
    product(backend, log2_max.min(10));
    wrong_lengths(backend);
    cancelled(backend, log2_max);
}

fn cosets(seed: u64, log2_size: u32) -> Vec<Coset> {
    let domain = Domain::new(log2_size).unwrap();
    let mut cosets = vec![Coset::Subgroup, Coset::Shifted(domain.odd_shift()), Coset::Shifted(domain.generator())];
    cosets.extend([Scalar::ONE, -Scalar::ONE, Scalar::from(7), scalar_samples(seed, 1)[0]].map(Coset::Shifted));
    cosets
}

fn shift(coset: Coset) -> Scalar {
    match coset {
        Coset::Subgroup => Scalar::ONE,
        Coset::Shifted(shift) => shift,
    }
}

fn at(coefficients: &[Scalar], x: Scalar) -> Scalar {
    coefficients.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c)
}

fn forward(backend: &dyn Ntt, values: &mut [Scalar], coset: Coset) {
    let bytes = backend.ntt_scratch_bytes(values.len().trailing_zeros());
    balanced(bytes, |context| backend.forward(values, coset, context)).unwrap();
}

fn inverse(backend: &dyn Ntt, values: &mut [Scalar], coset: Coset) {
    let bytes = backend.ntt_scratch_bytes(values.len().trailing_zeros());
    balanced(bytes, |context| backend.inverse(values, coset, context)).unwrap();
}

fn compare_all(backend: &dyn Ntt, coefficients: &[Scalar], coset: Coset) {
    let domain = Domain::for_rows(coefficients.len()).unwrap();
    let mut values = coefficients.to_vec();
    forward(backend, &mut values, coset);
    let mut x = shift(coset);
    for i in 0..domain.size() {
        assert_eq!(values[domain.bit_reverse(i)], at(coefficients, x), "value {i} of 2^{} on {coset:?}", domain.log2_size());
        x *= domain.generator();
    }
}

fn against_the_definition(backend: &dyn Ntt, log2_size: u32) {
    let coefficients = scalar_samples(u64::from(log2_size), 1 << log2_size);
    // All cosets while it is cheap.
    let count = if log2_size <= 8 { usize::MAX } else { 2 };
    for coset in cosets(1, log2_size).into_iter().take(count) {
        compare_all(backend, &coefficients, coset);
    }
}

/// Larger sizes: a few values on each coset, and all of them by the round trip.
fn samples_of_values(backend: &dyn Ntt, log2_size: u32) {
    let domain = Domain::new(log2_size).unwrap();
    let coefficients = scalar_samples(9, domain.size());
    for coset in [Coset::Subgroup, Coset::Shifted(Scalar::from(7))] {
        let mut values = coefficients.clone();
        forward(backend, &mut values, coset);
        for i in [0, 1, domain.size() / 3, domain.size() - 1] {
            let x = shift(coset) * domain.generator().pow_vartime([i as u64]);
            assert_eq!(values[domain.bit_reverse(i)], at(&coefficients, x), "value {i} of 2^{log2_size} on {coset:?}");
        }
        inverse(backend, &mut values, coset);
        assert!(values == coefficients, "the way back on {coset:?} at 2^{log2_size}");
    }
}

fn round_trips(backend: &dyn Ntt, log2_size: u32) {
    let original = scalar_samples(2, 1 << log2_size);
    let count = if log2_size <= 12 { usize::MAX } else { 2 };
    for coset in cosets(3, log2_size).into_iter().take(count) {
        let mut values = original.clone();
        forward(backend, &mut values, coset);
        inverse(backend, &mut values, coset);
        assert!(values == original, "there and back on {coset:?} at 2^{log2_size}");
        inverse(backend, &mut values, coset);
        forward(backend, &mut values, coset);
        assert!(values == original, "back and there on {coset:?} at 2^{log2_size}");
    }
}

/// Values at both ends of the field, everywhere and one at a time.
fn edge_values(backend: &dyn Ntt, log2_size: u32) {
    let size = 1usize << log2_size;
    for value in [Scalar::ZERO, Scalar::ONE, -Scalar::ONE, Scalar::from(u64::MAX)] {
        compare_all(backend, &vec![value; size], Coset::Subgroup);
        for position in [0, size / 2, size - 1] {
            let mut single = vec![Scalar::ZERO; size];
            single[position] = value;
            compare_all(backend, &single, Coset::Shifted(Scalar::from(5)));
        }
    }
}

fn linear(backend: &dyn Ntt, log2_size: u32) {
    let size = 1usize << log2_size;
    let (a, b, k) = (scalar_samples(4, size), scalar_samples(5, size), Scalar::from(11));
    let mut combined: Vec<Scalar> = a.iter().zip(&b).map(|(a, b)| *a + k * b).collect();
    let (mut ta, mut tb) = (a, b);
    for values in [&mut ta, &mut tb, &mut combined] {
        forward(backend, values, Coset::Shifted(k));
    }
    assert!(combined.iter().zip(ta.iter().zip(&tb)).all(|(c, (a, b))| *c == *a + k * b));
}

/// The product of two polynomials by values equals the schoolbook one.
fn product(backend: &dyn Ntt, log2_size: u32) {
    let size = 1usize << log2_size;
    let half = size.div_ceil(2);
    let (a, b) = (scalar_samples(6, half), scalar_samples(7, half));
    let mut expected = vec![Scalar::ZERO; size];
    for (i, a) in a.iter().enumerate() {
        for (j, b) in b.iter().enumerate() {
            expected[(i + j) % size] += *a * b;
        }
    }
    let extended = |p: &[Scalar]| p.iter().copied().chain(std::iter::repeat(Scalar::ZERO)).take(size).collect::<Vec<_>>();
    let (mut fa, mut fb) = (extended(&a), extended(&b));
    forward(backend, &mut fa, Coset::Subgroup);
    forward(backend, &mut fb, Coset::Subgroup);
    let mut values: Vec<Scalar> = fa.iter().zip(&fb).map(|(a, b)| *a * b).collect();
    inverse(backend, &mut values, Coset::Subgroup);
    assert!(values == expected);
}

fn wrong_lengths(backend: &dyn Ntt) {
    for len in [0, 3, 5, 6, 7, 100, 1023] {
        let books = Books::with_budget(1 << 30);
        let mut values = vec![Scalar::ONE; len];
        for result in
            [backend.forward(&mut values, Coset::Subgroup, books.context()), backend.inverse(&mut values, Coset::Subgroup, books.context())]
        {
            assert!(matches!(result, Err(BackendError::Length { found, .. }) if found == len), "{len} values: {result:?}");
        }
        assert_eq!(books.in_use(), 0);
    }
}

fn cancelled(backend: &dyn Ntt, log2_size: u32) {
    let books = Books::with_budget(backend.ntt_scratch_bytes(log2_size));
    books.cancel().cancel();
    let mut values = vec![Scalar::ONE; 1 << log2_size];
    let context: &StageContext = books.context();
    assert!(matches!(backend.forward(&mut values, Coset::Subgroup, context), Err(BackendError::Cancelled)));
    assert!(matches!(backend.inverse(&mut values, Coset::Subgroup, context), Err(BackendError::Cancelled)));
    assert_eq!(books.in_use(), 0);
}
