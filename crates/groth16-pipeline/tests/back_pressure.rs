//! Synthesis that is far faster than the transforms piles up no witnesses, and the transforms always have one to go on with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use bls12_381_layout::Affine;
use blstrs::Scalar;
use cpu_backend::CpuBackend;
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, JobSize, ParsedPartition, Statement, Synthesized};
use pipeline_stage::{Class, Failed, Ledger, Space, StageContext, StageName};
use prover_backend::{BackendError, BaseSource, Coset, FixedBase, FixedBaseTable, Msm, Ntt, ProverBackend, Scalars};
use toy::{Squarings, Toy, ToyError, ToyJob, ToyPartition, assert_within_plan, keys};

const JOBS: usize = 6;
const PARTITIONS: usize = 5;
/// Inverse transforms of a partition: A, B and C from the domain, d from the coset.
const INVERSE_TRANSFORMS: usize = 4;
/// Witnesses that are made while the transforms work on one: that one, and one for them to go on with. Admission lets no more in than that
/// once it knows that the transforms are the slow stage.
const AHEAD: usize = 2;
/// Partitions until it knows and those are through that went in before: one for each worker, eleven with many synthesis threads.
const WARM_UP: usize = 14;
/// Time of a slow inverse transform: by far longer than the synthesis of a toy, on a busy machine too.
const SLOW: Duration = Duration::from_millis(10);
/// Synthesis threads that could make far more.
const MANY: usize = 8;
/// Witnesses at most: in synthesis, and one in front of and in each of transforms, sums and finalisation.
const WITNESSES: u64 = 1 + 2 + 2 + 2;
/// Vanilla proofs at most: in parsing, in front of synthesis, in synthesis.
const VANILLA_PROOFS: u64 = 3;

/// Witnesses made so far. The transforms wait on it, so that time is counted in witnesses and not in seconds.
#[derive(Default)]
struct Made {
    count: Mutex<usize>,
    changed: Condvar,
}

struct Counted(Arc<Made>);

impl Statement for Counted {
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
        Toy.parse(job, context, announce, give)
    }

    fn synthesize(
        &self,
        keys: &CircuitKeys,
        index: usize,
        body: ToyPartition,
        context: &StageContext,
    ) -> Result<Synthesized, Failed<ToyPartition, ToyError>> {
        let synthesized = Toy.synthesize(keys, index, body, context)?;
        *self.0.count.lock().unwrap() += 1;
        self.0.changed.notify_all();
        Ok(synthesized)
    }
}

/// Transforms that take as long as synthesis needs to make all the witnesses it has room for.
struct SlowTransforms {
    inner: CpuBackend,
    made: Arc<Made>,
    inverse_transforms: AtomicUsize,
    ledger: Ledger,
    most: [AtomicU64; 2],
    /// Witnesses at most behind the first few partitions.
    most_later: AtomicU64,
    slow: Duration,
}

impl SlowTransforms {
    fn wait(&self) {
        let partition = self.inverse_transforms.fetch_add(1, Ordering::SeqCst) / INVERSE_TRANSFORMS;
        let enough = (partition + AHEAD).min(JOBS * PARTITIONS);
        drop(self.made.changed.wait_while(self.made.count.lock().unwrap(), |made| *made < enough).unwrap());
        let snapshot = self.ledger.snapshot();
        snapshot.check().unwrap();
        if partition >= WARM_UP {
            let witnesses = snapshot.cells().filter(|cell| cell.1 == Class::Witness).map(|cell| cell.3.buffers).sum();
            self.most_later.fetch_max(witnesses, Ordering::SeqCst);
        }
        thread::sleep(self.slow);
        for (class, most) in [Class::Witness, Class::VanillaProof].into_iter().zip(&self.most) {
            most.fetch_max(snapshot.cells().filter(|cell| cell.1 == class).map(|cell| cell.3.buffers).sum(), Ordering::SeqCst);
        }
    }
}

impl Ntt for SlowTransforms {
    fn forward(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        self.inner.forward(values, coset, context)
    }
    fn inverse(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        self.wait();
        self.inner.inverse(values, coset, context)
    }
    fn ntt_scratch_bytes(&self, log2_size: u32) -> u64 {
        self.inner.ntt_scratch_bytes(log2_size)
    }
}

