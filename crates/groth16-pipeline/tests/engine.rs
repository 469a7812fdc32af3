//! Jobs through the whole engine, checked by bellperson's verifier.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::sync::Arc;

use bellperson::groth16::{Proof, VerifyingKey, prepare_verifying_key, verify_proof};
use blstrs::{Bls12, Scalar};
use cpu_backend::CpuBackend;
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, EngineError, JobError, JobProof, JobSize, Workload};
use pipeline_stage::{Cancel, Class, ErrorClass, Ledger, Space, StageContext, StageName};
use prover_backend::ProverBackend;
use toy::{Squarings, Toy, ToyJob, keys};

fn statements(rounds: usize, count: u64) -> Vec<Squarings> {
    (0..count).map(|i| Squarings { rounds, x: Some(Scalar::from(1_000_003 + i)), lie_at: None }).collect()
}

fn job(keys: &Arc<CircuitKeys>, partitions: Vec<Squarings>) -> ToyJob {
    ToyJob { keys: Arc::clone(keys), partitions, refuse_after: None, panic_at: None }
}

/// bellperson's verdict on each partition.
fn verdicts(keys: &CircuitKeys, proof: &JobProof, statements: &[Squarings]) -> Vec<bool> {
    let mut bytes = Vec::new();
    keys.proving_key().verifying_key().write(&mut bytes).unwrap();
    let key = prepare_verifying_key(&VerifyingKey::<Bls12>::read(&bytes[..]).unwrap());
    assert_eq!(proof.bytes.len(), 192 * statements.len());
    let partition =
        |(bytes, statement): (&[u8], &Squarings)| verify_proof(&key, &Proof::read(bytes).unwrap(), &statement.public_inputs()).unwrap();
    proof.bytes.chunks(192).zip(statements).map(partition).collect()
}

fn backend() -> Arc<dyn ProverBackend> {
    Arc::new(CpuBackend::new())
}

fn ledger(bytes: u64) -> Ledger {
    Ledger::new(&[(Space::Host, bytes), (Space::Mapped, u64::MAX)])
}

fn in_use(ledger: &Ledger) -> u64 {
    ledger.snapshot().check().unwrap();
    ledger.snapshot().in_use(Space::Host)
}

#[test]
fn jobs_of_two_circuits_are_proved_in_order_and_verify() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (backend(), StageContext::unlimited(StageName::Setup));
    let small = keys(folder.path(), 5, backend.as_ref(), &context);
    let large = keys(folder.path(), 200, backend.as_ref(), &context);
    let ledger = ledger(1 << 30);
    let circuits = [Arc::clone(&small), Arc::clone(&large)];
    let engine = Engine::start(Toy, &circuits, backend, &ledger, &EngineConfig::default()).unwrap();
    let jobs = [(&small, statements(5, 3)), (&large, statements(200, 2)), (&small, statements(5, 1))];
    let handles: Vec<_> = jobs.iter().map(|(keys, statements)| engine.submit(job(keys, statements.clone()))).collect();
    for (handle, (keys, statements)) in handles.into_iter().zip(&jobs) {
        let proof = handle.wait().unwrap();
        assert_eq!(proof.partitions, statements.len());
        assert!(verdicts(keys, &proof, statements).into_iter().all(|ok| ok));
        let mut swapped = statements.clone();
        swapped.reverse();
        if swapped.len() > 1 {
            assert!(verdicts(keys, &proof, &swapped).into_iter().any(|ok| !ok), "partitions are in order");
        }
    }
    assert_eq!(engine.times().stage(StageName::Ntt).items, 6);
    engine.finish();
    assert_eq!(in_use(&ledger), 0);
    let peak = |class| ledger.snapshot().cells().filter(|c| c.1 == class).map(|c| c.3.peak_bytes).max().unwrap_or(0);
    assert!(peak(Class::Witness) > 0 && peak(Class::Evaluations) > 0 && peak(Class::VanillaProof) >= 1000);
}

