//! The schemes of the history, and our own, as models.

use std::time::Duration;

use pipeline_stage::{Class, StageName};
use scheduler::policy::{Control, Priority};
use scheduler::simulator::{
    Admission, Buffer, Estimates, JobModel, KindModel, Model, PermitRule, Phase, ResourceModel, StageModel, Times, Units,
};

use super::inputs::{Range, Settings, ours, theirs};

/// One way to run the jobs, and what is published about it.
pub(super) struct Scheme {
    pub(super) key: char,
    pub(super) title: &'static str,
    pub(super) model: Model,
    /// Seconds a proof.
    pub(super) published_pace: Option<f64>,
    /// In GiB.
    pub(super) published_peak: Option<f64>,
}

/// Position of the device among the resources.
pub(super) const DEVICE: usize = 0;
/// Position of the transform buffers.
const BUFFERS: usize = 1;
/// Of a job.
const PARTITIONS: u32 = 10;
/// They start a task for each partition behind the device; more than this many are never there at once.
const FINISHERS: u32 = 16;

/// The history, and our schemes with the same times, with more buffers, and with our own times.
pub(super) fn schemes(settings: &Settings) -> Vec<Scheme> {
    let (at_end, held) = (PermitRule::ReleasedAtEnd, PermitRule::HeldThroughSend);
    let workers = settings.workers as usize;
    let swept = theirs::SWEEP.iter().find(|row| row.0 == settings.workers);
    let scheme = |key, title, model| Scheme { key, title, model, published_pace: None, published_peak: None };
    let same = OurTimes { synthesis: Range::exactly(witness_time(settings)), evaluation: Range::exactly(theirs::EVALUATION_ALONE) };
    let measured = OurTimes { synthesis: ours::SYNTHESIS, evaluation: ours::EVALUATION_CPU / ours::EVALUATION_THREADS };
    vec![
        Scheme {
            published_peak: theirs::BEFORE.iter().find(|row| row.0 == settings.workers).map(|row| row.1),
            ..scheme('a', "permit back when synthesis ends, one slot", full_vectors(settings, at_end, 1))
        },
        Scheme {
            published_peak: (settings.workers == 12).then_some(theirs::HELD_GIB),
            ..scheme('b', "permit held through the send, one slot", full_vectors(settings, held, 1))
        },
        Scheme {
            published_pace: swept.map(|row| row.3),
            published_peak: swept.map(|row| row.4),
            ..scheme('c', "permit held, channel deep as the workers", full_vectors(settings, held, workers))
        },
        scheme('d', "the same vectors, admitted by our policy", admitted_by_policy(settings, full_vectors(settings, held, workers))),
        scheme('e', "ours: same times, two transform buffers", compact(settings, same, 2)),
        scheme('f', "ours: same times, four transform buffers", compact(settings, same, 4)),
        scheme('g', "ours: our measured times, four buffers", compact(settings, measured, 4)),
    ]
}

/// Scheme (c) with the workers and jobs of a published run, and everything else as set.
pub(super) fn swept(settings: &Settings, workers: u32, device_workers: u32, jobs: u32) -> Model {
    let settings = Settings { workers, device_workers, jobs, ..*settings };
    full_vectors(&settings, PermitRule::HeldThroughSend, workers as usize)
}

/// The part of a synthesis that makes the witness, in proportion when another time is asked for.
fn witness_time(settings: &Settings) -> Duration {
    theirs::WITNESS_TIME.mul_f64(settings.synthesis.mean().as_secs_f64() / theirs::SYNTHESIS_MEAN.as_secs_f64())
}

fn jobs(settings: &Settings) -> Vec<JobModel> {
    let job = JobModel { priority: Priority::Normal, arrives: Duration::ZERO, partitions: PARTITIONS, kind: 0 };
    vec![job; settings.jobs as usize]
}

fn device() -> ResourceModel {
    ResourceModel { name: "device".to_owned(), units: 1, bytes_each: 0, class: Class::Staging }
}

/// The device's work on a partition, alone on the device.
fn on_device(settings: &Settings) -> Phase {
    let unit = vec![Units { resource: DEVICE, units: 1 }];
    Phase { times: settings.device.times(), borrows: unit.clone(), returns: unit, ..Phase::default() }
}

