//! The suites that every backend runs, and the portable backend beside the naive one.

use backend_testing::{Books, Dual, scalar_samples, suites};
use blstrs::{G1Affine, G2Affine};
use cpu_backend::CpuBackend;
use cpu_backend::naive::NaiveBackend;
use group::Curve;
use group::prime::PrimeCurveAffine;
use prover_backend::{FixedBase, Msm, ProverBackend};

#[test]
fn transforms() {
    suites::ntt(&CpuBackend::new(), 12, 15);
}

#[test]
fn transforms_with_one_worker() {
    suites::ntt(&CpuBackend::with_workers(1), 5, 14);
}

#[test]
fn transforms_like_the_naive_ones() {
    suites::ntt(&Dual::new(CpuBackend::new(), NaiveBackend), 3, 9);
}

#[test]
fn sums_in_g1() {
    suites::msm::<G1Affine>(&CpuBackend::new(), 20_000);
}

#[test]
fn sums_in_g2() {
    suites::msm::<G2Affine>(&CpuBackend::new(), 5000);
}

#[test]
fn sums_in_ranges() {
    suites::msm_in_ranges::<G1Affine>(&CpuBackend::new(), 140_000);
}

#[test]
fn sums_with_other_numbers_of_workers() {
    suites::msm::<G1Affine>(&CpuBackend::with_workers(1), 700);
    suites::msm::<G1Affine>(&CpuBackend::with_workers(7), 700);
}

#[test]
fn sums_like_the_naive_ones() {
    suites::msm::<G1Affine>(&Dual::new(CpuBackend::new(), NaiveBackend), 300);
}

#[test]
fn multiples() {
    suites::fixed_base::<G1Affine>(&CpuBackend::new() as &dyn FixedBase<G1Affine>);
    suites::fixed_base::<G2Affine>(&CpuBackend::new() as &dyn FixedBase<G2Affine>);
}

/// Whoever holds a table must not wait for memory: a multiplication goes well in a ledger that the table fills.
#[test]
fn multiples_take_nothing_from_the_ledger() {
    let backend = CpuBackend::with_workers(3);
    let table_in = |books: &Books| backend.fixed_base_table(&G1Affine::generator(), 5000, books.context());
    let ample = Books::with_budget(1 << 30);
    let held = table_in(&ample).map(|_table| ample.in_use()).unwrap();
    let exact = Books::with_budget(held);
    let table = table_in(&exact).unwrap();
    assert_eq!((exact.in_use(), exact.peak()), (held, held));
    let scalars = scalar_samples(1, 5000);
    let mut multiples = vec![G1Affine::identity(); scalars.len()];
    table.multiply(&scalars, &mut multiples, exact.context()).unwrap();
    assert_eq!(multiples[4999], (G1Affine::generator() * scalars[4999]).to_affine());
}

#[test]
fn scratch_stays_within_the_memory_plan() {
    let backend = CpuBackend::with_workers(2);
    assert!(Msm::<G1Affine>::msm_scratch_bytes(&backend, 1 << 22) < 150 << 20);
    assert!(Msm::<G2Affine>::msm_scratch_bytes(&backend, 1 << 22) < 150 << 20);
    let many = CpuBackend::with_workers(64);
    assert!(Msm::<G1Affine>::msm_scratch_bytes(&many, 1 << 22) < 200 << 20);
    assert!(Msm::<G2Affine>::msm_scratch_bytes(&many, 1 << 22) < 200 << 20);
    let mut last = 0;
    for log2_points in 0..27 {
        let bytes = Msm::<G1Affine>::msm_scratch_bytes(&backend, 1 << log2_points);
        assert!(bytes >= last, "less scratch for more points");
        last = bytes;
    }
    assert_eq!(backend.name(), "cpu-portable");
}
