//! The order of work and the admission law, on made-up snapshots and on a line of stages with constant times.

use std::cmp::{Reverse, max};
use std::collections::BinaryHeap;
use std::time::Duration;

use proptest::prelude::*;
use scheduler::policy::{
    BudgetView, Control, Decision, Estimate, Hold, JobView, NewJob, Priority, Rank, Roster, Snapshot, admit_all, first, next_admission,
};

const EXACT: Control = Control { margin_percent: 0 };

fn seconds(times: &[u64]) -> Vec<Duration> {
    times.iter().map(|&s| Duration::from_secs(s)).collect()
}

fn job(id: u64, priority: Priority, waiting: u32, service: &[u64]) -> JobView {
    JobView { id, priority, arrived: id, waiting, in_stage: vec![0; service.len()], bytes_each: 1, service: seconds(service) }
}

fn snapshot(workers: &[u32], jobs: Vec<JobView>, budget: u64) -> Snapshot {
    Snapshot { workers: workers.to_vec(), jobs, budget: BudgetView { total: budget, used: 0 } }
}

#[test]
fn the_rank_is_priority_then_downstream_then_age() {
    let rank = |priority, stage, arrived, partition| Rank { priority, stage: Reverse(stage), arrived, job: arrived, partition };
    let (normal, high) = (Priority::Normal, Priority::High);
    let ready = [rank(normal, 0, 1, 0), rank(normal, 2, 9, 4), rank(normal, 2, 9, 3), rank(high, 0, 10, 0), rank(high, 0, 10, 1)];
    let mut sorted = ready;
    sorted.sort_unstable();
    assert_eq!(sorted, [ready[3], ready[4], ready[2], ready[1], ready[0]]);
    assert_eq!(first(ready), Some(3));
    assert_eq!(first([]), None);
    assert!(Priority::ALL.is_sorted() && Priority::default() == normal);
}

#[test]
fn what_is_let_in_is_the_critical_work_in_process() {
    // Thirty seconds of synthesis on many threads before three seconds of a device: 33 / 3.
    for (workers, margin_percent, expected) in [([12, 1], 0, 11), ([12, 1], 25, 14), ([12, 2], 0, 12), ([4, 1], 0, 4), ([4, 1], 25, 5)] {
        let mut state = snapshot(&workers, vec![job(1, Priority::Normal, 100, &[30, 3])], 1000);
        let (admitted, stopped) = admit_all(&mut state, &Control { margin_percent });
        assert_eq!(admitted.len(), expected, "workers {workers:?}, margin {margin_percent}");
        assert!(matches!(stopped, Decision::Hold(Hold::Fed { job: 1, .. })), "{stopped:?}");
    }
}

#[test]
fn the_reason_to_hold_names_stage_supply_and_mark() {
    let mut state = snapshot(&[12, 1], vec![job(1, Priority::Normal, 100, &[30, 3])], 1000);
    let (_, stopped) = admit_all(&mut state, &EXACT);
    let time = Duration::from_secs(33);
    assert_eq!(stopped, Decision::Hold(Hold::Fed { job: 1, stage: 1, supply: time, mark: time }));
    // One passes the device: one is let in.
    state.jobs[0].in_stage = vec![10, 0];
    assert_eq!(next_admission(&state, &EXACT), Decision::Admit { job: 1 });
}

#[test]
fn work_that_piles_up_behind_the_bottleneck_is_not_fed_for_ever() {
    // The last stage is thought to be fast and stands still: everything that passes the device stays there.
    let mut state = snapshot(&[12, 1, 1], vec![job(1, Priority::Normal, 1000, &[30, 3, 1])], 1_000_000);
    for _ in 0..100 {
        admit_all(&mut state, &EXACT);
        let passed = state.jobs[0].in_stage[0];
        state.jobs[0].in_stage = vec![0, 0, state.jobs[0].in_stage[2] + passed];
    }
    let stopped = next_admission(&state, &EXACT);
    assert!(matches!(stopped, Decision::Hold(Hold::InFlight { job: 1, .. })), "{stopped:?}");
    assert_eq!(state.in_flight(), 34u64.div_ceil(3) + 1);
}

#[test]
fn a_kind_that_was_never_measured_gets_one_partition_a_worker_of_every_stage() {
    let mut state = snapshot(&[3, 1], vec![JobView { waiting: 9, bytes_each: 1, ..JobView::default() }], 100);
    let (admitted, stopped) = admit_all(&mut state, &EXACT);
    assert_eq!((admitted.len(), stopped), (4, Decision::Hold(Hold::InFlight { job: 0, partitions: 4 })));
}

