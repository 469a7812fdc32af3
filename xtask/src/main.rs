#![doc = include_str!("../README.md")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks to its terminal")]

mod bench;
mod boundaries;
mod ci;
mod finding;
mod fixtures;
mod levels;
mod loom;
mod metadata;
mod repository;
mod simulate;
mod slow;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::repository::Repository;

/// The tasks of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the steps of continuous integration in order.
    Ci(ci::Arguments),
    /// Looks for what must not be in the sources and documents.
    Tidy,
    /// Checks which crate depends on which.
    Boundaries,
    /// Checks every interleaving of small models of the ledger.
    Loom,
    /// Measures a proof by stage, and beside another prover.
    Bench(bench::Arguments),
    /// Makes the test data, or compares it with what is made anew; makes virtual sectors.
    Fixtures(fixtures::Arguments),
    /// Replays in virtual time how a prover ran out of memory, and the same jobs under our rules.
    Simulate(simulate::Arguments),
    /// Runs tests that take too long for every change.
    Slow(slow::Arguments),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> anyhow::Result<()> {
    let repository = Repository::find()?;
    match command {
        Command::Ci(arguments) => ci::run(&repository, arguments),
        Command::Tidy => tidy::run(&repository),
        Command::Boundaries => boundaries::run(&repository),
        Command::Loom => loom::run(&repository),
        Command::Bench(arguments) => bench::run(&repository, arguments),
        Command::Fixtures(arguments) => fixtures::run(&repository, arguments),
        Command::Simulate(arguments) => simulate::run(&repository, arguments),
        Command::Slow(arguments) => slow::run(&repository, arguments),
    }
}
