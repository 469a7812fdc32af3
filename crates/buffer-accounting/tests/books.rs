//! The guarantees of the README, each as a test.

#![cfg(not(loom))]
#![allow(clippy::disallowed_methods, reason = "a test sends a handful of messages")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use buffer_accounting::{AcquireError, Buffer, Cancel, Lease, Ledger, OwnedBytes, Permit, Request, Space, labels};
use proptest::prelude::*;

labels! { enum Class { Tile => "tile", Output => "output" } }
labels! { enum Stage { Decode => "decode", Encode => "encode" } }

type Books = Ledger<Class, Stage>;

fn books(budget: u64) -> Books {
    Ledger::new(&[(Space::Host, budget)])
}

fn tile(bytes: u64) -> Request<Class, Stage> {
    Request { space: Space::Host, class: Class::Tile, stage: Stage::Decode, bytes }
}

#[test]
fn more_than_four_gib_is_counted_exactly() {
    let ledger = books(16 << 30);
    let permit = ledger.try_acquire(tile(4 << 30)).unwrap();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 4 << 30);
    drop(permit);
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    assert_eq!(ledger.snapshot().peak(Space::Host), 4 << 30);
}

#[test]
fn what_can_never_fit_fails_at_once_with_the_numbers() {
    let ledger = books(8);
    let _held = ledger.try_acquire(tile(3)).unwrap();
    let error = ledger.acquire(tile(9), &Cancel::never()).unwrap_err();
    assert!(matches!(error, AcquireError::ExceedsBudget { needed: 9, budget: 8, held: 3, .. }));
    let error = ledger.try_acquire(Request { space: Space::Device(0), ..tile(1) }).unwrap_err();
    assert_eq!(error, AcquireError::UnknownSpace { space: Space::Device(0) });
}

#[test]
fn the_buffer_is_freed_before_its_permit() {
    struct Probe(Books);
    impl OwnedBytes for Probe {
        fn owned_bytes(&self) -> u64 {
            7
        }
    }
    impl Buffer for Probe {
        type Contents = Self;
        fn contents(&self) -> &Self {
            self
        }
    }
    impl Drop for Probe {
        fn drop(&mut self) {
            assert_eq!(self.0.snapshot().in_use(Space::Host), 7);
        }
    }
    let ledger = books(8);
    let inner = ledger.clone();
    drop(Lease::try_new(ledger.try_acquire(tile(7)).unwrap(), || Probe(inner)).unwrap());
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn a_lease_pays_for_the_real_capacity() {
    let ledger = books(1000);
    let mut short = Vec::<u8>::with_capacity(64);
    short.push(1);
    let lease = Lease::try_new(ledger.try_acquire(tile(100)).unwrap(), || short).unwrap();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 64);
    drop(lease);
    let error = Lease::try_new(ledger.try_acquire(tile(100)).unwrap(), || vec![0u8; 101]).unwrap_err();
    assert_eq!((error.actual, error.permitted), (101, 100));
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn a_large_request_is_not_starved_by_small_ones() {
    let ledger = books(10);
    let held = ledger.try_acquire(tile(6)).unwrap();
    let (granted, order) = mpsc::channel();
    let large = {
        let (ledger, granted) = (ledger.clone(), granted.clone());
        thread::spawn(move || {
            let permit = ledger.acquire(tile(10), &Cancel::never()).unwrap();
            granted.send("large").unwrap();
            drop(permit);
        })
    };
    while ledger.snapshot().spaces()[0].waiting == 0 {
        thread::yield_now();
    }
    assert!(matches!(ledger.try_acquire(tile(1)), Err(AcquireError::WouldBlock { .. })));
    let small = {
        let ledger = ledger.clone();
        thread::spawn(move || {
            let permit = ledger.acquire(tile(1), &Cancel::never()).unwrap();
            granted.send("small").unwrap();
            drop(permit);
        })
    };
    while ledger.snapshot().spaces()[0].waiting < 2 {
        thread::yield_now();
    }
    drop(held);
    assert_eq!(order.recv_timeout(Duration::from_secs(30)).unwrap(), "large");
    assert_eq!(order.recv_timeout(Duration::from_secs(30)).unwrap(), "small");
    large.join().unwrap();
    small.join().unwrap();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn a_cancelled_wait_holds_nothing_and_lets_the_next_one_pass() {
    let ledger = books(10);
    let held = ledger.try_acquire(tile(6)).unwrap();
    let cancel = Cancel::new();
    let waiter = {
        let (ledger, cancel) = (ledger.clone(), cancel.clone());
        thread::spawn(move || ledger.acquire(tile(8), &cancel).map(|_| ()))
    };
    while ledger.snapshot().spaces()[0].waiting == 0 {
        thread::yield_now();
    }
    let behind = {
        let ledger = ledger.clone();
        thread::spawn(move || ledger.acquire(tile(4), &Cancel::never()).map(|p| p.bytes()))
    };
    while ledger.snapshot().spaces()[0].waiting < 2 {
        thread::yield_now();
    }
    cancel.cancel();
    assert!(matches!(waiter.join().unwrap(), Err(AcquireError::Cancelled { needed: 8, .. })));
    assert_eq!(behind.join().unwrap().unwrap(), 4);
    drop(held);
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}

#[test]
fn a_reservation_is_granted_whole_and_drawn_in_parts() {
    let ledger = books(100);
    let reservation = ledger.reserve(Request { class: Class::Output, bytes: 80, ..tile(0) }, &Cancel::never()).unwrap();
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::Output, Stage::Decode), 80);
    let never = Cancel::never();
    let a = reservation.draw(Class::Tile, Stage::Encode, 50, &never).unwrap();
    let mut b = reservation.draw(Class::Tile, Stage::Encode, 30, &never).unwrap();
    let snapshot = ledger.snapshot();
    snapshot.check().unwrap();
    assert_eq!((snapshot.in_use(Space::Host), snapshot.bytes(Space::Host, Class::Tile, Stage::Encode)), (80, 80));
    assert!(matches!(reservation.draw(Class::Tile, Stage::Encode, 81, &never), Err(AcquireError::ExceedsBudget { budget: 80, .. })));
    let cancelled = Cancel::new();
    cancelled.cancel();
    assert!(matches!(reservation.draw(Class::Tile, Stage::Encode, 1, &cancelled), Err(AcquireError::Cancelled { .. })));
    let waiter = {
        let reservation = reservation.clone();
        thread::spawn(move || reservation.draw(Class::Tile, Stage::Encode, 60, &Cancel::never()).map(|p| p.bytes()))
    };
    b.shrink_to(20);
    drop(a);
    assert_eq!(waiter.join().unwrap().unwrap(), 60);
    drop(reservation);
    let snapshot = ledger.snapshot();
    snapshot.check().unwrap();
    assert_eq!(snapshot.in_use(Space::Host), 20);
    drop(b);
    let snapshot = ledger.snapshot();
    assert_eq!(snapshot.in_use(Space::Host), 0);
    assert_eq!(snapshot.cells().map(|(_, _, _, cell)| cell.buffers).sum::<u64>(), 0);
}

