//! `cargo xtask loom`: what threads wait in, under a model checker.

use anyhow::Result;

use crate::repository::{Repository, run as run_command};

/// Runs the models. Everything is compiled another way, so it has a folder of its own below `target/`.
pub(crate) fn run(repository: &Repository) -> Result<()> {
    let arguments = ["test", "--release", "--package", "buffer-accounting", "--package", "scheduler", "--test", "loom"];
    // The books check themselves after every change only with assertions.
    let flags = "--cfg loom -C debug-assertions";
    run_command(repository.cargo().args(arguments).args(["--target-dir", "target/loom"]).env("RUSTFLAGS", flags))
}
