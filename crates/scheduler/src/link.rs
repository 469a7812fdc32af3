//! A bounded channel of leases: the one module that names flume.
//!
//! flume holds the queued items and knows when an end is gone. Threads wait in lines of this crate instead of in flume's, because a wait
//! here ends at once when its job is cancelled, and because a receiver can wait for two queues, one of which goes first.

use std::sync::Arc;

use buffer_accounting::{Accounted, Cancel, Label};

use crate::contain::contained;
use crate::line::{Gate, Line};
use crate::policy::Priority;

/// One queue as its receivers see it.
struct Queue<T> {
    items: flume::Receiver<T>,
    /// Where senders wait for room.
    room: Arc<Line>,
}

impl<T> Queue<T> {
    fn new(capacity: usize) -> (flume::Sender<T>, Self) {
        let (sender, items) = flume::bounded(capacity.max(1));
        (sender, Self { items, room: Arc::default() })
    }
}

struct ReceiverCore<T> {
    /// In the order in which items are taken from them.
    queues: Vec<Queue<T>>,
    /// Where receivers wait for items.
    arrivals: Arc<Line>,
}

impl<T> Drop for ReceiverCore<T> {
    fn drop(&mut self) {
        for queue in &self.queues {
            // Sends happen under this line's lock: what was sent before is drained here, what comes later finds the gate closed.
            queue.room.close();
            for item in queue.items.drain() {
                contained("a queued item", || drop(item));
            }
        }
    }
}

/// Wakes the receivers when a sender is gone. The last field of a sender, so that its queue knows before they look.
struct RingOnDrop(Arc<Line>);

impl Drop for RingOnDrop {
    fn drop(&mut self) {
        self.0.ring();
    }
}

/// The sending end. Clones share the link; when the last one drops, receivers see the end after the queued items.
pub struct LinkSender<T, S> {
    items: flume::Sender<T>,
    room: Arc<Line>,
    queued: S,
    arrivals: RingOnDrop,
}

impl<T, S: Clone> Clone for LinkSender<T, S> {
    fn clone(&self) -> Self {
        Self {
            items: self.items.clone(),
            room: Arc::clone(&self.room),
            queued: self.queued.clone(),
            arrivals: RingOnDrop(Arc::clone(&self.arrivals.0)),
        }
    }
}

/// The receiving end. Clones share the queue, each item goes to one of them; when the last one drops, queued items drop with it.
pub struct LinkReceiver<T, S> {
    core: Arc<ReceiverCore<T>>,
    receiver: S,
}

impl<T, S: Clone> Clone for LinkReceiver<T, S> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), receiver: self.receiver.clone() }
    }
}

/// An item that was not delivered, given back to the sender.
#[derive(Debug)]
pub enum Undelivered<T> {
    /// No receiver is left.
    Closed(T),
    /// The wait for room was cancelled.
    Cancelled(T),
    /// There is no room now (only from [`LinkSender::try_send`]).
    Full(T),
}

impl<T> Undelivered<T> {
    /// The item.
    pub fn into_inner(self) -> T {
        match self {
            Self::Closed(item) | Self::Cancelled(item) | Self::Full(item) => item,
        }
    }
}

/// One receiver of several queues with room for so many items each, taken from in this order.
fn joined<T: Accounted<S>, S: Label, const N: usize>(
    capacities: [usize; N],
    queued: S,
    receiver: S,
) -> ([LinkSender<T, S>; N], LinkReceiver<T, S>) {
    let arrivals: Arc<Line> = Arc::default();
    let mut queues = Vec::with_capacity(N);
    let senders = capacities.map(|capacity| {
        let (items, queue) = Queue::new(capacity);
        let sender = LinkSender { items, room: Arc::clone(&queue.room), queued, arrivals: RingOnDrop(Arc::clone(&arrivals)) };
        queues.push(queue);
        sender
    });
    (senders, LinkReceiver { core: Arc::new(ReceiverCore { queues, arrivals }), receiver })
}

/// A link with room for `capacity` items (at least one). Items that wait are attributed to `queued`, received ones to `receiver`.
#[must_use]
pub fn link<T: Accounted<S>, S: Label>(capacity: usize, queued: S, receiver: S) -> (LinkSender<T, S>, LinkReceiver<T, S>) {
    let ([sender], receiver) = joined([capacity], queued, receiver);
    (sender, receiver)
}

/// A link with a second way in, of room for `lane` items, whose items are received before those that came in the usual way: for items that
/// come back from further down to be worked on again.
///
/// The receiver ends when all senders of both are gone. A lane's sender that travels with the items themselves is gone when the last item
/// is, so a pipeline with a lane drains as one without.
///
/// Returned are the usual sender, the lane's sender, and the receiver. Whoever holds up the receiver's own way out must use
/// [`LinkSender::try_send`] for the lane, or the two could wait for each other.
#[must_use]
pub fn link_with_lane<T: Accounted<S>, S: Label>(
    capacity: usize,
    lane: usize,
    queued: S,
    receiver: S,
) -> (LinkSender<T, S>, LinkSender<T, S>, LinkReceiver<T, S>) {
    let ([returned, usual], receiver) = joined([lane, capacity], queued, receiver);
    (usual, returned, receiver)
}

