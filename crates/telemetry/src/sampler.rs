//! The peak of anonymous memory, by sampling.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{ProcessMemory, TelemetryError};

/// Shortest time between two samples: one costs about 20 µs of system time.
pub const SAMPLE_INTERVAL_MIN: Duration = Duration::from_millis(5);
/// Longest time between two samples.
pub const SAMPLE_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// The highest figures seen between start and stop, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryPeak {
    /// Highest sampled anonymous memory. A spike shorter than the interval can be missed: the kernel keeps no mark of it.
    pub anonymous_bytes: u64,
    /// Highest sampled file-backed memory.
    pub file_backed_bytes: u64,
    /// Highest sampled resident memory (the parts need not peak together).
    pub resident_bytes: u64,
    /// The kernel's own mark of resident memory over the whole life of the process. It misses no spike, but is kept with per-processor
    /// counters: it can be off by some hundred kilobytes.
    pub high_water_bytes: u64,
    /// Samples that were taken.
    pub samples: u64,
    /// Samples that could not be read.
    pub failures: u64,
}

impl MemoryPeak {
    fn take_in(&mut self, sample: Result<ProcessMemory, TelemetryError>) {
        match sample {
            Ok(memory) => {
                self.anonymous_bytes = self.anonymous_bytes.max(memory.anonymous_bytes);
                self.file_backed_bytes = self.file_backed_bytes.max(memory.file_backed_bytes);
                self.resident_bytes = self.resident_bytes.max(memory.resident_bytes());
                self.high_water_bytes = self.high_water_bytes.max(memory.high_water_bytes);
                self.samples += 1;
            }
            Err(_) => self.failures += 1,
        }
    }
}

#[derive(Default)]
struct State {
    peak: MemoryPeak,
    stopped: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    woken: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is plain numbers that are valid after any interruption.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, interval: Duration) {
        let mut state = self.lock();
        while !state.stopped {
            state.peak.take_in(ProcessMemory::read());
            let next = Instant::now() + interval;
            while !state.stopped {
                let Some(left) = next.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else { break };
                state = self.woken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

/// Samples this process' memory in a thread of its own, which ends when the sampler is stopped or dropped.
pub struct MemorySampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl MemorySampler {
    /// Takes a sample now and then one each `interval`, which is brought between [`SAMPLE_INTERVAL_MIN`] and [`SAMPLE_INTERVAL_MAX`].
    ///
    /// # Errors
    /// [`TelemetryError`] when memory cannot be read at all, or the thread cannot be started.
    pub fn start(interval: Duration) -> Result<Self, TelemetryError> {
        let shared = Arc::new(Shared::default());
        shared.lock().peak.take_in(Ok(ProcessMemory::read()?));
        let theirs = Arc::clone(&shared);
        let interval = interval.clamp(SAMPLE_INTERVAL_MIN, SAMPLE_INTERVAL_MAX);
        let thread =
            std::thread::Builder::new().name("memory-sampler".into()).spawn(move || theirs.run(interval)).map_err(TelemetryError::Spawn)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The peak so far, the present moment included.
    #[must_use]
    pub fn peak(&self) -> MemoryPeak {
        let mut state = self.shared.lock();
        state.peak.take_in(ProcessMemory::read());
        state.peak
    }

    /// The peak since the start or the last lap; sampled peaks begin anew from now (the kernel's mark cannot).
    #[must_use = "the peak of the lap is forgotten"]
    pub fn lap(&self) -> MemoryPeak {
        let mut state = self.shared.lock();
        let now = ProcessMemory::read();
        if let Ok(now) = &now {
            state.peak.take_in(Ok(*now));
        }
        let lap = state.peak;
        state.peak = MemoryPeak { high_water_bytes: lap.high_water_bytes, ..MemoryPeak::default() };
        state.peak.take_in(now);
        lap
    }

    /// Ends the sampling and gives the peak.
    #[must_use = "dropping a sampler stops it too"]
    pub fn stop(mut self) -> MemoryPeak {
        let peak = self.peak();
        self.end();
        peak
    }

    fn end(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.woken.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread runs no code that panics, and a sampler has nothing to say about one that did.
            let _ = thread.join();
        }
    }
}

impl Drop for MemorySampler {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samplers_alive() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks
            .filter(|t| std::fs::read_to_string(t.as_ref().unwrap().path().join("comm")).is_ok_and(|c| c.trim() == "memory-sampler"))
            .count()
    }

    #[test]
    fn the_rate_is_bounded_and_a_stopped_sampler_takes_no_time() {
        let start = Instant::now();
        let sampler = MemorySampler::start(Duration::ZERO).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let peak = sampler.peak();
        let samples_max = start.elapsed().as_millis() as u64 / SAMPLE_INTERVAL_MIN.as_millis() as u64 + 4;
        assert!((2..=samples_max).contains(&peak.samples), "{peak:?}, at most {samples_max}");
        drop(sampler);

        let slow = MemorySampler::start(Duration::from_secs(1000)).unwrap();
        let stopping = Instant::now();
        assert!(slow.stop().samples >= 1);
        assert!(stopping.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn dropping_ends_the_thread() {
        // Other tests run samplers too, so this one asks for its own to go: the count falls below what it was with fifty more.
        let many: Vec<_> = (0..50).map(|_| MemorySampler::start(Duration::from_secs(5)).unwrap()).collect();
        drop(many);
        assert!(samplers_alive() < 50);
    }
}