#[test]
fn an_urgent_job_does_not_wait_behind_what_is_less_urgent() {
    let mut state = snapshot(&[12, 1], vec![job(1, Priority::Normal, 100, &[30, 3])], 15);
    assert_eq!(admit_all(&mut state, &EXACT).0.len(), 11);
    state.jobs.push(job(2, Priority::Critical, 1, &[30, 3]));
    assert_eq!(admit_all(&mut state, &EXACT).0, [2]);
    // And more of the less urgent is not let in on top.
    assert!(matches!(next_admission(&state, &EXACT), Decision::Hold(Hold::Fed { job: 1, .. })));
}

#[test]
fn a_large_job_is_not_overtaken_by_a_small_one_and_an_impossible_one_is_refused() {
    let (mut large, small) = (job(1, Priority::Normal, 1, &[1]), job(2, Priority::Normal, 1, &[1]));
    large.bytes_each = 80;
    let mut state = snapshot(&[9], vec![small, large], 100);
    state.budget.used = 30;
    assert_eq!(next_admission(&state, &EXACT), Decision::Hold(Hold::Budget { job: 1, needed: 80, free: 70 }));
    state.budget.used = 20;
    assert_eq!(next_admission(&state, &EXACT), Decision::Admit { job: 1 });
    state.budget.total = 79;
    assert_eq!(next_admission(&state, &EXACT), Decision::Refuse { job: 1, needed: 80, budget: 79 });
}

#[test]
fn the_roster_follows_partitions_and_learns_times_by_kind() {
    let room = BudgetView { total: 1000, used: 0 };
    let new = |id, kind, partitions| NewJob { id, priority: Priority::Normal, kind, partitions, bytes_each: 1 };
    let mut roster = Roster::new(vec![12, 1], EXACT);
    roster.arrive(new(1, 0, 40));
    assert_eq!(roster.admit(room).0, [1; 13]);
    // One way through is enough to know the kind; eleven are in flight from then on.
    roster.passed(1, 0, Some(Duration::from_secs(30)));
    assert_eq!(roster.service(0), []);
    roster.passed(1, 1, Some(Duration::from_secs(3)));
    assert_eq!(roster.service(0), seconds(&[30, 3]));
    assert_eq!((roster.admit(room).0, roster.in_flight(), roster.waiting()), (vec![], 12, 27));
    for _ in 0..2 {
        roster.passed(1, 0, None);
        roster.passed(1, 1, None);
    }
    assert_eq!((roster.admit(room).0, roster.in_flight()), (vec![1], 11));
    // A retry waits again, at the age of its job; a job that is given up counts until its partitions are reported.
    roster.arrive(new(2, 1, 1));
    roster.returned(1, 0);
    assert_eq!((roster.admit(room).0, roster.in_flight(), roster.waiting()), (vec![1], 11, 27));
    roster.give_up(1);
    assert_eq!((roster.in_flight(), roster.waiting()), (11, 1));
    for _ in 0..11 {
        roster.dropped(1, 0);
    }
    assert_eq!(roster.snapshot(room).jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [2]);
    // What cannot be is no reason to fail: a stage that is not there, a job that is not known, a number that is taken.
    roster.passed(2, 0, None);
    roster.passed(2, 9, None);
    roster.passed(3, 0, None);
    roster.returned(3, 0);
    roster.dropped(2, 9);
    roster.arrive(new(2, 5, 99));
    assert_eq!((roster.in_flight(), roster.waiting()), (0, 1));
    roster.expect(1, &seconds(&[5, 5]));
    assert_eq!(roster.service(1), seconds(&[5, 5]));
    assert_eq!(roster.admit(room).0, [2]);
}

#[test]
fn an_estimate_moves_in_steps_and_follows() {
    let observe = |start: Estimate, samples: &[u64]| samples.iter().fold(start, |e, &ms| e.observe(Duration::from_millis(ms)));
    let value = |e: Estimate| e.value().unwrap().as_millis();
    assert_eq!(Estimate::default().value(), None);
    let steady = observe(Estimate::default(), &[1000, 1040, 960, 1050, 950]);
    assert_eq!(value(steady), 1000);
    let slower = observe(steady, &[3000; 60]);
    assert!((2700..=3000).contains(&value(slower)), "{}", value(slower));
    let faster = observe(slower, &[100; 80]);
    assert!((100..=112).contains(&value(faster)), "{}", value(faster));
}