/// Witness, a, b and c travel as plain vectors.
fn full_vectors(settings: &Settings, permit: PermitRule, queue_depth: usize) -> Model {
    let witness_time = witness_time(settings).min(settings.synthesis.least);
    let witness = Phase {
        times: Times::exactly(witness_time),
        takes: vec![Buffer { class: Class::Witness, bytes: theirs::WITNESS }],
        ..Phase::default()
    };
    let evaluation = Phase {
        times: settings.synthesis.after(witness_time).times(),
        takes: vec![Buffer { class: Class::Evaluations, bytes: theirs::EVALUATIONS }],
        ..Phase::default()
    };
    let compute = Phase { gives: vec![Class::Evaluations], ..on_device(settings) };
    let finish = Phase { times: Times::exactly(theirs::FINISH), gives: vec![Class::Witness], ..Phase::default() };
    Model {
        stages: vec![
            StageModel { name: StageName::Synth, queue: StageName::QueuedSynth, workers: settings.workers, queue_depth: 1, permit },
            StageModel {
                name: StageName::Msm,
                queue: StageName::QueuedMsm,
                workers: settings.device_workers,
                queue_depth,
                permit: PermitRule::HeldThroughSend,
            },
            StageModel {
                name: StageName::Finalize,
                queue: StageName::QueuedFinalize,
                workers: FINISHERS,
                queue_depth: 1,
                permit: PermitRule::HeldThroughSend,
            },
        ],
        kinds: vec![KindModel { work: vec![vec![witness, evaluation], vec![compute], vec![finish]] }],
        resources: vec![device()],
        fixed: vec![
            Buffer { class: Class::SrsSection, bytes: theirs::KEY },
            Buffer { class: Class::CompiledCircuit, bytes: theirs::CONSTRAINTS },
        ],
        fixed_at: StageName::Setup,
        set_aside: Class::Reserved,
        // Nothing limits bytes in this history but the kernel's killer; a run that passes the machine's memory shows when.
        budget: u64::MAX,
        admission: Admission::Everything,
        jobs: jobs(settings),
        seed: settings.seed,
    }
}

/// The same pipeline with our admission and our budget.
fn admitted_by_policy(settings: &Settings, mut model: Model) -> Model {
    // The tasks behind the device are no places to fill.
    model.stages[2].workers = 1;
    Model { budget: settings.budget, admission: policy(settings), ..model }
}

fn policy(settings: &Settings) -> Admission {
    Admission::Policy { control: Control { margin_percent: settings.margin_percent }, estimates: Estimates::Measured }
}

#[derive(Clone, Copy)]
struct OurTimes {
    synthesis: Range,
    evaluation: Range,
}

/// Compact witnesses travel; a, b and c exist in transform buffers only.
fn compact(settings: &Settings, times: OurTimes, buffers: u32) -> Model {
    let pair = Units { resource: BUFFERS, units: 2 };
    let synthesis = Phase {
        times: times.synthesis.times(),
        takes: vec![
            Buffer { class: Class::Witness, bytes: ours::WITNESS },
            Buffer { class: Class::Reserved, bytes: ours::WITNESS_AT_MOST - ours::WITNESS },
        ],
        gives: vec![Class::Reserved],
        ..Phase::default()
    };
    let evaluation = Phase { times: times.evaluation.times(), borrows: vec![pair], ..Phase::default() };
    let mut compute = on_device(settings);
    compute.returns.push(pair);
    let finish = Phase { times: Times::exactly(theirs::FINISH), gives: vec![Class::Witness], ..Phase::default() };
    let stage = |name, queue, workers| StageModel { name, queue, workers, queue_depth: 1, permit: PermitRule::HeldThroughSend };
    let transform_buffers =
        ResourceModel { name: "transform buffers".to_owned(), units: buffers, bytes_each: ours::BUFFER, class: Class::Evaluations };
    let mut stages = vec![
        stage(StageName::Synth, StageName::QueuedSynth, settings.workers),
        stage(StageName::Ntt, StageName::QueuedNtt, 1),
        stage(StageName::Msm, StageName::QueuedMsm, 1),
        stage(StageName::Finalize, StageName::QueuedFinalize, 1),
    ];
    // A witness that is made is small and waits in the queue, so that a worker never waits for a place.
    stages[1].queue_depth = settings.workers as usize;
    Model {
        stages,
        kinds: vec![KindModel { work: vec![vec![synthesis], vec![evaluation], vec![compute], vec![finish]] }],
        resources: vec![device(), transform_buffers],
        fixed: vec![Buffer { class: Class::SrsSection, bytes: ours::KEY }, Buffer { class: Class::CompiledCircuit, bytes: ours::CIRCUIT }],
        fixed_at: StageName::Setup,
        set_aside: Class::Reserved,
        budget: settings.budget,
        admission: policy(settings),
        jobs: jobs(settings),
        seed: settings.seed,
    }
}
