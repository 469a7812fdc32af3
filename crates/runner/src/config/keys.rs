//! Every key of the configuration, once.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use super::value::{LogLevel, MemoryBudget, OutputFormat, Progress, Threads, Value};
use super::watching::{BuffersInterval, MetricsAddress};

pub(super) const PARAMS_DIR: &str = "params_dir";
pub(super) const CACHE_DIR: &str = "cache_dir";
pub(super) const MEMORY: &str = "memory";
pub(super) const THREADS: &str = "threads";
pub(super) const SYNTH_THREADS: &str = "synth_threads";
pub(super) const ACCEPT_DEVELOPMENT_PARAMETERS: &str = "accept_development_parameters";
pub(super) const STOP_GRACE: &str = "stop_grace";
pub(super) const OUTPUT: &str = "output";
pub(super) const PROGRESS: &str = "progress";
pub(super) const LOG: &str = "log";
pub(super) const METRICS_ADDR: &str = "metrics_addr";
pub(super) const BUFFERS_INTERVAL: &str = "buffers_interval";

/// The type a key has in a TOML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TomlType {
    Path,
    Text,
    TextOrInteger,
    Boolean,
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in the file; the flag is the same with `-` for `_`.
    pub(crate) name: &'static str,
    /// Its environment variable.
    pub(crate) variable: &'static str,
    /// The allowed forms.
    pub(crate) forms: &'static str,
    pub(super) toml: TomlType,
    pub(super) check: fn(&OsStr) -> Result<(), Option<String>>,
}

fn check<T: Value>(text: &OsStr) -> Result<(), Option<String>> {
    T::parse_os(text).map(drop)
}

const fn key<T: Value>(name: &'static str, variable: &'static str, toml: TomlType) -> Key {
    Key { name, variable, forms: T::FORMS, toml, check: check::<T> }
}

/// Every key, in the order of `proofmill config`.
pub(crate) const KEYS: &[Key] = &[
    key::<PathBuf>(PARAMS_DIR, "PROOFMILL_PARAMS_DIR", TomlType::Path),
    key::<PathBuf>(CACHE_DIR, "PROOFMILL_CACHE_DIR", TomlType::Path),
    key::<MemoryBudget>(MEMORY, "PROOFMILL_MEMORY", TomlType::Text),
    key::<Threads>(THREADS, "PROOFMILL_THREADS", TomlType::TextOrInteger),
    key::<Threads>(SYNTH_THREADS, "PROOFMILL_SYNTH_THREADS", TomlType::TextOrInteger),
    key::<bool>(ACCEPT_DEVELOPMENT_PARAMETERS, "PROOFMILL_ACCEPT_DEVELOPMENT_PARAMETERS", TomlType::Boolean),
    key::<Duration>(STOP_GRACE, "PROOFMILL_STOP_GRACE", TomlType::Text),
    key::<OutputFormat>(OUTPUT, "PROOFMILL_OUTPUT", TomlType::Text),
    key::<Progress>(PROGRESS, "PROOFMILL_PROGRESS", TomlType::Text),
    key::<LogLevel>(LOG, "PROOFMILL_LOG", TomlType::Text),
    key::<MetricsAddress>(METRICS_ADDR, "PROOFMILL_METRICS_ADDR", TomlType::Text),
    key::<BuffersInterval>(BUFFERS_INTERVAL, "PROOFMILL_BUFFERS_INTERVAL", TomlType::Text),
];

/// The variable that names the file.
pub(super) const CONFIG_VARIABLE: &str = "PROOFMILL_CONFIG";

/// The name among `names` that a typo most likely meant: at most two edits away.
pub(super) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names.map(|name| (edits(typed, name), name)).filter(|(distance, name)| *distance <= 2.min(name.len() / 3)).min().map(|(_, name)| name)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_find_their_key() {
        let names = || KEYS.iter().map(|k| k.name);
        assert_eq!(nearest("memroy", names()), Some("memory"));
        assert_eq!(nearest("thread", names()), Some("threads"));
        assert_eq!(nearest("parameters", names()), None);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
    }
}
