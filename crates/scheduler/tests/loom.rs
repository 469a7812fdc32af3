//! The waiting line of links under a model checker: every interleaving of a few threads, up to a bound on preemptions.
//!
//! `cargo xtask loom`, or `RUSTFLAGS="--cfg loom" cargo test --release -p scheduler --test loom`.

#![cfg(loom)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

#[path = "../src/line.rs"]
mod line;
#[path = "../src/sync.rs"]
mod sync;

use std::sync::Arc;

use buffer_accounting::Cancel;
use line::{Gate, Line};
use loom::sync::Mutex;
use loom::thread;

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Bugs of lost wake-ups need few preemptions; more only cost time.
    builder.preemption_bound = Some(3);
    builder.check(body);
}

/// A link's two lines around a queue with room for one, which stands for flume's: it has a lock of its own.
struct Link {
    queue: Mutex<Option<u32>>,
    room: Arc<Line>,
    arrivals: Arc<Line>,
}

impl Link {
    fn new() -> Arc<Self> {
        Arc::new(Self { queue: Mutex::new(None), room: Arc::default(), arrivals: Arc::default() })
    }

    fn push(&self, item: u32, gate: Gate) -> Option<bool> {
        let mut queue = self.queue.lock().unwrap();
        match (gate, &*queue) {
            (Gate::Closed, _) => Some(false),
            (Gate::Open, Some(_)) => None,
            (Gate::Open, None) => {
                *queue = Some(item);
                Some(true)
            }
        }
    }

    /// Whether the item went in; `None` when it was cancelled.
    fn send(&self, item: u32, cancel: &Cancel) -> Option<bool> {
        let sent = self.room.try_now(|gate| self.push(item, gate)).or_else(|| self.room.wait(cancel, |gate| self.push(item, gate)));
        if sent == Some(true) {
            self.arrivals.ring_if_waited_for();
        }
        sent
    }

    fn receive(&self, cancel: &Cancel) -> Option<u32> {
        let attempt = |_| self.queue.lock().unwrap().take();
        let item = self.arrivals.try_now(attempt).or_else(|| self.arrivals.wait(cancel, attempt));
        self.room.ring_if_waited_for();
        item
    }

    fn close(&self) -> Option<u32> {
        self.room.close();
        self.queue.lock().unwrap().take()
    }
}

#[test]
fn what_is_sent_is_received_whoever_waits_for_whom() {
    model(|| {
        let link = Link::new();
        let receiver = Arc::clone(&link);
        let receiver = thread::spawn(move || [receiver.receive(&Cancel::never()), receiver.receive(&Cancel::never())]);
        assert_eq!(link.send(1, &Cancel::never()), Some(true));
        assert_eq!(link.send(2, &Cancel::never()), Some(true));
        assert_eq!(receiver.join().unwrap(), [Some(1), Some(2)]);
    });
}

#[test]
fn two_receivers_get_one_each() {
    model(|| {
        let link = Link::new();
        let receivers: Vec<_> = (0..2)
            .map(|_| {
                let link = Arc::clone(&link);
                thread::spawn(move || link.receive(&Cancel::never()))
            })
            .collect();
        assert_eq!(link.send(1, &Cancel::never()), Some(true));
        assert_eq!(link.send(2, &Cancel::never()), Some(true));
        let mut got: Vec<_> = receivers.into_iter().map(|receiver| receiver.join().unwrap()).collect();
        got.sort_unstable();
        assert_eq!(got, [Some(1), Some(2)]);
    });
}

#[test]
fn a_cancelled_wait_ends_and_the_next_in_line_goes_on() {
    model(|| {
        let link = Link::new();
        let cancel = Cancel::new();
        let (given_up, flag) = (Arc::clone(&link), cancel.clone());
        let given_up = thread::spawn(move || given_up.receive(&flag));
        let patient = Arc::clone(&link);
        let patient = thread::spawn(move || patient.receive(&Cancel::never()));
        cancel.cancel();
        assert_eq!(link.send(1, &Cancel::never()), Some(true));
        let first = given_up.join().unwrap();
        if first.is_some() {
            // It was served before the flag was raised; the patient one is served with another.
            assert_eq!(link.send(2, &Cancel::never()), Some(true));
        }
        assert!(patient.join().unwrap().is_some());
    });
}

#[test]
fn a_sender_that_waits_for_room_is_told_when_the_link_closes() {
    model(|| {
        let link = Link::new();
        assert_eq!(link.send(1, &Cancel::never()), Some(true));
        let sender = Arc::clone(&link);
        let sender = thread::spawn(move || sender.send(2, &Cancel::never()));
        assert_eq!(link.close(), Some(1));
        assert_eq!(sender.join().unwrap(), Some(false));
        assert_eq!(*link.queue.lock().unwrap(), None);
    });
}
