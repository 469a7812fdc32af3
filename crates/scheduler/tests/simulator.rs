//! The simulator against small cases worked out by hand, against what must hold in every run, and against the real ledger.

use std::time::Duration;

use buffer_accounting::{Label, labels};
use pipeline_stage::{Class, Ledger, Permit, Request, Space, StageName};
use proptest::prelude::*;
use scheduler::policy::{Control, Priority};
use scheduler::simulator::{
    Admission, Buffer, EntryKind, Estimates, JobModel, KindModel, Model, ModelError, PermitRule, Phase, ResourceModel, Run, StageModel,
    Times, Units, simulate,
};

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn phase(time: u64, takes: &[(Class, u64)], gives: &[Class]) -> Phase {
    Phase {
        times: Times::exactly(seconds(time)),
        takes: takes.iter().map(|&(class, bytes)| Buffer { class, bytes }).collect(),
        gives: gives.to_vec(),
        ..Phase::default()
    }
}

/// A stage, and what it does with a partition.
type Work = (StageModel, Vec<Phase>);

fn stage(number: usize, workers: u32, queue_depth: usize, permit: PermitRule, phases: Vec<Phase>) -> Work {
    let names = [
        (StageName::QueuedSynth, StageName::Synth),
        (StageName::QueuedNtt, StageName::Ntt),
        (StageName::QueuedMsm, StageName::Msm),
        (StageName::QueuedFinalize, StageName::Finalize),
    ];
    let (queue, name) = names[number];
    (StageModel { name, queue, workers, queue_depth, permit }, phases)
}

fn jobs(partitions: &[u32]) -> Vec<JobModel> {
    let job = |&partitions| JobModel { priority: Priority::Normal, arrives: Duration::ZERO, partitions, kind: 0 };
    partitions.iter().map(job).collect()
}

fn model(stages: Vec<Work>, admission: Admission, jobs: Vec<JobModel>) -> Model {
    let (stages, work) = stages.into_iter().unzip();
    Model {
        stages,
        kinds: vec![KindModel { work }],
        resources: Vec::new(),
        fixed: Vec::new(),
        fixed_at: StageName::Setup,
        set_aside: Class::Reserved,
        budget: u64::MAX,
        admission,
        jobs,
        seed: 1,
    }
}

fn policy(margin_percent: u32, estimates: Estimates) -> Admission {
    Admission::Policy { control: Control { margin_percent }, estimates }
}

/// Two seconds of making ten bytes, in front of five seconds with a hundred more.
fn two_stages(permit: PermitRule, partitions: u32) -> Model {
    let making = phase(2, &[(Class::Witness, 10)], &[]);
    let using = phase(5, &[(Class::Evaluations, 100)], &[Class::Evaluations, Class::Witness]);
    let stages = vec![stage(0, 1, 1, permit, vec![making]), stage(1, 1, 1, permit, vec![using])];
    model(stages, Admission::Everything, jobs(&[partitions]))
}

#[test]
fn a_line_of_two_as_worked_out_by_hand() {
    let run = simulate(&two_stages(PermitRule::HeldThroughSend, 3)).unwrap();
    // Made at 2, 4 and 6; used from 2, 7 and 12; the third waits from 6 to 7 for the place that the second leaves.
    assert_eq!(run.end, seconds(17));
    let bytes: Vec<(u64, u64)> = run.samples.iter().map(|sample| (sample.time.as_secs(), sample.in_use())).collect();
    assert_eq!(bytes, [(0, 0), (0, 10), (2, 120), (4, 130), (6, 130), (7, 120), (12, 110), (17, 0)]);
    assert_eq!((run.peak.bytes, run.peak.at), (130, seconds(4)));
    assert_eq!(run.peak.by_class[Class::Witness.index()], 30);
    let time = |number: usize| {
        let s = run.stages[number];
        [s.busy, s.waiting, s.blocked, s.idle].map(|time| time.as_secs())
    };
    assert_eq!((time(0), time(1)), ([6, 0, 1, 10], [15, 0, 0, 2]));
    assert_eq!(run.cell_peak(Class::Witness, StageName::QueuedNtt), 10);
    assert_eq!(run.cell_peak(Class::Witness, StageName::Synth), 10);
    assert_eq!((run.jobs[0].started, run.jobs[0].ended, run.in_flight_most, run.left_over), (Duration::ZERO, seconds(17), 3, 0));
}

