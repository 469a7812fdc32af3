//! Flags for settings. Their values are read by the configuration, so that every layer refuses the same things in the same words.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::config::FlagValues;

/// Flags for settings, accepted before and after the command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct SettingFlags {
    /// Read this configuration file instead of the user's default one
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Keep proving parameters in this folder
    #[arg(long, global = true, value_name = "DIR")]
    params_dir: Option<OsString>,
    /// Keep compiled circuits in this folder
    #[arg(long, global = true, value_name = "DIR")]
    cache_dir: Option<OsString>,
    /// Let large buffers take this much memory: auto, or for instance 24GiB
    #[arg(long, global = true, value_name = "SIZE")]
    memory: Option<OsString>,
    /// Work with this many threads: auto, or a number
    #[arg(long, global = true, value_name = "COUNT")]
    threads: Option<OsString>,
    /// Synthesise this many partitions at a time: auto, which is one, or a number
    #[arg(long, global = true, value_name = "COUNT")]
    synth_threads: Option<OsString>,
    /// Allow development parameters for circuits of production size; such proofs are worthless on a real network
    #[arg(long, global = true)]
    accept_development_parameters: bool,
    /// After Ctrl-C or a request to terminate, wait this long for a clean stop, for instance 30s
    #[arg(long, global = true, value_name = "TIME")]
    stop_grace: Option<OsString>,
    /// Print text for people, or one JSON object
    #[arg(long, global = true, value_name = "text|json")]
    output: Option<OsString>,
    /// Draw progress bars: auto (when standard error is a terminal), always or never
    #[arg(long, global = true, value_name = "WHEN")]
    progress: Option<OsString>,
    /// Log to standard error: off, error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<OsString>,
    /// Serve metrics at this address while proving: off, or for instance 127.0.0.1:9464
    #[arg(long, global = true, value_name = "ADDRESS")]
    metrics_addr: Option<OsString>,
    /// Log the large buffers in flight while proving, this often: off, or for instance 30s
    #[arg(long, global = true, value_name = "TIME")]
    buffers_interval: Option<OsString>,
}

impl SettingFlags {
    /// Key and value of each flag that was given.
    pub(crate) fn values(&self) -> FlagValues {
        let given = [
            ("params_dir", &self.params_dir),
            ("cache_dir", &self.cache_dir),
            ("memory", &self.memory),
            ("threads", &self.threads),
            ("synth_threads", &self.synth_threads),
            ("stop_grace", &self.stop_grace),
            ("output", &self.output),
            ("progress", &self.progress),
            ("log", &self.log),
            ("metrics_addr", &self.metrics_addr),
            ("buffers_interval", &self.buffers_interval),
        ];
        let mut values: Vec<_> = given.into_iter().filter_map(|(key, value)| value.clone().map(|value| (key, value))).collect();
        if self.accept_development_parameters {
            values.push(("accept_development_parameters", "true".into()));
        }
        FlagValues { config: self.config.clone(), values }
    }
}
