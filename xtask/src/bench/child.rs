//! A child process watched from outside, for programs that do not measure themselves.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::repository::spelled;

/// Time between two samples of memory.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// What a child took over its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) cpu_s: f64,
    pub(super) wall_s: f64,
    /// Highest sampled anonymous memory; a spike shorter than the interval can be missed.
    pub(super) peak_anonymous_bytes: u64,
    /// Highest sampled file-backed memory.
    pub(super) peak_file_bytes: u64,
}

impl Usage {
    pub(super) fn json(&self) -> Value {
        json!({
            "cpu_s": self.cpu_s,
            "wall_s": self.wall_s,
            "peak_anonymous_bytes": self.peak_anonymous_bytes,
            "peak_file_bytes": self.peak_file_bytes,
        })
    }

    fn take_in(&mut self, status: &str) {
        let bytes = |field: &str| kibibytes(status, field).unwrap_or(0) * 1024;
        self.peak_anonymous_bytes = self.peak_anonymous_bytes.max(bytes("RssAnon:"));
        self.peak_file_bytes = self.peak_file_bytes.max(bytes("RssFile:"));
    }
}

/// Runs a command that must succeed, and measures it. Nothing else of this process may wait for a child meanwhile.
pub(super) fn watched(command: &mut Command) -> Result<Usage> {
    println!("$ {}", spelled(command));
    let tick_s = tick_s()?;
    let mut errors = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    let (before, started) = (children_ticks()?, Instant::now());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", spelled(command)))?;
    let status_file = Path::new("/proc").join(child.id().to_string()).join("status");
    let mut usage = Usage::default();
    let status = loop {
        // A child that has just ended has no figures any more.
        usage.take_in(&std::fs::read_to_string(&status_file).unwrap_or_default());
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(SAMPLE_INTERVAL);
    };
    usage.wall_s = started.elapsed().as_secs_f64();
    usage.cpu_s = (children_ticks()? - before) as f64 * tick_s;
    if !status.success() {
        bail!("{} failed ({status}): {}", spelled(command), whole(&mut errors)?.trim());
    }
    Ok(usage)
}

fn whole(file: &mut File) -> Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A field of `/proc/PID/status`.
fn kibibytes(status: &str, field: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(field))?.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// Seconds of a tick in `/proc/PID/stat`.
fn tick_s() -> Result<f64> {
    let output = Command::new("getconf").arg("CLK_TCK").output().context("cannot start getconf")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let ticks: f64 = text.trim().parse().with_context(|| format!("expected ticks a second from getconf CLK_TCK, found {text:?}"))?;
    Ok(1.0 / ticks)
}

/// User and system time of the children of this process that ended, in ticks.
fn children_ticks() -> Result<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    children_of(&stat).with_context(|| format!("expected the time of the children in {stat:?}"))
}

/// Fields 16 and 17 of `/proc/PID/stat`. The second field, a name in parentheses, may contain anything.
fn children_of(stat: &str) -> Option<u64> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{children_of, kibibytes, watched};

    #[test]
    fn fields_are_found() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 130 14 15 16 17";
        assert_eq!(children_of(stat), Some(144));
        assert_eq!(children_of("7 (a) S 1 2"), None);
        let status = "Name:\tx\nVmHWM:\t  9 kB\nRssAnon:\t   2656 kB\n";
        assert_eq!((kibibytes(status, "RssAnon:"), kibibytes(status, "RssFile:")), (Some(2656), None));
    }

    #[test]
    fn a_child_is_measured_and_its_failure_told() {
        let usage = watched(Command::new("sleep").arg("0.05")).unwrap();
        assert!(usage.wall_s >= 0.05 && usage.peak_file_bytes > 0, "{usage:?}");
        // What it says is not spelled in the command.
        let error = watched(Command::new("sh").args(["-c", "printf '%s%s' bro ken >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.starts_with("sh -c") && error.contains("3") && error.ends_with("broken"), "{error}");
    }
}