/// A line of stages with constant service times, fed by the policy.
struct Line {
    state: Snapshot,
    /// What stages really take.
    truth: Vec<Duration>,
    control: Control,
}

struct Report {
    end: Duration,
    most_in_flight: u64,
    /// From its first work to its last, for each stage.
    idle: Vec<Duration>,
}

impl Line {
    fn run(mut self) -> Report {
        let stages = self.truth.len();
        let (mut now, mut most_in_flight) = (Duration::ZERO, 0);
        let mut busy = vec![0u32; stages];
        let mut ends = BinaryHeap::new();
        let (mut first_work, mut last_work, mut worked) = (vec![None; stages], vec![Duration::ZERO; stages], vec![Duration::ZERO; stages]);
        loop {
            admit_all(&mut self.state, &self.control);
            most_in_flight = max(most_in_flight, self.state.in_flight());
            assert!(self.state.budget.used <= self.state.budget.total);
            for stage in 0..stages {
                while busy[stage] < self.state.workers[stage] && busy[stage] < self.state.jobs[0].in_stage[stage] {
                    busy[stage] += 1;
                    first_work[stage].get_or_insert(now);
                    ends.push(Reverse((now + self.truth[stage], stage)));
                }
            }
            let Some(Reverse((time, _))) = ends.peek().copied() else { break };
            now = time;
            // All that ends at one moment, before the next decision.
            while let Some(Reverse((_, stage))) = ends.peek().copied().filter(|Reverse((time, _))| *time == now) {
                ends.pop();
                busy[stage] -= 1;
                (last_work[stage], worked[stage]) = (now, worked[stage] + self.truth[stage]);
                let job = &mut self.state.jobs[0];
                job.in_stage[stage] -= 1;
                match job.in_stage.get_mut(stage + 1) {
                    Some(next) => *next += 1,
                    None => self.state.budget.used -= job.bytes_each,
                }
            }
        }
        assert_eq!((self.state.in_flight(), self.state.jobs[0].waiting, self.state.budget.used), (0, 0, 0), "the line stopped early");
        let span = |stage: usize| (last_work[stage] - first_work[stage].unwrap_or_default()) * self.state.workers[stage];
        let idle = (0..stages).map(|stage| span(stage).saturating_sub(worked[stage])).collect();
        Report { end: now, most_in_flight, idle }
    }
}

fn stages() -> impl Strategy<Value = (Vec<u32>, Vec<u64>)> {
    prop::collection::vec((1u32..6, 1u64..40), 1..6).prop_map(|stages| stages.into_iter().unzip())
}

