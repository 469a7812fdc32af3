//! What a multi-scalar multiplication must do.

use bls12_381_layout::Affine;
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::{Field, PrimeField};
use group::prime::PrimeCurveAffine;
use group::{Curve, Group};
use prover_backend::{BackendError, BaseSource, Msm, Scalars, SelectedWitness};

use crate::books::{Books, balanced};
use crate::{OwnedWitness, RecordingBases, point_samples, scalar_samples};

/// A group with a multi-scalar multiplication of blst's own.
pub trait Oracle: Affine {
    /// blst's Pippenger for finite points, double-and-add for few.
    fn oracle(points: &[Self], scalars: &[Scalar]) -> Self::Projective;
}

macro_rules! oracle {
    ($affine:ty, $projective:ty) => {
        impl Oracle for $affine {
            fn oracle(points: &[Self], scalars: &[Scalar]) -> $projective {
                // blst converts projective points in one batch, which knows no infinity.
                let (finite, scalars): (Vec<$projective>, Vec<Scalar>) =
                    points.iter().zip(scalars).filter(|(p, _)| !p.is_zero_point()).map(|(p, s)| (p.to_curve(), *s)).unzip();
                if finite.len() < 64 {
                    return finite.iter().zip(&scalars).map(|(p, s)| *p * *s).sum();
                }
                <$projective>::multi_exp(&finite, &scalars)
            }
        }
    };
}
oracle!(G1Affine, G1Projective);
oracle!(G2Affine, G2Projective);

/// Longest range a backend may ask for: a section need not be resident.
const RANGE_LEN_MAX: usize = 1 << 18;

/// Sizes around every change of method up to `len_max`; points at infinity; zeros, ones, small and edge scalars; equal and opposite points
/// that meet in one bucket; selections of witnesses; points in ranges; wrong lengths, unreadable points, a ledger in balance, cancellation.
pub fn msm<A: Oracle>(backend: &dyn Msm<A>, len_max: usize) {
    let points = point_samples::<A>(1, len_max);
    sizes(backend, &points);
    kinds_of_scalars(backend, &points[..len_max.min(3000)]);
    kinds_of_points(backend, &points[..len_max.min(1500)]);
    crowded_buckets(backend, &points);
    witnesses(backend, &points);
    ranges(backend, &points);
    failures(backend, &points[..len_max.min(500)]);
}

fn check<A: Oracle>(backend: &dyn Msm<A>, points: &[A], scalars: Scalars<'_>, what: &str) {
    let plain = scalars.to_vec();
    let expected = A::oracle(points, &plain);
    let bases = points.to_vec();
    let found = balanced(backend.msm_scratch_bytes(points.len()), |context| backend.msm(&bases, scalars, context)).unwrap();
    assert!(found == expected, "{what}: {} points", points.len());
}

fn sizes<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let scalars = scalar_samples(2, points.len());
    let lengths = [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 100, 255, 256, 257, 1000, 1023, 4095, 4096, 4097, 10_000];
    for len in lengths.into_iter().filter(|len| *len < points.len()).chain([points.len()]) {
        check(backend, &points[..len], Scalars::Dense(&scalars[..len]), "random scalars");
    }
}

fn kinds_of_scalars<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let len = points.len();
    let random = scalar_samples(3, len);
    let two_64 = Scalar::from(u64::MAX) + Scalar::ONE;
    let edges = [
        Scalar::ZERO,
        Scalar::ONE,
        -Scalar::ONE,
        Scalar::from(2),
        -Scalar::from(2),
        Scalar::TWO_INV,
        -Scalar::TWO_INV,
        Scalar::from(u64::MAX),
        two_64,
        -two_64,
    ];
    let mut kinds: Vec<(&str, Vec<Scalar>)> = edges.iter().map(|edge| ("one edge scalar for all", vec![*edge; len])).collect();
    let pick = |choose: &dyn Fn(usize) -> Scalar| (0..len).map(choose).collect::<Vec<_>>();
    kinds.push(("edge scalars", pick(&|i| edges[i % edges.len()])));
    kinds.push(("bits", pick(&|i| Scalar::from(u64::from(random[i].is_odd().unwrap_u8())))));
    kinds.push(("small scalars", pick(&|i| Scalar::from(i as u64 % 300))));
    kinds.push(("small scalars of either sign", pick(&|i| Scalar::from(i as u64) - Scalar::from(len as u64 / 2))));
    kinds.push(("64-bit scalars", pick(&|i| Scalar::from((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))));
    kinds.push(("powers of two", pick(&|i| Scalar::from(2).pow_vartime([i as u64 % 255]))));
    kinds.push(("just below powers of two", pick(&|i| Scalar::from(2).pow_vartime([i as u64 % 255]) - Scalar::ONE)));
    kinds.push(("one full-size scalar for all", vec![random[0]; len]));
    kinds.push(("a scalar and its opposite", pick(&|i| if i % 2 == 0 { random[0] } else { -random[0] })));
    kinds.push(("one full-size scalar among zeros", pick(&|i| if i == len / 2 { random[1] } else { Scalar::ZERO })));
    kinds.push((
        "like a witness",
        pick(&|i| match i % 20 {
            0 => random[i],
            1 | 2 => Scalar::from(i as u64 * 77),
            _ => Scalar::from(u64::from(random[i].is_odd().unwrap_u8())),
        }),
    ));
    for (what, scalars) in &kinds {
        check(backend, points, Scalars::Dense(scalars), what);
    }
}