#[test]
fn a_permit_returned_at_the_end_lets_results_pile_up_and_one_held_through_the_send_does_not() {
    let most_unsent = |run: &Run| run.samples.iter().map(|sample| sample.stages[0].unsent).max().unwrap();
    let pile = |permit, partitions| most_unsent(&simulate(&two_stages(permit, partitions)).unwrap());
    // Of twenty, all are made by 40, when eight are used or in use (2, 7, ... 37) and one has the place in the queue.
    assert_eq!(pile(PermitRule::ReleasedAtEnd, 20), 11);
    assert_eq!(pile(PermitRule::ReleasedAtEnd, 40), 23);
    assert_eq!((pile(PermitRule::HeldThroughSend, 20), pile(PermitRule::HeldThroughSend, 40)), (1, 1));
    // Neither is faster: the slow stage is never without work.
    for permit in [PermitRule::ReleasedAtEnd, PermitRule::HeldThroughSend] {
        assert_eq!(simulate(&two_stages(permit, 20)).unwrap().end, seconds(102));
    }
}

#[test]
fn workers_share_a_device_as_worked_out_by_hand() {
    let mut work = vec![phase(1, &[], &[]), phase(4, &[], &[])];
    work[1].borrows = vec![Units { resource: 0, units: 1 }];
    work[1].returns = work[1].borrows.clone();
    let mut two = model(vec![stage(0, 2, 1, PermitRule::HeldThroughSend, work)], Admission::Everything, jobs(&[3]));
    two.resources = vec![ResourceModel { name: "device".to_owned(), units: 1, bytes_each: 7, class: Class::NttScratch }];
    let run = simulate(&two).unwrap();
    // Both prepare until 1; one computes until 5, while the other waits; the third prepares from 5 and waits until 9.
    assert_eq!(run.end, seconds(13));
    let device = &run.resources[0];
    assert_eq!((device.busy, device.span, device.idle_share()), (seconds(12), seconds(12), 0.0));
    assert_eq!((run.stages[0].busy, run.stages[0].waiting, run.stages[0].idle), (seconds(15), seconds(4 + 3), seconds(4)));
    assert_eq!(run.peak.bytes, 7);
    assert_eq!((run.cell_peak(Class::NttScratch, StageName::Synth), run.cell_peak(Class::Reserved, StageName::Synth)), (7, 7));
}

#[test]
fn the_urgent_job_and_then_the_older_one_goes_first() {
    let mut one =
        model(vec![stage(0, 1, 1, PermitRule::HeldThroughSend, vec![phase(10, &[], &[])])], Admission::Everything, jobs(&[3, 2, 1]));
    one.jobs[1].arrives = seconds(5);
    one.jobs[2] = JobModel { priority: Priority::Critical, arrives: seconds(6), partitions: 1, kind: 0 };
    let run = simulate(&one).unwrap();
    assert_eq!(run.jobs.iter().map(|job| job.ended.as_secs()).collect::<Vec<_>>(), [40, 60, 20]);
}

#[test]
fn holding_some_and_waiting_for_more_deadlocks_and_setting_all_aside_does_not() {
    let work = vec![phase(1, &[(Class::Witness, 60)], &[]), phase(1, &[(Class::Evaluations, 60)], &[])];
    let mut pair = model(vec![stage(0, 2, 1, PermitRule::HeldThroughSend, work)], Admission::Everything, jobs(&[4]));
    pair.budget = 150;
    let stuck = simulate(&pair).unwrap_err();
    assert_eq!(stuck, ModelError::Stuck { time: seconds(1), unfinished: 4, in_use: 120, budget: 150 });
    pair.admission = policy(0, Estimates::Measured);
    let run = simulate(&pair).unwrap();
    assert_eq!((run.end, run.peak.bytes, run.in_flight_most), (seconds(8), 120, 1));
    pair.budget = 240;
    let run = simulate(&pair).unwrap();
    assert_eq!((run.end, run.peak.bytes, run.in_flight_most), (seconds(4), 240, 2));
}

