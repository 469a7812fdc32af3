//! Links: order, capacity, and nothing stranded whichever end goes away first.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod toy;

use std::thread;

use buffer_accounting::{Cancel, Space};
use scheduler::policy::Priority;
use scheduler::{LinkReceiver, LinkSender, Undelivered, link, link_by_priority, link_with_lane};
use toy::{Buffer, Kind, Part, books, buffer, in_use};

fn press_link(capacity: usize) -> (LinkSender<Buffer, Part>, LinkReceiver<Buffer, Part>) {
    link(capacity, Part::QueuedPress, Part::Press)
}

#[test]
fn a_dead_receiver_strands_nothing_while_a_sender_lives() {
    let books = books(1000);
    let (sender, receiver) = press_link(4);
    sender.send(buffer(&books, 30), &Cancel::never()).unwrap();
    assert_eq!(books.snapshot().bytes(Space::Host, Kind::Raw, Part::QueuedPress), 30);
    drop(receiver);
    assert_eq!(in_use(&books), 0);
    let returned = sender.send(buffer(&books, 40), &Cancel::never()).unwrap_err();
    assert!(matches!(returned, Undelivered::Closed(_)));
    assert_eq!(in_use(&books), 40);
    drop(returned);
    assert!(matches!(sender.try_send(buffer(&books, 41)), Err(Undelivered::Closed(_))));
    assert_eq!(in_use(&books), 0);
}

#[test]
fn a_full_link_gives_the_item_back_when_cancelled_or_closed() {
    let books = books(1000);
    let (sender, receiver) = press_link(1);
    sender.send(buffer(&books, 1), &Cancel::never()).unwrap();
    assert!(matches!(sender.try_send(buffer(&books, 9)), Err(Undelivered::Full(item)) if item.len() == 9));
    let cancel = Cancel::new();
    let (blocked, flag) = (sender.clone(), cancel.clone());
    let item = buffer(&books, 2);
    let waiting = thread::spawn(move || blocked.send(item, &flag));
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(Undelivered::Cancelled(_))));
    let blocked = sender.clone();
    let item = buffer(&books, 3);
    let waiting = thread::spawn(move || blocked.send(item, &Cancel::never()));
    drop(receiver);
    assert!(matches!(waiting.join().unwrap(), Err(Undelivered::Closed(_))));
    assert_eq!(in_use(&books), 0);
    drop(sender);
}

#[test]
fn a_cancelled_receiver_and_one_without_senders_stop_waiting() {
    let (sender, receiver) = press_link(1);
    let cancel = Cancel::new();
    let (waiting, flag) = (receiver.clone(), cancel.clone());
    let waiting = thread::spawn(move || waiting.receive(&flag).is_none());
    cancel.cancel();
    assert!(waiting.join().unwrap());
    assert!(receiver.receive(&cancel).is_none());
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let receiver = receiver.clone();
            thread::spawn(move || receiver.receive(&Cancel::never()).is_none())
        })
        .collect();
    let second = sender.clone();
    drop(sender);
    drop(second);
    for waiting in waiting {
        assert!(waiting.join().unwrap());
    }
}

