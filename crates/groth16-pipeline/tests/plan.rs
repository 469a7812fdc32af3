//! No engine ever holds more than its plan says, in any cell, whatever the budget, the threads and the jobs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::sync::Arc;

use blstrs::Scalar;
use cpu_backend::CpuBackend;
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, EngineError, JobSize, Workload};
use pipeline_stage::{Class, Ledger, Space, StageContext, StageName};
use prover_backend::ProverBackend;
use toy::{Squarings, Toy, ToyJob, assert_within_plan, keys};

/// What one toy partition takes.
const VANILLA: u64 = 1000;

fn host(bytes: u64) -> Ledger {
    Ledger::new(&[(Space::Host, bytes), (Space::Mapped, u64::MAX)])
}

fn job_size(jobs: u64, partitions: u64) -> JobSize {
    JobSize { parsed_bytes: VANILLA, partition_bytes: VANILLA, jobs: Some(jobs), partitions: Some(jobs * partitions), ..JobSize::default() }
}

fn job(keys: &Arc<CircuitKeys>, rounds: usize, partitions: u64) -> ToyJob {
    let statement = |i| Squarings { rounds, x: Some(Scalar::from(7 + i)), lie_at: None };
    ToyJob { keys: Arc::clone(keys), partitions: (0..partitions).map(statement).collect(), refuse_after: None, panic_at: None }
}

#[test]
fn peaks_stay_below_the_plan_on_every_step_of_the_ladder() {
    let folder = tempfile::tempdir().unwrap();
    let backend: Arc<dyn ProverBackend> = Arc::new(CpuBackend::with_workers(2));
    let context = StageContext::unlimited(StageName::Setup);
    // Domains of 2^6 and 2^9: buffers of both sizes share what is set aside.
    let circuits = [(20, keys(folder.path(), 20, backend.as_ref(), &context)), (300, keys(folder.path(), 300, backend.as_ref(), &context))];
    let keys: Vec<_> = circuits.iter().map(|(_, keys)| Arc::clone(keys)).collect();
    let mut chosen = Vec::new();
    for (jobs, partitions) in [(1, 1), (1, 3), (2, 1), (6, 2)] {
        for synth_threads in 1..=3 {
            let size = job_size(jobs, partitions);
            let workload = Workload::of(&keys, size, synth_threads).unwrap();
            let plans = workload.plans(backend.as_ref());
            let least = plans.minimum().total(Space::Host);
            let most = plans.recommended().total(Space::Host);
            for budget in [least, least.midpoint(most), u64::MAX] {
                let ledger = host(budget);
                let config = EngineConfig { synth_threads, jobs: size, ..EngineConfig::default() };
                let engine = Engine::start(Toy, &keys, Arc::clone(&backend), &ledger, &config).unwrap();
                let plan = engine.plan().clone();
                assert_eq!(Some(&plan), plans.fit(budget).plan);
                let submit = |i: u64| {
                    let (rounds, keys) = &circuits[i as usize % 2];
                    engine.submit(job(keys, *rounds, partitions))
                };
                let handles: Vec<_> = (0..jobs).map(submit).collect();
                for handle in handles {
                    assert_eq!(handle.wait().unwrap().partitions as u64, partitions);
                }
                engine.finish();
                assert_within_plan(&plan, &ledger);
                assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
                chosen.push(plan.total(Space::Host));
            }
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    assert!(chosen.len() > 12, "budgets make a difference: {chosen:?}");
}

#[test]
fn one_partition_needs_no_room_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let backend = CpuBackend::with_workers(2);
    let keys = keys(folder.path(), 300, &backend, &StageContext::unlimited(StageName::Setup));
    let plans = |size| Workload::of(&[Arc::clone(&keys)], size, 2).unwrap().plans(&backend);
    let alone = plans(job_size(1, 1));
    assert_eq!(alone.minimum(), alone.recommended());
    let witness = alone.minimum().class(Space::Host, Class::Witness);
    let h = alone.minimum().class(Space::Host, Class::HPoly);
    // Two threads, two witnesses at most; spare buffers up to two.
    let several = plans(job_size(6, 1));
    assert_eq!(several.minimum().class(Space::Host, Class::Witness), 2 * witness);
    assert_eq!(several.recommended().class(Space::Host, Class::Witness), 6 * witness, "as many as there are partitions");
    assert_eq!((several.minimum().class(Space::Host, Class::HPoly), several.recommended().class(Space::Host, Class::HPoly)), (h, 3 * h));
    // Without an end in sight there are the places: two threads, two and the lane, two, two.
    let endless = plans(JobSize { jobs: None, partitions: None, ..job_size(1, 1) });
    assert_eq!(endless.recommended().class(Space::Host, Class::Witness), (2 + 4 + 2 + 2) * witness);
    // Mapped files are planned as large as they are.
    let mapped = |class| alone.minimum().class(Space::Mapped, class);
    assert_eq!(mapped(Class::SrsSection), keys.proving_key().file_bytes());
    assert_eq!(mapped(Class::CompiledCircuit), keys.circuit().file_bytes());
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let folder = tempfile::tempdir().unwrap();
    let backend: Arc<dyn ProverBackend> = Arc::new(CpuBackend::with_workers(2));
    let circuits = [keys(folder.path(), 300, backend.as_ref(), &StageContext::unlimited(StageName::Setup))];
    let least = |threads| {
        let workload = Workload::of(&circuits, job_size(6, 1), threads).unwrap();
        workload.plans(backend.as_ref()).minimum().total(Space::Host)
    };
    let start = |budget, held_bytes| {
        let jobs = JobSize { held_bytes, ..job_size(6, 1) };
        let ledger = host(budget);
        let request = pipeline_stage::Request { space: Space::Host, class: Class::VanillaProof, stage: StageName::Parse, bytes: 500 };
        let permit = ledger.try_acquire(request).unwrap();
        let config = EngineConfig { synth_threads: 3, jobs, ..EngineConfig::default() };
        let engine = Engine::start(Toy, &circuits, Arc::clone(&backend), &ledger, &config);
        let outcome = engine.map(|engine| engine.finish());
        drop(permit);
        assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
        outcome
    };
    match start(least(2) + 500, 0) {
        Err(EngineError::Budget { needed, missing, held, synth_threads, parts, .. }) => {
            assert_eq!((needed, missing, held, synth_threads), (least(3), least(3) - least(2), 500, Some(2)));
            assert!(parts.contains("for synthesis") && parts.contains("for sums"), "{parts}");
        }
        other => panic!("{other:?}"),
    }
    // What the jobs hold is in the plan, not besides it.
    start(least(3) + 500, 500).unwrap();
    assert!(matches!(start(least(3) + 499, 500), Err(EngineError::Budget { missing: 1, held: 0, .. })));
    assert!(matches!(start(least(1) + 499, 0), Err(EngineError::Budget { synth_threads: None, .. })));
}