fn kinds_of_points<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let len = points.len();
    let random = scalar_samples(4, len);
    let few: Vec<Scalar> = (0..len).map(|i| Scalar::from(i as u64 % 3) - Scalar::ONE).collect();
    let ones = vec![Scalar::ONE; len];
    let same = vec![random[0]; len];
    let pick = |choose: &dyn Fn(usize) -> A| (0..len).map(choose).collect::<Vec<_>>();
    let small_multiples: Vec<A> = (0..8).map(|k| (A::generator() * (Scalar::from(k) - Scalar::from(3))).to_affine()).collect();
    let kinds = [
        ("infinity everywhere", pick(&|_| A::identity())),
        ("infinity here and there", pick(&|i| if i % 3 == 0 { A::identity() } else { points[i] })),
        ("one finite point", pick(&|i| if i == len / 2 { points[i] } else { A::identity() })),
        ("one point everywhere", pick(&|_| points[0])),
        ("a point and its opposite", pick(&|i| if i % 2 == 0 { points[0] } else { -points[0] })),
        ("opposites in the other half", pick(&|i| if i < len / 2 { points[i] } else { -points[i - len / 2] })),
        ("small multiples of one point", pick(&|i| small_multiples[i % small_multiples.len()])),
    ];
    for (what, points) in &kinds {
        for scalars in [&random, &few, &ones, &same] {
            check(backend, points, Scalars::Dense(scalars), what);
        }
    }
}

/// One bucket for all, with lengths around those at which a backend may split a bucket's points, and points at infinity that it may skip.
fn crowded_buckets<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let scalar = scalar_samples(9, 1)[0];
    let around = [512usize, 1024, 2048, 2389, 4096, 4778, 8192];
    let lengths = around.into_iter().flat_map(|len| len - 3..=len + 3).filter(|len| *len <= points.len());
    for len in lengths {
        for infinities in [0, 1, 2, 3, 5] {
            let mut points = points[..len].to_vec();
            for k in 0..infinities {
                points[k * (len - 1) / 5] = A::identity();
            }
            // All scalars are the same, so the oracle is one multiplication of the sum.
            let sum = points.iter().fold(A::Projective::identity(), |sum, point| sum + point);
            let expected = sum * scalar;
            let scalars = vec![scalar; len];
            let scratch = backend.msm_scratch_bytes(len);
            let found = balanced(scratch, |context| backend.msm(&points, Scalars::Dense(&scalars), context)).unwrap();
            assert!(found == expected, "{len} points in one bucket, {infinities} of them at infinity");
        }
    }
}

fn witness_values(seed: u64, len: usize, full_in: usize) -> Vec<Scalar> {
    scalar_samples(seed, len)
        .into_iter()
        .enumerate()
        .map(|(i, s)| if full_in > 0 && i % full_in == 0 { s } else { Scalar::from(u64::from(s.is_odd().unwrap_u8())) })
        .collect()
}

fn witnesses<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let len = points.len();
    for (full_in, what) in [(0, "bits only"), (1, "full-size only"), (50, "few full-size"), (3, "a third full-size")] {
        let values = witness_values(5, len, full_in);
        let witness = OwnedWitness::new(&values);
        let words = len.div_ceil(64);
        let noise: Vec<u64> =
            scalar_samples(6, words).iter().map(|s| s.to_bytes_le()[3..11].iter().fold(0, |w, b| w << 8 | u64::from(*b))).collect();
        let sparse: Vec<u64> = noise.iter().enumerate().map(|(i, w)| if i % 7 == 0 { w & (w >> 3) } else { 0 }).collect();
        for range in [0..len, 1..len, 0..len - 1, len / 3..len / 2, 63..65, 64..128, 70..70] {
            let all = SelectedWitness::range(witness.view(), range.clone()).unwrap();
            check(backend, &points[..all.len()], Scalars::Witness(all), what);
            for density in [&noise, &sparse, &vec![0; words], &vec![u64::MAX; words]] {
                let some = SelectedWitness::dense(witness.view(), density, range.clone()).unwrap();
                check(backend, &points[..some.len()], Scalars::Witness(some), what);
            }
        }
    }
}

