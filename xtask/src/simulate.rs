//! `cargo xtask simulate`: the history of one prover in virtual time, and the same jobs under our rules.

mod chart;
mod history;
mod inputs;
mod outcome;
mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::repository::Repository;
use inputs::{Range, Settings};
use outcome::Outcome;

/// What to simulate. The defaults are the published figures that `docs/SIMULATOR.md` cites.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Partitions that are synthesised at once.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
    /// Workers that share the device: one computes while the others have their partition ready.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    device_workers: u32,
    /// Jobs of ten partitions, all there at the start.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: u32,
    /// Time of one synthesis, as SECONDS or LEAST..MOST.
    #[arg(long, value_name = "SECONDS", default_value = "29..36")]
    synthesis: Range,
    /// Time of the device for a partition, as SECONDS or LEAST..MOST.
    #[arg(long, value_name = "SECONDS", default_value = "3.7")]
    device: Range,
    /// Budget of our own schemes, which is the memory of the machine for all of them.
    #[arg(long, value_name = "GIB", default_value_t = 755, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    budget: u64,
    /// Margin of our admission, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u32).range(0..=1000))]
    margin: u32,
    /// Decides where times fall between their bounds.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the gauges go; `simulate/history.csv` in the build folder when not given.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Where the picture goes; `simulate/history.svg` in the build folder when not given.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Arguments {
    fn settings(&self) -> Settings {
        Settings {
            workers: self.workers,
            device_workers: self.device_workers,
            jobs: self.jobs,
            synthesis: self.synthesis,
            device: self.device,
            budget: self.budget << 30,
            margin_percent: self.margin,
            seed: self.seed,
        }
    }
}

/// Simulates, prints, and writes the files.
pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    let settings = arguments.settings();
    let schemes = history::schemes(&settings);
    let (outcomes, refused) = Outcome::all(&schemes);
    print!("{}", table::report(&settings, &outcomes, &refused)?);

    let folder = repository.target().join("simulate");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (given, name, text) in
        [(&arguments.csv, "history.csv", chart::csv(&outcomes)), (&arguments.svg, "history.svg", chart::svg(&settings, &outcomes))]
    {
        let path = given.clone().unwrap_or_else(|| folder.join(name));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
