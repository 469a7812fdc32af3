//! On what and of what a measurement is.

use std::fmt;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::repository::Repository;

/// Packages whose versions belong to a figure.
const PACKAGES: &[&str] = &["runner", "bellperson", "ec-gpu-gen", "filecoin-proofs", "blst"];

/// The machine, how busy it was, and the versions of what ran.
pub(super) struct Machine {
    processor: String,
    threads: usize,
    commit: String,
    compiler: String,
    versions: Vec<(String, String)>,
    /// Load averages of one minute, in order.
    loads: Vec<String>,
}

impl Machine {
    /// This machine, now. What cannot be learned is called unknown.
    pub(super) fn look(repository: &Repository) -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let said = |program: &str, arguments: &[&str]| {
            repository.output(program, arguments).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
        };
        let lock = std::fs::read_to_string(repository.root().join("Cargo.lock")).unwrap_or_default();
        let mut machine = Self {
            processor: processor(&cpu).unwrap_or("unknown processor").to_owned(),
            threads: std::thread::available_parallelism().map_or(0, usize::from),
            commit: said("git", &["describe", "--always", "--dirty"]),
            compiler: said("rustc", &["--version"]),
            versions: versions(&lock).unwrap_or_default(),
            loads: Vec::new(),
        };
        machine.note_load();
        machine
    }

    /// Notes how busy the machine is now.
    pub(super) fn note_load(&mut self) {
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        self.loads.push(load.as_deref().and_then(|text| text.split(' ').next()).unwrap_or("unknown").to_owned());
    }

    pub(super) fn json(&self) -> Value {
        let versions: serde_json::Map<_, _> = self.versions.iter().map(|(name, version)| (name.clone(), version.as_str().into())).collect();
        json!({
            "processor": self.processor,
            "threads": self.threads,
            "loads": self.loads,
            "commit": self.commit,
            "compiler": self.compiler,
            "versions": versions,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions: Vec<_> = self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        writeln!(f, "{}, {} threads; load {}", self.processor, self.threads, self.loads.join(" "))?;
        write!(f, "commit {}; {}; {}", self.commit, self.compiler, versions.join(", "))
    }
}

fn processor(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).map(|rest| rest.trim_matches([':', ' ', '\t']))
}

/// Versions of the packages in a lock file, in our order.
fn versions(lock: &str) -> Result<Vec<(String, String)>> {
    let lock: toml::Table = lock.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("a lock file has packages")?;
    let text = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let version =
        |name: &&str| packages.iter().find(|package| text(package, "name").as_deref() == Some(name)).and_then(|p| text(p, "version"));
    Ok(PACKAGES.iter().filter_map(|name| version(name).map(|version| ((*name).to_owned(), version))).collect())
}

#[cfg(test)]
mod tests {
    use super::{processor, versions};

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "version = 4\n[[package]]\nname = \"x\"\nversion = \"9.9.9\"\n[[package]]\nname = \"blst\"\nversion = \"0.3.17\"\n";
        assert_eq!(versions(lock).unwrap(), [("blst".to_owned(), "0.3.17".to_owned())]);
        assert!(versions("version = 4\n").is_err());
        assert!(versions("[").is_err());
    }

    #[test]
    fn the_processor_is_found() {
        assert_eq!(processor("flags\t: a\nmodel name\t: AMD EPYC\nmodel name\t: other\n"), Some("AMD EPYC"));
        assert_eq!(processor(""), None);
    }
}
