//! Runs the built binary in folders of its own.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it unwraps")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A place for one test: its own home, so that nothing of the user's is read or written.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// What a run left.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The binary without the user's environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmill"));
        command.env_clear().env("HOME", self.folder.path()).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Run {
        finish(self.command().args(arguments))
    }

    /// Every file below the place, relative, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path.strip_prefix(self.folder.path()).unwrap().to_owned()) }
            }
        }
        files.sort();
        files
    }
}

pub(crate) fn finish(command: &mut Command) -> Run {
    let start = Instant::now();
    let Output { status, stdout, stderr } = command.output().unwrap();
    Run {
        code: status.code().unwrap_or(-1),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
        took: start.elapsed(),
    }
}

impl Run {
    /// The command did its work.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// The command was refused with this code, nothing on standard output, and one line that has all of this.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("proofmill: "), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {}", self.stderr);
        }
        self
    }

    /// Standard output is one JSON object with a version, and nothing else.
    #[track_caller]
    pub(crate) fn object(&self) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout));
        assert_eq!(value["version"], 1, "{value}");
        assert!(value["command"].is_string(), "{value}");
        value
    }
}

/// A file of the repository's test data.
pub(crate) fn bench_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench-data").join(name)
}

/// No class of host memory, nor all of it, was above the plan in this run's summary.
#[track_caller]
pub(crate) fn assert_within_plan(summary: &serde_json::Value) {
    let rows = |what: &str| summary[what].as_array().unwrap().clone();
    let host: Vec<_> = rows("buffers").into_iter().chain(rows("budgets")).filter(|row| row["space"] == "host").collect();
    assert!(host.len() > 5, "{summary}");
    for row in host {
        let bytes = |key: &str| row[key].as_u64().unwrap();
        assert!(bytes("peak_bytes") <= bytes("plan_bytes"), "{row}");
    }
}
