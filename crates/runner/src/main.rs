#![doc = include_str!("../README.md")]

mod cli;
mod commands;
mod config;
mod exit;
mod input;
mod observe;
mod output;
mod paths;
mod porep;
mod resources;
mod session;
mod signals;
mod store;
mod workload;

use std::process::ExitCode;

use clap::Parser;
use pipeline_stage::Cancel;

use cli::Cli;
use config::{Config, Environment, OutputFormat};
use exit::{Exit, Failure};
use output::Bars;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => run(cli).into(),
        Err(message) => {
            let wrong = message.use_stderr();
            // Help that nobody reads to its end (`--help | head -1`) is no failure.
            drop(message.print());
            if wrong { Exit::Usage.into() } else { Exit::Success.into() }
        }
    }
}

fn run(cli: Cli) -> Exit {
    let name = cli.command.name();
    let flags = cli.settings.values();
    let config = match Config::load(&flags, &Environment::of_process()) {
        Ok(config) => config,
        // Which output is wanted may be what is wrong; a flag that is readable by itself is honoured.
        Err(failure) => {
            let json = flags.values.iter().any(|(key, value)| *key == "output" && value == "json");
            return output::present(name, if json { OutputFormat::Json } else { OutputFormat::Text }, Err(failure));
        }
    };
    let format = config.output.value;
    let log = telemetry::LogOptions { filter: Some(observe::log_filter(config.log.value)), format: telemetry::LogFormat::Text };
    let bars = Bars::new(config.progress.value);
    let stderr = bars.clone();
    if let Err(error) = telemetry::init_with_writer(&log, move || stderr.stderr()) {
        return output::present(name, format, Err(Failure::new(Exit::Internal, format!("logging could not be set up: {error}"))));
    }
    let cancel = Cancel::new();
    let (grace, seen) = (config.stop_grace.value, cancel.clone());
    let work = move || commands::run(cli.command, &config, &bars, &seen);
    // A report that names what was given up is one of a stopped command; one that is complete is not.
    let result = signals::supervise(&cancel, grace, work, |report, failure| {
        if report.failures.iter().any(|failure| failure.cancelled) {
            report.failures.insert(0, failure);
        }
    });
    output::present(name, format, result)
}
