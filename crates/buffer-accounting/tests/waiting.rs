//! Who is served when: threads, tasks, priorities, reservations over several spaces.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use buffer_accounting::{AcquireError, Cancel, Ledger, Permit, Priority, Request, Reservation, Space, labels};
use proptest::prelude::*;

labels! { enum Class { Tile => "tile", Output => "output" } }
labels! { enum Stage { Decode => "decode", Encode => "encode" } }

type Books = Ledger<Class, Stage>;
type Wait<T> = Pin<Box<dyn Future<Output = Result<T, AcquireError>> + Send>>;

const SPACES: [Space; 3] = [Space::Host, Space::Pinned, Space::Device(3)];

fn books(budget: u64) -> Books {
    Ledger::new(&SPACES.map(|space| (space, budget)))
}

fn tile(bytes: u64) -> Request<Class, Stage> {
    Request { space: Space::Host, class: Class::Tile, stage: Stage::Decode, bytes }
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);
impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<T>(wait: &mut Wait<T>, woken: &Arc<Woken>) -> Poll<Result<T, AcquireError>> {
    wait.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

fn task(ledger: &Books, priority: Priority, request: Request<Class, Stage>) -> Wait<Permit<Class, Stage>> {
    Box::pin(ledger.acquire_async(priority, request))
}

#[test]
fn a_task_waits_without_a_thread_and_is_woken_once() {
    let ledger = books(10);
    let held = ledger.try_acquire(tile(6)).unwrap();
    let woken = Arc::new(Woken::default());
    let mut wait = task(&ledger, Priority::Normal, tile(5));
    assert!(poll(&mut wait, &woken).is_pending());
    assert_eq!(ledger.snapshot().spaces()[0].waiting, 1);
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    drop(held);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    // The bytes are handed over before the task runs: nobody can take them in between.
    assert_eq!(ledger.snapshot().in_use(Space::Host), 5);
    assert!(matches!(ledger.try_acquire(tile(6)), Err(AcquireError::WouldBlock { available: 5, .. })));
    let Poll::Ready(Ok(permit)) = poll(&mut wait, &woken) else { panic!("it was woken") };
    assert_eq!(permit.bytes(), 5);
    drop((permit, wait));
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn a_dropped_task_holds_nothing_whether_it_was_served_or_not() {
    let ledger = books(10);
    let woken = Arc::new(Woken::default());
    for served in [false, true] {
        let held = ledger.try_acquire(tile(6)).unwrap();
        let mut first = task(&ledger, Priority::Normal, tile(5));
        let mut second = task(&ledger, Priority::Normal, tile(4));
        assert!(poll(&mut first, &woken).is_pending());
        assert!(poll(&mut second, &woken).is_pending(), "it must not overtake");
        if served {
            drop(held);
            drop(first);
        } else {
            drop(first);
            drop(held);
        }
        let Poll::Ready(Ok(permit)) = poll(&mut second, &woken) else { panic!("the way is free") };
        assert_eq!(ledger.snapshot().in_use(Space::Host), permit.bytes());
    }
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    assert_eq!(ledger.snapshot().spaces()[0].waiting, 0);
}

#[test]
fn higher_priorities_go_first_and_equal_ones_by_age() {
    let ledger = books(10);
    let held = ledger.try_acquire(tile(10)).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut threads = Vec::new();
    let waits = [
        ("low", Priority::Low),
        ("normal", Priority::Normal),
        ("high", Priority::High),
        ("later", Priority::Normal),
        ("critical", Priority::Critical),
    ];
    for (k, (name, priority)) in waits.into_iter().enumerate() {
        let (ledger, order) = (ledger.clone(), Arc::clone(&order));
        let waiting = ledger.clone();
        threads.push(thread::spawn(move || {
            // Each takes everything, so that they are served one after the other.
            let permit = ledger.acquire_at(priority, tile(10), &Cancel::never()).unwrap();
            order.lock().unwrap().push(name);
            drop(permit);
        }));
        while waiting.snapshot().spaces()[0].waiting <= k {
            thread::yield_now();
        }
    }
    drop(held);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*order.lock().unwrap(), ["critical", "high", "normal", "later", "low"]);
}

#[test]
fn waits_are_observed_and_immediate_grants_are_not() {
    let ledger = books(10);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&seen);
    assert!(ledger.observe_waits(move |wait| observed.lock().unwrap().push((wait.class, wait.stage, wait.granted))));
    assert!(!ledger.observe_waits(|_| ()));
    let held = ledger.acquire(tile(10), &Cancel::never()).unwrap();
    assert!(seen.lock().unwrap().is_empty());
    let cancelled = Cancel::new();
    cancelled.cancel();
    assert!(matches!(ledger.acquire(tile(1), &cancelled), Err(AcquireError::Cancelled { .. })));
    let waiter = {
        let ledger = ledger.clone();
        thread::spawn(move || drop(ledger.acquire(Request { stage: Stage::Encode, ..tile(1) }, &Cancel::never()).unwrap()))
    };
    while ledger.snapshot().spaces()[0].waiting == 0 {
        thread::yield_now();
    }
    drop(held);
    waiter.join().unwrap();
    assert_eq!(*seen.lock().unwrap(), [("tile", "decode", false), ("tile", "encode", true)]);
}

