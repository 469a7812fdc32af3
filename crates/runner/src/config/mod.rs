//! The configuration: defaults, then a TOML file, then the environment, then flags; the last one that says something wins.

mod file;
mod keys;
mod layers;
mod value;
mod watching;

pub(crate) use keys::{KEYS, Key};
pub(crate) use layers::{FlagValues, Source};
pub(crate) use value::{Bytes, LogLevel, MemoryBudget, OutputFormat, Progress, Size, Threads, Value};
pub(crate) use watching::{BuffersInterval, MetricsAddress};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::{Exit, Failure};
use crate::paths::UserFolders;
use layers::Layers;

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

/// The effective configuration.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    params_dir: Option<Setting<PathBuf>>,
    cache_dir: Option<Setting<PathBuf>>,
    pub(crate) memory: Setting<MemoryBudget>,
    pub(crate) threads: Setting<Threads>,
    pub(crate) synth_threads: Setting<Threads>,
    pub(crate) accept_development_parameters: Setting<bool>,
    pub(crate) stop_grace: Setting<Duration>,
    pub(crate) output: Setting<OutputFormat>,
    pub(crate) progress: Setting<Progress>,
    pub(crate) log: Setting<LogLevel>,
    pub(crate) metrics_addr: Setting<MetricsAddress>,
    pub(crate) buffers_interval: Setting<BuffersInterval>,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
}

/// What the process was given, so that tests can give something else.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// The process's own.
    pub(crate) fn of_process() -> Self {
        Self { variables: std::env::vars_os().collect() }
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&OsString> {
        self.variables.get(&OsString::from(name)).filter(|value| !value.is_empty())
    }
}

impl Config {
    /// Reads every layer. A bad value is refused even where a later layer overrides it.
    ///
    /// # Errors
    /// [`Exit::Config`] for the file and the environment, [`Exit::Usage`] for flags, and what reading the file may give.
    pub(crate) fn load(flags: &FlagValues, environment: &Environment) -> Result<Self, Failure> {
        let folders = UserFolders::of(environment);
        let mut layers = Layers::default();
        let file = file::locate(flags, environment, &folders);
        let read = match &file {
            Some(located) => file::read(located, &folders, &mut layers)?,
            None => false,
        };
        layers.add_environment(environment)?;
        layers.add_flags(flags)?;
        let folder = |default: Option<PathBuf>| default.map(|value| Setting { value, source: Source::Default });
        Ok(Self {
            params_dir: layers.get(keys::PARAMS_DIR).or_else(|| folder(folders.params())),
            cache_dir: layers.get(keys::CACHE_DIR).or_else(|| folder(folders.circuits())),
            memory: layers.get_or(keys::MEMORY, MemoryBudget::Auto),
            threads: layers.get_or(keys::THREADS, Threads::Auto),
            synth_threads: layers.get_or(keys::SYNTH_THREADS, Threads::Auto),
            accept_development_parameters: layers.get_or(keys::ACCEPT_DEVELOPMENT_PARAMETERS, false),
            stop_grace: layers.get_or(keys::STOP_GRACE, Duration::from_secs(30)),
            output: layers.get_or(keys::OUTPUT, OutputFormat::Text),
            progress: layers.get_or(keys::PROGRESS, Progress::Auto),
            log: layers.get_or(keys::LOG, LogLevel::Warn),
            metrics_addr: layers.get_or(keys::METRICS_ADDR, MetricsAddress::Off),
            buffers_interval: layers.get_or(keys::BUFFERS_INTERVAL, BuffersInterval::Off),
            file: file.filter(|_| read).map(|located| located.path),
        })
    }

    /// Where proving parameters are kept.
    ///
    /// # Errors
    /// [`Exit::Config`] when nothing says where.
    pub(crate) fn params_dir(&self) -> Result<&PathBuf, Failure> {
        self.params_dir.as_ref().map(|s| &s.value).ok_or_else(|| no_folder("params_dir", "XDG_DATA_HOME"))
    }

    /// Where compiled circuits are kept.
    ///
    /// # Errors
    /// [`Exit::Config`] when nothing says where.
    pub(crate) fn cache_dir(&self) -> Result<&PathBuf, Failure> {
        self.cache_dir.as_ref().map(|s| &s.value).ok_or_else(|| no_folder("cache_dir", "XDG_CACHE_HOME"))
    }

    /// Every setting as text: key, value, source.
    pub(crate) fn list(&self) -> Vec<(&'static Key, Option<String>, Source)> {
        fn shown<T: Value>(setting: &Setting<T>) -> (Option<String>, Source) {
            (Some(setting.value.show()), setting.source.clone())
        }
        fn shown_folder(setting: Option<&Setting<PathBuf>>) -> (Option<String>, Source) {
            setting.map_or((None, Source::Default), shown)
        }
        KEYS.iter()
            .map(|key| {
                let (value, source) = match key.name {
                    keys::PARAMS_DIR => shown_folder(self.params_dir.as_ref()),
                    keys::CACHE_DIR => shown_folder(self.cache_dir.as_ref()),
                    keys::MEMORY => shown(&self.memory),
                    keys::THREADS => shown(&self.threads),
                    keys::SYNTH_THREADS => shown(&self.synth_threads),
                    keys::ACCEPT_DEVELOPMENT_PARAMETERS => shown(&self.accept_development_parameters),
                    keys::STOP_GRACE => shown(&self.stop_grace),
                    keys::OUTPUT => shown(&self.output),
                    keys::PROGRESS => shown(&self.progress),
                    keys::METRICS_ADDR => shown(&self.metrics_addr),
                    keys::BUFFERS_INTERVAL => shown(&self.buffers_interval),
                    _ => shown(&self.log),
                };
                (key, value, source)
            })
            .collect()
    }
}

fn no_folder(key: &str, variable: &str) -> Failure {
    let flag = key.replace('_', "-");
    Failure::new(Exit::Config, format!("{key} has no default because neither {variable} nor HOME is set: give --{flag} or set one of them"))
}

#[cfg(test)]
mod tests;
