//! A thread that does something now and then.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::exit::{Exit, Failure};

#[derive(Debug, Default)]
struct Shared {
    stopped: Mutex<bool>,
    stopping: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; false when stopped.
    fn wait(&self, time: Duration) -> bool {
        let start = Instant::now();
        let mut stopped = self.lock();
        while !*stopped {
            let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else { return true };
            stopped = self.stopping.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// Does something at once and then once in a while, until it is dropped.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts.
    ///
    /// # Errors
    /// [`Exit::Temporary`] when the thread cannot be had.
    pub(super) fn start(name: &str, interval: Duration, mut tick: impl FnMut() + Send + 'static) -> Result<Self, Failure> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let work = move || {
            loop {
                tick();
                if !theirs.wait(interval) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work)
            .map_err(|error| Failure::new(Exit::Temporary, format!("the thread {name} could not be started: {error}")))?;
        Ok(Self { shared, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.shared.lock() = true;
        self.shared.stopping.notify_all();
        if let Some(thread) = self.thread.take() {
            // It only shows things; what it died of was said by the panic itself.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn it_ticks_at_once_and_again_and_ends_with_its_owner() {
        let ticks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ticks);
        let ticker = Ticker::start("test", Duration::from_millis(1), move || {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
        while ticks.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        drop(ticker);
        assert_eq!(Arc::strong_count(&ticks), 1, "the thread is gone");

        let once = Arc::clone(&ticks);
        let slow = Ticker::start("test", Duration::from_secs(3600), move || {
            once.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
        drop(slow);
    }
}