#[test]
fn models_that_make_no_sense_are_refused() {
    let good = two_stages(PermitRule::HeldThroughSend, 1);
    let refused = |change: &dyn Fn(&mut Model)| {
        let mut model = good.clone();
        change(&mut model);
        simulate(&model).unwrap_err()
    };
    let unit = Units { resource: 0, units: 1 };
    assert!(matches!(refused(&|m| m.stages.clear()), ModelError::NoStage(_)));
    assert!(matches!(refused(&|m| m.stages[1].workers = 0), ModelError::NoStage(_)));
    assert!(matches!(refused(&|m| m.kinds[0].work[1].clear()), ModelError::NoStage(_)));
    assert!(matches!(refused(&|m| m.kinds[0].work[0][0].borrows.push(unit)), ModelError::NoSuchUnits { units: 0, .. }));
    assert!(matches!(refused(&|m| m.kinds[0].work[0][0].returns.push(unit)), ModelError::NotBorrowed { had: 0, .. }));
    assert!(matches!(refused(&|m| m.kinds[0].work.truncate(1)), ModelError::NoStage(_)));
    assert_eq!(refused(&|m| m.jobs[0].kind = 1), ModelError::NoSuchKind { kind: 1, kinds: 1 });
    assert_eq!(refused(&|m| m.budget = 109), ModelError::TooLarge { needed: 110, budget: 109, held: 0 });
    assert!(simulate(&Model { jobs: Vec::new(), ..good.clone() }).unwrap().peak.bytes == 0);
}

#[test]
fn the_policy_keeps_the_slow_stage_busy_with_a_fraction_of_the_memory() {
    // Thirty seconds on many threads, a fifth more or less, before three seconds of one device.
    let spread = |least, most| Times { least: Duration::from_millis(least), most: Duration::from_millis(most) };
    let mut synth = phase(0, &[(Class::Witness, 1)], &[]);
    synth.times = spread(24_000, 36_000);
    let mut device = phase(0, &[], &[]);
    device.times = spread(2_700, 3_300);
    let stages = |permit| vec![stage(0, 40, 1, permit, vec![synth.clone()]), stage(1, 1, 4, permit, vec![device.clone()])];
    let work = jobs(&[10; 30]);
    let everything = simulate(&model(stages(PermitRule::ReleasedAtEnd), Admission::Everything, work.clone())).unwrap();
    assert!(everything.peak.bytes > 200, "{}", everything.peak.bytes);
    for estimates in [Estimates::Given(vec![vec![seconds(30), seconds(3)]]), Estimates::Measured] {
        let given = estimates != Estimates::Measured;
        let run = simulate(&model(stages(PermitRule::HeldThroughSend), policy(25, estimates), work.clone())).unwrap();
        let device = run.stages[1];
        let first = run.jobs[0].started + run.samples.iter().find(|s| s.stages[1].working > 0).unwrap().time;
        let idle = (device.idle.saturating_sub(first)).as_secs_f64() / run.end.as_secs_f64();
        assert!(idle < 0.01, "the device idles {idle} of the time");
        assert!(run.end <= everything.end + everything.end / 100, "{:?} and {:?}", run.end, everything.end);
        // ⌈1.25 x 33 / 3⌉ and the one behind the bottleneck; before anything is measured, one for each of the forty-one workers.
        assert!(run.in_flight_most <= if given { 15 } else { 41 }, "{}", run.in_flight_most);
        let later = run.samples.iter().filter(|s| s.time > seconds(200)).map(|s| s.in_use()).max().unwrap();
        assert!(later <= 17, "{later}");
    }
}

