//! What the engine adds to calling its stages in a row: `cargo run --release -p groth16-pipeline --example overhead [ROUNDS [PROOFS]]`.
//!
//! Proves the same toy statement both ways, alternating, one partition at a time, and compares the least times and the medians: other work
//! on the machine only ever adds. What it costs does not grow with the circuit, so a small circuit shows it best.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "an example talks, and what it uses of the tests may panic"
)]

#[path = "../tests/toy/mod.rs"]
mod toy;

use std::sync::Arc;
use std::time::{Duration, Instant};

use blstrs::Scalar;
use buffer_accounting::PoolSource;
use cpu_backend::CpuBackend;
use groth16_assembly::{Blinding, assemble_and_verify};
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, Statement, TransformBuffers, quotient, sums};
use pipeline_stage::{Ledger, Space, StageContext, StageName};
use prover_backend::ProverBackend;
use toy::{Squarings, Toy, ToyJob, keys};

fn job(keys: &Arc<CircuitKeys>, rounds: usize) -> ToyJob {
    let statement = Squarings { rounds, x: Some(Scalar::from(1_000_003)), lie_at: None };
    ToyJob { keys: Arc::clone(keys), partitions: vec![statement], refuse_after: None, panic_at: None }
}

/// The stages' work in a row, without threads, links or jobs.
fn in_a_row(job: ToyJob, backend: &CpuBackend, buffers: &TransformBuffers, context: &StageContext) -> usize {
    let mut partitions = Vec::new();
    Toy.parse(job, &context.for_stage(StageName::Parse), &mut |_| {}, &mut |partition| partitions.push(partition)).unwrap();
    let mut bytes = 0;
    for partition in partitions {
        let keys = partition.keys;
        let made = Toy.synthesize(&keys, partition.index, partition.body, &context.for_stage(StageName::Synth)).unwrap();
        let view = made.witness.view().unwrap();
        let h = quotient(keys.circuit(), view, backend, buffers, &context.for_stage(StageName::Ntt)).unwrap();
        let sums = sums(&keys, view, &h, backend, &context.for_stage(StageName::Msm)).unwrap();
        drop(h);
        let proof = assemble_and_verify(keys.verifying_key(), &sums, Blinding::from_os().unwrap(), &made.public_inputs).unwrap();
        bytes += proof.to_bytes().len();
    }
    bytes
}

fn time(work: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    assert_eq!(work(), 192);
    start.elapsed()
}

fn main() {
    let argument = |n: usize, default: usize| std::env::args().nth(n).map_or(default, |text| text.parse().expect("a number"));
    let (rounds, proofs) = (argument(1, 5_000), argument(2, 40));
    let folder = tempfile::tempdir().unwrap();
    let backend = Arc::new(CpuBackend::new());
    let keys = keys(folder.path(), rounds, backend.as_ref(), &StageContext::unlimited(StageName::Setup));
    let ledger = Ledger::new(&[(Space::Host, 8 << 30), (Space::Mapped, u64::MAX)]);
    let dynamic: Arc<dyn ProverBackend> = Arc::clone(&backend) as Arc<dyn ProverBackend>;
    let engine = Engine::start(Toy, &[Arc::clone(&keys)], dynamic, &ledger, &EngineConfig::default()).unwrap();
    let context = StageContext::unlimited(StageName::Synth);
    let buffers = TransformBuffers::new(PoolSource::Ledger(context.ledger().clone()));
    let (mut rows, mut engines) = (Vec::new(), Vec::new());
    for round in 0..=proofs {
        let row = time(|| in_a_row(job(&keys, rounds), &backend, &buffers, &context));
        let whole = time(|| engine.submit(job(&keys, rounds)).wait().unwrap().bytes.len());
        // The first proof of each pays for memory that the later ones find.
        if round > 0 {
            rows.push(row);
            engines.push(whole);
        }
    }
    engine.finish();
    rows.sort_unstable();
    engines.sort_unstable();
    for (what, at) in [("least", 0), ("median", proofs / 2)] {
        let (row, whole) = (rows[at], engines[at]);
        let more = whole.as_secs_f64() / row.as_secs_f64() - 1.0;
        println!(
            "{what:>6}: in a row {row:?}, by the engine {whole:?}, {:+.2} % ({:+.0} µs)",
            100.0 * more,
            1e6 * (whole.as_secs_f64() - row.as_secs_f64())
        );
    }
}