impl<A: Affine> Msm<A> for SlowTransforms {
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, context: &StageContext) -> Result<A::Projective, BackendError> {
        self.inner.msm(bases, scalars, context)
    }
    fn msm_scratch_bytes(&self, points: usize) -> u64 {
        Msm::<A>::msm_scratch_bytes(&self.inner, points)
    }
}

impl<A: Affine> FixedBase<A> for SlowTransforms {
    fn fixed_base_table(
        &self,
        base: &A,
        multiplications: usize,
        context: &StageContext,
    ) -> Result<Box<dyn FixedBaseTable<A>>, BackendError> {
        self.inner.fixed_base_table(base, multiplications, context)
    }
}

impl ProverBackend for SlowTransforms {
    fn name(&self) -> &'static str {
        "slow-transforms"
    }
}

/// Proves everything; the backend with what it saw, and how often the transforms had nothing to do.
fn run(synth_threads: usize, slow: Duration) -> (Arc<SlowTransforms>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let keys = keys(folder.path(), 20, &CpuBackend::new(), &StageContext::unlimited(StageName::Setup));
    let ledger = Ledger::new(&[(Space::Host, 1 << 30), (Space::Mapped, u64::MAX)]);
    let made = Arc::new(Made::default());
    let backend = Arc::new(SlowTransforms {
        inner: CpuBackend::new(),
        made: Arc::clone(&made),
        inverse_transforms: AtomicUsize::new(0),
        ledger: ledger.clone(),
        most: Default::default(),
        most_later: AtomicU64::new(0),
        slow,
    });
    let dynamic: Arc<dyn ProverBackend> = Arc::clone(&backend) as Arc<dyn ProverBackend>;
    let jobs = JobSize { parsed_bytes: 1000, partition_bytes: 1000, ..JobSize::default() };
    let config = EngineConfig { synth_threads, jobs, ..EngineConfig::default() };
    let engine = Engine::start(Counted(made), &[Arc::clone(&keys)], dynamic, &ledger, &config).unwrap();
    let plan = engine.plan().clone();
    let partitions = |job: u64| -> Vec<_> {
        (0..PARTITIONS as u64).map(|i| Squarings { rounds: 20, x: Some(Scalar::from(1 + 100 * job + i)), lie_at: None }).collect()
    };
    let handles: Vec<_> = (0..JOBS as u64)
        .map(|job| engine.submit(ToyJob { keys: Arc::clone(&keys), partitions: partitions(job), refuse_after: None, panic_at: None }))
        .collect();
    for handle in handles {
        assert_eq!(handle.wait().unwrap().partitions, PARTITIONS);
    }
    let times = engine.times();
    engine.finish();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    assert_within_plan(&plan, &ledger);
    let ntt = times.stage(StageName::Ntt);
    assert_eq!(ntt.items, (JOBS * PARTITIONS) as u64);
    (backend, ntt.starved)
}

#[test]
fn fast_synthesis_waits_for_slow_transforms_that_never_wait_for_it() {
    let (backend, starved) = run(1, SLOW);
    // At the start, and at the end if the last witness is made but not handed over yet.
    assert!(starved <= 2, "the transforms went idle {starved} times while witnesses could have been made");
    let [witnesses, vanilla_proofs] = [0, 1].map(|class| backend.most[class].load(Ordering::SeqCst));
    assert!((AHEAD as u64..=WITNESSES).contains(&witnesses), "{witnesses} witnesses");
    assert!(vanilla_proofs <= VANILLA_PROOFS, "{vanilla_proofs} vanilla proofs");
}

#[test]
fn many_fast_synthesis_threads_are_not_let_run_ahead() {
    let (backend, starved) = run(MANY, SLOW);
    assert!(starved <= 2, "the transforms went idle {starved} times while witnesses could have been made");
    // Left to themselves, eight threads would each hold one, besides those in the queue and further down.
    let witnesses = backend.most_later.load(Ordering::SeqCst);
    assert!((AHEAD as u64..=AHEAD as u64 + 3).contains(&witnesses), "{witnesses} witnesses");
}
