//! Which of several waiting jobs is begun next.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::sync::{Arc, Barrier, Mutex};

use blstrs::Scalar;
use cpu_backend::CpuBackend;
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, ParsedPartition, Priority, Statement, Synthesized};
use pipeline_stage::{Failed, Ledger, Space, StageContext, StageName};
use prover_backend::ProverBackend;
use toy::{Squarings, Toy, ToyError, ToyJob, ToyPartition, keys};

/// Notes which jobs are begun, by their number of partitions; the first waits inside.
struct Noted {
    begun: Arc<Mutex<Vec<usize>>>,
    inside: Arc<Barrier>,
    go_on: Arc<Barrier>,
}

impl Statement for Noted {
    type Job = ToyJob;
    type Partition = ToyPartition;
    type Error = ToyError;

    fn parse(
        &self,
        job: ToyJob,
        context: &StageContext,
        announce: &mut dyn FnMut(usize),
        give: &mut dyn FnMut(ParsedPartition<ToyPartition>),
    ) -> Result<(), Failed<ToyJob, ToyError>> {
        let first = {
            let mut begun = self.begun.lock().unwrap();
            begun.push(job.partitions.len());
            begun.len() == 1
        };
        if first {
            self.inside.wait();
            self.go_on.wait();
        }
        Toy.parse(job, context, announce, give)
    }

    fn synthesize(
        &self,
        keys: &CircuitKeys,
        index: usize,
        body: ToyPartition,
        context: &StageContext,
    ) -> Result<Synthesized, Failed<ToyPartition, ToyError>> {
        Toy.synthesize(keys, index, body, context)
    }
}

#[test]
fn the_most_urgent_job_that_waits_is_begun_next() {
    let folder = tempfile::tempdir().unwrap();
    let backend: Arc<dyn ProverBackend> = Arc::new(CpuBackend::new());
    let keys = keys(folder.path(), 5, backend.as_ref(), &StageContext::unlimited(StageName::Setup));
    let ledger = Ledger::new(&[(Space::Host, 1 << 30), (Space::Mapped, u64::MAX)]);
    let begun = Arc::new(Mutex::new(Vec::new()));
    let (inside, go_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let statement = Noted { begun: Arc::clone(&begun), inside: Arc::clone(&inside), go_on: Arc::clone(&go_on) };
    let engine = Engine::start(statement, &[Arc::clone(&keys)], backend, &ledger, &EngineConfig::default()).unwrap();
    let job = |partitions: u64| {
        let partitions = (0..partitions).map(|i| Squarings { rounds: 5, x: Some(Scalar::from(7 + i)), lie_at: None }).collect();
        ToyJob { keys: Arc::clone(&keys), partitions, refuse_after: None, panic_at: None }
    };
    let mut handles = vec![engine.submit(job(1))];
    inside.wait();
    for (partitions, priority) in [(2, Priority::Low), (3, Priority::Normal), (4, Priority::Critical), (5, Priority::High)] {
        handles.push(engine.submit_with(priority, job(partitions)));
    }
    go_on.wait();
    for (handle, partitions) in handles.into_iter().zip(1..) {
        assert_eq!(handle.wait().unwrap().partitions, partitions);
    }
    assert_eq!(*begun.lock().unwrap(), [1, 4, 5, 3, 2]);
    engine.finish();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}