fn several() -> [Request<Class, Stage>; 3] {
    let device = Request { space: Space::Device(3), class: Class::Output, stage: Stage::Encode, bytes: 7 };
    [tile(4), Request { class: Class::Output, ..tile(3) }, device]
}

#[test]
fn a_reservation_over_spaces_is_granted_in_one_step_or_not_at_all() {
    let ledger = books(10);
    let request = |space, bytes| Request { space, ..tile(bytes) };
    let held = ledger.try_acquire(request(Space::Device(3), 4)).unwrap();
    assert!(matches!(
        ledger.try_reserve_all(&several()),
        Err(AcquireError::WouldBlock { space: Space::Device(3), needed: 7, available: 6, .. })
    ));
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0, "nothing is held while the rest is missing");
    let woken = Arc::new(Woken::default());
    let mut wait: Wait<Reservation<Class, Stage>> = Box::pin(ledger.reserve_all_async(Priority::Normal, several().to_vec()));
    assert!(poll(&mut wait, &woken).is_pending());
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    // Nobody overtakes it in any of its spaces, but others are free.
    assert!(matches!(ledger.try_acquire(tile(1)), Err(AcquireError::WouldBlock { available: 10, .. })));
    assert!(ledger.try_acquire(request(Space::Pinned, 10)).is_ok());
    drop(held);
    let Poll::Ready(Ok(reservation)) = poll(&mut wait, &woken) else { panic!("everything fits") };
    let snapshot = ledger.snapshot();
    snapshot.check().unwrap();
    assert_eq!((snapshot.in_use(Space::Host), snapshot.in_use(Space::Device(3))), (7, 7));

    // Each class draws from its line, a class without one from the first of its space.
    let never = Cancel::never();
    let output = reservation.draw_from(Request { class: Class::Output, ..tile(3) }, &never).unwrap();
    assert!(matches!(reservation.try_draw(Request { class: Class::Output, ..tile(1) }), Err(AcquireError::WouldBlock { budget: 3, .. })));
    assert_eq!(reservation.free(Space::Host), 4);
    let device = reservation.draw_from(Request { space: Space::Device(3), ..tile(5) }, &never).unwrap();
    assert!(matches!(reservation.try_draw(tile(5)), Err(AcquireError::ExceedsBudget { budget: 4, .. })));
    assert!(matches!(reservation.try_draw(request(Space::Pinned, 1)), Err(AcquireError::UnknownSpace { .. })));
    assert!(reservation.covers(Space::Host) && !reservation.covers(Space::Pinned));
    drop(output);
    assert_eq!(reservation.free(Space::Host), 7);
    drop(reservation);
    assert_eq!((ledger.snapshot().in_use(Space::Host), ledger.snapshot().in_use(Space::Device(3))), (0, 5));
    drop(device);
    assert_eq!(ledger.snapshot().in_use(Space::Device(3)), 0);

    assert!(matches!(ledger.try_reserve_all(&[tile(6), tile(5)]), Err(AcquireError::ExceedsBudget { needed: 11, .. })));
    assert!(matches!(ledger.try_reserve_all(&[]), Err(AcquireError::Nothing)));
}