/// A link that gives out what is most urgent first, and of the same [`Priority`] what came first. It has room for `capacity` items of each
/// priority, so what is less urgent never takes the room of what is more so.
#[must_use]
pub fn link_by_priority<T: Accounted<S>, S: Label>(capacity: usize, queued: S, receiver: S) -> (PrioritySender<T, S>, LinkReceiver<T, S>) {
    let (senders, receiver) = joined(Priority::ALL.map(|_| capacity), queued, receiver);
    (PrioritySender(senders), receiver)
}

/// The sending end of a [`link_by_priority`].
pub struct PrioritySender<T, S>([LinkSender<T, S>; Priority::ALL.len()]);

impl<T, S: Clone> Clone for PrioritySender<T, S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Accounted<S>, S: Label> PrioritySender<T, S> {
    /// Queues an item, waiting for room behind those of its priority who wait already.
    ///
    /// # Errors
    /// The item comes back when no receiver is left or `cancel` is raised.
    pub fn send(&self, priority: Priority, item: T, cancel: &Cancel) -> Result<(), Undelivered<T>> {
        self.0[priority as usize].send(item, cancel)
    }

    /// Items that wait now.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.0.iter().map(LinkSender::queued).sum()
    }
}

impl<T: Accounted<S>, S: Label> LinkSender<T, S> {
    /// One try, under the lock of the line for room. The item stays in `waiting` when there is no room.
    fn attempt(&self, waiting: &mut Option<T>, gate: Gate) -> Option<Result<(), Undelivered<T>>> {
        let item = waiting.take()?;
        if gate == Gate::Closed {
            return Some(Err(Undelivered::Closed(item)));
        }
        match self.items.try_send(item) {
            Ok(()) => Some(Ok(())),
            Err(flume::TrySendError::Disconnected(item)) => Some(Err(Undelivered::Closed(item))),
            Err(flume::TrySendError::Full(item)) => {
                *waiting = Some(item);
                None
            }
        }
    }

    fn rung(&self, sent: Result<(), Undelivered<T>>) -> Result<(), Undelivered<T>> {
        if sent.is_ok() {
            self.arrivals.0.ring_if_waited_for();
        }
        sent
    }

    /// Queues an item, waiting for room behind those who wait already.
    ///
    /// # Errors
    /// The item comes back when no receiver is left or `cancel` is raised.
    pub fn send(&self, mut item: T, cancel: &Cancel) -> Result<(), Undelivered<T>> {
        item.attribute_to(self.queued);
        if cancel.is_cancelled() {
            return Err(Undelivered::Cancelled(item));
        }
        let mut waiting = Some(item);
        if let Some(sent) = self.room.try_now(|gate| self.attempt(&mut waiting, gate)) {
            return self.rung(sent);
        }
        let sent = self.room.wait(cancel, |gate| self.attempt(&mut waiting, gate));
        match (sent, waiting) {
            (Some(sent), _) => self.rung(sent),
            (None, Some(item)) => Err(Undelivered::Cancelled(item)),
            // An attempt that takes the item says what became of it, so this is never reached.
            (None, None) => Ok(()),
        }
    }

    /// Queues an item if there is room now.
    ///
    /// # Errors
    /// The item comes back when there is no room, somebody waits for room already, or no receiver is left.
    pub fn try_send(&self, mut item: T) -> Result<(), Undelivered<T>> {
        item.attribute_to(self.queued);
        let mut waiting = Some(item);
        match (self.room.try_now(|gate| self.attempt(&mut waiting, gate)), waiting) {
            (Some(sent), _) => self.rung(sent),
            (None, Some(item)) => Err(Undelivered::Full(item)),
            (None, None) => Ok(()),
        }
    }

    /// Items that wait now.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.items.len()
    }
}

/// What a receiver got, before its buffers are attributed to it.
pub(crate) struct Arrival<T> {
    pub(crate) item: T,
    /// Nothing was queued when the receiver came.
    pub(crate) waited: bool,
}

impl<T: Accounted<S>, S: Label> LinkReceiver<T, S> {
    /// One try, under the lock of the line for items: an item and its queue, or the end.
    fn attempt(&self) -> Option<Option<(T, usize)>> {
        let mut open = false;
        for (index, queue) in self.core.queues.iter().enumerate() {
            match queue.items.try_recv() {
                Ok(item) => return Some(Some((item, index))),
                Err(flume::TryRecvError::Empty) => open = true,
                Err(flume::TryRecvError::Disconnected) => {}
            }
        }
        if open { None } else { Some(None) }
    }

    /// The next item as it was queued.
    pub(crate) fn next(&self, cancel: &Cancel) -> Option<Arrival<T>> {
        if cancel.is_cancelled() {
            return None;
        }
        let (found, waited) = match self.core.arrivals.try_now(|_| self.attempt()) {
            Some(found) => (found, false),
            None => {
                let nothing = self.core.queues.iter().all(|queue| queue.items.is_empty());
                (self.core.arrivals.wait(cancel, |_| self.attempt())?, nothing)
            }
        };
        let (item, queue) = found?;
        self.core.queues[queue].room.ring_if_waited_for();
        Some(Arrival { item, waited })
    }

    /// Waits for the next item. `None` when every sender is gone and nothing is queued, or when `cancel` is raised.
    #[must_use]
    pub fn receive(&self, cancel: &Cancel) -> Option<T> {
        let Arrival { mut item, .. } = self.next(cancel)?;
        item.attribute_to(self.receiver);
        Some(item)
    }
}