#[test]
fn a_class_peaks_by_its_sum_over_stages() {
    let ledger = books(100);
    let mut a = ledger.try_acquire(tile(30)).unwrap();
    a.attribute_to(Stage::Encode);
    let b = ledger.try_acquire(tile(20)).unwrap();
    drop(a);
    let _output = ledger.try_acquire(Request { class: Class::Output, ..tile(7) }).unwrap();
    let class = ledger.snapshot().class(Space::Host, Class::Tile);
    // The stages' own peaks, 30 and 30, sum to 60; never were more than 50 bytes in use.
    assert_eq!((class.bytes, class.buffers, class.peak_bytes), (20, 1, 50));
    drop(b);
    let class = ledger.snapshot().class(Space::Host, Class::Tile);
    assert_eq!((class.bytes, class.buffers, class.peak_bytes), (0, 0, 50));
}

#[test]
fn permits_of_other_books_or_classes_are_not_merged() {
    let (ledger, other) = (books(8), books(8));
    let mut permit = ledger.try_acquire(tile(3)).unwrap();
    let foreign = permit.merge(other.try_acquire(tile(2)).unwrap()).unwrap_err();
    assert_eq!(foreign.bytes(), 2);
    let output = permit.merge(ledger.try_acquire(Request { class: Class::Output, ..tile(2) }).unwrap()).unwrap_err();
    assert_eq!((output.bytes(), permit.bytes()), (2, 3));
    permit.merge(ledger.try_acquire(Request { stage: Stage::Encode, ..tile(1) }).unwrap()).unwrap();
    assert_eq!((permit.bytes(), permit.stage()), (4, Stage::Decode));
    assert_eq!(ledger.snapshot().bytes(Space::Host, Class::Tile, Stage::Decode), 4);
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(u64),
    Split(usize, u64),
    Shrink(usize, u64),
    Move(usize),
    Merge(usize),
    Drop(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..600).prop_map(Step::Acquire),
        (any::<usize>(), 0u64..300).prop_map(|(i, n)| Step::Split(i, n)),
        (any::<usize>(), 0u64..300).prop_map(|(i, n)| Step::Shrink(i, n)),
        any::<usize>().prop_map(Step::Move),
        any::<usize>().prop_map(Step::Merge),
        any::<usize>().prop_map(Step::Drop),
    ]
}

proptest! {
    #[test]
    fn random_programs_keep_the_books(steps in prop::collection::vec(step(), 1..200)) {
        let ledger = books(1000);
        let mut permits: Vec<Permit<Class, Stage>> = Vec::new();
        for step in steps {
            let n = permits.len();
            match step {
                Step::Acquire(bytes) => permits.extend(ledger.try_acquire(tile(bytes)).ok()),
                Step::Split(i, bytes) if n > 0 => { let part = permits[i % n].split(bytes); permits.extend(part); }
                Step::Shrink(i, bytes) if n > 0 => permits[i % n].shrink_to(bytes),
                Step::Move(i) if n > 0 => { permits[i % n].attribute_to(Stage::Encode); permits[(i / 2) % n].reclassify(Class::Output); }
                Step::Merge(i) if n > 1 => {
                    let part = permits.swap_remove(i % n);
                    let same = permits[i % (n - 1)].class() == part.class();
                    let merged = permits[i % (n - 1)].merge(part);
                    prop_assert_eq!(merged.is_ok(), same);
                    permits.extend(merged.err());
                }
                Step::Drop(i) if n > 0 => drop(permits.swap_remove(i % n)),
                _ => {}
            }
            let snapshot = ledger.snapshot();
            prop_assert_eq!(snapshot.check(), Ok(()));
            prop_assert_eq!(snapshot.in_use(Space::Host), permits.iter().map(Permit::bytes).sum::<u64>());
            let buffers: u64 = snapshot.cells().map(|(_, _, _, cell)| cell.buffers).sum();
            prop_assert_eq!(buffers, permits.len() as u64);
        }
        drop(permits);
        prop_assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
    }
}
