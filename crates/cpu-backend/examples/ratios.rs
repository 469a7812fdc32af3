//! CPU time of the sums beside blst's on the same data, and of transforms and fixed bases by themselves.
//!
//! `cargo run --release -p cpu-backend --example ratios [-- NAME...]`, where NAME is one of `g1-18`, `g1-20`, `g2-16`, `witness-20`, `ntt-20`, `ntt-22`,
//! `fixed-g1`, `fixed-g2`. On one core (`taskset -c 0`) blst runs its single-thread method; otherwise its own pool. Both sides run
//! alternately, CPU time is that of all threads, and no time is printed before the results have been compared.
#![allow(clippy::print_stdout)]

use std::error::Error;

use backend_testing::{OwnedWitness, point_samples, scalar_samples};
use bls12_381_layout::Affine;
use blst::{MultiPoint, blst_p1_affine, blst_p2_affine};
use blstrs::{G1Affine, G2Affine, Scalar};
use cpu_backend::CpuBackend;
use ff::{Field, PrimeField};
use group::Curve;
use pipeline_stage::{StageContext, StageName};
use prover_backend::{Coset, Domain, FixedBase, Msm, Ntt, Scalars, SelectedWitness};
use telemetry::Stopwatch;

const ROUNDS: usize = 5;

type Outcome = Result<(), Box<dyn Error>>;

/// CPU seconds of all threads while `work` ran.
fn timed<R>(work: impl FnOnce() -> R) -> Result<(f64, R), Box<dyn Error>> {
    let watch = Stopwatch::start()?;
    let result = work();
    Ok((watch.elapsed()?.cpu.total_s(), result))
}

fn min_and_max(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max))
}

/// The sums of the two sides with their CPU seconds.
fn compare<A, B>(name: &str, points: &[A], scalars: &Scalars<'_>, blst_sum: impl Fn(&[u8]) -> B) -> Outcome
where
    A: Affine,
    A::Projective: AsRef<B>,
    B: PartialEq,
{
    let backend = CpuBackend::new();
    let context = StageContext::unlimited(StageName::Msm);
    let bases = points.to_vec();
    let bytes: Vec<u8> = scalars.to_vec().iter().flat_map(PrimeField::to_repr).collect();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (ours, sum) = timed(|| backend.msm(&bases, scalars.clone(), &context))?;
        let (theirs, expected) = timed(|| blst_sum(&bytes))?;
        if *sum?.as_ref() != expected {
            return Err(format!("{name}: the sums differ").into());
        }
        rounds.push((ours, theirs));
    }
    let (ratio, ratio_max) = min_and_max(rounds.iter().map(|r| r.0 / r.1));
    let (ours, _) = min_and_max(rounds.iter().map(|r| r.0));
    let (theirs, _) = min_and_max(rounds.iter().map(|r| r.1));
    let each = 1e9 / points.len() as f64;
    println!(
        "{name:<12} {:>7.0} ns a point, blst {:>7.0} ns; ratio of the minima {:.3}, of each round {ratio:.3} to {ratio_max:.3}; scratch {} MiB",
        ours * each,
        theirs * each,
        ours / theirs,
        Msm::<A>::msm_scratch_bytes(&backend, points.len()) >> 20,
    );
    Ok(())
}

fn g1(name: &str, points: &[G1Affine], scalars: &Scalars<'_>) -> Outcome {
    let raw: Vec<blst_p1_affine> = points.iter().map(|p| *p.as_ref()).collect();
    compare(name, points, scalars, |bytes| raw.as_slice().mult(bytes, 255))
}

fn g2(name: &str, points: &[G2Affine], scalars: &Scalars<'_>) -> Outcome {
    let raw: Vec<blst_p2_affine> = points.iter().map(|p| *p.as_ref()).collect();
    compare(name, points, scalars, |bytes| raw.as_slice().mult(bytes, 255))
}