#[test]
fn a_failing_job_costs_the_others_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (backend(), StageContext::unlimited(StageName::Setup));
    let keys = keys(folder.path(), 20, backend.as_ref(), &context);
    let ledger = ledger(1 << 30);
    let engine = Engine::start(Toy, &[Arc::clone(&keys)], backend, &ledger, &EngineConfig::default()).unwrap();
    let good = statements(20, 2);
    let mut lying = good.clone();
    lying[1].lie_at = Some(7);
    let first = engine.submit(job(&keys, good.clone()));
    let refused = engine.submit(ToyJob { refuse_after: Some(1), ..job(&keys, good.clone()) });
    let panicked = engine.submit(ToyJob { panic_at: Some(0), ..job(&keys, good.clone()) });
    let unsatisfied = engine.submit(job(&keys, lying));
    let empty = engine.submit(job(&keys, Vec::new()));
    let cancelled = engine.submit(job(&keys, good.clone()));
    cancelled.cancel();
    let last = engine.submit(job(&keys, good.clone()));

    assert!(verdicts(&keys, &first.wait().unwrap(), &good).into_iter().all(|ok| ok));
    let error = refused.wait().unwrap_err();
    assert!(matches!(&error, JobError::Stage { stage: "parse", .. }), "{error}");
    let error = panicked.wait().unwrap_err();
    assert!(matches!(&error, JobError::Panicked { stage: "synth", message } if message == "synthesis told to panic"), "{error}");
    let error = unsatisfied.wait().unwrap_err();
    assert!(matches!(&error, JobError::Stage { stage: "ntt", .. }) && error.to_string().contains("does not satisfy"), "{error}");
    assert_eq!(error.class(), ErrorClass::Fatal);
    assert!(matches!(empty.wait().unwrap_err(), JobError::Stage { stage: "parse", .. }));
    match cancelled.wait() {
        Err(JobError::Cancelled) => {}
        other => panic!("a cancelled job: {other:?}"),
    }
    assert!(verdicts(&keys, &last.wait().unwrap(), &good).into_iter().all(|ok| ok));
    engine.finish();
    assert_eq!(in_use(&ledger), 0);
}

#[test]
fn the_least_budget_proves_and_less_is_refused_with_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (backend(), StageContext::unlimited(StageName::Setup));
    let keys = keys(folder.path(), 300, backend.as_ref(), &context);
    let circuits = [Arc::clone(&keys)];
    let jobs = JobSize { parsed_bytes: 1000, partition_bytes: 1000, ..JobSize::default() };
    let config = EngineConfig { jobs, ..EngineConfig::default() };
    let plans = Workload::of(&circuits, jobs, config.synth_threads).unwrap().plans(backend.as_ref());
    let least = plans.minimum().total(Space::Host);
    let tight = ledger(least - 1);
    match Engine::start(Toy, &circuits, Arc::clone(&backend), &tight, &config) {
        Err(EngineError::Budget { needed, budget, missing, .. }) => assert_eq!((needed, budget, missing), (least, least - 1, 1)),
        other => panic!("{:?}", other.err()),
    }
    assert_eq!(in_use(&tight), 0);
    let enough = ledger(least);
    let engine = Engine::start(Toy, &circuits, backend, &enough, &config).unwrap();
    assert_eq!(engine.plan(), plans.minimum());
    let good = statements(300, 4);
    let handles: Vec<_> = (0..3).map(|_| engine.submit(job(&keys, good.clone()))).collect();
    // Many jobs of one partition: parsing of the next ones and the growth of witnesses share what is left, first come first served.
    let one = statements(300, 1);
    let short: Vec<_> = (0..30).map(|_| engine.submit(job(&keys, one.clone()))).collect();
    for (handles, statements) in [(handles, &good), (short, &one)] {
        for handle in handles {
            assert!(verdicts(&keys, &handle.wait().unwrap(), statements).into_iter().all(|ok| ok));
        }
    }
    engine.finish();
    assert_eq!(in_use(&enough), 0);
    assert!(enough.snapshot().peak(Space::Host) <= least);
}

#[test]
fn stopping_gives_every_job_an_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (backend(), StageContext::unlimited(StageName::Setup));
    let keys = keys(folder.path(), 100, backend.as_ref(), &context);
    let ledger = ledger(1 << 30);
    let stop = Cancel::new();
    let config = EngineConfig { stop: stop.clone(), ..EngineConfig::default() };
    let engine = Engine::start(Toy, &[Arc::clone(&keys)], backend, &ledger, &config).unwrap();
    let handles: Vec<_> = (0..3).map(|_| engine.submit(job(&keys, statements(100, 3)))).collect();
    stop.cancel();
    let late = engine.submit(job(&keys, statements(100, 1)));
    for handle in handles.into_iter().chain([late]) {
        if let Err(error) = handle.wait() {
            assert!(matches!(error, JobError::Cancelled | JobError::Abandoned), "{error}");
        }
    }
    engine.finish();
    assert_eq!(in_use(&ledger), 0);
}

#[test]
fn an_engine_that_is_dropped_gives_its_jobs_up_and_leaves_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let (backend, context) = (backend(), StageContext::unlimited(StageName::Setup));
    let keys = keys(folder.path(), 100, backend.as_ref(), &context);
    let ledger = ledger(1 << 30);
    let engine = Engine::start(Toy, &[Arc::clone(&keys)], backend, &ledger, &EngineConfig::default()).unwrap();
    let times = engine.times();
    let handles: Vec<_> = (0..3).map(|_| engine.submit(job(&keys, statements(100, 5)))).collect();
    drop(engine);
    // What stages share is theirs as long as one of their threads lives.
    assert_eq!(Arc::strong_count(&times), 1);
    assert_eq!(in_use(&ledger), 0);
    let outcomes: Vec<_> = handles.into_iter().map(|handle| handle.wait()).collect();
    assert!(outcomes.iter().any(Result::is_err), "fifteen partitions were proved before the drop");
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert!(matches!(error, JobError::Cancelled | JobError::Abandoned), "{error}");
    }
}
