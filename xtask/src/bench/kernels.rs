//! Sums and transforms beside other libraries, by the program `kernels`.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::repository::{Repository, run as run_command};

/// Builds and runs it; what it prints is for the reader, what it returns is its JSON object.
pub(super) fn run(repository: &Repository, arguments: &[String]) -> Result<Value> {
    run_command(repository.cargo().args(["build", "--release", "--package", "peers"]))?;
    let file = tempfile::NamedTempFile::new()?;
    let mut command = std::process::Command::new(repository.target().join("release/kernels"));
    run_command(command.args(arguments).arg("--json").arg(file.path()))?;
    serde_json::from_slice(&std::fs::read(file.path())?).context("the program kernels did not write one JSON object")
}
