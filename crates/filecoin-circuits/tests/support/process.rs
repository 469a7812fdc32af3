//! Tests that need a process of their own, and what such a process used.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]
#![allow(clippy::print_stdout, reason = "the figures are what a measuring test is run for")]
#![allow(dead_code, reason = "not every test uses all of it")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// Set in a process that runs one test alone; its value is the step to run.
const STEP: &str = "FILECOIN_CIRCUITS_TEST_STEP";

/// The step this process was started for.
pub(crate) fn step() -> Option<String> {
    std::env::var(STEP).ok()
}

/// Runs `test` again, alone, in a process with this step, folder and environment; panics unless it passes.
pub(crate) fn run_alone(test: &str, step: &str, folder: &Path, environment: &[(&str, &str)]) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(STEP, step)
        .envs(environment.iter().copied())
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success(), "{test}, step {step}");
}

/// Bytes of a line of /proc/self/status.
pub(crate) fn status_bytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    // utime and stime are fields 14 and 15 of the line, in hundredths.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

/// What a piece of work used.
pub(crate) struct Used {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    /// Anonymous memory above what there was before.
    pub(crate) anonymous_growth: u64,
    /// Anonymous memory at the highest.
    pub(crate) anonymous_peak: u64,
}

/// Runs `work` and measures. Anonymous memory is sampled every 2 ms.
pub(crate) fn measured<T>(what: &str, work: impl FnOnce() -> T) -> (T, Used) {
    let sampler = Sampler::start();
    let before = status_bytes("RssAnon:");
    let (wall, cpu) = (Instant::now(), cpu_seconds());
    let result = work();
    let (wall_s, cpu_s) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let anonymous_peak = sampler.stop().max(status_bytes("RssAnon:"));
    let used = Used { wall_s, cpu_s, anonymous_growth: anonymous_peak.saturating_sub(before), anonymous_peak };
    println!(
        "{what}: {wall_s:.2} s, {cpu_s:.2} CPU s, anonymous peak {:.1} MiB, growth {:.1} MiB",
        mib(used.anonymous_peak),
        mib(used.anonymous_growth)
    );
    (result, used)
}

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

struct Sampler {
    done: Arc<AtomicBool>,
    highest: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Sampler {
    fn start() -> Self {
        let (done, highest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stop, record) = (Arc::clone(&done), Arc::clone(&highest));
        let thread = spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                record.fetch_max(status_bytes("RssAnon:"), Ordering::Relaxed);
                sleep(Duration::from_millis(2));
            }
        });
        Self { done, highest, thread }
    }

    fn stop(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        self.highest.load(Ordering::Relaxed)
    }
}
