//! A bounded channel of leases: the one module that names flume.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use buffer_accounting::{Accounted, Cancel, Label};

/// How often a waiting end looks at its cancellation flag.
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// A queued item. The sender keeps a handle until it knows that a receiver is there to see the item.
type Slot<T> = Arc<Mutex<Option<T>>>;

fn take<T>(slot: &Slot<T>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

struct ReceiverCore<T> {
    queue: flume::Receiver<Slot<T>>,
    closed: Arc<AtomicBool>,
}

impl<T> Drop for ReceiverCore<T> {
    fn drop(&mut self) {
        // Items sent before this flag are drained here; a sender that sends after it sees the flag and takes its item back.
        self.closed.store(true, Ordering::SeqCst);
        for slot in self.queue.drain() {
            drop(take(&slot));
        }
    }
}

/// The sending end. Clones share the link; when the last one drops, receivers see the end after the queued items.
pub struct LinkSender<T, S> {
    queue: flume::Sender<Slot<T>>,
    closed: Arc<AtomicBool>,
    queued: S,
}

impl<T, S: Clone> Clone for LinkSender<T, S> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), closed: Arc::clone(&self.closed), queued: self.queued.clone() }
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
}

impl<T> Undelivered<T> {
    /// The item.
    pub fn into_inner(self) -> T {
        match self {
            Self::Closed(item) | Self::Cancelled(item) => item,
        }
    }
}

/// A link with room for `capacity` items (at least one). Items that wait are attributed to `queued`, received ones to `receiver`.
#[must_use]
pub fn link<T: Accounted<S>, S: Label>(capacity: usize, queued: S, receiver: S) -> (LinkSender<T, S>, LinkReceiver<T, S>) {
    let (sender, queue) = flume::bounded(capacity.max(1));
    let closed = Arc::new(AtomicBool::new(false));
    let core = Arc::new(ReceiverCore { queue, closed: Arc::clone(&closed) });
    (LinkSender { queue: sender, closed, queued }, LinkReceiver { core, receiver })
}

impl<T: Accounted<S>, S: Label> LinkSender<T, S> {
    /// Queues an item, waiting for room.
    ///
    /// # Errors
    /// The item comes back when no receiver is left or `cancel` is raised.
    pub fn send(&self, mut item: T, cancel: &Cancel) -> Result<(), Undelivered<T>> {
        item.attribute_to(self.queued);
        let slot: Slot<T> = Arc::new(Mutex::new(Some(item)));
        loop {
            let waiting = match self.queue.send_timeout(Arc::clone(&slot), CANCEL_POLL) {
                Ok(()) => break,
                Err(flume::SendTimeoutError::Timeout(_)) => cancel.is_cancelled(),
                Err(flume::SendTimeoutError::Disconnected(_)) => return take(&slot).map_or(Ok(()), |item| Err(Undelivered::Closed(item))),
            };
            if waiting {
                return take(&slot).map_or(Ok(()), |item| Err(Undelivered::Cancelled(item)));
            }
        }
        if self.closed.load(Ordering::SeqCst) {
            // The receivers went away around the send; whoever finds the item in its slot has it.
            return take(&slot).map_or(Ok(()), |item| Err(Undelivered::Closed(item)));
        }
        Ok(())
    }

    /// Items that wait now.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }
}

impl<T: Accounted<S>, S: Label> LinkReceiver<T, S> {
    /// Waits for the next item. `None` when every sender is gone and the queue is empty, or when `cancel` is raised.
    #[must_use]
    pub fn receive(&self, cancel: &Cancel) -> Option<T> {
        while !cancel.is_cancelled() {
            match self.core.queue.recv_timeout(CANCEL_POLL) {
                // An empty slot was taken back by a sender that gave up.
                Ok(slot) => {
                    if let Some(mut item) = take(&slot) {
                        item.attribute_to(self.receiver);
                        return Some(item);
                    }
                }
                Err(flume::RecvTimeoutError::Timeout) => {}
                Err(flume::RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }
}
