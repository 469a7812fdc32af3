//! Figures of one run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use telemetry::{MemorySampler, Stopwatch};

/// Time and memory of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// CPU seconds of all threads, user and system.
    pub cpu_s: f64,
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Highest sampled anonymous memory of the process.
    pub peak_anon_bytes: u64,
    /// Highest sampled file-backed memory of the process.
    pub peak_file_bytes: u64,
    /// The kernel's high-water mark of resident memory, over the life of the process.
    pub peak_rss_bytes: u64,
}

/// What `peers-run` prints on stdout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeerRun {
    /// What was run, with versions.
    pub peer: String,
    /// What it did.
    pub task: String,
    /// Time and memory.
    #[serde(flatten)]
    pub figures: Figures,
    /// The proof in hex, when there is one.
    pub proof: Option<String>,
    /// Whether the proof verifies, when there is one.
    pub verified: Option<bool>,
    /// Parameter files that were written.
    pub files: Vec<String>,
}

/// Runs `work` and measures it. Memory is sampled every 10 ms; spikes of the anonymous part shorter than that can be missed.
///
/// # Errors
/// When the figures cannot be had.
pub fn measured<T>(work: impl FnOnce() -> T) -> anyhow::Result<(T, Figures)> {
    let sampler = MemorySampler::start(Duration::from_millis(10))?;
    let stopwatch = Stopwatch::start()?;
    let result = work();
    let elapsed = stopwatch.elapsed()?;
    let peak = sampler.stop();
    let figures = Figures {
        cpu_s: elapsed.cpu.total_s(),
        wall_s: elapsed.wall_s,
        peak_anon_bytes: peak.anonymous_bytes,
        peak_file_bytes: peak.file_backed_bytes,
        peak_rss_bytes: peak.high_water_bytes,
    };
    Ok((result, figures))
}
