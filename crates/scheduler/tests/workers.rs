//! Workers: each job has one outcome, whatever an item does, and the books return to what they were.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

use buffer_accounting::Cancel;
use pipeline_stage::{ErrorClass, Failed, Outlet, Stage};
use proptest::prelude::*;
use scheduler::{Envelope, JobError, JobHandle, LinkSender, Outcome, StageTime, Ticket, Topology, WorkerSpec, link};
use toy::{Books, Context, Deed, Item, Kind, Obey, PATIENCE, Part, Refused, books, buffer, in_use, quiet};

type Way = LinkSender<Envelope<Item, usize>, Part>;

/// What a finished pipeline leaves.
struct Left {
    outcomes: Vec<Outcome<usize>>,
    time: StageTime,
    made: usize,
    books: Books,
}

fn start(books: &Books, spec: &WorkerSpec<Kind, Part>, stop: &Cancel) -> (Topology<Kind, Part>, Way, Arc<AtomicUsize>) {
    quiet();
    let (way, receiver) = link(2, Part::QueuedPress, Part::Press);
    let mut topology = Topology::new(books.clone(), stop);
    let finish = |ticket: &Ticket<usize>, item: Item| {
        assert!(item.deed != Deed::PanicInDelivery, "told to panic in delivery");
        ticket.succeed(item.buffer.len());
    };
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let make = move || {
        count.fetch_add(1, Ordering::SeqCst);
        Obey { made: Arc::clone(&count) }
    };
    topology.stage(spec, receiver, finish, make).unwrap();
    (topology, way, made)
}

fn submit(topology: &Topology<Kind, Part>, way: &Way, books: &Books, deed: Deed) -> JobHandle<usize> {
    let (ticket, handle) = topology.job();
    let envelope = Envelope { ticket, body: Item::new(deed, buffer(books, 100)) };
    // An item that comes back is dropped here, with whatever that does.
    drop(catch_unwind(AssertUnwindSafe(|| drop(way.send(envelope, &Cancel::never())))));
    handle
}

fn outcome(handle: JobHandle<usize>) -> Outcome<usize> {
    handle.wait_for(PATIENCE).unwrap_or_else(|handle| panic!("job {} has no outcome", handle.id()))
}

fn run(deeds: &[Deed], spec: &WorkerSpec<Kind, Part>, stop_early: bool) -> Left {
    let books = books(1 << 16);
    let stop = Cancel::new();
    let (topology, way, made) = start(&books, spec, &stop);
    let times = Arc::clone(topology.times());
    let mut handles = Vec::new();
    for (id, &deed) in deeds.iter().enumerate() {
        if stop_early && id == deeds.len() / 2 {
            stop.cancel();
        }
        handles.push(submit(&topology, &way, &books, deed));
    }
    drop(way);
    topology.drain();
    assert_eq!(Arc::strong_count(&times), 1, "a worker lives");
    let outcomes = handles.into_iter().map(outcome).collect();
    Left { outcomes, time: times.stage(Part::Press), made: made.load(Ordering::SeqCst), books }
}

fn one_worker() -> WorkerSpec<Kind, Part> {
    WorkerSpec::new(Part::Press)
}

/// Whether a job of this deed may end so.
fn fits(deed: Deed, retries: u32, outcome: &Outcome<usize>) -> bool {
    match (deed, outcome) {
        (Deed::Pass, Ok(100)) | (Deed::AgainAfterGiving, Ok(5)) | (Deed::CancelJob, Err(JobError::Cancelled)) => true,
        (Deed::Again(times), Ok(100)) => times <= retries,
        (Deed::Again(times), Err(JobError::Stage { stage: "press", error })) => times > retries && error.class() == ErrorClass::Retryable,
        (Deed::AgainWithoutItem, Err(JobError::Stage { error, .. })) => error.class() == ErrorClass::Retryable,
        (Deed::Fail, Err(JobError::Stage { error, .. })) => error.class() == ErrorClass::Fatal,
        (Deed::Panic, Err(JobError::Panicked { stage: "press", message })) => message == "told to panic",
        (Deed::PanicInDrop, Err(JobError::Panicked { message, .. })) => message == "told to panic in drop",
        (Deed::PanicInAttribution, Err(JobError::Panicked { message, .. })) => message == "told to panic in attribution",
        (Deed::PanicInDelivery, Err(JobError::Panicked { message, .. })) => message == "told to panic in delivery",
        _ => false,
    }
}

fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => Just(Deed::Pass),
        2 => (0u32..4).prop_map(Deed::Again),
        1 => prop::sample::select(vec![
            Deed::Fail, Deed::AgainWithoutItem, Deed::AgainAfterGiving, Deed::CancelJob,
            Deed::Panic, Deed::PanicInDrop, Deed::PanicInAttribution, Deed::PanicInDelivery,
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_job_has_one_outcome_and_the_ledger_returns_to_zero(
        deeds in prop::collection::vec(deeds(), 1..20),
        threads in 1usize..4,
        retries in 0u32..3,
        stop_early in any::<bool>(),
    ) {
        let spec = WorkerSpec { threads, retries, ..one_worker() };
        let left = run(&deeds, &spec, stop_early);
        for (id, (&deed, outcome)) in deeds.iter().zip(&left.outcomes).enumerate() {
            let stopped = stop_early && matches!(outcome, Err(JobError::Abandoned | JobError::Cancelled));
            prop_assert!(stopped || fits(deed, retries, outcome), "job {id} ({deed:?}): {outcome:?}");
        }
        prop_assert_eq!(in_use(&left.books), 0);
    }
}

#[test]
fn a_panic_anywhere_costs_its_job_alone_and_the_worker_is_replaced() {
    let bad = [Deed::Panic, Deed::PanicInDrop, Deed::PanicInAttribution, Deed::PanicInDelivery];
    let deeds: Vec<_> = bad.iter().flat_map(|&deed| [deed, Deed::Pass]).collect();
    let left = run(&deeds, &one_worker(), false);
    for (&deed, outcome) in deeds.iter().zip(&left.outcomes) {
        assert!(fits(deed, 2, outcome), "{deed:?}: {outcome:?}");
    }
    assert_eq!((left.time.panics, left.made), (4, 5), "one stage for the first item and one after each panic");
    assert_eq!(in_use(&left.books), 0);
}

#[test]
fn a_stage_that_cannot_be_made_fails_items_until_it_can() {
    quiet();
    let books = books(1000);
    let (way, receiver) = link(2, Part::QueuedPress, Part::Press);
    let mut topology = Topology::new(books.clone(), &Cancel::never());
    let finish = |ticket: &Ticket<usize>, item: Item| {
        ticket.succeed(item.buffer.len());
    };
    let broken = Arc::new(AtomicBool::new(true));
    let flag = Arc::clone(&broken);
    let make = move || {
        assert!(!flag.swap(false, Ordering::SeqCst), "told to panic in make");
        Obey { made: Arc::default() }
    };
    topology.stage(&one_worker(), receiver, finish, make).unwrap();
    let first = submit(&topology, &way, &books, Deed::Pass);
    let second = submit(&topology, &way, &books, Deed::Pass);
    assert!(matches!(outcome(first), Err(JobError::Panicked { message, .. }) if message == "told to panic in make"));
    assert!(matches!(outcome(second), Ok(100)));
    drop(way);
    topology.drain();
    assert_eq!(in_use(&books), 0);
}

#[test]
fn retries_are_bounded_and_counted() {
    let spec = WorkerSpec { retries: 2, retry_pause: Duration::from_millis(1), ..one_worker() };
    let left = run(&[Deed::Again(2), Deed::Again(3), Deed::AgainWithoutItem, Deed::Fail], &spec, false);
    assert!(matches!(left.outcomes[0], Ok(100)));
    assert_eq!(left.outcomes.iter().filter(|outcome| outcome.is_err()).count(), 3);
    assert_eq!((left.time.retries, left.time.items), (4, 4));
    assert_eq!(in_use(&left.books), 0);
}

#[test]
fn cancellation_ends_the_pause_before_a_retry() {
    let books = books(1000);
    let spec = WorkerSpec { retry_pause: Duration::from_secs(3600), ..one_worker() };
    let (topology, way, _) = start(&books, &spec, &Cancel::never());
    let handle = submit(&topology, &way, &books, Deed::Again(1));
    while topology.times().stage(Part::Press).retries == 0 {
        std::thread::yield_now();
    }
    handle.cancel();
    assert!(matches!(outcome(handle), Err(JobError::Cancelled)));
    drop(way);
    topology.drain();
    assert_eq!(in_use(&books), 0);
}

/// Heeds nothing until it is let go.
struct Stubborn(Arc<(Mutex<bool>, Condvar)>, Arc<Barrier>);

impl Stage<Kind, Part> for Stubborn {
    type Input = Item;
    type Output = Item;
    type Error = Refused;

    fn name(&self) -> Part {
        Part::Press
    }

    fn run(&mut self, _item: Item, _: &mut dyn Outlet<Item>, _: &Context) -> Result<(), Failed<Item, Refused>> {
        self.1.wait();
        let guard = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(guard, |free| !*free).unwrap());
        Ok(())
    }
}

#[test]
fn who_does_not_stop_in_time_is_named_and_returns_its_bytes_later() {
    let books = books(1000);
    let (way, receiver) = link(2, Part::QueuedPress, Part::Press);
    let mut topology = Topology::new(books.clone(), &Cancel::never());
    let (free, entered) = (Arc::new((Mutex::new(false), Condvar::new())), Arc::new(Barrier::new(2)));
    let (inside, barrier) = (Arc::clone(&free), Arc::clone(&entered));
    let finish = |_: &Ticket<usize>, _: Item| {};
    topology.stage(&one_worker(), receiver, finish, move || Stubborn(Arc::clone(&inside), Arc::clone(&barrier))).unwrap();
    let times = Arc::clone(topology.times());
    let busy = submit(&topology, &way, &books, Deed::Pass);
    entered.wait();
    let queued = submit(&topology, &way, &books, Deed::Pass);
    assert_eq!(topology.running().iter().map(ToString::to_string).collect::<Vec<_>>(), ["press-0 (at job 0)"]);
    let unheeded = topology.give_up(Duration::from_millis(20)).unwrap_err();
    assert_eq!(unheeded.workers.len(), 1);
    assert!(unheeded.to_string().starts_with("press-0 (at job 0) did not stop within 20ms"), "{unheeded}");
    *free.0.lock().unwrap() = true;
    free.1.notify_all();
    assert!(matches!(outcome(busy), Err(JobError::Cancelled)));
    assert!(matches!(outcome(queued), Err(JobError::Cancelled)));
    while Arc::strong_count(&times) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(in_use(&books), 0);
}

#[test]
fn giving_up_ends_every_wait() {
    let books = books(150);
    let (topology, way, _) = start(&books, &one_worker(), &Cancel::never());
    // No room for the stage's own 20 bytes: it waits for the ledger, and would for ever.
    let held = buffer(&books, 45);
    let handle = submit(&topology, &way, &books, Deed::Pass);
    while topology.running().iter().all(|worker| worker.job.is_none()) {
        std::thread::yield_now();
    }
    topology.give_up(PATIENCE).unwrap();
    assert!(matches!(outcome(handle), Err(JobError::Cancelled)));
    drop(held);
    assert_eq!(in_use(&books), 0);
}
