//! What a table of multiples must do.

use bls12_381_layout::Affine;
use blstrs::Scalar;
use ff::{Field, PrimeField};
use group::Curve;
use prover_backend::{BackendError, FixedBase};

use crate::books::Books;
use crate::{point_samples, scalar_samples};

/// Edge and random scalars for tables sized for few and many multiplications, for a random point and for infinity; wrong lengths,
/// a ledger that holds the table and nothing else, cancellation.
pub fn fixed_base<A: Affine>(backend: &dyn FixedBase<A>) {
    let mut scalars = scalar_samples(1, 300);
    let two_64 = Scalar::from(u64::MAX) + Scalar::ONE;
    scalars.extend([Scalar::ZERO, Scalar::ONE, -Scalar::ONE, Scalar::from(2), -Scalar::from(2), Scalar::TWO_INV, two_64, -two_64]);
    scalars.extend((0..70).map(|k| Scalar::from(2).pow_vartime([k * 4])));
    for base in [point_samples::<A>(2, 1)[0], A::identity()] {
        let expected: Vec<A> = scalars.iter().map(|s| (base * *s).to_affine()).collect();
        for multiplications in [0, 1, 50, 5000] {
            let books = Books::with_budget(1 << 30);
            let table = backend.fixed_base_table(&base, multiplications, books.context()).unwrap();
            let held = books.in_use();
            for len in [0, 1, 2, 33, scalars.len()] {
                let mut out = vec![base; len];
                table.multiply(&scalars[..len], &mut out, books.context()).unwrap();
                assert!(out == expected[..len], "{len} multiples from a table for {multiplications}");
                assert_eq!(books.in_use(), held, "bytes still held after a call");
            }
            let wrong = table.multiply(&scalars, &mut [base; 3], books.context());
            assert!(matches!(wrong, Err(BackendError::Length { found: 3, .. })), "{wrong:?}");
            drop(table);
            assert_eq!(books.in_use(), 0, "bytes still held after the table is gone");
        }
    }
    let many = scalar_samples(3, 10_000);
    let base = point_samples::<A>(4, 1)[0];
    let books = Books::with_budget(1 << 30);
    let table = backend.fixed_base_table(&base, 400, books.context()).unwrap();
    let mut out = vec![A::identity(); many.len()];
    table.multiply(&many, &mut out, books.context()).unwrap();
    for (scalar, multiple) in many.iter().zip(&out).step_by(13) {
        assert!((base * *scalar).to_affine() == *multiple);
    }
    let held = books.in_use();
    books.cancel().cancel();
    let given_up = table.multiply(&many, &mut out, books.context());
    assert!(matches!(given_up, Err(BackendError::Cancelled)), "{given_up:?}");
    assert!(backend.fixed_base_table(&base, 400, books.context()).is_err());
    assert_eq!(books.in_use(), held);
}
