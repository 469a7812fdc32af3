//! Backends that err: a wrong sum is found by verification and its partition is proved again, an error that may pass is tried again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bls12_381_layout::Affine;
use blstrs::{G2Affine, Scalar};
use cpu_backend::CpuBackend;
use groth16_pipeline::{CircuitKeys, Engine, EngineConfig, JobError, JobHandle};
use group::Group;
use pipeline_stage::{ErrorClass, Ledger, Space, StageContext, StageName};
use prover_backend::{BackendError, BaseSource, Coset, FixedBase, FixedBaseTable, Msm, Ntt, ProverBackend, Scalars};
use toy::{Squarings, Toy, ToyJob, keys};

/// What goes wrong in the n-th sum over b_g2, of which each proof has one.
type Fault = fn(usize) -> Deed;

#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Right,
    Wrong,
    Unreadable,
}

struct Faulty {
    inner: CpuBackend,
    fault: Fault,
    sums: AtomicUsize,
}

impl Faulty {
    fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self { inner: CpuBackend::new(), fault, sums: AtomicUsize::new(0) })
    }
}

impl Ntt for Faulty {
    fn forward(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        self.inner.forward(values, coset, context)
    }
    fn inverse(&self, values: &mut [Scalar], coset: Coset, context: &StageContext) -> Result<(), BackendError> {
        self.inner.inverse(values, coset, context)
    }
    fn ntt_scratch_bytes(&self, log2_size: u32) -> u64 {
        self.inner.ntt_scratch_bytes(log2_size)
    }
}

impl<A: Affine + 'static> Msm<A> for Faulty {
    fn msm(&self, bases: &dyn BaseSource<A>, scalars: Scalars<'_>, context: &StageContext) -> Result<A::Projective, BackendError> {
        let deed = if TypeId::of::<A>() == TypeId::of::<G2Affine>() {
            (self.fault)(self.sums.fetch_add(1, Ordering::SeqCst))
        } else {
            Deed::Right
        };
        if deed == Deed::Unreadable {
            return Err(BackendError::Bases { start: 0, end: bases.len(), reason: "told to fail".to_owned() });
        }
        let sum = self.inner.msm(bases, scalars, context)?;
        Ok(if deed == Deed::Wrong { sum.double() } else { sum })
    }
    fn msm_scratch_bytes(&self, points: usize) -> u64 {
        Msm::<A>::msm_scratch_bytes(&self.inner, points)
    }
}

impl<A: Affine> FixedBase<A> for Faulty {
    fn fixed_base_table(
        &self,
        base: &A,
        multiplications: usize,
        context: &StageContext,
    ) -> Result<Box<dyn FixedBaseTable<A>>, BackendError> {
        self.inner.fixed_base_table(base, multiplications, context)
    }
}

impl ProverBackend for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }
}

struct Shop {
    engine: Engine<Toy>,
    keys: Arc<CircuitKeys>,
    ledger: Ledger,
    backend: Arc<Faulty>,
    _folder: tempfile::TempDir,
}

fn start(fault: Fault) -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let context = StageContext::unlimited(StageName::Setup);
    let keys = keys(folder.path(), 20, &CpuBackend::new(), &context);
    let ledger = Ledger::new(&[(Space::Host, 1 << 30), (Space::Mapped, u64::MAX)]);
    let backend = Faulty::new(fault);
    let dynamic: Arc<dyn ProverBackend> = Arc::clone(&backend) as Arc<dyn ProverBackend>;
    let engine = Engine::start(Toy, &[Arc::clone(&keys)], dynamic, &ledger, &EngineConfig::default()).unwrap();
    Shop { engine, keys, ledger, backend, _folder: folder }
}

impl Shop {
    fn submit(&self, partitions: u64) -> JobHandle {
        let partitions = (0..partitions).map(|i| Squarings { rounds: 20, x: Some(Scalar::from(77 + i)), lie_at: None }).collect();
        self.engine.submit(ToyJob { keys: Arc::clone(&self.keys), partitions, refuse_after: None, panic_at: None })
    }

    /// Everything is returned; how many sums over b_g2 there were.
    fn finish(self) -> usize {
        self.engine.finish();
        self.ledger.snapshot().check().unwrap();
        assert_eq!(self.ledger.snapshot().in_use(Space::Host), 0);
        self.backend.sums.load(Ordering::SeqCst)
    }
}

#[test]
fn one_wrong_sum_costs_one_more_proof_of_that_partition() {
    let shop = start(|n| if n == 1 { Deed::Wrong } else { Deed::Right });
    // The toy gives its last partition first.
    let proof = shop.submit(3).wait().unwrap();
    assert_eq!((proof.partitions, proof.bytes.len()), (3, 3 * 192));
    assert_eq!(proof.reproved, [1]);
    assert!(shop.submit(1).wait().unwrap().reproved.is_empty());
    let times = shop.engine.times();
    assert_eq!(times.stage(StageName::Synth).items, 4, "witnesses are not made again");
    assert_eq!(shop.finish(), 5);
    assert_eq!(times.stage(StageName::Ntt).items, 5);
}

#[test]
fn a_partition_that_never_verifies_fails_after_two_proofs_and_the_others_go_on() {
    let shop = start(|n| if n < 2 { Deed::Wrong } else { Deed::Right });
    let error = shop.submit(1).wait().unwrap_err();
    assert!(matches!(&error, JobError::Stage { stage: "finalize", .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Fatal);
    assert!(error.to_string().contains("partition 0 does not verify, and neither did 1 before it"), "{error}");
    assert_eq!(shop.submit(2).wait().unwrap().reproved, []);
    assert_eq!(shop.finish(), 4);
}

#[test]
fn a_backend_that_is_always_wrong_fails_every_job_and_drains() {
    let shop = start(|_| Deed::Wrong);
    let handles: Vec<_> = (1..=4).map(|partitions| shop.submit(partitions)).collect();
    for handle in handles {
        let error = handle.wait().unwrap_err();
        assert!(matches!(&error, JobError::Stage { stage: "finalize", .. }), "{error}");
    }
    shop.finish();
}

#[test]
fn an_error_that_may_pass_is_tried_again_from_the_same_quotient() {
    let shop = start(|n| if n == 0 || n == 2 { Deed::Unreadable } else { Deed::Right });
    assert!(shop.submit(2).wait().is_ok());
    let times = shop.engine.times();
    assert_eq!(shop.finish(), 4);
    assert_eq!((times.stage(StageName::Msm).retries, times.stage(StageName::Ntt).items), (2, 2));
}

#[test]
fn an_error_that_does_not_pass_fails_its_job_after_the_configured_tries() {
    let shop = start(|n| if n < 3 { Deed::Unreadable } else { Deed::Right });
    let error = shop.submit(1).wait().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Retryable);
    assert!(error.to_string().contains("told to fail"), "{error}");
    assert!(shop.submit(1).wait().is_ok());
    assert_eq!(shop.finish(), 4);
}