#[test]
fn an_urgent_small_job_does_not_wait_behind_large_ones() {
    let work =
        |synth, device, bytes| KindModel { work: vec![vec![phase(synth, &[(Class::Witness, bytes)], &[])], vec![phase(device, &[], &[])]] };
    let large_stages = vec![stage(0, 12, 1, PermitRule::HeldThroughSend, vec![]), stage(1, 1, 4, PermitRule::HeldThroughSend, vec![])];
    let mut mixed = model(large_stages, policy(25, Estimates::Measured), jobs(&[10; 6]));
    mixed.kinds = vec![work(30, 4, 100), work(1, 1, 3)];
    mixed.budget = 1400;
    mixed.jobs.push(JobModel { priority: Priority::Critical, arrives: seconds(101), partitions: 1, kind: 1 });
    let run = simulate(&mixed).unwrap();
    let urgent = run.jobs[6];
    // At most the rest of one partition at each stage, and its own two seconds; twelve are in front of it in the order of arrival.
    assert!(urgent.ended - urgent.arrived <= seconds(30 + 4 + 2), "{urgent:?}");
    assert_eq!(run.stages[1].busy, seconds(60 * 4 + 1));
    // With a worker to spare it does not wait for a synthesis either.
    mixed.stages[0].workers = 20;
    let urgent = simulate(&mixed).unwrap().jobs[6];
    assert!(urgent.ended - urgent.arrived <= seconds(4 + 2), "{urgent:?}");
    mixed.jobs[6].priority = Priority::Normal;
    let patient = simulate(&mixed).unwrap().jobs[6];
    assert!(patient.ended - patient.arrived > seconds(100), "{patient:?}");
}

#[test]
fn labels_can_be_anybodys() {
    labels! {
        enum Pixels {
            Tile => "tile",
            Spare => "spare",
        }
    }
    labels! {
        enum Place {
            Waiting => "waiting",
            Blur => "blur",
        }
    }
    let blur = Phase { times: Times::exactly(seconds(2)), takes: vec![Buffer { class: Pixels::Tile, bytes: 5 }], ..Phase::default() };
    let stages =
        vec![StageModel { name: Place::Blur, queue: Place::Waiting, workers: 2, queue_depth: 1, permit: PermitRule::ReleasedAtEnd }];
    let model = Model {
        stages,
        kinds: vec![KindModel { work: vec![vec![blur]] }],
        resources: Vec::new(),
        fixed: Vec::new(),
        fixed_at: Place::Waiting,
        set_aside: Pixels::Spare,
        budget: 10,
        admission: policy(0, Estimates::Measured),
        jobs: jobs(&[4]),
        seed: 0,
    };
    let run = simulate(&model).unwrap();
    assert_eq!((run.end, run.peak.bytes, run.cell_peak(Pixels::Tile, Place::Blur)), (seconds(4), 10, 10));
}

#[test]
fn a_stage_ten_times_faster_than_the_next_does_not_run_ahead() {
    let fast = phase(1, &[(Class::Evaluations, 100)], &[]);
    let slow = phase(10, &[], &[]);
    let stages = vec![stage(0, 12, 12, PermitRule::HeldThroughSend, vec![fast]), stage(1, 1, 12, PermitRule::HeldThroughSend, vec![slow])];
    let run = simulate(&model(stages.clone(), policy(25, Estimates::Given(vec![vec![seconds(1), seconds(10)]])), jobs(&[10, 10]))).unwrap();
    assert_eq!((run.end, run.peak.bytes), (seconds(1 + 200), 200));
    assert_eq!((run.stages[1].idle, run.in_flight_most), (seconds(1), 2));
    let run = simulate(&model(stages, Admission::Everything, jobs(&[10, 10]))).unwrap();
    assert_eq!((run.end, run.peak.bytes), (seconds(1 + 200), 2000));
}