#[test]
fn a_drawing_task_is_served_by_what_goes_back() {
    let ledger = books(10);
    let reservation = ledger.reserve(tile(6), &Cancel::never()).unwrap();
    let part = reservation.draw(Class::Tile, Stage::Encode, 4, &Cancel::never()).unwrap();
    let woken = Arc::new(Woken::default());
    let mut wait: Wait<Permit<Class, Stage>> = Box::pin(reservation.draw_async(tile(5)));
    assert!(poll(&mut wait, &woken).is_pending());
    // Bytes of the budget are none of the reservation's.
    drop(ledger.try_acquire(tile(4)).unwrap());
    assert!(poll(&mut wait, &woken).is_pending());
    drop(reservation);
    drop(part);
    let Poll::Ready(Ok(permit)) = poll(&mut wait, &woken) else { panic!("the part is back") };
    drop(wait);
    assert_eq!(ledger.snapshot().in_use(Space::Host), permit.bytes());
}

#[derive(Clone, Debug)]
enum Step {
    Wait { space: usize, bytes: u64, priority: usize },
    Reserve { bytes: [u64; 3], priority: usize },
    Draw { reservation: usize, space: usize, bytes: u64 },
    GiveUp(usize),
    Split(usize, u64),
    Shrink(usize, u64),
    Move(usize),
    Drop(usize),
    Close(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<usize>;
    prop_oneof![
        4 => (0..3usize, 0u64..110, 0..4usize).prop_map(|(space, bytes, priority)| Step::Wait { space, bytes, priority }),
        2 => ([0u64..70, 0u64..70, 0u64..70], 0..4usize).prop_map(|(bytes, priority)| Step::Reserve { bytes, priority }),
        3 => (any(), 0..3usize, 0u64..50).prop_map(|(reservation, space, bytes)| Step::Draw { reservation, space, bytes }),
        1 => any().prop_map(Step::GiveUp),
        1 => (any(), 0u64..60).prop_map(|(i, n)| Step::Split(i, n)),
        1 => (any(), 0u64..60).prop_map(|(i, n)| Step::Shrink(i, n)),
        1 => any().prop_map(Step::Move),
        3 => any().prop_map(Step::Drop),
        1 => any().prop_map(Step::Close),
    ]
}

/// A wait with what it asked for, to judge the order of service by.
struct Waiting {
    number: usize,
    priority: Priority,
    space: usize,
    bytes: u64,
    wait: Wait<Permit<Class, Stage>>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_programs_keep_the_books_and_the_order(steps in prop::collection::vec(step(), 1..120)) {
        let ledger = books(100);
        let woken = Arc::new(Woken::default());
        let mut permits: Vec<Permit<Class, Stage>> = Vec::new();
        let mut reservations: Vec<Reservation<Class, Stage>> = Vec::new();
        let mut waits: Vec<Waiting> = Vec::new();
        let mut others: Vec<Wait<Reservation<Class, Stage>>> = Vec::new();
        let mut draws: Vec<Wait<Permit<Class, Stage>>> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let n = permits.len();
            match step {
                Step::Wait { space, bytes, priority } => {
                    let priority = Priority::ALL[priority];
                    let wait = task(&ledger, priority, Request { space: SPACES[space], ..tile(bytes) });
                    waits.push(Waiting { number, priority, space, bytes, wait });
                }
                Step::Reserve { bytes, priority } => {
                    let lines = SPACES.iter().zip(bytes).map(|(&space, bytes)| Request { space, ..tile(bytes) }).collect();
                    others.push(Box::pin(ledger.reserve_all_async(Priority::ALL[priority], lines)));
                }
                Step::Draw { reservation, space, bytes } if !reservations.is_empty() => {
                    let request = Request { space: SPACES[space], stage: Stage::Encode, ..tile(bytes) };
                    draws.push(Box::pin(reservations[reservation % reservations.len()].draw_async(request)));
                }
                Step::GiveUp(i) if !waits.is_empty() => drop(waits.swap_remove(i % waits.len())),
                Step::GiveUp(i) if !others.is_empty() => drop(others.swap_remove(i % others.len())),
                Step::GiveUp(i) if !draws.is_empty() => drop(draws.swap_remove(i % draws.len())),
                Step::Split(i, bytes) if n > 0 => { let part = permits[i % n].split(bytes); permits.extend(part); }
                Step::Shrink(i, bytes) if n > 0 => permits[i % n].shrink_to(bytes),
                Step::Move(i) if n > 0 => { permits[i % n].attribute_to(Stage::Encode); permits[(i / 2) % n].reclassify(Class::Output); }
                Step::Drop(i) if n > 0 => drop(permits.swap_remove(i % n)),
                Step::Close(i) if !reservations.is_empty() => drop(reservations.swap_remove(i % reservations.len())),
                _ => {}
            }
            // What was served is collected. The oldest pending wait of each priority is looked at first, which keeps the numbers in order.
            let mut served: Vec<(usize, Priority, usize)> = Vec::new();
            waits.sort_by_key(|w| w.number);
            let mut pending = Vec::new();
            for mut waiting in waits {
                match poll(&mut waiting.wait, &woken) {
                    Poll::Ready(Ok(permit)) => {
                        served.push((waiting.number, waiting.priority, waiting.space));
                        permits.push(permit);
                    }
                    Poll::Ready(Err(error)) => {
                        let expected = matches!(error, AcquireError::ExceedsBudget { budget: 100, .. });
                        prop_assert!(waiting.bytes > 100 && expected, "{error}");
                    }
                    Poll::Pending => pending.push(waiting),
                }
            }
            waits = pending;
            let mut left = Vec::new();
            for mut wait in others {
                match poll(&mut wait, &woken) {
                    Poll::Ready(reservation) => reservations.push(reservation.unwrap()),
                    Poll::Pending => left.push(wait),
                }
            }
            others = left;
            let mut left = Vec::new();
            for mut wait in draws {
                match poll(&mut wait, &woken) {
                    Poll::Ready(Ok(permit)) => permits.push(permit),
                    Poll::Ready(Err(error)) => prop_assert!(matches!(error, AcquireError::ExceedsBudget { .. }), "{error}"),
                    Poll::Pending => left.push(wait),
                }
            }
            draws = left;

            let snapshot = ledger.snapshot();
            prop_assert_eq!(snapshot.check(), Ok(()));
            // Nobody was served before an older wait of its space and priority, or one of a higher priority that had been there before.
            for (number, priority, space) in served {
                let ahead = waits.iter().find(|w| w.space == space && w.priority <= priority && w.number < number);
                prop_assert!(ahead.is_none(), "{number} overtook {:?}", ahead.map(|w| w.number));
            }
            // Whoever is first of all does not fit, or it would have been served.
            let first = waits.iter().filter(|_| others.is_empty()).min_by_key(|w| (w.priority, w.number));
            if let Some(first) = first {
                let usage = &snapshot.spaces()[first.space];
                prop_assert!(first.bytes > usage.budget - usage.in_use, "{} of {} are free for {}", usage.in_use, usage.budget, first.bytes);
            }
        }
        drop((waits, others, draws, permits, reservations));
        let snapshot = ledger.snapshot();
        for space in SPACES {
            prop_assert_eq!(snapshot.in_use(space), 0);
        }
        prop_assert_eq!(snapshot.cells().map(|(_, _, _, cell)| cell.buffers).sum::<u64>(), 0);
        prop_assert_eq!(snapshot.spaces().iter().map(|s| s.waiting).sum::<usize>(), 0);
    }
}