/// Bits, half of them ones, and a few full-size values, as in a PoRep witness.
fn witness(log2_len: u32) -> Outcome {
    let values: Vec<Scalar> = scalar_samples(3, 1 << log2_len)
        .into_iter()
        .enumerate()
        .map(|(i, s)| if i % 64 == 0 { s } else { Scalar::from(u64::from(s.is_odd().unwrap_u8())) })
        .collect();
    let owned = OwnedWitness::new(&values);
    let selected = SelectedWitness::range(owned.view(), 0..values.len())?;
    let points = point_samples(4, values.len());
    g1("g1 witness", &points, &Scalars::Witness(selected))?;
    g1("g1 as dense", &points, &Scalars::Dense(&values))
}

fn ntt(log2_size: u32) -> Outcome {
    let backend = CpuBackend::new();
    let context = StageContext::unlimited(StageName::Ntt);
    let original = scalar_samples(5, 1 << log2_size);
    let domain = Domain::new(log2_size)?;
    let butterflies = f64::from(log2_size) * (domain.size() / 2) as f64;
    for (name, coset) in [("subgroup", Coset::Subgroup), ("coset", Coset::Shifted(domain.odd_shift()))] {
        let mut values = original.clone();
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (seconds, result) = timed(|| backend.forward(&mut values, coset, &context))?;
            result?;
            there.push(seconds);
            let x = if name == "coset" { domain.odd_shift() } else { Scalar::ONE };
            if values[0] != original.iter().rev().fold(Scalar::ZERO, |sum, c| sum * x + c) {
                return Err("a value is wrong".into());
            }
            let (seconds, result) = timed(|| backend.inverse(&mut values, coset, &context))?;
            result?;
            back.push(seconds);
            if values != original {
                return Err("the transform and its inverse do not cancel".into());
            }
        }
        for (direction, seconds) in [("forward", there), ("inverse", back)] {
            let (min, max) = min_and_max(seconds.into_iter());
            println!(
                "2^{log2_size} {direction} {name:<8} {:>6.2} ns a butterfly (worst round {:.2})",
                min * 1e9 / butterflies,
                max * 1e9 / butterflies
            );
        }
    }
    Ok(())
}

fn fixed_base<A: Affine>(name: &str, log2_len: u32) -> Outcome {
    let backend = CpuBackend::new();
    let context = StageContext::unlimited(StageName::Setup);
    let base = A::generator();
    let scalars = scalar_samples(6, 1 << log2_len);
    // Sized as for a set-up of the 2 KiB PoRep.
    let (making, table) = timed(|| backend.fixed_base_table(&base, 10_000_000, &context))?;
    let table = table?;
    let mut out = vec![A::identity(); scalars.len()];
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        let (round, result) = timed(|| table.multiply(&scalars, &mut out, &context))?;
        result?;
        seconds.push(round);
        if out.iter().zip(&scalars).step_by(out.len() / 100).any(|(o, s)| *o != (base * *s).to_affine()) {
            return Err(format!("{name}: a multiple is wrong").into());
        }
    }
    let (min, max) = min_and_max(seconds.into_iter());
    let each = 1e9 / scalars.len() as f64;
    println!("{name:<12} {:>7.0} ns a multiple (worst round {:.0}); table {making:.2} CPU s", min * each, max * each);
    Ok(())
}

fn main() -> Outcome {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let all = ["g1-18", "g1-20", "g2-16", "witness-20", "ntt-20", "ntt-22", "fixed-g1", "fixed-g2"];
    for name in all.into_iter().filter(|name| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        match name {
            "g1-18" | "g1-20" => {
                let len = if name == "g1-18" { 1 << 18 } else { 1 << 20 };
                g1(name, &point_samples(1, len), &Scalars::Dense(&scalar_samples(2, len)))?;
            }
            "g2-16" => g2(name, &point_samples(1, 1 << 16), &Scalars::Dense(&scalar_samples(2, 1 << 16)))?,
            "witness-20" => witness(20)?,
            "ntt-20" => ntt(20)?,
            "ntt-22" => ntt(22)?,
            "fixed-g1" => fixed_base::<G1Affine>(name, 17)?,
            _ => fixed_base::<G2Affine>(name, 15)?,
        }
    }
    Ok(())
}