/// The same entries in the books of a real ledger; gives what is in use at the end, or what differs.
fn replay(run: &Run, budget: u64) -> Result<u64, String> {
    let ledger = Ledger::new(&[(Space::Host, budget)]);
    let mut permits: Vec<Option<Permit>> = Vec::new();
    let acquire = |class, stage, bytes| {
        ledger.try_acquire(Request { space: Space::Host, class, stage, bytes }).map_err(|refused| refused.to_string())
    };
    for entry in &run.entries {
        if let EntryKind::Take { class, stage, bytes } = entry.kind {
            permits.push(Some(acquire(class, stage, bytes)?));
            continue;
        }
        let slot = permits.get_mut(entry.buffer).ok_or("a buffer that was never made")?;
        let permit = slot.as_mut().ok_or("a buffer that is gone")?;
        match entry.kind {
            EntryKind::Take { .. } => {}
            EntryKind::Move { class, stage } => {
                permit.reclassify(class);
                permit.attribute_to(stage);
            }
            EntryKind::Resize { bytes } => {
                permit.shrink_to(bytes);
                let more = acquire(permit.class(), permit.stage(), bytes - permit.bytes())?;
                permit.merge(more).map_err(|_| "permits of one cell do not merge")?;
            }
            EntryKind::Give => drop(slot.take()),
        }
        ledger.snapshot().check()?;
    }
    let usage = ledger.snapshot();
    let mut differences = Vec::new();
    let mut compare = |what: String, real: u64, simulated: u64| {
        if real != simulated {
            differences.push(format!("{what}: {real} and {simulated}"));
        }
    };
    compare("peak".to_owned(), usage.peak(Space::Host), run.peak.bytes);
    for (_, class, stage, cell) in usage.cells() {
        // A permit changes class and stage one after the other, so a unit that changes both shows in a third cell for a moment.
        if !matches!(class, Class::Reserved | Class::MsmBuckets) {
            compare(format!("peak of {class:?} at {stage:?}"), cell.peak_bytes, run.cell_peak(class, stage));
        }
    }
    for &class in Class::ALL {
        let last = run.samples.last().map_or(0, |sample| sample.bytes[class.index()]);
        compare(format!("{class:?} at the end"), usage.class(Space::Host, class).bytes, last);
    }
    if differences.is_empty() { Ok(usage.in_use(Space::Host)) } else { Err(differences.join("; ")) }
}

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let classes = [Class::Witness, Class::Evaluations, Class::HPoly];
    let one =
        (0u64..20, 0u64..20, prop::collection::vec((0usize..3, 1u64..50), 0..3), prop::collection::vec(0usize..3, 0..2), any::<bool>());
    let phase = one.prop_map(move |(least, more, takes, gives, device)| {
        let units = if device { vec![Units { resource: 0, units: 1 }] } else { Vec::new() };
        Phase {
            times: Times { least: seconds(least), most: seconds(least + more) },
            takes: takes.into_iter().map(|(class, bytes)| Buffer { class: classes[class], bytes }).collect(),
            gives: gives.into_iter().map(|class| classes[class]).collect(),
            borrows: units.clone(),
            returns: units,
        }
    });
    prop::collection::vec(phase, 1..3)
}

fn models() -> impl Strategy<Value = Model> {
    let one = (1u32..5, 1usize..5, any::<bool>(), phases());
    let work = prop::collection::vec((0usize..4, 0u64..300, 1u32..6), 1..6);
    let admission = prop_oneof![
        Just(Admission::Everything),
        (0u32..50).prop_map(|margin| policy(margin, Estimates::Measured)),
        prop::collection::vec(1u64..40, 4).prop_map(|times| policy(25, Estimates::Given(vec![times.into_iter().map(seconds).collect()]))),
    ];
    (prop::collection::vec(one, 1..4), work, admission, any::<u64>(), 0u64..400).prop_map(|(stages, work, admission, seed, room)| {
        let rule = |released| if released { PermitRule::ReleasedAtEnd } else { PermitRule::HeldThroughSend };
        let numbered = stages.into_iter().enumerate();
        let stages = numbered.map(|(n, (workers, depth, released, phases))| stage(n, workers, depth, rule(released), phases)).collect();
        let job = |(priority, arrives, partitions)| JobModel {
            priority: Priority::ALL[priority],
            arrives: seconds(arrives),
            partitions,
            kind: 0,
        };
        let mut model = model(stages, admission, work.into_iter().map(job).collect());
        model.seed = seed;
        model.resources = vec![ResourceModel { name: "device".to_owned(), units: 1, bytes_each: 16, class: Class::MsmBuckets }];
        model.fixed = vec![Buffer { class: Class::SrsSection, bytes: 40 }];
        // Where all that a partition needs is set aside, room for one is enough; else only endless room surely is.
        let set_aside = model.admission != Admission::Everything;
        model.budget = if set_aside { model.held_from_the_start() + model.bytes_each(0) + room } else { u64::MAX };
        model
    })
}

