//! The ledger under a model checker: every interleaving of a few threads, up to a bound on preemptions.
//!
//! `cargo xtask loom`, or `RUSTFLAGS="--cfg loom" cargo test --release -p buffer-accounting --test loom`.

#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

use buffer_accounting::{AcquireError, Cancel, Lease, Ledger, PoolSource, Priority, Request, SlabPool, Space, labels};
use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

labels! { enum Class { Tile => "tile", Idle => "idle" } }
labels! { enum Stage { Decode => "decode", Encode => "encode" } }

type Books = Ledger<Class, Stage>;

fn tile(bytes: u64) -> Request<Class, Stage> {
    Request { space: Space::Host, class: Class::Tile, stage: Stage::Decode, bytes }
}

fn books() -> Books {
    Ledger::new(&[(Space::Host, 10)])
}

/// Nothing is left, and nothing ever was above the budget.
fn settled(ledger: &Books) {
    let snapshot = ledger.snapshot();
    snapshot.check().unwrap();
    assert_eq!(snapshot.in_use(Space::Host), 0);
    assert_eq!(snapshot.spaces()[0].waiting, 0);
    assert!(snapshot.peak(Space::Host) <= 10);
}

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Bugs of lost wake-ups and hand-overs need few preemptions; more only cost time.
    builder.preemption_bound = Some(4);
    builder.check(body);
}

#[test]
fn bytes_are_handed_from_thread_to_thread_and_no_wake_up_is_lost() {
    model(|| {
        let ledger = books();
        let threads: Vec<_> = [6, 7]
            .map(|bytes| {
                let ledger = ledger.clone();
                thread::spawn(move || {
                    let permit = ledger.acquire(tile(bytes), &Cancel::never()).unwrap();
                    assert_eq!(ledger.snapshot().in_use(Space::Host), bytes);
                    drop(permit);
                })
            })
            .into();
        drop(ledger.acquire(tile(8), &Cancel::never()).unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        settled(&ledger);
    });
}

#[test]
fn a_lease_is_dropped_in_another_thread_than_it_was_made_in() {
    model(|| {
        let ledger = books();
        let mut lease = Lease::try_new(ledger.try_acquire(tile(8)).unwrap(), || vec![0u8; 8]).unwrap();
        let waiter = {
            let ledger = ledger.clone();
            thread::spawn(move || drop(ledger.acquire(tile(5), &Cancel::never()).unwrap()))
        };
        let receiver = thread::spawn(move || {
            lease.attribute_to(Stage::Encode);
            drop(lease);
        });
        receiver.join().unwrap();
        waiter.join().unwrap();
        settled(&ledger);
    });
}

#[test]
fn a_cancelled_wait_takes_nothing_and_stops_nobody() {
    model(|| {
        let ledger = books();
        let held = ledger.try_acquire(tile(6)).unwrap();
        let cancel = Cancel::new();
        let cancelled = {
            let (ledger, cancel) = (ledger.clone(), cancel.clone());
            thread::spawn(move || match ledger.acquire(tile(8), &cancel) {
                Ok(permit) => drop(permit),
                Err(error) => assert!(matches!(error, AcquireError::Cancelled { .. })),
            })
        };
        let behind = {
            let ledger = ledger.clone();
            thread::spawn(move || drop(ledger.acquire(tile(4), &Cancel::never()).unwrap()))
        };
        cancel.cancel();
        behind.join().unwrap();
        cancelled.join().unwrap();
        drop(held);
        settled(&ledger);
    });
}

#[test]
fn a_reservation_is_drawn_by_several_and_closed_while_parts_are_out() {
    model(|| {
        let ledger = books();
        let reservation = ledger.reserve(tile(8), &Cancel::never()).unwrap();
        let drawing = {
            let reservation = reservation.clone();
            thread::spawn(move || drop(reservation.draw(Class::Tile, Stage::Encode, 5, &Cancel::never()).unwrap()))
        };
        let waiting = {
            let ledger = ledger.clone();
            thread::spawn(move || drop(ledger.acquire(tile(9), &Cancel::never()).unwrap()))
        };
        let part = reservation.draw(Class::Tile, Stage::Decode, 4, &Cancel::never()).unwrap();
        drop(reservation);
        drop(part);
        drawing.join().unwrap();
        waiting.join().unwrap();
        settled(&ledger);
    });
}

#[test]
fn a_task_is_woken_by_whoever_returns_what_it_needs() {
    model(|| {
        let ledger = books();
        let held = ledger.try_acquire(tile(6)).unwrap();
        let returning = thread::spawn(move || drop(held));
        let permit = block_on(ledger.acquire_async(Priority::High, tile(7))).unwrap();
        returning.join().unwrap();
        drop(permit);
        settled(&ledger);
    });
}

#[test]
fn a_task_that_is_dropped_while_it_is_served_returns_everything() {
    model(|| {
        let ledger = books();
        let held = ledger.try_acquire(tile(6)).unwrap();
        let wait = {
            let ledger = ledger.clone();
            thread::spawn(move || {
                let mut wait = Box::pin(ledger.acquire_async(Priority::Normal, tile(7)));
                // Polled once and given up, as by a timeout.
                let once = std::future::poll_fn(|context| std::task::Poll::Ready(wait.as_mut().poll(context).map(drop)));
                let _ = block_on(once);
            })
        };
        drop(held);
        wait.join().unwrap();
        drop(ledger.acquire(tile(10), &Cancel::never()).unwrap());
        settled(&ledger);
    });
}

#[test]
fn a_slab_that_comes_back_while_another_one_is_wanted_is_not_kept_from_it() {
    model(|| {
        let ledger = books();
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let pool: SlabPool<Vec<u8>, Class, Stage> =
            SlabPool::new(PoolSource::Ledger(ledger.clone()), Space::Host, (Class::Idle, Stage::Encode), 10, move |bytes| {
                count.fetch_add(1, Ordering::SeqCst);
                Ok(vec![0; bytes as usize])
            });
        let slab = pool.take(Class::Tile, Stage::Decode, 7, &Cancel::never()).unwrap();
        let taker = {
            let pool = pool.clone();
            thread::spawn(move || drop(pool.take(Class::Tile, Stage::Decode, 7, &Cancel::never()).unwrap()))
        };
        drop(slab);
        taker.join().unwrap();
        drop(pool);
        assert!((1..=2).contains(&made.load(Ordering::SeqCst)));
        settled(&ledger);
    });
}
