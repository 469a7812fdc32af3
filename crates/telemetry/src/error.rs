//! Why something could not be told.

use std::path::PathBuf;

/// Why something could not be told. None of these is a reason to stop proving.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A file of the kernel could not be read.
    #[error("{path} could not be read: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the kernel does not say what it should.
    #[error("{path}: expected {expected}, found {found:?}", path = path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What should be there.
        expected: &'static str,
        /// What is there, shortened.
        found: String,
    },
    /// A system call failed.
    #[error("{call} failed: {source}")]
    Call {
        /// The call.
        call: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The log filter is not valid.
    #[error(
        "{origin}: {given:?} is no log filter ({reason}); expected a level (error, warn, info, debug, trace, off) or target=level pairs separated by commas"
    )]
    Filter {
        /// Where the filter came from.
        origin: &'static str,
        /// What was given.
        given: String,
        /// What is wrong.
        reason: String,
    },
    /// Logging was set up before.
    #[error("logging is set up already; set it up once, at the start of the program")]
    AlreadyInstalled,
    /// Another recorder of metrics was set up before.
    #[error("this process records metrics already; set them up once, at the start of the program")]
    AlreadyRecording,
    /// The buckets of a histogram are not accepted.
    #[error("the buckets of {metric} are not accepted: {reason}")]
    Buckets {
        /// The metric.
        metric: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Metrics cannot be served at this address.
    #[error("metrics cannot be served at {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A thread that serves metrics could not be started.
    #[error("a thread to serve metrics could not be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The sampling thread could not be started.
    #[error("the memory sampler's thread could not be started: {0}")]
    Spawn(std::io::Error),
}

impl TelemetryError {
    pub(crate) fn format(path: impl Into<PathBuf>, expected: &'static str, found: &str) -> Self {
        Self::Format { path: path.into(), expected, found: found.chars().take(80).collect() }
    }
}