/// Stages with times that vary by a fifth up and down, and what they take on average in milliseconds.
fn lines() -> impl Strategy<Value = (Vec<Work>, Vec<Duration>)> {
    let one = (1u32..8, 200u64..20_000);
    prop::collection::vec(one, 2..5).prop_map(|stages| {
        let means = stages.iter().map(|(_, ms)| Duration::from_millis(*ms)).collect();
        let work = stages.into_iter().enumerate().map(|(number, (workers, ms))| {
            let mut varying = phase(0, &[(Class::Witness, 1)], &[]);
            varying.times = Times { least: Duration::from_millis(ms * 4 / 5), most: Duration::from_millis(ms * 6 / 5) };
            stage(number, workers, 1000, PermitRule::HeldThroughSend, vec![varying])
        });
        (work.collect(), means)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn admission_costs_no_more_than_a_few_percent_of_the_pace_of_admitting_everything(((stages, means), seed) in (lines(), any::<u64>())) {
        let mut line = model(stages, Admission::Everything, jobs(&[10; 20]));
        line.seed = seed;
        let everything = simulate(&line).unwrap();
        for estimates in [Estimates::Given(vec![means.clone()]), Estimates::Measured] {
            line.admission = policy(25, estimates);
            let run = simulate(&line).unwrap();
            prop_assert!(run.end <= everything.end + everything.end / 20, "{:?} and {:?}", run.end, everything.end);
            let way: Duration = means.iter().sum();
            let workers: u64 = line.stages.iter().map(|stage| u64::from(stage.workers)).sum();
            let pace = line.stages.iter().zip(&means).map(|(stage, mean)| *mean / stage.workers).max().unwrap();
            // An estimate is within a tenth of a mean of times within a fifth; and before there is one, a partition for each worker.
            let critical = way.as_secs_f64() * 1.25 / pace.as_secs_f64() * (1.1 * 1.2 / (0.9 * 0.8));
            prop_assert!(run.in_flight_most as f64 <= critical.max(workers as f64) + 8.0, "{} > {critical}", run.in_flight_most);
        }
    }

    #[test]
    fn every_run_ends_keeps_its_bounds_and_loses_nothing(model in models()) {
        let run = simulate(&model).unwrap();
        prop_assert_eq!(&run, &simulate(&model).unwrap());
        prop_assert_eq!(run.left_over, 0);
        prop_assert!(run.peak.bytes <= model.budget);
        prop_assert_eq!(run.peak.bytes, run.peak.by_class.iter().sum::<u64>());
        prop_assert!(run.jobs.iter().all(|job| job.arrived <= job.started && job.started <= job.ended && job.ended <= run.end));
        for sample in &run.samples {
            prop_assert!(sample.in_use() <= run.peak.bytes);
            for (gauge, stage) in sample.stages.iter().zip(&model.stages) {
                prop_assert!(gauge.working + gauge.waiting + gauge.blocked <= stage.workers);
                prop_assert!(stage.name == StageName::Synth || gauge.queued as usize <= stage.queue_depth);
            }
        }
        for stage in &run.stages {
            prop_assert_eq!(stage.busy + stage.waiting + stage.blocked + stage.idle, run.end * stage.workers);
        }
        // Every partition spends each phase's time once, whatever the order.
        let mut calm = model.clone();
        calm.admission = Admission::Everything;
        calm.budget = u64::MAX;
        let calm = simulate(&calm).unwrap();
        prop_assert!(run.stages.iter().zip(&calm.stages).all(|(a, b)| a.busy == b.busy));
        prop_assert_eq!(run.resources[0].busy, calm.resources[0].busy);
        prop_assert_eq!(replay(&run, model.budget), Ok(model.held_from_the_start()));
    }
}