fn ranges<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let scalars = witness_values(8, points.len(), 2);
    let bases = RecordingBases::new(points.to_vec(), RANGE_LEN_MAX);
    let found = balanced(backend.msm_scratch_bytes(points.len()), |context| {
        backend.msm(&bases as &dyn BaseSource<A>, Scalars::Dense(&scalars), context)
    });
    assert!(found.unwrap() == A::oracle(points, &scalars));
    let mut covered = vec![false; points.len()];
    for range in bases.asked() {
        covered[range].fill(true);
    }
    assert!(covered.iter().all(|c| *c), "a point was not asked for");
    for range in bases.done() {
        covered[range].fill(false);
    }
    assert!(!covered.contains(&true), "a point that was read was not given back");
    for range in bases.announced().into_iter().chain(bases.done()) {
        assert!(range.end <= points.len(), "a hint past the end: {range:?}");
    }
}

/// Sums of so many points that they are read in several ranges, each of at most 2^18 points: full-size values, a witness with a density,
/// and points that meet their opposites only in another range.
pub fn msm_in_ranges<A: Oracle>(backend: &dyn Msm<A>, len: usize) {
    let points = point_samples::<A>(10, len + len / 8);
    let check = |points: &[A], scalars: Scalars<'_>, expected: A::Projective, what: &str| {
        let bases = RecordingBases::new(points.to_vec(), RANGE_LEN_MAX);
        let found = balanced(backend.msm_scratch_bytes(points.len()), |context| backend.msm(&bases, scalars, context));
        assert!(found.unwrap() == expected, "{what}: {} points", points.len());
        let asked = bases.asked();
        assert!(asked.iter().all(|range| range.len() < points.len()), "{what}: all points in one range, ask for longer sums");
        assert_eq!(bases.done().len(), asked.len(), "{what}: ranges given back");
    };

    let full = scalar_samples(11, len);
    check(&points[..len], Scalars::Dense(&full), A::oracle(&points[..len], &full), "full-size");

    let values = witness_values(12, 2 * len, 40);
    let witness = OwnedWitness::new(&values);
    let density: Vec<u64> = (0..(2 * len).div_ceil(64) as u64).map(|w| (w + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let selected = Scalars::Witness(SelectedWitness::dense(witness.view(), &density, 7..2 * len).unwrap());
    let own = &points[..selected.len()];
    let expected = A::oracle(own, &selected.to_vec());
    check(own, selected, expected, "a witness with a density");

    let (few, rest) = (len.min(1000), len - len.min(1000));
    let mut opposites = points[..len].to_vec();
    let mut scalars = vec![Scalar::ZERO; len];
    for i in 0..few {
        opposites[rest + i] = -points[i];
        scalars[i] = full[i];
        scalars[rest + i] = full[i];
    }
    check(&opposites, Scalars::Dense(&scalars), A::oracle(&[], &[]), "opposites in another range");
}

fn failures<A: Oracle>(backend: &dyn Msm<A>, points: &[A]) {
    let len = points.len();
    let scalars = scalar_samples(9, len);
    let bytes = backend.msm_scratch_bytes(len);
    for wrong in [0, len - 1] {
        let bases = points[..wrong].to_vec();
        let result = balanced(bytes, |context| backend.msm(&bases, Scalars::Dense(&scalars), context));
        assert!(matches!(result, Err(BackendError::Length { found, .. }) if found == wrong), "{result:?}");
    }
    let unreadable = RecordingBases::new(points.to_vec(), RANGE_LEN_MAX).failing_at(len / 2);
    let result = balanced(bytes, |context| backend.msm(&unreadable, Scalars::Dense(&scalars), context));
    assert!(matches!(result, Err(BackendError::Bases { .. })), "{result:?}");

    let books = Books::with_budget(bytes);
    books.cancel().cancel();
    let result = backend.msm(&points.to_vec(), Scalars::Dense(&scalars), books.context());
    assert!(matches!(result, Err(BackendError::Cancelled)), "{result:?}");
    assert_eq!(books.in_use(), 0);

    // Raised in the middle: while the points are being read.
    let books = Books::with_budget(bytes);
    let flag = books.cancel().clone();
    let bases = RecordingBases::new(points.to_vec(), RANGE_LEN_MAX).on_read(move |_| flag.cancel());
    let result = backend.msm(&bases, Scalars::Dense(&scalars), books.context());
    assert!(matches!(result, Err(BackendError::Cancelled)), "{result:?}");
    assert_eq!(books.in_use(), 0);
}