/// The first of the slowest; 120 is a multiple of every number of workers here.
fn slowest(workers: &[u32], times: &[u64]) -> usize {
    (0..times.len()).rev().max_by_key(|&i| times[i] * 120 / u64::from(workers[i])).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn with_exact_estimates_the_slowest_stage_runs_at_its_own_pace((workers, times) in stages(), budget in 300u64..400) {
        let state = snapshot(&workers, vec![job(1, Priority::Normal, 400, &times)], budget);
        let (truth, total) = (seconds(&times), times.iter().sum::<u64>());
        let report = Line { state, truth, control: EXACT }.run();
        let b = slowest(&workers, &times);
        // 400 partitions at the bottleneck's pace, the way there and back, and one round of its workers where it does not come out even.
        let pace = times[b] * 400 / u64::from(workers[b]) + 2 * total + times[b];
        prop_assert!(report.end <= Duration::from_secs(pace), "{:?} > {pace} s", report.end);
        let critical = (total * u64::from(workers[b])).div_ceil(times[b]) + u64::from(workers[b]);
        prop_assert!(report.most_in_flight <= critical, "{} > {critical}", report.most_in_flight);
        // Idle at most while the line fills.
        prop_assert!(report.idle[b] <= Duration::from_secs((total + times[b]) * u64::from(workers[b])), "{:?}", report.idle);
    }

    #[test]
    fn with_wrong_estimates_the_line_is_slower_in_proportion_and_bounded(
        (workers, truth, believed, budget) in stages().prop_flat_map(|(workers, truth)| {
            let stages = truth.len();
            (Just(workers), Just(truth), prop::collection::vec(1u64..40, stages..=stages), 5u64..60)
        })
    ) {
        let state = snapshot(&workers, vec![job(1, Priority::Normal, 200, &believed)], budget);
        let report = Line { state, truth: seconds(&truth), control: EXACT }.run();
        let b = slowest(&workers, &believed);
        let bound = (believed.iter().sum::<u64>() * u64::from(workers[b])).div_ceil(believed[b]) + u64::from(workers[b]);
        prop_assert!(report.most_in_flight <= bound.min(budget), "{} > {bound} or {budget}", report.most_in_flight);
        // The cycle time of the line is that of its slowest loop: the workers of a stage, or the way through for each partition let in.
        let let_in = (believed[..=b].iter().sum::<u64>() * u64::from(workers[b])).div_ceil(believed[b]).min(budget);
        let total = truth.iter().sum::<u64>();
        let of_workers = truth.iter().zip(&workers).map(|(time, &workers)| (200 * time).div_ceil(u64::from(workers))).max();
        let pace = max(of_workers.unwrap_or(0), (200 * total).div_ceil(let_in));
        prop_assert!(report.end <= Duration::from_secs(pace + 2 * total), "{:?} > {pace} s", report.end);
    }

    #[test]
    fn the_roster_admits_as_if_it_looked_at_every_job(
        steps in prop::collection::vec((0u64..8, 0usize..4, 0u64..3, 0u32..4, 1u64..40, 0usize..3, 0u8..6), 1..60),
        total in 0u64..200,
    ) {
        let mut roster = Roster::new(vec![2, 1, 3], Control::default());
        for (id, priority, kind, partitions, bytes_each, stage, what) in steps {
            match what {
                0 | 1 => roster.arrive(NewJob { id, priority: Priority::ALL[priority], kind, partitions, bytes_each }),
                2 => roster.passed(id, stage, Some(Duration::from_secs(bytes_each))),
                3 => roster.returned(id, stage),
                4 => roster.dropped(id, stage),
                _ => roster.give_up(id),
            }
            let used = roster.snapshot(BudgetView::default()).jobs.iter().map(|job| job.in_flight() * job.bytes_each).sum();
            let mut all = roster.snapshot(BudgetView { total, used });
            let (waiting, in_flight) = (roster.waiting(), roster.in_flight());
            let (admitted, decision) = roster.admit(all.budget);
            prop_assert_eq!((&admitted, decision), (&admit_all(&mut all, &Control::default()).0, next_admission(&all, &Control::default())));
            prop_assert_eq!(&roster.snapshot(all.budget), &all);
            let n = admitted.len() as u64;
            prop_assert_eq!((roster.waiting() + n, roster.in_flight()), (waiting, in_flight + n));
        }
    }

    #[test]
    fn admissions_are_deterministic_within_the_budget_and_in_order(
        jobs in prop::collection::vec((0usize..4, 0u64..5, 0u32..5, prop::collection::vec(0u32..4, 3), 0u64..50, any::<bool>()), 0..8),
        workers in prop::collection::vec(0u32..4, 3),
        (total, used) in (0u64..200, 0u64..250),
        margin_percent in 0u32..100,
    ) {
        let views = jobs.iter().enumerate().map(|(id, (priority, arrived, waiting, in_stage, bytes_each, measured))| JobView {
            id: id as u64,
            priority: Priority::ALL[*priority],
            arrived: *arrived,
            waiting: *waiting,
            in_stage: in_stage.clone(),
            bytes_each: *bytes_each,
            service: if *measured { seconds(&[u64::from(*waiting), 2, 3]) } else { Vec::new() },
        });
        let before = Snapshot { workers, jobs: views.collect(), budget: BudgetView { total, used } };
        let control = Control { margin_percent };
        let (mut after, mut again) = (before.clone(), before.clone());
        // The order of the jobs in the snapshot is no input.
        again.jobs.reverse();
        let (admitted, stopped) = admit_all(&mut after, &control);
        prop_assert_eq!((&admitted, stopped), (&admit_all(&mut again, &control).0, next_admission(&after, &control)));
        prop_assert!(after.budget.used <= total.max(used));
        let key = |id: &u64| { let job = &before.jobs[usize::try_from(*id).unwrap()]; (job.priority, job.arrived, job.id) };
        prop_assert!(admitted.is_sorted_by_key(key), "{admitted:?}");
        // Whoever waits is behind everyone who was let in.
        let waits = after.jobs.iter().filter(|job| job.waiting > 0).map(|job| key(&job.id)).min();
        prop_assert!(admitted.iter().all(|id| waits.is_none_or(|waits| key(id) <= waits)));
        // With nothing in flight and room for it, the next job is let in.
        if before.in_flight() == 0 && used == 0 && before.jobs.iter().any(|job| job.waiting > 0) && before.jobs.iter().all(|job| job.bytes_each <= total) {
            prop_assert!(!admitted.is_empty(), "{stopped:?}");
        }
    }
}