#[test]
fn what_is_queued_is_received_after_the_senders_are_gone() {
    let books = books(1000);
    let (sender, receiver) = press_link(3);
    for bytes in 1..=3 {
        sender.send(buffer(&books, bytes), &Cancel::never()).unwrap();
    }
    drop(sender);
    let received: Vec<_> = std::iter::from_fn(|| receiver.receive(&Cancel::never())).collect();
    assert_eq!(received.iter().map(|item| item.len()).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(received.iter().all(|item| item.stage() == Part::Press));
    drop(received);
    assert_eq!(in_use(&books), 0);
}

#[test]
fn a_lane_goes_first_and_keeps_the_receiver_open() {
    let books = books(1000);
    let (usual, lane, receiver) = link_with_lane(2, 1, Part::QueuedPress, Part::Press);
    usual.send(buffer(&books, 1), &Cancel::never()).unwrap();
    lane.try_send(buffer(&books, 2)).unwrap();
    assert!(matches!(lane.try_send(buffer(&books, 3)), Err(Undelivered::Full(_))));
    let lengths = |receiver: &LinkReceiver<Buffer, Part>| receiver.receive(&Cancel::never()).map(|item| item.len());
    assert_eq!(lengths(&receiver), Some(2));
    assert_eq!(lengths(&receiver), Some(1));
    drop(usual);
    let waiting = receiver.clone();
    let waiting = thread::spawn(move || waiting.receive(&Cancel::never()).map(|item| item.len()));
    lane.try_send(buffer(&books, 4)).unwrap();
    assert_eq!(waiting.join().unwrap(), Some(4));
    drop(lane);
    assert!(receiver.receive(&Cancel::never()).is_none());
    assert_eq!(in_use(&books), 0);
}

#[test]
fn what_is_most_urgent_goes_first_and_of_the_same_urgency_what_came_first() {
    let books = books(1000);
    let (sender, receiver) = link_by_priority(2, Part::QueuedPress, Part::Press);
    let never = Cancel::never();
    for (bytes, priority) in
        [(1, Priority::Low), (2, Priority::Normal), (3, Priority::Critical), (4, Priority::Normal), (5, Priority::High)]
    {
        sender.send(priority, buffer(&books, bytes), &never).unwrap();
    }
    // A full lane of one priority holds up no other.
    let (late, cancel) = (sender.clone(), Cancel::new());
    let (item, flag) = (buffer(&books, 6), cancel.clone());
    let waiting = thread::spawn(move || late.send(Priority::Normal, item, &flag));
    sender.send(Priority::Critical, buffer(&books, 7), &never).unwrap();
    assert_eq!(sender.queued(), 6);
    cancel.cancel();
    assert!(matches!(waiting.join().unwrap(), Err(Undelivered::Cancelled(item)) if item.len() == 6));
    drop(sender);
    let received: Vec<_> = std::iter::from_fn(|| receiver.receive(&never).map(|item| item.len())).collect();
    assert_eq!(received, [3, 7, 5, 2, 4, 1]);
    assert_eq!(in_use(&books), 0);
}

#[test]
fn receivers_that_go_away_during_sends_strand_nothing() {
    for round in 0..300 {
        let books = books(1 << 20);
        let (sender, receiver) = press_link(1 + round % 3);
        let senders: Vec<_> = (0..3)
            .map(|_| {
                let (sender, books) = (sender.clone(), books.clone());
                thread::spawn(move || {
                    for _ in 0..5 {
                        drop(sender.send(buffer(&books, 10), &Cancel::never()));
                    }
                })
            })
            .collect();
        drop(receiver.receive(&Cancel::never()));
        drop(receiver);
        for sender in senders {
            sender.join().unwrap();
        }
        // `sender` is still alive here: whatever a queue held must be gone all the same.
        assert_eq!(in_use(&books), 0);
        drop(sender);
    }
}

#[test]
fn nothing_is_lost_or_doubled_between_many_ends() {
    let books = books(1 << 20);
    let (sender, receiver) = press_link(2);
    let senders: Vec<_> = (0..4)
        .map(|n| {
            let (sender, books) = (sender.clone(), books.clone());
            thread::spawn(move || (0..250).for_each(|i| sender.send(buffer(&books, 1 + n * 250 + i), &Cancel::never()).unwrap()))
        })
        .collect();
    drop(sender);
    let receivers: Vec<_> = (0..3)
        .map(|_| {
            let receiver = receiver.clone();
            thread::spawn(move || std::iter::from_fn(|| receiver.receive(&Cancel::never()).map(|item| item.len())).collect::<Vec<_>>())
        })
        .collect();
    for sender in senders {
        sender.join().unwrap();
    }
    let mut all: Vec<_> = receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=1000).collect::<Vec<_>>());
    assert_eq!(in_use(&books), 0);
}
